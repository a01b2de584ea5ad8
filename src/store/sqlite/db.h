// A connection to the database with its prepared statements (sqlite/db.c), and records on their way in and out
// (sqlite/records.c).
// Layer: port, private to this folder. A connection belongs to one thread.
#pragma once
#include "store/sqlite/claims.h"
#include "store/sqlite/statements.h"
#include "store/store_private.h"

#include <sqlite3.h>

enum { DB_SOMEBODY = 1 }; // in place of the holder, where it does not matter who it is

// One of the steps that a statement writes, and what became of it.
struct change_row {
    struct store_step *step;
    enum { CHANGE_ABSENT, CHANGE_LOST, CHANGE_WIDE, CHANGE_WRITTEN } fate;
    struct job was; // of the record that was found: what says where it is listed
};

struct change_batch {
    struct change_row rows[STATEMENT_ROWS_MAX]; // by id, no two alike
    size_t count;
    size_t at; // the one that was asked for last
};

// The first failure sticks in `rc`, and makes everything behind it do nothing. So a verb reads as if nothing could fail, and the
// code that ends the transaction looks once.
struct db {
    sqlite3 *handle;
    sqlite3_stmt *stmts[SQL_TOTAL][STATEMENT_SIZES]; // NULL: it is not prepared for so many rows
    int rc;                                          // extended result code, SQLITE_OK while all is well
    int system_error;                                // the errno behind it, if a write failed
    char why[ERR_WHY_MAX];
    struct change_batch batch; // the writer's: what SQL_CHANGE asks while it runs
    struct claims *claims;
};

enum { DB_PAGE_BYTES = 4096 }; // SQLite's default

enum db_role {
    DB_READS,
    DB_WRITES, // and makes or checks the schema
};

// db_open() opens DIR/rota.db, sets its pragmas and sees that they took. db_prepare() makes or checks the schema, if the
// connection writes, and prepares its statements.
err_check enum err db_open(struct db *db, const char *path, struct claims *claims, enum db_role role, char why[ERR_WHY_MAX]);
err_check enum err db_prepare(struct db *db, enum db_role role, char why[ERR_WHY_MAX]);
bool db_ask(sqlite3 *handle, const char *sql, char ret_answer[64]); // the first column of the first row; false: there is none
err_check enum err db_fail(sqlite3 *handle, const char *doing, char why[ERR_WHY_MAX]); // says in `why` what SQLite says
bool db_ask_number(struct db *db, const char *sql, int64_t *ret_number); // before there are statements; false: no answer
void db_close(struct db *db);

void db_note(struct db *db, int rc);          // remembers the first failure
enum err db_err_of(int rc, int system_error); // the error that callers get for a failure: a full disk, or another
enum err db_err(const struct db *db);         // what the first one is
void db_die_if_fsync_failed(const struct db *db, bool in_commit);
_Noreturn void db_die(const char *words, const char *why); // the disk is not to be trusted
static inline sqlite3_stmt *db_stmt(struct db *db, enum sql sql)
{
    return db->stmts[sql][0];
}

// Binds numbers from the first parameter on.
static inline void db_bind_numbers(sqlite3_stmt *stmt, size_t count, const int64_t *values)
{
    for (size_t i = 0; i < count; i++)
        sqlite3_bind_int64(stmt, (int)i + 1, values[i]);
}

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
struct str db_bytes_of(sqlite3_stmt *stmt, int at, size_t size, struct arena *arena); // the same, where the size is known

// Finds the statement for the largest number of rows that is not more than `left`, and returns that number. 0: it is prepared for
// none so small.
size_t db_for_rows(struct db *db, enum sql sql, size_t left, sqlite3_stmt **ret_stmt);
// Runs the statement for all rows, each of which has `width` numbers.
void db_run_rows(struct db *db, enum sql sql, size_t count, size_t width, const int64_t *values);

// ---- sqlite/schema.c

err_check enum err schema_bring_up_to_date(sqlite3 *handle, char why[ERR_WHY_MAX]); // and makes it, in an empty database

// ---- sqlite/records.c

// Reads a job from the first column on, and returns the column behind it. A job that was claimed reads as it was before; a caller
// that may meet such takes db_read_seen_job(), on the reader's thread, and sees what the claim has made of it.
int db_read_job(sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena);
int db_read_seen_job(struct db *db, sqlite3_stmt *stmt, struct job *ret_job, struct arena *arena);
// The same without its texts, which may be large, for callers that decide first whether they want the job.
void db_read_seen_numbers(struct db *db, sqlite3_stmt *stmt, struct job *ret_job);
void db_add_job(struct db *db, const struct job *job, bool *ret_added);
bool db_job_is_new(const struct job *job); // it is as all are that have never been claimed or ended, whatever made it
void db_bind_new_job(sqlite3_stmt *stmt, size_t row,
                     const struct job *job); // of SQL_ADD_JOBS or SQL_ADD_PLANNED, which are for such
// Reads of a record only what a step depends on and what says where the job is listed. False: there is none.
bool db_standing(struct db *db, int64_t id, struct job *ret_was);
bool db_stands(const struct job *was, const struct store_step *step);
// Reads the columns of a lease, from `at` on. They lie behind those of a job where they are read at all.
int db_read_lease(sqlite3_stmt *stmt, int at, struct job *job, struct arena *arena);
void db_change_job(struct db *db, const struct store_step *step);
