// A report is a loop around the record (flow/commands/revise). Any node carries it out, because a leased job is in no node's
// hand.
//
// A report may be quicker than the record it is about. As long as it is not even written that the attempt began, the report waits
// and reads the record again, which takes a moment. A report ends an attempt that has begun, even if the call to its target is
// still open and the job therefore in a node's hand: a target may report before it answers, and wait for the confirmation. What
// the holder wants to write then is refused by its token, and it lets go.
//
// What it does not do: end attempts that nobody reports on (flow/tend/lease_expiry).
#include "flow/commands/lease_reports.h"

#include "base/mark.h"
#include "base/mem.h"
#include "core/task/task.h"
#include "flow/commands/revise.h"
#include "flow/commands/ticket.h"
#include "store/jobs.h"

#include <stdio.h>

enum {
    LOOK_MS = 10, // how soon the record is read again that is behind, then less and less often
    WAIT_MAX_MS = 10000,
};

// One report under way.
struct work {
    struct revision revision;
    struct lease_reports *reports;
    struct lease_report *op;
    struct ticket ticket; // its number is 0 when the text was no ticket of this job
    int64_t wait_end;     // monotonic; 0: it has not waited
};

struct lease_reports {
    struct reviser reviser;
    struct rand rand;
    struct digest_key *key;       // of tickets that are made now; NULL until the first is read
    struct digest_key *store_key; // … and of those that were made before a file with a secret was given; NULL: there is no file
    struct mailbox inbox;         // struct lease_report
};

static void decide(struct revision *revision);
static void written(struct revision *revision, enum err err);

struct lease_reports *lease_reports_new(struct node *node, struct recorder *recorder, uint64_t seed)
{
    struct lease_reports *reports = mem_zero(sizeof *reports);
    reviser_init(&reports->reviser, node, recorder, MARK_LEASE_REPORT_AGAIN);
    rand_init(&reports->rand, seed);
    mailbox_init(&reports->inbox, node->flow_waker);
    return reports;
}

void lease_reports_free(struct lease_reports *reports)
{
    if (!reports)
        return;
    list_each (&reports->reviser.revisions, link) {
        struct work *work = container_of(list_entry(link, struct revision, link), struct work, revision);
        revision_end(&work->revision);
        mem_free(work);
    }
    reviser_done(&reports->reviser);
    digest_key_free(reports->key);
    digest_key_free(reports->store_key);
    mailbox_done(&reports->inbox);
    mem_free(reports);
}

bool lease_reports_idle(const struct lease_reports *reports)
{
    return reviser_idle(&reports->reviser);
}

void lease_reports_submit(struct lease_reports *reports, struct lease_report *op)
{
    mailbox_post(&reports->inbox, &op->link);
}

static struct work *work_of(struct revision *revision)
{
    return container_of(revision, struct work, revision);
}

static struct now now_of(const struct work *work)
{
    return work->reports->reviser.now;
}

static void finish(struct work *work, enum err err, const char *why)
{
    struct lease_report *op = work->op;
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    if (err == ERR_LEASE_LOST || err == ERR_ILLEGAL_TRANSITION)
        mark(MARK_LEASE_REPORT_LATE);
    revision_end(&work->revision);
    mem_free(work);
    op->done(op);
}

static void look_later(struct work *work)
{
    int64_t now = now_of(work).mono_ms;
    if (!work->wait_end) {
        mark(MARK_LEASE_REPORT_EARLY);
        work->wait_end = now + WAIT_MAX_MS;
    }
    if (atomic_load(&work->reports->reviser.node->stopping))
        finish(work, ERR_STOPPING, "this node is stopping; try again");
    else if (now >= work->wait_end)
        finish(work, ERR_BUSY, "the call to the target has not been answered, or not been recorded yet; try again");
    else
        revision_read_later(&work->revision, LOOK_MS);
}

static enum err end_attempt(struct work *work, const struct job_policy *policy)
{
    const struct lease_report *op = work->op;
    bool success = op->kind == LEASE_COMPLETE;
    struct job *job = &work->revision.job;
    struct job_result result = {.outcome = success ? OUTCOME_SUCCESS : OUTCOME_FAILED,
                                .status = job->status,
                                .completed_at = now_of(work).wall_ms,
                                .reason = op->reason,
                                .response = job->response,
                                .truncated = job->response_truncated,
                                .result = success ? op->result : (struct str){0},
                                .no_retry = op->no_retry};
    return job_finish(job, policy, &result, rand_next(&work->reports->rand), &work->revision.step);
}

static void act(struct work *work, const struct job *was)
{
    struct revision *revision = &work->revision;
    struct job_policy policy = task_policy(revision->get.task.doc, &revision->get.op.arena);
    bool beat = work->op->kind == LEASE_HEARTBEAT;
    revision->job = *was;
    revision->step = (struct job_step){0};
    if (beat && !was->lease_until) {
        look_later(work); // there is nothing yet to make longer
        return;
    }
    enum err err =
        beat ? job_extend(&revision->job, &policy, now_of(work).wall_ms, work->op->result) : end_attempt(work, &policy);
    if (err) {
        finish(work, err, "the job's state does not allow this");
        return;
    }
    if (!was->lease_until)
        mark(MARK_LEASE_REPORT_IN_HAND);
    revision_write(revision, was, revision->job.result.n);
}

// Says whether the attempt was ended by the same report before. A failure is recognised by the attempt that was kept, also when
// the job was claimed since for another attempt that has not begun.
static bool reported_before(const struct work *work, const struct job *job)
{
    const struct lease_report *op = work->op;
    if (op->kind == LEASE_COMPLETE)
        return job_standing(job, work->ticket.number) == JOB_ENDED && job->state == JOB_SUCCESS &&
               str_eq(job->result, op->result);
    for (size_t i = 0; op->kind == LEASE_FAIL && i < work->revision.get.attempt_count; i++) {
        const struct attempt *attempt = &work->revision.get.attempts[i];
        if (attempt->number == job->attempts)
            return attempt->outcome == OUTCOME_FAILED && str_eq(attempt->reason, op->reason);
    }
    return false;
}

static void too_late(struct work *work, const struct job *job)
{
    char why[ERR_WHY_MAX];
    if (reported_before(work, job)) {
        mark(MARK_LEASE_REPORT_TWICE);
        finish(work, ERR_OK, "");
        return;
    }
    bool by_it = job_state_final(job->state) && job_standing(job, work->ticket.number) == JOB_ENDED;
    snprintf(why, sizeof why, "this attempt is over; the job is %s", job_state_text(job->state));
    finish(work, by_it ? ERR_ILLEGAL_TRANSITION : ERR_LEASE_LOST, why);
}

// A right ticket stands for its tenant; one of the release before names none, and whose the job is shows in its record. Whoever
// has no right ticket stands for itself.
static void begin_reading(struct work *work, struct ticket ticket)
{
    work->ticket = ticket;
    work->revision.get.tenant = ticket.number ? ticket.tenant : work->op->tenant;
    work->revision.get.job_id = work->op->job_id;
    revision_read(&work->revision);
}

// The ticket was signed by rota, but its tenant has no such job, and the one who asks may have it: then the ticket is of another
// database that has the same secret, and is worth no more than a forged one.
static bool of_another_tenant(const struct work *work)
{
    return work->ticket.number && work->ticket.tenant && work->ticket.tenant != work->op->tenant;
}

static void decide(struct revision *revision)
{
    struct work *work = work_of(revision);
    const struct store_op *read = &revision->get.op;
    if (read->err == ERR_NOT_FOUND && of_another_tenant(work)) {
        begin_reading(work, (struct ticket){0});
        return;
    }
    if (read->err) {
        finish(work, read->err, read->err == ERR_NOT_FOUND ? "There is no such job." : read->why);
        return;
    }
    const struct job *job = &revision->get.jobs[0];
    if (!work->ticket.number) {
        finish(work, ERR_LEASE_LOST, "this is no token of this job");
        return;
    }
    work->op->job_tenant = job->tenant;
    switch (job_standing(job, work->ticket.number)) {
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

static void written(struct revision *revision, enum err err)
{
    finish(work_of(revision), err, err ? "it could not be written" : "");
}

// A ticket may have been made under the store's secret before a file with another was given.
static struct ticket read_ticket(struct lease_reports *reports, const struct lease_report *op)
{
    struct node *node = reports->reviser.node;
    struct ticket ticket;
    if (!reports->key)
        reports->key = node_ticket_key(node);
    if (!reports->store_key && node->has_shared_secret)
        reports->store_key = node_store_key(node);
    if (ticket_read(reports->key, op->job_id, op->ticket, &ticket))
        return ticket;
    if (reports->store_key && ticket_read(reports->store_key, op->job_id, op->ticket, &ticket))
        return ticket;
    return (struct ticket){0};
}

static void begin(struct lease_reports *reports, struct lease_report *op)
{
    struct work *work = mem_zero(sizeof *work);
    struct node *node = reports->reviser.node;
    work->reports = reports;
    work->op = op;
    work->revision.decide = decide;
    work->revision.written = written;
    revision_begin(&work->revision, &reports->reviser);
    if (!node->has_secret) {
        finish(work, ERR_STORE_UNAVAILABLE, "this node has not joined the others yet; try again");
        return;
    }
    begin_reading(work, read_ticket(reports, op));
}

int64_t lease_reports_turn(struct lease_reports *reports, struct now now)
{
    struct list inbox;
    list_init(&inbox);
    reports->reviser.now = now;
    mailbox_take(&reports->inbox, &inbox);
    list_each (&inbox, link)
        begin(reports, list_entry(link, struct lease_report, link));
    return reviser_turn(&reports->reviser, now);
}
