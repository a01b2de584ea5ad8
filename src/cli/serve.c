// rota serve: the row of the verbs table. The server itself is node/serve.
#include "node/serve.h"

#include "cli/verb.h"

#include <stdlib.h>

// A flag, else its environment variable, else the default.
static const char *setting(const struct cli *cli, const char *flag, const char *variable, const char *otherwise)
{
    const char *value = options_get(&cli->options, flag);
    if (!value)
        value = getenv(variable);
    return value && *value ? value : otherwise;
}

static int run_serve(struct cli *cli)
{
    struct str data = arena_printf(&cli->arena, "sqlite:%s", setting(cli, "data", "ROTA_DATA", "./rota-data"));
    struct serve_config config = {.listen = setting(cli, "listen", "ROTA_LISTEN", "127.0.0.1:7070"),
                                  .store = data.p,
                                  .roles = setting(cli, "role", "ROTA_ROLE", "all")};
    if (!options_get(&cli->options, "data")) // a flag goes before a variable, also before that of another flag
        config.store = setting(cli, "store", "ROTA_STORE", data.p);
    if (options_get(&cli->options, "data") && options_get(&cli->options, "store"))
        return verb_misused(cli, "--data and --store exclude each other: --data DIR is short for --store sqlite:DIR");
    return serve(&config);
}

static const struct option options[] = {
    {"listen", 0, "ADDR:PORT", "where to listen, on a loopback address (or ROTA_LISTEN; else 127.0.0.1:7070)"},
    {"data", 0, "DIR", "where everything is kept (or ROTA_DATA; else ./rota-data)"},
    {"store", 0, "URL", "another store: sqlite:DIR, postgres://… or memory: (or ROTA_STORE; else sqlite: in the data directory)"},
    {"role", 0, "LIST",
     "what this node does: api, puller, executor, completer; the last three go together (or ROTA_ROLE; else all)"},
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
