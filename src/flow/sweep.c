// A round is expired -> change -> sweep, one operation at a time and each bounded; a round that had its hands full is followed by
// the next at once, otherwise after ROUND_MS. Jobs in hand are not looked for here: pull and dispatch check them before they
// start.
#include "flow/sweep.h"

#include "base/crash.h"
#include "base/mark.h"
#include "base/mem.h"
#include "core/task.h"

enum { NEWS_KEPT_MS = 60 * 1000 }; // for the nodes that listen
static const int64_t SERIES_KEPT_MS = INT64_C(7) * 24 * 3600 * 1000;
enum { ROUND_MS = 1000, FAIL_WAIT_MS = 1000, EXPIRED_MAX = 500, SWEEP_MAX = 1000, PAUSE_MS = 20 };

struct sweep {
    struct node *node;
    struct mailbox answers;
    bool waiting, full;
    int64_t next_at; // monotonic
    struct store_find expired;
    struct store_change change;
    struct store_sweep sweep;
};

struct sweep *sweep_new(struct node *node)
{
    struct sweep *sweep = mem_zero(sizeof *sweep);
    sweep->node = node;
    mailbox_init(&sweep->answers, node->flow_waker);
    return sweep;
}

void sweep_free(struct sweep *sweep)
{
    if (!sweep)
        return;
    store_op_done(&sweep->expired.op); // of answers that came too late
    store_op_done(&sweep->change.op);
    store_op_done(&sweep->sweep.op);
    mailbox_done(&sweep->answers);
    mem_free(sweep);
}

static void submit(struct sweep *sweep, struct store_op *op)
{
    sweep->waiting = true;
    store_submit(sweep->node->store, op);
}

static void send_expired(struct sweep *sweep, struct now now)
{
    store_op_post(&sweep->expired.op, STORE_FIND, &sweep->answers);
    sweep->expired.what = STORE_FIND_EXPIRED;
    sweep->expired.now_ms = now.wall_ms;
    sweep->expired.max = EXPIRED_MAX;
    sweep->expired.job_count = 0;
    submit(sweep, &sweep->expired.op);
}

static void send_sweep(struct sweep *sweep, struct now now)
{
    CRASH_POINT("sweep.before");
    store_op_post(&sweep->sweep.op, STORE_SWEEP, &sweep->answers);
    sweep->sweep.now_ms = now.wall_ms;
    sweep->sweep.keys_until = now.wall_ms + SWEEP_KEYS_KEPT_MS;
    sweep->sweep.max = SWEEP_MAX;
    sweep->sweep.series_before = now.wall_ms - SERIES_KEPT_MS;
    sweep->sweep.news_before = now.wall_ms - NEWS_KEPT_MS;
    submit(sweep, &sweep->sweep.op);
}

// The records are those of `expired`, which is kept until the change is done.
static void send_change(struct sweep *sweep, struct now now)
{
    struct store_change *change = &sweep->change;
    store_op_post(&change->op, STORE_CHANGE, &sweep->answers);
    struct arena *arena = &change->op.arena;
    change->steps = arena_array(arena, struct store_step, sweep->expired.job_count);
    change->count = 0;
    for (size_t i = 0; i < sweep->expired.job_count; i++) {
        struct store_job *found = &sweep->expired.jobs[i];
        struct job_policy policy = task_policy(found->doc, arena);
        struct job_step step;
        int64_t token = found->job.token;
        if (job_cancel(&found->job, &policy, now.wall_ms, STR("expired"), &step))
            continue;
        mark(MARK_EXPIRED_WAITING);
        change->steps[change->count++] = (struct store_step){.token = token, .job = &found->job};
    }
    submit(sweep, &change->op);
}

static void take_change(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->change.count && !sweep->change.op.err; i++) {
        const struct store_step *step = &sweep->change.steps[i];
        if (!step->err)
            node_changed_doc(sweep->node, step->job, NULL, container_of(step->job, struct store_job, job)->doc);
    }
}

static void take_answer(struct sweep *sweep, struct store_op *op, struct now now)
{
    sweep->waiting = false;
    if (op == &sweep->expired.op && !op->err && sweep->expired.job_count) {
        sweep->full = sweep->expired.more;
        send_change(sweep, now);
        return;
    }
    if (op == &sweep->change.op) {
        take_change(sweep);
        store_op_done(&sweep->expired.op);
    }
    enum err err = op->err;
    if (err)
        node_say_failed(sweep->node, "sweep", op, now.mono_ms);
    store_op_done(op);
    if (err) {
        sweep->next_at = now.mono_ms + FAIL_WAIT_MS;
    } else if (op != &sweep->sweep.op) {
        send_sweep(sweep, now);
    } else {
        sweep->full |= sweep->sweep.removed >= SWEEP_MAX;
        sweep->next_at = sweep->full ? now.mono_ms + PAUSE_MS : node_round(sweep->node, now.mono_ms, ROUND_MS);
        sweep->full = false;
    }
}

int64_t sweep_turn(struct sweep *sweep, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&sweep->answers, &answers);
    list_each (&answers, link)
        take_answer(sweep, list_entry(link, struct store_op, link), now);
    if (sweep->waiting || atomic_load(&sweep->node->stopping) || !node_alive(sweep->node, now.mono_ms))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms >= sweep->next_at) {
        send_expired(sweep, now);
        return TIME_NEVER;
    }
    return now.wall_ms + time_max(sweep->next_at - now.mono_ms, 1);
}
