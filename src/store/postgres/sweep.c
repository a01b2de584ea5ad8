// SWEEP: what retention lets go is removed, jobs first, then tasks that have none left, then keys; and tables that only grow by
// the way are kept short.
//
// The jobs that are due are found first, then their tasks are locked, and then the jobs are locked and looked at again: a step
// that plans a job for another time, and a REMOVE, lock the task before the job, too. Jobs that another transaction has go
// another time.
//
// A recurring task stays while its plan owes instants. When that is over and the task has no job, nothing else leads to it, so
// a plan that was written as over is looked at once (`over`).
#include "store/postgres/postgres.h"

enum { HANDS_MAX = 2000 };

// clang-format off

// $1 now, $2 the day of now, $3 max.
static const char find_due[] =
    "SELECT j.task_id, j.id, j.trigger FROM @jobs_done j WHERE j.purge_at>0 AND j.purge_at<=$1 AND j.day<=$2"
    " ORDER BY j.purge_at, j.id LIMIT $3";
// $1 max.
static const char find_over[] = "SELECT task_id FROM @plans WHERE over ORDER BY task_id LIMIT $1";
static const char lock_tasks[] = "SELECT FROM @tasks WHERE id=ANY($1) ORDER BY id FOR UPDATE";

// $1 stripe, $2 now, $3 the day of now, $4 the jobs that were found.
static const char remove_jobs[] =
    "WITH due AS MATERIALIZED (SELECT j.id FROM @jobs_done j"
    "   WHERE j.id=ANY($4) AND j.purge_at>0 AND j.purge_at<=$2 AND j.day<=$3 FOR UPDATE SKIP LOCKED),"
    " gone AS (DELETE FROM @jobs_done j WHERE j.day<=$3 AND j.id=" PG_ANY("SELECT id FROM due")
    "   RETURNING j.id, j.task_id, j.lane, j.state, j.scheduled_at),"
    " gone_attempts AS (DELETE FROM @attempts a WHERE a.job_id=" PG_ANY("SELECT id FROM gone") "),"
    " gone_extras AS (DELETE FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM gone WHERE id<>task_id") "),"
    " noted AS (" PG_NOTE_GONE_IDS("gone") "),"
    " counted AS (" PG_COUNT("SELECT gone.lane, gone.state, -1 AS n FROM gone") ")"
    " SELECT task_id, id, scheduled_at FROM gone";

// The tags of jobs that went. $1 their tasks, $2 their ids, $3 when they were planned for.
static const char remove_tags[] = PG_REMOVE_TAGS(PG_TAGS_OF_JOBS(
    "SELECT t.tenant, t.tags, gone.at, gone.id FROM unnest($1::bigint[],$2::bigint[],$3::bigint[]) gone(task_id,id,at)"
    " JOIN (SELECT id, tenant, tags FROM @tasks WHERE id=ANY($1) AND tags IS NOT NULL) t ON t.id=gone.task_id"));

// Tasks that have no job left. $1 until when their keys stay, $2 the tasks some of whose jobs went, or whose plans are over.
// `recurs`: some of them may have plans.
static const char remove_tasks[] =
    "WITH gone AS (DELETE FROM @tasks t WHERE t.id=ANY($2) AND NOT EXISTS (SELECT FROM @extras e WHERE e.task_id=t.id)"
    "   AND NOT EXISTS (SELECT FROM @jobs j WHERE j.id=t.id AND j.task_id=t.id)"
    "   AND NOT EXISTS (SELECT FROM @jobs_done d WHERE d.id=t.id AND d.task_id=t.id)"
    "   {recurs:AND NOT EXISTS (SELECT FROM @plans p WHERE p.task_id=t.id AND NOT " PG_IS_OVER("p") ")}"
    "   RETURNING t.id, t.tenant, t.key, t.tags),"
    "{recurs: gone_plan AS (DELETE FROM @plans p WHERE p.task_id=" PG_ANY("SELECT id FROM gone") "),"
    " looked AS (UPDATE @plans p SET over=false WHERE p.task_id=ANY($2) AND p.over AND p.task_id<>ALL(ARRAY(SELECT id FROM gone))),"
    " noted AS (" PG_NOTE_GONE_IDS("(SELECT id, id AS task_id FROM gone)") "),}"
    " untagged AS ("
        PG_REMOVE_TAGS(PG_TAGS_OF("SELECT tenant, tags, 0::bigint AS at, id FROM gone WHERE tags IS NOT NULL")) ")"
    " UPDATE @keys k SET loose=true, until=$1 FROM gone WHERE k.tenant=gone.tenant AND k.key=gone.key";

// $1 now, $2 max.
static const char remove_keys[] =
    "DELETE FROM @keys k"
    " USING (SELECT tenant,key FROM @keys WHERE loose AND until<=$1 ORDER BY until,tenant,key LIMIT $2) past"
    " WHERE k.tenant=past.tenant AND k.key=past.key";

// Of what came into hands a while ago, only what is still there is kept: nothing of a batch whose jobs have all ended (how=0). A
// batch that counts its jobs is left as it is at first (how=1), for they had no minute to end yet. Of the others it is looked up
// what is there (how=2). $1 max.
static const char clear_hands[] =
    "WITH old_hands AS MATERIALIZED (SELECT number, holder, ids,"
    "   CASE WHEN remain=0 THEN 0 WHEN remain>0 AND looks<5 THEN 1 ELSE 2 END AS how"
    "   FROM @hands WHERE look_at<(SELECT " PG_CLOCK_MS ") ORDER BY look_at LIMIT $1 FOR UPDATE SKIP LOCKED),"
    " looked AS MATERIALIZED (SELECT o.number, o.how, CASE WHEN o.how=2 THEN"
    "   ARRAY(SELECT j.id FROM @jobs j WHERE j.id=ANY(o.ids) AND " PG_IN_HAND_OF("o.holder") ") END AS ids FROM old_hands o),"
    " emptied AS (DELETE FROM @hands h WHERE h.number=" PG_ANY("SELECT number FROM looked WHERE how=0 OR cardinality(ids)=0") ")"
    " UPDATE @hands h SET ids=coalesce(looked.ids,h.ids), look_at=" PG_CLOCK_MS "+10000, looks=looks+1 FROM looked"
    " WHERE " PG_IS("h.number", "looked.number") " AND looked.how>0 AND (looked.how=1 OR cardinality(looked.ids)>0)";

// clang-format on

struct sweeping {
    struct store_sweep *sweep;
    struct arena *arena;
    bool alone;
    int64_t *tasks, *jobs, *times; // of jobs that are due, or went
    size_t count;
    int64_t *over; // tasks whose plans are over
    size_t over_count;
    bool recurs; // some of these jobs are of recurring tasks, or some plans are over
};

static void read_alone(void *ctx, const PGresult *result)
{
    ((struct sweeping *)ctx)->alone = pg_int(result, 0, 0);
}

// A column of whole numbers.
static int64_t *read_column(const struct sweeping *sweeping, const PGresult *result, int column)
{
    int64_t *values = arena_array(sweeping->arena, int64_t, (size_t)PQntuples(result));
    for (int row = 0; row < PQntuples(result); row++)
        values[row] = pg_int(result, row, column);
    return values;
}

static void read_jobs(struct sweeping *sweeping, const PGresult *result)
{
    sweeping->count = (size_t)PQntuples(result);
    sweeping->tasks = read_column(sweeping, result, 0);
    sweeping->jobs = read_column(sweeping, result, 1);
}

static void read_due(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    read_jobs(sweeping, result);
    for (int row = 0; row < PQntuples(result); row++)
        sweeping->recurs |= pg_int(result, row, 2) != TRIGGER_SUBMIT;
}

static void read_over(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    sweeping->over_count = (size_t)PQntuples(result);
    sweeping->over = read_column(sweeping, result, 0);
    sweeping->recurs |= sweeping->over_count > 0;
}

static void read_removed(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    read_jobs(sweeping, result);
    sweeping->times = read_column(sweeping, result, 2);
}

// The tasks of the jobs, and those whose plans are over. Returns how many there are.
static size_t list_tasks(const struct sweeping *sweeping, int64_t **ret_tasks)
{
    size_t count = sweeping->count + sweeping->over_count;
    *ret_tasks = arena_array(sweeping->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        (*ret_tasks)[i] = i < sweeping->count ? sweeping->tasks[i] : sweeping->over[i - sweeping->count];
    return count;
}

static void lock_tasks_of(struct pg_session *session, const struct sweeping *sweeping)
{
    int64_t *tasks;
    size_t count = list_tasks(sweeping, &tasks);
    pg_begin_query(session);
    pg_put(session, lock_tasks);
    pg_param_ints(session, tasks, count);
    pg_send(session, NULL, NULL);
    if (sweeping->recurs)
        pg_lock_plans(session, tasks, count);
}

// Takes the jobs that are due and then those of them that it removed, with their tasks.
static void remove_due(struct pg_session *session, struct sweeping *sweeping, int64_t now_ms, int64_t today, int64_t max)
{
    pg_sql(session, find_due, read_due, sweeping, now_ms, today, max);
    pg_sql(session, find_over, read_over, sweeping, max);
    pg_sync(session);
    if (session->err || !(sweeping->count + sweeping->over_count))
        return;
    lock_tasks_of(session, sweeping);
    pg_begin_query(session);
    pg_put(session, remove_jobs);
    pg_param_int(session, pg_stripe(session));
    pg_param_int(session, now_ms);
    pg_param_int(session, today);
    pg_param_ints(session, sweeping->jobs, sweeping->count);
    pg_send(session, read_removed, sweeping);
    pg_sync(session);
}

static void remove_tasks_of(struct pg_session *session, const struct sweeping *sweeping)
{
    pg_begin_query(session);
    pg_put(session, remove_tags);
    pg_param_ints(session, sweeping->tasks, sweeping->count);
    pg_param_ints(session, sweeping->jobs, sweeping->count);
    pg_param_ints(session, sweeping->times, sweeping->count);
    pg_send(session, NULL, NULL);
    int64_t *tasks;
    size_t count = list_tasks(sweeping, &tasks);
    pg_begin_query(session);
    pg_put_with(session, remove_tasks, PG_IF("recurs", sweeping->recurs));
    pg_param_int(session, sweeping->sweep->keys_until);
    pg_param_ints(session, tasks, count);
    pg_send(session, NULL, NULL);
}

void pg_sweep_run(struct pg_session *session, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    struct sweeping sweeping = {.sweep = sweep, .arena = &session->arena};
    int64_t max = store_limit(sweep->max), today = sweep->now_ms / PG_DAY_MS + 1;
    pg_begin(session, "BEGIN");
    pg_sql(session, "SELECT pg_try_advisory_xact_lock($1)::int", read_alone, &sweeping, pg_lock_key(session->pg, PG_LOCK_SWEEP));
    pg_sync(session);
    if (!session->err && sweeping.alone) {
        remove_due(session, &sweeping, sweep->now_ms, today, max);
        sweep->removed = sweeping.count;
        if (sweeping.count + sweeping.over_count)
            remove_tasks_of(session, &sweeping);
        pg_sql(session, remove_keys, NULL, NULL, sweep->now_ms, max);
        pg_sweep_journal_send(session, sweep, max);
        pg_sql(session, clear_hands, NULL, NULL, HANDS_MAX);
        pg_fold_counts(session);
    }
    pg_commit(session);
    if (!session->err && sweeping.alone && sweeping.count < (size_t)max)
        pg_drop_days(session, today);
}
