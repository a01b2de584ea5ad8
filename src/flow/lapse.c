// A round (flow/round) finds leases that have run out, once a second and bounded; a full one is followed by the next at once.
//
// A lease is a time on the wall clock, for any node must be able to see that it ran out, and it runs on while nobody is there to
// hear. So what ran out while this node was deaf is not ended but made longer, once: while all nodes or the store were away, and
// when the clock was set forward. Then whoever runs the attempt has its whole time again to say so, and nothing runs twice
// because rota slept.
#include "flow/lapse.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers.h"
#include "flow/round.h"
#include "store/jobs.h"

enum { ROUND_MS = 1000, FAIL_WAIT_MS = 1000, LAPSED_MAX = 500, FORWARD_MS = 1000 };

struct lapse {
    struct round round;
    struct mailbox answers;
    const struct peers *peers;
    struct rand rand;
    int64_t next_at; // monotonic
    int64_t deaf_at; // monotonic: until then nobody could be heard; 0: that has not been so
    struct now last; // when it was turned last
};

static enum err decide(struct round *round, struct job *job, const struct job_policy *policy, struct job_step *ret_step)
{
    struct lapse *lapse = container_of(round, struct lapse, round);
    if (!lapse->deaf_at || round->now.mono_ms - lapse->deaf_at >= policy->timeout_ms)
        return job_lapse(job, policy, round->now.wall_ms, rand_next(&lapse->rand), ret_step);
    mark(MARK_LEASE_SPARED);
    return job_extend(job, policy, round->now.wall_ms, (struct str){0});
}

static void wrote(struct round *round, const struct job *job)
{
    if (!job->lease_until)
        mark(MARK_LAPSED);
}

static void ended(struct round *round, enum err err)
{
    struct lapse *lapse = container_of(round, struct lapse, round);
    int64_t now = round->now.mono_ms;
    if (err)
        lapse->deaf_at = now;
    lapse->next_at = err ? now + FAIL_WAIT_MS : round->find.more ? now : node_round(round->node, now, ROUND_MS);
}

struct lapse *lapse_new(struct node *node, const struct peers *peers, struct recorder *recorder, uint64_t seed)
{
    struct lapse *lapse = mem_zero(sizeof *lapse);
    mailbox_init(&lapse->answers, node->flow_waker);
    round_init(&lapse->round, node, recorder, "lapse", &lapse->answers);
    lapse->round.decide = decide;
    lapse->round.wrote = wrote;
    lapse->round.ended = ended;
    lapse->round.find.what = STORE_FIND_LAPSED;
    lapse->round.find.max = LAPSED_MAX;
    lapse->peers = peers;
    rand_init(&lapse->rand, seed);
    return lapse;
}

void lapse_free(struct lapse *lapse)
{
    if (!lapse)
        return;
    round_done(&lapse->round);
    mailbox_done(&lapse->answers);
    mem_free(lapse);
}

static void watch_clock(struct lapse *lapse, struct now now)
{
    int64_t forward = (now.wall_ms - lapse->last.wall_ms) - (now.mono_ms - lapse->last.mono_ms);
    bool first = lapse->last.wall_ms == 0;
    if (first ? !peers_has_company(lapse->peers) : forward > FORWARD_MS)
        lapse->deaf_at = now.mono_ms;
    lapse->last = now;
}

int64_t lapse_turn(struct lapse *lapse, struct now now)
{
    struct node *node = lapse->round.node;
    struct list answers;
    list_init(&answers);
    if (node_alive(node, now.mono_ms) || lapse->last.wall_ms)
        watch_clock(lapse, now);
    mailbox_take(&lapse->answers, &answers);
    if (!list_empty(&answers))
        round_found(&lapse->round, now);
    if (lapse->round.under_way || atomic_load(&node->stopping) || !node_alive(node, now.mono_ms))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms < lapse->next_at)
        return now.wall_ms + time_max(lapse->next_at - now.mono_ms, 1);
    round_begin(&lapse->round, now);
    return TIME_NEVER;
}
