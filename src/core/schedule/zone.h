// A time zone: which offset from UTC holds when, and which instants a reading of the wall clock stands for.
// Layer: core, pure. A zone does not change once it is read: any thread may use it.
//
// Times are seconds since 1970. A wall time is what the clock on the wall shows, counted as if it were UTC. Leap seconds do not
// exist here, as they do not in POSIX.
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct zone;

extern const struct zone zone_utc;

enum { ZONE_FILE_MAX = 64 * 1024, ZONE_TRANSITIONS_MAX = 2000, ZONE_ABBREVIATION_SIZE = 8 };

// Reads a TZif file (RFC 8536, versions 1 to 4). The zone lives in the arena and does not point into `tzif`. ERR_TOO_LARGE: more
// bytes or transitions than above. ERR_INVALID_FIELD: not TZif, or what rota does not take. *ret_why then says what is wrong, in
// words that live for ever.
err_check enum err zone_read(struct str tzif, struct arena *arena, const struct zone **ret_zone, const char **ret_why);

// A time in which nothing changes: from_s <= t < until_s. Open ends are INT64_MIN and INT64_MAX. The span behind it may have the
// same offset, and differ in its abbreviation, in is_dst or in nothing.
struct zone_span {
    int64_t from_s, until_s;
    int32_t offset_s; // what is added to UTC to get the wall time; less than 26 hours either way
    bool is_dst;      // may be the smaller offset: Ireland's summer is its standard time
    char abbreviation[ZONE_ABBREVIATION_SIZE];
};

// The span that holds this instant. Who walks through time keeps the span and asks again only at its end.
struct zone_span zone_span_at(const struct zone *zone, int64_t utc_s);

enum zone_wall { ZONE_ONCE, ZONE_TWICE, ZONE_SKIPPED };

// The instants at which a wall clock shows a time. ONCE: first_s and last_s are the same. TWICE: the clock was set back, and
// showed it first and last then. SKIPPED: the clock was set forward past it; both are the first instant behind the gap.
struct zone_instants {
    enum zone_wall wall;
    int64_t first_s, last_s;
};

struct zone_instants zone_instants(const struct zone *zone, int64_t wall_s);
