#include "core/schedule/schedule.h"

#include "base/calendar.h"
#include "base/clock.h"
#include "base/data/hash.h"

enum { DAY_S = 24 * 3600 };

static const int64_t END_MS = INT64_C(7258118400000); // the year 2200 begins

static int64_t seconds(int64_t ms) // rounded down, also before 1970
{
    return ms / 1000 - (ms % 1000 < 0);
}

static int64_t wall_of(const struct schedule *schedule, int64_t at_s)
{
    return at_s + zone_span_at(schedule->zone, at_s).offset_s;
}

// ---- the next instant

static int64_t next_of_every(const struct schedule *schedule, int64_t after_ms)
{
    int64_t every = schedule->every_ms, anchor = schedule->anchor_ms;
    if (after_ms >= END_MS)
        return TIME_NEVER;
    int64_t since_ms = time_max(after_ms, schedule->anchor_is_instant ? -END_MS : anchor) - anchor;
    int64_t passed = since_ms / every - (since_ms % every < 0); // rounded down, also before the anchor
    int64_t next = anchor + (passed + 1) * every;
    return next < END_MS ? next : TIME_NEVER;
}

static int64_t next_of_pattern(const struct schedule *schedule, int64_t after_ms)
{
    int64_t next_s = cron_next(&schedule->cron, schedule->zone, schedule->gap, schedule->overlap, seconds(after_ms));
    return next_s == INT64_MAX ? TIME_NEVER : next_s * 1000;
}

struct schedule_instant schedule_next(const struct schedule *schedule, int64_t after_ms)
{
    if (schedule->starts_at)
        after_ms = time_max(after_ms, schedule->starts_at - 1);
    int64_t at_ms = schedule->every_ms > 0 ? next_of_every(schedule, after_ms) : next_of_pattern(schedule, after_ms);
    if (at_ms == TIME_NEVER || (schedule->ends_at && at_ms > schedule->ends_at))
        return (struct schedule_instant){.at_ms = TIME_NEVER};
    bool excluded = schedule->exclude_count &&
                    exclude_has(schedule->excludes, schedule->exclude_count, calendar_day_of(wall_of(schedule, seconds(at_ms))));
    return (struct schedule_instant){.at_ms = at_ms, .excluded = excluded};
}

int64_t schedule_next_run(const struct schedule *schedule, int64_t after_ms, int64_t through_ms)
{
    struct schedule_instant next = schedule_next(schedule, after_ms);
    while (next.excluded && next.at_ms <= through_ms)
        next = schedule_next(schedule, schedule_day_end(schedule, next.at_ms));
    return next.at_ms <= through_ms ? next.at_ms : TIME_NEVER;
}

bool schedule_has_run(const struct schedule *schedule, int64_t at_ms)
{
    return schedule_next_run(schedule, at_ms - 1, at_ms) == at_ms;
}

// ---- about one instant

int64_t schedule_due(const struct schedule *schedule, int64_t nominal_at)
{
    if (!schedule->jitter_ms || nominal_at == TIME_NEVER)
        return nominal_at;
    uint64_t hash = hash_number((int64_t)(schedule->hash ^ hash_number(nominal_at)));
    return nominal_at + (int64_t)(hash % ((uint64_t)schedule->jitter_ms + 1));
}

// Midnight may be skipped, and may come twice: then the day ends when the clock shows it first.
int64_t schedule_day_end(const struct schedule *schedule, int64_t at_ms)
{
    int64_t midnight = (calendar_day_of(wall_of(schedule, seconds(at_ms))) + 1) * DAY_S;
    int64_t end = zone_instants(schedule->zone, midnight).first_s * 1000 - 1;
    return time_max(end, at_ms);
}

// What a change of the clock does to the times around it reaches less than a day.
int64_t schedule_whole_day(const struct schedule *schedule, int64_t first_ms, int64_t *ret_last_ms)
{
    int first, last;
    if (schedule->every_ms > 0)
        return 0;
    struct zone_span span = zone_span_at(schedule->zone, seconds(first_ms));
    int64_t midnight = calendar_day_of(seconds(first_ms) + span.offset_s) * DAY_S - span.offset_s;
    int64_t count = cron_times_a_day(&schedule->cron, &first, &last);
    bool is_even = span.from_s <= midnight - DAY_S && span.until_s >= midnight + 2 * DAY_S;
    *ret_last_ms = (midnight + last) * 1000;
    if (!is_even || seconds(first_ms) != midnight + first || (schedule->ends_at && *ret_last_ms > schedule->ends_at))
        return 0;
    return count;
}

enum schedule_shift schedule_shift(const struct schedule *schedule, int64_t at_ms)
{
    if (schedule->every_ms > 0)
        return SCHEDULE_AS_SHOWN;
    int64_t at_s = seconds(at_ms);
    struct zone_instants shown = zone_instants(schedule->zone, wall_of(schedule, at_s));
    if (shown.wall == ZONE_TWICE)
        return at_s == shown.last_s ? SCHEDULE_LAST_PASS : SCHEDULE_FIRST_PASS;
    int64_t as_shown = cron_next(&schedule->cron, schedule->zone, CRON_GAP_SKIP, schedule->overlap, at_s - 1);
    return as_shown == at_s ? SCHEDULE_AS_SHOWN : SCHEDULE_AFTER_GAP;
}
