// See toml_value.h. In a file of settings a value is what a setting can be. In one of documents it is anything that JSON knows,
// and what has more than one part becomes JSON while it is read.
#include "base/text/toml_value.h"

#include "base/text/json.h"

#include <string.h>

// ---- numbers

// Takes the digits off the front of *text, with single _ between them, and writes them down without. False: there are none, or a
// _ is out of place.
static bool take_digits(struct str *text, struct buf *digits)
{
    size_t n = 0;
    bool good = true;
    for (; n < text->n && (str_is_digit(text->p[n]) || text->p[n] == '_'); n++) {
        bool between = n && n + 1 < text->n && str_is_digit(text->p[n - 1]) && str_is_digit(text->p[n + 1]);
        good = good && (text->p[n] != '_' || between);
        if (text->p[n] != '_')
            buf_putc(digits, text->p[n]);
    }
    *text = str_skip(*text, n);
    return good && n > 0;
}

static bool take_byte(struct str *text, const char *bytes, struct buf *to)
{
    if (!text->n || !*text->p || !strchr(bytes, *text->p))
        return false;
    if (*text->p != '+')
        buf_putc(to, *text->p);
    *text = str_skip(*text, 1);
    return true;
}

// The number as JSON writes it. False: it is none in decimal.
static bool read_decimal(struct str text, struct buf *ret_json, bool *ret_whole)
{
    take_byte(&text, "+-", ret_json);
    bool zero = text.n > 1 && text.p[0] == '0' && (str_is_digit(text.p[1]) || text.p[1] == '_');
    bool good = !zero && take_digits(&text, ret_json);
    *ret_whole = !text.n;
    if (good && take_byte(&text, ".", ret_json))
        good = take_digits(&text, ret_json);
    if (good && take_byte(&text, "eE", ret_json)) {
        take_byte(&text, "+-", ret_json);
        good = take_digits(&text, ret_json);
    }
    return good && !text.n;
}

static bool read_number(struct toml_scan *scan, struct toml_entry *entry)
{
    buf_auto struct buf json = {0};
    struct str text = {scan->at, 0};
    bool whole;
    while (scan->at + text.n < scan->end &&
           (toml_scan_is_bare(text.p[text.n]) || (text.p[text.n] && strchr(".:+", text.p[text.n]))))
        text.n++;
    bool good = read_decimal(text, &json, &whole);
    struct json number = {JSON_NUMBER, buf_str(&json)};
    if (good && whole && json_int(number, &entry->number)) {
        entry->type = TOML_INT;
    } else if (good && !whole && scan->documents) {
        entry->type = TOML_JSON;
        entry->text = arena_copy(scan->arena, buf_str(&json));
    } else {
        return toml_scan_fail(
            scan, scan->documents ? "only numbers in decimal are understood here; text, durations and times are written in "
                                    "quotes: \"30s\""
                                  : "only whole numbers in decimal are understood here; text, durations, sizes and times are "
                                    "written in quotes: \"30s\", \"4KiB\"");
    }
    scan->at += text.n;
    return true;
}

// ---- arrays of settings

static bool read_strings(struct toml_scan *scan, struct toml_entry *entry)
{
    size_t room = 0, count = 0;
    struct str *items = NULL;
    scan->at++;
    for (bool more = true;; more = toml_scan_skip(scan, ",")) {
        if (!toml_scan_skip_space(scan))
            return false;
        if (toml_scan_skip(scan, "]"))
            break;
        if (!more)
            return toml_scan_fail(scan, "a , or ] is expected here");
        if (toml_scan_at_end(scan) || (*scan->at != '"' && *scan->at != '\''))
            return toml_scan_fail(scan, "lists hold strings here, in quotes, and end with ]");
        if (count == room) {
            struct str *grown = arena_array(scan->arena, struct str, room = room ? room * 2 : 8);
            if (count)
                memcpy(grown, items, count * sizeof *items);
            items = grown;
        }
        if (!toml_scan_string(scan, &items[count++]) || !toml_scan_skip_space(scan))
            return false;
    }
    entry->type = TOML_STRINGS;
    entry->items = items;
    entry->item_count = count;
    return true;
}

// ---- arrays and tables of documents

static bool put_value(struct toml_scan *scan, struct buf *json)
{
    struct toml_entry value = {0};
    if (!toml_value_read(scan, &value))
        return false;
    toml_put_json(json, &value);
    return true;
}

static bool put_items(struct toml_scan *scan, struct buf *json)
{
    for (bool more = true, first = true;; more = toml_scan_skip(scan, ","), first = false) {
        if (!toml_scan_skip_space(scan))
            return false;
        if (toml_scan_skip(scan, "]"))
            return true;
        if (!more)
            return toml_scan_fail(scan, "a , or ] is expected here");
        if (!first)
            buf_putc(json, ',');
        if (!put_value(scan, json) || !toml_scan_skip_space(scan))
            return false;
    }
}

static bool put_member(struct toml_scan *scan, struct buf *json, struct str *names, size_t count)
{
    if (count == TOML_MEMBERS_MAX)
        return toml_scan_fail(scan, "this table has too many names; write [name] on a line of its own");
    const char *from = scan->at;
    if (!toml_scan_name(scan, &names[count]))
        return false;
    for (size_t i = 0; i < count; i++)
        if (str_eq(names[i], names[count])) {
            scan->at = from;
            return toml_scan_fail(scan, "this name is given a second time here");
        }
    toml_scan_skip_blanks(scan);
    if (!toml_scan_skip(scan, "="))
        return toml_scan_fail(scan, toml_scan_next_is(scan, ".") ? "a name in braces has no dots here; write braces in the braces"
                                                                 : "a = is expected here");
    toml_scan_skip_blanks(scan);
    json_put_string(json, names[count]);
    buf_putc(json, ':');
    return put_value(scan, json);
}

// All on one line, and without a comma at its end, as TOML 1.0 has it.
static bool put_members(struct toml_scan *scan, struct buf *json)
{
    struct str names[TOML_MEMBERS_MAX];
    toml_scan_skip_blanks(scan);
    if (toml_scan_skip(scan, "}"))
        return true;
    for (size_t count = 0;; count++) {
        toml_scan_skip_blanks(scan);
        if (!put_member(scan, json, names, count))
            return false;
        toml_scan_skip_blanks(scan);
        if (toml_scan_skip(scan, "}"))
            return true;
        if (!toml_scan_skip(scan, ","))
            return toml_scan_fail(scan, "a , or } is expected here");
        buf_putc(json, ',');
    }
}

static bool read_json(struct toml_scan *scan, struct toml_entry *entry)
{
    buf_auto struct buf json = {0};
    bool array = *scan->at == '[';
    if (scan->depth == TOML_DEPTH_MAX)
        return toml_scan_fail(scan, "this lies too deep in other brackets");
    scan->at++;
    scan->depth++;
    buf_putc(&json, array ? '[' : '{');
    bool good = (array ? put_items : put_members)(scan, &json);
    buf_putc(&json, array ? ']' : '}');
    scan->depth--;
    entry->type = TOML_JSON;
    entry->text = arena_copy(scan->arena, buf_str(&json));
    return good;
}

// ---- any of them

static bool read_text(struct toml_scan *scan, struct toml_entry *entry)
{
    bool is_long = toml_scan_next_is(scan, "\"\"\"") || toml_scan_next_is(scan, "'''");
    entry->type = TOML_STRING;
    return (is_long && scan->documents ? toml_scan_long_string : toml_scan_string)(scan, &entry->text);
}

bool toml_value_read(struct toml_scan *scan, struct toml_entry *entry)
{
    char c = toml_scan_at_line_end(scan) ? '\n' : *scan->at;
    if (c == '"' || c == '\'')
        return read_text(scan, entry);
    if (scan->documents && (c == '[' || c == '{'))
        return read_json(scan, entry);
    if (c == '[')
        return read_strings(scan, entry);
    if (c == '{')
        return toml_scan_fail(scan, "tables in braces are not understood here; write [name] on a line of its own");
    if (toml_scan_skip(scan, "true") || toml_scan_skip(scan, "false")) {
        entry->type = TOML_BOOL;
        entry->number = c == 't';
        return true;
    }
    if ((c >= '0' && c <= '9') || c == '-' || c == '+')
        return read_number(scan, entry);
    return toml_scan_fail(scan, c == '\n' || c == '#' ? "a value is missing here" : "text is written in quotes: \"…\"");
}

static void put_strings(struct buf *buf, const struct toml_entry *entry)
{
    buf_putc(buf, '[');
    for (size_t i = 0; i < entry->item_count; i++) {
        if (i)
            buf_putc(buf, ',');
        json_put_string(buf, entry->items[i]);
    }
    buf_putc(buf, ']');
}

void toml_put_json(struct buf *buf, const struct toml_entry *entry)
{
    if (entry->type == TOML_STRING)
        json_put_string(buf, entry->text);
    else if (entry->type == TOML_INT)
        buf_put_int(buf, entry->number);
    else if (entry->type == TOML_BOOL)
        buf_puts(buf, entry->number ? "true" : "false");
    else if (entry->type == TOML_STRINGS)
        put_strings(buf, entry);
    else
        buf_put(buf, entry->text);
}
