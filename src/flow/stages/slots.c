// A lane may use as many slots as are free besides (core/share), and a host as many of its lane's as are free besides. So one
// tenant's flood leaves slots for the others, and one hanging host leaves slots for the other hosts of its lane.
//
// Orders of one lane and one host stand in one line for each priority. A line whose host has room is in its lane's round for
// that priority; the lines of a full host are in no round until one of its slots is free, so choosing the next order never looks
// at orders that cannot start.
//
// A host here is one lane's view of it; all lanes' views of one host share a site, which counts for the limit per host.
//
// Orders that wait for a full host must not fill the node's room: after STUCK_MS they are set aside, each until about when the
// host will have come to it, as far as its pace is known, so they do not come back as one wave.
#include "flow/stages/slots.h"

#include "base/clock.h"
#include "base/data/hash.h"
#include "base/data/map.h"
#include "base/mem.h"
#include "core/share.h"

enum {
    STUCK_MS = 1000,
    ASIDE_MIN_MS = 500,
    ASIDE_MAX_MS = 60000,
    LOOK_MAX = 1000, // lines that are looked at to say how many start before a run: calls wait meanwhile
};

// The orders of one host in one lane at one priority.
struct line {
    struct list users;
    int64_t came; // how many ever came
    int waiting;
    struct list turn; // in its lane's round
    bool in_round;
};

// A host as all lanes see it.
struct site {
    int64_t key;
    int hosts; // views that point here
    int running;
};

struct host {
    int64_t key;
    struct lane *lane;
    struct site *site;
    struct line lines[JOB_PRIORITIES];
    int waiting, running;
    bool full;
    struct list full_link; // in slots->full
    int64_t pace_ms;       // how long a call takes, smoothed
    int64_t aside_ms;      // monotonic: when the last one set aside will be due
};

struct lane {
    int64_t id;
    struct list rounds[JOB_PRIORITIES]; // lines, highest priority first
    struct list turn;                   // in slots->turns while a line is in a round
    int waiting, running, open;         // open: lines in rounds
    int hosts;
    int64_t pace_ms; // as a host's
};

struct slots {
    int total, used, waiting;
    int per_host; // 0: no limit but the shares
    struct map lanes, hosts, sites;
    struct list turns, full;
};

struct slots *slots_new(int total)
{
    struct slots *slots = mem_zero(sizeof *slots);
    slots->total = total;
    list_init(&slots->turns);
    list_init(&slots->full);
    return slots;
}

void slots_free(struct slots *slots)
{
    if (!slots)
        return;
    int64_t key;
    size_t at = 0;
    for (struct host *host; (host = map_next(&slots->hosts, &at, &key));)
        mem_free(host);
    at = 0;
    for (struct lane *lane; (lane = map_next(&slots->lanes, &at, &key));)
        mem_free(lane);
    at = 0;
    for (struct site *site; (site = map_next(&slots->sites, &at, &key));)
        mem_free(site);
    map_done(&slots->sites);
    map_done(&slots->hosts);
    map_done(&slots->lanes);
    mem_free(slots);
}

int slots_waiting(const struct slots *slots)
{
    return slots->waiting;
}

int slots_used(const struct slots *slots)
{
    return slots->used;
}

static struct lane *lane_of(struct slots *slots, int64_t id)
{
    struct lane *lane = map_get(&slots->lanes, id);
    if (lane)
        return lane;
    lane = mem_zero(sizeof *lane);
    lane->id = id;
    for (int i = 0; i < JOB_PRIORITIES; i++)
        list_init(&lane->rounds[i]);
    map_put(&slots->lanes, id, lane);
    return lane;
}

static struct site *site_of(struct slots *slots, int64_t key)
{
    struct site *site = map_get(&slots->sites, key);
    if (site)
        return site;
    site = mem_zero(sizeof *site);
    site->key = key;
    map_put(&slots->sites, key, site);
    return site;
}

static int64_t host_key(const struct slots_user *user)
{
    return (int64_t)(user->host ^ hash_number(user->lane));
}

static struct host *host_of(struct slots *slots, const struct slots_user *user)
{
    int64_t key = host_key(user);
    struct host *host = map_get(&slots->hosts, key);
    if (host)
        return host;
    host = mem_zero(sizeof *host);
    host->key = key;
    host->lane = lane_of(slots, user->lane);
    host->lane->hosts++;
    host->site = site_of(slots, (int64_t)user->host);
    host->site->hosts++;
    for (int i = 0; i < JOB_PRIORITIES; i++)
        list_init(&host->lines[i].users);
    map_put(&slots->hosts, key, host);
    return host;
}

// Hosts and lanes are kept only while they have something here: over a day there may be a hundred thousand of them.
static void drop_idle(struct slots *slots, struct host *host)
{
    struct lane *lane = host->lane;
    if (host->waiting || host->running)
        return;
    if (host->full)
        list_remove(&host->full_link);
    map_remove(&slots->hosts, host->key);
    if (--host->site->hosts == 0) {
        map_remove(&slots->sites, host->site->key);
        mem_free(host->site);
    }
    mem_free(host);
    lane->hosts--;
    if (lane->waiting || lane->running)
        return;
    map_remove(&slots->lanes, lane->id);
    mem_free(lane);
}

static int line_number(const struct slots_user *user)
{
    return JOB_PRIORITIES - 1 - user->priority;
}

static void enter_round(struct slots *slots, struct host *host, int number)
{
    struct line *line = &host->lines[number];
    struct lane *lane = host->lane;
    if (line->in_round || host->full || list_empty(&line->users))
        return;
    line->in_round = true;
    list_append(&lane->rounds[number], &line->turn);
    if (lane->open++ == 0)
        list_append(&slots->turns, &lane->turn);
}

static void leave_round(struct host *host, struct line *line)
{
    struct lane *lane = host->lane;
    if (!line->in_round)
        return;
    line->in_round = false;
    list_remove(&line->turn);
    if (--lane->open == 0)
        list_remove(&lane->turn);
}

void slots_wait(struct slots *slots, struct slots_user *user, struct now now)
{
    struct host *host = host_of(slots, user);
    int number = line_number(user);
    user->waits_since = now.mono_ms;
    user->came = ++host->lines[number].came;
    list_append(&host->lines[number].users, &user->link);
    host->lines[number].waiting++;
    host->waiting++;
    host->lane->waiting++;
    slots->waiting++;
    enter_round(slots, host, number);
}

static void stop_waiting(struct slots *slots, struct host *host, struct slots_user *user)
{
    struct line *line = &host->lines[line_number(user)];
    list_remove(&user->link);
    user->came = 0;
    line->waiting--;
    host->waiting--;
    host->lane->waiting--;
    slots->waiting--;
    if (list_empty(&line->users))
        leave_round(host, line);
}

void slots_withdraw(struct slots *slots, struct slots_user *user)
{
    struct host *host = host_of(slots, user);
    stop_waiting(slots, host, user);
    drop_idle(slots, host);
}

static enum slots_limit limit_of_lane(const struct slots *slots, const struct lane *lane)
{
    if (slots->used >= slots->total)
        return SLOTS_ALL;
    return share_more(slots->total, slots->used, lane->running, 1) > 0 ? SLOTS_FREE : SLOTS_LANE;
}

// How many more slots the lane may use, and the host within what the lane may use at all.
static int share_of_host(const struct slots *slots, const struct host *host)
{
    const struct lane *lane = host->lane;
    int more = share_more(slots->total, slots->used, lane->running, 1);
    return share_more(lane->running + more, lane->running, host->running, 1);
}

static bool has_room(const struct slots *slots, const struct host *host)
{
    if (slots->per_host && host->site->running >= slots->per_host)
        return false;
    return share_of_host(slots, host) > 0;
}

static void set_full(struct slots *slots, struct host *host)
{
    host->full = true;
    list_append(&slots->full, &host->full_link);
    for (int i = 0; i < JOB_PRIORITIES; i++)
        leave_round(host, &host->lines[i]);
}

static void set_open(struct slots *slots, struct host *host)
{
    host->full = false;
    list_remove(&host->full_link);
    for (int i = 0; i < JOB_PRIORITIES; i++)
        enter_round(slots, host, i);
}

static struct line *first_line(struct lane *lane, int *ret_number)
{
    for (int i = 0; i < JOB_PRIORITIES; i++)
        if (!list_empty(&lane->rounds[i])) {
            *ret_number = i;
            return list_entry(lane->rounds[i].next, struct line, turn);
        }
    return NULL;
}

static void to_the_end(struct list *head, struct list *node)
{
    list_remove(node);
    list_append(head, node);
}

// The first order of the lane whose host has room. Hosts found full leave the rounds on the way.
static struct slots_user *next_of_lane(struct slots *slots, struct lane *lane)
{
    int number;
    for (struct line *line; (line = first_line(lane, &number));) {
        struct host *host = container_of(line, struct host, lines[number]);
        struct slots_user *user = list_entry(line->users.next, struct slots_user, link);
        if (!has_room(slots, host)) {
            set_full(slots, host);
            continue;
        }
        to_the_end(&lane->rounds[number], &line->turn);
        stop_waiting(slots, host, user);
        host->running++;
        host->site->running++;
        lane->running++;
        slots->used++;
        return user;
    }
    return NULL;
}

struct slots_user *slots_next(struct slots *slots)
{
    struct list full; // lanes without room: they keep their turn for when there is
    struct slots_user *user = NULL;
    list_init(&full);
    while (!user && slots->used < slots->total && !list_empty(&slots->turns)) {
        struct lane *lane = list_entry(slots->turns.next, struct lane, turn);
        if (limit_of_lane(slots, lane) != SLOTS_FREE) {
            to_the_end(&full, &lane->turn);
            continue;
        }
        user = next_of_lane(slots, lane);
        if (user && lane->open)
            to_the_end(&slots->turns, &lane->turn);
    }
    list_splice(&slots->turns, &full);
    return user;
}

static void smooth(int64_t *pace_ms, int64_t took)
{
    *pace_ms = *pace_ms ? (*pace_ms * 7 + took) / 8 : took;
}

static void learn_pace(struct host *host, int64_t used_ms)
{
    if (used_ms < 0)
        return;
    int64_t took = time_max(used_ms, 1);
    smooth(&host->pace_ms, took);
    smooth(&host->lane->pace_ms, took);
}

static void open_all(struct slots *slots)
{
    list_each (&slots->full, link) {
        struct host *host = list_entry(link, struct host, full_link);
        if (has_room(slots, host))
            set_open(slots, host);
    }
}

void slots_release(struct slots *slots, struct slots_user *user, int64_t used_ms)
{
    struct host *host = host_of(slots, user);
    host->running--;
    host->site->running--;
    host->lane->running--;
    slots->used--;
    learn_pace(host, used_ms);
    open_all(slots); // a free slot raises every share, so every full host may have room again
    drop_idle(slots, host);
}

void slots_limit_hosts(struct slots *slots, int per_host)
{
    if (slots->per_host == per_host)
        return;
    slots->per_host = per_host;
    open_all(slots); // those that are now beyond the limit are found full when their turn comes
}

// Of those that wait equally long, the one of the lowest priority.
static struct slots_user *longest_waiting(struct host *host)
{
    struct slots_user *longest = NULL;
    for (int i = 0; i < JOB_PRIORITIES; i++) {
        if (list_empty(&host->lines[i].users))
            continue;
        struct slots_user *first = list_entry(host->lines[i].users.next, struct slots_user, link);
        if (!longest || first->waits_since <= longest->waits_since)
            longest = first;
    }
    return longest;
}

// Where so many calls of this length run at once, one ends, and the next begins, every so often.
static int64_t step_us(int64_t pace_ms, int running)
{
    return pace_ms * 1000 / (running ? running : 1);
}

// Each one set aside comes back one step of the host's pace after the one before.
static int64_t aside_for(struct host *host, int64_t mono_ms)
{
    int64_t step = step_us(host->pace_ms, host->running) / 1000;
    int64_t next = time_max(host->aside_ms, mono_ms + ASIDE_MIN_MS) + time_max(step, 1);
    host->aside_ms = time_min(next, mono_ms + ASIDE_MAX_MS);
    return host->aside_ms - mono_ms;
}

struct slots_user *slots_stuck(struct slots *slots, struct now now, int64_t *ret_aside_ms)
{
    list_each (&slots->full, link) {
        struct host *host = list_entry(link, struct host, full_link);
        struct slots_user *user = longest_waiting(host);
        if (!user || user->waits_since + STUCK_MS > now.mono_ms)
            continue;
        *ret_aside_ms = aside_for(host, now.mono_ms);
        stop_waiting(slots, host, user);
        drop_idle(slots, host);
        return user;
    }
    return NULL;
}

int64_t slots_next_stuck(const struct slots *slots)
{
    int64_t next = TIME_NEVER;
    list_each (&slots->full, link) {
        struct host *host = list_entry(link, struct host, full_link);
        struct slots_user *user = longest_waiting(host);
        if (user)
            next = time_min(next, user->waits_since + STUCK_MS);
    }
    return next;
}

// How many in its own line stand before the order; all of them, if it is not there. Those that were withdrawn from between count
// until the first has passed them: so nobody has to walk along the line.
static int place_in_line(const struct line *line, const struct slots_user *user)
{
    if (!user->came)
        return line->waiting;
    int64_t place = user->came - list_entry(line->users.next, struct slots_user, link)->came;
    return place < line->waiting ? (int)place : line->waiting - 1;
}

static int before_in_host(const struct host *host, int number, int place)
{
    for (int i = 0; i < number; i++)
        place += host->lines[i].waiting;
    return place;
}

// Those of higher priority. Returns how many more lines may be looked at; less than 0: there were too many.
static int add_higher(const struct lane *lane, int number, int lines, int *before)
{
    for (int i = 0; i < number; i++)
        list_each (&lane->rounds[i], link) {
            if (--lines < 0)
                return lines;
            *before += list_entry(link, struct line, turn)->waiting;
        }
    return lines;
}

// Hosts take turns: while its own line moves up by one, so does every other of its priority; those whose turn is sooner by one
// more. False: there were too many lines, so there are more than `before` says.
static bool add_in_lane(const struct lane *lane, const struct line *own, int number, int place, int *before)
{
    bool sooner = true;
    int lines = add_higher(lane, number, LOOK_MAX, before);
    *before += place;
    list_each (&lane->rounds[number], link) {
        const struct line *line = list_entry(link, struct line, turn);
        if (--lines < 0)
            return false;
        sooner = sooner && line != own;
        if (line != own)
            *before += line->waiting < place + sooner ? line->waiting : place + sooner;
    }
    return lines >= 0;
}

// A host may have what the limit per host or its share allows, whichever is less.
static void look_at_host(const struct slots *slots, const struct host *host, struct now now, struct slots_view *ret_view)
{
    int share = host->running + share_of_host(slots, host);
    bool per_host = slots->per_host && slots->per_host <= share;
    ret_view->limit = per_host ? SLOTS_PER_HOST : SLOTS_HOST;
    ret_view->running = per_host ? host->site->running : host->running;
    ret_view->most = per_host ? slots->per_host : share;
    ret_view->pace_ms = host->pace_ms;
    ret_view->step_us = step_us(host->pace_ms, ret_view->most);
    ret_view->aside_ms = time_max(host->aside_ms - now.mono_ms, 0);
}

static void look_at_lane(const struct slots *slots, const struct lane *lane, struct slots_view *ret_view)
{
    bool all = slots->used >= slots->total;
    ret_view->limit = limit_of_lane(slots, lane);
    ret_view->running = all ? slots->used : lane->running;
    ret_view->most = all ? slots->total : lane->running;
    ret_view->pace_ms = lane->pace_ms;
    ret_view->step_us = step_us(lane->pace_ms, lane->running);
    ret_view->patience_ms = TIME_NEVER;
}

void slots_look(const struct slots *slots, const struct slots_user *like, bool aside, struct now now, struct slots_view *ret_view)
{
    static const struct lane idle;
    const struct host *host = map_get(&slots->hosts, host_key(like));
    const struct lane *known = map_get(&slots->lanes, like->lane), *lane = known ? known : &idle;
    const struct line *line = host ? &host->lines[line_number(like)] : NULL;
    int place = line ? place_in_line(line, like) : 0;
    *ret_view = (struct slots_view){.alone = lane->hosts == (host != NULL)};
    if (host && (aside || (limit_of_lane(slots, lane) == SLOTS_FREE && !has_room(slots, host)))) {
        look_at_host(slots, host, now, ret_view);
        ret_view->before = before_in_host(host, line_number(like), place);
        ret_view->patience_ms = like->waits_since ? time_max(like->waits_since + STUCK_MS - now.mono_ms, 0) : STUCK_MS;
    } else {
        look_at_lane(slots, lane, ret_view);
        ret_view->at_least = known && !add_in_lane(lane, line, line_number(like), place, &ret_view->before);
    }
}

int64_t slots_wait_ms(const struct slots_view *view, int64_t more)
{
    if (view->limit == SLOTS_FREE)
        return 0;
    if (!view->step_us || view->at_least)
        return -1;
    int64_t wait = (view->before + more + 1) * view->step_us / 1000;
    return wait <= view->patience_ms ? wait : time_max(view->aside_ms, ASIDE_MIN_MS) + wait;
}

struct slots_user *slots_take(struct slots *slots)
{
    int64_t key;
    size_t at = 0;
    for (struct host *host; slots->waiting && (host = map_next(&slots->hosts, &at, &key));) {
        struct slots_user *user = longest_waiting(host);
        if (!user)
            continue;
        slots_withdraw(slots, user);
        return user;
    }
    return NULL;
}
