// Dealing cards: the longer row is dealt out to the shorter one. The owners of buckets change when a puller comes or goes, and
// that costs nothing, because jobs in hand stay where they are.
#include "core/bucket.h"

// The upper bits of a product with 2^64 divided by the golden ratio: numbers that follow each other fall far apart.
int32_t bucket_of(int32_t tenant)
{
    return (int32_t)((uint64_t)tenant * 0x9e3779b97f4a7c15u >> 54);
}

bool bucket_is_given(size_t bucket, size_t buckets, size_t puller, size_t pullers)
{
    size_t shorter = buckets < pullers ? buckets : pullers;
    return shorter > 0 && bucket % shorter == puller % shorter;
}
