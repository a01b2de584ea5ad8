// A set of HTTP status codes, 100 to 599, as bits.
// Layer: core, pure.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { CODE_MIN = 100, CODE_MAX = 599, CODE_CLASS = 100, CODES_WORDS = 8 };

// `from` and the count - 1 behind it, all within CODE_MIN … CODE_MAX.
void codes_add(uint64_t codes[CODES_WORDS], int from, int count);
bool codes_have(const uint64_t codes[CODES_WORDS], int from, int count); // all of them
int codes_next(const uint64_t codes[CODES_WORDS], int code);             // the first from `code` on; beyond CODE_MAX: none
