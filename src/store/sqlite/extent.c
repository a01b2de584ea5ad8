// rota.extent: how far the database and its WAL had come, so that a start notices when they have lost something since.
//
// A WAL that lost its end is a whole WAL to SQLite, of an earlier time, and a start would go on from there with fewer tasks,
// silently. So behind each commit the writer notes what is on the disk by then: the generation of the WAL (its salt) and how many
// frames it has, how large the database is, and the number of the last beat in it. The note is not synced: it may be an old one
// after the power was lost, and what it says is true of any later time. It is compared when the store is opened:
//
//   the database is not shorter, and has that beat. The WAL is there, and if it is the same generation, it has no fewer whole
//   frames, unless all of them were in the database, too. (If it is another, they are: SQLite begins the WAL anew only then.)
//   Before the WAL is truncated, that is noted and synced.
//
// A torn last transaction was in no note. Without a note (a new store, a backup, one that somebody accepted) nothing is compared.
//
// What it does not do: notice damage in the middle of the database.
#include "store/sqlite/disk.h"

#include "base/data/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

enum { WAL_HEADER = 32, WAL_SALT_AT = 16 };
_Static_assert(sizeof EXTENT_MAGIC == sizeof((struct extent_note *)0)->magic, "they are compared");
static const char name[] = "rota.extent";

static uint64_t sum_of(const struct extent_note *note)
{
    return hash_bytes(note, offsetof(struct extent_note, sum));
}

// If the note cannot be written, the one before stays true.
static bool put(struct extent *extent)
{
    extent->note.sum = sum_of(&extent->note);
    return pwrite(extent->fd, &extent->note, sizeof extent->note, 0) == sizeof extent->note;
}

// ---- at the start

// Without the note nothing is compared, so an operator who removes it goes on with what is left. Of the directory there is as
// much as the advice leaves room for.
__attribute__((format(printf, 4, 5))) static enum err say_lost(const struct extent *extent, char why[ERR_WHY_MAX], bool can_go_on,
                                                               const char *format, ...)
{
    char lost[100];
    va_list args;
    va_start(args, format);
    vsnprintf(lost, sizeof lost, format, args);
    va_end(args);
    static const char restore[] = ": tasks are lost. Restore a backup into an empty directory";
    const char *go_on = can_go_on ? "; or go on with what is left: remove rota.extent there" : "";
    int room = ERR_WHY_MAX - (int)(strlen(lost) + strlen(", in ") + sizeof restore + strlen(go_on));
    snprintf(why, ERR_WHY_MAX, "%s, in %.*s%s%s", lost, room < 80 ? room : 80, extent->dir, restore, go_on);
    return ERR_STORE_UNAVAILABLE;
}

static int64_t size_of(const struct files *files, const char *file)
{
    struct stat stat_of;
    return fstatat(files->dir_fd, file, &stat_of, 0) == 0 ? (int64_t)stat_of.st_size : 0;
}

static void read_salt(const struct files *files, uint8_t ret_salt[EXTENT_SALT_BYTES])
{
    memset(ret_salt, 0, EXTENT_SALT_BYTES);
    int fd = openat(files->dir_fd, "rota.db-wal", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (pread(fd, ret_salt, EXTENT_SALT_BYTES, WAL_SALT_AT) != EXTENT_SALT_BYTES)
        memset(ret_salt, 0, EXTENT_SALT_BYTES);
    close(fd);
}

static bool is_note(const struct extent_note *note, ssize_t n)
{
    return n == sizeof *note && memcmp(note->magic, EXTENT_MAGIC, sizeof note->magic) == 0 && note->sum == sum_of(note);
}

void extent_init(struct extent *extent)
{
    extent->fd = -1;
}

enum err extent_open(struct extent *extent, const struct files *files, char why[ERR_WHY_MAX])
{
    struct extent_note *note = &extent->note;
    extent->dir = files->dir;
    extent->fd = openat(files->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (extent->fd < 0) {
        snprintf(why, ERR_WHY_MAX, "cannot open %.150s/%s: %s", files->dir, name, strerror(errno));
        return ERR_STORE_UNAVAILABLE;
    }
    if (!is_note(note, pread(extent->fd, note, sizeof *note, 0)))
        *note = (struct extent_note){.magic = EXTENT_MAGIC};
    read_salt(files, extent->salt_found);
    int64_t bytes = size_of(files, "rota.db");
    if (!bytes && note->bytes)
        return say_lost(extent, why, true, "rota.db is gone: it had %lld bytes", (long long)note->bytes);
    if (bytes < note->bytes) // SQLite would not read what is left of it
        return say_lost(extent, why, false, "rota.db has lost its end: it has %lld bytes and had %lld", (long long)bytes,
                        (long long)note->bytes);
    if (note->unmoved && size_of(files, "rota.db-wal") < WAL_HEADER)
        return say_lost(extent, why, true, "rota.db-wal is gone: %lld of its pages were in no other file",
                        (long long)note->unmoved);
    return ERR_OK;
}

enum err extent_check(struct extent *extent, struct db *db, char why[ERR_WHY_MAX])
{
    struct extent_note *note = &extent->note;
    int64_t beats = 0;
    struct wal_end end = {0};
    db_ask_number(db, "SELECT value FROM meta WHERE name='beats'", &beats);
    if (wal_find_end(db, &end) != SQLITE_OK) {
        snprintf(why, ERR_WHY_MAX, "the index of the write-ahead log cannot be read");
        return ERR_STORE_UNAVAILABLE;
    }
    bool same = note->unmoved && memcmp(extent->salt_found, note->salt, sizeof note->salt) == 0;
    if (same && end.frames < note->frames)
        return say_lost(extent, why, true, "rota.db-wal has lost its end or is damaged: %lld of its pages are whole, %lld were",
                        (long long)end.frames, (long long)note->frames);
    if (beats < note->beats)
        return say_lost(extent, why, true, "rota.db or its log is an older one: it has %lld heartbeats and had %lld",
                        (long long)beats, (long long)note->beats);
    bool in_wal = note->unmoved;
    if (!extent_forget_wal(extent) && in_wal) { // what was just recovered may never have been synced
        snprintf(why, ERR_WHY_MAX, "cannot write %.150s/%s: %s", extent->dir, name, strerror(errno));
        return ERR_STORE_UNAVAILABLE;
    }
    return ERR_OK;
}

// ---- while it runs

void extent_commit(struct extent *extent, const struct wal_end *end, int64_t unmoved, int64_t beats)
{
    struct extent_note *note = &extent->note;
    memcpy(note->salt, end->salt, sizeof note->salt);
    note->frames = end->frames;
    note->unmoved = unmoved;
    note->beats = beats ? beats : note->beats;
    put(extent);
}

void extent_move(struct extent *extent, int64_t bytes)
{
    extent->note.unmoved = 0;
    extent->note.bytes = bytes;
    put(extent);
}

bool extent_forget_wal(struct extent *extent)
{
    extent->note.frames = extent->note.unmoved = 0;
    return put(extent) && fdatasync(extent->fd) == 0;
}

void extent_close(struct extent *extent)
{
    if (extent->fd >= 0)
        close(extent->fd);
}
