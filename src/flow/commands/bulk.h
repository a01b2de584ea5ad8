// The tender that carries out bulks: page by page of what matches, each action as if it had been asked for by hand.
// Layer: flow. Owned by the flow thread; bulk_poke may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct bulk;
struct peers;
struct commands;

struct bulk *bulk_new(struct node *node, const struct peers *peers, struct commands *commands);
void bulk_free(struct bulk *bulk);
int64_t bulk_turn(struct bulk *bulk, struct now now); // on the wall clock: when to turn again
void bulk_poke(struct bulk *bulk);                    // there may be a new one
