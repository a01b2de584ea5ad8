// The table of what is counted, and how counts are taken, added up, written and read.
//
// What it does not do: decide when something is to be counted. Stages do, and node.c for what several of them share.
#include "flow/tally.h"

#include "base/json.h"
#include "base/mem.h"

static const struct tally_row counters[TALLY_COUNTER_COUNT] = {
#define X(name, text, metric, label, help) {text, metric, label, help},
    TALLY_COUNTERS(X)
#undef X
#define X(name, text) {"attempt_" text, "rota_attempts_total", "outcome=\"" text "\"", "Attempts that ended, by outcome."},
        JOB_OUTCOMES(X)
#undef X
};

static const struct tally_row histograms[TALLY_HISTOGRAM_COUNT] = {
#define X(name, text, metric, label, help) {text, metric, label, help},
    TALLY_HISTOGRAMS(X)
#undef X
};

const struct tally_row *tally_counter_row(enum tally_counter counter)
{
    return counter == TALLY_OUTCOME + OUTCOME_NONE ? NULL : &counters[counter];
}

const struct tally_row *tally_histogram_row(enum tally_histogram histogram)
{
    return &histograms[histogram];
}

void tally_time(struct tally *tally, enum tally_histogram histogram, int64_t us)
{
    us = us > 0 ? us : 0; // a clock that was set back in between
    atomic_fetch_add_explicit(&tally->histograms[histogram].counts[histogram_bucket(us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&tally->histograms[histogram].sum_us, us, memory_order_relaxed);
}

void tally_started(struct tally *tally, const struct job *job, const struct job_policy *policy)
{
    static const enum tally_counter late[STAGE_COUNT] = {
        [STAGE_PULLER] = TALLY_LATE_PULLER, [STAGE_QUEUE] = TALLY_LATE_QUEUE, [STAGE_TARGET] = TALLY_LATE_TARGET};
    struct job_delays delays = job_delays(job);
    bool met = job->started_at - job->ready_at <= policy->sla_ms;
    tally_count(tally, TALLY_STARTED, 1);
    tally_count(tally, met ? TALLY_SLA_MET : late[job_slowest_stage(job)], 1);
    tally_time(tally, TALLY_START_DELAY, (job->started_at - job->ready_at) * 1000);
    tally_time(tally, TALLY_PULLER_DELAY, delays.puller * 1000);
    tally_time(tally, TALLY_QUEUE_DELAY, delays.queue * 1000);
}

void tally_changed(struct tally *tally, const struct job *job, const struct attempt *attempt)
{
    static const enum tally_counter ends[JOB_STATE_COUNT] = {[JOB_SUCCESS] = TALLY_SUCCESS,
                                                             [JOB_ABORTED] = TALLY_ABORTED,
                                                             [JOB_BURIED] = TALLY_BURIED,
                                                             [JOB_CANCELLED] = TALLY_CANCELLED};
    struct attempt latest = job_latest_attempt(job);
    if (!attempt && job->state == JOB_SUCCESS)
        attempt = &latest; // one that succeeded is not kept apart
    if (attempt) {
        tally_count(tally, TALLY_OUTCOME + attempt->outcome, 1);
        if (attempt->started_at)
            tally_time(tally, TALLY_TARGET_DELAY, (attempt->completed_at - attempt->started_at) * 1000);
    }
    if (job_state_final(job->state))
        tally_count(tally, ends[job->state], 1);
    else if (attempt && job->state == JOB_DELAYED)
        tally_count(tally, TALLY_RETRIED, 1);
    if (job->state == JOB_CANCELLED && str_is(job->reason, "expired"))
        tally_count(tally, TALLY_EXPIRED, 1);
}

void tally_take(const struct tally *tally, struct tally_values *ret_values)
{
    for (int i = 0; i < TALLY_COUNTER_COUNT; i++)
        ret_values->counters[i] = atomic_load_explicit(&tally->counters[i], memory_order_relaxed);
    for (int i = 0; i < TALLY_HISTOGRAM_COUNT; i++) {
        for (int j = 0; j < HISTOGRAM_BUCKETS; j++)
            ret_values->histograms[i].counts[j] = atomic_load_explicit(&tally->histograms[i].counts[j], memory_order_relaxed);
        ret_values->histograms[i].sum_us = atomic_load_explicit(&tally->histograms[i].sum_us, memory_order_relaxed);
    }
}

void tally_add(struct tally_values *to, const struct tally_values *what, double weight)
{
    for (int i = 0; i < TALLY_COUNTER_COUNT; i++)
        to->counters[i] += (int64_t)((double)what->counters[i] * weight + 0.5);
    for (int i = 0; i < TALLY_HISTOGRAM_COUNT; i++)
        histogram_add(&to->histograms[i], &what->histograms[i], weight);
}

void tally_subtract(struct tally_values *from, const struct tally_values *what)
{
    for (int i = 0; i < TALLY_COUNTER_COUNT; i++)
        from->counters[i] -= what->counters[i];
    for (int i = 0; i < TALLY_HISTOGRAM_COUNT; i++) {
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

void tally_put(struct buf *buf, const struct tally_values *values)
{
    buf_putc(buf, '{');
    for (int i = 0; i < TALLY_COUNTER_COUNT; i++) {
        if (!values->counters[i])
            continue;
        put_name(buf, counters[i].name);
        buf_put_int(buf, values->counters[i]);
    }
    for (int i = 0; i < TALLY_HISTOGRAM_COUNT; i++)
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

static void parse_member(struct tally_values *to, struct str name, struct json value)
{
    for (int i = 0; i < TALLY_COUNTER_COUNT && value.type == JSON_NUMBER; i++)
        if (str_is(name, counters[i].name)) {
            add_int(&to->counters[i], value);
            return;
        }
    for (int i = 0; i < TALLY_HISTOGRAM_COUNT && value.type == JSON_OBJECT; i++)
        if (str_is(name, histograms[i].name))
            parse_histogram(&to->histograms[i], value);
}

void tally_parse(struct tally_values *to, struct str doc)
{
    struct json object, key, value;
    char why[ERR_WHY_MAX];
    if (json_check(doc, &object, why) || object.type != JSON_OBJECT)
        return;
    struct json_iter iter = json_iter(object);
    while (json_next(&iter, &key, &value))
        parse_member(to, name_of(key), value);
}
