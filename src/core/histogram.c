#include "core/histogram.h"

#define MS INT64_C(1000)
#define SECOND INT64_C(1000000)

const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1] = {
    100,        250,         500,         1 * MS,      5 * MS / 2,   5 * MS,        10 * MS,
    25 * MS,    50 * MS,     100 * MS,    250 * MS,    500 * MS,     1 * SECOND,    5 * SECOND / 2,
    5 * SECOND, 10 * SECOND, 30 * SECOND, 60 * SECOND, 300 * SECOND, 3600 * SECOND,
};

int histogram_bucket(int64_t us)
{
    int low = 0, high = HISTOGRAM_BUCKETS - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (us <= histogram_bounds_us[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int64_t histogram_count(const struct histogram *histogram)
{
    int64_t count = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        count += histogram->counts[i];
    return count;
}

static int64_t part(int64_t count, double weight)
{
    return (int64_t)((double)count * weight + 0.5);
}

void histogram_add(struct histogram *to, const struct histogram *from, double weight)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        to->counts[i] += part(from->counts[i], weight);
    to->sum_us += part(from->sum_us, weight);
}

double histogram_quantile_ms(const struct histogram *histogram, double q)
{
    double rank = q * (double)histogram_count(histogram), below = 0;
    if (histogram_count(histogram) == 0)
        return -1;
    int i = 0;
    while (i < HISTOGRAM_BUCKETS - 1 && below + (double)histogram->counts[i] < rank)
        below += (double)histogram->counts[i++];
    double from = i ? (double)histogram_bounds_us[i - 1] : 0;
    if (i == HISTOGRAM_BUCKETS - 1)
        return from / 1000;
    double share = histogram->counts[i] ? (rank - below) / (double)histogram->counts[i] : 0;
    return (from + share * ((double)histogram_bounds_us[i] - from)) / 1000;
}
