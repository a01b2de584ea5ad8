// See print.h.
#include "cli/server/print.h"

#include "cli/server/failure.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"

int print_reply(const struct caller *caller, const struct reply *reply,
                void (*put)(struct buf *buf, const struct show *show, const struct value *value))
{
    if (reply->code != CLI_OK)
        return failure_tell(caller, reply);
    if (caller->cli->output != OUTPUT_TEXT)
        return print_json(caller->cli, buf_str(&reply->body));
    buf_auto struct buf out = {0};
    struct show show = terminal_show();
    put(&out, &show, reply->value);
    return terminal_write(buf_str(&out));
}

int print_json(const struct cli *cli, struct str json)
{
    buf_auto struct buf out = {0};
    text_put_json(&out, json, cli->output == OUTPUT_JSON);
    buf_putc(&out, '\n');
    return terminal_write(buf_str(&out));
}

void print_put_item(struct buf *out, const struct cli *cli, bool first, struct str json)
{
    if (cli->output == OUTPUT_JSON)
        buf_puts(out, first ? "[\n" : ",\n");
    text_put_json(out, json, cli->output == OUTPUT_JSON);
    if (cli->output == OUTPUT_JSONL)
        buf_putc(out, '\n');
}

int print_items_end(const struct cli *cli, bool empty)
{
    if (cli->output != OUTPUT_JSON)
        return CLI_OK;
    return terminal_write(empty ? STR("[]\n") : STR("\n]\n"));
}
