// The columns of a job's record, and those of a plan. All lists of them are made of this table: what is selected, inserted and
// updated (sqlite/statements.c), read and bound (sqlite/records.c), and asked for by the statement that writes many steps
// (sqlite/change.c). A new column is a row here, and a step of the schema that adds it (sqlite/schema.c).
// Layer: port, private to this folder.
//
// `id` comes before these. lease_until, result and touched_at are not here: only what may meet a lease reads them ({lease} in
// sqlite/statements.c), and only steps about leases write
// the first two.
#pragma once

// X(name, type, step, new)
//   type  NUMBER; or BYTES, which are NULL when there are none, and come last
//   step  FIXED: a step never changes it. WRITTEN: every step writes it. KEPT: an index has it, and writing the same again would
//         cost as much as writing something else, so a step writes it only if it changes
//   new   GIVEN: a new job comes with it. NONE: a job that has never been claimed or ended has none of it. APART: a statement
//   that
//         adds many new jobs has the same for all of them, or leaves it out
// clang-format off
#define JOB_COLUMNS(X) \
    X(task_id,            NUMBER, FIXED,   GIVEN) \
    X(parent_id,          NUMBER, FIXED,   NONE)  \
    X(tenant,             NUMBER, FIXED,   GIVEN) \
    X(lane,               NUMBER, FIXED,   GIVEN) \
    X(priority,           NUMBER, FIXED,   GIVEN) \
    X(nominal_at,         NUMBER, FIXED,   GIVEN) \
    X(trigger,            NUMBER, FIXED,   APART) \
    X(state,              NUMBER, WRITTEN, GIVEN) \
    X(token,              NUMBER, WRITTEN, GIVEN) \
    X(holder,             NUMBER, WRITTEN, GIVEN) \
    X(due_at,             NUMBER, KEPT,    GIVEN) \
    X(ready_at,           NUMBER, KEPT,    GIVEN) \
    X(scheduled_at,       NUMBER, KEPT,    GIVEN) \
    X(expires_at,         NUMBER, KEPT,    GIVEN) \
    X(purge_at,           NUMBER, WRITTEN, NONE)  \
    X(picked_at,          NUMBER, WRITTEN, GIVEN) \
    X(started_at,         NUMBER, WRITTEN, NONE)  \
    X(completed_at,       NUMBER, WRITTEN, NONE)  \
    X(attempts,           NUMBER, WRITTEN, NONE)  \
    X(retries,            NUMBER, WRITTEN, NONE)  \
    X(losses,             NUMBER, WRITTEN, NONE)  \
    X(status,             NUMBER, WRITTEN, NONE)  \
    X(outcome,            NUMBER, WRITTEN, NONE)  \
    X(late_stage,         NUMBER, WRITTEN, NONE)  \
    X(response_truncated, NUMBER, WRITTEN, NONE)  \
    X(reason,             BYTES,  WRITTEN, NONE)  \
    X(response,           BYTES,  WRITTEN, NONE)
// clang-format on

// The members of a plan as they are stored, in their order; task_id and version come before them, and active and queued between
// the numbers and the texts. A text that is empty is NULL.
#define PLAN_NUMBERS(X) \
    X(revision)         \
    X(planned_through)  \
    X(instants) X(ended_with) X(check_at) X(success) X(failed) X(cancelled) X(failures_in_row) X(last_at) X(paused_at)
#define PLAN_TEXTS(X) X(skips) X(paused_note) X(paused_by) X(missing)
// `reserved` comes behind them all, and is written only with a task that is added.
