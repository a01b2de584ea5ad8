// Tasks, jobs, queues, schedules and what is coming as rows of a table.
// Layer: cli. Pure.
#pragma once
#include "cli/show/table.h"

enum rows_kind { ROWS_TASKS, ROWS_JOBS, ROWS_QUEUES, ROWS_SCHEDULES, ROWS_UPCOMING };

const char *rows_noun(enum rows_kind kind); // "task"; schedules are tasks
struct table rows_table(enum rows_kind kind, const struct show *show);
