// The tender of leases: an attempt of which nobody says in time that it goes on, or how it ended, has timed out.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct lapse;
struct reap;

struct lapse *lapse_new(struct node *node, const struct reap *reap, uint64_t seed);
void lapse_free(struct lapse *lapse);
int64_t lapse_turn(struct lapse *lapse, struct now now); // on the wall clock: when to turn again
