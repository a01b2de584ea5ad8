// Dispatch starts what may start, once, in turn and within its slots, and sends everything back.
#include "support/play.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void publish(struct play *play, struct run *run)
{
    assert_int_equal(broker_publish(play->broker, run), ERR_OK);
}

static void publish_new(struct play *play, int64_t id, int64_t lane, int priority)
{
    publish(play, play_run(play, id, lane, priority));
}

static int64_t turn(struct play *play)
{
    int64_t next = dispatch_turn(play->flow->dispatch, play->now);
    play->exec.exec.ops->poll(&play->exec.exec, 0);
    return next;
}

static void assert_back(struct play *play, int64_t id, enum run_end end)
{
    struct run *run = play_back(play, NULL);
    assert_non_null(run);
    assert_int_equal(run->job.id, id);
    assert_int_equal(run->end, end);
    run_free(run);
}

static void end_and_forget(struct play *play, int64_t id)
{
    play_end(play, id, OUTCOME_SUCCESS);
    assert_back(play, id, RUN_ENDED);
}

static void within_a_lane_the_highest_priority_is_first(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    publish_new(play, 1, 1, 2);
    publish_new(play, 2, 1, 9);
    publish_new(play, 3, 1, 5);
    static const int64_t order[] = {2, 3, 1};
    for (size_t i = 0; i < array_count(order); i++) {
        turn(play);
        assert_int_equal(play->exec.count, 1);
        end_and_forget(play, order[i]);
    }
    play_free(play);
}

static void lanes_take_turns(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    for (int64_t id = 1; id <= 3; id++)
        publish_new(play, id, 1, 9);
    for (int64_t id = 4; id <= 5; id++)
        publish_new(play, id, 2, 0);
    static const int64_t order[] = {1, 4, 2, 5, 3};
    for (size_t i = 0; i < array_count(order); i++) {
        turn(play);
        end_and_forget(play, order[i]);
    }
    play_free(play);
}

static void no_more_run_at_once_than_there_are_slots(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 4});
    for (int64_t id = 1; id <= 30; id++)
        publish_new(play, id, id, 5);
    turn(play);
    assert_int_equal(play->exec.count, 4);
    turn(play);
    assert_int_equal(play->exec.count, 4);
    end_and_forget(play, 1);
    turn(play);
    assert_int_equal(play->exec.count, 4);
    assert_int_equal(dispatch_count(play->flow->dispatch), 29);
    play_free(play);
}

static void a_lane_that_floods_leaves_slots_for_the_others(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 8});
    for (int64_t id = 1; id <= 20; id++)
        publish_new(play, id, 1, 9);
    turn(play);
    assert_true(play->exec.count < 8);
    publish_new(play, 21, 2, 0);
    turn(play);
    assert_non_null(play_running(play, 21));
    play_free(play);
}

static void a_run_that_comes_twice_is_started_once(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 2});
    publish_new(play, 1, 1, 5);
    publish_new(play, 1, 1, 5); // while it waits
    turn(play);
    publish_new(play, 1, 1, 5); // while it runs
    turn(play);
    end_and_forget(play, 1);
    publish_new(play, 1, 1, 5); // after its end
    turn(play);
    assert_int_equal(play->exec.started, 1);
    assert_null(play_back(play, NULL));
    play_free(play);
}

static void a_newer_claim_ends_what_still_runs_and_is_tried_again_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    struct run *newer = play_run(play, 1, 1, 5), *copy = play_run(play, 1, 1, 5);
    newer->token = copy->token = 5;
    publish(play, newer);
    dispatch_turn(play->flow->dispatch, play->now);
    assert_back(play, 1, RUN_POSTPONED);
    assert_int_equal(play->exec.cancelled, 1);
    play->exec.exec.ops->poll(&play->exec.exec, 0);
    assert_back(play, 1, RUN_CANCELLED); // which is refused by its token
    publish(play, copy);                 // the broker brings the newer one a second time
    turn(play);
    assert_int_equal(play->exec.started, 1);
    play_free(play);
}

static void nothing_starts_while_this_life_is_not_sure_to_be_alive(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_pass(play, BEAT_ALIVE_MS);
    publish_new(play, 1, 1, 5);
    assert_true(turn(play) <= play->now.wall_ms + 1000); // it looks again soon
    assert_int_equal(play->exec.started, 0);
    assert_null(play_back(play, NULL));
    play_live(play);
    turn(play);
    assert_int_equal(play->exec.started, 1);
    play_free(play);
}

static void what_an_earlier_life_claimed_is_given_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    atomic_store(&play->node->incarnation, PLAY_LIFE + 1);
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, RUN_RELEASED);
    play_free(play);
}

static void what_has_expired_is_not_started(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct run *run = play_run(play, 1, 1, 5);
    run->job.expires_at = play->now.wall_ms;
    publish(play, run);
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, RUN_EXPIRED);
    play_free(play);
}

static void what_is_early_again_or_paused_meanwhile_is_given_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t lane = play_lane(play, "q");
    publish_new(play, 1, lane, 5);
    play->now.wall_ms -= 2000; // the clock was set back
    turn(play);
    assert_back(play, 1, RUN_RELEASED);
    lanes_pause(play->lanes, lane, PLAY_TENANT, STR("q"), true);
    publish_new(play, 2, lane, 5);
    turn(play);
    assert_back(play, 2, RUN_RELEASED);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void a_run_that_takes_longer_is_noted_as_begun_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct run_began *began = NULL, *again = NULL;
    publish_new(play, 1, 1, 5);
    int64_t next = turn(play);
    assert_true(next <= play->now.wall_ms + 100);
    play_pass(play, 99);
    turn(play);
    assert_null(play_back(play, &began));
    assert_null(began);
    play_pass(play, 1);
    turn(play);
    assert_null(play_back(play, &began));
    assert_non_null(began);
    assert_int_equal(began->job.id, 1);
    assert_int_equal(began->job.state, JOB_RESERVED);
    assert_int_equal(began->token, 2);
    play_pass(play, 1000);
    turn(play);
    assert_null(play_back(play, &again));
    assert_null(again);
    mem_free(began);
    end_and_forget(play, 1);
    play_free(play);
}

static void a_quick_run_is_not_noted_at_all(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct run_began *began = NULL;
    publish_new(play, 1, 1, 5);
    turn(play);
    end_and_forget(play, 1);
    play_pass(play, 1000);
    turn(play);
    assert_null(play_back(play, &began));
    assert_null(began);
    play_free(play);
}

static void a_revoked_run_that_waits_is_never_started(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    publish_new(play, 1, 1, 5);
    publish_new(play, 2, 1, 5);
    turn(play);
    dispatch_revoke(play->flow->dispatch, 2);
    turn(play);
    assert_back(play, 2, RUN_CANCELLED);
    end_and_forget(play, 1);
    turn(play);
    assert_int_equal(play->exec.started, 1);
    play_free(play);
}

static void a_revoked_run_that_runs_is_ended(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    dispatch_revoke(play->flow->dispatch, 1);
    turn(play);
    assert_back(play, 1, RUN_CANCELLED);
    assert_int_equal(dispatch_count(play->flow->dispatch), 0);
    dispatch_revoke(play->flow->dispatch, 1); // it has gone: that is fine
    turn(play);
    play_free(play);
}

static void a_run_that_ended_by_itself_just_before_its_revoke_has_ended(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    dispatch_revoke(play->flow->dispatch, 1);
    dispatch_turn(play->flow->dispatch, play->now);
    play_end(play, 1, OUTCOME_SUCCESS);
    assert_back(play, 1, RUN_ENDED);
    play_free(play);
}

// A broker that lets the puller publish and revoke just after the dispatcher has looked.
static struct play *crossing;

static void take_then_cross(struct broker *broker, struct list *ret_runs)
{
    if (!crossing)
        return;
    struct play *play = crossing;
    crossing = NULL;
    broker_take(play->broker, ret_runs);
    publish_new(play, 1, 1, 5);
    dispatch_revoke(play->flow->dispatch, 1);
}

static void a_revoke_that_crosses_its_run_is_not_lost(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct broker_ops ops = *play->broker->ops;
    struct broker crossed = {.ops = &ops};
    ops.take = take_then_cross;
    crossing = play;
    play->node->broker = &crossed;
    dispatch_turn(play->flow->dispatch, play->now); // the run and its revoke come while this turn looks
    play->node->broker = play->broker;
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, RUN_CANCELLED);
    play_free(play);
}

static void stopping_gives_back_what_waits_and_lets_what_runs_end(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    publish_new(play, 1, 1, 5);
    publish_new(play, 2, 1, 5);
    turn(play);
    atomic_store(&play->node->stopping, true);
    publish_new(play, 3, 2, 5);
    turn(play);
    assert_back(play, 2, RUN_RELEASED);
    assert_back(play, 3, RUN_RELEASED);
    assert_non_null(play_running(play, 1));
    end_and_forget(play, 1);
    assert_int_equal(dispatch_count(play->flow->dispatch), 0);
    play_free(play);
}

static void what_still_runs_when_patience_ends_is_interrupted(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    play_pass(play, 200);
    publish_new(play, 2, 1, 5);
    turn(play); // one is noted as begun, one is fresh
    struct run_began *began = NULL;
    assert_null(play_back(play, &began));
    mem_free(began);
    atomic_store(&play->node->stopping, true);
    dispatch_interrupt(play->flow->dispatch);
    turn(play);
    assert_int_equal(play->exec.count, 0);
    for (int i = 0; i < 2; i++) {
        struct run *run = play_back(play, NULL);
        assert_non_null(run);
        assert_int_equal(run->end, RUN_INTERRUPTED);
        run_free(run);
    }
    play_free(play);
}

static void what_is_to_be_found_out_first_takes_no_slot_and_no_attempt(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 2});
    play->exec.unknown_to = 10;
    for (int64_t id = 1; id <= 10; id++)
        publish_new(play, id, 1, 5);
    publish_new(play, 11, 1, 5); // the same lane: it has the slot that the others do not take
    turn(play);
    assert_int_equal(play->exec.preparing_count, 10);
    assert_non_null(play_running(play, 11));
    end_and_forget(play, 11);
    play_prepare(play, 3);
    turn(play);
    const struct run *run = play_running(play, 3);
    assert_non_null(run);
    assert_int_equal(run->job.attempts, 1);
    end_and_forget(play, 3);
    assert_int_equal(play->exec.started, 2);
    play_free(play);
}

static void it_is_found_out_once_and_may_be_called_off(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    play->exec.unknown_to = 3;
    publish_new(play, 10, 1, 5);
    turn(play);
    publish_new(play, 1, 1, 5);
    publish_new(play, 2, 1, 5);
    turn(play);
    assert_int_equal(play->exec.preparing_count, 0); // not before its turn
    end_and_forget(play, 10);
    turn(play);
    assert_int_equal(play->exec.preparing_count, 2);
    dispatch_revoke(play->flow->dispatch, 1);
    turn(play);
    assert_back(play, 1, RUN_CANCELLED);
    assert_int_equal(play->exec.preparing_count, 1);
    publish_new(play, 11, 1, 5);
    turn(play);
    play_prepare(play, 2);
    turn(play);
    assert_null(play_running(play, 2)); // the slot is taken, by who knew
    end_and_forget(play, 11);
    turn(play);
    assert_non_null(play_running(play, 2));
    assert_int_equal(play->exec.preparing_count, 0);
    end_and_forget(play, 2);
    play_free(play);
}

static void when_stopping_it_is_given_back(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    play->exec.unknown_to = 1;
    publish_new(play, 1, 1, 5);
    turn(play);
    assert_int_equal(play->exec.preparing_count, 1);
    atomic_store(&play->node->stopping, true);
    turn(play);
    assert_back(play, 1, RUN_RELEASED);
    assert_int_equal(play->exec.preparing_count, 0);
    play_free(play);
}

static void what_cannot_be_found_out_in_a_second_is_set_aside(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    play->exec.unknown_to = 1;
    publish_new(play, 1, 1, 5);
    assert_int_equal(turn(play), play->now.wall_ms + 1000);
    play_pass(play, 999);
    turn(play);
    assert_null(play_back(play, NULL));
    play_pass(play, 1);
    turn(play);
    struct run *run = play_back(play, NULL);
    assert_int_equal(run->end, RUN_POSTPONED);
    assert_int_equal(run->postpone_to, play->now.wall_ms + 3000);
    assert_int_equal(run->job.attempts, 0);
    assert_int_equal(play->exec.preparing_count, 0);
    run_free(run);
    play_free(play);
}

static void what_expires_meanwhile_does_not_start(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    play->exec.unknown_to = 1;
    struct run *run = play_run(play, 1, 1, 5);
    run->job.expires_at = play->now.wall_ms + 100;
    publish(play, run);
    turn(play);
    play_pass(play, 200);
    play_prepare(play, 1);
    turn(play);
    assert_back(play, 1, RUN_EXPIRED);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_a_lane_the_highest_priority_is_first),
        cmocka_unit_test(lanes_take_turns),
        cmocka_unit_test(no_more_run_at_once_than_there_are_slots),
        cmocka_unit_test(a_lane_that_floods_leaves_slots_for_the_others),
        cmocka_unit_test(a_run_that_comes_twice_is_started_once),
        cmocka_unit_test(a_newer_claim_ends_what_still_runs_and_is_tried_again_once),
        cmocka_unit_test(nothing_starts_while_this_life_is_not_sure_to_be_alive),
        cmocka_unit_test(what_an_earlier_life_claimed_is_given_back),
        cmocka_unit_test(what_has_expired_is_not_started),
        cmocka_unit_test(what_is_early_again_or_paused_meanwhile_is_given_back),
        cmocka_unit_test(a_run_that_takes_longer_is_noted_as_begun_once),
        cmocka_unit_test(a_quick_run_is_not_noted_at_all),
        cmocka_unit_test(a_revoked_run_that_waits_is_never_started),
        cmocka_unit_test(a_revoked_run_that_runs_is_ended),
        cmocka_unit_test(a_run_that_ended_by_itself_just_before_its_revoke_has_ended),
        cmocka_unit_test(a_revoke_that_crosses_its_run_is_not_lost),
        cmocka_unit_test(stopping_gives_back_what_waits_and_lets_what_runs_end),
        cmocka_unit_test(what_still_runs_when_patience_ends_is_interrupted),
        cmocka_unit_test(what_is_to_be_found_out_first_takes_no_slot_and_no_attempt),
        cmocka_unit_test(it_is_found_out_once_and_may_be_called_off),
        cmocka_unit_test(when_stopping_it_is_given_back),
        cmocka_unit_test(what_cannot_be_found_out_in_a_second_is_set_aside),
        cmocka_unit_test(what_expires_meanwhile_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
