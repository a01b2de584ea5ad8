// Why a job does not run: what the record and this node's lanes say, in the words of what decides (core/job: job_wait).
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/when.h"

enum { REASONS_MAX = 3 };

// One thing a job waits for.
struct reason {
    const char *what;
    struct str id;       // of what it waits for, or empty
    struct str detail;   // a sentence
    struct str way;      // another one: how to end the waiting over HTTP, or empty
    int64_t expected_at; // when it is expected to start, if this is all; 0: nobody can tell
    bool later;          // a time to come: true beside a pause, too
};

struct question {
    struct arena *arena;
    const struct job *job;
    const struct attempt *last; // of those that failed, or NULL: who takes a job in hand clears what its record says of it
    const struct store_task *task;
    struct lanes *lanes;
    bool runs_here; // this node takes jobs in hand
    int64_t now_ms;
};

static struct str in_words(struct arena *arena, int64_t ms)
{
    long long s = ms / 1000, m = s / 60, h = m / 60;
    if (ms < 1000)
        return arena_printf(arena, "%lld ms", (long long)ms);
    if (m < 1)
        return arena_printf(arena, "%lld s", s);
    if (h < 1)
        return arena_printf(arena, "%lldm %llds", m, s % 60);
    return h < 24 ? arena_printf(arena, "%lldh %lldm", h, m % 60) : arena_printf(arena, "%lldd %lldh", h / 24, h % 24);
}

static struct str when_in_words(const struct question *question, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    when_format(text, ms);
    return arena_printf(question->arena, "%s (in " STR_FMT ")", text, STR_ARG(in_words(question->arena, ms - question->now_ms)));
}

static struct reason wait_for_task(const struct question *question)
{
    char id[ID_TEXT_SIZE];
    id_format(id, ID_TASK, question->task->id);
    return (struct reason){.what = "task_paused",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = STR("Its task is paused."),
                           .way = arena_printf(question->arena, " Resume it with POST /v1/tasks/%s/resume.", id)};
}

static struct reason wait_for_time(const struct question *question)
{
    const struct job *job = question->job;
    struct str when = when_in_words(question, job->due_at);
    struct reason reason = {.what = "time", .expected_at = job->due_at, .later = true};
    if (job->due_at > job->ready_at) {
        reason.what = "host";
        reason.detail =
            arena_printf(question->arena, "Its host has as many calls as it may have at once; it is tried again at " STR_FMT ".",
                         STR_ARG(when));
    } else if (question->last) {
        struct str why = question->last->reason;
        reason.what = "retry";
        reason.detail = arena_printf(question->arena, "Attempt %d failed%s" STR_FMT "; the next one is at " STR_FMT ".",
                                     (int)question->last->number, why.n ? ": " : "", STR_ARG(why), STR_ARG(when));
    } else {
        reason.detail = arena_printf(question->arena, "It is planned for " STR_FMT ".", STR_ARG(when));
    }
    return reason;
}

static struct reason wait_for_queue(const struct question *question)
{
    struct str queue = question->task->queue;
    return (struct reason){
        .what = "queue_paused",
        .id = queue,
        .detail = arena_printf(question->arena, "Its queue \"" STR_FMT "\" is paused.", STR_ARG(queue)),
        .way = arena_printf(question->arena, " Let it go with POST /v1/queues/" STR_FMT "/resume.", STR_ARG(queue))};
}

static struct reason wait_for_slot(const struct question *question)
{
    const struct job *job = question->job;
    if (job->state == JOB_WATCHING) {
        char id[ID_TEXT_SIZE];
        id_format(id, ID_INCARNATION, job->holder);
        return (struct reason){.what = "slot",
                               .id = arena_copy(question->arena, str_of(id)),
                               .detail =
                                   arena_printf(question->arena, "Node %s has it in hand and starts it when a slot is free.", id),
                               .expected_at = question->now_ms};
    }
    bool full = question->runs_here && !lanes_room(question->lanes, job->lane);
    return (struct reason){.what = full ? "room" : "slot",
                           .id = question->task->queue,
                           .detail = full ? arena_printf(question->arena,
                                                         "It is due; this node has as many jobs of queue \"" STR_FMT
                                                         "\" in hand as its share is.",
                                                         STR_ARG(question->task->queue))
                                          : STR("It is due, and is taken next by a node that runs jobs."),
                           .expected_at = question->now_ms};
}

static struct reason wait_for_word(const struct question *question)
{
    const struct job *job = question->job;
    return (struct reason){.what = "attempt",
                           .detail = arena_printf(question->arena,
                                                  "Attempt %d was answered 202; its target says how it went, until " STR_FMT ".",
                                                  (int)job->attempts, STR_ARG(when_in_words(question, job->lease_until))),
                           .expected_at = job->started_at};
}

static struct reason wait_for_end(const struct question *question)
{
    const struct job *job = question->job;
    if (job->lease_until)
        return wait_for_word(question);
    char id[ID_TEXT_SIZE];
    id_format(id, ID_INCARNATION, job->holder);
    return (struct reason){.what = "attempt",
                           .id = arena_copy(question->arena, str_of(id)),
                           .detail = arena_printf(question->arena, "Attempt %d has been running for " STR_FMT ", on node %s.",
                                                  (int)job->attempts,
                                                  STR_ARG(in_words(question->arena, question->now_ms - job->started_at)), id),
                           .expected_at = job->started_at};
}

static struct reason find_reason(const struct question *question, bool queue_paused)
{
    const struct job *job = question->job;
    if (job->state == JOB_RESERVED)
        return wait_for_end(question);
    switch (job_wait(job, queue_paused, question->now_ms)) {
    case WAIT_TIME:
        return wait_for_time(question);
    case WAIT_QUEUE:
        return wait_for_queue(question);
    case WAIT_EXPIRED:
        return (struct reason){.what = "expiry",
                               .detail = STR("It has not started by its not_after, and is about to be cancelled.")};
    case WAIT_NOTHING:
        break;
    }
    return wait_for_slot(question);
}

// All that it waits for: who is told of its time only is surprised by a pause when that has come.
static size_t find_reasons(const struct question *question, struct reason ret_reasons[REASONS_MAX])
{
    const struct job *job = question->job;
    bool begun = job->state == JOB_RESERVED, queue_paused = lanes_is_paused(question->lanes, job->lane);
    bool put_off = question->task->paused && job->due_at > job->ready_at; // then its due_at is when the pause is looked at again
    size_t count = 0;
    if (question->task->paused && !begun)
        ret_reasons[count++] = wait_for_task(question);
    if (queue_paused && !begun)
        ret_reasons[count++] = wait_for_queue(question);
    struct reason reason = find_reason(question, queue_paused);
    if (count == 0 || (reason.later && !put_off))
        ret_reasons[count++] = reason;
    return count;
}

static void put_reason(struct buf *body, const struct reason *reason)
{
    buf_printf(body, "{\"what\":\"%s\"", reason->what);
    if (reason->id.n) {
        buf_puts(body, ",\"id\":");
        json_put_string(body, reason->id);
    }
    buf_puts(body, ",\"detail\":");
    json_put_string(body, reason->detail);
    buf_putc(body, '}');
}

static void put_expected(struct buf *body, int64_t ms)
{
    char text[WHEN_TEXT_SIZE];
    buf_puts(body, ",\"expected_start\":");
    if (!ms) {
        buf_puts(body, "null");
        return;
    }
    when_format(text, ms);
    buf_printf(body, "\"%s\"", text);
}

// What has ended waits for nothing.
static struct str end_in_words(const struct question *question)
{
    const struct job *job = question->job;
    return arena_printf(question->arena, "It has ended: %s%s" STR_FMT ".", job_state_text(job->state), job->reason.n ? ", " : "",
                        STR_ARG(job->reason));
}

void explain_put(struct buf *body, const struct api *api, const struct store_get *found, int64_t now_ms, struct arena *arena)
{
    const struct job *job = &found->jobs[0];
    struct question question = {.arena = arena,
                                .job = job,
                                .last = found->attempt_count ? &found->attempts[found->attempt_count - 1] : NULL,
                                .task = &found->task,
                                .lanes = api->lanes,
                                .runs_here = api->node && api->node->pulls,
                                .now_ms = now_ms};
    struct reason reasons[REASONS_MAX] = {{0}};
    size_t count = job_state_final(job->state) ? 0 : find_reasons(&question, reasons);
    buf_auto struct buf text = {0};
    buf_printf(body, "{\"state\":\"%s\",\"waiting_for\":[", job_state_text(job_state_at(job, now_ms)));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(body, ',');
        put_reason(body, &reasons[i]);
        buf_puts(&text, i ? " " : "");
        buf_put(&text, reasons[i].detail);
        buf_put(&text, reasons[i].way);
    }
    if (!count)
        buf_put(&text, end_in_words(&question));
    buf_putc(body, ']');
    put_expected(body, count == 1 ? reasons[0].expected_at : 0);
    buf_puts(body, ",\"text\":");
    json_put_string(body, buf_str(&text));
    buf_putc(body, '}');
}

void jobs_explain(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_JOB, &id))
        read_reply(call, &(struct read_plan){.what = READ_EXPLAIN, .id = id, .status = 200});
}
