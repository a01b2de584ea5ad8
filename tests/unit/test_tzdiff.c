// Which planned runs of a schedule another tzdata moves.
#include "cli/tzdiff.h"

#include "base/arena.h"
#include "base/mem.h"
#include "core/task/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { HOUR = 3600000 };
static const int64_t NOW = INT64_C(1767225600000); // 2026-01-01T00:00:00Z

// Moves of runs that were planned so many hours after NOW, by a schedule in UTC. Rows end with {0, 0}.
static void expect(const char *doc, const int64_t *planned_h, size_t count, const struct tzdiff_move *hours)
{
    struct tzdiff_move moves[TZDIFF_MAX];
    int64_t planned[TZDIFF_MAX];
    struct task task;
    struct schedule schedule;
    struct problem problem = {0};
    struct arena arena;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    assert_true(task_read(&task, str_of(doc), &arena, why));
    assert_int_equal(task_schedule(&task, 1, NOW, &zone_utc, &arena, &schedule, &problem), ERR_OK);
    for (size_t i = 0; i < count; i++)
        planned[i] = NOW + planned_h[i] * HOUR;
    size_t found = tzdiff_moves(&schedule, planned, count, NOW, moves);
    for (size_t i = 0; i < found; i++) {
        assert_int_equal(moves[i].from, NOW + hours[i].from * HOUR);
        assert_int_equal(moves[i].to, hours[i].to ? NOW + hours[i].to * HOUR : 0);
    }
    assert_true(!hours[found].from);
    arena_done(&arena);
}

static const char daily[] = "{\"url\":\"http://h/\",\"cron\":\"0 12 * * *\"}";

static void runs_that_stay_are_left_out(void **state)
{
    (void)state;
    expect(daily, (const int64_t[]){12, 36, 60}, 3, (const struct tzdiff_move[]){{0, 0}});
    expect(daily, NULL, 0, (const struct tzdiff_move[]){{0, 0}});
}

static void all_runs_move_with_the_offset(void **state)
{
    (void)state;
    expect(daily, (const int64_t[]){11, 35}, 2, (const struct tzdiff_move[]){{11, 12}, {35, 36}, {0, 0}});
    expect(daily, (const int64_t[]){13, 37}, 2, (const struct tzdiff_move[]){{13, 12}, {37, 36}, {0, 0}});
}

static void only_those_behind_a_new_change_of_the_clock_move(void **state)
{
    (void)state;
    expect(daily, (const int64_t[]){12, 36, 59, 83}, 4, (const struct tzdiff_move[]){{59, 60}, {83, 84}, {0, 0}});
}

static void a_run_for_which_nothing_is_left_goes_nowhere(void **state)
{
    (void)state;
    expect("{\"url\":\"http://h/\",\"cron\":\"0 12 * * *\",\"ends_at\":\"2026-01-01T18:00:00Z\"}", (const int64_t[]){11, 35}, 2,
           (const struct tzdiff_move[]){{11, 12}, {35, 0}, {0, 0}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_that_stay_are_left_out),
        cmocka_unit_test(all_runs_move_with_the_offset),
        cmocka_unit_test(only_those_behind_a_new_change_of_the_clock_move),
        cmocka_unit_test(a_run_for_which_nothing_is_left_goes_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
