// Once a second the owners are read from the store. The puller with the smallest id, as far as it knows who lives, compares them
// with what core/bucket says, and writes what is different under the term it has read: of two who think they are the smallest,
// the later one is refused, and reads again.
//
// A bucket without owners is everybody's: a tenant's first job does not wait for the next division.
#include "flow/peers/assignment.h"

#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers/peers.h"
#include "store/peers.h"

enum { READ_MS = 1000 };

struct assignment {
    struct node *node;
    const struct peers *peers;
    struct mailbox answers;
    bool waiting;
    int64_t next_at; // monotonic
    struct store_owners owners;
    struct store_divide divide;
};

struct assignment *assignment_new(struct node *node, const struct peers *peers)
{
    struct assignment *assignment = mem_zero(sizeof *assignment);
    assignment->node = node;
    assignment->peers = peers;
    mailbox_init(&assignment->answers, node->flow_waker);
    return assignment;
}

void assignment_free(struct assignment *assignment)
{
    if (!assignment)
        return;
    store_op_done(&assignment->owners.op); // of answers that came too late
    store_op_done(&assignment->divide.op);
    mailbox_done(&assignment->answers);
    mem_free(assignment);
}

// A newer rota may have more buckets.
static bool is_known(const struct store_owner *owner)
{
    return owner->bucket >= 0 && owner->bucket < BUCKETS;
}

static void assign_lanes(struct assignment *assignment)
{
    int64_t me = atomic_load(&assignment->node->incarnation);
    bool mine[BUCKETS], owned[BUCKETS] = {false};
    memset(mine, true, sizeof mine);
    for (size_t i = 0; i < assignment->owners.owner_count; i++) {
        const struct store_owner *owner = &assignment->owners.owners[i];
        if (!is_known(owner))
            continue;
        owned[owner->bucket] |= owner->puller == me;
        mine[owner->bucket] = owned[owner->bucket];
    }
    lanes_assign(assignment->node->lanes, mine);
}

// A bucket that once had owners keeps them: a node that has just joined does not know all lanes yet.
static size_t used_buckets(struct assignment *assignment, int32_t ret_buckets[BUCKETS])
{
    bool used[BUCKETS] = {false};
    size_t count = 0;
    lanes_buckets(assignment->node->lanes, used);
    for (size_t i = 0; i < assignment->owners.owner_count; i++)
        if (is_known(&assignment->owners.owners[i]))
            used[assignment->owners.owners[i].bucket] = true;
    for (int32_t bucket = 0; bucket < BUCKETS; bucket++)
        if (used[bucket])
            ret_buckets[count++] = bucket;
    return count;
}

static bool is_divided_so(const struct assignment *assignment)
{
    const struct store_owners *now = &assignment->owners;
    const struct store_divide *wanted = &assignment->divide;
    bool same = now->owner_count == wanted->owner_count;
    for (size_t i = 0; same && i < now->owner_count; i++)
        same = now->owners[i].bucket == wanted->owners[i].bucket && now->owners[i].puller == wanted->owners[i].puller;
    return same;
}

static void divide(struct assignment *assignment, struct now now)
{
    int32_t buckets[BUCKETS];
    int64_t pullers[PEERS_MAX + 1];
    size_t puller_count = peers_pullers(assignment->peers, now, pullers);
    if (puller_count == 0 || pullers[0] != atomic_load(&assignment->node->incarnation))
        return;
    size_t bucket_count = used_buckets(assignment, buckets);
    struct store_divide *op = &assignment->divide;
    store_op_post(&op->op, STORE_DIVIDE, &assignment->answers);
    struct store_owner *owners = arena_array(&op->op.arena, struct store_owner, bucket_count + puller_count);
    op->term = assignment->owners.term;
    op->owners = owners;
    op->owner_count = 0;
    for (size_t b = 0; b < bucket_count; b++)
        for (size_t p = 0; p < puller_count; p++)
            if (bucket_is_given(b, bucket_count, p, puller_count))
                owners[op->owner_count++] = (struct store_owner){buckets[b], pullers[p]};
    if (is_divided_so(assignment)) {
        store_op_done(&op->op);
        return;
    }
    assignment->waiting = true;
    store_submit(assignment->node->store, &op->op);
}

static void take_answer(struct assignment *assignment, struct store_op *op, struct now now)
{
    assignment->waiting = false;
    assignment->next_at = now.mono_ms + READ_MS;
    if (op == &assignment->divide.op) {
        if (op->err == ERR_OK || op->err == ERR_MOVED_ON) {
            mark(op->err ? MARK_DIVIDE_LATE : MARK_DIVIDED);
            assignment->next_at = now.mono_ms;
        }
    } else if (!op->err) {
        assign_lanes(assignment);
        divide(assignment, now);
    }
    store_op_done(op);
}

int64_t assignment_turn(struct assignment *assignment, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&assignment->answers, &answers);
    list_each (&answers, link)
        take_answer(assignment, list_entry(link, struct store_op, link), now);
    struct node *node = assignment->node;
    bool needed = node->pulls && !peers_are_none(assignment->peers) && !atomic_load(&node->stopping);
    if (!needed || !node_alive(node, now.mono_ms) || assignment->waiting)
        return TIME_NEVER; // the next beat or answer wakes
    if (now.mono_ms >= assignment->next_at) {
        store_op_post(&assignment->owners.op, STORE_OWNERS, &assignment->answers);
        assignment->waiting = true;
        store_submit(node->store, &assignment->owners.op);
        return TIME_NEVER;
    }
    return now.wall_ms + assignment->next_at - now.mono_ms;
}
