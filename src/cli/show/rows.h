// Tasks, jobs and queues as rows of a table.
// Layer: cli. Pure.
#pragma once
#include "cli/show/table.h"

enum rows_kind { ROWS_TASKS, ROWS_JOBS, ROWS_QUEUES };

const char *rows_noun(enum rows_kind kind); // "task"
struct table rows_table(enum rows_kind kind, const struct show *show);
