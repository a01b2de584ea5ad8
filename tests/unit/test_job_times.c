// What the record of a job says about time.
#include "job_samples.h"

#include "base/mem.h"

static void delays_are_not_known_before_they_are(void **state)
{
    struct job job = job_in(JOB_READY);
    struct job_delays delays = job_delays(&job);
    assert_true(delays.puller == -1 && delays.queue == -1 && delays.target == -1);
    job = job_in(JOB_WATCHING);
    delays = job_delays(&job);
    assert_true(delays.puller == 10 && delays.queue == -1 && delays.target == -1);
    job = job_in(JOB_RESERVED);
    delays = job_delays(&job);
    assert_true(delays.puller == 10 && delays.queue == 40 && delays.target == -1);
    job.completed_at = T;
    delays = job_delays(&job);
    assert_true(delays.puller == 10 && delays.queue == 40 && delays.target == 50);
}

static void a_job_picked_before_its_time_was_not_late_for_it(void **state)
{
    struct job job = job_in(JOB_RESERVED);
    job.picked_at = job.due_at - 4000;
    job.completed_at = T;
    struct job_delays delays = job_delays(&job);
    assert_true(delays.puller == 0 && delays.queue == 50 && delays.target == 50);
}

static void waiting_for_a_host_counts_as_target(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_release(&job, T + 40000, T), ERR_OK);
    run_attempt(&job, &p, T + 40005);
    assert_int_equal(job.late_stage, STAGE_TARGET);
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 200, .completed_at = T + 40025};
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    struct job_delays delays = job_delays(&job);
    assert_int_equal(delays.puller, 5);
    assert_int_equal(delays.queue, 0);
    assert_int_equal(delays.target, 20 + 40100);
}

static void being_given_back_does_not_count_as_target(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_release(&job, T + 50000, T + 50000), ERR_OK); // a puller that stopped had it for 50 s
    run_attempt(&job, &p, T + 50010);
    assert_int_equal(job.late_stage, STAGE_PULLER);
    struct job_delays delays = job_delays(&job);
    assert_int_equal(delays.puller, 50110);
}

static void delays_are_never_negative_when_the_clock_was_set_back(void **state)
{
    struct job job = job_in(JOB_RESERVED);
    job.started_at = job.picked_at - 3600000;
    job.completed_at = job.started_at - 3600000;
    struct job_delays delays = job_delays(&job);
    assert_true(delays.puller >= 0 && delays.queue == 0 && delays.target == 0);
}

static void the_late_stage_is_the_one_that_took_longest(void **state)
{
    static const struct {
        int64_t host, puller, queue; // how long each took
        enum job_stage stage;
    } cases[] = {
        {0, 0, 0, STAGE_NONE},
        {0, 15000, 15000, STAGE_NONE}, // 30 s is within 30 s
        {0, 15001, 15000, STAGE_PULLER},
        {0, 15000, 15001, STAGE_QUEUE},
        {0, 31000, 0, STAGE_PULLER},
        {0, -4000, 31000, STAGE_QUEUE}, // picked before its time
        {31000, 0, 0, STAGE_TARGET},
        {20000, 5000, 15000, STAGE_TARGET},
        {10000, 5000, 20000, STAGE_QUEUE},
        {10000, 25000, 20000, STAGE_PULLER},
    };
    struct job_policy p = policy();
    for (size_t i = 0; i < array_count(cases); i++) {
        struct job job = job_in(JOB_WATCHING);
        job.due_at = job.ready_at + cases[i].host;
        job.picked_at = job.due_at + cases[i].puller;
        int64_t picked = job.picked_at > job.due_at ? job.picked_at : job.due_at;
        assert_int_equal(job_start(&job, &p, picked + cases[i].queue), ERR_OK);
        assert_int_equal(job.late_stage, cases[i].stage);
    }
}

static void a_late_start_stays_on_the_record(void **state)
{
    struct job_policy p = policy();
    struct job job = job_in(JOB_WATCHING);
    assert_int_equal(job_start(&job, &p, T + 60000), ERR_OK);
    assert_int_equal(job.late_stage, STAGE_QUEUE);
    struct job_result result = failure(T + 60010);
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    run_attempt(&job, &p, job.due_at); // on time
    assert_int_equal(job.late_stage, STAGE_QUEUE);
}

static void a_retry_is_measured_from_its_own_time(void **state)
{
    struct job_policy p = policy();
    p.retry.delay_ms = 60000;
    struct job job = job_in(JOB_RESERVED);
    struct job_result result = failure(T);
    assert_int_equal(job_finish(&job, &p, &result, 0, &step), ERR_OK);
    run_attempt(&job, &p, T + 60000 + 30000);
    assert_int_equal(job.late_stage, STAGE_NONE);
    struct job_delays delays = job_delays(&job);
    assert_int_equal(delays.puller, 30000);
}

static void a_delayed_job_shows_as_ready_once_its_time_has_come(void **state)
{
    struct job job = job_in(JOB_DELAYED);
    job.due_at = T;
    assert_int_equal(job_state_at(&job, T - 1), JOB_DELAYED);
    assert_int_equal(job_state_at(&job, T), JOB_READY);
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        job.state = (uint8_t)s;
        if (s != JOB_DELAYED)
            assert_int_equal(job_state_at(&job, T), s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delays_are_not_known_before_they_are),
        cmocka_unit_test(a_job_picked_before_its_time_was_not_late_for_it),
        cmocka_unit_test(waiting_for_a_host_counts_as_target),
        cmocka_unit_test(being_given_back_does_not_count_as_target),
        cmocka_unit_test(delays_are_never_negative_when_the_clock_was_set_back),
        cmocka_unit_test(the_late_stage_is_the_one_that_took_longest),
        cmocka_unit_test(a_late_start_stays_on_the_record),
        cmocka_unit_test(a_retry_is_measured_from_its_own_time),
        cmocka_unit_test(a_delayed_job_shows_as_ready_once_its_time_has_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
