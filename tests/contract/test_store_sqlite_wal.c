// The WAL of the SQLite store: it is moved into the database and begun anew, whatever else goes on.
#include "failing_disk.h"
#include "sqlite_contract.h"
#include "store/sqlite/disk.h"

#include <stdio.h>

// The store is opened anew, so that it has nothing to move before the document comes. That is so large that it is moved at once.
static void reads_go_on_while_the_wal_is_moved(void **state)
{
    struct world *world = *state;
    static char doc[(WAL_MOVED_AT + 1) * LARGE];
    world_reopen(world);
    move_is_held_up = true;
    int64_t id = add(world, (struct sample){.doc = {doc, sizeof doc}});
    sem_wait(&move_waits);
    bool seen = is_there(world, id);
    sem_post(&move_may_go_on);
    assert_true(seen);
    world_reopen(world);
    assert_true(is_there(world, id));
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
    wal_start(&bare->wal, &bare->db, &bare->extent);
    assert_int_equal(sqlite3_exec(bare->db.handle, "CREATE TABLE large(bytes BLOB)", NULL, NULL, NULL), SQLITE_OK);
    return bare;
}

static void bare_close(struct bare *bare)
{
    wal_close(&bare->wal);
    db_close(&bare->db);
    extent_close(&bare->extent);
    files_close(&bare->files);
    mem_free(bare);
}

static void bare_open_reader(const struct bare *bare, struct db *ret_reader)
{
    char path[sizeof bare->files.dir + 16], why[ERR_WHY_MAX];
    snprintf(path, sizeof path, "%s/rota.db", bare->files.dir);
    assert_int_equal(db_open(ret_reader, path, NULL, DB_READS, why), ERR_OK);
}

static void commit_large(struct bare *bare)
{
    assert_int_equal(sqlite3_exec(bare->db.handle, "INSERT INTO large VALUES(zeroblob(1<<20))", NULL, NULL, NULL), SQLITE_OK);
}

// Returns how often the WAL was begun anew.
static int commit_until(struct bare *bare, int commits, int begun_max)
{
    int before = wal_begun;
    for (int i = 0; i < commits && wal_begun - before < begun_max; i++) {
        commit_large(bare);
        wal_keep_short(&bare->wal);
    }
    return wal_begun - before;
}

static int64_t count_seen(struct db *db)
{
    int64_t count = -1;
    assert_true(db_ask_number(db, "SELECT count(*) FROM large", &count));
    return count;
}

static void what_came_while_somebody_read_is_moved_when_the_reader_has_ended(void **state)
{
    struct bare *bare = bare_open(*state);
    struct db reader;
    bare_open_reader(bare, &reader);
    commit_large(bare);
    assert_int_equal(sqlite3_exec(reader.handle, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(count_seen(&reader), 1);
    assert_int_equal(commit_until(bare, WAL_MOVED_AT * 2, 1), 0);
    assert_true(wal_unmoved(&bare->wal) > 0);
    assert_int_equal(count_seen(&reader), 1);
    assert_int_equal(sqlite3_exec(reader.handle, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(commit_until(bare, WAL_MOVED_AT * 2, 1), 1);
    assert_int_equal(count_seen(&reader), count_seen(&bare->db));
    db_close(&reader);
    bare_close(bare);
}

static void what_a_full_disk_does_not_take_is_moved_when_there_is_room(void **state)
{
    struct bare *bare = bare_open(*state);
    for (int i = 0; i <= WAL_MOVED_AT; i++)
        commit_large(bare);
    fullness = IS_FULL;
    wal_keep_short(&bare->wal);
    wal_empty(&bare->wal);
    fullness = HAS_ROOM;
    assert_int_equal(bare->db.rc, SQLITE_OK);
    wal_keep_short(&bare->wal); // not at once, or each commit would try in vain while the disk is full
    assert_true(wal_unmoved(&bare->wal) > 0);
    wal_empty(&bare->wal);
    assert_int_equal(wal_unmoved(&bare->wal), 0);
    assert_int_equal(commit_until(bare, 1, 1), 1);
    assert_int_equal(count_seen(&bare->db), WAL_MOVED_AT + 2);
    bare_close(bare);
}

static void a_wal_that_was_very_large_is_truncated_and_short_again(void **state)
{
    struct bare *bare = bare_open(*state);
    struct wal_end end;
    for (int i = 0; i <= WAL_MOVED_AT * 4; i++)
        commit_large(bare);
    fullness = IS_FULL;
    wal_keep_short(&bare->wal); // the next move would be due when it is larger still
    fullness = HAS_ROOM;
    wal_empty(&bare->wal);
    assert_int_equal(wal_find_end(&bare->db, &end), SQLITE_OK);
    assert_int_equal(end.frames, 0);
    assert_int_equal(commit_until(bare, WAL_MOVED_AT * 2, 2), 2); // from its beginning, and anew when it was moved
    bare_close(bare);
}

int contract_sqlite_wal(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(reads_go_on_while_the_wal_is_moved),
        PROMISE(the_wal_begins_anew_though_writes_never_pause),
        PROMISE(what_came_while_somebody_read_is_moved_when_the_reader_has_ended),
        PROMISE(what_a_full_disk_does_not_take_is_moved_when_there_is_room),
        PROMISE(a_wal_that_was_very_large_is_truncated_and_short_again),
    };
    return cmocka_run_group_tests_name("store sqlite: wal", tests, NULL, NULL);
}
