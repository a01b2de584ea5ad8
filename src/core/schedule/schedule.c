#include "core/schedule/schedule.h"

#include "base/calendar.h"

enum { DAY_S = 24 * 3600 };

static int64_t wall_of(const struct schedule *schedule, int64_t at_s)
{
    return at_s + zone_span_at(schedule->zone, at_s).offset_s;
}

struct schedule_instant schedule_next(const struct schedule *schedule, int64_t after_s)
{
    struct schedule_instant next = {.at_s =
                                        cron_next(&schedule->cron, schedule->zone, schedule->gap, schedule->overlap, after_s)};
    if (schedule->exclude_count && next.at_s != INT64_MAX)
        next.excluded = exclude_has(schedule->excludes, schedule->exclude_count, calendar_day_of(wall_of(schedule, next.at_s)));
    return next;
}

// Midnight may be skipped, and may come twice: then the day ends when the clock shows it first.
int64_t schedule_day_end(const struct schedule *schedule, int64_t at_s)
{
    int64_t midnight = (calendar_day_of(wall_of(schedule, at_s)) + 1) * DAY_S;
    int64_t end = zone_instants(schedule->zone, midnight).first_s - 1;
    return end > at_s ? end : at_s;
}

enum schedule_shift schedule_shift(const struct schedule *schedule, int64_t at_s)
{
    struct zone_instants shown = zone_instants(schedule->zone, wall_of(schedule, at_s));
    if (shown.wall == ZONE_TWICE)
        return at_s == shown.last_s ? SCHEDULE_LAST_PASS : SCHEDULE_FIRST_PASS;
    int64_t as_shown = cron_next(&schedule->cron, schedule->zone, CRON_GAP_SKIP, schedule->overlap, at_s - 1);
    return as_shown == at_s ? SCHEDULE_AS_SHOWN : SCHEDULE_AFTER_GAP;
}
