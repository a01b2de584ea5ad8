// JSON as slices: a text is checked once, strictly, and then looked at where it lies. Values keep the bytes they came with.
// Layer: base. Pure functions over the caller's bytes.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

enum json_type { JSON_ABSENT, JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    enum json_type type;
    struct str raw; // from its first to its last byte, quotes and brackets included
};

enum { JSON_DEPTH_MAX = 32 };

// Checks that `text` is exactly one value with optional space around it, as RFC 8259 says, and more: valid UTF-8, no lone
// surrogates, no NUL (also not as \u0000), no key twice in one object (compared decoded), depth at most JSON_DEPTH_MAX, numbers
// within the range of double. `why` gets one sentence with the line and column.
err_check enum err json_check(struct str text, struct json *ret_value, char why[ERR_WHY_MAX]);

// The same of a text that passed it once and was kept since: whether a key is given twice is not looked for again. One pass,
// whatever there is in it.
err_check enum err json_check_again(struct str text, struct json *ret_value, char why[ERR_WHY_MAX]);

// The functions below take only values that came from a checked text.

struct json_iter {
    const char *at, *end;
};

struct json_iter json_iter(struct json value);                                        // of an object or array
bool json_next(struct json_iter *iter, struct json *ret_key, struct json *ret_value); // objects
bool json_next_item(struct json_iter *iter, struct json *ret_value);                  // arrays
struct json json_member(struct json object, struct str name);                         // JSON_ABSENT when there is none

// The text of a string, escapes decoded: a slice of the original when there are none, else in the arena.
struct str json_text(struct json value, struct arena *arena);
bool json_int(struct json value, int64_t *ret_value); // false unless it is a number without fraction that fits (1e3 and 1.0 do)

void json_put_string(struct buf *buf, struct str text); // quoted and escaped; bytes that are not UTF-8 become U+FFFD
