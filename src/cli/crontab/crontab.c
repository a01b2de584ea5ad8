// See crontab.h. Whether a line is a setting is asked first, as cron does: a first word and a = behind it. What the fields of a
// pattern mean is not looked at here: core/schedule/cron knows that.
#include "cli/crontab/crontab.h"

enum { FIELDS = 5 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// Takes the first word off the front of *rest, and the blanks behind it.
static struct str take_word(struct str *rest)
{
    size_t n = 0;
    while (n < rest->n && !is_blank(rest->p[n]))
        n++;
    struct str word = {rest->p, n};
    *rest = str_trim(str_skip(*rest, n));
    return word;
}

// ---- settings

static struct str without_quotes(struct str text)
{
    bool quoted = text.n >= 2 && (text.p[0] == '"' || text.p[0] == '\'') && text.p[text.n - 1] == text.p[0];
    return quoted ? (struct str){text.p + 1, text.n - 2} : text;
}

static bool is_variable(struct str name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!str_is_letter(name.p[i]) && name.p[i] != '_' && !(i && str_is_digit(name.p[i])))
            return false;
    return name.n > 0;
}

static bool read_setting(struct crontab_line *line)
{
    struct str rest = line->text;
    if (!memchr(rest.p, '=', rest.n))
        return false;
    line->name = without_quotes(str_trim(str_cut(&rest, '=')));
    line->value = without_quotes(str_trim(rest));
    return is_variable(line->name);
}

// ---- entries

static bool is_escaped(struct str text, size_t at)
{
    return at && text.p[at - 1] == '\\';
}

// Where the first % without a backslash stands; text.n: there is none.
static size_t find_percent(struct str text)
{
    size_t at = 0;
    while (at < text.n && (text.p[at] != '%' || is_escaped(text, at)))
        at++;
    return at;
}

// A % is a line end, and \% is a %.
static struct str unescape(struct str text, struct arena *arena)
{
    char *to = arena_alloc(arena, text.n + 1);
    size_t n = 0;
    for (size_t at = 0; at < text.n; at++) {
        bool percent = text.p[at] == '%', escaped = percent && is_escaped(text, at);
        n -= escaped; // the backslash was only there for cron
        to[n++] = percent && !escaped ? '\n' : text.p[at];
    }
    return (struct str){to, n};
}

static void split_input(struct str text, struct arena *arena, struct crontab_line *line)
{
    size_t percent = find_percent(text);
    line->command = unescape((struct str){text.p, percent}, arena);
    line->has_input = percent < text.n;
    if (!line->has_input)
        return;
    struct str input = unescape(str_skip(text, percent + 1), arena);
    bool ended = input.n && input.p[input.n - 1] == '\n';
    line->input = ended ? input : arena_printf(arena, STR_FMT "\n", STR_ARG(input)); // cron ends the last line
}

static const char *read_entry(struct arena *arena, struct crontab_line *line)
{
    struct str rest = line->text;
    size_t fields = *rest.p == '@' ? 1 : FIELDS;
    line->pattern = take_word(&rest);
    for (size_t i = 1; i < fields && rest.n; i++) {
        struct str field = take_word(&rest);
        line->pattern = arena_printf(arena, STR_FMT " " STR_FMT, STR_ARG(line->pattern), STR_ARG(field));
    }
    if (!rest.n)
        return fields == 1 ? "there is no command behind the nickname" : "there are less than five fields and a command";
    split_input(rest, arena, line);
    return NULL;
}

bool crontab_next(struct str *rest, size_t *number, struct arena *arena, struct crontab_line *ret_line)
{
    if (!rest->n)
        return false;
    struct str text = str_cut(rest, '\n');
    if (text.n && text.p[text.n - 1] == '\r')
        text.n--;
    struct crontab_line line = {.number = ++*number, .text = str_trim(text)};
    if (line.text.n && *line.text.p != '#') {
        line.kind = read_setting(&line) ? CRONTAB_SETTING : CRONTAB_ENTRY;
        line.why = line.kind == CRONTAB_ENTRY ? read_entry(arena, &line) : NULL;
        if (line.why)
            line.kind = CRONTAB_WRONG;
    }
    *ret_line = line;
    return true;
}
