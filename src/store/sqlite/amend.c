// STORE_AMEND: a task is changed, and its waiting jobs with it.
#include "store/sqlite/sqlite.h"

// Says whether the record still is what the step was decided on, and in nobody's hand.
static bool stands(struct db *db, const struct store_step *step, struct job *ret_was)
{
    return db_standing(db, step->job->id, ret_was) && ret_was->token == step->token && !job_state_held(ret_was->state) &&
           !job_state_final(ret_was->state);
}

static void amend_job(struct writer *writer, const struct store_step *step, int64_t lane)
{
    struct db *db = &writer->db;
    struct job was, is = *step->job;
    if (!stands(db, step, &was))
        return;
    is.lane = lane;
    db_run(db, db_sql(db, SQL_MOVE_JOB, lane, is.priority, is.id));
    change_record(db, &was, step);
    waiting_move(db, &was, &is);
    lane_count(writer, was.lane, was.state, -1);
    lane_count(writer, lane, is.state, 1);
}

static void set_tags(struct db *db, const struct store_amend *amend)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_SET_TAGS, amend->task.id);
    tags_bind(stmt, 2, &amend->task);
    db_run(db, stmt);
    tags_add_task(db, amend->task.id);
}

// There is one writer, so a record that was found unchanged stays so until this writes it.
void amend_task(struct writer *writer, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    struct db *db = &writer->db;
    struct job was;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_TASK_VERSION, amend->task.id, amend->task.tenant), &version)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    bool standing = version == amend->task.version;
    const struct cached_lane *lane = standing ? lane_of_task(writer, &amend->task) : NULL;
    for (size_t i = 0; i < amend->count && standing; i++)
        standing = stands(db, &amend->steps[i], &was);
    if (!standing) {
        store_op_fail(op, ERR_MOVED_ON, "the task or a job of it has changed meanwhile");
        return;
    }
    if (!lane) // SQLite failed
        return;
    if (amend->retag)
        tags_remove_task(db, amend->task.id);
    sqlite3_stmt *stmt = db_sql(db, SQL_AMEND_TASK, amend->task.id, lane->id, amend->task.paused);
    if (amend->task.name.n)
        db_bind_text(stmt, 4, amend->task.name);
    else
        sqlite3_bind_null(stmt, 4);
    db_bind_bytes(stmt, 5, amend->task.doc);
    sqlite3_bind_int64(stmt, 6, amend->task.updated_at);
    db_run(db, stmt);
    if (amend->retag)
        set_tags(db, amend);
    for (size_t i = 0; i < amend->count; i++)
        amend_job(writer, &amend->steps[i], lane->id);
}
