// Nearly every pick is in time, and of a task whose jobs may overlap. Then what must stand in its plan is known without reading
// it: the fifth instant from now on is added if the fourth is the last that is planned (plan_extend_unread()). Such picks go on
// at once, and their plans are written many at a time, while the jobs run.
//
// All others are looks: the plan is read, core/schedule/plan decides, and the plan is written if it is still the one that was
// read; otherwise it is looked at again. A pick whose plan was another one than expected becomes a look, too.
//
// A process that dies between a pick and its plan leaves one job less planned, which the next pick of the task makes good, or the
// round that looks for plans which were not carried on (check_at).
#include "flow/stages/recur.h"

#include "base/crash.h"
#include "base/data/map.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur_report.h"

#include <stdio.h>

enum {
    BATCH_MAX = 500,    // plans that are read or written at once
    UNREAD_BATCHES = 2, // of plans that were not read, under way at once
    ROUND_MS = 1000,    // how often plans are looked for that were not carried on
    OVERDUE_MAX = 100,  // of them, at once
    FAIL_WAIT_MS = 200, // when the store failed
};

// A task whose plan is to be read, and what for.
struct look {
    struct list link;
    int64_t task_id;
    struct order *order; // of the job that is picked; NULL: the plan is to be looked after
    struct plan_pick pick;
    int64_t lets_go;              // a job that need not wait any more; 0: none
    bool pauses, more;            // it has failed too often; there is more to plan
    int64_t failed, failed_since; // jobs that failed, for which it is looked; and those that failed since the plan was read
    int64_t failing,
        pauses_after; // it is to be said that so many failed in a row, and after how many it pauses itself; 0: nothing
    size_t missing;   // so many jobs were removed behind rota's back, and are planned again
    const struct store_task *task; // that was read, until what was decided is written; NULL: it was not understood
    bool is_read, again;           // its plan is being read, or was; something has happened since
    struct store_planned item;     // what is to be written; .plan == NULL: nothing
};

// Something that is done by a command, because it is about another job or the whole task.
struct deed {
    struct command op;
    struct recur *recur;
    struct order *then; // goes on when it is done; NULL: nothing does
};

// Plans that are written without having been read.
struct unread {
    struct planning planning;
    struct recur *recur;
};

struct recur {
    struct node *node;
    struct recorder *recorder;
    struct pull *pull;
    struct commands *commands;
    const struct peers *peers;
    struct zones *zones;
    struct mailbox answers; // struct store_op of `read` and `overdue`
    struct now now;         // of the turn, or answer, at hand

    struct unread *unread; // of picks that went on, to be written; NULL: there are none
    int writing;           // such batches under way

    struct list waiting; // looks that are to be read
    struct list reading; // looks that are read, and then written
    struct map looked;   // task id -> look without an order: one is enough
    struct store_plans read;
    struct planning planning; // of what was read
    bool busy;                // `read` or `planning` is under way
    int64_t read_at;          // monotonic: not before, because the store failed
    size_t orders;            // that are kept

    struct store_plans overdue;
    bool seeking;
    int64_t round_at; // monotonic
};

struct recur *recur_new(struct node *node, struct recorder *recorder, struct pull *pull, struct commands *commands,
                        const struct peers *peers, struct zones *zones)
{
    struct recur *recur = mem_zero(sizeof *recur);
    recur->node = node;
    recur->recorder = recorder;
    recur->pull = pull;
    recur->commands = commands;
    recur->peers = peers;
    recur->zones = zones;
    mailbox_init(&recur->answers, node->flow_waker);
    list_init(&recur->waiting);
    list_init(&recur->reading);
    return recur;
}

static void free_looks(struct list *looks)
{
    list_each (looks, link) {
        struct look *look = list_entry(link, struct look, link);
        order_free(look->order);
        mem_free(look);
    }
}

static void free_unread(struct unread *unread)
{
    if (!unread)
        return;
    planning_done(&unread->planning);
    mem_free(unread);
}

void recur_free(struct recur *recur)
{
    if (!recur)
        return;
    free_looks(&recur->waiting);
    free_looks(&recur->reading);
    map_done(&recur->looked);
    free_unread(recur->unread);
    store_op_done(&recur->read.op);
    store_op_done(&recur->overdue.op);
    mailbox_done(&recur->answers);
    mem_free(recur);
}

bool recur_idle(const struct recur *recur)
{
    return recur->orders == 0 && recur->writing == 0 && !recur->busy;
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

// ---- picks that need no reading

static void write_unread(struct recur *recur)
{
    if (!recur->unread || recur->writing == UNREAD_BATCHES)
        return;
    recur->writing++;
    CRASH_POINT("recur.before_plan");
    recorder_plan(recur->recorder, &recur->unread->planning, recur->now.wall_ms);
    recur->unread = NULL;
}

static struct look *look_after(struct recur *recur, int64_t task_id)
{
    struct look *look = map_get(&recur->looked, task_id);
    if (look) {
        look->again = look->is_read; // what was read may be older than what is to be looked at
        return look;
    }
    look = mem_zero(sizeof *look);
    look->task_id = task_id;
    map_put(&recur->looked, task_id, look);
    list_append(&recur->waiting, &look->link);
    return look;
}

static void unread_written(struct planning *planning, struct now now)
{
    struct unread *unread = container_of(planning, struct unread, planning);
    struct recur *recur = unread->recur;
    recur->now = now;
    recur->writing--;
    CRASH_POINT("recur.after_plan");
    if (planning->plan.op.err)
        node_say_failed(recur->node, "recur", &planning->plan.op, now.mono_ms);
    for (size_t i = 0; i < planning->plan.count; i++)
        if (planning->plan.op.err || planning->plan.items[i].err) {
            mark(MARK_PLAN_AGAIN);
            look_after(recur, planning->plan.items[i].plan->task_id);
        }
    free_unread(unread);
}

// NULL: there are too many already.
static struct planning *unread_batch(struct recur *recur)
{
    if (recur->unread && recur->unread->planning.plan.count == BATCH_MAX)
        write_unread(recur);
    if (!recur->unread) {
        recur->unread = mem_alloc(sizeof *recur->unread);
        recur->unread->recur = recur;
        planning_init(&recur->unread->planning, BATCH_MAX, unread_written);
    }
    return recur->unread->planning.plan.count < BATCH_MAX ? &recur->unread->planning : NULL;
}

static struct record_subject subject_of(const struct task *task, struct arena *arena)
{
    return (struct record_subject){.queue = arena_copy(arena, task->queue), .name = arena_copy(arena, task->name)};
}

static struct plan_row row_of(const struct job *job)
{
    return (struct plan_row){.nominal_at = job->nominal_at, .due_at = job->scheduled_at};
}

// Adds what follows a job that runs, if that is known without reading the plan.
static bool plan_unread(struct recur *recur, const struct order *order, const struct schedule *schedule)
{
    struct plan_unread unread;
    struct planning *planning = unread_batch(recur);
    if (!planning || !plan_extend_unread(schedule, &order->task.recurs->rules, row_of(&order->job), recur->now.wall_ms, &unread))
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
    item.jobs = recur_make_jobs(recur->node, &order->task, plan, &rows, recur->now.wall_ms, arena);
    planning_add(planning, item, subject_of(&order->task, arena));
    return true;
}

bool recur_pick(struct recur *recur, struct order *order, struct now now)
{
    const struct recurrence *recurs = order->task.recurs; // NULL: of a document that cannot be read
    const struct job *job = &order->job;
    struct schedule schedule;
    struct problem why = {0};
    struct arena arena;
    recur->now = now;
    if (job->attempts && recurs && recurs->rules.overlap == PLAN_OVERLAP_ALLOW)
        return true; // it was picked before
    arena_init(&arena);
    bool known = zones_schedule(recur->zones, &order->task, job->task_id, job->nominal_at, &arena, &schedule, &why);
    bool runs = known && plan_pick_unread(&schedule, &recurs->rules, row_of(job), now.wall_ms);
    bool planned = runs && plan_unread(recur, order, &schedule);
    arena_done(&arena);
    if (runs && !planned)
        look_after(recur, job->task_id);
    if (runs)
        return true;
    struct look *look = mem_zero(sizeof *look);
    look->task_id = job->task_id;
    look->order = order;
    recur->orders++;
    list_append(&recur->waiting, &look->link);
    return false;
}

// ---- what follows a look

static void deed_done(struct command *op)
{
    struct deed *deed = op->ctx;
    if (op->err && op->err != ERR_NOT_FOUND && op->err != ERR_ILLEGAL_TRANSITION) // those have ended, which is as good
        log_warn("recurring task: %s", op->why);
    if (deed->then) {
        deed->recur->orders--;
        pull_picked(deed->recur->pull, deed->then, deed->recur->now);
    }
    mem_free(deed);
}

static void submit_deed(struct recur *recur, struct command op, struct order *then)
{
    struct deed *deed = mem_zero(sizeof *deed);
    deed->op = op;
    deed->op.done = deed_done;
    deed->op.ctx = deed;
    deed->recur = recur;
    deed->then = then;
    commands_submit(recur->commands, &deed->op);
}

static struct str reason_of(enum plan_reason reason)
{
    static const char *const texts[PLAN_REASON_COUNT] = {[PLAN_MISFIRE] = "skipped: its time was missed",
                                                         [PLAN_OVERLAP] = "skipped: another run of the task has not ended",
                                                         [PLAN_PAUSED] = "skipped: the task was paused",
                                                         [PLAN_EXCLUDED] = "skipped: the day is excluded",
                                                         [PLAN_WINDOW] =
                                                             "skipped: its time was missed by more than misfire_window"};
    return str_of(texts[reason]);
}

static void give_up(struct recur *recur, struct look *look, enum order_end end, struct str reason)
{
    recur->orders--;
    pull_give_up(recur->pull, look->order, end, reason);
    look->order = NULL;
}

static void follow_pick(struct recur *recur, struct look *look)
{
    struct order *order = look->order;
    if (look->pick.verdict == PLAN_SKIPPED) {
        mark(MARK_SKIPPED);
        give_up(recur, look, ORDER_SKIPPED, reason_of(look->pick.reason));
    } else if (look->pick.verdict == PLAN_QUEUED) {
        mark(MARK_QUEUED);
        give_up(recur, look, ORDER_BLOCKED, (struct str){0});
    } else if (look->pick.cancels) {
        mark(MARK_OVERLAP_CANCELLED);
        look->order = NULL;
        submit_deed(recur, (struct command){.act = COMMAND_CANCEL, .tenant = order->job.tenant, .job_id = look->pick.cancels},
                    order);
    } else {
        look->order = NULL;
        recur->orders--;
        pull_picked(recur->pull, order, recur->now);
    }
}

static void look_free(struct recur *recur, struct look *look)
{
    if (map_get(&recur->looked, look->task_id) == look)
        map_remove(&recur->looked, look->task_id);
    mem_free(look);
}

static void follow_look(struct recur *recur, struct look *look)
{
    int64_t task_id = look->task_id, failed_since = look->failed_since;
    bool more = look->more || look->again;
    if (look->missing)
        recur_report_missing(recur->node, look->task, look->missing, recur->now.wall_ms);
    if (look->failing)
        recur_report_failing(recur->node, look->task, look->failing, look->pauses_after, recur->now.wall_ms);
    if (look->order)
        follow_pick(recur, look);
    if (look->lets_go)
        submit_deed(recur, (struct command){.act = COMMAND_UNBLOCK, .job_id = look->lets_go}, NULL);
    if (look->pauses)
        submit_deed(recur, (struct command){.act = COMMAND_PAUSE, .task_id = task_id, .by = STR("failures")}, NULL);
    look_free(recur, look);
    if (more)
        look_after(recur, task_id)->failed += failed_since;
}

// ---- looks

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
    int64_t warns_at = recurrence_warns_after(task->recurs);
    look->pauses = !stored->paused && look->failed && most && row >= most && stored->plan->last_at > stored->updated_at;
    bool crosses = row >= warns_at && row - look->failed < warns_at;
    look->failing = !stored->paused && warns_at && crosses && row < most ? row : 0;
    look->pauses_after = most;
}

// Plans missing jobs again, as far as there is room in `rows`. One that is in hand runs all the same: SQLite's record of it does
// not say that it was claimed, so its removal is noted, too.
static void replace_missing(struct recur *recur, struct look *look, struct plan *plan, const struct schedule *schedule,
                            struct arena *arena, struct plan_rows *rows)
{
    struct plan_missing missing;
    while (rows->count < PLAN_ROWS_MAX && plan_take_missing(plan, schedule, arena, &missing)) {
        look->missing++;
        if (missing.owed && !pull_holds(recur->pull, missing.job_id))
            rows->rows[rows->count++] = missing.row;
    }
    if (plan->missing.n)
        rows->more = true;
}

static bool know_schedule(struct recur *recur, const struct task *task, const struct store_task *stored, struct arena *arena,
                          struct schedule *ret_schedule)
{
    struct problem why = {0};
    if (zones_schedule(recur->zones, task, stored->id, stored->created_at, arena, ret_schedule, &why))
        return true;
    if (strcmp(why.field, "/timezone") == 0)
        warnings_add(recur->node->warnings, WARNING_ZONE_MISSING, stored->id, recur->now.wall_ms, why.detail);
    return false;
}

// Decides what follows for a task that was read; what is to be written is in look->item. A task whose schedule cannot be known
// keeps its plan, and its jobs run: they were planned when it could.
static void decide(struct recur *recur, struct look *look, const struct store_task *stored, struct arena *arena)
{
    struct task task;
    struct schedule schedule;
    char words[ERR_WHY_MAX];
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    struct plan_rows *rows = arena_alloc(arena, sizeof *rows);
    int64_t now_ms = recur->now.wall_ms;
    *plan = *stored->plan;
    look->pick = (struct plan_pick){.verdict = PLAN_RUNS};
    look->task = stored;
    look->missing = 0;
    if (!task_read(&task, stored->doc, arena, words) || !know_schedule(recur, &task, stored, arena, &schedule))
        return;
    if (look->order)
        look->pick =
            plan_pick(plan, &schedule, &task.recurs->rules, look->order->job.id, row_of(&look->order->job), now_ms, arena);
    plan_extend(plan, &schedule, &task.recurs->rules, now_ms, arena, rows);
    replace_missing(recur, look, plan, &schedule, arena, rows);
    look->more = rows->more;
    look->lets_go = plan_next_queued(plan, &task.recurs->rules);
    judge_failures(look, &task, stored);
    if (!rows->count && !plans_differ(plan, stored->plan))
        return;
    look->item = (struct store_planned){.from = stored->plan->planned_through, .plan = plan, .job_count = rows->count};
    look->item.jobs = recur_make_jobs(recur->node, &task, plan, rows, now_ms, arena);
    planning_add(&recur->planning, look->item, (struct record_subject){.queue = stored->queue, .name = stored->name});
}

static void look_again(struct recur *recur, struct look *look)
{
    look->item.plan = NULL;
    look->is_read = look->again = false;
    look->failed += look->failed_since;
    look->failed_since = 0;
    list_append(&recur->waiting, &look->link);
}

static void looks_failed(struct recur *recur, const struct store_op *op)
{
    node_say_failed(recur->node, "recur", op, recur->now.mono_ms);
    recur->read_at = recur->now.mono_ms + FAIL_WAIT_MS;
    list_each (&recur->reading, link) {
        list_remove(link);
        look_again(recur, list_entry(link, struct look, link));
    }
}

// What was decided is written, or was refused.
static void looks_written(struct planning *planning, struct now now)
{
    struct recur *recur = container_of(planning, struct recur, planning);
    recur->now = now;
    recur->busy = false;
    if (planning->plan.op.err)
        looks_failed(recur, &planning->plan.op);
    size_t at = 0;
    list_each (&recur->reading, link) {
        struct look *look = list_entry(link, struct look, link);
        enum err err = look->item.plan ? planning->plan.items[at++].err : ERR_OK;
        list_remove(link);
        if (err) {
            mark(MARK_PLAN_AGAIN);
            look_again(recur, look);
        } else {
            follow_look(recur, look);
        }
    }
    planning_done(planning);
    store_op_done(&recur->read.op);
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

static void take_read(struct recur *recur)
{
    struct store_plans *read = &recur->read;
    if (read->op.err) {
        recur->busy = false;
        looks_failed(recur, &read->op);
        store_op_done(&read->op);
        return;
    }
    planning_init(&recur->planning, BATCH_MAX, looks_written);
    list_each (&recur->reading, link) {
        struct look *look = list_entry(link, struct look, link);
        const struct store_task *task = find_task(read, look->task_id);
        if (task) {
            decide(recur, look, task, &read->op.arena);
        } else { // it was deleted
            list_remove(link);
            if (look->order)
                give_up(recur, look, ORDER_RELEASED, (struct str){0});
            look_free(recur, look);
        }
    }
    CRASH_POINT("recur.before_plan");
    if (recur->planning.plan.count)
        recorder_plan(recur->recorder, &recur->planning, recur->now.wall_ms);
    else
        looks_written(&recur->planning, recur->now);
}

static void start_read(struct recur *recur)
{
    struct map chosen = {0};
    size_t count = 0;
    if (recur->busy || recur->now.mono_ms < recur->read_at || list_empty(&recur->waiting))
        return;
    recur->read = (struct store_plans){0};
    store_op_post(&recur->read.op, STORE_PLANS, &recur->answers);
    int64_t *ids = arena_array(&recur->read.op.arena, int64_t, BATCH_MAX);
    list_each (&recur->waiting, link) {
        struct look *look = list_entry(link, struct look, link);
        if (count == BATCH_MAX)
            break;
        if (map_get(&chosen, look->task_id))
            continue; // one decision a plan at a time
        map_put(&chosen, look->task_id, look);
        ids[count++] = look->task_id;
        look->is_read = true;
        list_remove(link);
        list_append(&recur->reading, link);
    }
    map_done(&chosen);
    recur->read.ids = ids;
    recur->read.id_count = count;
    recur->busy = true;
    store_submit(recur->node->store, &recur->read.op);
}

// ---- plans that were not carried on

static void take_overdue(struct recur *recur)
{
    struct store_plans *overdue = &recur->overdue;
    recur->seeking = false;
    for (size_t i = 0; i < overdue->count; i++) {
        mark(MARK_PLAN_OVERDUE);
        look_after(recur, overdue->tasks[i].id);
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

void recur_ended(struct recur *recur, int64_t task_id, enum job_state end)
{
    struct look *look = look_after(recur, task_id);
    if (end == JOB_ABORTED || end == JOB_BURIED)
        *(look->is_read ? &look->failed_since : &look->failed) += 1;
}

bool recur_is_calm(const struct task *task, enum job_state end)
{
    bool failed = end == JOB_ABORTED || end == JOB_BURIED;
    const struct recurrence *recurs = task->recurs;
    return !recurs || (recurs->rules.overlap != PLAN_OVERLAP_QUEUE && !(failed && recurs->pause_after_failures));
}

// ---- the turn

static void take_answers(struct recur *recur)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&recur->answers, &answers);
    list_each (&answers, link) {
        if (list_entry(link, struct store_op, link) == &recur->read.op)
            take_read(recur);
        else
            take_overdue(recur);
    }
}

// A node that stops, or whose life has ended, begins nothing: orders that wait for their plan go back.
static void give_back(struct recur *recur)
{
    list_each (&recur->waiting, link) {
        struct look *look = list_entry(link, struct look, link);
        list_remove(link);
        if (look->order)
            give_up(recur, look, ORDER_RELEASED, (struct str){0});
        look_free(recur, look);
    }
}

int64_t recur_turn(struct recur *recur, struct now now)
{
    recur->now = now;
    take_answers(recur);
    write_unread(recur);
    if (atomic_load(&recur->node->stopping) || !atomic_load(&recur->node->incarnation)) {
        give_back(recur);
        return TIME_NEVER;
    }
    if (!node_alive(recur->node, now.mono_ms))
        return TIME_NEVER; // the next beat wakes
    start_read(recur);
    int64_t next = seek_overdue(recur);
    if (!recur->busy && !list_empty(&recur->waiting))
        next = time_min(next, now.wall_ms + time_max(recur->read_at - now.mono_ms, 1));
    return next;
}
