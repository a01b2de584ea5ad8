// Days on which a recurring task does not run: dates, dates of every year, and ranges of dates.
// Layer: core, pure.
#pragma once
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum { EXCLUDES_MAX = 366 };

struct exclude {
    bool yearly;
    int32_t first, last; // both included: days since 1970; of a yearly one both are month * 32 + day
};

#define EXCLUDE_WORDS "a date like 2026-12-25, a yearly date like 12-25, or a range like 2026-07-01/2026-07-14"

// Reads EXCLUDE_WORDS. False: it is none of them.
bool exclude_read(struct str text, struct exclude *ret_exclude);

// Whether one of them has this day, counted since 1970.
bool exclude_has(const struct exclude *excludes, size_t count, int64_t day);
