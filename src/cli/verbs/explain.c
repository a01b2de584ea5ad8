// rota explain: what a job waits for.
#include "cli/server/explain.h"

#include "cli/show/show.h"
#include "cli/show/terminal.h"
#include "core/id.h"

// The job to speak of when a task was named: the one that the task shows.
static int find_job(struct caller *caller, const char *id, const char **ret_job)
{
    *ret_job = id;
    if (id[0] == ID_JOB)
        return CLI_OK;
    buf_auto struct buf path = {0};
    struct reply reply;
    if (!call_path(&path, id, ""))
        return CLI_USAGE;
    call(caller, "GET", path.p, (struct str){0}, &reply);
    int code = reply.code == CLI_OK ? CLI_OK : call_explain(caller, &reply);
    *ret_job = arena_copy(caller->arena, value_text(value_at(reply.value, "job.id"))).p;
    reply_done(&reply);
    return code;
}

static int explain(struct caller *caller, const char *job)
{
    buf_auto struct buf out = {0};
    struct reply reply;
    struct show show = terminal_show();
    explain_get(caller, str_of(job), &reply);
    int code = reply.code;
    if (code != CLI_OK) {
        call_explain(caller, &reply);
    } else if (caller->cli->output != OUTPUT_TEXT) {
        code = call_print_json(caller->cli, buf_str(&reply.body));
    } else {
        show_put_explanation(&out, &show, reply.value);
        code = terminal_write(buf_str(&out));
    }
    reply_done(&reply);
    return code;
}

static int run_explain(struct cli *cli)
{
    struct caller caller;
    const char *job;
    int code = call_open_for_ids(&caller, cli, "tj");
    if (code)
        return code;
    code = find_job(&caller, cli->options.args[0], &job);
    code = code ? code : explain(&caller, job);
    call_close(&caller);
    return code;
}

const struct verb verb_explain = {.name = "explain",
                                  .args = "ID",
                                  .args_min = 1,
                                  .args_max = 1,
                                  .output = true,
                                  .server = true,
                                  .help = "Say what a job is waiting for, and when it is expected to start",
                                  .about = "The id may be a task's: then it is about the job that rota get shows.",
                                  .example = "rota explain j0cm2q574t0000",
                                  .run = run_explain};
