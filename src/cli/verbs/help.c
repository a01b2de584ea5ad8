// rota help: the verbs, or what one of them takes; also as the sources of the pages about them.
#include "cli/manual/help.h"

#include "cli/manual/man.h"
#include "cli/show/terminal.h"

static int run_help(struct cli *cli)
{
    buf_auto struct buf text = {0};
    const char *name = cli->options.arg_count ? cli->options.args[0] : NULL;
    const struct verb *verb = name ? verb_find(name) : NULL;
    if (name && !verb) {
        const char *nearest = verb_nearest(name);
        return verb_misused(cli, "there is no verb %s%s%s%s", name, nearest ? "; did you mean " : "", nearest ? nearest : "",
                            nearest ? "?" : "");
    }
    if (options_get(&cli->options, "markdown"))
        help_put_markdown(&text);
    else if (options_get(&cli->options, "scd"))
        verb ? man_put_verb(&text, verb) : man_put_overview(&text);
    else if (verb)
        help_put_verb(&text, verb);
    else
        help_put_overview(&text);
    return terminal_write(buf_str(&text));
}

static const struct option options[] = {
    {"markdown", 0, NULL, "all of it at once, as docs/cli.md has it"},
    {"scd", 0, NULL, "the manual page rota(1), or that of VERB, as a source for scdoc"},
    {0},
};

const struct verb verb_help = {.name = "help",
                               .args = "[VERB]",
                               .args_max = 1,
                               .help = "Show the verbs, or what one of them takes",
                               .options = options,
                               .run = run_help};
