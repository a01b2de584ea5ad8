// Plans that have to be read before anything is decided: those of jobs that come late, may not overlap or come at the end of
// their schedule, and those that somebody must look after.
//
// Layer: flow, private to `recur`. Owned by the flow thread. A look reads a plan, core/schedule/plan decides, and the plan is
// written if it is still the one that was read; otherwise it is looked at again.
#pragma once
#include "base/clock.h"
#include "core/order.h"
#include "flow/commands/commands.h"
#include "flow/zones.h"

struct looks;

struct looks *looks_new(struct node *node, struct recorder *recorder, struct pull *pull, struct commands *commands,
                        struct zones *zones);
void looks_free(struct looks *looks);                    // accepts NULL
int64_t looks_turn(struct looks *looks, struct now now); // on the wall clock: when to turn again

void looks_after(struct looks *looks,
                 int64_t task_id); // the plan of the task is to be carried on, or something has happened to it
void looks_after_failure(struct looks *looks, int64_t task_id); // the same, because a job of it has failed
void looks_pick(struct looks *looks, struct order *order);      // keeps the order until its plan says what becomes of it
bool looks_idle(const struct looks *looks);                     // it keeps no order, and nothing is under way
