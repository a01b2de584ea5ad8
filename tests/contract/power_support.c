// See power_support.h. Writes go through to the files, so SQLite reads back what it wrote; beside each file its synced bytes and
// the writes since are kept. At the cut the files get their synced bytes back, with none, all, the first, or any sectors of those
// writes: a disk is free to choose. The choice is harsher than a disk's, for it can leave out part of a sector.
//
// What it does not do: lose entries of a directory (a file that was made stays, one that was removed stays away), or break bytes
// that nobody wrote.
#include "power_support.h"
#include "base/mem.h"
#include "base/rand.h"
#include "disk_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, WAL_HEADER = 32 };

// A write, or with bytes == NULL a truncation to `at`.
struct pending {
    char *bytes;
    size_t n;
    size_t at;
};

struct image {
    struct image *next;
    char *name;
    bool is_wal, is_journal, removed;
    char *bytes; // what is on the disk for sure
    size_t size, cap;
    struct pending *pending;
    size_t pending_count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t was_cut_back = PTHREAD_COND_INITIALIZER;
static struct image *images;
static struct rand dice;
static enum power_disk disk;
static struct power_seen *seen;

static bool planned, counting;
static enum power_from plan_from;
static uint64_t calls_left;
static bool will_be_full, full_at_the_end;
static uint64_t full_after; // so many writes to the WAL
static bool end_is_next;    // the head of the frame that ends a transaction was written, and its page was not

// ---- what is on the disk

static void resize(struct image *image, size_t size)
{
    if (size > image->cap) {
        image->cap = size * 2;
        image->bytes = mem_grow(image->bytes, image->cap);
    }
    if (size > image->size)
        memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void put(struct image *image, size_t at, const char *bytes, size_t n)
{
    if (at + n > image->size)
        resize(image, at + n);
    memcpy(image->bytes + at, bytes, n);
}

static void apply(struct image *image, const struct pending *pending)
{
    if (pending->bytes)
        put(image, pending->at, pending->bytes, pending->n);
    else if (pending->at < image->size)
        resize(image, pending->at);
}

static void settle(struct image *image)
{
    for (size_t i = 0; i < image->pending_count; i++) {
        apply(image, &image->pending[i]);
        mem_free(image->pending[i].bytes);
    }
    image->pending_count = 0;
}

static void add_pending(struct image *image, size_t at, const void *bytes, size_t n)
{
    if ((image->pending_count & (image->pending_count - 1)) == 0)
        image->pending = mem_grow(image->pending, (image->pending_count * 2 + 1) * sizeof *image->pending);
    image->pending[image->pending_count++] = (struct pending){bytes ? mem_copy(bytes, n) : NULL, n, at};
}

// ---- the cut

static void apply_some_sectors(struct image *image, const struct pending *pending)
{
    if (!pending->bytes) {
        if (rand_below(&dice, 2))
            apply(image, pending);
        return;
    }
    for (size_t done = 0, n; done < pending->n; done += n) {
        n = SECTOR - (pending->at + done) % SECTOR;
        n = n < pending->n - done ? n : pending->n - done;
        if (rand_below(&dice, 2))
            put(image, pending->at + done, pending->bytes + done, n);
    }
}

// The first sectors of a write, as when a disk takes it in order.
static void apply_beginning(struct image *image, const struct pending *pending)
{
    size_t sectors = pending->bytes ? rand_below(&dice, pending->n / SECTOR + 1) : 0;
    if (sectors)
        put(image, pending->at, pending->bytes, sectors * SECTOR);
}

static void choose_what_stays(struct image *image)
{
    enum { NONE, ALL, FIRST, SECTORS, WAYS };
    uint64_t way = rand_below(&dice, WAYS);
    size_t whole = way == ALL ? image->pending_count : way == FIRST ? rand_below(&dice, image->pending_count + 1) : 0;
    for (size_t i = 0; i < whole; i++)
        apply(image, &image->pending[i]);
    if (way == FIRST && whole < image->pending_count)
        apply_beginning(image, &image->pending[whole]);
    for (size_t i = 0; way == SECTORS && i < image->pending_count; i++)
        apply_some_sectors(image, &image->pending[i]);
}

static void write_image(const struct image *image)
{
    int fd = open(image->name, O_WRONLY);
    size_t done = 0;
    for (ssize_t n = 1; fd >= 0 && done < image->size && n > 0; done += (size_t)n)
        n = write(fd, image->bytes + done, image->size - done);
    if (fd < 0 || done != image->size || ftruncate(fd, (off_t)image->size) != 0) {
        perror(image->name);
        _exit(1);
    }
    close(fd);
}

static bool database_is_behind(void)
{
    bool behind = false;
    for (const struct image *image = images; image; image = image->next)
        behind |= !image->removed && !image->is_wal && !image->is_journal && image->pending_count;
    return behind;
}

// The lock is held.
static _Noreturn void cut(void)
{
    seen->in_checkpoint = database_is_behind();
    for (struct image *image = images; image; image = image->next) {
        if (image->removed)
            continue;
        choose_what_stays(image);
        write_image(image);
    }
    seen->cut = true;
    _exit(POWER_CUT);
}

void power_cut(void)
{
    pthread_mutex_lock(&lock);
    cut();
}

void power_plan(enum power_from from, uint64_t calls)
{
    pthread_mutex_lock(&lock);
    plan_from = from;
    calls_left = calls;
    counting = from == POWER_FROM_NOW;
    planned = true;
    pthread_mutex_unlock(&lock);
}

void power_await_cut_back(void)
{
    pthread_mutex_lock(&lock);
    while (!seen->cut_backs)
        pthread_cond_wait(&was_cut_back, &lock);
    pthread_mutex_unlock(&lock);
}

static void count_call(const struct image *image, bool is_write, bool is_truncate)
{
    bool in_database = !image->is_wal && !image->is_journal;
    if (!planned)
        return;
    if (plan_from == POWER_FROM_CHECKPOINT && in_database && is_write)
        counting = true;
    if (plan_from == POWER_FROM_CUT_BACK && image->is_wal && is_truncate)
        counting = true;
    if (plan_from == POWER_FROM_RESTART && seen->restarts)
        counting = true;
    if (plan_from == POWER_FROM_REFUSED && seen->refused)
        counting = true;
    if (counting && calls_left-- == 0)
        cut();
}

// ---- the hooks

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

static void load(struct image *image)
{
    struct stat stat_of;
    int fd = open(image->name, O_RDONLY);
    if (fd < 0 || fstat(fd, &stat_of) != 0)
        abort();
    resize(image, (size_t)stat_of.st_size);
    for (size_t done = 0; done < image->size;) {
        ssize_t n = read(fd, image->bytes + done, image->size - done);
        if (n <= 0)
            abort();
        done += (size_t)n;
    }
    close(fd);
}

// The first to open a file finds on the disk what is in it. Closing the descriptor here takes no lock away from SQLite, which
// opens first and locks afterwards.
static void *opened(const char *name)
{
    if (!name)
        return NULL;
    pthread_mutex_lock(&lock);
    struct image *image = images;
    while (image && (image->removed || strcmp(image->name, name) != 0))
        image = image->next;
    if (!image) {
        image = mem_zero(sizeof *image);
        image->name = mem_copy(name, strlen(name));
        image->is_wal = ends_with(name, "-wal");
        image->is_journal = ends_with(name, "-journal");
        load(image);
        image->next = images;
        images = image;
    }
    pthread_mutex_unlock(&lock);
    return image;
}

static void removed(const char *name)
{
    pthread_mutex_lock(&lock);
    for (struct image *image = images; image; image = image->next)
        if (strcmp(image->name, name) == 0)
            image->removed = true;
    pthread_mutex_unlock(&lock);
}

void power_full(uint64_t after, bool at_the_end)
{
    pthread_mutex_lock(&lock);
    full_after = after;
    full_at_the_end = at_the_end;
    will_be_full = true;
    pthread_mutex_unlock(&lock);
}

static bool is_full(const void *from, int n)
{
    enum { FRAME_HEAD = 24, FRAME_ENDS_AT = 4 };
    bool ends = end_is_next && n != FRAME_HEAD;
    end_is_next = n == FRAME_HEAD && memcmp((const char *)from + FRAME_ENDS_AT, (char[4]){0}, 4) != 0;
    if (!will_be_full || (full_after && full_after--) || (full_at_the_end && !ends))
        return false;
    will_be_full = false;
    return true;
}

// Whether a write finds room; and how many of its bytes are taken if it does not.
static bool has_room(const struct image *image, const void *from, int n, int *ret_taken)
{
    *ret_taken = n;
    if (!image || !image->is_wal)
        return true;
    pthread_mutex_lock(&lock);
    bool full = is_full(from, n);
    if (full && rand_below(&dice, 2))
        *ret_taken = (int)rand_below(&dice, (uint64_t)n);
    seen->refused += full;
    pthread_mutex_unlock(&lock);
    return !full;
}

static int write_pending(struct disk_file *file, const void *from, int n, sqlite3_int64 at)
{
    struct image *image = file->mine;
    int taken;
    bool fits = has_room(image, from, n, &taken);
    int rc = taken ? REAL_FILE(file, xWrite, from, taken, at) : SQLITE_OK;
    if (!image || rc != SQLITE_OK)
        return rc;
    pthread_mutex_lock(&lock);
    if (image->is_wal && at == 0 && n == WAL_HEADER && image->size > WAL_HEADER)
        seen->restarts++;
    if (taken)
        add_pending(image, (size_t)at, from, (size_t)taken);
    count_call(image, true, false);
    pthread_mutex_unlock(&lock);
    return fits ? SQLITE_OK : SQLITE_FULL;
}

static int truncate_pending(struct disk_file *file, sqlite3_int64 size)
{
    struct image *image = file->mine;
    int rc = REAL_FILE(file, xTruncate, size);
    if (!image || rc != SQLITE_OK)
        return rc;
    pthread_mutex_lock(&lock);
    if (image->is_wal)
        seen->cut_backs++;
    add_pending(image, (size_t)size, NULL, 0);
    count_call(image, false, true);
    pthread_cond_broadcast(&was_cut_back);
    pthread_mutex_unlock(&lock);
    return rc;
}

// The power may go before the disk has done it, or after it and before anybody is told. The real fsync is left out: the power of
// the machine the test runs on stays on.
static int sync_image(struct disk_file *file, int flags)
{
    struct image *image = file->mine;
    if (!image)
        return SQLITE_OK;
    pthread_mutex_lock(&lock);
    bool before = rand_below(&dice, 2);
    if (before)
        count_call(image, false, false);
    enum power_disk forgets = image->is_wal ? POWER_FORGETS_LOG : image->is_journal ? POWER_HONEST : POWER_FORGETS_PAGES;
    if (disk == POWER_HONEST || disk != forgets)
        settle(image);
    seen->wal_syncs += image->is_wal;
    seen->beside += image->is_wal && database_is_behind();
    seen->checkpoint_ends += !image->is_wal && !image->is_journal;
    if (!before)
        count_call(image, false, false);
    pthread_mutex_unlock(&lock);
    return SQLITE_OK;
}

// The store sets FULL and asks whether it took. Here it does not take, and the answer is a lie.
static int keep_normal(struct disk_file *file, const char *name, const char *value, char **ret_answer)
{
    if (disk != POWER_NORMAL || strcmp(name, "synchronous") != 0 || (value && strcmp(value, "FULL") != 0))
        return SQLITE_NOTFOUND;
    *ret_answer = value ? NULL : sqlite3_mprintf("2");
    return SQLITE_OK;
}

static int set_normal(sqlite3 *handle, char **ret_why, const struct sqlite3_api_routines *api)
{
    return sqlite3_exec(handle, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
}

void power_on(enum power_disk kind, uint64_t seed, struct power_seen *shared)
{
    static const struct disk_hooks hooks = {.opened = opened,
                                            .removed = removed,
                                            .write = write_pending,
                                            .truncate = truncate_pending,
                                            .sync = sync_image,
                                            .pragma = keep_normal};
    disk = kind;
    seen = shared;
    *seen = (struct power_seen){0};
    rand_init(&dice, seed);
    if (disk_put(&hooks) != SQLITE_OK ||
        (kind == POWER_NORMAL && sqlite3_auto_extension((void (*)(void))set_normal) != SQLITE_OK))
        abort();
}
