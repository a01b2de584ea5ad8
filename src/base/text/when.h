// Times and durations as text.
// Layer: base, pure.
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { WHEN_TEXT_SIZE = 32, WHEN_LENGTH = 24 };

// RFC 3339 with a zone ("2026-11-15T20:22:00.123Z", "…+02:00"; also lower-case t and z). Dates that do not exist are refused; a
// leap second is read as the last millisecond before it. Fractions are cut to milliseconds. Years 1970 to 9999.
bool when_parse(struct str text, int64_t *ret_ms);
void when_format(char ret_text[WHEN_TEXT_SIZE], int64_t ms); // UTC with milliseconds, always WHEN_LENGTH characters

// "500ms" "30s" "10m" "2h" "7d", sums of them from the largest unit to the smallest ("1h30m"), and ISO 8601 "PT10M", "P1DT2H",
// "PT0.5S" (days, hours, minutes, seconds, weeks). Not negative. False when malformed or beyond 100 years.
bool duration_parse(struct str text, int64_t *ret_ms);
void duration_format(char ret_text[WHEN_TEXT_SIZE], int64_t ms); // in the largest unit that divides it
