// The WAL of the SQLite store: it is moved while writes go on, and never begun anew too early.
#include "failing_disk.h"
#include "sqlite_contract.h"
#include "store/sqlite/disk.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void writes_go_on_while_the_wal_is_moved(void **state)
{
    struct world *world = *state;
    int64_t first = add_large(world), beside = 0;
    moving_is_held_up = true;
    for (int i = 0; i < FEW && moving_is_held_up; i++)
        add_large(world);
    assert_false(moving_is_held_up);
    sem_wait(&mover_waits);
    for (int i = 0; i < WAL_MOVED_AT * 2; i++)
        beside = add_large(world);
    sem_post(&mover_may_go);
    assert_int_equal(job_now(world, beside).state, JOB_READY);
    world_reopen(world);
    assert_int_equal(job_now(world, first).state, JOB_READY);
    assert_int_equal(job_now(world, beside).state, JOB_READY);
}

static void the_wal_begins_anew_though_writes_never_pause(void **state)
{
    struct world *world = *state;
    int before = wal_begun;
    for (int i = 0; i < WAL_MOVED_AT * 20 && wal_begun < before + 3; i++)
        add_large(world);
    assert_true(wal_begun >= before + 3);
}

// A WAL by itself, with the test as its writer.
struct bare {
    struct files files;
    struct extent extent;
    struct db db;
    struct wal wal;
};

static struct bare *bare_open(const struct world *world)
{
    struct bare *bare = mem_zero(sizeof *bare);
    char dir[160], path[180], why[ERR_WHY_MAX];
    snprintf(dir, sizeof dir, "%.140s/bare", world->dir);
    snprintf(path, sizeof path, "%s/rota.db", dir);
    files_init(&bare->files);
    extent_init(&bare->extent);
    assert_int_equal(files_open(&bare->files, dir, why), ERR_OK);
    assert_int_equal(extent_open(&bare->extent, &bare->files, why), ERR_OK);
    assert_int_equal(db_open(&bare->db, path, NULL, DB_WRITES, why), ERR_OK);
    assert_int_equal(extent_check(&bare->extent, &bare->db, why), ERR_OK);
    assert_int_equal(wal_start(&bare->wal, &bare->db, &bare->extent, path, why), ERR_OK);
    assert_int_equal(sqlite3_exec(bare->db.handle, "CREATE TABLE large(bytes BLOB)", NULL, NULL, NULL), SQLITE_OK);
    return bare;
}

static void bare_close(struct bare *bare)
{
    wal_close(&bare->wal, true);
    db_close(&bare->db);
    extent_close(&bare->extent);
    files_close(&bare->files);
    mem_free(bare);
}

static void commit_large(struct bare *bare)
{
    assert_int_equal(sqlite3_exec(bare->db.handle, "INSERT INTO large VALUES(zeroblob(1<<20))", NULL, NULL, NULL), SQLITE_OK);
}

static enum wal_mover mover_now(struct bare *bare)
{
    pthread_mutex_lock(&bare->wal.lock);
    enum wal_mover mover = bare->wal.mover;
    pthread_mutex_unlock(&bare->wal.lock);
    return mover;
}

// The argument in the head of sqlite/wal.c. The mover is held up where SQLite would lose pages: it was asked, and its checkpoint
// has not begun. All that the writer may do meanwhile must leave it something to move.
static void the_wal_is_not_begun_anew_before_the_mover_has_ended(void **state)
{
    struct bare *bare = bare_open(*state);
    begin_is_held_up = true;
    for (int i = 0; i < FEW && mover_now(bare) == WAL_RESTS; i++) {
        commit_large(bare);
        wal_keep_short(&bare->wal);
    }
    assert_int_equal(mover_now(bare), WAL_MOVING);
    assert_true(wal_unmoved(&bare->wal) > 0);
    sem_wait(&mover_waits);
    int before = wal_begun;
    for (int i = 0; i < 3; i++) {
        wal_empty(&bare->wal);
        commit_large(bare);
        wal_keep_short(&bare->wal);
        commit_large(bare);
    }
    int beside = wal_begun;
    sem_post(&mover_may_go);
    assert_int_equal(beside, before);
    while (mover_now(bare) == WAL_MOVING)
        sched_yield();
    wal_keep_short(&bare->wal);
    assert_int_equal(wal_unmoved(&bare->wal), 0);
    commit_large(bare);
    assert_int_equal(wal_begun, before + 1);
    bare_close(bare);
}

static void the_mover_is_not_asked_when_nothing_is_left(void **state)
{
    struct bare *bare = bare_open(*state);
    for (int i = 0; i < WAL_MOVED_AT * 2; i++)
        commit_large(bare);
    wal_empty(&bare->wal);
    assert_int_equal(wal_unmoved(&bare->wal), 0);
    wal_keep_short(&bare->wal);
    assert_int_equal(mover_now(bare), WAL_RESTS);
    bare_close(bare);
}

int contract_sqlite_wal(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(writes_go_on_while_the_wal_is_moved),
        PROMISE(the_wal_begins_anew_though_writes_never_pause),
        PROMISE(the_wal_is_not_begun_anew_before_the_mover_has_ended),
        PROMISE(the_mover_is_not_asked_when_nothing_is_left),
    };
    return cmocka_run_group_tests_name("store sqlite: wal", tests, NULL, NULL);
}
