// Acting on all that match: rota cancel, run, retry, pause, resume and delete with filters instead of ids.
// Layer: cli.
#pragma once
#include "cli/server/call.h"
#include "cli/verb.h"

#define BULK_OPTIONS                                                    \
    {"all", 0, NULL, "instead of ids or filters: everything there is"}, \
    {                                                                   \
        "yes", 0, NULL, "do not ask before acting on all that match"    \
    }

int bulk_run(struct cli *cli); // the verb's name is the action
// Waits for the end of the bulk that the reply has, and prints how it ended. Returns an exit code.
int bulk_follow(struct caller *caller, struct reply *reply);
