// When a recurring task runs: the instants of its cron pattern in its time zone, or those of its `every`; which of them fall on
// excluded days; and when the job of each is due.
// Layer: core, pure. Times are wall-clock milliseconds; those of a pattern are whole seconds.
#pragma once
#include "core/schedule/cron.h"
#include "core/schedule/exclude.h"
#include "core/schedule/zone.h"

#define TASK_HORIZON_MS (3653LL * 24 * 3600 * 1000) // 10 years: nothing is planned further ahead

struct schedule {
    struct cron cron;
    enum cron_gap gap;
    enum cron_overlap overlap;
    const struct zone *zone;
    const struct exclude *excludes; // days of that zone
    size_t exclude_count;
    int64_t every_ms;  // > 0: instants are so far apart, and the pattern is not looked at
    int64_t anchor_ms; // of an `every`: its instants are anchor_ms + every_ms and all that follow
    // The anchor is not one that the user gave, but any instant, or the time of creation. So instants lie before it, too, and it
    // is one itself; that there are some before the creation does not matter, because no plan begins earlier.
    bool anchor_is_instant;
    int64_t starts_at, ends_at; // instants from starts_at on and up to ends_at, both included; 0: no such bound
    int64_t jitter_ms;          // a job is due up to so much after its instant
    uint64_t hash;              // of the task: so tasks with the same schedule are due at different times
};

struct schedule_instant {
    int64_t at_ms; // TIME_NEVER: there is none any more
    bool excluded; // it falls on an excluded day
};

// The first instant after `after_ms`. The last ones are those of the year 2199.
struct schedule_instant schedule_next(const struct schedule *schedule, int64_t after_ms);

// The first instant after `after_ms` and up to `through_ms` that is not excluded; TIME_NEVER: there is none. Excluded days are
// passed over as a whole, so the work grows with the days in between and not with their instants.
int64_t schedule_next_run(const struct schedule *schedule, int64_t after_ms, int64_t through_ms);
bool schedule_has_run(const struct schedule *schedule, int64_t at_ms); // is this an instant that is not excluded?

// When the job of an instant is due: the same whenever it is asked for. TIME_NEVER stays TIME_NEVER.
int64_t schedule_due(const struct schedule *schedule, int64_t nominal_at);

// The last millisecond of the day, in the schedule's zone, that this instant falls on: from there the next day's instants follow.
int64_t schedule_day_end(const struct schedule *schedule, int64_t at_ms);

// How many instants of a pattern the day of this instant has, and the last of them. 0: that is not known without going through
// them, because a change of the clock is near, this is not the first one of its day, or the schedule ends that day.
int64_t schedule_whole_day(const struct schedule *schedule, int64_t first_ms, int64_t *ret_last_ms);

// What a DST change has to do with an instant.
enum schedule_shift {
    SCHEDULE_AS_SHOWN,   // nothing; always so with an `every`, which follows elapsed time
    SCHEDULE_AFTER_GAP,  // the wall clock skipped its time: it comes right after
    SCHEDULE_FIRST_PASS, // the wall clock shows its time twice, and this is the first,
    SCHEDULE_LAST_PASS,  // … or the last
};
enum schedule_shift schedule_shift(const struct schedule *schedule, int64_t at_ms);
