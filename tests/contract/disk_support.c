// See disk_support.h. Memory that is mapped (the index of the WAL) goes past the layer: SQLite makes it anew after a crash.
#include "disk_support.h"

#include <stddef.h>

static sqlite3_vfs *real, layer;
static struct disk_hooks hooks;

#define FILE_OF(file) ((struct disk_file *)(file))
#define PASS(name, parameters, ...)                           \
    static int layer_##name parameters                        \
    {                                                         \
        return REAL_FILE(FILE_OF(file), name, ##__VA_ARGS__); \
    }
PASS(xClose, (sqlite3_file * file))
PASS(xRead, (sqlite3_file * file, void *to, int n, sqlite3_int64 at), to, n, at)
PASS(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), size)
PASS(xLock, (sqlite3_file * file, int lock), lock)
PASS(xUnlock, (sqlite3_file * file, int lock), lock)
PASS(xCheckReservedLock, (sqlite3_file * file, int *out), out)
PASS(xSectorSize, (sqlite3_file * file))
PASS(xDeviceCharacteristics, (sqlite3_file * file))
PASS(xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **out), page, size, extend, out)
PASS(xShmLock, (sqlite3_file * file, int at, int n, int flags), at, n, flags)
PASS(xShmUnmap, (sqlite3_file * file, int remove), remove)

static void layer_xShmBarrier(sqlite3_file *file)
{
    REAL_FILE(FILE_OF(file), xShmBarrier);
}

static int layer_xWrite(sqlite3_file *file, const void *from, int n, sqlite3_int64 at)
{
    return hooks.write ? hooks.write(FILE_OF(file), from, n, at) : REAL_FILE(FILE_OF(file), xWrite, from, n, at);
}

static int layer_xTruncate(sqlite3_file *file, sqlite3_int64 size)
{
    return hooks.truncate ? hooks.truncate(FILE_OF(file), size) : REAL_FILE(FILE_OF(file), xTruncate, size);
}

static int layer_xSync(sqlite3_file *file, int flags)
{
    return hooks.sync ? hooks.sync(FILE_OF(file), flags) : REAL_FILE(FILE_OF(file), xSync, flags);
}

// SQLite shows a file every pragma before it obeys it: the answer, the name and the value, if any.
static int layer_xFileControl(sqlite3_file *file, int op, void *arg)
{
    char **words = arg;
    int rc =
        op == SQLITE_FCNTL_PRAGMA && hooks.pragma ? hooks.pragma(FILE_OF(file), words[1], words[2], &words[0]) : SQLITE_NOTFOUND;
    return rc == SQLITE_NOTFOUND ? REAL_FILE(FILE_OF(file), xFileControl, op, arg) : rc;
}

static const sqlite3_io_methods layer_methods = {.iVersion = 2,
                                                 .xClose = layer_xClose,
                                                 .xRead = layer_xRead,
                                                 .xWrite = layer_xWrite,
                                                 .xTruncate = layer_xTruncate,
                                                 .xSync = layer_xSync,
                                                 .xFileSize = layer_xFileSize,
                                                 .xLock = layer_xLock,
                                                 .xUnlock = layer_xUnlock,
                                                 .xCheckReservedLock = layer_xCheckReservedLock,
                                                 .xFileControl = layer_xFileControl,
                                                 .xSectorSize = layer_xSectorSize,
                                                 .xDeviceCharacteristics = layer_xDeviceCharacteristics,
                                                 .xShmMap = layer_xShmMap,
                                                 .xShmLock = layer_xShmLock,
                                                 .xShmBarrier = layer_xShmBarrier,
                                                 .xShmUnmap = layer_xShmUnmap};

static int layer_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
    struct disk_file *mine = FILE_OF(file);
    mine->real = (sqlite3_file *)(mine + 1);
    int rc = real->xOpen(real, name, mine->real, flags, ret_flags);
    mine->base.pMethods = mine->real->pMethods ? &layer_methods : NULL;
    mine->mine = rc == SQLITE_OK && hooks.opened ? hooks.opened(name) : NULL;
    return rc;
}

static int layer_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    int rc = real->xDelete(real, name, sync_dir);
    if (rc == SQLITE_OK && hooks.removed)
        hooks.removed(name);
    return rc;
}

int disk_put(const struct disk_hooks *wanted)
{
    hooks = *wanted;
    real = sqlite3_vfs_find(NULL);
    layer = *real;
    layer.zName = "layer";
    layer.szOsFile = (int)sizeof(struct disk_file) + real->szOsFile;
    layer.xOpen = layer_open;
    layer.xDelete = layer_delete;
    return sqlite3_vfs_register(&layer, 1);
}
