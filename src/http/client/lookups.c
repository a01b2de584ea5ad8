#include "http/client/lookups.h"

#include "base/clock.h"
#include "base/mem.h"
#include "core/share.h"

enum {
    PLACES = 256,    // names asked for at once; each is two questions, and a name server's buffer holds a few hundred
    SLOW_MAX = 2048, // that go on beside: each has a number of 16 bits, twice
    LEFT_MAX = 2048, // that wait though nobody waits for them just now
};
static const int64_t QUICK_NS = 250 * INT64_C(1000000);

struct lookups_lane {
    int64_t id;
    struct list waiting, left; // for which somebody waits, and nobody any more
    struct list turn;          // in lookups->turns while a name waits
    int count, asked;          // all of it; those that have a place
};

void lookups_init(struct lookups *lookups)
{
    *lookups = (struct lookups){0};
    list_init(&lookups->turns);
    list_init(&lookups->asked);
}

void lookups_done(struct lookups *lookups)
{
    map_done(&lookups->lanes);
}

static struct lookups_lane *lane_of(struct lookups *lookups, int64_t id)
{
    struct lookups_lane *lane = map_get(&lookups->lanes, id);
    if (lane)
        return lane;
    lane = mem_zero(sizeof *lane);
    lane->id = id;
    list_init(&lane->waiting);
    list_init(&lane->left);
    map_put(&lookups->lanes, id, lane);
    return lane;
}

// A lane that has nothing here is forgotten: over a day there may be many.
static void leave_lane(struct lookups *lookups, struct lookup *lookup)
{
    struct lookups_lane *lane = lookup->lane;
    lookup->lane = NULL;
    if (--lane->count)
        return;
    map_remove(&lookups->lanes, lane->id);
    mem_free(lane);
}

static bool is_quiet(const struct lookups_lane *lane)
{
    return list_empty(&lane->waiting) && list_empty(&lane->left);
}

void lookups_add(struct lookups *lookups, struct lookup *lookup, int64_t lane_id, bool known)
{
    struct lookups_lane *lane = lane_of(lookups, lane_id);
    lookup->state = LOOKUP_WAITS;
    lookup->lane = lane;
    lane->count++;
    if (is_quiet(lane))
        list_append(&lookups->turns, &lane->turn);
    list_append(known ? lane->waiting.next : &lane->waiting, &lookup->link);
}

static void stop_waiting(struct lookups *lookups, struct lookup *lookup)
{
    list_remove(&lookup->link);
    lookups->left_count -= lookup->state == LOOKUP_LEFT;
    if (is_quiet(lookup->lane))
        list_remove(&lookup->lane->turn);
}

static bool has_room(const struct lookups *lookups, const struct lookups_lane *lane)
{
    return share_more(PLACES, lookups->asked_count, lane ? lane->asked : 0, 1) > 0;
}

static void stand_in(struct lookups *lookups, struct lookup *lookup, int64_t lane_id, bool known)
{
    stop_waiting(lookups, lookup);
    leave_lane(lookups, lookup);
    lookups_add(lookups, lookup, lane_id, known);
}

void lookups_join(struct lookups *lookups, struct lookup *lookup, int64_t lane_id)
{
    if (lookup->state == LOOKUP_LEFT)
        stand_in(lookups, lookup, lane_id, false);
    else if (lookup->state == LOOKUP_WAITS && lookup->lane->id != lane_id && has_room(lookups, map_get(&lookups->lanes, lane_id)))
        stand_in(lookups, lookup, lane_id, true);
}

bool lookups_leave(struct lookups *lookups, struct lookup *lookup)
{
    if (lookup->state != LOOKUP_WAITS)
        return true;
    if (lookups->left_count == LEFT_MAX)
        return false;
    list_remove(&lookup->link);
    list_append(&lookup->lane->left, &lookup->link);
    lookup->state = LOOKUP_LEFT;
    lookups->left_count++;
    return true;
}

struct lookup *lookups_next(struct lookups *lookups, int64_t now_ns)
{
    if (lookups->asked_count >= PLACES) // a lane without room has a place, so there are few to be passed over
        return NULL;
    list_each (&lookups->turns, turn) {
        struct lookups_lane *lane = list_entry(turn, struct lookups_lane, turn);
        if (!has_room(lookups, lane))
            continue;
        struct list *first = list_empty(&lane->waiting) ? lane->left.next : lane->waiting.next;
        struct lookup *lookup = list_entry(first, struct lookup, link);
        list_remove(&lane->turn);
        list_append(&lookups->turns, &lane->turn);
        stop_waiting(lookups, lookup);
        lookup->state = LOOKUP_ASKED;
        lookup->asked_ns = now_ns;
        list_append(&lookups->asked, &lookup->link);
        lane->asked++;
        lookups->asked_count++;
        return lookup;
    }
    return NULL;
}

static void give_up_place(struct lookups *lookups, struct lookup *lookup)
{
    list_remove(&lookup->link);
    lookup->lane->asked--;
    lookups->asked_count--;
}

void lookups_end(struct lookups *lookups, struct lookup *lookup)
{
    if (lookup->state == LOOKUP_WAITS || lookup->state == LOOKUP_LEFT)
        stop_waiting(lookups, lookup);
    else if (lookup->state == LOOKUP_ASKED)
        give_up_place(lookups, lookup);
    else if (lookup->state == LOOKUP_SLOW)
        lookups->slow_count--;
    if (lookup->state != LOOKUP_NONE)
        leave_lane(lookups, lookup);
    lookup->state = LOOKUP_NONE;
}

int64_t lookups_turn(struct lookups *lookups, int64_t now_ns)
{
    list_each (&lookups->asked, link) {
        struct lookup *lookup = list_entry(link, struct lookup, link);
        if (lookup->asked_ns + QUICK_NS > now_ns)
            return lookup->asked_ns + QUICK_NS;
        if (lookups->slow_count >= SLOW_MAX)
            return now_ns + QUICK_NS;
        give_up_place(lookups, lookup);
        lookup->state = LOOKUP_SLOW;
        lookups->slow_count++;
    }
    return TIME_NEVER;
}
