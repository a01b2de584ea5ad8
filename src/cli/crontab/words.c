// See words.h. One pass. A word is written into one block that is as long as the command, because no word becomes longer by
// losing its quotes.
#include "cli/crontab/words.h"

#include "base/mem.h"

#include <assert.h>
#include <stdio.h>

struct splitter {
    struct str rest;
    char *to;    // where the next byte of a word goes
    char *begin; // of the word at hand; NULL: between two words
    bool quoted; // a part of the word at hand was in quotes or behind a backslash
    struct str *items;
    size_t count;
    char *why;
};

// What only a shell can do, outside quotes.
static const struct {
    char byte;
    const char *words;
} refusals[] = {
    {'|', "a pipe (|) needs a shell"},
    {'&', "a second command or the background (&) needs a shell; a & that belongs to a URL must be in quotes"},
    {';', "a second command (;) needs a shell"},
    {'(', "parentheses need a shell"},
    {')', "parentheses need a shell"},
    {'`', "a command within the command (`) needs a shell"},
    {'*', "a pattern of file names (*) needs a shell; a * that is meant as such must be in quotes"},
    {'?', "a pattern of file names (?) needs a shell; a ? that is meant as such must be in quotes"},
    {'[', "a pattern of file names ([) needs a shell; a [ that is meant as such must be in quotes"},
    {'{', "braces need a shell; a { that is meant as such must be in quotes"},
    {'}', "braces need a shell; a } that is meant as such must be in quotes"},
    {'\n', "a second command on a line of its own needs a shell"},
};

static bool refuse(struct splitter *splitter, const char *words)
{
    snprintf(splitter->why, ERR_WHY_MAX, "%s", words);
    return false;
}

static bool next_is(const struct splitter *splitter, char c)
{
    return splitter->rest.n && *splitter->rest.p == c;
}

static char take(struct splitter *splitter)
{
    char c = *splitter->rest.p;
    splitter->rest = str_skip(splitter->rest, 1);
    return c;
}

static void put(struct splitter *splitter, char c)
{
    if (!splitter->begin)
        splitter->begin = splitter->to;
    assert(splitter->to);
    *splitter->to++ = c;
}

static struct str word_of(const struct splitter *splitter)
{
    return (struct str){splitter->begin, splitter->begin ? (size_t)(splitter->to - splitter->begin) : 0};
}

static void end_word(struct splitter *splitter)
{
    if (splitter->begin)
        splitter->items[splitter->count++] = word_of(splitter);
    splitter->begin = NULL;
    splitter->quoted = false;
}

// ---- quotes

// A $ is one unless a name, a digit, a bracket or a special parameter follows.
static bool is_expansion(const struct splitter *splitter)
{
    char next = splitter->rest.n ? *splitter->rest.p : 0;
    return str_is_letter(next) || str_is_digit(next) || (next && strchr("_{([@*#?$!-'\"", next));
}

static bool take_dollar(struct splitter *splitter, bool in_quotes)
{
    bool ends_quotes = in_quotes && (next_is(splitter, '"') || next_is(splitter, '\''));
    if (!ends_quotes && is_expansion(splitter))
        return refuse(splitter, "a variable or a command within the command ($) needs a shell");
    put(splitter, '$');
    return true;
}

static bool take_single(struct splitter *splitter)
{
    while (splitter->rest.n && !next_is(splitter, '\''))
        put(splitter, take(splitter));
    if (!splitter->rest.n)
        return refuse(splitter, "a quote (') is not closed");
    take(splitter);
    return true;
}

static bool take_double(struct splitter *splitter)
{
    while (splitter->rest.n && !next_is(splitter, '"')) {
        char c = take(splitter);
        if (c == '`')
            return refuse(splitter, "a command within the command (`) needs a shell");
        if (c == '$') {
            if (!take_dollar(splitter, true))
                return false;
            continue;
        }
        bool escape = c == '\\' && splitter->rest.n && strchr("$`\"\\", *splitter->rest.p) && *splitter->rest.p;
        put(splitter, escape ? take(splitter) : c);
    }
    if (!splitter->rest.n)
        return refuse(splitter, "a quote (\") is not closed");
    take(splitter);
    return true;
}

static bool take_quoted(struct splitter *splitter, char quote)
{
    if (!splitter->begin)
        splitter->begin = splitter->to; // '' is a word, too
    splitter->quoted = true;
    return quote == '"' ? take_double(splitter) : take_single(splitter);
}

static bool take_backslash(struct splitter *splitter)
{
    if (!splitter->rest.n)
        return refuse(splitter, "nothing follows the backslash at its end");
    splitter->quoted = true;
    put(splitter, take(splitter));
    return true;
}

// ---- redirections

static bool is_number(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!str_is_digit(text.p[i]))
            return false;
    return text.n > 0;
}

// Where it leads: 2>&1 to another of its outputs, >/dev/null nowhere. A file would have to be on this machine.
static bool is_harmless(struct str file, bool to_output)
{
    return str_is(file, "/dev/null") || (to_output && (is_number(file) || str_is(file, "-")));
}

// Behind the > or <. What it leads to ends where a word would end.
static bool take_redirection(struct splitter *splitter, char sign)
{
    if (!splitter->quoted && is_number(word_of(splitter))) // 2> is one of its outputs, and 2 no word
        splitter->begin = NULL;
    end_word(splitter);
    if (next_is(splitter, sign) || (sign == '>' && next_is(splitter, '|')))
        take(splitter);
    bool to_output = next_is(splitter, '&');
    if (to_output)
        take(splitter);
    splitter->rest = str_trim(splitter->rest);
    size_t n = 0;
    while (n < splitter->rest.n && !strchr(" \t\n|&;<>()", splitter->rest.p[n]))
        n++;
    struct str file = {splitter->rest.p, n};
    splitter->rest = str_skip(splitter->rest, n);
    if (is_harmless(file, to_output))
        return true;
    return refuse(splitter, sign == '<' ? "input from a file (<) needs a file of this machine"
                                        : "output into a file (>) needs a file of this machine; >/dev/null is fine");
}

// ---- the whole

// A ? in a URL without quotes is a pattern for the shell, but no file has such a name, so the word stays as it is.
static bool is_query(const struct splitter *splitter, char c)
{
    struct str word = word_of(splitter);
    return c == '?' && word.n && memmem(word.p, word.n, "://", 3);
}

static bool take_plain(struct splitter *splitter, char c)
{
    if (c == '~' && !splitter->begin)
        return refuse(splitter, "the home directory (~) needs a shell");
    for (size_t i = 0; i < array_count(refusals); i++)
        if (refusals[i].byte == c && !is_query(splitter, c))
            return refuse(splitter, refusals[i].words);
    put(splitter, c);
    return true;
}

static bool take_next(struct splitter *splitter)
{
    char c = take(splitter);
    if (c == '\'' || c == '"')
        return take_quoted(splitter, c);
    if (c == '\\')
        return take_backslash(splitter);
    if (c == '$')
        return take_dollar(splitter, false);
    if (c == '&' && next_is(splitter, '>')) { // both outputs
        end_word(splitter);
        return take_redirection(splitter, take(splitter));
    }
    if (c == '>' || c == '<')
        return take_redirection(splitter, c);
    if (c == '#' && !splitter->begin) // a comment
        splitter->rest.n = 0;
    else if (c == ' ' || c == '\t')
        end_word(splitter);
    else
        return take_plain(splitter, c);
    return true;
}

bool words_split(struct str command, struct arena *arena, struct words *ret_words, char why[ERR_WHY_MAX])
{
    struct splitter splitter = {.rest = command, .why = why};
    splitter.to = arena_alloc(arena, command.n + 1);
    splitter.items = arena_array(arena, struct str, command.n / 2 + 1);
    while (splitter.rest.n)
        if (!take_next(&splitter))
            return false;
    end_word(&splitter);
    *ret_words = (struct words){splitter.items, splitter.count};
    return true;
}
