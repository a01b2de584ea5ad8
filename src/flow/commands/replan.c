// A pause leaves the planned jobs where they are, so people see what would come. What became of their instants is decided when
// the task is resumed. A change of a paused task moves those that lie ahead, so that none of them follows the schedule it had.
#include "flow/commands/replan.h"

#include "base/mem.h"
#include "flow/stages/recur.h"

#include <stdlib.h>

// Why a job was cancelled with which its task could do nothing any more. Its instant is free: a change may plan it again.
static const struct str schedule_changed = {"the schedule was changed", 24};
static const struct str cancelled_with_task = {"cancelled by hand, with its task", 32};

// The planned jobs of a task, in the order of their instants, and what becomes of them. Those in somebody's hand are among them,
// so that their instants are not planned again; they stay as they are.
struct planned {
    struct job **jobs;
    struct plan_row *rows;
    struct plan_moved *moved;
    size_t count;
};

static int by_instant(const void *a, const void *b)
{
    int64_t left = (*(struct job *const *)a)->nominal_at, right = (*(struct job *const *)b)->nominal_at;
    return (left > right) - (left < right);
}

// A job that its schedule has made and that nobody has begun.
static bool is_planned(const struct job *job)
{
    return job->trigger == TRIGGER_SCHEDULE && !job->attempts && job_state_waiting(job->state);
}

static struct job *add_step(struct store_amend *amend, const struct job *was, struct arena *arena)
{
    struct job *job = arena_alloc(arena, sizeof *job);
    *job = *was;
    amend->steps[amend->count++] = (struct store_step){.token = was->token, .job = job};
    return job;
}

static bool is_dropped(const struct job *job)
{
    return job->state == JOB_CANCELLED && (str_eq(job->reason, schedule_changed) || str_eq(job->reason, cancelled_with_task));
}

// A job that its schedule has made and that somebody has in hand, or had, or has cancelled: it is not moved.
static bool is_taken(const struct job *job)
{
    return job->trigger == TRIGGER_SCHEDULE && !is_planned(job) && !is_dropped(job);
}

// A job whose instant stays, whatever the schedule says. When only time zones have changed, that is so, too, for a job whose
// instant has come, which runs as it was planned, and for one that was cancelled, which is not to come back.
static bool stays(const struct replanning *replanning, const struct job *job)
{
    if (replanning->command->act != COMMAND_REPLAN)
        return is_taken(job);
    return job->trigger == TRIGGER_SCHEDULE && (!is_planned(job) || job->nominal_at <= replanning->now_ms);
}

static struct planned list_planned(const struct replanning *replanning, struct store_amend *amend, struct arena *arena)
{
    const struct store_get *get = replanning->get;
    struct planned planned = {.jobs = arena_array(arena, struct job *, get->job_count),
                              .rows = arena_array(arena, struct plan_row, get->job_count),
                              .moved = arena_array(arena, struct plan_moved, get->job_count)};
    for (size_t i = 0; i < get->job_count; i++)
        if (stays(replanning, &get->jobs[i]))
            planned.jobs[planned.count++] = &get->jobs[i];
        else if (is_planned(&get->jobs[i]))
            planned.jobs[planned.count++] = add_step(amend, &get->jobs[i], arena);
    qsort(planned.jobs, planned.count, sizeof *planned.jobs, by_instant);
    for (size_t i = 0; i < planned.count; i++) {
        const struct job *job = planned.jobs[i];
        planned.rows[i] = (struct plan_row){job->nominal_at, job->scheduled_at, stays(replanning, job),
                                            .cancelled = job->state == JOB_CANCELLED};
    }
    return planned;
}

static enum err cancel_job(const struct replanning *replanning, struct job *job, struct str reason)
{
    struct job_step step;
    return job_cancel(job, &replanning->task->policy, replanning->now_ms, reason, &step);
}

static enum err move_job(const struct replanning *replanning, struct job *job, const struct plan_moved *moved)
{
    bool resumes = replanning->command->act == COMMAND_RESUME;
    if (!moved->keeps)
        return cancel_job(replanning, job, resumes ? STR("skipped: the task was paused") : schedule_changed);
    job->nominal_at = moved->row.nominal_at;
    job->priority = (uint8_t)replanning->task->priority;
    job->expires_at = task_expiry(replanning->task, moved->row.due_at);
    return job_replan(job, moved->row.due_at, replanning->now_ms);
}

// Jobs that wait for another try, or were made by hand.
static enum err follow_others(const struct replanning *replanning, struct store_amend *amend, struct arena *arena)
{
    const struct store_get *get = replanning->get;
    enum command_act act = replanning->command->act;
    enum err err = ERR_OK;
    for (size_t i = 0; i < get->job_count && !err; i++) {
        if (is_planned(&get->jobs[i]) || !job_state_waiting(get->jobs[i].state))
            continue;
        struct job *job = add_step(amend, &get->jobs[i], arena);
        if (act == COMMAND_RESUME)
            err = job_resume(job, replanning->now_ms);
        else if (act == COMMAND_CANCEL || act == COMMAND_DELETE)
            err = cancel_job(replanning, job, STR("cancelled by hand"));
        if (act == COMMAND_PATCH)
            job->priority = (uint8_t)replanning->task->priority;
    }
    return err;
}

static void pause(const struct replanning *replanning, struct plan *plan)
{
    if (!plan->paused_at)
        plan->paused_at = replanning->now_ms;
    plan->paused_note = replanning->command->note;
    plan->paused_by = replanning->command->by;
    plan->check_at = TIME_NEVER;
}

static enum err end(const struct replanning *replanning, struct plan *plan, const struct planned *planned)
{
    enum err err = ERR_OK;
    plan->planned_through = TIME_NEVER;
    // Queued jobs are cancelled one by one. If that is cut short, the round lets those that are left go.
    plan->check_at = plan->queued_count ? replanning->now_ms + PLAN_CHECK_MS : TIME_NEVER;
    plan->missing = (struct str){0}; // they would have been cancelled
    for (size_t i = 0; i < planned->count && !err; i++)
        if (!planned->rows[i].stays)
            err = cancel_job(replanning, planned->jobs[i], cancelled_with_task);
    return err;
}

// A run whose time has just passed by the new rules of its time zone, and is still to come by the old ones, keeps its time.
static void keep_passed(struct plan *plan, const struct planned *planned, const struct schedule *schedule, int64_t now_ms)
{
    for (size_t i = 0; i < planned->count; i++) {
        struct plan_row *row = &planned->rows[i];
        if (row->stays || schedule_has_run(schedule, row->nominal_at) ||
            !plan_stands_for_passed(schedule, row->nominal_at, now_ms))
            continue;
        row->stays = true;
        plan->instants++; // it is not among those that are planned anew, and counted with them
    }
}

// Decides what becomes of the planned jobs of a task that goes on, by its new schedule or after a pause.
static enum err move_plan(const struct replanning *replanning, struct plan *plan, const struct planned *planned,
                          struct arena *arena, struct plan_rows *rows, struct problem *why)
{
    const struct task *task = replanning->task;
    const struct store_task *stored = &replanning->get->task;
    struct schedule schedule;
    int64_t now_ms = replanning->now_ms;
    if (!zones_schedule(replanning->zones, task, stored->id, stored->created_at, arena, &schedule, why))
        return why->err;
    if (replanning->command->act == COMMAND_REPLAN)
        keep_passed(plan, planned, &schedule, now_ms);
    enum plan_misfire missed = replanning->command->runs_missed ? replanning->command->missed : PLAN_MISFIRE_SKIP;
    if (replanning->command->act == COMMAND_RESUME)
        plan_resume(plan, &schedule, &task->recurs->rules, missed, planned->rows, planned->count, now_ms, arena, planned->moved,
                    rows);
    else
        plan_change(plan, &schedule, &task->recurs->rules, planned->rows, planned->count, now_ms, arena, planned->moved, rows);
    return ERR_OK;
}

static enum err go_on(const struct replanning *replanning, struct plan *plan, const struct planned *planned,
                      struct store_amend *amend, struct arena *arena, struct problem *why)
{
    struct plan_rows *rows = arena_alloc(arena, sizeof *rows);
    enum err err = move_plan(replanning, plan, planned, arena, rows, why);
    for (size_t i = 0; i < planned->count && !err; i++)
        if (!planned->rows[i].stays)
            err = move_job(replanning, planned->jobs[i], &planned->moved[i]);
    if (err)
        return err;
    amend->jobs = recur_make_jobs(replanning->node, replanning->task, plan, rows, replanning->now_ms, arena);
    amend->job_count = rows->count;
    return ERR_OK;
}

enum err replan(const struct replanning *replanning, struct store_amend *amend, struct arena *arena, struct problem *why)
{
    enum command_act act = replanning->command->act;
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    *plan = *replanning->get->task.plan;
    struct planned planned = list_planned(replanning, amend, arena);
    enum err err = follow_others(replanning, amend, arena);
    if (err)
        return problem_set(why, ERR_INTERNAL, "", "a job that waits cannot follow its task");
    if (act == COMMAND_PAUSE)
        pause(replanning, plan);
    else if (act == COMMAND_CANCEL || act == COMMAND_DELETE)
        err = end(replanning, plan, &planned);
    else
        err = go_on(replanning, plan, &planned, amend, arena, why);
    if (act == COMMAND_RESUME)
        amend->task.paused = plan->paused_at != 0; // so many instants were missed that it takes another step
    if (plan->missing.n)
        plan->check_at = 0; // the round plans them again
    amend->task.plan = plan;
    return err;
}

bool replan_moves(const struct replanning *replanning, struct arena *arena)
{
    struct problem why = {0};
    struct plan plan = *replanning->get->task.plan;
    struct plan_rows rows = {0};
    struct store_amend amend = {.steps = arena_array(arena, struct store_step, replanning->get->job_count)};
    struct planned planned = list_planned(replanning, &amend, arena);
    int64_t last = plan.planned_through;
    if (move_plan(replanning, &plan, &planned, arena, &rows, &why))
        return false;
    bool moves = rows.count && rows.rows[0].nominal_at <= last;
    for (size_t i = 0; i < planned.count; i++)
        moves |= !planned.moved[i].keeps || planned.moved[i].row.nominal_at != planned.rows[i].nominal_at;
    return moves;
}
