// The table of verbs. Adding one touches its own file and one row here; help and docs follow.
#include "cli/verb.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/settings.h"
#include "cli/show/terminal.h"
#include "cli/show/times.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// clang-format off
const struct verb *const verbs[] = {
    &verb_serve,
    &verb_submit,
    &verb_get,
    &verb_list,
    &verb_upcoming,
    &verb_wait,
    &verb_update,
    &verb_apply,
    &verb_cancel,
    &verb_run,
    &verb_retry,
    &verb_pause,
    &verb_resume,
    &verb_delete,
    &verb_backfill,
    &verb_explain,
    &verb_cron,
    &verb_stats,
    &verb_tail,
    &verb_backup,
    &verb_config,
    &verb_completion,
    &verb_version,
    &verb_help,
    NULL,
};
// clang-format on

const struct option verb_help_options[] = {{"help", 'h', NULL, "show this help"}, {0}};
const struct option verb_output_options[] = {
    {"output", 'o', "FORMAT", "text (for people), json (indented) or jsonl (one line each)", .choices = "text json jsonl"}, {0}};
const struct option verb_server_options[] = {
    {"server", 0, "URL", "the server to speak to (or ROTA_SERVER; else http://127.0.0.1:7070)"}, {0}};

static const struct option none[] = {{0}};

// Does the verb have a --queue of its own? That one then takes the place of the filter.
static bool has_queue(const struct verb *verb)
{
    return verb->options && str_is(str_of(verb->options[0].name), "queue");
}

void verb_tables(const struct verb *verb, const struct option *ret_tables[OPTION_TABLES_MAX])
{
    size_t n = 0;
    if (verb->fields)
        ret_tables[n++] = verb_field_options;
    ret_tables[n++] = verb->options ? verb->options : none;
    if (verb->filters)
        ret_tables[n++] = verb_filter_options + has_queue(verb);
    if (verb->settings)
        ret_tables[n++] = settings_options();
    if (verb->server)
        ret_tables[n++] = verb_server_options;
    if (verb->output)
        ret_tables[n++] = verb_output_options;
    ret_tables[n++] = verb_help_options;
    ret_tables[n] = NULL;
}

const struct verb *verb_find(const char *name)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        if (str_is(str_of(name), (*verb)->name))
            return *verb;
    return NULL;
}

// Other tools call our verbs by these names.
static const struct {
    const char *ours, *others;
} synonyms[] = {
    {"list", "ls ps find search tasks"},
    {"list --jobs", "jobs"},
    {"list --queues", "queues queue"},
    {"get", "show status describe inspect info view logs result"},
    {"submit", "add create new enqueue schedule post push import load"},
    {"update", "change patch edit modify set alter reschedule rename"},
    {"apply", "declare deploy sync"},
    {"wait", "await join"},
    {"cancel", "kill stop abort"},
    {"delete", "rm remove del destroy purge forget"},
    {"run", "trigger exec execute"},
    {"retry", "rerun redo repeat requeue"},
    {"pause", "hold suspend"},
    {"resume", "unpause unhold continue release"},
    {"explain", "why"},
    {"cron", "crontab"},
    {"tail", "events watch follow"},
    {"stats", "metrics top"},
    {"serve", "start server daemon up"},
    {"backup", "dump export"},
    {"config", "settings"},
};

const char *verb_nearest(const char *name)
{
    for (size_t i = 0; i < array_count(synonyms); i++)
        if (options_has_word(synonyms[i].others, str_of(name)))
            return synonyms[i].ours;
    const char *names[array_count(verbs)];
    size_t count = 0;
    for (const struct verb *const *verb = verbs; *verb; verb++)
        names[count++] = (*verb)->name;
    return options_nearest(name, names, count);
}

int verb_read_count(const struct cli *cli, const char *option, int64_t *count)
{
    const char *value = options_get(&cli->options, option);
    char *end;
    if (!value)
        return CLI_OK;
    errno = 0;
    *count = strtoll(value, &end, 10);
    if (errno || end == value || *end || *count < 1)
        return verb_misused(cli, "--%s takes a whole number from 1 up, not %s", option, value);
    return CLI_OK;
}

int verb_read_time(struct cli *cli, const char *option, struct str *value)
{
    buf_auto struct buf time = {0};
    struct times_typed typed;
    int64_t now_ms = clock_now().wall_ms, ms;
    if (duration_parse(*value, &ms))
        typed = (struct times_typed){.ms = now_ms + ms};
    else if (!times_read_typed(&typed, *value, now_ms))
        return verb_misused(cli, "--%s takes a duration from now, such as 10m or 1h30m, or a time: %s; " STR_FMT " is none",
                            option, times_forms, STR_ARG(*value));
    times_put_note(&time, &typed, *value);
    terminal_talk(STR_FMT, STR_ARG(buf_str(&time)));
    time.n = 0;
    times_put_api(&time, typed.ms);
    *value = arena_copy(&cli->arena, buf_str(&time));
    return CLI_OK;
}

int verb_misused(const struct cli *cli, const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    terminal_talk("rota %s: %s\n(rota %s --help shows how it is used)\n", cli->verb->name, words, cli->verb->name);
    return CLI_USAGE;
}
