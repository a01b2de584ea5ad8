// rota submit: one POST of what the options make (cli/compose), and with --wait the watching of the job to its end.
#include "base/clock.h"
#include "cli/compose.h"
#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/server/wait.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/verbs/submit_file.h"
#include "core/task/task_state.h"

#include <unistd.h>

static void put_id(struct buf *out, const struct show *show, const struct value *task)
{
    text_put_short(out, value_text(value_at(task, "id")), 200);
    buf_putc(out, '\n');
}

// Is it known by its key, and has somebody cancelled it since? Then the submit was taken, and yet nothing follows from it.
static bool was_cancelled(const struct reply *reply)
{
    return reply->status == 200 && str_is(value_text(value_at(reply->value, "state")), task_state_text(TASK_CANCELLED));
}

// Says what has become of a task that is known by its key. Nothing, when it waits or runs.
static const char *known_as(const struct value *task)
{
    struct str outcome = value_text(value_at(task, "outcome"));
    if (!value_at(task, "job"))
        return ", has ended, and is not kept any more";
    if (str_is(value_text(value_at(task, "state")), task_state_text(TASK_PAUSED)))
        return ", and is paused: nothing runs until rota resume";
    if (str_is(outcome, task_outcome_text(TASK_OUTCOME_FAILED)))
        return ", and has failed: rota retry runs it once more";
    return str_is(outcome, task_outcome_text(TASK_OUTCOME_SUCCESS)) ? ", and has succeeded" : "";
}

// These words are for a user who looks on; a script gets the id on stdout and nothing else.
static void talk_submitted(const struct caller *caller, const struct reply *reply, const char *id, bool wait)
{
    if (was_cancelled(reply)) {
        terminal_talk("rota submit: nothing will run: this task was submitted before under the key, and has been cancelled."
                      " rota retry %s runs it after all; another --key makes a new task\n",
                      id);
        return;
    }
    if (reply->status == 200)
        terminal_talk("the key is known: this task was submitted before%s\n", known_as(reply->value));
    else
        compose_talk_passed(&caller->cli->options, reply->value);
    if (wait)
        terminal_talk("submitted %s\n", id);
    else if (terminal_is_watched())
        terminal_talk("submitted; rota get %s shows how it goes\n", id);
}

static int end_wait(const struct caller *caller, struct reply *reply, const char *id)
{
    if (reply->code != CLI_OK)
        terminal_talk("rota submit: %s was submitted, but how it ended is not known\n", id);
    int code = print_reply(caller, reply, show_put_task);
    return code ? code : wait_code(reply->value);
}

static int finish(struct caller *caller, struct reply *reply, struct arena *arena)
{
    bool wait = options_get(&caller->cli->options, "wait");
    if (reply->code != CLI_OK)
        return failure_tell(caller, reply);
    const char *id = arena_copy(arena, value_text(value_at(reply->value, "id"))).p;
    talk_submitted(caller, reply, id, wait);
    if (was_cancelled(reply)) {
        int code = print_reply(caller, reply, put_id);
        return code ? code : CLI_REFUSED;
    }
    if (!wait)
        return print_reply(caller, reply, put_id);
    wait_for_job(caller, id, reply);
    return end_wait(caller, reply, id);
}

static int submit(struct cli *cli, struct compose *compose)
{
    struct caller caller;
    struct reply reply;
    char why[ERR_WHY_MAX];
    if (!compose_task(compose, why))
        return verb_misused(cli, "%s", why);
    int code = call_open(&caller, cli);
    if (code)
        return code;
    terminal_talk(STR_FMT, STR_ARG(buf_str(&compose->notes)));
    call(&caller, "POST", "/v1/tasks", buf_str(&compose->json), &reply);
    code = finish(&caller, &reply, &cli->arena);
    reply_done(&reply);
    call_close(&caller);
    return code;
}

// An option beside -f would be meant for each task of the file. That is not done, so it is refused.
static int run_file(struct cli *cli, const char *path)
{
    const struct options *options = &cli->options;
    if (options->arg_count)
        return verb_misused(cli, "%s and --file exclude each other: the tasks of a file have their own URLs", options->args[0]);
    for (size_t i = 0; i < options->count; i++)
        if (!options_has_word("file output server", str_of(options->given[i]->name)))
            return verb_misused(cli, "--%s and --file exclude each other: the tasks of a file have their own fields",
                                options->given[i]->name);
    return submit_file_run(cli, path);
}

static int run_submit(struct cli *cli)
{
    const char *path = options_get(&cli->options, "file");
    if (path)
        return run_file(cli, path);
    if (!cli->options.arg_count)
        return verb_misused(cli, "something is missing: rota submit URL, or rota submit -f FILE");
    if (options_get(&cli->options, "wait") && (options_get(&cli->options, "cron") || options_get(&cli->options, "every")))
        return verb_misused(cli, "--wait waits for the end of one job, and a recurring task has no last one");
    const char *url = cli->options.args[0];
    if (!strchr(url, ':') && access(url, R_OK) == 0)
        return verb_misused(cli, "%s is a file: rota submit -f %s submits the tasks in it", url, url);
    struct compose compose = {.options = &cli->options, .url = url, .now_ms = clock_now().wall_ms};
    int code = submit(cli, &compose);
    compose_done(&compose);
    return code;
}

static const struct option options_table[] = {
    {"file", 'f', "FILE", "instead of URL: all tasks of a file, as JSON (one, or an array) or one a line (NDJSON); - is stdin"},
    {"key", 0, "KEY", "idempotency: the same key gives the same task, however often it is sent"},
    {"wait", 0, NULL, "wait until the job has ended; exit 0 when it succeeded, 1 when it failed, 3 when it was cancelled"},
    {0},
};

const struct verb verb_submit = {
    .name = "submit",
    .args = "[URL]",
    .args_max = 1,
    .output = true,
    .server = true,
    .help = "Submit a task: call URL, now or later, until it succeeds",
    .about = "Prints the task's id; with --wait, the task and its job when it has ended. With -f, the id of each task "
             "that was taken; what was refused is said on stderr, and the exit code is then 3. Of a "
             "file of lines, any length is sent, in parts; with a key in each task the same file can "
             "be sent again.",
    .example = "rota submit https://hooks.example/ring --json '{\"invoice\": 42}' --in 10m",
    .fields = true,
    .options = options_table,
    .run = run_submit};
