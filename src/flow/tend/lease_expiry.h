// The tender of leases: an attempt of which nobody says in time that it goes on, or how it ended, has timed out.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

struct expiry;
struct peers;

struct lease_expiry *lease_expiry_new(struct node *node, const struct peers *peers, struct recorder *recorder, uint64_t seed);
void lease_expiry_free(struct lease_expiry *expiry);
int64_t lease_expiry_turn(struct lease_expiry *expiry, struct now now); // on the wall clock: when to turn again
