// rota cron tzdiff: which planned runs another tzdata would move. The server says what is planned; what the other tzdata makes of
// it is reckoned here, from its files, so that it can be known before any server has it.
#include "cli/verbs/cron_tzdiff.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/server/pages.h"
#include "cli/server/print.h"
#include "cli/show/member.h"
#include "cli/show/table.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/show/times.h"
#include "cli/tzdiff.h"
#include "cli/zone_folder.h"
#include "core/id.h"
#include "core/task/task.h"

#include <stdio.h>

struct tzdiff {
    struct caller caller;
    struct zone_folder zones;
    struct show show;
    struct table table;
    int64_t now_ms;
    int64_t looked, tasks, moved; // tasks that were looked at, those of which runs move, and these runs
    struct buf rows;              // of the page at hand: a JSON array without its end
};

static const struct table_column columns[] = {
    {"task", member_put_text, "task_id"},
    {"name", member_put_text, "name", .rank = 1, .least = 8},
    {"time zone", member_put_text, "timezone", .rank = 2, .least = 10},
    {"planned for", member_put_text, "from"},
    {"moves to", member_put_text, "to"},
    {"", member_put_text, "note", .rank = 1, .least = 20},
};

// ---- what moves

static void put_time(struct buf *buf, const char *name, int64_t ms)
{
    buf_printf(buf, ",\"%s\":", name);
    if (!ms) {
        buf_puts(buf, "null");
        return;
    }
    buf_putc(buf, '"');
    times_put_api(buf, ms);
    buf_putc(buf, '"');
}

static void put_row(struct tzdiff *tzdiff, const struct value *task, struct tzdiff_move move, const char *note)
{
    struct buf *rows = &tzdiff->rows;
    struct str name = value_text(value_at(task, "name"));
    buf_puts(rows, rows->n ? ",{\"task_id\":" : "[{\"task_id\":");
    json_put_string(rows, value_text(value_at(task, "id")));
    buf_puts(rows, ",\"name\":");
    if (name.p)
        json_put_string(rows, name);
    else
        buf_puts(rows, "null");
    buf_puts(rows, ",\"timezone\":");
    json_put_string(rows, value_text(value_at(task, "timezone")));
    put_time(rows, "from", move.from);
    put_time(rows, "to", move.to);
    buf_puts(rows, ",\"note\":");
    if (note)
        json_put_string(rows, str_of(note));
    else
        buf_puts(rows, "null");
    buf_putc(rows, '}');
    tzdiff->moved++;
}

// The fields that say when a task runs, as a document that core can read.
static struct str schedule_doc(struct str task, struct arena *arena)
{
    static const char *const names[] = {"name", "cron", "timezone", "dst_gap", "dst_overlap", "exclude", "starts_at", "ends_at"};
    buf_auto struct buf doc = {0};
    buf_puts(&doc, "{\"url\":\"http://localhost/\"");
    for (size_t i = 0; i < array_count(names); i++) {
        struct str given = text_json_member(task, names[i]);
        if (given.n && !str_is(given, "null"))
            buf_printf(&doc, ",\"%s\":" STR_FMT, names[i], STR_ARG(given));
    }
    buf_putc(&doc, '}');
    return arena_copy(arena, buf_str(&doc));
}

// Its planned instants that lie ahead, in order. The list of the server has the latest first.
static int read_planned(struct tzdiff *tzdiff, struct str id, int64_t ret_planned[TZDIFF_MAX], size_t *ret_count)
{
    buf_auto struct buf path = {0};
    struct reply reply;
    const struct value *jobs, *job;
    int64_t at;
    *ret_count = 0;
    buf_printf(&path, "/v1/tasks/" STR_FMT "/jobs", STR_ARG(id));
    struct pages pages = {.caller = &tzdiff->caller, .path = buf_str(&path)};
    int code = pages_next(&pages, TZDIFF_MAX, &reply, &jobs);
    for (size_t i = value_count(jobs); !code && i-- > 0;) {
        job = value_item(jobs, i);
        bool scheduled =
            str_is(value_text(value_at(job, "trigger")), "schedule") && str_is(value_text(value_at(job, "state")), "delayed");
        if (scheduled && times_read(job, "nominal_at", &at) && at > tzdiff->now_ms && *ret_count < TZDIFF_MAX)
            ret_planned[(*ret_count)++] = at;
    }
    reply_done(&reply);
    return code;
}

// The schedule of a task as the other tzdata has it. False: it cannot be known; `why` says why.
static bool read_schedule(const struct tzdiff *tzdiff, const struct value *task, struct str doc, struct arena *arena,
                          struct schedule *ret_schedule, char why[ERR_WHY_MAX])
{
    struct task parsed;
    struct problem problem = {0};
    int64_t id = 0, created_at = 0;
    id_parse(value_text(value_at(task, "id")), ID_TASK, &id);
    times_read(task, "created_at", &created_at);
    if (!task_read(&parsed, schedule_doc(doc, arena), arena, why))
        return false;
    const struct zone *zone = zone_folder_find(&tzdiff->zones, parsed.recurs->timezone, arena, why);
    if (!zone)
        return false;
    enum err err = task_schedule(&parsed, id, created_at, zone, arena, ret_schedule, &problem);
    if (err)
        snprintf(why, ERR_WHY_MAX, "%s", problem.detail);
    return !err;
}

static void compare(struct tzdiff *tzdiff, const struct value *task, struct str doc, const int64_t *planned, size_t count)
{
    struct tzdiff_move moves[TZDIFF_MAX];
    struct arena arena;
    struct schedule schedule;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    if (read_schedule(tzdiff, task, doc, &arena, &schedule, why)) {
        size_t found = tzdiff_moves(&schedule, planned, count, tzdiff->now_ms, moves);
        for (size_t i = 0; i < found; i++)
            put_row(tzdiff, task, moves[i], NULL);
    } else {
        put_row(tzdiff, task, (struct tzdiff_move){planned[0], 0}, why);
    }
    arena_done(&arena);
}

static int look_at(struct tzdiff *tzdiff, const struct value *task, struct str doc)
{
    int64_t planned[TZDIFF_MAX], moved = tzdiff->moved;
    size_t count;
    struct str id = value_text(value_at(task, "id")), zone = value_text(value_at(task, "timezone"));
    if (!value_text(value_at(task, "cron")).p || !zone.n || str_is(zone, "UTC"))
        return CLI_OK;
    int code = read_planned(tzdiff, id, planned, &count);
    tzdiff->looked++;
    if (!code && count)
        compare(tzdiff, task, doc, planned, count);
    tzdiff->tasks += tzdiff->moved > moved;
    return code;
}

// ---- output

static int print_rows(struct tzdiff *tzdiff, bool first)
{
    buf_auto struct buf out = {0}, all = {0};
    struct str rows, row;
    if (!tzdiff->rows.n)
        return CLI_OK;
    buf_putc(&tzdiff->rows, ']');
    rows = buf_str(&tzdiff->rows);
    if (tzdiff->caller.cli->output == OUTPUT_TEXT) {
        buf_printf(&all, "{\"items\":" STR_FMT "}", STR_ARG(rows));
        struct value *value = value_parse(buf_str(&all));
        table_put(&out, &tzdiff->table, value_at(value, "items"), 0);
        value_free(value);
    } else {
        for (; text_json_next(&rows, &row); first = false)
            print_put_item(&out, tzdiff->caller.cli, first, row);
    }
    return terminal_write(buf_str(&out));
}

static int print_end(const struct tzdiff *tzdiff)
{
    int code = tzdiff->caller.cli->output == OUTPUT_TEXT ? CLI_OK : print_items_end(tzdiff->caller.cli, !tzdiff->moved);
    if (tzdiff->moved)
        terminal_talk("tzdata %s moves planned runs: %lld, of tasks: %lld (of %lld in time zones)\n", tzdiff->zones.list.version,
                      (long long)tzdiff->moved, (long long)tzdiff->tasks, (long long)tzdiff->looked);
    else
        terminal_talk("tzdata %s moves no planned run (tasks in time zones: %lld)\n", tzdiff->zones.list.version,
                      (long long)tzdiff->looked);
    return code;
}

static int take_page(struct tzdiff *tzdiff, const struct reply *reply, const struct value *items)
{
    struct str docs = text_json_member(buf_str(&reply->body), "items"), doc;
    bool first = !tzdiff->moved;
    int code = CLI_OK;
    tzdiff->rows.n = 0;
    for (size_t i = 0; !code && text_json_next(&docs, &doc); i++)
        code = look_at(tzdiff, value_item(items, i), doc);
    return code ? code : print_rows(tzdiff, first);
}

static int follow(struct tzdiff *tzdiff)
{
    struct pages pages = {.caller = &tzdiff->caller, .path = STR("/v1/tasks?recurring=true")};
    int code;
    do {
        struct reply reply;
        const struct value *items;
        code = pages_next(&pages, PAGES_LIMIT_MAX, &reply, &items);
        int taken = reply.code == CLI_OK ? take_page(tzdiff, &reply, items) : CLI_OK;
        code = taken ? taken : code;
        reply_done(&reply);
    } while (!code && pages.cursor.n);
    return code ? code : print_end(tzdiff);
}

// ---- what was typed

static int check_options(const struct cli *cli)
{
    for (size_t i = 0; i < cli->options.count; i++) {
        struct str name = str_of(cli->options.given[i]->name);
        if (!str_is(name, "zoneinfo") && !str_is(name, "server") && !str_is(name, "output"))
            return verb_misused(cli, "--%s is not for tzdiff, which takes --zoneinfo", name.p);
    }
    if (cli->options.arg_count > 1)
        return verb_misused(cli, "%s is one argument too many: rota cron tzdiff --zoneinfo DIR", cli->options.args[1]);
    return CLI_OK;
}

int cron_tzdiff_run(struct cli *cli)
{
    const char *dir = options_get(&cli->options, "zoneinfo");
    struct tzdiff tzdiff = {.show = terminal_show(), .now_ms = clock_now().wall_ms};
    int code = check_options(cli);
    if (code)
        return code;
    if (!zone_folder_open(&tzdiff.zones, dir, &cli->arena))
        return verb_misused(cli, "%s has no tzdata: there is no file tzdata.zi that says its version", tzdiff.zones.dir);
    tzdiff.table = (struct table){.columns = columns, .count = array_count(columns), .show = &tzdiff.show};
    code = call_open(&tzdiff.caller, cli);
    code = code ? code : follow(&tzdiff);
    call_close(&tzdiff.caller);
    buf_done(&tzdiff.rows);
    return code;
}
