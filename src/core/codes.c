#include "core/codes.h"

void codes_add(uint64_t codes[CODES_WORDS], int from, int count)
{
    for (int bit = from - CODE_MIN; bit < from - CODE_MIN + count; bit++)
        codes[bit / 64] |= 1ull << (bit % 64);
}

bool codes_have(const uint64_t codes[CODES_WORDS], int from, int count)
{
    for (int bit = from - CODE_MIN; bit < from - CODE_MIN + count; bit++)
        if (!(codes[bit / 64] >> (bit % 64) & 1))
            return false;
    return true;
}

int codes_next(const uint64_t codes[CODES_WORDS], int code)
{
    for (int bit = code - CODE_MIN; bit < CODES_WORDS * 64; bit = (bit / 64 + 1) * 64) {
        uint64_t left = codes[bit / 64] >> (bit % 64);
        if (left)
            return CODE_MIN + bit + __builtin_ctzll(left);
    }
    return CODE_MAX + 1;
}
