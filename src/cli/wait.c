// See wait.h. It asks again and again, quickly at first.
#include "cli/wait.h"

#include "base/clock.h"
#include "cli/terminal.h"
#include "cli/times.h"

#include <time.h>

enum { WAIT_MS_MIN = 20, WAIT_MS_MAX = 1000, AWAY_MS_MAX = 30000 };

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

void wait_end(struct caller *caller, const struct wait *wait, struct reply *reply)
{
    int64_t start = clock_now().mono_ms, heard = start;
    for (int64_t ms = WAIT_MS_MIN;; ms = time_min(ms * 3 / 2, WAIT_MS_MAX)) {
        int64_t now = clock_now().mono_ms;
        if (reply->code == CLI_OK)
            heard = now;
        bool over = reply->code == CLI_OK ? wait->ended(reply->value) : !reply_may_retry(reply) || now - heard > AWAY_MS_MAX;
        if (over)
            break;
        tell(wait, reply, now - start);
        pause_ms(ms);
        reply_done(reply);
        call(caller, "GET", wait->path, (struct str){0}, reply);
    }
    terminal_progress((struct str){0});
}
