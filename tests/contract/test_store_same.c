// Random sequences of operations are answered alike by the reference and by every other backend: every result, byte for byte, and
// everything that can be read at the end. Times and ids are drawn from small ranges so that ties are common, and the other store
// is closed and opened again in between.
#include "same_support.h"
#include "store/journal.h"
#include "store/plans.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEEDS = 200, SEEDS_POSTGRES = 80, STEPS = 60 };

static void compare_all_that_can_be_read(struct pair *pair)
{
    struct store_op *ops[2];
    for (int64_t id = 1; id <= IDS; id++)
        for (int32_t tenant = 1; tenant <= 2; tenant++) {
            BOTH(store_get, STORE_GET, .tenant = tenant, .task_id = id, .max_jobs = 100)
            ask_both(pair, ops);
        }
    for (int64_t holder = 1; holder <= HOLDERS; holder++) {
        BOTH(store_find, STORE_FIND, .what = STORE_FIND_HELD, .holder = holder, .max = 1000)
        ask_both(pair, ops);
    }
    BOTH(store_find, STORE_FIND, .what = STORE_FIND_EXPIRED, .now_ms = NOW * 2, .max = 1000)
    ask_both(pair, ops);
    BOTH(store_find, STORE_FIND, .what = STORE_FIND_LEASES, .now_ms = NOW * 2, .max = 1000)
    ask_both(pair, ops);
    for (int dispatch = TARGET_NOT_DISPATCHED; dispatch < TARGET_DISPATCH_COUNT; dispatch++) {
        BOTH(store_lanes, STORE_LANES, .dispatch = (enum target_dispatch)dispatch, .max = 1000, .counts = true)
        ask_both(pair, ops);
    }
    BOTH(store_stats, STORE_STATS, .tenant = 0)
    ask_both(pair, ops);
    for (int64_t id = 0; id <= BULKS; id++) {
        BOTH(store_bulks, STORE_BULKS, .id = id, .tenant = (int32_t)(1 + id % 2), .max = 1000)
        ask_both(pair, ops);
    }
    BOTH(store_plans, STORE_PLANS, .now_ms = TIME_NEVER, .max = 1000)
    ask_both(pair, ops);
    for (int32_t tenant = 1; tenant <= 2; tenant++) {
        const struct store_cursor newest = {INT64_MAX, INT64_MAX};
        BOTH(store_list, STORE_LIST, .tenant = tenant, .jobs = true, .before = newest, .max = 1000, .look = 1000)
        ask_both(pair, ops);
        BOTH(store_list, STORE_LIST, .tenant = tenant, .before = newest, .max = 1000, .look = 1000, .max_jobs = 1000)
        ask_both(pair, ops);
    }
}

static void run_seed(const char *scheme, uint64_t seed)
{
    struct pair pair = {.scheme = scheme, .seed = seed, .worlds = {world_new("memory"), world_new(scheme)}};
    rand_init(&pair.rand, seed);
    for (pair.step = 0; pair.step < STEPS; pair.step++) {
        struct store_op *ops[2];
        some_step(&pair, ops);
        ask_both(&pair, ops);
        if (below(&pair, 40) == 0)
            world_reopen(pair.worlds[1]);
    }
    compare_all_that_can_be_read(&pair);
    world_free(pair.worlds[0]);
    world_free(pair.worlds[1]);
}

static void compare(const char *scheme, uint64_t seeds)
{
    const char *only = getenv("SEED");
    if (only)
        run_seed(scheme, strtoull(only, NULL, 10));
    for (uint64_t seed = 1; !only && seed <= seeds; seed++)
        run_seed(scheme, seed);
}

static void sqlite_answers_random_sequences_as_memory_does(void **state)
{
    compare("sqlite", SEEDS);
}

static void postgres_answers_random_sequences_as_memory_does(void **state)
{
    compare("postgres", SEEDS_POSTGRES);
}

// With an argument, only the tests whose names begin with it.
int main(int argc, char *argv[])
{
    char filter[64];
    snprintf(filter, sizeof filter, "%s*", argc > 1 ? argv[1] : "");
    cmocka_set_test_filter(filter);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlite_answers_random_sequences_as_memory_does),
        cmocka_unit_test(postgres_answers_random_sequences_as_memory_does),
    };
    return cmocka_run_group_tests_name("backends alike", tests, NULL, NULL);
}
