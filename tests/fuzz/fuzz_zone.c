// core/schedule/zone, files of time zones: spans lie side by side and hold what was asked for; a wall time's instants show it,
// and one that is skipped lies in a gap; nothing is refused without words.
#include "core/schedule/zone.h"
#include "fuzz.h"

enum { SPANS_MAX = 300 };

static void check_shown(const struct zone *zone, int64_t utc_s, int64_t wall_s)
{
    must(utc_s + zone_span_at(zone, utc_s).offset_s == wall_s);
}

static void check_wall(const struct zone *zone, int64_t wall_s)
{
    struct zone_instants instants = zone_instants(zone, wall_s);
    if (instants.wall == ZONE_SKIPPED) {
        must(instants.first_s == instants.last_s);
        must(zone_span_at(zone, instants.first_s).from_s == instants.first_s);
        must(instants.first_s + zone_span_at(zone, instants.first_s - 1).offset_s <= wall_s);
        must(instants.first_s + zone_span_at(zone, instants.first_s).offset_s > wall_s);
        return;
    }
    must((instants.wall == ZONE_ONCE) == (instants.first_s == instants.last_s));
    must(instants.first_s <= instants.last_s);
    check_shown(zone, instants.first_s, wall_s);
    check_shown(zone, instants.last_s, wall_s);
}

static void check_span(const struct zone_span *span)
{
    must(span->from_s < span->until_s);
    must(span->offset_s > -25 * 3600 && span->offset_s < 26 * 3600);
    must(memchr(span->abbreviation, 0, sizeof span->abbreviation) >= (const void *)(span->abbreviation + 3));
}

// Checks readings just before and after the clock is set. At instants so far away that a sum could overflow, it only asks.
static void check_end(const struct zone *zone, const struct zone_span *span, const struct zone_span *next)
{
    must(next->from_s == span->until_s);
    must(zone_span_at(zone, span->until_s - 1).from_s == span->from_s);
    must(zone_span_at(zone, span->until_s - 1).until_s == span->until_s);
    if (span->until_s < -(INT64_C(1) << 50) || span->until_s > INT64_C(1) << 50) {
        zone_instants(zone, span->until_s);
        return;
    }
    for (int by_s = -1; by_s <= 1; by_s++) {
        check_wall(zone, span->until_s + span->offset_s + by_s);
        check_wall(zone, span->until_s + next->offset_s + by_s);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    const struct zone *zone = NULL;
    const char *why = NULL;
    arena_init(&arena);
    enum err err = zone_read(fuzz_input(data, size), &arena, &zone, &why);
    must((err != ERR_OK) == (why != NULL));
    if (!err) {
        struct zone_span span = zone_span_at(zone, INT64_MIN);
        must(span.from_s == INT64_MIN);
        check_span(&span);
        for (int i = 0; i < SPANS_MAX && span.until_s != INT64_MAX; i++) {
            struct zone_span next = zone_span_at(zone, span.until_s);
            check_span(&next);
            check_end(zone, &span, &next);
            span = next;
        }
        check_wall(zone, 0);
    }
    arena_done(&arena);
    return 0;
}
