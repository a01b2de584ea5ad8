// Liveness is judged by counters and this process's own monotonic clock, never by comparing wall clocks: a peer whose counter was
// seen standing still for BEAT_DEAD_MS is declared dead (STORE_BURY, which fails if the counter moved after all). Then its
// holdings are read in batches, core says what follows for each, and they are written by token, so a holder that wakes up in
// between loses or wins each job, never both (I3, I10).
//
// What the dead one was asked to cancel is cancelled, and does not start once more before whoever asked can cancel it.
//
// One peer and one operation at a time: bury -> asked -> (held -> change)* -> forget.
#include "flow/reap.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mark.h"
#include "base/mem.h"
#include "core/task.h"
#include "flow/beat.h"

#include <stdlib.h>

enum { HELD_MAX = 500, FAIL_WAIT_MS = 500, LOOK_MS = 1000 };

struct peer {
    int64_t incarnation, beat;
    int64_t since_ms; // monotonic: when its counter was first seen where it stands
    bool pulls;
    bool dead; // the store says so
    bool gone; // was not in the last list
};

struct reap {
    struct node *node;
    bool alone;
    struct mailbox answers;
    struct map peers;
    struct peer *victim; // whose holdings are being taken back
    bool waiting;
    int64_t next_at; // monotonic
    int64_t saw_at;  // monotonic: when a beat last showed the others
    size_t taken;
    struct store_bury bury;
    struct store_asked asked; // kept until the peer is done with
    struct store_find held;
    struct store_change change;
    struct store_forget forget;
};

struct reap *reap_new(struct node *node)
{
    struct reap *reap = mem_zero(sizeof *reap);
    reap->node = node;
    mailbox_init(&reap->answers, node->flow_waker);
    return reap;
}

void reap_free(struct reap *reap)
{
    if (!reap)
        return;
    int64_t id;
    size_t at = 0;
    for (struct peer *peer; (peer = map_next(&reap->peers, &at, &id));)
        mem_free(peer);
    map_done(&reap->peers);
    struct store_op *const ops[] = {&reap->bury.op, &reap->asked.op, &reap->held.op, &reap->change.op, &reap->forget.op};
    for (size_t i = 0; i < array_count(ops); i++)
        store_op_done(ops[i]); // of answers that came too late
    mailbox_done(&reap->answers);
    mem_free(reap);
}

void reap_alone(struct reap *reap, bool alone)
{
    reap->alone = alone;
}

bool reap_is_alone(const struct reap *reap)
{
    return reap->alone;
}

// What it was told of, and what it gave back when it stopped, waits in lanes of which this node may think otherwise.
static void note_gone(struct reap *reap)
{
    atomic_store(&reap->node->survey_wanted, true);
}

static void forget_peer(struct reap *reap, struct peer *peer)
{
    note_gone(reap);
    map_remove(&reap->peers, peer->incarnation);
    if (reap->victim == peer)
        reap->victim = NULL;
    mem_free(peer);
}

static void drop_gone(struct reap *reap)
{
    for (bool again = true; again;) { // removal moves entries, so the walk starts anew
        again = false;
        int64_t id;
        size_t at = 0;
        for (struct peer *peer; !again && (peer = map_next(&reap->peers, &at, &id));)
            if (peer->gone && peer != reap->victim) {
                forget_peer(reap, peer);
                again = true;
            }
    }
}

void reap_saw(struct reap *reap, const struct store_peer *peers, size_t count, struct now now)
{
    int64_t id;
    size_t at = 0;
    // Who did not see the others for a while cannot say that they stood still meanwhile: when the store was away from
    // everybody, the first one back would declare all the others dead.
    bool blind = now.mono_ms - reap->saw_at > BEAT_ALIVE_MS;
    reap->saw_at = now.mono_ms;
    for (struct peer *peer; (peer = map_next(&reap->peers, &at, &id));)
        peer->gone = true;
    for (size_t i = 0; i < count; i++) {
        struct peer *peer = map_get(&reap->peers, peers[i].incarnation);
        if (!peer) {
            peer = mem_zero(sizeof *peer);
            *peer = (struct peer){.incarnation = peers[i].incarnation, .beat = peers[i].beat, .since_ms = now.mono_ms};
            map_put(&reap->peers, peer->incarnation, peer);
        }
        if (blind || peer->beat != peers[i].beat) {
            peer->beat = peers[i].beat;
            peer->since_ms = now.mono_ms;
        }
        peer->pulls = peers[i].pulls;
        if (peers[i].dead && !peer->dead)
            note_gone(reap);
        peer->dead = peers[i].dead;
        peer->gone = false;
    }
    drop_gone(reap);
}

static bool is_silent(const struct reap *reap, const struct peer *peer, struct now now)
{
    return peer->dead || reap->alone || now.mono_ms - peer->since_ms >= BEAT_DEAD_MS;
}

static struct peer *find_victim(struct reap *reap, struct now now)
{
    int64_t id;
    size_t at = 0;
    for (struct peer *peer; (peer = map_next(&reap->peers, &at, &id));)
        if (!peer->gone && is_silent(reap, peer, now))
            return peer;
    return NULL;
}

static int compare_ids(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

size_t reap_pullers(const struct reap *reap, struct now now, int64_t ret_ids[REAP_PEERS_MAX + 1])
{
    int64_t id;
    size_t at = 0, count = 0;
    if (!reap->saw_at || now.mono_ms - reap->saw_at > BEAT_ALIVE_MS)
        return 0;
    ret_ids[count++] = atomic_load(&reap->node->incarnation);
    for (const struct peer *peer; (peer = map_next(&reap->peers, &at, &id)) && count <= REAP_PEERS_MAX;)
        if (!peer->gone && peer->pulls && !is_silent(reap, peer, now))
            ret_ids[count++] = peer->incarnation;
    qsort(ret_ids, count, sizeof *ret_ids, compare_ids);
    return count;
}

static bool has_peer(const struct reap *reap, bool idle_only)
{
    int64_t id;
    size_t at = 0;
    for (const struct peer *peer; (peer = map_next(&reap->peers, &at, &id));)
        if (!peer->gone && !peer->dead && !(idle_only && peer->pulls))
            return true;
    return false;
}

bool reap_lives(const struct reap *reap, int64_t incarnation)
{
    const struct peer *peer = map_get(&reap->peers, incarnation);
    return peer && !peer->gone && !peer->dead;
}

bool reap_has_company(const struct reap *reap)
{
    return has_peer(reap, false);
}

bool reap_has_idle(const struct reap *reap)
{
    return has_peer(reap, true);
}

static void submit(struct reap *reap, struct store_op *op)
{
    reap->waiting = true;
    store_submit(reap->node->store, op);
}

static void send_bury(struct reap *reap)
{
    store_op_post(&reap->bury.op, STORE_BURY, &reap->answers);
    reap->bury.incarnation = reap->victim->incarnation;
    reap->bury.beat = reap->victim->beat;
    submit(reap, &reap->bury.op);
}

static void send_asked(struct reap *reap)
{
    store_op_done(&reap->asked.op); // of the peer before
    store_op_post(&reap->asked.op, STORE_ASKED, &reap->answers);
    reap->asked.holder = reap->victim->incarnation;
    reap->asked.max = HELD_MAX;
    reap->asked.job_count = 0;
    submit(reap, &reap->asked.op);
}

static bool is_to_be_cancelled(const struct reap *reap, int64_t job_id)
{
    for (size_t i = 0; i < reap->asked.job_count; i++)
        if (reap->asked.jobs[i].job_id == job_id)
            return reap->asked.jobs[i].wish == STORE_WISH_CANCEL;
    return false;
}

static void send_held(struct reap *reap)
{
    struct store_find *held = &reap->held;
    store_op_post(&held->op, STORE_FIND, &reap->answers);
    held->what = STORE_FIND_HELD;
    held->holder = reap->victim->incarnation;
    held->after_id = 0;
    held->max = HELD_MAX;
    held->job_count = 0;
    submit(reap, &held->op);
}

static void send_forget(struct reap *reap)
{
    store_op_post(&reap->forget.op, STORE_FORGET, &reap->answers);
    reap->forget.incarnation = reap->victim->incarnation;
    submit(reap, &reap->forget.op);
}

// The records to write live in the change's arena, their texts in that of `held`, which is kept until the change is done.
static void send_change(struct reap *reap, struct now now)
{
    struct store_change *change = &reap->change;
    store_op_post(&change->op, STORE_CHANGE, &reap->answers);
    struct arena *arena = &change->op.arena;
    change->steps = arena_array(arena, struct store_step, reap->held.job_count);
    change->count = 0;
    for (size_t i = 0; i < reap->held.job_count; i++) {
        struct store_job *found = &reap->held.jobs[i];
        struct job_policy policy = task_policy(found->doc, arena);
        struct job_step *step = arena_alloc(arena, sizeof *step);
        struct job was = found->job;
        bool cancelled = is_to_be_cancelled(reap, found->job.id);
        if (cancelled ? job_cancel_elsewhere(&found->job, &policy, now.wall_ms, STR("cancelled by hand"), step)
                      : job_lose(&found->job, &policy, now.wall_ms, step))
            continue; // it changed hands since: not ours to take
        change->steps[change->count++] = store_step_from(&was, &found->job, step);
    }
    CRASH_POINT("reap.before_change");
    submit(reap, &change->op);
}

static void take_change(struct reap *reap)
{
    for (size_t i = 0; i < reap->change.count; i++) {
        const struct store_step *step = &reap->change.steps[i];
        reap->taken += !step->err;
        if (!step->err)
            node_changed_doc(reap->node, step->job, step->attempt, container_of(step->job, struct store_job, job)->doc);
        if (!step->err && !job_state_final(step->job->state))
            mark(step->job->losses ? MARK_LOST_BEGUN : MARK_LOST_WATCHED);
        if (!step->err && job_state_waiting(step->job->state))
            lanes_due(reap->node->lanes, step->job->lane, step->job->due_at);
    }
}

static void end_victim(struct reap *reap, bool dead)
{
    if (dead) {
        mark(MARK_BURIED_PEER);
        char id[ID_TEXT_SIZE];
        id_format(id, ID_INCARNATION, reap->victim->incarnation);
        log_info("took back %zu jobs of the dead incarnation %s", reap->taken, id);
    }
    forget_peer(reap, reap->victim);
}

static void next_step(struct reap *reap, const struct store_op *op, enum err err, struct now now)
{
    if (err && err != ERR_LEASE_LOST) {
        reap->next_at = now.mono_ms + FAIL_WAIT_MS;
        reap->victim = NULL; // begins anew: every step may be done twice
    } else if (op == &reap->bury.op && err) {
        mark(MARK_MOVED_PEER);
        end_victim(reap, false); // its counter moved: it lives
    } else if (op == &reap->bury.op) {
        send_asked(reap);
    } else if (op == &reap->held.op) {
        send_forget(reap);
    } else if (op == &reap->forget.op && !err) {
        end_victim(reap, true);
    } else {
        send_held(reap); // until nothing is left
    }
}

static void take_answer(struct reap *reap, struct store_op *op, struct now now)
{
    reap->waiting = false;
    if (op == &reap->held.op && !op->err && reap->held.job_count) {
        send_change(reap, now);
        return; // the texts of `held` are needed until the change is done
    }
    if (op == &reap->change.op) {
        if (!op->err)
            take_change(reap);
        store_op_done(&reap->held.op);
    }
    enum err err = op->err;
    if (err && err != ERR_LEASE_LOST)
        node_say_failed(reap->node, "reap", op, now.mono_ms);
    if (op != &reap->asked.op)
        store_op_done(op);
    next_step(reap, op, err, now); // which may use the same operation again
}

int64_t reap_turn(struct reap *reap, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&reap->answers, &answers);
    list_each (&answers, link)
        take_answer(reap, list_entry(link, struct store_op, link), now);
    if (reap->waiting || now.mono_ms < reap->next_at)
        return now.wall_ms + LOOK_MS;
    if (!reap->victim && node_alive(reap->node, now.mono_ms)) {
        reap->victim = find_victim(reap, now);
        reap->taken = 0;
        if (reap->victim)
            send_bury(reap);
    }
    return now.wall_ms + LOOK_MS;
}
