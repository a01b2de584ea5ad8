// A line is put together first and written with one call, so lines of several threads do not mix. Control characters, which
// may come from input, are written as '?'.
#include "base/log.h"

#include "base/clock.h"
#include "base/when.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static _Atomic enum log_level least = LOG_INFO;
static const char *const names[] = {"debug", "info", "warn", "error"};

void log_set_level(enum log_level level)
{
    least = level;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level < least)
        return;
    char line[1024], time[WHEN_TEXT_SIZE];
    when_format(time, clock_now().wall_ms);
    int n = snprintf(line, sizeof line, "%s %-5s ", time, names[level]);
    va_list args;
    va_start(args, format);
    int more = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    va_end(args);
    if (more < 0)
        return;
    n += more;
    if (n > (int)sizeof line - 2)
        n = (int)sizeof line - 2;
    for (int i = 0; i < n; i++)
        if ((unsigned char)line[i] < 32 || line[i] == 127)
            line[i] = '?';
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; // nobody listens; there is nowhere to say so
}
