// Finds the verb, reads its options, runs it. What the verbs do is in their own files.
#include "cli/cli.h"

#include "base/mem.h"
#include "cli/manual/help.h"
#include "cli/show/terminal.h"
#include "cli/verb.h"

static const char *const outputs[] = {[OUTPUT_TEXT] = "text", [OUTPUT_JSON] = "json", [OUTPUT_JSONL] = "jsonl"};

static int say_unknown_verb(const char *name)
{
    const char *nearest = verb_nearest(name);
    if (nearest)
        terminal_talk("rota: there is no verb %s; did you mean %s?\n(rota help lists them)\n", name, nearest);
    else
        terminal_talk("rota: there is no verb %s\n(rota help lists them)\n", name);
    return CLI_USAGE;
}

static bool read_output(struct cli *cli)
{
    const char *word = options_get(&cli->options, "output");
    for (size_t i = 0; i < array_count(outputs); i++)
        if (!word || str_is(str_of(word), outputs[i])) {
            cli->output = (enum verb_output)i;
            return true;
        }
    return false;
}

static int check_args(struct cli *cli)
{
    const struct verb *verb = cli->verb;
    const struct options *options = &cli->options;
    if (options->arg_count < verb->args_min)
        return verb_misused(cli, "something is missing: rota %s %s", verb->name, verb->args);
    if (options->arg_count > verb->args_max)
        return verb_misused(cli, "%s is one argument too many: rota %s %s", options->args[verb->args_max], verb->name,
                            verb->args);
    if (!read_output(cli))
        return verb_misused(cli, "-o takes text, json or jsonl, not %s", options_get(options, "output"));
    return CLI_OK;
}

static int run_verb(struct cli *cli)
{
    const struct option *tables[OPTION_TABLES_MAX];
    char why[ERR_WHY_MAX];
    verb_tables(cli->verb, tables);
    if (!options_parse(&cli->options, tables, cli->argc, cli->argv, &cli->arena, why))
        return verb_misused(cli, "%s", why);
    if (options_get(&cli->options, "help")) {
        buf_auto struct buf text = {0};
        help_put_verb(&text, cli->verb);
        return terminal_write(buf_str(&text));
    }
    int code = check_args(cli);
    return code ? code : cli->verb->run(cli);
}

// People type these before they know the verbs.
static const char *plain_name(const char *word)
{
    struct str text = str_of(word);
    if (str_is(text, "--help") || str_is(text, "-h"))
        return "help";
    return str_is(text, "--version") || str_is(text, "-V") ? "version" : word;
}

int cli_main(int argc, char **argv)
{
    terminal_init();
    if (argc < 2) {
        buf_auto struct buf text = {0};
        help_put_overview(&text);
        terminal_talk(STR_FMT, STR_ARG(buf_str(&text)));
        return CLI_USAGE;
    }
    struct cli cli = {.verb = verb_find(plain_name(argv[1])), .argc = argc - 1, .argv = argv + 1};
    if (!cli.verb)
        return say_unknown_verb(argv[1]);
    arena_init(&cli.arena);
    int code = run_verb(&cli);
    arena_done(&cli.arena);
    return code;
}
