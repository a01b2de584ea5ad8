// A moment is in nanoseconds on the monotonic clock, as clock_mono_ns() has it.
#include "base/cond.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

int64_t cond_until(int64_t wait_ms)
{
    return wait_ms < 0 ? TIME_NEVER : clock_mono_ns() + wait_ms * 1000000;
}

bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until)
{
    struct timespec at = {until / 1000000000, until % 1000000000};
    int rc = until == TIME_NEVER ? pthread_cond_wait(cond, lock) : pthread_cond_timedwait(cond, lock, &at);
    return rc != ETIMEDOUT;
}
