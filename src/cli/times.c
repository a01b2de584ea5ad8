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

static void put_instant(struct buf *buf, int64_t ms)
{
    char written[WHEN_TEXT_SIZE];
    when_format(written, ms);
    buf_puts(buf, written);
}

void times_put_api_time(struct buf *buf, struct str text, int64_t now_ms)
{
    int64_t ms;
    if (duration_parse(text, &ms))
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
