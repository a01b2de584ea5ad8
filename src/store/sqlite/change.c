// Steps written many at a time. One statement finds the rows of up to 64 steps by their ids; for each row it asks stands()
// whether the step may be taken, and then new_…() for what is to be written. So a row is looked for once, read once and compared
// by the statement that writes it, and what a statement costs by itself is shared.
//
// Times by which jobs are found are not written here: a step that moves one is left to the caller (CHANGE_WIDE), as is one that
// says when it touched the job, and are steps about leases.
//
// What it does not do: count, keep attempts (sqlite/write.c).
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdio.h>

// Rows are asked for one after the other, in the order of the batch, and several times each.
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
    hands_see_now(container_of(sqlite3_user_data(ctx), struct db, batch)->hands, was);
    row->fate = step->job->touched_at ? CHANGE_WIDE : CHANGE_WRITTEN;
    int at = 6;
#define X(name)                                  \
    was->name = sqlite3_value_int64(args[at++]); \
    if (was->name != step->job->name)            \
        row->fate = CHANGE_WIDE;
    JOB_KEPT(X)
#undef X
    if (!db_stands(was, step))
        row->fate = CHANGE_LOST;
    sqlite3_result_int(ctx, row->fate == CHANGE_WRITTEN);
}

#define X(name)                                                                   \
    static void new_##name(sqlite3_context *ctx, int count, sqlite3_value **args) \
    {                                                                             \
        sqlite3_result_int64(ctx, (int64_t)row_of(ctx, args)->step->job->name);   \
    }
JOB_CHANGED(X)
#undef X

// None is NULL, which is what a function gives that does not say anything.
static void result_bytes(sqlite3_context *ctx, struct str bytes)
{
    if (bytes.n)
        sqlite3_result_blob64(ctx, bytes.p, bytes.n, SQLITE_STATIC);
}

static void new_reason(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    result_bytes(ctx, row_of(ctx, args)->step->job->reason);
}

static void new_response(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    result_bytes(ctx, row_of(ctx, args)->step->job->response);
}

enum err change_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    static const struct {
        const char *name;
        int args;
        void (*call)(sqlite3_context *ctx, int count, sqlite3_value **args);
    } functions[] = {
#define X(name) {"new_" #name, 1, new_##name},
        JOB_CHANGED(X) X(reason) X(response)
#undef X
#define X(name) +1
            {"stands", 6 JOB_KEPT(X), stands},
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

void change_write(struct db *db)
{
    struct change_batch *batch = &db->batch;
    enum sql sql;
    batch->at = 0;
    for (size_t i = 0; i < batch->count; i++)
        batch->rows[i].fate = CHANGE_ABSENT;
    for (size_t done = 0, n; done < batch->count; done += n) {
        n = db_tier(batch->count - done, 1, SQL_CHANGE_1, &sql);
        for (size_t i = 0; i < n; i++)
            sqlite3_bind_int64(db->stmts[sql], (int)i + 1, batch->rows[done + i].step->job->id);
        db_run(db, db->stmts[sql]);
    }
}
