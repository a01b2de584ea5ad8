// rota get: a task, a job or a bulk.
#include "cli/server/call.h"
#include "cli/server/explain.h"
#include "cli/show/show.h"
#include "cli/show/terminal.h"

// Without an answer it is left out: what was asked for is there.
static void put_waits(struct buf *buf, struct caller *caller, const struct value *task, const struct value *job)
{
    struct reply reply;
    if (!explain_is_held_up(task, job))
        return;
    explain_get(caller, value_text(value_at(job, "id")), &reply);
    if (reply.code == CLI_OK) {
        buf_puts(buf, "waits     ");
        show_put_waits(buf, reply.value, "\n          ");
        buf_putc(buf, '\n');
    }
    reply_done(&reply);
}

static int show_whole(struct caller *caller, const struct value *object)
{
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    bool is_job = value_at(object, "task_id"), is_bulk = value_at(object, "action");
    (is_bulk ? show_put_bulk : is_job ? show_put_job : show_put_task)(&out, &show, object);
    put_waits(&out, caller, is_job ? NULL : object, is_job ? object : value_at(object, "job"));
    return terminal_write(buf_str(&out));
}

static int get(struct caller *caller, const char *id)
{
    buf_auto struct buf path = {0};
    struct reply reply;
    if (!call_path(&path, id, ""))
        return CLI_USAGE;
    call(caller, "GET", path.p, (struct str){0}, &reply);
    int code = reply.code != CLI_OK                 ? call_explain(caller, &reply)
               : caller->cli->output == OUTPUT_TEXT ? show_whole(caller, reply.value)
                                                    : call_print_json(caller->cli, buf_str(&reply.body));
    reply_done(&reply);
    return code;
}

static int run_get(struct cli *cli)
{
    struct caller caller;
    int code = call_open_for_ids(&caller, cli, "tjb");
    if (code)
        return code;
    for (size_t i = 0; i < cli->options.arg_count && (code == CLI_OK || code == CLI_REFUSED); i++) {
        int one = i && cli->output == OUTPUT_TEXT ? terminal_write(STR("\n")) : CLI_OK;
        one = one ? one : get(&caller, cli->options.args[i]);
        code = one ? one : code;
    }
    call_close(&caller);
    return code;
}

const struct verb verb_get = {
    .name = "get",
    .args = "ID...",
    .args_min = 1,
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "Show tasks or jobs",
    .about = "A task is shown with its headers and body and the job that matters, with its attempts and what was "
             "answered last. Times are this machine's local times. The id may also be that of a bulk, which "
             "rota cancel, run, retry, pause, resume and delete begin when they are given filters.",
    .run = run_get};
