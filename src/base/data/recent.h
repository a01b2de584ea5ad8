// The latest ids that were put in, each with a number: a ring that forgets the oldest, with a map to find them by.
// Layer: base. One owner at a time.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct recent;

struct recent *recent_new(size_t max);
void recent_free(struct recent *recent);                            // accepts NULL
void recent_put(struct recent *recent, int64_t id, int64_t number); // number > 0; replaces what was known of the id
int64_t recent_get(const struct recent *recent, int64_t id);        // 0: it is not among the latest
