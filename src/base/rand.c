// xoshiro256**, seeded through splitmix64 as its authors advise.
#include "base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

void rand_init(struct rand *rand, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        seed += 0x9e3779b97f4a7c15u;
        uint64_t z = seed;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        rand->s[i] = z ^ z >> 31;
    }
}

static uint64_t turn_left(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t rand_next(struct rand *rand)
{
    uint64_t *s = rand->s;
    uint64_t result = turn_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = turn_left(s[3], 45);
    return result;
}

uint64_t rand_below(struct rand *rand, uint64_t limit)
{
    return (uint64_t)((__uint128_t)rand_next(rand) * limit >> 64);
}

void rand_secret(void *bytes, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t more = getrandom((char *)bytes + got, n - got, 0);
        if (more < 0 && errno != EINTR)
            abort();
        got += more > 0 ? (size_t)more : 0; // a signal may cut it short
    }
}
