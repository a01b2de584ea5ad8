// What was found wrong with a task is listed for a while, once for each task and code.
#include "base/mem.h"
#include "flow/warnings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOW = 1000000 };

static void expect(struct warnings *warnings, int64_t now_ms, const char *expected)
{
    buf_auto struct buf json = {0};
    warnings_put_json(warnings, now_ms, &json);
    buf_putc(&json, 0);
    assert_string_equal(json.p, expected);
}

static void each_is_listed_with_its_task(void **state)
{
    (void)state;
    struct warnings *warnings = warnings_new();
    expect(warnings, NOW, "[]");
    assert_true(warnings_add(warnings, WARNING_SCHEDULE_MISSING, 1, NOW, "a \"job\""));
    assert_true(warnings_add(warnings, WARNING_ZONE_MISSING, 1, NOW, "b"));
    expect(warnings, NOW,
           "[{\"code\":\"schedule_missing\",\"task_id\":\"t0000000000001\",\"detail\":\"a \\\"job\\\"\"},"
           "{\"code\":\"zone_missing\",\"task_id\":\"t0000000000001\",\"detail\":\"b\"}]");
    assert_int_equal(warnings_count(warnings, WARNING_ZONE_MISSING, NOW), 1);
    assert_int_equal(warnings_count(warnings, WARNING_JOB_OVERDUE, NOW), 0);
    warnings_remove(warnings, WARNING_ZONE_MISSING, 2);
    assert_int_equal(warnings_count(warnings, WARNING_ZONE_MISSING, NOW), 1);
    warnings_remove(warnings, WARNING_ZONE_MISSING, 1);
    assert_int_equal(warnings_count(warnings, WARNING_ZONE_MISSING, NOW), 0);
    assert_int_equal(warnings_count(warnings, WARNING_SCHEDULE_MISSING, NOW), 1);
    warnings_free(warnings);
}

static void what_is_so_again_takes_the_place_of_the_earlier(void **state)
{
    (void)state;
    struct warnings *warnings = warnings_new();
    warnings_add(warnings, WARNING_JOB_OVERDUE, 1, NOW, "first");
    warnings_add(warnings, WARNING_JOB_OVERDUE, 2, NOW + 1, "other");
    assert_false(warnings_add(warnings, WARNING_JOB_OVERDUE, 1, NOW + 2, "second"));
    expect(warnings, NOW + 2 + WARNINGS_KEPT_MS,
           "[{\"code\":\"job_overdue\",\"task_id\":\"t0000000000001\",\"detail\":\"second\"}]");
    expect(warnings, NOW + 3 + WARNINGS_KEPT_MS, "[]");
    assert_true(warnings_add(warnings, WARNING_JOB_OVERDUE, 1, NOW + 3 + WARNINGS_KEPT_MS, "third"));
    warnings_free(warnings);
}

static void of_too_many_the_latest_stay(void **state)
{
    (void)state;
    struct warnings *warnings = warnings_new();
    for (int i = 0; i < WARNINGS_MAX + 5; i++)
        warnings_add(warnings, WARNING_JOB_OVERDUE, i, NOW + i, "");
    assert_int_equal(warnings_count(warnings, WARNING_JOB_OVERDUE, NOW), WARNINGS_MAX);
    assert_true(warnings_add(warnings, WARNING_JOB_OVERDUE, 4, NOW, ""));
    assert_false(warnings_add(warnings, WARNING_JOB_OVERDUE, WARNINGS_MAX, NOW, ""));
    warnings_free(warnings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_listed_with_its_task),
        cmocka_unit_test(what_is_so_again_takes_the_place_of_the_earlier),
        cmocka_unit_test(of_too_many_the_latest_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
