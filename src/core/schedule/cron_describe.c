// A phrase is made of the sets, not of the text that was parsed, so whatever means the same is described alike. It has up to four
// parts: the time of day, the day, the months, the years. What restricts nothing is left out.
//
// Sets with a plain meaning ("every 15 minutes") have words of their own; the others are listed.
#include "core/schedule/cron.h"

enum { VALUES_MAX = CRON_YEAR_WORDS * 64, TIMES_MAX = 6, SERIES_MIN = 4, RUN_MIN = 3 };

static const uint32_t ALL_DAYS = UINT32_MAX - 1, ALL_MONTHS = (1u << 13) - 2, ALL_WEEKDAYS = 0x7f;

static const char *const weekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};
static const char *const occurrences[] = {"first", "second", "third", "fourth", "fifth", "last"};

// A set as numbers that go up.
struct values {
    int at[VALUES_MAX];
    int count, step; // step: from each to the next; 0: they differ
};

typedef void (*put_value)(struct buf *buf, int value);

static struct values values_of(const uint64_t *words, int n, int least)
{
    struct values values = {.count = 0};
    for (int bit = 0; bit < n * 64; bit++)
        if (words[bit / 64] >> (bit % 64) & 1)
            values.at[values.count++] = bit + least;
    values.step = values.count > 1 ? values.at[1] - values.at[0] : 0;
    for (int i = 2; i < values.count; i++)
        if (values.at[i] - values.at[i - 1] != values.step)
            values.step = 0;
    return values;
}

static struct values values_in(uint64_t bits)
{
    return values_of(&bits, 1, 0);
}

static int last_of(const struct values *values)
{
    return values->at[values->count - 1];
}

// "every 15 minutes" is meant when they go on evenly into the next hour.
static bool is_even(const struct values *values, int all)
{
    return values->at[0] == 0 && values->step > 1 && all % values->step == 0 && values->count == all / values->step;
}

// ---- lists

// How many values from this one on follow each other, if they are enough to say "to".
static int run_at(const struct values *values, int from)
{
    int n = 1;
    while (from + n < values->count && values->at[from + n] == values->at[from] + n)
        n++;
    return n >= RUN_MIN ? n : 1;
}

// Between the entries of a list: a comma, and before the last one "and".
static void put_separator(struct buf *buf, bool first, bool last)
{
    if (!first)
        buf_puts(buf, last ? " and " : ", ");
}

// "1, 5 to 9 and 12"
static void put_list(struct buf *buf, const struct values *values, put_value put)
{
    for (int i = 0, n; i < values->count; i += n) {
        n = run_at(values, i);
        put_separator(buf, i == 0, i + n == values->count);
        put(buf, values->at[i]);
        if (n > 1) {
            buf_puts(buf, " to ");
            put(buf, values->at[i + n - 1]);
        }
    }
}

static void put_number(struct buf *buf, int value)
{
    buf_put_int(buf, value);
}

static void put_ordinal(struct buf *buf, int value)
{
    bool teen = value / 10 % 10 == 1;
    const char *ending = value % 10 == 1 ? "st" : value % 10 == 2 ? "nd" : value % 10 == 3 ? "rd" : "th";
    buf_printf(buf, "%d%s", value, teen ? "th" : ending);
}

static void put_date(struct buf *buf, int value)
{
    buf_puts(buf, "the ");
    put_ordinal(buf, value);
}

static void put_weekday(struct buf *buf, int value)
{
    buf_puts(buf, weekdays[value]);
}

static void put_month(struct buf *buf, int value)
{
    buf_puts(buf, months[value - 1]);
}

// "every 2nd year from 1970 to 2198" for a long series, otherwise the list.
static void put_series(struct buf *buf, const struct values *values, const char *unit, put_value put)
{
    if (values->step <= 1 || values->count < SERIES_MIN) {
        put_list(buf, values, put);
        return;
    }
    buf_puts(buf, "every ");
    put_ordinal(buf, values->step);
    buf_printf(buf, " %s from ", unit);
    put(buf, values->at[0]);
    buf_puts(buf, " to ");
    put(buf, last_of(values));
}

// " in 2026 and 2028", " from June to August"
static void put_in(struct buf *buf, const struct values *values, const char *unit, put_value put)
{
    bool run = values->count >= RUN_MIN && values->step == 1;
    buf_puts(buf, run ? " from " : " in ");
    put_series(buf, values, unit, put);
}

// ---- the time of day

struct times {
    struct values seconds, minutes, hours;
    bool whole_minutes; // the second is 0
};

static void put_clock(struct buf *buf, int hour, int minute)
{
    buf_printf(buf, "%02d:%02d", hour, minute);
}

// "at 08:00, 12:00 and 16:00", while they are few.
static bool put_few_times(struct buf *buf, const struct times *times)
{
    int per_hour = times->minutes.count * times->seconds.count, count = times->hours.count * per_hour;
    if (count > TIMES_MAX)
        return false;
    buf_puts(buf, "at ");
    for (int i = 0; i < count; i++) {
        put_separator(buf, i == 0, i == count - 1);
        put_clock(buf, times->hours.at[i / per_hour], times->minutes.at[i % per_hour / times->seconds.count]);
        if (!times->whole_minutes)
            buf_printf(buf, ":%02d", times->seconds.at[i % times->seconds.count]);
    }
    return true;
}

// "every hour", "every 2 hours from 01:05 to 23:05": one minute in hours that follow each other evenly.
static bool put_hourly(struct buf *buf, const struct times *times)
{
    int minute = times->minutes.at[0], step = times->hours.step;
    if (!times->whole_minutes || times->minutes.count > 1 || step == 0)
        return false;
    if (step == 1)
        buf_puts(buf, "every hour");
    else
        buf_printf(buf, "every %d hours", step);
    if (times->hours.count == 24 || is_even(&times->hours, 24)) {
        if (minute)
            buf_printf(buf, " at minute %d", minute);
        return true;
    }
    buf_puts(buf, " from ");
    put_clock(buf, times->hours.at[0], minute);
    buf_puts(buf, " to ");
    put_clock(buf, last_of(&times->hours), minute);
    return true;
}

static void put_minutes(struct buf *buf, const struct values *minutes)
{
    if (minutes->count == 60)
        buf_puts(buf, "every minute");
    else if (is_even(minutes, 60))
        buf_printf(buf, "every %d minutes", minutes->step);
    else {
        buf_puts(buf, minutes->count > 1 ? "at minutes " : "at minute ");
        put_list(buf, minutes, put_number);
    }
}

// Behind what happens in each hour: which hours.
static void put_hours(struct buf *buf, const struct values *hours, bool of_every)
{
    bool run = hours->count > 1 && hours->step == 1;
    if (of_every && run)
        buf_puts(buf, " of every hour");
    if (hours->count == 24)
        return;
    if (hours->count == 1 || run) {
        buf_puts(buf, " from ");
        put_clock(buf, hours->at[0], 0);
        buf_puts(buf, " to ");
        put_clock(buf, last_of(hours), 59);
    } else {
        buf_puts(buf, " in the hours ");
        put_list(buf, hours, put_number);
    }
}

static void put_seconds(struct buf *buf, const struct times *times)
{
    const struct values *seconds = &times->seconds;
    if (seconds->count == 60)
        buf_puts(buf, "every second");
    else if (is_even(seconds, 60))
        buf_printf(buf, "every %d seconds", seconds->step);
    else {
        buf_puts(buf, seconds->count > 1 ? "at seconds " : "at second ");
        put_list(buf, seconds, put_number);
        if (times->minutes.count == 60)
            buf_puts(buf, " of every minute");
    }
    if (is_even(&times->minutes, 60)) {
        buf_puts(buf, " of every ");
        put_ordinal(buf, times->minutes.step);
        buf_puts(buf, " minute");
    } else if (times->minutes.count < 60) {
        buf_puts(buf, times->minutes.count > 1 ? " of minutes " : " of minute ");
        put_list(buf, &times->minutes, put_number);
    }
}

// True: they are single times of a day, so that "every day" has to be said if it is meant.
static bool put_times(struct buf *buf, const struct cron *cron)
{
    struct times times = {values_in(cron->seconds), values_in(cron->minutes), values_in(cron->hours), cron->seconds == 1};
    if (put_few_times(buf, &times))
        return true;
    if (put_hourly(buf, &times))
        return false;
    if (times.whole_minutes)
        put_minutes(buf, &times.minutes);
    else
        put_seconds(buf, &times);
    put_hours(buf, &times.hours, times.minutes.count < 60 && !is_even(&times.minutes, 60));
    return false;
}

// ---- days

// " of the month", or which months.
static void put_of_months(struct buf *buf, const struct cron *cron)
{
    struct values of = values_in(cron->months);
    buf_puts(buf, " of ");
    if (cron->months == ALL_MONTHS)
        buf_puts(buf, "the month");
    else
        put_list(buf, &of, put_month);
}

static void put_in_months(struct buf *buf, const struct cron *cron)
{
    struct values in = values_in(cron->months);
    if (cron->months != ALL_MONTHS)
        put_in(buf, &in, "month", put_month);
}

// "the 1st, the 15th and the last day of the month"
static void put_dates(struct buf *buf, const struct cron *cron)
{
    struct values days = values_in(cron->days);
    if (days.count)
        put_series(buf, &days, "day", put_date);
    if (cron->nearest_day) {
        buf_puts(buf, "the working day (Monday to Friday) nearest to ");
        put_date(buf, cron->nearest_day);
    }
    if (cron->last_day)
        buf_puts(buf, days.count ? " and the last day" : "the last day");
    put_of_months(buf, cron);
}

// The weekdays that are meant in every week.
static uint32_t weekly(const struct cron *cron)
{
    uint32_t days = ALL_WEEKDAYS;
    for (int i = 0; i < CRON_OCCURRENCES; i++)
        days &= cron->weekdays[i];
    return days;
}

static struct values from_monday(uint32_t days)
{
    return values_in((days >> 1 | days << 6) & ALL_WEEKDAYS);
}

// How many weekdays are meant by their occurrence, beside those of every week.
static int count_occurrences(const struct cron *cron)
{
    int count = 0;
    for (int i = 0; i <= CRON_LAST; i++)
        count += from_monday(cron->weekdays[i] & ~weekly(cron)).count;
    return count;
}

// "the first Monday and the last Friday"
static void put_occurrences(struct buf *buf, const struct cron *cron)
{
    int put = 0, count = count_occurrences(cron);
    for (int i = 0; i <= CRON_LAST; i++) {
        struct values days = from_monday(cron->weekdays[i] & ~weekly(cron));
        for (int k = 0; k < days.count; k++, put++) {
            put_separator(buf, put == 0, put == count - 1);
            buf_printf(buf, "the %s %s", occurrences[i], weekdays[days.at[k]]);
        }
    }
}

// "Monday to Friday", "Wednesday and the first Monday of the month"
static void put_weekdays(struct buf *buf, const struct cron *cron)
{
    struct values days = from_monday(weekly(cron));
    bool counted = count_occurrences(cron) > 0;
    put_list(buf, &days, put_weekday);
    if (!counted) {
        put_in_months(buf, cron);
        return;
    }
    buf_puts(buf, days.count ? " and " : "");
    put_occurrences(buf, cron);
    put_of_months(buf, cron);
}

// A run of weekdays stands behind a comma, since "on Monday to Friday" is not said.
static void put_on_weekdays(struct buf *buf, const struct cron *cron, const char *run, const char *others)
{
    struct values days = from_monday(weekly(cron));
    buf_puts(buf, days.count && run_at(&days, 0) > 1 ? run : others);
    put_weekdays(buf, cron);
}

// By date and by weekday, whichever of them restrict anything.
static void put_both_days(struct buf *buf, const struct cron *cron)
{
    buf_puts(buf, " on ");
    put_dates(buf, cron);
    if (cron->either_day)
        put_on_weekdays(buf, cron, ", and ", ", and on ");
    else
        put_on_weekdays(buf, cron, ", if that is ", ", if that is ");
}

static void put_days(struct buf *buf, const struct cron *cron, bool of_day)
{
    bool any_date = cron->days == ALL_DAYS, any_weekday = weekly(cron) == ALL_WEEKDAYS;
    if (cron->either_day ? any_date || any_weekday : any_date && any_weekday) {
        buf_puts(buf, of_day ? " every day" : "");
        put_in_months(buf, cron);
    } else if (any_date) {
        put_on_weekdays(buf, cron, ", ", " on ");
    } else if (any_weekday) {
        buf_puts(buf, " on ");
        put_dates(buf, cron);
    } else {
        put_both_days(buf, cron);
    }
}

static void put_years(struct buf *buf, const struct cron *cron)
{
    struct values years = values_of(cron->years, CRON_YEAR_WORDS, CRON_YEAR_MIN);
    if (years.count <= CRON_YEAR_MAX - CRON_YEAR_MIN)
        put_in(buf, &years, "year", put_number);
}

void cron_describe(const struct cron *cron, struct buf *buf)
{
    bool of_day = put_times(buf, cron);
    put_days(buf, cron, of_day);
    put_years(buf, cron);
}
