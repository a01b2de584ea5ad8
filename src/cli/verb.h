// A verb of the command line, and what it is given to work with.
// Layer: cli. The verbs' own files include this; the table of all of them is in verbs.c.
#pragma once
#include "base/arena.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <stdbool.h>
#include <stdint.h>

enum verb_output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_JSONL };

struct cli {
    const struct verb *verb;
    struct options options;
    struct arena arena;
    enum verb_output output;
    int argc; // as main() would get them: argv[0] is the verb
    char **argv;
};

struct verb {
    const char *name;
    const char *args; // as the synopsis shows them, "" for none
    size_t args_min, args_max;
    bool output;         // takes -o
    bool server;         // takes --server, and speaks to it
    bool settings;       // takes the settings of a server as options (cli/settings)
    const char *help;    // one line
    const char *about;   // whole sentences behind it, or NULL
    const char *example; // or NULL
    const struct option *options;
    bool filters;                // takes those of lists
    bool fields;                 // takes those of a task (cli/compose)
    int (*run)(struct cli *cli); // returns an enum cli_exit
};

extern const struct option verb_field_options[], verb_filter_options[], verb_help_options[], verb_output_options[],
    verb_server_options[];

// The option tables of a verb, its own first. `ret_tables` ends with NULL.
void verb_tables(const struct verb *verb, const struct option *ret_tables[OPTION_TABLES_MAX]);

extern const struct verb verb_serve, verb_submit, verb_get, verb_list, verb_update, verb_wait, verb_cancel, verb_run, verb_retry,
    verb_pause, verb_resume, verb_delete, verb_explain, verb_cron, verb_stats, verb_tail, verb_backup, verb_config,
    verb_completion, verb_version, verb_help, verb_apply, verb_backfill, verb_upcoming;

extern const struct verb *const verbs[]; // in the order they are shown; ends with NULL
const struct verb *verb_find(const char *name);
const char *verb_nearest(const char *name); // the name that was probably meant, or NULL

// Reads the value of an option that is a number from 1 up. Leaves *count as it is when the option is not given. Returns CLI_OK,
// or CLI_USAGE after saying what is wrong.
int verb_read_count(const struct cli *cli, const char *option, int64_t *count);

// Reads the value of an option that is a time, or a duration from now, and makes it a time as the API takes it. Returns CLI_OK,
// or CLI_USAGE after saying what is wrong.
int verb_read_time(struct cli *cli, const char *option, struct str *value);

// Says on stderr what is wrong with the command line. Returns CLI_USAGE.
int verb_misused(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
