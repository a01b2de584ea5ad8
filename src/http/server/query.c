// A path stays as it came, because it is taken apart before it is unescaped: an escaped slash is none. So of its escapes only
// whether they are sound is looked at here.
#include "http/server/query.h"

static bool decode(struct str text, struct arena *arena, struct str *ret_text)
{
    struct str copy = arena_copy(arena, text);
    char *to = (char *)copy.p;
    for (const char *at = copy.p, *end = copy.p + copy.n; at < end; at++) {
        int c = *at == '+' ? ' ' : (unsigned char)*at;
        if (c == '%') {
            c = str_escaped((struct str){at, (size_t)(end - at)});
            if (c <= 0)
                return false;
            at += 2;
        }
        *to++ = (char)c;
    }
    *to = 0;
    *ret_text = (struct str){copy.p, (size_t)(to - copy.p)};
    return true;
}

static bool escapes_are_sound(struct str text)
{
    for (const char *at; text.n && (at = memchr(text.p, '%', text.n));) {
        text = str_skip(text, (size_t)(at - text.p));
        if (str_escaped(text) <= 0)
            return false;
        text = str_skip(text, 3);
    }
    return true;
}

const char *query_read(struct str path, struct str query, struct arena *arena, struct pair **ret_pairs)
{
    static const char broken[] = "The path or the query has a percent sign that escapes nothing, or NUL.";
    *ret_pairs = NULL;
    if (!escapes_are_sound(path))
        return broken;
    for (int count = 0; query.n; count++) {
        struct str value = str_cut(&query, '&'), name = str_cut(&value, '=');
        struct pair *pair = arena_alloc(arena, sizeof *pair);
        if (count == QUERY_MAX)
            return "The query has more than 64 parameters.";
        if (!decode(name, arena, &pair->name) || !decode(value, arena, &pair->value))
            return broken;
        *ret_pairs = pair;
        ret_pairs = &pair->next;
    }
    return NULL;
}
