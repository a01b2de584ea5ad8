// What core/schedule/zone says of files of time zones, as lines that zone_oracle.py compares with Python's zoneinfo.
//
// zone_lines FILE…, for each file from 1970 to the end of 2199:
//   file PATH
//   span FROM UNTIL OFFSET DST ABBREVIATION   every span, in their order
//   wall TIME once|twice|skipped FIRST LAST   around each end of a span, and on the first of each month
// zone_lines --cost FILE…: how much CPU time an answer takes, in nanoseconds.
#include "base/calendar.h"
#include "zone_file.h"

#include <inttypes.h>
#include <time.h>

enum { DAY_S = 24 * 3600, YEAR_FIRST = 1970, YEAR_END = 2200, COST_ROUNDS = 100 };

static void say_wall(const struct zone *zone, int64_t wall_s)
{
    static const char *const names[] = {[ZONE_ONCE] = "once", [ZONE_TWICE] = "twice", [ZONE_SKIPPED] = "skipped"};
    struct zone_instants instants = zone_instants(zone, wall_s);
    printf("wall %" PRId64 " %s %" PRId64 " %" PRId64 "\n", wall_s, names[instants.wall], instants.first_s, instants.last_s);
}

// The readings around what the clock shows at the end of a span, before and after it is set.
static void say_end(const struct zone *zone, const struct zone_span *span)
{
    int64_t before_s = span->until_s + span->offset_s, after_s = span->until_s + zone_span_at(zone, span->until_s).offset_s;
    for (int by_s = -1; by_s <= 1; by_s++) {
        say_wall(zone, before_s + by_s);
        say_wall(zone, after_s + by_s);
    }
    say_wall(zone, (before_s + after_s) / 2);
}

static void say_zone(const struct zone *zone)
{
    int64_t end_s = calendar_days(YEAR_END, 1, 1) * DAY_S;
    for (int64_t at_s = 0; at_s < end_s;) {
        struct zone_span span = zone_span_at(zone, at_s);
        printf("span %" PRId64 " %" PRId64 " %d %d %s\n", span.from_s, span.until_s, span.offset_s, span.is_dst,
               span.abbreviation);
        if (span.until_s < end_s)
            say_end(zone, &span);
        at_s = span.until_s;
    }
    for (int month = 0; month < (YEAR_END - YEAR_FIRST) * 12; month++)
        say_wall(zone, calendar_days(YEAR_FIRST + month / 12, month % 12 + 1, 1) * DAY_S);
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

// Days in an order that no cache can guess; the sum keeps the compiler from leaving the work out.
static void say_cost(const struct zone *zone, int year_first, int year_end, const char *path)
{
    int64_t from_s = calendar_days(year_first, 1, 1) * DAY_S, days = calendar_days(year_end, 1, 1) - from_s / DAY_S, sum = 0;
    int64_t asked = days * COST_ROUNDS, began_ns = cpu_ns();
    for (int64_t i = 0; i < asked; i++)
        sum += zone_span_at(zone, from_s + i * 7919 % days * DAY_S).offset_s;
    int64_t spans_ns = cpu_ns() - began_ns;
    began_ns = cpu_ns();
    for (int64_t i = 0; i < asked; i++)
        sum += zone_instants(zone, from_s + i * 7919 % days * DAY_S).first_s;
    int64_t instants_ns = cpu_ns() - began_ns;
    printf("%s %d to %d: span %.1f ns, instants %.1f ns (%" PRId64 ")\n", path, year_first, year_end,
           (double)spans_ns / (double)asked, (double)instants_ns / (double)asked, sum);
}

int main(int argc, char **argv)
{
    bool cost = argc > 1 && strcmp(argv[1], "--cost") == 0;
    for (int i = 1 + cost; i < argc; i++) {
        struct arena arena;
        arena_init(&arena);
        const struct zone *zone = zone_file(argv[i], &arena);
        if (cost) {
            say_cost(zone, YEAR_FIRST, 2026, argv[i]);
            say_cost(zone, 2040, YEAR_END, argv[i]);
        } else {
            printf("file %s\n", argv[i]);
            say_zone(zone);
        }
        arena_done(&arena);
    }
    return 0;
}
