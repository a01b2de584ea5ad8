// A peer that is dead or silent is declared dead (STORE_BURY, which fails if its counter moved after all). Then its holdings are
// read in batches, core says what follows for each, and they are written by token, so a holder that wakes up in between loses or
// wins each job, never both (I3, I10).
//
// Jobs that the dead node was asked to cancel are cancelled, so that they do not start once more before the node that asked can
// cancel them.
//
// One peer and one operation at a time: bury -> asked -> rounds until nothing is left -> forget.
#include "flow/tend/reap.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/peers/peers.h"
#include "flow/tend/round.h"
#include "store/jobs.h"
#include "store/peers.h"

enum { HELD_MAX = 500, FAIL_WAIT_MS = 500, LOOK_MS = 1000 };

struct reap {
    struct round round; // finds what the victim held
    struct peers *peers;
    struct mailbox answers;
    int64_t victim; // the incarnation whose holdings are taken back; 0: none
    size_t taken;
    bool waiting;    // for an answer of one of the operations below
    int64_t next_at; // monotonic
    struct store_bury bury;
    struct store_requests asked; // kept until the victim is done with
    struct store_forget forget;
};

static void submit(struct reap *reap, struct store_op *op, enum store_verb verb)
{
    store_op_post(op, verb, &reap->answers);
    reap->waiting = true;
    store_submit(reap->round.node->store, op);
}

static bool is_to_be_cancelled(const struct reap *reap, int64_t job_id)
{
    for (size_t i = 0; i < reap->asked.job_count; i++)
        if (reap->asked.jobs[i].job_id == job_id)
            return reap->asked.jobs[i].kind == STORE_REQUEST_CANCEL;
    return false;
}

// An error: another holder has the job by now, and it is not taken.
static enum err take_back(struct round *round, struct job *job, const struct job_policy *policy, struct job_step *ret_step)
{
    CRASH_POINT("reap.before_change");
    if (is_to_be_cancelled(container_of(round, struct reap, round), job->id))
        return job_cancel_elsewhere(job, policy, round->now.wall_ms, STR("cancelled by hand"), ret_step);
    return job_lose(job, policy, round->now.wall_ms, ret_step);
}

static void taken(struct round *round, const struct job *job)
{
    container_of(round, struct reap, round)->taken++;
    if (!job_state_final(job->state))
        mark(job->losses ? MARK_LOST_BEGUN : MARK_LOST_WATCHED);
}

// Every step may be done twice, so it begins anew.
static void give_up(struct reap *reap, struct now now)
{
    reap->next_at = now.mono_ms + FAIL_WAIT_MS;
    reap->victim = 0;
}

static void ended(struct round *round, enum err err)
{
    struct reap *reap = container_of(round, struct reap, round);
    if (err) {
        give_up(reap, round->now);
    } else if (round->find.job_count) {
        round_begin(round, round->now); // until nothing is left
    } else {
        reap->forget.incarnation = reap->victim;
        submit(reap, &reap->forget.op, STORE_FORGET);
    }
}

struct reap *reap_new(struct node *node, struct peers *peers, struct recorder *recorder)
{
    struct reap *reap = mem_zero(sizeof *reap);
    mailbox_init(&reap->answers, node->flow_waker);
    round_init(&reap->round, node, recorder, "reap", &reap->answers);
    reap->round.decide = take_back;
    reap->round.wrote = taken;
    reap->round.ended = ended;
    reap->round.find.what = STORE_FIND_HELD;
    reap->round.find.max = HELD_MAX;
    reap->peers = peers;
    return reap;
}

void reap_free(struct reap *reap)
{
    if (!reap)
        return;
    round_done(&reap->round);
    struct store_op *const ops[] = {&reap->bury.op, &reap->asked.op, &reap->forget.op};
    for (size_t i = 0; i < array_count(ops); i++)
        store_op_done(ops[i]); // of answers that came too late
    mailbox_done(&reap->answers);
    mem_free(reap);
}

static void take_bury(struct reap *reap, enum err err)
{
    if (err) { // its counter moved: it lives
        mark(MARK_MOVED_PEER);
        peers_forget(reap->peers, reap->victim);
        reap->victim = 0;
        return;
    }
    store_op_done(&reap->asked.op); // of the victim before
    reap->asked.holder = reap->victim;
    reap->asked.max = HELD_MAX;
    reap->asked.job_count = 0;
    submit(reap, &reap->asked.op, STORE_REQUESTS);
}

static void begin_rounds(struct reap *reap, struct now now)
{
    reap->round.find.holder = reap->victim;
    reap->round.find.after_id = 0;
    round_begin(&reap->round, now);
}

static void take_forget(struct reap *reap, enum err err, struct now now)
{
    if (err) { // it holds something after all
        begin_rounds(reap, now);
        return;
    }
    mark(MARK_BURIED_PEER);
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, reap->victim);
    log_info("took back %zu jobs of the dead incarnation %s", reap->taken, id);
    peers_forget(reap->peers, reap->victim);
    reap->victim = 0;
}

static void take_answer(struct reap *reap, struct store_op *op, struct now now)
{
    enum err err = op->err;
    reap->waiting = false;
    bool failed = err && err != ERR_MOVED_ON;
    if (failed)
        node_say_failed(reap->round.node, "reap", op, now.mono_ms);
    if (op != &reap->asked.op)
        store_op_done(op);
    if (failed)
        give_up(reap, now);
    else if (op == &reap->bury.op)
        take_bury(reap, err);
    else if (op == &reap->asked.op)
        begin_rounds(reap, now);
    else
        take_forget(reap, err, now);
}

static void begin(struct reap *reap, struct now now)
{
    if (!node_alive(reap->round.node, now.mono_ms) ||
        !peers_find_silent(reap->peers, now, &reap->bury.incarnation, &reap->bury.beat))
        return;
    reap->victim = reap->bury.incarnation;
    reap->taken = 0;
    submit(reap, &reap->bury.op, STORE_BURY);
}

int64_t reap_turn(struct reap *reap, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&reap->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        if (op == &reap->round.find.op)
            round_found(&reap->round, now);
        else
            take_answer(reap, op, now);
    }
    if (!reap->waiting && !reap->victim && now.mono_ms >= reap->next_at)
        begin(reap, now);
    return now.wall_ms + LOOK_MS;
}
