// A strict reader of the parts of TOML 1.0 that a file of settings and a file of documents need.
// Layer: base. Pure but for the arena.
//
// Understood in settings: comments, [tables], bare, quoted and dotted keys, basic and literal strings on one line, whole numbers
// in decimal, true and false, arrays of strings. In documents besides: [[lists]] of tables, {tables in braces}, arrays of
// anything, numbers with a point or an exponent, strings over several lines. Everything else of TOML is refused with a reason,
// and so is what TOML refuses: keys and tables that come twice, bytes that are not UTF-8, control characters.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

enum toml_type { TOML_STRING, TOML_INT, TOML_BOOL, TOML_STRINGS, TOML_JSON };

struct toml_entry {
    size_t item;      // the item of a [[list]] that it belongs to, from 1; 0: none
    struct str key;   // its whole path, from its item on: log.level; parts that need quotes have those of JSON
    int line, column; // where it is named, from 1; a column is a character
    int value_line, value_column;
    enum toml_type type;
    struct str text;         // TOML_STRING, decoded; never with NUL in it. TOML_JSON: the value as JSON
    int64_t number;          // TOML_INT; 0 or 1 of TOML_BOOL
    const struct str *items; // TOML_STRINGS, which only settings have
    size_t item_count;
};

// What one [[list]] opens.
struct toml_item {
    struct str list; // its name
    int line, column;
};

struct toml_error {
    int line, column;
    char why[ERR_WHY_MAX]; // and what would be right
};

struct toml {
    const struct toml_entry *entries; // in the order of the file
    size_t count;
    const struct toml_item *items; // of all lists; also those without an entry
    size_t item_count;
    const struct toml_error *errors; // in the order of the file, too
    size_t error_count;
};

enum {
    TOML_NAMES_MAX = 1000,            // keys and tables in a file of settings
    TOML_DOCUMENTS_NAMES_MAX = 50000, // and in one of documents
    TOML_PARTS_MAX = 8,               // of a key
    TOML_DEPTH_MAX = 16,              // of arrays and tables in a value
    TOML_MEMBERS_MAX = 64,            // of a table in braces
    TOML_ERRORS_MAX = 10,
};

// False: there are errors. A line that is wrong is passed over, so that the others are read all the same; a header that is wrong,
// or a value that may go on over several lines, ends the reading. All that is returned lives in the arena, or in `text`.
err_check bool toml_read(struct str text, struct arena *arena, struct toml *ret_toml); // settings
err_check bool toml_read_documents(struct str text, struct arena *arena, struct toml *ret_toml);

void toml_put_json(struct buf *buf, const struct toml_entry *entry); // its value
