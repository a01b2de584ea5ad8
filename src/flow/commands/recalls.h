// Calls back the jobs of a task that wait in this node's hand, all at once: a task may have hundreds of them there.
// Layer: flow. Owned by the flow thread. Embedded in the command whose task it is.
#pragma once
#include "flow/commands/command_next.h"
#include "flow/commands/revise.h"
#include "flow/stages/pull.h"

struct recalls {
    struct command_past *past; // notes what is found to begin
    struct revision *revision; // is read again when all have been answered
    size_t out;                // so many have not
};

// At least one job of view->get can be called back (command_may_recall); they are left alone until `postpone_to`.
void recalls_begin(struct recalls *recalls, struct pull *pull, const struct command_view *view, int64_t postpone_to);
