// rota tail: what happens, as it happens. A connection that ends is made again, from the event that came last, so that nothing is
// missed as long as the server still has it.
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "cli/server/call.h"
#include "cli/server/failure.h"
#include "cli/server/sse.h"
#include "cli/show/event.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

enum { AWAIT_MS_MIN = 200, AWAIT_MS_MAX = 5000 };

struct tail {
    struct caller caller;
    struct buf path;
    struct sse sse;
    int64_t left;    // how many more are wanted
    int code;        // why it is over, when `over`
    bool over, away; // `away`: it was said that the server is
};

// Data that is no JSON object is none of rota's. It is shown as a string, in which nothing can do harm.
static void put_json(struct buf *buf, struct str data, bool indent)
{
    struct value *value = value_parse(data);
    if (value)
        text_put_json(buf, data, indent);
    else
        json_put_string(buf, data);
    buf_putc(buf, '\n');
    value_free(value);
}

// Some events are about the stream itself: that it listens from here on, or that events were missed. They are shown, not counted.
static bool is_about_stream(const struct sse_event *event)
{
    return str_is(event->type, "ready") || str_is(event->type, "gap");
}

static bool take_event(void *ctx, const struct sse_event *event)
{
    struct tail *tail = ctx;
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    enum verb_output output = tail->caller.cli->output;
    if (output == OUTPUT_TEXT) {
        event_put(&out, &show, event);
    } else {
        put_json(&out, event->data, output == OUTPUT_JSON);
    }
    tail->code = terminal_write(buf_str(&out));
    tail->left -= !is_about_stream(event);
    tail->over = tail->code != CLI_OK || tail->left == 0;
    return !tail->over;
}

static bool take_bytes(void *ctx, struct str bytes)
{
    struct tail *tail = ctx;
    if (tail->away)
        terminal_talk("rota tail: the server is back\n");
    tail->away = false;
    return sse_take(&tail->sse, bytes);
}

// One connection, to its end. Returns whether anything came.
static bool connect_once(struct tail *tail, struct reply *ret_reply)
{
    buf_auto struct buf last = {0};
    buf_put(&last, buf_str(&tail->sse.id));
    buf_putc(&last, 0);
    struct stream stream = {.path = tail->path.p,
                            .type = "text/event-stream",
                            .header = tail->sse.id.n ? "Last-Event-ID" : NULL,
                            .header_value = last.p,
                            .take = take_bytes,
                            .ctx = tail};
    sse_restart(&tail->sse);
    call_stream(&tail->caller, &stream, ret_reply);
    if (tail->sse.too_long) {
        terminal_talk("rota tail: an event of more than %d MiB came, which no rota server sends\n", SSE_EVENT_MAX >> 20);
        tail->over = true;
        tail->code = CLI_UNREACHED;
    }
    return stream.began;
}

static int follow(struct tail *tail)
{
    bool connected = false; // ever
    for (int64_t ms = AWAIT_MS_MIN;; ms = time_min(ms * 2, AWAIT_MS_MAX)) {
        struct reply reply;
        bool began = connect_once(tail, &reply);
        connected = connected || began || reply.code == CLI_OK;
        bool lost = reply.code == CLI_OK || began || (connected && reply_may_retry(&reply));
        if (!tail->over && !lost) {
            tail->over = true;
            tail->code = failure_tell(&tail->caller, &reply);
        }
        reply_done(&reply);
        if (tail->over)
            return tail->code;
        if (!tail->away && !began)
            terminal_talk("rota tail: the server is away, trying again\n");
        tail->away = tail->away || !began;
        ms = began ? AWAIT_MS_MIN : ms;
        call_pause(tail->sse.retry_ms >= 0 && began ? time_min(tail->sse.retry_ms, AWAIT_MS_MAX) : ms);
    }
}

static void put_path(struct buf *path, const struct options *options)
{
    static const char *const filters[] = {"task", "queue", "type"};
    buf_puts(path, "/v1/events");
    for (size_t i = 0; i < array_count(filters); i++)
        if (options_get(options, filters[i]))
            call_put_query(path, str_of(filters[i]), str_of(options_get(options, filters[i])));
    buf_putc(path, 0);
}

static int run_tail(struct cli *cli)
{
    struct tail tail = {.code = CLI_OK, .left = INT64_MAX};
    const char *after = options_get(&cli->options, "after");
    sse_init(&tail.sse, take_event, &tail);
    if (after)
        buf_puts(&tail.sse.id, after);
    put_path(&tail.path, &cli->options);
    int code = verb_read_count(cli, "count", &tail.left);
    code = code ? code : call_open(&tail.caller, cli);
    code = code ? code : follow(&tail);
    call_close(&tail.caller);
    buf_done(&tail.path);
    sse_done(&tail.sse);
    return code;
}

static const struct option options[] = {
    {"task", 0, "ID", "only what happens to this task and its jobs"},
    {"queue", 0, "NAME", "only what happens to this queue, and to tasks and jobs in it"},
    {"type", 0, "TYPE", "only events of this type; several with commas between",
     .choices = "submitted started retried lost released success aborted buried cancelled task_paused task_resumed task_changed "
                "task_deleted queue_paused queue_resumed queue_deleted schedule_missing job_overdue "
                "schedule_failing zone_missing"},
    {"after", 0, "EVENT", "begin behind the event of this id, if the server still has it"},
    {"count", 0, "N", "end after so many events"},
    {0},
};

const struct verb verb_tail = {.name = "tail",
                               .args = "",
                               .output = true,
                               .server = true,
                               .help = "Show what happens, as it happens, until Ctrl-C",
                               .about =
                                   "When the connection is lost it is made again, and goes on behind the last event that came.",
                               .example = "rota tail -o jsonl",
                               .options = options,
                               .run = run_tail};
