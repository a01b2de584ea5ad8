// Pull knows what this node has in hand: it claims what is near, publishes nothing before its time, and what the store says is in
// its hand comes to it sooner or later, once.
#include "support/play.h"

#include "base/mem.h"
#include "store/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static int64_t turn(struct play *play)
{
    lane_scan_turn(play->flow->lane_scan, play->now); // through which pull comes to know its lanes
    return pull_turn(play->flow->pull, play->now);
}

// Turns until what was asked of the store has been taken in.
static void settle(struct play *play)
{
    for (int i = 0; i < 5; i++)
        turn(play);
}

// Claims are held back from now on; the first is carried out, but this node does not know.
static void lose_claim(struct play *play)
{
    play->store.hold[STORE_CLAIM] = true;
    settle(play);
    play_lose(play, play_waiting(play, STORE_CLAIM));
}

static struct order *published(struct play *play)
{
    struct list orders, *link;
    list_init(&orders);
    broker_take(play->broker, &orders);
    link = list_take(&orders);
    assert_true(list_empty(&orders));
    return link ? list_entry(link, struct order, link) : NULL;
}

static void assert_published(struct play *play, int64_t id)
{
    struct order *order = published(play);
    assert_non_null(order);
    assert_int_equal(order->job.id, id);
    order_free(order);
}

static void assert_nothing_published(struct play *play)
{
    assert_null(published(play));
}

static void assert_given_up(struct play *play, int64_t id, enum order_end end)
{
    struct outcome *outcome = play_back(play, NULL);
    assert_non_null(outcome);
    assert_int_equal(outcome->job.id, id);
    assert_int_equal(outcome->end, end);
    pull_returned(play->flow->pull, id, outcome->token);
    outcome_free(outcome);
}

static void nothing_is_published_before_its_time(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 3000});
    settle(play);
    assert_int_equal(pull_count(play->flow->pull), 1);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play_pass(play, 2999);
    assert_true(turn(play) <= play->now.wall_ms + 1);
    assert_nothing_published(play);
    play_pass(play, 1);
    turn(play);
    assert_published(play, id);
    play_free(play);
}

static void what_is_beyond_the_horizon_is_left_in_its_lane_until_it_is_near(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + LANES_BEGIN_MS + 500});
    settle(play);
    assert_int_equal(pull_count(play->flow->pull), 0);
    int64_t next = turn(play);
    assert_true(next <= play->now.wall_ms + 500);
    play_pass(play, 500);
    settle(play);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play_free(play);
}

static void a_full_broker_pushes_back_and_nothing_is_lost(void **state)
{
    struct play *play = play_new((struct play_config){.broker_max = 1});
    int64_t first = play_add(play, (struct play_job){0}), second = play_add(play, (struct play_job){0});
    settle(play);
    assert_published(play, first);
    assert_true(turn(play) <= play->now.wall_ms + 100);
    play_pass(play, 100);
    turn(play);
    assert_published(play, second);
    play_free(play);
}

static void no_more_is_claimed_than_there_is_room_for(void **state)
{
    struct play *play = play_new((struct play_config){.room = 4});
    for (int i = 0; i < 10; i++)
        play_add(play, (struct play_job){0});
    settle(play);
    assert_true(pull_count(play->flow->pull) <= 4);
    assert_int_equal(lanes_held(play->lanes), pull_count(play->flow->pull));
    play_free(play);
}

static void what_is_held_unknowingly_is_adopted_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    lose_claim(play);
    play->store.hold[STORE_CLAIM] = false;
    settle(play);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(pull_count(play->flow->pull), 0);
    for (int i = 0; i < 10; i++) {
        play_pass(play, 300);
        play_live(play);
        settle(play);
    }
    assert_published(play, id);
    assert_int_equal(pull_count(play->flow->pull), 1);
    assert_int_equal(lanes_held(play->lanes), 1);
    play_pass(play, 40000); // the next recount finds it in hand
    play_live(play);
    settle(play);
    assert_nothing_published(play);
    assert_int_equal(lanes_held(play->lanes), 1);
    play_free(play);
}

static void what_an_earlier_life_holds_is_not_adopted(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, 55);
    play_lane(play, "q");
    play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = 55});
    play_pass(play, 40000);
    play_live(play);
    settle(play);
    assert_int_equal(pull_count(play->flow->pull), 0);
    play_free(play);
}

static void a_recount_waits_for_answers_under_way(void **state)
{
    struct play *play = play_new((struct play_config){0});
    settle(play);
    play_pass(play, 40000);
    play_live(play);
    assert_true(node_push_begin(play->node));
    int before = play->store.count[PLAY_FIND_HELD];
    settle(play);
    assert_int_equal(play->store.count[PLAY_FIND_HELD], before);
    assert_false(node_push_begin(play->node)); // and nobody begins another
    play_add(play, (struct play_job){0});
    int claims = play->store.count[STORE_CLAIM];
    settle(play);
    assert_int_equal(play->store.count[STORE_CLAIM], claims);
    node_push_end(play->node);
    settle(play);
    assert_int_equal(play->store.count[PLAY_FIND_HELD], before + 1);
    assert_true(node_push_begin(play->node));
    node_push_end(play->node);
    play_free(play);
}

static void what_came_back_during_a_recount_is_not_adopted(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    settle(play);
    struct order *order = published(play);
    assert_non_null(order);
    play->store.hold[PLAY_FIND_HELD] = true;
    play_pass(play, 40000);
    play_live(play);
    settle(play);
    struct store_op *recount = play_waiting(play, PLAY_FIND_HELD);
    play_do(play, recount); // the store still has it in hand
    pull_returned(play->flow->pull, id, order->job.token);
    play_deliver(play, recount);
    settle(play);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    order_free(order);
    play_free(play);
}

static void a_store_that_does_not_answer_is_not_asked_in_a_loop(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_add(play, (struct play_job){0});
    settle(play);
    order_free(published(play));
    for (int verb = 0; verb < PLAY_VERB_COUNT; verb++)
        play->store.hold[verb] = true;
    lanes_due(play->lanes, 1, play->now.wall_ms);
    turn(play); // a claim is under way
    play_pass(play, 2000);
    atomic_store(&play->node->recount_wanted, true);
    turn(play);
    play_pass(play, 2000);
    play_live(play);
    turn(play); // a recount waits for the claim, a scan for its answer
    assert_true(turn(play) > play->now.wall_ms + 100);
    play_pass(play, 60000); // … and this life is not alive any more
    turn(play);
    assert_true(turn(play) > play->now.wall_ms + 100);
    play_free(play);
}

static void a_recount_that_waits_for_a_push_is_put_off_when_this_life_may_not_act(void **state)
{
    struct play *play = play_new((struct play_config){0});
    settle(play);
    play_pass(play, 40000);
    play_live(play);
    assert_true(node_push_begin(play->node)); // its answer does not come
    settle(play);
    assert_true(atomic_load(&play->node->counting));
    play->store.hold[STORE_LANES] = true;
    play_pass(play, 20000);
    turn(play);
    assert_false(atomic_load(&play->node->counting));
    assert_true(turn(play) > play->now.wall_ms + 100);
    node_push_end(play->node);
    play_free(play);
}

static void a_pause_gives_back_what_is_in_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 1000});
    settle(play);
    int64_t lane = play_job_of(play, id).lane;
    play_pause(play, "q", true);
    lanes_pause(play->lanes, lane, PLAY_TENANT, STR("q"), true);
    play_pass(play, 1000);
    turn(play);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_RELEASED);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

static void a_lane_paused_elsewhere_is_not_claimed_over_and_over(void **state)
{
    struct play *play = play_new((struct play_config){0});
    settle(play);
    int64_t lane = play_lane(play, "q");
    play_add(play, (struct play_job){0});
    play_pause(play, "q", true); // this node was not told
    lanes_due(play->lanes, lane, play->now.wall_ms);
    int before = play->store.count[STORE_CLAIM];
    for (int ms = 0; ms < 100; ms++) {
        turn(play);
        play_pass(play, 1);
    }
    assert_true(play->store.count[STORE_CLAIM] <= before + 2);
    play_free(play);
}

static void what_has_expired_in_the_wheel_is_given_up(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t due = play->now.wall_ms + 1000;
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = due, .expires_at = due + 10});
    settle(play);
    play_pass(play, 1010);
    turn(play);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_EXPIRED);
    play_free(play);
}

static void a_document_that_cannot_be_read_goes_to_its_end_and_not_to_the_broker(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":"});
    settle(play);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_UNREADABLE);
    play_free(play);
}

static void a_clock_set_back_gives_back_what_is_far_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 3000});
    settle(play);
    play->now.wall_ms -= 3600000;
    turn(play);
    assert_given_up(play, id, ORDER_RELEASED);
    assert_nothing_published(play);
    play_free(play);
}

static void the_orders_of_an_earlier_life_are_given_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 1000});
    settle(play);
    atomic_store(&play->node->incarnation, 0);
    play_pass(play, 1000);
    turn(play);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_RELEASED);
    play_free(play);
}

struct question {
    struct pull_ask ask;
    bool answered;
};

static void answered(struct pull_ask *ask)
{
    container_of(ask, struct question, ask)->answered = true;
}

static void ask_for(struct play *play, struct question *question, int64_t id, int64_t token, enum order_end end)
{
    *question = (struct question){.ask = {.job_id = id, .token = token, .end = end, .done = answered}};
    pull_ask(play->flow->pull, &question->ask);
    turn(play);
}

static void ask(struct play *play, struct question *question, int64_t id, enum order_end end)
{
    ask_for(play, question, id, 2, end); // its first claim
}

static void a_question_is_answered_when_the_end_is_written(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct question question;
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 1000});
    ask(play, &question, id, ORDER_CANCELLED);
    assert_true(question.answered && !question.ask.found); // not in hand yet
    settle(play);
    ask(play, &question, id, ORDER_CANCELLED);
    assert_false(question.answered);
    assert_given_up(play, id, ORDER_CANCELLED);
    assert_true(question.answered && question.ask.found);
    play_free(play);
}

static void a_claim_that_brings_a_cancelled_job_is_refused(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct question question;
    int64_t id = play_add(play, (struct play_job){0});
    play->store.hold[STORE_CLAIM] = true;
    settle(play);
    play_do(play, play_waiting(play, STORE_CLAIM));
    ask(play, &question, id, ORDER_CANCELLED);
    assert_true(question.answered);
    play_deliver(play, play_waiting(play, STORE_CLAIM));
    turn(play);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_CANCELLED);
    play_free(play);
}

// The end of an earlier attempt is written but its word has not come; the job is claimed again, and that answer is on its way
// too, when the cancel is written. The older claim in hand must not hide the newer one.
static void a_second_claim_of_a_cancelled_job_is_refused_too(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct question question;
    int64_t id = play_add(play, (struct play_job){0});
    settle(play);
    struct order *older = published(play);
    assert_non_null(older);
    struct job job = play_job_of(play, id);
    assert_int_equal(job_release(&job, job.due_at, play->now.wall_ms), ERR_OK);
    struct store_step step = {.token = older->job.token, .job = &job};
    struct store_change change = {.steps = &step, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(play->store.memory, &change.op);
    assert_int_equal(step.err, ERR_OK);
    store_op_done(&change.op);
    play->store.hold[STORE_CLAIM] = true;
    lanes_due(play->lanes, job.lane, play->now.wall_ms);
    settle(play);
    play_do(play, play_waiting(play, STORE_CLAIM));
    ask(play, &question, id, ORDER_CANCELLED);
    play_deliver(play, play_waiting(play, STORE_CLAIM));
    turn(play);
    assert_true(question.answered);
    assert_nothing_published(play);
    assert_given_up(play, id, ORDER_CANCELLED);
    order_free(older);
    play_free(play);
}

static void thousands_of_cancels_later_the_oldest_is_forgotten_and_no_other(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct question question;
    int64_t old = play_add(play, (struct play_job){0}), recent = play_add(play, (struct play_job){0});
    play->store.hold[STORE_LANES] = true; // nothing is claimed until this node knows the lane
    ask(play, &question, old, ORDER_CANCELLED);
    for (int64_t id = 1; id < 8192; id++)
        ask(play, &question, 100000 + id, ORDER_CANCELLED);
    ask(play, &question, recent, ORDER_CANCELLED);
    play_answer(play, play_waiting(play, STORE_LANES));
    settle(play);
    assert_published(play, old);
    assert_given_up(play, recent, ORDER_CANCELLED);
    play_free(play);
}

static void stopping_gives_everything_back_and_waits_for_what_is_under_way(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t first = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 1000});
    settle(play);
    int64_t second = play_add(play, (struct play_job){0});
    play->store.hold[STORE_CLAIM] = true;
    lanes_due(play->lanes, 1, play->now.wall_ms);
    turn(play);
    atomic_store(&play->node->stopping, true);
    turn(play);
    assert_given_up(play, first, ORDER_RELEASED);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_false(flow_drained(play->flow)); // a claim may still bring something
    play_answer(play, play_waiting(play, STORE_CLAIM));
    turn(play);
    assert_given_up(play, second, ORDER_RELEASED);
    assert_true(flow_drained(play->flow));
    play_free(play);
}

static void stopping_waits_for_a_push_that_is_under_way(void **state)
{
    struct play *play = play_new((struct play_config){0});
    settle(play);
    int64_t lane = play_lane(play, "q");
    assert_true(node_push_begin(play->node));
    atomic_store(&play->node->stopping, true);
    turn(play);
    assert_false(flow_drained(play->flow));
    struct order *order = play_order(play, 5, lane, 5);
    assert_int_equal(lanes_take(play->lanes, PLAY_TENANT, STR("q"), order->doc.n, play->now.wall_ms), lane);
    pull_push(play->flow->pull, order);
    node_push_end(play->node);
    assert_false(flow_drained(play->flow));
    turn(play);
    assert_given_up(play, 5, ORDER_RELEASED);
    turn(play);
    assert_true(flow_drained(play->flow));
    assert_false(node_push_begin(play->node)); // and no other begins
    play_free(play);
}

static void who_was_declared_dead_and_stops_has_nothing_to_look_for(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_add(play, (struct play_job){0});
    lose_claim(play);
    settle(play);
    atomic_store(&play->node->stopping, true);
    play_pass(play, 20000); // it was frozen, and may not act until a beat is answered
    settle(play);
    assert_false(flow_drained(play->flow)); // this life may still have something in hand
    play->store.fails[STORE_BEAT] = ERR_FENCED;
    play_turn(play);
    play_turn(play);
    assert_int_equal(atomic_load(&play->node->incarnation), 0);
    assert_true(flow_drained(play->flow));
    play_free(play);
}

// ---- tasks that are paused and changed

static void pause_task(struct play *play, int64_t id)
{
    struct store_get get = {.tenant = PLAY_TENANT, .task_id = id};
    store_op_init(&get.op, STORE_GET, NULL);
    store_call(play->store.memory, &get.op);
    struct store_amend amend = {.task = get.task};
    amend.task.paused = true;
    store_op_init(&amend.op, STORE_AMEND, NULL);
    store_call(play->store.memory, &amend.op);
    assert_int_equal(amend.op.err, ERR_OK);
    store_op_done(&amend.op);
    store_op_done(&get.op);
}

// What is on its way back without having begun, and until when it is put off. It stays in hand.
static struct outcome *given_up(struct play *play, int64_t id, enum order_end end)
{
    struct outcome *outcome = play_back(play, NULL);
    assert_non_null(outcome);
    assert_int_equal(outcome->job.id, id);
    assert_int_equal(outcome->end, end);
    return outcome;
}

static void come_back(struct play *play, struct outcome *outcome)
{
    pull_returned(play->flow->pull, outcome->job.id, outcome->token);
    outcome_free(outcome);
}

static void a_claimed_job_of_a_paused_task_is_put_off(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.due_at = play->now.wall_ms - 60000});
    pause_task(play, id);
    settle(play);
    assert_nothing_published(play);
    struct outcome *outcome = given_up(play, id, ORDER_POSTPONED);
    assert_int_equal(outcome->postpone_to, play->now.wall_ms + 60000);
    come_back(play, outcome);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

static void an_adopted_job_of_a_paused_task_is_put_off(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    lose_claim(play);
    pause_task(play, id);
    for (int i = 0; i < 10; i++) {
        play_pass(play, 300);
        play_live(play);
        settle(play);
    }
    assert_nothing_published(play);
    come_back(play, given_up(play, id, ORDER_POSTPONED));
    play_free(play);
}

// How long to keep what is cancelled is in its document, which is not there.
static void what_is_paused_and_called_off_is_put_off_too(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    struct question question;
    pause_task(play, id);
    ask(play, &question, id, ORDER_CANCELLED);
    settle(play);
    come_back(play, given_up(play, id, ORDER_POSTPONED));
    play_free(play);
}

static void what_waits_in_the_wheel_can_be_called_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.state = JOB_DELAYED, .due_at = play->now.wall_ms + 3000});
    struct question first, second;
    settle(play);
    first = (struct question){
        .ask = {.job_id = id, .end = ORDER_POSTPONED, .postpone_to = play->now.wall_ms + 9000, .done = answered}};
    pull_ask(play->flow->pull, &first.ask);
    turn(play);
    struct outcome *outcome = given_up(play, id, ORDER_POSTPONED);
    assert_int_equal(outcome->postpone_to, play->now.wall_ms + 9000);
    ask(play, &second, id, ORDER_POSTPONED); // it is on its way back already
    assert_false(first.answered || second.answered);
    come_back(play, outcome);
    assert_true(first.answered && first.ask.found && !first.ask.begins);
    assert_true(second.answered && second.ask.found && !second.ask.begins);
    play_free(play);
}

static void what_begins_is_said_to_and_what_is_unknown_too(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    struct question begins, unknown;
    settle(play);
    assert_published(play, id);
    ask(play, &begins, id, ORDER_POSTPONED);
    ask(play, &unknown, 999, ORDER_POSTPONED);
    assert_true(begins.answered && !begins.ask.found && begins.ask.begins);
    assert_true(unknown.answered && !unknown.ask.found && !unknown.ask.begins);
    play_free(play);
}

// That the end of a claim is written may be heard of later than that the job was claimed again.
static void an_earlier_claim_that_runs_says_nothing_of_a_later_one(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    struct question question;
    settle(play);
    assert_published(play, id);
    int64_t token = play_job_of(play, id).token;
    ask_for(play, &question, id, token, ORDER_POSTPONED);
    assert_true(question.answered && !question.ask.found && question.ask.begins);
    ask_for(play, &question, id, token + 2, ORDER_POSTPONED);
    assert_true(question.answered && !question.ask.found && !question.ask.begins);
    play_free(play);
}

// A walk round many lanes takes its time, unless something may have been missed.
static void after_a_lost_answer_all_lanes_are_gone_through_at_once(void **state)
{
    enum { LANES = 1200 };
    struct play *play = play_new((struct play_config){0});
    int64_t far = play->now.wall_ms + 3600000;
    char queue[32];
    for (int i = 0; i < LANES; i++) {
        snprintf(queue, sizeof queue, "q%d", i);
        play_add(play, (struct play_job){.queue = queue, .state = JOB_DELAYED, .due_at = far});
    }
    play_turn(play);
    play_pass(play, 1);
    play_turn(play); // the first walk does not pause
    snprintf(queue, sizeof queue, "q%d", LANES - 1);
    int64_t missed = play_add(play, (struct play_job){.queue = queue}); // and nobody tells the node
    int asked = play->store.count[STORE_LANES];
    play_pass(play, 10);
    play_turn(play);
    assert_null(play_running(play, missed));
    assert_int_equal(play->store.count[STORE_LANES], asked);
    atomic_store(&play->node->lane_scan_wanted, true);
    for (int i = 0; i < LANES / 500 + 1; i++) {
        play_turn(play);
        play_pass(play, 1);
    }
    play_turn(play);
    assert_non_null(play_running(play, missed));
    play_end(play, missed, OUTCOME_SUCCESS);
    play_turn(play);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(after_a_lost_answer_all_lanes_are_gone_through_at_once),
        cmocka_unit_test(nothing_is_published_before_its_time),
        cmocka_unit_test(what_is_beyond_the_horizon_is_left_in_its_lane_until_it_is_near),
        cmocka_unit_test(a_full_broker_pushes_back_and_nothing_is_lost),
        cmocka_unit_test(no_more_is_claimed_than_there_is_room_for),
        cmocka_unit_test(what_is_held_unknowingly_is_adopted_once),
        cmocka_unit_test(what_an_earlier_life_holds_is_not_adopted),
        cmocka_unit_test(a_recount_waits_for_answers_under_way),
        cmocka_unit_test(what_came_back_during_a_recount_is_not_adopted),
        cmocka_unit_test(a_store_that_does_not_answer_is_not_asked_in_a_loop),
        cmocka_unit_test(a_recount_that_waits_for_a_push_is_put_off_when_this_life_may_not_act),
        cmocka_unit_test(a_pause_gives_back_what_is_in_hand),
        cmocka_unit_test(a_lane_paused_elsewhere_is_not_claimed_over_and_over),
        cmocka_unit_test(what_has_expired_in_the_wheel_is_given_up),
        cmocka_unit_test(a_document_that_cannot_be_read_goes_to_its_end_and_not_to_the_broker),
        cmocka_unit_test(a_clock_set_back_gives_back_what_is_far_again),
        cmocka_unit_test(the_orders_of_an_earlier_life_are_given_back),
        cmocka_unit_test(a_question_is_answered_when_the_end_is_written),
        cmocka_unit_test(a_claim_that_brings_a_cancelled_job_is_refused),
        cmocka_unit_test(a_second_claim_of_a_cancelled_job_is_refused_too),
        cmocka_unit_test(thousands_of_cancels_later_the_oldest_is_forgotten_and_no_other),
        cmocka_unit_test(stopping_gives_everything_back_and_waits_for_what_is_under_way),
        cmocka_unit_test(stopping_waits_for_a_push_that_is_under_way),
        cmocka_unit_test(who_was_declared_dead_and_stops_has_nothing_to_look_for),
        cmocka_unit_test(a_claimed_job_of_a_paused_task_is_put_off),
        cmocka_unit_test(an_adopted_job_of_a_paused_task_is_put_off),
        cmocka_unit_test(what_is_paused_and_called_off_is_put_off_too),
        cmocka_unit_test(what_waits_in_the_wheel_can_be_called_back),
        cmocka_unit_test(what_begins_is_said_to_and_what_is_unknown_too),
        cmocka_unit_test(an_earlier_claim_that_runs_says_nothing_of_a_later_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
