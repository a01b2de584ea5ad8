// The scan marks as ready what is due without being claimed; in a backlog it leaves the store to those who work it off.
#include "support/play.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { AT_ONCE = 2000, PART = 20 }; // as lane_scan.c has them

static void turn(struct play *play)
{
    lane_scan_turn(play->flow->lane_scan, play->now);
}

// Jobs that have been due for a second, which nobody claims. Returns the first one's id; the others have the next ones.
static int64_t backlog(struct play *play, int count)
{
    int64_t first = 0;
    for (int i = 0; i < count; i++) {
        int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms - 1000});
        first = first ? first : id;
    }
    for (int i = 0; i < 2; i++) // the lane is found
        turn(play);
    return first;
}

static void what_is_due_and_not_claimed_becomes_ready(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = backlog(play, 1);
    play_pass(play, 100);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_READY);
    play_free(play);
}

static void a_lane_of_what_is_handed_out_is_not_learnt(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.dispatch = TARGET_HANDED_OUT, .due_at = play->now.wall_ms - 1000});
    for (int i = 0; i < 2; i++)
        turn(play);
    assert_false(lanes_hold(play->lanes, play_job_of(play, id).lane, 1));
    int64_t called = play_add(play, (struct play_job){.due_at = play->now.wall_ms - 1000}); // in the same queue
    play_pass(play, 3000);
    play_live(play);
    play_turn(play);
    assert_non_null(play_running(play, called));
    assert_int_equal(play_job_of(play, id).state, JOB_READY);
    play_free(play);
}

static void a_promotion_is_followed_by_a_rest_of_twenty_times_its_length(void **state)
{
    struct play *play = play_new((struct play_config){0});
    enum { TOOK_MS = 30 };
    int64_t first = backlog(play, 2 * AT_ONCE), second = first + AT_ONCE;
    play_pass(play, 100);
    turn(play);
    assert_int_equal(play_job_of(play, second - 1).state, JOB_READY);
    assert_int_equal(play_job_of(play, second).state, JOB_DELAYED);
    play_pass(play, TOOK_MS);
    turn(play); // which hears of it only now
    play_pass(play, PART * TOOK_MS - 1);
    turn(play);
    assert_int_equal(play_job_of(play, second).state, JOB_DELAYED);
    play_pass(play, 1);
    turn(play);
    assert_int_equal(play_job_of(play, second).state, JOB_READY);
    play_free(play);
}

static void who_looks_once_in_a_period_looks_when_others_do(void **state)
{
    struct play *play = play_new((struct play_config){0});
    enum { PERIOD = 1000 };
    int64_t at = node_round(play->node, 5000000, PERIOD);
    assert_true(at > 5000000 && at <= 5000000 + PERIOD);
    assert_int_equal(node_round(play->node, at - 1, PERIOD), at);
    assert_int_equal(node_round(play->node, at, PERIOD), at + PERIOD);
    int64_t life = atomic_exchange(&play->node->incarnation, PLAY_LIFE + 1); // another life, on the same machine
    assert_int_equal(node_round(play->node, at, PERIOD), at + 1);
    atomic_store(&play->node->incarnation, life);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_and_not_claimed_becomes_ready),
        cmocka_unit_test(a_lane_of_what_is_handed_out_is_not_learnt),
        cmocka_unit_test(a_promotion_is_followed_by_a_rest_of_twenty_times_its_length),
        cmocka_unit_test(who_looks_once_in_a_period_looks_when_others_do),
    };
    return cmocka_run_group_tests_name("lane_scan", tests, NULL, NULL);
}
