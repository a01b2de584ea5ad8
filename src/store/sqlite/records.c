// A job's record on its way into the database and out of it.
#include "store/sqlite/db.h"

static int read_numbers(sqlite3_stmt *stmt, struct job *ret_job)
{
    int at = 0;
    ret_job->id = sqlite3_column_int64(stmt, at++);
#define X(name) ret_job->name = sqlite3_column_int64(stmt, at++);
    JOB_FIXED(X)
    JOB_MOVING(X)
#undef X
    ret_job->reason = ret_job->response = ret_job->result = (struct str){0};
    ret_job->lease_until = ret_job->touched_at = 0;
    ret_job->result_left_out = false;
    return at;
}

int db_read_job(sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena)
{
    int at = read_numbers(stmt, ret_job);
    ret_job->reason = db_bytes(stmt, at++, arena);
    ret_job->response = db_bytes(stmt, at++, arena);
    return at;
}

int db_read_seen_job(struct db *db, sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena)
{
    int at = db_read_job(stmt, ret_job, arena);
    claims_see(db->claims, ret_job);
    return at;
}

void db_read_seen_numbers(struct db *db, sqlite3_stmt *stmt, struct job *ret_job)
{
    read_numbers(stmt, ret_job);
    claims_see(db->claims, ret_job);
}

bool db_standing(struct db *db, int64_t id, struct job *ret_was)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_STANDING, id);
    if (!db_row(db, stmt))
        return false;
    *ret_was = (struct job){.id = id, .token = sqlite3_column_int64(stmt, 0), .lane = sqlite3_column_int64(stmt, 2)};
    ret_was->state = (uint8_t)sqlite3_column_int(stmt, 1);
    ret_was->priority = (uint8_t)sqlite3_column_int(stmt, 3);
    ret_was->lease_until = sqlite3_column_int64(stmt, 4);
    ret_was->due_at = sqlite3_column_int64(stmt, 5);
    ret_was->scheduled_at = sqlite3_column_int64(stmt, 6);
    ret_was->holder = DB_SOMEBODY;
    db_end(stmt);
    claims_see_now(db->claims, ret_was);
    return true;
}

bool db_stands(const struct job *was, const struct store_step *step)
{
    return was->token == step->token && was->lease_until == step->lease && (!step->watched || was->state == JOB_WATCHING);
}

int db_read_lease(sqlite3_stmt *stmt, int at, struct job *job, struct arena *arena)
{
    job->touched_at = sqlite3_column_int64(stmt, at++);
    job->lease_until = sqlite3_column_int64(stmt, at++);
    bool is_there = sqlite3_column_type(stmt, at++) != SQLITE_NULL;
    job->result = db_bytes(stmt, at++, arena);
    job->result_left_out = is_there && !job->result.n;
    return at;
}

static int bind_moving(sqlite3_stmt *stmt, int at, const struct job *job)
{
#define X(name) sqlite3_bind_int64(stmt, at++, job->name);
    JOB_MOVING(X)
#undef X
    db_bind_bytes(stmt, at++, job->reason);
    db_bind_bytes(stmt, at++, job->response);
    return at;
}

void db_add_job(struct db *db, const struct job *job, bool *ret_added)
{
    sqlite3_stmt *stmt = db->stmts[SQL_ADD_JOB];
    int at = 1;
    sqlite3_bind_int64(stmt, at++, job->id);
#define X(name) sqlite3_bind_int64(stmt, at++, job->name);
    JOB_FIXED(X)
#undef X
    bind_moving(stmt, at, job);
    *ret_added = db_insert(db, stmt);
}

bool db_job_is_new(const struct job *job)
{
#define X(name) || job->name
    return !(job->reason.n || job->response.n JOB_NEW_ZERO(X));
#undef X
}

void db_bind_new_job(sqlite3_stmt *stmt, size_t row, const struct job *job)
{
#define X(name) +1
    enum { PARAMS = 1 JOB_NEW(X) };
#undef X
    int at = (int)row * PARAMS + 1;
    sqlite3_bind_int64(stmt, at++, job->id);
#define X(name) sqlite3_bind_int64(stmt, at++, job->name);
    JOB_NEW(X)
#undef X
}

void db_change_job(struct db *db, const struct store_step *step)
{
    bool leased = store_step_leased(step);
    sqlite3_stmt *stmt = db->stmts[leased ? SQL_CHANGE_LEASED : SQL_CHANGE_ALL];
    int at = bind_moving(stmt, 1, step->job);
    if (step->job->touched_at)
        sqlite3_bind_int64(stmt, at++, step->job->touched_at);
    else
        sqlite3_bind_null(stmt, at++);
    if (leased) {
        sqlite3_bind_int64(stmt, at++, step->job->lease_until);
        db_bind_bytes(stmt, at++, step->job->result);
    }
    sqlite3_bind_int64(stmt, at++, step->job->id);
    db_run(db, stmt);
}
