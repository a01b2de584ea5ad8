// The data directory of the SQLite store: made, locked against a second process, and looked after while it is served.
//
// A file that is removed or replaced is still there for a process that has it open, but nobody would ever find what rota writes
// into it. So the writer looks whether the paths still lead to the files it has open. The WAL's index (-shm) does not matter:
// only this process reads it, and the next start makes it anew.
//
// What it does not do: notice that somebody writes into these files in place.
#include "store/sqlite/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[FILES_COUNT] = {[FILES_DATABASE] = "rota.db", [FILES_WAL] = "rota.db-wal"};

static enum err say(char why[ERR_WHY_MAX], const char *what, const char *path)
{
    snprintf(why, ERR_WHY_MAX, "%s %.150s: %s", what, path, strerror(errno));
    return ERR_STORE_UNAVAILABLE;
}

// ---- the directory and its lock

// A new directory is itself an entry of its parent that must be on the disk.
static enum err make_dir(const char *dir, char why[ERR_WHY_MAX])
{
    if (mkdir(dir, 0700) != 0)
        return errno == EEXIST ? ERR_OK : say(why, "cannot make the directory", dir);
    char parent[4096 + 8];
    snprintf(parent, sizeof parent, "%s/..", dir);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return synced ? ERR_OK : say(why, "cannot sync the parent of", dir);
}

static enum err say_taken(const struct files *files, char why[ERR_WHY_MAX])
{
    char pid[24] = "";
    ssize_t n = files->lock_fd >= 0 ? pread(files->lock_fd, pid, sizeof pid - 1, 0) : 0;
    snprintf(why, ERR_WHY_MAX, "another rota serves this directory (pid %ld): %.150s", n > 0 ? strtol(pid, NULL, 10) : 0,
             files->dir);
    return ERR_BUSY;
}

// The directory itself is locked, too, because rota.lock may be removed, and a second process would make another one. rota.lock
// is there because some file systems cannot lock directories.
static enum err take_locks(struct files *files, const char *path, char why[ERR_WHY_MAX])
{
    if (flock(files->dir_fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return say_taken(files, why);
    if (flock(files->lock_fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? say_taken(files, why) : say(why, "cannot lock", path);
    char pid[24];
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(files->lock_fd, 0) != 0 || pwrite(files->lock_fd, pid, (size_t)n, 0) != n)
        return say(why, "cannot write", path);
    return ERR_OK;
}

void files_init(struct files *files)
{
    files->dir_fd = files->lock_fd = -1;
}

enum err files_open(struct files *files, const char *dir, char why[ERR_WHY_MAX])
{
    char path[4096 + 16];
    snprintf(files->dir, sizeof files->dir, "%s", dir);
    snprintf(path, sizeof path, "%s/rota.lock", dir);
    enum err err = make_dir(dir, why);
    if (err)
        return err;
    files->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->dir_fd < 0)
        return say(why, "cannot open", dir);
    files->lock_fd = openat(files->dir_fd, "rota.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return files->lock_fd < 0 ? say(why, "cannot open", path) : take_locks(files, path, why);
}

void files_close(struct files *files)
{
    if (files->lock_fd >= 0)
        close(files->lock_fd);
    if (files->dir_fd >= 0)
        close(files->dir_fd);
}

// ---- whether they are where they were

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool holds(const struct files *files, enum files_name name)
{
    struct stat now;
    return fstatat(files->dir_fd, names[name], &now, 0) == 0 && is_same(&now, &files->known[name]);
}

enum err files_know(struct files *files, char why[ERR_WHY_MAX])
{
    for (int i = 0; i < FILES_COUNT; i++)
        if (fstatat(files->dir_fd, names[i], &files->known[i], 0) != 0)
            return say(why, "cannot find the file that was just opened:", names[i]);
    return ERR_OK;
}

bool files_hold_database(const struct files *files)
{
    return holds(files, FILES_DATABASE);
}

bool files_in_place(const struct files *files, char why[ERR_WHY_MAX])
{
    struct stat mine, now;
    if (fstat(files->dir_fd, &mine) != 0 || stat(files->dir, &now) != 0 || !is_same(&mine, &now)) {
        snprintf(why, ERR_WHY_MAX, "the directory %.150s was removed or replaced, or moved away", files->dir);
        return false;
    }
    for (int i = 0; i < FILES_COUNT; i++)
        if (!holds(files, i)) {
            snprintf(why, ERR_WHY_MAX, "%.150s/%s was removed or replaced, or moved away", files->dir, names[i]);
            return false;
        }
    return true;
}
