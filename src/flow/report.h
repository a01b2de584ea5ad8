// The tender that writes down what this node counted (tally), minute by minute.
// Layer: flow. Owned by the flow thread; report_now() may be called by any.
#pragma once
#include "base/clock.h"
#include "flow/node.h"
#include "store/journal.h"

enum { REPORT_TENANT = 1, REPORT_MINUTE_MS = 60000 }; // all is counted for the one tenant there is

static inline int64_t report_minute_of(int64_t wall_ms)
{
    return wall_ms - wall_ms % REPORT_MINUTE_MS;
}

struct report;

struct report *report_new(struct node *node);
void report_free(struct report *report);
int64_t report_turn(struct report *report, struct now now); // on the wall clock: when to turn again

// What was counted in the minute that is not over, with the key under which it is (or will be) stored: who adds up what is stored
// takes this in place of that row. False: nothing is written yet under any key.
bool report_now(struct report *report, struct store_minute *ret_key, struct tally_values *ret_values);

// Writes what is left. Waits for the store.
void report_leave(struct report *report);
