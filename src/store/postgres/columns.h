// The columns of jobs, attempts, bulks and plans: each table is here once, and every list of its columns is made of it.
// Layer: port, private to this folder.
//
// In a statement (sql.h) these are column lists:
//
//   {job}                     all columns of a job, as they stand in an INSERT
//   {job of j}                the same as j.id,j.due_at,…
//   {job of j but lane of i}  the same with i.lane in the place of j.lane
//   {set moving from step}    state=step.state,…
//   {clear attempted}         each is set to nothing: 0, or NULL
//
// | list        | is |
// |---|---|
// | `job`       | a whole record |
// | `fixed`     | what no step changes |
// | `moving`    | what a step writes |
// | `kept`      | what a claim gives back, because it differs from job to job |
// | `attempted` | what a claim clears, because it is about the attempt before |
// | `attempt`   | an attempt, but for its key (job_id, number) |
// | `brief`     | the same without what the target answered |
// | `bulk`      | what changes of a bulk |
// | `plan`      | a whole plan |
// | `decided`   | what a write of a plan brings: the rest is the store's |
#pragma once
#include "core/job.h"
#include "store/jobs.h"
#include "store/postgres/sql.h"

// The record of a job, in the order in which its columns lie in the tables `jobs` and `jobs_done` (wide ones first, so that none
// is padded): name, type, and who writes it.
//
//   FIXED    nobody, once it is added
//   PLANNED  steps; a claim leaves it as it is
//   CLAIMED  steps; and a claim, which names it
//   TOKEN    the same, but a claim adds to what there is
//   ATTEMPT  steps; a claim clears it
//
// The columns of a lease (touched_at, lease_until, result) are not among them: hardly any job has them, so they are read and
// written only by those who may meet one.
// clang-format off
#define PG_JOB(X) \
    X(id, bigint, FIXED) X(due_at, bigint, PLANNED) X(task_id, bigint, FIXED) X(parent_id, bigint, FIXED) X(lane, bigint, FIXED) \
    X(nominal_at, bigint, FIXED) X(token, bigint, TOKEN) X(holder, bigint, CLAIMED) X(ready_at, bigint, PLANNED) \
    X(scheduled_at, bigint, PLANNED) X(expires_at, bigint, PLANNED) X(purge_at, bigint, PLANNED) X(picked_at, bigint, CLAIMED) \
    X(started_at, bigint, ATTEMPT) X(completed_at, bigint, ATTEMPT) X(tenant, int, FIXED) X(attempts, int, PLANNED) \
    X(retries, int, PLANNED) X(losses, int, PLANNED) X(status, int, ATTEMPT) X(state, smallint, CLAIMED) \
    X(priority, smallint, FIXED) X(trigger, smallint, FIXED) X(outcome, smallint, ATTEMPT) X(late_stage, smallint, PLANNED) \
    X(response_truncated, smallint, ATTEMPT) X(reason, bytea, ATTEMPT) X(response, bytea, ATTEMPT)

// An attempt that is kept, but for its key, (job_id, number). ANSWER: what the target answered, which lists leave out.
#define PG_ATTEMPT(X) \
    X(status, int, BRIEF) X(outcome, smallint, BRIEF) X(picked_at, bigint, BRIEF) \
    X(started_at, bigint, BRIEF) X(completed_at, bigint, BRIEF) X(holder, bigint, BRIEF) X(reason, bytea, BRIEF) \
    X(response_truncated, smallint, ANSWER) X(response, bytea, ANSWER)

// The plan of a task. DECIDED: what whoever plans has decided; STORED: what is fixed with the task, or what the store counts.
#define PG_PLAN(X) \
    X(task_id, bigint, STORED) X(version, bigint, STORED) X(revision, bigint, STORED) X(planned_through, bigint, DECIDED) \
    X(instants, bigint, DECIDED) X(ended_with, bigint, DECIDED) X(check_at, bigint, DECIDED) X(success, bigint, STORED) X(failed, bigint, STORED) \
    X(cancelled, bigint, STORED) X(failures_in_row, bigint, STORED) X(last_at, bigint, STORED) X(paused_at, bigint, DECIDED) \
    X(tenant, int, STORED) X(active, ids, DECIDED) X(queued, ids, DECIDED) X(skips, text, DECIDED) \
    X(paused_note, bytea, DECIDED) X(paused_by, bytea, DECIDED) X(reserved, text, STORED) X(missing, text, DECIDED)
// clang-format on

// The type of a column as CREATE TABLE has it.
#define PG_TYPE_bigint "bigint NOT NULL"
#define PG_TYPE_int "int NOT NULL"
#define PG_TYPE_smallint "smallint NOT NULL"
#define PG_TYPE_bytea "bytea"
#define PG_TYPE_text "text"
#define PG_TYPE_ids "bigint[]"
#define PG_DECLARE(name, type, role) ", " #name " " PG_TYPE_##type
#define PG_JOB_DECLARED PG_JOB(PG_DECLARE)
#define PG_PLAN_DECLARED PG_PLAN(PG_DECLARE)

// A set of columns of a job.
enum pg_job_column {
#define X(name, type, role) PG_JOB_##name,
    PG_JOB(X)
#undef X
        PG_JOB_COUNT
};
#define PG_BIT(name) (UINT64_C(1) << PG_JOB_##name)
_Static_assert(PG_JOB_COUNT <= 64, "a set of columns has a bit for each");
extern const uint64_t pg_job_all, pg_job_moving;

// Puts the column list that a name in a statement stands for. False: there is no such list.
bool pg_put_columns(struct buf *sql, struct str name);

// Adds columns of jobs to a batch and fills them in; `jobs` has as many as the batch has rows.
void pg_rows_job(struct pg_rows *rows, const struct job *const *jobs, uint64_t columns);
void pg_rows_touched(struct pg_rows *rows, const struct job *const *jobs);
void pg_rows_lease(struct pg_rows *rows, const struct job *const *jobs); // lease_until and result
// The steps of a batch: the id, the token they expect, and what they write. Returns the jobs.
const struct job **pg_rows_steps(struct pg_rows *rows, struct arena *arena, const struct store_step *const *steps, size_t count);
void pg_rows_attempts(struct pg_rows *rows, const struct attempt *const *attempts);
void pg_rows_plans(struct pg_rows *rows, const struct plan *const *plans);

// Reads a record from {job of j}, or the part of it that is {kept of j}. Returns the column behind it.
int pg_read_job(const PGresult *result, int row, int column, struct job *ret_job, struct arena *arena);
int pg_read_kept(const PGresult *result, int row, int column, struct job *job);
void pg_read_store_jobs(const PGresult *result, struct arena *arena, struct store_job **ret_jobs, size_t *ret_count);

// The columns of a lease, behind those of a job `j`; last comes the result, or NULL where it is too large for a list.
#define PG_LEASE ", coalesce(j.touched_at,0) AS touched_at, j.lease_until, octet_length(j.result), "
#define PG_LISTED_RESULT "CASE WHEN octet_length(j.result)<={listed_result} THEN j.result END"
int pg_read_lease(const PGresult *result, int row, int column, struct job *job, struct arena *arena);

// A task `t` with its lane `l`.
#define PG_TASK \
    "t.id, t.tenant, t.created_at, coalesce(t.updated_at,0), t.version, t.paused::int, l.dispatch, l.queue, t.name, t.doc"
struct store_task pg_read_task(const PGresult *result, int row, int column, struct arena *arena);

// The same with its plan `p`, which most tasks do not have.
#define PG_TASK_AND_PLAN PG_TASK ", {plan of p}"
#define PG_PLAN_IF_ANY " LEFT JOIN @plans p ON " PG_IS("p.task_id", "t.id")
struct store_task pg_read_task_and_plan(const PGresult *result, int row, struct arena *arena);

// Attempts as lists have them, without what the target answered.
#define PG_BRIEF_ATTEMPTS "SELECT job_id, number, {brief}, 0, NULL::bytea FROM @attempts"
// A pg_reader: attempts (job_id, number, {attempt}) that come by job id are added to the struct store_get that has the jobs.
void pg_read_attempts(void *ctx, const PGresult *result);
