// How pages get from the WAL into the database, and the WAL stays short (checkpoints, in SQLite's words).
//
// The writer moves the pages itself: behind a commit that leaves more than 16 MiB in the WAL, and when nobody has written for a
// second. When all of them have been moved, the next transaction begins the WAL anew. A move of 16 MiB takes 15 to 21 ms, in
// which nothing is committed. A thread that moves them beside the writer made p99 under half load no better (decision 20).
//
// SQLite before 3.51.3 (Debian 12 has 3.40) can lose pages when a transaction begins the WAL anew while a checkpoint of another
// connection is at its beginning. This never happens here, because the writing connection makes all checkpoints: no connection
// makes them unasked (wal_autocheckpoint=0 in sqlite/db.c and sqlite/backup.c), and no other process may open the database
// (sqlite/files.c, docs/operations.md).
#include "store/sqlite/disk.h"

enum {
    MOVE_PAGES = (16 << 20) / DB_PAGE_BYTES,     // come into the WAL before they are moved
    TRUNCATE_PAGES = (64 << 20) / DB_PAGE_BYTES, // a WAL that once was so large is cut when nobody is waiting
};

// ---- where it ends

// That is in its index, which all connections share: "The WAL-Index Format" in SQLite's description of its files.
enum { INDEX_BYTES = 32768, INDEX_FRAMES = 16, INDEX_SALT = 32, WAL_HEADER = 32, WAL_FRAME = 24 + DB_PAGE_BYTES };

int wal_find_end(struct db *db, struct wal_end *ret_end)
{
    sqlite3_file *file = NULL;
    volatile void *index = NULL;
    int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc == SQLITE_OK)
        rc = file->pMethods->xShmMap(file, 0, INDEX_BYTES, 0, &index);
    if (rc == SQLITE_OK && !index)
        rc = SQLITE_IOERR_SHMMAP;
    if (rc != SQLITE_OK)
        return rc;
    const char *head = (const char *)index; // only the writer changes it
    uint32_t frames;
    memcpy(&frames, head + INDEX_FRAMES, sizeof frames);
    memcpy(ret_end->salt, head + INDEX_SALT, sizeof ret_end->salt);
    ret_end->frames = frames;
    return SQLITE_OK;
}

// A file of the writing connection, with its size. `which` is a SQLITE_FCNTL_….
static int find_file(struct db *db, int which, sqlite3_file **ret_file, sqlite3_int64 *ret_size)
{
    int rc = sqlite3_file_control(db->handle, "main", which, ret_file);
    return rc == SQLITE_OK ? (*ret_file)->pMethods->xFileSize(*ret_file, ret_size) : rc;
}

static int find_wal(struct db *db, sqlite3_file **ret_file, sqlite3_int64 *ret_size, sqlite3_int64 *ret_end)
{
    struct wal_end end = {0};
    int rc = wal_find_end(db, &end);
    *ret_end = WAL_HEADER + WAL_FRAME * end.frames;
    return rc == SQLITE_OK ? find_file(db, SQLITE_FCNTL_JOURNAL_POINTER, ret_file, ret_size) : rc;
}

// ---- moving

static int note_commit(void *ctx, sqlite3 *handle, const char *name, int pages)
{
    struct wal *wal = ctx;
    wal->committed = true;
    if (pages <= wal->pages) { // it has begun anew: otherwise each commit makes it longer
        wal->moved = 0;
        wal->next = MOVE_PAGES;
    }
    wal->pages = pages;
    if (pages > wal->most)
        wal->most = pages;
    return SQLITE_OK;
}

static void note_moved(struct wal *wal)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 bytes = 0;
    if (wal_unmoved(wal) == 0 && find_file(wal->writer, SQLITE_FCNTL_FILE_POINTER, &file, &bytes) == SQLITE_OK)
        extent_move(wal->extent, bytes);
}

// A passive checkpoint moves what no reader needs where it is, and waits for nobody.
static void move(struct wal *wal, int mode)
{
    int pages = 0, moved = 0;
    if (mode == SQLITE_CHECKPOINT_TRUNCATE && !extent_forget_wal(wal->extent))
        mode = SQLITE_CHECKPOINT_PASSIVE;
    int rc = sqlite3_wal_checkpoint_v2(wal->writer->handle, NULL, mode, &pages, &moved);
    if (rc == SQLITE_BUSY) // a reader kept it from being truncated: that is tried again when nobody is waiting
        return;
    db_note(wal->writer, rc);
    db_die_if_fsync_failed(wal->writer, false);
    wal->writer->rc = SQLITE_OK; // a full disk is met again by the next commit, which says so
    if (rc != SQLITE_OK)
        return;
    wal->moved = moved;
    wal->pages = pages;
    if (mode == SQLITE_CHECKPOINT_TRUNCATE) {
        wal->most = 0;
        wal->next = MOVE_PAGES;
    }
    note_moved(wal);
}

int wal_unmoved(const struct wal *wal)
{
    return wal->pages - wal->moved;
}

// A move that a reader or a full disk keeps from its end is not tried again behind each commit, but when as much has come again.
void wal_keep_short(struct wal *wal)
{
    if (wal->pages <= wal->next)
        return;
    wal->next = wal->pages + MOVE_PAGES;
    move(wal, SQLITE_CHECKPOINT_PASSIVE);
}

void wal_empty(struct wal *wal)
{
    move(wal, wal->most > TRUNCATE_PAGES ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
}

// ---- after a failure

static int cut(struct db *db)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 end = 0, size = 0;
    int rc = find_wal(db, &file, &size, &end);
    if (rc != SQLITE_OK || size <= end)
        return rc;
    rc = file->pMethods->xTruncate(file, end);
    return rc == SQLITE_OK ? file->pMethods->xSync(file, SQLITE_SYNC_NORMAL) : rc;
}

// A transaction that was rolled back may have left frames behind the last commit, even its own commit: a file system without
// room can fail a write of which every byte that differs is in the file by then. SQLite passes over them and writes the next
// transaction there. But a start after a crash takes what it finds, and would bring to life what was refused. So they go.
void wal_cut_off(struct wal *wal)
{
    int rc = cut(wal->writer);
    if (rc != SQLITE_OK)
        db_die("rota: the disk did not take back a commit that failed. What is on it is uncertain, so rota stops here; start it "
               "again when the disk is well.\n",
               sqlite3_errstr(rc));
}

// ---- how far it has come

bool wal_is_whole(struct wal *wal)
{
    sqlite3_file *file = NULL;
    sqlite3_int64 end = 0, size = 0;
    bool has_wal = find_wal(wal->writer, &file, &size, &end) == SQLITE_OK && (size >= end || end == WAL_HEADER);
    return has_wal && find_file(wal->writer, SQLITE_FCNTL_FILE_POINTER, &file, &size) == SQLITE_OK &&
           size >= wal->extent->note.bytes;
}

void wal_note(struct wal *wal, int64_t beats)
{
    struct wal_end end;
    if (wal->committed && wal_find_end(wal->writer, &end) == SQLITE_OK)
        extent_commit(wal->extent, &end, wal_unmoved(wal), beats);
}

// ---- beginning and end

void wal_start(struct wal *wal, struct db *writer, struct extent *extent)
{
    wal->writer = writer;
    wal->extent = extent;
    wal->next = MOVE_PAGES;
    sqlite3_wal_hook(writer->handle, note_commit, wal);
}

void wal_close(struct wal *wal)
{
    move(wal, SQLITE_CHECKPOINT_TRUNCATE);
}
