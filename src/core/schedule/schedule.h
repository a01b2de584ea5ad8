// When a recurring task runs: the instants of its cron pattern in its time zone, and which of them fall on excluded days.
// Layer: core, pure. Times are seconds since 1970.
#pragma once
#include "core/schedule/cron.h"
#include "core/schedule/exclude.h"
#include "core/schedule/zone.h"

struct schedule {
    struct cron cron;
    enum cron_gap gap;
    enum cron_overlap overlap;
    const struct zone *zone;
    const struct exclude *excludes; // days of that zone
    size_t exclude_count;
};

struct schedule_instant {
    int64_t at_s;  // INT64_MAX: there is none any more
    bool excluded; // it falls on an excluded day
};

// The first instant after `after_s`.
struct schedule_instant schedule_next(const struct schedule *schedule, int64_t after_s);

// The last second of the day, in the schedule's zone, that this instant falls on: from there the next day's instants follow.
int64_t schedule_day_end(const struct schedule *schedule, int64_t at_s);

// What a DST change has to do with an instant.
enum schedule_shift {
    SCHEDULE_AS_SHOWN,   // nothing
    SCHEDULE_AFTER_GAP,  // the wall clock skipped its time: it comes right after
    SCHEDULE_FIRST_PASS, // the wall clock shows its time twice, and this is the first,
    SCHEDULE_LAST_PASS,  // … or the last
};
enum schedule_shift schedule_shift(const struct schedule *schedule, int64_t at_s);
