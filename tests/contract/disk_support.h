// A layer between SQLite and the files, for suites that want a disk to misbehave. It passes everything on but what a hook takes.
// A hook does the real thing itself, with REAL_FILE(), if it wants it done.
#pragma once
#include <sqlite3.h>

struct disk_file {
    sqlite3_file base;
    sqlite3_file *real; // behind this struct
    void *mine;         // what `opened` gave
};

#define REAL_FILE(file, method, ...) ((file)->real->pMethods->method((file)->real, ##__VA_ARGS__))

// Those that are NULL take nothing.
struct disk_hooks {
    void *(*opened)(const char *name); // name is NULL for a temporary file
    void (*removed)(const char *name);
    int (*write)(struct disk_file *file, const void *from, int n, sqlite3_int64 at);
    int (*truncate)(struct disk_file *file, sqlite3_int64 size);
    int (*sync)(struct disk_file *file, int flags);
    int (*pragma)(struct disk_file *file, const char *name, const char *value, char **ret_answer); // SQLITE_NOTFOUND: not taken
};

// From now on every database of this process is opened through the layer. Once a process.
int disk_put(const struct disk_hooks *hooks);
