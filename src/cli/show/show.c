// Each kind of thing is a table of lines: a label and what fills it. A line with nothing in it is left out, so the tables are
// also the order of what is shown. Everything that comes from the server goes through text_put_*.
#include "cli/show/show.h"

#include "base/mem.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/show/times.h"
#include "core/job.h"

#include <stdio.h>

enum { LABEL_WIDTH = 10, RESPONSE_MAX = 300, LINE_MAX = 200 };
static const char MORE[] = " (more with -o json)";

struct line {
    const char *label;
    void (*put)(struct buf *buf, const struct show *show, const struct value *object);
};

static void put_lines(struct buf *buf, const struct show *show, const struct value *object, const struct line *lines,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = buf->n;
        buf_printf(buf, "%-*s", LABEL_WIDTH, lines[i].label);
        size_t empty = buf->n;
        lines[i].put(buf, show, object);
        if (buf->n == empty)
            buf->n = before;
        else
            buf_putc(buf, '\n');
    }
}

static void put_member(struct buf *buf, const struct value *object, const char *path)
{
    text_put_short(buf, value_text(value_at(object, path)), LINE_MAX);
}

static void put_cut(struct buf *buf, struct str text)
{
    if (!text_put_short(buf, text, RESPONSE_MAX))
        buf_puts(buf, MORE);
}

static void put_json(struct buf *buf, const struct value *value)
{
    buf_auto struct buf json = {0};
    value_put_json(&json, value);
    put_cut(buf, buf_str(&json));
}

// Times

// A local time and how far away it is. A time that cannot be read is shown as it came.
static void put_time(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    int64_t ms;
    if (!times_read(object, path, &ms)) {
        put_member(buf, object, path);
        return;
    }
    times_put_local(buf, ms, "%Y-%m-%d %H:%M:%S");
    buf_puts(buf, "  (");
    times_put_away(buf, ms, show->now_ms);
    buf_putc(buf, ')');
}

static void put_scheduled(struct buf *buf, const struct show *show, const struct value *object)
{
    put_time(buf, show, object, "scheduled_at");
}

// Only where it is another time than the planned one: after a failure.
static void put_next_try(struct buf *buf, const struct show *show, const struct value *job)
{
    int64_t planned, due;
    bool waits = !value_at(job, "started_at") && times_read(job, "due_at", &due) && times_read(job, "scheduled_at", &planned);
    if (waits && due != planned && !show->paused) // then it is only when the pause is looked at again
        put_time(buf, show, job, "due_at");
}

static void put_not_after(struct buf *buf, const struct show *show, const struct value *task)
{
    put_member(buf, task, "not_after");
}

static void put_created(struct buf *buf, const struct show *show, const struct value *object)
{
    put_time(buf, show, object, "created_at");
}

// How long from one time to the other, when both are known.
static bool put_between(struct buf *buf, const struct value *object, const char *from, const char *to)
{
    int64_t from_ms, to_ms;
    if (!times_read(object, from, &from_ms) || !times_read(object, to, &to_ms) || to_ms < from_ms)
        return false;
    times_put_duration(buf, to_ms - from_ms);
    return true;
}

static void put_started(struct buf *buf, const struct show *show, const struct value *job)
{
    put_time(buf, show, job, "started_at");
    buf_auto struct buf late = {0};
    if (value_int(value_at(job, "retry_count"), 0) == 0 && put_between(&late, job, "scheduled_at", "started_at"))
        buf_printf(buf, "  " STR_FMT " after its time", STR_ARG(buf_str(&late)));
}

static void put_ended(struct buf *buf, const struct show *show, const struct value *job)
{
    put_time(buf, show, job, "completed_at");
    buf_auto struct buf took = {0};
    if (put_between(&took, job, "started_at", "completed_at"))
        buf_printf(buf, "  took " STR_FMT, STR_ARG(buf_str(&took)));
}

// States

const char *show_state_colour(const struct show *show, struct str state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"success", "32"},  {"aborted", "31"},  {"buried", "31"}, {"cancelled", "33"},
        {"reserved", "36"}, {"watching", "36"}, {"active", "36"}, {"paused", "33"},
    };
    for (size_t i = 0; show->colours && i < array_count(colours); i++)
        if (str_is(state, colours[i].state))
            return colours[i].colour;
    return NULL;
}

bool show_state_final(struct str state)
{
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (str_is(state, job_state_text((enum job_state)i)))
            return job_state_final((enum job_state)i);
    return false;
}

void show_put_coloured(struct buf *buf, const char *colour, struct str text)
{
    if (colour)
        buf_printf(buf, "\033[%sm", colour);
    buf_put(buf, text);
    if (colour)
        buf_puts(buf, "\033[0m");
}

void show_put_head(struct buf *buf, const struct show *show, const struct value *object)
{
    buf_auto struct buf state = {0};
    put_member(&state, object, "state");
    put_member(buf, object, "id");
    buf_puts(buf, "  ");
    show_put_coloured(buf, show_state_colour(show, buf_str(&state)), buf_str(&state));
}

// Tasks

static void put_name(struct buf *buf, const struct show *show, const struct value *task)
{
    put_member(buf, task, "name");
}

static void put_call(struct buf *buf, const struct show *show, const struct value *task)
{
    put_member(buf, task, "method");
    buf_puts(buf, " ");
    put_member(buf, task, "url");
}

// Members of an object, as they are put.
struct members {
    struct buf *buf;
    size_t count;
};

// One below the other. A value that is no text is one that the server does not show.
static void put_header(void *ctx, struct str name, const struct value *value)
{
    struct members *headers = ctx;
    if (headers->count++)
        buf_printf(headers->buf, "\n%*s", LABEL_WIDTH, "");
    text_put_short(headers->buf, name, LINE_MAX);
    buf_puts(headers->buf, ": ");
    if (value_text(value).p)
        text_put_short(headers->buf, value_text(value), LINE_MAX);
    else
        buf_puts(headers->buf, "(not shown)");
}

static void put_headers(struct buf *buf, const struct show *show, const struct value *task)
{
    value_each(value_at(task, "headers"), put_header, &(struct members){.buf = buf});
}

static void put_body(struct buf *buf, const struct show *show, const struct value *task)
{
    const struct value *body = value_at(task, "body");
    if (value_text(body).p)
        put_cut(buf, value_text(body));
    else
        put_json(buf, body);
}

static void put_queue(struct buf *buf, const struct show *show, const struct value *task)
{
    put_member(buf, task, "queue");
    int64_t priority = value_int(value_at(task, "priority"), -1);
    if (priority >= 0)
        buf_printf(buf, ", priority %d", (int)priority);
}

static void put_tries(struct buf *buf, const struct show *show, const struct value *task)
{
    int64_t max = value_int(value_at(task, "retry.max"), -1);
    struct str timeout = value_text(value_at(task, "timeout"));
    if (max >= 0)
        buf_printf(buf, "%lld at most", (long long)max + 1);
    if (max >= 0 && timeout.n)
        buf_puts(buf, ", each up to ");
    text_put_short(buf, timeout, LINE_MAX);
}

static void put_key(struct buf *buf, const struct show *show, const struct value *task)
{
    put_member(buf, task, "key");
}

static void put_label(void *ctx, struct str name, const struct value *value)
{
    struct members *labels = ctx;
    if (labels->count++)
        buf_puts(labels->buf, ", ");
    text_put_short(labels->buf, name, LINE_MAX);
    buf_putc(labels->buf, '=');
    text_put_short(labels->buf, value_text(value), LINE_MAX);
}

static void put_labels(struct buf *buf, const struct show *show, const struct value *task)
{
    value_each(value_at(task, "labels"), put_label, &(struct members){.buf = buf});
}

// A one-time task has one run, which is shown below; only more of them are worth a line.
static void put_runs(struct buf *buf, const struct show *show, const struct value *task)
{
    int64_t success = value_int(value_at(task, "runs.success"), 0), failed = value_int(value_at(task, "runs.failed"), 0),
            planned = value_int(value_at(task, "runs.planned"), 0);
    if (success + failed + planned > 1)
        buf_printf(buf, "%lld success, %lld failed, %lld planned", (long long)success, (long long)failed, (long long)planned);
}

static void put_version(struct buf *buf, const struct show *show, const struct value *task)
{
    int64_t version = value_int(value_at(task, "version"), 0);
    if (version > 1)
        buf_printf(buf, "%lld", (long long)version);
}

static const struct line task_lines[] = {
    {"task", show_put_head},  {"name", put_name},     {"calls", put_call},        {"headers", put_headers},
    {"body", put_body},       {"queue", put_queue},   {"tries", put_tries},       {"key", put_key},
    {"runs", put_runs},       {"labels", put_labels}, {"expires", put_not_after}, {"created", put_created},
    {"version", put_version},
};

void show_put_task(struct buf *buf, const struct show *show, const struct value *task)
{
    put_lines(buf, show, task, task_lines, array_count(task_lines));
    const struct value *job = value_at(task, "job");
    if (!job)
        return;
    buf_putc(buf, '\n');
    struct show below = *show;
    below.within_task = true;
    below.paused = str_is(value_text(value_at(task, "state")), "paused");
    show_put_job(buf, &below, job);
}

// Jobs

static void put_task_id(struct buf *buf, const struct show *show, const struct value *job)
{
    if (!show->within_task)
        put_member(buf, job, "task_id");
}

static void put_parent(struct buf *buf, const struct show *show, const struct value *job)
{
    put_member(buf, job, "parent_job_id");
}

static void put_status(struct buf *buf, const struct show *show, const struct value *job)
{
    int64_t status = value_int(value_at(job, "status"), 0);
    if (status)
        buf_printf(buf, "%lld", (long long)status);
}

static void put_reason(struct buf *buf, const struct show *show, const struct value *job)
{
    put_member(buf, job, "reason");
}

static void put_response(struct buf *buf, const struct show *show, const struct value *job)
{
    struct str response = value_text(value_at(job, "response"));
    while (response.n && response.p[response.n - 1] == '\n') // how many answers end, and nothing to look at
        response.n--;
    bool whole = text_put_short(buf, response, RESPONSE_MAX);
    if (!whole)
        buf_puts(buf, MORE);
    else if (value_true(value_at(job, "response_truncated")))
        buf_puts(buf, "…");
}

static void put_late(struct buf *buf, const struct show *show, const struct value *job)
{
    if (!value_false(value_at(job, "sla_met")))
        return;
    buf_puts(buf, "yes: ");
    put_member(buf, job, "late_stage");
    static const char *const stages[] = {"puller", "queue", "target"};
    const char *between = "  (";
    for (size_t i = 0; i < array_count(stages); i++) {
        char path[32];
        snprintf(path, sizeof path, "delays.%s", stages[i]);
        int64_t ms = value_int(value_at(job, path), -1);
        if (ms < 0)
            continue;
        buf_printf(buf, "%s%s ", between, stages[i]);
        times_put_duration(buf, ms);
        between = ", ";
    }
    if (*between == ',')
        buf_putc(buf, ')');
}

// Who has it in hand. Of a job that has ended the record says it (-o json); here it would only take room.
static void put_holder(struct buf *buf, const struct show *show, const struct value *job)
{
    struct str state = value_text(value_at(job, "state"));
    if (str_is(state, job_state_text(JOB_RESERVED)) || str_is(state, job_state_text(JOB_WATCHING)))
        put_member(buf, job, "executor");
}

static void put_lease(struct buf *buf, const struct show *show, const struct value *job)
{
    put_time(buf, show, job, "lease_until");
}

static void put_going(struct buf *buf, const struct show *show, const struct value *job)
{
    put_json(buf, value_at(job, "progress"));
}

static void put_result(struct buf *buf, const struct show *show, const struct value *job)
{
    put_json(buf, value_at(job, "result"));
}

static const struct line job_lines[] = {
    {"job", show_put_head},     {"task", put_task_id},    {"retry of", put_parent}, {"planned", put_scheduled},
    {"next try", put_next_try}, {"executor", put_holder}, {"started", put_started}, {"lease", put_lease},
    {"ended", put_ended},       {"late", put_late},       {"status", put_status},   {"why", put_reason},
    {"response", put_response}, {"progress", put_going},  {"result", put_result},
};

// Attempts

static void put_number(struct buf *buf, const struct show *show, const struct value *attempt)
{
    buf_printf(buf, "%lld", (long long)value_int(value_at(attempt, "number"), 0));
}

static void put_outcome(struct buf *buf, const struct show *show, const struct value *attempt)
{
    put_member(buf, attempt, "outcome");
}

static void put_clock(struct buf *buf, const struct show *show, const struct value *attempt)
{
    int64_t ms;
    if (times_read(attempt, "started_at", &ms))
        times_put_local(buf, ms, "%H:%M:%S");
}

static void put_took(struct buf *buf, const struct show *show, const struct value *attempt)
{
    put_between(buf, attempt, "started_at", "completed_at");
}

static const struct table_column attempt_columns[] = {
    {"#", put_number},
    {"outcome", put_outcome},
    {"status", put_status},
    {"started", put_clock, .rank = 2, .least = 8},
    {"took", put_took, .rank = 3, .least = 4},
    {"why", put_reason, .rank = 1, .least = 12},
};
enum { ATTEMPTS_SHOWN = 20 };

void show_put_job(struct buf *buf, const struct show *show, const struct value *job)
{
    put_lines(buf, show, job, job_lines, array_count(job_lines));
    const struct value *attempts = value_at(job, "attempts");
    size_t count = value_count(attempts);
    // One attempt that succeeded has been told above.
    bool told = count == 1 && str_is(value_text(value_at(value_item(attempts, 0), "outcome")), "success");
    if (!count || told)
        return;
    size_t first = count > ATTEMPTS_SHOWN ? count - ATTEMPTS_SHOWN : 0;
    buf_putc(buf, '\n');
    if (first)
        buf_printf(buf, "(%zu earlier attempts: see -o json)\n", first);
    struct table table = {.columns = attempt_columns, .count = array_count(attempt_columns), .show = show};
    table_put(buf, &table, attempts, first);
}

// What a job waits for

static void put_explained(struct buf *buf, const struct show *show, const struct value *explanation)
{
    buf_auto struct buf state = {0};
    put_member(&state, explanation, "state");
    show_put_coloured(buf, show_state_colour(show, buf_str(&state)), buf_str(&state));
}

static void put_expected(struct buf *buf, const struct show *show, const struct value *explanation)
{
    put_time(buf, show, explanation, "expected_start");
}

static const struct line explanation_lines[] = {{"state", put_explained}, {"expected", put_expected}};

// What ends the waiting, in the words of the command line. The server's own text names its routes.
static const struct {
    const char *what, *way;
} ways[] = {{"task_paused", "rota resume"}, {"queue_paused", "rota resume --queue"}};

static void put_cause(struct buf *buf, const struct value *cause)
{
    put_member(buf, cause, value_at(cause, "detail") ? "detail" : "what");
    for (size_t i = 0; i < array_count(ways); i++)
        if (str_is(value_text(value_at(cause, "what")), ways[i].what)) {
            buf_printf(buf, " Let it go with: %s ", ways[i].way);
            put_member(buf, cause, "id");
        }
}

void show_put_waits(struct buf *buf, const struct value *explanation, const char *between)
{
    const struct value *causes = value_at(explanation, "waiting_for");
    for (size_t i = 0; value_item(causes, i); i++) {
        buf_puts(buf, i ? between : "");
        put_cause(buf, value_item(causes, i));
    }
    if (!value_item(causes, 0))
        text_put_short(buf, value_text(value_at(explanation, "text")), RESPONSE_MAX);
}

void show_put_explanation(struct buf *buf, const struct show *show, const struct value *explanation)
{
    size_t before = buf->n;
    show_put_waits(buf, explanation, "\n");
    buf_puts(buf, buf->n > before ? "\n\n" : "");
    put_lines(buf, show, explanation, explanation_lines, array_count(explanation_lines));
}

// Waiting for the end

const struct value *show_job(const struct value *object)
{
    return value_at(object, "task_id") ? object : value_at(object, "job");
}

// Why the latest attempt failed that did. The job's own reason is gone when it is taken in hand for the next.
static struct str last_reason(const struct value *job)
{
    struct str reason = {0};
    const struct value *attempts = value_at(job, "attempts"), *attempt;
    for (size_t i = 0; (attempt = value_item(attempts, i)); i++)
        if (value_text(value_at(attempt, "reason")).n)
            reason = value_text(value_at(attempt, "reason"));
    return reason;
}

void show_put_progress(struct buf *buf, const struct show *show, const struct value *task, int64_t waited_ms)
{
    const struct value *job = show_job(task);
    struct str state = value_text(value_at(job, "state"));
    bool waits = !str_is(state, job_state_text(JOB_RESERVED));
    // A retry is counted when the try before it has failed, and lost attempts are not, so this is never more than the most.
    int64_t number = value_int(value_at(job, "retry_count"), 0) + 1, max = value_int(value_at(task, "retry.max"), -1), due;
    put_member(buf, task, "id");
    buf_puts(buf, "  ");
    text_put_short(buf, state, LINE_MAX);
    if (number > 1 && max >= 0)
        buf_printf(buf, "  try %lld of %lld", (long long)number, (long long)max + 1);
    if (waits && times_read(job, "due_at", &due) && due > show->now_ms) {
        buf_puts(buf, number > 1 ? " " : "  ");
        times_put_away(buf, due, show->now_ms);
    }
    buf_puts(buf, "  waited ");
    times_put_duration(buf, waited_ms);
    struct str reason = last_reason(job);
    if (number > 1 && reason.n) {
        buf_puts(buf, "  last: ");
        text_put_short(buf, reason, LINE_MAX);
    }
}

void show_put_end(struct buf *buf, const struct show *show, const struct value *object)
{
    buf_auto struct buf state = {0};
    const struct value *job = show_job(object);
    int64_t status = value_int(value_at(job, "status"), 0);
    put_member(&state, job, "state");
    put_member(buf, object, "id");
    buf_puts(buf, "  ");
    show_put_coloured(buf, show_state_colour(show, buf_str(&state)), buf_str(&state));
    if (status)
        buf_printf(buf, "  %lld", (long long)status);
    if (value_text(value_at(job, "reason")).n) {
        buf_puts(buf, "  ");
        put_member(buf, job, "reason");
    }
    buf_putc(buf, '\n');
}

// Bulks

static void put_counts(struct buf *buf, const struct show *show, const struct value *bulk)
{
    static const char *const counts[] = {"changed", "unchanged", "failed"};
    for (size_t i = 0; i < array_count(counts); i++)
        buf_printf(buf, "%s%lld %s", i ? ", " : "", (long long)value_int(value_at(bulk, counts[i]), 0), counts[i]);
}

static void put_action(struct buf *buf, const struct show *show, const struct value *bulk)
{
    put_member(buf, bulk, "action");
    buf_puts(buf, " where ");
    struct members filters = {.buf = buf};
    value_each(value_at(bulk, "filter"), put_label, &filters);
    if (!filters.count)
        buf_puts(buf, "(everything)");
}

static void put_bulk_end(struct buf *buf, const struct show *show, const struct value *bulk)
{
    put_time(buf, show, bulk, "ended_at");
}

static const struct line bulk_lines[] = {
    {"bulk", show_put_head}, {"does", put_action}, {"done", put_counts}, {"begun", put_created}, {"ended", put_bulk_end}};

void show_put_bulk_line(struct buf *buf, const struct show *show, const struct value *bulk)
{
    show_put_head(buf, show, bulk);
    buf_puts(buf, "  ");
    put_counts(buf, show, bulk);
}

void show_put_bulk(struct buf *buf, const struct show *show, const struct value *bulk)
{
    put_lines(buf, show, bulk, bulk_lines, array_count(bulk_lines));
}
