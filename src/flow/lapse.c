// A round is lapsed -> change, once a second and each bounded; a full one is followed by the next at once.
//
// A lease is a time on the wall clock, for any node must be able to see that it ran out, and it runs on while nobody is there to
// hear. So what ran out while this node was deaf is not ended but made longer, once: while all nodes or the store were away, and
// when the clock was set forward. Then who runs the attempt has its whole time again to say so, and nothing runs twice because
// rota slept.
#include "flow/lapse.h"

#include "base/mark.h"
#include "base/mem.h"
#include "core/task.h"
#include "flow/reap.h"

enum { ROUND_MS = 1000, FAIL_WAIT_MS = 1000, LAPSED_MAX = 500, FORWARD_MS = 1000 };

struct lapse {
    struct node *node;
    const struct reap *reap;
    struct rand rand;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    int64_t deaf_at; // monotonic: until then nobody could be heard; 0: that has not been so
    struct now last; // when it was turned last
    struct store_find lapsed;
    struct store_change change;
};

struct lapse *lapse_new(struct node *node, const struct reap *reap, uint64_t seed)
{
    struct lapse *lapse = mem_zero(sizeof *lapse);
    lapse->node = node;
    lapse->reap = reap;
    rand_init(&lapse->rand, seed);
    mailbox_init(&lapse->answers, node->flow_waker);
    return lapse;
}

void lapse_free(struct lapse *lapse)
{
    if (!lapse)
        return;
    store_op_done(&lapse->lapsed.op); // of answers that came too late
    store_op_done(&lapse->change.op);
    mailbox_done(&lapse->answers);
    mem_free(lapse);
}

static void submit(struct lapse *lapse, struct store_op *op)
{
    lapse->waiting = true;
    store_submit(lapse->node->store, op);
}

static void send_lapsed(struct lapse *lapse, struct now now)
{
    store_op_post(&lapse->lapsed.op, STORE_FIND, &lapse->answers);
    lapse->lapsed.what = STORE_FIND_LAPSED;
    lapse->lapsed.now_ms = now.wall_ms;
    lapse->lapsed.max = LAPSED_MAX;
    lapse->lapsed.job_count = 0;
    submit(lapse, &lapse->lapsed.op);
}

static enum err decide(struct lapse *lapse, struct store_job *found, struct now now, struct job_step *ret_step)
{
    struct job_policy policy = task_policy(found->doc, &lapse->change.op.arena);
    *ret_step = (struct job_step){0};
    if (!lapse->deaf_at || now.mono_ms - lapse->deaf_at >= policy.timeout_ms)
        return job_lapse(&found->job, &policy, now.wall_ms, rand_next(&lapse->rand), ret_step);
    mark(MARK_LEASE_SPARED);
    return job_extend(&found->job, &policy, now.wall_ms, (struct str){0});
}

// The records are those of `lapsed`, which is kept until the change is done.
static void send_change(struct lapse *lapse, struct now now)
{
    struct store_change *change = &lapse->change;
    store_op_post(&change->op, STORE_CHANGE, &lapse->answers);
    struct arena *arena = &change->op.arena;
    change->steps = arena_array(arena, struct store_step, lapse->lapsed.job_count);
    change->count = 0;
    for (size_t i = 0; i < lapse->lapsed.job_count; i++) {
        struct store_job *found = &lapse->lapsed.jobs[i];
        struct job_step *step = arena_alloc(arena, sizeof *step);
        struct job was = found->job;
        if (decide(lapse, found, now, step))
            continue; // the clock was set back meanwhile
        change->steps[change->count++] = store_step_from(&was, &found->job, step);
    }
    submit(lapse, &change->op);
}

static void take_change(struct lapse *lapse)
{
    for (size_t i = 0; i < lapse->change.count; i++) {
        const struct store_step *step = &lapse->change.steps[i];
        if (step->err || step->job->lease_until)
            continue;
        mark(MARK_LAPSED);
        node_changed_doc(lapse->node, step->job, step->attempt, container_of(step->job, struct store_job, job)->doc);
        if (job_state_waiting(step->job->state))
            lanes_due(lapse->node->lanes, step->job->lane, step->job->due_at);
    }
}

static void take_answer(struct lapse *lapse, struct store_op *op, struct now now)
{
    lapse->waiting = false;
    lapse->next_at = node_round(lapse->node, now.mono_ms, ROUND_MS);
    if (op == &lapse->lapsed.op && !op->err && lapse->lapsed.job_count) {
        send_change(lapse, now);
        return; // the texts of `lapsed` are needed until the change is done
    }
    if (op == &lapse->change.op) {
        if (!op->err)
            take_change(lapse);
        if (lapse->lapsed.more)
            lapse->next_at = now.mono_ms;
        store_op_done(&lapse->lapsed.op);
    }
    if (op->err) {
        node_say_failed(lapse->node, "lapse", op, now.mono_ms);
        lapse->deaf_at = now.mono_ms;
        lapse->next_at = now.mono_ms + FAIL_WAIT_MS;
    }
    store_op_done(op);
}

static void watch_clock(struct lapse *lapse, struct now now)
{
    int64_t forward = (now.wall_ms - lapse->last.wall_ms) - (now.mono_ms - lapse->last.mono_ms);
    bool first = lapse->last.wall_ms == 0;
    if (first ? !reap_has_company(lapse->reap) : forward > FORWARD_MS)
        lapse->deaf_at = now.mono_ms;
    lapse->last = now;
}

int64_t lapse_turn(struct lapse *lapse, struct now now)
{
    struct list answers;
    if (node_alive(lapse->node, now.mono_ms) || lapse->last.wall_ms)
        watch_clock(lapse, now);
    list_init(&answers);
    mailbox_take(&lapse->answers, &answers);
    list_each (&answers, link)
        take_answer(lapse, list_entry(link, struct store_op, link), now);
    if (lapse->waiting || atomic_load(&lapse->node->stopping) || !node_alive(lapse->node, now.mono_ms))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms >= lapse->next_at) {
        send_lapsed(lapse, now);
        return TIME_NEVER;
    }
    return now.wall_ms + time_max(lapse->next_at - now.mono_ms, 1);
}
