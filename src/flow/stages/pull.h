// Stage 2, pull: store -> broker. Knows every job this node has in hand, from its claim until its end is written.
//
// Layer: flow. Owned by the flow thread; pull_push and pull_ask may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct pull;

struct recur;
struct pull *pull_new(struct node *node);
void pull_tell(struct pull *pull, struct recur *recur); // who picks jobs that a schedule has made
void pull_free(struct pull *pull);
int64_t pull_turn(struct pull *pull, struct now now); // on the wall clock: when to turn again

// The push path: an order whose job was inserted already held. Its place in the lane is taken.
void pull_push(struct pull *pull, struct order *order);

// What is to be done with a job, if this node has it in hand.
struct pull_ask {
    struct list link;
    int64_t job_id, token; // the token is that of the claim that is meant
    // ORDER_CANCELLED: give it up, wherever it is, and if an answer of the store brings it only now. ORDER_HURRIED,
    // ORDER_POSTPONED:
    // only if it still waits for its time, or is being given back already
    enum order_end end;
    int64_t postpone_to;
    bool found;                         // out: it was in hand, and what became of it is written
    bool begins;                        // out: that claim is in hand, and has begun or is about to
    void (*done)(struct pull_ask *ask); // on the flow thread
    void *ctx;
};
void pull_ask(struct pull *pull, struct pull_ask *ask);

// What the schedule of an order says (flow/stages/recur): it goes on; or it is given up as `end`, for a reason. Flow thread.
void pull_picked(struct pull *pull, struct order *order, struct now now);
void pull_give_up(struct pull *pull, struct order *order, enum order_end end, struct str reason);

// The outcome of an order is written, or was refused: its place is free. Flow thread.
void pull_returned(struct pull *pull, int64_t job_id, int64_t token);

size_t pull_count(const struct pull *pull);               // jobs in hand
bool pull_holds(const struct pull *pull, int64_t job_id); // is it in hand? Flow thread
bool pull_idle(const struct pull *pull); // stopping, nothing is in hand, and no answer is under way that could bring anything
