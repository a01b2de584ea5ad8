// rota wait: waits until tasks or jobs have ended, and says how each did.
#include "cli/server/wait.h"

#include "base/mem.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"

// A task that was there and then is not was deleted, or ended and kept for no longer: which of them cannot be told any more.
// A server that has not answered yet is not waited for.
static int wait_for(struct caller *caller, const char *id, bool reached)
{
    struct reply reply;
    call_get(caller, id, "", &reply);
    bool seen = reply.code == CLI_OK;
    if (seen || ((reached || reply.status) && reply_may_retry(&reply)))
        wait_for_job(caller, id, &reply);
    if (seen && reply.code != CLI_OK)
        terminal_talk("rota wait: how %s ended is not known%s\n", id,
                      reply.status == 404 ? ": it was deleted, or its ttl ended, meanwhile" : "");
    int code = print_reply(caller, &reply, show_put_end);
    code = code ? code : wait_code(reply.value);
    reply_done(&reply);
    return code;
}

// Of several ends a script wants to know the worst: that an end is not known, then that one failed, then that one will not run.
static int worse(int a, int b)
{
    static const int order[] = {CLI_PIPE_CLOSED, CLI_UNWRITTEN, CLI_UNREACHED, CLI_JOB_FAILED, CLI_REFUSED};
    for (size_t i = 0; i < array_count(order); i++)
        if (a == order[i] || b == order[i])
            return order[i];
    return CLI_OK;
}

static int run_wait(struct cli *cli)
{
    struct caller caller;
    int code = call_open_for_ids(&caller, cli, "tj");
    if (code)
        return code;
    for (size_t i = 0; i < cli->options.arg_count && (code <= CLI_JOB_FAILED || code == CLI_REFUSED); i++)
        code = worse(code, wait_for(&caller, cli->options.args[i], i > 0));
    call_close(&caller);
    return code;
}

const struct verb verb_wait = {.name = "wait",
                               .args = "ID...",
                               .args_min = 1,
                               .args_max = SIZE_MAX,
                               .output = true,
                               .server = true,
                               .help = "Wait until tasks or jobs have ended",
                               .about = "Prints a line for each when it has ended, in the order given. Exits with 0 when all "
                                        "succeeded, 1 when one failed, 3 when one was cancelled or is not there. What keeps one "
                                        "from starting is said on stderr.",
                               .example = "rota wait $(rota submit https://hooks.example/ring)",
                               .run = run_wait};
