// AMEND: a task is changed together with those of its jobs that nobody has in hand. It is one statement, which writes nothing
// unless the task's version and all tokens stand. The task is locked before it, so that it sees the jobs that were added to the
// task and the tags that were moved.
#include "store/postgres/postgres.h"

// $1 slot, $2 task, $3 tenant, $4 version, $5 paused, $6 retag, $7 queue, $8 name, $9 document, $10 tags, $11 when.
// clang-format off
static const char make_lane[] =
    "INSERT INTO @lanes(id,tenant,queue,paused) SELECT coalesce(max(id),0)+1, $1, $4, false FROM @lanes"
    " HAVING EXISTS (SELECT FROM @tasks WHERE id=$2 AND tenant=$1 AND version=$3) ON CONFLICT(tenant,queue) DO NOTHING";
static const char find_task[] =
    "WITH t AS MATERIALIZED (SELECT id, tenant, tags FROM @tasks WHERE id=$2 AND tenant=$3 AND version=$4),"
    " q AS MATERIALIZED (SELECT id FROM @lanes WHERE tenant=$3 AND queue=$7), s AS MATERIALIZED (SELECT * FROM ";
static const char lock_jobs[] =
    " s), l AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane, j.scheduled_at FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM s")
    " ORDER BY j.id FOR UPDATE),"
    " ok AS MATERIALIZED (SELECT t.* FROM t WHERE (SELECT count(*) FROM s)=(SELECT count(*) FROM s JOIN l ON l.id=s.id"
    " AND l.token=s.expected AND l.state<=2)),"
    " h AS MATERIALIZED (SELECT s.*, l.state AS was, l.lane AS old_lane, q.id AS lane FROM ok, q, s JOIN l ON l.id=s.id)";
#define ASSIGN(name) #name "=h." #name ","
static const char update_jobs[] =
    ", u AS (UPDATE @jobs j SET " JOB_MOVING(ASSIGN) "reason=h.reason, response=h.response," PG_TOUCH " lane=h.lane, priority=h.priority,"
    " waits_at=" PG_PLACE("h.state", "h.lane", "h.priority", "j.waits_at")
    " FROM h WHERE j.id=h.id AND j.id=" PG_ANY("SELECT id FROM h") ")"
    ", f AS (" PG_LOWER_FLOORS("SELECT h.lane, h.due_at FROM h WHERE h.state IN (1,2)") ")"
    ", c AS (" PG_COUNT("SELECT h.old_lane AS lane, h.was AS state, -1 AS n FROM h UNION ALL SELECT h.lane, h.state, 1 FROM h") ")";
// The rows of tags that there are and those that there shall be: jobs may be planned for another time.
#define TIMES_OF(table) \
    "SELECT j.id, j.scheduled_at FROM " table " j WHERE j.id=" PG_ANY("SELECT $2 UNION SELECT id FROM @extras WHERE task_id=$2") \
    " AND j.task_id=$2"
static const char change_tags[] =
    ", retagged AS MATERIALIZED (SELECT ok.id, ok.tenant, ok.tags AS old,"
    " CASE WHEN $6<>0 THEN nullif($10,'')::bigint[] ELSE ok.tags END AS new FROM ok)"
    ", times AS MATERIALIZED (SELECT j.id, coalesce(l.scheduled_at,j.scheduled_at) AS old, coalesce(h.scheduled_at,l.scheduled_at,j.scheduled_at) AS new"
    " FROM (" TIMES_OF("@jobs") " UNION ALL " TIMES_OF("@jobs_done") ") j LEFT JOIN l ON l.id=j.id LEFT JOIN h ON h.id=j.id"
    " WHERE EXISTS (SELECT FROM retagged WHERE old IS NOT NULL OR new IS NOT NULL))"
    ", old_tags AS MATERIALIZED (" PG_TAGS_OF("SELECT tenant, old AS tags, 0::bigint AS at, id FROM retagged")
    " UNION ALL " PG_TAGS_OF_JOBS("SELECT r.tenant, r.old AS tags, t.old AS at, t.id FROM retagged r, times t") ")"
    ", new_tags AS MATERIALIZED (" PG_TAGS_OF("SELECT tenant, new AS tags, 0::bigint AS at, id FROM retagged")
    " UNION ALL " PG_TAGS_OF_JOBS("SELECT r.tenant, r.new AS tags, t.new AS at, t.id FROM retagged r, times t") ")"
    ", untag AS (" PG_REMOVE_TAGS("SELECT * FROM old_tags EXCEPT SELECT * FROM new_tags") ")"
    ", tag AS (" PG_ADD_TAGS("SELECT * FROM new_tags EXCEPT SELECT * FROM old_tags") ")";
static const char update_task[] =
    ", a AS (UPDATE @tasks t SET lane=q.id, paused=$5<>0, version=t.version+1, updated_at=$11, name=nullif($8,''), doc=$9, tags=r.new"
    " FROM retagged r, q WHERE t.id=r.id)"
    " SELECT (SELECT count(*) FROM ok), (SELECT count(*) FROM @tasks WHERE id=$2 AND tenant=$3)";
// clang-format on

static void read_amend(void *ctx, const PGresult *result)
{
    struct store_amend *amend = ctx;
    if (!pg_int(result, 0, 1))
        store_op_fail(&amend->op, ERR_NOT_FOUND, "there is no such task");
    else if (!pg_int(result, 0, 0))
        store_op_fail(&amend->op, ERR_LEASE_LOST, "the task or a job of it has changed meanwhile");
}

static void step_rows(struct pg_session *session, struct pg_rows *rows, const struct store_amend *amend)
{
    const struct job **jobs = arena_array(&session->arena, const struct job *, amend->count);
    pg_rows_init(rows, &session->arena, amend->count);
    int64_t *ids = pg_rows_ints(rows, "id"), *expected = pg_rows_ints(rows, "expected"),
            *priorities = pg_rows_ints(rows, "priority");
    for (size_t i = 0; i < amend->count; i++) {
        jobs[i] = amend->steps[i].job;
        ids[i] = jobs[i]->id;
        expected[i] = amend->steps[i].token;
        priorities[i] = jobs[i]->priority;
    }
    pg_rows_moving(rows, jobs);
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
    for (size_t i = 0; i < array_count(values); i++)
        pg_param_int(session, values[i]);
    pg_param_text(session, task->queue);
    pg_param_text(session, task->name);
    pg_param_bytes(session, task->doc);
    pg_param_text(session, pg_tags_text(task, &session->arena));
    pg_param_int(session, task->updated_at);
    pg_put(session, find_task);
    pg_put_rows(session, &rows);
    pg_put(session, lock_jobs);
    pg_put(session, update_jobs);
    pg_put(session, change_tags);
    pg_put(session, update_task);
    pg_send(session, read_amend, amend);
}
