// The days that finished jobs are filed under: partitions of `jobs_done`, made when the first job needs one, and dropped when the
// day has passed and nothing is left in it.
#include "store/postgres/postgres.h"

#include <stdio.h>

// clang-format off

// SWEEP, behind it. $1 today, $2 the name of the schema.
static const char past_days[] =
    "SELECT substring(day.relname from '^jobs_done_([0-9]+)$')::bigint FROM pg_inherits i JOIN pg_class day ON day.oid=i.inhrelid"
    " JOIN pg_class whole ON whole.oid=i.inhparent JOIN pg_namespace n ON n.oid=whole.relnamespace"
    " WHERE n.nspname=$2 AND whole.relname='jobs_done'"
    " AND substring(day.relname from '^jobs_done_([0-9]+)$')::bigint BETWEEN 1 AND $1-1 ORDER BY 1 LIMIT 8";

// clang-format on

int32_t pg_day_of(const struct job *job)
{
    int64_t ended = job->completed_at ? job->completed_at : job->due_at;
    if (job->purge_at <= 0 || job->purge_at - ended > (int64_t)PG_LONG_DAYS * PG_DAY_MS)
        return 0;
    int64_t day = job->purge_at / PG_DAY_MS + 1;
    return day > INT32_MAX ? 0 : (int32_t)day;
}

void pg_rows_day(struct pg_rows *rows, const struct job *const *jobs)
{
    int64_t *days = pg_rows_ints(rows, "day");
    for (size_t i = 0; i < rows->count; i++)
        days[i] = pg_day_of(jobs[i]);
}

// ---- making

static void make_day(struct pg_session *session, int32_t day)
{
    char sql[300];
    pg_begin(session, "BEGIN");
    pg_lock(session, PG_LOCK_SCHEMA);
    snprintf(sql, sizeof sql, "CREATE TABLE IF NOT EXISTS @jobs_done_%d PARTITION OF @jobs_done FOR VALUES IN (%d)", day, day);
    pg_run_once(session, sql, NULL, NULL);
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
}

void pg_make_days(struct pg_session *session, const struct job *const *jobs, size_t count)
{
    for (size_t i = 0; i < count && !session->err; i++) {
        int32_t day = job_state_final(jobs[i]->state) ? pg_day_of(jobs[i]) : 0;
        if (day == 0 || map_get(&session->days, day))
            continue;
        make_day(session, day);
        if (!session->err)
            map_put(&session->days, day, session);
    }
}

// ---- dropping

static void read_empty(void *ctx, const PGresult *result)
{
    *(bool *)ctx = PQntuples(result) == 0;
}

// A day that has passed and is empty goes. The lock is asked for only briefly, for others wait behind it; then it goes another
// time.
static void drop_day(struct pg_session *session, int64_t day)
{
    char sql[120];
    bool empty = false;
    pg_begin(session, "BEGIN");
    pg_run(session, "SET LOCAL lock_timeout='100ms'", 0, NULL, NULL, NULL);
    pg_run(session, "LOCK TABLE @jobs_done IN ACCESS EXCLUSIVE MODE", 0, NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "SELECT 1 FROM @jobs_done_%lld LIMIT 1", (long long)day);
    pg_run_once(session, sql, read_empty, &empty);
    pg_sync(session);
    snprintf(sql, sizeof sql, "DROP TABLE @jobs_done_%lld", (long long)day);
    if (empty)
        pg_run_once(session, sql, NULL, NULL);
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
}

struct days {
    struct arena *arena;
    int64_t *days;
    size_t count;
};

static void read_days(void *ctx, const PGresult *result)
{
    struct days *past = ctx;
    past->count = (size_t)PQntuples(result);
    past->days = arena_array(past->arena, int64_t, past->count);
    for (int row = 0; row < PQntuples(result); row++)
        past->days[row] = pg_int(result, row, 0);
}

// The sweep is done and committed: that a day could not be dropped does not undo it.
void pg_drop_days(struct pg_session *session, int64_t today)
{
    struct days past = {.arena = &session->arena};
    pg_begin_query(session);
    pg_put(session, past_days);
    pg_param_int(session, today);
    pg_param_text(session, str_of(session->pg->schema_name));
    pg_send(session, read_days, &past);
    pg_sync(session);
    for (size_t i = 0; i < past.count && !session->err; i++)
        drop_day(session, past.days[i]);
    if (!session->err)
        return;
    pg_session_reset(session);
    session->err = ERR_OK;
}
