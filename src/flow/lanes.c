// The table of lanes: what is known of each, which are paused, and how much room is left. When a lane is claimed from is decided
// in lane_turns.c.
//
// Room is counted twice: in jobs, and in bytes of their documents, both shared alike (core/share).
//
// What this node notes of a lane itself (a job was added, a queue was paused) is newer than the answer to a question that the
// store was asked before. A version counts what was noted, so that such an answer does not overrule it.
#include "flow/lanes.h"

#include "base/clock.h"
#include "base/data/hash.h"
#include "base/mem.h"
#include "core/share.h"
#include "flow/lanes_private.h"

#include <assert.h>

enum {
    ASK_FIRST = 128,  // jobs that a claim asks for, of a lane that was never claimed from
    SIZE_FIRST = 512, // bytes that a document is taken for before one has been seen
};

struct lanes *lanes_new(int room, size_t bytes)
{
    struct lanes *lanes = mem_zero(sizeof *lanes);
    pthread_mutex_init(&lanes->lock, NULL);
    list_init(&lanes->aside);
    lanes->room = room;
    lanes->bytes_room = (int64_t)bytes;
    memset(lanes->mine, true, sizeof lanes->mine);
    return lanes;
}

void lanes_control(struct lanes *lanes, struct broker *broker)
{
    lanes->broker = broker;
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

static struct lane *find_name(struct lanes *lanes, int32_t tenant, struct str queue)
{
    struct lane *lane = map_get(&lanes->by_name, hash_name(tenant, queue));
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
    lane->bucket = bucket_of(tenant);
    lanes->buckets[lane->bucket] = true;
    memcpy(lane->queue, queue.p, queue.n);
    lane->weight = 1;
    lane->ask = ASK_FIRST;
    lane->size = SIZE_FIRST;
    lane->next_due = lane->due_meanwhile = TIME_NEVER;
    map_put(&lanes->by_id, id, lane);
    int64_t hash = hash_name(tenant, queue);
    lane->same_name = map_get(&lanes->by_name, hash);
    map_put(&lanes->by_name, hash, lane);
    if (lanes->count == lanes->cap) {
        lanes->cap = lanes->cap ? lanes->cap * 2 : 16;
        lanes->all = mem_grow(lanes->all, lanes->cap * sizeof(struct lane *));
    }
    lanes->all[lanes->count++] = lane;
    return lane;
}

static void set_next_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    lane->next_due = due_ms;
    lane->next_id = 0;
    lanes_arrange(lanes, lane);
}

static void note_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    if (lane->planned)
        lane->due_meanwhile = time_min(lane->due_meanwhile, due_ms);
    if (due_ms <= lane->next_due) // if it is the same, it may yet have a smaller id
        set_next_due(lanes, lane, due_ms);
}

// Notes a due time and counts it, so that an answer to an older question does not overrule it.
static void note_new_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    lane->version.dues = ++lanes->version.dues;
    note_due(lanes, lane, due_ms);
}

static void set_paused(struct lanes *lanes, struct lane *lane, bool paused)
{
    if (lane->paused == paused)
        return;
    atomic_fetch_add(&lanes->paused, paused ? 1 : -1);
    lane->paused = paused;
    if (lanes->broker)
        broker_control(lanes->broker, &(struct control){.kind = CONTROL_PAUSE, .id = lane->id, .paused = paused});
}

int lanes_more_room(const struct lanes *lanes, const struct lane *lane)
{
    return share_more(lanes->room, lanes->used, lane->held, lane->weight);
}

// In KiB, which fit an int.
int64_t lanes_more_bytes(const struct lanes *lanes, const struct lane *lane)
{
    return share_more((int)(lanes->bytes_room >> 10), (int)(lanes->bytes_used >> 10), (int)(lane->bytes >> 10), lane->weight) *
           INT64_C(1024);
}

bool lanes_has_room(const struct lanes *lanes)
{
    return lanes->used < lanes->room && lanes->bytes_used < lanes->bytes_room;
}

void lanes_occupy(struct lanes *lanes, struct lane *lane, int places, int64_t bytes)
{
    lane->held += places;
    lanes->used += places;
    lane->bytes += bytes;
    lanes->bytes_used += bytes;
}

// What has waited for a moment only is not a backlog: it is claimed soon, whoever overtakes it. If it were one, all that comes
// while it is being claimed would have to be claimed, too, and a lane that jobs keep coming to would never again do without.
static bool has_backlog(const struct lane *lane, int64_t now_ms)
{
    return lane->next_due <= now_ms - BACKLOG_MS;
}

int64_t lanes_take(struct lanes *lanes, int32_t tenant, struct str queue, size_t bytes, int64_t now_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = find_name(lanes, tenant, queue);
    bool take = lane && lane->pause_known && !lane->paused && !has_backlog(lane, now_ms) && lanes_more_room(lanes, lane) > 0 &&
                lanes_more_bytes(lanes, lane) >= (int64_t)bytes;
    if (take)
        lanes_occupy(lanes, lane, 1, (int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
    return take ? lane->id : 0;
}

void lanes_give(struct lanes *lanes, int64_t id, size_t bytes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    assert(lane && lane->held > 0 && lane->bytes >= (int64_t)bytes);
    lanes_occupy(lanes, lane, -1, -(int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
}

bool lanes_hold(struct lanes *lanes, int64_t id, size_t bytes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    bool holds = lane && lanes_has_room(lanes);
    if (holds)
        lanes_occupy(lanes, lane, 1, (int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
    return holds;
}

bool lanes_note(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = learn(lanes, id, tenant, queue);
    bool sooner = due_ms < lane->next_due;
    note_new_due(lanes, lane, due_ms);
    pthread_mutex_unlock(&lanes->lock);
    return sooner;
}

void lanes_due(struct lanes *lanes, int64_t id, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    if (lane)
        note_new_due(lanes, lane, due_ms);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_learn(struct lanes *lanes, const struct store_lane *from, struct lanes_version asked)
{
    assert(from->dispatch == TARGET_CALLED);
    pthread_mutex_lock(&lanes->lock);
    bool is_new = !map_get(&lanes->by_id, from->id);
    struct lane *lane = learn(lanes, from->id, from->tenant, from->queue);
    lane->pause_known = true;
    if (lane->version.pauses <= asked.pauses)
        set_paused(lanes, lane, from->paused);
    if (from->next_due && lane->version.dues <= asked.dues && !lane->planned)
        set_next_due(lanes, lane, from->next_due);
    else if (from->next_due || is_new) // of one that is new, a claim finds out
        note_due(lanes, lane, from->next_due);
    lanes_arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_assign(struct lanes *lanes, const bool mine[BUCKETS])
{
    pthread_mutex_lock(&lanes->lock);
    bool same = memcmp(lanes->mine, mine, sizeof lanes->mine) == 0;
    memcpy(lanes->mine, mine, sizeof lanes->mine);
    for (size_t i = 0; i < lanes->count && !same; i++)
        lanes_arrange(lanes, lanes->all[i]);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_buckets(struct lanes *lanes, bool ret_used[BUCKETS])
{
    pthread_mutex_lock(&lanes->lock);
    memcpy(ret_used, lanes->buckets, sizeof lanes->buckets);
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

bool lanes_is_queue_paused(struct lanes *lanes, int32_t tenant, struct str queue)
{
    if (atomic_load(&lanes->paused) == 0)
        return false;
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = find_name(lanes, tenant, queue);
    bool paused = lane && lane->paused;
    pthread_mutex_unlock(&lanes->lock);
    return paused;
}

static enum lanes_limit limit_of(const struct lanes *lanes, const struct lane *lane)
{
    if (lanes->used >= lanes->room)
        return LANES_JOBS;
    if (lanes->bytes_used >= lanes->bytes_room)
        return LANES_BYTES;
    if (!lanes_more_room(lanes, lane))
        return LANES_JOBS_SHARE;
    return lanes_more_bytes(lanes, lane) ? LANES_FREE : LANES_BYTES_SHARE;
}

struct lanes_view lanes_look(struct lanes *lanes, int64_t id)
{
    static const struct lane unknown = {.weight = 1};
    pthread_mutex_lock(&lanes->lock);
    const struct lane *found = map_get(&lanes->by_id, id), *lane = found ? found : &unknown;
    const int64_t has[] = {[LANES_FREE] = lane->held,
                           [LANES_JOBS] = lanes->used,
                           [LANES_JOBS_SHARE] = lane->held,
                           [LANES_BYTES] = lanes->bytes_used,
                           [LANES_BYTES_SHARE] = lane->bytes};
    struct lanes_view view = {.limit = limit_of(lanes, lane), .held = lane->held};
    view.has = has[view.limit];
    view.most = view.limit < LANES_BYTES ? lanes->room : lanes->bytes_room;
    pthread_mutex_unlock(&lanes->lock);
    return view;
}

void lanes_pause(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue, bool paused)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = learn(lanes, id, tenant, queue);
    set_paused(lanes, lane, paused);
    lane->version.pauses = ++lanes->version.pauses;
    lane->pause_known = true;
    lanes_arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

struct lanes_version lanes_version(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lanes_version version = lanes->version;
    pthread_mutex_unlock(&lanes->lock);
    return version;
}

int lanes_held(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    int used = lanes->used;
    pthread_mutex_unlock(&lanes->lock);
    return used;
}

void lanes_clock_back(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    for (size_t i = 0; i < lanes->count; i++) {
        lanes->all[i]->served_ms = lanes->all[i]->promoted_ms = lanes->all[i]->promoted_id = lanes->all[i]->anew_ms = 0;
        lanes_arrange(lanes, lanes->all[i]);
    }
    pthread_mutex_unlock(&lanes->lock);
}
