// rota version.
#include "base/buf.h"
#include "cli/show/terminal.h"
#include "cli/show/text.h"
#include "cli/verb.h"

static int run_version(struct cli *cli)
{
    buf_auto struct buf out = {0};
    if (cli->output == OUTPUT_TEXT)
        buf_puts(&out, "rota " ROTA_VERSION);
    else
        text_put_json(&out, STR("{\"name\":\"rota\",\"version\":\"" ROTA_VERSION "\"}"), cli->output == OUTPUT_JSON);
    buf_putc(&out, '\n');
    return terminal_write(buf_str(&out));
}

const struct verb verb_version = {
    .name = "version", .args = "", .output = true, .help = "Show which rota this is", .run = run_version};
