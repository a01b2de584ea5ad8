// STORE_CHANGE: decided steps are written, many at a time. One statement finds the rows of up to 64 steps by their ids; for each
// row it asks stands() whether the step may be taken, and then new_…() for what is to be written. So a row is looked for once,
// read once and compared by the statement that writes it, and what a statement costs by itself is shared.
//
// That statement does not write times by which jobs are found (indexes have them). A step that changes one of these, or
// touched_at, is wide (CHANGE_WIDE): it is written by itself with all columns, as are steps about leases.
#include "store/sqlite/columns.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

// SQLite asks for rows one after the other, in the order of the batch, and several times for each.
static struct change_row *row_of(sqlite3_context *ctx, sqlite3_value **args)
{
    struct change_batch *batch = sqlite3_user_data(ctx);
    int64_t id = sqlite3_value_int64(args[0]);
    for (size_t i = 0; batch->rows[batch->at].step->job->id != id; i++) {
        assert(i < batch->count);
        batch->at = (batch->at + 1) % batch->count;
    }
    return &batch->rows[batch->at];
}

// stands(id, token, state, lane, priority, lease_until, what is kept …)
static void stands(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    struct change_row *row = row_of(ctx, args);
    const struct store_step *step = row->step;
    struct job *was = &row->was;
    *was = (struct job){.id = step->job->id, .token = sqlite3_value_int64(args[1])};
    was->state = (uint8_t)sqlite3_value_int(args[2]);
    was->lane = sqlite3_value_int64(args[3]);
    was->priority = (uint8_t)sqlite3_value_int(args[4]);
    was->lease_until = sqlite3_value_int64(args[5]);
    was->holder = DB_SOMEBODY;
    claims_see_now(container_of(sqlite3_user_data(ctx), struct db, batch)->claims, was);
    row->fate = step->job->touched_at ? CHANGE_WIDE : CHANGE_WRITTEN;
    int at = 6;
#define COMPARE_FIXED(name)
#define COMPARE_WRITTEN(name)
#define COMPARE_KEPT(name)                       \
    was->name = sqlite3_value_int64(args[at++]); \
    if (was->name != step->job->name)            \
        row->fate = CHANGE_WIDE;
#define X(name, type, step_does, new) COMPARE_##step_does(name)
    JOB_COLUMNS(X)
#undef X
    if (!db_stands(was, step))
        row->fate = CHANGE_LOST;
    sqlite3_result_int(ctx, row->fate == CHANGE_WRITTEN);
}

// new_state(id), new_token(id), …: what the step of that job writes into the column. Bytes that are empty become NULL, which is
// what a function returns when it sets no result.
static void result_bytes(sqlite3_context *ctx, struct str bytes)
{
    if (bytes.n)
        sqlite3_result_blob64(ctx, bytes.p, bytes.n, SQLITE_STATIC);
}

#define RESULT_NUMBER(value) sqlite3_result_int64(ctx, (int64_t)(value))
#define RESULT_BYTES(value) result_bytes(ctx, value)
#define FUNCTION_FIXED(name, type)
#define FUNCTION_KEPT(name, type)
#define FUNCTION_WRITTEN(name, type)                                              \
    static void new_##name(sqlite3_context *ctx, int count, sqlite3_value **args) \
    {                                                                             \
        RESULT_##type(row_of(ctx, args)->step->job->name);                        \
    }
#define X(name, type, step, new) FUNCTION_##step(name, type)
JOB_COLUMNS(X)
#undef X

enum err change_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    static const struct {
        const char *name;
        int args;
        void (*call)(sqlite3_context *ctx, int count, sqlite3_value **args);
    } functions[] = {
#define ENTRY_FIXED(name)
#define ENTRY_KEPT(name)
#define ENTRY_WRITTEN(name) {"new_" #name, 1, new_##name},
#define X(name, type, step, new) ENTRY_##step(name)
        JOB_COLUMNS(X)
#undef X
#define COUNT_FIXED
#define COUNT_WRITTEN
#define COUNT_KEPT +1
#define X(name, type, step, new) COUNT_##step
            {"stands", 6 JOB_COLUMNS(X), stands},
#undef X
    };
    for (size_t i = 0; i < array_count(functions); i++)
        if (sqlite3_create_function(db->handle, functions[i].name, functions[i].args, SQLITE_UTF8 | SQLITE_DIRECTONLY, &db->batch,
                                    functions[i].call, NULL, NULL) != SQLITE_OK) {
            snprintf(why, ERR_WHY_MAX, "making a function: %s", sqlite3_errmsg(db->handle));
            return ERR_STORE_UNAVAILABLE;
        }
    return ERR_OK;
}

static void write_rows(struct db *db)
{
    struct change_batch *batch = &db->batch;
    int64_t ids[STATEMENT_ROWS_MAX];
    batch->at = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->rows[i].fate = CHANGE_ABSENT;
        ids[i] = batch->rows[i].step->job->id;
    }
    db_run_rows(db, SQL_CHANGE, batch->count, 1, ids);
}

// ---- the verb

static void keep_attempt(struct db *db, int64_t job_id, const struct attempt *attempt)
{
    sqlite3_stmt *stmt =
        db_sql(db, SQL_KEEP_ATTEMPT, job_id, attempt->number, attempt->status, attempt->outcome, attempt->picked_at,
               attempt->started_at, attempt->completed_at, attempt->holder, (int64_t)attempt->response_truncated);
    db_bind_bytes(stmt, 10, attempt->reason);
    db_bind_bytes(stmt, 11, attempt->response);
    db_run(db, stmt);
}

// Does what follows from a step that was written: the job is listed elsewhere, counted in another state and, if it has ended, in
// the plan of its task, and its attempt is kept.
// Its lane and priority stay as they were.
static void follow_step(struct writer *writer, const struct job *was, const struct store_step *step)
{
    struct job is = *step->job;
    is.lane = was->lane;
    is.priority = was->priority;
    waiting_move(&writer->db, was, &is);
    if (was->state != is.state) {
        lane_count(writer, was->lane, was->state, -1);
        lane_count(writer, was->lane, is.state, 1);
    }
    if (store_step_counts((enum job_state)was->state, &is))
        plans_count(&writer->db, &is);
    if (step->attempt)
        keep_attempt(&writer->db, is.id, step->attempt);
}

// A job that is planned for another time is found at another place by the tags of its task.
void change_record(struct db *db, const struct job *was, const struct store_step *step)
{
    bool moved = was->scheduled_at != step->job->scheduled_at;
    if (moved)
        tags_remove_job(db, was->id);
    db_change_job(db, step);
    if (moved)
        tags_add_job(db, was->id);
}

// Writes one step by itself, whatever it is about.
static enum err change_job(struct writer *writer, const struct store_step *step)
{
    struct job was;
    if (!db_standing(&writer->db, step->job->id, &was))
        return ERR_NOT_FOUND;
    if (!db_stands(&was, step))
        return ERR_MOVED_ON;
    change_record(&writer->db, &was, step);
    follow_step(writer, &was, step);
    return ERR_OK;
}

static enum err end_change(struct writer *writer, const struct change_row *row)
{
    if (row->fate == CHANGE_WIDE)
        return change_job(writer, row->step);
    if (row->fate != CHANGE_WRITTEN)
        return row->fate == CHANGE_LOST ? ERR_MOVED_ON : ERR_NOT_FOUND;
    follow_step(writer, &row->was, row->step);
    return ERR_OK;
}

static void write_batch(struct writer *writer)
{
    struct change_batch *batch = &writer->db.batch;
    write_rows(&writer->db);
    for (size_t i = 0; i < batch->count && !writer->db.rc; i++)
        batch->rows[i].step->err = end_change(writer, &batch->rows[i]);
    batch->count = 0;
}

static int compare_steps(const void *a, const void *b)
{
    struct store_step *const *left = a, *const *right = b;
    int64_t x = (*left)->job->id, y = (*right)->job->id;
    return x != y ? (x > y) - (x < y) : (*left > *right) - (*left < *right);
}

// Steps are written by id, because neighbours lie on the same pages. Two steps of one job keep their order and go into different
// batches.
void change_steps(struct writer *writer, struct store_op *op)
{
    struct store_change *change = container_of(op, struct store_change, op);
    struct change_batch *batch = &writer->db.batch;
    struct store_step **steps = arena_array(&op->arena, struct store_step *, change->count);
    for (size_t i = 0; i < change->count; i++)
        steps[i] = &change->steps[i];
    qsort(steps, change->count, sizeof *steps, compare_steps);
    for (size_t i = 0; i < change->count && !writer->db.rc; i++) {
        if (batch->count == STATEMENT_ROWS_MAX || (batch->count && steps[i - 1]->job->id == steps[i]->job->id))
            write_batch(writer);
        if (store_step_leased(steps[i])) {
            write_batch(writer);
            steps[i]->err = change_job(writer, steps[i]);
        } else {
            batch->rows[batch->count++].step = steps[i];
        }
    }
    if (!writer->db.rc)
        write_batch(writer);
    batch->count = 0;
}
