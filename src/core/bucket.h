// Who goes first: tenants fall into buckets, and buckets are divided between the pullers that live.
// Layer: core, pure.
//
// Going first is all that ownership means. An owner takes a bucket's jobs before their time, others come when something is due
// and still lies there. So two owners of a bucket, or none that lives, cost a little work or time, never a job.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUCKETS = 1024 };

int32_t bucket_of(int32_t tenant); // stays the same for ever: rows, and one day shards, are found by it

// Does the puller number `puller` of `pullers` go first in the bucket number `bucket` of `buckets` that are in use? Each puller
// gets as many buckets as any other, give or take one; with more pullers than buckets, each bucket as many pullers.
bool bucket_is_given(size_t bucket, size_t buckets, size_t puller, size_t pullers);
