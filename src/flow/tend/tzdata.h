// The tender that lets the plans of recurring tasks follow a newer tzdata, and names those whose time zone has vanished.
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/clock.h"
#include "flow/commands/commands.h"
#include "flow/peers/peers.h"
#include "flow/zones.h"

struct tzdata;

struct tzdata *tzdata_new(struct node *node, const struct peers *peers, struct commands *commands, struct zones *zones);
void tzdata_free(struct tzdata *tzdata);                    // accepts NULL
int64_t tzdata_turn(struct tzdata *tzdata, struct now now); // on the wall clock: when to turn again

// Tells everybody who might want to know that the time zone of this task is not installed any more: `why` has the words.
void tzdata_warn(struct node *node, const struct store_task *task, int64_t now_ms, const char *why);
