// The tender that takes back what dead incarnations held.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

enum { REAP_PEERS_MAX = ID_NODES };

struct reap;

struct reap *reap_new(struct node *node);
void reap_free(struct reap *reap);
int64_t reap_turn(struct reap *reap, struct now now); // on the wall clock: when to turn again

void reap_alone(struct reap *reap, bool alone); // every other incarnation is certainly dead
bool reap_is_alone(const struct reap *reap);
// Who pulls and lives, as far as was seen lately: this node and its peers, by incarnation. 0: nothing was seen lately.
size_t reap_pullers(const struct reap *reap, struct now now, int64_t ret_ids[REAP_PEERS_MAX + 1]);
bool reap_lives(const struct reap *reap, int64_t incarnation); // a peer that was seen and not declared dead
bool reap_has_company(const struct reap *reap);                // somebody else was not declared dead
bool reap_has_idle(const struct reap *reap);                   // … who takes requests and runs nothing

void reap_saw(struct reap *reap, const struct store_peer *peers, size_t count, struct now now); // what a beat showed
