// rota update: the options of submit as a merge patch of a task.
#include "base/clock.h"
#include "cli/compose.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"

// The version as the API wants it: an entity tag. False: it is none.
static bool put_tag(struct buf *tag, const char *version)
{
    size_t n = strlen(version);
    buf_printf(tag, "\"%s\"", version);
    buf_putc(tag, 0);
    return n && n < 16 && strspn(version, "0123456789") == n;
}

// A job that was tried before keeps the time of its next try, whatever time is given: that is said, or it would look obeyed.
static void talk_kept_time(const struct options *options, const struct value *task)
{
    bool timed = options_get(options, "at") || options_get(options, "in");
    if (timed && value_item(value_at(task, "job.attempts"), 0))
        terminal_talk("it has been tried before: the time of its next try stays; rota run %s starts it now\n", options->args[0]);
}

static int send(struct caller *caller, const struct compose *compose, const char *tag)
{
    buf_auto struct buf path = {0};
    struct reply reply;
    if (!call_path(&path, compose->options->args[0], ""))
        return CLI_USAGE;
    terminal_talk(STR_FMT, STR_ARG(buf_str(&compose->notes)));
    call_if(caller, "PATCH", path.p, buf_str(&compose->json), tag, &reply);
    if (reply.code == CLI_OK) {
        compose_talk_passed(compose->options, reply.value);
        talk_kept_time(compose->options, reply.value);
    }
    int code = print_reply(caller, &reply, show_put_task);
    reply_done(&reply);
    return code;
}

static int update(struct cli *cli, struct compose *compose)
{
    struct caller caller;
    char why[ERR_WHY_MAX];
    const char *version = options_get(&cli->options, "if-version");
    buf_auto struct buf tag = {0};
    if (version && !put_tag(&tag, version))
        return verb_misused(cli, "--if-version takes the version that rota get shows, not %s", version);
    if (!compose_task(compose, why))
        return verb_misused(cli, "%s", why);
    if (str_is(buf_str(&compose->json), "{}"))
        return verb_misused(cli, "say what shall be different, such as rota update %s --at 16:00", cli->options.args[0]);
    int code = call_open_for_ids(&caller, cli, "t");
    if (code)
        return code;
    code = send(&caller, compose, tag.p);
    call_close(&caller);
    return code;
}

static int run_update(struct cli *cli)
{
    struct compose compose = {.options = &cli->options, .patch = true, .now_ms = clock_now().wall_ms};
    int code = update(cli, &compose);
    compose_done(&compose);
    return code;
}

static const struct option options[] = {
    {"url", 0, "URL", "what to call"},
    {"clear", 0, "OPTION", "back to what it is without this option: --clear not-after", true},
    {"if-version", 0, "N", "only if the task still has this version, as rota get shows it; 1 before the first change"},
    {0},
};

const struct verb verb_update = {.name = "update",
                                 .args = "ID",
                                 .args_min = 1,
                                 .args_max = 1,
                                 .output = true,
                                 .server = true,
                                 .help = "Change a task that has not ended",
                                 .about =
                                     "What is not given stays as it is; headers and labels are added to those there are. Its "
                                     "waiting job follows; an attempt that runs goes on as it began. Shows the task.",
                                 .example = "rota update t0cm2q574t0000 --at 16:00 --priority 9 --retry 5",
                                 .fields = true,
                                 .options = options,
                                 .run = run_update};
