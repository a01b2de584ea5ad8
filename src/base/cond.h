// Conditions whose waits end by the clock that does not jump.
// Layer: base. Any thread.
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

void cond_init(pthread_cond_t *cond); // pthread_cond_destroy() ends it

int64_t cond_until(int64_t wait_ms); // the moment so far from now; below 0: never

// Waits once for a signal, with the lock held. False: `until` has come.
bool cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until);
