// What the fuzz targets share. A target is one function over any bytes; it checks what must be so whatever they are.
//
// The same file is linked twice: with replay.c into a plain program that runs the committed corpus (./dev test unit), and with
// libFuzzer into one that looks for new inputs (./dev fuzz).
#pragma once
#include "base/str.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); // the name libFuzzer calls; returns 0

// Asserts stay on in every build, and these words are all that a finding says: so the condition should read as a sentence.
#define must(condition)                                                                      \
    do {                                                                                     \
        if (!(condition)) {                                                                  \
            fprintf(stderr, "%s:%d: this must be so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                         \
        }                                                                                    \
    } while (0)

static inline struct str fuzz_input(const uint8_t *data, size_t size)
{
    return (struct str){(const char *)data, size};
}

// Takes what stands before the first `mark` off the front of *rest, and the mark; all of it when there is none.
static inline struct str fuzz_cut(struct str *rest, char mark)
{
    const char *found = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    struct str part = {rest->p, found ? (size_t)(found - rest->p) : rest->n};
    size_t taken = found ? part.n + 1 : part.n;
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return part;
}
