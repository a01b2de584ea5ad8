// Recurring tasks: decides whether a job whose time has come runs, and plans the jobs that follow it.
//
// Layer: flow. Owned by the flow thread. It decides by core/schedule/plan, and writes through the recorder.
#pragma once
#include "base/clock.h"
#include "core/order.h"
#include "flow/commands/commands.h"
#include "flow/peers/peers.h"
#include "flow/zones.h"

struct recur;

struct recur *recur_new(struct node *node, struct recorder *recorder, struct pull *pull, struct commands *commands,
                        const struct peers *peers, struct zones *zones);
void recur_free(struct recur *recur);
int64_t recur_turn(struct recur *recur, struct now now); // on the wall clock: when to turn again. To be turned behind pull

// A job that its schedule has made, and whose time has come. True: it runs, and the order stays the caller's. False: the plan has
// to be read first; the order is kept until then, and comes back by pull_picked() or pull_give_up().
bool recur_pick(struct recur *recur, struct order *order, struct now now);

// A job that the schedule of the task has made is in another state, in which it has ended or waits for others: those may wait for
// that, or it may have failed once too often.
void recur_ended(struct recur *recur, int64_t task_id, enum job_state end);
// The jobs of what is planned, with ids of this node's, in the arena.
struct job *recur_make_jobs(struct node *node, const struct task *task, const struct plan *plan, const struct plan_rows *rows,
                            int64_t now_ms, struct arena *arena);

// The instant of a job that a schedule has made.
struct plan_row recur_row(const struct job *job);

// Is there nothing to look for when a job of this task ends like this?
bool recur_is_calm(const struct task *task, enum job_state end);

bool recur_idle(const struct recur *recur); // it keeps no order
