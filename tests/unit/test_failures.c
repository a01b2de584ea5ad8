// The log tells of jobs that ended as failures, and however many there are, it neither drowns nor forgets one.
#include "base/mem.h"
#include "core/id.h"
#include "flow/failures.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct now BEGIN = {.wall_ms = 1700000000000, .mono_ms = 5000};

static struct now after(int64_t ms)
{
    return (struct now){.wall_ms = BEGIN.wall_ms + ms, .mono_ms = BEGIN.mono_ms + ms};
}

static struct failures begin(void)
{
    struct failures failures = {0};
    assert_true(failures_turn(&failures, BEGIN) == TIME_NEVER);
    return failures;
}

static int count(struct failures *failures, int n, enum job_state state)
{
    int shown = 0;
    for (int i = 0; i < n; i++)
        shown += failures_count(failures, state);
    return shown;
}

static void assert_sum(struct failures *failures, int64_t seconds, const char *expected)
{
    buf_auto struct buf words = {0};
    assert_true(failures_sum(failures, seconds, &words));
    buf_putc(&words, 0);
    assert_string_equal(words.p, expected);
    assert_false(failures_sum(failures, seconds, &words)); // it is said once
}

static void a_few_a_second_are_shown(void **state)
{
    struct failures failures = begin();
    assert_int_equal(count(&failures, 100, JOB_ABORTED), FAILURES_SHOWN);
    failures_turn(&failures, after(500));
    assert_int_equal(count(&failures, 100, JOB_ABORTED), 0);
    failures_turn(&failures, after(1000));
    assert_int_equal(count(&failures, 100, JOB_BURIED), FAILURES_SHOWN);
}

static void one_after_a_long_silence_is_shown(void **state)
{
    struct failures failures = begin();
    assert_int_equal(count(&failures, FAILURES_SHOWN, JOB_ABORTED), FAILURES_SHOWN);
    assert_true(failures_turn(&failures, after(3600 * 1000)) == TIME_NEVER);
    assert_int_equal(count(&failures, 1, JOB_ABORTED), 1);
}

static void the_others_are_summed_up(void **state)
{
    struct failures failures = begin();
    count(&failures, FAILURES_SHOWN + 312, JOB_ABORTED);
    assert_sum(&failures, 10, "and 312 more jobs ended aborted in the last 10 s");
    count(&failures, 1, JOB_BURIED);
    assert_sum(&failures, 10, "and 1 more job ended buried in the last 10 s");
    count(&failures, 2, JOB_ABORTED);
    count(&failures, 3, JOB_BURIED);
    assert_sum(&failures, 0, "and 5 more jobs ended aborted (2) or buried (3)");
}

static void the_sum_is_said_ten_seconds_after_the_first(void **state)
{
    struct failures failures = begin();
    count(&failures, FAILURES_SHOWN + 1, JOB_ABORTED);
    assert_true(failures_turn(&failures, after(100)) == after(100 + FAILURES_SUM_MS).wall_ms);
    assert_true(failures_turn(&failures, after(9000)) == after(100 + FAILURES_SUM_MS).wall_ms);
    assert_true(failures_turn(&failures, after(100 + FAILURES_SUM_MS)) == TIME_NEVER);
    assert_int_equal(failures.aborted, 0);
}

static void a_line_says_which_job_and_why(void **state)
{
    struct job job = {
        .id = 3, .task_id = 2, .state = JOB_ABORTED, .attempts = 4, .outcome = OUTCOME_FAILED, .reason = STR("HTTP 500")};
    static const struct {
        const char *queue, *name, *reason, *expected;
    } rows[] = {
        {"mail", "", "HTTP 500",
         "job j0000000000003 of task t0000000000002, queue mail, ended aborted after attempt 4: failed, \"HTTP 500\""},
        {"mail", "a \"b\"\n", "",
         "job j0000000000003 of task t0000000000002, queue mail, name \"a \\\"b\\\"\\n\", ended aborted after attempt 4: failed"},
        {"", "", "\033[2Jx", "job j0000000000003 of task t0000000000002, ended aborted after attempt 4: failed, \"\\u001b[2Jx\""},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf words = {0};
        job.reason = str_of(rows[i].reason);
        failures_put(&words, &job, str_of(rows[i].queue), str_of(rows[i].name));
        buf_putc(&words, 0);
        assert_string_equal(words.p, rows[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_a_second_are_shown),      cmocka_unit_test(one_after_a_long_silence_is_shown),
        cmocka_unit_test(the_others_are_summed_up),      cmocka_unit_test(the_sum_is_said_ten_seconds_after_the_first),
        cmocka_unit_test(a_line_says_which_job_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
