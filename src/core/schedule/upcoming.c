// The items of a list are a heap with the latest on top, so that it is at hand when an earlier one takes its place.
#include "core/schedule/upcoming.h"

#include <assert.h>

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int upcoming_compare(struct upcoming_place a, struct upcoming_place b)
{
    int order = compare_numbers(a.at_ms, b.at_ms);
    if (!order)
        order = compare_numbers(a.computed, b.computed);
    if (!order)
        order = compare_numbers(a.id, b.id);
    return order ? order : compare_numbers(a.nominal_at, b.nominal_at);
}

static bool is_later(const struct upcoming_item *a, const struct upcoming_item *b)
{
    return upcoming_compare(a->place, b->place) > 0;
}

static void swap(struct upcoming_item *a, struct upcoming_item *b)
{
    struct upcoming_item was = *a;
    *a = *b;
    *b = was;
}

static void rise(struct upcoming_item *items, size_t at)
{
    for (; at && is_later(&items[at], &items[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&items[at], &items[(at - 1) / 2]);
}

static void sink(struct upcoming_item *items, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_later(&items[child + 1], &items[child]))
            child++;
        if (!is_later(&items[child], &items[at]))
            return;
        swap(&items[at], &items[child]);
    }
}

void upcoming_offer(struct upcoming *list, struct upcoming_item item)
{
    assert(list->max);
    if (upcoming_compare(item.place, list->after) <= 0 || upcoming_compare(item.place, list->through) > 0)
        return;
    if (list->count < list->max) {
        list->items[list->count] = item;
        rise(list->items, list->count++);
    } else if (is_later(&list->items[0], &item)) {
        list->items[0] = item;
        sink(list->items, list->count, 0);
    }
}

int64_t upcoming_end(const struct upcoming *list)
{
    return list->count < list->max ? list->through.at_ms : list->items[0].place.at_ms;
}

void upcoming_sort(struct upcoming *list)
{
    for (size_t count = list->count; count > 1; count--) {
        swap(&list->items[0], &list->items[count - 1]);
        sink(list->items, count - 1, 0);
    }
}

// Is there a job of the same task and time? Jobs of one time lie before its computed instants.
static bool has_job(const struct upcoming_item *items, size_t at)
{
    const struct upcoming_item *computed = &items[at];
    while (at-- && items[at].place.at_ms == computed->place.at_ms)
        if (!items[at].place.computed && items[at].task->id == computed->task->id)
            return true;
    return false;
}

void upcoming_unite(struct upcoming *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count && upcoming_compare(list->items[i].place, list->through) <= 0; i++) {
        list->items[kept] = list->items[i];
        if (!list->items[kept].place.computed || !has_job(list->items, kept))
            kept++;
    }
    list->count = kept;
}

// Instants whose jobs are due before the list begins need not be gone through, unless max_runs counts them.
struct upcoming_walk upcoming_walk_begin(const struct upcoming *list, const struct schedule *schedule, const struct plan *plan,
                                         int64_t max_runs, const struct upcoming_task *task)
{
    struct upcoming_walk walk = {.schedule = schedule, .task = task, .after_ms = plan->planned_through, .left = INT64_MAX};
    if (!plan_owes(plan))
        walk.left = 0;
    else if (max_runs)
        walk.left = max_runs - plan->instants;
    else
        walk.after_ms = time_max(walk.after_ms, list->after.at_ms - schedule->jitter_ms - 1);
    return walk;
}

// An instant is never later than its job is due: so the walk ends with the first instant behind the end of the list.
bool upcoming_walk(struct upcoming_walk *walk, struct upcoming *list, int64_t *steps)
{
    while (walk->left > 0) {
        if (!*steps)
            return false;
        --*steps;
        struct schedule_instant next = schedule_next(walk->schedule, walk->after_ms);
        if (next.at_ms > upcoming_end(list))
            return true;
        walk->after_ms = next.excluded ? schedule_day_end(walk->schedule, next.at_ms) : next.at_ms;
        if (next.excluded)
            continue;
        walk->left--;
        struct upcoming_place place = {schedule_due(walk->schedule, next.at_ms), true, walk->task->id, next.at_ms};
        upcoming_offer(list, (struct upcoming_item){place, walk->task});
    }
    return true;
}
