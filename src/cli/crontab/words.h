// The words of one simple shell command: a program and its arguments.
// Layer: cli. Pure but for the arena.
//
// Only what means the same in every shell and on every machine is read: quotes, backslashes, a comment at the end, and
// redirections that throw output away. What a shell would have to do something for (pipes, variables, patterns of file names, a
// second command) is refused.
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>

struct words {
    const struct str *items; // in the arena, without their quotes
    size_t count;            // may be 0
};

// False: `why` says what a shell would be needed for, or which quote is not closed.
err_check bool words_split(struct str command, struct arena *arena, struct words *ret_words, char why[ERR_WHY_MAX]);
