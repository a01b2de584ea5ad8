// A look without an order is made once a task: what happens while it is being read makes it read once more. Looks with an order
// are as many as there are orders; of one task they come one after the other, because each is decided on what the one before has
// written.
#include "flow/stages/recur_looks.h"

#include "base/crash.h"
#include "base/data/map.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/active_check.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur.h"
#include "flow/stages/recur_report.h"
#include "flow/tend/tzdata.h"

enum {
    BATCH_MAX = 500,    // plans that are read and written at once
    FAIL_WAIT_MS = 200, // when the store failed
};

// A task whose plan is to be read, and what for.
struct look {
    struct list link;
    int64_t task_id;
    struct order *order; // of the job that is picked; NULL: the plan is to be looked after
    struct plan_pick pick;
    int64_t lets_go;               // a job that need not wait any more; 0: none
    bool pauses, more;             // it has failed too often; there is more to plan
    int64_t failed, failed_since;  // jobs that failed, for which it is looked; and those that failed since the plan was read
    int64_t failing;               // it is to be said that so many failed in a row; 0: nothing is
    int64_t pauses_after;          // failures in a row
    int64_t gone;                  // an active job that is not in the store; 0: none
    bool freed;                    // … and that does not count as active any more
    int64_t checks;                // an active job for which another waits or is skipped: is it there? 0: none
    size_t missing;                // so many jobs were removed behind rota's back, and are planned again
    const struct store_task *task; // that was read, until what was decided is written; NULL: it was not understood
    bool is_read, again;           // its plan is being read, or was; something has happened since
    struct store_planned item;     // what is to be written; .plan == NULL: nothing
};

// Something that is done by a command, because it is about another job or the whole task.
struct deed {
    struct command op;
    struct looks *looks;
    struct order *then; // goes on when it is done; NULL: nothing does
};

struct looks {
    struct node *node;
    struct recorder *recorder;
    struct pull *pull;
    struct commands *commands;
    struct zones *zones;
    struct mailbox answers; // struct store_op of `read`
    struct now now;         // of the turn, or answer, at hand

    struct list waiting; // looks that are to be read
    struct list reading; // looks that are read, and then written
    struct map looked;   // task id -> look without an order: one is enough
    struct store_plans read;
    struct planning planning; // of what was read
    bool busy;                // `read` or `planning` is under way
    int64_t read_at;          // monotonic: not before, because the store failed
    size_t orders;            // that are kept

    struct active_check *check;
    size_t checked; // grows with each check, so that each active job comes up
};

static void active_gone(void *ctx, int64_t task_id, int64_t job_id);

struct looks *looks_new(struct node *node, struct recorder *recorder, struct pull *pull, struct commands *commands,
                        struct zones *zones)
{
    struct looks *looks = mem_zero(sizeof *looks);
    looks->node = node;
    looks->recorder = recorder;
    looks->pull = pull;
    looks->commands = commands;
    looks->zones = zones;
    mailbox_init(&looks->answers, node->flow_waker);
    list_init(&looks->waiting);
    list_init(&looks->reading);
    looks->check = active_check_new(node, active_gone, looks);
    return looks;
}

static void free_all(struct list *list)
{
    list_each (list, link) {
        struct look *look = list_entry(link, struct look, link);
        order_free(look->order);
        mem_free(look);
    }
}

void looks_free(struct looks *looks)
{
    if (!looks)
        return;
    free_all(&looks->waiting);
    free_all(&looks->reading);
    map_done(&looks->looked);
    store_op_done(&looks->read.op);
    active_check_free(looks->check);
    mailbox_done(&looks->answers);
    mem_free(looks);
}

bool looks_idle(const struct looks *looks)
{
    return looks->orders == 0 && !looks->busy;
}

static struct look *look_after(struct looks *looks, int64_t task_id)
{
    struct look *look = map_get(&looks->looked, task_id);
    if (look) {
        look->again = look->is_read; // what was read may be older than what is to be looked at
        return look;
    }
    look = mem_zero(sizeof *look);
    look->task_id = task_id;
    map_put(&looks->looked, task_id, look);
    list_append(&looks->waiting, &look->link);
    return look;
}

void looks_after(struct looks *looks, int64_t task_id)
{
    look_after(looks, task_id);
}

void looks_after_failure(struct looks *looks, int64_t task_id)
{
    struct look *look = look_after(looks, task_id);
    *(look->is_read ? &look->failed_since : &look->failed) += 1;
}

void looks_pick(struct looks *looks, struct order *order)
{
    struct look *look = mem_zero(sizeof *look);
    look->task_id = order->job.task_id;
    look->order = order;
    looks->orders++;
    list_append(&looks->waiting, &look->link);
}

// ---- what follows a look

static void deed_done(struct command *op)
{
    struct deed *deed = op->ctx;
    if (op->err && op->err != ERR_NOT_FOUND && op->err != ERR_ILLEGAL_TRANSITION) // those have ended, which is as good
        log_warn("recurring task: %s", op->why);
    if (deed->then) {
        deed->looks->orders--;
        pull_picked(deed->looks->pull, deed->then, deed->looks->now);
    }
    mem_free(deed);
}

static void submit_deed(struct looks *looks, struct command op, struct order *then)
{
    struct deed *deed = mem_zero(sizeof *deed);
    deed->op = op;
    deed->op.done = deed_done;
    deed->op.ctx = deed;
    deed->looks = looks;
    deed->then = then;
    commands_submit(looks->commands, &deed->op);
}

static void give_up(struct looks *looks, struct look *look, enum order_end end, struct str reason)
{
    looks->orders--;
    pull_give_up(looks->pull, look->order, end, reason);
    look->order = NULL;
}

static void follow_pick(struct looks *looks, struct look *look)
{
    struct order *order = look->order;
    if (look->pick.verdict == PLAN_SKIPPED) {
        mark(MARK_SKIPPED);
        give_up(looks, look, ORDER_SKIPPED, recur_skip_words(look->pick.reason));
    } else if (look->pick.verdict == PLAN_QUEUED) {
        mark(MARK_QUEUED);
        give_up(looks, look, ORDER_BLOCKED, (struct str){0});
    } else if (look->pick.cancels) {
        mark(MARK_OVERLAP_CANCELLED);
        look->order = NULL;
        submit_deed(looks, (struct command){.act = COMMAND_CANCEL, .tenant = order->job.tenant, .job_id = look->pick.cancels},
                    order);
    } else {
        look->order = NULL;
        looks->orders--;
        pull_picked(looks->pull, order, looks->now);
    }
}

static void look_free(struct looks *looks, struct look *look)
{
    if (map_get(&looks->looked, look->task_id) == look)
        map_remove(&looks->looked, look->task_id);
    mem_free(look);
}

static void follow_look(struct looks *looks, struct look *look)
{
    int64_t task_id = look->task_id, failed_since = look->failed_since;
    bool more = look->more || look->again;
    if (look->missing)
        recur_report_missing(looks->node, look->task, look->missing, looks->now.wall_ms);
    if (look->freed)
        recur_report_gone(looks->node, look->task, look->gone, looks->now.wall_ms);
    if (look->checks)
        active_check_ask(looks->check, task_id, look->checks);
    if (look->failing)
        recur_report_failing(looks->node, look->task, look->failing, look->pauses_after, looks->now.wall_ms);
    if (look->order)
        follow_pick(looks, look);
    if (look->lets_go)
        submit_deed(looks, (struct command){.act = COMMAND_UNBLOCK, .job_id = look->lets_go}, NULL);
    if (look->pauses)
        submit_deed(looks, (struct command){.act = COMMAND_PAUSE, .task_id = task_id, .by = STR("failures")}, NULL);
    look_free(looks, look);
    if (more)
        look_after(looks, task_id)->failed += failed_since;
}

// ---- reading and deciding

static bool plans_differ(const struct plan *a, const struct plan *b)
{
    return a->planned_through != b->planned_through || a->instants != b->instants || a->check_at != b->check_at ||
           a->active != b->active || a->active_count != b->active_count || a->queued != b->queued ||
           a->queued_count != b->queued_count || a->skips.p != b->skips.p || a->skips.n != b->skips.n ||
           a->missing.n != b->missing.n;
}

// Is it time that the task pauses itself, or to say that it comes near? A task that was resumed after its failures is paused
// again only when another job has failed. The warning belongs to the failure with which they become so many: so it comes once.
static void judge_failures(struct look *look, const struct task *task, const struct store_task *stored)
{
    int64_t row = stored->plan->failures_in_row, most = task->recurs->pause_after_failures;
    look->pauses = !stored->paused && look->failed && most && row >= most && stored->plan->last_at > stored->updated_at;
    look->failing = !stored->paused && recurrence_warns(task->recurs, row - look->failed, row) ? row : 0;
    look->pauses_after = most;
}

// Plans missing jobs again, as far as there is room in `rows`. One that is in hand runs all the same: SQLite's record of it does
// not say that it was claimed, so its removal is noted, too.
static void replace_missing(struct looks *looks, struct look *look, struct plan *plan, const struct schedule *schedule,
                            struct arena *arena, struct plan_rows *rows)
{
    struct plan_missing missing;
    while (rows->count < PLAN_ROWS_MAX && plan_take_missing(plan, schedule, arena, &missing)) {
        look->missing++;
        if (missing.owed && !pull_holds(looks->pull, missing.job_id))
            rows->rows[rows->count++] = missing.row;
    }
    if (plan->missing.n)
        rows->more = true;
}

static bool know_schedule(struct looks *looks, const struct task *task, const struct store_task *stored, struct arena *arena,
                          struct schedule *ret_schedule)
{
    struct problem why = {0};
    if (zones_schedule(looks->zones, task, stored->id, stored->created_at, arena, ret_schedule, &why))
        return true;
    if (strcmp(why.field, "/timezone") == 0)
        tzdata_warn(looks->node, stored, looks->now.wall_ms, why.detail);
    return false;
}

// An active job that keeps another one from running, or is to be cancelled for it: it might not be there any more.
static int64_t job_to_check(struct looks *looks, const struct look *look, const struct plan *plan)
{
    bool waits = look->order ? look->pick.verdict != PLAN_RUNS || look->pick.cancels : plan->queued_count && !look->lets_go;
    return waits && plan->active_count ? plan->active[looks->checked++ % plan->active_count] : 0;
}

// What this node has in hand goes on, although its record is gone: it is active until it ends.
static void active_gone(void *ctx, int64_t task_id, int64_t job_id)
{
    struct looks *looks = ctx;
    if (pull_holds(looks->pull, job_id))
        return;
    struct look *look = look_after(looks, task_id);
    if (!look->is_read) // otherwise the next job that has to wait asks again
        look->gone = job_id;
}

static struct plan_pick pick_of(const struct job *job, struct plan *plan, const struct schedule *schedule,
                                const struct plan_rules *rules, int64_t now_ms, struct arena *arena)
{
    if (job->attempts && rules->overlap == PLAN_OVERLAP_ALLOW)
        return plan_pick_again(plan, recur_row(job));
    return plan_pick(plan, schedule, rules, job->id, recur_row(job), now_ms, arena);
}

// Decides what follows for a task that was read; what is to be written is in look->item. A task whose schedule cannot be known
// keeps its plan, and its jobs run: they were planned when it could.
static void decide(struct looks *looks, struct look *look, const struct store_task *stored, struct arena *arena)
{
    struct task task;
    struct schedule schedule;
    char words[ERR_WHY_MAX];
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    struct plan_rows *rows = arena_alloc(arena, sizeof *rows);
    int64_t now_ms = looks->now.wall_ms;
    *plan = *stored->plan;
    look->pick = (struct plan_pick){.verdict = PLAN_RUNS};
    look->task = stored;
    look->missing = 0;
    if (!task_read(&task, stored->doc, arena, words) || !know_schedule(looks, &task, stored, arena, &schedule))
        return;
    look->freed = look->gone && plan_forget_active(plan, look->gone, arena);
    if (look->order)
        look->pick = pick_of(&look->order->job, plan, &schedule, &task.recurs->rules, now_ms, arena);
    plan_extend(plan, &schedule, &task.recurs->rules, now_ms, arena, rows);
    replace_missing(looks, look, plan, &schedule, arena, rows);
    look->more = rows->more;
    look->lets_go = plan_next_queued(plan, &task.recurs->rules);
    look->checks = job_to_check(looks, look, plan);
    judge_failures(look, &task, stored);
    if (!rows->count && !plans_differ(plan, stored->plan))
        return;
    look->item = (struct store_planned){.from = stored->plan->planned_through, .plan = plan, .job_count = rows->count};
    look->item.jobs = recur_make_jobs(looks->node, &task, plan, rows, now_ms, arena);
    planning_add(&looks->planning, look->item, (struct record_subject){.queue = stored->queue, .name = stored->name});
}

static void look_again(struct looks *looks, struct look *look)
{
    look->item.plan = NULL;
    look->is_read = look->again = false;
    look->failed += look->failed_since;
    look->failed_since = 0;
    list_append(&looks->waiting, &look->link);
}

static void looks_failed(struct looks *looks, const struct store_op *op)
{
    node_say_failed(looks->node, "recur", op, looks->now.mono_ms);
    looks->read_at = looks->now.mono_ms + FAIL_WAIT_MS;
    list_each (&looks->reading, link) {
        list_remove(link);
        look_again(looks, list_entry(link, struct look, link));
    }
}

// What was decided is written, or was refused.
static void looks_written(struct planning *planning, struct now now)
{
    struct looks *looks = container_of(planning, struct looks, planning);
    looks->now = now;
    looks->busy = false;
    if (planning->plan.op.err)
        looks_failed(looks, &planning->plan.op);
    size_t at = 0;
    list_each (&looks->reading, link) {
        struct look *look = list_entry(link, struct look, link);
        enum err err = look->item.plan ? planning->plan.items[at++].err : ERR_OK;
        list_remove(link);
        if (err) {
            mark(MARK_PLAN_AGAIN);
            look_again(looks, look);
        } else {
            follow_look(looks, look);
        }
    }
    planning_done(planning);
    store_op_done(&looks->read.op);
}

static const struct store_task *find_task(const struct store_plans *read, int64_t id)
{
    size_t from = 0, to = read->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (read->tasks[middle].id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < read->count && read->tasks[from].id == id ? &read->tasks[from] : NULL;
}

// I6: nothing is decided about an order of a life that has ended. Others may have its job by now, and run it.
static bool is_of_this_life(const struct looks *looks, const struct look *look)
{
    return !look->order || look->order->job.holder == atomic_load(&looks->node->incarnation);
}

static void take_read(struct looks *looks)
{
    struct store_plans *read = &looks->read;
    if (read->op.err) {
        looks->busy = false;
        looks_failed(looks, &read->op);
        store_op_done(&read->op);
        return;
    }
    planning_init(&looks->planning, BATCH_MAX, looks_written);
    list_each (&looks->reading, link) {
        struct look *look = list_entry(link, struct look, link);
        const struct store_task *task = find_task(read, look->task_id);
        if (task && is_of_this_life(looks, look)) {
            decide(looks, look, task, &read->op.arena);
        } else { // or it was deleted
            list_remove(link);
            if (look->order)
                give_up(looks, look, ORDER_RELEASED, (struct str){0});
            look_free(looks, look);
        }
    }
    CRASH_POINT("recur.before_plan");
    if (looks->planning.plan.count)
        recorder_plan(looks->recorder, &looks->planning, looks->now.wall_ms);
    else
        looks_written(&looks->planning, looks->now);
}

static void start_read(struct looks *looks)
{
    struct map chosen = {0};
    size_t count = 0;
    if (looks->busy || looks->now.mono_ms < looks->read_at || list_empty(&looks->waiting))
        return;
    looks->read = (struct store_plans){0};
    store_op_post(&looks->read.op, STORE_PLANS, &looks->answers);
    int64_t *ids = arena_array(&looks->read.op.arena, int64_t, BATCH_MAX);
    list_each (&looks->waiting, link) {
        struct look *look = list_entry(link, struct look, link);
        if (count == BATCH_MAX)
            break;
        if (map_get(&chosen, look->task_id))
            continue; // one decision a plan at a time
        map_put(&chosen, look->task_id, look);
        ids[count++] = look->task_id;
        look->is_read = true;
        list_remove(link);
        list_append(&looks->reading, link);
    }
    map_done(&chosen);
    looks->read.ids = ids;
    looks->read.id_count = count;
    looks->busy = true;
    store_submit(looks->node->store, &looks->read.op);
}

// ---- the turn

// A node that stops, or whose life has ended, begins nothing: orders that wait for their plan go back.
static void give_back(struct looks *looks)
{
    list_each (&looks->waiting, link) {
        struct look *look = list_entry(link, struct look, link);
        list_remove(link);
        if (look->order)
            give_up(looks, look, ORDER_RELEASED, (struct str){0});
        look_free(looks, look);
    }
}

int64_t looks_turn(struct looks *looks, struct now now)
{
    struct list answers;
    list_init(&answers);
    looks->now = now;
    active_check_turn(looks->check);
    mailbox_take(&looks->answers, &answers);
    if (!list_empty(&answers))
        take_read(looks);
    if (atomic_load(&looks->node->stopping) || !atomic_load(&looks->node->incarnation)) {
        give_back(looks);
        return TIME_NEVER;
    }
    if (!node_alive(looks->node, now.mono_ms))
        return TIME_NEVER; // the next beat wakes
    start_read(looks);
    if (looks->busy || list_empty(&looks->waiting))
        return TIME_NEVER; // the answer wakes
    return now.wall_ms + time_max(looks->read_at - now.mono_ms, 1);
}
