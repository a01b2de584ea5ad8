// The only file that asks the kernel for the time. What decides gets it as an argument, so that the simulator can make it up.
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

// Once it was corrected, the wall clock is the monotonic one plus this: when the machine's is set, the correction would be wrong.
static _Atomic int64_t base_ns;

static int64_t read_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    int64_t base = atomic_load_explicit(&base_ns, memory_order_relaxed);
    return base ? read_ns(CLOCK_MONOTONIC) + base : read_ns(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

void clock_correct(int64_t by_ms)
{
    atomic_store(&base_ns, clock_wall_ns() - clock_mono_ns() + by_ms * 1000000);
}

struct now clock_now(void)
{
    return (struct now){.wall_ms = clock_wall_ns() / 1000000, .mono_ms = clock_mono_ns() / 1000000};
}
