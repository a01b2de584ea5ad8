// The types of the fields of recurring tasks, and which of these fields a task may have.
// Layer: core, pure. Only core/task/task_fields looks at it.
#pragma once
#include "core/task/field.h"

extern const struct field_type field_type_timezone; // a struct str that has the form of a zone's name
extern const struct field_type field_type_anchor;   // an int64_t, wall-clock milliseconds from 1970 on; -1: none
extern const struct field_type field_type_exclude;  // a struct json: an array of EXCLUDE_WORDS

extern const char *const recurrence_misfires[], *const recurrence_overlaps[], *const recurrence_gaps[],
                                                                                  *const recurrence_dst_overlaps[];

extern const struct field_group recurrence_group; // the struct recurrence of a struct task

// What a struct task would need to have a field: see struct field.
const char *recurrence_lacks(const void *task);            // of any recurring task
const char *recurrence_lacks_cron(const void *task);       // of one with a pattern
const char *recurrence_lacks_every(const void *task);      // of one with an interval
const char *recurrence_lacks_max_active(const void *task); // of one whose jobs may not overlap as they like
