// Who gets the next slot: runs wait by lane, host and priority.
//
// Layer: flow. Owned by the dispatcher's thread. Decides by counting only; time is an argument.
#pragma once
#include "base/clock.h"
#include "broker/run.h"

struct slots;

struct slots *slots_new(int total);
void slots_free(struct slots *slots); // and the runs that wait

// At most so many slots for one host, over all lanes; 0: only the shares limit it. Runs that hold one already are not touched.
void slots_limit_hosts(struct slots *slots, int per_host);

void slots_wait(struct slots *slots, struct run *run, struct now now);
void slots_withdraw(struct slots *slots, struct run *run); // it waits no longer

// The run that may start now, or NULL: lanes take turns; within a lane the highest priority first, hosts in turn, and then
// first come, first served. It holds a slot from now on.
struct run *slots_next(struct slots *slots);
void slots_release(struct slots *slots, struct run *run); // its slot is free again

// A run that has waited too long for its host, which is full; NULL: none. It no longer waits, and is to be set aside until
// run->postpone_to.
struct run *slots_stuck(struct slots *slots, struct now now);
int64_t slots_next_stuck(const struct slots *slots); // monotonic: when there may be one; TIME_NEVER while no host is full

// What keeps a run of a lane and host from starting.
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
    int before;          // runs that wait here and start before it
    bool alone;          // its lane has no other host here
    int64_t pace_ms;     // how long a call takes; 0: none has ended yet, and nobody can tell
    int64_t step_us;     // how long after one start the next one follows; 0: nobody can tell
    int64_t patience_ms; // for how long it waits here before it is set aside
    int64_t aside_ms;    // how long until the last that was set aside for its host is due; 0: none was
};

// How it looks for a run of this lane, host and priority: for the one with this id, if it waits here, else for one that came now.
// `aside`: it was set aside for its host, so that is what is looked at, though it may have room at the moment.
void slots_look(const struct slots *slots, const struct run *like, bool aside, struct now now, struct slots_view *ret_view);
// How long it will have to wait, if `more` come here before it; -1: nobody can tell.
int64_t slots_wait_ms(const struct slots_view *view, int64_t more);

struct run *slots_take(struct slots *slots); // any run that waits: for stopping
int slots_waiting(const struct slots *slots);
int slots_used(const struct slots *slots);
