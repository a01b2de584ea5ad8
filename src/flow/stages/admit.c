// Ids, the plan of what recurs, push or not, one addition. It does not parse (core/task/task) nor answer (api/), nor does it
// write (flow/record).
#include "flow/stages/admit.h"

#include "base/mem.h"
#include "flow/stages/recur.h"

#include <assert.h>

struct admit {
    struct node *node;
    struct recorder *recorder;
    struct zones *zones;
};

struct admit *admit_new(struct node *node, struct recorder *recorder, struct zones *zones)
{
    struct admit *admit = mem_zero(sizeof *admit);
    admit->node = node;
    admit->recorder = recorder;
    admit->zones = zones;
    return admit;
}

void admit_free(struct admit *admit)
{
    mem_free(admit);
}

void admission_init(struct admission *admission, int32_t tenant, size_t max)
{
    *admission = (struct admission){.tenant = tenant, .max = max};
    store_op_init(&admission->addition.add.op, STORE_ADD, NULL);
    struct arena *arena = &admission->addition.add.op.arena;
    admission->addition.add.items = arena_array(arena, struct store_new, max);
    admission->tasks = arena_array(arena, struct store_task, max);
    admission->jobs = arena_array(arena, struct job, max);
    admission->recurs = arena_array(arena, const struct task *, max);
    admission->addition.orders = arena_array(arena, struct order *, max);
}

void admission_done(struct admission *admission)
{
    store_op_done(&admission->addition.add.op);
}

// The job of a one-time task. ERR_INVALID_FIELD: it could never run.
static enum err plan_once(const struct task *task, int32_t tenant, int64_t now_ms, struct job *ret_job, struct problem *why)
{
    int64_t scheduled_at, expires_at;
    enum err err = task_plan(task, now_ms, &scheduled_at, &expires_at, why);
    if (err)
        return err;
    *ret_job = (struct job){.tenant = tenant,
                            .state = scheduled_at > now_ms ? JOB_DELAYED : JOB_READY,
                            .priority = (uint8_t)task->priority,
                            .scheduled_at = scheduled_at,
                            .ready_at = scheduled_at,
                            .due_at = scheduled_at,
                            .expires_at = expires_at,
                            .token = 1};
    return ERR_OK;
}

enum err admission_add(struct admission *admission, const struct task *task, struct str doc, const uint8_t *digest,
                       int64_t now_ms, struct problem *why)
{
    struct arena *arena = &admission->addition.add.op.arena;
    size_t i = admission->count;
    bool recurs = task_recurs(task);
    assert(i < admission->max);
    enum err err = recurs ? ERR_OK : plan_once(task, admission->tenant, now_ms, &admission->jobs[i], why);
    if (err)
        return err;
    if (recurs) { // it is planned when it has its id
        struct task *kept = arena_alloc(arena, sizeof *kept);
        *kept = *task;
        admission->recurs[i] = kept;
    }
    admission->count++;
    admission->tasks[i] = (struct store_task){.tenant = admission->tenant,
                                              .created_at = now_ms,
                                              .version = 1,
                                              .dispatch = target_rule(task->target.kind)->dispatch,
                                              .queue = task->queue,
                                              .name = task->name,
                                              .doc = doc};
    store_task_tag(&admission->tasks[i], task, arena);
    admission->addition.add.items[i] =
        (struct store_new){.task = &admission->tasks[i], .jobs = &admission->jobs[i], .job_count = !recurs, .key = task->key};
    if (task->key.n)
        memcpy(admission->addition.add.items[i].digest, digest, sizeof admission->addition.add.items[i].digest);
    return ERR_OK;
}

// The plan of a task that recurs, and its first jobs.
static void plan_again(struct admission *admission, size_t i, int64_t now_ms)
{
    struct arena *arena = &admission->addition.add.op.arena;
    struct store_new *item = &admission->addition.add.items[i];
    const struct task *task = admission->recurs[i];
    struct schedule schedule;
    struct problem why = {0};
    struct plan *plan = arena_alloc(arena, sizeof *plan);
    struct plan_rows *rows = arena_alloc(arena, sizeof *rows);
    if (!zones_schedule(admission->admit->zones, task, admission->tasks[i].id, admission->tasks[i].created_at, arena, &schedule,
                        &why))
        return; // it was checked
    *plan = (struct plan){.task_id = admission->tasks[i].id,
                          .tenant = admission->tenant,
                          .version = 1,
                          .revision = 1,
                          .reserved = admission->reserved};
    plan_begin(plan, admission->tasks[i].created_at);
    plan_extend(plan, &schedule, &task->recurs->rules, now_ms, arena, rows);
    admission->tasks[i].plan = plan;
    item->jobs = recur_make_jobs(admission->admit->node, task, plan, rows, now_ms, arena);
    item->job_count = rows->count;
}

// Takes a place in the lane and the job in hand: the claim is written by the insertion itself. The order is made here, on the
// thread that has just read the document, so that the store's thread only has to pass it on.
static void try_push(struct node *node, struct admission *admission, size_t i, int64_t incarnation, struct now now)
{
    struct job *job = &admission->jobs[i];
    if (job->due_at > now.wall_ms + LANES_AHEAD_MS || admission->tasks[i].dispatch != TARGET_CALLED)
        return;
    struct str doc = admission->tasks[i].doc;
    int64_t lane = lanes_take(node->lanes, admission->tenant, admission->tasks[i].queue, doc.n, now.wall_ms);
    if (!lane)
        return;
    if (job_claim(job, incarnation, now.wall_ms)) {
        lanes_give(node->lanes, lane, doc.n);
        return;
    }
    job->lane = lane;
    admission->addition.orders[i] = order_new(job, doc);
}

static void added(struct addition *addition)
{
    struct admission *admission = container_of(addition, struct admission, addition);
    if (admission->pushes)
        node_push_end(admission->admit->node);
    admission->done(admission);
}

enum err admit_submit(struct admit *admit, struct admission *admission, struct now now)
{
    struct node *node = admit->node;
    if (atomic_load(&node->stopping))
        return ERR_STOPPING;
    int64_t incarnation = atomic_load(&node->incarnation);
    admission->admit = admit;
    if (!incarnation)
        return ERR_STORE_UNAVAILABLE;
    admission->pushes = node->pulls && node_alive(node, now.mono_ms) && node_push_begin(node);
    for (size_t i = 0; i < admission->count; i++) {
        struct job *job = &admission->jobs[i];
        job->id = job->task_id = admission->tasks[i].id = node_make_id(node, now.wall_ms);
        if (admission->recurs[i])
            plan_again(admission, i, now.wall_ms);
        else if (admission->pushes)
            try_push(node, admission, i, incarnation, now);
    }
    admission->addition.done = added;
    admission->addition.add.now_ms = now.wall_ms;
    admission->addition.add.holder = incarnation; // also of what is not held: the ids are its own
    admission->addition.add.count = admission->count;
    recorder_add(admit->recorder, &admission->addition);
    return ERR_OK;
}
