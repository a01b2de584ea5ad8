// The rule of a time zone for the years that its table does not reach: the TZ string of POSIX in the footer of a TZif file, such
// as "EST5EDT,M3.2.0,M11.1.0".
//
// Layer: core, pure. Only zone.c knows it.
#pragma once
#include "base/str.h"
#include "core/schedule/zone.h"

enum { ZONE_OFFSET_MIN_S = -89999, ZONE_OFFSET_MAX_S = 93599 }; // RFC 8536: more than -25 hours, less than 26

struct zone_kind {
    int32_t offset_s;
    bool is_dst;
    char abbreviation[ZONE_ABBREVIATION_SIZE];
};

enum zone_date_form { ZONE_DATE_WEEKDAY, ZONE_DATE_JULIAN, ZONE_DATE_DAY };

// A day of every year, and a time of it.
struct zone_date {
    enum zone_date_form form;
    int month, week, weekday; // WEEKDAY: the week-th such weekday of the month; the fifth is the last
    int day;                  // JULIAN: 1 to 365, 29 February is not counted. DAY: 0 to 365, it is
    int32_t time_s;           // by the wall clock that holds until then; up to 167 hours before or after the day's midnight
};

struct zone_rule {
    struct zone_kind standard, daylight;
    bool has_daylight;
    struct zone_date start, end; // of daylight saving time
};

// False: the text is not such a string. A string that names daylight saving time but not its dates is refused, because POSIX does
// not say when it would begin.
bool zone_rule_read(struct str text, struct zone_rule *ret_rule);

// As zone_span_at(). Before the year 1 and after the year 9999 the offset does not change any more.
struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t utc_s);

void zone_kind_put(const struct zone_kind *kind, struct zone_span *span); // this kind holds in the span

// Copies an abbreviation into a kind. False: it is not made of 3 to 7 letters, digits and signs (+, -).
bool zone_kind_name(struct zone_kind *kind, struct str abbreviation);
