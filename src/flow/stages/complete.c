// Outcomes are gathered while a batch is being written, and for a moment after it began, longer the more there were in
// it; what has come by then is the next batch. So a batch grows with the load, and a lone outcome does not wait, nor do those of
// a client that waits for each. Others are seen up to that moment later; no call waits for it, because its slot is free already.
//
// What follows is decided once, when the outcome arrives, on the record it carries: its token proves that nobody else changed
// it since. When the store fails, the same decided batch is tried again until it can say what became of it. If it had been
// written the first time, the second finds the token gone, which is as good. While the store fails, what comes is gathered, so
// that the failed batches stay few however long it is away.
#include "flow/stages/complete.h"

#include "base/crash.h"
#include "base/log.h"
#include "base/mark.h"
#include "base/mem.h"
#include "flow/stages/pull.h"
#include "flow/stages/recur.h"
#include "store/jobs.h"

enum {
    BATCH_MAX = 2000,
    BATCHES_MAX = 2,
    REST_EACH_MS = 2, // after a batch, for each outcome in it, none is begun,
    REST_MAX_MS = 10, // but not for longer: so the more come, the more share a commit
    FAIL_WAIT_MS = 200,
    FAIL_DOUBLINGS = 3,
};

// An outcome, and what follows it.
struct decided {
    struct outcome *outcome; // acknowledged when that is written
    struct job_step step;
};

struct batch {
    struct recording recording;
    struct complete *complete;
    struct list link;
    struct decided *items;
    int64_t again_at; // monotonic: when to try again
    int failures;
};

struct complete {
    struct node *node;
    struct pull *pull;
    struct recorder *recorder;
    struct rand rand;
    struct list waiting; // outcomes
    struct list failed;  // batches to try again
    int writing;         // batches under way
    int failures;        // of the store, since it last succeeded
    int64_t next_at;     // monotonic: no new batch before this, because the store fails
    int64_t rest_until;  // monotonic: nor before this, because there was one just now
};

struct complete *complete_new(struct node *node, struct pull *pull, struct recorder *recorder, uint64_t seed)
{
    struct complete *complete = mem_zero(sizeof *complete);
    complete->node = node;
    complete->pull = pull;
    complete->recorder = recorder;
    rand_init(&complete->rand, seed);
    list_init(&complete->waiting);
    list_init(&complete->failed);
    return complete;
}

static void batch_free(struct batch *batch)
{
    recording_done(&batch->recording);
    mem_free(batch);
}

void complete_free(struct complete *complete)
{
    if (!complete)
        return;
    list_each (&complete->failed, link) {
        struct batch *batch = list_entry(link, struct batch, link);
        for (size_t i = 0; i < batch->recording.change.count; i++)
            outcome_free(batch->items[i].outcome);
        batch_free(batch);
    }
    list_each (&complete->waiting, link)
        outcome_free(list_entry(link, struct outcome, link));
    mem_free(complete);
}

bool complete_idle(const struct complete *complete)
{
    return list_empty(&complete->waiting) && list_empty(&complete->failed) && complete->writing == 0;
}

// A job whose document cannot be read ends at once and stays out of the way.
static enum err end_unreadable(struct outcome *outcome, struct now now, struct job_step *ret_step)
{
    struct job_policy none = {.ttl_ms = -1};
    struct job_result result = {.outcome = OUTCOME_REFUSED, .completed_at = now.wall_ms, .reason = outcome->result.reason};
    enum err err = job_start(&outcome->job, &none, now.wall_ms);
    return err ? err : job_finish(&outcome->job, &none, &result, 0, ret_step);
}

// What follows an outcome, written into its record.
static enum err decide(struct complete *complete, struct outcome *outcome, struct now now, struct job_step *ret_step)
{
    struct job *job = &outcome->job;
    const struct job_policy *policy = &outcome->policy;
    enum err err;
    *ret_step = (struct job_step){0};
    switch (outcome->end) {
    case ORDER_BEGAN:
        return ERR_OK;
    case ORDER_ENDED:
        return job_finish(job, policy, &outcome->result, rand_next(&complete->rand), ret_step);
    case ORDER_UNREADABLE:
        return end_unreadable(outcome, now, ret_step);
    case ORDER_DETACHED:
        mark(MARK_DETACHED);
        return job_detach(job, policy, &outcome->result);
    case ORDER_RELEASED:
        return job_release(job, job->due_at, now.wall_ms);
    case ORDER_POSTPONED:
        return job_release(job, outcome->postpone_to, now.wall_ms);
    case ORDER_HURRIED:
        err = job_release(job, job->due_at, now.wall_ms);
        return err ? err : job_run_now(job, now.wall_ms);
    case ORDER_INTERRUPTED:
        return job_interrupt(job, now.wall_ms, ret_step);
    case ORDER_CANCELLED:
        return job_cancel(job, policy, now.wall_ms, STR("cancelled by hand"), ret_step);
    case ORDER_EXPIRED:
        return job_cancel(job, policy, now.wall_ms, STR("expired"), ret_step);
    case ORDER_SKIPPED:
        return job_cancel(job, policy, now.wall_ms, outcome->result.reason, ret_step);
    case ORDER_BLOCKED:
        return job_block(job, now.wall_ms);
    }
    return ERR_INTERNAL;
}

static void written(struct recording *recording, struct now now);

static struct batch *batch_new(struct complete *complete, size_t max)
{
    struct batch *batch = mem_zero(sizeof *batch);
    recording_init(&batch->recording, max, written);
    batch->complete = complete;
    batch->items = arena_array(&batch->recording.change.op.arena, struct decided, max);
    return batch;
}

static bool is_calm(const struct outcome *outcome)
{
    return outcome->order && recur_is_calm(&outcome->order->task, outcome->job.state);
}

static void add(struct batch *batch, struct outcome *outcome, struct now now)
{
    struct decided *item = &batch->items[batch->recording.change.count];
    struct job *job = &outcome->job;
    enum err err = decide(batch->complete, outcome, now, &item->step);
    if (err) { // cannot happen while the state table and dispatch agree; the job is found again by the recount
        log_error("job %lld: end %d in state %s: %s", (long long)job->id, (int)outcome->end, job_state_text(job->state),
                  err_info(err)->code);
        pull_returned(batch->complete->pull, job->id, outcome->token);
        outcome_free(outcome);
        return;
    }
    item->outcome = outcome;
    recording_add(
        &batch->recording,
        (struct store_step){.token = outcome->token, .job = job, .attempt = item->step.kept ? &item->step.attempt : NULL},
        (struct record_subject){.queue = outcome->queue,
                                .name = outcome->name,
                                .calm = is_calm(outcome),
                                .held = outcome->end == ORDER_BEGAN ? 0 : outcome->token});
}

static void submit(struct complete *complete, struct batch *batch)
{
    complete->writing++;
    CRASH_POINT("complete.before_change");
    recorder_write(complete->recorder, &batch->recording);
}

static void start_batch(struct complete *complete, struct now now)
{
    size_t count = 0;
    list_each (&complete->waiting, link)
        if (++count == BATCH_MAX)
            break;
    struct batch *batch = batch_new(complete, count);
    complete->rest_until = now.mono_ms + time_min(REST_EACH_MS * (int64_t)count, REST_MAX_MS);
    for (; count > 0; count--)
        add(batch, list_entry(list_take(&complete->waiting), struct outcome, link), now);
    if (batch->recording.change.count)
        submit(complete, batch);
    else
        batch_free(batch);
}

// When a batch was tried again, a step that is refused may have been written the first time, without an event.
static void emit_gap(struct complete *complete, const struct batch *batch, struct now now)
{
    bool refused = false;
    for (size_t i = 0; i < batch->recording.change.count && batch->failures; i++)
        refused |= batch->recording.change.steps[i].err != ERR_OK;
    if (refused)
        events_emit(
            complete->node->events,
            &(struct event_item){.type = EVENT_GAP, .at_ms = now.wall_ms, .reason = STR("an answer of the store was lost")});
}

// 200, 400, 800, 1600 ms: a store that is back is noticed within two seconds.
static int64_t fail_wait(int *failures)
{
    int64_t wait = (int64_t)FAIL_WAIT_MS << *failures;
    if (*failures < FAIL_DOUBLINGS)
        ++*failures;
    return wait;
}

static void fail(struct complete *complete, struct batch *batch, struct now now)
{
    node_say_failed(complete->node, "complete", &batch->recording.change.op, now.mono_ms);
    batch->again_at = now.mono_ms + fail_wait(&batch->failures);
    complete->next_at = now.mono_ms + fail_wait(&complete->failures);
    list_append(&complete->failed, &batch->link);
}

static void written(struct recording *recording, struct now now)
{
    struct batch *batch = container_of(recording, struct batch, recording);
    struct complete *complete = batch->complete;
    complete->writing--;
    CRASH_POINT("complete.after_change");
    if (recording->change.op.err) {
        fail(complete, batch, now);
        return;
    }
    complete->failures = 0;
    complete->next_at = now.mono_ms;
    emit_gap(complete, batch, now);
    for (size_t i = 0; i < recording->change.count; i++) {
        if (recording->change.steps[i].err)
            mark(MARK_STALE_WRITE);
        broker_acknowledge(complete->node->broker, batch->items[i].outcome);
    }
    batch_free(batch);
}

static int64_t try_again(struct complete *complete, struct now now)
{
    int64_t next = TIME_NEVER;
    list_each (&complete->failed, link) {
        struct batch *batch = list_entry(link, struct batch, link);
        if (batch->again_at > now.mono_ms) {
            next = time_min(next, now.wall_ms + batch->again_at - now.mono_ms);
            continue;
        }
        list_remove(link);
        mark(MARK_CHANGE_AGAIN);
        submit(complete, batch);
    }
    return next;
}

// As long as no batch may begin, what comes stays where it was put: the first of it wakes this thread, and no other does.
int64_t complete_turn(struct complete *complete, struct now now)
{
    int64_t next = try_again(complete, now);
    int64_t from_ms = time_max(complete->next_at, complete->rest_until);
    if (now.mono_ms < from_ms)
        return time_min(next, now.wall_ms + from_ms - now.mono_ms);
    if (complete->writing < BATCHES_MAX)
        broker_take_outcomes(complete->node->broker, &complete->waiting);
    while (complete->writing < BATCHES_MAX && !list_empty(&complete->waiting))
        start_batch(complete, now);
    return next;
}
