// rota cron preview: when a pattern fires. The server says it, so that what is shown is what it would plan. rota cron import is
// in cron_import.c, rota cron tzdiff in cron_tzdiff.c.
#include "base/mem.h"
#include "cli/server/print.h"
#include "cli/show/member.h"
#include "cli/show/table.h"
#include "cli/show/text.h"
#include "cli/verbs/cron_import.h"
#include "cli/verbs/cron_tzdiff.h"

static void put_preview(struct buf *buf, const struct show *show, const struct value *preview)
{
    static const struct table_column columns[] = {
        {"local", member_put_text, "local"},
        {"UTC", member_put_text, "at", .rank = 2, .least = 24},
        {"", member_put_text, "note", .rank = 1, .least = 20},
    };
    struct table runs = {.columns = columns, .count = array_count(columns), .show = show};
    struct table excluded = runs;
    text_put_safe(buf, value_text(value_at(preview, "description")), false);
    buf_puts(buf, "\n\n");
    table_put(buf, &runs, value_at(preview, "runs"), 0);
    if (!value_item(value_at(preview, "runs"), 0))
        buf_puts(buf, "It has no run.\n");
    if (!value_item(value_at(preview, "excluded"), 0))
        return;
    buf_puts(buf, "\nexcluded\n");
    table_put(buf, &excluded, value_at(preview, "excluded"), 0);
}

// An option of the command line, and the query parameter that it is.
static const struct {
    const char *option, *param;
} params[] = {
    {"timezone", "timezone"},       {"count", "count"}, {"from", "from"}, {"dst-gap", "dst_gap"},
    {"dst-overlap", "dst_overlap"}, {"name", "name"},   {"task", "task"},
};

static void put_path(struct buf *path, const struct options *options)
{
    buf_auto struct buf days = {0};
    buf_puts(path, "/v1/cron/preview");
    if (options->arg_count > 1)
        call_put_query(path, STR("cron"), str_of(options->args[1]));
    for (size_t i = 0; i < array_count(params); i++) {
        const char *value = options_get(options, params[i].option);
        if (value)
            call_put_query(path, str_of(params[i].param), str_of(value));
    }
    for (size_t i = 0; i < options->count; i++)
        if (str_is(STR("exclude"), options->given[i]->name))
            buf_printf(&days, "%s%s", days.n ? "," : "", options->values[i]);
    if (days.n)
        call_put_query(path, STR("exclude"), buf_str(&days));
}

static int preview(struct cli *cli)
{
    struct caller caller;
    struct reply reply;
    buf_auto struct buf path = {0};
    if (cli->options.arg_count > 2)
        return verb_misused(cli, "the pattern is one argument: put it in quotes, '30 2 * * *'");
    if (options_get(&cli->options, "zoneinfo"))
        return verb_misused(cli, "--zoneinfo is for tzdiff: the server knows its own time zones");
    if ((cli->options.arg_count == 2) == (options_get(&cli->options, "task") != NULL))
        return verb_misused(cli, "either a pattern or --task is needed, and not both");
    int code = call_open(&caller, cli);
    if (code)
        return code;
    put_path(&path, &cli->options);
    buf_putc(&path, 0);
    call(&caller, "GET", path.p, (struct str){0}, &reply);
    code = print_reply(&caller, &reply, put_preview);
    reply_done(&reply);
    call_close(&caller);
    return code;
}

static int run_cron(struct cli *cli)
{
    struct str what = str_of(cli->options.args[0]);
    if (str_is(what, "preview"))
        return preview(cli);
    if (str_is(what, "import") && cli->options.arg_count < 2)
        return verb_misused(cli, "something is missing: rota cron import CRONTAB takes a file, or - for stdin");
    if (str_is(what, "import"))
        return cron_import_run(cli);
    if (str_is(what, "tzdiff"))
        return cron_tzdiff_run(cli);
    return verb_misused(
        cli, "%s is nothing that it does; rota cron preview 'PATTERN', rota cron import CRONTAB and rota cron tzdiff are",
        what.p);
}

static const struct option cron_options[] = {
    {"timezone", 0, "ZONE", "the IANA name of the time zone that patterns are meant in (UTC)"},
    {"count", 'n', "N", "how many runs to show (10)"},
    {"from", 0, "TIME", "show runs after this time instead of after now"},
    {"exclude", 0, "DAYS", "days without runs: 2026-12-25, 12-25 or 2026-07-01/2026-07-14", .repeatable = true},
    {"dst-gap", 0, "WHAT", "of a time that the clocks skip: run_after (the default) or skip", .choices = "run_after skip"},
    {"dst-overlap", 0, "WHICH", "of a time that the clocks show twice: first (the default), last or both",
     .choices = "first last both"},
    {"name", 0, "NAME", "the name of the task, by which an H in the pattern is spread"},
    {"task", 0, "ID", "show the schedule of this task instead of a pattern"},
    {"zoneinfo", 0, "DIR", "of tzdiff: the folder of the other tzdata (TZDIR, or /usr/share/zoneinfo)"},
    {0},
};

const struct verb verb_cron = {
    .name = "cron",
    .args = "preview PATTERN | preview --task ID | import CRONTAB | tzdiff",
    .args_min = 1,
    .args_max = SIZE_MAX,
    .output = true,
    .server = true,
    .help = "Show when a cron pattern fires, make tasks of a crontab, or compare time zones",
    .about =
        "preview shows when a pattern fires, and what it means. The pattern is one argument: put it in quotes. It has five "
        "fields (minute, hour, day of the month, month, weekday), six with the second in front, or seven with the year behind. "
        "With --task the schedule of a task is shown, with its time zone, its excluded days and its own H; only --count and "
        "--from go "
        "with it. "
        "import reads a user's crontab, as in crontab -l | rota cron import - > tasks.toml, and prints a file of tasks (TOML) "
        "for the lines that call curl or wget once and need no shell for it. It asks no server, and takes no option but "
        "--timezone, which is that of lines for which the crontab has no CRON_TZ. Lines that it cannot take are named with the "
        "reason, on stderr and in the file; then it exits with 3. "
        "tzdiff says which planned runs another tzdata moves, before a server has it: it asks the server for its recurring tasks "
        "in time zones, and reckons by the files in the folder that --zoneinfo names. When no run moves it says so, and exits "
        "with 0.",
    .example = "rota cron preview '30 2 * * MON-FRI' --timezone Europe/Berlin",
    .options = cron_options,
    .run = run_cron};
