// One pass, line by line. Names are remembered with what made them, because TOML allows a table to be opened by a longer header
// before its own, but nothing to be said twice.
//
// What it does not do: numbers with a point or another base, dates, strings over several lines, inline tables, arrays of tables.
// A file of settings does without them, and each is refused with what to write instead.
#include "base/text/toml.h"

#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/toml_value.h"

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
    struct toml_scan scan;
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

// ---- keys

static bool all_bare(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!toml_scan_is_bare(text.p[i]))
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
    return arena_copy(reader->scan.arena, buf_str(&quoted));
}

static bool read_part(struct reader *reader, struct str *ret_part)
{
    if (!toml_scan_at_end(&reader->scan) && (*reader->scan.at == '"' || *reader->scan.at == '\'')) {
        struct str text;
        if (!toml_scan_string(&reader->scan, &text))
            return false;
        *ret_part = path_part(reader, text);
        return true;
    }
    const char *from = reader->scan.at;
    while (!toml_scan_at_end(&reader->scan) && toml_scan_is_bare(*reader->scan.at))
        reader->scan.at++;
    *ret_part = (struct str){from, (size_t)(reader->scan.at - from)};
    return ret_part->n || toml_scan_fail(&reader->scan, "a name is expected here, of letters, digits, _ and -, or in quotes");
}

static bool read_key(struct reader *reader, struct key *ret_key)
{
    *ret_key = (struct key){.line = reader->scan.line, .column = toml_scan_column(&reader->scan, reader->scan.at)};
    do {
        toml_scan_skip_blanks(&reader->scan);
        if (ret_key->count == TOML_PARTS_MAX)
            return toml_scan_fail(&reader->scan, "this name has too many parts");
        if (!read_part(reader, &ret_key->parts[ret_key->count++]))
            return false;
        toml_scan_skip_blanks(&reader->scan);
    } while (toml_scan_skip(&reader->scan, "."));
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
        return toml_scan_fail_at(&reader->scan, key->line, key->column, "there are too many names in this file");
    reader->names[reader->name_count++] = (struct name){path, made};
    return true;
}

static struct str join(struct reader *reader, struct str path, struct str part)
{
    return path.n ? arena_printf(reader->scan.arena, STR_FMT "." STR_FMT, STR_ARG(path), STR_ARG(part)) : part;
}

static bool twice(struct reader *reader, const struct key *key, struct str path)
{
    char why[ERR_WHY_MAX];
    snprintf(why, sizeof why, "%.*s is given a second time here", path.n > 100 ? 100 : (int)path.n, path.p);
    return toml_scan_fail_at(&reader->scan, key->line, key->column, why);
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
    if (toml_scan_next_is(&reader->scan, "[["))
        return toml_scan_fail(&reader->scan, "lists of tables are not understood here; write [name]");
    reader->scan.at++;
    if (!read_key(reader, &key))
        return false;
    if (!toml_scan_skip(&reader->scan, "]"))
        return toml_scan_fail(&reader->scan, "a ] is expected here");
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
    return toml_scan_end_line(&reader->scan, "nothing but a comment may follow on this line");
}

static bool read_entry(struct reader *reader)
{
    struct key key;
    struct str path = reader->table;
    if (!read_key(reader, &key))
        return false;
    if (!toml_scan_skip(&reader->scan, "="))
        return toml_scan_fail(&reader->scan, "a = is expected here");
    toml_scan_skip_blanks(&reader->scan);
    if (!enter(reader, &key, &path, MADE_DOTTED))
        return false;
    if (find_name(reader, path))
        return twice(reader, &key, path);
    if (!add_name(reader, &key, path, MADE_VALUE))
        return false;
    struct toml_entry *entry = &reader->entries[reader->entry_count];
    *entry = (struct toml_entry){.key = path, .line = key.line, .column = key.column, .value_line = reader->scan.line};
    entry->value_column = toml_scan_column(&reader->scan, reader->scan.at);
    bool good = toml_value_read(&reader->scan, entry) &&
                toml_scan_end_line(&reader->scan, "nothing but a comment may follow a value on its line");
    reader->entry_count += good;
    return good;
}

static bool read_line(struct reader *reader)
{
    toml_scan_skip_blanks(&reader->scan);
    if (toml_scan_at_line_end(&reader->scan) || *reader->scan.at == '#')
        return toml_scan_end_line(&reader->scan, "");
    return *reader->scan.at == '[' ? read_header(reader) : read_entry(reader);
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
    bool one_line = reader->scan.line_start == from && reader->scan.error_count < TOML_ERRORS_MAX;
    while (!toml_scan_at_line_end(&reader->scan))
        reader->scan.at++;
    if (!one_line || !is_whole((struct str){from, (size_t)(reader->scan.at - from)}))
        return false;
    if (!toml_scan_at_end(&reader->scan))
        toml_scan_next_line(&reader->scan);
    return true;
}

bool toml_read(struct str text, struct arena *arena, struct toml *ret_toml)
{
    struct reader reader = {.scan = {.at = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1, .arena = arena}};
    *ret_toml = (struct toml){0};
    if (!text.n)
        return true;
    reader.names = arena_array(arena, struct name, TOML_NAMES_MAX);
    reader.entries = arena_array(arena, struct toml_entry, TOML_NAMES_MAX);
    reader.scan.errors = arena_array(arena, struct toml_error, TOML_ERRORS_MAX);
    if (toml_scan_skip(&reader.scan, "\xef\xbb\xbf")) // a byte order mark, which some editors leave
        reader.scan.line_start = reader.scan.at;
    while (!toml_scan_at_end(&reader.scan)) {
        const char *from = reader.scan.line_start;
        if (!read_line(&reader) && !pass_over(&reader, from))
            break;
    }
    *ret_toml = (struct toml){reader.entries, reader.entry_count, reader.scan.errors, reader.scan.error_count};
    return !reader.scan.error_count;
}
