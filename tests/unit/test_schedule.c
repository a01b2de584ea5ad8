// Which days are excluded, which instants fall on them, and what a change of the clocks has to do with an instant.
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

static int64_t second(const char *text)
{
    int64_t ms;
    assert_true(when_parse(str_of(text), &ms));
    return ms / 1000;
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

static void expect(struct world *world, int64_t *at_s, const char *next, bool excluded)
{
    struct schedule_instant instant = schedule_next(&world->schedule, *at_s);
    assert_int_equal(instant.at_s, second(next));
    assert_int_equal(instant.excluded, excluded);
    *at_s = instant.at_s;
}

static void a_day_is_excluded_by_the_clocks_of_the_zone(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "30 0 * * *", "Asia/Tokyo", (const char *[]){"2026-12-25", "01-01", "2026-12-29/2026-12-30", NULL});
    int64_t at = second("2026-12-23T16:00:00Z");
    expect(&world, &at, "2026-12-24T15:30:00Z", true); // the 25th in Tokyo
    expect(&world, &at, "2026-12-25T15:30:00Z", false);
    expect(&world, &at, "2026-12-26T15:30:00Z", false);
    expect(&world, &at, "2026-12-27T15:30:00Z", false);
    expect(&world, &at, "2026-12-28T15:30:00Z", true);
    expect(&world, &at, "2026-12-29T15:30:00Z", true);
    expect(&world, &at, "2026-12-30T15:30:00Z", false);
    expect(&world, &at, "2026-12-31T15:30:00Z", true);
    at = second("2035-12-31T00:00:00Z");
    expect(&world, &at, "2035-12-31T15:30:00Z", true); // every year
    arena_done(&world.arena);
}

static void a_schedule_that_has_ended_has_no_next_instant(void **state)
{
    (void)state;
    struct world world;
    begin(&world, "0 0 0 1 1 * 2030", "UTC", (const char *[]){"2030-01-01", NULL});
    int64_t at = second("2029-01-01T00:00:00Z");
    expect(&world, &at, "2030-01-01T00:00:00Z", true);
    assert_int_equal(schedule_next(&world.schedule, at).at_s, INT64_MAX);
    assert_false(schedule_next(&world.schedule, at).excluded);
    arena_done(&world.arena);
}

static void a_day_ends_where_the_next_one_begins(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *at, *end;
    } rows[] = {
        {"UTC", "2026-05-05T10:00:00Z", "2026-05-05T23:59:59Z"},
        {"Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T21:59:59Z"},     // a day of 23 hours
        {"Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T22:59:59Z"},     // and one of 25
        {"Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-30T09:59:59Z"},      // the 29th; there was no 30th
        {"America/Sao_Paulo", "2017-10-14T15:00:00Z", "2017-10-15T02:59:59Z"}, // midnight was skipped
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct world world;
        begin(&world, "* * * * *", rows[i].zone, NULL);
        int64_t end = schedule_day_end(&world.schedule, second(rows[i].at));
        if (end != second(rows[i].end))
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
        int64_t at = second(rows[i].at);
        assert_int_equal(schedule_next(&world.schedule, at - 1).at_s, at);
        assert_int_equal(schedule_shift(&world.schedule, at), rows[i].shift);
        arena_done(&world.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_a_yearly_day_and_a_range_are_read_and_nothing_else),
        cmocka_unit_test(a_day_is_excluded_by_the_clocks_of_the_zone),
        cmocka_unit_test(a_schedule_that_has_ended_has_no_next_instant),
        cmocka_unit_test(a_day_ends_where_the_next_one_begins),
        cmocka_unit_test(an_instant_knows_what_the_clocks_did_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
