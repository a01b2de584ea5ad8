// What others call the fields of a task: for a refusal that says what was probably meant.
// Layer: core, pure.
#pragma once
#include "base/str.h"

struct synonym {
    const char *ours;   // "at", "retry.max"; or a field that is not built yet
    const char *others; // names with blanks between them, in small letters, without '_' and '-'
    const char *words;  // what is to be said instead of a guess, or NULL
};

// `name` as it was given, in any of the usual spellings: runAt, run_at, run-at. `within` is "" for a task, or "/retry". NULL:
// nobody calls a field so.
const struct synonym *synonym_find(const char *within, struct str name);
