// AMEND: a task is changed together with those of its jobs that nobody has in hand. It is one statement, which writes nothing
// unless the task's version and all tokens stand. The task is locked before it, so that it sees the jobs that were added to the
// task and the tags that were moved.
#include "store/postgres/postgres.h"

// clang-format off

// AMEND, first: the lane that the task moves to, if there is none. $1 tenant, $2 task, $3 version, $4 kind of dispatch, $5 queue.
static const char make_lane[] =
    "INSERT INTO @lanes(id,tenant,queue,dispatch,paused)"
    " SELECT coalesce(max(id),0)+1, $1, $5, $4, " PG_QUEUE_PAUSED("$1", "$5") " FROM @lanes"
    " HAVING EXISTS (SELECT FROM @tasks WHERE id=$2 AND tenant=$1 AND version=$3) ON CONFLICT(tenant,queue,dispatch) DO NOTHING";

// AMEND. $1 slot, $2 task, $3 tenant, $4 version, $5 paused, $6 retag, $7 queue, $8 name, $9 document, $10 tags, $11 when, $12 kind
// of dispatch. `allowed` is the task, if all tokens stand; `hit` are its steps. `old_tags` are the rows of tags that there are and
// `new_tags` those that there shall be: jobs may be planned for another time.
#define TIMES_IN(table) \
    "SELECT j.id, j.scheduled_at FROM " table " j WHERE j.id=" PG_ANY(PG_IDS_OF_TASK("$2")) " AND j.task_id=$2"
static const char amend_task[] =
    "WITH task AS MATERIALIZED (SELECT id, tenant, tags FROM @tasks WHERE id=$2 AND tenant=$3 AND version=$4),"
    " new_lane AS MATERIALIZED (SELECT id FROM @lanes WHERE tenant=$3 AND queue=$7 AND dispatch=$12),"
    " step AS MATERIALIZED (SELECT * FROM {steps} step),"
    " locked AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane, j.scheduled_at FROM @jobs j"
    "   WHERE j.id=" PG_ANY("SELECT id FROM step") " ORDER BY j.id FOR UPDATE),"
    " allowed AS MATERIALIZED (SELECT task.* FROM task WHERE (SELECT count(*) FROM step)="
    "   (SELECT count(*) FROM step JOIN locked ON locked.id=step.id AND locked.token=step.expected AND locked.state<={ready})),"
    " hit AS MATERIALIZED (SELECT step.*, locked.state AS was, locked.lane AS old_lane, new_lane.id AS lane"
    "   FROM allowed, new_lane, step JOIN locked ON locked.id=step.id),"
    " updated AS (UPDATE @jobs j SET {set moving from hit}, touched_at=coalesce(nullif(hit.touched_at,0),j.touched_at),"
    "   lane=hit.lane, priority=hit.priority, waits_at=" PG_PLACE("hit.state", "hit.lane", "hit.priority", "j.waits_at")
    "   FROM hit WHERE j.id=hit.id AND j.id=" PG_ANY("SELECT id FROM hit") "),"
    " lowered AS (" PG_LOWER_FLOORS("SELECT hit.lane, hit.due_at FROM hit WHERE hit.state IN {waiting}") "),"
    " counted AS (" PG_COUNT("SELECT hit.old_lane AS lane, hit.was AS state, -1 AS n FROM hit"
        " UNION ALL SELECT hit.lane, hit.state, 1 FROM hit") "),"
    " retagged AS MATERIALIZED (SELECT allowed.id, allowed.tenant, allowed.tags AS before,"
    "   CASE WHEN $6<>0 THEN nullif($10,'')::bigint[] ELSE allowed.tags END AS after FROM allowed),"
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
    " SELECT (SELECT count(*) FROM allowed), (SELECT count(*) FROM @tasks WHERE id=$2 AND tenant=$3)";

// clang-format on

static void read_amend(void *ctx, const PGresult *result)
{
    struct store_amend *amend = ctx;
    if (!pg_int(result, 0, 1))
        store_op_fail(&amend->op, ERR_NOT_FOUND, "there is no such task");
    else if (!pg_int(result, 0, 0))
        store_op_fail(&amend->op, ERR_MOVED_ON, "the task or a job of it has changed meanwhile");
}

static void step_rows(struct pg_session *session, struct pg_rows *rows, const struct store_amend *amend)
{
    const struct store_step **steps = arena_array(&session->arena, const struct store_step *, amend->count);
    for (size_t i = 0; i < amend->count; i++)
        steps[i] = &amend->steps[i];
    const struct job **jobs = pg_rows_steps(rows, &session->arena, steps, amend->count);
    pg_rows_job(rows, jobs, PG_BIT(priority));
    pg_rows_touched(rows, jobs);
}

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

void pg_amend_send(struct pg_session *session, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    const struct store_task *task = &amend->task;
    struct pg_rows rows;
    if (task->doc.n >= STORE_SMALL_DOC)
        pg_note_large(session);
    send_lane(session, task);
    pg_lock_task(session, task->id);
    step_rows(session, &rows, amend);
    pg_begin_query(session);
    int64_t values[] = {pg_slot(session), task->id, task->tenant, task->version, task->paused, amend->retag};
    pg_param_each(session, values, array_count(values));
    pg_param_text(session, task->queue);
    pg_param_text(session, task->name);
    pg_param_bytes(session, task->doc);
    pg_param_text(session, pg_tags_text(task, &session->arena));
    pg_param_int(session, task->updated_at);
    pg_param_int(session, task->dispatch);
    pg_put_with(session, amend_task, PG_ROWS("steps", &rows));
    pg_send(session, read_amend, amend);
}
