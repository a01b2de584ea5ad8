// One step of planning: goes through the instants behind planned_through, and decides on each.
// Layer: core, pure. Only the files of core/schedule/plan look at it.
#pragma once
#include "core/schedule/plan_skips.h"

struct plan_walk {
    struct plan *plan;
    const struct schedule *schedule;
    struct plan_rules rules; // of a resume: those of the task, but for what becomes of missed instants
    int64_t now_ms;
    size_t wanted; // jobs that shall lie ahead
    bool resumes;  // instants that are skipped were paused, and missed ones that run are put off until now
    // Below: of the walk itself.
    struct plan_rows *rows;
    struct plan_skips skips;
    struct plan_skip open; // the instants passed last, which are skipped: it may become longer. .count == 0: there are none
    size_t ahead;          // jobs that lie ahead
    int64_t surplus;       // so many of the oldest missed instants are too many to run
    int64_t clear_ms;      // there is an instant to run at this time: what is excluded before it is worth passing
    bool ended;            // the last instant of all has been passed
};

// Moves the plan, as plan_extend() says; a plan that has ended stays as it is. The fields above are filled in, the others zero.
void plan_walk(struct plan_walk *walk, struct arena *arena, struct plan_rows *ret_rows);
