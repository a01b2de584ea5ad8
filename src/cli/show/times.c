// See times.h.
#include "cli/show/times.h"

#include "base/mem.h"

#include <stdio.h>
#include <time.h>

enum { MS_SECOND = 1000, MS_MINUTE = 60000, MS_HOUR = 3600000, MS_DAY = 86400000, DAY_SECONDS = 86400 };

const char times_forms[] = "16:00 (the next one), 'tomorrow 9:00', '2030-01-31 9:00' or 2030-01-31T09:00 (on this machine's "
                           "clock), 2030-01-31T09:00:00Z "
                           "or +02:00 (with a zone)";

static const struct {
    int64_t ms;
    const char *name;
} units[] = {{MS_DAY, "d"}, {MS_HOUR, "h"}, {MS_MINUTE, "m"}, {MS_SECOND, "s"}};

void times_put_duration(struct buf *buf, int64_t ms)
{
    if (ms < 1000) {
        buf_printf(buf, "%dms", (int)ms);
        return;
    }
    if (ms < 10000) {
        int tenths = (int)(ms % 1000 / 100);
        buf_printf(buf, tenths ? "%d.%ds" : "%ds", (int)(ms / 1000), tenths);
        return;
    }
    for (size_t i = 0; i < array_count(units); i++) {
        if (ms < units[i].ms)
            continue;
        buf_printf(buf, "%lld%s", (long long)(ms / units[i].ms), units[i].name);
        int64_t rest = i + 1 < array_count(units) ? ms % units[i].ms / units[i + 1].ms : 0;
        if (rest)
            buf_printf(buf, " %lld%s", (long long)rest, units[i + 1].name);
        return;
    }
}

void times_put_local(struct buf *buf, int64_t ms, const char *format)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    char text[64];
    if (localtime_r(&seconds, &local) && strftime(text, sizeof text, format, &local))
        buf_puts(buf, text);
}

void times_put_away(struct buf *buf, int64_t ms, int64_t now_ms)
{
    int64_t away = ms - now_ms, seconds = (away < 0 ? -away : away) / 1000;
    if (!seconds) {
        buf_puts(buf, "now");
        return;
    }
    if (away > 0)
        buf_puts(buf, "in ");
    times_put_duration(buf, seconds * 1000);
    if (away < 0)
        buf_puts(buf, " ago");
}

void times_put_both(struct buf *buf, int64_t ms, int64_t now_ms)
{
    times_put_local(buf, ms, "%Y-%m-%d %H:%M:%S");
    buf_puts(buf, "  (");
    times_put_away(buf, ms, now_ms);
    buf_putc(buf, ')');
}

bool times_read(const struct value *object, const char *path, int64_t *ret_ms)
{
    struct str text = value_text(value_at(object, path));
    return text.n && when_parse(text, ret_ms);
}

void times_put_api(struct buf *buf, int64_t ms)
{
    char written[WHEN_TEXT_SIZE];
    when_format(written, ms);
    buf_puts(buf, written);
}

// ---- times as they are typed

static bool take_number(struct str *text, size_t least, size_t most, int *ret_number)
{
    size_t n = 0;
    for (*ret_number = 0; n < most && n < text->n && text->p[n] >= '0' && text->p[n] <= '9'; n++)
        *ret_number = *ret_number * 10 + (text->p[n] - '0');
    *text = (struct str){text->p + n, text->n - n};
    return n >= least;
}

static bool take_one_of(struct str *text, const char *any)
{
    if (!text->n || !*text->p || !strchr(any, *text->p))
        return false;
    *text = (struct str){text->p + 1, text->n - 1};
    return true;
}

// "2030-01-31 " or "2030-1-31T". Leaves *text as it is when there is none.
static bool take_date(struct str *text, struct tm *date)
{
    struct str rest = *text;
    if (!take_number(&rest, 4, 4, &date->tm_year) || !take_one_of(&rest, "-") || !take_number(&rest, 1, 2, &date->tm_mon) ||
        !take_one_of(&rest, "-") || !take_number(&rest, 1, 2, &date->tm_mday) || !take_one_of(&rest, " Tt"))
        return false;
    date->tm_year -= 1900;
    date->tm_mon -= 1;
    *text = rest;
    return true;
}

static int64_t offset_at(int64_t seconds)
{
    time_t time = (time_t)seconds;
    struct tm local;
    return localtime_r(&time, &local) ? local.tm_gmtoff : 0;
}

// "today " or "tomorrow ", which are dates of this machine's clock.
static bool take_day(struct str *text, struct tm *date, int64_t now)
{
    static const struct str days[] = {{"today ", 6}, {"tomorrow ", 9}};
    for (size_t i = 0; i < array_count(days); i++)
        if (str_starts(*text, days[i])) {
            time_t local = (time_t)(now + offset_at(now) + (int64_t)i * DAY_SECONDS);
            *text = (struct str){text->p + days[i].n, text->n - days[i].n};
            gmtime_r(&local, date);
            return true;
        }
    return false;
}

// "9:00", "09:00:05", "09:00:05.25".
static bool take_clock(struct str *text, struct tm *clock, int *ret_ms)
{
    int weight = 100, digit;
    *ret_ms = clock->tm_sec = 0;
    if (!take_number(text, 1, 2, &clock->tm_hour) || !take_one_of(text, ":") || !take_number(text, 2, 2, &clock->tm_min))
        return false;
    if (take_one_of(text, ":") && !take_number(text, 2, 2, &clock->tm_sec))
        return false;
    if (take_one_of(text, ".") && (!text->n || !strchr("0123456789", *text->p)))
        return false;
    for (; take_number(text, 1, 1, &digit); weight /= 10)
        *ret_ms += weight * digit;
    return clock->tm_hour < 24 && clock->tm_min < 60 && clock->tm_sec < 60;
}

static bool shows(int64_t seconds, int64_t wall)
{
    return seconds + offset_at(seconds) == wall;
}

// The instant at which this machine's clock shows `wall`, which is counted as if the clock were UTC's. Where clocks are put
// forward there is none, and the time before counts on; where they are put back there are two, and the first behind `after` is
// meant.
static int64_t find_instant(int64_t wall, int64_t after, enum times_note *ret_note)
{
    int64_t first = wall - offset_at(wall - DAY_SECONDS), second = wall - offset_at(wall + DAY_SECONDS);
    bool once = shows(first, wall), again = second != first && shows(second, wall);
    *ret_note = once && again ? TIMES_TWICE : once || again ? TIMES_PLAIN : TIMES_LEFT_OUT;
    return again && (!once || first <= after) ? second : first;
}

static int64_t find_next(const struct tm *clock, int64_t now, enum times_note *ret_note)
{
    int64_t local = now + offset_at(now), midnight = local - local % DAY_SECONDS, instant = now;
    for (int day = 0; instant <= now && day < 3; day++)
        instant = find_instant(midnight + day * DAY_SECONDS + clock->tm_hour * 3600 + clock->tm_min * 60 + clock->tm_sec, now,
                               ret_note);
    return instant;
}

// A date is on the calendar when counting the seconds to it leads back to it.
static bool exists(const struct tm *date)
{
    struct tm again = *date;
    return timegm(&again) >= 0 && again.tm_mon == date->tm_mon && again.tm_mday == date->tm_mday;
}

// A time with its zone behind it: RFC 3339, however it is written up to there.
static bool read_zoned(struct tm *date, int ms, struct str zone, int64_t *ret_ms)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03d" STR_FMT, date->tm_year + 1900, date->tm_mon + 1,
                     date->tm_mday, date->tm_hour, date->tm_min, date->tm_sec, ms, STR_ARG(zone));
    return n < (int)sizeof text && when_parse(str_of(text), ret_ms);
}

bool times_read_typed(struct times_typed *ret_typed, struct str text, int64_t now_ms)
{
    struct tm date = {0};
    int ms;
    *ret_typed = (struct times_typed){.note = TIMES_PLAIN};
    if (when_parse(text, &ret_typed->ms))
        return true;
    tzset();
    bool written = take_date(&text, &date), dated = written || take_day(&text, &date, now_ms / 1000);
    if (!take_clock(&text, &date, &ms) || (dated && !exists(&date)))
        return false;
    if (text.n)
        return written && read_zoned(&date, ms, text, &ret_typed->ms);
    int64_t seconds =
        dated ? find_instant(timegm(&date), INT64_MIN, &ret_typed->note) : find_next(&date, now_ms / 1000, &ret_typed->note);
    ret_typed->ms = seconds * 1000 + ms;
    return ret_typed->ms >= 0;
}

void times_put_note(struct buf *buf, const struct times_typed *typed, struct str text)
{
    static const char *const words[] = {
        [TIMES_LEFT_OUT] = "is a time that clocks here leave out when they are put forward: it is taken as ",
        [TIMES_TWICE] = "comes twice, because clocks here are put back then: it is taken as the one at "};
    if (typed->note == TIMES_PLAIN)
        return;
    buf_printf(buf, STR_FMT " %s", STR_ARG(text), words[typed->note]);
    times_put_local(buf, typed->ms, "%Y-%m-%d %H:%M:%S %z\n");
}
