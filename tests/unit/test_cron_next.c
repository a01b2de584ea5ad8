// What a change of the clock does to a cron pattern, in zones of this machine.
#include "base/mem.h"
#include "base/rand.h"
#include "cron_rows.h"
#include "schedule/zone_file.h"

// In the zone at hand, the next runs after a time, in UTC.
struct change_row {
    enum cron_gap gap;
    enum cron_overlap overlap;
    struct row row;
};

static void check_changes(const char *zone_name, const struct change_row *rows, size_t n)
{
    struct arena arena;
    arena_init(&arena);
    const struct zone *zone = zone_file(zone_name, &arena);
    for (size_t i = 0; i < n; i++) {
        struct cron cron = parsed(rows[i].row.pattern, 0);
        check_row(&rows[i].row, &cron, zone, rows[i].gap, rows[i].overlap);
    }
    arena_done(&arena);
}

#define AFTER CRON_GAP_RUN_AFTER
#define SKIP CRON_GAP_SKIP
#define FIRST CRON_OVERLAP_FIRST
#define LAST CRON_OVERLAP_LAST
#define BOTH CRON_OVERLAP_BOTH

// On 2026-03-29 it is 02:00 and then 03:00 in Berlin (01:00 UTC), on 2026-10-25 it is 03:00 and then 02:00 (01:00 UTC).
static void a_time_that_berlin_skips_runs_right_after_the_gap_or_not_at_all(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"30 2 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:30"}}},
        {SKIP, FIRST, {"30 2 * * *", "2026-03-28T12:00", {"2026-03-30T00:30"}}},
        {AFTER,
         FIRST,
         {"15,30,45 2 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:15"}}}, // one instant, one run
        {AFTER, LAST, {"0 2,3 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:00"}}},
        {SKIP, BOTH, {"0 2,3 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:00"}}},
        {AFTER, BOTH, {"0 2 29 3 *", "2026-03-28T12:00", {"2026-03-29T01:00", "2027-03-29T00:00"}}},
        {AFTER, FIRST, {"* 0 2 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:00", "2026-03-30T00:00:01"}}},
        {AFTER, FIRST, {"0 30 2 29 3 * 2026", "2026-03-28T12:00", {"2026-03-29T01:00", "never"}}},
        {SKIP, FIRST, {"0 30 2 29 3 * 2026", "2026-03-28T12:00", {"never"}}},
        {AFTER, FIRST, {"59 1 * * *", "2026-03-28T12:00", {"2026-03-29T00:59", "2026-03-29T23:59"}}},
        {AFTER, FIRST, {"0 3 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T01:00"}}},
    };
    check_changes("Europe/Berlin", rows, array_count(rows));
}

static void a_time_that_comes_twice_in_berlin_runs_the_first_the_last_or_both_times(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"30 2 * * *", "2026-10-24T12:00", {"2026-10-25T00:30", "2026-10-26T01:30"}}},
        {AFTER, LAST, {"30 2 * * *", "2026-10-24T12:00", {"2026-10-25T01:30", "2026-10-26T01:30"}}},
        {SKIP, BOTH, {"30 2 * * *", "2026-10-24T12:00", {"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-26T01:30"}}},
        {SKIP, FIRST, {"30 2 * * *", "2026-10-25T01:10", {"2026-10-26T01:30"}}},
        {SKIP, LAST, {"30 2 * * *", "2026-10-25T00:45", {"2026-10-25T01:30"}}},
        {AFTER, FIRST, {"0 2,3 * * *", "2026-10-24T12:00", {"2026-10-25T00:00", "2026-10-25T02:00"}}},
        {AFTER, LAST, {"0 2,3 * * *", "2026-10-24T12:00", {"2026-10-25T01:00", "2026-10-25T02:00"}}},
        {AFTER, LAST, {"59 1 * * *", "2026-10-24T12:00", {"2026-10-24T23:59", "2026-10-26T00:59"}}},
        {AFTER, FIRST, {"0 30 2 25 10 * 2026", "2026-10-25T00:30", {"never"}}},
        {AFTER, LAST, {"0 30 2 25 10 * 2026", "2026-10-25T00:45", {"2026-10-25T01:30", "never"}}},
        {AFTER, BOTH, {"0 30 2 25 10 * 2026", "2026-10-24T12:00", {"2026-10-25T00:30", "2026-10-25T01:30", "never"}}},
    };
    check_changes("Europe/Berlin", rows, array_count(rows));
}

static void a_minute_or_hour_that_begins_with_a_star_follows_elapsed_time(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"*/30 * * * *", "2026-03-29T00:00", {"2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"}}},
        {AFTER, FIRST, {"30 * * * *", "2026-03-29T00:00", {"2026-03-29T00:30", "2026-03-29T01:30", "2026-03-29T02:30"}}},
        {AFTER, FIRST, {"30 */2 * * *", "2026-03-28T22:00", {"2026-03-28T23:30", "2026-03-29T02:30", "2026-03-29T04:30"}}},
        {AFTER, FIRST, {"* 2 * * *", "2026-03-28T12:00", {"2026-03-30T00:00", "2026-03-30T00:01"}}},
        {AFTER, FIRST, {"*,5 2 * * *", "2026-03-28T12:00", {"2026-03-30T00:00"}}},
        {AFTER, FIRST, {"0-59 2 * * *", "2026-03-28T12:00", {"2026-03-29T01:00", "2026-03-30T00:00"}}},
        {AFTER, FIRST, {"30 * * * *", "2026-10-25T00:00", {"2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"}}},
        {AFTER,
         LAST,
         {"*/30 2 * * *",
          "2026-10-24T23:59",
          {"2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-26T01:00"}}},
    };
    check_changes("Europe/Berlin", rows, array_count(rows));
}

// On 2026-03-08 it is 02:00 and then 03:00 in New York (07:00 UTC), on 2026-11-01 it is 02:00 and then 01:00 (06:00 UTC).
static void new_york_skips_and_repeats_likewise(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"30 2 * * *", "2026-03-07T12:00", {"2026-03-08T07:00", "2026-03-09T06:30"}}},
        {SKIP, FIRST, {"30 2 * * *", "2026-03-07T12:00", {"2026-03-09T06:30"}}},
        {AFTER, FIRST, {"30 1 * * *", "2026-10-31T12:00", {"2026-11-01T05:30", "2026-11-02T06:30"}}},
        {AFTER, LAST, {"30 1 * * *", "2026-10-31T12:00", {"2026-11-01T06:30", "2026-11-02T06:30"}}},
        {AFTER, BOTH, {"30 1 * * *", "2026-10-31T12:00", {"2026-11-01T05:30", "2026-11-01T06:30", "2026-11-02T06:30"}}},
        {AFTER, FIRST, {"30 1 * * *", "2199-11-02T12:00", {"2199-11-03T05:30", "2199-11-04T06:30"}}},
        {AFTER, FIRST, {"0 0 1 1 *", "2199-01-02T00:00", {"never"}}},
        {AFTER, FIRST, {"0 20 31 12 *", "2199-12-31T00:00", {"2200-01-01T01:00", "never"}}}, // still 2199 there
    };
    check_changes("America/New_York", rows, array_count(rows));
}

// On 2026-10-04 it is 02:00 and then 02:30 on Lord Howe (2026-10-03T15:30 UTC), on 2026-04-05 it is 02:00 and then 01:30
// (2026-04-04T15:00 UTC).
static void lord_howe_changes_by_half_an_hour(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"15 2 * * *", "2026-10-03T00:00", {"2026-10-03T15:30", "2026-10-04T15:15"}}},
        {SKIP, FIRST, {"15 2 * * *", "2026-10-03T00:00", {"2026-10-04T15:15"}}},
        {AFTER, FIRST, {"45 2 * * *", "2026-10-03T00:00", {"2026-10-03T15:45", "2026-10-04T15:45"}}},
        {AFTER, FIRST, {"45 1 * * *", "2026-04-04T00:00", {"2026-04-04T14:45", "2026-04-05T15:15"}}},
        {AFTER, LAST, {"45 1 * * *", "2026-04-04T00:00", {"2026-04-04T15:15", "2026-04-05T15:15"}}},
        {AFTER, BOTH, {"45 1 * * *", "2026-04-04T00:00", {"2026-04-04T14:45", "2026-04-04T15:15", "2026-04-05T15:15"}}},
        {AFTER, LAST, {"15 1 * * *", "2026-04-04T00:00", {"2026-04-04T14:15", "2026-04-05T14:45"}}},
        {AFTER, FIRST, {"0 * * * *", "2026-04-04T13:30", {"2026-04-04T14:00", "2026-04-04T15:30", "2026-04-04T16:30"}}},
        {AFTER, FIRST, {"0 * * * *", "2026-10-03T14:00", {"2026-10-03T14:30", "2026-10-03T16:00", "2026-10-03T17:00"}}},
    };
    check_changes("Australia/Lord_Howe", rows, array_count(rows));
}

// In Samoa 2011-12-29 was followed by 2011-12-31.
static void a_skipped_day_is_a_long_gap(void **state)
{
    static const struct change_row rows[] = {
        {AFTER, FIRST, {"0 12 30 12 *", "2011-12-29T00:00", {"2011-12-30T10:00", "2012-12-29T22:00"}}},
        {SKIP, FIRST, {"0 12 30 12 *", "2011-12-29T00:00", {"2012-12-29T22:00"}}},
        {AFTER, FIRST, {"@daily", "2011-12-29T00:00", {"2011-12-29T10:00", "2011-12-30T10:00", "2011-12-31T10:00"}}},
        {AFTER, FIRST, {"0 */6 * * *", "2011-12-30T00:00", {"2011-12-30T04:00", "2011-12-30T10:00", "2011-12-30T16:00"}}},
    };
    check_changes("Pacific/Apia", rows, array_count(rows));
}

// Whatever time between two runs is asked for, the answer is the same one.
static void the_next_run_does_not_depend_on_where_one_asks_from(void **state)
{
    static const char *const patterns[] = {"30 2 * * *",    "*/20 1-3 * * *", "0,30 1,2,3 * * *",
                                           "0 0 29 2 +SUN", "7 * L * *",      "0 3 * * SUN#L"};
    static const char *const zones[] = {"Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca"};
    struct rand rand;
    struct arena arena;
    rand_init(&rand, 35);
    arena_init(&arena);
    for (size_t z = 0; z < array_count(zones); z++) {
        const struct zone *zone = zone_file(zones[z], &arena);
        for (int i = 0; i < 6000; i++) {
            struct cron cron = parsed(patterns[rand_below(&rand, array_count(patterns))], 0);
            enum cron_gap gap = (enum cron_gap)rand_below(&rand, 2);
            enum cron_overlap overlap = (enum cron_overlap)rand_below(&rand, 3);
            int64_t after_s = (int64_t)rand_below(&rand, 4102444800);
            struct zone_span span = zone_span_at(zone, after_s);
            if (i % 2 && span.until_s != INT64_MAX)
                after_s = span.until_s - 7200 + (int64_t)rand_below(&rand, 14400);
            int64_t next_s = cron_next(&cron, zone, gap, overlap, after_s);
            assert_true(next_s > after_s);
            int64_t between_s = after_s + (int64_t)rand_below(&rand, (uint64_t)(next_s - after_s));
            assert_int_equal(cron_next(&cron, zone, gap, overlap, between_s), next_s);
            assert_int_equal(cron_next(&cron, zone, gap, overlap, next_s - 1), next_s);
        }
    }
    arena_done(&arena);
}

static void any_time_may_be_asked_from(void **state)
{
    struct cron cron = parsed("0 0 1 1 *", 0);
    assert_int_equal(cron_next(&cron, &zone_utc, CRON_GAP_SKIP, CRON_OVERLAP_BOTH, INT64_MIN), 0);
    assert_int_equal(cron_next(&cron, &zone_utc, CRON_GAP_SKIP, CRON_OVERLAP_BOTH, -1), 0);
    assert_int_equal(cron_next(&cron, &zone_utc, CRON_GAP_SKIP, CRON_OVERLAP_BOTH, INT64_MAX), INT64_MAX);
    assert_int_equal(cron_next(&cron, &zone_utc, CRON_GAP_SKIP, CRON_OVERLAP_BOTH, INT64_MAX - 1), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_that_berlin_skips_runs_right_after_the_gap_or_not_at_all),
        cmocka_unit_test(a_time_that_comes_twice_in_berlin_runs_the_first_the_last_or_both_times),
        cmocka_unit_test(a_minute_or_hour_that_begins_with_a_star_follows_elapsed_time),
        cmocka_unit_test(new_york_skips_and_repeats_likewise),
        cmocka_unit_test(lord_howe_changes_by_half_an_hour),
        cmocka_unit_test(a_skipped_day_is_a_long_gap),
        cmocka_unit_test(the_next_run_does_not_depend_on_where_one_asks_from),
        cmocka_unit_test(any_time_may_be_asked_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
