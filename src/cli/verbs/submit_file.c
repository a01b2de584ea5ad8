// See submit_file.h. Tasks go in parts, each an array of one commit, so that one lost answer leaves little in doubt, and nobody
// else's submits wait long behind one.
//
// A part that the server says it did not take is sent again for a while. An answer that got lost is another matter: the part may
// have been taken. It is sent again only if each of its tasks has a key; else the sending ends there, and says which tasks are in
// doubt.
#include "cli/verbs/submit_file.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/server/failure.h"
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

struct sending {
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

// Words

// "tasks.ndjson:37", "tasks.json[3]"
static void put_place(struct buf *buf, const struct sending *sending, size_t number)
{
    buf_puts(buf, str_is(str_of(sending->path), "-") ? "stdin" : sending->path);
    buf_printf(buf, sending->documents.lines ? ":%zu" : "[%zu]", number);
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

static void put_counts(struct buf *line, const struct sending *sending)
{
    buf_printf(line, "%llu taken, %llu refused", (unsigned long long)sending->taken, (unsigned long long)sending->refused);
}

static void show_progress(const struct sending *sending, const char *more)
{
    buf_auto struct buf line = {0};
    int64_t ms = clock_now().mono_ms - sending->began_ms;
    put_bar(&line, &sending->documents);
    put_counts(&line, sending);
    if (ms > 0)
        buf_printf(&line, "  %lld a second", (long long)(sending->taken * 1000 / (uint64_t)ms));
    buf_puts(&line, more);
    terminal_progress(buf_str(&line));
}

static void tell_refusal(struct sending *sending, size_t number, struct str detail, struct str field)
{
    buf_auto struct buf line = {0};
    if (sending->refused++ >= TOLD_MAX)
        return;
    put_place(&line, sending, number);
    buf_puts(&line, ": ");
    text_put_short(&line, detail, 400);
    if (field.n) {
        buf_puts(&line, " (");
        text_put_short(&line, field, 100);
        buf_putc(&line, ')');
    }
    terminal_talk(STR_FMT "\n", STR_ARG(buf_str(&line)));
    if (sending->refused == TOLD_MAX)
        terminal_talk("(further refusals are only counted; -o jsonl has them all)\n");
}

// What came of a part

// One line of -o jsonl, or an item of -o json's array: where the task stands, and the server's words about it.
static void put_item(struct buf *out, struct sending *sending, size_t number, struct str object)
{
    buf_auto struct buf json = {0};
    buf_printf(&json, "{\"%s\":%zu,", sending->documents.lines ? "line" : "index", number);
    buf_put(&json, (struct str){object.p + 1, object.n - 1});
    print_put_item(out, sending->caller.cli, !sending->shown, buf_str(&json));
    sending->shown++;
}

static void put_unsent(struct buf *out, struct sending *sending, const struct slot *slot)
{
    buf_auto struct buf object = {0};
    tell_refusal(sending, slot->number, str_of(slot->why), (struct str){0});
    if (sending->caller.cli->output == OUTPUT_TEXT)
        return;
    buf_printf(&object, "{\"error\":{\"code\":\"%s\",\"detail\":", err_info(slot->err)->code);
    json_put_string(&object, str_of(slot->why));
    buf_puts(&object, "}}");
    put_item(out, sending, slot->number, buf_str(&object));
}

static void put_sent(struct buf *out, struct sending *sending, const struct slot *slot, const struct value *result,
                     struct str object)
{
    struct str id = value_text(value_at(result, "id"));
    if (id.n)
        sending->taken++;
    else
        tell_refusal(sending, slot->number, value_text(value_at(result, "error.detail")),
                     value_text(value_at(result, "error.field")));
    if (sending->caller.cli->output != OUTPUT_TEXT) {
        put_item(out, sending, slot->number, object);
    } else if (id.n) {
        text_put_short(out, id, 64);
        buf_putc(out, '\n');
    }
}

// The results stand in the order of what was sent, with those between them that were not.
static int show_part(struct sending *sending, const struct reply *reply)
{
    buf_auto struct buf out = {0};
    const struct value *results = value_at(reply->value, "results");
    struct str rest = text_json_member(buf_str(&reply->body), "results"), object = STR("{}");
    terminal_progress((struct str){0});
    for (size_t i = 0, at = 0; i < sending->count; i++) {
        const struct slot *slot = &sending->slots[i];
        if (slot->err) {
            put_unsent(&out, sending, slot);
            continue;
        }
        const struct value *result = value_item(results, at++);
        if (!result || !text_json_next(&rest, &object)) {
            terminal_talk("rota submit: what answers there is not a rota server (a result is missing)\n");
            return CLI_UNREACHED;
        }
        put_sent(&out, sending, slot, result, object);
    }
    return terminal_write(buf_str(&out));
}

// The sending

static void post_part(struct sending *sending, struct reply *ret_reply)
{
    int64_t began = clock_now().mono_ms;
    for (int64_t ms = AGAIN_MS_MIN;; ms = time_min(ms * 2, AGAIN_MS_MAX)) {
        call(&sending->caller, "POST", "/v1/tasks", buf_str(&sending->part), ret_reply);
        bool safe = sending->keyed || ret_reply->status || !ret_reply->asked;
        // A server that never answered is not waited for.
        if (!reply_may_retry(ret_reply) || !safe || (!ret_reply->status && !sending->taken) ||
            clock_now().mono_ms - began > AWAY_MS_MAX)
            return;
        reply_done(ret_reply);
        show_progress(sending, "  the server is away, trying again");
        call_pause(ms);
    }
}

static int tell_doubt(const struct sending *sending, const struct reply *reply)
{
    buf_auto struct buf from = {0};
    buf_auto struct buf to = {0};
    put_place(&from, sending, sending->slots[0].number);
    put_place(&to, sending, sending->slots[sending->count - 1].number);
    failure_tell(&sending->caller, reply);
    if (reply->code == CLI_UNREACHED && reply->asked)
        terminal_talk("  from " STR_FMT " to " STR_FMT
                      " it is not known what was taken, because no answer came; with a key in each "
                      "task the same could be sent again\n",
                      STR_ARG(buf_str(&from)), STR_ARG(buf_str(&to)));
    else
        terminal_talk("  from " STR_FMT " on nothing was taken\n", STR_ARG(buf_str(&from)));
    return reply->code;
}

static int send_part(struct sending *sending)
{
    struct reply reply = {.code = CLI_OK};
    buf_putc(&sending->part, ']');
    if (sending->sent)
        post_part(sending, &reply);
    terminal_progress((struct str){0});
    int code = reply.code == CLI_OK ? show_part(sending, &reply) : tell_doubt(sending, &reply);
    reply_done(&reply);
    show_progress(sending, "");
    arena_done(&sending->arena);
    arena_init(&sending->arena);
    sending->part.n = sending->count = sending->sent = 0;
    sending->keyed = true;
    return code;
}

static void add(struct sending *sending, const struct document *document)
{
    struct slot *slot = &sending->slots[sending->count++];
    *slot = (struct slot){.number = document->number};
    if (document->err) {
        slot->err = document->err;
        slot->why = arena_copy(&sending->arena, str_of(document->why)).p;
        return;
    }
    buf_putc(&sending->part, sending->sent++ ? ',' : '[');
    buf_put(&sending->part, document->json.raw);
    sending->keyed = sending->keyed && json_member(document->json, STR("key")).type == JSON_STRING;
}

static int send_all(struct sending *sending)
{
    struct document document;
    int code = CLI_OK;
    while (code == CLI_OK && documents_next(&sending->documents, &document)) {
        if (sending->count == PART_TASKS || (sending->count && sending->part.n + document.json.raw.n + 2 > PART_BYTES))
            code = send_part(sending);
        if (code == CLI_OK)
            add(sending, &document);
    }
    if (code == CLI_OK && sending->count)
        code = send_part(sending);
    if (code == CLI_OK && sending->documents.error) {
        terminal_talk("rota submit: %s cannot be read to its end: %s\n", sending->path, strerror(sending->documents.error));
        code = CLI_USAGE;
    }
    return code;
}

static int finish(struct sending *sending, int code)
{
    buf_auto struct buf counts = {0};
    terminal_progress((struct str){0});
    int end = print_items_end(sending->caller.cli, !sending->shown);
    code = code ? code : end;
    put_counts(&counts, sending);
    terminal_talk(STR_FMT "\n", STR_ARG(buf_str(&counts)));
    return code ? code : sending->refused ? CLI_REFUSED : CLI_OK;
}

static int open_all(struct sending *sending, struct cli *cli)
{
    char why[ERR_WHY_MAX];
    int code = call_open(&sending->caller, cli);
    if (code)
        return code;
    if (!documents_open(&sending->documents, sending->path, why))
        return verb_misused(cli, "nothing was sent: %s: %s", sending->path, why);
    return CLI_OK;
}

int submit_file_run(struct cli *cli, const char *path)
{
    struct sending *sending = mem_zero(sizeof *sending);
    *sending = (struct sending){.path = path, .keyed = true, .began_ms = clock_now().mono_ms, .documents.fd = -1};
    arena_init(&sending->arena);
    int code = open_all(sending, cli);
    if (code == CLI_OK)
        code = finish(sending, send_all(sending));
    documents_close(&sending->documents);
    call_close(&sending->caller);
    buf_done(&sending->part);
    arena_done(&sending->arena);
    mem_free(sending);
    return code;
}
