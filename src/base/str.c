// Compares byte by byte rather than with strncasecmp, which stops at a NUL and asks the locale.
#include "base/str.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != lower(b.p[i]))
            return false;
    return true;
}

enum { DISTANCE_MAX = 32 };

// One row of the usual table: row[j] is the distance between the first i bytes of `a` and the first j of `b`.
size_t str_distance(struct str a, struct str b)
{
    size_t row[DISTANCE_MAX + 1];
    if (a.n > DISTANCE_MAX || b.n > DISTANCE_MAX)
        return a.n > b.n ? a.n : b.n;
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t changed = corner + (lower(a.p[i - 1]) != lower(b.p[j - 1]));
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            corner = row[j];
            row[j] = changed < other ? changed : other;
        }
    }
    return row[b.n];
}

bool str_nearer(struct str word, struct str name, size_t *least)
{
    size_t distance = str_distance(word, name);
    if (distance >= *least || distance * 2 > name.n)
        return false;
    *least = distance;
    return true;
}

struct str str_trim(struct str text)
{
    while (text.n && (text.p[0] == ' ' || text.p[0] == '\t')) {
        text.p++;
        text.n--;
    }
    while (text.n && (text.p[text.n - 1] == ' ' || text.p[text.n - 1] == '\t'))
        text.n--;
    return text;
}

struct str str_cut(struct str *rest, char mark)
{
    const char *found = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    struct str part = {rest->p, found ? (size_t)(found - rest->p) : rest->n};
    *rest = str_skip(*rest, part.n + (found != NULL));
    return part;
}

int str_hex(char digit)
{
    if (str_is_digit(digit))
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

int str_escaped(struct str text)
{
    if (text.n < 3 || text.p[0] != '%')
        return -1;
    int high = str_hex(text.p[1]), low = str_hex(text.p[2]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}
