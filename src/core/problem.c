// A problem is made here and shown elsewhere: as JSON in api/reply, as text on the command line.
#include "core/problem.h"

#include <stdio.h>
#include <string.h>

enum err problem_set_args(struct problem *ret_problem, enum err err, const char *field, const char *format, va_list args)
{
    ret_problem->err = err;
    snprintf(ret_problem->field, sizeof ret_problem->field, "%s", field ? field : "");
    vsnprintf(ret_problem->detail, sizeof ret_problem->detail, format, args);
    return err;
}

enum err problem_set(struct problem *ret_problem, enum err err, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem_set_args(ret_problem, err, field, format, args);
    va_end(args);
    return err;
}

void problem_point(struct problem *why, struct str step)
{
    size_t n = strlen(why->field), last = sizeof why->field - 1 - 4; // where the longest character still fits
    if (n > last)
        return;
    why->field[n++] = '/';
    for (size_t i = 0; i < step.n; i++) {
        bool begins = ((unsigned char)step.p[i] & 0xc0) != 0x80;
        if (begins && n > last)
            break;
        if (step.p[i] == '~' || step.p[i] == '/') {
            why->field[n++] = '~';
            why->field[n++] = step.p[i] == '~' ? '0' : '1';
        } else {
            why->field[n++] = step.p[i];
        }
    }
    why->field[n] = 0;
}
