// Jitter takes off up to half: a wave of failures spreads out, yet no wait is longer than the policy says.
#include "core/retry.h"

static int64_t planned(const struct retry_policy *policy, int retry)
{
    int64_t delay = policy->delay_ms;
    if (policy->exponential)
        for (int i = 1; i < retry && delay < policy->max_delay_ms; i++)
            delay *= 2;
    return delay < policy->max_delay_ms ? delay : policy->max_delay_ms;
}

int64_t retry_delay(const struct retry_policy *policy, int retry, int64_t retry_after_ms, uint64_t dice)
{
    int64_t delay = planned(policy, retry);
    if (policy->jitter && delay > 1)
        delay -= (int64_t)(dice % (uint64_t)(delay / 2 + 1));
    if (retry_after_ms > RETRY_AFTER_MAX_MS)
        retry_after_ms = RETRY_AFTER_MAX_MS;
    return delay > retry_after_ms ? delay : retry_after_ms;
}
