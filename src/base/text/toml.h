// A strict reader of the part of TOML 1.0 that a file of settings needs.
// Layer: base. Pure but for the arena.
//
// Understood: comments, [tables], bare, quoted and dotted keys, basic and literal strings on one line, whole numbers in decimal,
// true and false, arrays of strings. Everything else of TOML is refused with a reason, and so is what TOML refuses: keys and
// tables that come twice, bytes that are not UTF-8, control characters.
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

enum toml_type { TOML_STRING, TOML_INT, TOML_BOOL, TOML_STRINGS };

struct toml_entry {
    struct str key;   // its whole path: log.level; parts that need quotes have them
    int line, column; // where it is named, from 1; a column is a character
    int value_line, value_column;
    enum toml_type type;
    struct str text;         // TOML_STRING, decoded; never with NUL in it
    int64_t number;          // TOML_INT; 0 or 1 of TOML_BOOL
    const struct str *items; // TOML_STRINGS
    size_t item_count;
};

struct toml_error {
    int line, column;
    char why[ERR_WHY_MAX]; // and what would be right
};

struct toml {
    const struct toml_entry *entries; // in the order of the file
    size_t count;
    const struct toml_error *errors; // as are these
    size_t error_count;
};

enum { TOML_NAMES_MAX = 1000, TOML_PARTS_MAX = 8, TOML_ERRORS_MAX = 10 }; // keys and tables in a file; parts of a key

// False: there are errors. A line that is wrong is passed over, so that the others are read all the same; a header that is wrong,
// or a value that may go on over several lines, ends the reading. All that is returned lives in the arena, or in `text`.
err_check bool toml_read(struct str text, struct arena *arena, struct toml *ret_toml);
