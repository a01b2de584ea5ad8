// The tender that takes the requests of other nodes about jobs that this one has in hand.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct peer_requests;
struct pull;
struct peers;
struct commands;

struct peer_requests *peer_requests_new(struct node *node, const struct peers *peers, const struct pull *pull,
                                        struct commands *commands);
void peer_requests_free(struct peer_requests *peer_requests);
int64_t peer_requests_turn(struct peer_requests *peer_requests, struct now now); // on the wall clock: when to turn again
