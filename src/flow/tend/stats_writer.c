// A minute is one row, written anew every few seconds while something is counted, and once more when it is over; so a process
// that is killed takes a few seconds with it, and an idle one writes nothing. A row that could not be written is tried again;
// until then its minute goes on, and what is counted meanwhile is its own.
//
// Rows of several processes are told apart by their source: the first incarnation this process was. When the clock is set back,
// minutes come again, and the source becomes another, so that no row is overwritten.
#include "flow/tend/stats_writer.h"

#include "base/mem.h"

#include <string.h>

enum { WRITE_MS = 5000 };

struct stats_writer {
    struct node *node;
    struct mailbox answers;
    bool writing, failed;
    int64_t next_at;             // monotonic
    struct stats_values sent;    // as of the write under way
    struct stats_values written; // as of the last one that was answered
    struct store_minute op;
    pthread_mutex_t lock;      // of those below, which others read
    int64_t source, minute;    // 0: none yet
    struct stats_values begun; // as they were when the minute began
};

struct stats_writer *stats_writer_new(struct node *node)
{
    struct stats_writer *writer = mem_zero(sizeof *writer);
    writer->node = node;
    mailbox_init(&writer->answers, node->flow_waker);
    pthread_mutex_init(&writer->lock, NULL);
    return writer;
}

void stats_writer_free(struct stats_writer *writer)
{
    if (!writer)
        return;
    store_op_done(&writer->op.op); // of an answer that came too late
    mailbox_done(&writer->answers);
    pthread_mutex_destroy(&writer->lock);
    mem_free(writer);
}

bool stats_writer_now(struct stats_writer *writer, struct store_minute_row *ret_key, struct stats_values *ret_values)
{
    pthread_mutex_lock(&writer->lock);
    bool begun = writer->source;
    *ret_key = (struct store_minute_row){.tenant = STATS_TENANT, .at = writer->minute, .source = writer->source};
    stats_take(&writer->node->stats, ret_values);
    stats_subtract(ret_values, &writer->begun);
    pthread_mutex_unlock(&writer->lock);
    return begun;
}

static void begin_minute(struct stats_writer *writer, int64_t minute)
{
    pthread_mutex_lock(&writer->lock);
    if (!writer->source)
        writer->source = atomic_load(&writer->node->incarnation);
    else if (minute < writer->minute)
        writer->source++;
    writer->minute = minute;
    writer->begun = writer->written;
    pthread_mutex_unlock(&writer->lock);
}

static bool has_news(struct stats_writer *writer)
{
    stats_take(&writer->node->stats, &writer->sent);
    return memcmp(&writer->sent, &writer->written, sizeof writer->sent) != 0;
}

static void fill(const struct stats_writer *writer, struct store_minute *minute)
{
    struct stats_values counted = writer->sent;
    buf_auto struct buf doc = {0};
    stats_subtract(&counted, &writer->begun);
    stats_put_json(&doc, &counted);
    minute->minute = (struct store_minute_row){.tenant = STATS_TENANT,
                                               .at = writer->minute,
                                               .source = writer->source,
                                               .doc = arena_copy(&minute->op.arena, buf_str(&doc))};
}

static void take_answer(struct stats_writer *writer, struct now now)
{
    struct store_op *op = &writer->op.op;
    writer->writing = false;
    writer->failed = op->err != ERR_OK;
    if (op->err)
        node_say_failed(writer->node, "report", op, now.mono_ms);
    else
        writer->written = writer->sent;
    writer->next_at = now.mono_ms + WRITE_MS;
    store_op_done(op);
}

static int64_t next_turn(const struct stats_writer *writer, struct now now)
{
    int64_t wait = time_min(writer->next_at - now.mono_ms, stats_writer_minute_of(now.wall_ms) + STATS_MINUTE_MS - now.wall_ms);
    return now.wall_ms + time_max(wait, 1);
}

int64_t stats_writer_turn(struct stats_writer *writer, struct now now)
{
    struct list answers;
    list_init(&answers);
    mailbox_take(&writer->answers, &answers);
    if (!list_empty(&answers))
        take_answer(writer, now);
    if (writer->writing || !atomic_load(&writer->node->incarnation))
        return TIME_NEVER; // the next answer or beat wakes
    if (!writer->source)
        begin_minute(writer, stats_writer_minute_of(now.wall_ms));
    bool over = writer->minute != stats_writer_minute_of(now.wall_ms);
    if ((!over || writer->failed) && now.mono_ms < writer->next_at)
        return next_turn(writer, now);
    if (!has_news(writer)) {
        if (over)
            begin_minute(writer, stats_writer_minute_of(now.wall_ms));
        writer->next_at = now.mono_ms + WRITE_MS;
        return next_turn(writer, now);
    }
    store_op_post(&writer->op.op, STORE_MINUTE, &writer->answers);
    fill(writer, &writer->op);
    writer->writing = true;
    store_submit(writer->node->store, &writer->op.op);
    return TIME_NEVER;
}

void stats_writer_leave(struct stats_writer *writer)
{
    struct store_minute minute = {0};
    if (!writer->source || !has_news(writer))
        return;
    store_op_init(&minute.op, STORE_MINUTE, NULL);
    fill(writer, &minute);
    store_call(writer->node->store, &minute.op);
    store_op_done(&minute.op);
}
