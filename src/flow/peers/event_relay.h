// The tender that brings the events of all nodes to a client of one: it says with the beat that a client listens here, reads what
// the others put out, and puts out what happens here while another node listens.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"
#include "store/lives.h"

struct event_relay;
struct peers;

struct event_relay *event_relay_new(struct node *node, const struct peers *peers);
void event_relay_free(struct event_relay *relay);
int64_t event_relay_turn(struct event_relay *relay, struct now now); // on the wall clock: when to turn again

// What is said and seen with beats. All accept NULL.
void event_relay_joined(struct event_relay *relay, bool alone);                 // a life begins
void event_relay_fill(struct event_relay *relay, struct store_beat *beat);      // before a beat is sent
void event_relay_saw(struct event_relay *relay, const struct store_beat *beat); // after it was written

// Writes the events that are left. Waits for the store.
void event_relay_leave(struct event_relay *relay);
