// Why something is refused: which field and what would be right.
// Layer: core, pure.
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <stdarg.h>

struct problem {
    enum err err;
    char field[96]; // of a document a JSON pointer, "/retry/max"; of a query its name
    char detail[ERR_WHY_MAX];
};

// Fills a problem and returns its error, so that a check can end with it. `field` may be NULL.
enum err problem_set(struct problem *ret_problem, enum err err, const char *field, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
enum err problem_set_args(struct problem *ret_problem, enum err err, const char *field, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

// Puts one step of a JSON pointer behind what is there. What does not fit is left out, never half a character.
void problem_point(struct problem *why, struct str step);
