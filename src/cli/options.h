// Command-line options: one parser over tables of what a verb takes.
// Layer: cli. Pure but for the arena.
#pragma once
#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

// A table of these ends with a row without a name.
struct option {
    const char *name;  // without the dashes
    char letter;       // its one-letter form, or 0
    const char *value; // what --help calls its value; NULL: it takes none
    const char *help;
    bool repeatable;
    const char *choices; // all that its value may be, with spaces between, or NULL: for the completion
};

struct options {
    const struct option **given; // in the order they came
    const char **values;         // beside them; "" for those without
    size_t count;
    const char **args; // what is not an option
    size_t arg_count;
};

enum { OPTION_TABLES_MAX = 6 }; // a verb's, the common ones, and the NULL behind them

// Reads argv[1..]: --name value, --name=value, -o value, -ovalue; options and arguments in any order; after "--" only arguments.
// `tables` ends with NULL. False: `why` says what is wrong and what would be right. The values are argv's.
err_check bool options_parse(struct options *ret_options, const struct option *const tables[], int argc, char **argv,
                             struct arena *arena, char why[ERR_WHY_MAX]);

const struct option *options_find(const struct option *const tables[], struct str name); // NULL: no table has it

const char *options_get(const struct options *options, const char *name); // NULL when it was not given

// The one of `names` that was probably meant, or NULL when none is near.
const char *options_nearest(const char *word, const char *const *names, size_t count);

bool options_has_word(const char *words, struct str word); // is it one of them; they have single spaces between
