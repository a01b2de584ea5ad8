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

struct run *slots_take(struct slots *slots); // any run that waits: for stopping
int slots_waiting(const struct slots *slots);
int slots_used(const struct slots *slots);
