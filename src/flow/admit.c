// Ids, push or not, one STORE_ADD. It does not parse (core/task) nor answer (api/).
#include "flow/admit.h"

#include "base/crash.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/pull.h"

#include <assert.h>

struct admit {
    struct node *node;
    struct pull *pull;
};

struct admit *admit_new(struct node *node, struct pull *pull)
{
    struct admit *admit = mem_zero(sizeof *admit);
    admit->node = node;
    admit->pull = pull;
    return admit;
}

void admit_free(struct admit *admit)
{
    mem_free(admit);
}

void admission_init(struct admission *admission, int32_t tenant, size_t max)
{
    *admission = (struct admission){.tenant = tenant, .max = max};
    store_op_init(&admission->add.op, STORE_ADD, NULL);
    struct arena *arena = &admission->add.op.arena;
    admission->add.items = arena_array(arena, struct store_new, max);
    admission->tasks = arena_array(arena, struct store_task, max);
    admission->jobs = arena_array(arena, struct job, max);
    admission->orders = arena_array(arena, struct order *, max);
}

void admission_done(struct admission *admission)
{
    store_op_done(&admission->add.op);
}

enum err admission_add(struct admission *admission, const struct task *task, struct str doc, const uint8_t *digest,
                       int64_t now_ms, struct problem *why)
{
    int64_t scheduled_at, expires_at;
    enum err err = task_plan(task, now_ms, &scheduled_at, &expires_at, why);
    if (err)
        return err;
    assert(admission->count < admission->max);
    size_t i = admission->count++;
    admission->tasks[i] = (struct store_task){
        .tenant = admission->tenant, .created_at = now_ms, .version = 1, .queue = task->queue, .name = task->name, .doc = doc};
    store_task_tag(&admission->tasks[i], task, &admission->add.op.arena);
    admission->jobs[i] = (struct job){.tenant = admission->tenant,
                                      .state = scheduled_at > now_ms ? JOB_DELAYED : JOB_READY,
                                      .priority = (uint8_t)task->priority,
                                      .scheduled_at = scheduled_at,
                                      .ready_at = scheduled_at,
                                      .due_at = scheduled_at,
                                      .expires_at = expires_at,
                                      .token = 1};
    admission->add.items[i] =
        (struct store_new){.task = &admission->tasks[i], .jobs = &admission->jobs[i], .job_count = 1, .key = task->key};
    if (task->key.n)
        memcpy(admission->add.items[i].digest, digest, sizeof admission->add.items[i].digest);
    return ERR_OK;
}

// Takes a place in the lane and the job in hand: the claim is written by the insertion itself. The order is made here, on the
// thread that has just read the document, so that the store's thread only has to pass it on.
static void try_push(struct node *node, struct admission *admission, size_t i, int64_t incarnation, struct now now)
{
    struct job *job = &admission->jobs[i];
    if (job->due_at > now.wall_ms + LANES_AHEAD_MS)
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
    admission->orders[i] = order_new(job, doc);
}

static void drop_push(struct node *node, struct order *order)
{
    if (!order)
        return;
    lanes_give(node->lanes, order->job.lane, order->doc.n);
    order_free(order);
}

// On a thread of the store, before it begins the next batch: whoever cancels the job afterwards finds it handed over.
static void add_done(struct store_op *op)
{
    struct admission *admission = container_of(op, struct admission, add.op);
    struct node *node = admission->admit->node;
    CRASH_POINT("admit.after_commit");
    tally_time(&node->tally, TALLY_COMMIT_DELAY, (clock_mono_ns() - admission->began_ns) / 1000);
    bool wake = op->err != ERR_OK;
    atomic_store(&node->add_err, (int)op->err);
    if (op->err) {
        mark(MARK_ADD_FAILED);
        atomic_store(&node->recount_wanted, true); // it may have been stored all the same
        atomic_store(&node->survey_wanted, true);
    }
    for (size_t i = 0; i < admission->count; i++) {
        const struct store_new *item = &admission->add.items[i];
        const struct job *job = &admission->jobs[i];
        if (op->err || item->err || item->existing_id) {
            drop_push(node, admission->orders[i]);
            continue;
        }
        node_submitted(node, job, item->task->queue, item->task->name, admission->add.now_ms);
        if (admission->orders[i]) {
            pull_push(admission->admit->pull, admission->orders[i]);
        } else {
            wake |= lanes_note(node->lanes, job->lane, job->tenant, item->task->queue, job->due_at);
        }
    }
    if (admission->pushes)
        node_push_end(node);
    if (wake)
        node->flow_waker->wake(node->flow_waker);
    admission->done(admission);
}

enum err admit_submit(struct admit *admit, struct admission *admission, struct now now)
{
    struct node *node = admit->node;
    if (atomic_load(&node->stopping))
        return ERR_STOPPING;
    int64_t incarnation = atomic_load(&node->incarnation);
    if (!incarnation)
        return ERR_STORE_UNAVAILABLE;
    admission->pushes = node->pulls && node_alive(node, now.mono_ms) && node_push_begin(node);
    for (size_t i = 0; i < admission->count; i++) {
        struct job *job = &admission->jobs[i];
        job->id = job->task_id = admission->tasks[i].id = node_make_id(node, now.wall_ms);
        if (admission->pushes)
            try_push(node, admission, i, incarnation, now);
    }
    admission->admit = admit;
    admission->add.op.done = add_done;
    admission->add.now_ms = now.wall_ms;
    admission->add.holder = incarnation; // also of what is not held: the ids are its own
    admission->add.count = admission->count;
    admission->began_ns = clock_mono_ns();
    CRASH_POINT("admit.before_submit");
    store_submit(node->store, &admission->add.op);
    return ERR_OK;
}
