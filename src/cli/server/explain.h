// Asking the server what a job waits for.
// Layer: cli. One thread.
#pragma once
#include "cli/server/call.h"

void explain_get(struct caller *caller, struct str job_id, struct reply *ret_reply);

// A job that is due and does not run: why, is what whoever looks at it wants to know (a paused queue, a full host).
bool explain_is_held_up(const struct value *task, const struct value *job);
