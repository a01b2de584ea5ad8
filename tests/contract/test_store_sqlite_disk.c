// The SQLite store on a disk that cannot be written to, is full, or breaks.
#include "failing_disk.h"
#include "sqlite_contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    struct store *store;
    char why[ERR_WHY_MAX] = "";
    assert_int_not_equal(store_open(&store, "sqlite:/nowhere/at/all", why), ERR_OK);
    assert_non_null(strstr(why, "/nowhere/at/all"));
    assert_int_equal(store_open(&store, "sqlite:", why), ERR_BAD_REQUEST);
}

static void is_said_and_forgotten_when_there_is_room(struct world *world, enum fullness kind)
{
    enum err err;
    int64_t before = add(world, (struct sample){0});
    fullness = kind;
    struct store_new *item = try_add(world, (struct sample){.queue = "made in vain"}, &err);
    assert_int_equal(err, ERR_STORAGE_FULL);
    assert_int_equal(item->err, ERR_STORAGE_FULL);
    struct store_claim *op = claim(world, A, NOW, job_now(world, before).lane, 10);
    assert_int_equal(op->op.err, ERR_STORAGE_FULL);
    assert_int_equal(op->job_count, 0);
    fullness = HAS_ROOM;
    assert_int_equal(get_job(world, item->task->id)->op.err, ERR_NOT_FOUND);
    assert_int_equal(job_now(world, before).state, JOB_READY);
    int64_t after = add(world, (struct sample){.queue = "made in vain"});
    assert_int_equal(claim(world, A, NOW, job_now(world, after).lane, 10)->job_count, 1);
    struct store_lanes *lanes = OP(world, store_lanes, STORE_LANES);
    lanes->max = 10;
    assert_int_equal(call(world, &lanes->op), ERR_OK);
    assert_int_equal(lanes->lane_count, 2);
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    assert_int_equal(stats->counts[JOB_READY], 1);
    assert_int_equal(stats->counts[JOB_WATCHING], 1);
}

static void a_full_disk_is_said_and_forgotten_when_there_is_room(void **state)
{
    is_said_and_forgotten_when_there_is_room(*state, IS_FULL);
}

static void a_quota_is_a_full_disk(void **state)
{
    is_said_and_forgotten_when_there_is_room(*state, HAS_QUOTA);
}

static void a_limit_on_the_size_of_files_is_a_full_disk(void **state)
{
    is_said_and_forgotten_when_there_is_room(*state, HAS_LIMIT);
}

// What is on the disk now, as a start after a crash would find it.
static struct world *crashed(const struct world *world)
{
    struct world *after = world_new("sqlite");
    char command[3 * sizeof after->dir + 64];
    store_close(after->store);
    snprintf(command, sizeof command, "rm -r %s/data && cp -r %s/data %s/data", after->dir, world->dir, after->dir);
    assert_int_equal(system(command), 0);
    world_open(after);
    return after;
}

static void refuse_and_crash(struct world *world, int64_t before)
{
    enum err err;
    fullness = TOOK_AND_FULL;
    struct store_new *refused = try_add(world, (struct sample){0}, &err);
    fullness = HAS_ROOM;
    assert_int_equal(err, ERR_STORAGE_FULL);
    struct world *after = crashed(world);
    assert_false(is_there(after, refused->task->id));
    assert_true(is_there(after, before));
    world_free(after);
}

// Also by the first transaction of a WAL, and by one that begins it anew.
static void what_a_full_disk_refused_stays_refused(void **state)
{
    struct world *world = *state;
    int64_t before = add(world, (struct sample){0});
    refuse_and_crash(world, before);
    world_reopen(world);
    refuse_and_crash(world, before);
    int begun = wal_begun;
    while (wal_begun == begun)
        before = add_large(world);
    refuse_and_crash(world, before);
    assert_true(is_there(world, add(world, (struct sample){0})));
}

// ---- a disk that breaks

// Runs in a process of its own, which is to die in an add, or beside it.
static void add_on_a_broken_disk(const char *dir, atomic_bool *what_breaks)
{
    char url[160], why[ERR_WHY_MAX];
    struct world world = {.last_id = 5000};
    snprintf(url, sizeof url, "sqlite:%s/other", dir);
    if (store_open(&world.store, url, why))
        _exit(1);
    *what_breaks = true;
    for (int i = 0; i < WAL_MOVED_AT * 20; i++)
        add_large(&world);
    _exit(2);
}

static void die_of(struct world *world, atomic_bool *what_breaks)
{
    int status = 0, words[2];
    char said[512] = "";
    store_close(world->store); // a process with threads does not fork well
    world->store = NULL;
    assert_int_equal(pipe(words), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(words[1], STDERR_FILENO);
        add_on_a_broken_disk(world->dir, what_breaks);
    }
    close(words[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(words[0], said, sizeof said - 1) > 0);
    close(words[0]);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 70);
    assert_non_null(strstr(said, "fsync failed"));
}

static void when_fsync_fails_the_process_ends(void **state)
{
    die_of(*state, &disk_is_broken);
}

static void when_moved_pages_cannot_be_synced_the_process_ends(void **state)
{
    die_of(*state, &database_is_broken);
}

int contract_sqlite_disk(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_directory_that_cannot_be_made_is_named),
        PROMISE(a_full_disk_is_said_and_forgotten_when_there_is_room),
        PROMISE(a_quota_is_a_full_disk),
        PROMISE(a_limit_on_the_size_of_files_is_a_full_disk),
        PROMISE(what_a_full_disk_refused_stays_refused),
        PROMISE(when_fsync_fails_the_process_ends),
        PROMISE(when_moved_pages_cannot_be_synced_the_process_ends),
    };
    return cmocka_run_group_tests_name("store sqlite: disk", tests, NULL, NULL);
}
