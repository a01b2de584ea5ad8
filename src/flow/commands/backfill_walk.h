// Finds the instants that a backfill runs: the schedule says which there are, the jobs that the task has had say which are
// wanted. Layer: flow. Of whoever asks; any thread. No I/O: the owner submits `page`, as often as it is told to.
#pragma once
#include "core/schedule/backfill.h"
#include "flow/zones.h"
#include "store/jobs.h"

struct backfill_walk {
    struct backfill backfill;
    int64_t begun_ms; // when the backfill began; TIME_NEVER: it has not, it is only asked what it would do
    int64_t after_ms; // instants up to here are done, also if retention has removed their jobs
    struct backfill_instant *instants;
    size_t count;
    size_t added;           // of the instants that were listed: those the backfill has added already
    struct store_list page; // its op is the owner's to make and to free
};

// Lists the instants of a task that was read, and fills in the first page. They live in the arena. ERR_INVALID_FIELD: the task
// does not recur, or there are too many; `why` says which.
err_check enum err backfill_walk_begin(struct backfill_walk *walk, const struct store_task *stored, struct zones *zones,
                                       struct arena *arena, struct problem *why);

// Takes the page that was read. True: `page` asks for the next one. False: what remains in `instants` is what the backfill runs.
bool backfill_walk_take(struct backfill_walk *walk, const struct plan *plan, int64_t created_at);
