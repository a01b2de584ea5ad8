// What a node counts as it goes: one table says what there is, what it is called and what it means.
//
// Layer: flow. Any thread counts, with relaxed atomics and without a lock; whoever reads sees each number as it was at some
// moment. Counts begin at 0 with the process. flow/tend/stats_writer writes them down minute by minute.
#pragma once
#include "base/buf.h"
#include "core/histogram.h"
#include "core/job.h"

#include <stdatomic.h>

// Symbol, name in the stored minutes, metric, its label, help. Rows of one metric lie together.
#define STATS_COUNTERS(X)                                                                                                   \
    X(SUBMITTED, "submitted", "rota_jobs_submitted_total", "", "Jobs that were accepted and stored.")                       \
    X(STARTED, "started", "rota_attempts_started_total", "", "Attempts that began.")                                        \
    X(RETRIED, "retried", "rota_jobs_retried_total", "", "Attempts that failed and are followed by another.")               \
    X(SUCCESS, "success", "rota_jobs_finished_total", "state=\"success\"", "Jobs that reached a final state.")              \
    X(ABORTED, "aborted", "rota_jobs_finished_total", "state=\"aborted\"", "")                                              \
    X(BURIED, "buried", "rota_jobs_finished_total", "state=\"buried\"", "")                                                 \
    X(CANCELLED, "cancelled", "rota_jobs_finished_total", "state=\"cancelled\"", "")                                        \
    X(EXPIRED, "expired", "rota_jobs_expired_total", "", "Jobs cancelled because they had not started by their not_after.") \
    X(SLA_MET, "sla_met", "rota_sla_met_total", "", "Attempts that began within their SLA.")                                \
    X(LATE_PULLER, "late_puller", "rota_sla_missed_total", "stage=\"puller\"",                                              \
      "Attempts that began too late, by the stage that took longest.")                                                      \
    X(LATE_QUEUE, "late_queue", "rota_sla_missed_total", "stage=\"queue\"", "")                                             \
    X(LATE_TARGET, "late_target", "rota_sla_missed_total", "stage=\"target\"", "")                                          \
    X(MISSING, "missing", "rota_schedule_jobs_missing_total", "",                                                           \
      "Planned jobs that were removed from the store by somebody else than rota.")                                          \
    X(OVERDUE, "overdue", "rota_jobs_overdue_total", "", "Attempts that went on 30 seconds after their timeout.")

// Symbol, name in the stored minutes, metric, its label, help.
#define STATS_HISTOGRAMS(X)                                                                                                \
    X(START, "start", "rota_job_start_delay_seconds", "", "From the moment a job was ready until an attempt of it began.") \
    X(PULLER, "puller", "rota_job_stage_delay_seconds", "stage=\"puller\"",                                                \
      "What of the delay each stage took: puller = picked - due, queue = started - picked, target = completed - started.") \
    X(QUEUE, "queue", "rota_job_stage_delay_seconds", "stage=\"queue\"", "")                                               \
    X(TARGET, "target", "rota_job_stage_delay_seconds", "stage=\"target\"", "")                                            \
    X(COMMIT, "commit", "rota_submit_commit_seconds", "", "From a submit that was understood until it was durable.")

enum stats_counter {
#define X(name, text, metric, label, help) STATS_##name,
    STATS_COUNTERS(X)
#undef X
    // Attempts by how they ended: one for each enum job_outcome.
    STATS_OUTCOME,
    STATS_COUNTER_COUNT = STATS_OUTCOME + OUTCOME_COUNT
};

enum stats_histogram {
#define X(name, text, metric, label, help) STATS_##name##_DELAY,
    STATS_HISTOGRAMS(X)
#undef X
        STATS_HISTOGRAM_COUNT
};

struct stats_row {
    const char *name, *metric, *label, *help; // `help` of a metric's first row speaks for all of them
};

const struct stats_row *stats_counter_row(enum stats_counter counter); // NULL: it is no counter (OUTCOME_NONE)
const struct stats_row *stats_histogram_row(enum stats_histogram histogram);

struct stats {
    _Atomic int64_t counters[STATS_COUNTER_COUNT];
    struct {
        _Atomic int64_t counts[HISTOGRAM_BUCKETS], sum_us;
    } histograms[STATS_HISTOGRAM_COUNT];
};

// The same as plain numbers.
struct stats_values {
    int64_t counters[STATS_COUNTER_COUNT];
    struct histogram histograms[STATS_HISTOGRAM_COUNT];
};

static inline void stats_count(struct stats *stats, enum stats_counter counter, int64_t n)
{
    atomic_fetch_add_explicit(&stats->counters[counter], n, memory_order_relaxed);
}

void stats_time(struct stats *stats, enum stats_histogram histogram, int64_t us);

// A start, and a step that was written, with all there is to count about them.
void stats_started(struct stats *stats, const struct job *job, const struct job_policy *policy);
void stats_changed(struct stats *stats, const struct job *job, const struct attempt *attempt);

void stats_take(const struct stats *stats, struct stats_values *ret_values);
void stats_subtract(struct stats_values *from, const struct stats_values *what);
void stats_add(struct stats_values *to, const struct stats_values *what, double weight);

// As a JSON object of what is not 0, and back: added to what is there. What is not known, of a newer rota, is passed over.
void stats_put_json(struct buf *buf, const struct stats_values *values);
void stats_parse(struct stats_values *to, struct str doc);
