// Picks go on to their targets at once. Their plans are written meanwhile, many at a time.
//
// A process that dies between a pick and its plan leaves one job less planned, which the next pick of the task makes good, or the
// round that looks for plans which were not carried on (check_at).
#include "flow/stages/recur_picks.h"

#include "base/crash.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/recur.h"

enum {
    BATCH_MAX = 500, // plans that are written at once
    BATCHES = 2,     // under way at once
};

// Plans that are written together.
struct batch {
    struct planning planning;
    struct picks *picks;
};

struct picks {
    struct node *node;
    struct recorder *recorder;
    struct looks *looks;
    struct batch *next; // that is to be written; NULL: it is empty
    int writing;        // batches under way
};

struct picks *picks_new(struct node *node, struct recorder *recorder, struct looks *looks)
{
    struct picks *picks = mem_zero(sizeof *picks);
    picks->node = node;
    picks->recorder = recorder;
    picks->looks = looks;
    return picks;
}

static void free_batch(struct batch *batch)
{
    if (!batch)
        return;
    planning_done(&batch->planning);
    mem_free(batch);
}

void picks_free(struct picks *picks)
{
    if (!picks)
        return;
    free_batch(picks->next);
    mem_free(picks);
}

bool picks_idle(const struct picks *picks)
{
    return picks->writing == 0 && !picks->next;
}

// ---- writing

// A plan that was another one than expected is read.
static void batch_written(struct planning *planning, struct now now)
{
    struct batch *batch = container_of(planning, struct batch, planning);
    struct picks *picks = batch->picks;
    picks->writing--;
    CRASH_POINT("recur.after_plan");
    if (planning->plan.op.err)
        node_say_failed(picks->node, "recur", &planning->plan.op, now.mono_ms);
    for (size_t i = 0; i < planning->plan.count; i++)
        if (planning->plan.op.err || planning->plan.items[i].err) {
            mark(MARK_PLAN_AGAIN);
            looks_after(picks->looks, planning->plan.items[i].plan->task_id);
        }
    free_batch(batch);
}

static void write_next(struct picks *picks, struct now now)
{
    if (!picks->next || picks->writing == BATCHES)
        return;
    picks->writing++;
    CRASH_POINT("recur.before_plan");
    recorder_plan(picks->recorder, &picks->next->planning, now.wall_ms);
    picks->next = NULL;
}

int64_t picks_turn(struct picks *picks, struct now now)
{
    write_next(picks, now);
    return TIME_NEVER; // the answer wakes
}

// ---- adding

// The batch that has room. NULL: too many are under way.
static struct planning *make_room(struct picks *picks, struct now now)
{
    if (picks->next && picks->next->planning.plan.count == BATCH_MAX)
        write_next(picks, now);
    if (!picks->next) {
        picks->next = mem_alloc(sizeof *picks->next);
        picks->next->picks = picks;
        planning_init(&picks->next->planning, BATCH_MAX, batch_written);
    }
    return picks->next->planning.plan.count < BATCH_MAX ? &picks->next->planning : NULL;
}

static struct record_subject subject_of(const struct task *task, struct arena *arena)
{
    return (struct record_subject){.queue = arena_copy(arena, task->queue), .name = arena_copy(arena, task->name)};
}

bool picks_add(struct picks *picks, const struct order *order, const struct schedule *schedule, struct now now)
{
    struct plan_unread unread;
    if (!plan_extend_unread(schedule, &order->task.recurs->rules, recur_row(&order->job), now.wall_ms, &unread))
        return false;
    struct planning *planning = make_room(picks, now);
    if (!planning)
        return false;
    struct arena *arena = &planning->plan.op.arena;
    struct plan_rows rows = {.rows = {unread.row}, .count = 1};
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    *plan = (struct plan){.task_id = order->job.task_id,
                          .tenant = order->job.tenant,
                          .version = order->version,
                          .planned_through = unread.row.nominal_at,
                          .instants = 1,
                          .check_at = unread.check_at};
    struct store_planned item = {
        .from = unread.from, .unread = true, .check_before = unread.check_before, .plan = plan, .job_count = 1};
    item.jobs = recur_make_jobs(picks->node, &order->task, plan, &rows, now.wall_ms, arena);
    planning_add(planning, item, subject_of(&order->task, arena));
    return true;
}
