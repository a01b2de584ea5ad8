// See man.h. scdoc(5) gives a meaning to * _ \ and to the first character of a line, so whatever comes from a table is escaped.
#include "cli/manual/man.h"

#include "cli/manual/help.h"

#include <ctype.h>

static void put_escaped(struct buf *buf, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (strchr("*_\\#`~<>+", text.p[i]))
            buf_putc(buf, '\\');
        buf_putc(buf, text.p[i]);
    }
}

static void put_bold(struct buf *buf, struct str text)
{
    buf_putc(buf, '*');
    put_escaped(buf, text);
    buf_putc(buf, '*');
}

static void put_section(struct buf *buf, const char *title)
{
    buf_printf(buf, "\n# %s\n\n", title);
}

// A term and, indented below it, what it means.
static void put_meaning(struct buf *buf, const char *help)
{
    buf_puts(buf, "\n\t");
    put_escaped(buf, str_of(help));
    buf_puts(buf, "\n\n");
}

static void put_option(struct buf *buf, const struct option *option)
{
    if (option->letter) {
        put_bold(buf, ((struct str){(char[]){'-', option->letter}, 2}));
        buf_puts(buf, ", ");
    }
    buf_puts(buf, "*--");
    put_escaped(buf, str_of(option->name));
    buf_putc(buf, '*');
    if (option->value) {
        buf_putc(buf, ' ');
        put_escaped(buf, str_of(option->value));
    }
    if (option->repeatable)
        buf_puts(buf, " ...");
    put_meaning(buf, option->help);
}

static void put_options(struct buf *buf, const struct verb *verb)
{
    const struct option *tables[OPTION_TABLES_MAX];
    verb_tables(verb, tables);
    put_section(buf, "OPTIONS");
    for (const struct option **table = tables; *table; table++)
        for (const struct option *option = *table; option->name; option++)
            put_option(buf, option);
    buf->n--; // one empty line is enough
}

static void put_name(struct buf *buf, const char *page, const char *help)
{
    put_section(buf, "NAME");
    buf_printf(buf, "%s - %c%s\n", page, tolower((unsigned char)help[0]), help + 1);
}

void man_put_verb(struct buf *buf, const struct verb *verb)
{
    buf_printf(buf, "rota-%s(1)\n", verb->name);
    buf_auto struct buf page = {0};
    buf_printf(&page, "rota-%s", verb->name);
    buf_putc(&page, 0);
    put_name(buf, page.p, verb->help);
    put_section(buf, "SYNOPSIS");
    buf_printf(buf, "*rota %s* ", verb->name);
    put_escaped(buf, str_of(verb->args));
    buf_puts(buf, *verb->args ? " [OPTION]...\n" : "[OPTION]...\n");
    if (verb->about) {
        put_section(buf, "DESCRIPTION");
        put_escaped(buf, str_of(verb->about));
        buf_putc(buf, '\n');
    }
    put_options(buf, verb);
    if (verb->example) {
        put_section(buf, "EXAMPLE");
        buf_printf(buf, "```\n%s\n```\n", verb->example);
    }
    put_section(buf, "SEE ALSO");
    buf_puts(buf, "*rota*(1)\n");
}

static void put_entries(struct buf *buf, const char *title, const struct help_entry *entries)
{
    put_section(buf, title);
    for (; entries->name; entries++) {
        put_bold(buf, str_of(entries->name));
        put_meaning(buf, entries->help);
    }
    buf->n--;
}

void man_put_overview(struct buf *buf)
{
    buf_puts(buf, "rota(1)\n");
    put_name(buf, "rota", "Runs what you tell it, when you tell it, at least once");
    put_section(buf, "SYNOPSIS");
    buf_puts(buf, "*rota* VERB ...\n");
    put_section(buf, "DESCRIPTION");
    buf_puts(
        buf,
        "rota is a task scheduler: a server that calls URLs now, later and until they succeed, and the command line that "
        "speaks to it. Data goes to stdout, talk to stderr. *rota* _VERB_ *--help* says the same as the page of the verb.\n");
    put_section(buf, "VERBS");
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        buf_printf(buf, "*rota-%s*(1)", (*verb)->name);
        put_meaning(buf, (*verb)->help);
    }
    buf->n--;
    put_entries(buf, "ENVIRONMENT", help_variables);
    put_entries(buf, "EXIT STATUS", help_exits);
}
