// Stage 4, complete: outcome -> recorder. Asks core what follows, and has it recorded a batch at a time.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

struct complete;

struct complete *complete_new(struct node *node, struct pull *pull, struct recorder *recorder, uint64_t seed);
void complete_free(struct complete *complete);
int64_t complete_turn(struct complete *complete, struct now now); // on the wall clock: when to turn again
// Nothing that it has taken waits to be written. What still lies in the broker, pull has in hand.
bool complete_idle(const struct complete *complete);
