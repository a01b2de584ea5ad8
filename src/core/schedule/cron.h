// A cron pattern: the wall times at which a recurring task runs.
// Layer: core, pure.
//
// The patterns are those of the Open Cron Pattern Specification 1.4, and `H` besides. docs/decisions/0035-cron.md says what rota
// does where the specification leaves a choice, and how `H` is read.
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct zone;

enum { CRON_YEAR_MIN = 1970, CRON_YEAR_MAX = 2199, CRON_YEAR_WORDS = 4 };

// A weekday is meant by its occurrence in the month: its first to fifth, and its last whichever that is.
enum { CRON_OCCURRENCES = 5, CRON_LAST = CRON_OCCURRENCES };

struct cron {
    uint64_t seconds, minutes;       // bit 0 is the first one
    uint64_t years[CRON_YEAR_WORDS]; // bit 0 is 1970
    uint32_t hours;                  // bit 0 is midnight
    uint32_t days;                   // bit 1 is the first day of a month
    uint16_t months;                 // bit 1 is January
    uint16_t year_kinds;             // in which kinds of years a day fits; bit 0 for those of 365 days that begin with Sunday
    uint8_t weekdays[CRON_OCCURRENCES + 1]; // for each occurrence the weekdays; bit 0 is Sunday
    uint8_t nearest_day;                    // 15W: the Monday to Friday nearest to this day of the month; 0: none is asked for
    bool last_day;                          // of a month
    bool either_day;                        // a day fits by its date or by its weekday; otherwise by both
    bool elapsed;                           // it follows elapsed time through a change of the clock: see cron_next()
    bool hashed;                            // it has an H: its times depend on the hash that it was parsed with
};

// What becomes of a wall time that a change of the clock skips, and of one that comes twice.
enum cron_gap { CRON_GAP_RUN_AFTER, CRON_GAP_SKIP };
enum cron_overlap { CRON_OVERLAP_FIRST, CRON_OVERLAP_LAST, CRON_OVERLAP_BOTH };

// ERR_INVALID_FIELD: it is no pattern. ERR_CRON_NEVER: it is one, but no day of the years 1970 to 2199 fits; *ret_cron is filled.
// In both cases `why` is a sentence for the user. `hash` is what an H spreads by; it should be a good hash of the task's name.
err_check enum err cron_parse(struct str text, uint64_t hash, struct cron *ret_cron, char why[ERR_WHY_MAX]);

// The days of a month that fit, bit 1 for the first. Of the month all that counts is the weekday that it begins with (0: Sunday)
// and how many days it has; whether its number and year fit is not asked.
uint32_t cron_month_days(const struct cron *cron, int first_weekday, int length);

// The first month from this one on whose number and year fit, in a year that has a fitting day; false: there is none until the
// end of 2199.
bool cron_next_month(const struct cron *cron, int *year, int *month);

// To be called once, when all else is filled: finds `year_kinds`. False: no day of the years 1970 to 2199 fits.
bool cron_settle(struct cron *cron);

// The first instant after `after_s` at which the pattern fires, in seconds since 1970 (UTC); INT64_MAX: none until the end of
// 2199.
//
// A pattern whose minute or hour field begins with `*` follows elapsed time: it fires whenever the wall clock of the zone shows a
// fitting time, in both passes of an overlap, and not for the times in a gap. Any other pattern asks `gap` and `overlap`. After a
// gap it fires at the first instant behind it, once, however many of its times the gap has swallowed.
int64_t cron_next(const struct cron *cron, const struct zone *zone, enum cron_gap gap, enum cron_overlap overlap,
                  int64_t after_s);

// How many times of a day fit, and the first and last of them in seconds since midnight, on a day on which the clock is not
// changed.
int64_t cron_times_a_day(const struct cron *cron, int *ret_first, int *ret_last);

// What the pattern says, as a phrase in plain English: "at 02:30 on the last Friday of the month".
void cron_describe(const struct cron *cron, struct buf *buf);
