// The memory store's plans of recurring tasks: the verbs of store/plans.h, and what the other verbs do with a plan. They run
// under its lock.
#include "store/memory/memory.h"

#include <stdlib.h>

// ---- a plan that is the store's own

static const int64_t *copy_ids(const int64_t *ids, size_t count)
{
    if (!count)
        return NULL;
    int64_t *copy = mem_alloc(count * sizeof *copy);
    memcpy(copy, ids, count * sizeof *copy);
    return copy;
}

static struct plan *copy_plan(const struct plan *from)
{
    struct plan *plan = mem_zero(sizeof *plan);
    *plan = *from;
    plan->active = copy_ids(from->active, from->active_count);
    plan->queued = copy_ids(from->queued, from->queued_count);
    plan->skips = memory_copy(from->skips);
    plan->paused_note = memory_copy(from->paused_note);
    plan->paused_by = memory_copy(from->paused_by);
    plan->reserved = memory_copy(from->reserved);
    plan->missing = memory_copy(from->missing);
    return plan;
}

void memory_free_plan(struct plan *plan)
{
    if (!plan)
        return;
    mem_free((int64_t *)plan->active);
    mem_free((int64_t *)plan->queued);
    memory_free_str(&plan->skips);
    memory_free_str(&plan->paused_note);
    memory_free_str(&plan->paused_by);
    memory_free_str(&plan->reserved);
    memory_free_str(&plan->missing);
    mem_free(plan);
}

static const int64_t *give_ids(struct arena *arena, const int64_t *ids, size_t count)
{
    if (!count)
        return NULL;
    int64_t *given = arena_array(arena, int64_t, count);
    memcpy(given, ids, count * sizeof *ids);
    return given;
}

const struct plan *memory_give_plan(struct arena *arena, const struct plan *from)
{
    if (!from)
        return NULL;
    struct plan *plan = arena_array(arena, struct plan, 1);
    *plan = *from;
    plan->active = give_ids(arena, from->active, from->active_count);
    plan->queued = give_ids(arena, from->queued, from->queued_count);
    plan->skips = memory_give(arena, from->skips);
    plan->paused_note = memory_give(arena, from->paused_note);
    plan->paused_by = memory_give(arena, from->paused_by);
    plan->reserved = memory_give(arena, from->reserved);
    plan->missing = memory_give(arena, from->missing);
    return plan;
}

// ---- writing

void memory_add_plan(struct memory_task *task, const struct plan *from)
{
    task->plan = copy_plan(from);
    task->plan->task_id = task->task.id;
    task->plan->tenant = task->task.tenant;
    task->plan->version = task->task.version;
}

void memory_note_plan(struct memory *memory, struct memory_task *task)
{
    if (task->plan)
        map_put(&memory->recurring, task->task.id, task);
    else
        map_remove(&memory->recurring, task->task.id);
}

void memory_write_plan(struct memory_task *task, const struct plan *as)
{
    struct plan *was = task->plan;
    task->plan = NULL;
    if (as) {
        memory_add_plan(task, as);
        task->plan->revision++;
        memory_free_str(&task->plan->reserved); // only an ADD reserves a name
    }
    if (as && was) {
        task->plan->success = was->success;
        task->plan->failed = was->failed;
        task->plan->cancelled = was->cancelled;
        task->plan->failures_in_row = was->failures_in_row;
        task->plan->last_at = was->last_at;
        task->plan->reserved = memory_copy(was->reserved);
    }
    memory_free_plan(was);
}

struct memory_task *memory_find_reserved(const struct memory *memory, int32_t tenant, struct str name)
{
    struct memory_task *task;
    int64_t id;
    for (size_t at = 0; (task = map_next(&memory->tasks, &at, &id));)
        if (task->plan && task->task.tenant == tenant && str_eq(task->plan->reserved, name))
            return task;
    return NULL;
}

static size_t remove_id(const int64_t *ids, size_t count, int64_t id)
{
    int64_t *own = (int64_t *)ids; // the store's
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (own[i] != id)
            own[left++] = own[i];
    return left;
}

void memory_count_job(const struct memory_job *job)
{
    struct plan *plan = job->task->plan;
    enum job_state state = (enum job_state)job->job.state;
    if (!plan)
        return;
    plan->revision++;
    plan->active_count = remove_id(plan->active, plan->active_count, job->job.id);
    plan->queued_count = remove_id(plan->queued, plan->queued_count, job->job.id);
    if (state == JOB_CANCELLED) {
        plan->cancelled++;
        return;
    }
    plan->success += state == JOB_SUCCESS;
    plan->failed += state != JOB_SUCCESS;
    if (job->job.trigger == TRIGGER_SCHEDULE)
        plan->failures_in_row = state == JOB_SUCCESS ? 0 : plan->failures_in_row + 1;
    plan->last_at = time_max(plan->last_at, job->job.completed_at);
}

static enum err plan_item(struct memory *memory, const struct store_planned *item)
{
    const struct plan *as = item->plan;
    struct memory_task *task = map_get(&memory->tasks, as->task_id);
    struct plan *is = task ? task->plan : NULL;
    if (!is)
        return ERR_NOT_FOUND;
    if (is->version != as->version || is->planned_through != item->from ||
        (item->unread ? is->missing.n > 0 : is->revision != as->revision))
        return ERR_MOVED_ON;
    if (!memory_ids_are_free(memory, item->jobs, item->job_count))
        return ERR_INTERNAL;
    if (!item->unread) {
        memory_write_plan(task, as);
    } else {
        is->revision++;
        is->planned_through = as->planned_through;
        is->instants += as->instants;
        is->check_at = is->check_at < item->check_before ? as->check_at : is->check_at;
    }
    memory_add_jobs(memory, task, item->jobs, item->job_count);
    return ERR_OK;
}

void memory_run_plan(struct memory *memory, struct store_op *op)
{
    struct store_plan *plan = container_of(op, struct store_plan, op);
    if (plan->holder && memory_is_fenced(memory, plan->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < plan->count; i++)
        plan->items[i].err = plan_item(memory, &plan->items[i]);
}

// ---- reading

static bool is_asked_for(const struct store_plans *plans, const struct plan *plan)
{
    if (plans->owing)
        return plan_owes(plan) && plan->task_id > plans->after_id;
    if (!plans->ids)
        return plan->check_at <= plans->now_ms && plan->check_at < TIME_NEVER;
    for (size_t i = 0; i < plans->id_count; i++)
        if (plans->ids[i] == plan->task_id)
            return true;
    return false;
}

static int compare_ids(const void *a, const void *b)
{
    const struct memory_task *const *left = a, *const *right = b;
    return compare_ints((*left)->task.id, (*right)->task.id);
}

static int compare_checks(const void *a, const void *b)
{
    const struct memory_task *const *left = a, *const *right = b;
    int order = compare_ints((*left)->plan->check_at, (*right)->plan->check_at);
    return order ? order : compare_ids(a, b);
}

void memory_run_plans(struct memory *memory, struct store_op *op)
{
    struct store_plans *plans = container_of(op, struct store_plans, op);
    struct memory_task **found = mem_zero((memory->recurring.count + 1) * sizeof *found), *task;
    size_t count = 0;
    int64_t id;
    for (size_t at = 0; (task = map_next(&memory->recurring, &at, &id));)
        if (is_asked_for(plans, task->plan))
            found[count++] = task;
    qsort(found, count, sizeof(struct memory_task *), plans->ids || plans->owing ? compare_ids : compare_checks);
    for (size_t i = 0; i < count && (plans->ids || i < plans->max); i++) {
        plans->tasks = store_push(&op->arena, plans->tasks, i, sizeof *plans->tasks);
        plans->tasks[i] = memory_give_task(&op->arena, found[i]);
        plans->count = i + 1;
    }
    mem_free(found);
}
