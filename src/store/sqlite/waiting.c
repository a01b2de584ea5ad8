// Jobs that wait in lanes, as rows of `waiting`. A claim takes rows away, and a job that is given back gets its row again.
//
// A place is a lane and a priority in one number (store_place()); within a lane smaller places come first.
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdlib.h>

// ---- rows

void waiting_list(struct db *db, const struct job *const *jobs, size_t count)
{
    int64_t rows[STATEMENT_ROWS_MAX * 3];
    size_t row_count = 0;
    assert(count <= STATEMENT_ROWS_MAX);
    for (size_t i = 0; i < count; i++) {
        int64_t place = store_place(jobs[i]);
        if (place < 0)
            claims_hold(db->claims, jobs[i]);
        else if (place != STORE_NOWHERE)
            memcpy(&rows[row_count++ * 3], (int64_t[]){place, jobs[i]->due_at, jobs[i]->id}, 3 * sizeof *rows);
    }
    db_run_rows(db, SQL_WAIT, row_count, 3, rows);
}

void waiting_move(struct db *db, const struct job *from, const struct job *to)
{
    int64_t was = store_place(from), is = store_place(to);
    if (was > 0 && was == is && from->due_at == to->due_at)
        return;
    if (was < 0 && is < 0 && claims_holds(db->claims, to)) // a claim applies to the record as it was before
        return;
    if (was > 0)
        db_run(db, db_sql(db, SQL_WAIT_NO_MORE, was, from->due_at, to->id));
    if (was < 0 && is >= 0)
        claims_let_go(db->claims, to->id);
    waiting_list(db, &to, 1);
}

static bool next_place(struct db *db, int64_t lane, int64_t from_ms, int64_t *place, int64_t *ret_due_at)
{
    for (;; ++*place) {
        sqlite3_stmt *stmt = db_sql(db, SQL_NEXT_PLACE, *place, (lane + 1) * STORE_PLACES);
        if (!db_row(db, stmt))
            return false;
        *place = sqlite3_column_int64(stmt, 0);
        *ret_due_at = sqlite3_column_int64(stmt, 1);
        db_end(stmt);
        if (*ret_due_at >= from_ms || db_found(db, db_sql(db, SQL_NEXT_DUE, *place, from_ms), ret_due_at))
            return true;
    }
}

int64_t waiting_next_due(struct db *db, int64_t lane, int64_t from_ms)
{
    int64_t next = TIME_NEVER, due_at;
    for (int64_t place = lane * STORE_PLACES; next_place(db, lane, from_ms, &place, &due_at); place++)
        next = time_min(next, due_at);
    return next;
}

// ---- claiming

static void claim_job(struct writer *writer, const struct store_claim *claim, struct job *job)
{
    lane_count(writer, job->lane, job->state, -1);
    claims_take(writer->db.claims, job, claim->holder, claim->now_ms);
    enum err err = job_claim(job, claim->holder, claim->now_ms);
    assert(!err);
    lane_count(writer, job->lane, job->state, 1);
}

// What a lane may still give to a claim.
struct taking {
    struct store_claim *claim;
    const struct store_want *want;
    size_t left, bytes; // jobs; bytes of documents that were taken
};

// Takes the job of this row into the claim. False: the claim has no room for it, nor for any behind it.
static bool take_row(struct writer *writer, struct taking *taking, sqlite3_stmt *stmt)
{
    struct store_claim *claim = taking->claim;
    claim->jobs = store_push(&claim->op.arena, claim->jobs, claim->job_count, sizeof *claim->jobs);
    struct store_job *job = &claim->jobs[claim->job_count];
    int at = db_read_job(stmt, &job->job, &claim->op.arena);
    size_t size = (size_t)sqlite3_column_bytes(stmt, at);
    taking->bytes += size;
    if (!store_want_fits(taking->want, taking->bytes, taking->left)) {
        sqlite3_reset(stmt);
        taking->left = 0;
        return false;
    }
    job->doc = db_bytes_of(stmt, at, size, &claim->op.arena);
    job->version = sqlite3_column_int64(stmt, at + 1);
    claim_job(writer, claim, &job->job);
    claim->job_count++;
    taking->left--;
    return true;
}

// Takes what the claim may have of one place. The rows that were read follow each other, so one statement removes all of them.
static void take_place(struct writer *writer, struct taking *taking, int64_t place)
{
    struct db *db = &writer->db;
    struct store_claim *claim = taking->claim;
    size_t first = claim->job_count, max = taking->left;
    int64_t from_ms = taking->want->from_ms;
    sqlite3_stmt *stmt = db_sql(db, SQL_WAITING, place, from_ms, claim->until_ms, store_limit(max));
    bool more = true;
    while (more && db_row(db, stmt))
        more = take_row(writer, taking, stmt);
    if (claim->job_count == first)
        return;
    const struct job *last = &claim->jobs[claim->job_count - 1].job;
    db_run(db, db_sql(db, SQL_TAKE, place, from_ms, last->due_at, last->id));
}

static void take_lane(struct writer *writer, struct store_claim *claim, struct store_want *want)
{
    const struct cached_lane *lane = want->max ? lane_get(writer, want->lane) : NULL;
    struct taking taking = {claim, want, .left = lane && !lane->paused ? want->max : 0};
    int64_t place = want->lane * STORE_PLACES, due_at;
    for (; taking.left && next_place(&writer->db, want->lane, want->from_ms, &place, &due_at); place++)
        if (due_at <= claim->until_ms)
            take_place(writer, &taking, place);
    want->next_due = waiting_next_due(&writer->db, want->lane, want->from_ms);
}

void waiting_claim(struct writer *writer, struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    if (lives_is_fenced(writer, claim->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < claim->want_count && !writer->db.rc; i++)
        take_lane(writer, claim, &claim->wants[i]);
}

// ---- becoming ready

struct due_list {
    struct due {
        int64_t id, due_at;
    } * jobs;
    size_t count;
};

static void list_due(struct writer *writer, struct due_list *list, struct arena *arena, sqlite3_stmt *stmt)
{
    while (db_row(&writer->db, stmt)) {
        list->jobs = store_push(arena, list->jobs, list->count, sizeof *list->jobs);
        list->jobs[list->count++] = (struct due){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
    }
}

static int compare_due(const void *a, const void *b)
{
    const struct due *left = a, *right = b;
    if (left->due_at != right->due_at)
        return left->due_at < right->due_at ? -1 : 1;
    return (left->id > right->id) - (left->id < right->id);
}

// Reads up to one job more than wanted from each place of the lane, and sorts all of them by time.
static struct due_list collect_due(struct writer *writer, struct store_due *due)
{
    struct due_list list = {0};
    struct arena *arena = &due->op.arena;
    int64_t place = due->lane * STORE_PLACES, first, limit = due->max >= INT32_MAX ? INT32_MAX : (int64_t)due->max + 1;
    for (; next_place(&writer->db, due->lane, INT64_MIN, &place, &first); place++) {
        int64_t tie = due->from_ms + 1;
        if (tie <= due->to_ms)
            list_due(writer, &list, arena, db_sql(&writer->db, SQL_DUE_TIES, place, tie, due->from_id, limit));
        list_due(writer, &list, arena, db_sql(&writer->db, SQL_DUE_REST, place, tie, due->to_ms, limit));
    }
    if (list.count)
        qsort(list.jobs, list.count, sizeof *list.jobs, compare_due);
    return list;
}

// The counters say whether there is a delayed job at all. Without them every job that waits in the lane would be looked at.
static bool has_delayed(struct writer *writer, int64_t lane_id)
{
    const struct cached_lane *lane = lane_get(writer, lane_id);
    int64_t before = 0;
    db_found(&writer->db, db_sql(&writer->db, SQL_DELAYED, lane_id), &before);
    return lane && before + lane->moved[JOB_DELAYED] > 0;
}

static void promote(struct db *db, const struct due *jobs, size_t count)
{
    sqlite3_stmt *stmt = NULL;
    for (size_t done = 0, n; done < count; done += n) {
        n = db_for_rows(db, SQL_PROMOTE, count - done, &stmt);
        assert(n);
        for (size_t i = 0; i < n; i++)
            sqlite3_bind_int64(stmt, (int)i + 1, jobs[done + i].id);
        db_run(db, stmt);
    }
}

void waiting_promote(struct writer *writer, struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    struct due_list list = {0};
    if (has_delayed(writer, due->lane))
        list = collect_due(writer, due);
    due->changed = list.count < due->max ? list.count : due->max;
    promote(&writer->db, list.jobs, due->changed);
    if (due->changed) {
        lane_count(writer, due->lane, JOB_DELAYED, -(int)due->changed);
        lane_count(writer, due->lane, JOB_READY, (int)due->changed);
    }
    if (due->changed == list.count) {
        due->upto_ms = due->to_ms;
        due->upto_id = 0;
    } else if (due->changed) {
        due->upto_ms = list.jobs[due->changed - 1].due_at - 1;
        due->upto_id = list.jobs[due->changed - 1].id;
    }
}

// ---- counting

void waiting_ahead(struct db *db, struct store_op *op)
{
    struct store_ahead *ahead = container_of(op, struct store_ahead, op);
    int64_t own = store_place(&(struct job){.lane = ahead->lane, .priority = (uint8_t)ahead->priority, .state = JOB_READY});
    for (int64_t place = ahead->lane * STORE_PLACES; place <= own; place++) {
        sqlite3_stmt *stmt = db_sql(db, SQL_AHEAD, place, ahead->due_at, place < own ? INT64_MAX : ahead->id,
                                    store_limit(ahead->max - ahead->count));
        if (db_row(db, stmt))
            ahead->count += (size_t)sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
}
