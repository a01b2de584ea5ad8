// The tender that takes back what dead incarnations held.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct reap;

struct reap *reap_new(struct node *node);
void reap_free(struct reap *reap);
int64_t reap_turn(struct reap *reap, struct now now); // on the wall clock: when to turn again

void reap_alone(struct reap *reap, bool alone); // every other incarnation is certainly dead
void reap_saw(struct reap *reap, const struct store_peer *peers, size_t count, struct now now); // what a beat showed
