// How a plan is carried on: what lies ahead, what was missed, and when it is looked at again.
#include "plan_world.h"

static void expect_rows(const struct plan_world *world, const int64_t *seconds, size_t count)
{
    assert_int_equal(world->rows.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(world->rows.rows[i].nominal_at, at(seconds[i]));
        assert_int_equal(world->rows.rows[i].due_at, schedule_due(&world->schedule, at(seconds[i])));
    }
}

#define EXPECT_ROWS(world, ...) expect_rows(world, (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

// ---- ahead

static void five_jobs_lie_ahead_and_one_more_is_planned_when_one_is_picked(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    plan_world_extend(&world, at(0));
    EXPECT_ROWS(&world, 60, 120, 180, 240, 300);
    assert_int_equal(world.plan.planned_through, at(300));
    assert_int_equal(world.plan.check_at, at(70));
    plan_world_extend(&world, at(59));
    assert_int_equal(world.rows.count, 0);
    plan_world_extend(&world, at(60));
    EXPECT_ROWS(&world, 360);
    assert_int_equal(world.plan.check_at, at(130));
    assert_int_equal(world.plan.instants, 6);
    plan_world_extend(&world, at(0)); // the clock was set back
    assert_int_equal(world.rows.count, 0);
    assert_int_equal(world.plan.planned_through, at(360));
    plan_world_end(&world);
}

static void nothing_comes_before_starts_at(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.schedule.starts_at = at(180);
    plan_begin(&world.plan, at(0));
    plan_world_extend(&world, at(0));
    EXPECT_ROWS(&world, 180, 240, 300, 360, 420);
    plan_world_end(&world);
}

static void a_plan_ends_when_the_time_of_its_last_instant_has_come(void **state)
{
    (void)state;
    static const struct {
        int64_t ends_at, max_runs;
    } rows[] = {{PLAN_ZERO + 180 * 1000, 0}, {0, 3}};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        world.schedule.ends_at = rows[i].ends_at;
        world.rules.max_runs = rows[i].max_runs;
        plan_world_extend(&world, at(0));
        EXPECT_ROWS(&world, 60, 120, 180);
        plan_world_extend(&world, at(179));
        assert_int_equal(world.plan.planned_through, at(180));
        assert_int_equal(world.plan.check_at, at(190));
        plan_world_extend(&world, at(180));
        assert_int_equal(world.plan.planned_through, TIME_NEVER);
        assert_int_equal(world.plan.ended_with, at(180));
        assert_int_equal(world.plan.check_at, TIME_NEVER);
        plan_world_extend(&world, at(1000));
        assert_int_equal(world.rows.count, 0);
        plan_world_end(&world);
    }
}

static void a_pattern_without_another_year_ends(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    plan_world_cron(&world, "0 0 12 1 1 * 2026");
    plan_world_extend(&world, at(0));
    EXPECT_ROWS(&world, 3600);
    plan_world_extend(&world, at(3600));
    assert_int_equal(world.plan.planned_through, TIME_NEVER);
    plan_world_end(&world);
}

static void what_lies_behind_the_horizon_is_planned_when_the_horizon_has_moved(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    plan_world_cron(&world, "0 0 0 1 1 * 2040");
    plan_world_extend(&world, at(0));
    assert_int_equal(world.rows.count, 0);
    assert_int_not_equal(world.plan.planned_through, TIME_NEVER);
    assert_true(world.plan.check_at > at(0) && world.plan.check_at < at(8 * 86400));
    plan_world_extend(&world, at(INT64_C(11) * 366 * 86400));
    assert_int_equal(world.rows.count, 1);
    plan_world_end(&world);
}

// ---- excluded

static void excluded_instants_are_skips_and_do_not_count_for_max_runs(void **state)
{
    (void)state;
    struct exclude second_day;
    assert_true(exclude_read(STR("2026-01-02"), &second_day));
    struct plan_world world;
    plan_world_begin(&world, 6 * 3600); // 17:00, 23:00, then four on the second day
    world.schedule.excludes = &second_day;
    world.schedule.exclude_count = 1;
    world.rules.max_runs = 4;
    plan_world_extend(&world, at(0));
    EXPECT_ROWS(&world, 21600, 43200, 151200, 172800);
    plan_world_expect_skips(&world, "excluded 64800-129600 4");
    assert_int_equal(world.plan.instants, 4);
    plan_world_end(&world);
}

static void a_schedule_without_a_day_left_is_neither_over_nor_busy(void **state)
{
    (void)state;
    struct exclude always;
    assert_true(exclude_read(STR("2026-01-01/2199-12-31"), &always));
    for (int64_t every_s = 0; every_s <= 1; every_s++) {
        struct plan_world world;
        plan_world_begin(&world, every_s);
        if (!every_s)
            plan_world_cron(&world, "* * * * * *");
        world.schedule.excludes = &always;
        world.schedule.exclude_count = 1;
        plan_world_extend(&world, at(0));
        assert_false(world.rows.more);
        assert_int_equal(world.rows.count, 0);
        assert_true(world.plan.check_at > at(3600) && world.plan.check_at < TIME_NEVER);
        assert_int_equal(plan_world_extend_all(&world, at(86400)), 0);
        plan_world_expect_skips(&world, "excluded 1-86400 86400");
        assert_true(world.plan.planned_through < TIME_NEVER);
        plan_world_end(&world);
    }
}

// ---- missed

static void instants_that_passed_unplanned_are_missed_and_misfire_says_what_becomes_of_them(void **state)
{
    (void)state;
    static const struct {
        enum plan_misfire misfire;
        int64_t window_ms;
        size_t missed_rows;
        const char *skips;
    } rows[] = {
        {PLAN_MISFIRE_ONE, -1, 1, "misfire 60-6000 100"},
        {PLAN_MISFIRE_SKIP, -1, 0, "misfire 60-6060 101"},
        {PLAN_MISFIRE_ALL, -1, 101, ""},
        {PLAN_MISFIRE_ONE, 120000, 1, "window 60-5940 99, misfire 6000-6000 1"},
        {PLAN_MISFIRE_SKIP, 120000, 0, "window 60-5940 99, misfire 6000-6060 2"},
        {PLAN_MISFIRE_ALL, 120000, 2, "window 60-5940 99"},
        {PLAN_MISFIRE_ALL, 10000, 0, "window 60-6060 101"},
    };
    for (size_t i = 0; i < array_count(rows) * 2; i++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        if (i % 2)
            plan_world_cron(&world, "* * * * *");
        world.rules.misfire = rows[i / 2].misfire;
        world.rules.misfire_window_ms = rows[i / 2].window_ms;
        assert_int_equal(plan_world_extend_all(&world, at(6090)), rows[i / 2].missed_rows + PLAN_AHEAD);
        plan_world_expect_skips(&world, rows[i / 2].skips);
        assert_int_equal(world.plan.planned_through, at(6120 + 4 * 60));
        plan_world_end(&world);
    }
}

static void of_all_that_was_missed_the_latest_ten_thousand_run(void **state)
{
    (void)state;
    for (int cron = 0; cron < 2; cron++) {
        struct plan_world world;
        plan_world_begin(&world, 1);
        if (cron)
            plan_world_cron(&world, "* * * * * *");
        world.rules.misfire = PLAN_MISFIRE_ALL;
        assert_int_equal(plan_world_extend_all(&world, at(50000)), PLAN_MISSED_MAX + PLAN_AHEAD);
        plan_world_expect_skips(&world, "misfire 1-40000 40000");
        plan_world_end(&world);
    }
}

static void a_year_of_seconds_is_counted_for_an_every_and_walked_in_few_steps_for_a_pattern(void **state)
{
    (void)state;
    int64_t year_s = 365 * 86400;
    struct plan_world world;
    plan_world_begin(&world, 1);
    plan_world_extend(&world, at(year_s));
    assert_false(world.rows.more);
    assert_int_equal(world.plan.planned_through, at(year_s + 5));
    plan_world_end(&world);
    plan_world_begin(&world, 1); // two days in between are excluded
    struct exclude excludes[2];
    assert_true(exclude_read(STR("2026-05-05"), &excludes[0]) && exclude_read(STR("11-11"), &excludes[1]));
    world.schedule.excludes = excludes;
    world.schedule.exclude_count = 2;
    plan_world_extend(&world, at(year_s));
    assert_false(world.rows.more);
    assert_int_equal(world.plan.planned_through, at(year_s + 5));
    assert_int_equal(world.plan.instants, year_s + 5 - 2 * 86400);
    plan_world_end(&world);
    plan_world_begin(&world, 1);
    plan_world_cron(&world, "* * * * * *");
    plan_world_extend(&world, at(year_s));
    assert_true(world.rows.more);
    assert_int_equal(world.rows.count, 0);
    assert_true(world.plan.planned_through < at(20001));
    assert_int_equal(world.plan.check_at, at(year_s) + PLAN_CHECK_MS);
    int steps = 1;
    for (; world.rows.more; steps++)
        plan_world_extend(&world, at(year_s));
    assert_true(steps < 100); // the first and the last day second by second, and those in between each at once
    assert_int_equal(world.plan.planned_through, at(year_s + 5));
    assert_int_equal(world.plan.instants, year_s + 5);
    plan_world_expect_skips(&world, "misfire 1-31535998 31535998");
    plan_world_end(&world);
}

static void a_missed_day_is_skipped_at_once_only_where_all_of_it_is_skipped(void **state)
{
    (void)state;
    static const struct {
        enum plan_misfire misfire;
        int64_t window_s, max_runs;
        size_t rows; // behind the present
        const char *skips;
    } rows[] = {
        // Instants are at noon, which is second 3600, and an hour later. Now it is 16:00 of the fourth day.
        {PLAN_MISFIRE_SKIP, -1, 0, 0, "misfire 3600-266400 8"},
        {PLAN_MISFIRE_ONE, -1, 0, 1, "misfire 3600-262800 7"},
        {PLAN_MISFIRE_ALL, -1, 0, 8, ""},
        {PLAN_MISFIRE_SKIP, 271800, 0, 0, "window 3600-3600 1, misfire 7200-266400 7"},
        {PLAN_MISFIRE_ONE, 86400, 0, 1, "window 3600-180000 6, misfire 262800-262800 1"},
        {PLAN_MISFIRE_ALL, 86400, 0, 2, "window 3600-180000 6"},
        {PLAN_MISFIRE_ONE, -1, 4, 1, "misfire 3600-90000 3"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        plan_world_cron(&world, "0 12,13 * * *");
        world.rules.misfire = rows[i].misfire;
        world.rules.misfire_window_ms = rows[i].window_s < 0 ? -1 : rows[i].window_s * 1000;
        world.rules.max_runs = rows[i].max_runs;
        size_t count = plan_world_extend_all(&world, at(5 * 3600 + 3 * 86400));
        assert_int_equal(count, rows[i].rows + (rows[i].max_runs ? 0 : PLAN_AHEAD));
        plan_world_expect_skips(&world, rows[i].skips);
        plan_world_end(&world);
    }
}

static void the_last_of_max_runs_is_the_latest_missed_although_the_schedule_goes_on(void **state)
{
    (void)state;
    for (int cron = 0; cron < 2; cron++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        if (cron)
            plan_world_cron(&world, "* * * * *");
        world.rules.max_runs = 7;
        plan_world_extend(&world, at(86400));
        EXPECT_ROWS(&world, 420);
        plan_world_expect_skips(&world, "misfire 60-360 6");
        assert_int_equal(world.plan.planned_through, TIME_NEVER);
        assert_int_equal(plan_world_pick(&world, 1, at(420), at(86400)).verdict, PLAN_RUNS);
        assert_int_equal(plan_world_pick(&world, 2, at(360), at(86400)).verdict, PLAN_SKIPPED);
        plan_world_end(&world);
    }
}

static void the_instant_before_the_last_of_max_runs_is_the_latest_missed_while_the_last_is_in_time(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 2);
    world.rules.max_runs = 2;
    plan_world_extend(&world, at(7));
    EXPECT_ROWS(&world, 2, 4);
    plan_world_end(&world);
}

static void a_paused_plan_is_not_carried_on(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.plan.paused_at = at(0);
    plan_world_extend(&world, at(1000));
    assert_int_equal(world.rows.count, 0);
    assert_int_equal(world.plan.planned_through, at(0));
    assert_int_equal(world.plan.check_at, TIME_NEVER);
    plan_world_end(&world);
}

// ---- unread

static void a_job_picked_in_time_needs_no_plan_to_be_read(void **state)
{
    (void)state;
    struct plan_world world;
    struct plan_unread unread;
    plan_world_begin(&world, 60);
    assert_true(plan_extend_unread(&world.schedule, &world.rules, plan_world_row(&world, at(60)), at(61), &unread));
    assert_int_equal(unread.from, at(300));
    assert_int_equal(unread.row.nominal_at, at(360));
    assert_int_equal(unread.row.due_at, at(360));
    assert_int_equal(unread.check_at, at(310));
    assert_int_equal(unread.check_before, at(130));
    plan_world_end(&world);
}

static void a_plan_is_read_when_a_job_is_late_or_the_rules_or_the_schedule_ask_for_more(void **state)
{
    (void)state;
    struct plan_world world;
    struct plan_unread unread;
    struct exclude second_day;
    assert_true(exclude_read(STR("2026-01-02"), &second_day));
    for (int what = 0; what < 7; what++) {
        int64_t now_ms = at(60);
        plan_world_begin(&world, 60);
        switch (what) {
        case 0: // nothing is in its way: the others differ from this one
            break;
        case 1:
            now_ms = at(120); // the next instant has passed
            break;
        case 2:
            world.rules.overlap = PLAN_OVERLAP_SKIP;
            break;
        case 3:
            world.rules.max_runs = 1000;
            break;
        case 4:
            world.schedule.ends_at = at(359);
            break;
        case 5:
            world.schedule.anchor_ms = at(13 * 3600 - 180);
            world.schedule.excludes = &second_day;
            world.schedule.exclude_count = 1;
            now_ms = at(13 * 3600 - 120);
            break;
        case 6:
            now_ms = at(59); // the clock was set back
            break;
        }
        struct plan_row row = plan_world_row(&world, what == 5 ? now_ms : at(60));
        assert_int_equal(plan_extend_unread(&world.schedule, &world.rules, row, now_ms, &unread), what == 0);
        plan_world_end(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_jobs_lie_ahead_and_one_more_is_planned_when_one_is_picked),
        cmocka_unit_test(nothing_comes_before_starts_at),
        cmocka_unit_test(a_plan_ends_when_the_time_of_its_last_instant_has_come),
        cmocka_unit_test(a_pattern_without_another_year_ends),
        cmocka_unit_test(what_lies_behind_the_horizon_is_planned_when_the_horizon_has_moved),
        cmocka_unit_test(excluded_instants_are_skips_and_do_not_count_for_max_runs),
        cmocka_unit_test(a_schedule_without_a_day_left_is_neither_over_nor_busy),
        cmocka_unit_test(instants_that_passed_unplanned_are_missed_and_misfire_says_what_becomes_of_them),
        cmocka_unit_test(of_all_that_was_missed_the_latest_ten_thousand_run),
        cmocka_unit_test(a_year_of_seconds_is_counted_for_an_every_and_walked_in_few_steps_for_a_pattern),
        cmocka_unit_test(a_missed_day_is_skipped_at_once_only_where_all_of_it_is_skipped),
        cmocka_unit_test(the_last_of_max_runs_is_the_latest_missed_although_the_schedule_goes_on),
        cmocka_unit_test(the_instant_before_the_last_of_max_runs_is_the_latest_missed_while_the_last_is_in_time),
        cmocka_unit_test(a_paused_plan_is_not_carried_on),
        cmocka_unit_test(a_job_picked_in_time_needs_no_plan_to_be_read),
        cmocka_unit_test(a_plan_is_read_when_a_job_is_late_or_the_rules_or_the_schedule_ask_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
