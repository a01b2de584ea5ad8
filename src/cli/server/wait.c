// See wait.h. It asks again and again, quickly at first.
#include "cli/server/wait.h"

#include "base/clock.h"
#include "cli/server/explain.h"
#include "cli/show/state.h"
#include "cli/show/terminal.h"
#include "cli/show/times.h"
#include "core/job.h"

#include <stdio.h>

enum { WAIT_MS_MIN = 20, WAIT_MS_MAX = 1000, AWAY_MS_MAX = 30000, HELD_MS_FIRST = 300, HELD_MS = 5000 };

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

// The reason for waiting that the user was told last, and when to ask for it again.
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
        call_pause(ms);
        reply_done(reply);
        call(caller, "GET", wait->path, (struct str){0}, reply);
    }
    terminal_progress((struct str){0});
    buf_done(&held.told);
}

// Jobs, named by their own id or by their task's

static struct str state_of(const struct value *object)
{
    return value_text(value_at(show_job(object), "state"));
}

// An answer without a state is no job: something else answers there.
static bool is_over(const struct value *object)
{
    return !state_of(object).n || state_final(state_of(object));
}

static void put_progress(struct buf *line, const struct value *object, int64_t waited_ms)
{
    show_put_progress(line, &(struct show){.now_ms = clock_now().wall_ms}, object, waited_ms);
}

static void put_held(struct buf *lines, struct caller *caller, const struct value *object)
{
    struct reply reply;
    if (!explain_is_held_up(object, show_job(object)))
        return;
    explain_get(caller, value_text(value_at(show_job(object), "id")), &reply);
    if (reply.code == CLI_OK)
        show_put_waits(lines, reply.value, "\n  ");
    reply_done(&reply);
}

static void say_impostor(struct reply *reply, const char *missing)
{
    reply->code = CLI_UNREACHED;
    snprintf(reply->why, sizeof reply->why, "what answers there is not a rota server (no %s came back)", missing);
}

void wait_for_job(struct caller *caller, const char *id, struct reply *reply)
{
    buf_auto struct buf path = {0};
    if (!call_path(&path, id, "")) {
        say_impostor(reply, "id of a task");
        return;
    }
    wait_end(caller, &(struct wait){.path = path.p, .ended = is_over, .put = put_progress, .put_held = put_held}, reply);
    if (reply->code == CLI_OK && !state_of(reply->value).n)
        say_impostor(reply, "state of a job");
}

int wait_code(const struct value *object)
{
    struct str state = state_of(object);
    return str_is(state, job_state_text(JOB_SUCCESS))     ? CLI_OK
           : str_is(state, job_state_text(JOB_CANCELLED)) ? CLI_REFUSED
                                                          : CLI_JOB_FAILED;
}
