// The tender that divides the buckets between the pullers that live, and tells this node where it goes first.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct own;
struct peers;

struct own *own_new(struct node *node, const struct peers *peers);
void own_free(struct own *own);
int64_t own_turn(struct own *own, struct now now); // on the wall clock: when to turn again
