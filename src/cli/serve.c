// rota serve: the row of the verbs table. The server itself is node/serve; here its options are only checked and shown.
#include "node/serve.h"

#include "cli/verb.h"

static int run_serve(struct cli *cli)
{
    return serve_main(cli->argc, cli->argv);
}

static const struct option options[] = {
    {"listen", 0, "ADDR:PORT", "where to listen (127.0.0.1:7070)"},
    {"data", 0, "DIR", "where everything is kept (./rota-data)"},
    {"store", 0, "URL", "another store: sqlite:FILE or memory: (sqlite: in DIR)"},
    {0},
};

const struct verb verb_serve = {.name = "serve",
                                .args = "",
                                .help = "Start a server",
                                .about = "With no option it keeps its data in ./rota-data and listens on http://127.0.0.1:7070, "
                                         "where requests from this machine need no key. SIGTERM or Ctrl-C ends it gracefully.",
                                .example = "rota serve --data /var/lib/rota",
                                .options = options,
                                .run = run_serve};
