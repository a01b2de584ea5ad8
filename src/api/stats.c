// What was counted: of the last minute, and over time. Rows of all processes are added up; in place of this process's row of the
// minute that is not over, what it has counted until now is taken, so that a lone node's answer is never behind.
//
// The last minute is reckoned from the one that is not over and as much of the one before as is missing to sixty seconds.
#include "api/params.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/when.h"
#include "store/jobs.h"
#include "store/journal.h"

enum {
    PAGE = 1000, // rows at once
    POINTS_MAX = 1500,
    MINUTE_MS = STATS_MINUTE_MS,
    RANGE_DEFAULT_MS = 60 * MINUTE_MS,
};

// ---- as JSON

static void put_quantiles(struct buf *buf, const char *name, const struct histogram *histogram)
{
    buf_printf(buf, "\"%s\":", name);
    if (histogram_count(histogram) == 0)
        buf_puts(buf, "null");
    else
        buf_printf(buf, "{\"p50\":%.1f,\"p99\":%.1f}", histogram_quantile_ms(histogram, 0.5),
                   histogram_quantile_ms(histogram, 0.99));
}

static void put_count(struct buf *buf, const char *name, int64_t count)
{
    buf_printf(buf, "%s\"%s\":%lld", buf->p[buf->n - 1] == '{' ? "" : ",", name, (long long)count);
}

static void put_counts(struct buf *buf, const char *name, const int64_t *n)
{
    buf_printf(buf, "\"%s\":{", name);
    put_count(buf, "submitted", n[STATS_SUBMITTED]);
    put_count(buf, "started", n[STATS_STARTED]);
    put_count(buf, "succeeded", n[STATS_SUCCESS]);
    put_count(buf, "failed", n[STATS_ABORTED] + n[STATS_BURIED]);
    put_count(buf, "retried", n[STATS_RETRIED]);
    put_count(buf, "cancelled", n[STATS_CANCELLED]);
    buf_putc(buf, '}');
}

static void put_sla(struct buf *buf, const int64_t *n)
{
    buf_puts(buf, "\"sla\":{");
    put_count(buf, "met", n[STATS_SLA_MET]);
    put_count(buf, "missed", n[STATS_LATE_PULLER] + n[STATS_LATE_QUEUE] + n[STATS_LATE_TARGET]);
    buf_puts(buf, ",\"by_stage\":{");
    put_count(buf, "puller", n[STATS_LATE_PULLER]);
    put_count(buf, "queue", n[STATS_LATE_QUEUE]);
    put_count(buf, "target", n[STATS_LATE_TARGET]);
    buf_puts(buf, "}}");
}

static void put_values(struct buf *buf, const char *counts, const struct stats_values *values)
{
    static const enum stats_histogram stages[] = {STATS_PULLER_DELAY, STATS_QUEUE_DELAY, STATS_TARGET_DELAY, STATS_COMMIT_DELAY};
    put_counts(buf, counts, values->counters);
    buf_putc(buf, ',');
    put_quantiles(buf, "lateness", &values->histograms[STATS_START_DELAY]);
    buf_putc(buf, ',');
    put_sla(buf, values->counters);
    buf_puts(buf, ",\"stages\":{");
    for (size_t i = 0; i < array_count(stages); i++) {
        if (i)
            buf_putc(buf, ',');
        put_quantiles(buf, stats_histogram_row(stages[i])->name, &values->histograms[stages[i]]);
    }
    buf_putc(buf, '}');
}

// ---- rows

// What this process has counted in the minute that is not over.
struct own {
    struct store_minute_row key;
    struct stats_values values;
    bool counted;
};

static void take_own(const struct api *api, struct own *ret_own)
{
    *ret_own = (struct own){0};
    ret_own->counted = api->stats_writer && stats_writer_now(api->stats_writer, &ret_own->key, &ret_own->values);
}

static bool is_own(const struct own *own, const struct store_minute_row *minute)
{
    return own->counted && own->key.at == minute->at && own->key.source == minute->source;
}

// ---- the last minute

struct counting {
    struct api_call call;
    struct store_stats stats;
    struct store_series series;
    atomic_int left; // operations under way
    int64_t now_ms;
    struct own own;
};

static void counted(struct counting *counting)
{
    if (atomic_fetch_sub(&counting->left, 1) == 1)
        http_resume(counting->call.request);
}

static void stats_done(struct store_op *op)
{
    counted(container_of(op, struct counting, stats.op));
}

static void series_done(struct store_op *op)
{
    counted(container_of(op, struct counting, series.op));
}

static void add_up(const struct counting *counting, struct stats_values *ret_values)
{
    const struct store_series *series = &counting->series;
    int64_t minute = stats_writer_minute_of(counting->now_ms);
    double before = 1 - (double)(counting->now_ms - minute) / MINUTE_MS;
    struct stats_values earlier = {0};
    *ret_values = (struct stats_values){0};
    for (size_t i = 0; i < series->minute_count; i++)
        if (!is_own(&counting->own, &series->minutes[i]))
            stats_parse(series->minutes[i].at < minute ? &earlier : ret_values, series->minutes[i].doc);
    if (counting->own.counted && counting->own.key.at >= minute - MINUTE_MS)
        stats_add(counting->own.key.at < minute ? &earlier : ret_values, &counting->own.values, 1);
    stats_add(ret_values, &earlier, before);
}

static void answer_stats(struct http_request *request, void *state)
{
    struct counting *counting = state;
    struct stats_values values;
    const struct store_op *failed = counting->stats.op.err ? &counting->stats.op : &counting->series.op;
    if (failed->err) {
        problem_store(request, failed->err, failed->why);
    } else {
        struct buf body = {0};
        add_up(counting, &values);
        buf_putc(&body, '{');
        render_counts(&body, counting->stats.counts);
        buf_puts(&body, ",\"window\":\"60s\",");
        put_values(&body, "rates", &values);
        buf_putc(&body, '}');
        reply_json(request, 200, &body);
    }
    store_op_done(&counting->stats.op);
    store_op_done(&counting->series.op);
}

void stats_show(const struct api_call *call)
{
    struct counting *counting = arena_alloc(http_arena(call->request), sizeof *counting);
    counting->call = *call;
    counting->now_ms = clock_now().wall_ms;
    atomic_init(&counting->left, 2);
    take_own(call->api, &counting->own);
    store_op_init(&counting->stats.op, STORE_STATS, stats_done);
    counting->stats.tenant = call->tenant;
    store_op_init(&counting->series.op, STORE_SERIES, series_done);
    counting->series.tenant = call->tenant;
    counting->series.from_ms = stats_writer_minute_of(counting->now_ms) - MINUTE_MS;
    counting->series.to_ms = stats_writer_minute_of(counting->now_ms) + MINUTE_MS;
    counting->series.max = PAGE;
    http_wait(call->request, answer_stats, counting);
    store_submit(call->api->store, &counting->stats.op);
    store_submit(call->api->store, &counting->series.op);
}

// ---- over time

struct charting {
    struct api_call call;
    struct store_series series;
    int64_t from, to, step;
    struct own own;
    struct stats_values *points;
    size_t point_count;
};

static bool parse_step(const struct api_call *call, int64_t *step)
{
    struct str text = http_query(call->request, "step");
    if (!text.p || (duration_parse(text, step) && *step >= MINUTE_MS && *step % MINUTE_MS == 0))
        return true;
    problem_say(call->request, ERR_INVALID_FIELD, "step", "step is a duration of whole minutes, like 1m or 1h.");
    return false;
}

static bool parse_range(const struct api_call *call, struct charting *charting)
{
    charting->to = clock_now().wall_ms;
    charting->step = MINUTE_MS;
    if (!params_time(call, "to", &charting->to))
        return false;
    charting->from = time_max(charting->to - RANGE_DEFAULT_MS, 0);
    if (!params_time(call, "from", &charting->from) || !parse_step(call, &charting->step))
        return false;
    charting->from = stats_writer_minute_of(charting->from);
    if (charting->from >= charting->to) {
        problem_say(call->request, ERR_INVALID_FIELD, "from", "from is a time before to.");
        return false;
    }
    int64_t count = (charting->to - charting->from + charting->step - 1) / charting->step;
    if (count > POINTS_MAX) {
        problem_say(call->request, ERR_INVALID_FIELD, "step",
                    "That would be %lld points; at most %d are given: choose a larger step.", (long long)count, POINTS_MAX);
        return false;
    }
    charting->point_count = (size_t)count;
    return true;
}

static struct stats_values *point_of(struct charting *charting, int64_t at)
{
    int64_t i = (at - charting->from) / charting->step;
    return at < charting->from || (size_t)i >= charting->point_count ? NULL : &charting->points[i];
}

static void reply_points(struct charting *charting)
{
    char text[WHEN_TEXT_SIZE];
    struct buf body = {0};
    duration_format(text, charting->step);
    buf_printf(&body, "{\"step\":\"%s\",\"points\":[", text);
    for (size_t i = 0; i < charting->point_count; i++) {
        when_format(text, charting->from + (int64_t)i * charting->step);
        buf_printf(&body, "%s{\"at\":\"%s\",", i ? "," : "", text);
        put_values(&body, "counts", &charting->points[i]);
        buf_putc(&body, '}');
    }
    buf_puts(&body, "]}");
    reply_json(charting->call.request, 200, &body);
}

static void page_done(struct store_op *op)
{
    http_resume(container_of(op, struct charting, series.op)->call.request);
}

static void take_page(struct http_request *request, void *state);

static void ask_page(struct charting *charting, int64_t from_ms, int64_t from_source)
{
    struct store_series *series = &charting->series;
    store_op_init(&series->op, STORE_SERIES, page_done);
    series->tenant = charting->call.tenant;
    series->from_ms = from_ms;
    series->from_source = from_source;
    series->to_ms = charting->to;
    series->max = PAGE;
    http_wait(charting->call.request, take_page, charting);
    store_submit(charting->call.api->store, &series->op);
}

static void take_page(struct http_request *request, void *state)
{
    struct charting *charting = state;
    struct store_series *series = &charting->series;
    for (size_t i = 0; i < series->minute_count; i++) {
        struct stats_values *point = point_of(charting, series->minutes[i].at);
        if (point && !is_own(&charting->own, &series->minutes[i]))
            stats_parse(point, series->minutes[i].doc);
    }
    bool more = !series->op.err && series->minute_count == PAGE;
    int64_t at = more ? series->minutes[PAGE - 1].at : 0, source = more ? series->minutes[PAGE - 1].source : 0;
    enum err err = series->op.err;
    if (err)
        problem_store(request, err, series->op.why);
    store_op_done(&series->op);
    if (err)
        return;
    if (more)
        ask_page(charting, at, source);
    else
        reply_points(charting);
}

void stats_series(const struct api_call *call)
{
    struct charting *charting = arena_alloc(http_arena(call->request), sizeof *charting);
    charting->call = *call;
    if (!parse_range(call, charting))
        return;
    charting->points = arena_array(http_arena(call->request), struct stats_values, charting->point_count);
    take_own(call->api, &charting->own);
    struct stats_values *point =
        charting->own.counted && charting->own.key.at < charting->to ? point_of(charting, charting->own.key.at) : NULL;
    if (point)
        stats_add(point, &charting->own.values, 1);
    ask_page(charting, charting->from, 0);
}
