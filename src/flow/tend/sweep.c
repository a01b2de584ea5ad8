// A round (flow/tend/round) cancels what has expired while it waited; then retention removes what it lets go. Both are bounded.
// If there was more, the next begins at once, otherwise after ROUND_MS. Jobs in hand are not looked for here: pull and dispatch
// check them before they start.
#include "flow/tend/sweep.h"

#include "base/crash.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/tend/round.h"
#include "store/jobs.h"

enum { EVENT_KEPT_MS = 60 * 1000 }; // for the nodes that listen
static const int64_t SERIES_KEPT_MS = INT64_C(7) * 24 * 3600 * 1000;
enum { ROUND_MS = 1000, FAIL_WAIT_MS = 1000, EXPIRED_MAX = 500, SWEEP_MAX = 1000, PAUSE_MS = 20 };

struct sweep {
    struct round round;
    struct mailbox answers;
    bool removing;   // an answer of `op` is to come
    bool full;       // there was more to do than one round does
    int64_t next_at; // monotonic
    struct store_sweep op;
};

static enum err expire(struct round *round, struct job *job, const struct job_policy *policy, struct job_step *ret_step)
{
    return job_cancel(job, policy, round->now.wall_ms, STR("expired"), ret_step);
}

static void expired(struct round *round, const struct job *job)
{
    mark(MARK_EXPIRED_WAITING);
}

static void remove_old(struct sweep *sweep)
{
    struct now now = sweep->round.now;
    CRASH_POINT("sweep.before");
    store_op_post(&sweep->op.op, STORE_SWEEP, &sweep->answers);
    sweep->op.now_ms = now.wall_ms;
    sweep->op.keys_until = now.wall_ms + SWEEP_KEYS_KEPT_MS;
    sweep->op.max = SWEEP_MAX;
    sweep->op.series_before = now.wall_ms - SERIES_KEPT_MS;
    sweep->op.events_before = now.wall_ms - EVENT_KEPT_MS;
    sweep->removing = true;
    store_submit(sweep->round.node->store, &sweep->op.op);
}

static void ended(struct round *round, enum err err)
{
    struct sweep *sweep = container_of(round, struct sweep, round);
    sweep->full = round->find.more;
    sweep->next_at = round->now.mono_ms + FAIL_WAIT_MS;
    if (!err)
        remove_old(sweep);
}

struct sweep *sweep_new(struct node *node, struct recorder *recorder)
{
    struct sweep *sweep = mem_zero(sizeof *sweep);
    mailbox_init(&sweep->answers, node->flow_waker);
    round_init(&sweep->round, node, recorder, "sweep", &sweep->answers);
    sweep->round.decide = expire;
    sweep->round.wrote = expired;
    sweep->round.ended = ended;
    sweep->round.find.what = STORE_FIND_EXPIRED;
    sweep->round.find.max = EXPIRED_MAX;
    return sweep;
}

void sweep_free(struct sweep *sweep)
{
    if (!sweep)
        return;
    round_done(&sweep->round);
    store_op_done(&sweep->op.op); // of an answer that came too late
    mailbox_done(&sweep->answers);
    mem_free(sweep);
}

static void removed(struct sweep *sweep, struct now now)
{
    struct node *node = sweep->round.node;
    sweep->removing = false;
    sweep->full |= sweep->op.removed >= SWEEP_MAX;
    sweep->next_at = sweep->full ? now.mono_ms + PAUSE_MS : node_round(node, now.mono_ms, ROUND_MS);
    if (sweep->op.op.err) {
        node_say_failed(node, "sweep", &sweep->op.op, now.mono_ms);
        sweep->next_at = now.mono_ms + FAIL_WAIT_MS;
    }
    store_op_done(&sweep->op.op);
}

int64_t sweep_turn(struct sweep *sweep, struct now now)
{
    struct node *node = sweep->round.node;
    struct list answers;
    list_init(&answers);
    mailbox_take(&sweep->answers, &answers);
    list_each (&answers, link) {
        if (list_entry(link, struct store_op, link) == &sweep->op.op)
            removed(sweep, now);
        else
            round_found(&sweep->round, now);
    }
    bool busy = sweep->round.under_way || sweep->removing;
    if (busy || atomic_load(&node->stopping) || !node_alive(node, now.mono_ms))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms < sweep->next_at)
        return now.wall_ms + time_max(sweep->next_at - now.mono_ms, 1);
    round_begin(&sweep->round, now);
    return TIME_NEVER;
}
