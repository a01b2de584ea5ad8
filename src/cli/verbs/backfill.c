// rota backfill: instants of a schedule that have passed are run, by a bulk at the server; or it is shown which these would be.
#include "base/clock.h"
#include "base/text/json.h"
#include "cli/server/failure.h"
#include "cli/server/print.h"
#include "cli/show/times.h"
#include "cli/verbs/bulk.h"

// Adds a time as the API wants it. A time without a zone is this machine's.
static int put_time(struct buf *body, struct cli *cli, const char *name)
{
    struct times_typed typed;
    const char *value = options_get(&cli->options, name);
    if (!value)
        return verb_misused(cli, "say from when to when: --from '2030-01-01 0:00' --to '2030-01-31 23:59'");
    if (!times_read_typed(&typed, str_of(value), clock_now().wall_ms))
        return verb_misused(cli, "--%s takes a time: %s; %.40s is none", name, times_forms, value);
    buf_printf(body, "\"%s\":\"", name);
    times_put_api(body, typed.ms);
    buf_puts(body, "\",");
    return CLI_OK;
}

static int put_body(struct buf *body, struct cli *cli)
{
    int64_t max_active = 1;
    const char *reprocess = options_get(&cli->options, "reprocess");
    buf_putc(body, '{');
    int code = put_time(body, cli, "from");
    if (!code)
        code = put_time(body, cli, "to");
    if (!code)
        code = verb_read_count(cli, "max-active", &max_active);
    buf_puts(body, "\"reprocess\":");
    json_put_string(body, str_of(reprocess ? reprocess : "none"));
    buf_printf(body, ",\"max_active\":%lld,\"dry_run\":%s}", (long long)max_active,
               options_get(&cli->options, "dry-run") ? "true" : "false");
    return code;
}

// A line for each run, and one that says how many more there are.
static void put_runs(struct buf *out, const struct show *show, const struct value *answer)
{
    const struct value *runs = value_at(answer, "runs"), *run;
    int64_t instants = value_int(value_at(answer, "instants"), 0);
    for (size_t i = 0; (run = value_item(runs, i)); i++)
        buf_printf(out, STR_FMT "\n", STR_ARG(value_text(run)));
    if (!instants)
        buf_puts(out, "(nothing to run)\n");
    else if ((size_t)instants > value_count(runs))
        buf_printf(out, "… and %lld more, the last " STR_FMT "\n", (long long)instants - (long long)value_count(runs),
                   STR_ARG(value_text(value_at(answer, "last"))));
}

static int backfill(struct caller *caller, struct cli *cli, struct str body)
{
    buf_auto struct buf path = {0};
    struct reply reply;
    if (!call_path(&path, cli->options.args[0], "/backfill"))
        return CLI_USAGE;
    call(caller, "POST", path.p, body, &reply);
    int code;
    if (reply.code != CLI_OK)
        code = failure_tell(caller, &reply);
    else if (options_get(&cli->options, "dry-run"))
        code = print_reply(caller, &reply, put_runs);
    else if (options_get(&cli->options, "wait"))
        code = bulk_follow(caller, &reply);
    else
        code = print_reply(caller, &reply, show_put_bulk);
    reply_done(&reply);
    return code;
}

static int run_backfill(struct cli *cli)
{
    struct caller caller;
    buf_auto struct buf body = {0};
    int code = put_body(&body, cli);
    if (code)
        return code;
    code = call_open_for_ids(&caller, cli, "t");
    if (!code)
        code = backfill(&caller, cli, buf_str(&body));
    call_close(&caller);
    return code;
}

static const struct option options[] = {
    {"from", 0, "TIME", "the first instant: '2030-01-31 9:00' on this machine's clock, or 2030-01-31T09:00:00Z"},
    {"to", 0, "TIME", "the last one; not in the future"},
    {"dry-run", 0, NULL, "only show which runs it would be"},
    {"max-active", 0, "N", "so many of them at once, up to 100 (1)"},
    {"reprocess", 0, "WHICH", "also runs that failed, or all (none)", .choices = "none failed all"},
    {"wait", 0, NULL, "wait until the last has ended"},
    {0},
};

const struct verb verb_backfill = {
    .name = "backfill",
    .args = "ID",
    .args_min = 1,
    .args_max = 1,
    .output = true,
    .server = true,
    .help = "Run instants of a recurring task that have passed",
    .about = "Those that did not run: from before the task was created, skipped, or cancelled before they began. It is a bulk at "
             "the server, which goes on when you leave: rota get shows how far it has come, rota cancel stops it.",
    .example = "rota backfill t0cm2q574t0000 --from 2030-01-01T00:00:00Z --to 2030-01-31T00:00:00Z --dry-run",
    .options = options,
    .run = run_backfill};
