// The changes of a rule are not kept in a table: those of the five years around an instant are computed when it is asked for, and
// the nearest ones before and after it are the ends of its span. So a zone needs no memory for future years, and there is no year
// in which it ends.
#include "core/schedule/zone_rule.h"

#include "base/calendar.h"

enum { MINUTE_S = 60, HOUR_S = 60 * MINUTE_S, DAY_S = 24 * HOUR_S };
enum { OFFSET_HOURS_MAX = 24, TIME_HOURS_MAX = 167, TIME_DEFAULT_S = 2 * HOUR_S, NAME_MIN = 3 };

static const int64_t FIRST_S = -62135596800; // 0001-01-01
static const int64_t LAST_S = 253402300799;  // 9999-12-31T23:59:59

// ---- reading

static bool take_byte(struct str *text, char byte)
{
    if (!text->n || *text->p != byte)
        return false;
    *text = str_skip(*text, 1);
    return true;
}

// A number with any count of digits, between min and max.
static bool take_number(struct str *text, int min, int max, int *ret_number)
{
    int number = 0;
    size_t digits = 0;
    for (; digits < text->n && str_is_digit(text->p[digits]); digits++) {
        number = number * 10 + (text->p[digits] - '0');
        if (number > max)
            return false;
    }
    *text = str_skip(*text, digits);
    *ret_number = number;
    return digits > 0 && number >= min;
}

// "[+-]h[:mm[:ss]]"
static bool take_time(struct str *text, int hours_max, int32_t *ret_s)
{
    int hours, minutes = 0, seconds = 0;
    bool negative = take_byte(text, '-');
    if (!negative)
        take_byte(text, '+');
    if (!take_number(text, 0, hours_max, &hours))
        return false;
    if (take_byte(text, ':')) {
        if (!take_number(text, 0, 59, &minutes))
            return false;
        if (take_byte(text, ':') && !take_number(text, 0, 59, &seconds))
            return false;
    }
    int32_t sum_s = hours * HOUR_S + minutes * MINUTE_S + seconds;
    *ret_s = negative ? -sum_s : sum_s;
    return true;
}

// A name is letters alone, or stands between < and > and may then have digits and signs.
static bool take_name(struct str *text, struct zone_kind *kind)
{
    struct str name = *text;
    if (take_byte(text, '<')) {
        if (!memchr(text->p, '>', text->n))
            return false;
        name = str_cut(text, '>');
    } else {
        name.n = 0;
        while (text->n && str_is_letter(*text->p)) {
            name.n++;
            *text = str_skip(*text, 1);
        }
    }
    return zone_kind_name(kind, name);
}

// POSIX counts offsets westwards: "EST5" is 5 hours behind UTC.
static bool take_offset(struct str *text, struct zone_kind *kind)
{
    int32_t west_s;
    if (!take_time(text, OFFSET_HOURS_MAX, &west_s))
        return false;
    kind->offset_s = -west_s;
    return true;
}

static bool take_date(struct str *text, struct zone_date *ret_date)
{
    *ret_date = (struct zone_date){.time_s = TIME_DEFAULT_S};
    bool good;
    if (take_byte(text, 'M')) {
        ret_date->form = ZONE_DATE_WEEKDAY;
        good = take_number(text, 1, 12, &ret_date->month) && take_byte(text, '.') && take_number(text, 1, 5, &ret_date->week) &&
               take_byte(text, '.') && take_number(text, 0, 6, &ret_date->weekday);
    } else if (take_byte(text, 'J')) {
        ret_date->form = ZONE_DATE_JULIAN;
        good = take_number(text, 1, 365, &ret_date->day);
    } else {
        ret_date->form = ZONE_DATE_DAY;
        good = take_number(text, 0, 365, &ret_date->day);
    }
    return good && (!take_byte(text, '/') || take_time(text, TIME_HOURS_MAX, &ret_date->time_s));
}

bool zone_rule_read(struct str text, struct zone_rule *ret_rule)
{
    struct zone_rule rule = {0};
    if (!take_name(&text, &rule.standard) || !take_offset(&text, &rule.standard))
        return false;
    if (text.n) {
        rule.has_daylight = rule.daylight.is_dst = true;
        rule.daylight.offset_s = rule.standard.offset_s + HOUR_S;
        if (!take_name(&text, &rule.daylight) || !text.n)
            return false;
        if (*text.p != ',' && !take_offset(&text, &rule.daylight))
            return false;
        if (!take_byte(&text, ',') || !take_date(&text, &rule.start) || !take_byte(&text, ',') || !take_date(&text, &rule.end))
            return false;
    }
    *ret_rule = rule;
    return text.n == 0;
}

bool zone_kind_name(struct zone_kind *kind, struct str abbreviation)
{
    if (abbreviation.n < NAME_MIN || abbreviation.n >= sizeof kind->abbreviation)
        return false;
    for (size_t i = 0; i < abbreviation.n; i++) {
        char c = abbreviation.p[i];
        if (!str_is_letter(c) && !str_is_digit(c) && c != '+' && c != '-')
            return false;
    }
    memset(kind->abbreviation, 0, sizeof kind->abbreviation);
    memcpy(kind->abbreviation, abbreviation.p, abbreviation.n);
    return true;
}

void zone_kind_put(const struct zone_kind *kind, struct zone_span *span)
{
    span->offset_s = kind->offset_s;
    span->is_dst = kind->is_dst;
    memcpy(span->abbreviation, kind->abbreviation, sizeof span->abbreviation);
}

// ---- asking

// The day on which the date falls in a year, as days since 1970. `new_year` is the first day of that year.
static int64_t date_day(const struct zone_date *date, int year, int64_t new_year)
{
    if (date->form == ZONE_DATE_DAY)
        return new_year + date->day;
    if (date->form == ZONE_DATE_JULIAN)
        return new_year + date->day - 1 + (calendar_is_leap(year) && date->day >= 60);
    int64_t first = calendar_days(year, date->month, 1);
    int day = (date->weekday - calendar_weekday(first) + 7) % 7 + (date->week - 1) * 7;
    return first + (day < calendar_month_days(year, date->month) ? day : day - 7);
}

// Bounds the span around an instant by a change of the rule, if the change is nearer than the bound that the span has. Of two
// changes at the same time the one that is given last counts.
static void bound(struct zone_span *span, int64_t utc_s, int64_t change_s, const struct zone_kind *kind)
{
    if (change_s > utc_s) {
        if (change_s < span->until_s)
            span->until_s = change_s;
    } else if (change_s >= span->from_s) {
        span->from_s = change_s;
        zone_kind_put(kind, span);
    }
}

// A change may lie 8 days outside of its year. So only with two years on either side it is certain that one change lies before
// the instant and one after it. Changes are given year by year, the start of daylight saving time first: "EST5EDT,0/0,J365/25"
// ends it at the very instant at which the next year starts it, and so has it all year.
static void bound_by_years(struct zone_span *span, const struct zone_rule *rule, int64_t utc_s)
{
    int year = calendar_date(calendar_day_of(utc_s)).year;
    for (int y = year - 2; y <= year + 2; y++) {
        int64_t new_year = calendar_days(y, 1, 1);
        int64_t start_s = date_day(&rule->start, y, new_year) * DAY_S + rule->start.time_s - rule->standard.offset_s;
        int64_t end_s = date_day(&rule->end, y, new_year) * DAY_S + rule->end.time_s - rule->daylight.offset_s;
        bound(span, utc_s, start_s, &rule->daylight);
        bound(span, utc_s, end_s, &rule->standard);
    }
}

struct zone_span zone_rule_span(const struct zone_rule *rule, int64_t utc_s)
{
    struct zone_span span = {.from_s = INT64_MIN, .until_s = INT64_MAX};
    zone_kind_put(&rule->standard, &span);
    if (!rule->has_daylight)
        return span;
    bound_by_years(&span, rule, utc_s < FIRST_S ? FIRST_S : utc_s > LAST_S ? LAST_S : utc_s);
    if (span.from_s <= FIRST_S)
        span.from_s = INT64_MIN;
    if (span.until_s > LAST_S)
        span.until_s = INT64_MAX;
    return span;
}
