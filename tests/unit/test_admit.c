// Admit: the answer follows the commit; what is due now and has room is in hand by then; and a refusal leaves nothing behind.
#include "support/play.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

struct request {
    struct admission admission;
    struct arena arena;
    char docs[8][160];
    int done;
};

static void done(struct admission *admission)
{
    container_of(admission, struct request, admission)->done++;
}

static void add(struct play *play, struct request *request, const char *doc)
{
    struct task task;
    struct problem problem;
    char why[ERR_WHY_MAX];
    static const uint8_t digest[32] = {7};
    char *copy = request->docs[request->admission.count];
    snprintf(copy, sizeof request->docs[0], "%s", doc);
    assert_true(task_read(&task, str_of(copy), &request->arena, why));
    enum err err = admission_add(&request->admission, &task, str_of(copy), digest, play->now.wall_ms, &problem);
    assert_int_equal(err, ERR_OK);
}

static struct request *request_new(struct play *play, const char *doc)
{
    struct request *request = mem_zero(sizeof *request);
    admission_init(&request->admission, PLAY_TENANT, array_count(request->docs));
    request->admission.done = done;
    if (doc)
        add(play, request, doc);
    return request;
}

static int64_t request_free(struct request *request)
{
    int64_t id = request->admission.tasks[0].id;
    admission_done(&request->admission);
    arena_done(&request->arena);
    mem_free(request);
    return id;
}

static enum err submit(struct play *play, struct request *request)
{
    return admit_submit(play->flow->admit, &request->admission, play->now);
}

static void the_answer_follows_the_commit(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    play->store.hold[STORE_ADD] = true;
    assert_int_equal(submit(play, request), ERR_OK);
    assert_int_equal(request->done, 0);
    play_answer(play, play_waiting(play, STORE_ADD));
    assert_int_equal(request->done, 1);
    assert_int_equal(request->admission.addition.add.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, request_free(request)).state, JOB_READY); // its lane was not known
    play_free(play);
}

static void what_is_due_now_and_has_room_is_in_hand_with_the_commit(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    assert_int_equal(submit(play, request), ERR_OK);
    int64_t id = request_free(request);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(play_job_of(play, id).holder, PLAY_LIFE);
    play_turn(play);
    assert_non_null(play_running(play, id));
    assert_int_equal(lanes_held(play->lanes), 1);
    play_free(play);
}

static void what_is_planned_paused_or_without_room_waits_in_its_lane(void **state)
{
    struct play *play = play_new((struct play_config){.room = 2});
    int64_t lane = play_lane(play, "default");
    play_lane(play, "held");
    struct request *request = request_new(play, "{\"url\":\"http://h/\",\"in\":\"1m\"}");
    lanes_pause(play->lanes, lane + 1, PLAY_TENANT, STR("held"), true);
    add(play, request, "{\"url\":\"http://h/\",\"queue\":\"held\"}");
    add(play, request, "{\"url\":\"http://h/\"}");
    add(play, request, "{\"url\":\"http://h/\"}");
    static const enum job_state states[] = {JOB_DELAYED, JOB_READY, JOB_WATCHING, JOB_READY};
    assert_int_equal(submit(play, request), ERR_OK);
    for (size_t i = 0; i < array_count(states); i++)
        assert_int_equal(play_job_of(play, request->admission.tasks[i].id).state, states[i]);
    assert_int_equal(lanes_held(play->lanes), 1);
    request_free(request);
    play_free(play);
}

static void what_is_handed_out_is_not_pushed_though_its_queue_is_known(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    assert_int_equal(request->admission.tasks[0].dispatch, TARGET_CALLED); // as its target says
    request->admission.tasks[0].dispatch = TARGET_HANDED_OUT;
    assert_int_equal(submit(play, request), ERR_OK);
    int64_t id = request_free(request);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_READY);
    assert_false(lanes_hold(play->lanes, play_job_of(play, id).lane, 1)); // its lane is none of this node's
    play_free(play);
}

static void one_that_may_not_be_alive_takes_nothing_in_hand_but_stores(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    play_pass(play, BEAT_ALIVE_MS);
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    assert_int_equal(submit(play, request), ERR_OK);
    assert_int_equal(play_job_of(play, request_free(request)).state, JOB_READY);
    play_free(play);
}

static void a_stopping_node_and_one_that_has_not_joined_refuse_at_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    atomic_store(&play->node->incarnation, 0);
    assert_int_equal(submit(play, request), ERR_STORE_UNAVAILABLE);
    atomic_store(&play->node->incarnation, PLAY_LIFE);
    atomic_store(&play->node->stopping, true);
    assert_int_equal(submit(play, request), ERR_STOPPING);
    assert_int_equal(request->done, 0);
    assert_int_equal(play->store.count[STORE_ADD], 0);
    assert_int_equal(atomic_load(&play->node->pushing), 0);
    request_free(request);
    play_free(play);
}

static void a_key_used_before_finds_its_task_and_gives_the_place_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    struct request *first = request_new(play, "{\"url\":\"http://h/\",\"key\":\"k\"}");
    struct request *again = request_new(play, "{\"url\":\"http://h/\",\"key\":\"k\"}");
    assert_int_equal(submit(play, first), ERR_OK);
    assert_int_equal(submit(play, again), ERR_OK);
    assert_int_equal(again->done, 1);
    assert_int_equal(again->admission.addition.add.items[0].existing_id, first->admission.tasks[0].id);
    assert_int_equal(lanes_held(play->lanes), 1);
    request_free(first);
    request_free(again);
    play_free(play);
}

static void a_failed_insertion_leaves_no_place_taken(void **state)
{
    static const enum err errs[] = {ERR_STORE_UNAVAILABLE, ERR_STORAGE_FULL, ERR_FENCED};
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    for (size_t i = 0; i < array_count(errs); i++) {
        struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
        add(play, request, "{\"url\":\"http://h/\"}");
        play->store.fails[STORE_ADD] = errs[i];
        assert_int_equal(submit(play, request), ERR_OK);
        assert_int_equal(request->done, 1);
        assert_int_equal(request->admission.addition.add.op.err, errs[i]);
        assert_int_equal(lanes_held(play->lanes), 0);
        assert_int_equal(atomic_load(&play->node->pushing), 0);
        request_free(request);
    }
    play_free(play);
}

static void one_whose_answer_was_lost_is_found_and_run_all_the_same(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    play->store.hold[STORE_ADD] = true;
    assert_int_equal(submit(play, request), ERR_OK);
    play_lose(play, play_waiting(play, STORE_ADD));
    assert_int_equal(request->admission.addition.add.op.err, ERR_STORE_UNAVAILABLE);
    int64_t id = request_free(request);
    for (int i = 0; i < 20 && !play_running(play, id); i++) {
        play_turn(play);
        play_pass(play, 100);
    }
    assert_non_null(play_running(play, id)); // long before the next regular recount
    assert_int_equal(lanes_held(play->lanes), 1);
    play_free(play);
}

static void while_what_is_held_is_counted_nothing_is_pushed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "default");
    atomic_store(&play->node->counting, true);
    struct request *request = request_new(play, "{\"url\":\"http://h/\"}");
    assert_int_equal(submit(play, request), ERR_OK);
    assert_int_equal(play_job_of(play, request_free(request)).state, JOB_READY);
    assert_int_equal(atomic_load(&play->node->pushing), 0);
    play_free(play);
}

static void many_tasks_have_an_id_each_in_one_commit(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request *request = request_new(play, NULL);
    for (int i = 0; i < 8; i++)
        add(play, request, "{\"url\":\"http://h/\"}");
    assert_int_equal(submit(play, request), ERR_OK);
    assert_int_equal(play->store.count[STORE_ADD], 1);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(play_job_of(play, request->admission.tasks[i].id).task_id, request->admission.tasks[i].id);
        assert_true(i == 0 || request->admission.tasks[i].id > request->admission.tasks[i - 1].id);
    }
    request_free(request);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_answer_follows_the_commit),
        cmocka_unit_test(what_is_due_now_and_has_room_is_in_hand_with_the_commit),
        cmocka_unit_test(what_is_planned_paused_or_without_room_waits_in_its_lane),
        cmocka_unit_test(what_is_handed_out_is_not_pushed_though_its_queue_is_known),
        cmocka_unit_test(one_that_may_not_be_alive_takes_nothing_in_hand_but_stores),
        cmocka_unit_test(a_stopping_node_and_one_that_has_not_joined_refuse_at_once),
        cmocka_unit_test(a_key_used_before_finds_its_task_and_gives_the_place_back),
        cmocka_unit_test(a_failed_insertion_leaves_no_place_taken),
        cmocka_unit_test(one_whose_answer_was_lost_is_found_and_run_all_the_same),
        cmocka_unit_test(while_what_is_held_is_counted_nothing_is_pushed),
        cmocka_unit_test(many_tasks_have_an_id_each_in_one_commit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
