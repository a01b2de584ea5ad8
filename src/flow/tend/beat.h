// The tender that keeps this life going: joins, beats, and passes on which other nodes it saw.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

enum {
    BEAT_MS = 2500,        // how often
    BEAT_ALIVE_MS = 10000, // how long after sending a beat that was written this life may start and claim
    BEAT_DEAD_MS =
        15000, // how long a counter must be seen standing still: longer than the above, so nobody is reaped who still acts
};

struct beat;
struct peers;

struct beat *beat_new(struct node *node, struct peers *peers, uint64_t seed);
void beat_free(struct beat *beat);
int64_t beat_turn(struct beat *beat, struct now now); // on the wall clock: when to turn again
bool beat_ok(const struct beat *beat);                // joined, and the last beat was written. Any thread

// Ends this life in the store: call when nothing is held any more. Waits for the store.
void beat_leave(struct beat *beat);
