// Commands that pause, resume and change tasks: their jobs that wait follow, wherever they are, and what has begun goes on.
#include "support/play_commands.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void a_paused_task_begins_nothing_until_it_is_resumed(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    int64_t near = in_future(play, 3000), far = in_future(play, 20000), due;
    play_turn(play);
    assert_int_equal(play_job_of(play, near).state, JOB_WATCHING);
    play_pause(play, "other", true);
    due = play_add(play, (struct play_job){.queue = "other"});
    int64_t tasks[] = {near, far, due};
    for (size_t i = 0; i < array_count(tasks); i++) {
        assert_int_equal(commands(play, COMMAND_PAUSE, tasks[i], 0), ERR_OK);
        assert_int_equal(commands(play, COMMAND_PAUSE, tasks[i], 0), ERR_OK); // again: nothing to do
        assert_true(is_paused(play, tasks[i]));
    }
    assert_int_equal(play_job_of(play, near).state, JOB_DELAYED); // it was called back
    play_pause(play, "other", false);
    pass_turning(play, 60000);
    assert_int_equal(play->exec.started, 0);
    for (size_t i = 0; i < array_count(tasks); i++)
        assert_int_equal(commands(play, COMMAND_RESUME, tasks[i], 0), ERR_OK);
    pass_turning(play, 1000);
    assert_int_equal(play->exec.started, 3); // although they had been put off for longer
    play_free(play);
}

static void resuming_does_not_bring_forward(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000), due_at = play_job_of(play, id).due_at;
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_OK); // again: nothing to do
    assert_int_equal(play_job_of(play, id).due_at, due_at);
    play_free(play);
}

static void what_runs_goes_on_when_its_task_is_paused_changed_or_deleted(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(patch(play, &request, id, "{\"name\":\"new\"}", 0), ERR_OK);
    ask(play, &request, COMMAND_DELETE, id, 0);
    play_turn(play);
    assert_false(request.done); // until it is written that it runs
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_non_null(play_running(play, id));
    play_end(play, id, OUTCOME_FAILED); // it had tries left, and that is its end
    for (int i = 0; i < 20; i++)
        pass_turning(play, 1000);
    assert_int_equal(play->exec.started, 1);
    assert_true(play_gone(play, id));
    play_free(play);
}

static void what_has_ended_is_neither_paused_nor_resumed_nor_changed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.state = JOB_SUCCESS});
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(commands(play, COMMAND_RESUME, id, 0), ERR_ILLEGAL_TRANSITION);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 0), ERR_ILLEGAL_TRANSITION);
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_RESUME, COMMAND_DELETE};
    for (size_t i = 0; i < array_count(acts); i++)
        assert_int_equal(commands(play, acts[i], 999, 0), ERR_NOT_FOUND);
    assert_int_equal(patch(play, &request, 999, "{\"priority\":1}", 0), ERR_NOT_FOUND);
    play_free(play);
}

static void a_paused_task_is_not_run_by_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 60000);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    assert_int_equal(commands(play, COMMAND_RUN, id, 0), ERR_ILLEGAL_TRANSITION);
    play_free(play);
}

static void a_change_takes_the_job_in_the_wheel_with_it(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 3000);
    play_turn(play);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\",\"queue\":\"z\",\"priority\":9,\"in\":\"1s\"}", 1),
                     ERR_OK);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.priority, 9);
    assert_int_equal(job.lane, play_lane(play, "z"));
    assert_int_equal(job.due_at, play->now.wall_ms + 1000);
    pass_turning(play, 2500);
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

static void a_change_that_leaves_the_time_alone_does_not_delay(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 3000), due_at = play_job_of(play, id).due_at;
    play_turn(play);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 0), ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, due_at);
    pass_turning(play, 3000);
    assert_non_null(play_running(play, id));
    play_free(play);
}

// The document is looked at where there is time for it: this thread goes on meanwhile.
static void a_change_is_merged_by_who_asked_for_it_and_again_if_the_task_moved(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 60000);
    merges_later = true;
    assert_int_equal(patch(play, &request, id, "{\"name\":\"later\"}", 0), ERR_BUSY);
    pass_turning(play, 1000);
    assert_int_equal(merges, 1);
    assert_false(doc_has(play, id, "later"));

    struct request other;
    merges_later = false;
    assert_int_equal(patch(play, &other, id, "{\"tracing_id\":\"meanwhile\"}", 0), ERR_OK);
    merges = 0;
    commands_merge(play->flow->commands, &request.op, play->now.wall_ms);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(merges, 1);
    assert_true(doc_has(play, id, "later") && doc_has(play, id, "meanwhile"));
    assert_true(commands_idle(play->flow->commands));
    play_free(play);
}

static void a_change_for_another_version_is_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 60000);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 2), ERR_VERSION_MISMATCH);
    assert_int_equal(patch(play, &request, id, "{\"priority\":1}", 1), ERR_OK);
    assert_int_equal(patch(play, &request, id, "{\"priority\":2}", 1), ERR_VERSION_MISMATCH);
    assert_int_equal(patch(play, &request, id, "{\"priority\":2}", 2), ERR_OK);
    assert_int_equal(play_job_of(play, id).priority, 2);
    play_free(play);
}

static void a_change_that_is_refused_leaves_the_job_in_the_wheel(void **state)
{
    static const char *const patches[] = {"{\"prority\":1}", "{\"key\":\"k\"}", "{\"url\":null}",
                                          "{\"at\":\"2027-02-01T00:00:00Z\",\"not_after\":\"2027-01-31T00:00:00Z\"}"};
    struct play *play = play_new((struct play_config){0});
    int64_t id = in_future(play, 3000);
    play_turn(play);
    for (size_t i = 0; i < array_count(patches); i++) {
        struct request request;
        assert_int_not_equal(patch(play, &request, id, patches[i], 0), ERR_OK);
        assert_true(request.done);
        assert_int_equal(request.op.problem.err, request.op.err);
        assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    }
    play_free(play);
}

// Between the reading and the writing somebody else was faster.
static void a_change_that_meets_a_claim_is_decided_anew(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + LANES_AHEAD_MS + 2000});
    play_turn(play);
    play->store.hold[STORE_AMEND] = true;
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\",\"in\":\"2m\"}", 0), ERR_BUSY);
    struct store_op *amend = play_waiting(play, STORE_AMEND);
    assert_non_null(amend);
    pass_turning(play, 3000);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play->store.hold[STORE_AMEND] = false;
    play_answer(play, amend);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    assert_int_equal(play_job_of(play, id).due_at, play->now.wall_ms + 120000);
    assert_true(doc_has(play, id, "http://new/"));
    play_free(play);
}

// It ran when the task was read, and waits for its retry in the wheel, as it was, when the change is written.
static void a_change_that_meets_a_retry_calls_it_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"retry\":{\"max\":1,\"delay\":\"4s\"}}"});
    pass_turning(play, 500);
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    play->store.hold[STORE_AMEND] = true;
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 1), ERR_BUSY);
    play_end(play, id, OUTCOME_FAILED);
    pass_turning(play, 200);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.state, JOB_WATCHING);
    play->store.hold[STORE_AMEND] = false;
    play_answer(play, play_waiting(play, STORE_AMEND));
    pass_turning(play, 100);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, job.due_at);
    pass_turning(play, 4000);
    assert_non_null(play_running(play, id));
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

// The store has the end of an attempt and the next claim of its job, and this node has heard of neither.
static void a_retry_that_was_claimed_before_its_failure_was_heard_of_follows_a_change(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"retry\":{\"max\":1,\"delay\":\"8s\"}}"});
    pass_turning(play, 500);
    play->store.hold[STORE_CHANGE] = play->store.hold[STORE_CLAIM] = true;
    play_end(play, id, OUTCOME_FAILED);
    play_turn(play);
    struct store_op *end = play_waiting(play, STORE_CHANGE);
    play_do(play, end);
    lanes_due(play->lanes, play_job_of(play, id).lane, play_job_of(play, id).due_at); // as survey finds out
    while (!play_waiting(play, STORE_CLAIM))
        pass_turning(play, 50);
    struct store_op *claim = play_waiting(play, STORE_CLAIM);
    play_do(play, claim);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(patch(play, &request, id, "{\"url\":\"http://new/\"}", 0), ERR_BUSY);
    pass_turning(play, 200);
    assert_false(request.done); // what is in hand here is the attempt that failed
    play->store.hold[STORE_CHANGE] = play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, end);
    play_deliver(play, claim);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    pass_turning(play, 8000);
    assert_non_null(play_running(play, id));
    assert_true(str_is(play_running(play, id)->order->task.target.http.url, "http://new/"));
    play_free(play);
}

static void what_is_being_given_back_is_waited_for(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request pause, change;
    int64_t id = in_future(play, 3000);
    play_turn(play);
    play->store.hold[STORE_CHANGE] = true;
    ask(play, &pause, COMMAND_PAUSE, id, 0);
    play_turn(play);
    struct store_op *back = play_waiting(play, STORE_CHANGE);
    assert_non_null(back); // called back, but that is not written
    assert_int_equal(patch(play, &change, id, "{\"in\":\"1h\"}", 0), ERR_BUSY);
    assert_false(pause.done || change.done);
    play->store.hold[STORE_CHANGE] = false;
    play_answer(play, back);
    play_turn(play);
    assert_true(pause.done && change.done);
    assert_int_equal(change.op.err, ERR_OK);
    assert_int_equal(play_job_of(play, id).due_at, play->now.wall_ms + 3600000);
    play_free(play);
}

static void a_put_off_that_is_written_late_does_not_outlast_the_pause(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 20000);
    assert_int_equal(commands(play, COMMAND_PAUSE, id, 0), ERR_OK);
    play->store.hold[STORE_CHANGE] = true;
    pass_turning(play, 21000); // it was claimed, and is to be put off
    struct store_op *put_off = play_waiting(play, STORE_CHANGE);
    assert_non_null(put_off);
    ask(play, &request, COMMAND_RESUME, id, 0);
    play_turn(play);
    assert_false(request.done);
    play->store.hold[STORE_CHANGE] = false;
    play_answer(play, put_off);
    play_turn(play);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_runs_soon(play, id);
    play_free(play);
}

static void a_job_whose_claim_is_on_its_way_is_called_back_when_it_has_come(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    int64_t id = in_future(play, 4000);
    struct store_op *claim = claim_on_its_way(play);
    ask(play, &request, COMMAND_DELETE, id, 0);
    pass_turning(play, 1000);
    assert_false(request.done);
    play->store.hold[STORE_CLAIM] = false;
    play_deliver(play, claim);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, id));
    pass_turning(play, 20000);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void a_job_in_another_hand_is_called_back_by_that_hand(void **state)
{
    static const enum command_act acts[] = {COMMAND_PAUSE, COMMAND_PATCH, COMMAND_DELETE};
    for (size_t i = 0; i < array_count(acts); i++) {
        struct play *play = play_new((struct play_config){0});
        struct request request;
        enum store_request_kind kind;
        play_peer(play, OTHER);
        int64_t id =
            play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 9000});
        ask(play, &request, acts[i], id, 0);
        request.op.patch = (struct json){JSON_OBJECT, STR("{\"in\":\"1h\"}")};
        pass_turning(play, 500);
        assert_false(request.done);
        assert_int_equal(asked_of_other(play, &kind), id);
        assert_int_equal(kind, STORE_REQUEST_RECALL);
        struct job job = play_job_of(play, id);
        int64_t token = job.token;
        assert_int_equal(job_release(&job, play->now.wall_ms + 10000, play->now.wall_ms), ERR_OK);
        other_writes(play, job, token);
        pass_turning(play, 1100);
        assert_true(request.done);
        assert_int_equal(request.op.err, ERR_OK);
        assert_int_equal(play_gone(play, id), acts[i] == COMMAND_DELETE);
        play_free(play);
    }
}

static void what_is_due_in_another_hand_is_left_when_it_is_written_to_run(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct request request;
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER});
    ask(play, &request, COMMAND_DELETE, id, 0);
    pass_turning(play, 2000);
    assert_false(request.done);
    struct job job = play_job_of(play, id);
    job.state = JOB_RESERVED;
    other_writes(play, job, job.token);
    pass_turning(play, 1000);
    assert_true(request.done);
    assert_int_equal(request.op.err, ERR_OK);
    assert_true(play_gone(play, id));
    play_free(play);
}

static void who_does_not_call_back_is_given_up_after_a_while_or_when_this_node_stops(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, OTHER);
    int64_t id = play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 3600000});
    assert_given_up(play, id, COMMAND_PAUSE, COMMAND_DELETE, 1100);
    play_free(play);
}

static void another_node_may_call_back_what_is_in_this_hand(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    int64_t waits = in_future(play, 3000), runs = play_add(play, (struct play_job){0}), far = in_future(play, 3600000);
    play_turn(play);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, waits), ERR_OK);
    struct job job = play_job_of(play, waits);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_true(job.due_at > play->now.wall_ms + 5000 && job.ready_at == play->now.wall_ms + 3000);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, runs), ERR_OK);
    assert_non_null(play_running(play, runs));
    int64_t token = play_job_of(play, far).token;
    assert_int_equal(commands(play, COMMAND_RECALL, 0, far), ERR_OK);
    assert_int_equal(play_job_of(play, far).token, token);
    assert_int_equal(commands(play, COMMAND_RECALL, 0, 999), ERR_NOT_FOUND);
    pass_turning(play, 11000); // nobody wrote anything: it runs after all
    assert_non_null(play_running(play, waits));
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_paused_task_begins_nothing_until_it_is_resumed),
        cmocka_unit_test(resuming_does_not_bring_forward),
        cmocka_unit_test(what_runs_goes_on_when_its_task_is_paused_changed_or_deleted),
        cmocka_unit_test(what_has_ended_is_neither_paused_nor_resumed_nor_changed),
        cmocka_unit_test(a_paused_task_is_not_run_by_hand),
        cmocka_unit_test(a_change_takes_the_job_in_the_wheel_with_it),
        cmocka_unit_test(a_change_that_leaves_the_time_alone_does_not_delay),
        cmocka_unit_test(a_change_is_merged_by_who_asked_for_it_and_again_if_the_task_moved),
        cmocka_unit_test(a_change_for_another_version_is_refused),
        cmocka_unit_test(a_change_that_is_refused_leaves_the_job_in_the_wheel),
        cmocka_unit_test(a_change_that_meets_a_claim_is_decided_anew),
        cmocka_unit_test(a_change_that_meets_a_retry_calls_it_back),
        cmocka_unit_test(a_retry_that_was_claimed_before_its_failure_was_heard_of_follows_a_change),
        cmocka_unit_test(what_is_being_given_back_is_waited_for),
        cmocka_unit_test(a_put_off_that_is_written_late_does_not_outlast_the_pause),
        cmocka_unit_test(a_job_whose_claim_is_on_its_way_is_called_back_when_it_has_come),
        cmocka_unit_test(a_job_in_another_hand_is_called_back_by_that_hand),
        cmocka_unit_test(what_is_due_in_another_hand_is_left_when_it_is_written_to_run),
        cmocka_unit_test(who_does_not_call_back_is_given_up_after_a_while_or_when_this_node_stops),
        cmocka_unit_test(another_node_may_call_back_what_is_in_this_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
