// See rows.h. Ids and states stay whole as long as anything does, because they are what one goes on with; what is said for
// people gives way first.
#include "cli/show/rows.h"

#include "base/mem.h"
#include "cli/show/text.h"
#include "cli/show/times.h"

enum { CELL_MAX = 200 };

static void put_member(struct buf *buf, const struct value *row, const char *path)
{
    text_put_short(buf, value_text(value_at(row, path)), CELL_MAX);
}

static void put_when(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    int64_t ms;
    if (!times_read(row, path, &ms))
        return;
    if (show->absolute)
        times_put_local(buf, ms, "%Y-%m-%d %H:%M:%S");
    else
        times_put_away(buf, ms, show->now_ms);
}

static void put_count(struct buf *buf, const struct value *row, const char *path)
{
    int64_t count = value_int(value_at(row, path), -1);
    if (count >= 0)
        buf_put_int(buf, count);
}

#define MEMBER(name, path)                                                              \
    static void name(struct buf *buf, const struct show *show, const struct value *row) \
    {                                                                                   \
        put_member(buf, row, path);                                                     \
    }
#define WHEN(name, path)                                                                \
    static void name(struct buf *buf, const struct show *show, const struct value *row) \
    {                                                                                   \
        put_when(buf, show, row, path);                                                 \
    }
#define COUNT(name, path)                                                               \
    static void name(struct buf *buf, const struct show *show, const struct value *row) \
    {                                                                                   \
        put_count(buf, row, path);                                                      \
    }

MEMBER(put_id, "id")
MEMBER(put_task, "task_id")
MEMBER(put_state, "state")
MEMBER(put_job_state, "job.state")
MEMBER(put_queue, "queue")
MEMBER(put_name, "name")
MEMBER(put_reason, "reason")
WHEN(put_planned, "scheduled_at")
WHEN(put_started, "started_at")
WHEN(put_next_due, "next_due")
COUNT(put_status, "status")
COUNT(put_retries, "retry_count")
COUNT(put_pending, "pending")
COUNT(put_ready, "states.ready")
COUNT(put_held, "states.watching")
COUNT(put_running, "states.reserved")

// What waits for its time, or for others.
static void put_later(struct buf *buf, const struct show *show, const struct value *row)
{
    int64_t delayed = value_int(value_at(row, "states.delayed"), -1);
    if (delayed >= 0)
        buf_put_int(buf, delayed + value_int(value_at(row, "states.blocked"), 0));
}

static void put_call(struct buf *buf, const struct show *show, const struct value *row)
{
    put_member(buf, row, "method");
    buf_putc(buf, ' ');
    put_member(buf, row, "url");
}

// What tells one URL from the other is mostly its end, and never its scheme.
static void shorten_call(struct buf *buf, struct str cell, size_t columns)
{
    const char *space = cell.n ? memchr(cell.p, ' ', cell.n) : NULL, *scheme = cell.n ? memmem(cell.p, cell.n, "://", 3) : NULL;
    if (text_columns(cell) <= columns || !space || !scheme || scheme < space) {
        text_put_middle(buf, cell, columns);
        return;
    }
    buf_auto struct buf bare = {0};
    buf_put(&bare, (struct str){cell.p, (size_t)(space + 1 - cell.p)});
    buf_put(&bare, (struct str){scheme + 3, cell.n - (size_t)(scheme + 3 - cell.p)});
    text_put_middle(buf, buf_str(&bare), columns);
}

static void put_took(struct buf *buf, const struct show *show, const struct value *row)
{
    int64_t started, ended;
    if (times_read(row, "started_at", &started) && times_read(row, "completed_at", &ended) && ended >= started)
        times_put_duration(buf, ended - started);
}

static void put_paused(struct buf *buf, const struct show *show, const struct value *row)
{
    buf_puts(buf, value_true(value_at(row, "paused")) ? "paused" : "open");
}

static const struct table_column task_columns[] = {
    {"task", put_id},
    {"state", put_state, .state = true},
    {"job", put_job_state, .state = true, .rank = 5, .least = 3},
    {"planned", put_planned, .rank = 4, .least = 7},
    {"queue", put_queue, .rank = 1, .least = 7, .from = 100},
    {"name", put_name, .rank = 2, .least = 8},
    {"calls", put_call, .rank = 3, .least = 20, .shorten = shorten_call},
};

static const struct table_column job_columns[] = {
    {"job", put_id},
    {"state", put_state, .state = true},
    {"planned", put_planned, .rank = 6, .least = 7},
    {"started", put_started, .rank = 3, .least = 7},
    {"took", put_took, .rank = 4, .least = 4},
    {"retries", put_retries, .rank = 1, .least = 7},
    {"status", put_status, .rank = 7, .least = 6},
    {"task", put_task, .rank = 5, .least = 14},
    {"why", put_reason, .rank = 2, .least = 10},
};

// Behind `pending` stand its parts, in the order in which a job goes through them: they add up to it.
static const struct table_column queue_columns[] = {
    {"queue", put_queue, .rank = 7, .least = 10},
    {"state", put_paused, .state = true},
    {"pending", put_pending},
    {"delayed", put_later, .rank = 3, .least = 7},
    {"ready", put_ready, .rank = 6, .least = 5},
    {"in hand", put_held, .rank = 4, .least = 7},
    {"running", put_running, .rank = 5, .least = 7},
    {"next due", put_next_due, .rank = 2, .least = 8},
};

const char *rows_noun(enum rows_kind kind)
{
    static const char *const nouns[] = {[ROWS_TASKS] = "task", [ROWS_JOBS] = "job", [ROWS_QUEUES] = "queue"};
    return nouns[kind];
}

struct table rows_table(enum rows_kind kind, const struct show *show)
{
    static const struct {
        const struct table_column *columns;
        size_t count;
    } tables[] = {
        [ROWS_TASKS] = {task_columns, array_count(task_columns)},
        [ROWS_JOBS] = {job_columns, array_count(job_columns)},
        [ROWS_QUEUES] = {queue_columns, array_count(queue_columns)},
    };
    return (struct table){.columns = tables[kind].columns, .count = tables[kind].count, .show = show};
}
