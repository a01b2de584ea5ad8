// Nearly every pick is in time, and of a task whose jobs may overlap: its plan need not be read (recur_picks). All others are
// looks (recur_looks).
//
// A process that dies may leave plans behind that nobody carries on: a round looks for those whose check_at has passed.
#include "flow/stages/recur.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/recur_looks.h"
#include "flow/stages/recur_picks.h"

enum {
    ROUND_MS = 1000,   // how often plans are looked for that were not carried on
    OVERDUE_MAX = 100, // of them, at once
    FIRST_TOKEN = 2,   // that of a job whose first holder has it: it was added with 1
};

struct recur {
    struct node *node;
    const struct peers *peers;
    struct zones *zones;
    struct looks *looks;
    struct picks *picks;
    struct now now; // of the turn at hand

    struct mailbox answers; // struct store_op of `overdue`
    struct store_plans overdue;
    bool seeking;
    int64_t round_at; // monotonic
};

struct recur *recur_new(struct node *node, struct recorder *recorder, struct pull *pull, struct commands *commands,
                        const struct peers *peers, struct zones *zones)
{
    struct recur *recur = mem_zero(sizeof *recur);
    recur->node = node;
    recur->peers = peers;
    recur->zones = zones;
    recur->looks = looks_new(node, recorder, pull, commands, zones);
    recur->picks = picks_new(node, recorder, recur->looks);
    mailbox_init(&recur->answers, node->flow_waker);
    return recur;
}

void recur_free(struct recur *recur)
{
    if (!recur)
        return;
    picks_free(recur->picks);
    looks_free(recur->looks);
    store_op_done(&recur->overdue.op);
    mailbox_done(&recur->answers);
    mem_free(recur);
}

bool recur_idle(const struct recur *recur)
{
    return looks_idle(recur->looks) && picks_idle(recur->picks);
}

// ---- jobs

struct job *recur_make_jobs(struct node *node, const struct task *task, const struct plan *plan, const struct plan_rows *rows,
                            int64_t now_ms, struct arena *arena)
{
    struct job *jobs = arena_array(arena, struct job, rows->count);
    for (size_t i = 0; i < rows->count; i++) {
        const struct plan_row *row = &rows->rows[i];
        jobs[i] = (struct job){.id = node_make_id(node, now_ms),
                               .task_id = plan->task_id,
                               .tenant = plan->tenant,
                               .state = row->due_at > now_ms ? JOB_DELAYED : JOB_READY,
                               .priority = (uint8_t)task->priority,
                               .trigger = TRIGGER_SCHEDULE,
                               .scheduled_at = row->due_at,
                               .ready_at = row->due_at,
                               .due_at = row->due_at,
                               .nominal_at = row->nominal_at,
                               .expires_at = task_expiry(task, row->due_at),
                               .token = 1};
    }
    return jobs;
}

// ---- picks

struct plan_row recur_row(const struct job *job)
{
    return (struct plan_row){.nominal_at = job->nominal_at, .due_at = job->scheduled_at};
}

// A job all of whose attempts were lost with their holders: none of them may have begun it, and one may have skipped it instead.
static bool may_be_skipped(const struct job *job)
{
    return !job->retries;
}

bool recur_pick(struct recur *recur, struct order *order, struct now now)
{
    const struct recurrence *recurs = order->task.recurs; // NULL: of a document that cannot be read
    const struct job *job = &order->job;
    struct schedule schedule;
    struct problem why = {0};
    struct arena arena;
    if (job->attempts && recurs && recurs->rules.overlap == PLAN_OVERLAP_ALLOW && !may_be_skipped(job))
        return true; // it was picked before
    arena_init(&arena);
    bool known = zones_schedule(recur->zones, &order->task, job->task_id, job->nominal_at, &arena, &schedule, &why);
    bool is_new = job->token == FIRST_TOKEN;
    bool runs = known && !job->attempts && plan_pick_unread(&schedule, &recurs->rules, recur_row(job), is_new, now.wall_ms);
    bool planned = runs && picks_add(recur->picks, order, &schedule, now);
    arena_done(&arena);
    if (!runs)
        looks_pick(recur->looks, order);
    else if (!planned)
        looks_after(recur->looks, job->task_id);
    return runs;
}

// ---- plans that were not carried on

static void take_overdue(struct recur *recur)
{
    struct store_plans *overdue = &recur->overdue;
    recur->seeking = false;
    for (size_t i = 0; i < overdue->count; i++) {
        mark(MARK_PLAN_OVERDUE);
        looks_after(recur->looks, overdue->tasks[i].id);
    }
    if (overdue->op.err)
        node_say_failed(recur->node, "recur", &overdue->op, recur->now.mono_ms);
    recur->round_at = node_round(recur->node, recur->now.mono_ms, ROUND_MS);
    store_op_done(&overdue->op);
}

// One node is enough for it.
static bool is_first(const struct recur *recur)
{
    int64_t ids[PEERS_MAX + 1];
    size_t count = peers_pullers(recur->peers, recur->now, ids);
    return count == 0 || ids[0] == atomic_load(&recur->node->incarnation);
}

static int64_t seek_overdue(struct recur *recur)
{
    int64_t now = recur->now.mono_ms;
    if (recur->seeking)
        return TIME_NEVER; // the answer wakes
    if (now < recur->round_at)
        return recur->now.wall_ms + recur->round_at - now;
    if (!is_first(recur)) {
        recur->round_at = node_round(recur->node, now, ROUND_MS);
        return recur->now.wall_ms + recur->round_at - now;
    }
    recur->overdue = (struct store_plans){.now_ms = recur->now.wall_ms, .max = OVERDUE_MAX};
    store_op_post(&recur->overdue.op, STORE_PLANS, &recur->answers);
    recur->seeking = true;
    store_submit(recur->node->store, &recur->overdue.op);
    return TIME_NEVER;
}

static bool has_failed(enum job_state end)
{
    return end == JOB_ABORTED || end == JOB_BURIED;
}

void recur_ended(struct recur *recur, int64_t task_id, enum job_state end)
{
    if (has_failed(end))
        looks_after_failure(recur->looks, task_id);
    else
        looks_after(recur->looks, task_id);
}

bool recur_is_calm(const struct task *task, enum job_state end)
{
    const struct recurrence *recurs = task->recurs;
    return !recurs || (recurs->rules.overlap != PLAN_OVERLAP_QUEUE && !(has_failed(end) && recurs->pause_after_failures));
}

// ---- the turn

int64_t recur_turn(struct recur *recur, struct now now)
{
    struct list answers;
    list_init(&answers);
    recur->now = now;
    mailbox_take(&recur->answers, &answers);
    if (!list_empty(&answers))
        take_overdue(recur);
    int64_t next = picks_turn(recur->picks, now);
    next = time_min(next, looks_turn(recur->looks, now));
    if (atomic_load(&recur->node->stopping) || !node_alive(recur->node, now.mono_ms))
        return next; // the next beat wakes
    return time_min(next, seek_overdue(recur));
}
