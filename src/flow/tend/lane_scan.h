// The tender that walks round the lanes: finds those that this node does not know, and marks as ready what is due without being
// claimed.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

struct lane_scan;
struct peers;

struct lane_scan *lane_scan_new(struct node *node, const struct peers *peers);
void lane_scan_free(struct lane_scan *lane_scan);
int64_t lane_scan_turn(struct lane_scan *lane_scan, struct now now); // on the wall clock: when to turn again
