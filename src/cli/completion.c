// rota completion: a script for bash, zsh or fish.
//
// What can be completed is read off the tables: the verbs, their options, the values of an option that has choices, and files
// where a value or an argument is called FILE or DIR. Nothing asks the server.
#include "cli/completion.h"

#include "base/mem.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include <ctype.h>

// What a value or an argument can be.
struct hint {
    struct str words; // with spaces between; empty: unknown
    bool files;
};

static bool is_file(const char *name)
{
    return strstr(name, "FILE") || strstr(name, "DIR");
}

static struct hint option_hint(const struct option *option)
{
    return (struct hint){.words = str_of(option->choices), .files = option->value && is_file(option->value)};
}

// "bash|zsh|fish" and "check|show" are choices; "[VERB]" is a verb.
static void put_arg_words(struct buf *buf, const struct verb *verb)
{
    if (strstr(verb->args, "VERB")) {
        for (const struct verb *const *other = verbs; *other; other++)
            buf_printf(buf, "%s%s", other == verbs ? "" : " ", (*other)->name);
        return;
    }
    if (!strchr(verb->args, '|'))
        return;
    for (const char *at = verb->args; *at; at++) {
        if (isupper((unsigned char)*at)) {
            buf->n = 0;
            return;
        }
        if (islower((unsigned char)*at))
            buf_putc(buf, *at);
        else if (*at == '|')
            buf_putc(buf, ' ');
    }
}

// Calls `each` for every option of the verb.
static void each_option(const struct verb *verb,
                        void (*each)(struct buf *buf, const struct verb *verb, const struct option *option), struct buf *buf)
{
    const struct option *tables[OPTION_TABLES_MAX];
    verb_tables(verb, tables);
    for (const struct option **table = tables; *table; table++)
        for (const struct option *option = *table; option->name; option++)
            each(buf, verb, option);
}

static void put_verb_names(struct buf *buf)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        buf_printf(buf, "%s%s", verb == verbs ? "" : " ", (*verb)->name);
}

// A text within single quotes of a shell. zsh reads colons and brackets of its descriptions, so there they are escaped first.
static void put_quoted(struct buf *buf, const char *text, const char *escaped)
{
    for (; *text; text++) {
        if (strchr(escaped, *text))
            buf_putc(buf, '\\');
        if (*text == '\'')
            buf_puts(buf, "'\\''");
        else
            buf_putc(buf, *text);
    }
}

// bash

static void put_bash_word(struct buf *buf, const struct verb *verb, const struct option *option)
{
    buf_printf(buf, " --%s", option->name);
    if (option->letter)
        buf_printf(buf, " -%c", option->letter);
}

static void put_bash_value(struct buf *buf, const struct verb *verb, const struct option *option)
{
    struct hint hint = option_hint(option);
    if (!option->value)
        return;
    buf_printf(buf, "    '%s --%s'", verb->name, option->name);
    if (option->letter)
        buf_printf(buf, " | '%s -%c'", verb->name, option->letter);
    buf_puts(buf, ") ");
    if (hint.words.n)
        buf_printf(buf, "words='" STR_FMT "' ;;\n", STR_ARG(hint.words));
    else
        buf_puts(buf, hint.files ? "files=1 ;;\n" : "return ;;\n");
}

static void put_bash_verb(struct buf *buf, const struct verb *verb)
{
    buf_auto struct buf args = {0};
    put_arg_words(&args, verb);
    buf_printf(buf, "        %s) options='", verb->name);
    each_option(verb, put_bash_word, buf);
    buf_puts(buf, "'");
    if (args.n)
        buf_printf(buf, " words='" STR_FMT "'", STR_ARG(buf_str(&args)));
    if (is_file(verb->args))
        buf_puts(buf, " files=1");
    buf_puts(buf, " ;;\n");
}

// Where `=` breaks words, --name=va comes as three of them.
static const char bash_begin[] =
    "# bash completion for rota, made by `rota completion bash`\n"
    "_rota() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= words= files=\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == '=' ]] && ((COMP_CWORD > 2)); then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        COMPREPLY=($(compgen -W '";
static const char bash_values[] = "' -- \"$cur\"))\n"
                                  "        return\n"
                                  "    fi\n"
                                  "    case \"${COMP_WORDS[1]} $prev\" in\n";
static const char bash_verbs[] = "    *)\n"
                                 "        case \"${COMP_WORDS[1]}\" in\n";
static const char bash_end[] = "        esac\n"
                               "        [[ $cur != -* ]] || words=$options\n"
                               "        ;;\n"
                               "    esac\n"
                               "    if [[ $words ]]; then\n"
                               "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                               "    elif [[ $files ]]; then\n"
                               "        compopt -o filenames 2>/dev/null\n"
                               "        local IFS=$'\\n'\n"
                               "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
                               "    fi\n"
                               "}\n"
                               "complete -F _rota rota\n";

static void put_bash(struct buf *buf)
{
    buf_puts(buf, bash_begin);
    put_verb_names(buf);
    buf_puts(buf, bash_values);
    for (const struct verb *const *verb = verbs; *verb; verb++)
        each_option(*verb, put_bash_value, buf);
    buf_puts(buf, bash_verbs);
    for (const struct verb *const *verb = verbs; *verb; verb++)
        put_bash_verb(buf, *verb);
    buf_puts(buf, bash_end);
}

// zsh

static void put_zsh_action(struct buf *buf, struct hint hint)
{
    if (hint.words.n)
        buf_printf(buf, "(" STR_FMT ")", STR_ARG(hint.words));
    else if (hint.files)
        buf_puts(buf, "_files");
}

static void put_zsh_spec(struct buf *buf, const struct option *option, const char *dashes, struct str name, bool joined)
{
    buf_printf(buf, " \\\n            '%s%s" STR_FMT "%s[", option->repeatable ? "*" : "", dashes, STR_ARG(name),
               option->value && joined ? "=" : "");
    put_quoted(buf, option->help, "[]:\\");
    buf_putc(buf, ']');
    if (option->value) {
        buf_putc(buf, ':');
        put_quoted(buf, option->value, ":\\");
        buf_putc(buf, ':');
        put_zsh_action(buf, option_hint(option));
    }
    buf_putc(buf, '\'');
}

static void put_zsh_option(struct buf *buf, const struct verb *verb, const struct option *option)
{
    put_zsh_spec(buf, option, "--", str_of(option->name), true);
    if (option->letter)
        put_zsh_spec(buf, option, "-", (struct str){&option->letter, 1}, false);
}

static void put_zsh_verb(struct buf *buf, const struct verb *verb)
{
    buf_auto struct buf args = {0};
    put_arg_words(&args, verb);
    buf_printf(buf, "    %s)\n        _arguments -s", verb->name);
    each_option(verb, put_zsh_option, buf);
    if (*verb->args) {
        buf_printf(buf, " \\\n            '%s:", verb->args_max == 1 ? "1" : "*");
        put_quoted(buf, verb->args, ":\\");
        buf_putc(buf, ':');
        put_zsh_action(buf, (struct hint){.words = buf_str(&args), .files = is_file(verb->args)});
        buf_putc(buf, '\'');
    }
    buf_puts(buf, "\n        ;;\n");
}

static void put_zsh(struct buf *buf)
{
    buf_puts(buf, "#compdef rota\n# zsh completion for rota, made by `rota completion zsh`\n"
                  "_rota() {\n    local -a verbs\n    verbs=(\n");
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        buf_printf(buf, "        '%s:", (*verb)->name);
        put_quoted(buf, (*verb)->help, ":\\");
        buf_puts(buf, "'\n");
    }
    buf_puts(buf, "    )\n    if ((CURRENT == 2)); then\n        _describe verb verbs\n        return\n    fi\n"
                  "    shift words\n    ((CURRENT--))\n    case $words[1] in\n");
    for (const struct verb *const *verb = verbs; *verb; verb++)
        put_zsh_verb(buf, *verb);
    // Read from a file of $fpath it is the body of the function; sourced, it says what it completes.
    buf_puts(buf, "    esac\n}\nif [[ $funcstack[1] == _rota ]]; then\n    _rota \"$@\"\nelse\n    compdef _rota rota\nfi\n");
}

// fish

static void put_fish_option(struct buf *buf, const struct verb *verb, const struct option *option)
{
    struct hint hint = option_hint(option);
    buf_printf(buf, "complete -c rota -n '__fish_seen_subcommand_from %s' -l %s", verb->name, option->name);
    if (option->letter)
        buf_printf(buf, " -s %c", option->letter);
    if (option->value)
        buf_puts(buf, hint.files ? " -r -F" : " -x");
    if (hint.words.n)
        buf_printf(buf, " -a '" STR_FMT "'", STR_ARG(hint.words));
    buf_puts(buf, " -d '");
    put_quoted(buf, option->help, "\\");
    buf_puts(buf, "'\n");
}

static void put_fish_verb(struct buf *buf, const struct verb *verb)
{
    buf_auto struct buf args = {0};
    put_arg_words(&args, verb);
    buf_printf(buf, "complete -c rota -n __fish_use_subcommand -a %s -d '", verb->name);
    put_quoted(buf, verb->help, "\\");
    buf_puts(buf, "'\n");
    if (args.n)
        buf_printf(buf, "complete -c rota -n '__fish_seen_subcommand_from %s' -a '" STR_FMT "'\n", verb->name,
                   STR_ARG(buf_str(&args)));
    if (is_file(verb->args))
        buf_printf(buf, "complete -c rota -n '__fish_seen_subcommand_from %s' -F\n", verb->name);
    each_option(verb, put_fish_option, buf);
}

static void put_fish(struct buf *buf)
{
    buf_puts(buf, "# fish completion for rota, made by `rota completion fish`\ncomplete -c rota -f\n");
    for (const struct verb *const *verb = verbs; *verb; verb++)
        put_fish_verb(buf, *verb);
}

static const struct {
    const char *name;
    void (*put)(struct buf *buf);
} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};

bool completion_put(struct buf *buf, const char *shell)
{
    for (size_t i = 0; i < array_count(shells); i++)
        if (str_is(str_of(shell), shells[i].name)) {
            shells[i].put(buf);
            return true;
        }
    return false;
}

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
