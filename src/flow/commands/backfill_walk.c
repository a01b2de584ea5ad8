// A job of an instant is planned for the instant itself or for later: a job that was put off, repeated by hand, or added by
// another backfill may be far behind it. So the walk goes over all jobs of the task from the newest down to the beginning of the
// window.
#include "flow/commands/backfill_walk.h"

#include "flow/commands/match.h"

enum { PAGE_MAX = 1000 };

static enum err list_instants(struct backfill_walk *walk, const struct schedule *schedule, struct arena *arena,
                              struct problem *why)
{
    size_t count = backfill_list(schedule, &walk->backfill, NULL, BACKFILL_INSTANTS_MAX + 1);
    if (count > BACKFILL_INSTANTS_MAX)
        return problem_set(why, ERR_INVALID_FIELD, "/to",
                           "There are more than %d instants from from to to: ask for them in several backfills.",
                           BACKFILL_INSTANTS_MAX);
    walk->instants = arena_array(arena, struct backfill_instant, count + 1);
    walk->count = backfill_list(schedule, &walk->backfill, walk->instants, count);
    return ERR_OK;
}

enum err backfill_walk_begin(struct backfill_walk *walk, const struct store_task *stored, struct zones *zones,
                             struct arena *arena, struct problem *why)
{
    struct task task;
    struct schedule schedule;
    if (!stored->plan)
        return problem_set(why, ERR_INVALID_FIELD, "", "Only recurring tasks have instants that can be backfilled.");
    if (!match_read(stored, &task, arena))
        return problem_set(why, ERR_INTERNAL, "", "The document of the task cannot be read.");
    if (!zones_schedule(zones, &task, stored->id, stored->created_at, arena, &schedule, why))
        return why->err;
    walk->page = (struct store_list){.tenant = stored->tenant,
                                     .jobs = true,
                                     .task_id = stored->id,
                                     .before = {INT64_MAX, INT64_MAX},
                                     .max = PAGE_MAX,
                                     .look = PAGE_MAX,
                                     .bytes_max = MATCH_BYTES_MAX,
                                     .max_jobs = PAGE_MAX};
    return list_instants(walk, &schedule, arena, why);
}

static void leave_out_done(struct backfill_walk *walk)
{
    walk->added = 0;
    for (size_t i = 0; i < walk->count; i++) {
        struct backfill_instant *instant = &walk->instants[i];
        walk->added += (instant->marks & BACKFILL_SEEN_ADDED) != 0;
        if (instant->at_ms <= walk->after_ms)
            instant->marks |= BACKFILL_SEEN_ADDED;
    }
}

bool backfill_walk_take(struct backfill_walk *walk, const struct plan *plan, int64_t created_at)
{
    struct store_list *page = &walk->page;
    for (size_t i = 0; i < page->found_count; i++)
        backfill_note(walk->instants, walk->count, &page->found[i], walk->begun_ms);
    bool passed = page->found_count && page->found[page->found_count - 1].scheduled_at < walk->backfill.from_ms;
    page->before = page->next;
    if (walk->count && page->more && !passed)
        return true;
    leave_out_done(walk);
    walk->count = backfill_choose(&walk->backfill, plan, created_at, walk->instants, walk->count);
    return false;
}
