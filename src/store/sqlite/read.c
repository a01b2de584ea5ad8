// The verbs that only read. They run on the reader's connection, each in a transaction of its own, so what one of them answers
// is one moment of the store, and no claim or completion waits for it.
#include "store/sqlite/sqlite.h"

// SQLite takes a negative LIMIT for none, so a size is cut to what fits.
static int64_t limit(size_t max)
{
    return max > INT32_MAX ? INT32_MAX : (int64_t)max;
}

// A job that left the hand meanwhile is passed over. A caller that wants to run the jobs gets no document of a paused task.
static void find_held(struct db *db, struct store_find *find)
{
    size_t count, bytes = 0;
    const int64_t *ids = hands_of(db->hands, find->holder, find->after_id, &find->op.arena, &count);
    for (size_t i = 0; i < count && !store_page_ends(find->job_count, find->max, bytes); i++) {
        sqlite3_stmt *stmt = db_sql(db, SQL_HELD, ids[i]);
        if (!db_row(db, stmt))
            continue;
        struct store_job job = {0};
        int at = db_read_seen_job(db, stmt, &job.job, &find->op.arena);
        bool paused = find->to_run && job.job.state == JOB_WATCHING && sqlite3_column_int(stmt, at + 1);
        if (!paused)
            job.doc = db_bytes(stmt, at, &find->op.arena);
        db_end(stmt);
        if (!job_in_hand(&job.job) || job.job.holder != find->holder)
            continue;
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        find->jobs[find->job_count++] = job;
        bytes += job.doc.n;
    }
    find->more = store_page_ends(find->job_count, find->max, bytes);
}

static void find_expired(struct db *db, struct store_find *find)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_EXPIRED, find->now_ms);
    size_t bytes = 0;
    while (!(find->more = store_page_ends(find->job_count, find->max, bytes)) && db_row(db, stmt)) {
        struct store_job job;
        int at = db_read_seen_job(db, stmt, &job.job, &find->op.arena);
        if (job_in_hand(&job.job))
            continue;
        job.doc = db_bytes(stmt, at, &find->op.arena);
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        find->jobs[find->job_count++] = job;
        bytes += job.doc.n;
    }
    db_end(stmt);
}

static void find_lapsed(struct db *db, struct store_find *find)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_LAPSED, find->now_ms, limit(find->max));
    size_t bytes = 0;
    while (!(find->more = store_page_ends(find->job_count, find->max, bytes)) && db_row(db, stmt)) {
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        struct store_job *job = &find->jobs[find->job_count++];
        int at = db_read_seen_job(db, stmt, &job->job, &find->op.arena);
        at = db_read_lease(stmt, at, &job->job, &find->op.arena);
        job->doc = db_bytes(stmt, at, &find->op.arena);
        bytes += job->doc.n;
    }
    db_end(stmt);
}

static void (*const finds[STORE_FIND_COUNT])(struct db *db, struct store_find *find) = {
    [STORE_FIND_HELD] = find_held, [STORE_FIND_EXPIRED] = find_expired, [STORE_FIND_LAPSED] = find_lapsed};

static void read_find(struct db *db, struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    finds[find->what](db, find);
}

static void read_counts(struct db *db, sqlite3_stmt *stmt, int64_t ret_counts[JOB_STATE_COUNT])
{
    while (db_row(db, stmt)) {
        int64_t state = sqlite3_column_int64(stmt, 0);
        if (state >= 0 && state < JOB_STATE_COUNT)
            ret_counts[state] = sqlite3_column_int64(stmt, 1);
    }
}

static void read_lanes(struct db *db, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    sqlite3_stmt *stmt = lanes->tenant ? db_sql(db, SQL_LANES_OF, lanes->after_id, limit(lanes->max), lanes->tenant)
                                       : db_sql(db, SQL_LANES, lanes->after_id, limit(lanes->max));
    while (db_row(db, stmt)) {
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = sqlite3_column_int64(stmt, 0), .tenant = sqlite3_column_int(stmt, 1)};
        lane->paused = sqlite3_column_int(stmt, 2);
        lane->queue = db_bytes(stmt, 3, &op->arena);
        lane->next_due = lanes->names_only ? 0 : db_next_due(db, lane->id, INT64_MIN);
        if (lanes->counts)
            read_counts(db, db_sql(db, SQL_COUNTS, lane->id), lane->counts);
    }
}

static void read_stats(struct db *db, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    read_counts(db, stats->tenant ? db_sql(db, SQL_COUNTS_OF, stats->tenant) : db_sql(db, SQL_COUNTS, 0), stats->counts);
}

static void read_attempts(struct db *db, struct store_get *get, int64_t job_id, bool responses)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_ATTEMPTS, job_id, (int64_t)responses);
    while (db_row(db, stmt)) {
        get->attempts = store_push(&get->op.arena, get->attempts, get->attempt_count, sizeof *get->attempts);
        struct attempt *attempt = &get->attempts[get->attempt_count++];
        *attempt =
            (struct attempt){.job_id = job_id, .number = sqlite3_column_int(stmt, 0), .status = sqlite3_column_int(stmt, 1)};
        attempt->outcome = (uint8_t)sqlite3_column_int(stmt, 2);
        attempt->picked_at = sqlite3_column_int64(stmt, 3);
        attempt->started_at = sqlite3_column_int64(stmt, 4);
        attempt->completed_at = sqlite3_column_int64(stmt, 5);
        attempt->holder = sqlite3_column_int64(stmt, 6);
        attempt->reason = db_bytes(stmt, 7, &get->op.arena);
        attempt->response_truncated = sqlite3_column_int(stmt, 8);
        attempt->response = db_bytes(stmt, 9, &get->op.arena);
    }
}

static struct store_task read_task(sqlite3_stmt *stmt, struct arena *arena)
{
    struct store_task task = {.id = sqlite3_column_int64(stmt, 0),
                              .tenant = sqlite3_column_int(stmt, 1),
                              .created_at = sqlite3_column_int64(stmt, 2),
                              .updated_at = sqlite3_column_int64(stmt, 3),
                              .version = sqlite3_column_int64(stmt, 4),
                              .paused = sqlite3_column_int(stmt, 5)};
    task.queue = db_bytes(stmt, 6, arena);
    task.name = db_bytes(stmt, 7, arena);
    task.doc = db_bytes(stmt, 8, arena);
    return task;
}

static bool find_task(struct db *db, int64_t id, int32_t tenant, struct arena *arena, struct store_task *ret_task)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_GET_TASK, id, tenant);
    if (!db_row(db, stmt))
        return false;
    *ret_task = read_task(stmt, arena);
    db_end(stmt);
    return true;
}

static void push_job(struct db *db, sqlite3_stmt *stmt, struct store_get *get)
{
    get->jobs = store_push(&get->op.arena, get->jobs, get->job_count, sizeof *get->jobs);
    struct job *job = &get->jobs[get->job_count++];
    db_read_lease(stmt, db_read_seen_job(db, stmt, job, &get->op.arena), job, &get->op.arena);
}

static void read_records(struct db *db, struct store_get *get, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt))
        push_job(db, stmt, get);
}

static void read_get(struct db *db, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (get->job_id)
        read_records(db, get, db_sql(db, SQL_GET_JOB, get->job_id));
    int64_t task_id = get->job_count ? get->jobs[0].task_id : get->job_id ? 0 : get->task_id;
    if (!find_task(db, task_id, get->tenant, &op->arena, &get->task)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    if (!get->job_id)
        read_records(db, get, db_sql(db, SQL_GET_JOBS, task_id, limit(get->max_jobs), (int64_t)get->open_first));
    for (size_t i = 0; i < get->job_count; i++)
        read_attempts(db, get, get->jobs[i].id, get->job_id);
    store_sort_attempts(get->attempts, get->attempt_count);
}

// ---- pages

// What a page is looked for in.
struct source {
    struct db *db;
    const struct store_list *list;
    int64_t lane;    // of the queue; 0: any
    int64_t task_id; // the only one there may be; 0: any
    size_t lead;     // the candidate by which rows are found, if there are any: a tag, or behind them the state that failed
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
    sqlite3_stmt *stmt = db_sql(source->db, sql, list->tenant, list->before.at, list->before.id, limit(list->look + 1));
    if (source->task_id || tagged)
        sqlite3_bind_int64(stmt, 5, source->task_id ? source->task_id : store_list_tag(list, source->lead));
    for (size_t i = 0; i < STORE_FAILED_MAX && sql == SQL_LIST_FAILED; i++)
        sqlite3_bind_int(stmt, 5 + (int)i, i < count ? failed[i] : -1);
    return stmt;
}

static sqlite3_stmt *select_tasks(const struct source *source)
{
    const struct store_list *list = source->list;
    bool tagged = by_tag(source);
    enum sql sql = source->task_id ? SQL_LIST_ONE_TASK : tagged ? SQL_LIST_TAGGED_TASKS : SQL_LIST_TASKS;
    sqlite3_stmt *stmt = db_sql(source->db, sql, list->tenant, list->before.id, limit(list->look + 1));
    if (sql != SQL_LIST_TASKS)
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

// All tags but the one that the row was found by.
static bool has_tags(const struct source *source, struct store_key key)
{
    const struct store_list *list = source->list;
    int64_t one;
    for (size_t i = 0; i < list->tag_count; i++)
        if ((!by_tag(source) || i != source->lead) &&
            !db_found(source->db, db_sql(source->db, SQL_HAS_TAG, list->tenant, store_list_tag(list, i), key.at, key.id), &one))
            return false;
    return true;
}

static bool job_matches(const struct source *source, const struct job *job)
{
    const struct store_list *list = source->list;
    return (!list->states || list->states & 1u << job->state) && (!source->lane || job->lane == source->lane) &&
           has_tags(source, (struct store_key){job->scheduled_at, job->id}) &&
           (!list->name.p || is_named(source->db, job->task_id, list->name));
}

static void push_task(struct db *db, struct store_list *list, int64_t id, struct arena *arena)
{
    list->tasks = store_push(arena, list->tasks, list->task_count, sizeof *list->tasks);
    struct store_task *task = &list->tasks[list->task_count++];
    *task = (struct store_task){0};
    find_task(db, id, list->tenant, arena, task);
}

static void list_jobs(const struct source *source, struct store_list *list, struct store_get *records)
{
    struct db *db = source->db;
    sqlite3_stmt *stmt = select_jobs(source);
    struct store_page page = {0};
    struct job job;
    while (db_row(db, stmt)) {
        db_read_seen_numbers(db, stmt, &job);
        if (!store_list_look(list, &page, (struct store_key){job.scheduled_at, job.id})) {
            db_end(stmt);
            return;
        }
        if (!job_matches(source, &job))
            continue;
        push_job(db, stmt, records);
        read_attempts(db, records, job.id, false);
        if (list->docs)
            push_task(db, list, job.task_id, &records->op.arena);
        store_list_give(list, &page, records);
    }
}

// Whether the row, which has no more than id, lane and name, is one of those that are asked for.
static bool task_matches(const struct source *source, sqlite3_stmt *stmt)
{
    struct str name = {.p = sqlite3_column_blob(stmt, 2)};
    name.n = (size_t)sqlite3_column_bytes(stmt, 2);
    return (!source->lane || sqlite3_column_int64(stmt, 1) == source->lane) &&
           (!source->list->name.p || str_eq(source->list->name, name)) &&
           has_tags(source, (struct store_key){0, sqlite3_column_int64(stmt, 0)});
}

// Documents are read of those that match: they may be large.
static void list_tasks(const struct source *source, struct store_list *list, struct store_get *records)
{
    struct db *db = source->db;
    sqlite3_stmt *stmt = select_tasks(source);
    struct store_page page = {0};
    while (db_row(db, stmt)) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        if (!store_list_look(list, &page, (struct store_key){0, id})) {
            db_end(stmt);
            return;
        }
        if (!task_matches(source, stmt))
            continue;
        push_task(db, list, id, &records->op.arena);
        size_t first = records->job_count;
        read_records(db, records, db_sql(db, SQL_GET_JOBS, id, limit(list->max_jobs), 1));
        for (size_t i = first; i < records->job_count; i++)
            read_attempts(db, records, records->jobs[i].id, false);
        store_list_give(list, &page, records);
    }
}

static bool find_by_text(struct db *db, enum sql sql, int32_t tenant, struct str text, int64_t *ret_id)
{
    sqlite3_stmt *stmt = db_sql(db, sql, tenant);
    db_bind_text(stmt, 2, text);
    return db_found(db, stmt, ret_id);
}

// Whether there can be anything at all; and the queue and the one task by their numbers.
static bool begin(struct source *source)
{
    const struct store_list *list = source->list;
    source->task_id = list->task_id;
    return (!list->queue.p || find_by_text(source->db, SQL_LANE_BY_NAME, list->tenant, list->queue, &source->lane)) &&
           (!list->key.p || find_by_text(source->db, SQL_KEY, list->tenant, list->key, &source->task_id));
}

static void read_list(struct db *db, struct store_op *op)
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
    op->arena = records.op.arena;
    list->found = records.jobs;
    list->found_count = records.job_count;
    list->attempts = records.attempts;
    list->attempt_count = records.attempt_count;
    store_sort_attempts(list->attempts, list->attempt_count);
}

static void read_bulks(struct db *db, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    sqlite3_stmt *stmt = bulks->id ? db_sql(db, SQL_BULK, bulks->id, bulks->tenant) : db_sql(db, SQL_BULKS, limit(bulks->max));
    while (db_row(db, stmt)) {
        bulks->rows = store_push(&op->arena, bulks->rows, bulks->row_count, sizeof *bulks->rows);
        struct store_bulk_row *row = &bulks->rows[bulks->row_count++];
        int at = 0;
        row->id = sqlite3_column_int64(stmt, at++);
        row->tenant = sqlite3_column_int(stmt, at++);
        row->version = sqlite3_column_int64(stmt, at++);
#define X(name) row->name = sqlite3_column_int64(stmt, at++);
        BULK_MOVING(X)
#undef X
        row->next.at = sqlite3_column_int64(stmt, at++);
        row->next.id = sqlite3_column_int64(stmt, at++);
        row->doc = db_bytes(stmt, at, &op->arena);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(op, ERR_NOT_FOUND, "there is no such bulk");
}

static void read_owners(struct db *db, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    if (!db_found(db, db->stmts[SQL_TERM], &owners->term))
        owners->term = 0;
    sqlite3_stmt *stmt = db->stmts[SQL_OWNERS];
    while (db_row(db, stmt)) {
        owners->owners = store_push(&op->arena, owners->owners, owners->owner_count, sizeof *owners->owners);
        owners->owners[owners->owner_count++] =
            (struct store_owner){.bucket = sqlite3_column_int(stmt, 0), .puller = sqlite3_column_int64(stmt, 1)};
    }
}

static void read_ahead(struct db *db, struct store_op *op)
{
    struct store_ahead *ahead = container_of(op, struct store_ahead, op);
    int64_t own = store_place(&(struct job){.lane = ahead->lane, .priority = (uint8_t)ahead->priority, .state = JOB_READY});
    for (int64_t place = ahead->lane * STORE_PLACES; place <= own; place++) {
        sqlite3_stmt *stmt =
            db_sql(db, SQL_AHEAD, place, ahead->due_at, place < own ? INT64_MAX : ahead->id, limit(ahead->max - ahead->count));
        if (db_row(db, stmt))
            ahead->count += (size_t)sqlite3_column_int64(stmt, 0);
        sqlite3_reset(stmt);
    }
}

static void read_series(struct db *db, struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    sqlite3_stmt *stmt =
        db_sql(db, SQL_SERIES, series->tenant, series->from_ms, series->to_ms, series->from_source, limit(series->max));
    while (db_row(db, stmt)) {
        series->minutes = store_push(&op->arena, series->minutes, series->minute_count, sizeof *series->minutes);
        series->minutes[series->minute_count++] = (struct store_minute){.tenant = series->tenant,
                                                                        .at = sqlite3_column_int64(stmt, 0),
                                                                        .source = sqlite3_column_int64(stmt, 1),
                                                                        .doc = db_bytes(stmt, 2, &op->arena)};
    }
}

static int64_t heard_of(const struct store_hear *hear, int64_t source)
{
    for (size_t i = 0; i < hear->heard_count; i++)
        if (hear->heard[i].source == source)
            return hear->heard[i].number;
    return 0;
}

static void read_news(struct db *db, struct store_hear *hear, int64_t source)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_HEAR, source, heard_of(hear, source), limit(hear->max));
    while (db_row(db, stmt)) {
        hear->news = store_push(&hear->op.arena, hear->news, hear->news_count, sizeof *hear->news);
        hear->news[hear->news_count++] =
            (struct store_news){source, sqlite3_column_int64(stmt, 0), db_bytes(stmt, 1, &hear->op.arena)};
    }
}

static void read_hear(struct db *db, struct store_op *op)
{
    struct store_hear *hear = container_of(op, struct store_hear, op);
    struct store_heard *sources = NULL;
    size_t count = 0;
    sqlite3_stmt *stmt = db->stmts[SQL_SOURCES];
    while (db_row(db, stmt)) {
        sources = store_push(&op->arena, sources, count, sizeof *sources);
        sources[count++] = (struct store_heard){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
    }
    if (hear->from_now) {
        hear->last = sources;
        hear->last_count = count;
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (sources[i].source != hear->skip)
            read_news(db, hear, sources[i].source);
}

void (*const sqlite_reads[STORE_VERB_COUNT])(struct db *db, struct store_op *op) = {
    [STORE_OWNERS] = read_owners, [STORE_FIND] = read_find,   [STORE_LANES] = read_lanes, [STORE_GET] = read_get,
    [STORE_STATS] = read_stats,   [STORE_LIST] = read_list,   [STORE_BULKS] = read_bulks, [STORE_SERIES] = read_series,
    [STORE_HEAR] = read_hear,     [STORE_AHEAD] = read_ahead,
};
