// What a node counts as it goes: one table says what there is, what it is called and what it means.
//
// Layer: flow. Any thread counts, with relaxed atomics and without a lock; whoever reads sees each number as it was at some
// moment. Counts begin at 0 with the process. flow/report writes them down minute by minute.
#pragma once
#include "base/buf.h"
#include "core/histogram.h"
#include "core/job.h"

#include <stdatomic.h>

// Symbol, name in the stored minutes, metric, its label, help. Rows of one metric lie together.
#define TALLY_COUNTERS(X)                                                                                                   \
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
    X(LATE_TARGET, "late_target", "rota_sla_missed_total", "stage=\"target\"", "")

// Symbol, name in the stored minutes, metric, its label, help.
#define TALLY_HISTOGRAMS(X)                                                                                                \
    X(START, "start", "rota_job_start_delay_seconds", "", "From the moment a job was ready until an attempt of it began.") \
    X(PULLER, "puller", "rota_job_stage_delay_seconds", "stage=\"puller\"",                                                \
      "What of the delay each stage took: puller = picked - due, queue = started - picked, target = completed - started.") \
    X(QUEUE, "queue", "rota_job_stage_delay_seconds", "stage=\"queue\"", "")                                               \
    X(TARGET, "target", "rota_job_stage_delay_seconds", "stage=\"target\"", "")                                            \
    X(COMMIT, "commit", "rota_submit_commit_seconds", "", "From a submit that was understood until it was durable.")

enum tally_counter {
#define X(name, text, metric, label, help) TALLY_##name,
    TALLY_COUNTERS(X)
#undef X
    // Attempts by how they ended: one for each enum job_outcome.
    TALLY_OUTCOME,
    TALLY_COUNTER_COUNT = TALLY_OUTCOME + OUTCOME_COUNT
};

enum tally_histogram {
#define X(name, text, metric, label, help) TALLY_##name##_DELAY,
    TALLY_HISTOGRAMS(X)
#undef X
        TALLY_HISTOGRAM_COUNT
};

struct tally_row {
    const char *name, *metric, *label, *help; // `help` of a metric's first row speaks for all of them
};

const struct tally_row *tally_counter_row(enum tally_counter counter); // NULL: it is no counter (OUTCOME_NONE)
const struct tally_row *tally_histogram_row(enum tally_histogram histogram);

struct tally {
    _Atomic int64_t counters[TALLY_COUNTER_COUNT];
    struct {
        _Atomic int64_t counts[HISTOGRAM_BUCKETS], sum_us;
    } histograms[TALLY_HISTOGRAM_COUNT];
};

// The same as plain numbers.
struct tally_values {
    int64_t counters[TALLY_COUNTER_COUNT];
    struct histogram histograms[TALLY_HISTOGRAM_COUNT];
};

static inline void tally_count(struct tally *tally, enum tally_counter counter, int64_t n)
{
    atomic_fetch_add_explicit(&tally->counters[counter], n, memory_order_relaxed);
}

void tally_time(struct tally *tally, enum tally_histogram histogram, int64_t us);

// A start, and a step that was written, with all there is to count about them.
void tally_started(struct tally *tally, const struct job *job, const struct job_policy *policy);
void tally_changed(struct tally *tally, const struct job *job, const struct attempt *attempt);

void tally_take(const struct tally *tally, struct tally_values *ret_values);
void tally_subtract(struct tally_values *from, const struct tally_values *what);
void tally_add(struct tally_values *to, const struct tally_values *what, double weight);

// As a JSON object of what is not 0, and back: added to what is there. What is not known, of a newer rota, is passed over.
void tally_put(struct buf *buf, const struct tally_values *values);
void tally_parse(struct tally_values *to, struct str doc);
