// Plans of recurring tasks in the store. One-time tasks have none, and pay nothing for them.
// Layer: port. What an operation is: store/store.h; what a plan is: core/schedule/plan.
//
// A plan belongs to its task (.plan of struct store_task). It is added with it (STORE_ADD), read with it (STORE_GET, and
// STORE_LIST of tasks, but not of jobs), written with the jobs that it plans (STORE_PLAN) or with a change of the task
// (STORE_AMEND), and goes with it (STORE_REMOVE, STORE_SWEEP). A plan that is added is stored as it is given, but for `version`,
// which is the task's. A task with a plan whose planned_through is not TIME_NEVER is never swept; one that has no job goes with
// the first sweep after its plan is over.
//
// A plan may reserve a name (.reserved), which is then its task's alone among those of the tenant. The name is written with
// STORE_ADD only (store/jobs.h) and goes with the plan. While the plan owes an instant the name is taken; after that a STORE_ADD
// of another plan that reserves it takes it over, and the plan that had it has none from then on.
//
// The step that ends a job (STORE_CHANGE, STORE_AMEND) whose .trigger is not TRIGGER_SUBMIT counts in the plan of its task, if
// that has one, in the same transaction: success, failed (aborted or buried) or cancelled is one more; if
// .trigger is TRIGGER_SCHEDULE, failures_in_row is one more after a failure, 0 after a success, and stays after a cancel; last_at
// is completed_at of what was not cancelled, unless it is later already; the job is removed from `active` and `queued`; and
// `revision` is one more. It is counted when a job that was not final becomes final; nothing is taken back. Steps of one
// STORE_CHANGE count in the order of their jobs' ids. STORE_AMEND writes its plan before its steps count in it.
//
// When the row of a job that a schedule has made and that has not begun is removed from the database by anybody but the store,
// its plan notes it: `missing` has its id and its instant from then on (core/schedule/plan_missing), check_at is 0, and
// `revision` is one more.
#pragma once
#include "store/jobs.h"

// A plan that is written. It must be what it was: `version`, the planned_through that it was decided on (`from`), and, unless it
// is `unread`, the revision. ERR_MOVED_ON: it is not, and nothing is written. ERR_NOT_FOUND: it is absent. ERR_INTERNAL: an id of
// a job is taken already, and nothing is written.
struct store_planned {
    int64_t from;
    // Decided without reading: of the plan only task_id, version, planned_through, instants and check_at are looked at; instants
    // grow by plan->instants; and check_at is written only if the stored one is smaller than check_before. The revision grows all
    // the same: otherwise an AMEND that has read the plan before would write over what was planned since.
    // A plan with a missing job must be read: it is ERR_MOVED_ON.
    bool unread;
    int64_t check_before;
    const struct plan
        *plan;        // as it shall be, but for .version and .revision, which were read. What the store counts stays as it is
    struct job *jobs; // that are added with it: all is filled in but .lane, which is the task's
    size_t job_count;
    enum err err; // out
};

// Items succeed or fail one by one, in one commit. A plan may come more than once: each item sees what the one before it wrote.
// ERR_FENCED as with STORE_ADD, because of the ids of the jobs.
struct store_plan {
    struct store_op op;
    int64_t holder; // the incarnation that made the ids
    int64_t now_ms;
    struct store_planned *items;
    size_t count;
};

// Reads tasks that have a plan, with their plans: those of `ids`, by id, where those that are absent are left out; or, with
// ids == NULL, those with check_at <= now_ms, earliest first, then smallest id, at most `max`; or, with `owing`, those that owe
// an instant and have an id greater than `after_id`, smallest id first, at most `max`.
struct store_plans {
    struct store_op op;
    const int64_t *ids;
    size_t id_count;
    int64_t now_ms;
    bool owing;
    int64_t after_id;
    size_t max;
    struct store_task *tasks; // out
    size_t count;             // out
};
