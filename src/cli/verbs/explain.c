// rota explain: what a job waits for, and what a schedule does next.
#include "cli/server/print.h"

static int explain(struct caller *caller, const char *id)
{
    struct reply reply;
    call_get(caller, id, "/explain", &reply);
    int code = print_reply(caller, &reply, show_put_explanation);
    reply_done(&reply);
    return code;
}

static int run_explain(struct cli *cli)
{
    return call_for_ids(cli, "tj", explain);
}

const struct verb verb_explain = {
    .name = "explain",
    .args = "ID",
    .args_min = 1,
    .args_max = 1,
    .output = true,
    .server = true,
    .help = "Say what a job or a schedule is waiting for, and when it is expected to start",
    .about = "The id of a recurring task asks for its schedule: when it runs next, why it is paused, and what was skipped "
             "lately. That of another task asks for the job that rota get shows.",
    .example = "rota explain j0cm2q574t0000",
    .run = run_explain};
