// The verbs that only read: which function does which, and the three that give out jobs with their documents. They run on the
// reader's connection, each in a transaction of its own, so what one of them answers is one moment of the store, and no claim or
// completion waits for it.
#include "store/sqlite/sqlite.h"

static void read_doc(sqlite3_stmt *stmt, int at, struct store_job *job, struct arena *arena)
{
    job->doc = db_bytes(stmt, at, arena);
    job->version = sqlite3_column_int64(stmt, at + 1);
}

// Jobs that the holder has given back meanwhile are passed over. A caller that wants to run them gets no documents of paused
// tasks.
static void find_held(struct db *db, struct store_find *find)
{
    size_t count, bytes = 0;
    const int64_t *ids = claims_of(db->claims, find->holder, find->after_id, &find->op.arena, &count);
    for (size_t i = 0; i < count && !store_page_ends(find->job_count, find->max, bytes); i++) {
        sqlite3_stmt *stmt = db_sql(db, SQL_HELD, ids[i]);
        if (!db_row(db, stmt))
            continue;
        struct store_job job = {0};
        int at = db_read_seen_job(db, stmt, &job.job, &find->op.arena);
        bool paused = find->to_run && job.job.state == JOB_WATCHING && sqlite3_column_int(stmt, at + 2);
        if (!paused)
            read_doc(stmt, at, &job, &find->op.arena);
        db_end(stmt);
        if (!job_in_hand(&job.job) || job.job.holder != find->holder)
            continue;
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        find->jobs[find->job_count++] = job;
        bytes += job.doc.n;
    }
    find->more = store_page_ends(find->job_count, find->max, bytes);
}

static void find_expired(struct db *db, struct store_find *find)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_EXPIRED, find->now_ms);
    size_t bytes = 0;
    while (!(find->more = store_page_ends(find->job_count, find->max, bytes)) && db_row(db, stmt)) {
        struct store_job job;
        int at = db_read_seen_job(db, stmt, &job.job, &find->op.arena);
        if (job_in_hand(&job.job))
            continue;
        read_doc(stmt, at, &job, &find->op.arena);
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        find->jobs[find->job_count++] = job;
        bytes += job.doc.n;
    }
    db_end(stmt);
}

static void find_leases(struct db *db, struct store_find *find)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_LEASES, find->now_ms, store_limit(find->max));
    size_t bytes = 0;
    while (!(find->more = store_page_ends(find->job_count, find->max, bytes)) && db_row(db, stmt)) {
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        struct store_job *job = &find->jobs[find->job_count++];
        int at = db_read_seen_job(db, stmt, &job->job, &find->op.arena);
        at = db_read_lease(stmt, at, &job->job, &find->op.arena);
        read_doc(stmt, at, job, &find->op.arena);
        bytes += job->doc.n;
    }
    db_end(stmt);
}

static void (*const finds[STORE_FIND_COUNT])(struct db *db, struct store_find *find) = {
    [STORE_FIND_HELD] = find_held, [STORE_FIND_EXPIRED] = find_expired, [STORE_FIND_LEASES] = find_leases};

static void read_find(struct db *db, struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    finds[find->what](db, find);
}

void (*const sqlite_reads[STORE_VERB_COUNT])(struct db *db, struct store_op *op) = {
    [STORE_OWNERS] = peers_owners, [STORE_FIND] = read_find,        [STORE_LANES] = lane_read,
    [STORE_GET] = get_read,        [STORE_STATS] = lane_stats,      [STORE_LIST] = list_read,
    [STORE_BULKS] = journal_bulks, [STORE_SERIES] = journal_series, [STORE_EVENTS] = journal_events,
    [STORE_AHEAD] = waiting_ahead, [STORE_PLANS] = plans_list,      [STORE_UPCOMING] = list_upcoming,
};
