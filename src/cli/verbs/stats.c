// rota stats: the server's figures, and which queues are paused.
#include "cli/show/stats.h"

#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

enum { QUEUE_MAX = 200 };

// A paused queue is the likeliest reason why jobs wait, so paused queues are named first.
static void put_paused(struct buf *buf, struct caller *caller)
{
    struct reply reply;
    call(caller, "GET", "/v1/queues?limit=1000", (struct str){0}, &reply);
    const struct value *items = value_at(reply.value, "items"), *queue;
    const char *between = "paused queues  ";
    for (size_t i = 0; (queue = value_item(items, i)); i++) {
        if (!value_true(value_at(queue, "paused")))
            continue;
        buf_puts(buf, between);
        text_put_short(buf, value_text(value_at(queue, "queue")), QUEUE_MAX);
        between = ", ";
    }
    if (*between == ',')
        buf_puts(buf, "\n\n");
    reply_done(&reply);
}

static int print_stats(struct caller *caller, const struct reply *reply)
{
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    if (caller->cli->output != OUTPUT_TEXT)
        return print_json(caller->cli, buf_str(&reply->body));
    put_paused(&out, caller);
    stats_put(&out, &show, reply->value);
    return terminal_write(buf_str(&out));
}

static int run_stats(struct cli *cli)
{
    struct caller caller;
    struct reply reply;
    int code = call_open(&caller, cli);
    if (code)
        return code;
    call(&caller, "GET", "/v1/stats", (struct str){0}, &reply);
    code = reply.code == CLI_OK ? print_stats(&caller, &reply) : failure_tell(&caller, &reply);
    reply_done(&reply);
    call_close(&caller);
    return code;
}

const struct verb verb_stats = {.name = "stats",
                                .args = "",
                                .output = true,
                                .server = true,
                                .help = "Show how many jobs are in which state, and how the server does",
                                .run = run_stats};
