// The only file that asks the kernel for the time. Everything else gets it as an argument, so that the simulator can make it up.
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t correction_ns;

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME) + atomic_load_explicit(&correction_ns, memory_order_relaxed);
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

void clock_correct(int64_t by_ms)
{
    atomic_fetch_add(&correction_ns, by_ms * 1000000);
}

struct now clock_now(void)
{
    return (struct now){.wall_ms = clock_wall_ns() / 1000000, .mono_ms = clock_mono_ns() / 1000000};
}
