// Each kind of thing is a table of lines: a label and what fills it. A line with nothing in it is left out, so the tables are
// also the order of what is shown. Everything that comes from the server goes through text_put_*.
#include "cli/show.h"

#include "base/mem.h"
#include "base/when.h"
#include "cli/text.h"

#include <time.h>

enum { LABEL_WIDTH = 10, RESPONSE_MAX = 300, LINE_MAX = 200 };

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

// Times

void show_put_duration(struct buf *buf, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "m"}, {1000, "s"}};
    if (ms < 1000) {
        buf_printf(buf, "%dms", (int)ms);
        return;
    }
    if (ms < 10000) {
        int tenths = (int)(ms % 1000 / 100);
        buf_printf(buf, tenths ? "%d.%ds" : "%ds", (int)(ms / 1000), tenths);
        return;
    }
    for (size_t i = 0; i < array_count(units); i++) {
        if (ms < units[i].ms)
            continue;
        buf_printf(buf, "%lld%s", (long long)(ms / units[i].ms), units[i].name);
        int64_t rest = i + 1 < array_count(units) ? ms % units[i].ms / units[i + 1].ms : 0;
        if (rest)
            buf_printf(buf, " %lld%s", (long long)rest, units[i + 1].name);
        return;
    }
}

static bool read_time(const struct value *object, const char *path, int64_t *ret_ms)
{
    struct str text = value_text(value_at(object, path));
    return text.n && when_parse(text, ret_ms);
}

static void put_local(struct buf *buf, int64_t ms, const char *format)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    char text[64];
    if (localtime_r(&seconds, &local) && strftime(text, sizeof text, format, &local))
        buf_puts(buf, text);
}

// A local time and how far away it is. A time that cannot be read is shown as it came.
static void put_time(struct buf *buf, const struct show *show, const struct value *object, const char *path)
{
    int64_t ms;
    if (!read_time(object, path, &ms)) {
        put_member(buf, object, path);
        return;
    }
    put_local(buf, ms, "%Y-%m-%d %H:%M:%S");
    int64_t away = ms - show->now_ms, seconds = (away < 0 ? -away : away) / 1000;
    if (!seconds) {
        buf_puts(buf, "  (now)");
        return;
    }
    buf_puts(buf, away > 0 ? "  (in " : "  (");
    show_put_duration(buf, seconds * 1000);
    buf_puts(buf, away > 0 ? ")" : " ago)");
}

static void put_scheduled(struct buf *buf, const struct show *show, const struct value *object)
{
    put_time(buf, show, object, "scheduled_at");
}

// Only where it is another time than the planned one: after a failure.
static void put_next_try(struct buf *buf, const struct show *show, const struct value *job)
{
    int64_t planned, due;
    bool waits = !value_at(job, "started_at") && read_time(job, "due_at", &due) && read_time(job, "scheduled_at", &planned);
    if (waits && due != planned)
        put_time(buf, show, job, "due_at");
}

// Until when its target may say how it went.
static void put_lease(struct buf *buf, const struct show *show, const struct value *job)
{
    if (value_at(job, "lease_until"))
        put_time(buf, show, job, "lease_until");
}

static void put_created(struct buf *buf, const struct show *show, const struct value *object)
{
    put_time(buf, show, object, "created_at");
}

// How long from one time to the other, when both are known.
static bool put_between(struct buf *buf, const struct value *object, const char *from, const char *to)
{
    int64_t from_ms, to_ms;
    if (!read_time(object, from, &from_ms) || !read_time(object, to, &to_ms) || to_ms < from_ms)
        return false;
    show_put_duration(buf, to_ms - from_ms);
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

static const char *state_colour(struct str state)
{
    static const struct {
        const char *state, *colour;
    } colours[] = {
        {"success", "32"},  {"aborted", "31"},  {"buried", "31"}, {"cancelled", "33"},
        {"reserved", "36"}, {"watching", "36"}, {"active", "36"}, {"paused", "33"},
    };
    for (size_t i = 0; i < array_count(colours); i++)
        if (str_is(state, colours[i].state))
            return colours[i].colour;
    return NULL;
}

static void put_head(struct buf *buf, const struct show *show, const struct value *object)
{
    struct str state = value_text(value_at(object, "state"));
    const char *colour = show->colours ? state_colour(state) : NULL;
    put_member(buf, object, "id");
    buf_puts(buf, "  ");
    if (colour)
        buf_printf(buf, "\033[%sm", colour);
    text_put_short(buf, state, LINE_MAX);
    if (colour)
        buf_puts(buf, "\033[0m");
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

struct labels {
    struct buf *buf;
    size_t count;
};

static void put_label(void *ctx, struct str name, const struct value *value)
{
    struct labels *labels = ctx;
    if (labels->count++)
        buf_puts(labels->buf, ", ");
    text_put_short(labels->buf, name, LINE_MAX);
    buf_putc(labels->buf, '=');
    text_put_short(labels->buf, value_text(value), LINE_MAX);
}

static void put_labels(struct buf *buf, const struct show *show, const struct value *task)
{
    value_each(value_at(task, "labels"), put_label, &(struct labels){.buf = buf});
}

// A one-time task has one run, which is shown below; only more of them are worth a line.
static void put_runs(struct buf *buf, const struct show *show, const struct value *task)
{
    int64_t success = value_int(value_at(task, "runs.success"), 0), failed = value_int(value_at(task, "runs.failed"), 0),
            planned = value_int(value_at(task, "runs.planned"), 0);
    if (success + failed + planned > 1)
        buf_printf(buf, "%lld success, %lld failed, %lld planned", (long long)success, (long long)failed, (long long)planned);
}

static const struct line task_lines[] = {
    {"task", put_head}, {"name", put_name}, {"calls", put_call},    {"queue", put_queue},     {"tries", put_tries},
    {"key", put_key},   {"runs", put_runs}, {"labels", put_labels}, {"created", put_created},
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
        buf_puts(buf, " (more with -o json)");
    else if (value_true(value_at(job, "response_truncated")))
        buf_puts(buf, "…");
}

static void put_late(struct buf *buf, const struct show *show, const struct value *job)
{
    if (!value_false(value_at(job, "sla_met")))
        return;
    buf_puts(buf, "yes: ");
    put_member(buf, job, "late_stage");
}

static const struct line job_lines[] = {
    {"job", put_head},          {"task", put_task_id},    {"retry of", put_parent},   {"planned", put_scheduled},
    {"next try", put_next_try}, {"started", put_started}, {"ended", put_ended},       {"late", put_late},
    {"status", put_status},     {"why", put_reason},      {"response", put_response}, {"lease", put_lease},
};

// Attempts: a table whose columns are as wide as what is in them.

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
    if (read_time(attempt, "started_at", &ms))
        put_local(buf, ms, "%H:%M:%S");
}

static void put_took(struct buf *buf, const struct show *show, const struct value *attempt)
{
    put_between(buf, attempt, "started_at", "completed_at");
}

static const struct line columns[] = {
    {"#", put_number},      {"outcome", put_outcome}, {"status", put_status},
    {"started", put_clock}, {"took", put_took},       {"why", put_reason},
};
enum { COLUMNS = array_count(columns), ATTEMPTS_SHOWN = 20 };

static void put_cell(struct buf *buf, struct str text, size_t width, bool last)
{
    buf_put(buf, text);
    for (size_t n = text.n; n < width + 2 && !last; n++)
        buf_putc(buf, ' ');
}

// A cell of the attempt, or of the titles when there is none.
static void put_column(struct buf *buf, const struct show *show, const struct value *attempt, int column)
{
    if (attempt)
        columns[column].put(buf, show, attempt);
    else
        buf_puts(buf, columns[column].label);
}

static void put_row(struct buf *buf, const struct show *show, const struct value *attempt, const size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        buf_auto struct buf cell = {0};
        put_column(&cell, show, attempt, c);
        put_cell(buf, buf_str(&cell), widths[c], c == COLUMNS - 1);
    }
    while (buf->p[buf->n - 1] == ' ')
        buf->n--;
    buf_putc(buf, '\n');
}

static void measure_row(const struct show *show, const struct value *attempt, size_t widths[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        buf_auto struct buf cell = {0};
        put_column(&cell, show, attempt, c);
        widths[c] = cell.n > widths[c] ? cell.n : widths[c];
    }
}

static void put_attempts(struct buf *buf, const struct show *show, const struct value *attempts, size_t first)
{
    size_t widths[COLUMNS] = {0};
    measure_row(show, NULL, widths);
    for (size_t i = first; value_item(attempts, i); i++)
        measure_row(show, value_item(attempts, i), widths);
    put_row(buf, show, NULL, widths);
    for (size_t i = first; value_item(attempts, i); i++)
        put_row(buf, show, value_item(attempts, i), widths);
}

void show_put_job(struct buf *buf, const struct show *show, const struct value *job)
{
    put_lines(buf, show, job, job_lines, array_count(job_lines));
    const struct value *attempts = value_at(job, "attempts");
    size_t count = 0;
    while (value_item(attempts, count))
        count++;
    // One attempt that succeeded has been told above.
    bool told = count == 1 && str_is(value_text(value_at(value_item(attempts, 0), "outcome")), "success");
    if (!count || told)
        return;
    size_t first = count > ATTEMPTS_SHOWN ? count - ATTEMPTS_SHOWN : 0;
    buf_putc(buf, '\n');
    if (first)
        buf_printf(buf, "(%zu earlier attempts: see -o json)\n", first);
    put_attempts(buf, show, attempts, first);
}
