// What people do to a job, and to its task while it waits.
#include "job_samples.h"

#include "base/mem.h"

// ---- by hand ----

static void a_cancelled_job_says_why_and_keeps_an_attempt_that_had_begun(void **state)
{
    struct job_policy p = policy();
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        if (job_state_final((enum job_state)s))
            continue;
        struct job job = job_in((enum job_state)s);
        assert_int_equal(job_cancel(&job, &p, T, STR("expired"), &step), ERR_OK);
        assert_int_equal(job.state, JOB_CANCELLED);
        assert_true(str_is(job.reason, "expired"));
        assert_int_equal(job.completed_at, T);
        assert_int_equal(step.kept, s == JOB_RESERVED);
        assert_int_equal(job.outcome, s == JOB_RESERVED ? OUTCOME_CANCELLED : OUTCOME_NONE);
    }
}

static void a_cancel_of_what_another_holds_says_that_it_may_have_begun(void **state)
{
    struct job_policy p = policy();
    struct job held = job_in(JOB_WATCHING), waiting = job_in(JOB_DELAYED);
    int attempts = held.attempts;
    held.due_at = T + 1; // it may begin before the cancel is written
    assert_int_equal(job_cancel_elsewhere(&held, &p, T, STR("by hand"), &step), ERR_OK);
    assert_true(step.kept);
    assert_int_equal(step.attempt.number, attempts + 1);
    assert_int_equal(step.attempt.outcome, OUTCOME_CANCELLED);
    assert_int_equal(held.attempts, attempts + 1);
    attempts = waiting.attempts;
    assert_int_equal(job_cancel_elsewhere(&waiting, &p, T, STR("by hand"), &step), ERR_OK);
    assert_false(step.kept);
    assert_int_equal(waiting.attempts, attempts);
}

static void run_now_brings_a_waiting_job_forward(void **state)
{
    struct job job = job_in(JOB_DELAYED);
    job.scheduled_at = job.ready_at = job.due_at = T + 3600000;
    int64_t before = job.token;
    assert_int_equal(job_run_now(&job, T), ERR_OK);
    assert_int_equal(job.state, JOB_READY);
    assert_true(job.token > before); // what was decided on its old plan is refused
    assert_true(job.scheduled_at == T && job.ready_at == T && job.due_at == T);
}

static void run_now_leaves_what_is_due_or_running(void **state)
{
    static const enum job_state as_they_are[] = {JOB_DELAYED, JOB_READY, JOB_WATCHING, JOB_RESERVED};
    for (size_t i = 0; i < array_count(as_they_are); i++) {
        struct job job = job_in(as_they_are[i]), before = job;
        assert_int_equal(job_run_now(&job, T), ERR_OK);
        assert_memory_equal(&job, &before, sizeof job);
    }
}

static void run_now_is_refused_for_what_it_cannot_bring_forward(void **state)
{
    static const enum job_state refused[] = {JOB_BLOCKED, JOB_SUCCESS, JOB_ABORTED, JOB_BURIED, JOB_CANCELLED};
    for (int later = 0; later <= 1000; later += 1000) { // due already, or not yet: a blocked job waits for something else
        for (size_t i = 0; i < array_count(refused); i++) {
            struct job job = job_in(refused[i]);
            job.due_at = T + later;
            struct job before = job;
            assert_int_equal(job_run_now(&job, T), ERR_ILLEGAL_TRANSITION);
            assert_memory_equal(&job, &before, sizeof job);
        }
    }
    struct job watched = job_in(JOB_WATCHING);
    watched.ready_at = watched.due_at = T + 1000;
    assert_int_equal(job_run_now(&watched, T), ERR_ILLEGAL_TRANSITION); // it is given back first
    assert_int_equal(job_release(&watched, watched.due_at, T), ERR_OK);
    assert_int_equal(job_run_now(&watched, T), ERR_OK);
    assert_int_equal(watched.state, JOB_READY);
}

// ---- tasks that are changed, and paused ----

static void a_waiting_job_is_planned_for_another_time_or_stays(void **state)
{
    static const struct {
        enum job_state from;
        int64_t scheduled_at, due_at; // what it is to be, and what it then waits for
        enum job_state to;
    } cases[] = {
        {JOB_DELAYED, T + 500, T + 500, JOB_DELAYED}, {JOB_READY, T + 500, T + 500, JOB_DELAYED}, {JOB_DELAYED, T, T, JOB_READY},
        {JOB_READY, T - 5, T - 5, JOB_READY},         {JOB_READY, T - 100, T - 100, JOB_READY}, // as it was
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct job job = job_in(cases[i].from);
        job.due_at += 7; // its host was full
        assert_int_equal(job_replan(&job, cases[i].scheduled_at, T), ERR_OK);
        assert_int_equal(job.state, cases[i].to);
        assert_true(job.scheduled_at == cases[i].scheduled_at && job.due_at == cases[i].due_at && job.ready_at == job.due_at);
        assert_int_equal(job.token, 11); // who decided on the old plan is refused
    }
}

static void a_retry_keeps_its_time_when_the_plan_is_the_same(void **state)
{
    struct job job = job_in(JOB_DELAYED);
    job.ready_at = job.due_at = T + 5000;
    assert_int_equal(job_replan(&job, job.scheduled_at, T), ERR_OK);
    assert_true(job.ready_at == T + 5000 && job.due_at == T + 5000 && job.scheduled_at == T - 100);
    assert_int_equal(job.state, JOB_DELAYED);
}

static void what_was_due_during_a_pause_is_due_when_it_ends(void **state)
{
    struct job job = job_in(JOB_DELAYED);
    job.due_at = T + 3600000; // put off
    assert_int_equal(job_resume(&job, T), ERR_OK);
    assert_true(job.state == JOB_READY && job.due_at == T && job.ready_at == T && job.scheduled_at == T - 100);
    job = job_in(JOB_DELAYED);
    job.ready_at = T + 50;
    job.due_at = T + 10000;
    assert_int_equal(job_resume(&job, T), ERR_OK);
    assert_true(job.state == JOB_DELAYED && job.due_at == T + 50 && job.ready_at == T + 50);
}

static void what_does_not_wait_is_neither_replanned_nor_resumed(void **state)
{
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        if (job_state_waiting((enum job_state)s))
            continue;
        struct job job = job_in((enum job_state)s), before = job;
        assert_int_equal(job_replan(&job, T + 5, T), ERR_ILLEGAL_TRANSITION);
        assert_int_equal(job_resume(&job, T), ERR_ILLEGAL_TRANSITION);
        assert_memory_equal(&job, &before, sizeof job);
    }
}

static void a_paused_job_is_looked_at_ever_less_often(void **state)
{
    static const int64_t waited[][2] = {{-9, 5000},     {0, 5000},          {4999, 5000},
                                        {60000, 60000}, {3600000, 3600000}, {86400000, 3600000}};
    for (size_t i = 0; i < array_count(waited); i++) {
        struct job job = job_in(JOB_WATCHING);
        job.ready_at = T - waited[i][0];
        assert_int_equal(job_paused_until(&job, T), T + waited[i][1]);
    }
}

static void what_keeps_a_job_from_beginning_is_said_the_worst_first(void **state)
{
    static const struct {
        int64_t due_at, expires_at;
        bool paused;
        enum job_wait wait;
    } cases[] = {
        {T, 0, false, WAIT_NOTHING}, {T + 1, 0, false, WAIT_TIME},    {T, 0, true, WAIT_QUEUE},       {T + 1, 0, true, WAIT_TIME},
        {T, T, false, WAIT_EXPIRED}, {T, T + 1, false, WAIT_NOTHING}, {T + 1, T, true, WAIT_EXPIRED},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct job job = {.due_at = cases[i].due_at, .expires_at = cases[i].expires_at};
        assert_int_equal(job_wait(&job, cases[i].paused, T), cases[i].wait);
    }
}

static void a_job_is_planned_until_it_begins(void **state)
{
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        struct job job = job_in((enum job_state)s);
        assert_int_equal(job_planned(&job), s < JOB_RESERVED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cancelled_job_says_why_and_keeps_an_attempt_that_had_begun),
        cmocka_unit_test(a_cancel_of_what_another_holds_says_that_it_may_have_begun),
        cmocka_unit_test(run_now_brings_a_waiting_job_forward),
        cmocka_unit_test(run_now_leaves_what_is_due_or_running),
        cmocka_unit_test(run_now_is_refused_for_what_it_cannot_bring_forward),
        cmocka_unit_test(a_waiting_job_is_planned_for_another_time_or_stays),
        cmocka_unit_test(a_retry_keeps_its_time_when_the_plan_is_the_same),
        cmocka_unit_test(what_was_due_during_a_pause_is_due_when_it_ends),
        cmocka_unit_test(what_does_not_wait_is_neither_replanned_nor_resumed),
        cmocka_unit_test(a_paused_job_is_looked_at_ever_less_often),
        cmocka_unit_test(what_keeps_a_job_from_beginning_is_said_the_worst_first),
        cmocka_unit_test(a_job_is_planned_until_it_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
