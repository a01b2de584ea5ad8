// A round (flow/tend/round) finds leases that have run out, once a second and bounded; a full one is followed by the next at
// once.
//
// A lease is a time on the wall clock, because any node must be able to see that it ran out; it runs on while no node could take
// a report. So a lease that ran out in such a time (all nodes or the store were away, or the clock was set forward) is not ended
// but made longer, once. Its target then has the whole time again to report, and nothing runs twice because rota was away.
#include "flow/tend/lease_expiry.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers/peers.h"
#include "flow/tend/round.h"
#include "store/jobs.h"

enum { ROUND_MS = 1000, FAIL_WAIT_MS = 1000, LEASES_MAX = 500, FORWARD_MS = 1000 };

struct lease_expiry {
    struct round round;
    struct mailbox answers;
    const struct peers *peers;
    struct rand rand;
    int64_t next_at; // monotonic
    int64_t deaf_at; // monotonic: until then no report could be taken; 0: there was no such time
    struct now last; // when it was turned last
};

static enum err decide(struct round *round, struct job *job, const struct job_policy *policy, struct job_step *ret_step)
{
    struct lease_expiry *expiry = container_of(round, struct lease_expiry, round);
    if (!expiry->deaf_at || round->now.mono_ms - expiry->deaf_at >= policy->timeout_ms)
        return job_expire_lease(job, policy, round->now.wall_ms, rand_next(&expiry->rand), ret_step);
    mark(MARK_LEASE_SPARED);
    return job_extend(job, policy, round->now.wall_ms, (struct str){0});
}

static void wrote(struct round *round, const struct job *job)
{
    if (!job->lease_until)
        mark(MARK_LEASE_EXPIRED);
}

static void ended(struct round *round, enum err err)
{
    struct lease_expiry *expiry = container_of(round, struct lease_expiry, round);
    int64_t now = round->now.mono_ms;
    if (err)
        expiry->deaf_at = now;
    expiry->next_at = err ? now + FAIL_WAIT_MS : round->find.more ? now : node_round(round->node, now, ROUND_MS);
}

struct lease_expiry *lease_expiry_new(struct node *node, const struct peers *peers, struct recorder *recorder, uint64_t seed)
{
    struct lease_expiry *expiry = mem_zero(sizeof *expiry);
    mailbox_init(&expiry->answers, node->flow_waker);
    round_init(&expiry->round, node, recorder, "expiry", &expiry->answers);
    expiry->round.decide = decide;
    expiry->round.wrote = wrote;
    expiry->round.ended = ended;
    expiry->round.find.what = STORE_FIND_LEASES;
    expiry->round.find.max = LEASES_MAX;
    expiry->peers = peers;
    rand_init(&expiry->rand, seed);
    return expiry;
}

void lease_expiry_free(struct lease_expiry *expiry)
{
    if (!expiry)
        return;
    round_done(&expiry->round);
    mailbox_done(&expiry->answers);
    mem_free(expiry);
}

static void watch_clock(struct lease_expiry *expiry, struct now now)
{
    int64_t forward = (now.wall_ms - expiry->last.wall_ms) - (now.mono_ms - expiry->last.mono_ms);
    bool first = expiry->last.wall_ms == 0;
    if (first ? !peers_has_company(expiry->peers) : forward > FORWARD_MS)
        expiry->deaf_at = now.mono_ms;
    expiry->last = now;
}

int64_t lease_expiry_turn(struct lease_expiry *expiry, struct now now)
{
    struct node *node = expiry->round.node;
    struct list answers;
    list_init(&answers);
    if (node_alive(node, now.mono_ms) || expiry->last.wall_ms)
        watch_clock(expiry, now);
    mailbox_take(&expiry->answers, &answers);
    if (!list_empty(&answers))
        round_found(&expiry->round, now);
    if (expiry->round.under_way || atomic_load(&node->stopping) || !node_alive(node, now.mono_ms))
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms < expiry->next_at)
        return now.wall_ms + time_max(expiry->next_at - now.mono_ms, 1);
    round_begin(&expiry->round, now);
    return TIME_NEVER;
}
