// The verbs that only read. They run on the reader's connection, each in a transaction of its own, so what one of them answers
// is one moment of the store, and no claim or completion waits for it.
#include "store/store_sqlite_private.h"

static void read_jobs(struct db *db, sqlite3_stmt *stmt, struct arena *arena, struct store_job **ret_jobs, size_t *ret_count)
{
    while (db_row(db, stmt)) {
        *ret_jobs = store_push(arena, *ret_jobs, *ret_count, sizeof **ret_jobs);
        struct store_job *job = &(*ret_jobs)[(*ret_count)++];
        int at = db_read_job(stmt, &job->job, arena);
        job->doc = db_bytes(stmt, at, arena);
    }
}

// SQLite takes a negative LIMIT for none, so a size is cut to what fits.
static int64_t limit(size_t max)
{
    return max > INT32_MAX ? INT32_MAX : (int64_t)max;
}

static void read_held(struct db *db, struct store_op *op)
{
    struct store_held *held = container_of(op, struct store_held, op);
    sqlite3_stmt *stmt = db_sql(db, SQL_HELD, -held->holder, held->after_id, limit(held->max));
    read_jobs(db, stmt, &op->arena, &held->jobs, &held->job_count);
}

static void read_expired(struct db *db, struct store_op *op)
{
    struct store_expired *expired = container_of(op, struct store_expired, op);
    sqlite3_stmt *stmt = db_sql(db, SQL_EXPIRED, expired->now_ms, limit(expired->max));
    read_jobs(db, stmt, &op->arena, &expired->jobs, &expired->job_count);
}

static void read_counts(struct db *db, sqlite3_stmt *stmt, int64_t ret_counts[JOB_STATE_COUNT])
{
    while (db_row(db, stmt)) {
        int64_t state = sqlite3_column_int64(stmt, 0);
        if (state >= 0 && state < JOB_STATE_COUNT)
            ret_counts[state] = sqlite3_column_int64(stmt, 1);
    }
}

static void read_lanes(struct db *db, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    sqlite3_stmt *stmt = lanes->tenant ? db_sql(db, SQL_LANES_OF, lanes->after_id, limit(lanes->max), lanes->tenant)
                                       : db_sql(db, SQL_LANES, lanes->after_id, limit(lanes->max));
    while (db_row(db, stmt)) {
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = sqlite3_column_int64(stmt, 0), .tenant = sqlite3_column_int(stmt, 1)};
        lane->paused = sqlite3_column_int(stmt, 2);
        lane->queue = db_bytes(stmt, 3, &op->arena);
        lane->next_due = db_next_due(db, lane->id, INT64_MIN);
        read_counts(db, db_sql(db, SQL_COUNTS, lane->id), lane->counts);
    }
}

static void read_stats(struct db *db, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    read_counts(db, stats->tenant ? db_sql(db, SQL_COUNTS_OF, stats->tenant) : db_sql(db, SQL_COUNTS, 0), stats->counts);
}

static void read_attempts(struct db *db, struct store_get *get, int64_t job_id)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_ATTEMPTS, job_id);
    while (db_row(db, stmt)) {
        get->attempts = store_push(&get->op.arena, get->attempts, get->attempt_count, sizeof *get->attempts);
        struct attempt *attempt = &get->attempts[get->attempt_count++];
        *attempt =
            (struct attempt){.job_id = job_id, .number = sqlite3_column_int(stmt, 0), .status = sqlite3_column_int(stmt, 1)};
        attempt->outcome = (uint8_t)sqlite3_column_int(stmt, 2);
        attempt->picked_at = sqlite3_column_int64(stmt, 3);
        attempt->started_at = sqlite3_column_int64(stmt, 4);
        attempt->completed_at = sqlite3_column_int64(stmt, 5);
        attempt->holder = sqlite3_column_int64(stmt, 6);
        attempt->reason = db_bytes(stmt, 7, &get->op.arena);
    }
}

static bool read_task(struct db *db, struct store_get *get, int64_t id)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_TASK, id, get->tenant);
    if (!db_row(db, stmt))
        return false;
    get->task = (struct store_task){.id = id, .tenant = get->tenant, .created_at = sqlite3_column_int64(stmt, 0)};
    get->task.queue = db_bytes(stmt, 1, &get->op.arena);
    get->task.name = db_bytes(stmt, 2, &get->op.arena);
    get->task.doc = db_bytes(stmt, 3, &get->op.arena);
    db_end(stmt);
    return true;
}

static void read_records(struct db *db, struct store_get *get, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt)) {
        get->jobs = store_push(&get->op.arena, get->jobs, get->job_count, sizeof *get->jobs);
        db_read_job(stmt, &get->jobs[get->job_count++], &get->op.arena);
    }
}

static void read_get(struct db *db, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (get->job_id)
        read_records(db, get, db_sql(db, SQL_GET_JOB, get->job_id));
    int64_t task_id = get->job_count ? get->jobs[0].task_id : get->job_id ? 0 : get->task_id;
    if (!read_task(db, get, task_id)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    if (!get->job_id)
        read_records(db, get, db_sql(db, SQL_GET_JOBS, task_id, limit(get->max_jobs), (int64_t)get->open_first));
    for (size_t i = 0; i < get->job_count; i++)
        read_attempts(db, get, get->jobs[i].id);
}

static void read_owners(struct db *db, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    if (!db_found(db, db->stmts[SQL_TERM], &owners->term))
        owners->term = 0;
    sqlite3_stmt *stmt = db->stmts[SQL_OWNERS];
    while (db_row(db, stmt)) {
        owners->owners = store_push(&op->arena, owners->owners, owners->owner_count, sizeof *owners->owners);
        owners->owners[owners->owner_count++] =
            (struct store_owner){.bucket = sqlite3_column_int(stmt, 0), .puller = sqlite3_column_int64(stmt, 1)};
    }
}

static void read_series(struct db *db, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    sqlite3_stmt *stmt =
        db_sql(db, SQL_SERIES, series->tenant, series->from_ms, series->to_ms, series->from_source, limit(series->max));
    while (db_row(db, stmt)) {
        series->minutes = store_push(&op->arena, series->minutes, series->minute_count, sizeof *series->minutes);
        series->minutes[series->minute_count++] = (struct store_minute){.tenant = series->tenant,
                                                                        .at = sqlite3_column_int64(stmt, 0),
                                                                        .source = sqlite3_column_int64(stmt, 1),
                                                                        .doc = db_bytes(stmt, 2, &op->arena)};
    }
}

static int64_t heard_of(const struct store_hear *hear, int64_t source)
{
    for (size_t i = 0; i < hear->heard_count; i++)
        if (hear->heard[i].source == source)
            return hear->heard[i].number;
    return 0;
}

static void read_news(struct db *db, struct store_hear *hear, int64_t source)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_HEAR, source, heard_of(hear, source), limit(hear->max));
    while (db_row(db, stmt)) {
        hear->news = store_push(&hear->op.arena, hear->news, hear->news_count, sizeof *hear->news);
        hear->news[hear->news_count++] =
            (struct store_news){source, sqlite3_column_int64(stmt, 0), db_bytes(stmt, 1, &hear->op.arena)};
    }
}

static void read_hear(struct db *db, struct store_op *op)
{
    struct store_hear *hear = container_of(op, struct store_hear, op);
    struct store_heard *sources = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = db->stmts[SQL_SOURCES];
    while (db_row(db, stmt)) {
        sources = store_push(&op->arena, sources, count, sizeof *sources);
        sources[count++] = (struct store_heard){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
    }
    if (hear->from_now) {
        hear->last = sources;
        hear->last_count = count;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (sources[i].source != hear->skip)
            read_news(db, hear, sources[i].source);
}

void (*const sqlite_reads[STORE_VERB_COUNT])(struct db *db, struct store_op *op) = {
    [STORE_OWNERS] = read_owners, [STORE_HELD] = read_held,   [STORE_EXPIRED] = read_expired, [STORE_LANES] = read_lanes,
    [STORE_GET] = read_get,       [STORE_STATS] = read_stats, [STORE_SERIES] = read_series,   [STORE_HEAR] = read_hear,
};
