#include "cli/verbs/listing.h"

#include "base/clock.h"
#include "cli/server/print.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

static int read_limit(struct listing *listing, struct cli *cli)
{
    bool all = options_get(&cli->options, "all");
    listing->left = all ? INT64_MAX : LISTING_DEFAULT;
    if (all && options_get(&cli->options, "limit"))
        return verb_misused(cli, "--all and --limit exclude each other");
    return verb_read_count(cli, "limit", &listing->left);
}

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
        terminal_talk("(%s)\n", listing->none);
    if (listing->pages.cursor.n)
        terminal_talk("(there are more: --limit N or --all)\n");
    return CLI_OK;
}

// Passes on what the server says about the list itself, once.
static void tell_note(struct listing *listing, const struct reply *reply)
{
    buf_auto struct buf note = {0};
    text_put_safe(&note, value_text(value_at(reply->value, "note")), false);
    if (note.n && !listing->noted)
        terminal_talk("(" STR_FMT ")\n", STR_ARG(buf_str(&note)));
    listing->noted = listing->noted || note.n;
}

static int take_page(struct listing *listing, const struct reply *reply, const struct value *items)
{
    int code = listing->caller.cli->output == OUTPUT_TEXT
                   ? print_table(listing, items)
                   : print_items(listing, text_json_member(buf_str(&reply->body), "items"));
    int64_t count = (int64_t)value_count(items);
    listing->shown += count;
    listing->left -= time_min(count, listing->left);
    tell_note(listing, reply);
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

int listing_run(struct listing *listing, struct cli *cli, enum rows_kind kind)
{
    int code = read_limit(listing, cli);
    code = code ? code : call_open(&listing->caller, cli);
    listing->show = terminal_show();
    listing->show.absolute = options_get(&cli->options, "absolute");
    listing->table = rows_table(kind, &listing->show);
    if (!code)
        code = follow(listing);
    call_close(&listing->caller);
    buf_done(&listing->path);
    return code;
}
