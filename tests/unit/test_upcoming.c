// What is coming: jobs and computed instants in one order, whatever the order they are offered in, page after page.
#include "base/mem.h"
#include "base/rand.h"
#include "core/schedule/upcoming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROOM = 2000, MINUTE = 60000, NOW = 1000 * MINUTE };

static const struct upcoming_place END = {INT64_MAX, true, INT64_MAX, INT64_MAX};

struct page {
    struct upcoming_item items[ROOM];
    struct upcoming list;
};

static void begin(struct page *page, struct upcoming_place after, int64_t until_ms, size_t max)
{
    page->list = (struct upcoming){.items = page->items, .max = max, .after = after, .through = END};
    page->list.through.at_ms = until_ms;
}

static struct upcoming_place from_now(void)
{
    return (struct upcoming_place){NOW, true, INT64_MAX, INT64_MAX};
}

static const struct upcoming_task task = {.id = 7};

static void offer(struct page *page, int64_t at_ms, bool computed, int64_t id)
{
    upcoming_offer(&page->list, (struct upcoming_item){{at_ms, computed, id, computed ? at_ms : 0}, &task});
}

// Goes through a schedule to its end, a few steps at a time.
static void follow(struct page *page, const struct schedule *schedule, const struct plan *plan, int64_t max_runs,
                   const struct upcoming_task *of)
{
    struct upcoming_walk walk = upcoming_walk_begin(&page->list, schedule, plan, max_runs, of);
    int64_t steps = 3;
    while (!upcoming_walk(&walk, &page->list, &steps)) {
        assert_int_equal(steps, 0);
        steps = 3;
    }
}

static struct schedule every(int64_t every_ms)
{
    return (struct schedule){.zone = &zone_utc, .every_ms = every_ms, .anchor_is_instant = true};
}

static void assert_times(const struct page *page, const int64_t *minutes, size_t count)
{
    assert_int_equal(page->list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(page->items[i].place.at_ms, NOW + minutes[i] * MINUTE);
}
#define EXPECT(page, ...) assert_times((page), (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void of_one_time_jobs_come_first_and_then_computed_instants(void **state)
{
    static struct page page;
    begin(&page, from_now(), NOW + 9, 10);
    offer(&page, NOW + 5, true, 1);
    offer(&page, NOW + 5, false, 9);
    offer(&page, NOW + 4, true, 8);
    offer(&page, NOW + 5, false, 3);
    upcoming_sort(&page.list);
    static const int64_t ids[] = {8, 3, 9, 1};
    assert_int_equal(page.list.count, array_count(ids));
    for (size_t i = 0; i < array_count(ids); i++)
        assert_int_equal(page.items[i].place.id, ids[i]);
}

static void only_the_earliest_in_the_window_are_kept(void **state)
{
    static struct page page;
    begin(&page, from_now(), NOW + 100, 3);
    assert_int_equal(upcoming_end(&page.list), NOW + 100);
    for (int64_t away = 120; away > -20; away -= 10)
        offer(&page, NOW + away, false, 1 + away + 20);
    assert_int_equal(upcoming_end(&page.list), NOW + 30);
    upcoming_sort(&page.list);
    assert_int_equal(page.list.count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(page.items[i].place.at_ms, NOW + 10 * (i + 1));
}

static void a_schedule_is_followed_from_where_its_plan_ends(void **state)
{
    static struct page page;
    struct schedule schedule = every(MINUTE);
    begin(&page, from_now(), NOW + 5 * MINUTE, 10);
    follow(&page, &schedule, &(struct plan){.planned_through = NOW + 2 * MINUTE}, 0, &task);
    upcoming_sort(&page.list);
    EXPECT(&page, 3, 4, 5);
    assert_true(page.items[0].place.computed && page.items[0].task == &task);
}

static void a_plan_that_is_behind_shows_nothing_of_the_past(void **state)
{
    static struct page page;
    struct schedule schedule = every(MINUTE);
    begin(&page, from_now(), NOW + 2 * MINUTE, 10);
    follow(&page, &schedule, &(struct plan){.planned_through = NOW - 500 * MINUTE}, 0, &task);
    upcoming_sort(&page.list);
    EXPECT(&page, 1, 2);
}

static void a_schedule_ends_with_ends_at_and_max_runs(void **state)
{
    static struct page page;
    struct schedule schedule = every(MINUTE);
    struct plan plan = {.planned_through = NOW + MINUTE, .instants = 7};
    begin(&page, from_now(), NOW + 50 * MINUTE, 10);
    follow(&page, &schedule, &plan, 9, &task);
    upcoming_sort(&page.list);
    EXPECT(&page, 2, 3);
    begin(&page, from_now(), NOW + 50 * MINUTE, 10);
    follow(&page, &schedule, &plan, 7, &task);
    assert_int_equal(page.list.count, 0);
    schedule.ends_at = NOW + 4 * MINUTE;
    follow(&page, &schedule, &plan, 0, &task);
    upcoming_sort(&page.list);
    EXPECT(&page, 2, 3, 4);
    begin(&page, from_now(), NOW + 50 * MINUTE, 10);
    follow(&page, &schedule, &(struct plan){.planned_through = TIME_NEVER}, 0, &task);
    assert_int_equal(page.list.count, 0);
}

// The runs before the page are not shown in it, but they are runs.
static void max_runs_counts_the_instants_of_earlier_pages(void **state)
{
    static struct page page;
    struct schedule schedule = every(MINUTE);
    begin(&page, (struct upcoming_place){NOW + 3 * MINUTE, true, task.id, NOW + 3 * MINUTE}, NOW + 50 * MINUTE, 10);
    follow(&page, &schedule, &(struct plan){.planned_through = NOW, .instants = 5}, 10, &task);
    upcoming_sort(&page.list);
    EXPECT(&page, 4, 5);
}

static void excluded_instants_are_not_coming(void **state)
{
    enum { DAY = 24 * 60 };
    static struct page page;
    struct schedule schedule = every(6LL * 3600 * 1000);
    struct exclude second_day = {.first = 2, .last = 2};
    schedule.excludes = &second_day;
    schedule.exclude_count = 1;
    begin(&page, from_now(), NOW + 3LL * DAY * MINUTE, 20);
    follow(&page, &schedule, &(struct plan){.planned_through = NOW}, 0, &task);
    upcoming_sort(&page.list);
    int64_t before = 2LL * DAY * MINUTE, after = 3LL * DAY * MINUTE;
    assert_int_equal(page.list.count, 8); // one on the first day, four on the next, three on the last
    for (size_t i = 0; i < page.list.count; i++)
        assert_true(page.items[i].place.at_ms < before || page.items[i].place.at_ms >= after);
}

static void an_instant_that_has_a_job_meanwhile_comes_once(void **state)
{
    static const struct upcoming_task other = {.id = 8};
    static struct page page;
    begin(&page, from_now(), NOW + 9, 10);
    offer(&page, NOW + 5, true, 7);
    offer(&page, NOW + 5, false, 3);
    upcoming_offer(&page.list, (struct upcoming_item){{NOW + 5, true, 8, NOW + 5}, &other});
    offer(&page, NOW + 6, true, 7);
    offer(&page, NOW + 8, false, 4);
    upcoming_sort(&page.list);
    page.list.through.at_ms = NOW + 7;
    upcoming_unite(&page.list);
    static const int64_t ids[] = {3, 8, 7};
    assert_int_equal(page.list.count, array_count(ids));
    for (size_t i = 0; i < array_count(ids); i++)
        assert_int_equal(page.items[i].place.id, ids[i]);
}

// ---- pages

enum { TASKS = 8, JOBS = 30, UNTIL = NOW + 60 * MINUTE };

struct world {
    struct schedule schedules[TASKS];
    struct plan plans[TASKS];
    int64_t max_runs[TASKS];
    struct upcoming_task tasks[TASKS];
    int64_t jobs[JOBS]; // when they are planned; the index is their id
};

// With much jitter on dense schedules, so that instants are due in another order than they have, and often at the same time.
static void make_world(struct world *world, struct rand *rand)
{
    for (int i = 0; i < TASKS; i++) {
        world->schedules[i] = every(1000 * (1 + (int64_t)rand_below(rand, 400)));
        world->schedules[i].jitter_ms = rand_below(rand, 2) ? (int64_t)rand_below(rand, 5 * MINUTE) : 0;
        world->schedules[i].hash = rand_below(rand, 1000);
        world->plans[i] = (struct plan){.planned_through = NOW + (int64_t)rand_below(rand, 20 * MINUTE)};
        world->max_runs[i] = rand_below(rand, 2) ? (int64_t)rand_below(rand, 20) : 0;
        world->tasks[i] = (struct upcoming_task){.id = 1 + i};
    }
    for (int i = 0; i < JOBS; i++)
        world->jobs[i] = NOW + 1000 * (int64_t)rand_below(rand, 5000);
}

static void fill(struct page *page, const struct world *world)
{
    for (int i = 0; i < JOBS; i++)
        offer(page, world->jobs[i], false, i);
    for (int i = 0; i < TASKS; i++)
        follow(page, &world->schedules[i], &world->plans[i], world->max_runs[i], &world->tasks[i]);
    upcoming_sort(&page->list);
}

// Every instant is offered here, whatever is kept so far.
static size_t count_by_hand(const struct world *world)
{
    size_t count = 0;
    for (int i = 0; i < JOBS; i++)
        count += world->jobs[i] > NOW && world->jobs[i] <= UNTIL;
    for (int i = 0; i < TASKS; i++) {
        int64_t at = world->plans[i].planned_through, left = world->max_runs[i] ? world->max_runs[i] : INT64_MAX;
        while (left-- && (at = schedule_next(&world->schedules[i], at).at_ms) <= UNTIL) {
            int64_t due = schedule_due(&world->schedules[i], at);
            count += due > NOW && due <= UNTIL;
        }
    }
    return count;
}

static void pages_neither_repeat_nor_leave_out_an_item(void **state)
{
    static struct page all, page;
    struct rand rand;
    rand_init(&rand, 20261118);
    for (int round = 0; round < 50; round++) {
        struct world world;
        make_world(&world, &rand);
        begin(&all, from_now(), UNTIL, ROOM);
        fill(&all, &world);
        assert_in_range(all.list.count, 1, ROOM - 1);
        assert_int_equal(all.list.count, count_by_hand(&world));
        size_t shown = 0, limit = 1 + rand_below(&rand, 40);
        for (struct upcoming_place after = from_now(); shown < all.list.count; after = page.items[page.list.count - 1].place) {
            begin(&page, after, UNTIL, limit);
            fill(&page, &world);
            assert_int_not_equal(page.list.count, 0);
            for (size_t i = 0; i < page.list.count; i++, shown++)
                assert_int_equal(upcoming_compare(page.items[i].place, all.items[shown].place), 0);
        }
        for (size_t i = 1; i < all.list.count; i++)
            assert_true(upcoming_compare(all.items[i - 1].place, all.items[i].place) < 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_one_time_jobs_come_first_and_then_computed_instants),
        cmocka_unit_test(only_the_earliest_in_the_window_are_kept),
        cmocka_unit_test(a_schedule_is_followed_from_where_its_plan_ends),
        cmocka_unit_test(a_plan_that_is_behind_shows_nothing_of_the_past),
        cmocka_unit_test(a_schedule_ends_with_ends_at_and_max_runs),
        cmocka_unit_test(max_runs_counts_the_instants_of_earlier_pages),
        cmocka_unit_test(excluded_instants_are_not_coming),
        cmocka_unit_test(an_instant_that_has_a_job_meanwhile_comes_once),
        cmocka_unit_test(pages_neither_repeat_nor_leave_out_an_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
