// See plans_support.h.
#include "plans_support.h"

struct job job_at(struct world *world, int64_t task_id, int64_t nominal_at)
{
    struct job job = {.id = ++world->last_id, .task_id = task_id, .tenant = TENANT, .token = 1, .priority = 5};
    job.state = nominal_at > NOW ? JOB_DELAYED : JOB_READY;
    job.scheduled_at = job.ready_at = job.due_at = job.nominal_at = nominal_at;
    job.trigger = TRIGGER_SCHEDULE;
    return job;
}

struct plan plan_new(void)
{
    return (struct plan){.planned_through = NOW + MINUTE, .instants = AHEAD, .check_at = NOW + 2 * MINUTE};
}

struct store_new *try_add_recurring(struct world *world, struct sample sample, struct plan plan, size_t job_count)
{
    struct {
        struct store_task task;
        struct job first;
        struct store_new item;
        struct sample sample;
        struct plan plan;
        struct job jobs[AHEAD];
    } *made = world_mem(world, sizeof *made);
    made->sample = sample;
    sample_fill(world, &made->sample, &made->task, &made->first, &made->item);
    made->plan = plan;
    made->plan.task_id = made->task.id;
    made->plan.tenant = made->task.tenant;
    made->task.plan = &made->plan;
    for (size_t i = 0; i < job_count; i++) {
        made->jobs[i] = job_at(world, made->task.id, NOW + (int64_t)i * MINUTE);
        made->jobs[i].tenant = made->task.tenant;
    }
    made->item.jobs = made->jobs;
    made->item.job_count = job_count;
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return &made->item;
}

int64_t add_recurring(struct world *world, struct plan plan, size_t job_count)
{
    struct store_new *item = try_add_recurring(world, (struct sample){0}, plan, job_count);
    assert_int_equal(item->err, ERR_OK);
    return item->task->id;
}

int64_t add_usual(struct world *world)
{
    return add_recurring(world, plan_new(), AHEAD);
}

struct plan plan_now(struct world *world, int64_t id)
{
    struct store_get *get = get_task(world, id);
    assert_int_equal(get->op.err, ERR_OK);
    assert_non_null(get->task.plan);
    return *get->task.plan;
}

int64_t job_of(struct world *world, int64_t task_id, int64_t nominal_at)
{
    struct store_get *get = get_task(world, task_id);
    int64_t found = 0;
    for (size_t i = 0; i < get->job_count; i++)
        if (get->jobs[i].nominal_at == nominal_at) {
            assert_int_equal(found, 0); // no instant has two
            found = get->jobs[i].id;
        }
    assert_int_not_equal(found, 0);
    return found;
}

struct store_plan *submit_plans(struct world *world, const struct store_planned *items, size_t count)
{
    struct store_plan *op = OP(world, store_plan, STORE_PLAN);
    op->holder = A;
    op->now_ms = NOW;
    op->items = world_mem(world, count * sizeof *items);
    memcpy(op->items, items, count * sizeof *items);
    op->count = count;
    call(world, &op->op);
    return op;
}

enum err submit_plan(struct world *world, struct store_planned item)
{
    struct store_plan *op = submit_plans(world, &item, 1);
    assert_int_equal(op->op.err, ERR_OK);
    return op->items[0].err;
}

struct store_planned next_of(struct world *world, struct plan was, bool unread)
{
    struct {
        struct plan plan;
        struct job job;
    } *made = world_mem(world, sizeof *made);
    made->plan = was;
    made->plan.planned_through += MINUTE;
    made->plan.instants++;
    made->plan.check_at += MINUTE;
    made->job = job_at(world, was.task_id, made->plan.planned_through);
    struct store_planned item = {.from = was.planned_through, .unread = unread, .plan = &made->plan};
    item.check_before = unread ? made->plan.check_at : 0;
    item.jobs = &made->job;
    item.job_count = 1;
    return item;
}

struct store_plans *read_plans(struct world *world, const int64_t *ids, size_t id_count, int64_t now_ms, size_t max)
{
    struct store_plans *op = OP(world, store_plans, STORE_PLANS);
    op->ids = ids;
    op->id_count = id_count;
    op->now_ms = now_ms;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

void assert_plans(const struct store_plans *op, const int64_t *ids, size_t count)
{
    assert_int_equal(op->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(op->tasks[i].id, ids[i]);
        assert_int_equal(op->tasks[i].plan->task_id, ids[i]);
    }
}

void assert_same_plan(const struct plan *is, const struct plan *as)
{
    assert_non_null(is);
    const int64_t left[] = {is->task_id,  is->tenant,   is->version,  is->revision,  is->planned_through,
                            is->instants, is->success,  is->failed,   is->cancelled, is->failures_in_row,
                            is->last_at,  is->check_at, is->paused_at};
    const int64_t right[] = {as->task_id,  as->tenant,   as->version,  as->revision,  as->planned_through,
                             as->instants, as->success,  as->failed,   as->cancelled, as->failures_in_row,
                             as->last_at,  as->check_at, as->paused_at};
    for (size_t i = 0; i < array_count(left); i++)
        assert_int_equal(left[i], right[i]);
    assert_int_equal(is->active_count, as->active_count);
    assert_int_equal(is->queued_count, as->queued_count);
    for (size_t i = 0; i < as->active_count; i++)
        assert_int_equal(is->active[i], as->active[i]);
    for (size_t i = 0; i < as->queued_count; i++)
        assert_int_equal(is->queued[i], as->queued[i]);
    assert_true(str_eq(is->skips, as->skips) && str_eq(is->paused_note, as->paused_note) && str_eq(is->paused_by, as->paused_by));
    assert_true(str_eq(is->reserved, as->reserved));
    assert_true(str_eq(is->missing, as->missing));
}

static const int64_t some_active[] = {INT64_MAX, 3, 5}, some_queued[] = {9, 8};

struct plan plan_full(void)
{
    struct plan plan = plan_new();
    plan.revision = 3;
    plan.success = 4;
    plan.failed = 5;
    plan.cancelled = 6;
    plan.failures_in_row = 7;
    plan.last_at = NOW - 1;
    plan.active = some_active;
    plan.active_count = array_count(some_active);
    plan.queued = some_queued;
    plan.queued_count = array_count(some_queued);
    plan.skips = STR("1 2 \xc3\xa9");
    plan.paused_at = NOW - 2;
    plan.paused_note = STR("a note");
    plan.paused_by = STR("failures");
    plan.missing = STR("7 8;");
    return plan;
}

struct store_amend *amend_with(struct world *world, struct plan plan)
{
    struct plan *made = world_mem(world, sizeof *made);
    struct store_amend *amend = make_amend(world, plan.task_id);
    *made = plan;
    amend->task.plan = made;
    amend->count = 0;
    return amend;
}

enum err end_job(struct world *world, int64_t id, enum job_state as, int64_t completed_at)
{
    struct job job = job_now(world, id);
    job.state = (uint8_t)as;
    job.completed_at = completed_at;
    job.token++;
    return change(world, job.token - 1, job, NULL);
}
