// What is known of the other nodes: who lives, as far as beats show.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

enum { PEERS_MAX = ID_RANGE_NODES };

struct peers;

struct peers *peers_new(struct node *node);
void peers_free(struct peers *peers);

void peers_saw(struct peers *peers, const struct store_peer *seen, size_t count, struct now now); // what a beat showed

void peers_alone(struct peers *peers, bool alone);                // every other incarnation is certainly dead
bool peers_are_none(const struct peers *peers);                   // the same, asked
bool peers_lives(const struct peers *peers, int64_t incarnation); // a peer that was seen and not declared dead
bool peers_has_company(const struct peers *peers);                // somebody else was not declared dead
bool peers_has_idle(const struct peers *peers);                   // … who takes requests and runs nothing
// The pullers that live, as far as was seen lately: this node and its peers, by incarnation. 0: nothing was seen lately.
size_t peers_pullers(const struct peers *peers, struct now now, int64_t ret_ids[PEERS_MAX + 1]);

// One that is dead or has been silent for too long, and where its counter stands. False: there is none.
bool peers_find_silent(const struct peers *peers, struct now now, int64_t *ret_incarnation, int64_t *ret_beat);
void peers_forget(struct peers *peers, int64_t incarnation);
