// AMEND: a task is changed together with those of its jobs that nobody has in hand. It is one statement, which writes nothing
// unless the task's version, its plan's revision and all tokens stand. The task and its plan are locked before it, so that it
// sees the jobs that were added to the task and the tags that were moved.
//
// Steps that end jobs of a recurring task count in its plan. All steps are written or none is, so what they count is added up
// here, before the statement is sent.
#include "store/postgres/new_jobs.h"

// clang-format off

// AMEND, first: the lane that the task moves to, if there is none. $1 tenant, $2 task, $3 version, $4 kind of dispatch, $5 queue.
static const char make_lane[] =
    "INSERT INTO @lanes(id,tenant,queue,dispatch,paused)"
    " SELECT coalesce(max(id),0)+1, $1, $5, $4, " PG_QUEUE_PAUSED("$1", "$5") " FROM @lanes"
    " HAVING EXISTS (SELECT FROM @tasks WHERE id=$2 AND tenant=$1 AND version=$3) ON CONFLICT(tenant,queue,dispatch) DO NOTHING";

// AMEND. $1 stripe, $2 task, $3 tenant, $4 version, $5 paused, $6 retag, $7 queue, $8 name, $9 document, $10 tags, $11 when, $12 kind
// of dispatch. `allowed` is the task, if all tokens stand; `hit` are its steps. `old_tags` are the rows of tags that there are and
// `new_tags` those that there shall be: jobs may be planned for another time. What a part is on for:
//
//   ends      some steps end their job
//   adds      there are jobs to add; then `standing` is the task whether or not their ids are free, and `allowed` only if they are
//   planned   the task has a plan from now on; otherwise it has none
#define TAGS_AFTER "CASE WHEN $6<>0 THEN nullif($10,'')::bigint[] ELSE allowed.tags END"
#define TIMES_IN(table) \
    "SELECT j.id, j.scheduled_at FROM " table " j WHERE j.id=" PG_ANY(PG_IDS_OF_TASK("$2")) " AND j.task_id=$2"
static const char amend_task[] =
    "WITH task AS MATERIALIZED (SELECT id, tenant, tags FROM @tasks WHERE id=$2 AND tenant=$3 AND version=$4),"
    " new_lane AS MATERIALIZED (SELECT id FROM @lanes WHERE tenant=$3 AND queue=$7 AND dispatch=$12),"
    " step AS MATERIALIZED (SELECT * FROM {steps} step),"
    " locked AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane, j.scheduled_at FROM @jobs j"
    "   WHERE j.id=" PG_ANY("SELECT id FROM step") " ORDER BY j.id FOR UPDATE),"
    "{planned: plan AS MATERIALIZED (SELECT * FROM {plan_row} given),}"
    " {adds:standing}{not adds:allowed} AS MATERIALIZED (SELECT task.* FROM task WHERE (SELECT count(*) FROM step)="
    "   (SELECT count(*) FROM step JOIN locked ON locked.id=step.id AND locked.token=step.expected AND locked.state<={ready})"
    "{planned: AND NOT EXISTS (SELECT FROM @plans p, plan WHERE p.task_id=$2 AND p.revision<>plan.was_revision)}),"
    "{adds: new_job AS MATERIALIZED (SELECT * FROM {jobs} given),"
    " allowed AS MATERIALIZED (SELECT * FROM standing"
    "   WHERE NOT EXISTS (SELECT FROM new_job WHERE new_job.id IN " PG_TAKEN_IDS ")"
    "   AND NOT EXISTS (SELECT FROM new_job GROUP BY new_job.id HAVING count(*)>1)),"
    " accepted AS MATERIALIZED (SELECT 0 AS no, new_lane.id AS lane, " TAGS_AFTER " AS tags FROM allowed, new_lane)"
        PG_ADD_JOBS ",}"
    " hit AS MATERIALIZED (SELECT step.*, locked.state AS was, locked.lane AS old_lane, new_lane.id AS lane"
    "   FROM allowed, new_lane, step JOIN locked ON locked.id=step.id),"
    " updated AS (UPDATE @jobs j SET {set moving from hit}, touched_at=coalesce(nullif(hit.touched_at,0),j.touched_at),"
    "   lane=hit.lane, priority=hit.priority, nominal_at=hit.nominal_at,"
    "   waits_at=" PG_PLACE("hit.state", "hit.lane", "hit.priority", "j.waits_at")
    "   FROM hit WHERE j.id=hit.id AND j.id=" PG_ANY("SELECT id FROM hit") "{ends: AND hit.state<{first_final}}),"
    "{ends: gone AS (DELETE FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM hit WHERE state>={first_final}")
    "   RETURNING j.id, j.task_id, j.parent_id, j.tenant, j.trigger),"
    " ended AS (SELECT hit.*, gone.task_id, gone.parent_id, gone.tenant, gone.trigger FROM gone JOIN hit ON hit.id=gone.id),"
    " filed AS (INSERT INTO @jobs_done({job},day) SELECT {job of ended},ended.day FROM ended),}"
    " lowered AS (" PG_LOWER_FLOORS("SELECT hit.lane, hit.due_at FROM hit WHERE hit.state IN {waiting}"
        "{adds: UNION ALL " PG_NEW_JOBS_WAITING "}") "),"
    " counted AS (" PG_COUNT("SELECT hit.old_lane AS lane, hit.was AS state, -1 AS n FROM hit"
        " UNION ALL SELECT hit.lane, hit.state, 1 FROM hit{adds: UNION ALL " PG_NEW_JOBS_COUNTED "}") "),"
    " retagged AS MATERIALIZED (SELECT allowed.id, allowed.tenant, allowed.tags AS before,"
    "   " TAGS_AFTER " AS after FROM allowed),"
    " times AS MATERIALIZED (SELECT j.id, coalesce(locked.scheduled_at,j.scheduled_at) AS before,"
    "   coalesce(hit.scheduled_at,locked.scheduled_at,j.scheduled_at) AS after"
    "   FROM (" TIMES_IN("@jobs") " UNION ALL " TIMES_IN("@jobs_done") ") j"
    "   LEFT JOIN locked ON locked.id=j.id LEFT JOIN hit ON hit.id=j.id"
    "   WHERE EXISTS (SELECT FROM retagged WHERE before IS NOT NULL OR after IS NOT NULL)),"
    " old_tags AS MATERIALIZED (" PG_TAGS_OF("SELECT tenant, before AS tags, 0::bigint AS at, id FROM retagged")
    "   UNION ALL " PG_TAGS_OF_JOBS("SELECT r.tenant, r.before AS tags, t.before AS at, t.id FROM retagged r, times t") "),"
    " new_tags AS MATERIALIZED (" PG_TAGS_OF("SELECT tenant, after AS tags, 0::bigint AS at, id FROM retagged")
    "   UNION ALL " PG_TAGS_OF_JOBS("SELECT r.tenant, r.after AS tags, t.after AS at, t.id FROM retagged r, times t") "),"
    " untagged AS (" PG_REMOVE_TAGS("SELECT * FROM old_tags EXCEPT SELECT * FROM new_tags") "),"
    " tagged AS (" PG_ADD_TAGS("SELECT * FROM new_tags EXCEPT SELECT * FROM old_tags") "),"
    " amended AS (UPDATE @tasks t SET lane=new_lane.id, paused=$5<>0, version=t.version+1, updated_at=$11, name=nullif($8,''),"
    "   doc=$9, tags=r.after FROM retagged r, new_lane WHERE t.id=r.id)"
    "{planned:, written_plan AS (UPDATE @plans p SET {set decided from plan}, lane=new_lane.id, over=" PG_IS_OVER("plan") ","
    "   version=plan.version, revision=plan.revision, success=p.success+plan.ended_success, failed=p.failed+plan.ended_failed,"
    "   cancelled=p.cancelled+plan.ended_cancelled, last_at=greatest(p.last_at,plan.ended_at),"
    "   failures_in_row=plan.ended_in_row+CASE WHEN plan.breaks_row=0 THEN p.failures_in_row ELSE 0 END"
    "   FROM plan, new_lane, allowed WHERE " PG_IS("p.task_id", "allowed.id") ")"
    ", added_plan AS (INSERT INTO @plans({plan},lane,over) SELECT {plan of plan},new_lane.id," PG_IS_OVER("plan")
    "   FROM plan, new_lane, allowed WHERE NOT EXISTS (SELECT FROM @plans p WHERE p.task_id=allowed.id))}"
    "{not planned:, gone_plan AS (DELETE FROM @plans p USING allowed WHERE " PG_IS("p.task_id", "allowed.id") ")}"
    " SELECT (SELECT count(*) FROM allowed), (SELECT count(*) FROM @tasks WHERE id=$2 AND tenant=$3)"
    "{adds:, (SELECT count(*) FROM standing), (SELECT id FROM new_lane)}";

// clang-format on

static void read_amend(void *ctx, const PGresult *result)
{
    struct store_amend *amend = ctx;
    if (!pg_int(result, 0, 1))
        store_op_fail(&amend->op, ERR_NOT_FOUND, "there is no such task");
    else if (amend->job_count && pg_int(result, 0, 2) && !pg_int(result, 0, 0))
        store_op_fail(&amend->op, ERR_INTERNAL, "an id of a job is taken already");
    else if (!pg_int(result, 0, 0))
        store_op_fail(&amend->op, ERR_MOVED_ON, "the task, its plan or a job of it has changed meanwhile");
    for (size_t i = 0; !amend->op.err && i < amend->job_count; i++)
        amend->jobs[i].lane = pg_int(result, 0, 3);
}

static bool ends_any(const struct store_amend *amend)
{
    for (size_t i = 0; i < amend->count; i++)
        if (job_state_final(amend->steps[i].job->state))
            return true;
    return false;
}

static void step_rows(struct pg_session *session, struct pg_rows *rows, const struct store_amend *amend)
{
    const struct store_step **steps = arena_array(&session->arena, const struct store_step *, amend->count);
    for (size_t i = 0; i < amend->count; i++)
        steps[i] = &amend->steps[i];
    const struct job **jobs = pg_rows_steps(rows, &session->arena, steps, amend->count);
    pg_rows_job(rows, jobs, PG_BIT(priority) | PG_BIT(nominal_at));
    pg_rows_touched(rows, jobs);
    if (ends_any(amend))
        pg_rows_day(rows, jobs);
}

// ---- the plan

static size_t remove_id(int64_t *ids, size_t count, int64_t id)
{
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (ids[i] != id)
            ids[left++] = ids[i];
    return left;
}

static const int64_t *copy_without(struct arena *arena, const int64_t *ids, size_t *count, const struct job *const *ended,
                                   size_t ended_count)
{
    int64_t *copy = arena_array(arena, int64_t, *count);
    if (*count)
        memcpy(copy, ids, *count * sizeof *ids);
    for (size_t i = 0; i < ended_count; i++)
        *count = remove_id(copy, *count, ended[i]->id);
    return copy;
}

// The jobs that count in the plan when they end.
static const struct job **list_ended(struct arena *arena, const struct store_amend *amend, size_t *ret_count)
{
    const struct job **ended = arena_array(arena, const struct job *, amend->count);
    *ret_count = 0;
    for (size_t i = 0; i < amend->count; i++)
        if (store_step_counts(JOB_READY, amend->steps[i].job))
            ended[(*ret_count)++] = amend->steps[i].job;
    return ended;
}

static void count_ended(struct plan *plan, const struct job *const *ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool good = ended[i]->state == JOB_SUCCESS, cancelled = ended[i]->state == JOB_CANCELLED;
        plan->success += good;
        plan->cancelled += cancelled;
        plan->failed += !good && !cancelled;
        if (ended[i]->trigger == TRIGGER_SCHEDULE)
            plan->failures_in_row = good ? 0 : plan->failures_in_row + !cancelled;
        plan->last_at = cancelled ? plan->last_at : time_max(plan->last_at, ended[i]->completed_at);
    }
}

// Has one of them succeeded that the schedule has made? Then earlier failures are in no row with later ones.
static bool breaks_row(const struct job *const *ended, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (ended[i]->trigger == TRIGGER_SCHEDULE && ended[i]->state == JOB_SUCCESS)
            return true;
    return false;
}

// The plan as it shall be, and would be if there were none yet; and what is to be added to what the stored one has counted.
static void plan_rows(struct pg_session *session, struct pg_rows *rows, const struct store_amend *amend)
{
    struct arena *arena = &session->arena;
    const struct store_task *task = &amend->task;
    size_t count;
    const struct job **jobs = list_ended(arena, amend, &count);
    struct plan *plan = arena_alloc(arena, sizeof *plan), ended = {0};
    *plan = *task->plan;
    plan->task_id = task->id;
    plan->tenant = task->tenant;
    plan->version = task->version + 1;
    plan->revision += 1 + (int64_t)count;
    plan->reserved = (struct str){0}; // only an ADD reserves a name
    plan->active = copy_without(arena, plan->active, &plan->active_count, jobs, count);
    plan->queued = copy_without(arena, plan->queued, &plan->queued_count, jobs, count);
    count_ended(plan, jobs, count);
    count_ended(&ended, jobs, count);
    pg_rows_init(rows, arena, 1);
    pg_rows_plans(rows, (const struct plan *const[]){plan});
    *pg_rows_ints(rows, "was_revision") = task->plan->revision;
    *pg_rows_ints(rows, "ended_success") = ended.success;
    *pg_rows_ints(rows, "ended_failed") = ended.failed;
    *pg_rows_ints(rows, "ended_cancelled") = ended.cancelled;
    *pg_rows_ints(rows, "ended_in_row") = ended.failures_in_row;
    *pg_rows_ints(rows, "ended_at") = ended.last_at;
    *pg_rows_ints(rows, "breaks_row") = breaks_row(jobs, count);
}

// ---- sending

static void send_lane(struct pg_session *session, const struct store_task *task)
{
    pg_lock(session, PG_LOCK_LANES);
    pg_begin_query(session);
    pg_put(session, make_lane);
    pg_param_int(session, task->tenant);
    pg_param_int(session, task->id);
    pg_param_int(session, task->version);
    pg_param_int(session, task->dispatch);
    pg_param_text(session, task->queue);
    pg_send(session, NULL, NULL);
}

// Makes the days that jobs are filed under.
void pg_amend_prepare(struct pg_session *session, struct store_op *op)
{
    const struct store_amend *amend = container_of(op, struct store_amend, op);
    for (size_t i = 0; i < amend->count; i++)
        pg_make_days(session, &amend->steps[i].job, 1);
    for (size_t i = 0; i < amend->job_count; i++)
        pg_make_days(session, (const struct job *const[]){&amend->jobs[i]}, 1);
}

static void send_task(struct pg_session *session, struct store_amend *amend)
{
    const struct store_task *task = &amend->task;
    struct pg_rows steps, plan, jobs;
    struct pg_new_jobs list;
    step_rows(session, &steps, amend);
    if (task->plan)
        plan_rows(session, &plan, amend);
    pg_new_jobs_init(&list, &session->arena, amend->job_count);
    pg_new_jobs_put(&list, amend->jobs, amend->job_count, 0);
    pg_new_jobs_rows(&list, &jobs, &session->arena);
    pg_begin_query(session);
    int64_t values[] = {pg_stripe(session), task->id, task->tenant, task->version, task->paused, amend->retag};
    pg_param_each(session, values, array_count(values));
    pg_param_text(session, task->queue);
    pg_param_text(session, task->name);
    pg_param_bytes(session, task->doc);
    pg_param_text(session, pg_tags_text(task, &session->arena));
    pg_param_int(session, task->updated_at);
    pg_param_int(session, task->dispatch);
    pg_put_with(session, amend_task, PG_ROWS("steps", &steps), PG_ROWS("plan_row", &plan), PG_ROWS("jobs", &jobs),
                PG_IF("ends", ends_any(amend)), PG_IF("planned", task->plan), PG_IF("adds", amend->job_count),
                PG_IF("tagged", true), PG_NEW_JOBS_PARTS(session->careful, &list));
    pg_send(session, read_amend, amend);
}

void pg_amend_send(struct pg_session *session, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    const struct store_task *task = &amend->task;
    if (task->doc.n >= STORE_SMALL_DOC)
        pg_note_large(session);
    send_lane(session, task);
    pg_lock_task(session, task->id);
    send_task(session, amend);
}
