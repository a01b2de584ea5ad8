// The skips of a plan: how they are written, which of them become one, and which are kept.
#include "plan_world.h"

static void add(struct plan_world *world, int64_t from_s, int64_t to_s, int64_t count, enum plan_reason reason)
{
    plan_skip(&world->plan, &world->schedule, (struct plan_skip){at(from_s), at(to_s), count, reason}, &world->arena);
}

static void skips_are_read_as_they_were_written(void **state)
{
    (void)state;
    struct plan_skip skips[PLAN_SKIPS_MAX], read[PLAN_SKIPS_MAX];
    buf_auto struct buf text = {0};
    for (int i = 0; i < PLAN_SKIPS_MAX; i++)
        skips[i] = (struct plan_skip){at(10 * i), at(10 * i + 5), i + 1, (enum plan_reason)(i % PLAN_REASON_COUNT)};
    plan_skips_write(skips, PLAN_SKIPS_MAX, &text);
    assert_int_equal(plan_skips_read(buf_str(&text), read), PLAN_SKIPS_MAX);
    for (int i = 0; i < PLAN_SKIPS_MAX; i++) {
        assert_int_equal(read[i].from, skips[i].from);
        assert_int_equal(read[i].to, skips[i].to);
        assert_int_equal(read[i].count, skips[i].count);
        assert_int_equal(read[i].reason, skips[i].reason);
    }
    buf_puts(&text, "misfire 1 1 1;");
    assert_int_equal(plan_skips_read(buf_str(&text), read), 0); // one too many
}

static void what_cannot_be_read_is_no_skip(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"", 0},
        {"misfire 1 2 3;", 1},
        {"misfire 1 2 3;paused 5 6 7;", 2},
        {"misfire 1 2;", 0},
        {"misfire 1 2 3 4;", 0},
        {"misfire 1 2 x;", 0},
        {"misfire 1  3;", 0},
        {"misfire -1 2 3;", 0},
        {"misfire 1 9999999999999999999 3;", 0},
        {"late 1 2 3;", 0},
        {"misfire 1 2 3;;", 0},
        {";", 0},
    };
    struct plan_skip read[PLAN_SKIPS_MAX];
    for (size_t i = 0; i < array_count(rows); i++) {
        if (plan_skips_read(str_of(rows[i].text), read) != rows[i].count)
            fail_msg("%s", rows[i].text);
    }
}

static void neighbours_of_one_reason_become_one(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    add(&world, 60, 60, 1, PLAN_MISFIRE);
    add(&world, 120, 180, 2, PLAN_MISFIRE);
    plan_world_expect_skips(&world, "misfire 60-180 3");
    add(&world, 240, 240, 1, PLAN_OVERLAP);
    add(&world, 300, 300, 1, PLAN_MISFIRE);
    add(&world, 420, 420, 1, PLAN_MISFIRE); // one ran in between
    plan_world_expect_skips(&world, "misfire 60-180 3, overlap 240-240 1, misfire 300-300 1, misfire 420-420 1");
    add(&world, 360, 360, 1, PLAN_MISFIRE); // it was picked late, and fills the gap
    plan_world_expect_skips(&world, "misfire 60-180 3, overlap 240-240 1, misfire 300-420 3");
    plan_world_end(&world);
}

static void what_is_skipped_already_is_not_skipped_again(void **state)
{
    (void)state;
    struct plan_world world;
    plan_world_begin(&world, 60);
    add(&world, 60, 300, 5, PLAN_MISFIRE);
    add(&world, 480, 480, 1, PLAN_MISFIRE);
    const char *text = world.plan.skips.p;
    add(&world, 480, 480, 1, PLAN_MISFIRE);
    add(&world, 120, 180, 2, PLAN_MISFIRE);
    plan_world_expect_skips(&world, "misfire 60-300 5, misfire 480-480 1");
    assert_ptr_equal(world.plan.skips.p, text);
    plan_world_end(&world);
}

static void the_latest_hundred_are_kept(void **state)
{
    (void)state;
    struct plan_world world;
    struct plan_skip read[PLAN_SKIPS_MAX];
    plan_world_begin(&world, 60);
    for (int64_t i = 1; i <= PLAN_SKIPS_MAX + 3; i++)
        add(&world, i * 120, i * 120, 1, PLAN_OVERLAP);
    add(&world, 60, 60, 1, PLAN_WINDOW); // older than all of them
    assert_int_equal(plan_skips_read(world.plan.skips, read), PLAN_SKIPS_MAX);
    assert_int_equal(read[0].from, at(4 * 120));
    assert_int_equal(read[PLAN_SKIPS_MAX - 1].from, at((PLAN_SKIPS_MAX + 3) * 120));
    add(&world, 4 * 120 + 60, 4 * 120 + 60, 1, PLAN_WINDOW); // behind the first, which goes
    assert_int_equal(plan_skips_read(world.plan.skips, read), PLAN_SKIPS_MAX);
    assert_int_equal(read[0].reason, PLAN_WINDOW);
    assert_int_equal(read[1].from, at(5 * 120));
    plan_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skips_are_read_as_they_were_written), cmocka_unit_test(what_cannot_be_read_is_no_skip),
        cmocka_unit_test(neighbours_of_one_reason_become_one), cmocka_unit_test(what_is_skipped_already_is_not_skipped_again),
        cmocka_unit_test(the_latest_hundred_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
