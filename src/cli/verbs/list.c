// rota list: tasks, jobs, queues or schedules, page by page, until as many were shown as were wanted.
#include "base/clock.h"
#include "cli/filter.h"
#include "cli/server/pages.h"
#include "cli/server/print.h"
#include "cli/show/rows.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "core/id.h"

enum { LIMIT_DEFAULT = 50 };

struct listing {
    struct caller caller;
    enum rows_kind kind;
    struct show show;
    struct table table;
    struct buf path; // with the filters
    struct pages pages;
    int64_t left, shown; // how many more may be shown
};

static int put_place(struct listing *listing, struct cli *cli)
{
    const char *task = options_get(&cli->options, "task");
    bool jobs = task || options_get(&cli->options, "jobs"), queues = options_get(&cli->options, "queues");
    bool schedules = options_get(&cli->options, "schedules");
    if (jobs + queues + schedules > 1)
        return verb_misused(cli, "--jobs, --queues and --schedules exclude each other");
    listing->kind = jobs ? ROWS_JOBS : queues ? ROWS_QUEUES : schedules ? ROWS_SCHEDULES : ROWS_TASKS;
    if (!task) {
        buf_printf(&listing->path, "/v1/%ss%s", rows_noun(listing->kind), schedules ? "?recurring=true" : "");
        return CLI_OK;
    }
    if (task[0] != ID_TASK || !call_path(&listing->path, task, "/jobs"))
        return verb_misused(cli, "--task takes the id of a task, which begins with t, not %s", task);
    listing->path.n--; // the NUL behind it
    return CLI_OK;
}

static int read_limit(struct listing *listing, struct cli *cli)
{
    bool all = options_get(&cli->options, "all");
    listing->left = all ? INT64_MAX : LIMIT_DEFAULT;
    if (all && options_get(&cli->options, "limit"))
        return verb_misused(cli, "--all and --limit exclude each other");
    return verb_read_count(cli, "limit", &listing->left);
}

// Output

static int print_table(struct listing *listing, const struct value *items)
{
    buf_auto struct buf out = {0};
    if (value_item(items, 0))
        table_put(&out, &listing->table, items, 0);
    return terminal_write(buf_str(&out));
}

static int print_items(struct listing *listing, struct str items)
{
    buf_auto struct buf out = {0};
    struct str item;
    for (bool first = !listing->shown; text_json_next(&items, &item); first = false)
        print_put_item(&out, listing->caller.cli, first, item);
    return terminal_write(buf_str(&out));
}

static int print_end(const struct listing *listing)
{
    if (listing->caller.cli->output != OUTPUT_TEXT)
        return print_items_end(listing->caller.cli, !listing->shown);
    if (!listing->shown && terminal_is_watched())
        terminal_talk("(no %s matches)\n", rows_noun(listing->kind));
    if (listing->pages.cursor.n)
        terminal_talk("(there are more: --limit N or --all)\n");
    return CLI_OK;
}

static int take_page(struct listing *listing, const struct reply *reply, const struct value *items)
{
    int code = listing->caller.cli->output == OUTPUT_TEXT
                   ? print_table(listing, items)
                   : print_items(listing, text_json_member(buf_str(&reply->body), "items"));
    int64_t count = (int64_t)value_count(items);
    listing->shown += count;
    listing->left -= time_min(count, listing->left);
    return code;
}

static int follow(struct listing *listing)
{
    int code;
    listing->pages = (struct pages){.caller = &listing->caller, .path = buf_str(&listing->path)};
    do {
        struct reply reply;
        const struct value *items;
        code = pages_next(&listing->pages, listing->left, &reply, &items);
        int taken = reply.code == CLI_OK ? take_page(listing, &reply, items) : CLI_OK;
        code = taken ? taken : code;
        reply_done(&reply);
    } while (code == CLI_OK && listing->pages.cursor.n && listing->left > 0);
    return code ? code : print_end(listing);
}

static int run_list(struct cli *cli)
{
    struct listing listing = {.show = terminal_show()};
    int code = put_place(&listing, cli);
    code = code ? code : filter_put_query(&listing.path, cli);
    code = code ? code : read_limit(&listing, cli);
    code = code ? code : call_open(&listing.caller, cli);
    listing.show.absolute = options_get(&cli->options, "absolute");
    listing.table = rows_table(listing.kind, &listing.show);
    if (!code)
        code = follow(&listing);
    call_close(&listing.caller);
    buf_done(&listing.path);
    return code;
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
