// One pass, line by line. Names are remembered with what made them, because TOML allows a table to be opened by a longer header
// before its own, but nothing to be said twice.
//
// What it does not do: numbers with another base, dates, lists within lists. A file of settings does without more of TOML, and
// what it does without is refused with what to write instead.
//
// Within an item of a [[list]] names begin with that of the list and the number of the item, as in task[3].name. So names of two
// items never meet, and a name has to be looked for only among those of its item, however many items there are.
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
    MADE_LIST,   // [[name]]
};

struct name {
    struct str path;
    enum made made;
    size_t item;  // MADE_LIST: the latest
    size_t first; // MADE_LIST: where the names of its latest item begin
};

// Which names are looked at: those of the whole file, or of an item.
struct scope {
    size_t first; // of the names
    size_t item;  // 0: none
    size_t skip;  // bytes of paths that are before the item's keys
};

struct reader {
    struct toml_scan scan;
    struct str table;   // the path of the header above; empty at the beginning
    struct scope scope; // of that table
    struct name *names;
    size_t name_count, names_max;
    struct toml_entry *entries;
    size_t entry_count;
    struct toml_item *items;
    size_t item_count;
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

static bool read_key(struct reader *reader, struct key *ret_key)
{
    *ret_key = (struct key){.line = reader->scan.line, .column = toml_scan_column(&reader->scan, reader->scan.at)};
    do {
        toml_scan_skip_blanks(&reader->scan);
        if (ret_key->count == TOML_PARTS_MAX)
            return toml_scan_fail(&reader->scan, "this name has too many parts");
        struct str name;
        if (!toml_scan_name(&reader->scan, &name))
            return false;
        ret_key->parts[ret_key->count++] = path_part(reader, name);
        toml_scan_skip_blanks(&reader->scan);
    } while (toml_scan_skip(&reader->scan, "."));
    return true;
}

// ---- names, each of which may be made once

static struct name *find_name(struct reader *reader, const struct scope *scope, struct str path)
{
    for (size_t i = scope->first; i < reader->name_count; i++)
        if (str_eq(reader->names[i].path, path))
            return &reader->names[i];
    return NULL;
}

static bool add_name(struct reader *reader, const struct key *key, struct str path, enum made made)
{
    if (reader->name_count == reader->names_max)
        return toml_scan_fail_at(&reader->scan, key->line, key->column, "there are too many names in this file");
    reader->names[reader->name_count++] = (struct name){.path = path, .made = made};
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

// Goes on in the latest item of a list.
static void enter_item(struct reader *reader, const struct name *list, struct str *path, struct scope *scope)
{
    *path = arena_printf(reader->scan.arena, STR_FMT "[%zu]", STR_ARG(*path), list->item);
    *scope = (struct scope){list->first, list->item, path->n + 1};
}

// All parts but the last are tables: opened on the way by a header, made or known by dots in a key.
static bool enter(struct reader *reader, const struct key *key, struct str *path, struct scope *scope, enum made made)
{
    for (size_t i = 0; i + 1 < key->count; i++) {
        *path = join(reader, *path, key->parts[i]);
        const struct name *name = find_name(reader, scope, *path);
        if (!name && !add_name(reader, key, *path, made))
            return false;
        if (name && (name->made == MADE_VALUE || (made == MADE_DOTTED && name->made != MADE_DOTTED)))
            return twice(reader, key, *path);
        if (name && name->made == MADE_LIST)
            enter_item(reader, name, path, scope);
    }
    *path = join(reader, *path, key->parts[key->count - 1]);
    return true;
}

// Between the brackets.
static bool read_header_key(struct reader *reader, const char *open, const char *close, struct key *ret_key)
{
    char why[] = "a ]] is expected here";
    snprintf(why, sizeof why, "a %s is expected here", close);
    toml_scan_skip(&reader->scan, open);
    return read_key(reader, ret_key) && (toml_scan_skip(&reader->scan, close) || toml_scan_fail(&reader->scan, why));
}

static const char only_comment[] = "nothing but a comment may follow on this line";

static bool read_list_header(struct reader *reader)
{
    struct key key;
    struct scope scope = {0};
    if (!reader->scan.documents)
        return toml_scan_fail(&reader->scan, "lists of tables are not understood here; write [name]");
    if (!read_header_key(reader, "[[", "]]", &key))
        return false;
    struct str path = key.parts[0];
    if (key.count > 1)
        return toml_scan_fail_at(&reader->scan, key.line, key.column,
                                 "lists in tables are not understood here; write {…} in […]");
    struct name *name = find_name(reader, &scope, path);
    if (name && name->made != MADE_LIST)
        return twice(reader, &key, path);
    if (!name && !add_name(reader, &key, path, MADE_LIST))
        return false;
    name = name ? name : &reader->names[reader->name_count - 1];
    reader->items[reader->item_count++] = (struct toml_item){path, key.line, key.column};
    name->item = reader->item_count;
    name->first = reader->name_count;
    enter_item(reader, name, &path, &reader->scope);
    reader->table = path;
    return toml_scan_end_line(&reader->scan, only_comment);
}

static bool read_header(struct reader *reader)
{
    struct key key;
    struct str path = {0};
    struct scope scope = {0};
    if (!read_header_key(reader, "[", "]", &key) || !enter(reader, &key, &path, &scope, MADE_ON_WAY))
        return false;
    struct name *name = find_name(reader, &scope, path);
    if (name && name->made != MADE_ON_WAY)
        return twice(reader, &key, path);
    if (name)
        name->made = MADE_HEADER;
    else if (!add_name(reader, &key, path, MADE_HEADER))
        return false;
    reader->table = path;
    reader->scope = scope;
    return toml_scan_end_line(&reader->scan, only_comment);
}

static bool read_entry(struct reader *reader)
{
    struct key key;
    struct str path = reader->table;
    struct scope scope = reader->scope;
    if (!read_key(reader, &key))
        return false;
    if (!toml_scan_skip(&reader->scan, "="))
        return toml_scan_fail(&reader->scan, "a = is expected here");
    toml_scan_skip_blanks(&reader->scan);
    if (!enter(reader, &key, &path, &scope, MADE_DOTTED))
        return false;
    if (find_name(reader, &scope, path))
        return twice(reader, &key, path);
    if (!add_name(reader, &key, path, MADE_VALUE))
        return false;
    struct toml_entry *entry = &reader->entries[reader->entry_count];
    *entry = (struct toml_entry){.item = scope.item, .key = str_skip(path, scope.skip), .line = key.line, .column = key.column};
    entry->value_line = reader->scan.line;
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
    if (toml_scan_next_is(&reader->scan, "[["))
        return read_list_header(reader);
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

// A name takes at least two bytes of the text, with what stands behind it.
static void make_room(struct reader *reader, size_t size, size_t names_max)
{
    size_t room = size / 2 + 1 < names_max ? size / 2 + 1 : names_max;
    reader->names_max = room;
    reader->names = arena_array(reader->scan.arena, struct name, room);
    reader->entries = arena_array(reader->scan.arena, struct toml_entry, room);
    reader->items = arena_array(reader->scan.arena, struct toml_item, size / 5 + 1); // [[x]]
    reader->scan.errors = arena_array(reader->scan.arena, struct toml_error, TOML_ERRORS_MAX);
}

static bool read_all(struct str text, struct arena *arena, bool documents, struct toml *ret_toml)
{
    struct reader reader = {.scan = {.at = text.p, .end = text.p + text.n, .line_start = text.p, .line = 1, .arena = arena}};
    reader.scan.documents = documents;
    *ret_toml = (struct toml){0};
    if (!text.n)
        return true;
    make_room(&reader, text.n, documents ? TOML_DOCUMENTS_NAMES_MAX : TOML_NAMES_MAX);
    if (toml_scan_skip(&reader.scan, "\xef\xbb\xbf")) // a byte order mark, which some editors leave
        reader.scan.line_start = reader.scan.at;
    while (!toml_scan_at_end(&reader.scan)) {
        const char *from = reader.scan.line_start;
        if (!read_line(&reader) && !pass_over(&reader, from))
            break;
    }
    *ret_toml = (struct toml){reader.entries,    reader.entry_count, reader.items,
                              reader.item_count, reader.scan.errors, reader.scan.error_count};
    return !reader.scan.error_count;
}

bool toml_read(struct str text, struct arena *arena, struct toml *ret_toml)
{
    return read_all(text, arena, false, ret_toml);
}

bool toml_read_documents(struct str text, struct arena *arena, struct toml *ret_toml)
{
    return read_all(text, arena, true, ret_toml);
}
