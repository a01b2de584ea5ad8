// See completion.h. What can be completed is read off the tables: the verbs, their options, the values of an option that has
// choices, and files where a value or an argument is called FILE or DIR. Nothing asks the server.
#include "cli/manual/completion.h"

#include "base/mem.h"
#include "cli/verb.h"

#include <ctype.h>

// The words that a value or an argument can be.
struct hint {
    const char *words; // with spaces between; NULL: unknown
    bool files;
};

static bool is_file(const char *name)
{
    return strstr(name, "FILE") || strstr(name, "DIR");
}

static struct hint option_hint(const struct option *option)
{
    return (struct hint){.words = option->choices, .files = option->value && is_file(option->value)};
}

static void put_verb_names(struct buf *buf)
{
    for (const struct verb *const *verb = verbs; *verb; verb++)
        buf_printf(buf, "%s%s", verb == verbs ? "" : " ", (*verb)->name);
}

// "bash|zsh|fish" and "check [FILE] | show" are choices, "[VERB]" is a verb; names in capitals stand for something else. Words
// are the first argument; files are the first, or what follows a word.
static struct hint arg_hint(struct buf *buf, const struct verb *verb)
{
    if (strstr(verb->args, "VERB"))
        put_verb_names(buf);
    for (const char *at = verb->args; strchr(verb->args, '|') && *at; at += strspn(at, "| []")) {
        size_t n = strcspn(at, "| []");
        if (islower((unsigned char)*at))
            buf_printf(buf, "%s%.*s", buf->n ? " " : "", (int)n, at);
        at += n;
    }
    bool words = buf->n;
    buf_putc(buf, 0);
    return (struct hint){.words = words ? buf->p : NULL, .files = is_file(verb->args)};
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
    if (hint.words)
        buf_printf(buf, "words='%s' ;;\n", hint.words);
    else
        buf_puts(buf, hint.files ? "files=1 ;;\n" : "return ;;\n");
}

static void put_bash_verb(struct buf *buf, const struct verb *verb)
{
    buf_auto struct buf words = {0};
    struct hint hint = arg_hint(&words, verb);
    buf_printf(buf, "        %s) options='", verb->name);
    each_option(verb, put_bash_word, buf);
    buf_puts(buf, "'");
    if (hint.words)
        buf_printf(buf, "; ((COMP_CWORD > 2)) || words='%s'", hint.words);
    if (hint.files)
        buf_puts(buf, "; files=1");
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
                               "        [[ ${COMPREPLY[0]} != *[:/] ]] || compopt -o nospace 2>/dev/null\n"
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

// Words that a colon ends want something behind them, so no space is set there.
static void put_zsh_action(struct buf *buf, struct hint hint)
{
    if (hint.words) {
        bool open = strchr(hint.words, ':');
        buf_puts(buf, open ? "{compadd -S \"\" -- " : "(");
        put_quoted(buf, hint.words, ":");
        buf_puts(buf, open ? "}" : ")");
    } else if (hint.files) {
        buf_puts(buf, "_files");
    }
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
    buf_auto struct buf words = {0};
    struct hint hint = arg_hint(&words, verb);
    buf_printf(buf, "    %s)\n        _arguments -s", verb->name);
    each_option(verb, put_zsh_option, buf);
    if (*verb->args) {
        buf_printf(buf, " \\\n            '%s:", hint.words || verb->args_max == 1 ? "1" : "*");
        put_quoted(buf, verb->args, ":\\");
        buf_putc(buf, ':');
        put_zsh_action(buf, hint);
        buf_putc(buf, '\'');
    }
    if (hint.words && hint.files)
        buf_puts(buf, " \\\n            '*:FILE:_files'");
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
    if (hint.words)
        buf_printf(buf, " -a '%s'", hint.words);
    buf_puts(buf, " -d '");
    put_quoted(buf, option->help, "\\");
    buf_puts(buf, "'\n");
}

static void put_fish_verb(struct buf *buf, const struct verb *verb)
{
    buf_auto struct buf words = {0};
    struct hint hint = arg_hint(&words, verb);
    buf_printf(buf, "complete -c rota -n __fish_use_subcommand -a %s -d '", verb->name);
    put_quoted(buf, verb->help, "\\");
    buf_puts(buf, "'\n");
    const char *behind = hint.words && hint.files ? hint.words : NULL;
    if (hint.words)
        buf_printf(buf, "complete -c rota -n '__fish_seen_subcommand_from %s%s%s' -a '%s'\n", verb->name,
                   behind ? "; and not __fish_seen_subcommand_from " : "", behind ? behind : "", hint.words);
    if (hint.files)
        buf_printf(buf, "complete -c rota -n '__fish_seen_subcommand_from %s%s%s' -F\n", verb->name,
                   behind ? "; and __fish_seen_subcommand_from " : "", behind ? behind : "");
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
