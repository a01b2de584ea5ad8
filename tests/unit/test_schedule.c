// Which days are excluded, which instants fall on them, and what a change of the clocks has to do with an instant.
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/when.h"
#include "core/schedule/schedule.h"
#include "schedule/zone_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_day_a_yearly_day_and_a_range_are_read_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        {"2026-12-25", true},
        {"12-25", true},
        {"02-29", true},
        {"2028-02-29", true},
        {"2026-02-29", false},
        {"02-30", false},
        {"13-01", false},
        {"00-10", false},
        {"2026-1-05", false},
        {"2026-12-25 ", false},
        {"", false},
        {"1225", false},
        {"2026/12/25", false},
        {"12/25", false},
        {"2026-12-2x", false},
        {"-026-12-25", false},
        {"2026-07-01/2026-07-14", true},
        {"2026-07-01/2026-07-01", true},
        {"2026-07-14/2026-07-01", false},
        {"2026-07-01-2026-07-14", false},
        {"07-01/07-14", false},
        {"2026-07-01/2026-07-32", false},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct exclude exclude;
        if (exclude_read(str_of(rows[i].text), &exclude) != rows[i].good)
            fail_msg("%s is %s", rows[i].text, rows[i].good ? "refused" : "taken");
    }
}

static int64_t time_of(const char *text)
{
    int64_t ms;
    assert_true(when_parse(str_of(text), &ms));
    return ms;
}

struct world {
    struct schedule schedule;
    struct exclude excludes[8];
    struct arena arena;
};

static void begin(struct world *world, const char *pattern, const char *zone, const char *const *excludes)
{
    char why[ERR_WHY_MAX];
    *world = (struct world){0};
    assert_int_equal(cron_parse(str_of(pattern), 0, &world->schedule.cron, why), ERR_OK);
    world->schedule.zone = zone_file(zone, &world->arena);
    world->schedule.excludes = world->excludes;
    for (; excludes && *excludes; excludes++)
        assert_true(exclude_read(str_of(*excludes), &world->excludes[world->schedule.exclude_count++]));
}

static void expect(struct world *world, int64_t *at_ms, const char *next, bool excluded)
{
    struct schedule_instant instant = schedule_next(&world->schedule, *at_ms);
    assert_int_equal(instant.at_ms, time_of(next));
    assert_int_equal(instant.excluded, excluded);
    *at_ms = instant.at_ms;
}

static void a_day_is_excluded_by_the_clocks_of_the_zone(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "30 0 * * *", "Asia/Tokyo", (const char *[]){"2026-12-25", "01-01", "2026-12-29/2026-12-30", NULL});
    int64_t at = time_of("2026-12-23T16:00:00Z");
    expect(&world, &at, "2026-12-24T15:30:00Z", true); // the 25th in Tokyo
    expect(&world, &at, "2026-12-25T15:30:00Z", false);
    expect(&world, &at, "2026-12-26T15:30:00Z", false);
    expect(&world, &at, "2026-12-27T15:30:00Z", false);
    expect(&world, &at, "2026-12-28T15:30:00Z", true);
    expect(&world, &at, "2026-12-29T15:30:00Z", true);
    expect(&world, &at, "2026-12-30T15:30:00Z", false);
    expect(&world, &at, "2026-12-31T15:30:00Z", true);
    at = time_of("2035-12-31T00:00:00Z");
    expect(&world, &at, "2035-12-31T15:30:00Z", true); // every year
    arena_done(&world.arena);
}

static void a_schedule_that_has_ended_has_no_next_instant(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "0 0 0 1 1 * 2030", "UTC", (const char *[]){"2030-01-01", NULL});
    int64_t at = time_of("2029-01-01T00:00:00Z");
    expect(&world, &at, "2030-01-01T00:00:00Z", true);
    assert_int_equal(schedule_next(&world.schedule, at).at_ms, TIME_NEVER);
    assert_false(schedule_next(&world.schedule, at).excluded);
    arena_done(&world.arena);
}

static void a_day_ends_where_the_next_one_begins(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *at, *end;
    } rows[] = {
        {"UTC", "2026-05-05T10:00:00Z", "2026-05-05T23:59:59.999Z"},
        {"Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T21:59:59.999Z"},     // a day of 23 hours
        {"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T22:59:59.999Z"},     // and one of 25
        {"Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T09:59:59.999Z"},      // the 29th; there was no 30th
        {"America/Sao_Paulo", "2017-10-14T15:00:00Z", "2017-10-15T02:59:59.999Z"}, // midnight was skipped
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct world world;
        begin(&world, "* * * * *", rows[i].zone, NULL);
        int64_t end = schedule_day_end(&world.schedule, time_of(rows[i].at));
        if (end != time_of(rows[i].end))
            fail_msg("the day of %s in %s ends at %lld", rows[i].at, rows[i].zone, (long long)end);
        assert_int_equal(schedule_day_end(&world.schedule, end), end);
        arena_done(&world.arena);
    }
}

static void an_instant_knows_what_the_clocks_did_to_it(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *at;
        enum cron_overlap overlap;
        enum schedule_shift shift;
    } rows[] = {
        {"30 2 * * *", "2026-03-28T01:30:00Z", CRON_OVERLAP_FIRST, SCHEDULE_AS_SHOWN},
        {"30 2 * * *", "2026-03-29T01:00:00Z", CRON_OVERLAP_FIRST, SCHEDULE_AFTER_GAP},
        {"0 3 * * *", "2026-03-29T01:00:00Z", CRON_OVERLAP_FIRST, SCHEDULE_AS_SHOWN},
        {"30 2 * * *", "2026-10-25T00:30:00Z", CRON_OVERLAP_FIRST, SCHEDULE_FIRST_PASS},
        {"30 2 * * *", "2026-10-25T01:30:00Z", CRON_OVERLAP_LAST, SCHEDULE_LAST_PASS},
        {"30 * * * *", "2026-10-25T01:30:00Z", CRON_OVERLAP_FIRST, SCHEDULE_LAST_PASS},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct world world;
        begin(&world, rows[i].pattern, "Europe/Berlin", NULL);
        world.schedule.overlap = rows[i].overlap;
        int64_t at = time_of(rows[i].at);
        assert_int_equal(schedule_next(&world.schedule, at - 1).at_ms, at);
        assert_int_equal(schedule_shift(&world.schedule, at), rows[i].shift);
        arena_done(&world.arena);
    }
}

static void an_every_counts_from_its_anchor(void **state)
{
    (void)state;
    struct schedule schedule = {.zone = &zone_utc, .every_ms = 1500, .anchor_ms = 10000};
    assert_int_equal(schedule_next(&schedule, INT64_MIN).at_ms, 11500); // the anchor is no instant itself
    assert_int_equal(schedule_next(&schedule, 11499).at_ms, 11500);
    assert_int_equal(schedule_next(&schedule, 11500).at_ms, 13000);
    assert_int_equal(schedule_next(&schedule, 10000 + 1500 * INT64_C(1000000000)).at_ms, 10000 + 1500 * INT64_C(1000000001));
    assert_int_equal(schedule_next(&schedule, time_of("2199-12-31T23:59:59.999Z")).at_ms, TIME_NEVER);
    assert_int_equal(schedule_next(&schedule, TIME_NEVER).at_ms, TIME_NEVER);
}

static void any_instant_of_an_every_can_serve_as_its_anchor(void **state)
{
    (void)state;
    struct schedule schedule = {.zone = &zone_utc, .every_ms = 1500, .anchor_ms = 13000, .anchor_is_instant = true};
    assert_int_equal(schedule_next(&schedule, 13000).at_ms, 14500);
    assert_int_equal(schedule_next(&schedule, 12999).at_ms, 13000);
    assert_int_equal(schedule_next(&schedule, 11500).at_ms, 13000);
    assert_int_equal(schedule_next(&schedule, 11499).at_ms, 11500);
    assert_int_equal(schedule_next(&schedule, 10001).at_ms, 11500);
    assert_true(schedule_next(&schedule, INT64_MIN).at_ms < 0);
}

static void instants_lie_between_starts_at_and_ends_at_both_included(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "0 * * * *", "UTC", NULL);
    world.schedule.starts_at = time_of("2026-05-05T10:00:00Z");
    world.schedule.ends_at = time_of("2026-05-05T11:00:00Z");
    int64_t at = time_of("2020-01-01T00:00:00Z");
    expect(&world, &at, "2026-05-05T10:00:00Z", false);
    expect(&world, &at, "2026-05-05T11:00:00Z", false);
    assert_int_equal(schedule_next(&world.schedule, at).at_ms, TIME_NEVER);
    world.schedule.starts_at++;
    world.schedule.ends_at--;
    assert_int_equal(schedule_next(&world.schedule, 0).at_ms, TIME_NEVER);
    arena_done(&world.arena);
}

static void the_next_run_lies_behind_the_excluded_days(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "0 12 * * *", "Europe/Berlin", (const char *[]){"2026-03-28/2026-03-30", "2026-04-01", NULL});
    int64_t at = time_of("2026-03-27T12:00:00Z"), run = time_of("2026-03-31T10:00:00Z");
    assert_int_equal(schedule_next_run(&world.schedule, at, TIME_NEVER), run);
    assert_int_equal(schedule_next_run(&world.schedule, at, run), run);
    assert_int_equal(schedule_next_run(&world.schedule, at, run - 1), TIME_NEVER);
    assert_int_equal(schedule_next_run(&world.schedule, run, TIME_NEVER), time_of("2026-04-02T10:00:00Z"));
    arena_done(&world.arena);
}

static void a_whole_day_is_counted_as_if_it_were_gone_through(void **state)
{
    (void)state;
    static const char *const patterns[] = {"0 12 * * *", "*/10 * * * *", "15,45 0-5 * * *", "0 0 1 * *", "30 2 * * SUN"};
    for (size_t i = 0; i < array_count(patterns); i++) {
        struct world world;
        int64_t last, end = time_of("2027-01-01T00:00:00Z");
        size_t known = 0;
        begin(&world, patterns[i], "Europe/Berlin", NULL);
        for (int64_t at = time_of("2026-01-01T00:00:00Z"); (at = schedule_next(&world.schedule, at).at_ms) < end;) {
            int64_t count = schedule_whole_day(&world.schedule, at, &last), day_end = schedule_day_end(&world.schedule, at);
            known += count > 0;
            for (int64_t n = 1; n < count; n++)
                at = schedule_next(&world.schedule, at).at_ms;
            assert_true(!count || (at == last && schedule_next(&world.schedule, at).at_ms > day_end));
        }
        assert_true(known >= 11);
        arena_done(&world.arena);
    }
}

static void a_jitter_is_the_same_whenever_it_is_asked_for_and_spreads_over_its_range(void **state)
{
    (void)state;
    struct schedule schedule = {.zone = &zone_utc, .every_ms = 1000, .jitter_ms = 3, .hash = 77};
    int seen[4] = {0}, moved = 0;
    for (int64_t at = 1000; at <= 400 * 1000; at += 1000) {
        int64_t by = schedule_due(&schedule, at) - at;
        assert_in_range(by, 0, 3);
        assert_int_equal(schedule_due(&schedule, at) - at, by);
        seen[by]++;
        struct schedule other = schedule;
        other.hash = 78;
        moved += schedule_due(&other, at) - at != by;
    }
    for (int i = 0; i < 4; i++)
        assert_in_range(seen[i], 50, 200);
    assert_true(moved > 200);
    assert_int_equal(schedule_due(&schedule, TIME_NEVER), TIME_NEVER);
    schedule.jitter_ms = 0;
    assert_int_equal(schedule_due(&schedule, 5000), 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_a_yearly_day_and_a_range_are_read_and_nothing_else),
        cmocka_unit_test(a_day_is_excluded_by_the_clocks_of_the_zone),
        cmocka_unit_test(a_schedule_that_has_ended_has_no_next_instant),
        cmocka_unit_test(a_day_ends_where_the_next_one_begins),
        cmocka_unit_test(an_instant_knows_what_the_clocks_did_to_it),
        cmocka_unit_test(an_every_counts_from_its_anchor),
        cmocka_unit_test(any_instant_of_an_every_can_serve_as_its_anchor),
        cmocka_unit_test(instants_lie_between_starts_at_and_ends_at_both_included),
        cmocka_unit_test(the_next_run_lies_behind_the_excluded_days),
        cmocka_unit_test(a_whole_day_is_counted_as_if_it_were_gone_through),
        cmocka_unit_test(a_jitter_is_the_same_whenever_it_is_asked_for_and_spreads_over_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
