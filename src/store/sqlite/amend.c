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
    db_run(db, db_sql(db, SQL_MOVE_JOB, lane, is.priority, is.nominal_at, is.id));
    change_record(db, &was, step);
    waiting_move(db, &was, &is);
    lane_count(writer, was.lane, was.state, -1);
    lane_count(writer, lane, is.state, 1);
    if (store_step_counts((enum job_state)was.state, &is))
        plans_count(db, &is);
}

static void set_tags(struct db *db, const struct store_amend *amend)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_SET_TAGS, amend->task.id);
    tags_bind(stmt, 2, &amend->task);
    db_run(db, stmt);
    tags_add_task(db, amend->task.id);
}

static void write_task(struct db *db, const struct store_amend *amend, int64_t lane)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_AMEND_TASK, amend->task.id, lane, amend->task.paused);
    if (amend->task.name.n)
        db_bind_text(stmt, 4, amend->task.name);
    else
        sqlite3_bind_null(stmt, 4);
    db_bind_bytes(stmt, 5, amend->task.doc);
    sqlite3_bind_int64(stmt, 6, amend->task.updated_at);
    db_run(db, stmt);
}

static bool all_stand(struct db *db, const struct store_amend *amend, int64_t version)
{
    struct job was;
    bool standing = version == amend->task.version && plans_stand(db, &amend->task);
    for (size_t i = 0; i < amend->count && standing; i++)
        standing = stands(db, &amend->steps[i], &was);
    return standing;
}

// Writes the task, its plan and its jobs, of which the new ones are there already.
static void write_all(struct writer *writer, struct store_amend *amend, int64_t lane)
{
    struct db *db = &writer->db;
    if (amend->retag)
        tags_remove_task(db, amend->task.id);
    write_task(db, amend, lane);
    if (amend->retag)
        set_tags(db, amend);
    for (size_t i = 0; i < amend->job_count && !amend->retag; i++)
        tags_add_job(db, amend->jobs[i].id);
    plans_amend(db, &amend->task, &amend->op.arena);
    for (size_t i = 0; i < amend->count; i++)
        amend_job(writer, &amend->steps[i], lane);
}

// There is one writer, so a record that was found unchanged stays so until this writes it.
void amend_task(struct writer *writer, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    struct db *db = &writer->db;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_TASK_VERSION, amend->task.id, amend->task.tenant), &version)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    const struct cached_lane *lane = version == amend->task.version ? lane_of_task(writer, &amend->task) : NULL;
    if (!all_stand(db, amend, version)) {
        store_op_fail(op, ERR_MOVED_ON, "the task, its plan or a job of it has changed meanwhile");
        return;
    }
    if (!lane) // SQLite failed
        return;
    if (add_jobs(writer, amend->jobs, amend->job_count, lane->id))
        store_op_fail(op, ERR_INTERNAL, "an id of a job is taken already");
    else
        write_all(writer, amend, lane->id);
}
