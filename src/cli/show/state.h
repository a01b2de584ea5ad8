// The states of tasks and jobs: which are final, and their colours.
// Layer: cli. Pure.
#pragma once
#include "cli/show/show.h"

bool state_final(struct str state); // of a job; false for what is no state

// The colour of a state as an SGR number, or NULL when it has none or colours are not wanted.
const char *state_colour(const struct show *show, struct str state);
void state_put_coloured(struct buf *buf, const char *colour, struct str text); // `colour` may be NULL; `text` must be safe
