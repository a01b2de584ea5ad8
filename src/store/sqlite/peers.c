// What processes agree on through the store: who goes first in which bucket, requests to the holder of a job, and which tzdata
// plans follow.
#include "store/sqlite/sqlite.h"

// ---- who goes first

void peers_divide(struct writer *writer, struct store_op *op)
{
    struct store_divide *divide = container_of(op, struct store_divide, op);
    struct db *db = &writer->db;
    int64_t term = 0;
    db_found(db, db_stmt(db, SQL_TERM), &term);
    if (term != divide->term) {
        store_op_fail(op, ERR_MOVED_ON, "they were divided by another meanwhile");
        return;
    }
    db_run(db, db_sql(db, SQL_SET_TERM, term + 1));
    db_run(db, db_stmt(db, SQL_REMOVE_OWNERS));
    for (size_t i = 0; i < divide->owner_count; i++)
        db_run(db, db_sql(db, SQL_ADD_OWNER, divide->owners[i].bucket, divide->owners[i].puller, term + 1));
}

void peers_owners(struct db *db, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    if (!db_found(db, db_stmt(db, SQL_TERM), &owners->term))
        owners->term = 0;
    sqlite3_stmt *stmt = db_stmt(db, SQL_OWNERS);
    while (db_row(db, stmt)) {
        owners->owners = store_push(&op->arena, owners->owners, owners->owner_count, sizeof *owners->owners);
        owners->owners[owners->owner_count++] =
            (struct store_owner){.bucket = sqlite3_column_int(stmt, 0), .puller = sqlite3_column_int64(stmt, 1)};
    }
}

// ---- requests to those that hold jobs

void peers_request(struct writer *writer, struct store_op *op)
{
    const struct store_request *request = container_of(op, struct store_request, op);
    struct db *db = &writer->db;
    if (lives_find(db, request->holder).known)
        db_run(db, db_sql(db, SQL_REQUEST, request->holder, request->job.job_id, request->job.tenant, request->job.kind));
    else
        store_op_fail(op, ERR_MOVED_ON, "there is no such incarnation any more");
}

void peers_requests(struct writer *writer, struct store_op *op)
{
    struct store_requests *requests = container_of(op, struct store_requests, op);
    struct db *db = &writer->db;
    sqlite3_stmt *stmt = db_sql(db, SQL_REQUESTS, requests->holder, store_limit(requests->max));
    while (db_row(db, stmt)) {
        requests->jobs = store_push(&op->arena, requests->jobs, requests->job_count, sizeof *requests->jobs);
        requests->jobs[requests->job_count++] =
            (struct store_job_request){.job_id = sqlite3_column_int64(stmt, 0),
                                       .tenant = sqlite3_column_int(stmt, 1),
                                       .kind = (enum store_request_kind)sqlite3_column_int(stmt, 2)};
    }
    for (size_t i = 0; i < requests->job_count; i++)
        db_run(db, db_sql(db, SQL_REMOVE_REQUEST, requests->holder, requests->jobs[i].job_id));
}

// ---- which tzdata plans follow

void peers_tzdata(struct writer *writer, struct store_op *op)
{
    struct store_tzdata *tzdata = container_of(op, struct store_tzdata, op);
    struct db *db = &writer->db;
    sqlite3_stmt *stmt = db_stmt(db, SQL_TZDATA);
    struct str text = {0};
    if (db_row(db, stmt))
        text = db_bytes(stmt, 0, &op->arena);
    db_end(stmt);
    if (!tzdata->writes) {
        tzdata->text = text;
    } else if (str_eq(text, tzdata->was)) {
        stmt = db_stmt(db, SQL_SET_TZDATA);
        db_bind_text(stmt, 1, tzdata->next);
        db_run(db, stmt);
    } else {
        store_op_fail(op, ERR_MOVED_ON, "it was written by another meanwhile");
    }
}
