// The next instant is found span by span of the zone. Within a span the wall clock runs evenly, so a fitting wall time is looked
// for as if there were no zone (next_wall), and counts if it comes before the span ends. What a change of the clock adds or takes
// away is decided at the edges of a span: a gap lies before its beginning, an overlap before its beginning or its end.
//
// Nothing is kept between calls: whether an instant belongs to the pattern depends on that instant alone.
#include "base/calendar.h"
#include "core/schedule/cron.h"
#include "core/schedule/zone.h"

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 24 * HOUR_S };

// Further apart than this are no two readings of a zone's clocks at one instant: offsets are less than 26 hours either way.
enum { FAR_S = 3 * DAY_S };

static const int64_t NONE = INT64_MAX;
static const int64_t END_S = INT64_C(7258118400) + 2 * DAY_S; // by then it is 2200 everywhere

struct search {
    const struct cron *cron;
    const struct zone *zone;
    enum cron_gap gap;
    enum cron_overlap overlap;
};

// ---- wall times

static int first_time(const struct cron *cron)
{
    return __builtin_ctz(cron->hours) * HOUR_S + __builtin_ctzll(cron->minutes) * MINUTE_S + __builtin_ctzll(cron->seconds);
}

// The compiler's own function for it would need a library.
static int count_bits(uint64_t bits)
{
    int count = 0;
    for (; bits; bits &= bits - 1)
        count++;
    return count;
}

int64_t cron_times_a_day(const struct cron *cron, int *ret_first, int *ret_last)
{
    int hour = 31 - __builtin_clz(cron->hours), minute = 63 - __builtin_clzll(cron->minutes);
    *ret_first = first_time(cron);
    *ret_last = hour * HOUR_S + minute * MINUTE_S + 63 - __builtin_clzll(cron->seconds);
    return (int64_t)count_bits(cron->hours) * count_bits(cron->minutes) * count_bits(cron->seconds);
}

// The first fitting time of a day from this one on, in seconds; -1: the day has no more.
static int next_time(const struct cron *cron, int second_of_day)
{
    int hour = second_of_day / HOUR_S, minute = second_of_day / MINUTE_S % 60, second = second_of_day % 60;
    bool hour_fits = cron->hours >> hour & 1;
    uint64_t seconds = cron->seconds >> second << second;
    if (hour_fits && cron->minutes >> minute & 1 && seconds)
        return hour * HOUR_S + minute * MINUTE_S + __builtin_ctzll(seconds);
    uint64_t minutes = cron->minutes >> minute >> 1 << minute << 1;
    if (hour_fits && minutes)
        return hour * HOUR_S + __builtin_ctzll(minutes) * MINUTE_S + __builtin_ctzll(cron->seconds);
    uint32_t hours = cron->hours >> hour >> 1 << hour << 1;
    return hours ? __builtin_ctz(hours) * HOUR_S + first_time(cron) % HOUR_S : -1;
}

// The first fitting day from this one on, as days since 1970; NONE: there is none until the end of 2199.
static int64_t next_day(const struct cron *cron, int64_t from)
{
    struct calendar_date date = calendar_date(from);
    for (int year = date.year, month = date.month; cron_next_month(cron, &year, &month); month++) {
        int64_t first = calendar_days(year, month, 1);
        uint32_t days = cron_month_days(cron, calendar_weekday(first), calendar_month_days(year, month));
        if (year == date.year && month == date.month)
            days = days >> date.day << date.day;
        if (days)
            return first + __builtin_ctz(days) - 1;
    }
    return NONE;
}

// The first fitting wall time from this one on.
static int64_t next_wall(const struct cron *cron, int64_t wall_s)
{
    int64_t from = wall_s < 0 ? 0 : wall_s / DAY_S, day = next_day(cron, from);
    if (day == from && wall_s > 0) {
        int time = next_time(cron, (int)(wall_s % DAY_S));
        if (time >= 0)
            return day * DAY_S + time;
        day = next_day(cron, from + 1);
    }
    return day == NONE ? NONE : day * DAY_S + first_time(cron);
}

// ---- instants

// The spans before and behind; where they begin or end too far away to matter, the span itself, which makes neither gap nor
// overlap.
static struct zone_span span_before(const struct search *search, const struct zone_span *span, int64_t at_s)
{
    return span->from_s > at_s - FAR_S ? zone_span_at(search->zone, span->from_s - 1) : *span;
}

static struct zone_span span_behind(const struct search *search, const struct zone_span *span, int64_t at_s)
{
    return span->until_s < at_s + FAR_S ? zone_span_at(search->zone, span->until_s) : *span;
}

// The clock was set forward at the beginning of the span, past a fitting time.
static bool gap_fits(const struct search *search, const struct zone_span *before, const struct zone_span *span)
{
    return before->offset_s < span->offset_s &&
           next_wall(search->cron, span->from_s + before->offset_s) < span->from_s + span->offset_s;
}

// The first instant of the span from `at_s` on that belongs to the pattern; NONE: there is none. *ret_wall_s is the wall time up
// to which nothing fits.
static int64_t next_in_span(const struct search *search, const struct zone_span *span, int64_t at_s, int64_t *ret_wall_s)
{
    int64_t wall_s = at_s + span->offset_s, until_s = span->until_s;
    if (search->overlap == CRON_OVERLAP_FIRST || search->gap == CRON_GAP_RUN_AFTER) {
        struct zone_span before = span_before(search, span, at_s);
        *ret_wall_s = wall_s;
        if (at_s == span->from_s && search->gap == CRON_GAP_RUN_AFTER && gap_fits(search, &before, span))
            return at_s;
        int64_t shown_s = span->from_s + before.offset_s; // before the clock was set back it has shown all up to this
        if (search->overlap == CRON_OVERLAP_FIRST && before.offset_s > span->offset_s && wall_s < shown_s)
            wall_s = shown_s;
    }
    *ret_wall_s = next_wall(search->cron, wall_s);
    if (*ret_wall_s == NONE)
        return NONE;
    int64_t found_s = *ret_wall_s - span->offset_s;
    if (search->overlap == CRON_OVERLAP_LAST) {
        struct zone_span behind = span_behind(search, span, found_s);
        if (behind.offset_s < span->offset_s)
            until_s -= span->offset_s - behind.offset_s; // from here on the clock will show everything once more
    }
    return found_s < until_s ? found_s : NONE;
}

// Where to look after a span without a result: in the next one, or as far behind it as nothing fits. It is not jumped from near
// the end of a span, because in the next one the clock may show what it has shown before `at_s`.
static int64_t look_next(const struct zone_span *span, int64_t at_s, int64_t wall_s)
{
    if (span->until_s < at_s + FAR_S)
        return span->until_s;
    int64_t near_s = wall_s == NONE ? NONE : wall_s - span->offset_s - FAR_S;
    return near_s > span->until_s ? near_s : span->until_s;
}

int64_t cron_next(const struct cron *cron, const struct zone *zone, enum cron_gap gap, enum cron_overlap overlap, int64_t after_s)
{
    struct search search = {cron, zone, cron->elapsed ? CRON_GAP_SKIP : gap, cron->elapsed ? CRON_OVERLAP_BOTH : overlap};
    int64_t at_s = after_s < -FAR_S ? -FAR_S : after_s;
    for (at_s += at_s < END_S; at_s < END_S;) {
        struct zone_span span = zone_span_at(zone, at_s);
        int64_t wall_s, found_s = next_in_span(&search, &span, at_s, &wall_s);
        if (found_s != NONE)
            return found_s;
        at_s = look_next(&span, at_s, wall_s);
    }
    return NONE;
}
