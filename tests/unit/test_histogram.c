// How durations are spread over buckets, and what can be said of them.
#include "core/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct histogram of(const int64_t *us, size_t count)
{
    struct histogram histogram = {0};
    for (size_t i = 0; i < count; i++) {
        histogram.counts[histogram_bucket(us[i])]++;
        histogram.sum_us += us[i];
    }
    return histogram;
}
#define OF(...) of((int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void a_bucket_holds_what_is_not_longer_than_its_bound(void **state)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
        assert_int_equal(histogram_bucket(histogram_bounds_us[i]), i);
        assert_int_equal(histogram_bucket(histogram_bounds_us[i] + 1), i + 1);
        assert_true(i == 0 || histogram_bounds_us[i] > histogram_bounds_us[i - 1]);
    }
    assert_int_equal(histogram_bucket(-5), 0);
    assert_int_equal(histogram_bucket(INT64_MAX), HISTOGRAM_BUCKETS - 1);
}

static void of_nothing_there_is_no_quantile(void **state)
{
    assert_true(histogram_quantile_ms(&(struct histogram){0}, 0.5) == -1);
}

static void a_quantile_lies_in_the_bucket_of_its_rank(void **state)
{
    struct histogram histogram = OF(3000, 3000, 3000, 700000);
    double p50 = histogram_quantile_ms(&histogram, 0.5), p99 = histogram_quantile_ms(&histogram, 0.99);
    assert_true(p50 > 2.5 && p50 <= 5);
    assert_true(p99 > 500 && p99 <= 1000);
    assert_true(histogram_quantile_ms(&histogram, 0) <= p50);
    assert_true(histogram_quantile_ms(&histogram, 1) == 1000);
}

static void what_is_beyond_all_bounds_counts_as_the_last_bound(void **state)
{
    struct histogram histogram = OF(INT64_C(1) << 50);
    assert_true(histogram_quantile_ms(&histogram, 0.5) == (double)histogram_bounds_us[HISTOGRAM_BUCKETS - 2] / 1000);
}

static void histograms_add_up(void **state)
{
    struct histogram sum = OF(100, 3000), more = OF(3000, 3000);
    histogram_add(&sum, &more, 1);
    assert_int_equal(histogram_count(&sum), 4);
    assert_int_equal(sum.counts[histogram_bucket(3000)], 3);
    assert_int_equal(sum.sum_us, 9100);
    histogram_add(&sum, &more, 0.5);
    assert_int_equal(sum.counts[histogram_bucket(3000)], 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_holds_what_is_not_longer_than_its_bound),
        cmocka_unit_test(of_nothing_there_is_no_quantile),
        cmocka_unit_test(a_quantile_lies_in_the_bucket_of_its_rank),
        cmocka_unit_test(what_is_beyond_all_bounds_counts_as_the_last_bound),
        cmocka_unit_test(histograms_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
