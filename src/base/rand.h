// Random numbers from a seed: the same seed, the same run. Not for secrets, but for what rand_secret fills.
// Layer: base. One owner at a time.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct rand {
    uint64_t s[4];
};

void rand_init(struct rand *rand, uint64_t seed);
uint64_t rand_next(struct rand *rand);
uint64_t rand_below(struct rand *rand, uint64_t limit); // 0 … limit-1; limit > 0
void rand_secret(void *bytes, size_t n);                // from the kernel
