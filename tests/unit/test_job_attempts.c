// The attempts of a job: how they begin and end, are given back, and are lost with their holders.
#include "job_samples.h"

// ---- claim and start ----

static void a_claim_puts_the_job_in_hand_with_a_clean_record(void **state)
{
    struct job job = job_in(JOB_READY);
    job.reason = STR("answered 500");
    job.attempts = job.retries = 1;
    assert_int_equal(job_claim(&job, ME, T), ERR_OK);
    assert_int_equal(job.state, JOB_WATCHING);
    assert_int_equal(job.holder, ME);
    assert_int_equal(job.picked_at, T);
    assert_int_equal(job.started_at, 0);
    assert_int_equal(job.reason.n, 0);
    assert_int_equal(job.attempts, 1);
}

static void a_start_counts_the_attempt_and_stays_in_the_same_hands(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_start(&job, &p, T), ERR_OK);
    assert_int_equal(job.state, JOB_RESERVED);
    assert_int_equal(job.holder, ME);
    assert_int_equal(job.token, 10);
    assert_int_equal(job.attempts, 1);
    assert_int_equal(job.started_at, T);
    assert_int_equal(job.picked_at, T - 90);
    assert_int_equal(job.late_stage, STAGE_NONE);
}

// ---- the end of an attempt ----

static void success_ends_the_job_and_leaves_no_attempt_row(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_RESERVED);
    struct job_result result = {.outcome = OUTCOME_SUCCESS,
                                .status = 201,
                                .completed_at = T,
                                .reason = STR(""),
                                .response = STR("ok"),
                                .truncated = true};
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    assert_int_equal(job.state, JOB_SUCCESS);
    assert_false(step.kept);
    assert_int_equal(job.outcome, OUTCOME_SUCCESS);
    assert_int_equal(job.status, 201);
    assert_true(str_is(job.response, "ok") && job.response_truncated);
    assert_int_equal(job.completed_at, T);
    assert_int_equal(job.started_at, T - 50);
}

static void a_failure_with_tries_left_waits_and_keeps_the_attempt(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_RESERVED);
    struct job_result result = failure(T);
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.retries, 1);
    assert_int_equal(job.attempts, 1);
    assert_int_equal(job.due_at, T + 5000);
    assert_int_equal(job.ready_at, T + 5000); // the SLA of the next try counts from then
    assert_int_equal(job.picked_at + job.started_at + job.completed_at + job.status, 0);
    assert_int_equal(job.outcome, OUTCOME_NONE);
    assert_int_equal(job.response.n, 0);
    assert_false(job.response_truncated);
    assert_true(str_is(job.reason, "answered 500"));

    assert_true(step.kept);
    assert_int_equal(step.attempt.job_id, 512);
    assert_int_equal(step.attempt.number, 1);
    assert_int_equal(step.attempt.status, 500);
    assert_int_equal(step.attempt.outcome, OUTCOME_FAILED);
    assert_int_equal(step.attempt.picked_at, T - 90);
    assert_int_equal(step.attempt.started_at, T - 50);
    assert_int_equal(step.attempt.completed_at, T);
    assert_int_equal(step.attempt.holder, ME);
    assert_true(str_is(step.attempt.reason, "answered 500"));
}

static void what_the_target_asked_for_moves_the_next_try(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_RESERVED);
    struct job_result result = failure(T);
    result.retry_after_ms = 60000;
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    assert_int_equal(job.due_at, T + 60000);
}

static void every_outcome_but_success_is_a_failure(void **state)
{
    struct job_policy p = policy();
    for (int outcome = OUTCOME_FAILED; outcome < OUTCOME_COUNT; outcome++) {
        struct job job = job_in(JOB_RESERVED);
        struct job_result result = failure(T);
        result.outcome = (enum job_outcome)outcome;
        assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
        assert_int_equal(job.state, JOB_DELAYED);
        assert_true(step.kept);
        assert_int_equal(step.attempt.outcome, outcome);
    }
}

static void tries_run_out_after_max_retries(void **state)
{
    for (int max = 0; max <= 5; max++) {
        struct job_policy p = policy();
        p.retry.max = max;
        struct job job = job_in(JOB_READY);
        for (int attempt = 1; attempt <= max + 1; attempt++) {
            run_attempt(&job, &p, job.due_at);
            struct job_result result = failure(job.due_at + 10);
            int64_t token = job.token;
            assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
            assert_int_equal(job.token, token + 1);
            assert_true(step.kept);
            assert_int_equal(step.attempt.number, attempt);
            assert_int_equal(job.state, attempt <= max ? JOB_DELAYED : JOB_ABORTED);
        }
        assert_int_equal(job.attempts, max + 1);
        assert_int_equal(job.retries, max);
        assert_int_equal(job.status, 500); // the last one stays in the record
        assert_true(str_is(job.response, "oops"));
        assert_true(job.purge_at > 0 && job.started_at > 0 && job.completed_at > 0);
    }
}

// ---- given back ----

static void a_released_job_is_due_since_it_was_due(void **state)
{
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_release(&job, T, T), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.due_at, T - 100);
    assert_int_equal(job.ready_at, T - 100);
    assert_int_equal(job.picked_at, 0);
    assert_int_equal(job.attempts + job.retries + job.losses, 0);
}

static void a_postponed_job_waits_without_forgetting_when_it_was_ready(void **state)
{
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_release(&job, T + 5000, T), ERR_OK);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.due_at, T + 5000);
    assert_int_equal(job.ready_at, T - 100);
    assert_int_equal(job.picked_at, 0);
}

static void a_job_given_back_before_its_time_is_delayed_not_ready(void **state)
{
    struct job job = job_in(JOB_WATCHING);
    job.ready_at = job.due_at = T + 3000;
    assert_int_equal(job_release(&job, T, T), ERR_OK);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.due_at, T + 3000);
    assert_int_equal(job.ready_at, T + 3000);
}

static void a_postponed_job_may_be_let_go_sooner_but_not_before_it_was_ready(void **state)
{
    struct job job = job_in(JOB_WATCHING);
    job.due_at = T + 9000;
    assert_int_equal(job_release(&job, T, T), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.due_at, T);
    job = job_in(JOB_WATCHING);
    job.due_at = T + 9000;
    assert_int_equal(job_release(&job, 0, T), ERR_OK);
    assert_int_equal(job.due_at, job.ready_at);
}

static void an_interrupted_attempt_is_kept_and_costs_no_try(void **state)
{
    struct job job = job_in(JOB_RESERVED);
    assert_int_equal(job_interrupt(&job, T, &step), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.attempts, 1);
    assert_int_equal(job.retries + job.losses, 0);
    assert_true(job.due_at == T && job.ready_at == T);
    assert_int_equal(job.picked_at + job.started_at + job.completed_at, 0);
    assert_true(step.kept);
    assert_int_equal(step.attempt.number, 1);
    assert_int_equal(step.attempt.outcome, OUTCOME_RELEASED);
    assert_int_equal(step.attempt.completed_at, T);
}

// ---- lost holders ----

static void a_holder_that_dies_before_the_time_came_leaves_no_trace(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_WATCHING);
    job.ready_at = job.due_at = T + 1;
    assert_int_equal(job_lose(&job, &p, T, &step), ERR_OK);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_false(step.kept);
    assert_int_equal(job.attempts + job.losses + job.retries, 0);
    assert_int_equal(job.due_at, T + 1);
    assert_int_equal(job.picked_at, 0);
}

static void a_watched_job_that_was_due_is_free_but_recorded(void **state)
{
    struct job_policy p = policy();
    p.bury_lost = true; // it did not count as begun: neither rule applies
    p.lost_max = 1;
    struct job job = job_in(JOB_WATCHING);
    job.due_at = job.ready_at = T;
    assert_int_equal(job_lose(&job, &p, T, &step), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.losses + job.retries, 0);
    assert_int_equal(job.attempts, 1);
    assert_int_equal(job.ready_at, T);
    assert_true(step.kept);
    assert_int_equal(step.attempt.number, 1);
    assert_int_equal(step.attempt.outcome, OUTCOME_LOST);
    assert_int_equal(step.attempt.started_at, 0);
    assert_int_equal(step.attempt.holder, ME);
    assert_true(step.attempt.reason.n > 0);
}

static void a_lost_attempt_is_ready_at_once_and_uses_no_try(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_RESERVED);
    assert_int_equal(job_lose(&job, &p, T, &step), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_int_equal(job.losses, 1);
    assert_int_equal(job.retries, 0);
    assert_int_equal(job.attempts, 1);
    assert_true(job.due_at == T && job.ready_at == T);
    assert_int_equal(job.started_at, 0);
    assert_true(step.kept);
    assert_int_equal(step.attempt.outcome, OUTCOME_LOST);
    assert_int_equal(step.attempt.started_at, T - 50);
}

static void a_job_that_kills_its_holders_is_buried_at_lost_max(void **state)
{
    for (int lost_max = 1; lost_max <= 5; lost_max++) {
        struct job_policy p = policy();
        p.lost_max = lost_max;
        struct job job = job_in(JOB_READY);
        for (int loss = 1; loss <= lost_max; loss++) {
            run_attempt(&job, &p, T + loss);
            assert_int_equal(job_lose(&job, &p, T + loss, &step), ERR_OK);
            assert_true(step.kept);
            assert_int_equal(step.attempt.number, loss);
            assert_int_equal(job.losses, loss);
            assert_int_equal(job.state, loss < lost_max ? JOB_READY : JOB_BURIED);
        }
        assert_int_equal(job.purge_at, T + lost_max + p.ttl_ms);
        assert_int_equal(job.outcome, OUTCOME_LOST);
        assert_true(job.reason.n > 0);
    }
}

static void on_lost_bury_buries_at_the_first_loss(void **state)
{
    struct job_policy p = policy();
    p.bury_lost = true;
    struct job job = job_in(JOB_RESERVED);
    assert_int_equal(job_lose(&job, &p, T, &step), ERR_OK);
    assert_int_equal(job.state, JOB_BURIED);
    assert_int_equal(job.losses, 1);
}

static void losses_and_failures_are_counted_apart(void **state)
{
    struct job_policy p = policy();
    p.retry.max = 1;
    struct job job = job_in(JOB_READY);
    run_attempt(&job, &p, T);
    assert_int_equal(job_lose(&job, &p, T, &step), ERR_OK);
    for (int i = 0; i < 2; i++) {
        run_attempt(&job, &p, job.due_at);
        struct job_result result = failure(job.due_at);
        assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    }
    assert_int_equal(job.state, JOB_ABORTED);
    assert_int_equal(job.attempts, 3);
    assert_int_equal(job.retries, 1);
    assert_int_equal(job.losses, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_puts_the_job_in_hand_with_a_clean_record),
        cmocka_unit_test(a_start_counts_the_attempt_and_stays_in_the_same_hands),
        cmocka_unit_test(success_ends_the_job_and_leaves_no_attempt_row),
        cmocka_unit_test(a_failure_with_tries_left_waits_and_keeps_the_attempt),
        cmocka_unit_test(what_the_target_asked_for_moves_the_next_try),
        cmocka_unit_test(every_outcome_but_success_is_a_failure),
        cmocka_unit_test(tries_run_out_after_max_retries),
        cmocka_unit_test(a_released_job_is_due_since_it_was_due),
        cmocka_unit_test(a_postponed_job_waits_without_forgetting_when_it_was_ready),
        cmocka_unit_test(a_job_given_back_before_its_time_is_delayed_not_ready),
        cmocka_unit_test(a_postponed_job_may_be_let_go_sooner_but_not_before_it_was_ready),
        cmocka_unit_test(an_interrupted_attempt_is_kept_and_costs_no_try),
        cmocka_unit_test(a_holder_that_dies_before_the_time_came_leaves_no_trace),
        cmocka_unit_test(a_watched_job_that_was_due_is_free_but_recorded),
        cmocka_unit_test(a_lost_attempt_is_ready_at_once_and_uses_no_try),
        cmocka_unit_test(a_job_that_kills_its_holders_is_buried_at_lost_max),
        cmocka_unit_test(on_lost_bury_buries_at_the_first_loss),
        cmocka_unit_test(losses_and_failures_are_counted_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
