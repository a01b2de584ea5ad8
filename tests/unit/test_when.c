// Times and durations as text.
#include "base/text/when.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

static void times_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
        const char *out;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z"},
        {"1970-01-01T01:00:00+01:00", 0, "1970-01-01T00:00:00.000Z"},
        {"2026-11-15T20:22:00.123Z", 1794774120123, "2026-11-15T20:22:00.123Z"},
        {"2026-11-15t20:22:00.123z", 1794774120123, "2026-11-15T20:22:00.123Z"},
        {"2026-11-15T22:22:00.1239999+02:00", 1794774120123, "2026-11-15T20:22:00.123Z"},
        {"2026-11-15T14:52:00.5-05:30", 1794774120500, "2026-11-15T20:22:00.500Z"},
        {"2026-11-15T20:22:00-00:00", 1794774120000, "2026-11-15T20:22:00.000Z"},
        {"2024-02-29T00:00:00Z", 1709164800000, "2024-02-29T00:00:00.000Z"},
        {"2000-02-29T23:59:59.999Z", 951868799999, "2000-02-29T23:59:59.999Z"},
        {"2016-12-31T23:59:60Z", 1483228799999, "2016-12-31T23:59:59.999Z"},
        {"2017-01-01T00:59:60.5+01:00", 1483228799999, "2016-12-31T23:59:59.999Z"},
        {"9999-12-31T23:59:59.999Z", 253402300799999, "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int64_t ms = -1;
        char text[WHEN_TEXT_SIZE];
        if (!when_parse(str_of(rows[i].text), &ms))
            fail_msg("refused %s", rows[i].text);
        assert_int_equal(ms, rows[i].ms);
        when_format(text, ms);
        assert_string_equal(text, rows[i].out);
    }
}

static void times_that_do_not_exist_or_lack_a_zone_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "now",
        "2026",
        "2026-11-15",
        "2026-11-15T20:22:00",
        "2026-11-15T20:22Z",
        "2026-11-15 20:22:00Z",
        "2026-11-15T20:22:00 Z",
        "2026-11-15T20:22:00Zx",
        "2026-11-15T20:22:00Z ",
        " 2026-11-15T20:22:00Z",
        "2026-11-15T20:22:00.Z",
        "2026-11-15T20:22:00,5Z",
        "2026-11-15T20:22:00+2:00",
        "2026-11-15T20:22:00+0200",
        "2026-11-15T20:22:00+02",
        "2026-11-15T20:22:00+24:00",
        "2026-11-15T20:22:00+02:60",
        "2026-1-15T20:22:00Z",
        "26-11-15T20:22:00Z",
        "12026-11-15T20:22:00Z",
        "+2026-11-15T20:22:00Z",
        "-2026-11-15T20:22:00Z",
        "2026-00-15T20:22:00Z",
        "2026-13-15T20:22:00Z",
        "2026-11-00T20:22:00Z",
        "2026-11-31T20:22:00Z",
        "2026-02-29T20:22:00Z",
        "2100-02-29T20:22:00Z",
        "2024-02-30T20:22:00Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T20:60:00Z",
        "2026-11-15T20:22:61Z",
        "2026-11-15T20:22:60Z",
        "2026-11-15T23:59:60Z",
        "2016-12-31T23:59:60+01:00",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-W46-7T20:22:00Z",
        "\xd9\xa2\xd9\xa0-11-15T20:22:00Z",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int64_t ms = 42;
        if (when_parse(str_of(rows[i]), &ms))
            fail_msg("took %s", rows[i]);
        assert_int_equal(ms, 42);
    }
    int64_t ms;
    assert_false(when_parse((struct str){"2026-11-15T20:22:00Z\0", 21}, &ms));
}

// Every day of 130 years, and some far ones, against the C library's own reckoning in UTC.
static void dates_agree_with_the_c_library(void **state)
{
    for (int64_t day = 0; day < 2932896; day += day < 47500 ? 1 : 997) {
        int64_t ms = day * 86400000 + 45296789, back = 0;
        time_t seconds = (time_t)(ms / 1000);
        struct tm tm;
        char want[64], text[WHEN_TEXT_SIZE];
        gmtime_r(&seconds, &tm);
        strftime(want, sizeof want, "%Y-%m-%dT%H:%M:%S.789Z", &tm);
        when_format(text, ms);
        assert_string_equal(text, want);
        assert_true(when_parse(str_of(text), &back));
        assert_int_equal(back, ms);
    }
}

static void durations_are_read_and_shown_in_the_largest_unit(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
        const char *out;
    } rows[] = {
        {"0s", 0, "0s"},
        {"0ms", 0, "0s"},
        {"500ms", 500, "500ms"},
        {"1500ms", 1500, "1500ms"},
        {"30s", 30000, "30s"},
        {"60s", 60000, "1m"},
        {"10m", 600000, "10m"},
        {"90m", 5400000, "90m"},
        {"2h", 7200000, "2h"},
        {"24h", 86400000, "1d"},
        {"7d", 604800000, "7d"},
        {"007d", 604800000, "7d"},
        {"36525d", 3155760000000, "36525d"},
        {"1h30m", 5400000, "90m"},
        {"1h90m", 9000000, "150m"},
        {"1d12h", 129600000, "36h"},
        {"1m500ms", 60500, "60500ms"},
        {"1d2h3m4s5ms", 93784005, "93784005ms"},
        {"1s5ms", 1005, "1005ms"},
        {"0s0ms", 0, "0s"},
        {"PT10M", 600000, "10m"},
        {"P1DT2H", 93600000, "26h"},
        {"PT0.5S", 500, "500ms"},
        {"PT1.0009S", 1000, "1s"},
        {"P1W", 604800000, "7d"},
        {"P1W1DT1H1M1.001S", 694861001, "694861001ms"},
        {"PT36H", 129600000, "36h"},
        {"PT0S", 0, "0s"},
        {"P0D", 0, "0s"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int64_t ms = -1, back = -1;
        char text[WHEN_TEXT_SIZE];
        if (!duration_parse(str_of(rows[i].text), &ms))
            fail_msg("refused %s", rows[i].text);
        assert_int_equal(ms, rows[i].ms);
        duration_format(text, ms);
        assert_string_equal(text, rows[i].out);
        assert_true(duration_parse(str_of(text), &back));
        assert_int_equal(back, ms);
    }
}

static void malformed_negative_and_huge_durations_are_refused(void **state)
{
    static const char *const rows[] = {
        "",
        "s",
        "5",
        "-5s",
        "+5s",
        " 5s",
        "5s ",
        "5 s",
        "5S",
        "1.5h",
        "5sec",
        "1h30",
        "30m1h",
        "1h1h",
        "1h0h",
        "1h 30m",
        "1h-5m",
        "1hPT1M",
        "1hms",
        "1d2",
        "36525d1ms",
        "5us",
        "36526d",
        "876601h",
        "1e3s",
        "0x5s",
        "P",
        "PT",
        "P1DT",
        "PT1",
        "P1",
        "P1Y",
        "P1M",
        "P1H",
        "PT1D",
        "PT1M1H",
        "PT1M1M",
        "-PT1M",
        "P-1D",
        "pt1m",
        "PT1,5S",
        "PT.5S",
        "PT5.S",
        "P1.5D",
        "PTT1M",
        "P1D1W",
        "P36526D",
        "P36525DT1S",
        "99999999999999999999999999999999s",
        "PT99999999999999999999999999H",
        "never",
        "null",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int64_t ms = 42;
        if (duration_parse(str_of(rows[i]), &ms))
            fail_msg("took %s", rows[i]);
        assert_int_equal(ms, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(times_that_do_not_exist_or_lack_a_zone_are_refused),
        cmocka_unit_test(dates_agree_with_the_c_library),
        cmocka_unit_test(durations_are_read_and_shown_in_the_largest_unit),
        cmocka_unit_test(malformed_negative_and_huge_durations_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
