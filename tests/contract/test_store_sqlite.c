// What only the SQLite store promises: it is alone, it remembers, it refuses what it does not know, and it meets a disk that is
// full or broken as it should. The disk is made to fail by a layer between SQLite and the files.
#include "disk_support.h"
#include "store/lives.h"
#include "store/peers.h"
#include "store/sqlite/disk.h"
#include "store_support.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { A = 11 };

// ---- a disk that fails when told to

enum { WAL_HEADER = 32, FRAME_HEAD = 24 };

static atomic_bool disk_is_broken, database_is_broken;
static _Atomic enum fullness {
    HAS_ROOM,
    IS_FULL,      // as SQLite says it
    HAS_QUOTA,    // the system says EDQUOT, which SQLite takes for a failure
    HAS_LIMIT,    // EFBIG, likewise
    TOOK_AND_FULL // it says so when the last byte of a commit is in the file
} fullness;
static atomic_int wal_begun;          // how often it was begun, or begun anew
static atomic_bool moving_is_held_up; // the mover waits before it writes its next page
static atomic_bool begin_is_held_up;  // the mover waits before its checkpoint has read or locked anything
static atomic_bool rest_is_held_up;   // likewise the writer, which moves what is left when nobody is waiting
static sem_t mover_waits, mover_may_go;

static bool is_mover(void)
{
    char name[16];
    return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && strcmp(name, "store-move") == 0;
}

static void *tell_kind(const char *name)
{
    static char database;
    size_t n = name ? strlen(name) : 0;
    return n > 3 && strcmp(name + n - 3, ".db") == 0 ? &database : NULL;
}

static ssize_t (*system_pwrite)(int fd, const void *bytes, size_t n, off_t at);

static ssize_t pwrite_within_limits(int fd, const void *bytes, size_t n, off_t at)
{
    if (fullness != HAS_QUOTA && fullness != HAS_LIMIT)
        return system_pwrite(fd, bytes, n, at);
    errno = fullness == HAS_QUOTA ? EDQUOT : EFBIG;
    return -1;
}

// SQLite has a table of the system's calls for such as want others.
static void limit_writes(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    system_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))vfs->xGetSystemCall(vfs, "pwrite64");
    if (!system_pwrite || vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)pwrite_within_limits) != SQLITE_OK)
        abort();
}

// The frame that ends a transaction says how many pages the database has then; others say 0. Its head is written, then its page.
static bool ends_commit(struct disk_file *file, const char *from, int n)
{
    static atomic_bool is_next;
    bool ends = is_next && n == DB_PAGE_BYTES;
    is_next = !file->mine && n == FRAME_HEAD && memcmp(from + 4, (char[4]){0}, 4) != 0;
    return ends;
}

static int write_unless_full(struct disk_file *file, const void *from, int n, sqlite3_int64 at)
{
    bool is_database = file->mine;
    if (is_database && atomic_exchange(is_mover() ? &moving_is_held_up : &rest_is_held_up, false)) {
        sem_post(&mover_waits);
        sem_wait(&mover_may_go);
    }
    wal_begun += !is_database && at == 0 && n == WAL_HEADER;
    int rc = fullness == IS_FULL ? SQLITE_FULL : REAL_FILE(file, xWrite, from, n, at);
    return fullness == TOOK_AND_FULL && ends_commit(file, from, n) ? SQLITE_FULL : rc;
}

static int sync_unless_broken(struct disk_file *file, int flags)
{
    bool broken = disk_is_broken || (database_is_broken && file->mine && is_mover());
    return broken ? SQLITE_IOERR_FSYNC : REAL_FILE(file, xSync, flags);
}

// The lock that a checkpoint takes before all else: "The WAL-Index Format" in SQLite's description of its files.
enum { CHECKPOINT_LOCK = 1 };

static int lock_unless_held_up(struct disk_file *file, int at, int n, int flags)
{
    if (at == CHECKPOINT_LOCK && flags & SQLITE_SHM_LOCK && is_mover() && atomic_exchange(&begin_is_held_up, false)) {
        sem_post(&mover_waits);
        sem_wait(&mover_may_go);
    }
    return REAL_FILE(file, xShmLock, at, n, flags);
}

static int put_layer(void **state)
{
    limit_writes();
    sem_init(&mover_waits, 0, 0);
    sem_init(&mover_may_go, 0, 0);
    return disk_put(&(struct disk_hooks){
        .opened = tell_kind, .write = write_unless_full, .sync = sync_unless_broken, .lock = lock_unless_held_up});
}

// ---- the promises

static int set_up(void **state)
{
    struct world *world = world_new("sqlite");
    join(world, A);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    rest_is_held_up = false;
    world_free(*state);
    return 0;
}

static void who_joins_is_alone(void **state)
{
    struct store_join *op = OP(*state, store_join, STORE_JOIN);
    op->incarnation = 5;
    assert_int_equal(call(*state, &op->op), ERR_OK);
    assert_true(op->alone);
}

static void a_second_one_is_refused(struct world *world, pid_t pid)
{
    struct store *second;
    char url[160], why[ERR_WHY_MAX] = "", expected[64];
    world_url(world, url);
    assert_int_not_equal(store_open(&second, url, why), ERR_OK);
    snprintf(expected, sizeof expected, "another rota serves this directory (pid %ld)", (long)pid);
    assert_non_null(strstr(why, expected));
    add(world, (struct sample){0}); // the first is unharmed
}

static void a_second_one_is_refused_and_told_who_is_there(void **state)
{
    a_second_one_is_refused(*state, getpid());
}

static void the_directory_is_for_its_owner_only(void **state)
{
    struct world *world = *state;
    char path[160];
    struct stat stat_of;
    snprintf(path, sizeof path, "%s/data", world->dir);
    assert_int_equal(stat(path, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0700);
}

static void everything_is_there_after_it_was_closed(void **state)
{
    struct world *world = *state;
    enum err err;
    int64_t id = add(world, (struct sample){.key = STR("k"), .doc = STR("{}")});
    int64_t held = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    int64_t lane = job_now(world, id).lane;
    world_reopen(world);
    assert_true(str_is(get_job(world, id)->task.doc, "{}"));
    assert_int_equal(try_add(world, (struct sample){.key = STR("k")}, &err)->existing_id, id);
    assert_int_equal(lane_of(world, TENANT, "q"), lane);
    assert_int_equal(job_now(world, held).holder, A);
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    assert_int_equal(stats->counts[JOB_READY], 1);
    assert_int_equal(stats->counts[JOB_WATCHING], 1);
    struct store_claim *op = claim(world, A, NOW, lane, 10);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, id);
}

static sqlite3 *open_database(const struct world *world)
{
    char path[160];
    sqlite3 *handle;
    snprintf(path, sizeof path, "%s/data/rota.db", world->dir);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    return handle;
}

static void execute(const struct world *world, const char *sql)
{
    sqlite3 *handle = open_database(world);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static int64_t ask_number(const struct world *world, const char *sql)
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

static void a_newer_schema_is_refused_with_words(void **state)
{
    struct world *world = *state;
    char url[160], why[ERR_WHY_MAX] = "";
    world_url(world, url);
    store_close(world->store);
    execute(world, "UPDATE meta SET value=99 WHERE name='schema'");
    assert_int_not_equal(store_open(&world->store, url, why), ERR_OK);
    assert_null(world->store);
    assert_non_null(strstr(why, "schema version 99"));
    execute(world, "DROP TABLE meta");
    assert_int_not_equal(store_open(&world->store, url, why), ERR_OK);
    assert_non_null(strstr(why, "not one of rota's"));
}

// Take back what a step of the schema added, and those behind it.
#define WITHOUT_STEP_9 "DELETE FROM meta WHERE name='range';"
#define WITHOUT_STEP_8 WITHOUT_STEP_9 "ALTER TABLE lanes DROP COLUMN dropped;"
#define WITHOUT_STEP_7                                                                            \
    WITHOUT_STEP_8                                                                                \
    "DROP TABLE tags; ALTER TABLE tasks DROP COLUMN tags; ALTER TABLE keys DROP COLUMN spent_at;" \
    "ALTER TABLE tasks DROP COLUMN updated_at; ALTER TABLE jobs DROP COLUMN touched_at;"          \
    "ALTER TABLE attempts DROP COLUMN response; ALTER TABLE attempts DROP COLUMN response_truncated;"

// The first version had no owners, wishes, lists, bulks and leases, told nothing of itself, and had in each record where it is.
static void an_older_schema_is_brought_up_to_date(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_READY});
    int64_t held = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    store_close(world->store);
    execute(world,
            "ALTER TABLE jobs ADD COLUMN place INTEGER; UPDATE jobs SET place=(SELECT place FROM waiting w WHERE w.id=jobs.id);"
            "UPDATE jobs SET place=-holder WHERE holder>0; DROP TABLE waiting; DROP TABLE hands;"
            "CREATE INDEX jobs_place ON jobs(place, due_at) WHERE place IS NOT NULL;"
            "ALTER TABLE incarnations DROP COLUMN pulls; DROP TABLE owners; DROP TABLE asks; DROP TABLE bulks;"
            "DROP INDEX jobs_listed; DROP INDEX jobs_failed; ALTER TABLE tasks DROP COLUMN version;"
            "ALTER TABLE tasks DROP COLUMN paused; ALTER TABLE tasks DROP COLUMN gone;"
            "DROP INDEX jobs_lease; ALTER TABLE jobs DROP COLUMN lease_until; ALTER TABLE jobs DROP COLUMN result;"
            "ALTER TABLE incarnations DROP COLUMN listens; ALTER TABLE incarnations DROP COLUMN tells;"
            "DROP TABLE series; DROP TABLE news;" WITHOUT_STEP_7 "UPDATE meta SET value=1 WHERE name='schema'");
    world_open(world);
    assert_int_equal(job_now(world, id).state, JOB_READY);
    struct store_owners *owners = OP(world, store_owners, STORE_OWNERS);
    assert_int_equal(call(world, &owners->op), ERR_OK);
    world_reopen(world); // and stays so
    assert_int_equal(job_now(world, id).state, JOB_READY);
    const struct store_find *op = held_by(world, A);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, held);
    struct store_claim *claimed = claim(world, A, NOW, job_now(world, id).lane, 10);
    assert_int_equal(claimed->job_count, 1);
    assert_int_equal(claimed->jobs[0].job.id, id);
}

static void tasks_of_an_older_schema_get_their_tags(void **state)
{
    struct world *world = *state;
    add_old_tasks(world);
    store_close(world->store);
    execute(world, WITHOUT_STEP_7 "UPDATE meta SET value=6 WHERE name='schema'");
    world_open(world);
    assert_old_tasks_are_found(world);
}

// Whatever was done with tasks that had tags: when they are removed no row stays behind.
static void tags_leave_nothing_behind(void **state)
{
    struct world *world = *state;
    struct sample sample = {.tags = {2, 4, 6}, .state = JOB_SUCCESS, .purge_at = NOW};
    int64_t id = add(world, sample);
    struct job more = {.id = ++world->last_id, .task_id = id, .tenant = TENANT, .token = 1, .state = JOB_READY};
    more.scheduled_at = more.due_at = NOW + 10;
    struct store_new item = {.jobs = &more, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 9);
    struct job job = job_now(world, more.id);
    job.scheduled_at = NOW + 99;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 6);
    job.state = JOB_SUCCESS;
    job.purge_at = NOW;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 0);
    add(world, (struct sample){.queue = "plain"});
    assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 0);
}

// ---- what is in hand

enum { CROWD = 500, LOG_MAX = 65536, ENTRY_BYTES = 32 };

static void add_crowd(struct world *world)
{
    struct store_add *add = OP(world, store_add, STORE_ADD);
    struct sample sample = {.state = JOB_READY};
    struct store_task *tasks = world_mem(world, CROWD * sizeof *tasks);
    struct job *jobs = world_mem(world, CROWD * sizeof *jobs);
    add->items = world_mem(world, CROWD * sizeof *add->items);
    add->count = CROWD;
    for (size_t i = 0; i < CROWD; i++)
        sample_fill(world, &sample, &tasks[i], &jobs[i], &add->items[i]);
    assert_int_equal(call(world, &add->op), ERR_OK);
}

static void give_back(struct world *world, struct store_claim *claimed)
{
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = world_mem(world, claimed->job_count * sizeof *op->steps);
    op->count = claimed->job_count;
    for (size_t i = 0; i < op->count; i++) {
        struct job *job = &claimed->jobs[i].job;
        op->steps[i] = (struct store_step){.token = job->token, .job = job};
        assert_int_equal(job_release(job, NOW, NOW), ERR_OK);
    }
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (size_t i = 0; i < op->count; i++)
        assert_int_equal(op->steps[i].err, ERR_OK);
}

static void what_is_in_hand_is_remembered_in_few_bytes(void **state)
{
    struct world *world = *state;
    add_crowd(world);
    int64_t lane = lane_of(world, TENANT, "q");
    struct store_claim *claimed = claim(world, A, NOW, lane, CROWD);
    for (size_t moved = 0; moved < 2 * LOG_MAX; moved += 2 * CROWD) {
        give_back(world, claimed);
        claimed = claim(world, A, NOW, lane, CROWD);
        assert_int_equal(claimed->job_count, CROWD);
    }
    store_close(world->store);
    int64_t entries = ask_number(world, "SELECT sum(length(entries)) FROM hands") / ENTRY_BYTES;
    world_open(world);
    assert_in_range(entries, CROWD, LOG_MAX + 6 * CROWD);
    const struct store_find *held = held_by(world, A);
    assert_int_equal(held->job_count, CROWD);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(held->jobs[i].job.state, JOB_WATCHING);
        assert_int_equal(held->jobs[i].job.token, claimed->jobs[0].job.token);
    }
    assert_int_equal(claim(world, A, NOW, lane, CROWD)->job_count, 0);
}

static struct job seen_by_reader(struct claims *claims, struct job job)
{
    claims_see(claims, &job);
    return job;
}

// A read sees the database as it was when it began, however far the writer has come.
static void a_read_sees_the_claim_of_what_has_ended_since(void **state)
{
    struct claims claims;
    struct job waits = {.id = 5, .state = JOB_READY, .token = 3}, later = waits;
    later.token = 7;
    claims_init(&claims);
    claims_take(&claims, &waits, A, NOW);
    assert_int_equal(seen_by_reader(&claims, waits).state, JOB_READY); // not committed yet
    claims_commit(&claims);
    claims_begin_read(&claims);
    assert_int_equal(seen_by_reader(&claims, waits).state, JOB_WATCHING);
    claims_let_go(&claims, waits.id);
    claims_commit(&claims);
    assert_false(claims_any(&claims, A));
    assert_int_equal(seen_by_reader(&claims, waits).holder, A);
    assert_int_equal(seen_by_reader(&claims, later).state, JOB_READY); // given back, it is another record
    claims_take(&claims, &later, A + 1, NOW);
    claims_roll_back(&claims);
    assert_false(claims_any(&claims, A + 1));
    claims_end_read(&claims);
    claims_commit(&claims);
    assert_int_equal(seen_by_reader(&claims, waits).state, JOB_READY);
    assert_int_equal(claims.by_id.count, 0);
    claims_done(&claims);
}

static atomic_bool reading;

static void *read_on(void *ctx)
{
    struct world *world = ctx;
    while (reading) {
        struct store_list list = {.tenant = TENANT, .jobs = true, .before = {INT64_MAX, INT64_MAX}, .max = 100, .look = 1000};
        store_op_init(&list.op, STORE_LIST, NULL);
        store_call(world->store, &list.op);
        store_op_done(&list.op);
    }
    return NULL;
}

static void detach(struct world *world, struct job job)
{
    const struct job_policy policy = {.timeout_ms = 1000};
    const struct job_result answer = {.status = 202, .later = true};
    int64_t token = job.token;
    assert_int_equal(job_detach(&job, &policy, &answer), ERR_OK);
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
}

// While somebody reads, too.
static void what_is_leased_is_in_no_hand(void **state)
{
    struct world *world = *state;
    pthread_t reader;
    add_crowd(world);
    reading = true;
    assert_int_equal(pthread_create(&reader, NULL, read_on, world), 0);
    for (int i = 0; i < 50; i++) {
        detach(world, job_now(world, add(world, (struct sample){.state = JOB_RESERVED, .holder = A})));
        assert_int_equal(held_by(world, A)->job_count, 0);
    }
    reading = false;
    pthread_join(reader, NULL);
}

// ---- failures

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    struct store *store;
    char why[ERR_WHY_MAX] = "";
    assert_int_not_equal(store_open(&store, "sqlite:/nowhere/at/all", why), ERR_OK);
    assert_non_null(strstr(why, "/nowhere/at/all"));
    assert_int_equal(store_open(&store, "sqlite:", why), ERR_BAD_REQUEST);
}

enum { LARGE = 1 << 20, WAL_MOVED_AT = 16, FEW = 64 }; // documents of 1 MiB: so many, and the WAL is moved

static int64_t add_large(struct world *world)
{
    static char doc[LARGE];
    return add(world, (struct sample){.doc = {doc, LARGE}});
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

static bool is_there(struct world *world, int64_t id)
{
    return get_job(world, id)->op.err == ERR_OK;
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

// ---- files that are taken away

static void shell(const struct world *world, const char *what)
{
    char command[sizeof world->dir + 512];
    int n = snprintf(command, sizeof command, "cd %s && %s", world->dir, what);
    assert_in_range(n, 1, sizeof command - 1);
    assert_int_equal(system(command), 0);
}

static enum err beat(struct world *world)
{
    struct store_beat *op = OP(world, store_beat, STORE_BEAT);
    op->incarnation = A;
    enum err err = call(world, &op->op);
    assert_true(err == ERR_OK || strstr(op->op.why, world->dir));
    return err;
}

// Whatever they were told before the beat is another matter.
static void are_missed_with_the_next_beat(struct world *world, const char *what)
{
    enum err err;
    assert_int_equal(beat(world), ERR_OK);
    shell(world, what);
    assert_int_equal(beat(world), ERR_STORE_LOST);
    struct store_new *item = try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_LOST);
    assert_int_equal(item->err, ERR_STORE_LOST);
    assert_int_equal(beat(world), ERR_STORE_LOST); // and stays so
}

static void a_directory_that_is_removed_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "rm -r data");
}

static void a_directory_that_is_replaced_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "cp -r data copy && mv data away && mv copy data");
}

static void a_database_that_is_replaced_is_missed(void **state)
{
    are_missed_with_the_next_beat(*state, "cp data/rota.db copy && mv copy data/rota.db");
}

static void what_was_in_a_removed_wal_is_saved(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "rm data/rota.db-wal");
    world_reopen(world);
    assert_true(is_there(world, id));
}

static void a_directory_that_is_moved_has_everything(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "mv data away");
    store_close(world->store);
    shell(world, "mv away data");
    world_open(world);
    assert_true(is_there(world, id));
}

// It is made anew with the next start. The index of the WAL is nobody else's.
static void a_second_one_is_refused_without_the_lock_file_too(void **state)
{
    struct world *world = *state;
    shell(world, "rm data/rota.lock data/rota.db-shm");
    assert_int_equal(beat(world), ERR_OK);
    a_second_one_is_refused(world, 0);
    world_reopen(world);
    a_second_one_is_refused(world, getpid());
}

static void a_log_that_is_cut_short_is_missed(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    are_missed_with_the_next_beat(world, "truncate -s 1000 data/rota.db-wal");
}

// ---- files that lost their end

// How far it has come is noted behind the answer to a write, and before the next one, which here changes nothing.
static void let_note(struct world *world)
{
    struct store_forget *op = OP(world, store_forget, STORE_FORGET);
    op->incarnation = 999;
    assert_int_equal(call(world, &op->op), ERR_OK);
}

// The directory as it was when the process died, then treated as `what` says. Returns what the start said, "" if it started.
static const char *start_after(struct world *world, const char *what)
{
    static char why[ERR_WHY_MAX];
    char url[160], command[400];
    struct store *store = NULL;
    snprintf(command, sizeof command, "rm -rf crashed && cp -r data crashed && cd crashed && %s", what);
    shell(world, command);
    snprintf(url, sizeof url, "sqlite:%s/crashed", world->dir);
    why[0] = 0;
    enum err err = store_open(&store, url, why);
    assert_int_equal(err == ERR_OK, why[0] == 0);
    store_close(store);
    return why;
}

static bool is_said(const char *said, const char *what)
{
    return strstr(said, what) && strstr(said, "Restore a backup into an empty directory");
}

static bool is_said_with_a_way_on(const char *said, const char *what)
{
    return is_said(said, what) && strstr(said, "remove rota.extent");
}

static void a_log_that_lost_its_end_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    let_note(world);
    assert_string_equal(start_after(world, "true"), "");
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s -1 rota.db-wal"), "rota.db-wal has lost its end"));
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s 32 rota.db-wal"), "rota.db-wal has lost its end"));
    assert_true(is_said_with_a_way_on(start_after(world, "truncate -s 31 rota.db-wal"), "rota.db-wal is gone"));
    assert_true(is_said_with_a_way_on(start_after(world, "rm rota.db-wal"), "rota.db-wal is gone"));
    assert_true(is_said_with_a_way_on(start_after(world, "printf x | dd conv=notrunc bs=1 seek=5000 of=rota.db-wal 2>/dev/null"),
                                      "is damaged"));
    assert_string_equal(start_after(world, "rm rota.db-wal rota.extent"), "");
    assert_string_equal(start_after(world, "truncate -s -1 rota.db-wal && rm rota.extent"), "");
}

// The note behind a beat. Its pages are in the log then and not in the database: the writer is held up before it moves the first.
static struct extent_note beat_and_hold(struct world *world, int64_t beats_before)
{
    struct extent_note note = {0};
    char path[160];
    snprintf(path, sizeof path, "%s/data/rota.extent", world->dir);
    rest_is_held_up = true;
    assert_int_equal(beat(world), ERR_OK);
    int fd = open(path, O_RDONLY);
    while (note.beats <= beats_before) {
        assert_int_equal(pread(fd, &note, sizeof note, 0), sizeof note);
        sched_yield();
    }
    close(fd);
    assert_int_equal(note.unmoved, note.frames);
    sem_wait(&mover_waits);
    return note;
}

// What is written next finds an empty log.
static void let_move(struct world *world)
{
    sem_post(&mover_may_go);
    let_note(world);
}

// Behind each move the log begins anew. A beat writes the same pages each time, so then the log has as many as before.
static void a_log_begun_anew_with_as_many_pages_is_missed_too(void **state)
{
    struct world *world = *state;
    struct extent_note first = beat_and_hold(world, 0); // with what came before it
    let_move(world);
    struct extent_note second = beat_and_hold(world, first.beats);
    let_move(world);
    struct extent_note third = beat_and_hold(world, second.beats);
    bool said = is_said_with_a_way_on(start_after(world, "rm rota.db-wal"), "rota.db-wal is gone");
    sem_post(&mover_may_go);
    assert_true(said);
    assert_memory_not_equal(third.salt, second.salt, sizeof third.salt);
    assert_int_equal(third.frames, second.frames);
}

// A transaction that was being written when the power went is in no note, nor are bytes of a WAL of before.
static void a_torn_transaction_is_no_loss(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){0});
    let_note(world);
    assert_string_equal(start_after(world, "head -c 3000 rota.db-wal >>rota.db-wal"), "");
}

static void a_database_that_lost_its_end_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    add_large(world);
    store_close(world->store);
    world->store = NULL;
    assert_string_equal(start_after(world, "true"), "");
    assert_true(is_said(start_after(world, "truncate -s -4096 rota.db"), "rota.db has lost its end"));
    assert_true(is_said(start_after(world, "truncate -s -4096 rota.db && rm rota.extent"), "malformed"));
    assert_true(is_said_with_a_way_on(start_after(world, "rm rota.db"), "rota.db is gone"));
    assert_string_equal(start_after(world, "rm rota.db-wal rota.lock"), "");
    assert_string_equal(start_after(world, "rm rota.db-wal rota.lock rota.extent"), "");
}

static void an_older_database_is_said_at_the_start(void **state)
{
    struct world *world = *state;
    store_close(world->store);
    shell(world, "cp data/rota.db old");
    world_open(world);
    assert_int_equal(beat(world), ERR_OK);
    store_close(world->store);
    world->store = NULL;
    assert_true(is_said_with_a_way_on(start_after(world, "cp ../old rota.db"), "rota.db or its log is an older one"));
}

// ---- the WAL

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

#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(who_joins_is_alone),
        PROMISE(a_second_one_is_refused_and_told_who_is_there),
        PROMISE(the_directory_is_for_its_owner_only),
        PROMISE(everything_is_there_after_it_was_closed),
        PROMISE(a_newer_schema_is_refused_with_words),
        PROMISE(an_older_schema_is_brought_up_to_date),
        PROMISE(tasks_of_an_older_schema_get_their_tags),
        PROMISE(tags_leave_nothing_behind),
        PROMISE(what_is_in_hand_is_remembered_in_few_bytes),
        PROMISE(a_read_sees_the_claim_of_what_has_ended_since),
        PROMISE(what_is_leased_is_in_no_hand),
        PROMISE(a_directory_that_cannot_be_made_is_named),
        PROMISE(a_full_disk_is_said_and_forgotten_when_there_is_room),
        PROMISE(a_quota_is_a_full_disk),
        PROMISE(a_limit_on_the_size_of_files_is_a_full_disk),
        PROMISE(what_a_full_disk_refused_stays_refused),
        PROMISE(a_directory_that_is_removed_is_missed),
        PROMISE(a_directory_that_is_replaced_is_missed),
        PROMISE(a_database_that_is_replaced_is_missed),
        PROMISE(what_was_in_a_removed_wal_is_saved),
        PROMISE(a_directory_that_is_moved_has_everything),
        PROMISE(a_second_one_is_refused_without_the_lock_file_too),
        PROMISE(a_log_that_is_cut_short_is_missed),
        PROMISE(a_log_that_lost_its_end_is_said_at_the_start),
        PROMISE(a_log_begun_anew_with_as_many_pages_is_missed_too),
        PROMISE(a_torn_transaction_is_no_loss),
        PROMISE(a_database_that_lost_its_end_is_said_at_the_start),
        PROMISE(an_older_database_is_said_at_the_start),
        PROMISE(writes_go_on_while_the_wal_is_moved),
        PROMISE(the_wal_begins_anew_though_writes_never_pause),
        PROMISE(the_wal_is_not_begun_anew_before_the_mover_has_ended),
        PROMISE(the_mover_is_not_asked_when_nothing_is_left),
        PROMISE(when_fsync_fails_the_process_ends),
        PROMISE(when_moved_pages_cannot_be_synced_the_process_ends),
    };
    return cmocka_run_group_tests_name("store sqlite: alone", tests, put_layer, NULL);
}
