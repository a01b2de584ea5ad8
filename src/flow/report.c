// A minute is one row, written anew every few seconds while something is counted, and once more when it is over; so a process
// that is killed takes a few seconds with it, and an idle one writes nothing. A row that could not be written is tried again;
// until then its minute goes on, and what is counted meanwhile is its own.
//
// Rows of several processes are told apart by their source: the first incarnation this process was. When the clock is set back,
// minutes come again, and the source becomes another, so that no row is overwritten.
#include "flow/report.h"

#include "base/mem.h"

#include <string.h>

enum { WRITE_MS = 5000 };

struct report {
    struct node *node;
    struct mailbox answers;
    bool writing, failed;
    int64_t next_at;             // monotonic
    struct tally_values sent;    // as of the write under way
    struct tally_values written; // as of the last one that was answered
    struct store_tally op;
    pthread_mutex_t lock;      // of those below, which others read
    int64_t source, minute;    // 0: none yet
    struct tally_values begun; // as they were when the minute began
};

struct report *report_new(struct node *node)
{
    struct report *report = mem_zero(sizeof *report);
    report->node = node;
    mailbox_init(&report->answers, node->flow_waker);
    pthread_mutex_init(&report->lock, NULL);
    return report;
}

void report_free(struct report *report)
{
    if (!report)
        return;
    store_op_done(&report->op.op); // of an answer that came too late
    mailbox_done(&report->answers);
    pthread_mutex_destroy(&report->lock);
    mem_free(report);
}

bool report_now(struct report *report, struct store_minute *ret_key, struct tally_values *ret_values)
{
    pthread_mutex_lock(&report->lock);
    bool begun = report->source;
    *ret_key = (struct store_minute){.tenant = REPORT_TENANT, .at = report->minute, .source = report->source};
    tally_take(&report->node->tally, ret_values);
    tally_subtract(ret_values, &report->begun);
    pthread_mutex_unlock(&report->lock);
    return begun;
}

static void begin_minute(struct report *report, int64_t minute)
{
    pthread_mutex_lock(&report->lock);
    if (!report->source)
        report->source = atomic_load(&report->node->incarnation);
    else if (minute < report->minute)
        report->source++;
    report->minute = minute;
    report->begun = report->written;
    pthread_mutex_unlock(&report->lock);
}

static bool has_news(struct report *report)
{
    tally_take(&report->node->tally, &report->sent);
    return memcmp(&report->sent, &report->written, sizeof report->sent) != 0;
}

static void fill(const struct report *report, struct store_tally *tally)
{
    struct tally_values counted = report->sent;
    buf_auto struct buf doc = {0};
    tally_subtract(&counted, &report->begun);
    tally_put(&doc, &counted);
    tally->minute = (struct store_minute){.tenant = REPORT_TENANT,
                                          .at = report->minute,
                                          .source = report->source,
                                          .doc = arena_copy(&tally->op.arena, buf_str(&doc))};
}

static void take_answer(struct report *report, struct now now)
{
    struct store_op *op = &report->op.op;
    report->writing = false;
    report->failed = op->err != ERR_OK;
    if (op->err)
        node_say_failed(report->node, "report", op, now.mono_ms);
    else
        report->written = report->sent;
    report->next_at = now.mono_ms + WRITE_MS;
    store_op_done(op);
}

static int64_t next_turn(const struct report *report, struct now now)
{
    int64_t wait = time_min(report->next_at - now.mono_ms, report_minute_of(now.wall_ms) + REPORT_MINUTE_MS - now.wall_ms);
    return now.wall_ms + time_max(wait, 1);
}

int64_t report_turn(struct report *report, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&report->answers, &answers);
    if (!list_empty(&answers))
        take_answer(report, now);
    if (report->writing || !atomic_load(&report->node->incarnation))
        return TIME_NEVER; // the next answer or beat wakes
    if (!report->source)
        begin_minute(report, report_minute_of(now.wall_ms));
    bool over = report->minute != report_minute_of(now.wall_ms);
    if ((!over || report->failed) && now.mono_ms < report->next_at)
        return next_turn(report, now);
    if (!has_news(report)) {
        if (over)
            begin_minute(report, report_minute_of(now.wall_ms));
        report->next_at = now.mono_ms + WRITE_MS;
        return next_turn(report, now);
    }
    store_op_post(&report->op.op, STORE_TALLY, &report->answers);
    fill(report, &report->op);
    report->writing = true;
    store_submit(report->node->store, &report->op.op);
    return TIME_NEVER;
}

void report_leave(struct report *report)
{
    struct store_tally tally = {0};
    if (!report->source || !has_news(report))
        return;
    store_op_init(&tally.op, STORE_TALLY, NULL);
    fill(report, &tally);
    store_call(report->node->store, &tally.op);
    store_op_done(&tally.op);
}
