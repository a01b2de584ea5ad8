// How a task recurs: the fields of its document that say when it runs again and again, and its schedule, which is made of them.
// Layer: core, pure. The struct holds slices of the document.
#pragma once
#include "core/problem.h"
#include "core/schedule/plan.h"

struct task;

struct recurrence {
    struct str cron, timezone; // cron.p == NULL: not given. The zone of a task that does not say is UTC
    int64_t every_ms;          // -1: not given
    int64_t anchor_ms;         // 0: the time of creation
    struct plan_rules rules;
    enum cron_gap dst_gap;
    enum cron_overlap dst_overlap;
    struct json exclude;          // an array of EXCLUDE_WORDS, or JSON_ABSENT
    int64_t starts_at, ends_at;   // 0: not given. Instants from starts_at on, and up to ends_at
    int64_t jitter_ms;            // an instant's job is due at a time within so many milliseconds behind it
    int32_t pause_after_failures; // 0: never
};

bool task_recurs(const struct task *task);

// The schedule of a task that recurs. `zone` is that of its timezone, and lives as long as the schedule; the arena has the rest.
// `task_id` is what `H` spreads by when the task has no name. `since_ms` is what an `every` without an anchor counts from: when
// the task was created, or any instant of it. ERR_INVALID_FIELD, ERR_CRON_NEVER: `why` says which field is wrong and how; a
// document that was accepted has no such field.
err_check enum err task_schedule(const struct task *task, int64_t task_id, int64_t since_ms, const struct zone *zone,
                                 struct arena *arena, struct schedule *ret_schedule, struct problem *why);
