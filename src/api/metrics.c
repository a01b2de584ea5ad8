// GET /metrics: the text format of Prometheus, version 0.0.4. What this node counted, from its own memory; what is in the store,
// from the store's counters, if it can be reached.
#include "api/event_streams.h"
#include "api/handlers.h"
#include "api/reply.h"
#include "base/mark.h"
#include "base/process.h"
#include "store/jobs.h"

#include <ctype.h>

enum { QUEUES_MAX = 200 }; // each is a handful of lines

struct scraping {
    struct api_call call;
    struct store_stats stats;
    struct store_lanes lanes;
    atomic_int left; // operations under way
    bool asked;
};

static void put_head(struct buf *buf, const char *metric, const char *type, const char *help)
{
    buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", metric, help, metric, type);
}

static void put_gauge(struct buf *buf, const char *metric, double value, const char *help)
{
    put_head(buf, metric, "gauge", help);
    buf_printf(buf, "%s %.15g\n", metric, value);
}

// ---- what this node counted

static void put_counters(struct buf *buf, const struct stats_values *values)
{
    const char *metric = "";
    for (int i = 0; i < STATS_COUNTER_COUNT; i++) {
        const struct stats_row *row = stats_counter_row((enum stats_counter)i);
        if (!row)
            continue;
        if (strcmp(metric, row->metric) != 0)
            put_head(buf, metric = row->metric, "counter", row->help);
        if (row->label[0])
            buf_printf(buf, "%s{%s} %lld\n", metric, row->label, (long long)values->counters[i]);
        else
            buf_printf(buf, "%s %lld\n", metric, (long long)values->counters[i]);
    }
}

static void put_histogram(struct buf *buf, const struct stats_row *row, const struct histogram *histogram)
{
    const char *comma = row->label[0] ? "," : "", *open = row->label[0] ? "{" : "", *close = row->label[0] ? "}" : "";
    int64_t count = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
        if (i < HISTOGRAM_BUCKETS - 1)
            buf_printf(buf, "%s_bucket{%s%sle=\"%g\"} %lld\n", row->metric, row->label, comma,
                       (double)histogram_bounds_us[i] / 1e6, (long long)count);
    }
    buf_printf(buf, "%s_bucket{%s%sle=\"+Inf\"} %lld\n", row->metric, row->label, comma, (long long)count);
    buf_printf(buf, "%s_sum%s%s%s %.6f\n", row->metric, open, row->label, close, (double)histogram->sum_us / 1e6);
    buf_printf(buf, "%s_count%s%s%s %lld\n", row->metric, open, row->label, close, (long long)count);
}

static void put_histograms(struct buf *buf, const struct stats_values *values)
{
    const char *metric = "";
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++) {
        const struct stats_row *row = stats_histogram_row((enum stats_histogram)i);
        if (strcmp(metric, row->metric) != 0)
            put_head(buf, metric = row->metric, "histogram", row->help);
        put_histogram(buf, row, &values->histograms[i]);
    }
}

static void put_marks(struct buf *buf)
{
    put_head(buf, "rota_rare_events_total", "counter", "What should happen seldom, and is handled.");
    for (int i = 0; i < MARK_COUNT; i++) {
        buf_puts(buf, "rota_rare_events_total{event=\"");
        for (const char *at = mark_name((enum mark)i); *at; at++)
            buf_putc(buf, (char)tolower(*at));
        buf_printf(buf, "\"} %llu\n", (unsigned long long)mark_count((enum mark)i));
    }
}

// ---- what is in the store

static void put_states(struct buf *buf, const int64_t counts[JOB_STATE_COUNT])
{
    put_head(buf, "rota_jobs", "gauge", "Jobs by state, of all nodes.");
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        buf_printf(buf, "rota_jobs{state=\"%s\"} %lld\n", job_state_text((enum job_state)state), (long long)counts[state]);
}

// The names of queues need no escaping: letters, digits and . _ - are all they may have.
static void put_queues(struct buf *buf, const struct store_lanes *lanes)
{
    put_head(buf, "rota_queue_jobs", "gauge", "Jobs that are not final, by queue and state.");
    for (size_t i = 0; i < lanes->lane_count; i++)
        for (int state = 0; state < JOB_STATE_COUNT; state++)
            if (!job_state_final((enum job_state)state))
                buf_printf(buf, "rota_queue_jobs{queue=\"" STR_FMT "\",state=\"%s\"} %lld\n", STR_ARG(lanes->lanes[i].queue),
                           job_state_text((enum job_state)state), (long long)lanes->lanes[i].counts[state]);
    put_head(buf, "rota_queue_paused", "gauge", "1 while the queue is held.");
    for (size_t i = 0; i < lanes->lane_count; i++)
        buf_printf(buf, "rota_queue_paused{queue=\"" STR_FMT "\"} %d\n", STR_ARG(lanes->lanes[i].queue), lanes->lanes[i].paused);
}

// ---- the node and its process

static void put_node(struct buf *buf, const struct api *api, bool reached)
{
    char id[ID_TEXT_SIZE] = "";
    int64_t incarnation = atomic_load(&api->node->incarnation);
    if (incarnation)
        id_format(id, ID_INCARNATION, incarnation);
    put_head(buf, "rota_build_info", "gauge", "Always 1; what this node is.");
    buf_printf(buf, "rota_build_info{version=\"%s\",store=\"%s\"} 1\n", ROTA_VERSION, api->store->ops->scheme);
    put_head(buf, "rota_node_info", "gauge", "Always 1; which life of this process this is. Empty: it has not joined.");
    buf_printf(buf, "rota_node_info{incarnation=\"%s\"} 1\n", id);
    put_gauge(buf, "rota_store_up", reached, "1 while the store answers.");
    put_gauge(buf, "rota_nodes_alive", atomic_load(&api->node->nodes), "Nodes that share the store and live, this one included.");
    put_gauge(buf, "rota_schedule_zones_missing",
              warnings_count(api->node->warnings, WARNING_ZONE_MISSING, clock_wall_ns() / 1000000),
              "Recurring tasks whose time zone is not installed any more, as this node found in the last ten minutes.");
    put_gauge(buf, "rota_event_streams", api->events ? event_streams_count(api->events) : 0, "Open streams of GET /v1/events.");
}

static void put_process(struct buf *buf)
{
    struct process_info info;
    process_info(&info);
    put_head(buf, "process_cpu_seconds_total", "counter", "User and system CPU time.");
    buf_printf(buf, "process_cpu_seconds_total %.2f\n", info.cpu_seconds);
    put_gauge(buf, "process_start_time_seconds", info.start_seconds, "When it started, since 1970.");
    put_gauge(buf, "process_resident_memory_bytes", (double)info.resident_bytes, "Resident memory.");
    put_gauge(buf, "process_virtual_memory_bytes", (double)info.virtual_bytes, "Virtual memory.");
    put_gauge(buf, "process_open_fds", (double)info.fds, "Open file descriptors.");
    put_gauge(buf, "process_max_fds", (double)info.fds_max, "How many it may have.");
    put_gauge(buf, "process_threads", (double)info.threads, "Threads.");
}

// ---- the answer

static void answer(struct http_request *request, void *state)
{
    struct scraping *scraping = state;
    const struct api *api = scraping->call.api;
    bool reached = scraping->asked && !scraping->stats.op.err && !scraping->lanes.op.err;
    struct stats_values values;
    struct buf body = {0};
    stats_take(&api->node->stats, &values);
    put_histograms(&body, &values);
    put_counters(&body, &values);
    if (reached) {
        put_states(&body, scraping->stats.counts);
        put_queues(&body, &scraping->lanes);
    }
    put_node(&body, api, reached);
    put_marks(&body);
    put_process(&body);
    http_reply(request, 200, "text/plain; version=0.0.4; charset=utf-8", &body);
    if (scraping->asked) {
        store_op_done(&scraping->stats.op);
        store_op_done(&scraping->lanes.op);
    }
}

static void asked(struct scraping *scraping)
{
    if (atomic_fetch_sub(&scraping->left, 1) == 1)
        http_resume(scraping->call.request);
}

static void stats_done(struct store_op *op)
{
    asked(container_of(op, struct scraping, stats.op));
}

static void lanes_done(struct store_op *op)
{
    asked(container_of(op, struct scraping, lanes.op));
}

// A store that does not answer the beat is not asked: the scrape would wait for it.
void metrics_show(const struct api_call *call)
{
    struct scraping *scraping = arena_alloc(http_arena(call->request), sizeof *scraping);
    scraping->call = *call;
    scraping->asked = !call->api->beat || beat_ok(call->api->beat);
    if (!scraping->asked) {
        answer(call->request, scraping);
        return;
    }
    atomic_init(&scraping->left, 2);
    store_op_init(&scraping->stats.op, STORE_STATS, stats_done); // of all tenants: 0
    store_op_init(&scraping->lanes.op, STORE_LANES, lanes_done);
    scraping->lanes.tenant = call->tenant;
    scraping->lanes.max = QUEUES_MAX;
    scraping->lanes.counts = true;
    http_wait(call->request, answer, scraping);
    store_submit(call->api->store, &scraping->stats.op);
    store_submit(call->api->store, &scraping->lanes.op);
}
