// Time. A loop reads it once a turn and hands it down: core/ and turns get it as an argument. Code outside of a turn (handlers of
// requests, executors, threads of a store, the command line) reads it where the work begins.
// Layer: base. Any thread.
#pragma once
#include <stdint.h>

// wall_ms is what people plan by and may jump; mono_ms only moves forward and is what liveness is judged by.
struct now {
    int64_t wall_ms;
    int64_t mono_ms;
};

#define TIME_NEVER INT64_MAX

struct now clock_now(void);
int64_t clock_wall_ns(void);
int64_t clock_mono_ns(void);

// Moves the wall clock that clock_now() and clock_wall_ns() give by so much, in the whole process: it is one machine's clock.
// From then on it follows the monotonic clock, and not the machine's when that is set. One thread.
void clock_correct(int64_t by_ms);

static inline int64_t time_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t time_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}
