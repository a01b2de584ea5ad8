// See toml_value.h.
#include "base/text/toml_value.h"

#include <string.h>

static bool read_number(struct toml_scan *scan, struct toml_entry *entry)
{
    const char *from = scan->at;
    bool negative = *scan->at == '-', digits = false, good = true;
    uint64_t number = 0;
    scan->at += *scan->at == '-' || *scan->at == '+';
    const char *first = scan->at;
    for (; !toml_scan_at_end(scan) && (toml_scan_is_bare(*scan->at) || strchr(".:+", *scan->at)); scan->at++) {
        char c = *scan->at;
        if (c == '_' && digits && scan->at + 1 < scan->end && str_hex(scan->at[1]) >= 0) {
            digits = false; // another digit must follow
            continue;
        }
        good = good && c >= '0' && c <= '9' && number <= (INT64_MAX - 9) / 10;
        number = good ? number * 10 + (uint64_t)(c - '0') : 0;
        digits = true;
    }
    good = good && digits && (*first != '0' || scan->at == first + 1);
    if (!good) {
        scan->at = from;
        return toml_scan_fail(
            scan, "only whole numbers in decimal are understood here; text, durations, sizes and times are written in quotes: "
                  "\"30s\", \"4KiB\"");
    }
    entry->type = TOML_INT;
    entry->number = negative ? -(int64_t)number : (int64_t)number;
    return true;
}

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

bool toml_value_read(struct toml_scan *scan, struct toml_entry *entry)
{
    char c = toml_scan_at_line_end(scan) ? '\n' : *scan->at;
    if (c == '"' || c == '\'') {
        entry->type = TOML_STRING;
        return toml_scan_string(scan, &entry->text);
    }
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
