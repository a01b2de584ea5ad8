// REMOVE: a task goes, and all its jobs with it. It is one statement, which writes nothing unless the task's version stands and
// each of its jobs has begun, or ended.
//
// A statement before it locks the task and its plan. An ADD of a job to the task takes the first of these locks, too, and a PLAN
// the second, so the job is seen. Its jobs are locked where nobody else has them, and judged as they are then. If another
// transaction has one (a step is being written, a sweep goes on), the statement neither waits for it nor does anything: the
// caller asks again. So there is no circle in which two could wait for each other.
#include "store/postgres/postgres.h"

// REMOVE. $1 stripe, $2 task, $3 tenant, $4 version, $5 the last state in which a job keeps its task, $6 max, $7 now, $8 until
// when the key stays, $9 whether it goes on. The jobs that go now are among the task's own and the first $6+1 of the others: so a
// step reads no more than it removes, but for the first, which judges all jobs.
// clang-format off
#define FIRST_OF_TASK "SELECT $2 UNION (SELECT e.id FROM @extras e WHERE e.task_id=$2 ORDER BY e.id LIMIT $6+1)"
#define FROM_FIRST(table) " FROM " table " j WHERE j.id=" PG_ANY(FIRST_OF_TASK) " AND j.task_id=$2"
#define FROM_THESE(table) " FROM " table " j WHERE j.id=" PG_ANY("SELECT id FROM these") " AND j.task_id=$2"
static const char remove_task[] =
    "WITH task AS MATERIALIZED (SELECT id, version, tenant, tags FROM @tasks WHERE id=$2 AND tenant=$3),"
    " present AS MATERIALIZED (SELECT j.id" FROM_FIRST("@jobs") " UNION ALL SELECT j.id" FROM_FIRST("@jobs_done") "),"
    " these AS MATERIALIZED (SELECT id FROM present ORDER BY id LIMIT $6),"
    " live AS MATERIALIZED (SELECT j.id, j.state" FROM_THESE("@jobs") " ORDER BY j.id FOR UPDATE SKIP LOCKED),"
    " done AS MATERIALIZED (SELECT j.id" FROM_THESE("@jobs_done") " ORDER BY j.id FOR UPDATE SKIP LOCKED),"
    " allowed AS MATERIALIZED (SELECT task.id FROM task WHERE task.version=$4"
    "   AND (SELECT count(*) FROM live)+(SELECT count(*) FROM done)=(SELECT count(*) FROM these)"
    "   AND NOT EXISTS (SELECT FROM live WHERE state<=$5)"
    "   AND ($9<>0 OR NOT EXISTS (SELECT FROM @jobs j WHERE j.id=" PG_ANY(PG_IDS_OF_TASK("$2"))
    "     AND j.task_id=$2 AND j.state<=$5))),"
    " gone_live AS (DELETE FROM @jobs j WHERE j.id=" PG_ANY("SELECT live.id FROM live, allowed")
    "   RETURNING j.id, j.task_id, j.lane, j.state, j.scheduled_at),"
    " gone_done AS (DELETE FROM @jobs_done j WHERE j.id=" PG_ANY("SELECT done.id FROM done, allowed")
    "   RETURNING j.id, j.task_id, j.lane, j.state, j.scheduled_at),"
    " gone AS (SELECT * FROM gone_live UNION ALL SELECT * FROM gone_done),"
    " gone_attempts AS (DELETE FROM @attempts a WHERE a.job_id=" PG_ANY("SELECT id FROM gone") "),"
    " gone_extras AS (DELETE FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM gone WHERE id<>task_id") "),"
    " counted AS (" PG_COUNT("SELECT gone.lane, gone.state, -1 AS n FROM gone") "),"
    " gone_task AS (DELETE FROM @tasks t USING allowed WHERE t.id=allowed.id AND (SELECT count(*) FROM present)<=$6"
    "   RETURNING t.id, t.tenant, t.key, t.tags),"
    " gone_plan AS (DELETE FROM @plans p WHERE p.task_id=" PG_ANY("SELECT id FROM gone_task") "),"
    " noted AS (" PG_NOTE_GONE_IDS("(SELECT id, task_id FROM gone UNION ALL SELECT id, id FROM gone_task)") "),"
    " untagged AS (" PG_REMOVE_TAGS(PG_TAGS_OF("SELECT tenant, tags, 0::bigint AS at, id FROM gone_task")) "),"
    " untagged_jobs AS (" PG_REMOVE_TAGS(PG_TAGS_OF_JOBS(
        "SELECT task.tenant, task.tags, gone.scheduled_at AS at, gone.id FROM gone, task")) "),"
    " spent AS (UPDATE @keys k SET loose=true, until=$8, spent_at=$7 FROM gone_task"
    "   WHERE k.tenant=gone_task.tenant AND k.key=gone_task.key)"
    " SELECT (SELECT count(*) FROM task), (SELECT count(*) FROM allowed), (SELECT count(*) FROM present)";
// clang-format on

static void read_remove(void *ctx, const PGresult *result)
{
    struct store_remove *remove = ctx;
    if (!pg_int(result, 0, 0))
        store_op_fail(&remove->op, ERR_NOT_FOUND, "there is no such task");
    else if (!pg_int(result, 0, 1))
        store_op_fail(&remove->op, ERR_MOVED_ON, "the task or a job of it has changed meanwhile");
    else
        remove->more = pg_int(result, 0, 2) > (int64_t)remove->max;
}

void pg_remove_send(struct pg_session *session, struct store_op *op)
{
    struct store_remove *remove = container_of(op, struct store_remove, op);
    pg_lock_task(session, remove->task_id);
    pg_sql(session, remove_task, read_remove, remove, pg_stripe(session), remove->task_id, remove->tenant, remove->version,
           store_remove_last(remove), (int64_t)remove->max, remove->now_ms, remove->keys_until, remove->goes_on);
}
