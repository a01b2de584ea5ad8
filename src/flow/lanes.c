// A heap of lanes by when they are to be looked at: the later of "its next job is due" and "it was served". A lane with an old
// backlog therefore stands behind one that was not served as recently, however old its jobs are, and memory grows with the
// number of lanes, never with the number of jobs.
//
// A lane that has used up its share is set aside and looked at again when a place is given back. Because a lane that holds
// nothing always gets a place while there is one, at most `room` lanes can be set aside.
#include "flow/lanes.h"

#include "base/clock.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"
#include "core/share.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { QUEUE_NAME_MAX = 64, WALK_MAX = 1000, REST_MS = 200 };

struct lane {
    int64_t id;
    int32_t tenant;
    char queue[QUEUE_NAME_MAX + 1];
    struct lane *same_name; // next lane whose name has the same hash
    bool paused;
    bool told;    // I15: the store has said whether it is paused
    bool planned; // a claim for it is under way
    bool aside;   // in lanes->aside: no room when last looked at
    int weight;
    int held;
    int64_t next_due;      // of what waits in it, as far as is known
    int64_t due_meanwhile; // noted while a claim was under way
    int64_t served_ms;
    int64_t until_ms;    // of the claim that is under way
    int64_t pause_count; // lanes->pause_count when it was last paused or let go here
    int64_t promoted_ms; // what is due up to here is marked ready,
    int64_t promoted_id; // and of the next millisecond what is up to this id
    struct heap_node turn;
    struct list link; // in lanes->aside
};

struct lanes {
    pthread_mutex_t lock;
    int room, used;
    _Atomic int paused; // how many lanes are: while none is, nobody has to ask under the lock
    int64_t pause_count;
    struct map by_id, by_name; // by_name: hash of tenant and queue -> chain
    struct lane **all;         // in the order they became known, for walking round
    size_t count, cap, walk;
    struct heap due;
    struct list aside;
};

struct lanes *lanes_new(int room)
{
    struct lanes *lanes = mem_zero(sizeof *lanes);
    pthread_mutex_init(&lanes->lock, NULL);
    list_init(&lanes->aside);
    lanes->room = room;
    return lanes;
}

void lanes_free(struct lanes *lanes)
{
    if (!lanes)
        return;
    for (size_t i = 0; i < lanes->count; i++)
        mem_free(lanes->all[i]);
    mem_free(lanes->all);
    map_done(&lanes->by_id);
    map_done(&lanes->by_name);
    heap_done(&lanes->due);
    pthread_mutex_destroy(&lanes->lock);
    mem_free(lanes);
}

static int64_t name_hash(int32_t tenant, struct str queue)
{
    return (int64_t)(map_hash_bytes(queue.p, queue.n) ^ map_hash(tenant));
}

static struct lane *find_name(struct lanes *lanes, int32_t tenant, struct str queue)
{
    struct lane *lane = map_get(&lanes->by_name, name_hash(tenant, queue));
    while (lane && !(lane->tenant == tenant && str_is(queue, lane->queue)))
        lane = lane->same_name;
    return lane;
}

static struct lane *learn(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue)
{
    struct lane *lane = map_get(&lanes->by_id, id);
    if (lane)
        return lane;
    assert(id > 0 && queue.n <= QUEUE_NAME_MAX);
    lane = mem_zero(sizeof *lane);
    lane->id = id;
    lane->tenant = tenant;
    memcpy(lane->queue, queue.p, queue.n);
    lane->weight = 1;
    lane->next_due = lane->due_meanwhile = TIME_NEVER;
    map_put(&lanes->by_id, id, lane);
    int64_t hash = name_hash(tenant, queue);
    lane->same_name = map_get(&lanes->by_name, hash);
    map_put(&lanes->by_name, hash, lane);
    if (lanes->count == lanes->cap) {
        lanes->cap = lanes->cap ? lanes->cap * 2 : 16;
        lanes->all = mem_grow(lanes->all, lanes->cap * sizeof(struct lane *));
    }
    lanes->all[lanes->count++] = lane;
    return lane;
}

// Puts the lane where it belongs after anything about it changed.
static void arrange(struct lanes *lanes, struct lane *lane)
{
    if (lane->paused || lane->planned || lane->next_due == TIME_NEVER)
        heap_remove(&lanes->due, &lane->turn);
    else if (!lane->aside)
        heap_set(&lanes->due, &lane->turn, time_max(lane->next_due, lane->served_ms));
}

static void set_aside(struct lanes *lanes, struct lane *lane)
{
    heap_remove(&lanes->due, &lane->turn);
    lane->aside = true;
    list_append(&lanes->aside, &lane->link);
}

static void look_again(struct lanes *lanes)
{
    struct list *link;
    while ((link = list_take(&lanes->aside))) {
        struct lane *lane = list_entry(link, struct lane, link);
        lane->aside = false;
        arrange(lanes, lane);
    }
}

static void note_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    if (lane->planned)
        lane->due_meanwhile = time_min(lane->due_meanwhile, due_ms);
    if (due_ms >= lane->next_due)
        return;
    lane->next_due = due_ms;
    arrange(lanes, lane);
}

static void set_paused(struct lanes *lanes, struct lane *lane, bool paused)
{
    atomic_fetch_add(&lanes->paused, (int)paused - (int)lane->paused);
    lane->paused = paused;
}

static int more_room(const struct lanes *lanes, const struct lane *lane)
{
    return share_more(lanes->room, lanes->used, lane->held, lane->weight);
}

int64_t lanes_take(struct lanes *lanes, int32_t tenant, struct str queue, int64_t now_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = find_name(lanes, tenant, queue);
    bool take = lane && lane->told && !lane->paused && !lane->planned && lane->next_due > now_ms && more_room(lanes, lane) > 0;
    if (take) {
        lane->held++;
        lanes->used++;
    }
    pthread_mutex_unlock(&lanes->lock);
    return take ? lane->id : 0;
}

void lanes_give(struct lanes *lanes, int64_t id)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    assert(lane && lane->held > 0);
    lane->held--;
    lanes->used--;
    pthread_mutex_unlock(&lanes->lock);
}

bool lanes_hold(struct lanes *lanes, int64_t id)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    bool hold = lane && lanes->used < lanes->room;
    if (hold) {
        lane->held++;
        lanes->used++;
    }
    pthread_mutex_unlock(&lanes->lock);
    return hold;
}

void lanes_note(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    note_due(lanes, learn(lanes, id, tenant, queue), due_ms);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_due(struct lanes *lanes, int64_t id, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    if (lane)
        note_due(lanes, lane, due_ms);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_learn(struct lanes *lanes, const struct store_lane *from, int64_t asked)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = learn(lanes, from->id, from->tenant, from->queue);
    lane->told = true;
    if (lane->pause_count <= asked)
        set_paused(lanes, lane, from->paused);
    note_due(lanes, lane, from->next_due);
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

bool lanes_is_paused(struct lanes *lanes, int64_t id)
{
    if (atomic_load(&lanes->paused) == 0)
        return false;
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    bool paused = lane && lane->paused;
    pthread_mutex_unlock(&lanes->lock);
    return paused;
}

void lanes_pause(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue, bool paused)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = learn(lanes, id, tenant, queue);
    set_paused(lanes, lane, paused);
    lane->pause_count = ++lanes->pause_count;
    lane->told = true;
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

int64_t lanes_pauses(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    int64_t count = lanes->pause_count;
    pthread_mutex_unlock(&lanes->lock);
    return count;
}

static bool plan_one(struct lanes *lanes, struct lane *lane, int64_t now_ms, size_t max_jobs, struct store_want *ret_want)
{
    size_t more = (size_t)more_room(lanes, lane);
    if (more == 0) {
        set_aside(lanes, lane);
        return false;
    }
    if (more > max_jobs)
        more = max_jobs;
    lane->held += (int)more;
    lanes->used += (int)more;
    lane->planned = true;
    lane->served_ms = now_ms;
    lane->due_meanwhile = TIME_NEVER;
    arrange(lanes, lane);
    *ret_want = (struct store_want){.lane = lane->id, .max = more};
    return true;
}

size_t lanes_plan(struct lanes *lanes, int64_t now_ms, int64_t until_ms, struct store_want *ret_wants, size_t max_wants,
                  size_t max_jobs)
{
    size_t count = 0;
    pthread_mutex_lock(&lanes->lock);
    look_again(lanes);
    while (count < max_wants && max_jobs > 0 && lanes->used < lanes->room) {
        struct heap_node *top = heap_top(&lanes->due);
        if (!top || top->key > until_ms)
            break;
        struct lane *lane = container_of(top, struct lane, turn);
        if (!plan_one(lanes, lane, now_ms, max_jobs, &ret_wants[count]))
            continue;
        lane->until_ms = until_ms;
        max_jobs -= ret_wants[count++].max;
    }
    pthread_mutex_unlock(&lanes->lock);
    return count;
}

void lanes_planned(struct lanes *lanes, const struct store_want *want, size_t got, bool known)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, want->lane);
    assert(lane && lane->planned && got <= want->max);
    lane->held -= (int)(want->max - got);
    lanes->used -= (int)(want->max - got);
    lane->planned = false;
    // Something was due and nothing came: another node paused the lane, or has its jobs under way. Asking again at once, and
    // again, would be all this node does.
    if (known && got == 0 && want->max > 0 && want->next_due <= lane->until_ms)
        lane->served_ms = lane->until_ms + REST_MS;
    if (known)
        lane->next_due = time_min(want->next_due, lane->due_meanwhile);
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

int64_t lanes_next_due(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    struct heap_node *top = lanes->used < lanes->room ? heap_top(&lanes->due) : NULL;
    int64_t due = top ? top->key : TIME_NEVER;
    pthread_mutex_unlock(&lanes->lock);
    return due;
}

int lanes_held(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    int used = lanes->used;
    pthread_mutex_unlock(&lanes->lock);
    return used;
}

int64_t lanes_overdue(struct lanes *lanes, int64_t before_ms, int64_t *ret_from_ms, int64_t *ret_from_id)
{
    int64_t id = 0;
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->count && i < WALK_MAX && !id; i++) {
        struct lane *lane = lanes->all[lanes->walk++ % lanes->count];
        if (lane->next_due <= before_ms && lane->promoted_ms < before_ms) {
            id = lane->id;
            *ret_from_ms = lane->promoted_ms;
            *ret_from_id = lane->promoted_id;
        }
    }
    pthread_mutex_unlock(&lanes->lock);
    return id;
}

void lanes_promoted(struct lanes *lanes, int64_t id, int64_t upto_ms, int64_t upto_id)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    if (lane) {
        lane->promoted_ms = upto_ms;
        lane->promoted_id = upto_id;
    }
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_clock_back(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->count; i++) {
        lanes->all[i]->served_ms = lanes->all[i]->promoted_ms = lanes->all[i]->promoted_id = 0;
        arrange(lanes, lanes->all[i]);
    }
    pthread_mutex_unlock(&lanes->lock);
}
