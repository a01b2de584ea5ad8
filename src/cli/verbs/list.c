// rota list: tasks, jobs, queues or schedules.
#include "cli/filter.h"
#include "cli/verbs/listing.h"
#include "core/id.h"

static int put_place(struct listing *listing, struct cli *cli, enum rows_kind *ret_kind)
{
    const char *task = options_get(&cli->options, "task");
    bool jobs = task || options_get(&cli->options, "jobs"), queues = options_get(&cli->options, "queues");
    bool schedules = options_get(&cli->options, "schedules");
    if (jobs + queues + schedules > 1)
        return verb_misused(cli, "--jobs, --queues and --schedules exclude each other");
    *ret_kind = jobs ? ROWS_JOBS : queues ? ROWS_QUEUES : schedules ? ROWS_SCHEDULES : ROWS_TASKS;
    if (!task) {
        buf_printf(&listing->path, "/v1/%ss%s", rows_noun(*ret_kind), schedules ? "?recurring=true" : "");
        return CLI_OK;
    }
    if (task[0] != ID_TASK || !call_path(&listing->path, task, "/jobs"))
        return verb_misused(cli, "--task takes the id of a task, which begins with t, not %s", task);
    listing->path.n--; // the NUL behind it
    return CLI_OK;
}

static int run_list(struct cli *cli)
{
    struct listing listing = {0};
    enum rows_kind kind = ROWS_TASKS;
    int code = put_place(&listing, cli, &kind);
    code = code ? code : filter_put_query(&listing.path, cli);
    if (code) {
        buf_done(&listing.path);
        return code;
    }
    listing.none = arena_printf(&cli->arena, "no %s matches", rows_noun(kind)).p;
    return listing_run(&listing, cli, kind);
}

static const struct option options[] = {
    {"jobs", 0, NULL, "list jobs, not tasks"},
    {"queues", 0, NULL, "list queues, what waits in them and whether they are paused"},
    {"schedules", 0, NULL, "list recurring tasks: when they run, ran last and run next"},
    {"task", 0, "ID", "list the jobs of this task"},
    {"limit", 0, "N", "how many at most (50)"},
    {"all", 0, NULL, "all that match"},
    {"absolute", 0, NULL, "show times as date and time, not how far away they are"},
    {0},
};

const struct verb verb_list = {.name = "list",
                               .args = "",
                               .output = true,
                               .server = true,
                               .help = "List tasks, jobs, queues or schedules, newest first",
                               .about = "On a terminal the table is made to fit; elsewhere nothing is shortened. -o json is one "
                                        "array, -o jsonl one object a line.",
                               .example = "rota list --jobs --state aborted --limit 10",
                               .options = options,
                               .filters = true,
                               .run = run_list};
