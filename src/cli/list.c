// rota list: tasks, jobs or queues, page by page, until as many were shown as were wanted.
//
// A page may have fewer items than its limit, even none, while there are more: the server has then looked through as much as it
// looks through at once. So pages are followed until `next` is null.
#include "base/clock.h"
#include "base/mem.h"
#include "cli/call.h"
#include "cli/rows.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/times.h"
#include "core/id.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 50, PAGE_MAX = 1000 };

struct listing {
    struct caller caller;
    enum rows_kind kind;
    struct show show;
    struct table table;
    struct buf path;     // with the filters, without limit and cursor
    int64_t left, shown; // how many more may be shown
    struct str cursor;   // the next page's
};

// A name of the API for an option. Values that people write in another manner than the API are made fit for it.
struct filter {
    const char *option, *parameter;
};

static const struct filter filters[] = {{"state", "state"}, {"queue", "queue"}, {"name", "name"}};

static void put_label(struct buf *path, const char *label, const char *equals, struct arena *arena)
{
    struct str name = arena_printf(arena, "label.%.*s", (int)(equals - label), label);
    call_put_query(path, name, str_of(equals + 1));
}

static int put_filters(struct buf *path, struct cli *cli)
{
    const struct options *options = &cli->options;
    for (size_t i = 0; i < array_count(filters); i++)
        if (options_get(options, filters[i].option))
            call_put_query(path, str_of(filters[i].parameter), str_of(options_get(options, filters[i].option)));
    const char *due = options_get(options, "due-before");
    if (due) {
        buf_auto struct buf time = {0};
        times_put_api_time(&time, str_of(due), clock_now().wall_ms);
        call_put_query(path, STR("due_before"), buf_str(&time));
    }
    for (size_t i = 0; i < options->count; i++) {
        if (!str_is(str_of(options->given[i]->name), "label"))
            continue;
        const char *label = options->values[i], *equals = strchr(label, '=');
        if (!equals || equals == label)
            return verb_misused(cli, "--label takes NAME=VALUE, not %s", label);
        put_label(path, label, equals, &cli->arena);
    }
    return CLI_OK;
}

static int put_place(struct listing *listing, struct cli *cli)
{
    static const char *const places[] = {[ROWS_TASKS] = "/v1/tasks", [ROWS_JOBS] = "/v1/jobs", [ROWS_QUEUES] = "/v1/queues"};
    const char *task = options_get(&cli->options, "task");
    bool jobs = task || options_get(&cli->options, "jobs"), queues = options_get(&cli->options, "queues");
    if (jobs && queues)
        return verb_misused(cli, "--jobs and --queues exclude each other");
    listing->kind = jobs ? ROWS_JOBS : queues ? ROWS_QUEUES : ROWS_TASKS;
    if (!task) {
        buf_puts(&listing->path, places[listing->kind]);
        return CLI_OK;
    }
    if (task[0] != ID_TASK || !call_path(&listing->path, task, "/jobs"))
        return verb_misused(cli, "--task takes the id of a task, which begins with t, not %s", task);
    listing->path.n--; // the NUL behind it
    return CLI_OK;
}

static int read_limit(struct listing *listing, struct cli *cli)
{
    const char *limit = options_get(&cli->options, "limit");
    bool all = options_get(&cli->options, "all");
    listing->left = all ? INT64_MAX : LIMIT_DEFAULT;
    if (!limit)
        return CLI_OK;
    if (all)
        return verb_misused(cli, "--all and --limit exclude each other");
    char *end;
    errno = 0;
    listing->left = strtoll(limit, &end, 10);
    if (errno || end == limit || *end || listing->left < 1)
        return verb_misused(cli, "--limit takes a whole number from 1 up, not %s", limit);
    return CLI_OK;
}

// Output

static int print_table(struct listing *listing, const struct value *items)
{
    buf_auto struct buf out = {0};
    if (value_item(items, 0))
        table_put(&out, &listing->table, items, 0);
    return terminal_write(buf_str(&out));
}

// One document of all pages: an array, which is closed at the end. Or a line for each.
static int print_items(struct listing *listing, struct str items)
{
    buf_auto struct buf out = {0};
    struct str item;
    bool lines = listing->caller.cli->output == OUTPUT_JSONL;
    for (int64_t shown = listing->shown; text_json_next(&items, &item); shown++) {
        buf_auto struct buf one = {0};
        text_put_json(&one, item, !lines);
        if (!lines)
            buf_puts(&out, shown ? ",\n" : "[\n");
        buf_put(&out, buf_str(&one));
        if (lines)
            buf_putc(&out, '\n');
    }
    return terminal_write(buf_str(&out));
}

static int print_end(const struct listing *listing)
{
    if (listing->caller.cli->output == OUTPUT_JSON)
        return terminal_write(listing->shown ? STR("\n]\n") : STR("[]\n"));
    bool watched = listing->caller.cli->output == OUTPUT_TEXT && terminal_is_watched();
    static const char *const names[] = {[ROWS_TASKS] = "task", [ROWS_JOBS] = "job", [ROWS_QUEUES] = "queue"};
    if (watched && !listing->shown)
        terminal_talk("(no %s matches)\n", names[listing->kind]);
    if (listing->cursor.n && listing->caller.cli->output == OUTPUT_TEXT)
        terminal_talk("(there are more: --limit N or --all)\n");
    return CLI_OK;
}

// Pages

static void get_page(struct listing *listing, struct reply *ret_reply)
{
    buf_auto struct buf path = {0};
    char limit[24];
    buf_put(&path, buf_str(&listing->path));
    snprintf(limit, sizeof limit, "%d", (int)time_min(listing->left, PAGE_MAX));
    call_put_query(&path, STR("limit"), str_of(limit));
    if (listing->cursor.n)
        call_put_query(&path, STR("cursor"), listing->cursor);
    buf_putc(&path, 0);
    call(&listing->caller, "GET", path.p, (struct str){0}, ret_reply);
}

// A cursor that does not move would be followed for ever.
static bool move_on(struct listing *listing, const struct value *page)
{
    struct str next = value_text(value_at(page, "next"));
    bool moves = next.n == 0 || !str_eq(next, listing->cursor);
    listing->cursor = next.n ? arena_copy(listing->caller.arena, next) : next;
    return moves;
}

static size_t count_items(const struct value *items)
{
    size_t count = 0;
    while (value_item(items, count))
        count++;
    return count;
}

static int take_page(struct listing *listing, struct reply *reply)
{
    if (reply->code != CLI_OK)
        return call_explain(&listing->caller, reply);
    const struct value *items = value_at(reply->value, "items");
    int code = listing->caller.cli->output == OUTPUT_TEXT
                   ? print_table(listing, items)
                   : print_items(listing, text_json_member(buf_str(&reply->body), "items"));
    int64_t count = (int64_t)count_items(items);
    listing->shown += count;
    listing->left -= time_min(count, listing->left);
    if (!code && !move_on(listing, reply->value)) {
        terminal_talk("rota list: the server gave the same cursor twice, so the list is not complete\n");
        code = CLI_REFUSED;
    }
    return code;
}

static int follow(struct listing *listing)
{
    int code;
    do {
        struct reply reply;
        get_page(listing, &reply);
        code = take_page(listing, &reply);
        reply_done(&reply);
    } while (code == CLI_OK && listing->cursor.n && listing->left > 0);
    return code ? code : print_end(listing);
}

static int run_list(struct cli *cli)
{
    struct listing listing = {.show = terminal_show()};
    int code = put_place(&listing, cli);
    code = code ? code : put_filters(&listing.path, cli);
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
    {"task", 0, "ID", "list the jobs of this task"},
    {"state", 0, "STATE", "only those in this state: of tasks active, paused, done, cancelled; of jobs as in docs/states.md",
     .choices = "active paused done blocked delayed ready watching reserved success aborted buried cancelled"},
    {"queue", 0, "NAME", "only those in this queue"},
    {"name", 0, "NAME", "only those of exactly this name"},
    {"label", 0, "NAME=VALUE", "only those with this label; several: with all of them", true},
    {"due-before", 0, "TIME", "only those due before: 2030-01-31T09:00:00Z, or from now: 10m 1h30m"},
    {"limit", 0, "N", "how many at most (50)"},
    {"all", 0, NULL, "all that match"},
    {"absolute", 0, NULL, "show times as date and time, not how far away they are"},
    {0},
};

const struct verb verb_list = {.name = "list",
                               .args = "",
                               .output = true,
                               .server = true,
                               .help = "List tasks, jobs or queues, newest first",
                               .about = "On a terminal the table is made to fit; elsewhere nothing is shortened. -o json is one "
                                        "array, -o jsonl one object a line.",
                               .example = "rota list --jobs --state aborted --limit 10",
                               .options = options,
                               .run = run_list};
