// rota get and rota explain: a task or a job, and what it waits for.
#include "cli/call.h"
#include "cli/show.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "core/id.h"
#include "core/task.h"

static void get_explanation(struct caller *caller, const char *job_id, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    *ret_reply =
        (struct reply){.code = CLI_UNREACHED, .why = "what answers there is not a rota server (no id of a job came back)"};
    if (call_path(&path, job_id, "/explain"))
        call(caller, "GET", path.p, (struct str){0}, ret_reply);
}

// A job that is due and does not run: why, is what whoever looks at it wants to know (a paused queue, a full host).
static bool is_held_up(const struct value *task, const struct value *job)
{
    if (str_is(value_text(value_at(task, "state")), task_state_text(TASK_PAUSED)))
        return true;
    struct str state = value_text(value_at(job, "state"));
    return str_is(state, job_state_text(JOB_READY)) || str_is(state, job_state_text(JOB_BLOCKED));
}

// Without an answer it is left out: what was asked for is there.
static void put_waits(struct buf *buf, struct caller *caller, const struct value *task, const struct value *job)
{
    struct reply reply;
    if (!is_held_up(task, job))
        return;
    get_explanation(caller, arena_copy(caller->arena, value_text(value_at(job, "id"))).p, &reply);
    struct str text = value_text(value_at(reply.value, "text"));
    if (reply.code == CLI_OK && text.n) {
        buf_puts(buf, "waits     ");
        text_put_short(buf, text, 300);
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
    get_explanation(caller, job, &reply);
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

const struct verb verb_get = {.name = "get",
                              .args = "ID...",
                              .args_min = 1,
                              .args_max = SIZE_MAX,
                              .output = true,
                              .server = true,
                              .help = "Show tasks or jobs",
                              .about =
                                  "A task is shown with its newest job. Times are this machine's local times. The id may also "
                                  "be that of a bulk, which rota cancel, run, retry and delete begin when they are given "
                                  "filters.",
                              .run = run_get};

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
