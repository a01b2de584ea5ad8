// What only the SQLite store promises: it is alone, it remembers, and it knows what is in hand. What it makes of older files, of
// a disk that is full or broken, of files that are taken away, of the WAL and of plans is in the files test_store_sqlite_… of
// this program.
#include "failing_disk.h"
#include "sqlite_contract.h"
#include "store/sqlite/disk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void who_joins_is_alone(void **state)
{
    struct store_join *op = OP(*state, store_join, STORE_JOIN);
    op->incarnation = 5;
    assert_int_equal(call(*state, &op->op), ERR_OK);
    assert_true(op->alone);
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

static int contract_sqlite_alone(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(who_joins_is_alone),
        PROMISE(a_second_one_is_refused_and_told_who_is_there),
        PROMISE(the_directory_is_for_its_owner_only),
        PROMISE(everything_is_there_after_it_was_closed),
        PROMISE(tags_leave_nothing_behind),
        PROMISE(what_is_in_hand_is_remembered_in_few_bytes),
        PROMISE(a_read_sees_the_claim_of_what_has_ended_since),
        PROMISE(what_is_leased_is_in_no_hand),
    };
    return cmocka_run_group_tests_name("store sqlite: alone", tests, NULL, NULL);
}

int main(void)
{
    if (put_failing_disk())
        return 1;
    return contract_sqlite_alone() + contract_sqlite_upgrade() + contract_sqlite_disk() + contract_sqlite_files() +
           contract_sqlite_wal() + contract_sqlite_plans();
}
