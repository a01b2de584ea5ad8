// Dispatch starts what may start, once, in turn and within its slots, and sends everything back.
#include "support/play.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void publish(struct play *play, struct order *order)
{
    assert_int_equal(broker_publish(play->broker, order), ERR_OK);
}

static void publish_new(struct play *play, int64_t id, int64_t lane, int priority)
{
    publish(play, play_order(play, id, lane, priority));
}

static void revoke(struct play *play, int64_t id)
{
    broker_control(play->broker, &(struct control){.kind = CONTROL_REVOKE, .id = id, .token = 2});
}

static int64_t turn(struct play *play)
{
    int64_t next = dispatch_turn(play->flow->dispatch, play->now);
    play->exec.exec.ops->poll(&play->exec.exec, 0);
    return next;
}

static void assert_back(struct play *play, int64_t id, enum order_end end)
{
    struct outcome *outcome = play_back(play, NULL);
    assert_non_null(outcome);
    assert_int_equal(outcome->job.id, id);
    assert_int_equal(outcome->end, end);
    outcome_free(outcome);
}

static void end_and_forget(struct play *play, int64_t id)
{
    play_end(play, id, OUTCOME_SUCCESS);
    assert_back(play, id, ORDER_ENDED);
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

static int answered;

static void count_answer(struct dispatch_question *question)
{
    answered++;
}

static void questions_are_answered_a_few_a_turn_and_the_rest_at_once_behind_it(void **state)
{
    enum { QUESTIONS = 50 };
    struct play *play = play_new((struct play_config){0});
    struct dispatch_question questions[QUESTIONS];
    answered = 0;
    for (int i = 0; i < QUESTIONS; i++) {
        questions[i] = (struct dispatch_question){.job_id = i + 1, .lane = 1, .priority = 5, .done = count_answer};
        dispatch_ask(play->flow->dispatch, &questions[i]);
    }
    for (int before = 0; answered < QUESTIONS; before = answered) {
        int64_t next = turn(play);
        assert_true(answered > before && answered - before < 10);
        assert_true(answered == QUESTIONS || next <= play->now.wall_ms + 1);
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

static void an_order_that_comes_twice_is_started_once(void **state)
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
    struct order *newer = play_order(play, 1, 1, 5), *copy = play_order(play, 1, 1, 5);
    newer->job.token = copy->job.token = 5;
    publish(play, newer);
    dispatch_turn(play->flow->dispatch, play->now);
    assert_back(play, 1, ORDER_POSTPONED);
    assert_int_equal(play->exec.cancelled, 1);
    play->exec.exec.ops->poll(&play->exec.exec, 0);
    assert_back(play, 1, ORDER_CANCELLED); // which is refused by its token
    publish(play, copy);                   // the broker brings the newer one a second time
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
    node_end_life(play->node);
    node_begin_life(play->node, PLAY_LIFE + 1, play->now.mono_ms + BEAT_ALIVE_MS);
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, ORDER_RELEASED);
    play_free(play);
}

static void what_has_expired_is_not_started(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct order *order = play_order(play, 1, 1, 5);
    order->job.expires_at = play->now.wall_ms;
    publish(play, order);
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, ORDER_EXPIRED);
    play_free(play);
}

static void what_is_early_again_or_paused_meanwhile_is_given_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t lane = play_lane(play, "q");
    publish_new(play, 1, lane, 5);
    play->now.wall_ms -= 2000; // the clock was set back
    turn(play);
    assert_back(play, 1, ORDER_RELEASED);
    lanes_pause(play->lanes, lane, PLAY_TENANT, STR("q"), true);
    publish_new(play, 2, lane, 5);
    turn(play);
    assert_back(play, 2, ORDER_RELEASED);
    assert_int_equal(play->exec.started, 0);
    play_free(play);
}

static void an_attempt_that_takes_longer_is_noted_as_begun_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *began = NULL, *again = NULL;
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
    outcome_free(began);
    end_and_forget(play, 1);
    play_free(play);
}

static void a_quick_attempt_is_not_noted_at_all(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *began = NULL;
    publish_new(play, 1, 1, 5);
    turn(play);
    end_and_forget(play, 1);
    play_pass(play, 1000);
    turn(play);
    assert_null(play_back(play, &began));
    assert_null(began);
    play_free(play);
}

static void a_revoked_order_that_waits_is_never_started(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    publish_new(play, 1, 1, 5);
    publish_new(play, 2, 1, 5);
    turn(play);
    revoke(play, 2);
    turn(play);
    assert_back(play, 2, ORDER_CANCELLED);
    end_and_forget(play, 1);
    turn(play);
    assert_int_equal(play->exec.started, 1);
    play_free(play);
}

static void a_revoked_order_that_runs_is_ended(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    revoke(play, 1);
    turn(play);
    assert_back(play, 1, ORDER_CANCELLED);
    assert_int_equal(dispatch_count(play->flow->dispatch), 0);
    revoke(play, 1); // it has gone: that is fine
    turn(play);
    play_free(play);
}

static void an_attempt_that_ended_by_itself_just_before_its_revoke_has_ended(void **state)
{
    struct play *play = play_new((struct play_config){0});
    publish_new(play, 1, 1, 5);
    turn(play);
    revoke(play, 1);
    dispatch_turn(play->flow->dispatch, play->now);
    play_end(play, 1, OUTCOME_SUCCESS);
    assert_back(play, 1, ORDER_ENDED);
    play_free(play);
}

// A broker that lets the puller publish and revoke just after the dispatcher has looked.
static struct play *crossing;

static void take_then_cross(struct broker *broker, struct list *ret_orders)
{
    if (!crossing)
        return;
    struct play *play = crossing;
    crossing = NULL;
    broker_local_ops.take(broker, ret_orders);
    publish_new(play, 1, 1, 5);
    revoke(play, 1);
}

static void a_revoke_that_crosses_its_order_is_not_lost(void **state)
{
    struct play *play = play_new((struct play_config){0});
    const struct broker_ops *shipped = play->broker->ops;
    struct broker_ops ops = *shipped;
    ops.take = take_then_cross;
    crossing = play;
    play->broker->ops = &ops;
    dispatch_turn(play->flow->dispatch, play->now); // the order and its revoke come while this turn looks
    play->broker->ops = shipped;
    turn(play);
    assert_int_equal(play->exec.started, 0);
    assert_back(play, 1, ORDER_CANCELLED);
    play_free(play);
}

static void stopping_gives_back_what_waits_and_lets_what_runs_end(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    publish_new(play, 1, 1, 5);
    publish_new(play, 2, 1, 5);
    turn(play);
    flow_stop(play->flow);
    publish_new(play, 3, 2, 5);
    turn(play);
    assert_back(play, 2, ORDER_RELEASED);
    assert_back(play, 3, ORDER_RELEASED);
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
    struct outcome *began = NULL;
    assert_null(play_back(play, &began));
    outcome_free(began);
    flow_stop(play->flow);
    dispatch_interrupt(play->flow->dispatch);
    turn(play);
    assert_int_equal(play->exec.count, 0);
    for (int i = 0; i < 2; i++) {
        struct outcome *outcome = play_back(play, NULL);
        assert_non_null(outcome);
        assert_int_equal(outcome->end, ORDER_INTERRUPTED);
        outcome_free(outcome);
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
    const struct exec_attempt *attempt = play_running(play, 3);
    assert_non_null(attempt);
    assert_int_equal(attempt->outcome->job.attempts, 1);
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
    revoke(play, 1);
    turn(play);
    assert_back(play, 1, ORDER_CANCELLED);
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
    flow_stop(play->flow);
    turn(play);
    assert_back(play, 1, ORDER_RELEASED);
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
    struct outcome *outcome = play_back(play, NULL);
    assert_int_equal(outcome->end, ORDER_POSTPONED);
    assert_int_equal(outcome->postpone_to, play->now.wall_ms + 3000);
    assert_int_equal(outcome->job.attempts, 0);
    assert_int_equal(play->exec.preparing_count, 0);
    outcome_free(outcome);
    play_free(play);
}

static void what_expires_meanwhile_does_not_start(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 1});
    play->exec.unknown_to = 1;
    struct order *order = play_order(play, 1, 1, 5);
    order->job.expires_at = play->now.wall_ms + 100;
    publish(play, order);
    turn(play);
    play_pass(play, 200);
    play_prepare(play, 1);
    turn(play);
    assert_back(play, 1, ORDER_EXPIRED);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_a_lane_the_highest_priority_is_first),
        cmocka_unit_test(lanes_take_turns),
        cmocka_unit_test(questions_are_answered_a_few_a_turn_and_the_rest_at_once_behind_it),
        cmocka_unit_test(no_more_run_at_once_than_there_are_slots),
        cmocka_unit_test(a_lane_that_floods_leaves_slots_for_the_others),
        cmocka_unit_test(an_order_that_comes_twice_is_started_once),
        cmocka_unit_test(a_newer_claim_ends_what_still_runs_and_is_tried_again_once),
        cmocka_unit_test(nothing_starts_while_this_life_is_not_sure_to_be_alive),
        cmocka_unit_test(what_an_earlier_life_claimed_is_given_back),
        cmocka_unit_test(what_has_expired_is_not_started),
        cmocka_unit_test(what_is_early_again_or_paused_meanwhile_is_given_back),
        cmocka_unit_test(an_attempt_that_takes_longer_is_noted_as_begun_once),
        cmocka_unit_test(a_quick_attempt_is_not_noted_at_all),
        cmocka_unit_test(a_revoked_order_that_waits_is_never_started),
        cmocka_unit_test(a_revoked_order_that_runs_is_ended),
        cmocka_unit_test(an_attempt_that_ended_by_itself_just_before_its_revoke_has_ended),
        cmocka_unit_test(a_revoke_that_crosses_its_order_is_not_lost),
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
