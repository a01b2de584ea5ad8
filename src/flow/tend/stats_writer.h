// The tender that writes down what this node counted (flow/stats), minute by minute.
// Layer: flow. Owned by the flow thread; stats_writer_now() may be called by any.
#pragma once
#include "base/clock.h"
#include "flow/node.h"
#include "store/journal.h"

enum { STATS_TENANT = 1, STATS_MINUTE_MS = 60000 }; // all is counted for the one tenant there is

static inline int64_t stats_writer_minute_of(int64_t wall_ms)
{
    return wall_ms - wall_ms % STATS_MINUTE_MS;
}

struct stats_writer;

struct stats_writer *stats_writer_new(struct node *node);
void stats_writer_free(struct stats_writer *stats_writer);
int64_t stats_writer_turn(struct stats_writer *stats_writer, struct now now); // on the wall clock: when to turn again

// What was counted in the minute that is not over, with the key under which it is (or will be) stored: a sum over stored minutes
// takes this in place of that row. False: nothing is written yet under any key.
bool stats_writer_now(struct stats_writer *stats_writer, struct store_minute_row *ret_key, struct stats_values *ret_values);

// Writes what is left. Waits for the store.
void stats_writer_leave(struct stats_writer *stats_writer);
