// Backfills: which instants of the past a recurring task is to run once more, or for the first time.
//
// Layer: core, pure but for the arena. The instants of the window are listed, each job of the task that the store still has is
// noted at its instant, and then each instant is judged by itself.
#pragma once
#include "base/text/json.h"
#include "core/job.h"
#include "core/problem.h"
#include "core/schedule/plan.h"

enum {
    BACKFILL_INSTANTS_MAX = 100000, // of one backfill
    BACKFILL_ACTIVE_MAX = 100,
};

// Which of the instants that have run are run again.
enum backfill_reprocess { BACKFILL_NONE, BACKFILL_FAILED, BACKFILL_ALL, BACKFILL_REPROCESS_COUNT };

struct backfill {
    int64_t from_ms, to_ms; // instants from the one to the other, both included
    int max_active;         // jobs of it at once
    enum backfill_reprocess reprocess;
    bool dry_run; // only say which instants it would be
};

// Reads {"from": …, "to": …, "dry_run": …, "max_active": …, "reprocess": …} from a checked document. Whether `to` lies in the
// future is not asked here.
err_check enum err backfill_parse(struct backfill *ret_backfill, struct json doc, struct arena *arena, struct problem *why);

// What is known of the jobs of an instant.
enum backfill_mark {
    BACKFILL_SEEN_OPEN = 1,     // one has not ended
    BACKFILL_SEEN_ADDED = 2,    // this backfill has added one already
    BACKFILL_SEEN_RUN = 4,      // one succeeded, or was cancelled after it had begun
    BACKFILL_SEEN_FAILED = 8,   // one failed
    BACKFILL_SEEN_UNBEGUN = 16, // one was cancelled before it began
};

struct backfill_instant {
    int64_t at_ms;
    unsigned marks; // bits of enum backfill_mark
};

// The instants of the schedule in the window, without excluded ones, earliest first. At most `max`; with
// ret_instants == NULL they are only counted.
size_t backfill_list(const struct schedule *schedule, const struct backfill *backfill, struct backfill_instant *ret_instants,
                     size_t max);

// Notes a job of the task at its instant, if that is among them. Backfill jobs that are planned for `begun_ms` or later are this
// backfill's own.
void backfill_note(struct backfill_instant *instants, size_t count, const struct job *job, int64_t begun_ms);

// Keeps those that the backfill runs, and returns how many these are. `created_at` is the task's. An instant that has no job any
// more, because retention removed it, counts as run, unless the plan says that it was skipped. An instant that the plan has not
// decided on yet is left to it.
size_t backfill_choose(const struct backfill *backfill, const struct plan *plan, int64_t created_at,
                       struct backfill_instant *instants, size_t count);

// How many jobs may be added now, if these are all jobs of the task that are open.
size_t backfill_room(const struct backfill *backfill, const struct job *open, size_t count, int64_t begun_ms);
