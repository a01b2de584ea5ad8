// rota version.
#include "cli/server/print.h"
#include "cli/show/terminal.h"

static int run_version(struct cli *cli)
{
    return cli->output == OUTPUT_TEXT ? terminal_write(STR("rota " ROTA_VERSION "\n"))
                                      : print_json(cli, STR("{\"name\":\"rota\",\"version\":\"" ROTA_VERSION "\"}"));
}

const struct verb verb_version = {
    .name = "version", .args = "", .output = true, .help = "Show which rota this is", .run = run_version};
