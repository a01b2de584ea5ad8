// See toml_scan.h.
#include "base/text/toml_scan.h"

#include "base/buf.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

// ---- where it is, and what is wrong there

int toml_scan_column(const struct toml_scan *scan, const char *at)
{
    int column = 1;
    for (const char *p = scan->line_start; p < at; p++)
        column += ((unsigned char)*p & 0xc0) != 0x80;
    return column;
}

bool toml_scan_fail_at(struct toml_scan *scan, int line, int column, const char *why)
{
    struct toml_error *error = &scan->errors[scan->error_count++];
    error->line = line;
    error->column = column;
    snprintf(error->why, ERR_WHY_MAX, "%s", why);
    return false;
}

bool toml_scan_fail(struct toml_scan *scan, const char *why)
{
    return toml_scan_fail_at(scan, scan->line, toml_scan_column(scan, scan->at), why);
}

bool toml_scan_at_end(const struct toml_scan *scan)
{
    return scan->at >= scan->end;
}

bool toml_scan_next_is(const struct toml_scan *scan, const char *text)
{
    return str_starts((struct str){scan->at, (size_t)(scan->end - scan->at)}, str_of(text));
}

bool toml_scan_skip(struct toml_scan *scan, const char *text)
{
    if (!toml_scan_next_is(scan, text))
        return false;
    scan->at += strlen(text);
    return true;
}

void toml_scan_skip_blanks(struct toml_scan *scan)
{
    while (!toml_scan_at_end(scan) && (*scan->at == ' ' || *scan->at == '\t'))
        scan->at++;
}

// ---- lines

bool toml_scan_at_line_end(const struct toml_scan *scan)
{
    return toml_scan_at_end(scan) || *scan->at == '\n' || toml_scan_next_is(scan, "\r\n");
}

void toml_scan_next_line(struct toml_scan *scan)
{
    if (!toml_scan_skip(scan, "\r\n"))
        toml_scan_skip(scan, "\n");
    scan->line++;
    scan->line_start = scan->at;
}

// One character that a comment or a string may have: UTF-8, and no control character but the tabulator. 0: not so.
static int plain_length(const struct toml_scan *scan)
{
    int length = utf8_length(scan->at, scan->end);
    unsigned char c = (unsigned char)*scan->at;
    return (c < 0x20 && c != '\t') || c == 0x7f ? 0 : length;
}

bool toml_scan_skip_comment(struct toml_scan *scan)
{
    toml_scan_skip_blanks(scan);
    if (toml_scan_at_end(scan) || *scan->at != '#')
        return true;
    while (!toml_scan_at_line_end(scan)) {
        int length = plain_length(scan);
        if (!length)
            return toml_scan_fail(scan, "this is not UTF-8, or a control character");
        scan->at += length;
    }
    return true;
}

bool toml_scan_end_line(struct toml_scan *scan, const char *why)
{
    if (!toml_scan_skip_comment(scan))
        return false;
    if (!toml_scan_at_line_end(scan))
        return toml_scan_fail(scan, why);
    if (!toml_scan_at_end(scan))
        toml_scan_next_line(scan);
    return true;
}

// In an array line ends and comments may stand between all parts.
bool toml_scan_skip_space(struct toml_scan *scan)
{
    for (;;) {
        if (!toml_scan_skip_comment(scan))
            return false;
        if (toml_scan_at_end(scan) || !toml_scan_at_line_end(scan))
            return true;
        toml_scan_next_line(scan);
    }
}

// ---- strings

// Behind \u or \U.
static bool read_rune(struct toml_scan *scan, int digits, char **to)
{
    uint32_t rune = 0;
    const char *at = scan->at;
    for (int i = 0; i < digits; i++, at++) {
        int value = at < scan->end ? str_hex(*at) : -1;
        if (value < 0)
            return toml_scan_fail(scan, "\\u is followed by four hexadecimal digits, \\U by eight");
        rune = rune << 4 | (uint32_t)value;
    }
    int length = rune ? utf8_write(*to, rune) : 0;
    if (!length)
        return toml_scan_fail(scan, "this escape is no character");
    *to += length;
    scan->at = at;
    return true;
}

static bool read_escape(struct toml_scan *scan, char **to)
{
    static const char names[] = "btnfr\"\\", bytes[] = "\b\t\n\f\r\"\\";
    char c = scan->at + 1 < scan->end ? scan->at[1] : 0;
    const char *known = c ? strchr(names, c) : NULL;
    if (!known && c != 'u' && c != 'U')
        return toml_scan_fail(
            scan, "this escape is not known; a backslash is written \\\\, or the string in '…', where none is needed");
    scan->at += 2;
    if (!known)
        return read_rune(scan, c == 'u' ? 4 : 8, to);
    *(*to)++ = bytes[known - names];
    return true;
}

// How far the string reaches: an escape is never longer than what it is written as, so that is room enough for it.
static size_t string_room(const struct toml_scan *scan, char quote)
{
    const char *at = scan->at + 1;
    while (at < scan->end && *at != '\n' && *at != quote)
        at += quote == '"' && *at == '\\' ? 2 : 1;
    return (size_t)(at - scan->at) + 4;
}

// From the quote on.
bool toml_scan_string(struct toml_scan *scan, struct str *ret_text)
{
    char quote = *scan->at;
    if (toml_scan_next_is(scan, "\"\"\"") || toml_scan_next_is(scan, "'''"))
        return toml_scan_fail(scan,
                              "strings over several lines are not understood here; write one line, with \\n where a line ends");
    char *text = arena_alloc(scan->arena, string_room(scan, quote)), *to = text;
    const char *from = scan->at++;
    while (!toml_scan_at_line_end(scan) && *scan->at != quote) {
        int length = plain_length(scan);
        if (!length)
            return toml_scan_fail(scan, "this is not UTF-8, or a control character");
        if (quote == '"' && *scan->at == '\\') {
            if (!read_escape(scan, &to))
                return false;
            continue;
        }
        memcpy(to, scan->at, (size_t)length);
        to += length;
        scan->at += length;
    }
    if (toml_scan_at_line_end(scan)) {
        scan->at = from;
        return toml_scan_fail(scan, "this string has no end on its line");
    }
    scan->at++;
    *ret_text = (struct str){text, (size_t)(to - text)};
    return true;
}

// ---- strings over several lines

// Is there a backslash with nothing but blanks behind it on its line?
static bool is_joining(const struct toml_scan *scan)
{
    struct toml_scan ahead = *scan;
    if (!toml_scan_skip(&ahead, "\\"))
        return false;
    toml_scan_skip_blanks(&ahead);
    return toml_scan_at_line_end(&ahead) && !toml_scan_at_end(&ahead);
}

// The backslash, and all blanks and line ends up to the next character.
static void skip_joint(struct toml_scan *scan)
{
    scan->at++;
    for (;;) {
        toml_scan_skip_blanks(scan);
        if (toml_scan_at_end(scan) || !toml_scan_at_line_end(scan))
            return;
        toml_scan_next_line(scan);
    }
}

static bool take_long_part(struct toml_scan *scan, char quote, struct buf *text)
{
    char bytes[4], *to = bytes;
    if (toml_scan_at_line_end(scan)) {
        buf_putc(text, '\n');
        toml_scan_next_line(scan);
        return true;
    }
    if (quote == '"' && is_joining(scan)) {
        skip_joint(scan);
        return true;
    }
    if (quote == '"' && *scan->at == '\\') {
        bool good = read_escape(scan, &to);
        buf_put(text, (struct str){bytes, (size_t)(to - bytes)});
        return good;
    }
    int length = plain_length(scan);
    if (!length)
        return toml_scan_fail(scan, "this is not UTF-8, or a control character");
    buf_put(text, (struct str){scan->at, (size_t)length});
    scan->at += length;
    return true;
}

bool toml_scan_long_string(struct toml_scan *scan, struct str *ret_text)
{
    buf_auto struct buf text = {0};
    const char quote = *scan->at, mark[] = {quote, quote, quote, 0};
    int line = scan->line, column = toml_scan_column(scan, scan->at);
    toml_scan_skip(scan, mark);
    if (toml_scan_at_line_end(scan) && !toml_scan_at_end(scan)) // the first line end is not part of it
        toml_scan_next_line(scan);
    while (!toml_scan_next_is(scan, mark)) {
        if (toml_scan_at_end(scan))
            return toml_scan_fail_at(scan, line, column, "this string has no end");
        if (!take_long_part(scan, quote, &text))
            return false;
    }
    toml_scan_skip(scan, mark);
    for (int i = 0; i < 2 && !toml_scan_at_end(scan) && *scan->at == quote; i++, scan->at++) // of five quotes two are text
        buf_putc(&text, quote);
    *ret_text = arena_copy(scan->arena, buf_str(&text));
    return true;
}

// ---- names

bool toml_scan_is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool toml_scan_name(struct toml_scan *scan, struct str *ret_name)
{
    if (!toml_scan_at_end(scan) && (*scan->at == '"' || *scan->at == '\''))
        return toml_scan_string(scan, ret_name);
    const char *from = scan->at;
    while (!toml_scan_at_end(scan) && toml_scan_is_bare(*scan->at))
        scan->at++;
    *ret_name = (struct str){from, (size_t)(scan->at - from)};
    return ret_name->n || toml_scan_fail(scan, "a name is expected here, of letters, digits, _ and -, or in quotes");
}
