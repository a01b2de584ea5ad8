#include "core/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void a_tenants_bucket_is_one_of_1024_and_stays(void **state)
{
    for (int32_t tenant = -5; tenant < 5000; tenant++)
        assert_in_range(bucket_of(tenant), 0, BUCKETS - 1);
    assert_int_equal(bucket_of(1), 632); // rows out there say so
    assert_int_equal(bucket_of(2), 241);
    assert_int_equal(bucket_of(1000000), 1012);
}

static void tenants_spread_over_the_buckets(void **state)
{
    int counts[BUCKETS] = {0}, most = 0;
    for (int32_t tenant = 1; tenant <= 4 * BUCKETS; tenant++)
        if (++counts[bucket_of(tenant)] > most)
            most = counts[bucket_of(tenant)];
    assert_in_range(most, 4, 8);
}

// Over all small cases: everything has an owner, every puller has something to do, and loads differ by one at most.
static void whatever_comes_is_divided_evenly(void **state)
{
    for (size_t buckets = 0; buckets <= 12; buckets++)
        for (size_t pullers = 0; pullers <= 12; pullers++) {
            size_t of_bucket[12] = {0}, of_puller[12] = {0};
            for (size_t b = 0; b < buckets; b++)
                for (size_t p = 0; p < pullers; p++) {
                    of_bucket[b] += bucket_is_given(b, buckets, p, pullers);
                    of_puller[p] += bucket_is_given(b, buckets, p, pullers);
                }
            for (size_t b = 0; pullers && b < buckets; b++)
                assert_in_range(of_bucket[b], buckets < pullers ? pullers / buckets : 1,
                                buckets < pullers ? (pullers + buckets - 1) / buckets : 1);
            for (size_t p = 0; buckets && p < pullers; p++)
                assert_in_range(of_puller[p], buckets < pullers ? 1 : buckets / pullers,
                                buckets < pullers ? 1 : (buckets + pullers - 1) / pullers);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenants_bucket_is_one_of_1024_and_stays),
        cmocka_unit_test(tenants_spread_over_the_buckets),
        cmocka_unit_test(whatever_comes_is_divided_evenly),
    };
    return cmocka_run_group_tests_name("own", tests, NULL, NULL);
}
