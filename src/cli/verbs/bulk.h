// Acting on all that match: rota cancel, run, retry, pause, resume and delete with filters instead of ids.
// Layer: cli.
#pragma once
#include "cli/verb.h"

#define BULK_OPTIONS                                                    \
    {"all", 0, NULL, "instead of ids or filters: everything there is"}, \
    {                                                                   \
        "yes", 0, NULL, "do not ask before acting on all that match"    \
    }

int bulk_run(struct cli *cli); // the verb's name is the action
