#include "core/codes.h"

void codes_add(uint64_t codes[CODES_WORDS], int from, int count)
{
    for (int bit = from - CODE_MIN; bit < from - CODE_MIN + count; bit++)
        codes[bit / 64] |= 1ull << (bit % 64);
}

// A machine word at a time, because rendering a task asks for all hundred codes of a class.
bool codes_have(const uint64_t codes[CODES_WORDS], int from, int count)
{
    for (int bit = from - CODE_MIN, end = bit + count; bit < end; bit = (bit / 64 + 1) * 64) {
        int bits = end - bit < 64 ? end - bit : 64;
        uint64_t wanted = ~0ull >> (64 - bits) << (bit % 64);
        if (~codes[bit / 64] & wanted)
            return false;
    }
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
