// BACKUP: a copy of the database as it is at one moment, while work goes on.
//
// A copy takes long, so it has a thread and a connection of its own, and neither writes nor reads wait for it. As long as it is
// made the WAL is not cut back, because it still reads there. It is compact, and lies beside the database until nobody has it
// open.
#include "store/sqlite/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void fail(struct store_op *op, sqlite3 *handle)
{
    char why[ERR_WHY_MAX];
    snprintf(why, sizeof why, "the copy could not be made: %.200s", sqlite3_errmsg(handle));
    store_op_fail(op, db_err_of(sqlite3_extended_errcode(handle), sqlite3_system_errno(handle)), why);
}

static int vacuum_into(sqlite3 *handle, const char *copy)
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(handle, "VACUUM INTO ?", -1, &stmt, NULL);
    if (!rc)
        rc = sqlite3_bind_text(stmt, 1, copy, -1, SQLITE_STATIC);
    if (!rc)
        rc = sqlite3_step(stmt);
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int64_t read_number(sqlite3 *handle, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t number = 0;
    if (!sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
        number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return number;
}

// A copy that fills the disk would keep everybody from submitting. So it is begun only if there is room for it and an eighth
// more.
static bool has_room(const struct backup *backup, sqlite3 *handle, struct store_op *op)
{
    char why[ERR_WHY_MAX];
    struct statvfs disk;
    int64_t pages = read_number(handle, "PRAGMA page_count") - read_number(handle, "PRAGMA freelist_count");
    int64_t size = pages * read_number(handle, "PRAGMA page_size");
    if (statvfs(backup->files->dir, &disk))
        return true; // the copy will find out
    int64_t room = (int64_t)(disk.f_bavail * disk.f_frsize), needed = size + size / 8;
    if (room >= needed)
        return true;
    snprintf(why, sizeof why, "it needs %lld KiB beside the database, and %lld KiB are free", (long long)needed >> 10,
             (long long)room >> 10);
    store_op_fail(op, ERR_STORAGE_FULL, why);
    return false;
}

static void copy_out(struct backup *backup, sqlite3 *handle, struct store_backup *op)
{
    char copy[4096 + 32];
    snprintf(copy, sizeof copy, "%s/backup.tmp", backup->files->dir);
    unlink(copy); // of a process that died over it
    if (!has_room(backup, handle, &op->op))
        return;
    int rc = vacuum_into(handle, copy);
    if (rc)
        fail(&op->op, handle);
    else if ((op->fd = open(copy, O_RDONLY | O_CLOEXEC)) < 0)
        store_op_fail(&op->op, ERR_STORE_UNAVAILABLE, strerror(errno));
    unlink(copy);
}

// Shows backup_close() the handle by which it interrupts the copy that is being made; NULL takes it back before it is closed.
// Returns whether the store is being closed.
static bool show(struct backup *backup, sqlite3 *handle)
{
    pthread_mutex_lock(&backup->lock);
    backup->handle = handle;
    bool closing = backup->closing;
    pthread_mutex_unlock(&backup->lock);
    return closing;
}

static void run(struct backup *backup, struct store_backup *op)
{
    char path[4096 + 32], why[ERR_WHY_MAX];
    sqlite3 *handle = NULL;
    snprintf(path, sizeof path, "%s/rota.db", backup->files->dir);
    store_op_clear(&op->op);
    int rc = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL);
    if (!rc)
        rc = sqlite3_exec(handle, "PRAGMA wal_autocheckpoint=0; PRAGMA busy_timeout=5000", NULL, NULL, NULL);
    if (show(backup, handle))
        store_op_fail(&op->op, ERR_STOPPING, "the store is being closed");
    else if (!files_in_place(backup->files, why)) // it would be a copy of something else
        store_op_fail(&op->op, ERR_STORE_LOST, why);
    else if (rc)
        fail(&op->op, handle);
    else
        copy_out(backup, handle, op);
    show(backup, NULL);
    sqlite3_close(handle);
    op->op.done(&op->op);
}

static void *backup_main(void *ctx)
{
    struct backup *backup = ctx;
    struct list waiting, *node;
    list_init(&waiting);
    while (op_queue_take(&backup->queue, -1, &waiting))
        while ((node = list_take(&waiting)))
            run(backup, container_of(list_entry(node, struct store_op, link), struct store_backup, op));
    return NULL;
}

void backup_init(struct backup *backup)
{
    pthread_mutex_init(&backup->lock, NULL);
    op_queue_init(&backup->queue);
}

void backup_start(struct backup *backup, const struct files *files)
{
    backup->files = files;
    op_queue_start(&backup->queue, "store-backup", backup_main, backup);
}

void backup_close(struct backup *backup)
{
    pthread_mutex_lock(&backup->lock);
    backup->closing = true;
    if (backup->handle)
        sqlite3_interrupt(backup->handle);
    pthread_mutex_unlock(&backup->lock);
    op_queue_close(&backup->queue);
}

void backup_done(struct backup *backup)
{
    op_queue_done(&backup->queue);
    pthread_mutex_destroy(&backup->lock);
}
