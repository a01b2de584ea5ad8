// A user's crontab as a file of tasks for `rota apply`, for the lines that call curl or wget.
// Layer: cli. Pure.
#pragma once
#include "base/buf.h"

struct import {
    struct buf file; // TOML: a task for each line that is taken, and comments about all that is not
    struct buf talk; // lines for stderr about what is left out or will be otherwise
    size_t taken, left_out;
};

// `source` is how the crontab is called in what is said, such as "crontab" in "crontab:3:". `timezone` is that of lines for which
// the crontab names none; NULL: the server's default, UTC, and the talk says so.
void import_crontab(struct str text, const char *source, const char *timezone, struct import *ret_import);
void import_done(struct import *import);
