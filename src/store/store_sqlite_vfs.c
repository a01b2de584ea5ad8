// The file of the WAL, as the writing connection sees it: what is written piece by piece goes to the disk in one.
//
// SQLite writes each page of a transaction by two calls, its frame's head and the page, and all of them one behind the other:
// some two dozen calls for a small group. Here they gather in memory, and the sync that ends a transaction (synchronous=FULL)
// writes them before it waits for the disk. Only then does SQLite tell other connections that these frames exist, so nobody
// misses them in the file; who writes sees its own, because a read of what is gathered writes it first. A failure to write is
// that of the call in which it happens, and what could not be written stays gathered: no later sync succeeds without it.
//
// On a disk that may damage what lies beside a sector it writes, SQLite syncs before the last bytes of a transaction are written
// (it pads to the sector). There nothing is gathered.
//
// All other files are those of SQLite's own layer below (the default one: tests put theirs there).
#include "store/store_sqlite_private.h"

#include <stdio.h>
#include <stdlib.h>

enum { GATHER_BYTES = 31 * (DB_PAGE_BYTES + 24) }; // whole frames, within the 128 KiB that SQLite's layer writes at once

struct wal_file {
    sqlite3_file base;
    sqlite3_file *below;
    char *bytes; // what is gathered, from `at` on
    sqlite3_int64 at;
    int n, max;
};

#define WAL_FILE(file) ((struct wal_file *)(file))
#define BELOW(file, call, ...) (WAL_FILE(file)->below->pMethods->call(WAL_FILE(file)->below, ##__VA_ARGS__))

static int flush(struct wal_file *file)
{
    int rc = file->n ? BELOW(file, xWrite, file->bytes, file->n, file->at) : SQLITE_OK;
    if (rc == SQLITE_OK)
        file->n = 0;
    return rc;
}

static int wal_file_write(sqlite3_file *base, const void *from, int n, sqlite3_int64 at)
{
    struct wal_file *file = WAL_FILE(base);
    if (at != file->at + file->n || n > file->max - file->n) {
        int rc = flush(file);
        if (rc != SQLITE_OK || n > file->max)
            return rc != SQLITE_OK ? rc : BELOW(file, xWrite, from, n, at);
        file->at = at;
    }
    memcpy(file->bytes + file->n, from, (size_t)n);
    file->n += n;
    return SQLITE_OK;
}

// Everything else is done to the file as it is with all that was written.
#define BEHIND_FLUSH(call, parameters, ...)                             \
    static int wal_file_##call parameters                               \
    {                                                                   \
        int rc = flush(WAL_FILE(file));                                 \
        return rc != SQLITE_OK ? rc : BELOW(file, call, ##__VA_ARGS__); \
    }
BEHIND_FLUSH(xTruncate, (sqlite3_file * file, sqlite3_int64 size), size)
BEHIND_FLUSH(xSync, (sqlite3_file * file, int flags), flags)
BEHIND_FLUSH(xFileSize, (sqlite3_file * file, sqlite3_int64 *ret_size), ret_size)
BEHIND_FLUSH(xFileControl, (sqlite3_file * file, int op, void *arg), op, arg)
BEHIND_FLUSH(xLock, (sqlite3_file * file, int lock), lock)
BEHIND_FLUSH(xUnlock, (sqlite3_file * file, int lock), lock)
BEHIND_FLUSH(xCheckReservedLock, (sqlite3_file * file, int *ret_held), ret_held)

static int wal_file_read(sqlite3_file *base, void *to, int n, sqlite3_int64 at)
{
    struct wal_file *file = WAL_FILE(base);
    bool gathered = at < file->at + file->n && at + n > file->at;
    int rc = gathered ? flush(file) : SQLITE_OK;
    return rc != SQLITE_OK ? rc : BELOW(file, xRead, to, n, at);
}

static int wal_file_close(sqlite3_file *base)
{
    struct wal_file *file = WAL_FILE(base);
    mem_free(file->bytes); // of a transaction that did not come to its end
    return BELOW(file, xClose);
}

static int wal_file_sector_size(sqlite3_file *file)
{
    return BELOW(file, xSectorSize);
}

static int wal_file_characteristics(sqlite3_file *file)
{
    return BELOW(file, xDeviceCharacteristics);
}

static const sqlite3_io_methods wal_file_methods = {.iVersion = 1,
                                                    .xClose = wal_file_close,
                                                    .xRead = wal_file_read,
                                                    .xWrite = wal_file_write,
                                                    .xTruncate = wal_file_xTruncate,
                                                    .xSync = wal_file_xSync,
                                                    .xFileSize = wal_file_xFileSize,
                                                    .xLock = wal_file_xLock,
                                                    .xUnlock = wal_file_xUnlock,
                                                    .xCheckReservedLock = wal_file_xCheckReservedLock,
                                                    .xFileControl = wal_file_xFileControl,
                                                    .xSectorSize = wal_file_sector_size,
                                                    .xDeviceCharacteristics = wal_file_characteristics};

static int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *ret_flags)
{
    sqlite3_vfs *below = container_of(vfs, struct vfs, layer)->below;
    struct wal_file *file = WAL_FILE(base);
    if (!(flags & SQLITE_OPEN_WAL))
        return below->xOpen(below, name, base, flags, ret_flags);
    *file = (struct wal_file){.below = (sqlite3_file *)(file + 1)};
    int rc = below->xOpen(below, name, file->below, flags, ret_flags);
    if (!file->below->pMethods)
        return rc;
    file->base.pMethods = &wal_file_methods;
    file->max = BELOW(file, xDeviceCharacteristics) & SQLITE_IOCAP_POWERSAFE_OVERWRITE ? GATHER_BYTES : 0;
    file->bytes = mem_alloc(GATHER_BYTES);
    return rc;
}

const char *vfs_start(struct vfs *vfs)
{
    vfs->below = sqlite3_vfs_find(NULL);
    vfs->layer = *vfs->below;
    snprintf(vfs->name, sizeof vfs->name, "rota-%p", (void *)vfs);
    vfs->layer.zName = vfs->name;
    vfs->layer.szOsFile = (int)sizeof(struct wal_file) + vfs->below->szOsFile;
    vfs->layer.xOpen = layer_open;
    if (sqlite3_vfs_register(&vfs->layer, 0) != SQLITE_OK)
        abort(); // as when memory is gone
    return vfs->name;
}

void vfs_end(struct vfs *vfs)
{
    if (vfs->below)
        sqlite3_vfs_unregister(&vfs->layer);
}
