// Which days fit. A month is decided as a whole: its days are bits of one word, so that a search goes from month to month and
// never from day to day.
#include "core/schedule/cron.h"

#include "base/calendar.h"

enum { WEEK = 7, SUNDAY = 0, SATURDAY = 6 };

// Seven weekdays as days that follow each other: bit 0 is the weekday `first`.
static uint32_t week_from(uint32_t weekdays, int first)
{
    return (weekdays >> first | weekdays << (WEEK - first)) & 0x7f;
}

static uint32_t all_days(int length)
{
    return (uint32_t)((UINT64_C(2) << length) - 2);
}

// The first seven days of a month are the first occurrences of all weekdays, the next seven the second ones, and the last seven
// the last ones.
static uint32_t days_by_weekday(const struct cron *cron, int first_weekday, int length)
{
    uint32_t days = 0;
    for (int i = 0; i < CRON_OCCURRENCES; i++)
        days |= week_from(cron->weekdays[i], first_weekday) << (i * WEEK + 1);
    days |= week_from(cron->weekdays[CRON_LAST], (first_weekday + length) % WEEK) << (length - WEEK + 1);
    return days & all_days(length);
}

// A Saturday gives way to the Friday before it, a Sunday to the Monday behind it, but never into another month. A month that has
// no such day has no day near it either.
static uint32_t nearest_weekday(int day, int first_weekday, int length)
{
    if (day > length)
        return 0;
    int weekday = (first_weekday + day - 1) % WEEK;
    if (weekday == SATURDAY)
        day += day > 1 ? -1 : 2;
    else if (weekday == SUNDAY)
        day += day < length ? 1 : -2;
    return UINT32_C(1) << day;
}

static uint32_t days_by_date(const struct cron *cron, int first_weekday, int length)
{
    uint32_t days = cron->days & all_days(length);
    if (cron->last_day)
        days |= UINT32_C(1) << length;
    if (cron->nearest_day)
        days |= nearest_weekday(cron->nearest_day, first_weekday, length);
    return days;
}

uint32_t cron_month_days(const struct cron *cron, int first_weekday, int length)
{
    uint32_t by_date = days_by_date(cron, first_weekday, length), by_weekday = days_by_weekday(cron, first_weekday, length);
    return cron->either_day ? by_date | by_weekday : by_date & by_weekday;
}

// Years that begin with the same weekday and are as long have the same days: there are 14 kinds of them.
static int kind_of(int year)
{
    return calendar_weekday(calendar_days(year, 1, 1)) + (calendar_is_leap(year) ? WEEK : 0);
}

static bool kind_fits(const struct cron *cron, int kind)
{
    int year = kind < WEEK ? 2001 : 2000; // one as long as those of the kind
    for (int month = 1, weekday = kind % WEEK; month <= 12; month++) {
        int length = calendar_month_days(year, month);
        if (cron->months >> month & 1 && cron_month_days(cron, weekday, length))
            return true;
        weekday = (weekday + length) % WEEK;
    }
    return false;
}

// The first year from this one on that fits, and has a day that does; one beyond CRON_YEAR_MAX: there is none.
static int next_year(const struct cron *cron, int year)
{
    for (int bit = year - CRON_YEAR_MIN; bit < CRON_YEAR_WORDS * 64; bit++) {
        uint64_t left = cron->years[bit / 64] >> (bit % 64);
        bit = left ? bit + __builtin_ctzll(left) : bit | 63; // without any, at the end of the word
        if (left && cron->year_kinds >> kind_of(CRON_YEAR_MIN + bit) & 1)
            return CRON_YEAR_MIN + bit;
    }
    return CRON_YEAR_MAX + 1;
}

bool cron_settle(struct cron *cron)
{
    cron->year_kinds = 0;
    for (int kind = 0; kind < 2 * WEEK; kind++)
        if (kind_fits(cron, kind))
            cron->year_kinds |= (uint16_t)(1 << kind);
    return next_year(cron, CRON_YEAR_MIN) <= CRON_YEAR_MAX;
}

bool cron_next_month(const struct cron *cron, int *year, int *month)
{
    int fits = next_year(cron, *year);
    unsigned left = fits == *year ? cron->months >> *month << *month : cron->months;
    if (!left) {
        fits = next_year(cron, *year + 1);
        left = cron->months;
    }
    *year = fits;
    *month = __builtin_ctz(left);
    return fits <= CRON_YEAR_MAX;
}
