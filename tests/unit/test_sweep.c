// Sweep ends what has expired and removes what retention lets go, a bounded piece at a time.
#include "support/play.h"

#include "base/mem.h"
#include "store/jobs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int64_t turn(struct play *play)
{
    int64_t next = TIME_NEVER;
    for (int i = 0; i < 4; i++) { // expired -> change -> sweep
        recorder_turn(play->flow->recorder, play->now);
        next = sweep_turn(play->flow->sweep, play->now);
    }
    return next;
}

static int64_t expiring(struct play *play, int64_t at_ms)
{
    return play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = at_ms - 1, .expires_at = at_ms});
}

static void what_was_not_started_by_its_time_is_cancelled_and_not_before(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = expiring(play, play->now.wall_ms + 1500);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_pass(play, 1500);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    assert_int_equal(play_job_of(play, id).attempts, 0);
    play_free(play);
}

static void what_is_in_hand_is_left_to_its_holder(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id =
        play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = PLAY_LIFE, .expires_at = play->now.wall_ms - 1});
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play_free(play);
}

static void what_retention_lets_go_is_removed_and_not_before(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_SUCCESS, .purge_at = play->now.wall_ms + 2000});
    turn(play);
    assert_false(play_gone(play, id));
    play_pass(play, 2000);
    turn(play);
    assert_true(play_gone(play, id));
    play_free(play);
}

static void a_backlog_is_worked_off_in_bounded_rounds_with_short_rests(void **state)
{
    enum { JOBS = 1700, ROUND = 500 };
    struct play *play = play_new((struct play_config){0});
    int64_t first = expiring(play, play->now.wall_ms);
    for (int i = 1; i < JOBS; i++)
        expiring(play, play->now.wall_ms);
    int rounds = 0;
    for (int64_t id = first; id < first + JOBS; rounds++) {
        int64_t next = turn(play);
        int64_t done = 0;
        while (id < first + JOBS && play_job_of(play, id).state == JOB_CANCELLED) {
            id++;
            done++;
        }
        assert_true(done > 0 && done <= ROUND);
        assert_true(next <= play->now.wall_ms + (done == ROUND ? 100 : 1000));
        play_pass(play, next - play->now.wall_ms);
    }
    assert_int_equal(rounds, (JOBS + ROUND - 1) / ROUND);
    play_free(play);
}

static void a_store_that_fails_at_any_step_is_asked_again_after_a_while(void **state)
{
    static const int verbs[] = {PLAY_FIND_EXPIRED, STORE_CHANGE, STORE_SWEEP};
    for (size_t i = 0; i < array_count(verbs); i++) {
        struct play *play = play_new((struct play_config){0});
        int64_t id = expiring(play, play->now.wall_ms);
        int64_t old = play_add(play, (struct play_job){.state = JOB_SUCCESS, .purge_at = play->now.wall_ms});
        play->store.fails[verbs[i]] = ERR_STORE_UNAVAILABLE;
        for (int ms = 0; ms < 10000; ms += 100) {
            play_live(play);
            turn(play);
            play_pass(play, 100);
        }
        int asked = play->store.count[verbs[i]];
        assert_true(asked > 1 && asked <= 20);
        play->store.fails[verbs[i]] = ERR_OK;
        play_pass(play, 1000);
        play_live(play);
        turn(play);
        assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
        assert_true(play_gone(play, old));
        play_free(play);
    }
}

static void one_that_was_taken_in_hand_meanwhile_is_not_expired_under_it(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = expiring(play, play->now.wall_ms);
    play->store.hold[STORE_CHANGE] = true;
    turn(play);
    struct store_op *change = play_waiting(play, STORE_CHANGE);
    assert_non_null(change);
    struct store_want want = {.lane = play_job_of(play, id).lane, .max = 1};
    struct store_claim claim = {
        .holder = PLAY_LIFE, .now_ms = play->now.wall_ms, .until_ms = play->now.wall_ms, .wants = &want, .want_count = 1};
    store_op_init(&claim.op, STORE_CLAIM, NULL);
    store_call(play->store.memory, &claim.op);
    assert_int_equal(claim.job_count, 1);
    store_op_done(&claim.op);
    play_answer(play, change);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play_free(play);
}

static void a_node_that_stops_begins_no_round(void **state)
{
    struct play *play = play_new((struct play_config){0});
    atomic_store(&play->node->stopping, true);
    turn(play);
    assert_int_equal(play->store.count[PLAY_FIND_EXPIRED], 0);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_started_by_its_time_is_cancelled_and_not_before),
        cmocka_unit_test(what_is_in_hand_is_left_to_its_holder),
        cmocka_unit_test(what_retention_lets_go_is_removed_and_not_before),
        cmocka_unit_test(a_backlog_is_worked_off_in_bounded_rounds_with_short_rests),
        cmocka_unit_test(a_store_that_fails_at_any_step_is_asked_again_after_a_while),
        cmocka_unit_test(one_that_was_taken_in_hand_meanwhile_is_not_expired_under_it),
        cmocka_unit_test(a_node_that_stops_begins_no_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
