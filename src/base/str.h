// A slice of bytes that somebody else owns.
// Layer: base. Plain values, any thread.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_of(const char *text)
{
    return (struct str){text, text ? strlen(text) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

static inline bool str_starts(struct str a, struct str start)
{
    return a.n >= start.n && (start.n == 0 || memcmp(a.p, start.p, start.n) == 0);
}

static inline struct str str_skip(struct str text, size_t n) // without its first n bytes
{
    return (struct str){text.p + n, text.n - n};
}

static inline bool str_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool str_is_letter(char c) // ASCII only
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool str_eq_nocase(struct str a, struct str b); // ASCII only
struct str str_trim(struct str text);           // without the blanks, spaces and tabs, at both ends
// Takes what stands before the first `mark` off the front of *rest, and the mark; all of it when there is none.
struct str str_cut(struct str *rest, char mark);
int str_hex(char digit);          // what it stands for; -1: it is none
int str_escaped(struct str text); // the byte that an escape (%41) at the front of it means; -1: there is none

// How many letters must be changed, added or left out to make one of the other; case makes no difference. For guesses at what was
// meant: texts of more than 32 bytes are as far apart as they are long.
size_t str_distance(struct str a, struct str b);

// Going through names for the one that was probably meant by `word`: is this one nearer than all before it? *least is STR_FAR at
// first. Two letters may be off, and half of the name, or every short word would mean "in".
enum { STR_FAR = 3 };
bool str_nearer(struct str word, struct str name, size_t *least);
