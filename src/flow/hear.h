// The tender that lets a client of one node hear the news of all: says with the beat that somebody listens here, reads what the
// others put out, and puts out what happens here while another listens.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"
#include "store/lives.h"

struct hear;
struct peers;

struct hear *hear_new(struct node *node, const struct peers *peers);
void hear_free(struct hear *hear);
int64_t hear_turn(struct hear *hear, struct now now); // on the wall clock: when to turn again

// What the beat asks and tells. All accept NULL.
void hear_joined(struct hear *hear, bool alone);                 // a life begins
void hear_fill(struct hear *hear, struct store_beat *beat);      // before a beat is sent
void hear_saw(struct hear *hear, const struct store_beat *beat); // after it was written

// Tells what is left. Waits for the store.
void hear_leave(struct hear *hear);
