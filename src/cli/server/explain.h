// Asking the server what a job waits for.
// Layer: cli. One thread.
#pragma once
#include "cli/server/call.h"

void explain_get(struct caller *caller, struct str job_id, struct reply *ret_reply);

// Is the job due, and does it not run? Then a user who looks at it wants to know why: a paused queue, a full host. `task` may be
// NULL.
bool explain_is_held_up(const struct value *task, const struct value *job);
