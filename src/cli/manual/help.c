// See help.h. docs/cli.md is the output of `rota help --markdown`; a unit test compares them.
#include "cli/manual/help.h"

enum { ABOUT_WIDTH = 100 };

const struct help_entry help_variables[] = {
    {"ROTA_SERVER", "the server to speak to, when --server is not given"},
    {"ROTA_CONFIG", "serve, config: the file of settings, when --config is not given; each setting has a variable too"},
    {"NO_COLOR", "when set and not empty: no colours"},
    {0},
};

// The numbers of enum cli_exit, which a unit test compares.
const struct help_entry help_exits[] = {
    {"0", "done"},
    {"1", "wait, submit --wait: a job failed"},
    {"2", "the command line is wrong, or a setting"},
    {"3", "the server says no; wait, submit --wait: a job was cancelled"},
    {"4", "the server was not reached"},
    {"5", "the output could not be written (141, silently, when its reader went away)"},
    {0},
};

static void put_padded(struct buf *buf, struct str text, size_t width)
{
    buf_put(buf, text);
    for (size_t n = text.n; n < width; n++)
        buf_putc(buf, ' ');
}

static void put_synopsis(struct buf *buf, const struct verb *verb)
{
    buf_printf(buf, "rota %s%s%s%s", verb->name, *verb->args ? " " : "", verb->args,
               verb->options || verb->settings ? " [OPTION]..." : "");
}

// Breaks a paragraph at spaces.
static void put_wrapped(struct buf *buf, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column && column + 1 + n > ABOUT_WIDTH) {
            buf_putc(buf, '\n');
            column = 0;
        }
        if (column) {
            buf_putc(buf, ' ');
            column++;
        }
        buf_put(buf, (struct str){text, n});
        column += n;
        text += n + (text[n] == ' ');
    }
    buf_putc(buf, '\n');
}

static void put_option_name(struct buf *buf, const struct option *option)
{
    if (option->letter)
        buf_printf(buf, "-%c, ", option->letter);
    buf_printf(buf, "--%s", option->name);
    if (option->value)
        buf_printf(buf, " %s", option->value);
    if (option->repeatable)
        buf_puts(buf, " ...");
}

static size_t option_width(const struct option *const *tables)
{
    size_t width = 0;
    for (; *tables; tables++)
        for (const struct option *option = *tables; option->name; option++) {
            buf_auto struct buf name = {0};
            put_option_name(&name, option);
            width = name.n > width ? name.n : width;
        }
    return width;
}

static void put_options(struct buf *buf, const struct verb *verb)
{
    const struct option *tables[OPTION_TABLES_MAX];
    verb_tables(verb, tables);
    size_t width = option_width(tables);
    buf_puts(buf, "Options:\n");
    for (const struct option **table = tables; *table; table++)
        for (const struct option *option = *table; option->name; option++) {
            buf_auto struct buf name = {0};
            put_option_name(&name, option);
            buf_puts(buf, "  ");
            put_padded(buf, buf_str(&name), width + 2);
            buf_printf(buf, "%s\n", option->help);
        }
}

void help_put_verb(struct buf *buf, const struct verb *verb)
{
    buf_puts(buf, "Usage: ");
    put_synopsis(buf, verb);
    buf_printf(buf, "\n\n%s\n", verb->help);
    if (verb->about) {
        buf_putc(buf, '\n');
        put_wrapped(buf, verb->about);
    }
    buf_putc(buf, '\n');
    put_options(buf, verb);
    if (verb->example)
        buf_printf(buf, "\nExample:\n  %s\n", verb->example);
}

void help_put_overview(struct buf *buf)
{
    buf_puts(buf, "rota " ROTA_VERSION
                  ": runs what you tell it, when you tell it, at least once.\n\nUsage: rota VERB ...\n\nVerbs:\n");
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        buf_puts(buf, "  ");
        put_padded(buf, str_of((*verb)->name), 12);
        buf_printf(buf, "%s\n", (*verb)->help);
    }
    buf_puts(buf, "\nEnvironment:\n");
    for (const struct help_entry *entry = help_variables; entry->name; entry++) {
        buf_puts(buf, "  ");
        put_padded(buf, str_of(entry->name), 14);
        buf_printf(buf, "%s\n", entry->help);
    }
    buf_puts(buf, "\nExit codes:\n");
    for (const struct help_entry *entry = help_exits; entry->name; entry++)
        buf_printf(buf, "  %s  %s\n", entry->name, entry->help);
    buf_puts(buf, "\nrota VERB --help says more about a verb.\n");
}

// A cell of a table must not be ended by a bar inside of it.
static void put_cell(struct buf *buf, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            buf_putc(buf, '\\');
        buf_putc(buf, *text);
    }
}

static void put_markdown_options(struct buf *buf, const struct option *const *tables)
{
    buf_puts(buf, "\n| option | meaning |\n|---|---|\n");
    for (; *tables; tables++)
        for (const struct option *option = *tables; option->name; option++) {
            buf_auto struct buf name = {0};
            put_option_name(&name, option);
            buf_putc(&name, 0);
            buf_puts(buf, "| `");
            put_cell(buf, name.p);
            buf_puts(buf, "` | ");
            put_cell(buf, option->help);
            buf_puts(buf, " |\n");
        }
}

static void put_markdown_verb(struct buf *buf, const struct verb *verb)
{
    const struct option *tables[OPTION_TABLES_MAX];
    verb_tables(verb, tables);
    buf_printf(buf, "\n## rota %s\n\n```\n", verb->name);
    put_synopsis(buf, verb);
    buf_printf(buf, "\n```\n\n%s.\n", verb->help);
    if (verb->about)
        buf_printf(buf, "%s\n", verb->about);
    put_markdown_options(buf, tables);
    if (verb->example)
        buf_printf(buf, "\n```\n%s\n```\n", verb->example);
}

void help_put_markdown(struct buf *buf)
{
    buf_puts(buf, "# The command line\n\nMade by `rota help --markdown` from the tables in `src/cli/`. Data goes to stdout, talk "
                  "to stderr.\n");
    for (const struct verb *const *verb = verbs; *verb; verb++)
        put_markdown_verb(buf, *verb);
    buf_puts(buf, "\n## Environment\n\n| variable | meaning |\n|---|---|\n");
    for (const struct help_entry *entry = help_variables; entry->name; entry++)
        buf_printf(buf, "| `%s` | %s |\n", entry->name, entry->help);
    buf_puts(buf, "\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (const struct help_entry *entry = help_exits; entry->name; entry++)
        buf_printf(buf, "| %s | %s |\n", entry->name, entry->help);
}
