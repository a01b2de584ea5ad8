// One pass, line by line. Names are remembered with what made them, because TOML allows a table to be opened by a longer header
// before its own, but nothing to be said twice.
//
// What it does not do: numbers with a point or another base, dates, strings over several lines, inline tables, arrays of tables.
// A file of settings does without them, and each is refused with what to write instead.
#include "base/text/toml.h"

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/utf8.h"

#include <stdio.h>
#include <string.h>

// What made a name.
enum made {
    MADE_VALUE,  // key = value
    MADE_HEADER, // [name]
    MADE_ON_WAY, // [name.more]: may still get its own header
    MADE_DOTTED, // name.more = value: is complete with the table it stands in
};

struct name {
    struct str path;
    enum made made;
};

struct reader {
    const char *at, *end;
    const char *line_start;
    int line;
    struct arena *arena;
    struct toml_error *errors;
    size_t error_count;
    struct str table; // the path of the header above; empty at the beginning
    struct name *names;
    size_t name_count;
    struct toml_entry *entries;
    size_t entry_count;
};

struct key {
    struct str parts[TOML_PARTS_MAX]; // as they are written in paths
    size_t count;
    int line, column;
};

// ---- where it is, and what is wrong there

static int column_of(const struct reader *reader, const char *at)
{
    int column = 1;
    for (const char *p = reader->line_start; p < at; p++)
        column += ((unsigned char)*p & 0xc0) != 0x80;
    return column;
}

static bool fail_at(struct reader *reader, int line, int column, const char *why)
{
    struct toml_error *error = &reader->errors[reader->error_count++];
    error->line = line;
    error->column = column;
    snprintf(error->why, ERR_WHY_MAX, "%s", why);
    return false;
}

static bool fail(struct reader *reader, const char *why)
{
    return fail_at(reader, reader->line, column_of(reader, reader->at), why);
}

static bool at_end(const struct reader *reader)
{
    return reader->at >= reader->end;
}

static bool next_is(const struct reader *reader, const char *text)
{
    return str_starts((struct str){reader->at, (size_t)(reader->end - reader->at)}, str_of(text));
}

static bool skip(struct reader *reader, const char *text)
{
    if (!next_is(reader, text))
        return false;
    reader->at += strlen(text);
    return true;
}

static void skip_blanks(struct reader *reader)
{
    while (!at_end(reader) && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
}

// ---- lines

static bool at_line_end(const struct reader *reader)
{
    return at_end(reader) || *reader->at == '\n' || next_is(reader, "\r\n");
}

static void next_line(struct reader *reader)
{
    if (!skip(reader, "\r\n"))
        skip(reader, "\n");
    reader->line++;
    reader->line_start = reader->at;
}

// One character that a comment or a string may have: UTF-8, and no control character but the tabulator. 0: not so.
static int plain_length(const struct reader *reader)
{
    int length = utf8_length(reader->at, reader->end);
    unsigned char c = (unsigned char)*reader->at;
    return (c < 0x20 && c != '\t') || c == 0x7f ? 0 : length;
}

static bool skip_comment(struct reader *reader)
{
    skip_blanks(reader);
    if (at_end(reader) || *reader->at != '#')
        return true;
    while (!at_line_end(reader)) {
        int length = plain_length(reader);
        if (!length)
            return fail(reader, "this is not UTF-8, or a control character");
        reader->at += length;
    }
    return true;
}

static bool end_line(struct reader *reader, const char *why)
{
    if (!skip_comment(reader))
        return false;
    if (!at_line_end(reader))
        return fail(reader, why);
    if (!at_end(reader))
        next_line(reader);
    return true;
}

// ---- strings

// Behind \u or \U.
static bool read_rune(struct reader *reader, int digits, char **to)
{
    uint32_t rune = 0;
    const char *at = reader->at;
    for (int i = 0; i < digits; i++, at++) {
        int value = at < reader->end ? str_hex(*at) : -1;
        if (value < 0)
            return fail(reader, "\\u is followed by four hexadecimal digits, \\U by eight");
        rune = rune << 4 | (uint32_t)value;
    }
    int length = rune ? utf8_write(*to, rune) : 0;
    if (!length)
        return fail(reader, "this escape is no character");
    *to += length;
    reader->at = at;
    return true;
}

static bool read_escape(struct reader *reader, char **to)
{
    static const char names[] = "btnfr\"\\", bytes[] = "\b\t\n\f\r\"\\";
    char c = reader->at + 1 < reader->end ? reader->at[1] : 0;
    const char *known = c ? strchr(names, c) : NULL;
    if (!known && c != 'u' && c != 'U')
        return fail(reader, "this escape is not known; a backslash is written \\\\, or the string in '…', where none is needed");
    reader->at += 2;
    if (!known)
        return read_rune(reader, c == 'u' ? 4 : 8, to);
    *(*to)++ = bytes[known - names];
    return true;
}

// How far the string reaches: an escape is never longer than what it is written as, so that is room enough for it.
static size_t string_room(const struct reader *reader, char quote)
{
    const char *at = reader->at + 1;
    while (at < reader->end && *at != '\n' && *at != quote)
        at += quote == '"' && *at == '\\' ? 2 : 1;
    return (size_t)(at - reader->at) + 4;
}

// From the quote on.
static bool read_string(struct reader *reader, struct str *ret_text)
{
    char quote = *reader->at;
    if (next_is(reader, "\"\"\"") || next_is(reader, "'''"))
        return fail(reader, "strings over several lines are not understood here; write one line, with \\n where a line ends");
    char *text = arena_alloc(reader->arena, string_room(reader, quote)), *to = text;
    const char *from = reader->at++;
    while (!at_line_end(reader) && *reader->at != quote) {
        int length = plain_length(reader);
        if (!length)
            return fail(reader, "this is not UTF-8, or a control character");
        if (quote == '"' && *reader->at == '\\') {
            if (!read_escape(reader, &to))
                return false;
            continue;
        }
        memcpy(to, reader->at, (size_t)length);
        to += length;
        reader->at += length;
    }
    if (at_line_end(reader)) {
        reader->at = from;
        return fail(reader, "this string has no end on its line");
    }
    reader->at++;
    *ret_text = (struct str){text, (size_t)(to - text)};
    return true;
}

// ---- keys

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static bool all_bare(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_bare(text.p[i]))
            return false;
    return text.n > 0;
}

// So that "a.b" is not taken for a.b.
static struct str path_part(struct reader *reader, struct str text)
{
    if (all_bare(text))
        return text;
    buf_auto struct buf quoted = {0};
    json_put_string(&quoted, text);
    return arena_copy(reader->arena, buf_str(&quoted));
}

static bool read_part(struct reader *reader, struct str *ret_part)
{
    if (!at_end(reader) && (*reader->at == '"' || *reader->at == '\'')) {
        struct str text;
        if (!read_string(reader, &text))
            return false;
        *ret_part = path_part(reader, text);
        return true;
    }
    const char *from = reader->at;
    while (!at_end(reader) && is_bare(*reader->at))
        reader->at++;
    *ret_part = (struct str){from, (size_t)(reader->at - from)};
    return ret_part->n || fail(reader, "a name is expected here, of letters, digits, _ and -, or in quotes");
}

static bool read_key(struct reader *reader, struct key *ret_key)
{
    *ret_key = (struct key){.line = reader->line, .column = column_of(reader, reader->at)};
    do {
        skip_blanks(reader);
        if (ret_key->count == TOML_PARTS_MAX)
            return fail(reader, "this name has too many parts");
        if (!read_part(reader, &ret_key->parts[ret_key->count++]))
            return false;
        skip_blanks(reader);
    } while (skip(reader, "."));
    return true;
}

// ---- names, each of which may be made once

static struct name *find_name(struct reader *reader, struct str path)
{
    for (size_t i = 0; i < reader->name_count; i++)
        if (str_eq(reader->names[i].path, path))
            return &reader->names[i];
    return NULL;
}

static bool add_name(struct reader *reader, const struct key *key, struct str path, enum made made)
{
    if (reader->name_count == TOML_NAMES_MAX)
        return fail_at(reader, key->line, key->column, "there are too many names in this file");
    reader->names[reader->name_count++] = (struct name){path, made};
    return true;
}

static struct str join(struct reader *reader, struct str path, struct str part)
{
    return path.n ? arena_printf(reader->arena, STR_FMT "." STR_FMT, STR_ARG(path), STR_ARG(part)) : part;
}

static bool twice(struct reader *reader, const struct key *key, struct str path)
{
    char why[ERR_WHY_MAX];
    snprintf(why, sizeof why, "%.*s is given a second time here", path.n > 100 ? 100 : (int)path.n, path.p);
    return fail_at(reader, key->line, key->column, why);
}

// All parts but the last are tables: opened on the way by a header, made or known by dots in a key.
static bool enter(struct reader *reader, const struct key *key, struct str *path, enum made made)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        *path = join(reader, *path, key->parts[i]);
        const struct name *name = find_name(reader, *path);
        if (!name && !add_name(reader, key, *path, made))
            return false;
        if (name && (name->made == MADE_VALUE || (made == MADE_DOTTED && name->made != MADE_DOTTED)))
            return twice(reader, key, *path);
    }
    *path = join(reader, *path, key->parts[key->count - 1]);
    return true;
}

static bool read_header(struct reader *reader)
{
    struct key key;
    struct str path = {0};
    if (next_is(reader, "[["))
        return fail(reader, "lists of tables are not understood here; write [name]");
    reader->at++;
    if (!read_key(reader, &key))
        return false;
    if (!skip(reader, "]"))
        return fail(reader, "a ] is expected here");
    if (!enter(reader, &key, &path, MADE_ON_WAY))
        return false;
    struct name *name = find_name(reader, path);
    if (name && name->made != MADE_ON_WAY)
        return twice(reader, &key, path);
    if (name)
        name->made = MADE_HEADER;
    else if (!add_name(reader, &key, path, MADE_HEADER))
        return false;
    reader->table = path;
    return end_line(reader, "nothing but a comment may follow on this line");
}

// ---- values

static bool read_number(struct reader *reader, struct toml_entry *entry)
{
    const char *from = reader->at;
    bool negative = *reader->at == '-', digits = false, good = true;
    uint64_t number = 0;
    reader->at += *reader->at == '-' || *reader->at == '+';
    const char *first = reader->at;
    for (; !at_end(reader) && (is_bare(*reader->at) || strchr(".:+", *reader->at)); reader->at++) {
        char c = *reader->at;
        if (c == '_' && digits && reader->at + 1 < reader->end && str_hex(reader->at[1]) >= 0) {
            digits = false; // another digit must follow
            continue;
        }
        good = good && c >= '0' && c <= '9' && number <= (INT64_MAX - 9) / 10;
        number = good ? number * 10 + (uint64_t)(c - '0') : 0;
        digits = true;
    }
    good = good && digits && (*first != '0' || reader->at == first + 1);
    if (!good) {
        reader->at = from;
        return fail(reader,
                    "only whole numbers in decimal are understood here; text, durations, sizes and times are written in quotes: "
                    "\"30s\", \"4KiB\"");
    }
    entry->type = TOML_INT;
    entry->number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

// In an array line ends and comments may stand between all parts.
static bool skip_space(struct reader *reader)
{
    for (;;) {
        if (!skip_comment(reader))
            return false;
        if (at_end(reader) || !at_line_end(reader))
            return true;
        next_line(reader);
    }
}

static bool read_strings(struct reader *reader, struct toml_entry *entry)
{
    size_t room = 0, count = 0;
    struct str *items = NULL;
    reader->at++;
    for (bool more = true;; more = skip(reader, ",")) {
        if (!skip_space(reader))
            return false;
        if (skip(reader, "]"))
            break;
        if (!more)
            return fail(reader, "a , or ] is expected here");
        if (at_end(reader) || (*reader->at != '"' && *reader->at != '\''))
            return fail(reader, "lists hold strings here, in quotes, and end with ]");
        if (count == room) {
            struct str *grown = arena_array(reader->arena, struct str, room = room ? room * 2 : 8);
            if (count)
                memcpy(grown, items, count * sizeof *items);
            items = grown;
        }
        if (!read_string(reader, &items[count++]) || !skip_space(reader))
            return false;
    }
    entry->type = TOML_STRINGS;
    entry->items = items;
    entry->item_count = count;
    return true;
}

static bool read_value(struct reader *reader, struct toml_entry *entry)
{
    char c = at_line_end(reader) ? '\n' : *reader->at;
    if (c == '"' || c == '\'') {
        entry->type = TOML_STRING;
        return read_string(reader, &entry->text);
    }
    if (c == '[')
        return read_strings(reader, entry);
    if (c == '{')
        return fail(reader, "tables in braces are not understood here; write [name] on a line of its own");
    if (skip(reader, "true") || skip(reader, "false")) {
        entry->type = TOML_BOOL;
        entry->number = c == 't';
        return true;
    }
    if ((c >= '0' && c <= '9') || c == '-' || c == '+')
        return read_number(reader, entry);
    return fail(reader, c == '\n' || c == '#' ? "a value is missing here" : "text is written in quotes: \"…\"");
}

static bool read_entry(struct reader *reader)
{
    struct key key;
    struct str path = reader->table;
    if (!read_key(reader, &key))
        return false;
    if (!skip(reader, "="))
        return fail(reader, "a = is expected here");
    skip_blanks(reader);
    if (!enter(reader, &key, &path, MADE_DOTTED))
        return false;
    if (find_name(reader, path))
        return twice(reader, &key, path);
    if (!add_name(reader, &key, path, MADE_VALUE))
        return false;
    struct toml_entry *entry = &reader->entries[reader->entry_count];
    *entry = (struct toml_entry){.key = path, .line = key.line, .column = key.column, .value_line = reader->line};
    entry->value_column = column_of(reader, reader->at);
    bool good = read_value(reader, entry) && end_line(reader, "nothing but a comment may follow a value on its line");
    reader->entry_count += good;
    return good;
}

static bool read_line(struct reader *reader)
{
    skip_blanks(reader);
    if (at_line_end(reader) || *reader->at == '#')
        return end_line(reader, "");
    return *reader->at == '[' ? read_header(reader) : read_entry(reader);
}

// Is the line complete by itself? Otherwise the lines behind it may belong to it.
static bool is_whole(struct str line)
{
    struct str start = line;
    while (start.n && (*start.p == ' ' || *start.p == '\t'))
        start = (struct str){start.p + 1, start.n - 1};
    if (!start.n || *start.p == '[' || memmem(line.p, line.n, "\"\"\"", 3) || memmem(line.p, line.n, "'''", 3))
        return false;
    const char *list = memchr(line.p, '[', line.n), *braces = memchr(line.p, '{', line.n);
    return (!list || memrchr(line.p, ']', line.n) > (void *)list) && (!braces || memrchr(line.p, '}', line.n) > (void *)braces);
}

// Goes on behind a line that is wrong. False: what follows cannot be read.
static bool pass_over(struct reader *reader, const char *from)
{
    bool one_line = reader->line_start == from && reader->error_count < TOML_ERRORS_MAX;
    while (!at_line_end(reader))
        reader->at++;
    if (!one_line || !is_whole((struct str){from, (size_t)(reader->at - from)}))
        return false;
    if (!at_end(reader))
        next_line(reader);
    return true;
}

bool toml_read(struct str text, struct arena *arena, struct toml *ret_toml)
{
    struct reader reader = {.at = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1, .arena = arena};
    *ret_toml = (struct toml){0};
    if (!text.n)
        return true;
    reader.names = arena_array(arena, struct name, TOML_NAMES_MAX);
    reader.entries = arena_array(arena, struct toml_entry, TOML_NAMES_MAX);
    reader.errors = arena_array(arena, struct toml_error, TOML_ERRORS_MAX);
    if (skip(&reader, "\xef\xbb\xbf")) // a byte order mark, which some editors leave
        reader.line_start = reader.at;
    while (!at_end(&reader)) {
        const char *from = reader.line_start;
        if (!read_line(&reader) && !pass_over(&reader, from))
            break;
    }
    *ret_toml = (struct toml){reader.entries, reader.entry_count, reader.errors, reader.error_count};
    return !reader.error_count;
}
