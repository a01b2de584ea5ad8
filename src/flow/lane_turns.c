// The puller's side of lanes: which of them has its turn, what a claim asks for, and what came of it.
//
// A heap has the lanes by when they are to be looked at: the later of "its next job is due" and "it was served". A lane with an
// old backlog therefore stands behind one that was not served as recently, however old its jobs are, and memory grows with the
// number of lanes, never with the number of jobs.
//
// In a lane where this node goes first (it is an owner), jobs are claimed seconds before their time; in others only when
// something is due and still lies there (and then what is near, too: its owner is behind). An owner is thus there first, and what
// it leaves lying, because it is busy or dead, somebody else takes a moment later.
//
// A claim names how many bytes a lane may take, and takes one job at least, so that a large one is never stuck. What is reserved
// while a claim is under way is what its documents are likely to have, going by the last ones.
//
// A lane that has used up its share is set aside and looked at again when a place is given back. Because a lane that holds
// nothing always gets a place while there is one, at most `room` lanes can be set aside.
#include "base/clock.h"
#include "base/mark.h"
#include "flow/lanes_private.h"

#include <assert.h>

enum {
    WALK_MAX = 1000,
    REST_MS = 200,
    WORTH = 32,          // places that are worth a claim of jobs
    URGENT_MS = 1000,    // which are due later than this
    ANEW_MS = 2000,      // so often a claim begins at the first id: another node may have given back what has a smaller one
    ASK_MIN = 32,        // jobs that a claim asks for at least; otherwise four times what the last one brought
    SIZE_TIMES = 4,      // a claim may bring so many times as many bytes as the last documents had,
    SIZE_MIN = 65536,    // but not fewer than this,
    SIZE_MOST = 8 << 20, // nor more: they are all read at once when they come
};

static bool is_mine(const struct lanes *lanes, const struct lane *lane)
{
    return lanes->mine[lane->bucket];
}

void lanes_arrange(struct lanes *lanes, struct lane *lane)
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
        lanes_arrange(lanes, lane);
    }
}

// How many bytes a claim of so many jobs may bring: as many as it is likely to, within the lane's share.
static int64_t bytes_to_ask(const struct lanes *lanes, const struct lane *lane, size_t jobs)
{
    int64_t likely = time_max(SIZE_TIMES * lane->size * (int64_t)jobs, SIZE_MIN);
    return time_min(time_min(likely, SIZE_MOST), lanes_more_bytes(lanes, lane));
}

static bool plan_one(struct lanes *lanes, struct lane *lane, int64_t now_ms, size_t max_jobs, struct store_want *ret_want)
{
    size_t more = (size_t)lanes_more_room(lanes, lane);
    bool urgent = lane->next_due <= now_ms + URGENT_MS;
    if (more == 0 || !lanes_more_bytes(lanes, lane) || (more < WORTH && !urgent)) {
        set_aside(lanes, lane);
        return false;
    }
    if (more > lane->ask)
        more = lane->ask;
    if (more > max_jobs)
        more = max_jobs;
    int64_t bytes = bytes_to_ask(lanes, lane, more);
    lanes_occupy(lanes, lane, (int)more, bytes);
    lane->planned = true;
    lane->planned_ms = lane->served_ms = now_ms;
    lane->due_meanwhile = TIME_NEVER;
    if (now_ms >= lane->anew_ms + ANEW_MS)
        lane->next_id = 0;
    if (!lane->next_id)
        lane->anew_ms = now_ms;
    lanes_arrange(lanes, lane);
    *ret_want = (struct store_want){
        .lane = lane->id, .max = more, .bytes = (size_t)bytes, .from_ms = lane->next_due, .from_id = lane->next_id};
    return true;
}

size_t lanes_plan(struct lanes *lanes, int64_t now_ms, struct store_want *ret_wants, size_t max_wants, size_t max_jobs)
{
    size_t count = 0;
    pthread_mutex_lock(&lanes->lock);
    look_again(lanes);
    while (count < max_wants && max_jobs > 0 && lanes_has_room(lanes)) {
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
    lanes_occupy(lanes, lane, -(int)(want->max - got), (int64_t)bytes - (int64_t)want->bytes);
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
    lanes_arrange(lanes, lane);
    pthread_mutex_unlock(&lanes->lock);
}

int64_t lanes_next_plan(struct lanes *lanes)
{
    pthread_mutex_lock(&lanes->lock);
    struct heap_node *top = lanes_has_room(lanes) ? heap_top(&lanes->due) : NULL;
    int64_t at = top ? top->key : TIME_NEVER;
    pthread_mutex_unlock(&lanes->lock);
    return at;
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
