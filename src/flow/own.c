// Once a second the owners are read from the store. The puller with the smallest id, as far as it knows who lives, compares them
// with what core/own says, and writes what is different under the term it has read: of two who think they are the smallest, the
// later one is refused, and reads again.
//
// A bucket without owners is everybody's: a tenant's first job does not wait for the next division.
#include "flow/own.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers.h"
#include "store/peers.h"

enum { READ_MS = 1000 };

struct own {
    struct node *node;
    const struct peers *peers;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    struct store_owners owners;
    struct store_divide divide;
};

struct own *own_new(struct node *node, const struct peers *peers)
{
    struct own *own = mem_zero(sizeof *own);
    own->node = node;
    own->peers = peers;
    mailbox_init(&own->answers, node->flow_waker);
    return own;
}

void own_free(struct own *own)
{
    if (!own)
        return;
    store_op_done(&own->owners.op); // of answers that came too late
    store_op_done(&own->divide.op);
    mailbox_done(&own->answers);
    mem_free(own);
}

// A newer rota may have more buckets.
static bool is_known(const struct store_owner *owner)
{
    return owner->bucket >= 0 && owner->bucket < OWN_BUCKETS;
}

static void tell_lanes(struct own *own)
{
    int64_t me = atomic_load(&own->node->incarnation);
    bool mine[OWN_BUCKETS], owned[OWN_BUCKETS] = {false};
    memset(mine, true, sizeof mine);
    for (size_t i = 0; i < own->owners.owner_count; i++) {
        const struct store_owner *owner = &own->owners.owners[i];
        if (!is_known(owner))
            continue;
        owned[owner->bucket] |= owner->puller == me;
        mine[owner->bucket] = owned[owner->bucket];
    }
    lanes_own(own->node->lanes, mine);
}

// A bucket that once had owners keeps them: who has just come does not know all lanes yet.
static size_t used_buckets(struct own *own, int32_t ret_buckets[OWN_BUCKETS])
{
    bool used[OWN_BUCKETS] = {false};
    size_t count = 0;
    lanes_buckets(own->node->lanes, used);
    for (size_t i = 0; i < own->owners.owner_count; i++)
        if (is_known(&own->owners.owners[i]))
            used[own->owners.owners[i].bucket] = true;
    for (int32_t bucket = 0; bucket < OWN_BUCKETS; bucket++)
        if (used[bucket])
            ret_buckets[count++] = bucket;
    return count;
}

static bool is_divided_so(const struct own *own)
{
    const struct store_owners *now = &own->owners;
    const struct store_divide *wanted = &own->divide;
    bool same = now->owner_count == wanted->owner_count;
    for (size_t i = 0; same && i < now->owner_count; i++)
        same = now->owners[i].bucket == wanted->owners[i].bucket && now->owners[i].puller == wanted->owners[i].puller;
    return same;
}

static void divide(struct own *own, struct now now)
{
    int32_t buckets[OWN_BUCKETS];
    int64_t pullers[PEERS_MAX + 1];
    size_t puller_count = peers_pullers(own->peers, now, pullers);
    if (puller_count == 0 || pullers[0] != atomic_load(&own->node->incarnation))
        return;
    size_t bucket_count = used_buckets(own, buckets);
    struct store_divide *op = &own->divide;
    store_op_post(&op->op, STORE_DIVIDE, &own->answers);
    struct store_owner *owners = arena_array(&op->op.arena, struct store_owner, bucket_count + puller_count);
    op->term = own->owners.term;
    op->owners = owners;
    op->owner_count = 0;
    for (size_t b = 0; b < bucket_count; b++)
        for (size_t p = 0; p < puller_count; p++)
            if (own_divides(b, bucket_count, p, puller_count))
                owners[op->owner_count++] = (struct store_owner){buckets[b], pullers[p]};
    if (is_divided_so(own)) {
        store_op_done(&op->op);
        return;
    }
    own->waiting = true;
    store_submit(own->node->store, &op->op);
}

static void take_answer(struct own *own, struct store_op *op, struct now now)
{
    own->waiting = false;
    own->next_at = now.mono_ms + READ_MS;
    if (op == &own->divide.op) {
        if (op->err == ERR_OK || op->err == ERR_LEASE_LOST) {
            mark(op->err ? MARK_DIVIDE_LATE : MARK_DIVIDED);
            own->next_at = now.mono_ms;
        }
    } else if (!op->err) {
        tell_lanes(own);
        divide(own, now);
    }
    store_op_done(op);
}

int64_t own_turn(struct own *own, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&own->answers, &answers);
    list_each (&answers, link)
        take_answer(own, list_entry(link, struct store_op, link), now);
    struct node *node = own->node;
    bool needed = node->pulls && !peers_are_none(own->peers) && !atomic_load(&node->stopping);
    if (!needed || !node_alive(node, now.mono_ms) || own->waiting)
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms >= own->next_at) {
        store_op_post(&own->owners.op, STORE_OWNERS, &own->answers);
        own->waiting = true;
        store_submit(node->store, &own->owners.op);
        return TIME_NEVER;
    }
    return now.wall_ms + own->next_at - now.mono_ms;
}
