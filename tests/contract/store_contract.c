// See store_contract.h.
#include "store_contract.h"

#include "postgres_support.h"
#include "store/memory/memory.h"

#include <sqlite3.h>
#include <stdio.h>

const char *scheme;

int set_up(void **state)
{
    struct world *world = world_new(scheme);
    join(world, A);
    *state = world;
    return 0;
}

int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

static void set_range_in_file(struct world *world, const char *sql)
{
    char path[160];
    sqlite3 *handle;
    store_close(world->store);
    snprintf(path, sizeof path, "%s/data/rota.db", world->dir);
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    world_open(world);
}

void set_range(struct world *world, int range)
{
    char sql[100];
    if (world->schema[0]) {
        snprintf(sql, sizeof sql, "UPDATE @meta SET value=%d WHERE name='range' RETURNING 1", range);
        assert_int_equal(session_ask_in(world->schema, sql), 1);
    } else if (world->dir[0]) {
        snprintf(sql, sizeof sql, "UPDATE meta SET value=%d WHERE name='range'", range);
        set_range_in_file(world, sql);
    } else {
        container_of(world->store, struct memory, store)->range = range;
    }
}

void assert_ids(const struct store_job *jobs, size_t count, const int64_t *ids, size_t expected)
{
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(jobs[i].job.id, ids[i]);
}

struct store_join *try_join(struct world *world, int64_t incarnation)
{
    struct store_join *op = OP(world, store_join, STORE_JOIN);
    op->incarnation = incarnation;
    call(world, &op->op);
    return op;
}

enum err forget(struct world *world, int64_t incarnation)
{
    struct store_forget *op = OP(world, store_forget, STORE_FORGET);
    op->incarnation = incarnation;
    return call(world, &op->op);
}

struct store_add *add_many(struct world *world, const struct sample *samples, size_t count)
{
    struct store_add *op = OP(world, store_add, STORE_ADD);
    struct store_task *tasks = world_mem(world, count * sizeof *tasks);
    struct job *jobs = world_mem(world, count * sizeof *jobs);
    op->items = world_mem(world, count * sizeof *op->items);
    op->count = count;
    for (size_t i = 0; i < count; i++) {
        sample_fill(world, &samples[i], &tasks[i], &jobs[i], &op->items[i]);
        op->holder = samples[i].holder ? samples[i].holder : op->holder;
    }
    call(world, &op->op);
    return op;
}

struct store_claim *claim_bytes(struct world *world, const char *queue, size_t max, size_t bytes)
{
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    struct store_want *want = world_mem(world, sizeof *want);
    *want = (struct store_want){.lane = lane_of(world, TENANT, queue), .max = max, .bytes = bytes};
    op->holder = A;
    op->now_ms = op->until_ms = NOW;
    op->wants = want;
    op->want_count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

struct str doc_of(struct world *world, size_t size)
{
    char *text = world_mem(world, size);
    memset(text, 'x', size);
    return (struct str){text, size};
}

struct store_list *list(struct world *world, struct store_list want)
{
    struct store_list *op = OP(world, store_list, STORE_LIST);
    memcpy((char *)op + sizeof op->op, (char *)&want + sizeof want.op, sizeof want - sizeof want.op);
    op->tenant = want.tenant ? want.tenant : TENANT;
    op->max = want.max ? want.max : 100;
    op->look = want.look ? want.look : 1000;
    op->max_jobs = want.max_jobs ? want.max_jobs : 100;
    if (!want.before.id)
        op->before = (struct store_cursor){INT64_MAX, INT64_MAX};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

struct store_get *get_task(struct world *world, int64_t id)
{
    struct store_get *op = OP(world, store_get, STORE_GET);
    op->tenant = TENANT;
    op->task_id = id;
    op->max_jobs = 100;
    call(world, &op->op);
    return op;
}

struct store_due *due(struct world *world, int64_t from_ms, int64_t from_id, int64_t to_ms, size_t max)
{
    struct store_due *op = OP(world, store_due, STORE_DUE);
    op->lane = lane_of(world, TENANT, "q");
    op->from_ms = from_ms;
    op->from_id = from_id;
    op->to_ms = to_ms;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

void assert_stats(struct world *world, int32_t tenant, const int64_t expected[JOB_STATE_COUNT])
{
    struct store_stats *op = OP(world, store_stats, STORE_STATS);
    op->tenant = tenant;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        assert_int_equal(op->counts[i], expected[i]);
}

struct store_amend *make_amend(struct world *world, int64_t id)
{
    struct store_get *get = get_task(world, id);
    struct store_amend *op = OP(world, store_amend, STORE_AMEND);
    op->task = get->task;
    op->retag = true;
    op->steps = world_mem(world, (get->job_count + 1) * sizeof *op->steps);
    for (size_t i = 0; i < get->job_count; i++) {
        struct job *job = &get->jobs[i];
        op->steps[op->count] = (struct store_step){.token = job->token, .job = job};
        op->count += !job_replan(job, job->scheduled_at + 1000, NOW);
    }
    return op;
}

struct store_remove *remove_of(struct world *world, int64_t id)
{
    struct store_remove *op = OP(world, store_remove, STORE_REMOVE);
    op->task_id = id;
    op->version = 1;
    op->tenant = TENANT;
    op->now_ms = NOW;
    op->keys_until = NOW + KEYS_KEPT;
    op->max = 100;
    return op;
}

enum err remove_task(struct world *world, int64_t id, bool ended)
{
    struct store_remove *op = remove_of(world, id);
    op->ended = ended;
    return call(world, &op->op);
}
