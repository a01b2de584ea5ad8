// See feed.h. Tasks go in parts, each an array of one commit, so that one lost answer leaves little in doubt, and nobody else's
// submits wait long behind one.
//
// What the server says it did not do is sent again for a while. An answer that got lost is another matter: the part may have been
// taken. It is sent again only if each of its tasks has a key; else it ends there, and says which tasks are in doubt.
#include "cli/verbs/feed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

#include <stdio.h>

enum {
    PART_TASKS = 2000,
    PART_BYTES = 4 << 20,
    TOLD_MAX = 20, // refusals that are told one by one
    AGAIN_MS_MIN = 200,
    AGAIN_MS_MAX = 5000,
    AWAY_MS_MAX = 30000,
};

// A document of the part: those with an error are not sent.
struct slot {
    size_t number;
    enum err err;
    const char *why;
};

struct feed {
    struct caller caller;
    const char *path;
    struct documents documents;
    struct arena arena; // of the part
    struct buf part;    // the array, not closed
    struct slot slots[PART_TASKS];
    size_t count, sent; // slots, and those of them in the array
    bool keyed;         // all of them have a key
    uint64_t taken, refused, shown;
    int64_t began_ms;
};

// ---- words

// "tasks.ndjson:37", "tasks.json[3]"
static void put_place(struct buf *buf, const struct feed *feed, size_t number)
{
    buf_puts(buf, str_is(str_of(feed->path), "-") ? "stdin" : feed->path);
    buf_printf(buf, feed->documents.lines ? ":%zu" : "[%zu]", number);
}

static void put_bar(struct buf *line, const struct documents *documents)
{
    enum { CELLS = 24 };
    if (!documents->size)
        return;
    uint64_t given = documents->given < documents->size ? documents->given : documents->size;
    size_t full = (size_t)(given * CELLS / documents->size);
    buf_putc(line, '[');
    for (size_t i = 0; i < CELLS; i++)
        buf_putc(line, i < full ? '#' : '.');
    buf_printf(line, "] %3d %%  ", (int)(given * 100 / documents->size));
}

static void put_counts(struct buf *line, const struct feed *feed)
{
    buf_printf(line, "%llu taken, %llu refused", (unsigned long long)feed->taken, (unsigned long long)feed->refused);
}

static void show_progress(const struct feed *feed, const char *more)
{
    buf_auto struct buf line = {0};
    int64_t ms = clock_now().mono_ms - feed->began_ms;
    put_bar(&line, &feed->documents);
    put_counts(&line, feed);
    if (ms > 0)
        buf_printf(&line, "  %lld a second", (long long)(feed->taken * 1000 / (uint64_t)ms));
    buf_puts(&line, more);
    terminal_progress(buf_str(&line));
}

static void tell_refusal(struct feed *feed, size_t number, struct str detail, struct str field)
{
    buf_auto struct buf line = {0};
    if (feed->refused++ >= TOLD_MAX)
        return;
    put_place(&line, feed, number);
    buf_puts(&line, ": ");
    text_put_short(&line, detail, 400);
    if (field.n) {
        buf_puts(&line, " (");
        text_put_short(&line, field, 100);
        buf_putc(&line, ')');
    }
    terminal_talk(STR_FMT "\n", STR_ARG(buf_str(&line)));
    if (feed->refused == TOLD_MAX)
        terminal_talk("(further refusals are only counted; -o jsonl has them all)\n");
}

// ---- what came of a part

// One line of -o jsonl, or an item of -o json's array: where the task stands, and the server's words about it.
static void put_item(struct buf *out, struct feed *feed, size_t number, struct str object)
{
    buf_auto struct buf json = {0};
    buf_printf(&json, "{\"%s\":%zu,", feed->documents.lines ? "line" : "index", number);
    buf_put(&json, (struct str){object.p + 1, object.n - 1});
    print_put_item(out, feed->caller.cli, !feed->shown, buf_str(&json));
    feed->shown++;
}

static void put_unsent(struct buf *out, struct feed *feed, const struct slot *slot)
{
    buf_auto struct buf object = {0};
    tell_refusal(feed, slot->number, str_of(slot->why), (struct str){0});
    if (feed->caller.cli->output == OUTPUT_TEXT)
        return;
    buf_printf(&object, "{\"error\":{\"code\":\"%s\",\"detail\":", err_info(slot->err)->code);
    json_put_string(&object, str_of(slot->why));
    buf_puts(&object, "}}");
    put_item(out, feed, slot->number, buf_str(&object));
}

static void put_sent(struct buf *out, struct feed *feed, const struct slot *slot, const struct value *result, struct str object)
{
    struct str id = value_text(value_at(result, "id"));
    if (id.n)
        feed->taken++;
    else
        tell_refusal(feed, slot->number, value_text(value_at(result, "error.detail")),
                     value_text(value_at(result, "error.field")));
    if (feed->caller.cli->output != OUTPUT_TEXT) {
        put_item(out, feed, slot->number, object);
    } else if (id.n) {
        text_put_short(out, id, 64);
        buf_putc(out, '\n');
    }
}

// The results stand in the order of what was sent, with those between them that were not.
static int show_part(struct feed *feed, const struct reply *reply)
{
    buf_auto struct buf out = {0};
    const struct value *results = value_at(reply->value, "results");
    struct str rest = text_json_member(buf_str(&reply->body), "results"), object = STR("{}");
    terminal_progress((struct str){0});
    for (size_t i = 0, at = 0; i < feed->count; i++) {
        const struct slot *slot = &feed->slots[i];
        if (slot->err) {
            put_unsent(&out, feed, slot);
            continue;
        }
        const struct value *result = value_item(results, at++);
        if (!result || !text_json_next(&rest, &object)) {
            terminal_talk("rota submit: what answers there is not a rota server (a result is missing)\n");
            return CLI_UNREACHED;
        }
        put_sent(&out, feed, slot, result, object);
    }
    return terminal_write(buf_str(&out));
}

// ---- sending

static void post_part(struct feed *feed, struct reply *ret_reply)
{
    int64_t began = clock_now().mono_ms;
    for (int64_t ms = AGAIN_MS_MIN;; ms = time_min(ms * 2, AGAIN_MS_MAX)) {
        call(&feed->caller, "POST", "/v1/tasks", buf_str(&feed->part), ret_reply);
        bool safe = feed->keyed || ret_reply->status || !ret_reply->asked;
        // A server that never answered is not waited for.
        if (!reply_may_retry(ret_reply) || !safe || (!ret_reply->status && !feed->taken) ||
            clock_now().mono_ms - began > AWAY_MS_MAX)
            return;
        reply_done(ret_reply);
        show_progress(feed, "  the server is away, trying again");
        call_pause(ms);
    }
}

static int explain_doubt(const struct feed *feed, const struct reply *reply)
{
    buf_auto struct buf from = {0};
    buf_auto struct buf to = {0};
    put_place(&from, feed, feed->slots[0].number);
    put_place(&to, feed, feed->slots[feed->count - 1].number);
    call_explain(&feed->caller, reply);
    if (reply->code == CLI_UNREACHED && reply->asked)
        terminal_talk("  from " STR_FMT " to " STR_FMT
                      " it is not known what was taken, because no answer came; with a key in each "
                      "task the same could be sent again\n",
                      STR_ARG(buf_str(&from)), STR_ARG(buf_str(&to)));
    else
        terminal_talk("  from " STR_FMT " on nothing was taken\n", STR_ARG(buf_str(&from)));
    return reply->code;
}

static int send_part(struct feed *feed)
{
    struct reply reply = {.code = CLI_OK};
    buf_putc(&feed->part, ']');
    if (feed->sent)
        post_part(feed, &reply);
    terminal_progress((struct str){0});
    int code = reply.code == CLI_OK ? show_part(feed, &reply) : explain_doubt(feed, &reply);
    reply_done(&reply);
    show_progress(feed, "");
    arena_done(&feed->arena);
    arena_init(&feed->arena);
    feed->part.n = feed->count = feed->sent = 0;
    feed->keyed = true;
    return code;
}

static void add(struct feed *feed, const struct document *document)
{
    struct slot *slot = &feed->slots[feed->count++];
    *slot = (struct slot){.number = document->number};
    if (document->err) {
        slot->err = document->err;
        slot->why = arena_copy(&feed->arena, str_of(document->why)).p;
        return;
    }
    buf_putc(&feed->part, feed->sent++ ? ',' : '[');
    buf_put(&feed->part, document->json.raw);
    feed->keyed = feed->keyed && json_member(document->json, STR("key")).type == JSON_STRING;
}

static int send_all(struct feed *feed)
{
    struct document document;
    int code = CLI_OK;
    while (code == CLI_OK && documents_next(&feed->documents, &document)) {
        if (feed->count == PART_TASKS || (feed->count && feed->part.n + document.json.raw.n + 2 > PART_BYTES))
            code = send_part(feed);
        if (code == CLI_OK)
            add(feed, &document);
    }
    if (code == CLI_OK && feed->count)
        code = send_part(feed);
    if (code == CLI_OK && feed->documents.error) {
        terminal_talk("rota submit: %s cannot be read to its end: %s\n", feed->path, strerror(feed->documents.error));
        code = CLI_USAGE;
    }
    return code;
}

static int finish(struct feed *feed, int code)
{
    buf_auto struct buf counts = {0};
    terminal_progress((struct str){0});
    int end = print_items_end(feed->caller.cli, !feed->shown);
    code = code ? code : end;
    put_counts(&counts, feed);
    terminal_talk(STR_FMT "\n", STR_ARG(buf_str(&counts)));
    return code ? code : feed->refused ? CLI_REFUSED : CLI_OK;
}

static int feed_open(struct feed *feed, struct cli *cli)
{
    char why[ERR_WHY_MAX];
    int code = call_open(&feed->caller, cli);
    if (code)
        return code;
    if (!documents_open(&feed->documents, feed->path, why))
        return verb_misused(cli, "nothing was sent: %s: %s", feed->path, why);
    return CLI_OK;
}

int feed_run(struct cli *cli, const char *path)
{
    struct feed *feed = mem_zero(sizeof *feed);
    *feed = (struct feed){.path = path, .keyed = true, .began_ms = clock_now().mono_ms, .documents.fd = -1};
    arena_init(&feed->arena);
    int code = feed_open(feed, cli);
    if (code == CLI_OK)
        code = finish(feed, send_all(feed));
    documents_close(&feed->documents);
    call_close(&feed->caller);
    buf_done(&feed->part);
    arena_done(&feed->arena);
    mem_free(feed);
    return code;
}
