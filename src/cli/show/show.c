// Each kind of thing is a table of lines: a label and what fills it. A line with nothing in it is left out, so the tables are
// also the order of what is shown. Everything that comes from the server goes through member_put_* or text_put_*.
#include "cli/show/show.h"

#include "base/mem.h"
#include "cli/show/member.h"
#include "cli/show/recurrence.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/show/times.h"
#include "core/job.h"

enum { LABEL_WIDTH = 10, SENTENCE_MAX = 300 };

struct line {
    const char *label;
    void (*put)(struct buf *buf, const struct show *show, const struct value *object, const char *path);
    const char *path; // of the member that is put; NULL: the function knows
};

static void put_lines(struct buf *buf, const struct show *show, const struct value *object, const struct line *lines,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = buf->n;
        buf_printf(buf, "%-*s", LABEL_WIDTH, lines[i].label);
        size_t empty = buf->n;
        lines[i].put(buf, show, object, lines[i].path);
        if (buf->n == empty)
            buf->n = before;
        else
            buf_putc(buf, '\n');
    }
}

void show_put_head(struct buf *buf, const struct show *show, const struct value *object)
{
    member_put_text(buf, show, object, "id");
    buf_puts(buf, "  ");
    member_put_state(buf, show, object, "state");
}

static void put_head(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    show_put_head(buf, show, object);
}

// Tasks

// Members of an object, as they are put.
struct members {
    struct buf *buf;
    size_t count;
};

// Headers stand one below the other. A value that is no text is one that the server does not show.
static void put_header(void *ctx, struct str name, const struct value *value)
{
    struct members *headers = ctx;
    if (headers->count++)
        buf_printf(headers->buf, "\n%*s", LABEL_WIDTH, "");
    text_put_short(headers->buf, name, MEMBER_TEXT_MAX);
    buf_puts(headers->buf, ": ");
    if (value_text(value).p)
        text_put_short(headers->buf, value_text(value), MEMBER_TEXT_MAX);
    else
        buf_puts(headers->buf, "(not shown)");
}

static void put_headers(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    value_each(value_at(task, path), put_header, &(struct members){.buf = buf});
}

static void put_body(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    struct str text = value_text(value_at(task, path));
    if (text.p)
        member_put_cut(buf, text);
    else
        member_put_json(buf, show, task, path);
}

static void put_queue(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    member_put_text(buf, show, task, "queue");
    int64_t priority = value_int(value_at(task, "priority"), -1);
    if (priority >= 0)
        buf_printf(buf, ", priority %d", (int)priority);
}

static void put_tries(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    int64_t max = value_int(value_at(task, "retry.max"), -1);
    struct str timeout = value_text(value_at(task, "timeout"));
    if (max >= 0)
        buf_printf(buf, "%lld at most", (long long)max + 1);
    if (max >= 0 && timeout.n)
        buf_puts(buf, ", each up to ");
    text_put_short(buf, timeout, MEMBER_TEXT_MAX);
}

static void put_label(void *ctx, struct str name, const struct value *value)
{
    struct members *labels = ctx;
    if (labels->count++)
        buf_puts(labels->buf, ", ");
    text_put_short(labels->buf, name, MEMBER_TEXT_MAX);
    buf_putc(labels->buf, '=');
    text_put_short(labels->buf, value_text(value), MEMBER_TEXT_MAX);
}

static void put_labels(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    value_each(value_at(task, path), put_label, &(struct members){.buf = buf});
}

// A one-time task has one run, which is shown below; only more of them are worth a line.
static void put_runs(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    int64_t success = value_int(value_at(task, "runs.success"), 0), failed = value_int(value_at(task, "runs.failed"), 0),
            planned = value_int(value_at(task, "runs.planned"), 0);
    if (success + failed + planned > 1)
        buf_printf(buf, "%lld success, %lld failed, %lld planned", (long long)success, (long long)failed, (long long)planned);
}

static void put_version(struct buf *buf, const struct show *show, const struct value *task, const char *path)
{
    int64_t version = value_int(value_at(task, path), 0);
    if (version > 1)
        buf_put_int(buf, version);
}

static const struct line task_lines[] = {
    {"task", put_head},
    {"name", member_put_text, "name"},
    {"calls", member_put_call},
    {"headers", put_headers, "headers"},
    {"body", put_body, "body"},
    {"schedule", recurrence_put_schedule},
    {"missed", recurrence_put_missed},
    {"overlap", recurrence_put_overlap},
    {"clocks", recurrence_put_clocks},
    {"excluded", recurrence_put_excluded, "exclude"},
    {"bounds", recurrence_put_bounds},
    {"pauses", recurrence_put_pauses},
    {"paused", recurrence_put_paused},
    {"queue", put_queue},
    {"tries", put_tries},
    {"key", member_put_text, "key"},
    {"runs", put_runs},
    {"labels", put_labels, "labels"},
    {"expires", member_put_text, "not_after"},
    {"created", member_put_time, "created_at"},
    {"version", put_version, "version"},
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

const struct value *show_job(const struct value *object)
{
    return value_at(object, "task_id") ? object : value_at(object, "job");
}

static void put_task_id(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    if (!show->within_task)
        member_put_text(buf, show, job, path);
}

// What the schedule did not make by itself. A retry has a line of its own.
static void put_trigger(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    struct str trigger = value_text(value_at(job, path));
    if (str_is(trigger, "run") || str_is(trigger, "backfill"))
        member_put_text(buf, show, job, path);
}

// The instant of its schedule has a line only when the job is planned for another time: it is put off, repeated, or a backfill's.
static void put_instant(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    int64_t instant, planned;
    if (times_read(job, path, &instant) && times_read(job, "scheduled_at", &planned) && instant != planned)
        member_put_time(buf, show, job, path);
}

// The next try has a line only when its time is another than the planned one: after a failure.
static void put_next_try(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    int64_t planned, due;
    bool waits = !value_at(job, "started_at") && times_read(job, "due_at", &due) && times_read(job, "scheduled_at", &planned);
    if (waits && due != planned && !show->paused) // then it is only when the pause is looked at again
        member_put_time(buf, show, job, "due_at");
}

static void put_started(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    member_put_time(buf, show, job, "started_at");
    buf_auto struct buf late = {0};
    if (value_int(value_at(job, "retry_count"), 0) == 0 && member_put_between(&late, job, "scheduled_at", "started_at"))
        buf_printf(buf, "  " STR_FMT " after its time", STR_ARG(buf_str(&late)));
}

static void put_ended(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    member_put_time(buf, show, job, "completed_at");
    buf_auto struct buf took = {0};
    if (member_put_between(&took, job, "started_at", "completed_at"))
        buf_printf(buf, "  took " STR_FMT, STR_ARG(buf_str(&took)));
}

static void put_status(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    int64_t status = value_int(value_at(job, path), 0);
    if (status)
        buf_put_int(buf, status);
}

static void put_response(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    struct str response = value_text(value_at(job, "response"));
    while (response.n && response.p[response.n - 1] == '\n') // how many answers end, and nothing to look at
        response.n--;
    if (member_put_cut(buf, response) && value_true(value_at(job, "response_truncated")))
        buf_puts(buf, "…");
}

static void put_late(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    if (!value_false(value_at(job, "sla_met")))
        return;
    buf_puts(buf, "yes: ");
    member_put_text(buf, show, job, "late_stage");
    static const char *const stages[] = {"puller", "queue", "target"};
    const char *between = "  (";
    for (size_t i = 0; i < array_count(stages); i++) {
        int64_t ms = value_int(value_at(value_at(job, "delays"), stages[i]), -1);
        if (ms < 0)
            continue;
        buf_printf(buf, "%s%s ", between, stages[i]);
        times_put_duration(buf, ms);
        between = ", ";
    }
    if (*between == ',')
        buf_putc(buf, ')');
}

// The executor that has the job in hand. For a job that has ended it would only take room: -o json has it.
static void put_holder(struct buf *buf, const struct show *show, const struct value *job, const char *path)
{
    struct str state = value_text(value_at(job, "state"));
    if (str_is(state, job_state_text(JOB_RESERVED)) || str_is(state, job_state_text(JOB_WATCHING)))
        member_put_text(buf, show, job, path);
}

static const struct line job_lines[] = {
    {"job", put_head},
    {"task", put_task_id, "task_id"},
    {"retry of", member_put_text, "parent_job_id"},
    {"trigger", put_trigger, "trigger"},
    {"instant", put_instant, "nominal_at"},
    {"planned", member_put_time, "scheduled_at"},
    {"next try", put_next_try},
    {"executor", put_holder, "executor"},
    {"started", put_started},
    {"lease", member_put_time, "lease_until"},
    {"ended", put_ended},
    {"late", put_late},
    {"status", put_status, "status"},
    {"why", member_put_text, "reason"},
    {"response", put_response},
    {"progress", member_put_json, "progress"},
    {"result", member_put_json, "result"},
};

// Attempts

static void put_number(struct buf *buf, const struct show *show, const struct value *attempt, const char *path)
{
    buf_put_int(buf, value_int(value_at(attempt, path), 0));
}

static void put_clock(struct buf *buf, const struct show *show, const struct value *attempt, const char *path)
{
    int64_t ms;
    if (times_read(attempt, path, &ms))
        times_put_local(buf, ms, "%H:%M:%S");
}

static const struct table_column attempt_columns[] = {
    {"#", put_number, "number"},
    {"outcome", member_put_text, "outcome"},
    {"status", put_status, "status"},
    {"started", put_clock, "started_at", .rank = 2, .least = 8},
    {"took", member_put_took, .rank = 3, .least = 4},
    {"why", member_put_text, "reason", .rank = 1, .least = 12},
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

static const struct line explanation_lines[] = {
    {"state", member_put_state, "state"},
    {"expected", member_put_time, "expected_start"},
};

// These commands end the waiting. The server's own text names its routes instead.
static const struct {
    const char *what, *way;
} ways[] = {{"task_paused", "rota resume"}, {"queue_paused", "rota resume --queue"}};

static void put_cause(struct buf *buf, const struct value *cause)
{
    const struct value *detail = value_at(cause, "detail");
    struct str what = value_text(value_at(cause, "what"));
    text_put_short(buf, detail ? value_text(detail) : what, MEMBER_TEXT_MAX);
    for (size_t i = 0; i < array_count(ways); i++)
        if (str_is(what, ways[i].what)) {
            buf_printf(buf, " Let it go with: %s ", ways[i].way);
            text_put_short(buf, value_text(value_at(cause, "id")), MEMBER_TEXT_MAX);
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
        text_put_short(buf, value_text(value_at(explanation, "text")), SENTENCE_MAX);
}

void show_put_explanation(struct buf *buf, const struct show *show, const struct value *explanation)
{
    const struct value *notes = value_at(explanation, "notes"), *note;
    size_t before = buf->n;
    if (value_item(value_at(explanation, "waiting_for"), 0) || !value_item(notes, 0))
        show_put_waits(buf, explanation, "\n");
    for (size_t i = 0; (note = value_item(notes, i)); i++) {
        buf_puts(buf, buf->n > before ? "\n" : "");
        text_put_short(buf, value_text(note), SENTENCE_MAX);
    }
    buf_puts(buf, buf->n > before ? "\n\n" : "");
    put_lines(buf, show, explanation, explanation_lines, array_count(explanation_lines));
}

// Waiting for the end

// Why the last attempt failed that did. The job's own reason is gone once the job is taken in hand for the next attempt.
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
    member_put_text(buf, show, task, "id");
    buf_puts(buf, "  ");
    text_put_short(buf, state, MEMBER_TEXT_MAX);
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
        text_put_short(buf, reason, MEMBER_TEXT_MAX);
    }
}

void show_put_end(struct buf *buf, const struct show *show, const struct value *object)
{
    const struct value *job = show_job(object);
    int64_t status = value_int(value_at(job, "status"), 0);
    member_put_text(buf, show, object, "id");
    buf_puts(buf, "  ");
    member_put_state(buf, show, job, "state");
    if (status)
        buf_printf(buf, "  %lld", (long long)status);
    if (value_text(value_at(job, "reason")).n) {
        buf_puts(buf, "  ");
        member_put_text(buf, show, job, "reason");
    }
    buf_putc(buf, '\n');
}

// Bulks

static void put_counts(struct buf *buf, const struct show *show, const struct value *bulk, const char *path)
{
    static const char *const counts[] = {"changed", "unchanged", "failed"};
    for (size_t i = 0; i < array_count(counts); i++)
        buf_printf(buf, "%s%lld %s", i ? ", " : "", (long long)value_int(value_at(bulk, counts[i]), 0), counts[i]);
}

// What a backfill is for.
static void put_window(struct buf *buf, const struct show *show, const struct value *bulk)
{
    buf_puts(buf, " of ");
    member_put_text(buf, show, bulk, "task_id");
    buf_puts(buf, " from ");
    member_put_text(buf, show, bulk, "backfill.from");
    buf_puts(buf, " to ");
    member_put_text(buf, show, bulk, "backfill.to");
}

static void put_action(struct buf *buf, const struct show *show, const struct value *bulk, const char *path)
{
    member_put_text(buf, show, bulk, "action");
    if (value_at(bulk, "task_id")) {
        put_window(buf, show, bulk);
        return;
    }
    buf_puts(buf, " where ");
    struct members filters = {.buf = buf};
    value_each(value_at(bulk, "filter"), put_label, &filters);
    if (!filters.count)
        buf_puts(buf, "(everything)");
}

static const struct line bulk_lines[] = {
    {"bulk", put_head},
    {"does", put_action},
    {"done", put_counts},
    {"begun", member_put_time, "created_at"},
    {"ended", member_put_time, "ended_at"},
};

void show_put_bulk_line(struct buf *buf, const struct show *show, const struct value *bulk)
{
    show_put_head(buf, show, bulk);
    buf_puts(buf, "  ");
    put_counts(buf, show, bulk, NULL);
}

void show_put_bulk(struct buf *buf, const struct show *show, const struct value *bulk)
{
    put_lines(buf, show, bulk, bulk_lines, array_count(bulk_lines));
}
