// The tender that takes back what dead incarnations held.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"
#include "store/lives.h"

struct peers;
struct reap;

struct reap *reap_new(struct node *node, struct peers *peers, struct recorder *recorder);
void reap_free(struct reap *reap);
int64_t reap_turn(struct reap *reap, struct now now); // on the wall clock: when to turn again
