// Removal shifts the rest of the probe run back instead of leaving a mark, so a map that lives for
// months and sees a billion keys pass stays as fast as on its first day.
#include "base/data/map.h"

#include "base/data/hash.h"
#include "base/mem.h"

#include <assert.h>
#include <string.h>

struct map_slot {
    int64_t key;
    void *value; // NULL: free
};

void map_done(struct map *map)
{
    mem_free(map->slots);
    *map = (struct map){0};
}

void map_clear(struct map *map)
{
    enum { CAP_KEPT = 16384 };
    if (map->cap > CAP_KEPT)
        map_done(map);
    else if (map->count)
        memset(map->slots, 0, map->cap * sizeof *map->slots);
    map->count = 0;
}

static size_t find(const struct map *map, int64_t key)
{
    size_t mask = map->cap - 1, at = hash_number(key) & mask;
    while (map->slots[at].value && map->slots[at].key != key)
        at = (at + 1) & mask;
    return at;
}

void *map_get(const struct map *map, int64_t key)
{
    return map->cap ? map->slots[find(map, key)].value : NULL;
}

static void grow(struct map *map)
{
    struct map old = *map;
    map->cap = old.cap ? old.cap * 2 : 64;
    map->slots = mem_zero(map->cap * sizeof *map->slots);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slots[i].value)
            map->slots[find(map, old.slots[i].key)] = old.slots[i];
    mem_free(old.slots);
}

void *map_put(struct map *map, int64_t key, void *value)
{
    assert(value);
    if ((map->count + 1) * 4 > map->cap * 3)
        grow(map);
    struct map_slot *slot = &map->slots[find(map, key)];
    void *was = slot->value;
    map->count += !was;
    *slot = (struct map_slot){key, value};
    return was;
}

void *map_remove(struct map *map, int64_t key)
{
    if (!map->cap)
        return NULL;
    size_t mask = map->cap - 1, hole = find(map, key);
    void *was = map->slots[hole].value;
    if (!was)
        return NULL;
    for (size_t at = (hole + 1) & mask; map->slots[at].value; at = (at + 1) & mask) {
        size_t home = hash_number(map->slots[at].key) & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return was;
}

void *map_next(const struct map *map, size_t *ret_at, int64_t *ret_key)
{
    while (*ret_at < map->cap) {
        const struct map_slot *slot = &map->slots[(*ret_at)++];
        if (slot->value) {
            *ret_key = slot->key;
            return slot->value;
        }
    }
    return NULL;
}
