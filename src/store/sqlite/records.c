// A job's record on its way into the database and out of it. All lists of its columns are made of JOB_COLUMNS (sqlite/columns.h).
#include "store/sqlite/columns.h"
#include "store/sqlite/db.h"

#define READ_NUMBER(name) ret_job->name = sqlite3_column_int64(stmt, at++);
#define READ_BYTES(name) ret_job->name = db_bytes(stmt, at++, arena);
#define BIND_NUMBER(name) sqlite3_bind_int64(stmt, at++, job->name);
#define BIND_BYTES(name) db_bind_bytes(stmt, at++, job->name);

// ---- reading

// Texts may be large, so some callers decide by the numbers first whether they want them. The texts are left empty here.
static int read_numbers(sqlite3_stmt *stmt, struct job *ret_job)
{
#define NUMBERS_NUMBER(name) READ_NUMBER(name)
#define NUMBERS_BYTES(name) ret_job->name = (struct str){0};
#define X(name, type, step, new) NUMBERS_##type(name)
    int at = 0;
    READ_NUMBER(id)
    JOB_COLUMNS(X)
#undef X
    ret_job->result = (struct str){0};
    ret_job->lease_until = ret_job->touched_at = 0;
    ret_job->result_left_out = false;
    return at;
}

int db_read_job(sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena)
{
#define TEXTS_NUMBER(name)
#define TEXTS_BYTES(name) READ_BYTES(name)
#define X(name, type, step, new) TEXTS_##type(name)
    int at = read_numbers(stmt, ret_job);
    JOB_COLUMNS(X)
#undef X
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

// ---- writing

void db_add_job(struct db *db, const struct job *job, bool *ret_added)
{
#define X(name, type, step, new) BIND_##type(name)
    sqlite3_stmt *stmt = db_stmt(db, SQL_ADD_JOB);
    int at = 1;
    BIND_NUMBER(id)
    JOB_COLUMNS(X)
#undef X
    *ret_added = db_insert(db, stmt);
}

bool db_job_is_new(const struct job *job)
{
#define HAS_NUMBER(name) || job->name
#define HAS_BYTES(name) || job->name.n
#define OTHER_GIVEN(name, type)
#define OTHER_NONE(name, type) HAS_##type(name)
#define OTHER_APART(name, type)
#define X(name, type, step, new) OTHER_##new (name, type)
    return !(false JOB_COLUMNS(X));
#undef X
}

void db_bind_new_job(sqlite3_stmt *stmt, size_t row, const struct job *job)
{
#define COUNT_GIVEN +1
#define COUNT_NONE
#define COUNT_APART
#define X(name, type, step, new) COUNT_##new
    enum { PARAMS = 1 JOB_COLUMNS(X) };
#undef X
#define NEW_GIVEN(name, type) BIND_##type(name)
#define NEW_NONE(name, type)
#define NEW_APART(name, type)
#define X(name, type, step, new) NEW_##new (name, type)
    int at = (int)row * PARAMS + 1;
    BIND_NUMBER(id)
    JOB_COLUMNS(X)
#undef X
}

// Binds what a step may change, from the first parameter on, and returns the parameter behind it.
static int bind_step(sqlite3_stmt *stmt, const struct job *job)
{
#define STEP_FIXED(name, type)
#define STEP_WRITTEN(name, type) BIND_##type(name)
#define STEP_KEPT(name, type) BIND_##type(name)
#define X(name, type, step, new) STEP_##step(name, type)
    int at = 1;
    JOB_COLUMNS(X)
#undef X
    return at;
}

void db_change_job(struct db *db, const struct store_step *step)
{
    bool leased = store_step_leased(step);
    sqlite3_stmt *stmt = db_stmt(db, leased ? SQL_CHANGE_LEASED : SQL_CHANGE_ALL);
    int at = bind_step(stmt, step->job);
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
