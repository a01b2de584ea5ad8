// What the store port promises, tried on every backend. Each test is a sentence of store/store.h; what is promised of operations
// is in the files test_store_… of this program, one for each header or a part of it.
#include "store_contract.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

// ---- many callers

enum { THREADS = 4, EACH = 200 };

struct caller {
    struct store *store;
    int number;
    pthread_t thread;
    size_t claimed;
    size_t seen; // added, and seen in a lane that is listed
    atomic_bool ended;
};

// Adds its own jobs and claims whatever there is, until all have been claimed by somebody.
static void *caller_main(void *ctx)
{
    struct caller *caller = ctx;
    for (int i = 0; i < EACH; i++) {
        int64_t id = 100000 + caller->number * EACH + i;
        struct store_task task = {.id = id, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = STR("q"), .doc = STR("{}")};
        struct job job = {.id = id, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW};
        struct store_new item = {.task = &task, .jobs = &job, .job_count = 1};
        struct store_add add_op = {.items = &item, .count = 1};
        store_op_init(&add_op.op, STORE_ADD, NULL);
        store_call(caller->store, &add_op.op);
        struct store_want want = {.lane = job.lane, .max = 1};
        struct store_claim claim_op = {.holder = A, .until_ms = NOW, .wants = &want, .want_count = 1};
        store_op_init(&claim_op.op, STORE_CLAIM, NULL);
        store_call(caller->store, &claim_op.op);
        caller->claimed += claim_op.job_count;
        struct store_stats stats = {0};
        store_op_init(&stats.op, STORE_STATS, NULL);
        store_call(caller->store, &stats.op);
        store_op_done(&add_op.op);
        store_op_done(&claim_op.op);
        store_op_done(&stats.op);
    }
    return NULL;
}

static void several_threads_at_once_get_each_job_once(void **state)
{
    struct world *world = *state;
    struct caller callers[THREADS];
    size_t claimed = 0;
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.store = world->store, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        claimed += callers[i].claimed;
    }
    // Each claim follows an add of its own, so there always was one to take, and each was taken once.
    assert_int_equal(claimed, THREADS * EACH);
    assert_stats(world, 0, (int64_t[JOB_STATE_COUNT]){[JOB_WATCHING] = THREADS * EACH});
}

// Adds a job, sees that its lane is listed, and ends it, again and again.
static void *adder_main(void *ctx)
{
    struct caller *caller = ctx;
    for (int i = 0; i < EACH; i++) {
        int64_t id = 100000 + caller->number * EACH + i;
        struct store_task task = {.id = id, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = STR("q"), .doc = STR("{}")};
        struct job job = {.id = id, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW};
        struct store_new item = {.task = &task, .jobs = &job, .job_count = 1};
        struct store_add add_op = {.items = &item, .count = 1};
        store_op_init(&add_op.op, STORE_ADD, NULL);
        store_call(caller->store, &add_op.op);
        struct store_lanes lanes = {.tenant = TENANT, .max = 10};
        store_op_init(&lanes.op, STORE_LANES, NULL);
        store_call(caller->store, &lanes.op);
        caller->seen += !add_op.op.err && !item.err && lanes.lane_count == 1;
        job.state = JOB_SUCCESS;
        job.token = 1;
        struct store_step step = {.job = &job};
        struct store_change change_op = {.steps = &step, .count = 1};
        store_op_init(&change_op.op, STORE_CHANGE, NULL);
        store_call(caller->store, &change_op.op);
        store_op_done(&add_op.op);
        store_op_done(&lanes.op);
        store_op_done(&change_op.op);
    }
    caller->ended = true;
    return NULL;
}

static void whoever_drops_a_lane_at_the_same_time_what_was_added_is_in_a_listed_one(void **state)
{
    struct world *world = *state;
    struct caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.store = world->store, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, adder_main, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        while (!callers[i].ended) {
            struct store_drop op = {.tenant = TENANT, .queue = STR("q")};
            store_op_init(&op.op, STORE_DROP, NULL);
            store_call(world->store, &op.op);
            assert_true(op.op.err == ERR_OK || op.op.err == ERR_QUEUE_NOT_EMPTY || op.op.err == ERR_NOT_FOUND);
            store_op_done(&op.op);
        }
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].seen, EACH);
    }
    assert_stats(world, 0, (int64_t[JOB_STATE_COUNT]){[JOB_SUCCESS] = THREADS * EACH});
    drop(world, TENANT, "q");
    assert_false(is_listed(world, TENANT, "q"));
}

static void note_done(struct store_op *op)
{
    op->done = NULL;
}

static void closing_completes_what_is_in_flight(void **state)
{
    struct world *world = world_new(scheme);
    enum { MANY = 300 };
    struct store_pause *ops = world_mem(world, MANY * sizeof *ops);
    for (int i = 0; i < MANY; i++) {
        store_op_init(&ops[i].op, STORE_PAUSE, note_done);
        ops[i].tenant = 1 + i;
        ops[i].queue = STR("q");
        store_submit(world->store, &ops[i].op);
    }
    store_close(world->store);
    world->store = NULL;
    for (int i = 0; i < MANY; i++) {
        assert_null(ops[i].op.done);
        assert_int_equal(ops[i].op.err, ERR_OK);
        assert_int_not_equal(ops[i].lane, 0);
    }
    world_free(world);
}

static void an_unknown_scheme_is_refused_with_words(void **state)
{
    struct store *store;
    char why[ERR_WHY_MAX] = "";
    assert_int_equal(store_open(&store, "paper:", why), ERR_BAD_REQUEST);
    assert_null(store);
    assert_non_null(strstr(why, "sqlite:DIR"));
}

static int contract_port(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(several_threads_at_once_get_each_job_once),
        PROMISE(whoever_drops_a_lane_at_the_same_time_what_was_added_is_in_a_listed_one),
        PROMISE(closing_completes_what_is_in_flight),
        PROMISE(an_unknown_scheme_is_refused_with_words),
    };
    return cmocka_run_group_tests_name("store port", tests, NULL, NULL);
}

// With an argument, only that scheme.
int main(int argc, char *argv[])
{
    static const char *const schemes[] = {"memory", "sqlite", "postgres"};
    static int (*const contracts[])(void) = {contract_lives,   contract_peers,       contract_jobs,  contract_claims,
                                             contract_changes, contract_lanes,       contract_lists, contract_journal,
                                             contract_plans,   contract_plan_counts, contract_names, contract_port};
    int failed = 0;
    for (size_t i = 0; i < array_count(schemes); i++) {
        scheme = schemes[i];
        if (argc > 1 && strcmp(argv[1], scheme) != 0)
            continue;
        printf("store %s:\n", scheme);
        for (size_t c = 0; c < array_count(contracts); c++)
            failed += contracts[c]();
    }
    return failed;
}
