// The characters, lines and strings of a TOML file. Only toml.c and toml_value.c know it.
// Layer: base. Pure but for the arena.
#pragma once
#include "base/text/toml.h"

struct toml_scan {
    const char *at, *end;
    const char *line_start;
    int line;
    struct arena *arena;
    struct toml_error *errors; // room for TOML_ERRORS_MAX of them
    size_t error_count;
    bool documents; // it is a file of documents, in which more is understood
    int depth;      // of the arrays and tables around the value at hand
};

int toml_scan_column(const struct toml_scan *scan, const char *at); // from 1, in characters

// Write down what is wrong, there or where the scan is. They return false, so that a caller can return it.
bool toml_scan_fail_at(struct toml_scan *scan, int line, int column, const char *why);
bool toml_scan_fail(struct toml_scan *scan, const char *why);

bool toml_scan_at_end(const struct toml_scan *scan);
bool toml_scan_at_line_end(const struct toml_scan *scan); // or at the end of all
bool toml_scan_next_is(const struct toml_scan *scan, const char *text);
bool toml_scan_skip(struct toml_scan *scan, const char *text); // false: it is something else, and nothing is skipped
void toml_scan_skip_blanks(struct toml_scan *scan);
void toml_scan_next_line(struct toml_scan *scan);                 // from the end of a line
bool toml_scan_skip_comment(struct toml_scan *scan);              // and the blanks before it; false: it is no text
bool toml_scan_skip_space(struct toml_scan *scan);                // blanks, comments and line ends, as in an array
bool toml_scan_end_line(struct toml_scan *scan, const char *why); // a comment at most may follow; else `why`

bool toml_scan_is_bare(char c);                                           // may it stand in a key without quotes
bool toml_scan_name(struct toml_scan *scan, struct str *ret_name);        // one part of a key, decoded
bool toml_scan_string(struct toml_scan *scan, struct str *ret_text);      // from its quote on, on one line
bool toml_scan_long_string(struct toml_scan *scan, struct str *ret_text); // from its three quotes on
