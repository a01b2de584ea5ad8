// What the files of the SQLite store's own suite share: a store to try, its database beside it, and its directory.
#pragma once
#include "store_support.h"

#include <sqlite3.h>
#include <sys/types.h>

enum { A = 11 };

enum { LARGE = 1 << 20, WAL_MOVED_AT = 16 }; // documents of 1 MiB: so many, and the WAL is moved

int set_up(void **state); // A has joined
int tear_down(void **state);
#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

// The promises of a file. Each returns how many were broken.
int contract_sqlite_upgrade(void);
int contract_sqlite_disk(void);
int contract_sqlite_files(void);
int contract_sqlite_wal(void);
int contract_sqlite_plans(void);

int64_t add_large(struct world *world);
bool is_there(struct world *world, int64_t id);
enum err beat(struct world *world);                           // of A
void shell(const struct world *world, const char *what);      // in the directory of the world
void a_second_one_is_refused(struct world *world, pid_t pid); // because this process serves the directory

// On the database itself, in a connection of their own.
void execute(const struct world *world, const char *sql);
int64_t ask_number(const struct world *world, const char *sql);
