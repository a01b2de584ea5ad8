// One operation at a time: first join, then a beat every BEAT_MS. When the others have declared this life dead (it was frozen, or
// the store was away from it), it begins a new one: the runs of the old life are refused at their next step, because they carry
// its id and their tokens are worth nothing.
#include "flow/tend/beat.h"

#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers/event_relay.h"
#include "flow/peers/peers.h"
#include "store/lives.h"

enum { FAIL_WAIT_MS = 500, LATE_MS = 5000, CLOCK_SAY_MS = 100 };

struct beat {
    struct node *node;
    struct peers *peers;
    struct rand rand;
    struct mailbox answers;
    struct list taken; // answers that came before this turn began: by then `now` is later than what the store's clock said
    bool waiting;      // for an answer
    bool failed;       // the last one
    int64_t next_at;   // monotonic
    struct now sent;   // when what we wait for was sent
    _Atomic bool ok;
    struct store_join join;
    struct store_beat beat;
};

struct beat *beat_new(struct node *node, struct peers *peers, uint64_t seed)
{
    struct beat *beat = mem_zero(sizeof *beat);
    beat->node = node;
    beat->peers = peers;
    rand_init(&beat->rand, seed);
    mailbox_init(&beat->answers, node->flow_waker);
    list_init(&beat->taken);
    return beat;
}

void beat_free(struct beat *beat)
{
    if (!beat)
        return;
    store_op_done(&beat->join.op); // of answers that came too late
    store_op_done(&beat->beat.op);
    mailbox_done(&beat->answers);
    mem_free(beat);
}

bool beat_ok(const struct beat *beat)
{
    return atomic_load(&beat->ok);
}

static void send_join(struct beat *beat, struct now now)
{
    struct store_join *join = &beat->join;
    store_op_post(&join->op, STORE_JOIN, &beat->answers);
    if (!join->incarnation) // otherwise this life may have been written although the answer was lost: it is asked for again
        join->incarnation = (int64_t)(rand_next(&beat->rand) >> 2) | 1;
    if (!beat->node->has_secret)
        rand_secret(join->secret, sizeof join->secret);
    join->now_ms = now.wall_ms;
    join->pulls = beat->node->pulls;
    beat->waiting = true;
    beat->sent = now;
    store_submit(beat->node->store, &join->op);
}

static void send_beat(struct beat *beat, struct now now)
{
    struct store_beat *op = &beat->beat;
    store_op_post(&op->op, STORE_BEAT, &beat->answers);
    op->incarnation = atomic_load(&beat->node->incarnation);
    event_relay_fill(beat->node->relay, op);
    beat->node->beat_soon = false;
    beat->waiting = true;
    beat->sent = now;
    store_submit(beat->node->store, &op->op);
}

// I3: the right to act counts from when the beat was sent: the others count from when they see it, which is later.
static int64_t alive_until(const struct beat *beat)
{
    return beat->sent.mono_ms + BEAT_ALIVE_MS;
}

static void say_lost(struct beat *beat, const struct store_op *op)
{
    if (!atomic_exchange(&beat->node->store_lost, true))
        log_error(
            "%s, and what was acknowledged since may be gone with it. rota stops here: put it back where it was, or restore "
            "a backup, before you start it again",
            op->why);
}

static void failed(struct beat *beat, const struct store_op *op, struct now now)
{
    if (op->err == ERR_STORE_LOST)
        say_lost(beat, op);
    else
        node_say_failed(beat->node, "beat", op, now.mono_ms);
    beat->failed = true;
    atomic_store(&beat->ok, false);
    beat->next_at = now.mono_ms + FAIL_WAIT_MS;
}

// The store read its clock between the sending of the beat and now. As long as ours fits in between, it is left alone; otherwise
// it goes as far as it is certainly wrong. A beat that took long says little and does little; a quick one does the rest.
// A clock that was set meanwhile says nothing.
static void fit_clock(struct beat *beat, int64_t clock_ms, struct now now)
{
    struct node *node = beat->node;
    int64_t set_by = (now.wall_ms - beat->sent.wall_ms) - (now.mono_ms - beat->sent.mono_ms);
    int64_t least = clock_ms - now.wall_ms - 1, most = clock_ms + 1 - beat->sent.wall_ms;
    if (clock_ms == 0 || !node->correct_clock || set_by < -1 || set_by > 1 || (least <= 0 && most >= 0))
        return;
    int64_t by = least > 0 ? least : most;
    mark(MARK_CLOCK_FIT);
    if (by <= -CLOCK_SAY_MS || by >= CLOCK_SAY_MS)
        log_warn("this machine's clock is %lld ms %s the database's, which is what rota goes by", (long long)(by < 0 ? -by : by),
                 by < 0 ? "ahead of" : "behind");
    node->correct_clock(node->clock_ctx, by);
    node->clock_set = true;
    if (by < 0)
        lanes_clock_back(node->lanes);
}

static void take_join(struct beat *beat, struct now now)
{
    struct node *node = beat->node;
    struct store_join *join = &beat->join;
    if (join->op.err) {
        if (join->op.err == ERR_FENCED)
            join->incarnation = 0;
        failed(beat, &join->op, now);
        return;
    }
    if (!node->has_secret)
        memcpy(node->secret, join->secret, sizeof node->secret);
    node->has_secret = true;
    pthread_mutex_lock(&node->id_lock);
    int64_t floor = time_max(join->id_floor, node->ids.last_tick << ID_NODE_BITS);
    id_maker_init(&node->ids, join->node, floor);
    pthread_mutex_unlock(&node->id_lock);
    fit_clock(beat, join->clock_ms, now); // before anything is done by it
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, join->incarnation);
    if (!join->alone)
        log_info("this node is incarnation %s", id);
    node_begin_life(node, join->incarnation, alive_until(beat));
    atomic_store(&beat->ok, true);
    peers_alone(beat->peers, join->alone);
    event_relay_joined(beat->node->relay, join->alone);
    beat->next_at = now.mono_ms; // the first beat shows at once who else is there
}

static void count_nodes(struct node *node, const struct store_beat *op)
{
    int count = 1;
    for (size_t i = 0; i < op->peer_count; i++)
        count += !op->peers[i].dead;
    atomic_store(&node->nodes, count);
}

static void take_beat(struct beat *beat, struct now now)
{
    struct store_beat *op = &beat->beat;
    if (op->op.err == ERR_FENCED) {
        mark(MARK_NEW_LIFE);
        log_warn("this process was declared dead; it begins a new life");
        atomic_store(&beat->ok, false);
        node_end_life(beat->node);
        beat->join.incarnation = 0;
        beat->next_at = now.mono_ms;
        return;
    }
    if (op->op.err) {
        failed(beat, &op->op, now);
        return;
    }
    if (beat->failed)
        log_info("the store answers again");
    beat->failed = false;
    node_renew_life(beat->node, alive_until(beat));
    atomic_store(&beat->ok, true);
    beat->next_at = beat->sent.mono_ms + BEAT_MS;
    fit_clock(beat, op->clock_ms, now);
    peers_saw(beat->peers, op->peers, op->peer_count, now);
    event_relay_saw(beat->node->relay, op);
    count_nodes(beat->node, op);
}

int64_t beat_turn(struct beat *beat, struct now now)
{
    struct list answers;
    list_init(&answers);
    list_splice(&answers, &beat->taken);
    mailbox_take(&beat->answers, &beat->taken);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        beat->waiting = false;
        if (op == &beat->join.op)
            take_join(beat, now);
        else
            take_beat(beat, now);
        store_op_done(op);
    }
    bool soon = beat->node->beat_soon && !beat->failed;
    if (!beat->waiting && (soon || now.mono_ms >= beat->next_at)) {
        if (atomic_load(&beat->node->incarnation))
            send_beat(beat, now);
        else if (!atomic_load(&beat->node->stopping))
            send_join(beat, now);
    }
    if (beat->waiting && now.mono_ms - beat->sent.mono_ms >= LATE_MS)
        atomic_store(&beat->ok, false); // a store that does not answer is as good as one that says no
    if (!list_empty(&beat->taken))
        return now.wall_ms;
    if (beat->waiting)
        return atomic_load(&beat->ok) ? now.wall_ms + LATE_MS - (now.mono_ms - beat->sent.mono_ms) : TIME_NEVER;
    return now.wall_ms + time_max(beat->next_at - now.mono_ms, 1);
}

void beat_leave(struct beat *beat)
{
    struct store_forget forget = {.incarnation = atomic_load(&beat->node->incarnation)};
    if (!forget.incarnation)
        return;
    store_op_init(&forget.op, STORE_FORGET, NULL);
    store_call(beat->node->store, &forget.op);
    store_op_done(&forget.op);
}
