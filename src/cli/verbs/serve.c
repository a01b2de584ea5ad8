// rota serve: the row of the verbs table. The server itself is node/serve, its options are node/config's settings.
#include "node/serve.h"

#include "cli/settings.h"

static int run_serve(struct cli *cli)
{
    struct given given;
    int code = settings_read(&given, cli, NULL);
    if (!code)
        code = serve(&given.config);
    settings_done(&given);
    return code;
}

const struct verb verb_serve = {.name = "serve",
                                .args = "",
                                .settings = true,
                                .help = "Start a server",
                                .about = "With no option it keeps its data in ./rota-data and listens on http://127.0.0.1:7070, "
                                         "where requests from this machine need no key. Each option can also be a variable "
                                         "(ROTA_LOG_LEVEL for --log-level) or a line of a file; docs/config.md and rota.toml(5) "
                                         "say more. SIGTERM or Ctrl-C ends it gracefully, SIGHUP reads the file again.",
                                .example = "rota serve --data /var/lib/rota",
                                .run = run_serve};
