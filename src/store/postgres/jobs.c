// Records of jobs on their way in and out of statements, and the days finished ones are filed under.
#include "core/id.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

_Static_assert((ID_NODES + 1) * 8 <= PG_SLOTS, "each session of each node has a slot of its own");

int64_t pg_period(void)
{
    enum { PERIOD_MS = 10000, PERIODS = 65535 };
    return 1 + clock_now().wall_ms / PERIOD_MS % PERIODS;
}

int64_t pg_slot(const struct pg_session *session)
{
    return pg_period() * PG_SLOTS + (int64_t)(atomic_load(&session->pg->node) + 1) * 8 + session->number;
}

enum pg_look pg_look(struct pg_session *session)
{
    enum { OLD_LOOK_MS = 5000, FULL_LOOK_MS = 600000 };
    int64_t now = clock_mono_ns() / 1000000;
    bool full = !session->full_look_ms || now >= session->full_look_ms + FULL_LOOK_MS;
    bool old = now >= session->old_look_ms + OLD_LOOK_MS;
    if (full)
        session->full_look_ms = now;
    if (full || old)
        session->old_look_ms = now;
    return full ? PG_LOOK_ALL : old ? PG_LOOK_OLD : PG_LOOK_FLOOR;
}

int pg_read_job(const PGresult *result, int row, int column, struct job *ret_job, struct arena *arena)
{
    ret_job->id = pg_int(result, row, column++);
#define X(name) ret_job->name = pg_int(result, row, column++);
    JOB_FIXED(X)
    JOB_MOVING(X)
#undef X
    ret_job->reason = pg_bytes(result, row, column++, arena);
    ret_job->response = pg_bytes(result, row, column++, arena);
    ret_job->lease_until = ret_job->touched_at = 0;
    ret_job->result = (struct str){0};
    ret_job->result_left_out = false;
    return column;
}

int pg_read_lease(const PGresult *result, int row, int column, struct job *job, struct arena *arena)
{
    job->touched_at = pg_int(result, row, column++);
    job->lease_until = pg_int(result, row, column++);
    bool is_there = !PQgetisnull(result, row, column++);
    job->result = pg_bytes(result, row, column++, arena);
    job->result_left_out = is_there && !job->result.n;
    return column;
}

struct store_task pg_read_task(const PGresult *result, int row, int column, struct arena *arena)
{
    struct store_task task = {.id = pg_int(result, row, column),
                              .tenant = (int32_t)pg_int(result, row, column + 1),
                              .created_at = pg_int(result, row, column + 2),
                              .updated_at = pg_int(result, row, column + 3),
                              .version = pg_int(result, row, column + 4),
                              .paused = pg_int(result, row, column + 5)};
    task.queue = pg_bytes(result, row, column + 6, arena);
    task.name = pg_bytes(result, row, column + 7, arena);
    task.doc = pg_bytes(result, row, column + 8, arena);
    return task;
}

void pg_read_store_jobs(const PGresult *result, struct arena *arena, struct store_job **ret_jobs, size_t *ret_count)
{
    for (int row = 0; row < PQntuples(result); row++) {
        *ret_jobs = store_push(arena, *ret_jobs, *ret_count, sizeof **ret_jobs);
        struct store_job *job = &(*ret_jobs)[(*ret_count)++];
        int at = pg_read_job(result, row, 0, &job->job, arena);
        job->doc = pg_bytes(result, row, at, arena);
    }
}

void pg_rows_moving(struct pg_rows *rows, const struct job *const *jobs)
{
    int64_t *values;
#define X(name)                              \
    values = pg_rows_ints(rows, #name);      \
    for (size_t i = 0; i < rows->count; i++) \
        values[i] = jobs[i]->name;
    JOB_MOVING(X)
#undef X
    values = pg_rows_ints(rows, "day");
    struct str *reasons = pg_rows_strs(rows, "reason", PG_BYTES), *responses = pg_rows_strs(rows, "response", PG_BYTES);
    for (size_t i = 0; i < rows->count; i++) {
        values[i] = pg_day_of(jobs[i]);
        reasons[i] = jobs[i]->reason;
        responses[i] = jobs[i]->response;
    }
}

void pg_rows_touched(struct pg_rows *rows, const struct job *const *jobs)
{
    int64_t *times = pg_rows_ints(rows, "touched_at");
    for (size_t i = 0; i < rows->count; i++)
        times[i] = jobs[i]->touched_at;
}

void pg_rows_lease(struct pg_rows *rows, const struct job *const *jobs)
{
    int64_t *until = pg_rows_ints(rows, "lease_until");
    struct str *results = pg_rows_strs(rows, "result", PG_BYTES);
    for (size_t i = 0; i < rows->count; i++) {
        until[i] = jobs[i]->lease_until;
        results[i] = jobs[i]->result;
    }
}

int32_t pg_day_of(const struct job *job)
{
    int64_t ended = job->completed_at ? job->completed_at : job->due_at;
    if (job->purge_at <= 0 || job->purge_at - ended > (int64_t)PG_LONG_DAYS * PG_DAY_MS)
        return 0;
    int64_t day = job->purge_at / PG_DAY_MS + 1;
    return day > INT32_MAX ? 0 : (int32_t)day;
}

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
