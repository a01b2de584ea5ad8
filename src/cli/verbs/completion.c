// rota completion: a script for bash, zsh or fish.
#include "cli/manual/completion.h"

#include "cli/show/terminal.h"
#include "cli/verb.h"

static int run_completion(struct cli *cli)
{
    buf_auto struct buf script = {0};
    if (!completion_put(&script, cli->options.args[0]))
        return verb_misused(cli, "there is a script for bash, zsh and fish, not for %s", cli->options.args[0]);
    return terminal_write(buf_str(&script));
}

const struct verb verb_completion = {.name = "completion",
                                     .args = "bash|zsh|fish",
                                     .args_min = 1,
                                     .args_max = 1,
                                     .help = "Print a script that lets your shell complete verbs and options",
                                     .about = "bash: put `source <(rota completion bash)` into ~/.bashrc. zsh: `source <(rota "
                                              "completion zsh)` behind compinit in ~/.zshrc. "
                                              "fish: `rota completion fish > ~/.config/fish/completions/rota.fish`.",
                                     .example = "source <(rota completion bash)",
                                     .run = run_completion};
