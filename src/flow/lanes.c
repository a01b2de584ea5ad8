// A heap of lanes by when they are to be looked at: the later of "its next job is due" and "it was served". A lane with an old
// backlog therefore stands behind one that was not served as recently, however old its jobs are, and memory grows with the
// number of lanes, never with the number of jobs.
//
// In a lane of one's own, jobs are taken seconds before their time; in others only when something is due and still lies there
// (and then what is near, too: its owner is behind). An owner is thus there first, and what it leaves lying, because it is busy
// or dead, somebody else takes a moment later.
//
// Room is counted twice: in jobs, and in bytes of their documents, both shared alike (core/share). A claim is told how many bytes
// a lane may take, and takes one job at least, so that a large one is never stuck. What is reserved while a claim is under way is
// what its documents are likely to have, going by the last ones.
//
// A lane that has used up its share is set aside and looked at again when a place is given back. Because a lane that holds
// nothing always gets a place while there is one, at most `room` lanes can be set aside.
#include "flow/lanes.h"

#include "base/clock.h"
#include "base/data/hash.h"
#include "base/data/heap.h"
#include "base/data/map.h"
#include "base/mark.h"
#include "base/mem.h"
#include "core/share.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    QUEUE_NAME_MAX = 64,
    WALK_MAX = 1000,
    REST_MS = 200,
    WORTH = 32,          // places that are worth a claim of jobs
    URGENT_MS = 1000,    // which are due later than this
    BACKLOG_MS = 1000,   // what has been due for less than this is not a backlog
    ANEW_MS = 2000,      // so often a claim begins at the first id: another node may have given back what has a smaller one
    ASK_FIRST = 128,     // jobs, of a lane that was never claimed from; later four times what the last claim brought,
    ASK_MIN = 32,        // but not fewer
    SIZE_FIRST = 512,    // bytes that a document is taken for before one has been seen; a claim may bring
    SIZE_TIMES = 4,      // so many times as many as the last documents had,
    SIZE_MIN = 65536,    // but not fewer than this,
    SIZE_MOST = 8 << 20, // nor more: they are all read at once when they come
};

struct lane {
    int64_t id;
    int32_t tenant, bucket;
    char queue[QUEUE_NAME_MAX + 1];
    struct lane *same_name; // next lane whose name has the same hash
    bool paused;
    bool told;    // I15: the store has said whether it is paused
    bool planned; // a claim for it is under way
    bool aside;   // in lanes->aside: no room when last looked at
    int weight;
    int held;
    int64_t bytes;         // of the documents of those that are held
    int64_t size;          // of one document, on the average of the last claim
    size_t ask;            // how many jobs a claim asks for at most, so that it has room for other lanes
    int64_t next_due;      // of what waits in it, as far as is known
    int64_t next_id;       // and of what is due at that time, none that waits has a smaller id, as far as is known
    int64_t anew_ms;       // when a claim was last planned for all ids
    int64_t due_meanwhile; // noted while a claim was under way
    int64_t served_ms;
    int64_t planned_ms;           // when the claim that is under way was planned
    struct lanes_version version; // lanes->version when it was last paused or let go here, and when its next_due last changed
    int64_t promoted_ms;          // what is due up to here is marked ready,
    int64_t promoted_id;          // and of the next millisecond what is up to this id
    struct heap_node turn;
    struct list link; // in lanes->aside
};

struct lanes {
    pthread_mutex_t lock;
    int room, used;
    int64_t bytes_room, bytes_used;
    struct broker *broker; // whose executors are told of pauses; NULL: nobody
    _Atomic int paused;    // how many lanes are: while none is, nobody has to ask under the lock
    struct lanes_version version;
    int64_t behind_ms;                    // when a claim last left something that was due
    bool mine[BUCKETS], buckets[BUCKETS]; // where this node goes first; what lanes fall into
    struct map by_id, by_name;            // by_name: hash of tenant and queue -> chain
    struct lane **all;                    // in the order they became known, for walking round
    size_t count, cap, walk;
    struct heap due;
    struct list aside;
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

static bool is_mine(const struct lanes *lanes, const struct lane *lane)
{
    return lanes->mine[lane->bucket];
}

// Puts the lane where it belongs after anything about it changed.
static void arrange(struct lanes *lanes, struct lane *lane)
{
    int64_t ahead = is_mine(lanes, lane) ? LANES_BEGIN_MS : 0;
    if (lane->paused || lane->planned || lane->next_due == TIME_NEVER)
        heap_remove(&lanes->due, &lane->turn);
    else if (!lane->aside)
        heap_set(&lanes->due, &lane->turn, time_max(lane->next_due - ahead, lane->served_ms));
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

static void set_next_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    lane->next_due = due_ms;
    lane->next_id = 0;
    arrange(lanes, lane);
}

static void note_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
{
    if (lane->planned)
        lane->due_meanwhile = time_min(lane->due_meanwhile, due_ms);
    if (due_ms <= lane->next_due) // if it is the same, it may yet have a smaller id
        set_next_due(lanes, lane, due_ms);
}

static void heard_due(struct lanes *lanes, struct lane *lane, int64_t due_ms)
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

static int more_room(const struct lanes *lanes, const struct lane *lane)
{
    return share_more(lanes->room, lanes->used, lane->held, lane->weight);
}

// In KiB, which fit an int.
static int64_t more_bytes(const struct lanes *lanes, const struct lane *lane)
{
    return share_more((int)(lanes->bytes_room >> 10), (int)(lanes->bytes_used >> 10), (int)(lane->bytes >> 10), lane->weight) *
           INT64_C(1024);
}

static bool has_room(const struct lanes *lanes)
{
    return lanes->used < lanes->room && lanes->bytes_used < lanes->bytes_room;
}

static void hold(struct lanes *lanes, struct lane *lane, int places, int64_t bytes)
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
    bool take = lane && lane->told && !lane->paused && !has_backlog(lane, now_ms) && more_room(lanes, lane) > 0 &&
                more_bytes(lanes, lane) >= (int64_t)bytes;
    if (take)
        hold(lanes, lane, 1, (int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
    return take ? lane->id : 0;
}

void lanes_give(struct lanes *lanes, int64_t id, size_t bytes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    assert(lane && lane->held > 0 && lane->bytes >= (int64_t)bytes);
    hold(lanes, lane, -1, -(int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
}

bool lanes_hold(struct lanes *lanes, int64_t id, size_t bytes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    bool holds = lane && has_room(lanes);
    if (holds)
        hold(lanes, lane, 1, (int64_t)bytes);
    pthread_mutex_unlock(&lanes->lock);
    return holds;
}

bool lanes_note(struct lanes *lanes, int64_t id, int32_t tenant, struct str queue, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = learn(lanes, id, tenant, queue);
    bool sooner = due_ms < lane->next_due;
    heard_due(lanes, lane, due_ms);
    pthread_mutex_unlock(&lanes->lock);
    return sooner;
}

void lanes_due(struct lanes *lanes, int64_t id, int64_t due_ms)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, id);
    if (lane)
        heard_due(lanes, lane, due_ms);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_learn(struct lanes *lanes, const struct store_lane *from, struct lanes_version asked)
{
    pthread_mutex_lock(&lanes->lock);
    bool is_new = !map_get(&lanes->by_id, from->id);
    struct lane *lane = learn(lanes, from->id, from->tenant, from->queue);
    lane->told = true;
    if (lane->version.pauses <= asked.pauses)
        set_paused(lanes, lane, from->paused);
    if (from->next_due && lane->version.dues <= asked.dues && !lane->planned)
        set_next_due(lanes, lane, from->next_due);
    else if (from->next_due || is_new) // of one that is new, a claim finds out
        note_due(lanes, lane, from->next_due);
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

void lanes_assign(struct lanes *lanes, const bool mine[BUCKETS])
{
    pthread_mutex_lock(&lanes->lock);
    bool same = memcmp(lanes->mine, mine, sizeof lanes->mine) == 0;
    memcpy(lanes->mine, mine, sizeof lanes->mine);
    for (size_t i = 0; i < lanes->count && !same; i++)
        arrange(lanes, lanes->all[i]);
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

static enum lanes_limit limit_of(const struct lanes *lanes, const struct lane *lane)
{
    if (lanes->used >= lanes->room)
        return LANES_JOBS;
    if (lanes->bytes_used >= lanes->bytes_room)
        return LANES_BYTES;
    if (!more_room(lanes, lane))
        return LANES_JOBS_SHARE;
    return more_bytes(lanes, lane) ? LANES_FREE : LANES_BYTES_SHARE;
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
    lane->told = true;
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

struct lanes_version lanes_version(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    struct lanes_version version = lanes->version;
    pthread_mutex_unlock(&lanes->lock);
    return version;
}

// How many bytes a claim of so many jobs may bring: as many as it is likely to, within the lane's share.
static int64_t bytes_to_ask(const struct lanes *lanes, const struct lane *lane, size_t jobs)
{
    int64_t likely = time_max(SIZE_TIMES * lane->size * (int64_t)jobs, SIZE_MIN);
    return time_min(time_min(likely, SIZE_MOST), more_bytes(lanes, lane));
}

static bool plan_one(struct lanes *lanes, struct lane *lane, int64_t now_ms, size_t max_jobs, struct store_want *ret_want)
{
    size_t more = (size_t)more_room(lanes, lane);
    bool urgent = lane->next_due <= now_ms + URGENT_MS;
    if (more == 0 || !more_bytes(lanes, lane) || (more < WORTH && !urgent)) {
        set_aside(lanes, lane);
        return false;
    }
    if (more > lane->ask)
        more = lane->ask;
    if (more > max_jobs)
        more = max_jobs;
    int64_t bytes = bytes_to_ask(lanes, lane, more);
    hold(lanes, lane, (int)more, bytes);
    lane->planned = true;
    lane->planned_ms = lane->served_ms = now_ms;
    lane->due_meanwhile = TIME_NEVER;
    if (now_ms >= lane->anew_ms + ANEW_MS)
        lane->next_id = 0;
    if (!lane->next_id)
        lane->anew_ms = now_ms;
    arrange(lanes, lane);
    *ret_want = (struct store_want){
        .lane = lane->id, .max = more, .bytes = (size_t)bytes, .from_ms = lane->next_due, .from_id = lane->next_id};
    return true;
}

size_t lanes_plan(struct lanes *lanes, int64_t now_ms, struct store_want *ret_wants, size_t max_wants, size_t max_jobs)
{
    size_t count = 0;
    pthread_mutex_lock(&lanes->lock);
    look_again(lanes);
    while (count < max_wants && max_jobs > 0 && has_room(lanes)) {
        struct heap_node *top = heap_top(&lanes->due);
        if (!top || top->key > now_ms + (count ? LANES_AHEAD_MS - LANES_BEGIN_MS : 0))
            break;
        struct lane *lane = container_of(top, struct lane, turn);
        // Beside a claim that is made anyway, lanes are taken whose turn would be a moment later, if it is for their jobs' time.
        if (top->key > now_ms && (lane->served_ms > now_ms || !is_mine(lanes, lane)))
            break;
        if (!plan_one(lanes, lane, now_ms, max_jobs, &ret_wants[count]))
            continue;
        if (!is_mine(lanes, lane))
            mark(MARK_HELPED);
        max_jobs -= ret_wants[count++].max;
    }
    pthread_mutex_unlock(&lanes->lock);
    return count;
}

void lanes_planned(struct lanes *lanes, const struct store_want *want, size_t got, size_t bytes, bool known)
{
    pthread_mutex_lock(&lanes->lock);
    struct lane *lane = map_get(&lanes->by_id, want->lane);
    assert(lane && lane->planned && got <= want->max);
    hold(lanes, lane, -(int)(want->max - got), (int64_t)bytes - (int64_t)want->bytes);
    lane->planned = false;
    // Something was due and nothing came: another node paused the lane, or has its jobs under way. Asking again at once, and
    // again, would be all this node does.
    if (known && got == 0 && want->max > 0 && want->next_due <= lane->planned_ms + LANES_AHEAD_MS)
        lane->served_ms = lane->planned_ms + REST_MS;
    if (known && got)
        lane->size = (int64_t)(bytes / got);
    if (known) {
        lane->ask = got > ASK_MIN / 4 ? 4 * got : ASK_MIN;
        lane->version.dues = ++lanes->version.dues;
        bool sooner = lane->due_meanwhile <= want->next_due;
        lane->next_due = sooner ? lane->due_meanwhile : want->next_due;
        lane->next_id = sooner ? 0 : want->next_id;
        if (lane->next_due <= lane->planned_ms)
            lanes->behind_ms = lane->planned_ms;
    }
    arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

int64_t lanes_next_plan(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    struct heap_node *top = has_room(lanes) ? heap_top(&lanes->due) : NULL;
    int64_t at = top ? top->key : TIME_NEVER;
    pthread_mutex_unlock(&lanes->lock);
    return at;
}

int lanes_held(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    int used = lanes->used;
    pthread_mutex_unlock(&lanes->lock);
    return used;
}

// Whatever is overdue is first in its turn, or was served lately and has more, or is paused, or set aside for want of room.
static bool may_be_overdue(struct lanes *lanes, int64_t before_ms)
{
    const struct heap_node *top = heap_top(&lanes->due);
    return (top && top->key <= before_ms) || lanes->behind_ms > before_ms - BACKLOG_MS || !list_empty(&lanes->aside) ||
           atomic_load(&lanes->paused) > 0;
}

int64_t lanes_overdue(struct lanes *lanes, int64_t before_ms, int64_t *ret_from_ms, int64_t *ret_from_id)
{
    int64_t id = 0;
    pthread_mutex_lock(&lanes->lock);
    size_t walk = may_be_overdue(lanes, before_ms) ? WALK_MAX : 0;
    for (size_t i = 0; i < lanes->count && i < walk && !id; i++) {
        struct lane *lane = lanes->all[lanes->walk++ % lanes->count];
        if (is_mine(lanes, lane) && lane->next_due <= before_ms && lane->promoted_ms < before_ms) {
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
        lanes->all[i]->served_ms = lanes->all[i]->promoted_ms = lanes->all[i]->promoted_id = lanes->all[i]->anew_ms = 0;
        arrange(lanes, lanes->all[i]);
    }
    pthread_mutex_unlock(&lanes->lock);
}
