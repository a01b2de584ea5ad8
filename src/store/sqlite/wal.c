// How pages get from the WAL into the database, and the WAL stays short (checkpoints, in SQLite's words).
//
// A WAL of 16 MiB takes some 10 ms to move and 5 to wait for the disk, and no write is to wait for that. So the mover, a thread
// with a connection of its own, moves what there is and syncs it while the writer goes on. Behind it the writer moves the few
// pages that came meanwhile; then nothing is left, and the next transaction begins the WAL anew.
//
// Why the mover is safe. SQLite before 3.51.3 (Debian 12 has 3.40) can lose pages when a transaction begins the WAL anew while a
// checkpoint of another connection is at its beginning: that takes the new WAL for the one it has read about, and notes pages as
// moved that are not. This never happens here, because the WAL is never begun anew while the mover is at work:
//
//   1. A transaction begins the WAL anew only when every page in it has been moved. That is SQLite's own rule.
//   2. The writer asks the mover only when some page has not been moved (wal_keep_short()).
//   3. From then until the mover has ended nobody else moves a page. The writer is the only other that could: it looks at `mover`
//      first (wal_keep_short(), wal_empty()), or joins the mover's thread (wal_close()). No connection makes checkpoints by
//      itself (wal_autocheckpoint=0 in sqlite/db.c and sqlite/backup.c), and no other process may open the database
//      (sqlite/files.c, docs/operations.md).
//   4. So some page is left to move until the mover has noted its last one as moved, and by 1 the WAL is not begun anew before
//      that. Afterwards the mover's checkpoint looks at nothing any more; the mover only syncs the database.
//
// The test the_wal_is_not_begun_anew_before_the_mover_has_ended holds the mover up between 2 and its checkpoint, and fails when
// the writer moves pages meanwhile; the_mover_is_not_asked_when_nothing_is_left fails when 2 does not hold.
// checkpoints_lose_nothing cuts the power while the mover is at work. Decision 20 says what it brought.
#include "base/cond.h"
#include "store/sqlite/disk.h"

#include <stdlib.h>

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

// ---- the mover

// SQLite syncs the database only in a checkpoint that moves the last page of the WAL. The mover's may not be that one, because
// the writer goes on, so the mover syncs by itself.
static void sync_database(struct db *db)
{
    sqlite3_file *file = NULL;
    db_note(db, sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file));
    if (!db->rc)
        db_note(db, file->pMethods->xSync(file, SQLITE_SYNC_NORMAL));
}

static void move(struct db *db)
{
    db_note(db, sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
    sync_database(db);
    db_die_if_fsync_failed(db, false);
    db->rc = SQLITE_OK; // a full disk is met again by the writer, which says so
}

static enum wal_mover step(struct wal *wal, enum wal_mover from, enum wal_mover to)
{
    pthread_mutex_lock(&wal->lock);
    enum wal_mover was = wal->mover;
    if (was == from) {
        wal->mover = to;
        pthread_cond_signal(&wal->wake);
    }
    pthread_mutex_unlock(&wal->lock);
    return was;
}

static bool await_work(struct wal *wal)
{
    pthread_mutex_lock(&wal->lock);
    while (wal->mover != WAL_MOVING && !wal->closing)
        cond_wait(&wal->wake, &wal->lock, cond_until(-1));
    bool open = !wal->closing;
    pthread_mutex_unlock(&wal->lock);
    return open;
}

static void *mover_main(void *ctx)
{
    struct wal *wal = ctx;
    while (await_work(wal)) {
        move(&wal->db);
        step(wal, WAL_MOVING, WAL_MOVED);
    }
    return NULL;
}

// ---- the writer's

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
static void move_rest(struct wal *wal, int mode)
{
    int pages = 0, moved = 0;
    if (mode == SQLITE_CHECKPOINT_TRUNCATE && !extent_forget_wal(wal->extent))
        mode = SQLITE_CHECKPOINT_PASSIVE;
    int rc = sqlite3_wal_checkpoint_v2(wal->writer->handle, NULL, mode, &pages, &moved);
    if (rc == SQLITE_BUSY)
        return;
    db_note(wal->writer, rc);
    db_die_if_fsync_failed(wal->writer, false);
    wal->writer->rc = SQLITE_OK; // a full disk is met again by the next commit, which says so
    if (rc != SQLITE_OK)
        return;
    wal->moved = moved;
    wal->pages = pages;
    wal->next = pages + MOVE_PAGES;
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        wal->most = 0;
    note_moved(wal);
}

int wal_unmoved(const struct wal *wal)
{
    return wal->pages - wal->moved;
}

void wal_keep_short(struct wal *wal)
{
    if (step(wal, WAL_MOVED, WAL_RESTS) == WAL_MOVED)
        move_rest(wal, SQLITE_CHECKPOINT_PASSIVE);
    else if (wal->pages > wal->next)
        step(wal, WAL_RESTS, WAL_MOVING);
}

void wal_empty(struct wal *wal)
{
    if (step(wal, WAL_MOVED, WAL_RESTS) != WAL_MOVING)
        move_rest(wal, wal->most > TRUNCATE_PAGES ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);
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

enum err wal_start(struct wal *wal, struct db *writer, struct extent *extent, const char *path, char why[ERR_WHY_MAX])
{
    enum err err = db_open(&wal->db, path, NULL, DB_MOVES, why);
    if (err) {
        db_close(&wal->db);
        return err;
    }
    wal->writer = writer;
    wal->extent = extent;
    wal->next = MOVE_PAGES;
    sqlite3_wal_hook(writer->handle, note_commit, wal);
    cond_init(&wal->wake);
    pthread_mutex_init(&wal->lock, NULL);
    if (pthread_create(&wal->thread, NULL, mover_main, wal))
        abort(); // as when memory is gone
    pthread_setname_np(wal->thread, "store-move");
    return ERR_OK;
}

void wal_close(struct wal *wal, bool moves)
{
    if (wal->closing)
        return;
    pthread_mutex_lock(&wal->lock);
    wal->closing = true;
    pthread_cond_signal(&wal->wake);
    pthread_mutex_unlock(&wal->lock);
    pthread_join(wal->thread, NULL);
    pthread_cond_destroy(&wal->wake);
    pthread_mutex_destroy(&wal->lock);
    db_close(&wal->db);
    if (moves)
        move_rest(wal, SQLITE_CHECKPOINT_TRUNCATE);
}
