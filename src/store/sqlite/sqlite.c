// The store in one SQLite database: one thread writes and keeps the WAL short (sqlite/wal.c), one reads, and one makes copies
// (sqlite/backup.c).
//
// The writer takes all operations that wait, carries them out in one transaction and gives them back after its COMMIT, which is
// durable (WAL, synchronous=FULL). While it waits for the disk the next ones gather: the busier, the larger the group. Ten times
// a second, or with every beat if there is nothing else, it looks whether the files are still where they were
// (sqlite/files.c); when they are not, it refuses everything.
//
// When fsync fails, nobody knows any more what is on the disk, and asking again may say yes without having written: the
// process ends there and then, and the next start reads what really is there.
//
// What it does not do: SQL (sqlite/statements.c), or carry out verbs (sqlite/write.c and sqlite/read.c say who does).
#include "store/sqlite/sqlite.h"
#include "base/clock.h"
#include "base/crash.h"
#include "store/sqlite/disk.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum {
    GROUP_ROWS_MAX = 4096, // in one transaction, unless a single operation has more
    QUIET_MS = 1000,
    LOOK_MS = 100, // so often it looks, while it writes, whether its files are where they were
};

struct sqlite {
    struct store store;
    struct files files;
    struct extent extent;
    bool lost; // the writer thread's: the files are not where they were, and nothing is written any more
    char lost_why[ERR_WHY_MAX];
    int64_t looked_at; // the writer thread's: when they still were
    struct op_queue writes, reads;
    struct claims claims;
    struct writer writer; // the writer thread's
    struct db reader;     // the reader thread's
    struct wal wal;
    struct backup backup;
};

// ---- failures

static void roll_back(struct db *db)
{
    if (!sqlite3_get_autocommit(db->handle)) {
        sqlite3_step(db_stmt(db, SQL_ROLLBACK));
        sqlite3_reset(db_stmt(db, SQL_ROLLBACK));
    }
    db->rc = SQLITE_OK;
}

// ---- the writer

static void commit(struct writer *writer)
{
    add_rest(writer);
    writer_flush(writer);
    if (writer->db.rc)
        return;
    CRASH_POINT("store.before_commit");
    db_run(&writer->db, db_stmt(&writer->db, SQL_COMMIT));
    db_die_if_fsync_failed(&writer->db, true);
    CRASH_POINT("store.after_commit");
}

static void fail_group(struct sqlite *sqlite, struct list *group)
{
    struct db *db = &sqlite->writer.db;
    db_die_if_fsync_failed(db, false);
    list_each (group, node)
        store_op_fail(list_entry(node, struct store_op, link), db_err(db), db->why);
    roll_back(db);
    wal_cut_off(&sqlite->wal);
    writer_forget(&sqlite->writer);
}

static void run_group(struct sqlite *sqlite, struct list *group)
{
    struct writer *writer = &sqlite->writer;
    db_run(&writer->db, db_stmt(&writer->db, SQL_BEGIN));
    list_each (group, node) {
        struct store_op *op = list_entry(node, struct store_op, link);
        store_op_clear(op);
        if (op->verb != STORE_ADD)
            add_rest(writer);
        if (!writer->db.rc)
            sqlite_writes[op->verb](writer, op);
    }
    commit(writer);
    if (writer->db.rc)
        fail_group(sqlite, group);
    else
        writer_settle(writer);
    op_queue_give_back(group);
}

// ---- when its files are taken away

static bool has_beat(const struct list *group)
{
    list_each (group, node)
        if (list_entry(node, struct store_op, link)->verb == STORE_BEAT)
            return true;
    return false;
}

// The writer brings what the WAL has into the database, if the next start may still find that: in the directory that this process
// has locked, wherever it is now. Then the loss of the WAL, or a move of the whole directory, costs nothing. It does not if the
// WAL or the database was cut short, because a part of the pages would only do harm.
static void lose(struct sqlite *sqlite, bool whole)
{
    sqlite->lost = true;
    if (whole && files_hold_database(&sqlite->files))
        wal_close(&sqlite->wal);
}

static void refuse_group(const struct sqlite *sqlite, struct list *group)
{
    list_each (group, node) {
        struct store_op *op = list_entry(node, struct store_op, link);
        store_op_clear(op);
        store_op_fail(op, ERR_STORE_LOST, sqlite->lost_why);
    }
    op_queue_give_back(group);
}

// The writer looks with every beat, so that a loss is noticed when nothing else happens, and every LOOK_MS while there is much to
// do, so that little is acknowledged until the loss is noticed.
static void look_after_files(struct sqlite *sqlite, const struct list *group)
{
    int64_t now_ms = clock_now().mono_ms;
    if (sqlite->lost || (now_ms - sqlite->looked_at < LOOK_MS && !has_beat(group)))
        return;
    sqlite->looked_at = now_ms;
    bool whole = wal_is_whole(&sqlite->wal);
    if (!whole)
        snprintf(sqlite->lost_why, sizeof sqlite->lost_why, "rota.db or rota.db-wal was cut short in %.150s", sqlite->files.dir);
    if (!whole || !files_in_place(&sqlite->files, sqlite->lost_why))
        lose(sqlite, whole);
}

static void take_group(struct sqlite *sqlite, struct list *group)
{
    look_after_files(sqlite, group);
    if (sqlite->lost) {
        refuse_group(sqlite, group);
        return;
    }
    run_group(sqlite, group);
    wal_note(&sqlite->wal, sqlite->writer.beats);
    wal_keep_short(&sqlite->wal);
}

static void *writer_main(void *ctx)
{
    struct sqlite *sqlite = ctx;
    struct list waiting, group;
    list_init(&waiting);
    while (op_queue_take(&sqlite->writes, wal_unmoved(&sqlite->wal) > 0 ? QUIET_MS : -1, &waiting)) {
        if (list_empty(&waiting) && !sqlite->lost)
            wal_empty(&sqlite->wal);
        while (!list_empty(&waiting)) {
            op_queue_take_group(&waiting, GROUP_ROWS_MAX, NULL, &group);
            take_group(sqlite, &group);
        }
    }
    return NULL;
}

// ---- the reader

static void run_read(struct db *db, struct store_op *op)
{
    store_op_clear(op);
    claims_begin_read(db->claims);
    db_run(db, db_stmt(db, SQL_BEGIN_READ));
    sqlite_reads[op->verb](db, op);
    db_run(db, db_stmt(db, SQL_COMMIT));
    claims_end_read(db->claims);
    if (db->rc) {
        store_op_fail(op, db_err(db), db->why);
        roll_back(db);
    }
    op->done(op);
}

static void *reader_main(void *ctx)
{
    struct sqlite *sqlite = ctx;
    struct list waiting, *node;
    list_init(&waiting);
    while (op_queue_take(&sqlite->reads, -1, &waiting))
        while ((node = list_take(&waiting)))
            run_read(&sqlite->reader, list_entry(node, struct store_op, link));
    return NULL;
}

// ---- opening and closing

static void set_up_library(void)
{
    // SQLite keeps book of every allocation under a lock that both threads would share.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static enum err load_claims(struct sqlite *sqlite, char why[ERR_WHY_MAX])
{
    struct db *db = &sqlite->writer.db;
    claims_load(&sqlite->claims, db);
    snprintf(why, ERR_WHY_MAX, "%s", db->why);
    return db->rc ? db_err(db) : ERR_OK;
}

static enum err open_all(struct sqlite *sqlite, const char *dir, char why[ERR_WHY_MAX])
{
    char path[4096 + 16];
    enum err err = files_open(&sqlite->files, dir, why);
    snprintf(path, sizeof path, "%s/rota.db", dir);
    sqlite->store.is_new = !err && faccessat(sqlite->files.dir_fd, "rota.db", F_OK, 0) != 0;
    if (!err)
        err = extent_open(&sqlite->extent, &sqlite->files, why);
    if (!err)
        err = db_open(&sqlite->writer.db, path, &sqlite->claims, DB_WRITES, why);
    if (!err)
        err = extent_check(&sqlite->extent, &sqlite->writer.db, why);
    if (!err)
        err = db_prepare(&sqlite->writer.db, DB_WRITES, why);
    if (!err)
        err = db_open(&sqlite->reader, path, &sqlite->claims, DB_READS, why);
    if (!err)
        err = db_prepare(&sqlite->reader, DB_READS, why);
    if (!err)
        err = load_claims(sqlite, why);
    if (!err)
        err = files_know(&sqlite->files, why);
    if (!err)
        wal_start(&sqlite->wal, &sqlite->writer.db, &sqlite->extent);
    return err;
}

static void free_all(struct sqlite *sqlite)
{
    writer_forget(&sqlite->writer);
    db_close(&sqlite->reader);
    db_close(&sqlite->writer.db);
    claims_done(&sqlite->claims);
    extent_close(&sqlite->extent);
    files_close(&sqlite->files);
    op_queue_done(&sqlite->writes);
    op_queue_done(&sqlite->reads);
    backup_done(&sqlite->backup);
    mem_free(sqlite);
}

static enum err sqlite_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up_library);
    const char *dir = url + strlen("sqlite:");
    if (!*dir || strlen(dir) > 4000) {
        snprintf(why, ERR_WHY_MAX, "a directory is missing: \"sqlite:DIR\"");
        return ERR_BAD_REQUEST;
    }
    struct sqlite *sqlite = mem_zero(sizeof *sqlite);
    sqlite->store.ops = &store_sqlite_ops;
    files_init(&sqlite->files);
    extent_init(&sqlite->extent);
    op_queue_init(&sqlite->writes);
    op_queue_init(&sqlite->reads);
    claims_init(&sqlite->claims);
    sqlite->writer.db.claims = &sqlite->claims;
    backup_init(&sqlite->backup);
    enum err err = open_all(sqlite, dir, why);
    if (err) {
        free_all(sqlite);
        return err;
    }
    op_queue_start(&sqlite->writes, "store-write", writer_main, sqlite);
    op_queue_start(&sqlite->reads, "store-read", reader_main, sqlite);
    backup_start(&sqlite->backup, &sqlite->files);
    *ret_store = &sqlite->store;
    return ERR_OK;
}

static void sqlite_submit(struct store *store, struct store_op *op)
{
    struct sqlite *sqlite = container_of(store, struct sqlite, store);
    struct op_queue *queue = op->verb == STORE_BACKUP ? &sqlite->backup.queue
                             : sqlite_reads[op->verb] ? &sqlite->reads
                                                      : &sqlite->writes;
    op_queue_put(queue, op);
}

static void sqlite_close(struct store *store)
{
    struct sqlite *sqlite = container_of(store, struct sqlite, store);
    backup_close(&sqlite->backup);
    op_queue_close(&sqlite->writes);
    op_queue_close(&sqlite->reads);
    if (!sqlite->lost)
        wal_close(&sqlite->wal);
    free_all(sqlite);
}

const struct store_ops store_sqlite_ops = {"sqlite", false, sqlite_open, sqlite_submit, sqlite_close, true};
