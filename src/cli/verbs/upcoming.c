// rota upcoming: what is planned over all tasks, earliest first.
#include "cli/verbs/listing.h"

static int run_upcoming(struct cli *cli)
{
    struct listing listing = {.none = "nothing is coming until then"};
    const char *until = options_get(&cli->options, "until");
    struct str time = until ? str_of(until) : (struct str){0};
    int code = until ? verb_read_time(cli, "until", &time) : CLI_OK;
    if (code)
        return code;
    buf_puts(&listing.path, "/v1/upcoming");
    if (until)
        call_put_query(&listing.path, STR("until"), time);
    return listing_run(&listing, cli, ROWS_UPCOMING);
}

static const struct option options[] = {
    {"until", 0, "TIME", "show what is planned up to this time, or for a duration such as 7d (24h)"},
    {"limit", 0, "N", "how many at most (50)"},
    {"all", 0, NULL, "all of them"},
    {"absolute", 0, NULL, "show times as date and time, not how far away they are"},
    {0},
};

const struct verb verb_upcoming = {
    .name = "upcoming",
    .args = "",
    .output = true,
    .server = true,
    .help = "List what is coming over all tasks, earliest first",
    .about =
        "These are jobs that wait for their time, and the instants of schedules that have no job yet, which are computed. What "
        "is paused is planned all the same, but begins only if it is resumed.",
    .example = "rota upcoming --until 7d --limit 20",
    .options = options,
    .run = run_upcoming};
