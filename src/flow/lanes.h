// The lanes this node knows, and how much room they have: shared by admit, pull and complete.
// Layer: flow. Any thread; one short lock, never held over I/O.
#pragma once
#include "base/str.h"
#include "store/store.h"

struct lanes;

struct lanes *lanes_new(int room); // how many jobs this node holds at most
void lanes_free(struct lanes *lanes);

// Takes one place for a job that is due now, if its lane is known, not paused, without backlog and within its share. The push path.
bool lanes_take(struct lanes *lanes, int32_t tenant, struct str queue);
void lanes_give(struct lanes *lanes, int64_t lane, int count);  // places given back
void lanes_give_named(struct lanes *lanes, int32_t tenant, struct str queue, int count);

// Something waits in this lane and is due then. Learns lanes it does not know.
void lanes_note(struct lanes *lanes, int64_t lane, int32_t tenant, struct str queue, int64_t due_ms);
void lanes_learn(struct lanes *lanes, const struct store_lane *lane); // as the store says
void lanes_pause(struct lanes *lanes, int64_t lane, int32_t tenant, struct str queue, bool paused);

// The puller's side. Picks lanes with something due by until_ms and gives each what its share allows, in turn, so that none is always first.
// The places are taken. Returns how many wants were written.
size_t lanes_plan(struct lanes *lanes, int64_t until_ms, struct store_want *ret_wants, size_t max_wants, size_t max_jobs);
void lanes_planned(struct lanes *lanes, const struct store_want *want, size_t got); // what came of a want: `got` places stay taken
int64_t lanes_next_due(struct lanes *lanes); // earliest of all lanes that are not paused and have room
void lanes_hold(struct lanes *lanes, int64_t lane); // a job was found in hand that nobody had counted
size_t lanes_held(struct lanes *lanes);

// A lane with due jobs that it has no room for, and from where they are still marked delayed. False: none.
bool lanes_backlog(struct lanes *lanes, int64_t now_ms, int64_t *ret_lane, int64_t *ret_from_ms);
void lanes_promoted(struct lanes *lanes, int64_t lane, int64_t upto_ms);
