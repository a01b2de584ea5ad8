// The tender that ends what has expired and removes what retention lets go.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

enum { SWEEP_KEYS_KEPT_MS = 24 * 3600 * 1000 }; // for how long a key outlives its task

struct sweep;

struct sweep *sweep_new(struct node *node, struct recorder *recorder);
void sweep_free(struct sweep *sweep);
int64_t sweep_turn(struct sweep *sweep, struct now now); // on the wall clock: when to turn again
