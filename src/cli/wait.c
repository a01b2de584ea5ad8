// See wait.h. It asks again and again, quickly at first.
#include "cli/wait.h"

#include "base/clock.h"
#include "cli/terminal.h"
#include "cli/times.h"

#include <time.h>

enum { WAIT_MS_MIN = 20, WAIT_MS_MAX = 1000, AWAY_MS_MAX = 30000, HELD_MS_FIRST = 300, HELD_MS = 5000 };

static void pause_ms(int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void tell(const struct wait *wait, const struct reply *reply, int64_t waited_ms)
{
    buf_auto struct buf line = {0};
    if (reply->code == CLI_OK) {
        wait->put(&line, reply->value, waited_ms);
    } else {
        buf_puts(&line, "the server is away, trying again  waited ");
        times_put_duration(&line, waited_ms);
    }
    terminal_progress(buf_str(&line));
}

// What was told of what holds it up, and when to look again.
struct held {
    struct buf told;
    int64_t next_ms;
};

static struct str first_line(const struct buf *lines)
{
    struct str text = buf_str(lines);
    const char *end = text.n ? memchr(text.p, '\n', text.n) : NULL;
    return (struct str){text.p, end ? (size_t)(end - text.p) : text.n};
}

static void tell_held(struct held *held, struct caller *caller, const struct wait *wait, const struct reply *reply,
                      int64_t now_ms)
{
    if (!wait->put_held || reply->code != CLI_OK || now_ms < held->next_ms)
        return;
    buf_auto struct buf lines = {0};
    held->next_ms = now_ms + HELD_MS;
    wait->put_held(&lines, caller, reply->value);
    if (!lines.n || str_eq(first_line(&lines), buf_str(&held->told)))
        return;
    held->told.n = 0;
    buf_put(&held->told, first_line(&lines));
    terminal_progress((struct str){0});
    terminal_talk("it waits: " STR_FMT "\n", STR_ARG(buf_str(&lines)));
}

void wait_end(struct caller *caller, const struct wait *wait, struct reply *reply)
{
    int64_t start = clock_now().mono_ms, heard = start;
    struct held held = {.next_ms = start + HELD_MS_FIRST};
    for (int64_t ms = WAIT_MS_MIN;; ms = time_min(ms * 3 / 2, WAIT_MS_MAX)) {
        int64_t now = clock_now().mono_ms;
        if (reply->code == CLI_OK)
            heard = now;
        bool over = reply->code == CLI_OK ? wait->ended(reply->value) : !reply_may_retry(reply) || now - heard > AWAY_MS_MAX;
        if (over)
            break;
        tell_held(&held, caller, wait, reply, now);
        tell(wait, reply, now - start);
        pause_ms(ms);
        reply_done(reply);
        call(caller, "GET", wait->path, (struct str){0}, reply);
    }
    terminal_progress((struct str){0});
    buf_done(&held.told);
}
