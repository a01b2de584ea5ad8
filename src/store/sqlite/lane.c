// Lanes, and how many jobs each has in which state.
//
// Jobs per lane and state are counted as they move, in memory, and written once a transaction, so no query ever counts rows. The
// writer remembers lanes because nearly every job asks for one; a rollback throws away what is remembered.
//
// What it does not do: know which jobs wait in a lane (sqlite/waiting.c).
#include "base/data/hash.h"
#include "store/sqlite/sqlite.h"

enum { LANES_REMEMBERED_MAX = 65536 };

// ---- what is remembered

// What names a lane.
struct lane_key {
    int32_t tenant;
    enum target_dispatch dispatch;
    struct str queue;
};

static bool is_of_queue(const struct cached_lane *lane, int32_t tenant, struct str queue)
{
    return lane->tenant == tenant && str_eq(lane->queue, queue);
}

static struct cached_lane *remember_lane(struct writer *writer, int64_t id, struct lane_key key, bool paused)
{
    struct str queue = key.queue;
    struct cached_lane *lane = mem_zero(sizeof *lane + queue.n + 1);
    lane->id = id;
    lane->tenant = key.tenant;
    lane->dispatch = key.dispatch;
    lane->paused = paused;
    if (queue.n)
        memcpy(lane->bytes, queue.p, queue.n);
    lane->queue = (struct str){lane->bytes, queue.n};
    lane->next_named = map_put(&writer->lanes_by_name, hash_name(key.tenant, queue), lane);
    map_put(&writer->lanes_by_id, id, lane);
    return lane;
}

struct cached_lane *lane_get(struct writer *writer, int64_t id)
{
    struct cached_lane *lane = map_get(&writer->lanes_by_id, id);
    if (lane)
        return lane;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_LANE_BY_ID, id);
    if (!db_row(&writer->db, stmt))
        return NULL;
    struct lane_key key = {.tenant = sqlite3_column_int(stmt, 0),
                           .dispatch = (enum target_dispatch)sqlite3_column_int(stmt, 1),
                           .queue.p = sqlite3_column_blob(stmt, 2)};
    key.queue.n = (size_t)sqlite3_column_bytes(stmt, 2);
    lane = remember_lane(writer, id, key, sqlite3_column_int(stmt, 3));
    lane->dropped = sqlite3_column_int(stmt, 4);
    db_end(stmt);
    return lane;
}

// NULL: there is no such lane, or SQLite failed.
static inline struct cached_lane *find_lane(struct writer *writer, struct lane_key key)
{
    struct cached_lane *lane = map_get(&writer->lanes_by_name, hash_name(key.tenant, key.queue));
    while (lane && (lane->dispatch != key.dispatch || !is_of_queue(lane, key.tenant, key.queue)))
        lane = lane->next_named;
    if (lane)
        return lane;
    int64_t id;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_LANE_BY_NAME, key.tenant, key.dispatch);
    db_bind_text(stmt, 3, key.queue);
    return db_found(&writer->db, stmt, &id) ? lane_get(writer, id) : NULL;
}

// Makes the lane if need be, paused if its queue is. NULL only when SQLite failed.
static struct cached_lane *lane_named(struct writer *writer, struct lane_key key)
{
    struct cached_lane *lane = find_lane(writer, key);
    if (lane || writer->db.rc)
        return lane;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_ADD_LANE, key.tenant, key.dispatch);
    db_bind_text(stmt, 3, key.queue);
    if (!db_row(&writer->db, stmt))
        return NULL;
    lane = remember_lane(writer, sqlite3_column_int64(stmt, 0), key, sqlite3_column_int(stmt, 1));
    db_end(stmt);
    return lane;
}

struct cached_lane *lane_of_task(struct writer *writer, const struct store_task *task)
{
    return lane_named(writer, (struct lane_key){task->tenant, task->dispatch, task->queue});
}

// This is rare, so it is not inlined into lane_count().
__attribute__((noinline)) static void set_dropped(struct writer *writer, struct cached_lane *lane, bool dropped)
{
    lane->dropped = dropped;
    db_run(&writer->db, db_sql(&writer->db, SQL_DROP_LANE, dropped, lane->id));
}

// A lane that was dropped has only final jobs. A job in another state brings it back.
void lane_count(struct writer *writer, int64_t lane_id, int state, int by)
{
    struct cached_lane *lane = lane_get(writer, lane_id);
    if (!lane)
        return;
    if (lane->dropped && !job_state_final((enum job_state)state))
        set_dropped(writer, lane, false);
    lane->moved[state] += by;
    writer->totals[state] += by;
    if (lane->dirty)
        return;
    lane->dirty = true;
    lane->next_dirty = writer->dirty;
    writer->dirty = lane;
}

enum { MOVED_WIDTH = 3 }; // a lane, a state, and by how much its counter moved

// Moves what a lane has counted behind the rows there are, and returns how many rows there are then.
static size_t gather_moved(int64_t lane, int64_t by[JOB_STATE_COUNT], int64_t (*rows)[MOVED_WIDTH], size_t row_count)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        if (by[state])
            memcpy(rows[row_count++], (int64_t[]){lane, state, by[state]}, sizeof *rows);
        by[state] = 0;
    }
    return row_count;
}

void lane_flush(struct writer *writer)
{
    int64_t rows[STATEMENT_ROWS_MAX + JOB_STATE_COUNT][MOVED_WIDTH];
    size_t row_count = gather_moved(0, writer->totals, rows, 0);
    while (writer->dirty) {
        struct cached_lane *lane = writer->dirty;
        writer->dirty = lane->next_dirty;
        lane->dirty = false;
        row_count = gather_moved(lane->id, lane->moved, rows, row_count);
        if (row_count >= STATEMENT_ROWS_MAX) {
            db_run_rows(&writer->db, SQL_COUNT_UP, row_count, MOVED_WIDTH, rows[0]);
            row_count = 0;
        }
    }
    db_run_rows(&writer->db, SQL_COUNT_UP, row_count, MOVED_WIDTH, rows[0]);
}

void lane_settle(struct writer *writer)
{
    if (writer->lanes_by_id.count > LANES_REMEMBERED_MAX)
        lane_forget(writer);
}

void lane_forget(struct writer *writer)
{
    struct cached_lane *lane;
    int64_t id;
    for (size_t at = 0; (lane = map_next(&writer->lanes_by_id, &at, &id));)
        mem_free(lane);
    map_done(&writer->lanes_by_id);
    map_done(&writer->lanes_by_name);
    writer->dirty = NULL;
    memset(writer->totals, 0, sizeof writer->totals);
}

// ---- the verbs

void lane_pause(struct writer *writer, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    struct cached_lane *called = lane_named(writer, (struct lane_key){pause->tenant, TARGET_CALLED, pause->queue});
    if (!called)
        return;
    pause->lane = called->id;
    struct cached_lane *lane = map_get(&writer->lanes_by_name, hash_name(pause->tenant, pause->queue));
    for (; lane; lane = lane->next_named)
        if (is_of_queue(lane, pause->tenant, pause->queue)) {
            lane->paused = pause->paused;
            lane->dropped = false;
        }
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_PAUSE_QUEUE, pause->paused, pause->tenant);
    db_bind_text(stmt, 3, pause->queue);
    db_run(&writer->db, stmt);
}

// Counts the jobs of the lane that are not final: as written before this transaction, and as they moved in it.
static int64_t count_open(struct writer *writer, const struct cached_lane *lane)
{
    int64_t open = 0;
    db_found(&writer->db, db_sql(&writer->db, SQL_OPEN, lane->id), &open);
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        open += job_state_final((enum job_state)state) ? 0 : lane->moved[state];
    return open;
}

void lane_drop(struct writer *writer, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    struct cached_lane *lanes[TARGET_DISPATCH_COUNT];
    size_t count = 0;
    bool known = false, paused = false;
    int64_t open = 0;
    for (int dispatch = TARGET_CALLED; dispatch < TARGET_DISPATCH_COUNT; dispatch++) {
        struct cached_lane *lane =
            find_lane(writer, (struct lane_key){drop->tenant, (enum target_dispatch)dispatch, drop->queue});
        if (!lane)
            continue;
        lanes[count++] = lane;
        known |= !lane->dropped;
        paused |= lane->paused;
        open += count_open(writer, lane);
    }
    store_drop_judge(drop, known, open, paused);
    for (size_t i = 0; i < count && !op->err; i++)
        set_dropped(writer, lanes[i], true);
}

static void read_counts(struct db *db, sqlite3_stmt *stmt, int64_t ret_counts[JOB_STATE_COUNT])
{
    while (db_row(db, stmt)) {
        int64_t state = sqlite3_column_int64(stmt, 0);
        if (state >= 0 && state < JOB_STATE_COUNT)
            ret_counts[state] += sqlite3_column_int64(stmt, 1);
    }
}

size_t lane_ids_of_queue(struct db *db, int32_t tenant, struct str queue, int64_t ret_ids[TARGET_DISPATCH_COUNT])
{
    size_t count = 0;
    sqlite3_stmt *stmt = db_sql(db, SQL_LANES_OF_QUEUE, tenant);
    db_bind_text(stmt, 2, queue);
    while (db_row(db, stmt))
        ret_ids[count++] = sqlite3_column_int64(stmt, 0);
    return count;
}

// Adds what waits in a lane, and how many jobs it has, to what is told of it or of its queue.
static void add_lane(struct db *db, const struct store_lanes *lanes, int64_t id, struct store_lane *lane)
{
    if (!lanes->names_only)
        lane->next_due = time_min(lane->next_due, waiting_next_due(db, id, INT64_MIN));
    if (lanes->counts)
        read_counts(db, db_sql(db, SQL_COUNTS, id), lane->counts);
}

void lane_read(struct db *db, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    bool queues = lanes->dispatch == TARGET_NOT_DISPATCHED;
    int32_t last_tenant = lanes->tenant ? lanes->tenant : INT32_MAX;
    sqlite3_stmt *stmt =
        db_sql(db, queues ? SQL_QUEUES : SQL_LANES, lanes->after_id, store_limit(lanes->max), lanes->tenant, last_tenant);
    if (!queues)
        sqlite3_bind_int(stmt, 5, lanes->dispatch);
    while (db_row(db, stmt)) {
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){
            .id = sqlite3_column_int64(stmt, 0), .tenant = sqlite3_column_int(stmt, 1), .dispatch = lanes->dispatch};
        lane->paused = sqlite3_column_int(stmt, 2);
        lane->queue = db_bytes(stmt, 3, &op->arena);
        lane->next_due = lanes->names_only ? 0 : TIME_NEVER;
        int64_t ids[TARGET_DISPATCH_COUNT] = {lane->id};
        size_t count = queues ? lane_ids_of_queue(db, lane->tenant, lane->queue, ids) : 1;
        for (size_t i = 0; i < count; i++)
            add_lane(db, lanes, ids[i], lane);
    }
}

void lane_stats(struct db *db, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    read_counts(db, stats->tenant ? db_sql(db, SQL_COUNTS_OF, stats->tenant) : db_sql(db, SQL_COUNTS, 0), stats->counts);
}
