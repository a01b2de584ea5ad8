// What the verbs of the SQLite backend share: the writer, what it remembers of lanes, and the verbs themselves.
// Layer: port, private to this folder.
#pragma once
#include "store/sqlite/db.h"

// The writer's side. What it remembers of lanes is read when first needed and thrown away on a rollback.
struct writer {
    struct db db;
    struct map lanes_by_id, lanes_by_name;
    struct cached_lane *dirty;                   // those whose counters moved in this transaction
    int64_t totals[JOB_STATE_COUNT];             // how the counters of all lanes moved in it
    int64_t live_holder;                         // an incarnation known to be alive, or 0
    int64_t beats, beats_then;                   // the number of the last beat; that of this transaction, or 0
    struct store_new *plain[STATEMENT_ROWS_MAX]; // items of this transaction that are still to be added, by one statement
    size_t plain_count;
};

// ---- sqlite/write.c and sqlite/read.c: which function carries out a verb

extern void (*const sqlite_writes[STORE_VERB_COUNT])(struct writer *writer, struct store_op *op); // NULL: a read
extern void (*const sqlite_reads[STORE_VERB_COUNT])(struct db *db, struct store_op *op);          // NULL: a write

void writer_flush(struct writer *writer);  // before COMMIT: what the transaction counted
void writer_settle(struct writer *writer); // after COMMIT
void writer_forget(struct writer *writer); // after ROLLBACK, and at the end

// ---- sqlite/lane.c

struct cached_lane {
    int64_t id;
    int32_t tenant;
    enum target_dispatch dispatch;
    bool paused, dropped, dirty;
    struct cached_lane *next_named; // of the same hash
    struct cached_lane *next_dirty;
    int64_t moved[JOB_STATE_COUNT]; // in this transaction
    struct str queue;
    char bytes[];
};

struct cached_lane *lane_get(struct writer *writer, int64_t id); // NULL: there is no such lane, or SQLite failed
// Makes the lane if need be. NULL only when SQLite failed.
struct cached_lane *lane_of_task(struct writer *writer, const struct store_task *task);
// Counts so many jobs of the lane more (or fewer) in the state.
void lane_count(struct writer *writer, int64_t lane_id, int state, int by);
void lane_flush(struct writer *writer);  // before COMMIT: writes what was counted
void lane_settle(struct writer *writer); // after COMMIT: forgets them when they have become too many
void lane_forget(struct writer *writer);
void lane_pause(struct writer *writer, struct store_op *op);
void lane_drop(struct writer *writer, struct store_op *op);
// The lanes that a queue has; returns how many.
size_t lane_ids_of_queue(struct db *db, int32_t tenant, struct str queue, int64_t ret_ids[TARGET_DISPATCH_COUNT]);
void lane_read(struct db *db, struct store_op *op);
void lane_stats(struct db *db, struct store_op *op);

// ---- sqlite/lives.c

struct incarnation {
    bool known, dead;
    int node;
    int64_t beat;
};

struct incarnation lives_find(struct db *db, int64_t id);
bool lives_is_fenced(struct writer *writer, int64_t holder); // it was declared dead, or is unknown
void lives_join(struct writer *writer, struct store_op *op);
void lives_beat(struct writer *writer, struct store_op *op);
void lives_bury(struct writer *writer, struct store_op *op);
void lives_forget(struct writer *writer, struct store_op *op);

// ---- sqlite/peers.c

void peers_divide(struct writer *writer, struct store_op *op);
void peers_request(struct writer *writer, struct store_op *op);
void peers_requests(struct writer *writer, struct store_op *op);
void peers_tzdata(struct writer *writer, struct store_op *op);
void peers_owners(struct db *db, struct store_op *op);

// ---- sqlite/plans.c

err_check enum err plans_prepare(struct db *db, char why[ERR_WHY_MAX]); // before statements are prepared
// Reads the plan of a task from the column `at` on; NULL: it has none.
const struct plan *plans_read(sqlite3_stmt *stmt, int at, const struct store_task *task, struct arena *arena);
// The task that has reserved the name; 0: none has.
int64_t plans_find_reserved(struct db *db, int32_t tenant, struct str name, bool *ret_owes);
// The plan of a new task takes over the name that it reserves. The arena has what is written until the statement was run.
void plans_add(struct db *db, const struct store_task *task, bool jobless, struct arena *arena);
bool plans_stand(struct db *db, const struct store_task *task); // with the revision that was read, if there is one
void plans_amend(struct db *db, const struct store_task *task, struct arena *arena); // once the task and its new jobs are written
void plans_count(struct db *db, const struct job *job);                              // which has ended
void plans_write(struct writer *writer, struct store_op *op);
void plans_list(struct db *db, struct store_op *op);

// ---- sqlite/add.c

// Adds jobs to a lane, lists and counts them: all, or none if an id is taken already (ERR_INTERNAL).
err_check enum err add_jobs(struct writer *writer, struct job *jobs, size_t count, int64_t lane);
// Adds the first of jobs that have never been claimed, as many as go into one statement (SQL_ADD_JOBS, SQL_ADD_PLANNED), and
// returns how many these are. Their lanes are filled in. 0: the first has to be added by itself, because there are too few, or
// because an id is taken already.
size_t add_new_jobs(struct writer *writer, enum sql sql, struct job *const *jobs, size_t left);
void add_items(struct writer *writer, struct store_op *op);
void add_rest(struct writer *writer); // before any other verb than STORE_ADD, and before COMMIT: what it has put off

// ---- sqlite/waiting.c

// Lists jobs where store_place() says: in `waiting`, or in the hand of their holder. Up to STATEMENT_ROWS_MAX of them.
void waiting_list(struct db *db, const struct job *const *jobs, size_t count);
void waiting_move(struct db *db, const struct job *from, const struct job *to); // the job was listed as `from`
int64_t waiting_next_due(struct db *db, int64_t lane, int64_t from_ms); // of what waits in the lane and is due from then on
void waiting_claim(struct writer *writer, struct store_op *op);
void waiting_promote(struct writer *writer, struct store_op *op);
void waiting_ahead(struct db *db, struct store_op *op);

// ---- sqlite/change.c, amend.c, remove.c

err_check enum err change_prepare(struct db *db, char why[ERR_WHY_MAX]);                 // before statements are prepared
void change_record(struct db *db, const struct job *was, const struct store_step *step); // and where its tags find it
void change_steps(struct writer *writer, struct store_op *op);
void amend_task(struct writer *writer, struct store_op *op);
void remove_deleted(struct writer *writer, struct store_op *op);
void remove_swept(struct writer *writer, struct store_op *op);

// ---- sqlite/tags.c

// What tasks and jobs are found by, in the table `tags`. A task that has no tags is not in it, and nothing
// is done for it.
err_check enum err tags_prepare(struct db *db, char why[ERR_WHY_MAX]);     // before the schema is brought up to date
void tags_bind(sqlite3_stmt *stmt, int at, const struct store_task *task); // the column of a task
void tags_add_new(struct db *db, const struct store_new *item);            // a task and its jobs, which were added
// Adds or removes the tags of one job, at the time that its record has: when it was added to its task, and around a step that
// moves it to another time.
void tags_add_planned(struct db *db, const char *tags, const struct job *job); // as in the column of its task
void tags_add_job(struct db *db, int64_t id);
void tags_remove_job(struct db *db, int64_t id);
// Adds or removes the tags of a task and all its jobs, with the tags and at the times they have: around a change of the task.
void tags_add_task(struct db *db, int64_t id);
void tags_remove_task(struct db *db, int64_t id);
// Removes the tags of a task or a job that is no more. `tags` is the column as its task had it.
void tags_remove_swept(struct db *db, int32_t tenant, const char *tags, bool job, struct store_cursor key);

// ---- sqlite/journal.c

void journal_bulk(struct writer *writer, struct store_op *op);
void journal_bulks(struct db *db, struct store_op *op);
void journal_minute(struct writer *writer, struct store_op *op);
void journal_series(struct db *db, struct store_op *op);
void journal_relay(struct writer *writer, struct store_op *op);
void journal_events(struct db *db, struct store_op *op);

// ---- sqlite/get.c and sqlite/list.c

bool get_find_task(struct db *db, int64_t id, int32_t tenant, struct arena *arena, struct store_task *ret_task);
void get_push_job(struct db *db, sqlite3_stmt *stmt, struct store_get *get);  // adds the job of this row
void get_push_jobs(struct db *db, struct store_get *get, sqlite3_stmt *stmt); // adds the jobs of all rows
void get_push_attempts(struct db *db, struct store_get *get, int64_t job_id, bool responses);
void get_read(struct db *db, struct store_op *op);
void list_read(struct db *db, struct store_op *op);
void list_upcoming(struct db *db, struct store_op *op);
