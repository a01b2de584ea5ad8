// What follows a written step is the same whoever decided on it, so it is done here and nowhere else: an event, the counters, a
// line in the log for a failure, the lane in which the job waits again. This is also the place where the end of a job will
// unblock those that wait for it.
//
// It decides nothing. A step that the store refuses is given back to whoever decided on it.
#include "flow/record.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/commands/backfills.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur.h"

#include <assert.h>
#include <stdio.h>

struct recorder {
    struct node *node;
    struct pull *pull;
    struct recur *recur;
    struct backfills *backfills;
    struct mailbox answers; // struct store_op
};

struct recorder *recorder_new(struct node *node, struct pull *pull)
{
    struct recorder *recorder = mem_zero(sizeof *recorder);
    recorder->node = node;
    recorder->pull = pull;
    mailbox_init(&recorder->answers, node->flow_waker);
    return recorder;
}

void recorder_free(struct recorder *recorder)
{
    if (!recorder)
        return;
    mailbox_done(&recorder->answers);
    mem_free(recorder);
}

void recorder_tell(struct recorder *recorder, struct recur *recur, struct backfills *backfills)
{
    recorder->recur = recur;
    recorder->backfills = backfills;
}

// ---- counts and events

static void report_overdue(struct node *node, const struct job *job, const struct task *task, int64_t now_ms)
{
    char words[ERR_WHY_MAX], id[ID_TEXT_SIZE];
    id_format(id, ID_JOB, job->id);
    snprintf(words, sizeof words, "job %s goes on after %lld s, and its timeout is %lld s", id,
             (long long)(now_ms - job->started_at) / 1000, (long long)task->policy.timeout_ms / 1000);
    if (!warnings_add(node->warnings, WARNING_JOB_OVERDUE, job->task_id, now_ms, words))
        return;
    log_warn("%s", words);
    stats_count(&node->stats, STATS_OVERDUE, 1);
    events_emit(node->events, &(struct event_item){.type = EVENT_JOB_OVERDUE,
                                                   .tenant = job->tenant,
                                                   .at_ms = now_ms,
                                                   .task_id = job->task_id,
                                                   .job_id = job->id,
                                                   .state = (enum job_state)job->state,
                                                   .queue = task->queue,
                                                   .name = task->name,
                                                   .attempt = job->attempts,
                                                   .reason = str_of(words)});
}

// What is held is read every half minute, so the warning stays while the job goes on. It is counted, and becomes an event, once.
void record_overdue(struct node *node, const struct store_job *found, int64_t now_ms)
{
    int64_t since = found->job.started_at;
    struct task task;
    struct arena arena;
    char why[ERR_WHY_MAX];
    if (found->job.state != JOB_RESERVED || now_ms - since <= RECORD_OVERDUE_MS)
        return;
    arena_init(&arena);
    bool known = task_read(&task, found->doc, &arena, why) && task.policy.timeout_ms >= 0;
    if (known && now_ms - since > task.policy.timeout_ms + RECORD_OVERDUE_MS)
        report_overdue(node, &found->job, &task, now_ms);
    arena_done(&arena);
}

void record_started(struct node *node, const struct outcome *running)
{
    const struct job *job = &running->job;
    stats_started(&node->stats, job, &running->policy);
    if (events_wanted(node->events))
        events_emit(node->events, &(struct event_item){.type = EVENT_STARTED,
                                                       .tenant = job->tenant,
                                                       .at_ms = job->started_at,
                                                       .task_id = job->task_id,
                                                       .job_id = job->id,
                                                       .state = job->state,
                                                       .queue = running->queue,
                                                       .name = running->name,
                                                       .attempt = job->attempts});
}

static void emit_added(struct node *node, const struct job *job, struct str queue, struct str name, int64_t now_ms)
{
    stats_count(&node->stats, STATS_SUBMITTED, 1);
    if (events_wanted(node->events))
        events_emit(node->events, &(struct event_item){.type = EVENT_SUBMITTED,
                                                       .tenant = job->tenant,
                                                       .at_ms = now_ms,
                                                       .task_id = job->task_id,
                                                       .job_id = job->id,
                                                       .state = job->state,
                                                       .queue = queue,
                                                       .name = name});
}

// A job was added that nobody has in hand. True: it is due sooner than what its lane knew of.
static bool follow_job(struct node *node, const struct job *job, struct str queue, struct str name, int64_t now_ms)
{
    emit_added(node, job, queue, name, now_ms);
    return lanes_note(node->lanes, job->lane, job->tenant, queue, job->due_at);
}

// EVENT_TYPE_COUNT: nothing that anybody was waiting for.
static enum event_type event_of(const struct job *job, const struct attempt *attempt)
{
    static const enum event_type ends[JOB_STATE_COUNT] = {[JOB_SUCCESS] = EVENT_SUCCESS,
                                                          [JOB_ABORTED] = EVENT_ABORTED,
                                                          [JOB_BURIED] = EVENT_BURIED,
                                                          [JOB_CANCELLED] = EVENT_CANCELLED};
    if (job_state_final(job->state))
        return ends[job->state];
    if (!attempt)
        return EVENT_TYPE_COUNT;
    return attempt->outcome == OUTCOME_LOST ? EVENT_LOST : attempt->outcome == OUTCOME_RELEASED ? EVENT_RELEASED : EVENT_RETRIED;
}

static void emit_step(struct node *node, const struct store_step *step, struct str queue, struct str name)
{
    const struct job *job = step->job;
    enum event_type type = event_of(job, step->attempt);
    struct attempt latest = job_latest_attempt(job);
    if (type == EVENT_TYPE_COUNT)
        return;
    bool final = job_state_final(job->state);
    const struct attempt *attempt = step->attempt && !final ? step->attempt : &latest;
    events_emit(node->events, &(struct event_item){.type = type,
                                                   .tenant = job->tenant,
                                                   .at_ms = attempt->completed_at,
                                                   .task_id = job->task_id,
                                                   .job_id = job->id,
                                                   .state = job->state,
                                                   .queue = queue,
                                                   .name = name,
                                                   .attempt = attempt->number,
                                                   .status = attempt->status,
                                                   .outcome = attempt->outcome,
                                                   .reason = final ? job->reason : attempt->reason,
                                                   .next_at = type == EVENT_RETRIED ? job->due_at : 0});
}

static void emit_task(struct node *node, enum event_type type, const struct store_task *task, struct str reason, struct now now)
{
    events_emit(node->events, &(struct event_item){.type = type,
                                                   .tenant = task->tenant,
                                                   .at_ms = now.wall_ms,
                                                   .task_id = task->id,
                                                   .queue = task->queue,
                                                   .name = task->name,
                                                   .reason = reason});
}

// ---- steps

void recording_init(struct recording *recording, size_t max, void (*done)(struct recording *recording, struct now now))
{
    *recording = (struct recording){.max = max, .done = done};
    store_op_init(&recording->change.op, STORE_CHANGE, NULL);
    recording->change.steps = arena_array(&recording->change.op.arena, struct store_step, max);
    recording->subjects = arena_array(&recording->change.op.arena, struct record_subject, max);
}

void recording_done(struct recording *recording)
{
    store_op_done(&recording->change.op);
}

void recording_add(struct recording *recording, struct store_step step, struct record_subject subject)
{
    assert(recording->change.count < recording->max);
    recording->subjects[recording->change.count] = subject;
    recording->change.steps[recording->change.count++] = step;
}

static bool is_failure(const struct job *job)
{
    return job->state == JOB_ABORTED || job->state == JOB_BURIED;
}

// A document is read for its names only when somebody wants to know them.
static void emit_and_count(struct node *node, const struct store_step *step, const struct record_subject *subject)
{
    struct task task = {.queue = subject->queue, .name = subject->name};
    struct arena arena;
    char why[ERR_WHY_MAX];
    stats_changed(&node->stats, step->job, step->attempt);
    if (!events_wanted(node->events) && !is_failure(step->job))
        return;
    arena_init(&arena);
    if (!subject->queue.p)
        task_read(&task, subject->doc, &arena, why); // a document that cannot be read has an event all the same
    if (is_failure(step->job))
        failures_note(&node->failures, step->job, task.queue, task.name);
    if (events_wanted(node->events))
        emit_step(node, step, task.queue, task.name);
    arena_done(&arena);
}

// A job that waits for another is looked at, too: the other may have ended before it was written that this one waits.
static bool concerns_plan(const struct job *job)
{
    return job->trigger == TRIGGER_SCHEDULE && (job_state_final(job->state) || job->state == JOB_BLOCKED);
}

static void follow_step(struct recorder *recorder, const struct store_step *step, const struct record_subject *subject)
{
    const struct job *job = step->job;
    if (!step->err)
        emit_and_count(recorder->node, step, subject);
    if (!step->err && job_state_waiting(job->state))
        lanes_due(recorder->node->lanes, job->lane, job->due_at);
    if (!step->err && !subject->calm && concerns_plan(job))
        recur_ended(recorder->recur, job->task_id, (enum job_state)job->state);
    if (!step->err && job->trigger == TRIGGER_BACKFILL && job_state_final(job->state))
        backfills_ended(recorder->backfills, job->task_id);
    if (subject->held)
        pull_returned(recorder->pull, job->id, subject->held);
}

static void submit(struct recorder *recorder, struct store_op *op)
{
    store_op_to(op, &recorder->answers);
    store_submit(recorder->node->store, op);
}

void recorder_write(struct recorder *recorder, struct recording *recording)
{
    submit(recorder, &recording->change.op);
}

static void take_recording(struct recorder *recorder, struct store_op *op, struct now now)
{
    struct recording *recording = container_of(op, struct recording, change.op);
    for (size_t i = 0; !op->err && i < recording->change.count; i++)
        follow_step(recorder, &recording->change.steps[i], &recording->subjects[i]);
    recording->done(recording, now);
}

// ---- plans

void planning_init(struct planning *planning, size_t max, void (*done)(struct planning *planning, struct now now))
{
    *planning = (struct planning){.max = max, .done = done};
    store_op_init(&planning->plan.op, STORE_PLAN, NULL);
    planning->plan.items = arena_array(&planning->plan.op.arena, struct store_planned, max);
    planning->subjects = arena_array(&planning->plan.op.arena, struct record_subject, max);
}

void planning_done(struct planning *planning)
{
    store_op_done(&planning->plan.op);
}

void planning_add(struct planning *planning, struct store_planned item, struct record_subject subject)
{
    assert(planning->plan.count < planning->max);
    planning->subjects[planning->plan.count] = subject;
    planning->plan.items[planning->plan.count++] = item;
}

void recorder_plan(struct recorder *recorder, struct planning *planning, int64_t now_ms)
{
    planning->plan.holder = atomic_load(&recorder->node->incarnation);
    planning->plan.now_ms = now_ms;
    submit(recorder, &planning->plan.op);
}

static void take_planning(struct recorder *recorder, struct store_op *op, struct now now)
{
    struct planning *planning = container_of(op, struct planning, plan.op);
    for (size_t i = 0; !op->err && i < planning->plan.count; i++) {
        const struct store_planned *item = &planning->plan.items[i];
        const struct record_subject *subject = &planning->subjects[i];
        for (size_t k = 0; !item->err && k < item->job_count; k++)
            follow_job(recorder->node, &item->jobs[k], subject->queue, subject->name, now.wall_ms);
    }
    planning->done(planning, now);
}

// ---- tasks

void recorder_amend(struct recorder *recorder, struct amending *amending)
{
    store_op_init(&amending->amend.op, STORE_AMEND, NULL);
    submit(recorder, &amending->amend.op);
}

static void follow_amended(struct node *node, const struct store_step *step, const struct store_task *task)
{
    if (job_state_final(step->job->state))
        emit_and_count(node, step, &(struct record_subject){.queue = task->queue, .name = task->name});
    else
        lanes_due(node->lanes, step->job->lane, step->job->due_at);
}

static void take_amending(struct recorder *recorder, struct store_op *op, struct now now)
{
    struct amending *amending = container_of(op, struct amending, amend.op);
    const struct store_amend *amend = &amending->amend;
    if (!op->err && amending->event != EVENT_TYPE_COUNT)
        emit_task(recorder->node, amending->event, &amend->task, amending->reason, now);
    for (size_t i = 0; !op->err && i < amend->count; i++)
        follow_amended(recorder->node, &amend->steps[i], &amend->task);
    for (size_t i = 0; !op->err && i < amend->job_count; i++)
        follow_job(recorder->node, &amend->jobs[i], amend->task.queue, amend->task.name, now.wall_ms);
    amending->done(amending, now);
}

void recorder_remove(struct recorder *recorder, struct removing *removing)
{
    store_op_init(&removing->remove.op, STORE_REMOVE, NULL);
    submit(recorder, &removing->remove.op);
}

static void take_removing(struct recorder *recorder, struct store_op *op, struct now now)
{
    struct removing *removing = container_of(op, struct removing, remove.op);
    if (!op->err && !removing->remove.more)
        emit_task(recorder->node, EVENT_TASK_DELETED, removing->task, (struct str){0}, now);
    removing->done(removing, now);
}

void recorder_turn(struct recorder *recorder, struct now now)
{
    static void (*const takes[STORE_VERB_COUNT])(struct recorder *, struct store_op *,
                                                 struct now) = {[STORE_CHANGE] = take_recording,
                                                                [STORE_PLAN] = take_planning,
                                                                [STORE_AMEND] = take_amending,
                                                                [STORE_REMOVE] = take_removing};
    struct list answers;
    list_init(&answers);
    mailbox_take(&recorder->answers, &answers);
    list_each (&answers, link) {
        struct store_op *op = list_entry(link, struct store_op, link);
        takes[op->verb](recorder, op, now);
    }
}

// ---- additions

// True: pull is to be woken, because something is due sooner than it knows.
static bool follow_addition(struct recorder *recorder, struct addition *addition, size_t i)
{
    struct node *node = recorder->node;
    const struct store_new *item = &addition->add.items[i];
    const struct store_task *task = item->task ? item->task : addition->task;
    struct order *order = addition->orders ? addition->orders[i] : NULL;
    bool added = !addition->add.op.err && !item->err && !item->existing_id, wake = false;
    for (size_t k = 0; added && k < item->job_count; k++) {
        const struct job *job = &item->jobs[k];
        if (!order && task->dispatch == TARGET_CALLED)
            wake |= follow_job(node, job, task->queue, task->name, addition->add.now_ms);
        else
            emit_added(node, job, task->queue, task->name, addition->add.now_ms);
    }
    if (order && added) {
        pull_push(recorder->pull, order);
    } else if (order) {
        lanes_give(node->lanes, order->job.lane, order->doc.n);
        order_free(order);
    }
    return wake;
}

// On a thread of the store. Pull has the job before the client has its answer, so a cancel that follows the answer finds it
// there.
static void take_addition(struct store_op *op)
{
    struct addition *addition = container_of(op, struct addition, add.op);
    struct node *node = addition->recorder->node;
    CRASH_POINT("admit.after_commit");
    stats_time(&node->stats, STATS_COMMIT_DELAY, (clock_mono_ns() - addition->began_ns) / 1000);
    bool wake = op->err != ERR_OK;
    atomic_store(&node->add_err, (int)op->err);
    if (op->err) {
        mark(MARK_ADD_FAILED);
        atomic_store(&node->recount_wanted, true); // it may have been stored all the same
        atomic_store(&node->lane_scan_wanted, true);
    }
    for (size_t i = 0; i < addition->add.count; i++)
        wake |= follow_addition(addition->recorder, addition, i);
    addition->done(addition);
    if (wake)
        node->flow_waker->wake(node->flow_waker);
}

void recorder_add(struct recorder *recorder, struct addition *addition)
{
    addition->recorder = recorder;
    addition->add.op.done = take_addition;
    addition->began_ns = clock_mono_ns();
    CRASH_POINT("admit.before_submit");
    store_submit(recorder->node->store, &addition->add.op);
}
