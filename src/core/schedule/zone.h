// A time zone: which offset from UTC holds when, and which instants a reading of the wall clock stands for.
// Layer: core, pure. A zone does not change once it is read: any thread may use it.
//
// Times are seconds since 1970. A wall time is what the clock on the wall shows, counted as if it were UTC. Leap seconds do not
// exist here, as they do not exist in POSIX.
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct zone;

extern const struct zone zone_utc;

enum { ZONE_FILE_MAX = 64 * 1024, ZONE_TRANSITIONS_MAX = 2000, ZONE_ABBREVIATION_SIZE = 8 };

// Reads a TZif file (RFC 8536, versions 1 to 4). The zone lives in the arena and does not point into `tzif`. ERR_TOO_LARGE: the
// file has more bytes or transitions than rota takes. ERR_INVALID_FIELD: it is not TZif, or counts leap seconds. *ret_why is then
// a constant text that says what is wrong.
err_check enum err zone_read(struct str tzif, struct arena *arena, const struct zone **ret_zone, const char **ret_why);

// A time in which nothing changes: from_s <= t < until_s. Open ends are INT64_MIN and INT64_MAX. The next span may have the same
// offset: it may differ only in its abbreviation or in is_dst, or not at all.
struct zone_span {
    int64_t from_s, until_s;
    int32_t offset_s; // what is added to UTC to get the wall time; less than 26 hours either way
    bool is_dst;      // may be the smaller offset: Ireland's summer is its standard time
    char abbreviation[ZONE_ABBREVIATION_SIZE];
};

// The span that holds this instant. A caller that walks forward keeps the span and asks again only at its end.
struct zone_span zone_span_at(const struct zone *zone, int64_t utc_s);

enum zone_wall { ZONE_ONCE, ZONE_TWICE, ZONE_SKIPPED };

// The instants at which a wall clock shows a time. ONCE: first_s and last_s are the same. TWICE: the clock was set back, so it
// showed the time at first_s and again at last_s. SKIPPED: the clock was set forward past the time, so it never showed it; both
// are the first instant after the gap.
struct zone_instants {
    enum zone_wall wall;
    int64_t first_s, last_s;
};

struct zone_instants zone_instants(const struct zone *zone, int64_t wall_s);
