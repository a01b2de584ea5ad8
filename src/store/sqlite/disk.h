// What is on the disk, and whether it still is: the data directory (sqlite/files.c), how far database and WAL have come
// (sqlite/extent.c), the WAL (sqlite/wal.c), and copies (sqlite/backup.c).
// Layer: port, private to this folder.
#pragma once
#include "store/op_queue.h"
#include "store/sqlite/db.h"

#include <sys/stat.h>

// sqlite/files.c. Set before there are threads.
enum files_name { FILES_DATABASE, FILES_WAL, FILES_COUNT };

struct files {
    char dir[4096];
    int dir_fd, lock_fd; // both locked
    struct stat known[FILES_COUNT];
};

void files_init(struct files *files);
err_check enum err files_open(struct files *files, const char *dir, char why[ERR_WHY_MAX]); // makes the directory; ERR_BUSY
err_check enum err files_know(struct files *files, char why[ERR_WHY_MAX]); // which ones they are, once all are open
bool files_in_place(const struct files *files, char why[ERR_WHY_MAX]);     // the paths still lead to them
bool files_hold_database(const struct files *files); // the directory that was opened still has it, wherever that is now
void files_close(struct files *files);

// Where the WAL ends, as its index says.
enum { EXTENT_SALT_BYTES = 8 };

struct wal_end {
    uint8_t salt[EXTENT_SALT_BYTES]; // another one each time the WAL is begun anew
    int64_t frames;                  // up to the last commit
};

// sqlite/extent.c. The note as it is in the file; none of its members is more than is on the disk.
#define EXTENT_MAGIC "rota 1\n" // eight bytes with its NUL

struct extent_note {
    char magic[8];
    int64_t bytes; // of the database
    int64_t beats; // the last one in it
    uint8_t salt[EXTENT_SALT_BYTES];
    int64_t frames;  // of the WAL; 0: nothing is known of it
    int64_t unmoved; // of these, may not be in the database
    uint64_t sum;
};

struct extent {
    const char *dir;
    int fd;
    struct extent_note note;               // the writer's
    uint8_t salt_found[EXTENT_SALT_BYTES]; // at the start
};

void extent_init(struct extent *extent);
// Reads the note and compares it: with the files before the database is opened, and with what SQLite has recovered of them.
err_check enum err extent_open(struct extent *extent, const struct files *files, char why[ERR_WHY_MAX]);
err_check enum err extent_check(struct extent *extent, struct db *db, char why[ERR_WHY_MAX]);
void extent_commit(struct extent *extent, const struct wal_end *end, int64_t unmoved, int64_t beats); // behind one
void extent_move(struct extent *extent, int64_t bytes); // all of the WAL is in the database, which is so large
bool extent_forget_wal(struct extent *extent);          // before it is truncated, which may be done only if this is true
void extent_close(struct extent *extent);

// sqlite/wal.c. The writer thread's.
struct wal {
    struct db *writer;
    struct extent *extent;
    bool committed;   // there was a commit in this life: the whole WAL is synced
    int pages, moved; // in the WAL; of these, in the database, too
    int most;         // that it ever had
    int next;         // it is to be moved when it has more than these
};

void wal_start(struct wal *wal, struct db *writer, struct extent *extent);
int wal_find_end(struct db *db, struct wal_end *ret_end);
bool wal_is_whole(struct wal *wal);            // nobody has cut it or the database short
void wal_note(struct wal *wal, int64_t beats); // after a commit: how far it has come
void wal_close(struct wal *wal);               // moves all of it, and leaves an empty WAL
int wal_unmoved(const struct wal *wal);
void wal_keep_short(struct wal *wal); // after a commit
void wal_empty(struct wal *wal);      // when nobody is waiting
void wal_cut_off(struct wal *wal);    // after a rollback, before it is answered: removes what was written into the WAL

// What makes copies, on a thread of its own.
struct backup {
    struct op_queue queue;
    pthread_mutex_t lock;
    sqlite3 *handle; // under lock: the one that is at it, or NULL
    bool closing;    // under lock
    const struct files *files;
};

void backup_init(struct backup *backup);
void backup_start(struct backup *backup, const struct files *files);
void backup_close(struct backup *backup); // breaks off what is being made; returns when its thread has ended
void backup_done(struct backup *backup);
