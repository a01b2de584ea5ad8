// When to try again, as properties that hold for every policy.
#include "core/retry.h"

#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct retry_policy random_policy(struct rand *rand)
{
    return (struct retry_policy){.max = 100,
                                 .delay_ms = (int64_t)rand_below(rand, 100000),
                                 .max_delay_ms = (int64_t)rand_below(rand, 10000000),
                                 .exponential = rand_below(rand, 2),
                                 .jitter = rand_below(rand, 2)};
}

static struct retry_policy without_jitter(struct retry_policy policy)
{
    policy.jitter = false;
    return policy;
}

static void a_fixed_policy_waits_the_same_each_time(void **state)
{
    struct retry_policy policy = {.max = 3, .delay_ms = 5000, .max_delay_ms = 600000};
    for (int retry = 1; retry <= 100; retry++)
        assert_int_equal(retry_delay(&policy, retry, 0, 99), 5000);
}

static void an_exponential_policy_doubles_up_to_its_limit(void **state)
{
    static const int64_t expected[] = {5000, 10000, 20000, 40000, 80000, 160000, 320000, 600000, 600000};
    struct retry_policy policy = {.max = 9, .delay_ms = 5000, .max_delay_ms = 600000, .exponential = true};
    for (int retry = 1; retry <= 9; retry++)
        assert_int_equal(retry_delay(&policy, retry, 0, 0), expected[retry - 1]);
    assert_int_equal(retry_delay(&policy, 100, 0, 0), 600000);
}

static void waits_grow_and_never_pass_the_limit(void **state)
{
    struct rand rand;
    rand_init(&rand, 11);
    for (int i = 0; i < 2000; i++) {
        struct retry_policy policy = without_jitter(random_policy(&rand));
        int64_t last = 0;
        for (int retry = 1; retry <= 100; retry++) {
            int64_t delay = retry_delay(&policy, retry, 0, 0);
            assert_true(delay >= last && delay <= policy.max_delay_ms);
            last = delay;
        }
    }
}

static void jitter_takes_off_up_to_half_and_adds_nothing(void **state)
{
    struct rand rand;
    rand_init(&rand, 12);
    for (int i = 0; i < 100000; i++) {
        struct retry_policy policy = random_policy(&rand), plain = without_jitter(policy);
        int retry = 1 + (int)rand_below(&rand, 100);
        int64_t full = retry_delay(&plain, retry, 0, 0), delay = retry_delay(&policy, retry, 0, rand_next(&rand));
        assert_true(delay <= full && delay >= full - full / 2);
        assert_true(policy.jitter || delay == full);
    }
}

static void jitter_spreads_a_wave_over_the_whole_half(void **state)
{
    struct retry_policy policy = {.max = 3, .delay_ms = 1000, .max_delay_ms = 600000, .jitter = true};
    struct rand rand;
    rand_init(&rand, 13);
    int tenths[10] = {0};
    for (int i = 0; i < 10000; i++)
        tenths[(retry_delay(&policy, 1, 0, rand_next(&rand)) - 500) * 10 / 501]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(tenths[i], 800, 1200);
}

static void what_the_target_asks_for_is_a_floor_of_at_most_a_day(void **state)
{
    struct rand rand;
    rand_init(&rand, 14);
    for (int i = 0; i < 100000; i++) {
        struct retry_policy policy = random_policy(&rand);
        int64_t asked = (int64_t)rand_below(&rand, 2 * (uint64_t)RETRY_AFTER_MAX_MS);
        uint64_t dice = rand_next(&rand);
        int64_t own = retry_delay(&policy, 1, 0, dice), delay = retry_delay(&policy, 1, asked, dice);
        int64_t floor = asked < RETRY_AFTER_MAX_MS ? asked : RETRY_AFTER_MAX_MS;
        assert_true(delay == (own > floor ? own : floor));
    }
    struct retry_policy policy = {.max = 1, .delay_ms = 10, .max_delay_ms = 10};
    assert_int_equal(retry_delay(&policy, 1, INT64_MAX, 0), RETRY_AFTER_MAX_MS);
    assert_int_equal(retry_delay(&policy, 1, -5, 0), 10);
}

static void extremes_do_not_overflow(void **state)
{
    struct retry_policy policy = {.max = 100, .delay_ms = 24 * 3600 * 1000, .max_delay_ms = INT64_MAX / 4, .exponential = true};
    for (int retry = 1; retry <= 100; retry++)
        assert_true(retry_delay(&policy, retry, 0, UINT64_MAX) > 0);
    policy = (struct retry_policy){.max = 100, .exponential = true, .jitter = true};
    assert_int_equal(retry_delay(&policy, 100, 0, UINT64_MAX), 0);
    policy.delay_ms = policy.max_delay_ms = 1;
    assert_int_equal(retry_delay(&policy, 1, 0, UINT64_MAX), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_policy_waits_the_same_each_time),
        cmocka_unit_test(an_exponential_policy_doubles_up_to_its_limit),
        cmocka_unit_test(waits_grow_and_never_pass_the_limit),
        cmocka_unit_test(jitter_takes_off_up_to_half_and_adds_nothing),
        cmocka_unit_test(jitter_spreads_a_wave_over_the_whole_half),
        cmocka_unit_test(what_the_target_asks_for_is_a_floor_of_at_most_a_day),
        cmocka_unit_test(extremes_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
