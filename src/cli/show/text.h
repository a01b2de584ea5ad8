// Text from elsewhere, made fit for a terminal: nothing that a server says can move the cursor, change colours or hide what
// follows. Layer: cli. Pure.
#pragma once
#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

// The character at the start of `text`: how many bytes it has, 0 when they are not UTF-8 or there are none.
size_t text_rune(struct str text, uint32_t *ret_rune);

// Is it all UTF-8 without NUL? If not, *ret_at is where it ceases to be.
bool text_valid(struct str text, size_t *ret_at);

// One line: control characters and marks that change the direction of writing are written as \n, \x1b or \u202e; bytes that are
// not UTF-8 become U+FFFD. `lines` keeps line feeds as they are.
void text_put_safe(struct buf *buf, struct str text, bool lines);

// At most `max` characters of it, with … where it was cut. Returns false when it was.
bool text_put_short(struct buf *buf, struct str text, size_t max);

// How many columns of a terminal it takes: wide characters two, marks that join the one before none.
size_t text_columns(struct str text);

// As much of safe text as fits into so many columns, with … where it was cut.
void text_put_fitted(struct buf *buf, struct str text, size_t columns);

// The same, cut in the middle: a third of the room shows how it begins, the rest how it ends.
void text_put_middle(struct buf *buf, struct str text, size_t columns);

// A checked JSON text laid out anew: over several lines, or all on one. Its values keep their bytes, except that what
// text_put_safe would hide is written as \u escapes, which mean the same. No line feed at the end.
void text_put_json(struct buf *buf, struct str json, bool indent);

// The functions below look for parts of a JSON text that is known to be valid; they keep the bytes they came with.

struct str text_json_member(struct str object, const char *name); // empty when there is none; names with escapes are not found
// Takes the next item off the front of an array. Start with the whole of it; false at its end.
bool text_json_next(struct str *rest, struct str *ret_item);
