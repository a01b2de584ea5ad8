// The tender that divides buckets, and the one that carries out what other nodes request.
#include "support/play.h"

#include "core/bucket.h"
#include "store/lives.h"
#include "store/peers.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SMALLER = PLAY_LIFE - 1, LARGER = PLAY_LIFE + 1 };

static void pass(struct play *play, int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        play_pass(play, 100);
        play_turn(play);
    }
}

static void join(struct play *play, int64_t incarnation, bool pulls)
{
    struct store_join op = {.incarnation = incarnation, .pulls = pulls};
    store_op_init(&op.op, STORE_JOIN, NULL);
    store_call(play->store.memory, &op.op);
    store_op_done(&op.op);
}

static int64_t term_of(struct play *play, size_t *ret_mine, size_t *ret_all)
{
    struct store_owners op = {0};
    store_op_init(&op.op, STORE_OWNERS, NULL);
    store_call(play->store.memory, &op.op);
    *ret_all = op.owner_count;
    *ret_mine = 0;
    for (size_t i = 0; i < op.owner_count; i++)
        *ret_mine += op.owners[i].puller == PLAY_LIFE;
    store_op_done(&op.op);
    return op.term;
}

static void divide_as_another(struct play *play, int64_t term, int64_t puller)
{
    struct store_owner owner = {bucket_of(PLAY_TENANT), puller};
    struct store_divide op = {.term = term, .owners = &owner, .owner_count = 1};
    store_op_init(&op.op, STORE_DIVIDE, NULL);
    store_call(play->store.memory, &op.op);
    assert_int_equal(op.op.err, ERR_OK);
    store_op_done(&op.op);
}

static void the_smallest_puller_divides_and_the_term_stays_while_nothing_changes(void **state)
{
    struct play *play = play_new((struct play_config){0});
    size_t mine, all;
    join(play, LARGER, true);
    join(play, LARGER + 1, false); // takes requests only
    play_lane(play, "q");
    pass(play, 5000);
    assert_int_equal(term_of(play, &mine, &all), 1);
    assert_int_equal(all, 2); // one bucket, shared by both who pull
    assert_int_equal(mine, 1);
    for (int i = 0; i < 30; i++) {
        play_peer_beats(play, LARGER);
        pass(play, 1000);
    }
    assert_int_equal(term_of(play, &mine, &all), 1);
    pass(play, 25000); // the other one is silent, and then dead
    assert_int_equal(term_of(play, &mine, &all), 2);
    assert_int_equal(all, 1);
    assert_int_equal(mine, 1);
    play_free(play);
}

static void who_is_not_the_smallest_leaves_it_to_the_one_who_is(void **state)
{
    struct play *play = play_new((struct play_config){0});
    size_t mine, all;
    join(play, SMALLER, true);
    play_lane(play, "q");
    for (int i = 0; i < 10; i++) {
        play_peer_beats(play, SMALLER);
        pass(play, 1000);
    }
    assert_int_equal(term_of(play, &mine, &all), 0);
    pass(play, 25000); // until that one is dead
    assert_int_equal(term_of(play, &mine, &all), 1);
    assert_int_equal(mine, 1);
    play_free(play);
}

static void a_job_of_anothers_bucket_is_taken_when_it_is_due(void **state)
{
    struct play *play = play_new((struct play_config){0});
    join(play, SMALLER, true);
    divide_as_another(play, 0, SMALLER);
    play_lane(play, "q");
    pass(play, 2000);
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 4000});
    pass(play, 3000); // seen, and near, but it is the other's to take
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    pass(play, 1500);
    assert_non_null(play_running(play, id));
    play_free(play);
}

static void who_divides_too_late_reads_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    size_t mine, all;
    play_lane(play, "q");
    play->store.hold[STORE_DIVIDE] = true;
    pass(play, 2000);
    assert_non_null(play_waiting(play, STORE_DIVIDE));
    divide_as_another(play, 0, SMALLER); // who is gone already
    play_answer(play, play_waiting(play, STORE_DIVIDE));
    play->store.hold[STORE_DIVIDE] = false;
    pass(play, 2000);
    assert_int_equal(term_of(play, &mine, &all), 2);
    assert_int_equal(mine, 1);
    assert_int_equal(all, 1);
    play_free(play);
}

static void request(struct play *play, int64_t id, enum store_request_kind what)
{
    struct store_request op = {.holder = PLAY_LIFE, .job = {.job_id = id, .tenant = PLAY_TENANT, .kind = what}};
    store_op_init(&op.op, STORE_REQUEST, NULL);
    store_call(play->store.memory, &op.op);
    assert_int_equal(op.op.err, ERR_OK);
    store_op_done(&op.op);
}

static void what_others_wish_is_done(void **state)
{
    struct play *play = play_new((struct play_config){0});
    join(play, LARGER, false);
    play_lane(play, "q");
    int64_t cancelled = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 4000});
    int64_t hurried = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 4000});
    int64_t running = play_add(play, (struct play_job){0});
    pass(play, 1000);
    assert_int_equal(play_job_of(play, cancelled).state, JOB_WATCHING);
    assert_non_null(play_running(play, running));
    request(play, cancelled, STORE_REQUEST_CANCEL);
    request(play, running, STORE_REQUEST_CANCEL);
    request(play, hurried, STORE_REQUEST_RUN);
    pass(play, 500);
    assert_int_equal(play_job_of(play, cancelled).state, JOB_CANCELLED);
    assert_int_equal(play_job_of(play, running).state, JOB_CANCELLED);
    assert_non_null(play_running(play, hurried));
    play_free(play);
}

static void who_is_alone_does_not_listen_and_who_has_nothing_in_hand_seldom(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_lane(play, "q");
    int64_t id = play_add(play, (struct play_job){0});
    pass(play, 10000);
    assert_non_null(play_running(play, id));
    assert_int_equal(play->store.count[STORE_REQUESTS], 0);
    join(play, LARGER, false);
    pass(play, 5000);
    assert_in_range(play->store.count[STORE_REQUESTS], 5, 25);
    play_end(play, id, OUTCOME_SUCCESS);
    pass(play, 1000);
    int asked = play->store.count[STORE_REQUESTS];
    pass(play, 20000);
    assert_in_range(play->store.count[STORE_REQUESTS], asked, asked + 5);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_puller_divides_and_the_term_stays_while_nothing_changes),
        cmocka_unit_test(who_is_not_the_smallest_leaves_it_to_the_one_who_is),
        cmocka_unit_test(a_job_of_anothers_bucket_is_taken_when_it_is_due),
        cmocka_unit_test(who_divides_too_late_reads_again),
        cmocka_unit_test(what_others_wish_is_done),
        cmocka_unit_test(who_is_alone_does_not_listen_and_who_has_nothing_in_hand_seldom),
    };
    return cmocka_run_group_tests_name("company", tests, NULL, NULL);
}
