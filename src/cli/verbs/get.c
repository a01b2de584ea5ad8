// rota get: a task, a job or a bulk.
#include "cli/server/explain.h"
#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"

// What the job waits for. When the server does not say it, the line is left out: what was asked for is there.
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
    put_waits(&out, caller, is_job ? NULL : object, show_job(object));
    return terminal_write(buf_str(&out));
}

static int get(struct caller *caller, const char *id)
{
    struct reply reply;
    bool text = caller->cli->output == OUTPUT_TEXT, first = id == caller->cli->options.args[0];
    int code = text && !first ? terminal_write(STR("\n")) : CLI_OK;
    if (code)
        return code;
    call_get(caller, id, "", &reply);
    code = reply.code != CLI_OK ? failure_tell(caller, &reply)
           : text               ? show_whole(caller, reply.value)
                                : print_json(caller->cli, buf_str(&reply.body));
    reply_done(&reply);
    return code;
}

static int run_get(struct cli *cli)
{
    return call_for_ids(cli, "tjb", get);
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
