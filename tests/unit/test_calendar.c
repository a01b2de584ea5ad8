// Dates and days, against the C library and against counting one by one.
#include "base/calendar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

enum { DAY_S = 24 * 3600 };

// Counts day by day from the year -1 to 10000, as a person with a calendar would.
static void every_day_has_its_date_and_weekday(void **state)
{
    struct calendar_date expected = {-1, 1, 1};
    int64_t days = calendar_days(-1, 1, 1);
    int weekday = calendar_weekday(days);
    for (; expected.year <= 10000; days++, weekday = (weekday + 1) % 7) {
        struct calendar_date date = calendar_date(days);
        assert_int_equal(date.year, expected.year);
        assert_int_equal(date.month, expected.month);
        assert_int_equal(date.day, expected.day);
        assert_int_equal(calendar_days(date.year, date.month, date.day), days);
        assert_int_equal(calendar_weekday(days), weekday);
        if (++expected.day > calendar_month_days(expected.year, expected.month)) {
            expected.day = 1;
            expected.month = expected.month % 12 + 1;
            expected.year += expected.month == 1;
        }
    }
}

static void the_c_library_counts_the_same(void **state)
{
    for (int64_t days = -800000; days < 3000000; days += 7 * 13 + 1) {
        time_t seconds = (time_t)(days * DAY_S);
        struct tm tm;
        gmtime_r(&seconds, &tm);
        struct calendar_date date = calendar_date(days);
        assert_int_equal(date.year, tm.tm_year + 1900);
        assert_int_equal(date.month, tm.tm_mon + 1);
        assert_int_equal(date.day, tm.tm_mday);
        assert_int_equal(calendar_weekday(days), tm.tm_wday);
    }
}

static void a_second_before_1970_belongs_to_the_day_that_it_is_in(void **state)
{
    assert_int_equal(calendar_day_of(0), 0);
    assert_int_equal(calendar_day_of(DAY_S - 1), 0);
    assert_int_equal(calendar_day_of(DAY_S), 1);
    assert_int_equal(calendar_day_of(-1), -1);
    assert_int_equal(calendar_day_of(-DAY_S), -1);
    assert_int_equal(calendar_day_of(-DAY_S - 1), -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_has_its_date_and_weekday),
        cmocka_unit_test(the_c_library_counts_the_same),
        cmocka_unit_test(a_second_before_1970_belongs_to_the_day_that_it_is_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
