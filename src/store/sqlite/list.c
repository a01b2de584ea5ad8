// A page of tasks or jobs, newest first; and of jobs that have not begun, earliest first.
//
// Rows are found by what has fewest of them: a tag, the states that failed, one task, the plans; otherwise all of the tenant's
// are looked at. What else was asked for is compared row by row.
#include "store/sqlite/sqlite.h"

// Where the rows of a page are looked for.
struct source {
    struct db *db;
    const struct store_list *list;
    int64_t lanes[TARGET_DISPATCH_COUNT]; // of the queue
    size_t lane_count;                    // 0: any
    int64_t task_id;                      // the only one there may be; 0: any
    size_t lead; // the candidate by which rows are found, if there are any: a tag, or behind them the state that failed
};

static int64_t count_candidate(const struct source *source, size_t candidate)
{
    const struct store_list *list = source->list;
    int64_t count = 0, at = list->jobs ? list->before.at : 0;
    int failed[STORE_FAILED_MAX];
    sqlite3_stmt *stmt;
    if (candidate < list->tag_count) {
        stmt =
            db_sql(source->db, SQL_COUNT_TAGGED, list->tenant, at, list->before.id, STORE_RARE, store_list_tag(list, candidate));
    } else {
        size_t failed_count = store_list_failed(list, failed);
        stmt = db_sql(source->db, SQL_COUNT_FAILED, list->tenant, at, list->before.id, STORE_RARE, failed[0],
                      failed[failed_count - 1]);
    }
    db_found(source->db, stmt, &count);
    return count;
}

static void count_candidates(void *ctx, size_t candidates, int64_t ret_counts[STORE_CANDIDATES_MAX])
{
    for (size_t i = 0; i < candidates; i++)
        ret_counts[i] = count_candidate(ctx, i);
}

static bool by_tag(const struct source *source)
{
    return store_list_by_tag(source->list, source->lead);
}

static sqlite3_stmt *select_jobs(const struct source *source)
{
    const struct store_list *list = source->list;
    int failed[STORE_FAILED_MAX];
    size_t count = store_list_failed(list, failed);
    bool tagged = by_tag(source);
    enum sql sql = source->task_id ? SQL_LIST_OF_TASK : tagged ? SQL_LIST_TAGGED_JOBS : count ? SQL_LIST_FAILED : SQL_LIST_JOBS;
    sqlite3_stmt *stmt = db_sql(source->db, sql, list->tenant, list->before.at, list->before.id, store_limit(list->look + 1));
    if (source->task_id || tagged)
        sqlite3_bind_int64(stmt, 5, source->task_id ? source->task_id : store_list_tag(list, source->lead));
    for (size_t i = 0; i < STORE_FAILED_MAX && sql == SQL_LIST_FAILED; i++)
        sqlite3_bind_int(stmt, 5 + (int)i, i < count ? failed[i] : -1);
    return stmt;
}

static sqlite3_stmt *select_tasks(const struct source *source)
{
    const struct store_list *list = source->list;
    enum sql sql = source->task_id            ? SQL_LIST_ONE_TASK
                   : by_tag(source)           ? SQL_LIST_TAGGED_TASKS
                   : store_list_by_plan(list) ? SQL_LIST_RECURRING_TASKS
                                              : SQL_LIST_TASKS;
    sqlite3_stmt *stmt = db_sql(source->db, sql, list->tenant, list->before.id, store_limit(list->look + 1));
    if (sql == SQL_LIST_ONE_TASK || sql == SQL_LIST_TAGGED_TASKS)
        sqlite3_bind_int64(stmt, 4, source->task_id ? source->task_id : store_list_tag(list, source->lead));
    return stmt;
}

static bool is_named(struct db *db, int64_t task_id, struct str name)
{
    int64_t one;
    sqlite3_stmt *stmt = db_sql(db, SQL_TASK_NAMED, task_id);
    db_bind_text(stmt, 2, name);
    return db_found(db, stmt, &one);
}

// Says whether the row has all tags that were asked for. The one by which it was found needs no look.
static bool has_tags(const struct source *source, struct store_cursor key)
{
    const struct store_list *list = source->list;
    int64_t one;
    for (size_t i = 0; i < list->tag_count; i++)
        if ((!by_tag(source) || i != source->lead) &&
            !db_found(source->db, db_sql(source->db, SQL_HAS_TAG, list->tenant, store_list_tag(list, i), key.at, key.id), &one))
            return false;
    return true;
}

static bool is_recurring(struct db *db, int64_t task_id)
{
    int64_t one;
    return db_found(db, db_sql(db, SQL_HAS_PLAN, task_id), &one);
}

static bool lane_matches(const struct source *source, int64_t lane)
{
    for (size_t i = 0; i < source->lane_count; i++)
        if (source->lanes[i] == lane)
            return true;
    return !source->lane_count;
}

static bool job_matches(const struct source *source, const struct job *job)
{
    const struct store_list *list = source->list;
    return (!list->states || list->states & 1u << job->state) && lane_matches(source, job->lane) &&
           has_tags(source, (struct store_cursor){job->scheduled_at, job->id}) &&
           (!list->name.p || is_named(source->db, job->task_id, list->name));
}

static void push_task(struct db *db, struct store_list *list, int64_t id, struct arena *arena)
{
    list->tasks = store_push(arena, list->tasks, list->task_count, sizeof *list->tasks);
    struct store_task *task = &list->tasks[list->task_count++];
    *task = (struct store_task){0};
    get_find_task(db, id, list->tenant, arena, task);
    if (list->jobs)
        task->plan = NULL;
}

static void list_jobs(const struct source *source, struct store_list *list, struct store_get *records)
{
    struct db *db = source->db;
    sqlite3_stmt *stmt = select_jobs(source);
    struct store_page page = {0};
    struct job job;
    while (db_row(db, stmt)) {
        db_read_seen_numbers(db, stmt, &job);
        if (!store_list_look(list, &page, (struct store_cursor){job.scheduled_at, job.id})) {
            db_end(stmt);
            return;
        }
        if (!job_matches(source, &job))
            continue;
        get_push_job(db, stmt, records);
        get_push_attempts(db, records, job.id, false);
        if (list->docs)
            push_task(db, list, job.task_id, &records->op.arena);
        store_list_give(list, &page, records);
    }
}

// Says whether the row, which has no more than id, lane and name, is one of those that are asked for.
static bool task_matches(const struct source *source, sqlite3_stmt *stmt)
{
    const struct store_list *list = source->list;
    int64_t id = sqlite3_column_int64(stmt, 0);
    struct str name = {.p = sqlite3_column_blob(stmt, 2)};
    name.n = (size_t)sqlite3_column_bytes(stmt, 2);
    return lane_matches(source, sqlite3_column_int64(stmt, 1)) && (!list->name.p || str_eq(list->name, name)) &&
           has_tags(source, (struct store_cursor){0, id}) &&
           (!list->recurring || store_list_by_plan(list) || is_recurring(source->db, id));
}

// Only the documents of tasks that match are read, because documents may be large.
static void list_tasks(const struct source *source, struct store_list *list, struct store_get *records)
{
    struct db *db = source->db;
    sqlite3_stmt *stmt = select_tasks(source);
    struct store_page page = {0};
    while (db_row(db, stmt)) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (!store_list_look(list, &page, (struct store_cursor){0, id})) {
            db_end(stmt);
            return;
        }
        if (!task_matches(source, stmt))
            continue;
        push_task(db, list, id, &records->op.arena);
        size_t first = records->job_count;
        get_push_jobs(db, records, db_sql(db, SQL_GET_JOBS, id, store_limit(list->max_jobs), 1));
        for (size_t i = first; i < records->job_count; i++)
            get_push_attempts(db, records, records->jobs[i].id, false);
        store_list_give(list, &page, records);
    }
}

static bool find_key(struct source *source)
{
    sqlite3_stmt *stmt = db_sql(source->db, SQL_KEY, source->list->tenant);
    db_bind_text(stmt, 2, source->list->key);
    return db_found(source->db, stmt, &source->task_id);
}

// Looks up the numbers of the queue's lanes and of the task that were named. False: there is none, so the list is empty.
static bool begin(struct source *source)
{
    const struct store_list *list = source->list;
    source->task_id = list->task_id;
    if (list->queue.p)
        source->lane_count = lane_ids_of_queue(source->db, list->tenant, list->queue, source->lanes);
    return (!list->queue.p || source->lane_count) && (!list->key.p || find_key(source));
}

void list_read(struct db *db, struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    struct source source = {.db = db, .list = list};
    struct store_get records = {.op.arena = op->arena};
    if (!begin(&source))
        return;
    source.lead = store_list_lead(list, count_candidates, &source);
    if (list->jobs)
        list_jobs(&source, list, &records);
    else
        list_tasks(&source, list, &records);
    store_list_end(list, &records);
}

// A job that was claimed reads as it was before, which is not begun either way.
static void push_upcoming(struct db *db, struct store_upcoming *upcoming, sqlite3_stmt *stmt, size_t *looked)
{
    struct arena *arena = &upcoming->op.arena;
    while (db_row(db, stmt)) {
        struct store_upcoming_job job = {.id = sqlite3_column_int64(stmt, 0),
                                         .task_id = sqlite3_column_int64(stmt, 1),
                                         .lane = sqlite3_column_int64(stmt, 2),
                                         .scheduled_at = sqlite3_column_int64(stmt, 3),
                                         .paused = sqlite3_column_int(stmt, 5)};
        struct store_cursor key = {job.scheduled_at, job.id};
        if (!store_upcoming_look(upcoming, looked, key, sqlite3_column_int(stmt, 4)))
            continue;
        job.name = db_bytes(stmt, 6, arena);
        upcoming->jobs = store_push(arena, upcoming->jobs, upcoming->job_count, sizeof job);
        upcoming->jobs[upcoming->job_count++] = job;
    }
}

void list_upcoming(struct db *db, struct store_op *op)
{
    struct store_upcoming *upcoming = container_of(op, struct store_upcoming, op);
    struct store_cursor after = upcoming->after;
    size_t looked = 0;
    if (after.at <= upcoming->until_ms)
        push_upcoming(db, upcoming,
                      db_sql(db, SQL_UPCOMING_THEN, upcoming->tenant, store_limit(upcoming->look + 1), after.at, after.id),
                      &looked);
    if (!upcoming->more)
        push_upcoming(db, upcoming,
                      db_sql(db, SQL_UPCOMING_LATER, upcoming->tenant, store_limit(upcoming->look - looked + 1), after.at,
                             upcoming->until_ms),
                      &looked);
}
