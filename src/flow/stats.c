// The table of what is counted, and how counts are taken, added up, written and read.
//
// What it does not do: decide when something is to be counted. Stages do, and node.c for what several of them share.
#include "flow/stats.h"

#include "base/mem.h"
#include "base/text/json.h"

static const struct stats_row counters[STATS_COUNTER_COUNT] = {
#define X(name, text, metric, label, help) {text, metric, label, help},
    STATS_COUNTERS(X)
#undef X
#define X(name, text) {"attempt_" text, "rota_attempts_total", "outcome=\"" text "\"", "Attempts that ended, by outcome."},
        JOB_OUTCOMES(X)
#undef X
};

static const struct stats_row histograms[STATS_HISTOGRAM_COUNT] = {
#define X(name, text, metric, label, help) {text, metric, label, help},
    STATS_HISTOGRAMS(X)
#undef X
};

const struct stats_row *stats_counter_row(enum stats_counter counter)
{
    return counter == STATS_OUTCOME + OUTCOME_NONE ? NULL : &counters[counter];
}

const struct stats_row *stats_histogram_row(enum stats_histogram histogram)
{
    return &histograms[histogram];
}

void stats_time(struct stats *stats, enum stats_histogram histogram, int64_t us)
{
    us = us > 0 ? us : 0; // a clock that was set back in between
    atomic_fetch_add_explicit(&stats->histograms[histogram].counts[histogram_bucket(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&stats->histograms[histogram].sum_us, us, memory_order_relaxed);
}

void stats_started(struct stats *stats, const struct job *job, const struct job_policy *policy)
{
    static const enum stats_counter late[STAGE_COUNT] = {
        [STAGE_PULLER] = STATS_LATE_PULLER, [STAGE_QUEUE] = STATS_LATE_QUEUE, [STAGE_TARGET] = STATS_LATE_TARGET};
    struct job_delays delays = job_delays(job);
    bool met = job->started_at - job->ready_at <= policy->sla_ms;
    stats_count(stats, STATS_STARTED, 1);
    stats_count(stats, met ? STATS_SLA_MET : late[job_slowest_stage(job)], 1);
    stats_time(stats, STATS_START_DELAY, (job->started_at - job->ready_at) * 1000);
    stats_time(stats, STATS_PULLER_DELAY, delays.puller * 1000);
    stats_time(stats, STATS_QUEUE_DELAY, delays.queue * 1000);
}

void stats_changed(struct stats *stats, const struct job *job, const struct attempt *attempt)
{
    static const enum stats_counter ends[JOB_STATE_COUNT] = {[JOB_SUCCESS] = STATS_SUCCESS,
                                                             [JOB_ABORTED] = STATS_ABORTED,
                                                             [JOB_BURIED] = STATS_BURIED,
                                                             [JOB_CANCELLED] = STATS_CANCELLED};
    struct attempt latest = job_latest_attempt(job);
    if (!attempt && job->state == JOB_SUCCESS)
        attempt = &latest; // one that succeeded is not kept apart
    if (attempt) {
        stats_count(stats, STATS_OUTCOME + attempt->outcome, 1);
        if (attempt->started_at)
            stats_time(stats, STATS_TARGET_DELAY, (attempt->completed_at - attempt->started_at) * 1000);
    }
    if (job_state_final(job->state))
        stats_count(stats, ends[job->state], 1);
    else if (attempt && job->state == JOB_DELAYED)
        stats_count(stats, STATS_RETRIED, 1);
    if (job->state == JOB_CANCELLED && str_is(job->reason, "expired"))
        stats_count(stats, STATS_EXPIRED, 1);
}

void stats_take(const struct stats *stats, struct stats_values *ret_values)
{
    for (int i = 0; i < STATS_COUNTER_COUNT; i++)
        ret_values->counters[i] = atomic_load_explicit(&stats->counters[i], memory_order_relaxed);
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++) {
        for (int j = 0; j < HISTOGRAM_BUCKETS; j++)
            ret_values->histograms[i].counts[j] = atomic_load_explicit(&stats->histograms[i].counts[j], memory_order_relaxed);
        ret_values->histograms[i].sum_us = atomic_load_explicit(&stats->histograms[i].sum_us, memory_order_relaxed);
    }
}

void stats_add(struct stats_values *to, const struct stats_values *what, double weight)
{
    for (int i = 0; i < STATS_COUNTER_COUNT; i++)
        to->counters[i] += (int64_t)((double)what->counters[i] * weight + 0.5);
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++)
        histogram_add(&to->histograms[i], &what->histograms[i], weight);
}

void stats_subtract(struct stats_values *from, const struct stats_values *what)
{
    for (int i = 0; i < STATS_COUNTER_COUNT; i++)
        from->counters[i] -= what->counters[i];
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++) {
        for (int j = 0; j < HISTOGRAM_BUCKETS; j++)
            from->histograms[i].counts[j] -= what->histograms[i].counts[j];
        from->histograms[i].sum_us -= what->histograms[i].sum_us;
    }
}

// ---- as text

static void put_name(struct buf *buf, const char *name)
{
    buf_printf(buf, "%s\"%s\":", buf->p[buf->n - 1] == '{' ? "" : ",", name);
}

// Buckets by their number; what is never renumbered need not be named.
static void put_histogram(struct buf *buf, const char *name, const struct histogram *histogram)
{
    if (!histogram_count(histogram))
        return;
    put_name(buf, name);
    buf_printf(buf, "{\"us\":%lld", (long long)histogram->sum_us);
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (histogram->counts[i])
            buf_printf(buf, ",\"%d\":%lld", i, (long long)histogram->counts[i]);
    buf_putc(buf, '}');
}

void stats_put_json(struct buf *buf, const struct stats_values *values)
{
    buf_putc(buf, '{');
    for (int i = 0; i < STATS_COUNTER_COUNT; i++) {
        if (!values->counters[i])
            continue;
        put_name(buf, counters[i].name);
        buf_put_int(buf, values->counters[i]);
    }
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++)
        put_histogram(buf, histograms[i].name, &values->histograms[i]);
    buf_putc(buf, '}');
}

static void add_int(int64_t *to, struct json value)
{
    int64_t n;
    if (json_int(value, &n))
        *to += n;
}

// Names are written without escapes, so their raw text can be compared.
static struct str name_of(struct json key)
{
    return (struct str){key.raw.p + 1, key.raw.n - 2};
}

static void parse_histogram(struct histogram *to, struct json object)
{
    struct json_iter iter = json_iter(object);
    struct json key, value;
    while (json_next(&iter, &key, &value)) {
        struct str name = name_of(key);
        int bucket = 0;
        for (size_t i = 0; i < name.n && bucket < HISTOGRAM_BUCKETS; i++)
            bucket = bucket * 10 + (name.p[i] - '0');
        if (str_is(name, "us"))
            add_int(&to->sum_us, value);
        else if (bucket >= 0 && bucket < HISTOGRAM_BUCKETS)
            add_int(&to->counts[bucket], value);
    }
}

static void parse_member(struct stats_values *to, struct str name, struct json value)
{
    for (int i = 0; i < STATS_COUNTER_COUNT && value.type == JSON_NUMBER; i++)
        if (str_is(name, counters[i].name)) {
            add_int(&to->counters[i], value);
            return;
        }
    for (int i = 0; i < STATS_HISTOGRAM_COUNT && value.type == JSON_OBJECT; i++)
        if (str_is(name, histograms[i].name))
            parse_histogram(&to->histograms[i], value);
}

void stats_parse(struct stats_values *to, struct str doc)
{
    struct json object, key, value;
    char why[ERR_WHY_MAX];
    if (json_check(doc, &object, why) || object.type != JSON_OBJECT)
        return;
    struct json_iter iter = json_iter(object);
    while (json_next(&iter, &key, &value))
        parse_member(to, name_of(key), value);
}
