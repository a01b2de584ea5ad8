// How a task recurs: the fields of its document that say when it runs again and again, and its schedule, which is made of them.
// Layer: core, pure. The struct holds slices of the document.
#pragma once
#include "base/text/json.h"
#include "core/problem.h"
#include "core/schedule/plan.h"

struct task;

struct recurrence {
    struct str cron, timezone; // cron.p == NULL: not given. The zone of a task that does not say is UTC
    int64_t every_ms;          // at least 1000; -1: not given
    int64_t anchor_ms;         // -1: the time of creation
    struct plan_rules rules;
    enum cron_gap dst_gap;
    enum cron_overlap dst_overlap;
    struct json exclude;          // an array of EXCLUDE_WORDS, or JSON_ABSENT
    int64_t starts_at, ends_at;   // 0: not given. Instants from starts_at on, and up to ends_at
    int64_t jitter_ms;            // an instant's job is due at a time within so many milliseconds behind it
    int64_t pause_after_failures; // 0: never
};

bool task_recurs(const struct task *task);

// Is somebody to be warned that the task will pause itself, when `row` of its runs failed in a row and it was `before` of them a
// moment ago? With half of those after which it does. A task that pauses itself with the first failure has no warning.
static inline bool recurrence_warns(const struct recurrence *recurs, int64_t before, int64_t row)
{
    int64_t most = recurs->pause_after_failures, half = (most + 1) / 2;
    return most > 1 && before < half && row >= half && row < most;
}

// Checks what no field can say alone about when a task runs: at most one of at, in, cron and every, a pattern that fires, and
// times that fit each other. Whether the time zone exists is not asked here, because core does not know the zones.
err_check enum err recurrence_check(const struct task *task, struct problem *why);

// The number that an H of a pattern, and the jitter, are spread by: a hash of the task's name, else of its id.
uint64_t recurrence_hash(struct str name, int64_t task_id);

// The schedule of a task that recurs. `zone` is that of its timezone, and lives as long as the schedule; the arena has the rest.
// `task_id` is what `H` spreads by when the task has no name. `since_ms` is what an `every` without an anchor counts from: when
// the task was created, or any instant of it. ERR_INVALID_FIELD, ERR_CRON_NEVER: `why` says which field is wrong and how. A
// document that was accepted has no such field, but for a pattern like `0 0 H(28-30) 2 *` of a task without a name: whether that
// fires depends on the id, which the task gets after it is accepted.
err_check enum err task_schedule(const struct task *task, int64_t task_id, int64_t since_ms, const struct zone *zone,
                                 struct arena *arena, struct schedule *ret_schedule, struct problem *why);

// Refuses a schedule without any instant after now_ms: its bounds leave none, or every day is excluded. ERR_CRON_NEVER. Refuses a
// jitter that is longer than the time between two runs, too (ERR_INVALID_FIELD). Only new and changed schedules are asked.
err_check enum err recurrence_check_ahead(const struct task *task, const struct schedule *schedule, int64_t now_ms,
                                          struct problem *why);
