// Times as people write and read them.
#include "base/mem.h"
#include "cli/show/times.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_buf(const struct buf *buf, const char *expected)
{
    char *text = mem_copy(buf->n ? buf->p : "", buf->n);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void durations_are_short(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0ms"},         {999, "999ms"},  {1000, "1s"},       {4250, "4.2s"},      {59999, "59s"},
                {598000, "9m 58s"}, {600000, "10m"}, {7500000, "2h 5m"}, {273600000, "3d 4h"}};
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        times_put_duration(&out, rows[i].ms);
        assert_buf(&out, rows[i].text);
    }
}

static void a_time_is_so_far_away(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{1000000, "now"}, {1000999, "now"}, {999001, "now"}, {1061000, "in 1m 1s"}, {940000, "1m ago"}};
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        times_put_away(&out, rows[i].ms, 1000000);
        assert_buf(&out, rows[i].text);
    }
}

// 2026-07-15, 14:30 in Berlin.
static const int64_t NOW = 1784118600000;

static void assert_typed(const char *text, int64_t now_ms, const char *expected, enum times_note note)
{
    struct times_typed typed;
    buf_auto struct buf out = {0};
    if (!times_read_typed(&typed, str_of(text), now_ms))
        fail_msg("not understood: %s", text);
    times_put_api(&out, typed.ms);
    assert_buf(&out, expected);
    assert_int_equal(typed.note, note);
}

static void a_time_without_a_zone_is_on_this_machines_clock(void **state)
{
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"2030-01-31 09:00", "2030-01-31T08:00:00.000Z"},    {"2030-1-31 9:00", "2030-01-31T08:00:00.000Z"},
                {"2030-07-31 09:00:05", "2030-07-31T07:00:05.000Z"}, {"2027-07-01T09:00", "2027-07-01T07:00:00.000Z"},
                {"2027-07-01t9:00", "2027-07-01T07:00:00.000Z"},     {"2027-07-01T09:00:00.25", "2027-07-01T07:00:00.250Z"}};
    for (size_t i = 0; i < array_count(rows); i++)
        assert_typed(rows[i].typed, NOW, rows[i].meant, TIMES_PLAIN);
}

static void a_zone_counts_however_the_rest_is_written(void **state)
{
    static const struct {
        const char *typed, *meant;
    } rows[] = {{"2030-01-31T09:00:00Z", "2030-01-31T09:00:00.000Z"},
                {"2030-01-31T09:00Z", "2030-01-31T09:00:00.000Z"},
                {"2030-01-31 9:00+02:00", "2030-01-31T07:00:00.000Z"},
                {"2030-01-31T09:00:00.5-05:30", "2030-01-31T14:30:00.500Z"},
                {"2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z"}};
    for (size_t i = 0; i < array_count(rows); i++)
        assert_typed(rows[i].typed, NOW, rows[i].meant, TIMES_PLAIN);
}

static void a_time_of_day_is_the_next_one(void **state)
{
    assert_typed("16:00", NOW, "2026-07-15T14:00:00.000Z", TIMES_PLAIN);
    assert_typed("14:30", NOW, "2026-07-16T12:30:00.000Z", TIMES_PLAIN);
    assert_typed("14:30:01", NOW, "2026-07-15T12:30:01.000Z", TIMES_PLAIN);
    assert_typed("9:00", NOW, "2026-07-16T07:00:00.000Z", TIMES_PLAIN);
    assert_typed("0:00", NOW, "2026-07-15T22:00:00.000Z", TIMES_PLAIN);
    // On the evening before clocks change, the next 9:00 is 11 or 13 hours after 21:00.
    assert_typed("9:00", 1774728000000, "2026-03-29T07:00:00.000Z", TIMES_PLAIN);
    assert_typed("9:00", 1792868400000, "2026-10-25T08:00:00.000Z", TIMES_PLAIN);
}

static void today_and_tomorrow_are_dates(void **state)
{
    assert_typed("tomorrow 9:00", NOW, "2026-07-16T07:00:00.000Z", TIMES_PLAIN);
    assert_typed("today 16:00", NOW, "2026-07-15T14:00:00.000Z", TIMES_PLAIN);
    assert_typed("today 9:00", NOW, "2026-07-15T07:00:00.000Z", TIMES_PLAIN);
    // Half past eleven in the evening of New Year's Eve, and of the day before clocks are put forward.
    assert_typed("tomorrow 0:05", 1798756200000, "2026-12-31T23:05:00.000Z", TIMES_PLAIN);
    assert_typed("tomorrow 2:30", 1774737000000, "2026-03-29T01:30:00.000Z", TIMES_LEFT_OUT);
}

static void a_time_that_clocks_leave_out_is_counted_on_from_before(void **state)
{
    assert_typed("2030-03-31 02:30", NOW, "2030-03-31T01:30:00.000Z", TIMES_LEFT_OUT);
    assert_typed("2030-03-31 01:59:59", NOW, "2030-03-31T00:59:59.000Z", TIMES_PLAIN);
    assert_typed("2030-03-31 03:00", NOW, "2030-03-31T01:00:00.000Z", TIMES_PLAIN);
    struct times_typed typed;
    buf_auto struct buf out = {0};
    assert_true(times_read_typed(&typed, STR("2030-03-31 02:30"), NOW));
    times_put_note(&out, &typed, STR("2030-03-31 02:30"));
    assert_buf(&out, "2030-03-31 02:30 is a time that clocks here leave out when they are put forward: it is taken as "
                     "2030-03-31 03:30:00 +0200\n");
}

static void of_a_time_that_comes_twice_the_first_is_meant(void **state)
{
    assert_typed("2030-10-27 02:30", NOW, "2030-10-27T00:30:00.000Z", TIMES_TWICE);
    assert_typed("2030-10-27 01:59", NOW, "2030-10-26T23:59:00.000Z", TIMES_PLAIN);
    assert_typed("2030-10-27 03:00", NOW, "2030-10-27T02:00:00.000Z", TIMES_PLAIN);
    // Between the two of them the next one is the second.
    assert_typed("02:30", 1792888200000 + 60000, "2026-10-25T01:30:00.000Z", TIMES_TWICE);
    struct times_typed typed;
    buf_auto struct buf out = {0};
    assert_true(times_read_typed(&typed, STR("2030-10-27 2:30"), NOW));
    times_put_note(&out, &typed, STR("2030-10-27 2:30"));
    assert_buf(&out, "2030-10-27 2:30 comes twice, because clocks here are put back then: it is taken as the one at "
                     "2030-10-27 02:30:00 +0200\n");
}

static void what_is_no_time_is_not_guessed_at(void **state)
{
    static const char *const rows[] = {"",
                                       "soon",
                                       "16",
                                       "16:0",
                                       "24:00",
                                       "12:60",
                                       "1:2:3",
                                       "12:00:60",
                                       "12:00 ",
                                       " 12:00",
                                       "12:00Z",
                                       "4pm",
                                       "tomorrow",
                                       "tomorrow ",
                                       "today9:00",
                                       "tomorrow 9:00Z",
                                       "10m",
                                       "2030-01-31",
                                       "2030-02-30 09:00",
                                       "2030-01-31 24:00",
                                       "2030-13-01 09:00",
                                       "2030-00-01 09:00",
                                       "2030-01-00 09:00",
                                       "30-01-31 09:00",
                                       "2030-01-31  09:00",
                                       "2030-01-31 09:00x",
                                       "2030-01-31T09:00+2:00",
                                       "2030-01-31 09:00:00.",
                                       "1969-01-31 09:00",
                                       "2030-01-31T09:00:00.123456789012345678901234567890123456789Zx"};
    struct times_typed typed;
    for (size_t i = 0; i < array_count(rows); i++)
        if (times_read_typed(&typed, str_of(rows[i]), NOW))
            fail_msg("taken: %s", rows[i]);
}

static int in_berlin(void **state)
{
    return setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(a_time_is_so_far_away),
        cmocka_unit_test(a_time_without_a_zone_is_on_this_machines_clock),
        cmocka_unit_test(a_zone_counts_however_the_rest_is_written),
        cmocka_unit_test(a_time_of_day_is_the_next_one),
        cmocka_unit_test(today_and_tomorrow_are_dates),
        cmocka_unit_test(a_time_that_clocks_leave_out_is_counted_on_from_before),
        cmocka_unit_test(of_a_time_that_comes_twice_the_first_is_meant),
        cmocka_unit_test(what_is_no_time_is_not_guessed_at),
    };
    return cmocka_run_group_tests(tests, in_berlin, NULL);
}
