// A word is a small loop around the record, as in steer: read it, decide with core, write by token, and begin again when it moved
// meanwhile. Any node does it, for the record of a leased job is in nobody's hand.
//
// A word may be quicker than what it speaks of. As long as it is not even written that the attempt began, it waits and looks
// again: that comes within a moment. An attempt that began is ended by the word, even if the call to its target is still open
// and so the job in somebody's hand: the target may well speak before it answers, and wait for it. What that holder has to
// write then is refused by its token, and it lets go.
//
// What it does not do: take back what nobody speaks of (flow/lapse).
#include "flow/settle.h"

#include "base/mark.h"
#include "base/mem.h"
#include "core/task.h"
#include "flow/ticket.h"

#include <stdio.h>

enum {
    TRIES_MAX = 20,
    LOOK_MS = 10, // how soon the record is read again that is behind, then less and less often
    LOOK_MAX_MS = 500,
    WAIT_MAX_MS = 10000,
};

// One word on its way. It has one operation out at a time.
struct work {
    struct list link; // in settle->busy or settle->looking
    struct settle *settle;
    struct settle_op *op;
    int64_t number; // of the attempt it speaks of; 0: the ticket is none
    struct store_get get;
    struct store_change change;
    struct store_step write;
    struct job job; // its texts are in `get`, which is kept until the next read
    struct job_step step;
    int tries;
    int64_t look_ms;  // how long it is waited before looking again
    int64_t look_at;  // monotonic: when to read the record again
    int64_t wait_end; // monotonic; 0: it has not waited
};

struct settle {
    struct node *node;
    struct rand rand;
    struct digest_key *key;
    struct mailbox inbox;   // struct settle_op
    struct mailbox answers; // struct store_op
    struct list busy;       // have an operation out
    struct list looking;    // wait to read the record again
    struct now now;
};

struct settle *settle_new(struct node *node, uint64_t seed)
{
    struct settle *settle = mem_zero(sizeof *settle);
    settle->node = node;
    rand_init(&settle->rand, seed);
    mailbox_init(&settle->inbox, node->flow_waker);
    mailbox_init(&settle->answers, node->flow_waker);
    list_init(&settle->busy);
    list_init(&settle->looking);
    return settle;
}

void settle_free(struct settle *settle)
{
    if (!settle)
        return;
    struct list *link;
    while ((link = list_take(&settle->busy)) || (link = list_take(&settle->looking))) {
        struct work *work = list_entry(link, struct work, link);
        store_op_done(&work->get.op);
        store_op_done(&work->change.op);
        mem_free(work);
    }
    digest_key_free(settle->key);
    mailbox_done(&settle->inbox);
    mailbox_done(&settle->answers);
    mem_free(settle);
}

bool settle_idle(const struct settle *settle)
{
    return list_empty(&settle->busy) && list_empty(&settle->looking);
}

void settle_submit(struct settle *settle, struct settle_op *op)
{
    mailbox_post(&settle->inbox, &op->link);
}

static void finish(struct work *work, enum err err, const char *why)
{
    struct settle_op *op = work->op;
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    if (err == ERR_LEASE_LOST || err == ERR_ILLEGAL_TRANSITION)
        mark(MARK_SETTLED_LATE);
    list_remove(&work->link);
    store_op_done(&work->get.op);
    mem_free(work);
    op->done(op);
}

// Who has a right ticket needs no tenant.
static void read_record(struct work *work)
{
    if (work->tries++ == TRIES_MAX) {
        finish(work, ERR_BUSY, "the job changes faster than it can be changed; try again");
        return;
    }
    struct store_get *get = &work->get;
    store_op_done(&get->op);
    *get = (struct store_get){.tenant = work->number ? 0 : work->op->tenant, .job_id = work->op->job_id};
    store_op_post(&get->op, STORE_GET, &work->settle->answers);
    store_submit(work->settle->node->store, &get->op);
}

static void look_later(struct work *work)
{
    int64_t now = work->settle->now.mono_ms;
    if (!work->wait_end) {
        mark(MARK_SETTLED_EARLY);
        work->wait_end = now + WAIT_MAX_MS;
        work->look_ms = LOOK_MS;
    }
    if (atomic_load(&work->settle->node->stopping)) {
        finish(work, ERR_STOPPING, "this node is stopping; try again");
        return;
    }
    if (now >= work->wait_end) {
        finish(work, ERR_BUSY, "the call to the target has not been answered, or not been recorded yet; try again");
        return;
    }
    work->tries = 0; // waiting is bounded by time
    work->look_at = now + work->look_ms;
    work->look_ms = time_min(2 * work->look_ms, LOOK_MAX_MS);
    list_remove(&work->link);
    list_append(&work->settle->looking, &work->link);
}

static enum err end_attempt(struct work *work, const struct job_policy *policy)
{
    const struct settle_op *op = work->op;
    bool success = op->word == SETTLE_COMPLETE;
    struct job_result result = {.outcome = success ? OUTCOME_SUCCESS : OUTCOME_FAILED,
                                .status = work->job.status,
                                .completed_at = work->settle->now.wall_ms,
                                .reason = op->reason,
                                .response = work->job.response,
                                .truncated = work->job.response_truncated,
                                .result = success ? op->result : (struct str){0},
                                .no_retry = op->no_retry};
    return job_finish(&work->job, policy, &result, rand_next(&work->settle->rand), &work->step);
}

static void act(struct work *work, const struct job *was)
{
    struct job_policy policy = task_policy(work->get.task.doc, &work->get.op.arena);
    work->job = *was;
    work->step = (struct job_step){0};
    if (work->op->word == SETTLE_BEAT && !was->lease_until) {
        look_later(work); // there is nothing yet to make longer
        return;
    }
    enum err err = work->op->word == SETTLE_BEAT ? job_extend(&work->job, &policy, work->settle->now.wall_ms, work->op->result)
                                                 : end_attempt(work, &policy);
    if (err) {
        finish(work, err, "the job's state does not allow this");
        return;
    }
    if (!was->lease_until)
        mark(MARK_SETTLED_IN_HAND);
    work->write = store_step_from(was, &work->job, &work->step);
    work->change = (struct store_change){.steps = &work->write, .count = 1, .bytes = work->job.result.n};
    store_op_post(&work->change.op, STORE_CHANGE, &work->settle->answers);
    store_submit(work->settle->node->store, &work->change.op);
}

// The attempt has ended: was it by this very word? A failure is known by the attempt that was kept, also when the job has been
// taken in hand since for another that has not begun.
static bool said_before(const struct work *work, const struct job *job)
{
    const struct settle_op *op = work->op;
    if (op->word == SETTLE_COMPLETE)
        return job_standing(job, work->number) == JOB_ENDED && job->state == JOB_SUCCESS && str_eq(job->result, op->result);
    for (size_t i = 0; op->word == SETTLE_FAIL && i < work->get.attempt_count; i++) {
        const struct attempt *attempt = &work->get.attempts[i];
        if (attempt->number == job->attempts)
            return attempt->outcome == OUTCOME_FAILED && str_eq(attempt->reason, op->reason);
    }
    return false;
}

static void too_late(struct work *work, const struct job *job)
{
    char why[ERR_WHY_MAX];
    if (said_before(work, job)) {
        mark(MARK_SETTLED_TWICE);
        finish(work, ERR_OK, "");
        return;
    }
    bool by_it = job_state_final(job->state) && job_standing(job, work->number) == JOB_ENDED;
    snprintf(why, sizeof why, "this attempt is over; the job is %s", job_state_text(job->state));
    finish(work, by_it ? ERR_ILLEGAL_TRANSITION : ERR_LEASE_LOST, why);
}

static void take_get(struct work *work)
{
    if (work->get.op.err) {
        finish(work, work->get.op.err, work->get.op.err == ERR_NOT_FOUND ? "There is no such job." : work->get.op.why);
        return;
    }
    const struct job *job = &work->get.jobs[0];
    if (!work->number) {
        finish(work, ERR_LEASE_LOST, "this is no token of this job");
        return;
    }
    switch (job_standing(job, work->number)) {
    case JOB_UNDER_WAY:
        act(work, job);
        break;
    case JOB_NOT_YET:
        look_later(work);
        break;
    case JOB_ENDED:
    case JOB_OUTDATED:
        too_late(work, job);
        break;
    }
}

static void take_change(struct work *work)
{
    enum err err = work->change.op.err;
    store_op_done(&work->change.op);
    if (err) {
        finish(work, err, "it could not be written");
        return;
    }
    if (work->write.err) {
        mark(MARK_SETTLE_AGAIN);
        read_record(work);
        return;
    }
    node_changed(work->settle->node, &work->job, work->write.attempt, work->get.task.queue, work->get.task.name);
    if (job_state_waiting(work->job.state))
        lanes_due(work->settle->node->lanes, work->job.lane, work->job.due_at);
    finish(work, ERR_OK, "");
}

static void begin(struct settle *settle, struct settle_op *op)
{
    struct work *work = mem_zero(sizeof *work);
    work->settle = settle;
    work->op = op;
    list_append(&settle->busy, &work->link);
    if (!settle->node->has_secret) {
        finish(work, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet; try again");
        return;
    }
    if (!settle->key)
        settle->key = node_ticket_key(settle->node);
    if (!ticket_read(settle->key, op->job_id, op->ticket, &work->number))
        work->number = 0;
    read_record(work);
}

// Reads the records that are to be looked at; says when to come back for the others.
static int64_t look_again(struct settle *settle)
{
    int64_t next = TIME_NEVER;
    list_each (&settle->looking, link) {
        struct work *work = list_entry(link, struct work, link);
        if (work->look_at > settle->now.mono_ms) {
            next = time_min(next, settle->now.wall_ms + work->look_at - settle->now.mono_ms);
            continue;
        }
        list_remove(link);
        list_append(&settle->busy, link);
        read_record(work);
    }
    return next;
}

int64_t settle_turn(struct settle *settle, struct now now)
{
    struct list items;
    list_init(&items);
    settle->now = now;
    mailbox_take(&settle->inbox, &items);
    list_each (&items, link)
        begin(settle, list_entry(link, struct settle_op, link));
    list_init(&items);
    mailbox_take(&settle->answers, &items);
    list_each (&items, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        if (op->verb == STORE_GET)
            take_get(container_of(op, struct work, get.op));
        else
            take_change(container_of(op, struct work, change.op));
    }
    return look_again(settle);
}
