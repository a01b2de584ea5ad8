// What the figures rest on: quantiles that never flatter, times read exactly, messages cut where they end.
#include "common.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void quantiles_are_never_below_the_value_and_at_most_a_step_above(void **state)
{
    static const int64_t values_us[] = {0, 9, 10, 999, 2559, 2560, 5000, 77777, 1000000, 3600000000};
    for (size_t i = 0; i < array_count(values_us); i++) {
        struct hist hist = {0};
        hist_add(&hist, values_us[i]);
        hist_add(&hist, 10000000000); // so that the largest value does not cap the slot's edge
        int64_t found = hist_quantile_us(&hist, 0.25), step = HIST_STEP_US + values_us[i] / 128;
        assert_in_range(found, values_us[i], values_us[i] + step);
    }
}

static void quantiles_of_a_thousand_values_are_where_they_belong(void **state)
{
    struct hist hist = {0};
    for (int64_t i = 1; i <= 1000; i++)
        hist_add(&hist, i * 10 - 5); // the middle of its slot
    assert_in_range(hist_quantile_us(&hist, 0.5), 5000, 5020);
    assert_in_range(hist_quantile_us(&hist, 0.99), 9900, 9995);
    assert_int_equal(hist_quantile_us(&hist, 1), 9995);
    assert_int_equal(hist.max_us, 9995);
}

static void what_came_early_counts_as_not_late(void **state)
{
    struct hist hist = {0};
    hist_add(&hist, -5000);
    assert_int_equal(hist.count, 1);
    assert_int_equal(hist_quantile_us(&hist, 0.5), 0);
}

static void a_time_is_read_as_it_was_written(void **state)
{
    static const int64_t times_ms[] = {0, 1, 951782399999, 951782400000, 1794774120123, 253402300799999};
    for (size_t i = 0; i < array_count(times_ms); i++) {
        char text[TIME_TEXT_SIZE];
        time_write(text, times_ms[i]);
        assert_int_equal(time_read_ms(str_of(text)), times_ms[i]);
    }
    assert_int_equal(time_read_ms(STR("2026-11-15T20:22:00.123Z")), 1794774120123);
}

static void a_time_in_another_form_is_refused(void **state)
{
    assert_int_equal(time_read_ms(STR("")), -1);
    assert_int_equal(time_read_ms(STR("2026-11-15T20:22:00Z")), -1);
    assert_int_equal(time_read_ms(STR("2026-11-15 20:22:00.123Z")), -1);
    assert_int_equal(time_read_ms(STR("2026-11-15T20:22:00.12xZ")), -1);
}

static void a_head_is_complete_only_with_its_empty_line(void **state)
{
    static const char text[] = "POST / HTTP/1.1\r\nHost: h\r\ncontent-length:  17\r\nContent-Length-X: 3\r\n\r\nbody";
    size_t whole = sizeof text - 1 - 4;
    for (size_t n = 0; n < whole; n++)
        assert_int_equal(http_head_read((struct str){text, n}).size, 0);
    struct http_head head = http_head_read((struct str){text, sizeof text - 1});
    assert_int_equal(head.size, whole);
    assert_int_equal(head.body_size, 17);
    assert_int_equal(head.status, 0);
}

static void an_answer_has_its_status(void **state)
{
    struct http_head head = http_head_read(STR("HTTP/1.1 207 Multi-Status\r\n\r\n"));
    assert_int_equal(head.status, 207);
    assert_int_equal(head.body_size, 0);
}

static void a_field_is_found_in_any_case_and_only_by_its_whole_name(void **state)
{
    const struct str head = STR("GET / HTTP/1.1\r\nRota-Scheduled-At-X: no\r\nROTA-scheduled-AT: yes\r\nEmpty:\r\n\r\n");
    assert_true(str_is(http_head_field(head, STR("Rota-Scheduled-At")), "yes"));
    assert_int_equal(http_head_field(head, STR("Empty")).n, 0);
    assert_non_null(http_head_field(head, STR("Empty")).p);
    assert_null(http_head_field(head, STR("Scheduled-At")).p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_never_below_the_value_and_at_most_a_step_above),
        cmocka_unit_test(quantiles_of_a_thousand_values_are_where_they_belong),
        cmocka_unit_test(what_came_early_counts_as_not_late),
        cmocka_unit_test(a_time_is_read_as_it_was_written),
        cmocka_unit_test(a_time_in_another_form_is_refused),
        cmocka_unit_test(a_head_is_complete_only_with_its_empty_line),
        cmocka_unit_test(an_answer_has_its_status),
        cmocka_unit_test(a_field_is_found_in_any_case_and_only_by_its_whole_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
