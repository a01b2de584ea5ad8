// See rows.h. Ids and states stay whole as long as anything does, because the user types them next; texts give way first.
#include "cli/show/rows.h"

#include "base/mem.h"
#include "cli/show/member.h"
#include "cli/show/recurrence.h"
#include "cli/show/text.h"

// The jobs that wait for their time, or for other jobs.
static void put_later(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    int64_t delayed = value_int(value_at(row, "states.delayed"), -1);
    if (delayed >= 0)
        buf_put_int(buf, delayed + value_int(value_at(row, "states.blocked"), 0));
}

// URLs mostly differ at their ends and never in their schemes, so the scheme goes first and then the middle.
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

static void put_paused(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    buf_puts(buf, value_true(value_at(row, "paused")) ? "paused" : "open");
}

static const struct table_column task_columns[] = {
    {"task", member_put_text, "id"},
    {"state", member_put_text, "state", .state = true},
    {"job", member_put_text, "job.state", .state = true, .rank = 5, .least = 3},
    {"planned", member_put_away, "scheduled_at", .rank = 4, .least = 7},
    {"queue", member_put_text, "queue", .rank = 1, .least = 7, .from = 100},
    {"name", member_put_text, "name", .rank = 2, .least = 8},
    {"calls", member_put_call, .rank = 3, .least = 20, .shorten = shorten_call},
};

static const struct table_column schedule_columns[] = {
    {"task", member_put_text, "id"},
    {"state", member_put_text, "state", .state = true},
    {"name", member_put_text, "name", .rank = 3, .least = 8},
    {"schedule", recurrence_put_words, .rank = 2, .least = 12},
    {"next", member_put_away, "next_at", .rank = 5, .least = 7},
    {"last", member_put_away, "last_at", .rank = 4, .least = 7},
    {"outcome", member_put_text, "outcome", .state = true, .rank = 1, .least = 7},
};

static const struct table_column job_columns[] = {
    {"job", member_put_text, "id"},
    {"state", member_put_text, "state", .state = true},
    {"planned", member_put_away, "scheduled_at", .rank = 6, .least = 7},
    {"started", member_put_away, "started_at", .rank = 3, .least = 7},
    {"took", member_put_took, .rank = 4, .least = 4},
    {"retries", member_put_count, "retry_count", .rank = 1, .least = 7},
    {"status", member_put_count, "status", .rank = 7, .least = 6},
    {"task", member_put_text, "task_id", .rank = 5, .least = 14},
    {"why", member_put_text, "reason", .rank = 2, .least = 10},
};

// Behind `pending` stand its parts, in the order in which a job goes through them: they add up to it.
static const struct table_column queue_columns[] = {
    {"queue", member_put_text, "queue", .rank = 7, .least = 10},
    {"state", put_paused, .state = true},
    {"pending", member_put_count, "pending"},
    {"delayed", put_later, .rank = 3, .least = 7},
    {"ready", member_put_count, "states.ready", .rank = 6, .least = 5},
    {"in hand", member_put_count, "states.watching", .rank = 4, .least = 7},
    {"running", member_put_count, "states.reserved", .rank = 5, .least = 7},
    {"next due", member_put_away, "next_due", .rank = 2, .least = 8},
};

static void put_coming_job(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    if (value_true(value_at(row, "computed")))
        buf_puts(buf, "(none yet)");
    else
        member_put_text(buf, show, row, path);
}

static void put_held(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    if (value_true(value_at(row, "paused")))
        buf_puts(buf, "paused");
}

static const struct table_column upcoming_columns[] = {
    {"planned", member_put_away, "at"},
    {"task", member_put_text, "task_id"},
    {"job", put_coming_job, "job_id", .rank = 2, .least = 14},
    {"name", member_put_text, "name", .rank = 1, .least = 8},
    {"", put_held, .state = true},
};

const char *rows_noun(enum rows_kind kind)
{
    static const char *const nouns[] = {
        [ROWS_TASKS] = "task", [ROWS_JOBS] = "job", [ROWS_QUEUES] = "queue", [ROWS_SCHEDULES] = "task", [ROWS_UPCOMING] = "run"};
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
        [ROWS_SCHEDULES] = {schedule_columns, array_count(schedule_columns)},
        [ROWS_UPCOMING] = {upcoming_columns, array_count(upcoming_columns)},
    };
    return (struct table){.columns = tables[kind].columns, .count = tables[kind].count, .show = show};
}
