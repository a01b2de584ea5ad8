// A disk that fails when a test says so, made of the layer of disk_support.h.
#include "failing_disk.h"

#include "disk_support.h"
#include "store/sqlite/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAL_HEADER = 32, FRAME_HEAD = 24 };

atomic_bool disk_is_broken, database_is_broken;
_Atomic enum fullness fullness;
atomic_int wal_begun;
atomic_bool move_is_held_up;
sem_t move_waits, move_may_go_on;

static void *tell_kind(const char *name)
{
    static char database;
    size_t n = name ? strlen(name) : 0;
    return n > 3 && strcmp(name + n - 3, ".db") == 0 ? &database : NULL;
}

static ssize_t (*system_pwrite)(int fd, const void *bytes, size_t n, off_t at);

static ssize_t pwrite_within_limits(int fd, const void *bytes, size_t n, off_t at)
{
    if (fullness != HAS_QUOTA && fullness != HAS_LIMIT)
        return system_pwrite(fd, bytes, n, at);
    errno = fullness == HAS_QUOTA ? EDQUOT : EFBIG;
    return -1;
}

// SQLite has a table of the system's calls for such as want others.
static void limit_writes(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    system_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))vfs->xGetSystemCall(vfs, "pwrite64");
    if (!system_pwrite || vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)pwrite_within_limits) != SQLITE_OK)
        abort();
}

// The frame that ends a transaction says how many pages the database has then; others say 0. Its head is written, then its page.
static bool ends_commit(struct disk_file *file, const char *from, int n)
{
    static atomic_bool is_next;
    bool ends = is_next && n == DB_PAGE_BYTES;
    is_next = !file->mine && n == FRAME_HEAD && memcmp(from + 4, (char[4]){0}, 4) != 0;
    return ends;
}

static int write_unless_full(struct disk_file *file, const void *from, int n, sqlite3_int64 at)
{
    bool is_database = file->mine;
    if (is_database && atomic_exchange(&move_is_held_up, false)) {
        sem_post(&move_waits);
        sem_wait(&move_may_go_on);
    }
    wal_begun += !is_database && at == 0 && n == WAL_HEADER;
    int rc = fullness == IS_FULL ? SQLITE_FULL : REAL_FILE(file, xWrite, from, n, at);
    return fullness == TOOK_AND_FULL && ends_commit(file, from, n) ? SQLITE_FULL : rc;
}

static int sync_unless_broken(struct disk_file *file, int flags)
{
    bool broken = disk_is_broken || (database_is_broken && file->mine);
    return broken ? SQLITE_IOERR_FSYNC : REAL_FILE(file, xSync, flags);
}

int put_failing_disk(void)
{
    limit_writes();
    sem_init(&move_waits, 0, 0);
    sem_init(&move_may_go_on, 0, 0);
    return disk_put(&(struct disk_hooks){.opened = tell_kind, .write = write_unless_full, .sync = sync_unless_broken});
}
