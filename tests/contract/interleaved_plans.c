// What a session may do with a recurring task. The stage has none, so each function makes those recur that it is about, before
// any statement is let through.
#include "interleaved_support.h"
#include "store/plans.h"

#include <stdio.h>

static void make_recur(struct stage *stage, int64_t task_id)
{
    char sql[700];
    snprintf(
        sql, sizeof sql,
        "INSERT INTO "
        "plans(task_id,tenant,lane,version,revision,planned_through,instants,ended_with,check_at,success,failed,cancelled,"
        "failures_in_row,last_at,paused_at,active,over) SELECT id,tenant,lane,version,0,%d,0,0,%d,0,0,0,0,0,0,ARRAY[id],false"
        " FROM tasks WHERE id=%lld ON CONFLICT DO NOTHING; UPDATE jobs SET trigger=1 WHERE id=%lld;"
        " UPDATE jobs_done SET trigger=1 WHERE id=%lld",
        PLANNED, PLANNED, (long long)task_id, (long long)task_id, (long long)task_id);
    session_do(stage->watcher, sql);
}

// ---- planning

// Plans the next instant of a task, with a job for it.
static struct plan *plan_next(struct session *session, int64_t task_id, bool unread)
{
    struct store_plan *op = NEW_OP(session, store_plan, STORE_PLAN);
    struct {
        struct store_planned item;
        struct plan plan;
        struct job job;
    } *made = world_mem(session->stage->world, sizeof *made);
    make_recur(session->stage, task_id);
    made->plan = (struct plan){.task_id = task_id, .version = 1, .planned_through = PLANNED + 1000, .check_at = TIME_NEVER};
    made->job = (struct job){.id = ++session->stage->world->last_id,
                             .task_id = task_id,
                             .tenant = TENANT,
                             .trigger = TRIGGER_SCHEDULE,
                             .state = JOB_DELAYED,
                             .token = 1};
    made->job.nominal_at = made->job.scheduled_at = made->job.ready_at = made->job.due_at = PLANNED + 1000;
    made->item = (struct store_planned){.from = PLANNED, .unread = unread, .plan = &made->plan, .jobs = &made->job};
    made->item.job_count = 1;
    op->holder = session->incarnation;
    op->items = &made->item;
    op->count = 1;
    return &made->plan;
}

void plan_first(struct session *session)
{
    plan_next(session, session->stage->ids[0], false);
}

void plan_first_unread(struct session *session)
{
    plan_next(session, session->stage->ids[0], true);
}

void plan_ended_unread(struct session *session)
{
    plan_next(session, session->stage->ended, true);
}

// None will follow, so that retention may take the task when it has no job any more.
void plan_last_for_ended(struct session *session)
{
    plan_next(session, session->stage->ended, false)->planned_through = TIME_NEVER;
}

// ---- ending jobs

static void end_jobs(struct session *session, const int64_t *ids, size_t count)
{
    struct store_change *op = NEW_OP(session, store_change, STORE_CHANGE);
    struct job *jobs = world_mem(session->stage->world, count * sizeof *jobs);
    op->steps = world_mem(session->stage->world, count * sizeof *op->steps);
    op->count = count;
    for (size_t i = 0; i < count; i++) {
        make_recur(session->stage, ids[i]);
        jobs[i] = (struct job){.id = ids[i], .task_id = ids[i], .token = 2, .state = JOB_SUCCESS, .completed_at = NOW};
        jobs[i].trigger = TRIGGER_SCHEDULE;
        jobs[i].scheduled_at = NOW - 5 + (ids[i] - session->stage->ids[0]); // as it was
        op->steps[i] = (struct store_step){.token = 1, .job = &jobs[i]};
    }
}

void end_first_of_plan(struct session *session)
{
    end_jobs(session, session->stage->ids, 1);
}

void end_two_of_plans(struct session *session)
{
    const int64_t *ids = session->stage->ids;
    end_jobs(session, session->number ? (const int64_t[]){ids[1], ids[0]} : (const int64_t[]){ids[0], ids[1]}, 2);
}

// ---- changing, removing and sweeping tasks

static void add_plan_to(struct session *session)
{
    struct store_amend *op = container_of(session->op, struct store_amend, op);
    struct plan *plan = world_mem(session->stage->world, sizeof *plan);
    make_recur(session->stage, op->task.id);
    *plan = (struct plan){.planned_through = PLANNED, .check_at = PLANNED};
    op->task.plan = plan;
}

void amend_first_and_plan(struct session *session)
{
    amend_first(session);
    add_plan_to(session);
}

void retag_first_and_plan(struct session *session)
{
    retag_first(session);
    add_plan_to(session);
}

void delete_ended_and_plan(struct session *session)
{
    delete_ended(session);
    make_recur(session->stage, session->stage->ended);
}

void sweep_ended_and_plan(struct session *session)
{
    sweep_ended(session);
    make_recur(session->stage, session->stage->ended);
}

// ---- reserving a name

// Adds a recurring task under a name, which has no job.
static void add_named(struct session *session, const char *name)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
        struct plan plan;
    } *made = world_mem(session->stage->world, sizeof *made);
    struct sample sample = {.queue = "one"};
    sample_fill(session->stage->world, &sample, &made->task, &made->job, &made->item);
    made->plan = (struct plan){.planned_through = PLANNED, .check_at = PLANNED, .reserved = str_of(name)};
    made->task.plan = &made->plan;
    made->item.job_count = 0;
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
}

void reserve(struct session *session)
{
    add_named(session, "nightly");
}

// The schedule of the first task has ended, and the task still has the name.
static void name_first(struct stage *stage)
{
    char sql[200];
    make_recur(stage, stage->ids[0]);
    snprintf(sql, sizeof sql, "UPDATE plans SET reserved='nightly', planned_through=%lld, check_at=%lld WHERE task_id=%lld",
             (long long)TIME_NEVER, (long long)TIME_NEVER, (long long)stage->ids[0]);
    session_do(stage->watcher, sql);
}

void reserve_name_of_first(struct session *session)
{
    if (!session->number)
        name_first(session->stage);
    add_named(session, "nightly");
}

// … by an incarnation that somebody else may declare dead.
void reserve_name_of_first_by_first(struct session *session)
{
    name_first(session->stage);
    add_named(session, "nightly");
    container_of(session->op, struct store_add, op)->holder = FIRST;
}

// A task that has the name, and whose schedule goes on.
void delete_ended_and_its_name(struct session *session)
{
    char sql[100];
    delete_ended_and_plan(session);
    snprintf(sql, sizeof sql, "UPDATE plans SET reserved='nightly' WHERE task_id=%lld", (long long)session->stage->ended);
    session_do(session->stage->watcher, sql);
}
