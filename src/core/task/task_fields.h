// The fields of a task: the one table that its documents are parsed and rendered by.
// Layer: core, pure. Only core/task/task looks at it.
#pragma once
#include "core/schedule/schedule.h"
#include "core/task/field.h"
#include "core/task/task.h"

#define TASK_KEPT_MAX_MS (36525LL * 24 * 3600 * 1000) // 100 years: the most that a ttl or a misfire_window may say

enum { TASK_TIMEOUT_OF_TARGET = 0 }; // in the defaults, which know no target

extern const struct fields task_fields; // of a struct task
extern const struct task task_defaults; // a task of which nothing was given
