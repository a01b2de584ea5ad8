// How many jobs follow their task with one amendment: a task may have thousands that wait, and what is claimed between the
// reading and the writing has the whole amendment refused. Layer: flow. No I/O, clock or thread.
#pragma once
#include "flow/commands/command_next.h"

enum { AMEND_PAGE_JOBS = 200 };

// Leaves out steps beyond so many, and those of jobs that follow the task already (command_is_noted). The command is not done
// before all have followed, so it amends the task again. Steps that give a job another instant, or end it, stand for what the
// plan says and stay in, unless the amendment `ends` the schedule: then the jobs that are left out end with the next one.
void amend_page_cut(struct store_amend *amend, const struct store_get *get, const struct command_past *past, bool ends);
