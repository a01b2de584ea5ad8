// The tender of leases: an attempt of which nobody says in time that it goes on, or how it ended, has timed out.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

struct lapse;
struct peers;

struct lapse *lapse_new(struct node *node, const struct peers *peers, struct recorder *recorder, uint64_t seed);
void lapse_free(struct lapse *lapse);
int64_t lapse_turn(struct lapse *lapse, struct now now); // on the wall clock: when to turn again
