// New tasks with their jobs, and jobs for tasks that exist.
//
// A statement costs as much as the row it writes, so plain items, which are nearly all, are put off and added up to 64 at a time.
#include "store/sqlite/sqlite.h"

#include <assert.h>

enum { TASK_PARAMS = 6, TAGGED_PARAMS = 7 };

// Says whether the item's key was used before. Then it answers the item, and nothing is to be added.
static bool find_key(struct writer *writer, struct store_new *item)
{
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_KEY, item->task->tenant);
    db_bind_text(stmt, 2, item->key);
    if (!db_row(&writer->db, stmt))
        return false;
    item->existing_id = sqlite3_column_int64(stmt, 0);
    const void *digest = sqlite3_column_blob(stmt, 1);
    bool same = sqlite3_column_bytes(stmt, 1) == sizeof item->digest && memcmp(digest, item->digest, sizeof item->digest) == 0;
    item->spent_at = sqlite3_column_int64(stmt, 2);
    item->err = item->spent_at ? ERR_KEY_SPENT : same ? ERR_OK : ERR_KEY_REUSED;
    db_end(stmt);
    return true;
}

// Says whether the name that the item reserves is taken.
static bool find_name(struct writer *writer, struct store_new *item)
{
    bool owes = false;
    int64_t had = plans_find_reserved(&writer->db, item->task->tenant, item->task->plan->reserved, &owes);
    item->existing_id = owes ? had : 0;
    return owes;
}

static void add_key(struct writer *writer, const struct store_new *item)
{
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_ADD_KEY, item->task->tenant, item->task->id);
    db_bind_text(stmt, 3, item->key);
    db_bind_bytes(stmt, 4, (struct str){(const char *)item->digest, sizeof item->digest});
    db_run(&writer->db, stmt);
}

// Binds all of a task but its tags and its key, from the parameter `at` on, and returns the parameter behind them.
static int bind_task(sqlite3_stmt *stmt, int at, const struct store_task *task, int64_t lane)
{
    sqlite3_bind_int64(stmt, at++, task->id);
    sqlite3_bind_int64(stmt, at++, task->tenant);
    sqlite3_bind_int64(stmt, at++, lane);
    sqlite3_bind_int64(stmt, at++, task->created_at);
    if (task->name.n)
        db_bind_text(stmt, at++, task->name);
    else
        sqlite3_bind_null(stmt, at++);
    db_bind_bytes(stmt, at++, task->doc);
    return at;
}

static bool add_task(struct writer *writer, const struct store_new *item, int64_t lane)
{
    sqlite3_stmt *stmt = db_stmt(&writer->db, SQL_ADD_TASK);
    int at = bind_task(stmt, 1, item->task, lane);
    tags_bind(stmt, at++, item->task);
    if (item->key.n)
        db_bind_text(stmt, at, item->key);
    else
        sqlite3_bind_null(stmt, at);
    return db_insert(&writer->db, stmt);
}

static void remove_jobs(struct db *db, const struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        db_run(db, db_sql(db, SQL_REMOVE_JOB, jobs[i].id));
}

// Jobs are counted and listed only when all of them are there, so those that are removed again were never counted.
enum err add_jobs(struct writer *writer, struct job *jobs, size_t count, int64_t lane)
{
    for (size_t i = 0; i < count; i++) {
        bool added;
        jobs[i].lane = lane;
        db_add_job(&writer->db, &jobs[i], &added);
        if (!added) {
            remove_jobs(&writer->db, jobs, i);
            return ERR_INTERNAL;
        }
    }
    for (size_t i = 0; i < count; i++) {
        lane_count(writer, lane, jobs[i].state, 1);
        waiting_list(&writer->db, (const struct job *[]){&jobs[i]}, 1);
    }
    return ERR_OK;
}

static enum err add_to_task(struct writer *writer, struct store_new *item)
{
    int64_t lane;
    if (!item->job_count)
        return ERR_NOT_FOUND;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_TASK_LANE, item->jobs[0].task_id, item->jobs[0].tenant);
    enum err err = db_found(&writer->db, stmt, &lane) ? add_jobs(writer, item->jobs, item->job_count, lane) : ERR_NOT_FOUND;
    for (size_t i = 0; i < item->job_count && !err; i++)
        tags_add_job(&writer->db, item->jobs[i].id);
    if (!err)
        db_run(&writer->db, db_sql(&writer->db, SQL_SET_JOBLESS, item->jobs[0].task_id, false));
    return err;
}

static enum err add_item(struct writer *writer, struct store_new *item, struct arena *arena)
{
    if (!item->task)
        return add_to_task(writer, item);
    if (item->key.n && find_key(writer, item))
        return item->err;
    if (item->task->plan && item->task->plan->reserved.n && find_name(writer, item))
        return ERR_OK;
    struct cached_lane *lane = lane_of_task(writer, item->task);
    if (!lane)
        return ERR_OK;
    if (!add_task(writer, item, lane->id))
        return ERR_INTERNAL;
    enum err err = add_jobs(writer, item->jobs, item->job_count, lane->id);
    if (err) {
        db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_TASK, item->task->id));
        return err;
    }
    tags_add_new(&writer->db, item);
    if (item->task->plan)
        plans_add(&writer->db, item->task, !item->job_count, arena);
    if (item->key.n)
        add_key(writer, item);
    return ERR_OK;
}

// An item is plain when it is a new task with one job, no key and no plan, and nothing has happened to the job yet.
static bool is_plain(const struct store_new *item)
{
    return item->task && !item->key.n && item->job_count == 1 && !item->task->plan && item->jobs[0].trigger == TRIGGER_SUBMIT &&
           db_job_is_new(&item->jobs[0]);
}

// A statement that meets an id that is taken has added the rows before it, so these are removed again.
static size_t added_before(struct db *db)
{
    return (size_t)sqlite3_changes(db->handle);
}

size_t add_new_jobs(struct writer *writer, enum sql sql, struct job *const *jobs, size_t left)
{
    struct db *db = &writer->db;
    sqlite3_stmt *stmt = NULL;
    size_t n = db_for_rows(db, sql, left, &stmt);
    assert(n <= left);
    for (size_t i = 0; i < n; i++)
        db_bind_new_job(stmt, i, jobs[i]);
    if (!n)
        return 0;
    if (!db_insert(db, stmt)) {
        size_t added = added_before(db);
        assert(added < n);
        for (size_t i = 0; i < added; i++)
            remove_jobs(db, jobs[i], 1);
        return 0;
    }
    waiting_list(db, (const struct job *const *)jobs, n);
    for (size_t i = 0; i < n; i++)
        lane_count(writer, jobs[i]->lane, jobs[i]->state, 1);
    return n;
}

static void remove_tasks(struct db *db, struct store_new *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        db_run(db, db_sql(db, SQL_REMOVE_TASK, items[i]->task->id));
}

static bool any_tagged(struct store_new *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i]->task->tag_count)
            return true;
    return false;
}

// Adds the first of the items, as many as go into one statement, and returns how many these are. 0 means that the first item has
// to be added by itself, because there are too few, or because one of the ids is taken already.
static size_t add_plain(struct writer *writer, struct store_new *const *items, size_t left)
{
    struct db *db = &writer->db;
    struct job *jobs[STATEMENT_ROWS_MAX];
    sqlite3_stmt *tasks = NULL;
    size_t n = db_for_rows(db, SQL_ADD_TASKS, left, &tasks);
    bool tagged = any_tagged(items, n);
    if (tagged)
        n = db_for_rows(db, SQL_ADD_TAGGED, n, &tasks);
    for (size_t i = 0; i < n; i++) {
        const struct store_task *task = items[i]->task;
        const struct cached_lane *lane = lane_of_task(writer, task);
        if (!lane) // SQLite failed
            return 0;
        items[i]->jobs[0].lane = lane->id;
        int at = bind_task(tasks, (int)i * (tagged ? TAGGED_PARAMS : TASK_PARAMS) + 1, task, lane->id);
        if (tagged)
            tags_bind(tasks, at, task);
        jobs[i] = &items[i]->jobs[0];
    }
    if (!n)
        return 0;
    if (!db_insert(db, tasks)) {
        remove_tasks(db, items, added_before(db));
        return 0;
    }
    if (!add_new_jobs(writer, SQL_ADD_JOBS, jobs, n)) { // it is prepared for as many rows as the other
        remove_tasks(db, items, n);
        return 0;
    }
    for (size_t i = 0; i < n && tagged; i++)
        tags_add_new(db, items[i]);
    return n;
}

void add_rest(struct writer *writer)
{
    struct store_new **items = writer->plain;
    for (size_t i = 0, n; i < writer->plain_count && !writer->db.rc; i += n) {
        n = add_plain(writer, &items[i], writer->plain_count - i);
        if (!n) {
            items[i]->err = add_item(writer, items[i], NULL); // it has no plan
            n = 1;
        }
    }
    writer->plain_count = 0;
}

// Plain items of operations that follow each other are put off and added together, so clients that submit tasks one by one gain
// as much as those that submit many at once. All other items and verbs may concern a task that was put off, so add_rest() comes
// before them.
void add_items(struct writer *writer, struct store_op *op)
{
    struct store_add *add = container_of(op, struct store_add, op);
    if (add->holder && lives_is_fenced(writer, add->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < add->count && !writer->db.rc; i++) {
        bool plain = is_plain(&add->items[i]);
        if (!plain || writer->plain_count == STATEMENT_ROWS_MAX)
            add_rest(writer);
        if (plain)
            writer->plain[writer->plain_count++] = &add->items[i];
        else
            add->items[i].err = add_item(writer, &add->items[i], &op->arena);
    }
}
