#include "flow/commands/merge.h"

// Can its schedule be followed, if it recurs?
static enum err check_schedule(const struct merging *merging, const struct patched *patched, struct arena *arena,
                               struct problem *why)
{
    const struct store_task *stored = merging->task;
    struct schedule schedule;
    if (!task_recurs(&patched->task))
        return ERR_OK;
    if (!zones_schedule(merging->zones, &patched->task, stored->id, stored->created_at, arena, &schedule, why))
        return why->err;
    return patched->replanned ? recurrence_check_ahead(&patched->task, &schedule, merging->now_ms, why) : ERR_OK;
}

// A task is found by the name that it has reserved, so it keeps that name. A whole document is meant for the task that has the
// name, and another may have it by now.
static enum err check_name(const struct merging *merging, const struct patched *patched, struct problem *why)
{
    const struct plan *plan = merging->task->plan;
    struct str reserved = plan ? plan->reserved : (struct str){0};
    if ((!reserved.n && !merging->whole) || str_eq(reserved, patched->task.name))
        return ERR_OK;
    if (merging->whole)
        return problem_set(why, ERR_ILLEGAL_TRANSITION, NULL, "Another task has the name by now.");
    return problem_set(why, ERR_INVALID_FIELD, "/name",
                       "This task was declared by PUT under its name and keeps it: PUT another name, and delete this task.");
}

enum err merge_task(const struct merging *merging, struct patched *ret_patched, struct arena *arena, struct problem *why)
{
    enum err err = (merging->whole ? patch_replace : patch_task)(ret_patched, merging->task->doc, merging->patch, arena, why);
    if (!err)
        err = check_name(merging, ret_patched, why);
    if (!err)
        err = check_schedule(merging, ret_patched, arena, why);
    return why->err = err;
}
