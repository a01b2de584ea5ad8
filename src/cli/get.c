// rota get and rota cancel: what needs nothing but an id.
#include "base/clock.h"
#include "cli/call.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/verb.h"
#include "core/id.h"

static int check_ids(struct cli *cli)
{
    for (size_t i = 0; i < cli->options.arg_count; i++) {
        buf_auto struct buf path = {0};
        if (!call_path(&path, cli->options.args[i], ""))
            return verb_misused(cli, "%s is not an id: a task's is t and letters and digits, a job's begins with j",
                                cli->options.args[i]);
    }
    return CLI_OK;
}

static void put_short(struct buf *buf, const struct value *object)
{
    text_put_short(buf, value_text(value_at(object, "id")), 200);
    buf_puts(buf, "  ");
    text_put_short(buf, value_text(value_at(object, "state")), 200);
    buf_putc(buf, '\n');
}

static void put_whole(struct buf *buf, const struct value *object)
{
    struct show show = {.now_ms = clock_now().wall_ms, .colours = terminal_colours()};
    bool is_job = value_at(object, "task_id");
    (is_job ? show_put_job : show_put_task)(buf, &show, object);
}

// One call for one id, and its answer on stdout.
static int call_id(struct caller *caller, const char *method, const char *id, const char *rest,
                   void (*put)(struct buf *buf, const struct value *object))
{
    buf_auto struct buf path = {0};
    buf_auto struct buf out = {0};
    struct reply reply;
    if (!call_path(&path, id, rest))
        return CLI_USAGE;
    call(caller, method, path.p, (struct str){0}, &reply);
    int code = reply.code;
    if (code != CLI_OK) {
        call_explain(caller, &reply);
    } else {
        if (caller->cli->output == OUTPUT_TEXT) {
            put(&out, reply.value);
        } else {
            text_put_json(&out, buf_str(&reply.body), caller->cli->output == OUTPUT_JSON);
            buf_putc(&out, '\n');
        }
        code = terminal_write(buf_str(&out));
    }
    reply_done(&reply);
    return code;
}

static int open_for_ids(struct caller *ret_caller, struct cli *cli)
{
    int code = check_ids(cli);
    return code ? code : call_open(ret_caller, cli);
}

static int run_get(struct cli *cli)
{
    struct caller caller;
    int code = open_for_ids(&caller, cli);
    if (code)
        return code;
    code = call_id(&caller, "GET", cli->options.args[0], "", put_whole);
    call_close(&caller);
    return code;
}

// A refusal of one does not keep the others from being cancelled; a server that is away, or an output that is closed, does.
static int run_cancel(struct cli *cli)
{
    struct caller caller;
    int code = open_for_ids(&caller, cli);
    if (code)
        return code;
    for (size_t i = 0; i < cli->options.arg_count && (code == CLI_OK || code == CLI_REFUSED); i++) {
        int one = call_id(&caller, "POST", cli->options.args[i], "/cancel", put_short);
        if (one == CLI_REFUSED)
            terminal_talk("  (for %s)\n", cli->options.args[i]);
        code = one ? one : code;
    }
    call_close(&caller);
    return code;
}

const struct verb verb_get = {.name = "get",
                              .args = "ID",
                              .args_min = 1,
                              .args_max = 1,
                              .output = true,
                              .server = true,
                              .help = "Show a task or a job",
                              .run = run_get};

const struct verb verb_cancel = {.name = "cancel",
                                 .args = "ID...",
                                 .args_min = 1,
                                 .args_max = SIZE_MAX,
                                 .output = true,
                                 .server = true,
                                 .help = "Cancel tasks or jobs that have not ended",
                                 .about = "All ids are tried, also when the server refuses one of them.",
                                 .run = run_cancel};
