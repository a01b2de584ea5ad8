// What becomes of planned jobs when their task is changed, paused and resumed.
#include "plan_world.h"

struct change_world {
    struct plan_world plan;
    struct plan_row planned[PLAN_ROWS_MAX]; // the jobs that have not begun
    size_t count;
    struct plan_moved moved[PLAN_ROWS_MAX];
};

// One a minute, planned at 0 s: 60 to 300.
static void begin(struct change_world *world)
{
    plan_world_begin(&world->plan, 60);
    plan_world_extend(&world->plan, at(0));
    world->count = world->plan.rows.count;
    memcpy(world->planned, world->plan.rows.rows, sizeof world->planned);
}

static void change(struct change_world *world, int64_t now_ms)
{
    struct plan_world *plan = &world->plan;
    plan_change(&plan->plan, &plan->schedule, &plan->rules, world->planned, world->count, now_ms, &plan->arena, world->moved,
                &plan->rows);
}

static void resume(struct change_world *world, enum plan_misfire missed, int64_t now_ms)
{
    struct plan_world *plan = &world->plan;
    plan_resume(&plan->plan, &plan->schedule, &plan->rules, missed, world->planned, world->count, now_ms, &plan->arena,
                world->moved, &plan->rows);
}

// The instants that the jobs have afterwards, in seconds; -1: cancelled. Behind "+": those of jobs that are added.
static void expect(const struct change_world *world, const char *expected)
{
    char text[1024] = "";
    size_t n = 0;
    for (size_t i = 0; i < world->count; i++) {
        long long second = (world->moved[i].row.nominal_at - PLAN_ZERO) / 1000;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", i ? " " : "", world->moved[i].keeps ? second : -1);
    }
    for (size_t i = 0; i < world->plan.rows.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " +%lld",
                              (long long)(world->plan.rows.rows[i].nominal_at - PLAN_ZERO) / 1000);
    assert_string_equal(text, expected);
}

static void assert_same_row(struct plan_row is, struct plan_row as)
{
    assert_true(is.nominal_at == as.nominal_at && is.due_at == as.due_at);
}

// ---- changing

static void with_the_same_schedule_nothing_moves(void **state)
{
    (void)state;
    struct exclude second_day;
    assert_true(exclude_read(STR("2026-01-02"), &second_day));
    for (int i = 0; i < 2; i++) {
        struct change_world world;
        begin(&world);
        world.plan.rules.max_runs = i ? 5 : 0;
        if (i) { // an excluded day lies between the jobs
            world.plan.schedule.every_ms = 8 * 3600 * 1000;
            world.plan.schedule.jitter_ms = 1000000;
            world.plan.schedule.excludes = &second_day;
            world.plan.schedule.exclude_count = 1;
            plan_begin(&world.plan.plan, at(0));
            plan_world_extend(&world.plan, at(0));
            memcpy(world.planned, world.plan.rows.rows, sizeof world.planned);
        }
        struct plan before = world.plan.plan;
        change(&world, at(0));
        assert_int_equal(world.plan.rows.count, 0);
        for (size_t n = 0; n < world.count; n++) {
            assert_true(world.moved[n].keeps);
            assert_same_row(world.moved[n].row, world.planned[n]);
        }
        assert_int_equal(world.plan.plan.planned_through, before.planned_through);
        assert_int_equal(world.plan.plan.instants, before.instants);
        assert_int_equal(world.plan.plan.check_at, before.check_at);
        assert_true(str_eq(world.plan.plan.skips, before.skips));
        assert_int_equal(before.skips.n > 0, i);
        plan_world_end(&world.plan);
    }
}

static void jobs_keep_shared_instants_and_the_others_get_those_that_are_missing(void **state)
{
    (void)state;
    static const struct {
        int64_t every_s, now_s, max_runs, ends_s;
        const char *expected;
        int64_t through_s, instants;
    } rows[] = {
        {60, 0, 0, 0, "60 120 180 240 300", 300, 5},       {120, 0, 0, 0, "360 120 480 240 600", 600, 5},
        {30, 0, 0, 0, "60 120 30 90 150", 150, 5},         {60, 0, 2, 0, "60 120 -1 -1 -1", 120, 2},
        {60, 0, 0, 240, "60 120 180 240 -1", 240, 4},      {100, 0, 0, 0, "100 200 400 500 300", 500, 5},
        {60, 60, 0, 0, "60 120 180 240 300 +360", 360, 6}, // due just now: it is left to be picked
        {120, 60, 0, 0, "360 120 480 240 600", 600, 6},    // not an instant any more: the job is for another
        {60, 90, 0, 0, "60 120 180 240 300 +360", 360, 6}, // picking will judge whether it was missed
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct change_world world;
        begin(&world);
        world.plan.schedule.every_ms = rows[i].every_s * 1000;
        world.plan.schedule.ends_at = rows[i].ends_s ? at(rows[i].ends_s) : 0;
        world.plan.rules.max_runs = rows[i].max_runs;
        change(&world, at(rows[i].now_s));
        expect(&world, rows[i].expected);
        assert_int_equal(world.plan.plan.planned_through, at(rows[i].through_s));
        assert_int_equal(world.plan.plan.instants, rows[i].instants);
        plan_world_end(&world.plan);
    }
}

// Its instant may not be one of the new schedule. If it is, it is not planned once more.
static void a_job_in_hand_keeps_its_instant(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.planned[0].stays = world.planned[1].stays = true;
    world.plan.schedule.every_ms = 120 * 1000;
    change(&world, at(0));
    expect(&world, "60 120 360 240 480 +600 +720");
    assert_same_row(world.moved[1].row, world.planned[1]);
    plan_world_end(&world.plan);
}

// It was cancelled ahead of its time, which says nothing of the others.
static void a_job_that_was_cancelled_by_hand_is_not_made_again(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.planned[3].stays = world.planned[3].cancelled = true;
    change(&world, at(0));
    expect(&world, "60 120 180 240 300");
    assert_int_equal(world.plan.plan.planned_through, at(300));
    plan_world_end(&world.plan);
}

// By another clock the first four have run, and the fifth was skipped.
static void a_clock_that_is_behind_plans_nothing_again(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    for (int i = 0; i < 4; i++)
        world.planned[i].stays = true;
    world.count = 4;
    plan_skip(&world.plan.plan, &world.plan.schedule, (struct plan_skip){at(300), at(300), 1, PLAN_OVERLAP}, &world.plan.arena);
    change(&world, at(0));
    expect(&world, "60 120 180 240 +360 +420 +480 +540 +600");
    plan_world_expect_skips(&world.plan, "overlap 300-300 1");
    assert_int_equal(world.plan.plan.planned_through, at(600));
    assert_int_equal(world.plan.plan.instants, 10);
    plan_world_end(&world.plan);
}

static void another_jitter_moves_times_but_not_instants(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.plan.schedule.jitter_ms = 40000;
    change(&world, at(0));
    expect(&world, "60 120 180 240 300");
    for (size_t i = 0; i < world.count; i++)
        assert_int_equal(world.moved[i].row.due_at, schedule_due(&world.plan.schedule, world.planned[i].nominal_at));
    plan_world_end(&world.plan);
}

static void an_instant_whose_jittered_time_lies_ahead_is_not_lost_with_the_jitter(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.planned[0].due_at = at(100); // as an old jitter had it
    world.plan.rules.misfire = PLAN_MISFIRE_SKIP;
    change(&world, at(90));
    assert_true(world.moved[0].keeps);
    assert_int_equal(world.moved[0].row.due_at, at(90));
    struct plan_pick pick =
        plan_pick(&world.plan.plan, &world.plan.schedule, &world.plan.rules, 1, world.moved[0].row, at(91), &world.plan.arena);
    assert_int_equal(pick.verdict, PLAN_RUNS);
    plan_world_end(&world.plan);
}

static void a_plan_that_had_ended_goes_on(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.plan.plan.planned_through = world.plan.plan.check_at = TIME_NEVER;
    world.plan.plan.ended_with = at(300);
    world.count = 0;
    world.plan.rules.max_runs = 7;
    change(&world, at(1000));
    expect(&world, " +1020 +1080");
    assert_int_equal(world.plan.plan.ended_with, 0);
    assert_int_equal(world.plan.plan.check_at, at(1030));
    plan_world_end(&world.plan);
}

static void days_that_are_excluded_no_more_get_their_jobs(void **state)
{
    (void)state;
    struct exclude second_day;
    assert_true(exclude_read(STR("2026-01-02"), &second_day));
    struct change_world world;
    plan_world_begin(&world.plan, 6 * 3600);
    world.plan.schedule.excludes = &second_day;
    world.plan.schedule.exclude_count = 1;
    plan_world_extend(&world.plan, at(0));
    plan_world_expect_skips(&world.plan, "excluded 64800-129600 4");
    world.count = world.plan.rows.count;
    memcpy(world.planned, world.plan.rows.rows, sizeof world.planned);
    int64_t now_ms = at(64800); // one excluded instant has passed
    world.plan.schedule.exclude_count = 0;
    change(&world, now_ms);
    expect(&world, "21600 43200 151200 172800 86400 +108000 +129600");
    plan_world_expect_skips(&world.plan, "excluded 64800-64800 1");
    plan_world_end(&world.plan);
}

static void a_paused_plan_stays_paused_when_its_task_is_changed(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.plan.plan.paused_at = at(10);
    world.plan.schedule.every_ms = 120 * 1000;
    change(&world, at(1000));
    expect(&world, "-1 120 -1 240 -1");
    assert_int_equal(world.plan.plan.planned_through, at(300));
    assert_int_equal(world.plan.plan.check_at, TIME_NEVER);
    assert_int_equal(world.plan.plan.paused_at, at(10));
    plan_world_end(&world.plan);
}

// ---- resuming

// What a resume at 450 s wants to run does so, also when it is picked late.
static bool runs_late(const struct change_world *world, struct plan_row row)
{
    return row.due_at == at(450) && plan_pick_unread(&world->plan.schedule, &world->plan.rules, row, false, at(3000));
}

static void instants_of_a_pause_are_skipped_unless_the_resume_says_otherwise(void **state)
{
    (void)state;
    static const struct {
        enum plan_misfire missed;
        const char *expected, *skips;
    } rows[] = {
        {PLAN_MISFIRE_SKIP, "-1 -1 -1 -1 -1 +480 +540 +600 +660 +720", "paused 60-420 7"},
        {PLAN_MISFIRE_ONE, "-1 -1 -1 -1 -1 +420 +480 +540 +600 +660 +720", "paused 60-360 6"},
        {PLAN_MISFIRE_ALL, "60 120 180 240 300 +360 +420 +480 +540 +600 +660 +720", ""},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct change_world world;
        begin(&world);
        world.plan.rules.misfire = PLAN_MISFIRE_SKIP; // these two say what becomes of what is missed otherwise
        world.plan.rules.misfire_window_ms = 1000;
        world.plan.plan.paused_at = at(10);
        world.plan.plan.paused_note = STR("holidays");
        resume(&world, rows[i].missed, at(450));
        expect(&world, rows[i].expected);
        plan_world_expect_skips(&world.plan, rows[i].skips);
        assert_int_equal(world.plan.plan.paused_at, 0);
        assert_int_equal(world.plan.plan.paused_note.n, 0);
        for (size_t n = 0; n < world.count; n++)
            assert_true(!world.moved[n].keeps || runs_late(&world, world.moved[n].row));
        for (size_t n = 0; n < world.plan.rows.count && world.plan.rows.rows[n].nominal_at <= at(450); n++)
            assert_true(runs_late(&world, world.plan.rows.rows[n]));
        plan_world_end(&world.plan);
    }
}

static void what_lies_ahead_when_a_short_pause_ends_stays(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.plan.plan.paused_at = at(10);
    resume(&world, PLAN_MISFIRE_SKIP, at(130));
    expect(&world, "-1 -1 180 240 300 +360 +420");
    plan_world_expect_skips(&world.plan, "paused 60-120 2");
    assert_int_equal(world.plan.plan.check_at, at(190));
    plan_world_end(&world.plan);
}

static void a_resume_of_many_instants_takes_several_steps_and_is_paused_until_the_last(void **state)
{
    (void)state;
    struct change_world world;
    begin(&world);
    world.plan.plan.paused_at = at(10);
    size_t added = 0;
    int steps = 0;
    do {
        assert_int_equal(world.plan.plan.paused_at, at(10));
        resume(&world, PLAN_MISFIRE_ALL, at(60 * 1000 + 30));
        for (size_t i = 0; i < world.count; i++)
            assert_true(world.moved[i].keeps);
        added += world.plan.rows.count;
        steps++;
    } while (world.plan.rows.more);
    assert_int_equal(added, 995 + PLAN_AHEAD);
    assert_int_equal(steps, 11);
    assert_int_equal(world.plan.plan.paused_at, 0);
    plan_world_end(&world.plan);
}

// Of a pattern that the rules of its zone have moved by an hour, to where it is now.
static void a_run_whose_new_time_has_just_passed_is_told_from_others(void **state)
{
    (void)state;
    enum { HOUR = 3600 };
    static const char *const patterns[] = {"0 12 * * *", "0 12 1 * *", "0 12 1 1 *"}; // an hour behind the zero of 2026-01-01
    for (size_t i = 0; i < array_count(patterns); i++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        plan_world_cron(&world, patterns[i]);
        assert_true(plan_stands_for_passed(&world.schedule, at(2 * HOUR), at(HOUR + 1)));     // it was at 13:00
        assert_true(plan_stands_for_passed(&world.schedule, at(2 * HOUR), at(2 * HOUR - 1))); // …
        assert_false(plan_stands_for_passed(&world.schedule, at(2 * HOUR), at(HOUR - 1)));    // the new time is to come
        assert_false(plan_stands_for_passed(&world.schedule, at(0), at(-HOUR)));              // it was at 11:00
        plan_world_end(&world);
    }
}

static void a_run_of_the_next_day_does_not_stand_for_the_one_that_has_run(void **state)
{
    (void)state;
    enum { HOUR = 3600 };
    struct plan_world world;
    plan_world_begin(&world, 60);
    plan_world_cron(&world, "0 12 * * *");
    assert_false(plan_stands_for_passed(&world.schedule, at(24 * HOUR), at(HOUR + 1))); // it was at 11:00
    plan_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_the_same_schedule_nothing_moves),
        cmocka_unit_test(jobs_keep_shared_instants_and_the_others_get_those_that_are_missing),
        cmocka_unit_test(a_job_in_hand_keeps_its_instant),
        cmocka_unit_test(a_job_that_was_cancelled_by_hand_is_not_made_again),
        cmocka_unit_test(a_clock_that_is_behind_plans_nothing_again),
        cmocka_unit_test(another_jitter_moves_times_but_not_instants),
        cmocka_unit_test(an_instant_whose_jittered_time_lies_ahead_is_not_lost_with_the_jitter),
        cmocka_unit_test(a_plan_that_had_ended_goes_on),
        cmocka_unit_test(days_that_are_excluded_no_more_get_their_jobs),
        cmocka_unit_test(a_paused_plan_stays_paused_when_its_task_is_changed),
        cmocka_unit_test(instants_of_a_pause_are_skipped_unless_the_resume_says_otherwise),
        cmocka_unit_test(what_lies_ahead_when_a_short_pause_ends_stays),
        cmocka_unit_test(a_resume_of_many_instants_takes_several_steps_and_is_paused_until_the_last),
        cmocka_unit_test(a_run_whose_new_time_has_just_passed_is_told_from_others),
        cmocka_unit_test(a_run_of_the_next_day_does_not_stand_for_the_one_that_has_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
