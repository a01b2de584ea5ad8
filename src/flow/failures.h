// Logs jobs that ended as failures: a few a second one by one, and of the others how many there were.
// Layer: flow. The flow thread's.
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "core/job.h"

enum {
    FAILURES_SHOWN = 5,          // a second
    FAILURES_SUM_MS = 10 * 1000, // what is not shown is summed up for so long
};

struct failures {
    int64_t second; // monotonic: which one it is,
    int shown;      // and how many were shown in it
    int64_t since;  // monotonic: from when on it is summed up; 0: there is nothing to sum up
    int aborted, buried;
};

// A job has ended aborted or buried, and the store has taken it. True: it is to be shown; otherwise it was counted.
bool failures_count(struct failures *failures, enum job_state state);
void failures_put(struct buf *words, const struct job *job, struct str queue, struct str name); // as it is shown

// What was not shown in the last seconds (0: nobody counted them), as words. False: there is nothing to be said.
bool failures_sum(struct failures *failures, int64_t seconds, struct buf *words);

void failures_note(struct failures *failures, const struct job *job, struct str queue, struct str name);
int64_t failures_turn(struct failures *failures, struct now now); // on the wall clock: when to turn again
void failures_leave(struct failures *failures);                   // says what is left to be said: no turn is to come
