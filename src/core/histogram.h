// How durations are spread: counts in buckets whose bounds never change, so that histograms of many processes and minutes can be
// added up, and stay comparable after an upgrade.
// Layer: core, pure.
#pragma once
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 21 }; // the last one has no bound

struct histogram {
    int64_t counts[HISTOGRAM_BUCKETS];
    int64_t sum_us;
};

extern const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1]; // a bucket holds what is not longer than its bound

int histogram_bucket(int64_t us); // which one a duration falls into; what is negative, into the first
int64_t histogram_count(const struct histogram *histogram);
void histogram_add(struct histogram *to, const struct histogram *from, double weight);

// The duration that the part `q` (0..1) of all is not longer than, reckoned within its bucket as if they lay there evenly; of the
// last bucket, its lower bound. -1: there is none at all.
double histogram_quantile_ms(const struct histogram *histogram, double q);
