// Fair sharing, as properties: a pool with lanes that take, hold and give back.
#include "core/share.h"

#include "base/rand.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

enum { LANES = 12 };

struct pool {
    int total, used;
    int held[LANES], weight[LANES];
};

static int take(struct pool *pool, int lane)
{
    int more = share_more(pool->total, pool->used, pool->held[lane], pool->weight[lane]);
    assert_true(more >= 0 && more <= pool->total - pool->used);
    pool->held[lane] += more;
    pool->used += more;
    return more;
}

// All of the first `lanes` lanes want everything, and what they hold ends bit by bit in turn.
static void settle(struct pool *pool, int lanes)
{
    for (int round = 0; round < 20 * pool->total; round++) {
        int lane = round % lanes;
        if (pool->held[lane]) {
            pool->held[lane]--;
            pool->used--;
        }
        for (int i = 1; i <= lanes; i++) // the one that just lost a place comes last
            take(pool, (lane + i) % lanes);
    }
}

static void one_lane_alone_gets_half(void **state)
{
    for (int total = 1; total < 5000; total += 1 + total / 50) {
        struct pool pool = {.total = total, .weight = {1}};
        while (take(&pool, 0))
            ;
        assert_int_equal(pool.held[0], total == 1 ? 1 : total / 2);
    }
}

static void lanes_that_want_all_end_up_with_equal_parts(void **state)
{
    for (int lanes = 2; lanes <= LANES; lanes++) {
        struct pool pool = {.total = 1000};
        for (int i = 0; i < lanes; i++)
            pool.weight[i] = 1;
        while (take(&pool, 0)) // the first was here long before the others
            ;
        settle(&pool, lanes);
        for (int i = 0; i < lanes; i++)
            assert_in_range(pool.held[i], 1000 / (lanes + 1) - 2, 1000 / (lanes + 1) + 2);
    }
}

static void parts_are_in_proportion_to_weights(void **state)
{
    struct pool pool = {.total = 1100, .weight = {1, 2, 3, 4}};
    settle(&pool, 4);
    for (int i = 0; i < 4; i++)
        assert_in_range(pool.held[i], (i + 1) * 100 - 3, (i + 1) * 100 + 3);
}

static void a_newcomer_finds_a_place_while_there_is_one(void **state)
{
    for (int total = 1; total <= 50; total++)
        for (int used = 0; used < total; used++)
            for (int weight = 0; weight <= 100; weight += 1 + weight / 4)
                assert_true(share_more(total, used, 0, weight) >= 1);
}

static void a_lane_that_holds_something_never_takes_the_last_place(void **state)
{
    for (int total = 2; total <= 100; total++)
        for (int weight = 1; weight <= 1000; weight *= 3)
            for (int held = 1; held < total; held++)
                for (int used = held; used < total; used++)
                    assert_true(share_more(total, used, held, weight) < total - used);
}

static void asking_again_at_once_gives_nothing_more(void **state)
{
    struct rand rand;
    rand_init(&rand, 21);
    for (int i = 0; i < 100000; i++) {
        struct pool pool = {.total = 1 + (int)rand_below(&rand, 1000)};
        pool.used = (int)rand_below(&rand, (uint64_t)pool.total + 1);
        pool.held[0] = (int)rand_below(&rand, (uint64_t)pool.used + 1);
        pool.weight[0] = 1 + (int)rand_below(&rand, 10);
        take(&pool, 0);
        assert_int_equal(take(&pool, 0), 0);
    }
}

// Flooding lanes come and go at random: the pool is never overdrawn, and nobody stays with nothing.
static void nobody_is_starved_however_lanes_come_and_go(void **state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rand rand;
        rand_init(&rand, seed);
        struct pool pool = {.total = LANES + (int)rand_below(&rand, 200)};
        for (int i = 0; i < LANES; i++)
            pool.weight[i] = 1 + (int)rand_below(&rand, 5);
        for (int i = 0; i < 5000; i++) {
            int lane = (int)rand_below(&rand, LANES);
            if (rand_below(&rand, 2) && pool.held[lane]) {
                int ended = 1 + (int)rand_below(&rand, (uint64_t)pool.held[lane]);
                pool.held[lane] -= ended;
                pool.used -= ended;
            }
            bool had_none = pool.held[lane] == 0, was_room = pool.used < pool.total;
            int got = take(&pool, lane);
            assert_true(!had_none || !was_room || got > 0);
        }
        assert_true(pool.used >= 0 && pool.used <= pool.total);
    }
}

static void an_overdrawn_pool_and_absurd_weights_are_survived(void **state)
{
    assert_int_equal(share_more(10, 15, 0, 1), 0);
    assert_int_equal(share_more(10, 10, 0, 1), 0);
    assert_int_equal(share_more(0, 0, 0, 1), 0);
    assert_int_equal(share_more(10, 0, 0, 0), 1);
    assert_int_equal(share_more(10, 1, 1, 0), 0);
    assert_int_equal(share_more(10, 0, 0, -1), 1);
    assert_int_equal(share_more(10, 0, 0, INT_MIN), 1);
    assert_int_equal(share_more(INT_MAX, 0, 0, INT_MAX), INT_MAX - 1);
    assert_int_equal(share_more(INT_MAX, 0, 0, 1), INT_MAX / 2);
    assert_int_equal(share_more(-5, INT_MAX, 0, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lane_alone_gets_half),
        cmocka_unit_test(lanes_that_want_all_end_up_with_equal_parts),
        cmocka_unit_test(parts_are_in_proportion_to_weights),
        cmocka_unit_test(a_newcomer_finds_a_place_while_there_is_one),
        cmocka_unit_test(a_lane_that_holds_something_never_takes_the_last_place),
        cmocka_unit_test(asking_again_at_once_gives_nothing_more),
        cmocka_unit_test(nobody_is_starved_however_lanes_come_and_go),
        cmocka_unit_test(an_overdrawn_pool_and_absurd_weights_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
