// Picks go on to their targets at once. Their plans are written meanwhile, many at a time: nobody waits for one.
//
// A process that dies between a pick and its plan leaves one job less planned, which the next pick of the task makes good, or the
// round that looks for plans which were not carried on (check_at).
#include "flow/stages/recur_picks.h"

#include "base/crash.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/recur.h"

enum {
    BATCH_MAX = 500,  // plans that are written at once
    WRITING_MAX = 2,  // batches under way
    WAITING_MAX = 20, // batches that wait for that
    REST_EACH_MS = 2, // after a batch, for each plan in it, none is begun that is not full,
    REST_MAX_MS = 50, // but not for longer: so the more picks there are, the more plans share a statement and a commit
};

// Plans that are written together.
struct batch {
    struct list link;
    struct planning planning;
    struct picks *picks;
};

struct picks {
    struct node *node;
    struct recorder *recorder;
    struct looks *looks;
    struct list waiting; // batches, of which all but the last are full
    size_t waiting_count;
    size_t writing;     // batches under way
    int64_t rest_until; // monotonic
};

struct picks *picks_new(struct node *node, struct recorder *recorder, struct looks *looks)
{
    struct picks *picks = mem_zero(sizeof *picks);
    picks->node = node;
    picks->recorder = recorder;
    picks->looks = looks;
    list_init(&picks->waiting);
    return picks;
}

static void free_batch(struct batch *batch)
{
    planning_done(&batch->planning);
    mem_free(batch);
}

void picks_free(struct picks *picks)
{
    if (!picks)
        return;
    list_each (&picks->waiting, link)
        free_batch(list_entry(link, struct batch, link));
    mem_free(picks);
}

bool picks_idle(const struct picks *picks)
{
    return picks->writing == 0 && picks->waiting_count == 0;
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

static void write_first(struct picks *picks, struct now now)
{
    struct batch *batch = list_entry(list_take(&picks->waiting), struct batch, link);
    picks->waiting_count--;
    picks->writing++;
    picks->rest_until = now.mono_ms + time_min(REST_EACH_MS * (int64_t)batch->planning.plan.count, REST_MAX_MS);
    CRASH_POINT("recur.before_plan");
    recorder_plan(picks->recorder, &batch->planning, now.wall_ms);
}

static bool is_full(const struct batch *batch)
{
    return batch->planning.plan.count == BATCH_MAX;
}

int64_t picks_turn(struct picks *picks, struct now now)
{
    while (picks->waiting_count && picks->writing < WRITING_MAX) {
        bool rests = now.mono_ms < picks->rest_until && !atomic_load(&picks->node->stopping);
        if (rests && !is_full(list_entry(picks->waiting.next, struct batch, link)))
            return now.wall_ms + picks->rest_until - now.mono_ms;
        write_first(picks, now);
    }
    return TIME_NEVER; // the next pick wakes, or the answer does
}

// ---- adding

// The plans to add one to. NULL: too many are waiting already.
static struct planning *make_room(struct picks *picks)
{
    struct batch *last = picks->waiting_count ? list_entry(picks->waiting.prev, struct batch, link) : NULL;
    if (last && !is_full(last))
        return &last->planning;
    if (picks->waiting_count == WAITING_MAX)
        return NULL;
    struct batch *batch = mem_alloc(sizeof *batch);
    batch->picks = picks;
    planning_init(&batch->planning, BATCH_MAX, batch_written);
    list_append(&picks->waiting, &batch->link);
    picks->waiting_count++;
    return &batch->planning;
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
    struct planning *planning = make_room(picks);
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
