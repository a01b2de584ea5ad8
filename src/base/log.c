// A line is put together first and written with one call, so lines of several threads do not mix. What is not fit to be shown is
// replaced before secrets are looked for, so that nothing can hide a secret from the search by cutting it in two.
#include "base/log.h"

#include "base/clock.h"
#include "base/mask.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/when.h"

#include <stdio.h>
#include <unistd.h>

enum { WORDS_MAX = 2048, SHOWN_MAX = 1024 }; // what is read, so that a secret is seen whole, and what is written of it

static _Atomic enum log_level least = LOG_INFO;
static _Atomic enum log_format written = LOG_TEXT;
static const char *const names[] = {"debug", "info", "warn", "error"};

void log_set_level(enum log_level level)
{
    least = level;
}

void log_set_format(enum log_format format)
{
    written = format;
}

static void put_clean(struct buf *buf, struct str words)
{
    const char *end = words.p + words.n;
    for (const char *at = words.p; at < end;) {
        int length = utf8_length(at, end);
        if (!length)
            buf_puts(buf, "\xef\xbf\xbd");
        else if (utf8_is_control(utf8_rune(at, length)))
            buf_putc(buf, '?');
        else
            buf_put(buf, (struct str){at, (size_t)length});
        at += length ? length : 1;
    }
}

// Not within a character.
static struct str cut(struct str text)
{
    if (text.n <= SHOWN_MAX)
        return text;
    size_t n = SHOWN_MAX;
    while (n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return (struct str){text.p, n};
}

void log_put(struct buf *buf, enum log_format format, enum log_level level, int64_t time_ms, bool bare, struct str words)
{
    buf_auto struct buf clean = {0}, masked = {0};
    char time[WHEN_TEXT_SIZE];
    put_clean(&clean, words);
    mask_put(&masked, buf_str(&clean));
    struct str shown = cut(buf_str(&masked));
    when_format(time, time_ms);
    if (format == LOG_JSON) {
        buf_printf(buf, "{\"time\":\"%s\",\"level\":\"%s\",\"msg\":", time, names[level]);
        json_put_string(buf, shown);
        buf_putc(buf, '}');
    } else {
        if (!bare)
            buf_printf(buf, "%s %-5s ", time, names[level]);
        buf_put(buf, shown);
    }
    buf_putc(buf, '\n');
}

static void say(enum log_level level, bool bare, const char *format, va_list args)
{
    char words[WORDS_MAX];
    buf_auto struct buf line = {0};
    int n = vsnprintf(words, sizeof words, format, args);
    if (n < 0)
        return;
    log_put(&line, written, level, clock_now().wall_ms, bare, (struct str){words, strlen(words)});
    if (write(STDERR_FILENO, line.p, line.n) < 0)
        return; // nobody listens; there is nowhere to say so
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level < least)
        return;
    va_list args;
    va_start(args, format);
    say(level, false, format, args);
    va_end(args);
}

void log_say(enum log_level level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(level, true, format, args);
    va_end(args);
}
