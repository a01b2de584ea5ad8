// The plan of a recurring task: how far its instants are planned, which of them were skipped, and what became of its jobs.
//
// Layer: core, pure. A store keeps the plan as it is given; what follows is decided here. Two deciders are kept apart by
// `revision`, as those of a job are by its token: a plan is written only if its revision is the one that was read.
//
// What a schedule owes: every instant up to `planned_through` has exactly one job, or lies in one skip. So whoever moves
// `planned_through` writes the jobs and skips of the instants in between in the same transaction.
//
// Times are wall-clock milliseconds. An instant is what the schedule says (nominal_at of a job); its job is due at that instant
// and the jitter, which is the same whenever it is asked for.
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "core/schedule/schedule.h"

enum {
    PLAN_AHEAD = 5,          // jobs that are planned and whose time has not come
    PLAN_ROWS_MAX = 100,     // instants that one step plans: what remains follows with the next
    PLAN_LATE_MS = 5000,     // an instant that is picked later than this is missed
    PLAN_CHECK_MS = 10000,   // so long after a job was due its plan must have been carried on
    PLAN_SKIPS_MAX = 100,    // that are kept: the latest
    PLAN_QUEUED_MAX = 100,   // jobs that wait by `overlap: queue`
    PLAN_ACTIVE_MAX = 100,   // of `max_active`
    PLAN_MISSED_MAX = 10000, // that run by `misfire: all`
};

enum plan_reason { PLAN_MISFIRE, PLAN_OVERLAP, PLAN_PAUSED, PLAN_EXCLUDED, PLAN_WINDOW, PLAN_REASON_COUNT };
const char *plan_reason_text(enum plan_reason reason); // "misfire", …

// Instants that follow each other and were skipped for one reason.
struct plan_skip {
    int64_t from, to, count; // both instants are among them
    enum plan_reason reason;
};

// What becomes of instants that were missed, and of jobs that are one too many at once.
enum plan_misfire { PLAN_MISFIRE_ONE, PLAN_MISFIRE_SKIP, PLAN_MISFIRE_ALL };
enum plan_overlap { PLAN_OVERLAP_ALLOW, PLAN_OVERLAP_SKIP, PLAN_OVERLAP_QUEUE, PLAN_OVERLAP_CANCEL };

// The rules of a task, beside its schedule.
struct plan_rules {
    enum plan_misfire misfire;
    int64_t misfire_window_ms; // an instant missed by more than this is skipped; -1: however old it is
    enum plan_overlap overlap;
    int max_active;   // unless overlap is ALLOW
    int64_t max_runs; // instants in all, without excluded ones; 0: no end
};

struct plan {
    int64_t task_id;
    int32_t tenant;
    int64_t version;         // of the task: the document that was followed
    int64_t revision;        // grows with every write of the plan, and with the end of a job of the task
    int64_t planned_through; // the last instant that is planned; TIME_NEVER: none will follow
    int64_t instants;        // how many there were up to it, without excluded ones: max_runs counts them
    int64_t ended_with;      // the last instant of all, once planned_through is TIME_NEVER; 0: it is not known
    int64_t check_at;        // by then it must have been carried on; TIME_NEVER: it need not
    // What became of its jobs since its beginning. The store counts with the step that ends a job.
    int64_t success, failed, cancelled;
    int64_t failures_in_row; // jobs that the schedule has made: so many of them failed since the last one that succeeded
    int64_t last_at;         // when the latest of them that was not cancelled ended; 0: none has
    const int64_t *active;   // jobs that run or wait for their retry, oldest first; none with overlap: allow
    size_t active_count;     // … the store removes a job that ends from these two
    const int64_t *queued;   // jobs that wait for one of those to end, oldest first
    size_t queued_count;
    struct str skips;       // as plan_skips_write() writes them
    struct str missing;     // jobs that were removed behind rota's back, which the store notes: see plan_take_missing()
    int64_t paused_at;      // 0: it is not paused
    struct str paused_note; // what was said when it was paused,
    struct str paused_by;   // … and by whom: "" by hand; "failures"
    struct str reserved;    // the name under which its tenant declared the task; "": it was submitted. Fixed with the task
};

// May another instant follow? NULL is the plan of a one-time task.
static inline bool plan_owes(const struct plan *plan)
{
    return plan && plan->planned_through != TIME_NEVER;
}

// ---- instants

// An instant that gets a job. The job is due at schedule_due() of the instant, or later if a resume or change has put it off:
// then it is never missed. due_at is scheduled_at of the job: the time it is planned for, whatever holds it back afterwards.
struct plan_row {
    int64_t nominal_at, due_at;
    // For plan_change() and plan_resume().
    bool stays;     // somebody has the job in hand, or had, so it keeps its instant, whatever that is
    bool cancelled; // … by hand, perhaps ahead of its time: its instant gets no other job
};

// What one step adds. The skips have been added to the plan.
struct plan_rows {
    struct plan_row rows[PLAN_ROWS_MAX];
    size_t count;
    bool more; // there is more to plan right now: another step must follow
};

// Begins the plan of a task that is submitted at now_ms: nothing is planned yet, instants after now_ms are to come.
void plan_begin(struct plan *plan, int64_t now_ms);

// Plans on from planned_through, so that PLAN_AHEAD jobs lie ahead, as far as there are instants within TASK_HORIZON_MS. Instants
// whose time has passed were missed: they are skipped, or get a job, as the rules say. Moves planned_through, instants, check_at
// and the skips; says which jobs to make. Texts that are new live in the arena. The work of one call is bounded, however long ago
// the last one was. A plan that is paused is left as it is, and need not be checked.
//
// planned_through becomes TIME_NEVER when the time of the last instant of all has come. Until then it says up to which instant
// there must be jobs.
void plan_extend(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, int64_t now_ms,
                 struct arena *arena, struct plan_rows *ret_rows);

// The step of plan_extend() for a caller that has not read the plan.
struct plan_unread {
    int64_t from;         // planned_through, as it must be now; row.nominal_at is what it shall be
    int64_t check_at;     // what check_at becomes, if it is
    int64_t check_before; // … smaller than this. So an index of the store is not changed with every job
    struct plan_row row;  // the one job that is to be added
};

// The plan as it must be, if nothing went wrong, when the job of `row` is picked, before the next one is due. False: it has to be
// read, because the rules ask for more than that, or because an excluded instant or the end of the schedule is near. True:
// whoever writes the step makes `instants` one more, in case a change of the task asks for max_runs later.
bool plan_extend_unread(const struct schedule *schedule, const struct plan_rules *rules, struct plan_row row, int64_t now_ms,
                        struct plan_unread *ret_unread);

// ---- picking

struct plan_pick {
    enum plan_verdict {
        PLAN_RUNS,
        PLAN_SKIPPED, // it is cancelled: `reason`
        PLAN_QUEUED,  // it waits until another has ended
    } verdict;
    enum plan_reason reason;
    int64_t cancels; // the job that must be cancelled first; 0: none
};

// Decides on a job whose time has come and that has not been tried before. Moves active, queued and the skips. A job that is
// among the active ones already runs: whoever picked it before did not live to begin it. What it cancels is said again then.
struct plan_pick plan_pick(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, int64_t job_id,
                           struct plan_row row, int64_t now_ms, struct arena *arena);

// Decides on a job with overlap: allow that was picked before, by a holder that died. If that one has skipped the instant, it did
// not live to cancel the job; otherwise the job runs, however late it is.
struct plan_pick plan_pick_again(const struct plan *plan, struct plan_row row);

// Must the plan be read to pick it (false), or is it sure to run with overlap: allow? It is if it comes in time; or, when nobody
// has picked it before (`is_new`), if its rule lets it run although it was missed. What somebody has picked before may be among
// the skips.
bool plan_pick_unread(const struct schedule *schedule, const struct plan_rules *rules, struct plan_row row, bool is_new,
                      int64_t now_ms);

// The job that is next to leave the queue; 0: none may.
int64_t plan_next_queued(const struct plan *plan, const struct plan_rules *rules);

// ---- jobs that are missing

// A job that its schedule had made, and whose row was removed before it began, by somebody else than rota.
struct plan_missing {
    int64_t job_id;
    struct plan_row row; // its instant, and when the job is due that is planned again for it
    bool owed;           // the schedule has this instant; false: the task was changed since, and need not make it good
};

// Takes the next of the plan's missing jobs: it is missing no longer, and neither active nor queued. False: there is none.
bool plan_take_missing(struct plan *plan, const struct schedule *schedule, struct arena *arena, struct plan_missing *ret_missing);

// A job that counts as active was removed while it ran: it is not waited for any more. False: it is not active.
bool plan_forget_active(struct plan *plan, int64_t job_id, struct arena *arena);

// Forgets the missing jobs of instants after `after_ms`, because those are planned anew. Returns how many there were.
size_t plan_forget_missing(struct plan *plan, int64_t after_ms, struct arena *arena);

// ---- changing

// What becomes of a planned job whose task is changed or resumed.
struct plan_moved {
    bool keeps; // it has a time; false: it is cancelled
    struct plan_row row;
};

// The task has another schedule or other rules from now on. `rows` are its jobs that are planned, and those that stay because
// they have begun or are about to, in order of their instants; ret_moved[i] says what becomes of each. A job keeps its instant if
// the new schedule has it, too. Its time becomes that of the new jitter, but for one that is due already: that is left to be
// picked. The other jobs get the instants that are missing, in order. What is left over is cancelled; what is still missing is in
// ret_rows, which are to be added. With the same schedule nothing moves. Here planned_through may go back, to now: instants that
// have passed are not planned again. They have passed by now_ms, or because the job of a later one stays, or because a later one
// was skipped: now_ms may be of a clock that is behind.
void plan_change(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, const struct plan_row *rows,
                 size_t count, int64_t now_ms, struct arena *arena, struct plan_moved *ret_moved, struct plan_rows *ret_rows);

// The same schedule, in a time zone whose rules have changed: does a planned instant that lies ahead, and that the schedule does
// not have any more, stand for one that has just passed? That is so if an instant up to now is nearer to it than the next one.
// Its run would be lost if it were moved to the next.
bool plan_stands_for_passed(const struct schedule *schedule, int64_t nominal_at, int64_t now_ms);

// It is resumed: instants that were missed meanwhile are skipped (PLAN_MISFIRE_SKIP), or run as `missed` says, whatever the rules
// say of missed ones. `rows` are as with plan_change(). It is paused no longer, unless ret_rows->more: then the next step is a
// plan_resume() again.
void plan_resume(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, enum plan_misfire missed,
                 const struct plan_row *rows, size_t count, int64_t now_ms, struct arena *arena, struct plan_moved *ret_moved,
                 struct plan_rows *ret_rows);

// ---- skips

// Adds a skip at its place by time. One that lies in another already changes nothing; those of one reason that follow each other
// immediately become one. When there are too many the oldest goes.
void plan_skip(struct plan *plan, const struct schedule *schedule, struct plan_skip skip, struct arena *arena);
size_t plan_skips_read(struct str text, struct plan_skip ret_skips[PLAN_SKIPS_MAX]); // what cannot be read is none
void plan_skips_write(const struct plan_skip *skips, size_t count, struct buf *buf);
