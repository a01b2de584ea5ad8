// Plans of recurring tasks, in the table `plans`: the verbs of store/plans.h, and what the other verbs do with a plan.
//
// A row has what STORE_PLAN has to know of the task: its lane, for the jobs that are added, and its tags, by which they are
// found. So that verb does not look at the task, whose document may be large. A plan is read and judged, its jobs are added, and
// only then it is written: there is one writer, so it has not changed in between, and nothing is to be undone when an id is
// taken.
#include "store/sqlite/columns.h"
#include "store/sqlite/sqlite.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

// ---- ids of jobs in one value. Numbers are little-endian; no ids are NULL

static struct str pack_ids(const int64_t *ids, size_t count, struct arena *arena)
{
    if (!count)
        return (struct str){0};
    uint64_t *packed = arena_array(arena, uint64_t, count);
    for (size_t i = 0; i < count; i++)
        packed[i] = htole64((uint64_t)ids[i]);
    return (struct str){(const char *)packed, count * sizeof *packed};
}

static const int64_t *read_ids(sqlite3_stmt *stmt, int at, struct arena *arena, size_t *ret_count)
{
    const char *packed = sqlite3_column_blob(stmt, at);
    size_t count = *ret_count = (size_t)sqlite3_column_bytes(stmt, at) / sizeof(int64_t);
    if (!count)
        return NULL;
    int64_t *ids = arena_array(arena, int64_t, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t id;
        memcpy(&id, &packed[i * sizeof id], sizeof id);
        ids[i] = (int64_t)le64toh(id);
    }
    return ids;
}

// The SQL function without(ids, id) gives the ids but for that one.
static void without(sqlite3_context *ctx, int count, sqlite3_value **args)
{
    int size = sqlite3_value_bytes(args[0]);
    uint64_t id = htole64((uint64_t)sqlite3_value_int64(args[1]));
    if (!size)
        return;
    char *left = sqlite3_malloc(size);
    int n = 0;
    if (!left) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    const char *ids = sqlite3_value_blob(args[0]);
    for (int at = 0; at + (int)sizeof id <= size; at += (int)sizeof id)
        if (memcmp(&ids[at], &id, sizeof id) != 0) {
            memcpy(&left[n], &ids[at], sizeof id);
            n += (int)sizeof id;
        }
    if (n)
        sqlite3_result_blob(ctx, left, n, sqlite3_free);
    else
        sqlite3_free(left);
}

enum err plans_prepare(struct db *db, char why[ERR_WHY_MAX])
{
    int flags = SQLITE_UTF8 | SQLITE_DIRECTONLY | SQLITE_DETERMINISTIC;
    if (sqlite3_create_function(db->handle, "without", 2, flags, NULL, without, NULL, NULL) == SQLITE_OK)
        return ERR_OK;
    snprintf(why, ERR_WHY_MAX, "making a function: %s", sqlite3_errmsg(db->handle));
    return ERR_STORE_UNAVAILABLE;
}

// ---- rows

const struct plan *plans_read(sqlite3_stmt *stmt, int at, const struct store_task *task, struct arena *arena)
{
    if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
        return NULL;
    struct plan *plan = arena_array(arena, struct plan, 1);
    *plan = (struct plan){.task_id = task->id, .tenant = task->tenant};
    plan->version = sqlite3_column_int64(stmt, at++);
#define X(name) plan->name = sqlite3_column_int64(stmt, at++);
    PLAN_NUMBERS(X)
#undef X
    plan->active = read_ids(stmt, at++, arena, &plan->active_count);
    plan->queued = read_ids(stmt, at++, arena, &plan->queued_count);
#define X(name) plan->name = db_bytes(stmt, at++, arena);
    PLAN_TEXTS(X)
#undef X
    plan->reserved = db_bytes(stmt, at, arena);
    return plan;
}

static void bind_text_or_null(sqlite3_stmt *stmt, int at, struct str text)
{
    if (text.n)
        db_bind_text(stmt, at, text);
    else
        sqlite3_bind_null(stmt, at);
}

// Binds what a plan has besides its numbers, from the parameter `at` on.
static void bind_rest(sqlite3_stmt *stmt, int at, const struct plan *plan, struct arena *arena)
{
    db_bind_bytes(stmt, at++, pack_ids(plan->active, plan->active_count, arena));
    db_bind_bytes(stmt, at++, pack_ids(plan->queued, plan->queued_count, arena));
#define X(name) bind_text_or_null(stmt, at++, plan->name);
    PLAN_TEXTS(X)
#undef X
}

static void set_plan(struct db *db, int64_t task_id, const struct plan *plan, bool jobless, struct arena *arena)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_SET_PLAN, task_id, jobless);
    int at = 3;
#define X(name) sqlite3_bind_int64(stmt, at++, plan->name);
    PLAN_NUMBERS(X)
#undef X
    bind_rest(stmt, at, plan, arena);
    db_run(db, stmt);
}

int64_t plans_find_reserved(struct db *db, int32_t tenant, struct str name, bool *ret_owes)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_RESERVED, tenant);
    db_bind_text(stmt, 2, name);
    if (!db_row(db, stmt))
        return 0;
    int64_t task_id = sqlite3_column_int64(stmt, 0);
    *ret_owes = sqlite3_column_int(stmt, 1);
    db_end(stmt);
    return task_id;
}

static void set_reserved(struct db *db, int64_t task_id, struct str name)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_RESERVE, task_id);
    bind_text_or_null(stmt, 2, name);
    db_run(db, stmt);
}

void plans_add(struct db *db, const struct store_task *task, bool jobless, struct arena *arena)
{
    set_plan(db, task->id, task->plan, jobless, arena);
    if (!task->plan->reserved.n)
        return;
    bool owes;
    int64_t had = plans_find_reserved(db, task->tenant, task->plan->reserved, &owes);
    if (had)
        set_reserved(db, had, (struct str){0});
    set_reserved(db, task->id, task->plan->reserved);
}

void plans_amend(struct db *db, const struct store_task *task, struct arena *arena)
{
    int64_t one;
    if (!task->plan) {
        db_run(db, db_sql(db, SQL_REMOVE_PLAN, task->id));
        return;
    }
    struct plan plan = *task->plan;
    plan.revision++;
    set_plan(db, task->id, &plan, !db_found(db, db_sql(db, SQL_TASK_HAS_JOB, task->id), &one), arena);
}

bool plans_stand(struct db *db, const struct store_task *task)
{
    int64_t revision;
    return !task->plan || !db_found(db, db_sql(db, SQL_PLAN_REVISION, task->id), &revision) || revision == task->plan->revision;
}

void plans_count(struct db *db, const struct job *job)
{
    bool success = job->state == JOB_SUCCESS, cancelled = job->state == JOB_CANCELLED;
    db_run(db, db_sql(db, SQL_COUNT_IN_PLAN, job->task_id, job->id, success, !success && !cancelled, cancelled,
                      cancelled ? 0 : job->completed_at, job->trigger == TRIGGER_SCHEDULE));
}

// ---- STORE_PLAN

// An item that stands, and what its plan was when it was judged.
struct planning {
    struct store_planned *item;
    int64_t check_at, lane;
    const char *tags; // as in the column of its task
};

static enum err judge(struct db *db, struct store_planned *item, struct arena *arena, struct planning *ret_planning)
{
    const struct plan *plan = item->plan;
    sqlite3_stmt *stmt = db_sql(db, SQL_PLAN_STANDING, plan->task_id);
    if (!db_row(db, stmt))
        return ERR_NOT_FOUND;
    bool stands = sqlite3_column_int64(stmt, 0) == plan->version && sqlite3_column_int64(stmt, 1) == item->from &&
                  (item->unread ? !sqlite3_column_int(stmt, 6) : sqlite3_column_int64(stmt, 2) == plan->revision);
    const char *tags = (const char *)sqlite3_column_text(stmt, 5);
    *ret_planning = (struct planning){item, sqlite3_column_int64(stmt, 3), sqlite3_column_int64(stmt, 4)};
    if (stands && tags && item->job_count)
        ret_planning->tags = arena_copy(arena, (struct str){tags, strlen(tags) + 1}).p;
    db_end(stmt);
    return stands ? ERR_OK : ERR_MOVED_ON;
}

// check_at is written only where it changes, because an index has it.
static void write_unread(struct db *db, const struct planning *planning)
{
    const struct store_planned *item = planning->item;
    const struct plan *plan = item->plan;
    if (planning->check_at < item->check_before)
        db_run(db, db_sql(db, SQL_CARRY_ON_AND_CHECK, plan->task_id, !item->job_count, plan->planned_through, plan->instants,
                          plan->check_at));
    else
        db_run(db, db_sql(db, SQL_CARRY_ON, plan->task_id, !item->job_count, plan->planned_through, plan->instants));
}

// Writes a plan whose jobs have been added, and lets them be found by their tags.
static void write_planning(struct db *db, const struct planning *planning, struct arena *arena)
{
    const struct store_planned *item = planning->item;
    const struct plan *plan = item->plan;
    if (item->unread) {
        write_unread(db, planning);
    } else {
        sqlite3_stmt *stmt = db_sql(db, SQL_WRITE_PLAN, plan->task_id, !item->job_count, plan->planned_through, plan->instants,
                                    plan->ended_with, plan->check_at, plan->paused_at);
        bind_rest(stmt, 8, plan, arena);
        db_run(db, stmt);
    }
    for (size_t i = 0; i < item->job_count && planning->tags; i++)
        tags_add_planned(db, planning->tags, &item->jobs[i]);
}

// Items with one new job each, which are put off and added together. Each is of another plan.
struct put_off {
    struct planning plannings[STATEMENT_ROWS_MAX];
    struct job *jobs[STATEMENT_ROWS_MAX];
    size_t count;
};

static void plan_by_itself(struct writer *writer, const struct planning *planning, struct arena *arena)
{
    struct store_planned *item = planning->item;
    item->err = add_jobs(writer, item->jobs, item->job_count, planning->lane);
    if (!item->err)
        write_planning(&writer->db, planning, arena);
}

static void plan_put_off(struct writer *writer, struct put_off *put_off, struct arena *arena)
{
    for (size_t i = 0, n; i < put_off->count && !writer->db.rc; i += n) {
        n = add_new_jobs(writer, SQL_ADD_PLANNED, &put_off->jobs[i], put_off->count - i);
        for (size_t k = i; k < i + n; k++)
            write_planning(&writer->db, &put_off->plannings[k], arena);
        if (!n) {
            plan_by_itself(writer, &put_off->plannings[i], arena);
            n = 1;
        }
    }
    put_off->count = 0;
}

static bool is_put_off(const struct put_off *put_off, int64_t task_id)
{
    for (size_t i = 0; i < put_off->count; i++)
        if (put_off->plannings[i].item->plan->task_id == task_id)
            return true;
    return false;
}

static void plan_item(struct writer *writer, struct store_planned *item, struct put_off *put_off, struct arena *arena)
{
    struct planning planning;
    bool single = item->job_count == 1 && item->jobs[0].trigger == TRIGGER_SCHEDULE && db_job_is_new(&item->jobs[0]);
    if (!single || put_off->count == STATEMENT_ROWS_MAX || is_put_off(put_off, item->plan->task_id))
        plan_put_off(writer, put_off, arena);
    item->err = judge(&writer->db, item, arena, &planning);
    if (item->err)
        return;
    if (!single) {
        plan_by_itself(writer, &planning, arena);
        return;
    }
    item->jobs[0].lane = planning.lane;
    put_off->jobs[put_off->count] = &item->jobs[0];
    put_off->plannings[put_off->count++] = planning;
}

void plans_write(struct writer *writer, struct store_op *op)
{
    struct store_plan *plan = container_of(op, struct store_plan, op);
    struct put_off put_off = {.count = 0};
    if (plan->holder && lives_is_fenced(writer, plan->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < plan->count && !writer->db.rc; i++)
        plan_item(writer, &plan->items[i], &put_off, &op->arena);
    plan_put_off(writer, &put_off, &op->arena);
}

// ---- STORE_PLANS

static void push_task(struct db *db, struct store_plans *plans, int64_t id)
{
    plans->tasks = store_push(&plans->op.arena, plans->tasks, plans->count, sizeof *plans->tasks);
    struct store_task *task = &plans->tasks[plans->count];
    if (get_find_task(db, id, 0, &plans->op.arena, task) && task->plan)
        plans->count++;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void read_by_ids(struct db *db, struct store_plans *plans)
{
    int64_t *ids = arena_array(&plans->op.arena, int64_t, plans->id_count + 1);
    memcpy(ids, plans->ids, plans->id_count * sizeof *ids);
    qsort(ids, plans->id_count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < plans->id_count; i++)
        if (!i || ids[i] != ids[i - 1])
            push_task(db, plans, ids[i]);
}

void plans_list(struct db *db, struct store_op *op)
{
    struct store_plans *plans = container_of(op, struct store_plans, op);
    if (plans->ids) {
        read_by_ids(db, plans);
        return;
    }
    sqlite3_stmt *stmt = plans->owing ? db_sql(db, SQL_PLANS_OWING, plans->after_id, store_limit(plans->max))
                                      : db_sql(db, SQL_PLANS_TO_CHECK, plans->now_ms, store_limit(plans->max));
    while (db_row(db, stmt))
        push_task(db, plans, sqlite3_column_int64(stmt, 0));
}
