// The verbs that write. They run one after the other on the writer's connection, many in one transaction.
//
// Jobs per lane and state are counted as they move, in memory, and written once a transaction, so no query ever
// counts rows. Lanes are remembered because nearly every job asks for one; a rollback throws away what is remembered.
//
// What it does not do: begin or end transactions (sqlite/sqlite.c).
#include "core/id.h"

#include "base/hash.h"
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <stdlib.h>

enum { LANES_REMEMBERED_MAX = 65536, TASK_PARAMS = 6, TAGGED_PARAMS = 7, ADD_ROWS_MIN = 4 };

struct cached_lane {
    int64_t id;
    int32_t tenant;
    bool paused, dropped, dirty;
    struct cached_lane *next_named; // of the same hash
    struct cached_lane *next_dirty;
    int64_t moved[JOB_STATE_COUNT]; // in this transaction
    struct str queue;
    char bytes[];
};

// ---- lanes and counters

static struct cached_lane *remember_lane(struct writer *writer, int64_t id, int32_t tenant, struct str queue, bool paused)
{
    struct cached_lane *lane = mem_zero(sizeof *lane + queue.n + 1);
    lane->id = id;
    lane->tenant = tenant;
    lane->paused = paused;
    if (queue.n)
        memcpy(lane->bytes, queue.p, queue.n);
    lane->queue = (struct str){lane->bytes, queue.n};
    lane->next_named = map_put(&writer->lanes_by_name, hash_name(tenant, queue), lane);
    map_put(&writer->lanes_by_id, id, lane);
    return lane;
}

static struct cached_lane *lane_by_id(struct writer *writer, int64_t id)
{
    struct cached_lane *lane = map_get(&writer->lanes_by_id, id);
    if (lane)
        return lane;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_LANE_BY_ID, id);
    if (!db_row(&writer->db, stmt))
        return NULL;
    struct str queue = {.p = sqlite3_column_blob(stmt, 2)};
    queue.n = (size_t)sqlite3_column_bytes(stmt, 2);
    lane = remember_lane(writer, id, sqlite3_column_int(stmt, 0), queue, sqlite3_column_int(stmt, 1));
    lane->dropped = sqlite3_column_int(stmt, 3);
    db_end(stmt);
    return lane;
}

// NULL: there is no such lane, or SQLite failed.
static inline struct cached_lane *find_lane(struct writer *writer, int32_t tenant, struct str queue)
{
    struct cached_lane *lane = map_get(&writer->lanes_by_name, hash_name(tenant, queue));
    while (lane && (lane->tenant != tenant || !str_eq(lane->queue, queue)))
        lane = lane->next_named;
    if (lane)
        return lane;
    int64_t id;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_LANE_BY_NAME, tenant);
    db_bind_text(stmt, 2, queue);
    return db_found(&writer->db, stmt, &id) ? lane_by_id(writer, id) : NULL;
}

// Makes the lane if need be. NULL only when SQLite failed.
static struct cached_lane *lane_by_name(struct writer *writer, int32_t tenant, struct str queue)
{
    struct cached_lane *lane = find_lane(writer, tenant, queue);
    if (lane || writer->db.rc)
        return lane;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_ADD_LANE, tenant);
    db_bind_text(stmt, 2, queue);
    db_run(&writer->db, stmt);
    return writer->db.rc ? NULL : remember_lane(writer, sqlite3_last_insert_rowid(writer->db.handle), tenant, queue, false);
}

// Kept out of those who count, for whom it is rare.
__attribute__((noinline)) static void set_dropped(struct writer *writer, struct cached_lane *lane, bool dropped)
{
    lane->dropped = dropped;
    db_run(&writer->db, db_sql(&writer->db, SQL_DROP_LANE, dropped, lane->id));
}

// A lane that was dropped has only final jobs: another one brings it back.
static void count(struct writer *writer, int64_t lane_id, int state, int by)
{
    struct cached_lane *lane = lane_by_id(writer, lane_id);
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

struct moved {
    int64_t lane, state, by;
};

static void write_moved(struct db *db, const struct moved *moved, size_t moved_count)
{
    enum sql sql;
    for (size_t done = 0, n; done < moved_count; done += n) {
        n = db_tier(moved_count - done, 1, SQL_COUNT_UP_1, &sql);
        for (size_t i = 0; i < n; i++) {
            sqlite3_bind_int64(db->stmts[sql], (int)i * 3 + 1, moved[done + i].lane);
            sqlite3_bind_int64(db->stmts[sql], (int)i * 3 + 2, moved[done + i].state);
            sqlite3_bind_int64(db->stmts[sql], (int)i * 3 + 3, moved[done + i].by);
        }
        db_run(db, db->stmts[sql]);
    }
}

// Takes what moved from a lane; returns how many there are in the array then.
static size_t gather_moved(int64_t lane, int64_t by[JOB_STATE_COUNT], struct moved *moved, size_t moved_count)
{
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        if (by[state])
            moved[moved_count++] = (struct moved){lane, state, by[state]};
        by[state] = 0;
    }
    return moved_count;
}

void writer_flush(struct writer *writer)
{
    struct moved moved[DB_ROWS_MAX + JOB_STATE_COUNT];
    size_t moved_count = gather_moved(0, writer->totals, moved, 0);
    while (writer->dirty) {
        struct cached_lane *lane = writer->dirty;
        writer->dirty = lane->next_dirty;
        lane->dirty = false;
        moved_count = gather_moved(lane->id, lane->moved, moved, moved_count);
        if (moved_count >= DB_ROWS_MAX) {
            write_moved(&writer->db, moved, moved_count);
            moved_count = 0;
        }
    }
    write_moved(&writer->db, moved, moved_count);
    hands_write(writer->db.hands, &writer->db);
}

void writer_settle(struct writer *writer)
{
    writer->beats = writer->beats_then ? writer->beats_then : writer->beats;
    writer->beats_then = 0;
    hands_commit(writer->db.hands);
    if (writer->lanes_by_id.count > LANES_REMEMBERED_MAX)
        writer_forget(writer);
}

void writer_forget(struct writer *writer)
{
    struct cached_lane *lane;
    int64_t id;
    for (size_t at = 0; (lane = map_next(&writer->lanes_by_id, &at, &id));)
        mem_free(lane);
    map_done(&writer->lanes_by_id);
    map_done(&writer->lanes_by_name);
    writer->dirty = NULL;
    memset(writer->totals, 0, sizeof writer->totals);
    writer->live_holder = 0;
    writer->beats_then = 0;
    writer->plain_count = 0;
    hands_roll_back(writer->db.hands);
}

static void write_pause(struct writer *writer, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    struct cached_lane *lane = lane_by_name(writer, pause->tenant, pause->queue);
    if (!lane)
        return;
    lane->paused = pause->paused;
    lane->dropped = false;
    pause->lane = lane->id;
    db_run(&writer->db, db_sql(&writer->db, SQL_PAUSE_LANE, pause->paused, lane->id));
}

// How many jobs of the lane are not final: as written before this transaction, and as they moved in it.
static int64_t count_open(struct writer *writer, const struct cached_lane *lane)
{
    int64_t open = 0;
    db_found(&writer->db, db_sql(&writer->db, SQL_OPEN, lane->id), &open);
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        open += job_state_final((enum job_state)state) ? 0 : lane->moved[state];
    return open;
}

static void write_drop(struct writer *writer, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    struct cached_lane *lane = find_lane(writer, drop->tenant, drop->queue);
    store_drop_judge(drop, lane && !lane->dropped, lane ? count_open(writer, lane) : 0, lane && lane->paused);
    if (lane && !op->err)
        set_dropped(writer, lane, true);
}

// ---- incarnations

struct incarnation {
    bool known, dead;
    int node;
    int64_t beat;
};

static struct incarnation find_incarnation(struct db *db, int64_t id)
{
    struct incarnation found = {0};
    sqlite3_stmt *stmt = db_sql(db, SQL_INCARNATION, id);
    if (db_row(db, stmt)) {
        found =
            (struct incarnation){true, sqlite3_column_int(stmt, 0), sqlite3_column_int(stmt, 1), sqlite3_column_int64(stmt, 2)};
        db_end(stmt);
    }
    return found;
}

// The holder that was found alive last is remembered, because every claim asks for the same one.
static bool is_fenced(struct writer *writer, int64_t holder)
{
    if (holder && holder == writer->live_holder)
        return false;
    struct incarnation found = find_incarnation(&writer->db, holder);
    if (found.known && !found.dead)
        writer->live_holder = holder;
    return !found.known || found.dead;
}

static int free_node(struct db *db)
{
    int node = 0;
    sqlite3_stmt *stmt = db->stmts[SQL_NODES];
    while (db_row(db, stmt)) {
        if (sqlite3_column_int(stmt, 0) > node)
            break;
        node++;
    }
    db_end(stmt);
    return node;
}

static void take_secret(struct db *db, struct store_join *join)
{
    sqlite3_stmt *stmt = db->stmts[SQL_SECRET];
    if (db_row(db, stmt)) {
        struct str kept = db_bytes(stmt, 0, &join->op.arena);
        db_end(stmt);
        if (kept.n == sizeof join->secret)
            memcpy(join->secret, kept.p, kept.n);
        return;
    }
    stmt = db->stmts[SQL_SET_SECRET];
    db_bind_bytes(stmt, 1, (struct str){(const char *)join->secret, sizeof join->secret});
    db_run(db, stmt);
}

static void write_join(struct writer *writer, struct store_op *op)
{
    struct store_join *join = container_of(op, struct store_join, op);
    struct incarnation found = find_incarnation(&writer->db, join->incarnation);
    if (found.known && found.dead) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead");
        return;
    }
    if (!found.known) {
        found.node = free_node(&writer->db);
        if (found.node >= ID_NODES) {
            store_op_fail(op, ERR_FENCED, "all node numbers are in use");
            return;
        }
        db_run(&writer->db, db_sql(&writer->db, SQL_ADD_INCARNATION, join->incarnation, found.node, join->pulls));
    }
    take_secret(&writer->db, join);
    join->node = found.node;
    join->alone = true;
    if (!db_found(&writer->db, writer->db.stmts[SQL_FLOOR], &join->id_floor))
        join->id_floor = 0;
}

static void write_beat(struct writer *writer, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (is_fenced(writer, beat->incarnation)) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
        return;
    }
    db_run(&writer->db, db_sql(&writer->db, SQL_BEAT, beat->listens, beat->tells, beat->incarnation));
    sqlite3_stmt *count = writer->db.stmts[SQL_COUNT_BEAT];
    db_found(&writer->db, count, &writer->beats_then);
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_INCARNATIONS, beat->incarnation);
    while (db_row(&writer->db, stmt)) {
        beat->peers = store_push(&op->arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] = (struct store_peer){.incarnation = sqlite3_column_int64(stmt, 0),
                                                              .beat = sqlite3_column_int64(stmt, 1),
                                                              .dead = sqlite3_column_int(stmt, 2),
                                                              .pulls = sqlite3_column_int(stmt, 3),
                                                              .listens = sqlite3_column_int(stmt, 4),
                                                              .tells = sqlite3_column_int(stmt, 5)};
    }
}

static void write_bury(struct writer *writer, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    struct incarnation found = find_incarnation(&writer->db, bury->incarnation);
    if (!found.known || found.dead)
        return;
    if (found.beat != bury->beat) {
        store_op_fail(op, ERR_LEASE_LOST, "it has beaten since");
        return;
    }
    writer->live_holder = 0;
    db_run(&writer->db, db_sql(&writer->db, SQL_BURY, bury->incarnation));
}

static void write_forget(struct writer *writer, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    if (!find_incarnation(&writer->db, forget->incarnation).known)
        return;
    if (hands_has(writer->db.hands, forget->incarnation)) {
        store_op_fail(op, ERR_LEASE_LOST, "it still holds jobs");
        return;
    }
    writer->live_holder = 0;
    db_run(&writer->db, db_sql(&writer->db, SQL_FORGET, forget->incarnation));
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_ASKS, forget->incarnation));
}

// ---- owners and wishes

static void write_divide(struct writer *writer, struct store_op *op)
{
    struct store_divide *divide = container_of(op, struct store_divide, op);
    struct db *db = &writer->db;
    int64_t term = 0;
    db_found(db, db->stmts[SQL_TERM], &term);
    if (term != divide->term) {
        store_op_fail(op, ERR_LEASE_LOST, "they were divided by another meanwhile");
        return;
    }
    db_run(db, db_sql(db, SQL_SET_TERM, term + 1));
    db_run(db, db->stmts[SQL_REMOVE_OWNERS]);
    for (size_t i = 0; i < divide->owner_count; i++)
        db_run(db, db_sql(db, SQL_ADD_OWNER, divide->owners[i].bucket, divide->owners[i].puller, term + 1));
}

static void write_ask(struct writer *writer, struct store_op *op)
{
    const struct store_ask *ask = container_of(op, struct store_ask, op);
    struct db *db = &writer->db;
    if (find_incarnation(db, ask->holder).known)
        db_run(db, db_sql(db, SQL_ASK, ask->holder, ask->job.job_id, ask->job.tenant, ask->job.wish));
    else
        store_op_fail(op, ERR_LEASE_LOST, "there is no such incarnation any more");
}

static void write_asked(struct writer *writer, struct store_op *op)
{
    struct store_asked *asked = container_of(op, struct store_asked, op);
    struct db *db = &writer->db;
    sqlite3_stmt *stmt = db_sql(db, SQL_ASKED, asked->holder, asked->max > INT32_MAX ? INT32_MAX : (int64_t)asked->max);
    while (db_row(db, stmt)) {
        asked->jobs = store_push(&op->arena, asked->jobs, asked->job_count, sizeof *asked->jobs);
        asked->jobs[asked->job_count++] = (struct store_asked_job){.job_id = sqlite3_column_int64(stmt, 0),
                                                                   .tenant = sqlite3_column_int(stmt, 1),
                                                                   .wish = (enum store_wish)sqlite3_column_int(stmt, 2)};
    }
    for (size_t i = 0; i < asked->job_count; i++)
        db_run(db, db_sql(db, SQL_REMOVE_ASK, asked->holder, asked->jobs[i].job_id));
}

// ---- adding

// Whether the item's key was used before: then the item is answered, and nothing is to be added.
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

static void add_key(struct writer *writer, const struct store_new *item)
{
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_ADD_KEY, item->task->tenant, item->task->id);
    db_bind_text(stmt, 3, item->key);
    db_bind_bytes(stmt, 4, (struct str){(const char *)item->digest, sizeof item->digest});
    db_run(&writer->db, stmt);
}

// All but its tags and its key, from the parameter `at` on; returns what follows.
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
    sqlite3_stmt *stmt = writer->db.stmts[SQL_ADD_TASK];
    int at = bind_task(stmt, 1, item->task, lane);
    tags_bind(stmt, at++, item->task);
    if (item->key.n)
        db_bind_text(stmt, at, item->key);
    else
        sqlite3_bind_null(stmt, at);
    return db_insert(&writer->db, stmt);
}

// An id was taken: the item is made undone, its neighbours stay.
static void undo_item(struct writer *writer, const struct store_new *item, size_t jobs_added)
{
    for (size_t i = 0; i < jobs_added; i++)
        db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_JOB, item->jobs[i].id));
    if (item->task)
        db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_TASK, item->task->id));
}

// They are counted and listed when all of them are there: what is undone was not.
static enum err add_jobs(struct writer *writer, struct store_new *item, int64_t lane)
{
    for (size_t i = 0; i < item->job_count; i++) {
        bool added;
        item->jobs[i].lane = lane;
        db_add_job(&writer->db, &item->jobs[i], &added);
        if (!added) {
            undo_item(writer, item, i);
            return ERR_INTERNAL;
        }
    }
    for (size_t i = 0; i < item->job_count; i++) {
        count(writer, lane, item->jobs[i].state, 1);
        db_list_jobs(&writer->db, (const struct job *[]){&item->jobs[i]}, 1);
    }
    return ERR_OK;
}

static enum err add_to_task(struct writer *writer, struct store_new *item)
{
    int64_t lane;
    if (!item->job_count)
        return ERR_NOT_FOUND;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_TASK_LANE, item->jobs[0].task_id, item->jobs[0].tenant);
    enum err err = db_found(&writer->db, stmt, &lane) ? add_jobs(writer, item, lane) : ERR_NOT_FOUND;
    for (size_t i = 0; i < item->job_count && !err; i++)
        tags_add_job(&writer->db, item->jobs[i].id);
    return err;
}

static enum err add_item(struct writer *writer, struct store_new *item)
{
    if (!item->task)
        return add_to_task(writer, item);
    if (item->key.n && find_key(writer, item))
        return item->err;
    struct cached_lane *lane = lane_by_name(writer, item->task->tenant, item->task->queue);
    if (!lane)
        return ERR_OK;
    if (!add_task(writer, item, lane->id))
        return ERR_INTERNAL;
    enum err err = add_jobs(writer, item, lane->id);
    if (err)
        return err;
    tags_add_new(&writer->db, item);
    if (item->key.n)
        add_key(writer, item);
    return ERR_OK;
}

// A task with one job and nothing unusual about it.
static bool is_plain(const struct store_new *item)
{
    return item->task && !item->key.n && item->job_count == 1 && db_job_is_new(&item->jobs[0]);
}

static void remove_plain(struct db *db, struct store_new *const *items, size_t tasks, size_t jobs)
{
    for (size_t i = 0; i < jobs; i++)
        db_run(db, db_sql(db, SQL_REMOVE_JOB, items[i]->jobs[0].id));
    for (size_t i = 0; i < tasks; i++)
        db_run(db, db_sql(db, SQL_REMOVE_TASK, items[i]->task->id));
}

static bool any_tagged(struct store_new *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i]->task->tag_count)
            return true;
    return false;
}

// Adds the first of the items, as many as go into one statement. Returns how many; 0: they have to be added one by one, because
// they are too few, or one of their ids is taken. A statement that met such an id has added those before it.
static size_t add_plain(struct writer *writer, struct store_new *const *items, size_t left)
{
    struct db *db = &writer->db;
    const struct job *added[DB_ROWS_MAX];
    enum sql tasks, jobs;
    size_t n = db_tier(left, ADD_ROWS_MIN, SQL_ADD_TASKS_4, &tasks);
    n = db_tier(n, ADD_ROWS_MIN, SQL_ADD_JOBS_4, &jobs);
    bool tagged = any_tagged(items, n);
    if (tagged)
        tasks += SQL_ADD_TAGGED_4 - SQL_ADD_TASKS_4;
    for (size_t i = 0; i < n; i++) {
        const struct store_task *task = items[i]->task;
        const struct cached_lane *lane = lane_by_name(writer, task->tenant, task->queue);
        if (!lane) // SQLite failed
            return 0;
        items[i]->jobs[0].lane = lane->id;
        int at = bind_task(db->stmts[tasks], (int)i * (tagged ? TAGGED_PARAMS : TASK_PARAMS) + 1, task, lane->id);
        if (tagged)
            tags_bind(db->stmts[tasks], at, task);
        db_bind_new_job(db->stmts[jobs], i, &items[i]->jobs[0]);
        added[i] = &items[i]->jobs[0];
    }
    if (!n)
        return 0;
    if (!db_insert(db, db->stmts[tasks])) {
        remove_plain(db, items, (size_t)sqlite3_changes(db->handle), 0);
        return 0;
    }
    if (!db_insert(db, db->stmts[jobs])) {
        remove_plain(db, items, n, (size_t)sqlite3_changes(db->handle));
        return 0;
    }
    db_list_jobs(db, added, n);
    for (size_t i = 0; i < n; i++)
        count(writer, added[i]->lane, added[i]->state, 1);
    for (size_t i = 0; i < n && tagged; i++)
        tags_add_new(db, items[i]);
    return n;
}

void writer_add_rest(struct writer *writer)
{
    struct store_new **items = writer->plain;
    for (size_t i = 0, n; i < writer->plain_count && !writer->db.rc; i += n) {
        n = add_plain(writer, &items[i], writer->plain_count - i);
        if (!n) {
            items[i]->err = add_item(writer, items[i]);
            n = 1;
        }
    }
    writer->plain_count = 0;
}

// Plain items of operations that follow each other are put off, to be added together: who submits tasks one by one gains from it
// as who submits many at once. All else may speak of what was put off, and so comes behind it.
static void write_add(struct writer *writer, struct store_op *op)
{
    struct store_add *add = container_of(op, struct store_add, op);
    if (add->holder && is_fenced(writer, add->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < add->count && !writer->db.rc; i++) {
        bool plain = is_plain(&add->items[i]);
        if (!plain || writer->plain_count == DB_ROWS_MAX)
            writer_add_rest(writer);
        if (plain)
            writer->plain[writer->plain_count++] = &add->items[i];
        else
            add->items[i].err = add_item(writer, &add->items[i]);
    }
}

// ---- taking

static void claim_job(struct writer *writer, const struct store_claim *claim, struct job *job)
{
    count(writer, job->lane, job->state, -1);
    hands_claim(writer->db.hands, job, claim->holder, claim->now_ms);
    enum err err = job_claim(job, claim->holder, claim->now_ms);
    assert(!err);
    count(writer, job->lane, job->state, 1);
}

// What a lane may still give to a claim.
struct taking {
    struct store_claim *claim;
    const struct store_want *want;
    size_t left, bytes; // jobs; bytes of documents that were taken
};

// The job at hand has gone into the claim. False: there is no room for it, nor for any behind it.
static bool take_row(struct writer *writer, struct taking *taking, sqlite3_stmt *stmt)
{
    struct store_claim *claim = taking->claim;
    claim->jobs = store_push(&claim->op.arena, claim->jobs, claim->job_count, sizeof *claim->jobs);
    struct store_job *job = &claim->jobs[claim->job_count];
    int at = db_read_job(stmt, &job->job, &claim->op.arena);
    taking->bytes += (size_t)sqlite3_column_bytes(stmt, at);
    if (!store_want_fits(taking->want, taking->bytes, taking->left)) {
        sqlite3_reset(stmt);
        taking->left = 0;
        return false;
    }
    job->doc = db_bytes(stmt, at, &claim->op.arena);
    claim_job(writer, claim, &job->job);
    claim->job_count++;
    taking->left--;
    return true;
}

// Takes what it may at one place: all there are from a time on, to the last one that was read.
static void take_place(struct writer *writer, struct taking *taking, int64_t place)
{
    struct db *db = &writer->db;
    struct store_claim *claim = taking->claim;
    size_t first = claim->job_count, max = taking->left;
    int64_t from_ms = taking->want->from_ms;
    sqlite3_stmt *stmt = db_sql(db, SQL_WAITING, place, from_ms, claim->until_ms, max > INT32_MAX ? INT32_MAX : (int64_t)max);
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
    const struct cached_lane *lane = want->max ? lane_by_id(writer, want->lane) : NULL;
    struct taking taking = {claim, want, .left = lane && !lane->paused ? want->max : 0};
    int64_t place = want->lane * STORE_PLACES, due_at;
    for (; taking.left && db_next_place(&writer->db, want->lane, want->from_ms, &place, &due_at); place++)
        if (due_at <= claim->until_ms)
            take_place(writer, &taking, place);
    want->next_due = db_next_due(&writer->db, want->lane, want->from_ms);
}

static void write_claim(struct writer *writer, struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    if (is_fenced(writer, claim->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < claim->want_count && !writer->db.rc; i++)
        take_lane(writer, claim, &claim->wants[i]);
}

// ---- changing

static void keep_attempt(struct db *db, int64_t job_id, const struct attempt *attempt)
{
    sqlite3_stmt *stmt =
        db_sql(db, SQL_KEEP_ATTEMPT, job_id, attempt->number, attempt->status, attempt->outcome, attempt->picked_at,
               attempt->started_at, attempt->completed_at, attempt->holder, (int64_t)attempt->response_truncated);
    db_bind_bytes(stmt, 10, attempt->reason);
    db_bind_bytes(stmt, 11, attempt->response);
    db_run(db, stmt);
}

// A step was written: what follows for where the job is listed, and for the counters. Its lane and priority stay as they were.
static void follow_step(struct writer *writer, const struct job *was, const struct store_step *step)
{
    struct job is = *step->job;
    is.lane = was->lane;
    is.priority = was->priority;
    db_move_job(&writer->db, was, &is);
    if (was->state != is.state) {
        count(writer, was->lane, was->state, -1);
        count(writer, was->lane, is.state, 1);
    }
    if (step->attempt)
        keep_attempt(&writer->db, is.id, step->attempt);
}

// A job that is planned for another time is found at another place by the tags of its task.
static void change_record(struct db *db, const struct job *was, const struct store_step *step)
{
    bool moved = was->scheduled_at != step->job->scheduled_at;
    if (moved)
        tags_remove_job(db, was->id);
    db_change_job(db, step);
    if (moved)
        tags_add_job(db, was->id);
}

// By itself: whatever the step is about.
static enum err change_job(struct writer *writer, const struct store_step *step)
{
    struct job was;
    if (!db_standing(&writer->db, step->job->id, &was))
        return ERR_NOT_FOUND;
    if (!db_stands(&was, step))
        return ERR_LEASE_LOST;
    change_record(&writer->db, &was, step);
    follow_step(writer, &was, step);
    return ERR_OK;
}

// Is the record as it was decided on, and has nobody it in hand?
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
    db_move_job(db, &was, &is);
    count(writer, was.lane, was.state, -1);
    count(writer, lane, is.state, 1);
}

static void set_tags(struct db *db, const struct store_amend *amend)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_SET_TAGS, amend->task.id);
    tags_bind(stmt, 2, &amend->task);
    db_run(db, stmt);
    tags_add_task(db, amend->task.id);
}

// Nobody else writes: what was found standing stands until it is written.
static void write_amend(struct writer *writer, struct store_op *op)
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
    const struct cached_lane *lane = standing ? lane_by_name(writer, amend->task.tenant, amend->task.queue) : NULL;
    for (size_t i = 0; i < amend->count && standing; i++)
        standing = stands(db, &amend->steps[i], &was);
    if (!standing) {
        store_op_fail(op, ERR_LEASE_LOST, "the task or a job of it has changed meanwhile");
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

static enum err end_change(struct writer *writer, const struct change_row *row)
{
    if (row->fate == CHANGE_WIDE)
        return change_job(writer, row->step);
    if (row->fate != CHANGE_WRITTEN)
        return row->fate == CHANGE_LOST ? ERR_LEASE_LOST : ERR_NOT_FOUND;
    follow_step(writer, &row->was, row->step);
    return ERR_OK;
}

static void write_batch(struct writer *writer)
{
    struct change_batch *batch = &writer->db.batch;
    change_write(&writer->db);
    for (size_t i = 0; i < batch->count && !writer->db.rc; i++)
        batch->rows[i].step->err = end_change(writer, &batch->rows[i]);
    batch->count = 0;
}

static int compare_steps(const void *a, const void *b)
{
    struct store_step *const *left = a, *const *right = b;
    int64_t x = (*left)->job->id, y = (*right)->job->id;
    return x != y ? (x > y) - (x < y) : (*left > *right) - (*left < *right);
}

// By id: neighbours lie on the same pages. Of one job, the first step comes first, and each in a batch of its own.
static void write_change(struct writer *writer, struct store_op *op)
{
    struct store_change *change = container_of(op, struct store_change, op);
    struct change_batch *batch = &writer->db.batch;
    struct store_step **steps = arena_array(&op->arena, struct store_step *, change->count);
    for (size_t i = 0; i < change->count; i++)
        steps[i] = &change->steps[i];
    qsort(steps, change->count, sizeof *steps, compare_steps);
    for (size_t i = 0; i < change->count && !writer->db.rc; i++) {
        if (batch->count == DB_ROWS_MAX || (batch->count && steps[i - 1]->job->id == steps[i]->job->id))
            write_batch(writer);
        if (store_step_leased(steps[i])) {
            write_batch(writer);
            steps[i]->err = change_job(writer, steps[i]);
        } else {
            batch->rows[batch->count++].step = steps[i];
        }
    }
    if (!writer->db.rc)
        write_batch(writer);
    batch->count = 0;
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

// Up to one more than wanted from each place, sorted together.
static struct due_list collect_due(struct writer *writer, struct store_due *due)
{
    struct due_list list = {0};
    struct arena *arena = &due->op.arena;
    int64_t place = due->lane * STORE_PLACES, first, limit = due->max >= INT32_MAX ? INT32_MAX : (int64_t)due->max + 1;
    for (; db_next_place(&writer->db, due->lane, INT64_MIN, &place, &first); place++) {
        int64_t tie = due->from_ms + 1;
        if (tie <= due->to_ms)
            list_due(writer, &list, arena, db_sql(&writer->db, SQL_DUE_TIES, place, tie, due->from_id, limit));
        list_due(writer, &list, arena, db_sql(&writer->db, SQL_DUE_REST, place, tie, due->to_ms, limit));
    }
    if (list.count)
        qsort(list.jobs, list.count, sizeof *list.jobs, compare_due);
    return list;
}

// Looked up in the counters: otherwise every job that waits in the lane would be looked at.
static bool has_delayed(struct writer *writer, int64_t lane_id)
{
    const struct cached_lane *lane = lane_by_id(writer, lane_id);
    int64_t before = 0;
    db_found(&writer->db, db_sql(&writer->db, SQL_DELAYED, lane_id), &before);
    return lane && before + lane->moved[JOB_DELAYED] > 0;
}

static void promote(struct db *db, const struct due *jobs, size_t count)
{
    enum sql sql;
    for (size_t done = 0, n; done < count; done += n) {
        n = db_tier(count - done, 1, SQL_PROMOTE_1, &sql);
        for (size_t i = 0; i < n; i++)
            sqlite3_bind_int64(db->stmts[sql], (int)i + 1, jobs[done + i].id);
        db_run(db, db->stmts[sql]);
    }
}

static void write_due(struct writer *writer, struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    struct due_list list = {0};
    if (has_delayed(writer, due->lane))
        list = collect_due(writer, due);
    due->changed = list.count < due->max ? list.count : due->max;
    promote(&writer->db, list.jobs, due->changed);
    if (due->changed) {
        count(writer, due->lane, JOB_DELAYED, -(int)due->changed);
        count(writer, due->lane, JOB_READY, (int)due->changed);
    }
    if (due->changed == list.count) {
        due->upto_ms = due->to_ms;
        due->upto_id = 0;
    } else if (due->changed) {
        due->upto_ms = list.jobs[due->changed - 1].due_at - 1;
        due->upto_id = list.jobs[due->changed - 1].id;
    }
}

// ---- removing

struct purge {
    int64_t id, task_id, lane, scheduled_at;
    int state;
};

// What is removed, and until when the keys of tasks that go with it stay.
struct purges {
    struct arena *arena;
    struct purge *jobs;
    size_t count;
    int64_t keys_until;
    int64_t spent_at; // 0: retention removes them
};

static void list_purges(struct db *db, struct purges *purges, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt)) {
        purges->jobs = store_push(purges->arena, purges->jobs, purges->count, sizeof *purges->jobs);
        purges->jobs[purges->count++] = (struct purge){.id = sqlite3_column_int64(stmt, 0),
                                                       .task_id = sqlite3_column_int64(stmt, 1),
                                                       .lane = sqlite3_column_int64(stmt, 2),
                                                       .state = sqlite3_column_int(stmt, 3),
                                                       .scheduled_at = sqlite3_column_int64(stmt, 4)};
    }
}

// A task some of whose jobs go.
struct purged_task {
    int32_t tenant;
    struct str key;
    const char *tags; // as in its column
};

static bool find_purged(struct db *db, int64_t id, struct arena *arena, struct purged_task *ret_task)
{
    sqlite3_stmt *stmt = db_sql(db, SQL_TASK_KEY, id);
    if (!db_row(db, stmt))
        return false;
    *ret_task = (struct purged_task){.tenant = sqlite3_column_int(stmt, 0), .key = db_bytes(stmt, 1, arena)};
    const char *tags = (const char *)sqlite3_column_text(stmt, 2);
    if (tags)
        ret_task->tags = arena_copy(arena, (struct str){tags, strlen(tags) + 1}).p;
    db_end(stmt);
    return true;
}

// Its key outlives it for a while, and is listed as loose from now on.
static void remove_task(struct db *db, int64_t id, const struct purged_task *task, const struct purges *purges)
{
    if (task->key.n) {
        sqlite3_stmt *stmt = db_sql(db, SQL_LOOSEN_KEY, purges->keys_until, purges->spent_at, task->tenant);
        db_bind_text(stmt, 4, task->key);
        db_run(db, stmt);
    }
    if (task->tags)
        tags_remove_swept(db, task->tenant, task->tags, false, (struct store_key){0, id});
    db_run(db, db_sql(db, SQL_REMOVE_TASK, id));
}

static void remove_job(struct writer *writer, const struct purge *job, const struct purges *purges)
{
    struct db *db = &writer->db;
    struct purged_task task;
    int64_t one;
    db_run(db, db_sql(db, SQL_REMOVE_ATTEMPTS, job->id));
    db_run(db, db_sql(db, SQL_REMOVE_JOB, job->id));
    count(writer, job->lane, job->state, -1);
    if (!find_purged(db, job->task_id, purges->arena, &task))
        return;
    if (task.tags)
        tags_remove_swept(db, task.tenant, task.tags, true, (struct store_key){job->scheduled_at, job->id});
    if (!db_found(db, db_sql(db, SQL_TASK_HAS_JOB, job->task_id), &one))
        remove_task(db, job->task_id, &task, purges);
}

// The largest id that is removed is written down, so that no id is ever given out twice.
static void remove_jobs(struct writer *writer, const struct purges *purges)
{
    int64_t largest = 0;
    for (size_t i = 0; i < purges->count; i++) {
        remove_job(writer, &purges->jobs[i], purges);
        largest = time_max(largest, time_max(purges->jobs[i].id, purges->jobs[i].task_id));
    }
    if (purges->count)
        db_run(&writer->db, db_sql(&writer->db, SQL_SET_FLOOR, largest));
}

// What runs is in a hand, or has a lease: it leaves that, as if it had ended.
static void leave_hand(struct db *db, const struct purge *job)
{
    struct job was;
    if (job_state_held(job->state) && db_standing(db, job->id, &was))
        db_move_job(db, &was, &(struct job){.id = job->id, .state = JOB_CANCELLED});
}

// Does a job keep its task? A step that goes on looks only at the jobs that go with it.
static bool keeps_task(struct db *db, const struct store_remove *remove, const struct purges *purges)
{
    int64_t open;
    if (!remove->goes_on)
        return db_found(db, db_sql(db, SQL_TASK_HAS_OPEN, remove->task_id, store_remove_last(remove)), &open);
    for (size_t i = 0; i < purges->count; i++)
        if (purges->jobs[i].state <= (int)store_remove_last(remove))
            return true;
    return false;
}

static void write_remove(struct writer *writer, struct store_op *op)
{
    struct store_remove *remove = container_of(op, struct store_remove, op);
    struct db *db = &writer->db;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_TASK_VERSION, remove->task_id, remove->tenant), &version)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    struct purges purges = {.arena = &op->arena, .keys_until = remove->keys_until, .spent_at = remove->now_ms};
    list_purges(db, &purges, db_sql(db, SQL_TASK_JOBS, remove->task_id, (int64_t)remove->max + 1));
    bool more = purges.count > remove->max;
    purges.count -= more;
    if (version != remove->version || keeps_task(db, remove, &purges)) {
        store_op_fail(op, ERR_LEASE_LOST, "the task or a job of it has changed meanwhile");
        return;
    }
    remove->more = more;
    for (size_t i = 0; i < purges.count; i++)
        leave_hand(db, &purges.jobs[i]);
    remove_jobs(writer, &purges);
}

struct loose_key {
    int32_t tenant;
    struct str key;
};

static void remove_loose_keys(struct writer *writer, struct store_sweep *sweep, int64_t limit)
{
    struct db *db = &writer->db;
    struct loose_key *keys = NULL;
    size_t key_count = 0;
    sqlite3_stmt *stmt = db_sql(db, SQL_LOOSE_KEYS, sweep->now_ms, limit);
    while (db_row(db, stmt)) {
        keys = store_push(&sweep->op.arena, keys, key_count, sizeof *keys);
        keys[key_count++] = (struct loose_key){sqlite3_column_int(stmt, 0), db_bytes(stmt, 1, &sweep->op.arena)};
    }
    for (size_t i = 0; i < key_count; i++) {
        stmt = db_sql(db, SQL_REMOVE_KEY, keys[i].tenant);
        db_bind_text(stmt, 2, keys[i].key);
        db_run(db, stmt);
    }
}

static void write_sweep(struct writer *writer, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    struct purges purges = {.arena = &op->arena, .keys_until = sweep->keys_until};
    int64_t limit = sweep->max > INT32_MAX ? INT32_MAX : (int64_t)sweep->max;
    list_purges(&writer->db, &purges, db_sql(&writer->db, SQL_PURGE, sweep->now_ms, limit));
    remove_jobs(writer, &purges);
    remove_loose_keys(writer, sweep, limit);
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_SERIES, sweep->series_before, limit));
    db_run(&writer->db, db_sql(&writer->db, SQL_REMOVE_NEWS, sweep->news_before, limit));
    sweep->removed = purges.count;
}

static void write_bulk_row(struct db *db, const struct store_bulk_row *row)
{
#define X(name) , row->name
    sqlite3_stmt *stmt = db_sql(db, SQL_WRITE_BULK, row->id, row->tenant BULK_MOVING(X), row->next.at, row->next.id);
#undef X
    db_bind_bytes(stmt, sqlite3_bind_parameter_count(stmt), row->doc);
    db_run(db, stmt);
}

static void write_bulk(struct writer *writer, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    struct db *db = &writer->db;
    int64_t version;
    if (!db_found(db, db_sql(db, SQL_BULK_VERSION, bulk->row.id), &version))
        version = 0;
    if (version == bulk->row.version)
        write_bulk_row(db, &bulk->row);
    else
        store_op_fail(op, ERR_LEASE_LOST, "the bulk has changed meanwhile");
    db_run(db, db_sql(db, SQL_FORGET_BULKS, bulk->forget_before));
}

// ---- what is counted and told

static void write_tally(struct writer *writer, struct store_op *op)
{
    const struct store_minute *minute = &container_of(op, struct store_tally, op)->minute;
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_TALLY, minute->tenant, minute->at, minute->source);
    db_bind_bytes(stmt, 4, minute->doc);
    db_run(&writer->db, stmt);
}

static void write_tell(struct writer *writer, struct store_op *op)
{
    const struct store_tell *tell = container_of(op, struct store_tell, op);
    sqlite3_stmt *stmt = db_sql(&writer->db, SQL_TELL, tell->news.source, tell->news.number, tell->now_ms);
    db_bind_bytes(stmt, 4, tell->news.doc);
    db_run(&writer->db, stmt);
}

void (*const sqlite_writes[STORE_VERB_COUNT])(struct writer *writer, struct store_op *op) = {
    [STORE_JOIN] = write_join,     [STORE_BEAT] = write_beat,     [STORE_BURY] = write_bury,   [STORE_FORGET] = write_forget,
    [STORE_DIVIDE] = write_divide, [STORE_ASK] = write_ask,       [STORE_ASKED] = write_asked, [STORE_ADD] = write_add,
    [STORE_CLAIM] = write_claim,   [STORE_CHANGE] = write_change, [STORE_AMEND] = write_amend, [STORE_BULK] = write_bulk,
    [STORE_DUE] = write_due,       [STORE_PAUSE] = write_pause,   [STORE_SWEEP] = write_sweep, [STORE_TALLY] = write_tally,
    [STORE_TELL] = write_tell,     [STORE_REMOVE] = write_remove, [STORE_DROP] = write_drop,
};
