// The tender that carries out backfills: bulks whose jobs are added by and by, for instants that have passed.
// Layer: flow. Owned by the flow thread; backfills_poke may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/peers/peers.h"
#include "flow/record.h"
#include "flow/zones.h"

enum { BACKFILLS_MAX = 50 }; // that run at once: others find no room among the bulks

struct backfills;

struct backfills *backfills_new(struct node *node, const struct peers *peers, struct recorder *recorder, struct zones *zones);
void backfills_free(struct backfills *backfills);
int64_t backfills_turn(struct backfills *backfills, struct now now); // on the wall clock: when to turn again
void backfills_poke(struct backfills *backfills);                    // there may be a new one
void backfills_ended(struct backfills *backfills,
                     int64_t task_id); // a job of one has ended, and that is written: there may be room
