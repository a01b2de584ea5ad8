// Runs one scenario, always the same, under callgrind: guard.py compares what it counts with what was recorded.
//
//   guard SCENARIO FOLDER
//
// Each part is told to callgrind with its name and its number of tasks, `add 2000`; callgrind writes a file for each. Without
// callgrind nothing is counted, and the program only shows that the scenario works.
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <valgrind/callgrind.h>

static const struct scenario {
    const char *name;
    void (*run)(const char *folder);
} scenarios[] = {{"submit", guard_submit}, {"store", guard_store}, {"life", guard_life}, {"call", guard_call}};

void guard_die(const char *what, const char *why)
{
    fprintf(stderr, "guard: %s: %s\n", what, why);
    exit(1);
}

void part_begin(void)
{
    CALLGRIND_ZERO_STATS;
}

void part_end(const char *name, size_t count)
{
    char words[80];
    snprintf(words, sizeof words, "%s %zu", name, count);
    CALLGRIND_DUMP_STATS_AT(words);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run(argv[2]);
            return 0;
        }
    fputs("usage: guard submit|store|life|call FOLDER\n", stderr);
    return 2;
}
