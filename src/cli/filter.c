// See filter.h. Which values are allowed is the server's to say; here only what cannot be sent is refused, and what people write
// in another manner than the API takes it is made fit.
#include "cli/filter.h"

#include "base/text/json.h"
#include "cli/server/call.h"
#include "cli/show/text.h"

enum { SHOWN_MAX = 64 };

// --queue stands first: a verb that has one of its own leaves it out.
const struct option verb_filter_options[] = {
    {"queue", 0, "NAME", "only those in this queue"},
    {"state", 0, "STATE",
     "only those in this state: of tasks active, paused, done, cancelled; of jobs as in docs/states.md; of both waiting, "
     "running, "
     "success, failed",
     .choices =
         "active paused done waiting running failed blocked delayed ready watching reserved success aborted buried cancelled"},
    {"name", 0, "NAME", "only those of exactly this name"},
    {"key", 0, "KEY", "only the one with this key"},
    {"label", 0, "NAME=VALUE", "only those with this label; several: with all of them", true},
    {"sla-met", 0, "true|false", "only those whose attempts all began within their SLA, or did not", .choices = "true false"},
    {"late-stage", 0, "STAGE", "only those that this stage made late", .choices = "puller queue target"},
    {"tracing-id", 0, "ID", "only those of exactly this tracing_id"},
    {"created-by", 0, "WHO", "only those of exactly this created_by"},
    {"due-before", 0, "TIME", "only those planned before: a time as of submit --at, or from now: 10m 1h30m"},
    {0},
};

static bool is_filter(const struct option *option)
{
    for (const struct option *filter = verb_filter_options; filter->name; filter++)
        if (str_is(str_of(filter->name), option->name))
            return true;
    return false;
}

bool filter_given(const struct options *options)
{
    for (size_t i = 0; i < options->count; i++)
        if (is_filter(options->given[i]))
            return true;
    return false;
}

// The API writes sla_met for --sla-met.
static struct str api_name(struct cli *cli, const char *option)
{
    struct str name = arena_copy(&cli->arena, str_of(option));
    for (char *at = (char *)name.p; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return name;
}

// Reads one option as the API names it.
static int read_one(struct cli *cli, const char *option, const char *given, struct str *ret_name, struct str *ret_value)
{
    size_t at;
    *ret_name = api_name(cli, option);
    *ret_value = str_of(given);
    if (!text_valid(*ret_value, &at))
        return verb_misused(cli, "--%s is not UTF-8 text", option);
    if (str_is(*ret_name, "due_before"))
        return verb_read_time(cli, option, ret_value);
    if (str_is(*ret_name, "label")) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given)
            return verb_misused(cli, "--label takes NAME=VALUE, not %s", given);
        *ret_name = arena_printf(&cli->arena, "label.%.*s", (int)(equals - given), given);
        *ret_value = str_of(equals + 1);
    }
    return CLI_OK;
}

static void put_member(struct buf *json, struct str name, struct str value)
{
    if (json->p[json->n - 1] != '{')
        buf_putc(json, ',');
    json_put_string(json, name);
    buf_putc(json, ':');
    json_put_string(json, value);
}

static void put_word(struct buf *words, struct str name, struct str value)
{
    text_put_short(words, name, SHOWN_MAX);
    buf_putc(words, '=');
    text_put_short(words, value, SHOWN_MAX);
    buf_puts(words, ", ");
}

static int each(struct cli *cli, struct buf *buf, void (*put)(struct buf *buf, struct str name, struct str value))
{
    const struct options *options = &cli->options;
    for (size_t i = 0; i < options->count; i++) {
        struct str name, value;
        if (!is_filter(options->given[i]))
            continue;
        int code = read_one(cli, options->given[i]->name, options->values[i], &name, &value);
        if (code)
            return code;
        put(buf, name, value);
    }
    return CLI_OK;
}

int filter_put_query(struct buf *path, struct cli *cli)
{
    return each(cli, path, call_put_query);
}

int filter_put_json(struct buf *json, struct cli *cli)
{
    buf_putc(json, '{');
    int code = each(cli, json, put_member);
    buf_putc(json, '}');
    return code;
}

int filter_put_words(struct buf *words, struct cli *cli)
{
    if (!filter_given(&cli->options)) {
        buf_puts(words, "(everything)");
        return CLI_OK;
    }
    int code = each(cli, words, put_word);
    words->n -= code ? 0 : 2; // the comma behind the last
    return code;
}
