// See failure.h.
#include "cli/server/failure.h"

#include "base/mem.h"
#include "cli/compose.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

// Puts one line of what the server said, if it said it.
static void put_said(struct buf *buf, const struct reply *reply, const char *member, const char *before)
{
    struct str text = value_text(value_at(reply->value, member));
    if (!text.n)
        return;
    buf_puts(buf, before);
    text_put_short(buf, text, 500);
}

// These say what to do next in the words of the command line: the server's words speak of HTTP. The first row that fits counts.
static const struct {
    const char *code, *verb, *words;
} hints[] = {
    {"not_found", NULL, "rota list, which shows what there is"},
    {"illegal_transition", "run", "rota explain ID says what it waits for; rota retry ID runs once more what has ended"},
    {"illegal_transition", "retry", "rota run ID starts what still waits; rota cancel ID ends it"},
    {"illegal_transition", "pause", "rota retry ID, which runs once more what has ended"},
    {"illegal_transition", "resume", "rota retry ID, which runs once more what has ended"},
    {"illegal_transition", "update", "rota retry ID, which runs it once more as it was, or rota submit"},
    {"version_mismatch", NULL, "rota get ID, which shows the task as it is now, and its version"},
    {"unsupported", "backup", "pg_dump, with the URL of the store"},
    {"not_here", NULL, "--server URL, with a node that has the role api"},
    {"forbidden", NULL, "--server http://127.0.0.1:PORT: the server is called by a loopback name"},
    {"busy", NULL, "the same again in a moment"},
    {"store_unavailable", NULL, "the same again in a moment"},
    {"stopping", NULL, "the same again in a moment"},
};

static void put_hint(struct buf *buf, const char *verb, struct str code)
{
    for (size_t i = 0; i < array_count(hints); i++)
        if (str_is(code, hints[i].code) && (!hints[i].verb || str_is(str_of(verb), hints[i].verb))) {
            buf_printf(buf, "\n  try: %s", hints[i].words);
            return;
        }
}

// " (--retry-delay)" behind a field of a task, " (--due-before)" behind a parameter, if the verb has an option for it.
static void put_option(struct buf *buf, const struct verb *verb, struct str field)
{
    const struct option *tables[OPTION_TABLES_MAX];
    char name[32];
    size_t n = 0;
    const char *option = verb->fields ? compose_option(field) : name;
    for (size_t i = 0; i < field.n && n < sizeof name - 1 && field.p[i] != '.'; i++)
        name[n++] = (char)(field.p[i] == '_' ? '-' : field.p[i]);
    name[n] = 0;
    verb_tables(verb, tables);
    if (option && options_find(tables, str_of(option)))
        buf_printf(buf, " (--%s)", option);
}

static void put_refusal(struct buf *buf, const struct caller *caller, const struct reply *reply)
{
    buf_printf(buf, "the server says no (HTTP %d)", reply->status);
    if (reply->status >= 300 && reply->status < 400)
        buf_puts(buf, ": it sends elsewhere, and redirects are not followed");
    if (!reply->value && reply->body.n) {
        buf_puts(buf, ": ");
        text_put_short(buf, buf_str(&reply->body), 200);
    }
    put_said(buf, reply, "title", ": ");
    put_said(buf, reply, "detail", "\n  ");
    put_said(buf, reply, "field", "\n  field: ");
    put_option(buf, caller->cli->verb, value_text(value_at(reply->value, "field")));
    put_said(buf, reply, "code", "\n  code: ");
    put_said(buf, reply, "request_id", "\n  request: ");
    if (reply->status == 401 && caller->key)
        buf_puts(buf, "\n  try: without ROTA_API_KEY, whose key this server does not know");
    put_hint(buf, caller->cli->verb->name, value_text(value_at(reply->value, "code")));
}

int failure_tell(const struct caller *caller, const struct reply *reply)
{
    buf_auto struct buf words = {0};
    if (reply->code == CLI_REFUSED)
        put_refusal(&words, caller, reply);
    else if (reply->code == CLI_UNREACHED)
        buf_printf(&words,
                   "no rota server was reached at " STR_FMT ": %s\n"
                   "  start one with `rota serve`, or name another with --server URL or ROTA_SERVER",
                   STR_ARG(caller->server), reply->why);
    if (words.n)
        terminal_talk("rota %s: " STR_FMT "\n", caller->cli->verb->name, STR_ARG(buf_str(&words)));
    return reply->code;
}
