// A connection to the database, and the few ways in which a statement is used.
//
// What it does not do: SQL (sqlite/statements.c), the schema (sqlite/schema.c), decide, or know about threads.
#include "store/sqlite/sqlite.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_FSYNC = 70 };

// A pragma that a connection is set to, and what it must answer when it is asked.
struct pragma {
    const char *set, *ask, *answer;
};

static const struct pragma writer_pragmas[] = {
    {"PRAGMA journal_mode=WAL", "PRAGMA journal_mode", "wal"},
    {"PRAGMA synchronous=FULL", "PRAGMA synchronous", "2"},
    {"PRAGMA wal_autocheckpoint=0", "PRAGMA wal_autocheckpoint", "0"},
    {"PRAGMA secure_delete=OFF", "PRAGMA secure_delete", "0"},
    {"PRAGMA foreign_keys=OFF", "PRAGMA foreign_keys", "0"},
    {"PRAGMA cache_size=-16384", "PRAGMA cache_size", "-16384"}, // after a page was split, COMMIT walks all that is in it
    {"PRAGMA mmap_size=0", "PRAGMA mmap_size", "0"},
    {"PRAGMA temp_store=MEMORY", "PRAGMA temp_store", "2"},
    {NULL},
};

static const struct pragma reader_pragmas[] = {
    {"PRAGMA query_only=ON", "PRAGMA query_only", "1"},
    {"PRAGMA wal_autocheckpoint=0", "PRAGMA wal_autocheckpoint", "0"},
    {"PRAGMA cache_size=-8192", "PRAGMA cache_size", "-8192"},
    {"PRAGMA mmap_size=0", "PRAGMA mmap_size", "0"},
    {"PRAGMA temp_store=MEMORY", "PRAGMA temp_store", "2"},
    {"PRAGMA busy_timeout=5000", "PRAGMA busy_timeout", "5000"},
    {NULL},
};

static const struct {
    int flags;
    const struct pragma *pragmas;
} roles[] = {
    [DB_READS] = {SQLITE_OPEN_READONLY, reader_pragmas},
    [DB_WRITES] = {SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, writer_pragmas},
};

// ---- opening

bool db_ask(sqlite3 *handle, const char *sql, char ret_answer[64])
{
    sqlite3_stmt *stmt = NULL;
    bool found = sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
    const unsigned char *text = found ? sqlite3_column_text(stmt, 0) : NULL;
    snprintf(ret_answer, 64, "%s", text ? (const char *)text : "");
    sqlite3_finalize(stmt);
    return found;
}

enum err db_fail(sqlite3 *handle, const char *doing, char why[ERR_WHY_MAX])
{
    int code = sqlite3_errcode(handle) & 0xff;
    bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
    snprintf(why, ERR_WHY_MAX, "%.120s: %.60s%s", doing, sqlite3_errmsg(handle),
             damaged ? ". Restore a backup into an empty directory" : "");
    return ERR_STORE_UNAVAILABLE;
}

static enum err set_pragmas(sqlite3 *handle, const struct pragma *pragma, char why[ERR_WHY_MAX])
{
    char answer[64];
    for (; pragma->set; pragma++) {
        if (sqlite3_exec(handle, pragma->set, NULL, NULL, NULL) != SQLITE_OK)
            return db_fail(handle, pragma->set, why);
        if (!db_ask(handle, pragma->ask, answer) || strcmp(answer, pragma->answer) != 0) {
            snprintf(why, ERR_WHY_MAX, "%s did not take: SQLite says \"%s\"", pragma->set, answer);
            return ERR_STORE_UNAVAILABLE;
        }
    }
    return ERR_OK;
}

// Prepares a statement for each number of rows that it takes.
static enum err prepare(struct db *db, enum sql sql, char why[ERR_WHY_MAX])
{
    const struct statement *statement = &statements[sql];
    size_t rows = 1;
    for (int size = 0; size < STATEMENT_SIZES && (size == 0 || statement->least); size++, rows *= 4) {
        buf_auto struct buf text = {0};
        if (rows < statement->least)
            continue;
        statement_write(&text, statement, rows);
        if (sqlite3_prepare_v3(db->handle, text.p, (int)text.n, SQLITE_PREPARE_PERSISTENT, &db->stmts[sql][size], NULL) !=
            SQLITE_OK)
            return db_fail(db->handle, statement->text, why);
    }
    return ERR_OK;
}

static enum err prepare_all(struct db *db, enum db_role role, char why[ERR_WHY_MAX])
{
    enum err err = ERR_OK;
    for (int i = 0; i < SQL_TOTAL && !err; i++)
        if (role == DB_WRITES || statements[i].user == READER)
            err = prepare(db, (enum sql)i, why);
    return err;
}

static enum err prepare_writer(struct db *db, char why[ERR_WHY_MAX])
{
    enum err err = claims_prepare(db, why);
    if (!err)
        err = tags_prepare(db, why);
    if (!err)
        err = schema_bring_up_to_date(db->handle, why);
    if (!err)
        err = plans_prepare(db, why);
    return err ? err : change_prepare(db, why);
}

enum err db_open(struct db *db, const char *path, struct claims *claims, enum db_role role, char why[ERR_WHY_MAX])
{
    *db = (struct db){.claims = claims};
    if (sqlite3_open_v2(path, &db->handle, roles[role].flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        return db_fail(db->handle, path, why);
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL); // the schema's trigger is about what others do
    return set_pragmas(db->handle, roles[role].pragmas, why);
}

enum err db_prepare(struct db *db, enum db_role role, char why[ERR_WHY_MAX])
{
    enum err err = role == DB_WRITES ? prepare_writer(db, why) : ERR_OK;
    return err ? err : prepare_all(db, role, why);
}

bool db_ask_number(struct db *db, const char *sql, int64_t *ret_number)
{
    char answer[64];
    bool found = db_ask(db->handle, sql, answer);
    if (found)
        *ret_number = strtoll(answer, NULL, 10);
    return found;
}

void db_close(struct db *db)
{
    for (int i = 0; i < SQL_TOTAL; i++)
        for (int size = 0; size < STATEMENT_SIZES; size++)
            sqlite3_finalize(db->stmts[i][size]);
    sqlite3_close(db->handle);
    *db = (struct db){0};
}

// ---- using statements

// Returns the errno of the last write that failed. Transactions are written into the WAL and nowhere else, so its file is asked;
// sqlite3_system_errno() does not know it after a COMMIT.
static int write_error(struct db *db)
{
    sqlite3_file *wal = NULL;
    int error = 0;
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (wal && wal->pMethods)
        wal->pMethods->xFileControl(wal, SQLITE_FCNTL_LAST_ERRNO, &error);
    return error;
}

void db_note(struct db *db, int rc)
{
    if (db->rc || rc == SQLITE_OK || rc == SQLITE_ROW || rc == SQLITE_DONE)
        return;
    db->rc = rc;
    db->system_error = rc == SQLITE_IOERR_WRITE ? write_error(db) : 0;
    snprintf(db->why, sizeof db->why, "SQLite: %s (%d)", sqlite3_errmsg(db->handle), rc);
}

// SQLite knows only ENOSPC as a full disk. A quota and a limit on the size of files (ulimit -f) are others. The index of the WAL
// (IOERR_SHMSIZE) fails to grow for no other reason.
enum err db_err_of(int rc, int system_error)
{
    bool no_room = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
    bool full = (rc & 0xff) == SQLITE_FULL || rc == SQLITE_IOERR_SHMSIZE || (rc == SQLITE_IOERR_WRITE && no_room);
    return full ? ERR_STORAGE_FULL : ERR_STORE_UNAVAILABLE;
}

enum err db_err(const struct db *db)
{
    return db_err_of(db->rc, db->system_error);
}

void db_die_if_fsync_failed(const struct db *db, bool in_commit)
{
    bool in_io = (db->rc & 0xff) == SQLITE_IOERR && db_err(db) != ERR_STORAGE_FULL;
    if (db->rc != SQLITE_IOERR_FSYNC && db->rc != SQLITE_IOERR_DIR_FSYNC && !(in_commit && in_io))
        return;
    db_die("rota: the disk did not take a commit (fsync failed). What is on it is uncertain, so rota stops here; start it again "
           "when the disk is well.\n",
           db->why);
}

_Noreturn void db_die(const char *words, const char *why)
{
    ssize_t ignored = write(STDERR_FILENO, words, strlen(words));
    ignored += write(STDERR_FILENO, why, strlen(why));
    ignored += write(STDERR_FILENO, "\n", 1);
    (void)ignored;
    _exit(EXIT_FSYNC);
}

sqlite3_stmt *db_with(struct db *db, enum sql sql, size_t count, const int64_t *values)
{
    sqlite3_stmt *stmt = db_stmt(db, sql);
    assert(stmt);
    db_bind_numbers(stmt, count, values);
    return stmt;
}

bool db_row(struct db *db, sqlite3_stmt *stmt)
{
    if (db->rc)
        return false;
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return true;
    db_note(db, rc);
    sqlite3_reset(stmt);
    return false;
}

void db_run(struct db *db, sqlite3_stmt *stmt)
{
    while (db_row(db, stmt))
        ;
}

bool db_insert(struct db *db, sqlite3_stmt *stmt)
{
    if (db->rc)
        return true;
    int rc = sqlite3_step(stmt);
    sqlite3_reset(stmt);
    if ((rc & 0xff) == SQLITE_CONSTRAINT)
        return false;
    db_note(db, rc);
    return true;
}

void db_end(sqlite3_stmt *stmt)
{
    sqlite3_reset(stmt);
}

bool db_found(struct db *db, sqlite3_stmt *stmt, int64_t *ret_value)
{
    if (!db_row(db, stmt))
        return false;
    *ret_value = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return true;
}

void db_bind_bytes(sqlite3_stmt *stmt, int at, struct str bytes)
{
    if (bytes.n)
        sqlite3_bind_blob64(stmt, at, bytes.p, bytes.n, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

void db_bind_text(sqlite3_stmt *stmt, int at, struct str text)
{
    sqlite3_bind_text64(stmt, at, text.n ? text.p : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

struct str db_bytes(sqlite3_stmt *stmt, int at, struct arena *arena)
{
    return db_bytes_of(stmt, at, (size_t)sqlite3_column_bytes(stmt, at), arena);
}

struct str db_bytes_of(sqlite3_stmt *stmt, int at, size_t size, struct arena *arena)
{
    return size ? arena_copy(arena, (struct str){sqlite3_column_blob(stmt, at), size}) : (struct str){0};
}

size_t db_for_rows(struct db *db, enum sql sql, size_t left, sqlite3_stmt **ret_stmt)
{
    size_t rows = 0, next = 1;
    for (int size = 0; size < STATEMENT_SIZES && next <= left; size++, next *= 4)
        if (db->stmts[sql][size]) {
            *ret_stmt = db->stmts[sql][size];
            rows = next;
        }
    return rows;
}

void db_run_rows(struct db *db, enum sql sql, size_t count, size_t width, const int64_t *values)
{
    sqlite3_stmt *stmt = NULL;
    for (size_t done = 0, n; done < count; done += n) {
        n = db_for_rows(db, sql, count - done, &stmt);
        assert(n);
        db_bind_numbers(stmt, n * width, &values[done * width]);
        db_run(db, stmt);
    }
}
