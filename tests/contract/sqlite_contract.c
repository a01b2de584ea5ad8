// A SQLite store to try, its database as seen from beside it, and what is done to its directory.
#include "sqlite_contract.h"
#include "failing_disk.h"
#include "store/lives.h"

#include <stdio.h>
#include <stdlib.h>

int set_up(void **state)
{
    struct world *world = world_new("sqlite");
    join(world, A);
    *state = world;
    return 0;
}

int tear_down(void **state)
{
    move_is_held_up = false;
    world_free(*state);
    return 0;
}

static sqlite3 *open_database(const struct world *world)
{
    char path[160];
    sqlite3 *handle;
    snprintf(path, sizeof path, "%s/data/rota.db", world->dir);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    return handle;
}

void execute(const struct world *world, const char *sql)
{
    sqlite3 *handle = open_database(world);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

int64_t ask_number(const struct world *world, const char *sql)
{
    sqlite3 *handle = open_database(world);
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(handle);
    return number;
}

int64_t add_large(struct world *world)
{
    static char doc[LARGE];
    return add(world, (struct sample){.doc = {doc, LARGE}});
}

bool is_there(struct world *world, int64_t id)
{
    return get_job(world, id)->op.err == ERR_OK;
}

void shell(const struct world *world, const char *what)
{
    char command[sizeof world->dir + 512];
    int n = snprintf(command, sizeof command, "cd %s && %s", world->dir, what);
    assert_in_range(n, 1, sizeof command - 1);
    assert_int_equal(system(command), 0);
}

enum err beat(struct world *world)
{
    struct store_beat *op = OP(world, store_beat, STORE_BEAT);
    op->incarnation = A;
    enum err err = call(world, &op->op);
    assert_true(err == ERR_OK || strstr(op->op.why, world->dir));
    return err;
}

void a_second_one_is_refused(struct world *world, pid_t pid)
{
    struct store *second;
    char url[160], why[ERR_WHY_MAX] = "", expected[64];
    world_url(world, url);
    assert_int_not_equal(store_open(&second, url, why), ERR_OK);
    snprintf(expected, sizeof expected, "another rota serves this directory (pid %ld)", (long)pid);
    assert_non_null(strstr(why, expected));
    add(world, (struct sample){0}); // the first is unharmed
}
