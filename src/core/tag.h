// Tags: numbers that stand for what a task can be found by, its name, each of its labels, its tracing_id and its created_by. A
// store has an index of them, in which a task without any of these takes no room.
// Layer: core, pure.
//
// Two texts may have one tag, by chance or by somebody's will, so a search by tag still compares the text. Tags are stored: what
// they are made from never changes.
#pragma once
#include "core/filter.h"

enum { TAGS_MAX = TASK_LABELS_MAX + 3 };

// Each tag is even: a store may use the odd number behind it for the jobs of the task. Returns how many there are.
size_t tags_of_task(const struct task *task, struct arena *arena, int64_t ret_tags[TAGS_MAX]);
// The tags that every task has which the filter takes, those first that are usually rare.
size_t tags_of_filter(const struct filter *filter, int64_t ret_tags[TAGS_MAX]);
