// The only file that asks the kernel for the time. Everything else gets it as an argument, so that the simulator can make it up.
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

struct now clock_now(void)
{
    return (struct now){.wall_ms = clock_wall_ns() / 1000000, .mono_ms = clock_mono_ns() / 1000000};
}
