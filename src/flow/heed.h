// The tender that listens: what other nodes wish about jobs that this one has in hand.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct heed;
struct pull;
struct peers;
struct steer;

struct heed *heed_new(struct node *node, const struct peers *peers, const struct pull *pull, struct steer *steer);
void heed_free(struct heed *heed);
int64_t heed_turn(struct heed *heed, struct now now); // on the wall clock: when to turn again
