// rota explain: what a job waits for.
#include "cli/server/explain.h"

#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "core/id.h"

// When a task was named, finds the job that the task shows.
static int find_job(struct caller *caller, const char *id, const char **ret_job)
{
    struct reply reply;
    *ret_job = id;
    if (id[0] == ID_JOB)
        return CLI_OK;
    call_get(caller, id, "", &reply);
    int code = failure_tell(caller, &reply);
    *ret_job = arena_copy(caller->arena, value_text(value_at(reply.value, "job.id"))).p;
    reply_done(&reply);
    return code;
}

static int explain(struct caller *caller, const char *id)
{
    struct reply reply;
    const char *job;
    int code = find_job(caller, id, &job);
    if (code)
        return code;
    explain_get(caller, str_of(job), &reply);
    code = print_reply(caller, &reply, show_put_explanation);
    reply_done(&reply);
    return code;
}

static int run_explain(struct cli *cli)
{
    return call_for_ids(cli, "tj", explain);
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
