// rota submit: one POST of what the options make (cli/compose), and with --wait the watching of the job to its end.
#include "base/clock.h"
#include "cli/compose.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/wait.h"
#include "core/task.h"

static int show_reply(const struct cli *cli, const struct reply *reply, bool whole)
{
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    if (cli->output != OUTPUT_TEXT) {
        text_put_json(&out, buf_str(&reply->body), cli->output == OUTPUT_JSON);
        buf_putc(&out, '\n');
    } else if (whole) {
        show_put_task(&out, &show, reply->value);
    } else {
        text_put_short(&out, value_text(value_at(reply->value, "id")), 200);
        buf_putc(&out, '\n');
    }
    return terminal_write(buf_str(&out));
}

// Is it known by its key, and has somebody cancelled it since? Then the submit was taken, and yet nothing follows from it.
static bool was_cancelled(const struct reply *reply)
{
    return reply->status == 200 && str_is(value_text(value_at(reply->value, "state")), task_state_text(TASK_CANCELLED));
}

// Words for who looks on; a script gets the id on stdout and nothing else.
static void talk_submitted(const struct caller *caller, const struct reply *reply, const char *id, bool wait)
{
    if (was_cancelled(reply)) {
        terminal_talk("rota submit: nothing will run: this task was submitted before under the key, and has been cancelled."
                      " rota retry %s runs it after all; another --key makes a new task\n",
                      id);
        return;
    }
    if (reply->status == 200)
        terminal_talk("the key is known: this task was submitted before\n");
    else
        compose_talk_passed(&caller->cli->options, reply->value);
    if (wait)
        terminal_talk("submitted %s\n", id);
    else if (terminal_is_watched())
        terminal_talk("submitted; rota get %s shows how it goes\n", id);
}

static int end_wait(const struct caller *caller, struct reply *reply, const char *id)
{
    if (reply->code != CLI_OK) {
        terminal_talk("rota submit: %s was submitted, but how it ended is not known\n", id);
        return call_explain(caller, reply);
    }
    int code = show_reply(caller->cli, reply, true);
    return code ? code : wait_code(reply->value);
}

static int finish(struct caller *caller, struct reply *reply, struct arena *arena)
{
    bool wait = options_get(&caller->cli->options, "wait");
    if (reply->code != CLI_OK)
        return call_explain(caller, reply);
    const char *id = arena_copy(arena, value_text(value_at(reply->value, "id"))).p;
    talk_submitted(caller, reply, id, wait);
    if (was_cancelled(reply)) {
        int code = show_reply(caller->cli, reply, false);
        return code ? code : CLI_REFUSED;
    }
    if (!wait)
        return show_reply(caller->cli, reply, false);
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

static int run_submit(struct cli *cli)
{
    struct compose compose = {.options = &cli->options, .url = cli->options.args[0], .now_ms = clock_now().wall_ms};
    int code = submit(cli, &compose);
    compose_done(&compose);
    return code;
}

static const struct option options_table[] = {
    {"key", 0, "KEY", "idempotency: the same key gives the same task, however often it is sent"},
    {"wait", 0, NULL, "wait until the job has ended; exit 0 when it succeeded, 1 when it failed, 3 when it was cancelled"},
    {0},
};

const struct verb verb_submit = {.name = "submit",
                                 .args = "URL",
                                 .args_min = 1,
                                 .args_max = 1,
                                 .output = true,
                                 .server = true,
                                 .help = "Submit a task: call URL, now or later, until it succeeds",
                                 .about = "Prints the task's id; with --wait, the task and its job when it has ended.",
                                 .example = "rota submit https://hooks.example/ring --json '{\"invoice\": 42}' --in 10m",
                                 .fields = true,
                                 .options = options_table,
                                 .run = run_submit};
