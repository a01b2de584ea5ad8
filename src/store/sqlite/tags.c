// What tasks and jobs are found by: the rows of `tags`, and the column of the same name that a task has. The column says which
// rows there are, so that they can be removed without reading the document again.
//
// The step of the schema that makes the table (sqlite/schema.c) says what its rows mean.
//
// What it does not do: know what a tag is of (core/tag).
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_SIZE = TAGS_MAX * 21 + 3 };

// ---- the column

static void format(char ret_text[TEXT_SIZE], const int64_t *tags, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(ret_text + at, TEXT_SIZE - at, "%c%lld", i ? ',' : '[', (long long)tags[i]);
    snprintf(ret_text + at, TEXT_SIZE - at, "]");
}

static size_t parse(const char *text, int64_t ret_tags[TAGS_MAX])
{
    size_t count = 0;
    for (char *end; text && *text && *text != ']' && count < TAGS_MAX; text = end)
        ret_tags[count++] = strtoll(text + 1, &end, 10);
    return count;
}

void tags_bind(sqlite3_stmt *stmt, int at, const struct store_task *task)
{
    char text[TEXT_SIZE];
    if (!task->tag_count) {
        sqlite3_bind_null(stmt, at);
        return;
    }
    format(text, task->tags, task->tag_count);
    sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
}

// tags_of(doc): what the column of a task is to hold whose document is this, for tasks that were stored before there were tags.
static void tags_of(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    struct str doc = {.p = sqlite3_value_blob(args[0])};
    doc.n = (size_t)sqlite3_value_bytes(args[0]);
    struct arena arena;
    struct task task;
    struct store_task stored = {0};
    char why[ERR_WHY_MAX], text[TEXT_SIZE];
    arena_init(&arena);
    if (doc.n && task_read(&task, doc, &arena, why))
        store_task_tag(&stored, &task, &arena);
    format(text, stored.tags, stored.tag_count);
    if (stored.tag_count)
        sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
    arena_done(&arena);
}

enum err tags_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY | SQLITE_DETERMINISTIC;
    if (sqlite3_create_function(db->handle, "tags_of", 1, flags, NULL, tags_of, NULL, NULL) == SQLITE_OK)
        return ERR_OK;
    snprintf(why, ERR_WHY_MAX, "making a function: %s", sqlite3_errmsg(db->handle));
    return ERR_STORE_UNAVAILABLE;
}

// ---- the rows

static int64_t tag_of(int64_t tag, bool job)
{
    return job ? store_tag_of_jobs(tag) : tag;
}

static void add_rows(struct db *db, int64_t tenant, const int64_t *tags, size_t count, bool job, struct store_cursor key)
{
    int64_t rows[TAGS_MAX * 4];
    for (size_t i = 0; i < count; i++)
        memcpy(&rows[i * 4], (int64_t[]){tenant, tag_of(tags[i], job), key.at, key.id}, 4 * sizeof *rows);
    db_run_rows(db, SQL_ADD_TAGS, count, 4, rows);
}

static void remove_rows(struct db *db, int64_t tenant, const int64_t *tags, size_t count, bool job, struct store_cursor key)
{
    for (size_t i = 0; i < count; i++)
        db_run(db, db_sql(db, SQL_REMOVE_TAG, tenant, tag_of(tags[i], job), key.at, key.id));
}

void tags_add_new(struct db *db, const struct store_new *item)
{
    const struct store_task *task = item->task;
    if (!task->tag_count)
        return;
    add_rows(db, task->tenant, task->tags, task->tag_count, false, (struct store_cursor){0, task->id});
    for (size_t i = 0; i < item->job_count; i++)
        add_rows(db, task->tenant, task->tags, task->tag_count, true,
                 (struct store_cursor){item->jobs[i].scheduled_at, item->jobs[i].id});
}

void tags_remove_swept(struct db *db, int32_t tenant, const char *tags, bool job, struct store_cursor key)
{
    int64_t parsed[TAGS_MAX];
    remove_rows(db, tenant, parsed, parse(tags, parsed), job, key);
}

void tags_add_planned(struct db *db, const char *tags, const struct job *job)
{
    int64_t parsed[TAGS_MAX];
    add_rows(db, job->tenant, parsed, parse(tags, parsed), true, (struct store_cursor){job->scheduled_at, job->id});
}

typedef void for_rows(struct db *db, int64_t tenant, const int64_t *tags, size_t count, bool job, struct store_cursor key);

static void do_job(struct db *db, int64_t id, for_rows *what)
{
    int64_t tags[TAGS_MAX];
    sqlite3_stmt *stmt = db_sql(db, SQL_TAGS_OF_JOB, id);
    if (!db_row(db, stmt))
        return;
    int64_t tenant = sqlite3_column_int64(stmt, 0), at = sqlite3_column_int64(stmt, 2);
    size_t count = parse((const char *)sqlite3_column_text(stmt, 1), tags);
    db_end(stmt);
    what(db, tenant, tags, count, true, (struct store_cursor){at, id});
}

void tags_add_job(struct db *db, int64_t id)
{
    do_job(db, id, add_rows);
}

void tags_remove_job(struct db *db, int64_t id)
{
    do_job(db, id, remove_rows);
}

static void do_task(struct db *db, int64_t id, for_rows *what)
{
    int64_t tags[TAGS_MAX];
    sqlite3_stmt *stmt = db_sql(db, SQL_TASK_KEY, id);
    if (!db_row(db, stmt))
        return;
    int64_t tenant = sqlite3_column_int64(stmt, 0);
    size_t count = parse((const char *)sqlite3_column_text(stmt, 2), tags);
    db_end(stmt);
    if (!count)
        return;
    what(db, tenant, tags, count, false, (struct store_cursor){0, id});
    stmt = db_sql(db, SQL_TIMES_OF_TASK, id);
    while (db_row(db, stmt))
        what(db, tenant, tags, count, true, (struct store_cursor){sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 0)});
}

void tags_add_task(struct db *db, int64_t id)
{
    do_task(db, id, add_rows);
}

void tags_remove_task(struct db *db, int64_t id)
{
    do_task(db, id, remove_rows);
}
