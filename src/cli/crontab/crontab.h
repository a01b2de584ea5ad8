// The lines of a user's crontab, as Vixie's cron reads them.
// Layer: cli. Pure but for the arena.
#pragma once
#include "base/arena.h"

#include <stdbool.h>

enum crontab_kind {
    CRONTAB_NOTHING, // a blank line or a comment
    CRONTAB_SETTING, // NAME=value, which holds for the lines below it
    CRONTAB_ENTRY,   // a pattern and a command
    CRONTAB_WRONG,   // cron would not take it: `why` says the reason
};

struct crontab_line {
    enum crontab_kind kind;
    size_t number;      // from 1
    struct str text;    // as it is written, without blanks at its ends
    struct str name;    // SETTING
    struct str value;   // SETTING, without its quotes
    struct str pattern; // ENTRY: five fields with one space between them, or a nickname
    struct str command; // ENTRY: what the shell gets: all before the first %, with \% as %
    bool has_input;     // ENTRY: there is a %
    struct str input;   // ENTRY: what the command gets on stdin: all behind the first %, with each further % as a line end
    const char *why;    // WRONG: a constant text
};

// Takes the next line off the front of *rest; false: there is none. *number is that of the line before, 0 at first. The texts of
// the line lie in the crontab or in the arena.
bool crontab_next(struct str *rest, size_t *number, struct arena *arena, struct crontab_line *ret_line);
