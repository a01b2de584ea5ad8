// STORE_REMOVE and STORE_SWEEP: deleted tasks go with their jobs, and final jobs go when retention lets them.
//
// The key of a task outlives it for a while, so that a repeated submit is still known (`keys.until`).
#include "store/sqlite/sqlite.h"

struct purge {
    int64_t id, task_id, lane, scheduled_at;
    int state;
};

// The jobs that are removed, and until when the keys of tasks that go with them stay.
struct purges {
    struct arena *arena;
    struct purge *jobs;
    size_t count;
    int64_t keys_until;
    int64_t spent_at; // 0: retention removes them
};

static void list_purges(struct db *db, struct purges *purges, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt)) {
        purges->jobs = store_push(purges->arena, purges->jobs, purges->count, sizeof *purges->jobs);
        purges->jobs[purges->count++] = (struct purge){.id = sqlite3_column_int64(stmt, 0),
                                                       .task_id = sqlite3_column_int64(stmt, 1),
                                                       .lane = sqlite3_column_int64(stmt, 2),
                                                       .state = sqlite3_column_int(stmt, 3),
                                                       .scheduled_at = sqlite3_column_int64(stmt, 4)};
    }
}

// What is to be known of a task some of whose jobs go.
struct purged_task {
    int32_t tenant;
    struct str key;
    const char *tags; // as in its column
    bool recurs;
    bool owes; // its plan is not over
};

static bool find_purged(struct db *db, int64_t id, struct arena *arena, struct purged_task *ret_task)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_TASK_KEY, id);
    if (!db_row(db, stmt))
        return false;
    *ret_task = (struct purged_task){.tenant = sqlite3_column_int(stmt, 0), .key = db_bytes(stmt, 1, arena)};
    const char *tags = (const char *)sqlite3_column_text(stmt, 2);
    if (tags)
        ret_task->tags = arena_copy(arena, (struct str){tags, strlen(tags) + 1}).p;
    ret_task->recurs = sqlite3_column_type(stmt, 3) != SQLITE_NULL;
    ret_task->owes = ret_task->recurs && sqlite3_column_int64(stmt, 3) < TIME_NEVER;
    db_end(stmt);
    return true;
}

// The key of the task outlives it for a while, and is in the index of loose keys from now on.
static void remove_task(struct db *db, int64_t id, const struct purged_task *task, const struct purges *purges)
{
    if (task->key.n) {
        sqlite3_stmt *stmt = db_sql(db, SQL_LOOSEN_KEY, purges->keys_until, purges->spent_at, task->tenant);
        db_bind_text(stmt, 4, task->key);
        db_run(db, stmt);
    }
    if (task->tags)
        tags_remove_swept(db, task->tenant, task->tags, false, (struct store_cursor){0, id});
    if (task->recurs)
        db_run(db, db_sql(db, SQL_REMOVE_PLAN, id));
    db_run(db, db_sql(db, SQL_REMOVE_TASK, id));
}

static void remove_job(struct writer *writer, const struct purge *job, const struct purges *purges)
{
    struct db *db = &writer->db;
    struct purged_task task;
    int64_t one;
    db_run(db, db_sql(db, SQL_REMOVE_ATTEMPTS, job->id));
    db_run(db, db_sql(db, SQL_REMOVE_JOB, job->id));
    lane_count(writer, job->lane, job->state, -1);
    if (!find_purged(db, job->task_id, purges->arena, &task))
        return;
    if (task.tags)
        tags_remove_swept(db, task.tenant, task.tags, true, (struct store_cursor){job->scheduled_at, job->id});
    if (db_found(db, db_sql(db, SQL_TASK_HAS_JOB, job->task_id), &one))
        return;
    if (task.owes && !purges->spent_at)
        db_run(db, db_sql(db, SQL_SET_JOBLESS, job->task_id, true));
    else
        remove_task(db, job->task_id, &task, purges);
}

// Removes recurring tasks that have no jobs.
static void remove_jobless(struct db *db, const int64_t *ids, size_t count, const struct purges *purges)
{
    struct purged_task task;
    for (size_t i = 0; i < count; i++)
        if (find_purged(db, ids[i], purges->arena, &task)) {
            remove_task(db, ids[i], &task, purges);
            db_run(db, db_sql(db, SQL_SET_FLOOR, ids[i]));
        }
}

// Tasks whose plans are over, and that have had no job since before that.
static void sweep_jobless(struct db *db, const struct purges *purges, int64_t limit)
{
    int64_t *ids = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = db_sql(db, SQL_PLANS_OVER, limit);
    while (db_row(db, stmt)) {
        ids = store_push(purges->arena, ids, count, sizeof *ids);
        ids[count++] = sqlite3_column_int64(stmt, 0);
    }
    remove_jobless(db, ids, count, purges);
}

// The largest id that is removed is written down, so that no id is ever given out twice.
static void remove_jobs(struct writer *writer, const struct purges *purges)
{
    int64_t largest = 0;
    for (size_t i = 0; i < purges->count; i++) {
        remove_job(writer, &purges->jobs[i], purges);
        largest = time_max(largest, time_max(purges->jobs[i].id, purges->jobs[i].task_id));
    }
    if (purges->count)
        db_run(&writer->db, db_sql(&writer->db, SQL_SET_FLOOR, largest));
}

// A job that runs is in somebody's hand, or has a lease: it leaves both as if it had been cancelled.
static void leave_hand(struct db *db, const struct purge *job)
{
    struct job was;
    if (job_state_held(job->state) && db_standing(db, job->id, &was))
        waiting_move(db, &was, &(struct job){.id = job->id, .state = JOB_CANCELLED});
}

// Does a job keep its task? A step that goes on looks only at the jobs that go with it.
static bool keeps_task(struct db *db, const struct store_remove *remove, const struct purges *purges)
{
    int64_t open;
    if (!remove->goes_on)
        return db_found(db, db_sql(db, SQL_TASK_HAS_OPEN, remove->task_id, store_remove_last(remove)), &open);
    for (size_t i = 0; i < purges->count; i++)
        if (purges->jobs[i].state <= (int)store_remove_last(remove))
            return true;
    return false;
}

void remove_deleted(struct writer *writer, struct store_op *op)
{
    struct store_remove *remove = container_of(op, struct store_remove, op);
    struct db *db = &writer->db;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_TASK_VERSION, remove->task_id, remove->tenant), &version)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    struct purges purges = {.arena = &op->arena, .keys_until = remove->keys_until, .spent_at = remove->now_ms};
    list_purges(db, &purges, db_sql(db, SQL_TASK_JOBS, remove->task_id, (int64_t)remove->max + 1));
    bool more = purges.count > remove->max;
    purges.count -= more;
    if (version != remove->version || keeps_task(db, remove, &purges)) {
        store_op_fail(op, ERR_MOVED_ON, "the task or a job of it has changed meanwhile");
        return;
    }
    remove->more = more;
    for (size_t i = 0; i < purges.count; i++)
        leave_hand(db, &purges.jobs[i]);
    remove_jobs(writer, &purges);
    if (!purges.count && !more)
        remove_jobless(db, &remove->task_id, 1, &purges);
}

struct loose_key {
    int32_t tenant;
    struct str key;
};

static void remove_loose_keys(struct writer *writer, struct store_sweep *sweep, int64_t limit)
{
    struct db *db = &writer->db;
    struct loose_key *keys = NULL;
    size_t key_count = 0;
    sqlite3_stmt *stmt = db_sql(db, SQL_LOOSE_KEYS, sweep->now_ms, limit);
    while (db_row(db, stmt)) {
        keys = store_push(&sweep->op.arena, keys, key_count, sizeof *keys);
        keys[key_count++] = (struct loose_key){sqlite3_column_int(stmt, 0), db_bytes(stmt, 1, &sweep->op.arena)};
    }
    for (size_t i = 0; i < key_count; i++) {
        stmt = db_sql(db, SQL_REMOVE_KEY, keys[i].tenant);
        db_bind_text(stmt, 2, keys[i].key);
        db_run(db, stmt);
    }
}

void remove_swept(struct writer *writer, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    struct purges purges = {.arena = &op->arena, .keys_until = sweep->keys_until};
    int64_t limit = store_limit(sweep->max);
    list_purges(&writer->db, &purges, db_sql(&writer->db, SQL_PURGE, sweep->now_ms, limit));
    remove_jobs(writer, &purges);
    sweep_jobless(&writer->db, &purges, limit);
    remove_loose_keys(writer, sweep, limit);
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_SERIES, sweep->series_before, limit));
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_EVENTS, sweep->events_before, limit));
    sweep->removed = purges.count;
}
