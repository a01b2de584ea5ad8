// The tender that divides the buckets between the pullers that live, and sets in which of them this node goes first.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct assignment;
struct peers;

struct assignment *assignment_new(struct node *node, const struct peers *peers);
void assignment_free(struct assignment *assignment);
int64_t assignment_turn(struct assignment *assignment, struct now now); // on the wall clock: when to turn again
