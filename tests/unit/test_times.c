// Times as people write and read them.
#include "base/mem.h"
#include "cli/times.h"

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

static void a_duration_is_a_time_from_now(void **state)
{
    static const struct {
        const char *typed, *sent;
    } rows[] = {{"10m", "2026-01-01T00:10:00.000Z"},
                {"1h30m", "2026-01-01T01:30:00.000Z"},
                {"2030-01-31T09:00:00+01:00", "2030-01-31T09:00:00+01:00"},
                {"soon", "soon"}};
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        times_put_api_time(&out, str_of(rows[i].typed), 1767225600000);
        assert_buf(&out, rows[i].sent);
    }
}

static void a_local_time_gets_its_zone(void **state)
{
    static const struct {
        const char *typed, *sent;
    } rows[] = {{"2030-01-31 09:00", "2030-01-31T08:00:00.000Z"},
                {"2030-07-31 09:00:05", "2030-07-31T07:00:05.000Z"},
                {"2030-03-31 02:30", "2030-03-31 02:30"}, // there is no such time: the clock is put forward
                {"2030-02-30 09:00", "2030-02-30 09:00"},
                {"2030-01-31 24:00", "2030-01-31 24:00"},
                {"2030-1-31 9:00", "2030-1-31 9:00"},
                {"2030-01-31T09:00:00Z", "2030-01-31T09:00:00Z"},
                {"2030-01-31 09:00x", "2030-01-31 09:00x"},
                {"", ""}};
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        times_put_api_local(&out, str_of(rows[i].typed));
        assert_buf(&out, rows[i].sent);
    }
    setenv("TZ", "UTC", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_short),
        cmocka_unit_test(a_time_is_so_far_away),
        cmocka_unit_test(a_duration_is_a_time_from_now),
        cmocka_unit_test(a_local_time_gets_its_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
