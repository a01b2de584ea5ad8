// Dates are counted (base/calendar), not looked up, so no time zone file, locale or environment of the machine can change what a
// text means.
//
// What it does not do: time zones with names, calendars with seconds that are 61 long. Leap seconds are folded into the one
// before.
#include "base/text/when.h"

#include "base/calendar.h"
#include "base/mem.h"

enum { MS_SECOND = 1000, MS_MINUTE = 60 * MS_SECOND, MS_HOUR = 60 * MS_MINUTE, MS_DAY = 24 * MS_HOUR };
static const int64_t WHEN_MAX = 253402300799999;      // 9999-12-31T23:59:59.999Z
static const int64_t DURATION_MAX = 36525LL * MS_DAY; // 100 years

// ---- times

// Takes exactly `width` digits off the front of *text.
static bool take_digits(struct str *text, int width, int *ret_value)
{
    int value = 0;
    if (text->n < (size_t)width)
        return false;
    for (int i = 0; i < width; i++) {
        char c = text->p[i];
        if (c < '0' || c > '9')
            return false;
        value = value * 10 + (c - '0');
    }
    text->p += width;
    text->n -= (size_t)width;
    *ret_value = value;
    return true;
}

// Takes one byte if it is one of `any`.
static bool take_byte(struct str *text, const char *any)
{
    if (!text->n || !*text->p || !strchr(any, *text->p))
        return false;
    text->p++;
    text->n--;
    return true;
}

// The digits behind a point, cut to thousandths.
static bool take_fraction(struct str *text, int *ret_ms)
{
    int ms = 0, weight = 100;
    if (!text->n || *text->p < '0' || *text->p > '9')
        return false;
    for (; text->n && *text->p >= '0' && *text->p <= '9'; text->p++, text->n--, weight /= 10)
        ms += weight * (*text->p - '0');
    *ret_ms = ms;
    return true;
}

// "Z" or "+02:00", which must end the text.
static bool take_zone(struct str *text, int64_t *ret_offset_ms)
{
    int hours = 0, minutes = 0;
    bool west = text->n && *text->p == '-';
    if (!take_byte(text, "Zz")) {
        if (!take_byte(text, "+-") || !take_digits(text, 2, &hours) || !take_byte(text, ":") || !take_digits(text, 2, &minutes))
            return false;
        if (hours > 23 || minutes > 59)
            return false;
    }
    int64_t offset = (int64_t)hours * MS_HOUR + (int64_t)minutes * MS_MINUTE;
    *ret_offset_ms = west ? -offset : offset;
    return text->n == 0;
}

// A leap second exists only as 23:59:60 UTC on the last day of a month.
static bool may_leap(int64_t minute_ms)
{
    if (minute_ms < 0 || minute_ms % MS_DAY != MS_DAY - MS_MINUTE)
        return false;
    return calendar_date(minute_ms / MS_DAY + 1).day == 1;
}

bool when_parse(struct str text, int64_t *ret_ms)
{
    int year, month, day, hour, minute, second, fraction = 0;
    int64_t offset;
    if (!take_digits(&text, 4, &year) || !take_byte(&text, "-") || !take_digits(&text, 2, &month) || !take_byte(&text, "-") ||
        !take_digits(&text, 2, &day) || !take_byte(&text, "Tt") || !take_digits(&text, 2, &hour) || !take_byte(&text, ":") ||
        !take_digits(&text, 2, &minute) || !take_byte(&text, ":") || !take_digits(&text, 2, &second))
        return false;
    if (take_byte(&text, ".") && !take_fraction(&text, &fraction))
        return false;
    if (!take_zone(&text, &offset))
        return false;
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > calendar_month_days(year, month) || hour > 23 || minute > 59 ||
        second > 60)
        return false;
    int64_t ms = calendar_days(year, month, day) * MS_DAY + (int64_t)hour * MS_HOUR + (int64_t)minute * MS_MINUTE - offset;
    if (second == 60 && !may_leap(ms))
        return false;
    ms += second == 60 ? MS_MINUTE - 1 : second * MS_SECOND + fraction;
    if (ms < 0 || ms > WHEN_MAX)
        return false;
    *ret_ms = ms;
    return true;
}

static char *put_two(char *at, int value, char behind)
{
    at[0] = (char)('0' + value / 10);
    at[1] = (char)('0' + value % 10);
    at[2] = behind;
    return at + 3;
}

// Two digits at a time: every answer holds half a dozen times.
void when_format(char ret_text[WHEN_TEXT_SIZE], int64_t ms)
{
    ms = ms < 0 ? 0 : ms > WHEN_MAX ? WHEN_MAX : ms;
    struct calendar_date date = calendar_date(ms / MS_DAY);
    int rest = (int)(ms % MS_DAY);
    char *at = put_two(ret_text, date.year / 100, 0) - 1; // the next two follow at once
    at = put_two(at, date.year % 100, '-');
    at = put_two(at, date.month, '-');
    at = put_two(at, date.day, 'T');
    at = put_two(at, rest / MS_HOUR, ':');
    at = put_two(at, rest / MS_MINUTE % 60, ':');
    at = put_two(at, rest / MS_SECOND % 60, '.');
    *at++ = (char)('0' + rest % MS_SECOND / 100);
    at = put_two(at, rest % MS_SECOND % 100, 'Z');
    *at = 0;
}

// ---- durations

static const struct {
    const char *text;
    int64_t ms;
} units[] = {{"d", MS_DAY}, {"h", MS_HOUR}, {"m", MS_MINUTE}, {"s", MS_SECOND}, {"ms", 1}}; // largest first

// The parts of an ISO 8601 duration in the order they must come; those that follow a T stand behind it.
static const struct {
    char letter;
    bool of_day;
    int64_t ms;
} iso_parts[] = {
    {'W', false, 7LL * MS_DAY}, {'D', false, MS_DAY}, {'H', true, MS_HOUR}, {'M', true, MS_MINUTE}, {'S', true, MS_SECOND}};

// A whole number of any length; what is too large to be a duration in any unit stays just that.
static bool take_count(struct str *text, int64_t *ret_count)
{
    int64_t count = 0;
    size_t before = text->n;
    for (; text->n && *text->p >= '0' && *text->p <= '9'; text->p++, text->n--)
        count = count > DURATION_MAX ? count : count * 10 + (*text->p - '0');
    *ret_count = count;
    return text->n < before;
}

static bool add_part(int64_t *sum, int64_t count, int64_t unit_ms)
{
    if (count > DURATION_MAX / unit_ms)
        return false;
    *sum += count * unit_ms;
    return *sum <= DURATION_MAX;
}

static bool parse_iso(struct str text, int64_t *ret_ms)
{
    int64_t sum = 0, count;
    bool timed = false;
    size_t next = 0, parts = 0, parts_at_t = 0;
    while (text.n) {
        if (!timed && take_byte(&text, "T")) {
            timed = true;
            parts_at_t = parts;
            continue;
        }
        int fraction = 0;
        if (!take_count(&text, &count))
            return false;
        bool fractional = take_byte(&text, ".");
        if ((fractional && !take_fraction(&text, &fraction)) || !text.n)
            return false;
        while (next < array_count(iso_parts) && (iso_parts[next].letter != *text.p || iso_parts[next].of_day != timed))
            next++;
        if (next == array_count(iso_parts) || (fractional && *text.p != 'S') || !add_part(&sum, count, iso_parts[next].ms))
            return false;
        sum += fraction;
        next++;
        parts++;
        text.p++;
        text.n--;
    }
    if (parts == 0 || (timed && parts == parts_at_t) || sum > DURATION_MAX)
        return false;
    *ret_ms = sum;
    return true;
}

// Takes a unit off the front of *text: letters that end where the text does or the next number begins.
static bool take_unit(struct str *text, const char *unit)
{
    size_t n = strlen(unit);
    if (text->n < n || memcmp(text->p, unit, n) != 0 || (text->n > n && (text->p[n] < '0' || text->p[n] > '9')))
        return false;
    *text = (struct str){text->p + n, text->n - n};
    return true;
}

// "30s", "1h30m": each unit is smaller than the one before, so that none comes twice and a slip of the hand is not summed up.
static bool parse_plain(struct str text, int64_t *ret_ms)
{
    int64_t sum = 0, count;
    size_t next = 0;
    do {
        if (!take_count(&text, &count))
            return false;
        while (next < array_count(units) && !take_unit(&text, units[next].text))
            next++;
        if (next == array_count(units) || !add_part(&sum, count, units[next++].ms))
            return false;
    } while (text.n);
    *ret_ms = sum;
    return true;
}

bool duration_parse(struct str text, int64_t *ret_ms)
{
    return take_byte(&text, "P") ? parse_iso(text, ret_ms) : parse_plain(text, ret_ms);
}

void duration_format(char ret_text[WHEN_TEXT_SIZE], int64_t ms)
{
    size_t unit = 0;
    ms = ms < 0 ? 0 : ms;
    if (ms == 0)
        unit = array_count(units) - 2; // "0s"
    while (ms % units[unit].ms)
        unit++;
    char digits[24];
    int at = sizeof digits;
    int64_t count = ms / units[unit].ms;
    do
        digits[--at] = (char)('0' + count % 10);
    while (count /= 10);
    size_t n = sizeof digits - (size_t)at;
    memcpy(ret_text, digits + at, n);
    memcpy(ret_text + n, units[unit].text, strlen(units[unit].text) + 1);
}
