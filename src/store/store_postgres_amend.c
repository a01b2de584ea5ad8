// AMEND: a task is changed together with those of its jobs that nobody has in hand. It is one statement, which writes nothing
// unless the task's version and all tokens stand.
#include "store/store_postgres_private.h"

// $1 slot, $2 task, $3 tenant, $4 version, $5 paused, $6 queue, $7 name, $8 document.
// clang-format off
static const char make_lane[] =
    "INSERT INTO @lanes(id,tenant,queue,paused) SELECT coalesce(max(id),0)+1, $1, $4, false FROM @lanes"
    " HAVING EXISTS (SELECT FROM @tasks WHERE id=$2 AND tenant=$1 AND version=$3) ON CONFLICT(tenant,queue) DO NOTHING";
static const char lock_task[] =
    "WITH t AS MATERIALIZED (SELECT id FROM @tasks WHERE id=$2 AND tenant=$3 AND version=$4 FOR NO KEY UPDATE),"
    " q AS MATERIALIZED (SELECT id FROM @lanes WHERE tenant=$3 AND queue=$6), s AS MATERIALIZED (SELECT * FROM ";
static const char lock_jobs[] =
    " s), l AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM s")
    " ORDER BY j.id FOR UPDATE),"
    " ok AS MATERIALIZED (SELECT t.id FROM t WHERE (SELECT count(*) FROM s)=(SELECT count(*) FROM s JOIN l ON l.id=s.id"
    " AND l.token=s.expected AND l.state<=2)),"
    " h AS MATERIALIZED (SELECT s.*, l.state AS was, l.lane AS old_lane, q.id AS lane FROM ok, q, s JOIN l ON l.id=s.id)";
#define ASSIGN(name) #name "=h." #name ","
static const char update_jobs[] =
    ", u AS (UPDATE @jobs j SET " JOB_MOVING(ASSIGN) "reason=h.reason, response=h.response, lane=h.lane, priority=h.priority,"
    " waits_at=" PG_PLACE("h.state", "h.lane", "h.priority", "j.waits_at")
    " FROM h WHERE j.id=h.id AND j.id=" PG_ANY("SELECT id FROM h") ")"
    ", f AS (" PG_LOWER_FLOORS("SELECT h.lane, h.due_at FROM h WHERE h.state IN (1,2)") ")"
    ", c AS (" PG_COUNT("SELECT h.old_lane AS lane, h.was AS state, -1 AS n FROM h UNION ALL SELECT h.lane, h.state, 1 FROM h") ")";
static const char update_task[] =
    ", a AS (UPDATE @tasks t SET lane=q.id, paused=$5<>0, version=t.version+1, name=nullif($7,''), doc=$8"
    " FROM ok, q WHERE t.id=ok.id)"
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

static void step_rows(struct pg_link *link, struct pg_rows *rows, const struct store_amend *amend)
{
    const struct job **jobs = arena_array(&link->arena, const struct job *, amend->count);
    pg_rows_init(rows, &link->arena, amend->count);
    int64_t *ids = pg_rows_ints(rows, "id"), *expected = pg_rows_ints(rows, "expected"),
            *priorities = pg_rows_ints(rows, "priority");
    for (size_t i = 0; i < amend->count; i++) {
        jobs[i] = amend->steps[i].job;
        ids[i] = jobs[i]->id;
        expected[i] = amend->steps[i].token;
        priorities[i] = jobs[i]->priority;
    }
    pg_rows_moving(rows, jobs);
}

static void send_lane(struct pg_link *link, const struct store_task *task)
{
    pg_lock(link, PG_LOCK_LANES);
    pg_begin_query(link);
    pg_put(link, make_lane);
    pg_param_int(link, task->tenant);
    pg_param_int(link, task->id);
    pg_param_int(link, task->version);
    pg_param_text(link, task->queue);
    pg_send(link, NULL, NULL);
}

void pg_amend_send(struct pg_link *link, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    const struct store_task *task = &amend->task;
    struct pg_rows rows;
    if (task->doc.n >= STORE_SMALL_DOC)
        pg_note_large(link);
    send_lane(link, task);
    step_rows(link, &rows, amend);
    pg_begin_query(link);
    int64_t values[] = {pg_slot(link), task->id, task->tenant, task->version, task->paused};
    for (size_t i = 0; i < array_count(values); i++)
        pg_param_int(link, values[i]);
    pg_param_text(link, task->queue);
    pg_param_text(link, task->name);
    pg_param_bytes(link, task->doc);
    pg_put(link, lock_task);
    pg_put_rows(link, &rows);
    pg_put(link, lock_jobs);
    pg_put(link, update_jobs);
    pg_put(link, update_task);
    pg_send(link, read_amend, amend);
}
