// See terminal.h. Nothing is buffered here: the verbs build what they say and write it at once, so that an error can still become
// the exit code.
#include "cli/show/terminal.h"

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/show/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_init(void)
{
    // open() gives the lowest free number, so going up fills the gaps.
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
            _exit(CLI_UNWRITTEN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); // a file that may not grow (ulimit -f) is a full disk: the write says so
}

bool terminal_write_all(int fd, struct str data)
{
    while (data.n) {
        ssize_t n = write(fd, data.p, data.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        data = (struct str){data.p + n, data.n - (size_t)n};
    }
    return true;
}

int terminal_write(struct str data)
{
    if (terminal_write_all(STDOUT_FILENO, data))
        return CLI_OK;
    if (errno == EPIPE)
        return CLI_PIPE_CLOSED;
    terminal_talk("rota: the output cannot be written: %s\n", strerror(errno));
    return CLI_UNWRITTEN;
}

void terminal_talk(const char *format, ...)
{
    va_list args;
    char *words = NULL;
    va_start(args, format);
    int n = vasprintf(&words, format, args);
    va_end(args);
    if (n < 0)
        return;
    buf_auto struct buf safe = {0};
    text_put_safe(&safe, (struct str){words, (size_t)n}, true);
    free(words);
    // When stderr cannot be written there is no place left to say so.
    (void)terminal_write_all(STDERR_FILENO, buf_str(&safe));
}

static bool is_dumb(void)
{
    const char *kind = getenv("TERM");
    return !kind || !*kind || str_is(str_of(kind), "dumb");
}

static bool wants_colours(void)
{
    const char *no = getenv("NO_COLOR");
    return !(no && *no) && !is_dumb() && isatty(STDOUT_FILENO);
}

bool terminal_is_watched(void)
{
    return isatty(STDERR_FILENO);
}

// The columns of a terminal; 0 when it is none, or does not say.
static size_t terminal_width(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

struct show terminal_show(void)
{
    return (struct show){.now_ms = clock_now().wall_ms, .width = terminal_width(STDOUT_FILENO), .colours = wants_colours()};
}

void terminal_progress(struct str line)
{
    enum { WIDTH_UNKNOWN = 80 };
    if (!terminal_is_watched() || is_dumb())
        return;
    buf_auto struct buf safe = {0};
    buf_auto struct buf out = {0};
    size_t width = terminal_width(STDERR_FILENO);
    buf_puts(&out, "\r\033[K");
    text_put_safe(&safe, line, false);
    text_put_fitted(&out, buf_str(&safe), (width ? width : WIDTH_UNKNOWN) - 1); // in the last column some terminals wrap
    (void)terminal_write_all(STDERR_FILENO, buf_str(&out));
}
