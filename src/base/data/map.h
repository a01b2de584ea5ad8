// A hash map from 64-bit ids to pointers: open addressing, linear probing, no tombstones.
// Layer: base. One owner at a time. Does not own what it points to.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot *slots;
    size_t cap, count;
};

void map_done(struct map *map);
void map_clear(struct map *map);                                         // keeps its room, unless that is large
void *map_get(const struct map *map, int64_t key);                       // NULL when absent
void *map_put(struct map *map, int64_t key, void *value);                // value must not be NULL; returns what was there
void *map_remove(struct map *map, int64_t key);                          // returns what was there
void *map_next(const struct map *map, size_t *ret_at, int64_t *ret_key); // walk: start with *ret_at = 0; NULL at the end

// The map must not be changed while it is walked: a removal moves others to places the walk has passed.
