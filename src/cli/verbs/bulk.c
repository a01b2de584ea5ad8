// See bulk.h. A user who types filters is shown some of what matches, and asked; a script has to say --yes. The server then does
// it from rows that survive a restart, so it goes on when the user leaves.
#include "cli/verbs/bulk.h"

#include "cli/filter.h"
#include "cli/server/failure.h"
#include "cli/server/pages.h"
#include "cli/server/print.h"
#include "cli/server/wait.h"
#include "cli/show/rows.h"
#include "cli/show/terminal.h"

#include <unistd.h>

// How many are shown, and up to how many are counted. The API has no count, because that would read all of a large table; and a
// filter that little matches is not followed through all of one either.
enum { PREVIEW = 5, COUNTED_MAX = 100, PAGES_MAX = 20 };

struct seen {
    size_t count;
    bool more; // there may be more than those
};

// retry acts on jobs, every other command on tasks.
static enum rows_kind kind_of(const struct cli *cli)
{
    return str_is(str_of(cli->verb->name), "retry") ? ROWS_JOBS : ROWS_TASKS;
}

// Shows on stderr, which is talk, the newest of what matches, and counts on.
static int preview(struct caller *caller, struct cli *cli, struct seen *ret_seen)
{
    buf_auto struct buf path = {0};
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    show.colours = false;
    struct table table = rows_table(kind_of(cli), &show);
    buf_printf(&path, "/v1/%ss", rows_noun(kind_of(cli)));
    int code = filter_put_query(&path, cli);
    struct pages pages = {.caller = caller, .path = buf_str(&path)};
    *ret_seen = (struct seen){.more = true};
    for (int i = 0; code == CLI_OK && ret_seen->more && ret_seen->count < COUNTED_MAX && i < PAGES_MAX; i++) {
        struct reply reply;
        const struct value *items;
        bool shown = ret_seen->count < PREVIEW;
        code = pages_next(&pages, (int64_t)((shown ? PREVIEW : COUNTED_MAX) - ret_seen->count), &reply, &items);
        if (reply.code == CLI_OK && shown && value_item(items, 0))
            table_put(&out, &table, items, 0);
        ret_seen->count += value_count(items);
        ret_seen->more = pages.cursor.n;
        reply_done(&reply);
    }
    if (ret_seen->count > PREVIEW)
        buf_puts(&out, "…\n");
    terminal_talk(STR_FMT, STR_ARG(buf_str(&out)));
    return code;
}

// "12 tasks where queue=mail", "100 or more jobs where (everything)".
static int put_what(struct buf *buf, struct cli *cli, const struct seen *seen)
{
    const char *noun = rows_noun(kind_of(cli));
    if (seen && seen->count)
        buf_printf(buf, "%zu%s %s%s", seen->count, seen->more ? " or more" : "", noun,
                   seen->count == 1 && !seen->more ? "" : "s");
    else
        buf_printf(buf, "all %ss", noun);
    buf_puts(buf, " where ");
    return filter_put_words(buf, cli);
}

static bool says_yes(void)
{
    char line[16] = "";
    ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
    return n > 0 && (line[0] == 'y' || line[0] == 'Y');
}

static int refuse_unsaid(struct cli *cli)
{
    buf_auto struct buf what = {0};
    int code = put_what(&what, cli, NULL);
    return code
               ? code
               : verb_misused(cli, "this acts on " STR_FMT ": look at them with rota list%s and the same filters, then say --yes",
                              STR_ARG(buf_str(&what)), kind_of(cli) == ROWS_JOBS ? " --jobs" : "");
}

static int ask(struct cli *cli, const struct seen *seen, bool *ret_yes)
{
    buf_auto struct buf what = {0};
    int code = put_what(&what, cli, seen);
    if (code)
        return code;
    terminal_talk("%s " STR_FMT "? [y/N] ", cli->verb->name, STR_ARG(buf_str(&what)));
    *ret_yes = says_yes();
    if (!*ret_yes)
        terminal_talk("nothing was done\n");
    return *ret_yes ? CLI_OK : CLI_USAGE;
}

// Does the user want it? If not, *ret_code is the exit code.
static bool confirm(struct caller *caller, struct cli *cli, int *ret_code)
{
    struct seen seen;
    bool yes = options_get(&cli->options, "yes");
    if (yes)
        return true;
    if (!isatty(STDIN_FILENO) || !terminal_is_watched()) {
        *ret_code = refuse_unsaid(cli);
        return false;
    }
    *ret_code = preview(caller, cli, &seen);
    if (*ret_code != CLI_OK)
        return false;
    if (!seen.count && !seen.more)
        terminal_talk("(nothing matches)\n");
    else
        *ret_code = ask(cli, &seen, &yes);
    return yes;
}

static bool is_over(const struct value *bulk)
{
    return !str_is(value_text(value_at(bulk, "state")), "running");
}

static void put_progress(struct buf *line, const struct value *bulk, int64_t waited_ms)
{
    show_put_bulk_line(line, &(struct show){0}, bulk);
}

static void put_end(struct buf *out, const struct show *show, const struct value *bulk)
{
    show_put_bulk_line(out, show, bulk);
    buf_putc(out, '\n');
}

int bulk_follow(struct caller *caller, struct reply *reply)
{
    buf_auto struct buf path = {0};
    const char *id = arena_copy(caller->arena, value_text(value_at(reply->value, "id"))).p;
    if (!call_path(&path, id, "")) {
        terminal_talk("rota %s: what answers there is not a rota server (no id of a bulk came back)\n", caller->cli->verb->name);
        return CLI_UNREACHED;
    }
    if (terminal_is_watched())
        terminal_talk("%s has begun, and goes on when you leave; rota get %s shows it, rota cancel %s stops it\n", id, id, id);
    wait_end(caller, &(struct wait){.path = path.p, .ended = is_over, .put = put_progress}, reply);
    if (reply->code != CLI_OK)
        terminal_talk("rota %s: %s has begun, but how it ended is not known\n", caller->cli->verb->name, id);
    int code = print_reply(caller, reply, put_end);
    bool done = str_is(value_text(value_at(reply->value, "state")), "done") && !value_int(value_at(reply->value, "failed"), 0);
    return code ? code : done ? CLI_OK : CLI_REFUSED;
}

static int begin(struct caller *caller, struct cli *cli)
{
    buf_auto struct buf body = {0};
    struct reply reply;
    buf_printf(&body, "{\"action\":\"%s\",\"filter\":", cli->verb->name);
    int code = filter_put_json(&body, cli);
    buf_putc(&body, '}');
    if (code)
        return code;
    call(caller, "POST", "/v1/bulk", buf_str(&body), &reply);
    code = reply.code == CLI_OK ? bulk_follow(caller, &reply) : failure_tell(caller, &reply);
    reply_done(&reply);
    return code;
}

int bulk_run(struct cli *cli)
{
    struct caller caller;
    if (filter_given(&cli->options) && options_get(&cli->options, "all"))
        return verb_misused(cli, "--all is everything: give either it or filters");
    if (options_get(&cli->options, "running"))
        return verb_misused(cli, "--running is for tasks named by their ids");
    int code = call_open(&caller, cli);
    if (code == CLI_OK && confirm(&caller, cli, &code))
        code = begin(&caller, cli);
    call_close(&caller);
    return code;
}
