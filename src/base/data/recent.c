#include "base/data/recent.h"

#include "base/data/map.h"
#include "base/mem.h"

struct recent {
    struct map places; // id -> its place in the ring, plus one
    size_t at, max;
    struct {
        int64_t id, number; // id 0: free
    } ring[];
};

struct recent *recent_new(size_t max)
{
    struct recent *recent = mem_zero(sizeof *recent + max * sizeof recent->ring[0]);
    recent->max = max;
    return recent;
}

void recent_free(struct recent *recent)
{
    if (!recent)
        return;
    map_done(&recent->places);
    mem_free(recent);
}

void recent_put(struct recent *recent, int64_t id, int64_t number)
{
    size_t at = recent->at++ % recent->max;
    int64_t oldest = recent->ring[at].id;
    if (oldest && (size_t)map_get(&recent->places, oldest) == at + 1) // otherwise it was put in again since
        map_remove(&recent->places, oldest);
    recent->ring[at].id = id;
    recent->ring[at].number = number;
    map_put(&recent->places, id, (void *)(at + 1));
}

int64_t recent_get(const struct recent *recent, int64_t id)
{
    size_t place = (size_t)map_get(&recent->places, id);
    return place ? recent->ring[place - 1].number : 0;
}
