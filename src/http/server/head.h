// The head of a request: its line and headers, taken apart, and where its body ends.
//
// Layer: port (http), part of the server. Pure. Strict: what two readers could take for two different requests is refused.
#pragma once
#include "base/arena.h"
#include "base/str.h"

#include <stdint.h>

struct head_field {
    struct str name, value;
};

struct head {
    struct str method;
    struct str host;        // who is asked: as the target says (http://HOST/…), else the header Host; .p == NULL: not said
    struct str path, query; // of the target, as they came; the query without its mark
    bool old;               // HTTP/1.0
    struct head_field *fields;
    size_t field_count;
    int64_t length; // -1: not said; one that is too large for a number is the largest
    bool chunked;
    bool asks_first; // Expect: it waits to be told to go on
    bool closes;     // the client does
};

// How long the head at the front of `bytes` is, with the empty line; 0: it is not complete. *scanned says how much was looked at
// before, and is brought up to date.
size_t head_size(struct str bytes, size_t *scanned);

// Reads a complete head, whose bytes must live as long as *ret_head. Returns what is wrong with it, or NULL.
const char *head_read(struct str bytes, struct arena *arena, struct head *ret_head);

struct str head_value(const struct head *head, const char *name); // of the first field of that name; .p == NULL: there is none
size_t head_count(const struct head *head, const char *name);     // how many of that name there are
// Of all fields of that name, with a comma between them: for those that are lists and may come in several lines.
struct str head_list(const struct head *head, const char *name, struct arena *arena);
