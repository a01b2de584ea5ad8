// When to try again.
// Layer: core, pure.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { RETRY_AFTER_MAX_MS = 24 * 3600 * 1000 };

struct retry_policy {
    int32_t max; // tries after the first
    int64_t delay_ms, max_delay_ms;
    bool exponential, jitter;
};

// How long to wait before retry number `retry` (1 is the first). What the target asked for is a floor, up to 24 h,
// and is not jittered downwards. `dice` is any random number.
int64_t retry_delay(const struct retry_policy *policy, int retry, int64_t retry_after_ms, uint64_t dice);
