// Picks whose plan need not be read: those in time, of tasks whose jobs may overlap. What must stand in such a plan is known: the
// fifth instant from now on is added if the fourth is the last that is planned (plan_extend_unread()).
//
// Layer: flow, private to `recur`. Owned by the flow thread.
#pragma once
#include "core/order.h"
#include "flow/record.h"
#include "flow/stages/recur_looks.h"

struct picks;

struct picks *picks_new(struct node *node, struct recorder *recorder, struct looks *looks);
void picks_free(struct picks *picks);                    // accepts NULL
int64_t picks_turn(struct picks *picks, struct now now); // on the wall clock: when to turn again

// Adds what follows a job that runs. False: its plan has to be read, or too many are being written already.
bool picks_add(struct picks *picks, const struct order *order, const struct schedule *schedule, struct now now);
bool picks_idle(const struct picks *picks);
