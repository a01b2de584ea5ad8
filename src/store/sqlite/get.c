// A task or a job is read whole, with its attempts. Lists (sqlite/list.c) take their records from here, too.
#include "store/sqlite/sqlite.h"

void get_push_attempts(struct db *db, struct store_get *get, int64_t job_id, bool responses)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_ATTEMPTS, job_id, (int64_t)responses);
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
        attempt->response_truncated = sqlite3_column_int(stmt, 8);
        attempt->response = db_bytes(stmt, 9, &get->op.arena);
    }
}

static struct store_task read_task(sqlite3_stmt *stmt, struct arena *arena)
{
    struct store_task task = {.id = sqlite3_column_int64(stmt, 0),
                              .tenant = sqlite3_column_int(stmt, 1),
                              .created_at = sqlite3_column_int64(stmt, 2),
                              .updated_at = sqlite3_column_int64(stmt, 3),
                              .version = sqlite3_column_int64(stmt, 4),
                              .paused = sqlite3_column_int(stmt, 5),
                              .dispatch = (enum target_dispatch)sqlite3_column_int(stmt, 6)};
    task.queue = db_bytes(stmt, 7, arena);
    task.name = db_bytes(stmt, 8, arena);
    task.doc = db_bytes(stmt, 9, arena);
    task.plan = plans_read(stmt, 10, &task, arena);
    return task;
}

bool get_find_task(struct db *db, int64_t id, int32_t tenant, struct arena *arena, struct store_task *ret_task)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_TASK, id, tenant);
    if (!db_row(db, stmt))
        return false;
    *ret_task = read_task(stmt, arena);
    db_end(stmt);
    return true;
}

void get_push_job(struct db *db, sqlite3_stmt *stmt, struct store_get *get)
{
    get->jobs = store_push(&get->op.arena, get->jobs, get->job_count, sizeof *get->jobs);
    struct job *job = &get->jobs[get->job_count++];
    db_read_lease(stmt, db_read_seen_job(db, stmt, job, &get->op.arena), job, &get->op.arena);
}

void get_push_jobs(struct db *db, struct store_get *get, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt))
        get_push_job(db, stmt, get);
}

void get_read(struct db *db, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (get->job_id)
        get_push_jobs(db, get, db_sql(db, SQL_GET_JOB, get->job_id));
    bool owes;
    int64_t task_id = get->job_count    ? get->jobs[0].task_id
                      : get->job_id     ? 0
                      : get->reserved.n ? plans_find_reserved(db, get->tenant, get->reserved, &owes)
                                        : get->task_id;
    if (!get_find_task(db, task_id, get->tenant, &op->arena, &get->task)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    if (!get->job_id)
        get_push_jobs(db, get, db_sql(db, SQL_GET_JOBS, task_id, store_limit(get->max_jobs), (int64_t)get->open_first));
    for (size_t i = 0; i < get->job_count; i++)
        get_push_attempts(db, get, get->jobs[i].id, get->job_id);
    store_sort_attempts(get->attempts, get->attempt_count);
}
