// Jobs that were removed behind rota's back: which instants are planned again for them.
#include "plan_world.h"

static struct plan_missing take(struct plan_world *world)
{
    struct plan_missing missing = {0};
    assert_true(plan_take_missing(&world->plan, &world->schedule, &world->arena, &missing));
    return missing;
}

static void assert_none(struct plan_world *world)
{
    struct plan_missing missing;
    assert_false(plan_take_missing(&world->plan, &world->schedule, &world->arena, &missing));
    assert_null(world->plan.missing.p);
}

// One a minute, planned at 0 s: 60 to 300. Jobs of these instants are missing; their ids are 1, 2, ….
static void begin(struct plan_world *world, const int64_t *seconds, size_t count)
{
    plan_world_begin(world, 60);
    plan_world_extend(world, at(0));
    char *text = arena_array(&world->arena, char, 64 * (count + 1));
    int n = 0;
    for (size_t i = 0; i < count; i++)
        n += snprintf(text + n, 64, "%zu %lld;", i + 1, (long long)at(seconds[i]));
    world->plan.missing = str_of(text);
}

static void each_missing_job_is_taken_once_with_its_instant(void **state)
{
    (void)state;
    struct plan_world world;
    begin(&world, (int64_t[]){120, 60}, 2);
    world.schedule.jitter_ms = 30000;
    for (int i = 0; i < 2; i++) {
        struct plan_missing missing = take(&world);
        assert_true(missing.owed);
        assert_int_equal(missing.job_id, i + 1);
        assert_int_equal(missing.row.nominal_at, at(i ? 60 : 120));
        assert_int_equal(missing.row.due_at, schedule_due(&world.schedule, at(i ? 60 : 120)));
    }
    assert_none(&world);
    plan_world_end(&world);
}

static void an_instant_that_the_schedule_does_not_have_is_not_owed(void **state)
{
    (void)state;
    struct plan_world world;
    begin(&world, (int64_t[]){61, 120}, 2);
    assert_false(take(&world).owed);
    assert_true(take(&world).owed);
    plan_world_end(&world);
}

static void a_missing_job_is_neither_active_nor_queued(void **state)
{
    (void)state;
    struct plan_world world;
    begin(&world, (int64_t[]){60, 120}, 2);
    world.plan.active = (int64_t[]){7, 1};
    world.plan.queued = (int64_t[]){2, 8};
    world.plan.active_count = world.plan.queued_count = 2;
    take(&world);
    take(&world);
    assert_true(world.plan.active_count == 1 && world.plan.active[0] == 7);
    assert_true(world.plan.queued_count == 1 && world.plan.queued[0] == 8);
    plan_world_end(&world);
}

static void what_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    struct plan_world world;
    begin(&world, NULL, 0);
    world.plan.missing = STR(";x;1;1 ;-1 2;1 99999999999999999999;9223372036854775807 1767265260000;1 2 3");
    struct plan_missing missing = take(&world);
    assert_true(missing.job_id == INT64_MAX && missing.row.nominal_at == at(60));
    assert_none(&world);
    plan_world_end(&world);
}

// The instants ahead are planned anew, those that have passed are not.
static void a_change_plans_missing_jobs_that_lie_ahead(void **state)
{
    (void)state;
    struct plan_world world;
    struct plan_moved moved[3];
    begin(&world, (int64_t[]){60, 180}, 2);
    struct plan_row left[] = {plan_world_row(&world, at(120)), plan_world_row(&world, at(240)), plan_world_row(&world, at(300))};
    plan_change(&world.plan, &world.schedule, &world.rules, left, array_count(left), at(90), &world.arena, moved, &world.rows);
    assert_int_equal(world.rows.count, 2); // and the fifth ahead, of 360 s
    assert_int_equal(world.rows.rows[0].nominal_at, at(180));
    assert_int_equal(world.plan.instants, 6);
    assert_int_equal(take(&world).row.nominal_at, at(60));
    assert_none(&world);
    plan_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_missing_job_is_taken_once_with_its_instant),
        cmocka_unit_test(an_instant_that_the_schedule_does_not_have_is_not_owed),
        cmocka_unit_test(a_missing_job_is_neither_active_nor_queued),
        cmocka_unit_test(what_cannot_be_read_is_passed_over),
        cmocka_unit_test(a_change_plans_missing_jobs_that_lie_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
