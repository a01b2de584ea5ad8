// Complete writes what became of runs, a batch at a time, and nothing is lost while the store is away.
#include "support/play.h"

#include "base/mem.h"
#include "store/jobs.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int64_t turn(struct play *play)
{
    recorder_turn(play->flow->recorder, play->now);
    return complete_turn(play->flow->complete, play->now);
}

static struct store_change *written(struct play *play)
{
    struct store_op *op = play_waiting(play, STORE_CHANGE);
    return op ? container_of(op, struct store_change, op) : NULL;
}

// A job that this node has claimed and published, as it comes back.
static struct outcome *in_hand(struct play *play, const char *doc)
{
    int64_t id = play_add(play, (struct play_job){.doc = doc});
    for (int i = 0; i < 12; i++) {
        play_live(play);
        lane_scan_turn(play->flow->lane_scan, play->now);
        pull_turn(play->flow->pull, play->now);
        play_pass(play, 1000);
    }
    struct list orders;
    list_init(&orders);
    broker_take(play->broker, &orders);
    struct list *link = list_take(&orders);
    assert_non_null(link);
    struct outcome *outcome = outcome_new(list_entry(link, struct order, link));
    assert_int_equal(outcome->job.id, id);
    return outcome;
}

static void come_back(struct play *play, struct outcome *outcome, enum order_end end)
{
    outcome->end = end;
    broker_report(play->broker, outcome);
}

// The attempt began and ended.
static void end_attempt(struct play *play, struct outcome *outcome, enum job_outcome how)
{
    assert_int_equal(job_start(&outcome->job, &outcome->policy, play->now.wall_ms), ERR_OK);
    outcome->result = (struct job_result){.outcome = how, .completed_at = play->now.wall_ms};
    come_back(play, outcome, ORDER_ENDED);
}

enum { REST_EACH_MS = 2, REST_MAX_MS = 10 }; // as complete.c has them

static void a_lone_outcome_does_not_wait(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcome = in_hand(play, NULL);
    int64_t id = outcome->job.id;
    end_attempt(play, outcome, OUTCOME_SUCCESS);
    turn(play);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    assert_true(complete_idle(play->flow->complete));
    play_free(play);
}

static void one_batch_holds_what_came_meanwhile(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcomes[6];
    for (int i = 0; i < 6; i++)
        outcomes[i] = in_hand(play, NULL);
    play->store.hold[STORE_CHANGE] = true;
    for (int i = 0; i < 2; i++) {
        end_attempt(play, outcomes[i], OUTCOME_SUCCESS);
        turn(play);
        play_pass(play, REST_EACH_MS);
    }
    int batches = play->store.count[STORE_CHANGE];
    for (int i = 2; i < 6; i++) {
        end_attempt(play, outcomes[i], OUTCOME_SUCCESS);
        turn(play);
    }
    assert_int_equal(play->store.count[STORE_CHANGE], batches); // those under way are enough
    play_answer(play, play_waiting(play, STORE_CHANGE));
    play_answer(play, play_waiting(play, STORE_CHANGE));
    turn(play);
    assert_int_equal(play->store.count[STORE_CHANGE], batches + 1);
    assert_int_equal(written(play)->count, 4);
    play_answer(play, play_waiting(play, STORE_CHANGE));
    turn(play);
    assert_true(complete_idle(play->flow->complete));
    assert_int_equal(pull_count(play->flow->pull), 0);
    play_free(play);
}

static void after_a_batch_the_next_ones_gather_for_a_moment(void **state)
{
    static const struct {
        int count;
        int64_t rest_ms;
    } rows[] = {{1, REST_EACH_MS}, {3, 3 * REST_EACH_MS}, {16, REST_MAX_MS}};
    for (size_t row = 0; row < array_count(rows); row++) {
        struct play *play = play_new((struct play_config){0});
        struct outcome *outcomes[18];
        for (size_t i = 0; i < array_count(outcomes); i++)
            outcomes[i] = in_hand(play, NULL);
        int before = play->store.count[STORE_CHANGE], at = 0;
        while (at < rows[row].count)
            end_attempt(play, outcomes[at++], OUTCOME_SUCCESS);
        turn(play);
        assert_int_equal(play->store.count[STORE_CHANGE], before + 1);
        int woken = play->woken;
        end_attempt(play, outcomes[at++], OUTCOME_SUCCESS);
        assert_int_equal(play->woken, woken + 1);
        assert_int_equal(turn(play), play->now.wall_ms + rows[row].rest_ms);
        play_pass(play, rows[row].rest_ms - 1);
        end_attempt(play, outcomes[at++], OUTCOME_SUCCESS);
        assert_int_equal(play->woken, woken + 1); // it is known by then that something waits
        assert_int_equal(turn(play), play->now.wall_ms + 1);
        assert_int_equal(play->store.count[STORE_CHANGE], before + 1);
        play_pass(play, 1);
        turn(play);
        assert_int_equal(play->store.count[STORE_CHANGE], before + 2); // both
        turn(play);
        assert_true(complete_idle(play->flow->complete));
        assert_int_equal(pull_count(play->flow->pull), array_count(outcomes) - (size_t)at);
        while ((size_t)at < array_count(outcomes))
            outcome_free(outcomes[at++]);
        play_free(play);
    }
}

static void a_failed_batch_is_written_again_unchanged(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcome = in_hand(play, "{\"url\":\"http://h/\",\"retry\":{\"max\":5,\"delay\":\"1h\"}}");
    int64_t id = outcome->job.id;
    play->store.hold[STORE_CHANGE] = true;
    end_attempt(play, outcome, OUTCOME_FAILED); // when it is tried again is decided by dice, once
    turn(play);
    int64_t due = written(play)->steps[0].job->due_at;
    play_refuse(play, play_waiting(play, STORE_CHANGE), ERR_STORE_UNAVAILABLE);
    int64_t next = turn(play);
    assert_null(written(play));
    assert_true(next > play->now.wall_ms && next <= play->now.wall_ms + 1000);
    play_pass(play, 1000);
    turn(play);
    assert_int_equal(written(play)->count, 1);
    assert_int_equal(written(play)->steps[0].job->due_at, due);
    play_answer(play, play_waiting(play, STORE_CHANGE));
    turn(play);
    assert_int_equal(play_job_of(play, id).due_at, due);
    assert_int_equal(play_attempts_of(play, id), 1);
    assert_int_equal(pull_count(play->flow->pull), 0);
    play_free(play);
}

static void a_batch_whose_answer_was_lost_is_not_written_twice(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcome = in_hand(play, NULL);
    int64_t id = outcome->job.id;
    play->store.hold[STORE_CHANGE] = true;
    end_attempt(play, outcome, OUTCOME_FAILED);
    turn(play);
    play_lose(play, play_waiting(play, STORE_CHANGE));
    turn(play);
    play_pass(play, 1000);
    turn(play);
    play_answer(play, play_waiting(play, STORE_CHANGE));
    turn(play);
    assert_int_equal(play_attempts_of(play, id), 1);
    assert_int_equal(play_job_of(play, id).retries, 1);
    assert_int_equal(pull_count(play->flow->pull), 0);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

static void a_store_that_is_away_is_asked_less_and_less_and_in_few_batches(void **state)
{
    enum { JOBS = 20 };
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcomes[JOBS];
    for (int i = 0; i < JOBS; i++)
        outcomes[i] = in_hand(play, NULL);
    play->store.fails[STORE_CHANGE] = ERR_STORE_UNAVAILABLE;
    for (int i = 0; i < JOBS; i++) { // one every millisecond
        end_attempt(play, outcomes[i], OUTCOME_SUCCESS);
        turn(play);
        turn(play);
        play_pass(play, 1);
    }
    assert_true(play->store.count[STORE_CHANGE] <= 4);
    for (int ms = 0; ms < 60000; ms += 10) {
        turn(play);
        play_pass(play, 10);
    }
    assert_true(play->store.count[STORE_CHANGE] <= 300);
    play->store.fails[STORE_CHANGE] = ERR_OK;
    for (int ms = 0; ms < 2000; ms += 10) { // back within 2 s
        turn(play);
        play_pass(play, 10);
    }
    assert_true(complete_idle(play->flow->complete));
    assert_int_equal(pull_count(play->flow->pull), 0);
    play_free(play);
}

static void a_write_with_an_old_token_is_refused_and_the_place_is_free(void **state)
{
    struct play *play = play_new((struct play_config){0});
    struct outcome *outcome = in_hand(play, NULL);
    int64_t id = outcome->job.id;
    struct job job = outcome->job;
    struct job_step lost;
    assert_int_equal(job_lose(&job, &outcome->policy, play->now.wall_ms, &lost), ERR_OK);
    struct store_step step = {.token = outcome->token, .job = &job};
    struct store_change change = {.steps = &step, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(play->store.memory, &change.op); // somebody took it away
    store_op_done(&change.op);
    end_attempt(play, outcome, OUTCOME_SUCCESS);
    turn(play);
    turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_READY);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

static void a_document_that_cannot_be_read_ends_its_job_and_not_the_loop(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t poison = play_add(play, (struct play_job){.doc = "{\"url\":"}), good = play_add(play, (struct play_job){0});
    play_turn(play);
    play_end(play, good, OUTCOME_SUCCESS);
    play_pass(play, REST_EACH_MS);
    play_turn(play);
    assert_int_equal(play_job_of(play, poison).state, JOB_ABORTED);
    assert_int_equal(play_job_of(play, poison).outcome, OUTCOME_REFUSED);
    assert_int_equal(play_job_of(play, poison).purge_at, 0); // kept for a person to look at
    assert_int_equal(play_job_of(play, good).state, JOB_SUCCESS);
    assert_int_equal(pull_count(play->flow->pull), 0);
    play_free(play);
}

static void each_way_back_is_written_as_what_it_is(void **state)
{
    static const struct {
        enum order_end end;
        bool began;
        enum job_state after;
        int32_t attempts;
    } ways[] = {
        {ORDER_RELEASED, false, JOB_READY, 0},      {ORDER_POSTPONED, false, JOB_DELAYED, 0},
        {ORDER_HURRIED, false, JOB_READY, 0},       {ORDER_INTERRUPTED, true, JOB_READY, 1},
        {ORDER_CANCELLED, false, JOB_CANCELLED, 0}, {ORDER_CANCELLED, true, JOB_CANCELLED, 1},
        {ORDER_EXPIRED, false, JOB_CANCELLED, 0},
    };
    for (size_t i = 0; i < array_count(ways); i++) {
        struct play *play = play_new((struct play_config){0});
        struct outcome *outcome = in_hand(play, NULL);
        int64_t id = outcome->job.id;
        outcome->postpone_to = play->now.wall_ms + 10000;
        if (ways[i].began)
            assert_int_equal(job_start(&outcome->job, &outcome->policy, play->now.wall_ms), ERR_OK);
        come_back(play, outcome, ways[i].end);
        turn(play);
        turn(play);
        assert_int_equal(play_job_of(play, id).state, ways[i].after);
        assert_int_equal(play_job_of(play, id).attempts, ways[i].attempts);
        assert_int_equal(pull_count(play->flow->pull), 0);
        play_free(play);
    }
}

static void a_word_that_it_began_keeps_the_job_in_hand(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    play_pass(play, 100);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    assert_int_equal(pull_count(play->flow->pull), 1);
    play_end(play, id, OUTCOME_SUCCESS);
    play_pass(play, REST_EACH_MS);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_SUCCESS);
    assert_int_equal(play_job_of(play, id).attempts, 1);
    play_free(play);
}

static void what_is_tried_again_is_claimed_when_it_is_due(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){.doc = "{\"url\":\"http://h/\",\"retry\":{\"max\":1,\"delay\":\"2s\"}}"});
    play_turn(play);
    play_end(play, id, OUTCOME_FAILED);
    play_turn(play);
    assert_null(play_running(play, id));
    for (int i = 0; i < 50 && !play_running(play, id); i++) {
        play_pass(play, 100);
        play_turn(play);
    }
    assert_non_null(play_running(play, id));
    play_end(play, id, OUTCOME_FAILED);
    play_turn(play);
    assert_int_equal(play_job_of(play, id).state, JOB_ABORTED);
    assert_int_equal(play_attempts_of(play, id), 2);
    play_free(play);
}

static void a_stop_while_the_store_fails_is_not_drained_until_it_is_written(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = play_add(play, (struct play_job){0});
    play_turn(play);
    play->store.fails[STORE_CHANGE] = ERR_STORAGE_FULL;
    flow_stop(play->flow);
    dispatch_interrupt(play->flow->dispatch);
    for (int i = 0; i < 50; i++) {
        play_turn(play);
        assert_false(flow_drained(play->flow));
        play_pass(play, 100);
    }
    play->store.fails[STORE_CHANGE] = ERR_OK;
    for (int i = 0; i < 20; i++) {
        play_turn(play);
        play_pass(play, 100);
    }
    assert_true(flow_drained(play->flow));
    assert_int_equal(play_job_of(play, id).state, JOB_READY);
    assert_int_equal(lanes_held(play->lanes), 0);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_outcome_does_not_wait),
        cmocka_unit_test(one_batch_holds_what_came_meanwhile),
        cmocka_unit_test(after_a_batch_the_next_ones_gather_for_a_moment),
        cmocka_unit_test(a_failed_batch_is_written_again_unchanged),
        cmocka_unit_test(a_batch_whose_answer_was_lost_is_not_written_twice),
        cmocka_unit_test(a_store_that_is_away_is_asked_less_and_less_and_in_few_batches),
        cmocka_unit_test(a_write_with_an_old_token_is_refused_and_the_place_is_free),
        cmocka_unit_test(a_document_that_cannot_be_read_ends_its_job_and_not_the_loop),
        cmocka_unit_test(each_way_back_is_written_as_what_it_is),
        cmocka_unit_test(a_word_that_it_began_keeps_the_job_in_hand),
        cmocka_unit_test(what_is_tried_again_is_claimed_when_it_is_due),
        cmocka_unit_test(a_stop_while_the_store_fails_is_not_drained_until_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
