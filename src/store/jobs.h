// Tasks and jobs in the store: how they are added, claimed, changed, found, read, listed and removed; and the lanes they wait in.
// Layer: port. What an operation is: store/store.h.
#pragma once
#include "core/job.h"
#include "core/schedule/plan.h"
#include "core/tag.h"
#include "core/task/target.h"
#include "store/store.h"

// A job as it is handed out for running: its record and its task's document. A claim gives no document while the task is paused.
struct store_job {
    struct job job;
    struct str doc;
    int64_t version; // of the task: that of the document; 0 where none is given
};

// A task as it is stored. The document is the JSON object the user gave, byte for byte.
struct store_task {
    int64_t id;
    int32_t tenant;
    int64_t created_at;
    int64_t updated_at;            // when it was amended; 0: never
    int64_t version;               // 1 when it is new, and one more with each amendment
    bool paused;                   // no job of it begins; not when it is new
    enum target_dispatch dispatch; // as its target's kind says (core/task/target); with tenant and queue the key of its lane
    struct str queue, name, doc;
    const int64_t *tags; // by which it is found (core/tag); reads leave them out
    size_t tag_count;
    const struct plan *plan; // of a recurring task; NULL: it is not one. See store/plans.h
};

// Gives a task that is to be stored its tags, which live as long as the arena.
void store_task_tag(struct store_task *stored, const struct task *task, struct arena *arena);

// One new task with its jobs. With task == NULL the jobs are added to a task that exists (jobs[].task_id, .tenant),
// whose lane they get; ERR_NOT_FOUND when it is gone. Jobs come with id, task_id, state and times filled in, and may be held
// already, but not leased: .lease_until and .result are not looked at. With a key (of a new task): if the tenant used it before,
// nothing is added; `existing_id` is the task, ERR_KEY_SPENT says that it was removed (STORE_REMOVE) at `spent_at`, and otherwise
// ERR_KEY_REUSED that the digest differs. ERR_INTERNAL: one of its ids is taken already. With a plan that reserves a name
// (store/plans.h), which has no key: if the name is taken, nothing is added, and `existing_id` is the task that has it;
// ERR_MOVED_ON says that this task was removed at the same moment, so that the caller asks again.
struct store_new {
    const struct store_task *task;
    struct job *jobs; // .lane is filled in
    size_t job_count;
    struct str key;
    uint8_t digest[32];
    enum err err;        // out
    int64_t existing_id; // out: 0 when it was added
    int64_t spent_at;    // out, with ERR_KEY_SPENT
};

// ERR_FENCED, and nothing is added, when the holder was declared dead or is unknown: others may have its node number by now, and
// make the same ids. Otherwise items succeed or fail one by one, in one commit. Of two items with one key, or one reserved name,
// the first is added, the second finds it.
struct store_add {
    struct store_op op;
    int64_t now_ms;
    int64_t holder; // the incarnation that made the ids and has the held jobs in hand; 0: nobody, and none is held
    struct store_new *items;
    size_t count;
};

enum { STORE_SMALL_DOC = 4096 };

struct store_want {
    int64_t lane;
    size_t max;       // at most so many; 0 only asks for next_due
    size_t bytes;     // of documents: what would go beyond is left alone, but for the first of the lane; 0: however many
    int64_t from_ms;  // what is due before is left alone: a puller that knows of nothing earlier spares the store the look
    int64_t from_id;  // and of what is due at from_ms, smaller ids may be left alone, too
    int64_t next_due; // out: of what is left waiting in the lane and due from then on, TIME_NEVER when nothing
    int64_t next_id;  // out: none of those left that are due at next_due has a smaller id
};

// Takes waiting jobs with from_ms <= due_at <= until_ms, lane by lane: highest priority first, then earliest due_at, then lowest
// id, up to one that a want has no bytes left for. Documents of less than STORE_SMALL_DOC bytes need not be counted. Paused lanes
// give nothing. The records come back as job_claim() leaves them. ERR_FENCED as above.
struct store_claim {
    struct store_op op;
    int64_t holder, now_ms, until_ms;
    struct store_want *wants;
    size_t want_count;
    struct store_job *jobs; // out
    size_t job_count;       // out
};

// One decided step: the record as it shall be, if the stored token still is `token`. A kept attempt is added with it.
// ERR_MOVED_ON: the record has moved on. ERR_NOT_FOUND: it is gone.
// A job's id, task_id, parent_id, tenant, lane, priority, trigger and nominal_at never change. A touched_at of 0 leaves the one
// that is stored.
struct store_step {
    int64_t token;
    bool watched;  // and it must still be watching: the start of an attempt does not raise the token, but changes what follows
    int64_t lease; // and its lease must still end then (0: it has none): making it longer does not raise the token either
    const struct job *job;
    const struct attempt *attempt; // or NULL
    enum err err;                  // out
};

// A step that is taken only if the record is all that it was when it was read. `step` says whether an attempt is kept, and lives
// as long as the result.
struct store_step store_step_from(const struct job *was, const struct job *job, const struct job_step *step);

struct store_change {
    struct store_op op;
    struct store_step *steps;
    size_t count;
    size_t bytes; // of results in it: so many do not go into one transaction; 0: none, or hardly any
};

// Changes a task that is as it was read (`version`), and jobs of it that nobody has in hand (by their tokens), and adds jobs to
// it: all, or nothing. Here a job's priority and nominal_at may change, and all of them go to the lane of `task.queue` and
// `task.dispatch`. ERR_MOVED_ON: something has moved on. ERR_NOT_FOUND: the task is absent, or another tenant's.
struct store_amend {
    struct store_op op;
    struct store_task task; // as it shall be, but for `version`, which was read
    bool retag;             // it has the tags of `task` from now on; otherwise those it had
    // task.plan is the plan as it shall be, but for .revision, which was read, and what the store counts; its version becomes the
    // task's. NULL: the task has none.
    struct store_step *steps;
    size_t count;
    struct job *jobs; // that are added, as with STORE_PLAN; ERR_INTERNAL: an id is taken already, and nothing is written
    size_t job_count;
};

// Removes a task with all its jobs, also those that run: nothing of them is read, listed or counted from then on, and the holder
// of a job finds it absent when it writes what became of it. Its key stays until `keys_until`, and is spent. ERR_MOVED_ON: the
// task is not as it was read (`version`); a job of it has not begun (with `ended`: has not ended), or is being written at this
// moment. ERR_NOT_FOUND: the task is absent, or another tenant's. If it has more than `max` jobs, so many go, those with the
// lowest ids, and `more` says that it is to be asked again. A caller that asks again sets `goes_on`: then only the jobs that go
// now are judged, so that all steps together look at each job once. Each job is judged when it goes, if not before.
struct store_remove {
    struct store_op op;
    int64_t task_id, version;
    int32_t tenant;
    bool ended; // all its jobs must have ended; otherwise it is enough that all have begun
    int64_t now_ms, keys_until;
    size_t max;
    bool goes_on;
    bool more; // out
};

// The last state in which a job keeps its task from being removed.
static inline enum job_state store_remove_last(const struct store_remove *remove)
{
    return remove->ended ? JOB_RESERVED : JOB_WATCHING;
}

// Delayed jobs of a lane with from_ms < due_at <= to_ms become ready, at most `max`, earliest first, then lowest id.
// A caller that goes on from upto_ms passes upto_id back as from_id, and the store does not look again at those of the
// millisecond behind upto_ms that are done: a million jobs due at one instant need it, otherwise 0 will do.
struct store_due {
    struct store_op op;
    int64_t lane, from_ms, to_ms;
    int64_t from_id; // of those due at from_ms + 1, only ids behind this one
    size_t max;
    size_t changed;  // out
    int64_t upto_ms; // out: everything up to here is done
    int64_t upto_id; // out: and of the next millisecond, everything up to this id
};

// A page of jobs with their documents ends when it has so many bytes of them; the job that reaches it is in it.
enum { STORE_PAGE_BYTES = 8 << 20 };

enum store_find_what {
    STORE_FIND_HELD,    // jobs that `holder` has in hand, by id, beginning behind `after_id`
    STORE_FIND_EXPIRED, // jobs blocked or waiting with 0 < expires_at <= now_ms, earliest first, then lowest id
    STORE_FIND_LEASES,  // jobs whose lease ran out: 0 < lease_until <= now_ms, earliest first, then lowest id
    STORE_FIND_COUNT
};

// Reads a page of the jobs that `what` names. A caller that wants to run what it holds sets `to_run`, and gets no document of a
// job that has not begun while its task is paused: as with a claim.
struct store_find {
    struct store_op op;
    enum store_find_what what;
    int64_t holder, after_id; // of what is held
    bool to_run;              // the same
    int64_t now_ms;           // of what has expired and of leases that ran out
    size_t max;
    struct store_job *jobs; // out
    size_t job_count;       // out
    bool more;              // out: the page ended before all were given, or just when they were
};

// A lane is where jobs of one tenant, queue and kind of dispatch wait, so a claim never has to look into a document to leave
// alone what is dispatched in another way. A queue has one lane for each kind of dispatch that its tasks have had; all of them
// are paused, or none is.
struct store_lane {
    int64_t id;
    int32_t tenant;
    enum target_dispatch dispatch; // TARGET_NOT_DISPATCHED of a queue
    struct str queue;
    bool paused;
    int64_t next_due;                // of its waiting jobs, TIME_NEVER when there is none; 0 if only names were asked for
    int64_t counts[JOB_STATE_COUNT]; // if asked for
};

// Lanes of one kind of dispatch, by id, beginning behind `after_id`; of one tenant, or of all when tenant is 0. Lanes that were
// dropped are left out.
//
// With TARGET_NOT_DISPATCHED it is queues instead: the lanes of each are one row, which is shown if one of them is, has the
// smallest id of them (also of those that were dropped, so it is always the same), the first next_due and the sum of the counts.
struct store_lanes {
    struct store_op op;
    int32_t tenant;
    enum target_dispatch dispatch;
    int64_t after_id;
    size_t max;
    bool counts;     // with how many jobs are in which state
    bool names_only; // without when something is due, which is what makes it dear
    struct store_lane *lanes;
    size_t lane_count;
};

// Pauses or resumes a queue: all its lanes, those that were dropped, which it brings back, and those that are made later. It
// makes the lane of what is called if need be, so that a queue can be paused before it has a job.
struct store_pause {
    struct store_op op;
    int32_t tenant;
    struct str queue;
    bool paused;
    int64_t lane; // out: the lane of what is called
};

// Drops a queue: STORE_LANES leaves its lanes out from then on. A lane comes back, not paused, as soon as a job that is not final
// is added to it or moved there, also by an operation that is under way at the same time; so no job that is not final is ever in
// a lane that is left out. Lanes keep their ids, and final jobs are read, listed and swept as before. ERR_NOT_FOUND: there is no
// such queue, or all of it is dropped already. ERR_QUEUE_NOT_EMPTY: it has jobs that are not final. ERR_QUEUE_PAUSED: it is
// paused.
struct store_drop {
    struct store_op op;
    int32_t tenant;
    struct str queue;
    int64_t open; // out, with ERR_QUEUE_NOT_EMPTY: how many jobs are not final
};

// Removes final jobs with 0 < purge_at <= now_ms, earliest first, at most `max`, and tasks none of whose jobs are left; and keys
// whose task went and whose time is over, also at most `max`, earliest first.
struct store_sweep {
    struct store_op op;
    int64_t now_ms;
    int64_t keys_until; // the keys of tasks that go now are kept until then
    size_t max;
    int64_t series_before; // counts of minutes before this go, too, and events relayed before that; at most `max` of each
    int64_t events_before;
    size_t removed; // out: jobs
};

// Reads a task (task_id, or the name that it has reserved) or one job and its task (job_id). ERR_NOT_FOUND: absent, or another
// tenant's. Only one job that is asked for by its id comes with any result: otherwise those of more than STORE_LISTED_RESULT
// bytes are left out. And only its attempts come with their responses. GET and LIST give touched_at of what has not ended.
enum { STORE_LISTED_RESULT = 4096 };
_Static_assert((int)STORE_LISTED_RESULT >= (int)JOB_PROGRESS_MAX, "what a leased job said of its progress always comes along");

struct store_get {
    struct store_op op;
    int32_t tenant;          // 0: any, for a caller that has another proof of its right
    int64_t task_id, job_id; // one of them, the other 0
    struct str reserved;     // or a name of the tenant's, and both are 0
    size_t max_jobs;         // of a task: newest scheduled_at first, then largest id
    bool open_first;         // … but before them those that are not final
    struct store_task task;  // out
    struct job *jobs;        // out
    size_t job_count;
    struct attempt *attempts; // out: of those jobs, by job and then by number: see job_attempts()
    size_t attempt_count;
};

// A place in a list: behind this row. Tasks have only the id.
struct store_cursor {
    int64_t at, id;
};

// A page of a list, newest first: tasks by id; jobs by scheduled_at, then by id. At most `look` rows behind `before` are looked
// at, and of those that match at most `max` are given back. So a page may be short, or empty, and yet there are more behind
// `next`; but not when there is no such queue, or no such key.
//
// Rows that have failed or were cancelled are found without looking at others, if one or two such states are all that is asked
// for; so are rows by a tag. If several of these are asked for, rows are found by the one that has fewest rows behind `before`,
// or by the first if all have STORE_RARE or more; whether a row has the others, too, is looked up. Recurring tasks are found by
// their plans, without looking at other tasks, if nothing else that finds rows is asked for.
//
// The page also ends behind the row with which its records have `bytes_max` bytes (store_…_bytes below), so at least one row is
// given, and no more than that is ever held in memory. Rows that do not match cost none.
struct store_list {
    struct store_op op;
    int32_t tenant;
    bool jobs;              // jobs; else tasks
    int64_t task_id;        // jobs of this task only, which may be absent; 0: of all
    unsigned states;        // jobs whose state's bit is set; 0: of all. Not with tasks
    struct str queue, name; // of that queue, of tasks of that name; .p == NULL: of all. Not with task_id
    struct str key;         // of the task with that key; .p == NULL: of all. Not with task_id
    int64_t tags[TAGS_MAX]; // of tasks that have all of these tags. Not with task_id
    size_t tag_count;
    bool recurring; // tasks that have a plan; false: all. Not with jobs
    struct store_cursor before;
    size_t max, look;
    size_t bytes_max;         // 0: however many
    size_t max_jobs;          // of each task; 0: none, and they are not looked for
    bool docs;                // jobs: with their tasks
    struct store_task *tasks; // out: the page; or, with docs, the task of each job
    size_t task_count;
    struct job *found; // out: the page; or the jobs of the tasks, task after task, as STORE_GET gives them with open_first
    size_t found_count;
    struct attempt *attempts; // out: of those jobs, by job and then by number: see job_attempts()
    size_t attempt_count;
    bool more; // out: there may be more, behind `next`
    struct store_cursor next;
};

enum { STORE_RARE = 1000 };

// What a record counts for in a page: its texts, and about what it takes besides.
enum { STORE_TASK_BYTES = 256, STORE_PLAN_BYTES = 256, STORE_JOB_BYTES = 256, STORE_ATTEMPT_BYTES = 128 };

static inline size_t store_plan_bytes(const struct plan *plan)
{
    return STORE_PLAN_BYTES + (plan->active_count + plan->queued_count) * sizeof(int64_t) + plan->skips.n + plan->missing.n +
           plan->paused_note.n + plan->paused_by.n + plan->reserved.n;
}

static inline size_t store_task_bytes(const struct store_task *task)
{
    return STORE_TASK_BYTES + task->doc.n + (task->plan ? store_plan_bytes(task->plan) : 0);
}

static inline size_t store_job_bytes(const struct job *job)
{
    return STORE_JOB_BYTES + job->reason.n + job->response.n + job->result.n;
}

static inline size_t store_attempt_bytes(const struct attempt *attempt)
{
    return STORE_ATTEMPT_BYTES + attempt->reason.n;
}

// How many jobs wait in a lane, in nobody's hand, that a claim takes before one of this priority, time and id: those of its own
// priority that are before it, and those of a higher one that are due by then. They are counted up to max.
struct store_ahead {
    struct store_op op;
    int64_t lane;
    int priority;
    int64_t due_at, id;
    size_t max;
    size_t count; // out
};

// A job that has not begun, and what a list of such shows of its task.
struct store_upcoming_job {
    int64_t id, task_id, lane;
    int64_t scheduled_at;
    struct str name; // of the task; empty: it has none
    bool paused;     // the task is
};

// Jobs that have not begun and are planned for a time behind `after` and up to until_ms, earliest first, then smallest id. They
// are found by the index of lists: at most `look` rows are looked at, and those among them that have begun or ended are left out.
// So a page may be short, or empty, and yet there are more behind `next`.
struct store_upcoming {
    struct store_op op;
    int32_t tenant;
    struct store_cursor after;
    int64_t until_ms;
    size_t look;
    struct store_upcoming_job *jobs; // out
    size_t job_count;
    bool more; // out: there may be more, behind `next`
    struct store_cursor next;
};

struct store_stats {
    struct store_op op;
    int32_t tenant; // 0: all
    int64_t counts[JOB_STATE_COUNT];
};
