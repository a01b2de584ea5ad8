// Who gets the next slot: orders wait by lane, host and priority.
//
// Layer: flow. Owned by the dispatcher's thread. Decides by counting only; time is an argument.
#pragma once
#include "base/clock.h"
#include "base/data/list.h"
#include "core/job.h"

#include <stdbool.h>

struct slots;

// One that waits for a slot, or has one: a part of the dispatcher's own struct for an order.
struct slots_user {
    struct list link; // the slots' while it waits, the dispatcher's otherwise
    int64_t lane;
    uint64_t host;
    int priority;
    int64_t came;        // the slots': which of its line it is; 0: it does not wait
    int64_t waits_since; // monotonic; 0: it does not wait
};

struct slots *slots_new(int total);
void slots_free(struct slots *slots); // nothing may wait

// At most so many slots for one host, over all lanes; 0: only the shares limit it. Those who have one already keep it.
void slots_limit_hosts(struct slots *slots, int per_host);

void slots_wait(struct slots *slots, struct slots_user *user, struct now now);
void slots_withdraw(struct slots *slots, struct slots_user *user); // it waits no longer

// Who may start now, or NULL: lanes take turns; within a lane the highest priority first, hosts in turn, and then first come,
// first served. It has a slot from now on.
struct slots_user *slots_next(struct slots *slots);
// Its slot is free again, after it was used for so long; -1: it was not used.
void slots_release(struct slots *slots, struct slots_user *user, int64_t used_ms);

// One that has waited too long for its host, which is full; NULL: none. It no longer waits, and is to be set aside for
// *ret_aside_ms.
struct slots_user *slots_stuck(struct slots *slots, struct now now, int64_t *ret_aside_ms);
int64_t slots_next_stuck(const struct slots *slots); // monotonic: when there may be one; TIME_NEVER while no host is full

// What keeps a job of a lane and host from starting.
enum slots_limit {
    SLOTS_FREE,     // nothing
    SLOTS_ALL,      // all slots are taken
    SLOTS_LANE,     // its lane has its share of them
    SLOTS_PER_HOST, // its host has as many as slots_limit_hosts() says
    SLOTS_HOST,     // its host has its share of its lane's
};

struct slots_view {
    enum slots_limit limit;
    int running;         // slots that are taken, of all, by the lane or by the host: as the limit is
    int most;            // how many may be, as things are
    int before;          // orders that wait here and start before it
    bool at_least;       // … and perhaps more: its lane has too many hosts to look at all of them
    bool alone;          // its lane has no other host here
    int64_t pace_ms;     // how long a call takes; 0: none has ended yet, and nobody can tell
    int64_t step_us;     // how long after one start the next one follows; 0: nobody can tell
    int64_t patience_ms; // for how long it waits here before it is set aside
    int64_t aside_ms;    // how long until the last that was set aside for its host is due; 0: none was
};

// How it looks for an order that waits here, or for one of this lane, host and priority that came now.
// `aside`: it was set aside for its host, so that is what is looked at, though it may have room at the moment.
void slots_look(const struct slots *slots, const struct slots_user *like, bool aside, struct now now,
                struct slots_view *ret_view);
// How long it will have to wait, if `more` come here before it; -1: nobody can tell.
int64_t slots_wait_ms(const struct slots_view *view, int64_t more);

struct slots_user *slots_take(struct slots *slots); // any that waits: for stopping
int slots_waiting(const struct slots *slots);
int slots_used(const struct slots *slots);
