// What a command does to the plan of a recurring task, and to those of its jobs that wait.
// Layer: flow. No I/O, clock or thread: it decides by core/schedule/plan, and fills in what is to be written.
#pragma once
#include "flow/commands/commands.h"
#include "flow/zones.h"

struct replanning {
    const struct command *command;
    const struct store_get *get; // the task as it was read, with its jobs
    const struct task *task;     // as it shall be
    struct node *node;           // makes ids
    struct zones *zones;
    int64_t now_ms;
};

// Fills in the plan, the steps of jobs that wait, and the jobs that are added. `amend->steps` has room for all jobs that were
// read; what is new lives in the arena. An error says what keeps the task from being changed so.
err_check enum err replan(const struct replanning *replanning, struct store_amend *amend, struct arena *arena,
                          struct problem *why);

// Has a planned job of the task another instant by the time zones of today, or is one not planned that lies before the last?
// False also when the schedule cannot be known.
bool replan_moves(const struct replanning *replanning, struct arena *arena);
