// A walk from left to right: at each place the rows of a table are asked whether something secret begins here. A row says how
// much is to be kept and how much is to be hidden behind it.
//
// In a URL everything between the first colon behind :// and the last @ of the word is hidden, so a password with an @ or / of
// its own, which does not belong there and therefore gets into error messages, is hidden too. Messages are cut, perhaps within a
// password: so without an @ everything behind the colon is hidden unless it looks like a port.
#include "base/mask.h"

#include "base/mem.h"

#include <string.h>

// Something secret: `keep` bytes that lead to it, and `hide` bytes of it. 0: there is nothing to hide here.
struct find {
    size_t keep, hide;
};

static bool is_of_name(char c)
{
    return str_is_letter(c) || str_is_digit(c) || c == '_';
}

static bool ends_word(char c)
{
    return (unsigned char)c <= ' ' || c == '"' || c == '\'' || c == '`' || c == '<' || c == '>';
}

static struct str word_of(struct str text)
{
    size_t n = 0;
    while (n < text.n && !ends_word(text.p[n]))
        n++;
    return (struct str){text.p, n};
}

static bool starts_nocase(struct str text, const char *start)
{
    size_t n = strlen(start);
    return text.n >= n && str_eq_nocase((struct str){text.p, n}, (struct str){start, n});
}

static bool is_port(struct str text)
{
    size_t n = 0;
    while (n < text.n && n < 6 && str_is_digit(text.p[n]))
        n++;
    return n < 6 && (n == text.n || !is_of_name(text.p[n]));
}

static struct find find_url(struct str text, bool begins)
{
    if (!str_starts(text, STR("://")))
        return (struct find){0};
    struct str word = word_of(text);
    size_t from = 3;
    const char *close = word.n > from && word.p[from] == '[' ? memchr(word.p, ']', word.n) : NULL; // an IPv6 address
    if (close)
        from = (size_t)(close - word.p);
    const char *colon = memchr(word.p + from, ':', word.n - from);
    if (!colon)
        return (struct find){0};
    size_t keep = (size_t)(colon - word.p) + 1;
    struct str rest = {word.p + keep, word.n - keep};
    const char *at = rest.n ? memrchr(rest.p, '@', rest.n) : NULL;
    if (at)
        return (struct find){keep, (size_t)(at - rest.p)};
    return (struct find){keep, is_port(rest) ? 0 : rest.n};
}

// NAME=value, NAME='a value', also as the end of a longer name (sslpassword=).
static struct find find_assigned(struct str text, bool begins)
{
    static const char *const names[] = {"password=", "passwd=", "passphrase=", "secret=", "token=", "api_key=", "apikey="};
    for (size_t i = 0; i < array_count(names); i++) {
        if (!starts_nocase(text, names[i]))
            continue;
        size_t keep = strlen(names[i]);
        struct str rest = {text.p + keep, text.n - keep};
        if (rest.n && (rest.p[0] == '\'' || rest.p[0] == '"')) {
            const char *close = memchr(rest.p + 1, rest.p[0], rest.n - 1);
            return (struct find){keep, close ? (size_t)(close - rest.p) + 1 : rest.n};
        }
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '&' && !ends_word(rest.p[n]))
            n++;
        return (struct find){keep, n};
    }
    return (struct find){0};
}

static struct find find_header(struct str text, bool begins)
{
    static const char *const names[] = {"authorization:", "proxy-authorization:", "cookie:"};
    for (size_t i = 0; begins && i < array_count(names); i++)
        if (starts_nocase(text, names[i]))
            return (struct find){strlen(names[i]), text.n - strlen(names[i])};
    return (struct find){0};
}

// What is this short behind the word is more likely English than a key.
static struct find find_scheme(struct str text, bool begins)
{
    enum { SHORTEST = 8 };
    static const char *const names[] = {"bearer ", "basic "};
    for (size_t i = 0; begins && i < array_count(names); i++) {
        if (!starts_nocase(text, names[i]))
            continue;
        size_t keep = strlen(names[i]);
        size_t n = word_of((struct str){text.p + keep, text.n - keep}).n;
        return (struct find){keep, n < SHORTEST ? 0 : n};
    }
    return (struct find){0};
}

static struct find find_key(struct str text, bool begins)
{
    const struct str start = STR("rota_sk_");
    if (!str_starts(text, start))
        return (struct find){0};
    size_t n = start.n;
    while (n < text.n && is_of_name(text.p[n]))
        n++;
    return (struct find){start.n, n - start.n};
}

// `begins`: no letter stands before it.
static struct find (*const finders[])(struct str text, bool begins) = {find_url, find_assigned, find_header, find_scheme,
                                                                       find_key};

static struct find find_any(struct str text, bool begins)
{
    struct find found = {0};
    for (size_t i = 0; i < array_count(finders) && !found.hide; i++)
        found = finders[i](text, begins);
    return found;
}

void mask_put(struct buf *buf, struct str text)
{
    for (size_t at = 0; at < text.n;) {
        struct str rest = {text.p + at, text.n - at};
        struct find found = find_any(rest, at == 0 || !is_of_name(text.p[at - 1]));
        buf_put(buf, (struct str){rest.p, found.hide ? found.keep : 1});
        if (found.hide)
            buf_puts(buf, "***");
        at += found.hide ? found.keep + found.hide : 1;
    }
}
