// See times.h.
#include "cli/times.h"

#include "base/mem.h"

#include <time.h>

enum { MS_SECOND = 1000, MS_MINUTE = 60000, MS_HOUR = 3600000, MS_DAY = 86400000 };

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

bool times_read(const struct value *object, const char *path, int64_t *ret_ms)
{
    struct str text = value_text(value_at(object, path));
    return text.n && when_parse(text, ret_ms);
}

// Takes one number and its unit off the front of `text`, as duration_parse() would read it alone.
static bool take_part(struct str *text, int64_t *ret_ms)
{
    size_t n = 0;
    while (n < text->n && text->p[n] >= '0' && text->p[n] <= '9')
        n++;
    while (n && n < text->n && text->p[n] >= 'a' && text->p[n] <= 'z')
        n++;
    if (!duration_parse((struct str){text->p, n}, ret_ms))
        return false;
    *text = (struct str){text->p + n, text->n - n};
    return true;
}

// "1h30m", or whatever the API takes by itself.
static bool read_duration(struct str text, int64_t *ret_ms)
{
    if (duration_parse(text, ret_ms))
        return true;
    int64_t part;
    for (*ret_ms = 0; text.n && take_part(&text, &part);)
        *ret_ms += part;
    char written[WHEN_TEXT_SIZE];
    duration_format(written, *ret_ms);
    int64_t again; // the sum may be more than a duration can be
    return !text.n && *ret_ms && duration_parse(str_of(written), &again);
}

void times_put_api_duration(struct buf *buf, struct str text)
{
    int64_t ms;
    char written[WHEN_TEXT_SIZE];
    if (duration_parse(text, &ms) || !read_duration(text, &ms)) {
        buf_put(buf, text);
        return;
    }
    duration_format(written, ms);
    buf_puts(buf, written);
}

static void put_instant(struct buf *buf, int64_t ms)
{
    char written[WHEN_TEXT_SIZE];
    when_format(written, ms);
    buf_puts(buf, written);
}

void times_put_api_time(struct buf *buf, struct str text, int64_t now_ms)
{
    int64_t ms;
    if (read_duration(text, &ms))
        put_instant(buf, now_ms + ms);
    else
        buf_put(buf, text);
}

// Digits and what stands between them, as in `form`, where 0 is any digit.
static bool has_form(const char *text, const char *form)
{
    for (; *form; text++, form++)
        if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
            return false;
    return !*text;
}

// A time that this machine's clock does not show, because it is put forward then, is left to be refused.
void times_put_api_local(struct buf *buf, struct str text)
{
    static const struct {
        const char *form, *format;
    } forms[] = {{"0000-00-00 00:00", "%Y-%m-%d %H:%M"}, {"0000-00-00 00:00:00", "%Y-%m-%d %H:%M:%S"}};
    for (size_t i = 0; i < array_count(forms); i++) {
        struct tm local = {.tm_isdst = -1};
        char again[32] = "";
        if (!has_form(text.p, forms[i].form) || !strptime(text.p, forms[i].format, &local))
            continue;
        time_t seconds = mktime(&local);
        strftime(again, sizeof again, forms[i].format, &local);
        if (seconds >= 0 && str_is(text, again)) {
            put_instant(buf, (int64_t)seconds * 1000);
            return;
        }
    }
    buf_put(buf, text);
}
