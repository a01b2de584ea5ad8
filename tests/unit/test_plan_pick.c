// What docs and issue say of missed instants and of jobs that overlap, sentence by sentence: each row is one.
#include "plan_world.h"

// ---- missed

static void an_instant_is_missed_five_seconds_after_its_time_or_when_the_next_is_due(void **state)
{
    (void)state;
    static const struct {
        const char *sentence;
        int64_t every_s, picked_s; // the instant of the first `every`
        bool missed;
    } rows[] = {
        {"on time", 60, 60, false},
        {"five seconds late is in time", 60, 65, false},
        {"more than five seconds late is missed", 60, 66, true},
        {"however late, until the next one", 3600, 3606, true},
        {"the next instant is not due", 2, 3, false},
        {"the next instant is due, although it is less than five seconds late", 2, 4, true},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct plan_world world;
        plan_world_begin(&world, rows[i].every_s);
        world.rules.misfire = PLAN_MISFIRE_SKIP;
        struct plan_pick pick = plan_world_pick(&world, 1, at(rows[i].every_s), at(rows[i].picked_s));
        if (pick.verdict != (rows[i].missed ? PLAN_SKIPPED : PLAN_RUNS))
            fail_msg("%s", rows[i].sentence);
        struct plan_row row = plan_world_row(&world, at(rows[i].every_s));
        assert_int_equal(plan_pick_unread(&world.schedule, &world.rules, row, true, at(rows[i].picked_s)), !rows[i].missed);
        plan_world_end(&world);
    }
}

static void lateness_counts_from_the_jittered_time(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 3600);
    world.rules.misfire = PLAN_MISFIRE_SKIP;
    world.schedule.jitter_ms = 1800 * 1000;
    int64_t due_at = schedule_due(&world.schedule, at(3600));
    assert_true(due_at > at(3600) + PLAN_LATE_MS);
    assert_int_equal(plan_world_pick(&world, 1, at(3600), due_at + PLAN_LATE_MS).verdict, PLAN_RUNS);
    assert_int_equal(plan_world_pick(&world, 1, at(3600), due_at + PLAN_LATE_MS + 1).verdict, PLAN_SKIPPED);
    plan_world_end(&world);
}

static void an_excluded_instant_is_not_the_next_one(void **state)
{
    (void)state;
    struct exclude second_day;
    assert_true(exclude_read(STR("2026-01-02"), &second_day));
    struct plan_world world;
    plan_world_begin(&world, 13 * 3600 - 2); // 23:59:58, and two seconds later the excluded day begins
    plan_world_cron(&world, "*/2 * * * * *");
    world.rules.misfire = PLAN_MISFIRE_SKIP;
    int64_t last = at(13 * 3600 - 2);
    assert_int_equal(plan_world_pick(&world, 1, last, last + 3000).verdict, PLAN_SKIPPED);
    world.plan.skips = (struct str){0};
    world.schedule.excludes = &second_day;
    world.schedule.exclude_count = 1;
    assert_int_equal(plan_world_pick(&world, 1, last, last + 3000).verdict, PLAN_RUNS);
    plan_world_end(&world);
}

// Three instants of one a minute were planned, and nothing was picked before 200 s.
static void misfire_runs_none_of_the_missed_or_the_latest_or_each(void **state)
{
    (void)state;
    static const struct {
        enum plan_misfire misfire;
        int64_t window_ms;
        enum plan_verdict verdicts[3];
        const char *skips;
    } rows[] = {
        {PLAN_MISFIRE_SKIP, -1, {PLAN_SKIPPED, PLAN_SKIPPED, PLAN_SKIPPED}, "misfire 60-180 3"},
        {PLAN_MISFIRE_ONE, -1, {PLAN_SKIPPED, PLAN_SKIPPED, PLAN_RUNS}, "misfire 60-120 2"},
        {PLAN_MISFIRE_ALL, -1, {PLAN_RUNS, PLAN_RUNS, PLAN_RUNS}, ""},
        {PLAN_MISFIRE_ALL, 80000, {PLAN_SKIPPED, PLAN_RUNS, PLAN_RUNS}, "window 60-60 1"},
        {PLAN_MISFIRE_ONE, 80000, {PLAN_SKIPPED, PLAN_SKIPPED, PLAN_RUNS}, "window 60-60 1, misfire 120-120 1"},
        {PLAN_MISFIRE_ONE, 10000, {PLAN_SKIPPED, PLAN_SKIPPED, PLAN_SKIPPED}, "window 60-180 3"},
        {PLAN_MISFIRE_SKIP, 80000, {PLAN_SKIPPED, PLAN_SKIPPED, PLAN_SKIPPED}, "window 60-60 1, misfire 120-180 2"},
    };
    for (size_t i = 0; i < array_count(rows) * 2; i++) {
        struct plan_world world;
        plan_world_begin(&world, 60);
        world.rules.misfire = rows[i / 2].misfire;
        world.rules.misfire_window_ms = rows[i / 2].window_ms;
        for (int64_t n = 0; n < 3; n++) {
            int64_t instant = i % 2 ? 2 - n : n; // in which order they are picked makes no difference
            struct plan_row row = plan_world_row(&world, at(60 * (instant + 1)));
            bool runs = plan_pick_unread(&world.schedule, &world.rules, row, true, at(200));
            struct plan_pick pick = plan_world_pick(&world, 1 + instant, row.nominal_at, at(200));
            assert_int_equal(pick.verdict, rows[i / 2].verdicts[instant]);
            assert_int_equal(runs, pick.verdict == PLAN_RUNS);
        }
        plan_world_expect_skips(&world, rows[i / 2].skips);
        plan_world_end(&world);
    }
}

static void a_missed_job_that_was_picked_before_is_picked_by_its_plan(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.rules.misfire = PLAN_MISFIRE_ALL;
    struct plan_row row = plan_world_row(&world, at(60));
    assert_true(plan_pick_unread(&world.schedule, &world.rules, row, true, at(100)));
    assert_false(plan_pick_unread(&world.schedule, &world.rules, row, false, at(100)));
    world.rules.max_runs = 1; // then the plan says which instant is the last
    assert_false(plan_pick_unread(&world.schedule, &world.rules, row, true, at(100)));
    plan_world_end(&world);
}

static void the_window_takes_only_what_was_missed(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.rules.misfire_window_ms = 0;
    assert_int_equal(plan_world_pick(&world, 1, at(60), at(64)).verdict, PLAN_RUNS);
    struct plan_pick pick = plan_world_pick(&world, 1, at(60), at(66));
    assert_int_equal(pick.verdict, PLAN_SKIPPED);
    assert_int_equal(pick.reason, PLAN_WINDOW);
    plan_world_end(&world);
}

static void a_job_that_was_put_off_is_never_missed(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.rules.misfire = PLAN_MISFIRE_SKIP;
    struct plan_row row = {at(60), at(1000)};
    assert_true(plan_pick_unread(&world.schedule, &world.rules, row, false, at(2000)));
    struct plan_pick pick = plan_pick(&world.plan, &world.schedule, &world.rules, 1, row, at(2000), &world.arena);
    assert_int_equal(pick.verdict, PLAN_RUNS);
    plan_world_end(&world);
}

// ---- overlap

static void end_job(struct plan *plan, int64_t job_id) // as a store does
{
    static int64_t left[2][2 * PLAN_ACTIVE_MAX];
    size_t active = 0, waiting = 0;
    for (size_t i = 0; i < plan->active_count; i++) {
        if (plan->active[i] != job_id)
            left[0][active++] = plan->active[i];
    }
    for (size_t i = 0; i < plan->queued_count; i++) {
        if (plan->queued[i] != job_id)
            left[1][waiting++] = plan->queued[i];
    }
    plan->active = left[0];
    plan->queued = left[1];
    plan->active_count = active;
    plan->queued_count = waiting;
}

// Job n belongs to the instant of n minutes, and is picked then.
static struct plan_pick pick_on_time(struct plan_world *world, int64_t n)
{
    return plan_world_pick(world, n, at(60 * n), at(60 * n));
}

static void overlap_world(struct plan_world *world, enum plan_overlap overlap, int max_active)
{
    plan_world_begin(world, 60);
    world->rules.overlap = overlap;
    world->rules.max_active = max_active;
}

static void allow_counts_nobody(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_ALLOW, 1);
    for (int64_t n = 1; n < 10; n++)
        assert_int_equal(pick_on_time(&world, n).verdict, PLAN_RUNS);
    assert_int_equal(world.plan.active_count, 0);
    plan_world_end(&world);
}

static void skip_skips_what_is_one_too_many(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_SKIP, 2);
    assert_int_equal(pick_on_time(&world, 1).verdict, PLAN_RUNS);
    assert_int_equal(pick_on_time(&world, 2).verdict, PLAN_RUNS);
    struct plan_pick third = pick_on_time(&world, 3);
    assert_int_equal(third.verdict, PLAN_SKIPPED);
    assert_int_equal(third.reason, PLAN_OVERLAP);
    assert_int_equal(pick_on_time(&world, 4).verdict, PLAN_SKIPPED);
    end_job(&world.plan, 1);
    assert_int_equal(pick_on_time(&world, 5).verdict, PLAN_RUNS);
    assert_int_equal(world.plan.active_count, 2);
    plan_world_expect_skips(&world, "overlap 180-240 2");
    plan_world_end(&world);
}

static void who_was_picked_before_runs_and_is_counted_once(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_SKIP, 1);
    assert_int_equal(pick_on_time(&world, 1).verdict, PLAN_RUNS);
    assert_int_equal(plan_world_pick(&world, 1, at(60), at(5000)).verdict, PLAN_RUNS);
    assert_int_equal(world.plan.active_count, 1);
    plan_world_end(&world);
}

static void queue_lets_them_wait_in_their_order_and_waiting_is_not_lateness(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_QUEUE, 1);
    world.rules.misfire = PLAN_MISFIRE_SKIP;
    assert_int_equal(pick_on_time(&world, 1).verdict, PLAN_RUNS);
    assert_int_equal(pick_on_time(&world, 2).verdict, PLAN_QUEUED);
    assert_int_equal(pick_on_time(&world, 3).verdict, PLAN_QUEUED);
    assert_int_equal(pick_on_time(&world, 2).verdict, PLAN_QUEUED); // again: it still waits, once
    assert_int_equal(world.plan.queued_count, 2);
    assert_int_equal(plan_next_queued(&world.plan, &world.rules), 0);
    end_job(&world.plan, 1);
    assert_int_equal(plan_next_queued(&world.plan, &world.rules), 2);
    assert_int_equal(plan_world_pick(&world, 3, at(180), at(5000)).verdict, PLAN_QUEUED); // it does not overtake
    assert_int_equal(pick_on_time(&world, 4).verdict, PLAN_QUEUED);                       // nor does a new one
    assert_int_equal(plan_world_pick(&world, 2, at(120), at(5000)).verdict, PLAN_RUNS);
    assert_int_equal(world.plan.active[0], 2);
    assert_int_equal(world.plan.queued_count, 2);
    assert_int_equal(world.plan.queued[0], 3);
    plan_world_expect_skips(&world, "");
    plan_world_end(&world);
}

static void a_hundred_wait_and_the_next_is_skipped(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_QUEUE, 1);
    for (int64_t n = 1; n <= 1 + PLAN_QUEUED_MAX; n++)
        assert_int_equal(pick_on_time(&world, n).verdict, n == 1 ? PLAN_RUNS : PLAN_QUEUED);
    struct plan_pick pick = pick_on_time(&world, 2 + PLAN_QUEUED_MAX);
    assert_int_equal(pick.verdict, PLAN_SKIPPED);
    assert_int_equal(pick.reason, PLAN_OVERLAP);
    plan_world_end(&world);
}

static void what_waits_runs_when_overlap_is_allowed_meanwhile(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_QUEUE, 1);
    for (int64_t n = 1; n <= 3; n++)
        pick_on_time(&world, n);
    world.rules.overlap = PLAN_OVERLAP_ALLOW;
    assert_int_equal(plan_next_queued(&world.plan, &world.rules), 2);
    assert_int_equal(plan_world_pick(&world, 3, at(180), at(5000)).verdict, PLAN_RUNS);
    assert_int_equal(plan_world_pick(&world, 2, at(120), at(5000)).verdict, PLAN_RUNS);
    assert_int_equal(world.plan.queued_count, 0);
    plan_world_end(&world);
}

static void cancel_cancels_the_oldest_that_is_not_cancelled_yet(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_CANCEL, 2);
    static const int64_t cancels[] = {0, 0, 1, 2, 3};
    for (int64_t n = 1; n <= 5; n++) {
        struct plan_pick pick = pick_on_time(&world, n);
        assert_int_equal(pick.verdict, PLAN_RUNS);
        assert_int_equal(pick.cancels, cancels[n - 1]);
    }
    assert_int_equal(world.plan.active_count, 5);         // those that are cancelled have not ended
    assert_int_equal(pick_on_time(&world, 4).cancels, 2); // again: who decided it may not have lived to do it
    end_job(&world.plan, 2);
    end_job(&world.plan, 1);
    end_job(&world.plan, 3);
    assert_int_equal(pick_on_time(&world, 4).cancels, 0);
    assert_int_equal(pick_on_time(&world, 6).cancels, 4);
    plan_world_end(&world);
}

static void jobs_that_never_end_do_not_make_a_plan_grow_for_ever(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_CANCEL, 1);
    int64_t n = 1;
    while (n < 1000 && pick_on_time(&world, n).verdict == PLAN_RUNS)
        n++;
    assert_int_equal(n, 2 * PLAN_ACTIVE_MAX + 1);
    plan_world_expect_skips(&world, "overlap 12060-12060 1");
    plan_world_end(&world);
}

static void a_missed_job_takes_no_place(void **state)
{
    (void)state;
    struct plan_world world;
    overlap_world(&world, PLAN_OVERLAP_QUEUE, 1);
    assert_int_equal(plan_world_pick(&world, 1, at(60), at(1000)).reason, PLAN_MISFIRE);
    assert_int_equal(world.plan.active_count + world.plan.queued_count, 0);
    plan_world_end(&world);
}

// The skip was written, and whoever wrote it did not live to cancel the job.
static void what_was_skipped_is_skipped_again_though_there_is_room_by_now(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.rules.overlap = PLAN_OVERLAP_SKIP;
    assert_int_equal(plan_world_pick(&world, 1, at(60), at(60)).verdict, PLAN_RUNS);
    assert_int_equal(plan_world_pick(&world, 2, at(120), at(120)).verdict, PLAN_SKIPPED);
    world.plan.active_count = 0;
    struct str skips = world.plan.skips;
    struct plan_pick again = plan_world_pick(&world, 2, at(120), at(121));
    assert_int_equal(again.verdict, PLAN_SKIPPED);
    assert_int_equal(again.reason, PLAN_OVERLAP);
    assert_true(str_eq(world.plan.skips, skips));
    assert_int_equal(world.plan.active_count, 0);
    plan_world_end(&world);
}

// Whoever was to let the queued job go may have died, and no other job of the task follows that would be looked at.
static void a_plan_with_a_queue_is_looked_after_when_its_schedule_is_over(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    world.rules.overlap = PLAN_OVERLAP_QUEUE;
    world.rules.max_runs = 2;
    plan_world_extend(&world, at(0));
    plan_world_pick(&world, 1, at(60), at(60));
    assert_int_equal(plan_world_pick(&world, 2, at(120), at(120)).verdict, PLAN_QUEUED);
    plan_world_extend(&world, at(120));
    assert_int_equal(world.plan.planned_through, TIME_NEVER);
    assert_int_equal(world.plan.check_at, at(120) + PLAN_CHECK_MS);
    plan_world_extend(&world, at(125)); // not put off by every look
    assert_int_equal(world.plan.check_at, at(120) + PLAN_CHECK_MS);
    plan_world_extend(&world, at(140));
    assert_int_equal(world.plan.check_at, at(140) + PLAN_CHECK_MS);
    world.plan.queued_count = 0;
    plan_world_extend(&world, at(150));
    assert_int_equal(world.plan.check_at, TIME_NEVER);
    plan_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_instant_is_missed_five_seconds_after_its_time_or_when_the_next_is_due),
        cmocka_unit_test(lateness_counts_from_the_jittered_time),
        cmocka_unit_test(an_excluded_instant_is_not_the_next_one),
        cmocka_unit_test(misfire_runs_none_of_the_missed_or_the_latest_or_each),
        cmocka_unit_test(a_missed_job_that_was_picked_before_is_picked_by_its_plan),
        cmocka_unit_test(the_window_takes_only_what_was_missed),
        cmocka_unit_test(a_job_that_was_put_off_is_never_missed),
        cmocka_unit_test(allow_counts_nobody),
        cmocka_unit_test(skip_skips_what_is_one_too_many),
        cmocka_unit_test(who_was_picked_before_runs_and_is_counted_once),
        cmocka_unit_test(queue_lets_them_wait_in_their_order_and_waiting_is_not_lateness),
        cmocka_unit_test(a_hundred_wait_and_the_next_is_skipped),
        cmocka_unit_test(what_waits_runs_when_overlap_is_allowed_meanwhile),
        cmocka_unit_test(cancel_cancels_the_oldest_that_is_not_cancelled_yet),
        cmocka_unit_test(jobs_that_never_end_do_not_make_a_plan_grow_for_ever),
        cmocka_unit_test(a_missed_job_takes_no_place),
        cmocka_unit_test(what_was_skipped_is_skipped_again_though_there_is_room_by_now),
        cmocka_unit_test(a_plan_with_a_queue_is_looked_after_when_its_schedule_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
