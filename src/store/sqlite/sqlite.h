// What the files of the SQLite backend share: a connection with its prepared statements, and the verbs.
// Layer: port, private to store_sqlite*.c. A connection belongs to one thread.
#pragma once
#include "base/map.h"
#include "store/store_desk.h"
#include "store/store_private.h"

#include <sqlite3.h>
#include <sys/stat.h>

enum sql {
    SQL_BEGIN,
    SQL_BEGIN_READ,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_FLOOR,
    SQL_SET_FLOOR,
    SQL_SECRET,
    SQL_SET_SECRET,
    SQL_INCARNATION,
    SQL_INCARNATIONS,
    SQL_NODES,
    SQL_ADD_INCARNATION,
    SQL_BEAT,
    SQL_COUNT_BEAT,
    SQL_BURY,
    SQL_FORGET,
    SQL_TERM,
    SQL_SET_TERM,
    SQL_OWNERS,
    SQL_ADD_OWNER,
    SQL_REMOVE_OWNERS,
    SQL_ASK,
    SQL_ASKED,
    SQL_REMOVE_ASK,
    SQL_REMOVE_ASKS,
    SQL_LANE_BY_NAME,
    SQL_LANE_BY_ID,
    SQL_ADD_LANE,
    SQL_PAUSE_LANE,
    SQL_DROP_LANE,
    SQL_OPEN,
    SQL_COUNT_UP_1,
    SQL_COUNT_UP_4,
    SQL_COUNT_UP_16,
    SQL_COUNT_UP_64,
    SQL_DELAYED,
    SQL_KEY,
    SQL_ADD_KEY,
    SQL_LOOSEN_KEY,
    SQL_LOOSE_KEYS,
    SQL_REMOVE_KEY,
    SQL_TASK_LANE,
    SQL_TASK_KEY,
    SQL_TASK_JOBS,
    SQL_ADD_TASK,
    SQL_ADD_TASKS_4, // in the order of DB_TIERS, as all that end in numbers
    SQL_ADD_TASKS_16,
    SQL_ADD_TASKS_64,
    SQL_ADD_TAGGED_4,
    SQL_ADD_TAGGED_16,
    SQL_ADD_TAGGED_64,
    SQL_ADD_TAGS_1,
    SQL_ADD_TAGS_4,
    SQL_ADD_TAGS_16,
    SQL_ADD_TAGS_64,
    SQL_REMOVE_TAG,
    SQL_SET_TAGS,
    SQL_TAGS_OF_JOB,
    SQL_TIMES_OF_TASK,
    SQL_TASK_VERSION,
    SQL_TASK_HAS_OPEN,
    SQL_AMEND_TASK,
    SQL_MOVE_JOB,
    SQL_REMOVE_TASK,
    SQL_ADD_JOB,
    SQL_ADD_JOBS_4,
    SQL_ADD_JOBS_16,
    SQL_ADD_JOBS_64,
    SQL_REMOVE_JOB,
    SQL_TASK_HAS_JOB,
    SQL_WAIT_1,
    SQL_WAIT_4,
    SQL_WAIT_16,
    SQL_WAIT_64,
    SQL_WAIT_NO_MORE,
    SQL_HANDS,
    SQL_LOG_HANDS,
    SQL_CLEAR_HANDS,
    SQL_NEXT_PLACE,
    SQL_NEXT_DUE,
    SQL_WAITING,
    SQL_TAKE,
    SQL_STANDING,
    SQL_CHANGE_1,
    SQL_CHANGE_4,
    SQL_CHANGE_16,
    SQL_CHANGE_64,
    SQL_CHANGE_ALL,
    SQL_CHANGE_LEASED,
    SQL_KEEP_ATTEMPT,
    SQL_REMOVE_ATTEMPTS,
    SQL_DUE_TIES,
    SQL_DUE_REST,
    SQL_PROMOTE_1,
    SQL_PROMOTE_4,
    SQL_PROMOTE_16,
    SQL_PROMOTE_64,
    SQL_PURGE,
    SQL_HELD,
    SQL_EXPIRED,
    SQL_LAPSED,
    SQL_AHEAD,
    SQL_LANES,
    SQL_LANES_OF,
    SQL_COUNTS,
    SQL_COUNTS_OF,
    SQL_GET_TASK,
    SQL_GET_JOB,
    SQL_GET_JOBS,
    SQL_GET_ATTEMPTS,
    SQL_BULK,
    SQL_BULKS,
    SQL_BULK_VERSION,
    SQL_WRITE_BULK,
    SQL_FORGET_BULKS,
    SQL_LIST_TASKS,
    SQL_LIST_JOBS,
    SQL_LIST_FAILED,
    SQL_LIST_OF_TASK,
    SQL_LIST_TAGGED_TASKS,
    SQL_LIST_TAGGED_JOBS,
    SQL_LIST_ONE_TASK,
    SQL_COUNT_TAGGED,
    SQL_COUNT_FAILED,
    SQL_HAS_TAG,
    SQL_TASK_NAMED,
    SQL_TALLY,
    SQL_SERIES,
    SQL_REMOVE_SERIES,
    SQL_TELL,
    SQL_SOURCES,
    SQL_HEAR,
    SQL_REMOVE_NEWS,
    SQL_TOTAL
};

// The members of a job, cut otherwise: what a new one has, and what is 0 in it; what a usual step writes, and what it keeps.
// Most of those it keeps are in indexes, where writing the same again would cost as much as writing something else.
// clang-format off
#define JOB_NEW(X) \
    X(task_id) X(tenant) X(lane) X(priority) X(nominal_at) X(state) X(token) X(holder) X(due_at) X(ready_at) X(scheduled_at) \
    X(expires_at) X(picked_at)
#define JOB_NEW_ZERO(X) \
    X(parent_id) X(purge_at) X(started_at) X(completed_at) X(attempts) X(retries) X(losses) X(status) X(outcome) X(late_stage) \
    X(response_truncated)
#define JOB_CHANGED(X) \
    X(state) X(token) X(holder) X(purge_at) X(picked_at) X(started_at) X(completed_at) X(attempts) X(retries) X(losses) X(status) \
    X(outcome) X(late_stage) X(response_truncated)
#define JOB_KEPT(X) X(due_at) X(ready_at) X(scheduled_at) X(expires_at)
// clang-format on
#define STORE_ONE(name) +1
enum {
    JOB_NEW_MEMBERS = 0 JOB_NEW(STORE_ONE) JOB_NEW_ZERO(STORE_ONE),
    JOB_STEP_MEMBERS = 0 JOB_CHANGED(STORE_ONE) JOB_KEPT(STORE_ONE),
    JOB_FIXED_MEMBERS = 0 JOB_FIXED(STORE_ONE),
    JOB_MOVING_MEMBERS = 0 JOB_MOVING(STORE_ONE),
};
_Static_assert((int)JOB_NEW_MEMBERS == (int)JOB_FIXED_MEMBERS + (int)JOB_MOVING_MEMBERS, "none is missing");
_Static_assert((int)JOB_STEP_MEMBERS == (int)JOB_MOVING_MEMBERS, "none is missing");
#undef STORE_ONE

// A statement costs as much as the row it writes, so rows are written by statements that take many: there is one for each of
// these counts. What is left is written by smaller ones.
enum { DB_TIERS = 4, DB_ROWS_MAX = 64 };
enum { DB_SOMEBODY = 1 }; // in place of the holder, where it does not matter who it is

// One step of those that are written by one statement, and what became of it.
struct change_row {
    struct store_step *step;
    enum { CHANGE_ABSENT, CHANGE_LOST, CHANGE_WIDE, CHANGE_WRITTEN } fate;
    struct job was; // of the record that was found: what says where it is listed
};

struct change_batch {
    struct change_row rows[DB_ROWS_MAX]; // by id, no two alike
    size_t count;
    size_t at; // the one that was asked for last
};

// What is in whose hand: sqlite/hands.c. The writer changes it, the reader looks at it.
struct hands {
    struct map moved;     // the writer's: what this transaction takes in hand and lets go
    size_t logged;        // the writer's: how many entries the log has,
    size_t logged_then;   // and will have when this transaction is committed
    struct list *spare;   // the writer's: a stack
    pthread_mutex_t lock; // what follows is changed only under it; the map and the list only by the writer
    struct map by_id;
    struct list gone; // was let go while a read was under way
    int64_t reads_begun, reads_ended;
};

// The first failure sticks in `rc` and makes everything behind it do nothing, so a verb reads as if nothing could fail and
// whoever ends the transaction looks once.
struct db {
    sqlite3 *handle;
    sqlite3_stmt *stmts[SQL_TOTAL];
    int rc;           // extended result code, SQLITE_OK while all is well
    int system_error; // the errno behind it, if a write failed
    char why[ERR_WHY_MAX];
    struct change_batch batch; // the writer's: what SQL_CHANGE_… asks while it runs
    struct hands *hands;
};

enum { DB_PAGE_BYTES = 4096 }; // SQLite's default

enum db_role {
    DB_READS,
    DB_WRITES, // and makes or checks the schema
    DB_MOVES,  // has no statements
};

// Opens DIR/rota.db, sets its pragmas and sees that they took. Then makes or checks the schema, if it writes, and prepares
// everything.
err_check enum err db_open(struct db *db, const char *path, struct hands *hands, enum db_role role, char why[ERR_WHY_MAX]);
err_check enum err db_prepare(struct db *db, enum db_role role, char why[ERR_WHY_MAX]);
bool db_ask_number(struct db *db, const char *sql, int64_t *ret_number); // before there are statements; false: no answer
void db_close(struct db *db);

void db_note(struct db *db, int rc);          // remembers the first failure
enum err db_err_of(int rc, int system_error); // what a failure is to who asked: a full disk, or another
enum err db_err(const struct db *db);         // what the first one is
void db_die_if_fsync_failed(const struct db *db, bool in_commit);
_Noreturn void db_die(const char *words, const char *why);                               // the disk is not to be trusted
sqlite3_stmt *db_with(struct db *db, enum sql sql, size_t count, const int64_t *values); // with its first parameters bound
#define db_sql(db, sql, ...) db_with((db), (sql), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})
bool db_row(struct db *db, sqlite3_stmt *stmt);    // steps; false at the end, where the statement is reset
void db_run(struct db *db, sqlite3_stmt *stmt);    // steps to the end
bool db_insert(struct db *db, sqlite3_stmt *stmt); // as db_run; false when a row with this key is there already
void db_end(sqlite3_stmt *stmt);                   // resets before the end
bool db_found(struct db *db, sqlite3_stmt *stmt, int64_t *ret_value); // first column of the first row, if there is one

void db_bind_bytes(sqlite3_stmt *stmt, int at, struct str bytes); // not copied; must live until the statement is reset
void db_bind_text(sqlite3_stmt *stmt, int at, struct str text);
struct str db_bytes(sqlite3_stmt *stmt, int at, struct arena *arena);

// A job's columns from the first on; returns the column behind them. Of one that was claimed they are as they were before; who
// may meet such takes db_read_seen_job(), on the reader's thread, and sees what the claim has made of it.
int db_read_job(sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena);
int db_read_seen_job(struct db *db, sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena);
// The same without its texts, which may be large, for who has to decide first whether the job is wanted.
void db_read_seen_numbers(struct db *db, sqlite3_stmt *stmt, struct job *ret_job);
void db_add_job(struct db *db, const struct job *job, bool *ret_added);
bool db_job_is_new(const struct job *job); // it is as all are that have never been claimed or ended
void db_bind_new_job(sqlite3_stmt *stmt, size_t row, const struct job *job); // of SQL_ADD_JOBS_…, which are for such
// Of a record, only what a step depends on and what says where it is listed. False: there is none.
bool db_standing(struct db *db, int64_t id, struct job *ret_was);
bool db_stands(const struct job *was, const struct store_step *step);
// The columns of a lease, from `at` on: they lie behind those of a job where they are read at all.
int db_read_lease(sqlite3_stmt *stmt, int at, struct job *job, struct arena *arena);
void db_change_job(struct db *db, const struct store_step *step);

// Where jobs are found, besides by their ids: in `waiting` or in a hand, as store_place() says. Up to DB_ROWS_MAX of them.
void db_list_jobs(struct db *db, const struct job *const *jobs, size_t count);
void db_move_job(struct db *db, const struct job *from, const struct job *to); // was listed as `from`

// How many of `left` rows the largest fitting statement takes, of those that begin with that for `least` rows. 0: none fits.
size_t db_tier(size_t left, size_t least, enum sql first, enum sql *ret_sql);

// sqlite/tags.c: what tasks and jobs are found by, in the table `tags`. A task that has no tags is not in it, and nothing
// is done for it.
err_check enum err tags_prepare(struct db *db, char why[ERR_WHY_MAX]);     // before the schema is brought up to date
void tags_bind(sqlite3_stmt *stmt, int at, const struct store_task *task); // the column of a task
void tags_add_new(struct db *db, const struct store_new *item);            // a task and its jobs, which were added
// A job whose record is there, at the time it has: added to its task; about to be moved, and moved.
void tags_add_job(struct db *db, int64_t id);
void tags_remove_job(struct db *db, int64_t id);
// Of a task and all its jobs, with the tags and at the times they have: about to be changed, and changed.
void tags_add_task(struct db *db, int64_t id);
void tags_remove_task(struct db *db, int64_t id);
// Of a task or a job that is no more, with the tags that its task had, as they were in its column.
void tags_remove_swept(struct db *db, int32_t tenant, const char *tags, bool job, struct store_key key);

// sqlite/change.c
err_check enum err change_prepare(struct db *db, char why[ERR_WHY_MAX]); // before statements are prepared
// Writes the steps of db->batch whose record stands and keeps its times, and says of each what became of it.
void change_write(struct db *db);

// sqlite/hands.c
void hands_init(struct hands *hands);
void hands_done(struct hands *hands);
err_check enum err hands_prepare(struct db *db, char why[ERR_WHY_MAX]); // before the schema is brought up to date
void hands_load(struct hands *hands, struct db *db);                    // from the log, before there are threads
// The writer's. A transaction sees what it has done itself.
void hands_claim(struct hands *hands, const struct job *job, int64_t holder,
                 int64_t now_ms);                            // the record as it stays until it is written
void hands_hold(struct hands *hands, const struct job *job); // the record says it
void hands_let_go(struct hands *hands, int64_t id);
bool hands_holds(const struct hands *hands, const struct job *job); // its holder has it
bool hands_has(const struct hands *hands, int64_t holder);
void hands_see_now(const struct hands *hands, struct job *job); // what a claim has made of the record
void hands_write(struct hands *hands, struct db *db);           // before COMMIT
void hands_commit(struct hands *hands);                         // behind it
void hands_roll_back(struct hands *hands);
// The reader's.
void hands_begin_read(struct hands *hands);
void hands_end_read(struct hands *hands);
void hands_see(struct hands *hands, struct job *job); // the same, for who looks at the database as it was when the read began
// Ids by size, behind one. Some may be in that hand no more: their records say so.
int64_t *hands_of(struct hands *hands, int64_t holder, int64_t after_id, struct arena *arena, size_t *ret_count);

int64_t db_next_due(struct db *db, int64_t lane, int64_t from_ms); // of what waits in the lane and is due from then on
// The first place from `place` on where something of the lane waits that is due from then on, and when it is.
bool db_next_place(struct db *db, int64_t lane, int64_t from_ms, int64_t *place, int64_t *ret_due_at);

// The writer's side. What it remembers of lanes is read when first needed and thrown away on a rollback.
struct writer {
    struct db db;
    struct map lanes_by_id, lanes_by_name;
    struct cached_lane *dirty;            // those whose counters moved in this transaction
    int64_t totals[JOB_STATE_COUNT];      // how the counters of all lanes moved in it
    int64_t live_holder;                  // an incarnation known to be alive, or 0
    int64_t beats, beats_then;            // the number of the last beat; that of this transaction, or 0
    struct store_new *plain[DB_ROWS_MAX]; // items of this transaction that are still to be added, by one statement
    size_t plain_count;
};

// sqlite/files.c. Set before there are threads.
enum files_name { FILES_DATABASE, FILES_WAL, FILES_COUNT };

struct files {
    char dir[4096];
    int dir_fd, lock_fd; // both locked
    struct stat known[FILES_COUNT];
};

void files_init(struct files *files);
err_check enum err files_open(struct files *files, const char *dir, char why[ERR_WHY_MAX]); // makes the directory; ERR_BUSY
err_check enum err files_know(struct files *files, char why[ERR_WHY_MAX]); // which ones they are, once all are open
bool files_in_place(const struct files *files, char why[ERR_WHY_MAX]);     // the paths still lead to them
bool files_hold_database(const struct files *files); // the directory that was opened still has it, wherever that is now
void files_close(struct files *files);

// Where the WAL ends, as its index says.
enum { EXTENT_SALT_BYTES = 8 };

struct wal_end {
    uint8_t salt[EXTENT_SALT_BYTES]; // another one each time the WAL is begun anew
    int64_t frames;                  // up to the last commit
};

// sqlite/extent.c. The note as it is in the file; none of its members is more than is on the disk.
#define EXTENT_MAGIC "rota 1\n" // eight bytes with its NUL

struct extent_note {
    char magic[8];
    int64_t bytes; // of the database
    int64_t beats; // the last one in it
    uint8_t salt[EXTENT_SALT_BYTES];
    int64_t frames;  // of the WAL; 0: nothing is known of it
    int64_t unmoved; // of these, may not be in the database
    uint64_t sum;
};

struct extent {
    const char *dir;
    int fd;
    struct extent_note note;               // the writer's
    uint8_t salt_found[EXTENT_SALT_BYTES]; // at the start
};

void extent_init(struct extent *extent);
// Reads the note and compares it: with the files before the database is opened, and with what SQLite has recovered of them.
err_check enum err extent_open(struct extent *extent, const struct files *files, char why[ERR_WHY_MAX]);
err_check enum err extent_check(struct extent *extent, struct db *db, char why[ERR_WHY_MAX]);
void extent_commit(struct extent *extent, const struct wal_end *end, int64_t unmoved, int64_t beats); // behind one
void extent_move(struct extent *extent, int64_t bytes); // all of the WAL is in the database, which is so large
bool extent_forget_wal(struct extent *extent);          // before it is truncated, which may be done only if this is true
void extent_close(struct extent *extent);

// sqlite/wal.c. All but `mover` and `closing` (under the lock) and `db` (the mover's) is the writer's.
struct wal {
    enum wal_mover { WAL_RESTS, WAL_MOVING, WAL_MOVED } mover; // the writer asks it to move, and moves the rest behind it
    bool closing;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    struct db db;
    struct db *writer;
    struct extent *extent;
    bool committed;   // there was a commit in this life: the whole WAL is synced
    int pages, moved; // in the WAL; of these, in the database, too
    int most;         // that it ever had
    int next;         // it is to be moved when it has more than these
};

err_check enum err wal_start(struct wal *wal, struct db *writer, struct extent *extent, const char *path, char why[ERR_WHY_MAX]);
int wal_find_end(struct db *db, struct wal_end *ret_end);
bool wal_is_whole(struct wal *wal);            // nobody has cut it or the database short
void wal_note(struct wal *wal, int64_t beats); // after a commit: how far it has come
void wal_close(struct wal *wal, bool moves);   // leaves an empty WAL, if it moves it; may be called again
int wal_unmoved(const struct wal *wal);
void wal_keep_short(struct wal *wal); // after a commit
void wal_empty(struct wal *wal);      // when nobody is waiting
void wal_cut_off(struct wal *wal);    // after a rollback, before anybody is told of it: what it wrote into the WAL

// What makes copies, on a thread of its own.
struct backup {
    struct desk desk;
    pthread_mutex_t lock;
    sqlite3 *handle; // under lock: the one that is at it, or NULL
    bool closing;    // under lock
    const struct files *files;
};

void backup_init(struct backup *backup);
void backup_start(struct backup *backup, const struct files *files);
void backup_close(struct backup *backup); // breaks off what is being made; returns when its thread has ended
void backup_done(struct backup *backup);

extern void (*const sqlite_writes[STORE_VERB_COUNT])(struct writer *writer, struct store_op *op); // NULL: a read
extern void (*const sqlite_reads[STORE_VERB_COUNT])(struct db *db, struct store_op *op);          // NULL: a write

void writer_add_rest(struct writer *writer); // before any other verb than STORE_ADD, and before COMMIT: what it has put off
void writer_flush(struct writer *writer);    // before COMMIT: what the transaction counted
void writer_settle(struct writer *writer);   // after COMMIT
void writer_forget(struct writer *writer);   // after ROLLBACK, and at the end
