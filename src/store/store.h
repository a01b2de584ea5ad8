// The store port: what remembers tasks and jobs. Everything is a batch and completes asynchronously.
//
// Layer: port. A caller fills an operation, store_submit() takes it, and done() gives it back, once, when it is durable (or
// has failed). done() runs on a thread of the store, possibly before store_submit() returns, and may only enqueue.
// Operations of one caller that are in flight together may be carried out in any order.
//
// Backends store and deliver. They hold no rule: what follows is decided by core/ before it is written. Times in records are
// arguments; a backend asks a clock only for its own housekeeping, and for the answer to a beat. What keeps two deciders apart is
// the token of a job: a change names the token it was decided on, and is refused (ERR_LEASE_LOST) by the statement that would
// have written it when the record has moved on.
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/mailbox.h"
#include "core/job.h"
#include "core/tag.h"

enum store_verb {
    STORE_JOIN,   // an incarnation begins
    STORE_BEAT,   // it lives; and what is known of the others
    STORE_BURY,   // an incarnation is declared dead
    STORE_FORGET, // an incarnation that holds nothing is removed
    STORE_OWNERS, // who goes first in which bucket
    STORE_DIVIDE, // … is decided anew
    STORE_ASK,    // a wish about a job goes to the incarnation that has it in hand
    STORE_ASKED,  // … which takes the wishes it was sent
    STORE_ADD,    // new tasks with their jobs, or jobs for tasks that exist
    STORE_CLAIM,  // take waiting jobs in hand
    STORE_CHANGE, // write what was decided
    STORE_AMEND,  // change a task, and its waiting jobs with it
    STORE_REMOVE, // a task goes, and its jobs with it
    STORE_DUE,    // delayed jobs whose time has come become ready
    STORE_FIND,   // jobs that somebody has to look after
    STORE_LANES,  // lanes, and when their next job is due
    STORE_PAUSE,  // hold a lane or let it go
    STORE_DROP,   // a lane without open jobs goes
    STORE_SWEEP,  // remove what retention lets go
    STORE_GET,    // read a task or job
    STORE_LIST,   // read a page of tasks or jobs
    STORE_STATS,  // jobs per state
    STORE_AHEAD,  // how many wait before a job
    STORE_BULKS,  // read bulks
    STORE_BULK,   // a bulk begins, goes on, or ends
    STORE_BACKUP, // a copy of everything, as it is at one moment
    STORE_TALLY,  // what a process counted in a minute
    STORE_SERIES, // … of all of them, over time
    STORE_TELL,   // what happened at a process, for others who listen
    STORE_HEAR,   // … which they read
    STORE_VERB_COUNT
};

struct store_op {
    struct list link; // the store's while the operation is its, the owner's before and after
    enum store_verb verb;
    void (*done)(struct store_op *op);
    struct mailbox *answers; // of an operation made by store_op_post
    enum err err;            // of the operation as a whole: nothing was stored, and every item says the same
    char why[ERR_WHY_MAX];   // words for the log when err is set
    struct arena arena;      // results live here; the owner of the operation frees it
};

// A job as it is handed out for running: its record and its task's document. A claim gives no document while the task is paused.
struct store_job {
    struct job job;
    struct str doc;
};

// A task as it is stored. The document is the JSON object the user gave, byte for byte.
struct store_task {
    int64_t id;
    int32_t tenant;
    int64_t created_at;
    int64_t updated_at; // when it was amended; 0: never
    int64_t version;    // 1 when it is new, and one more with each amendment
    bool paused;        // no job of it begins; not when it is new
    struct str queue, name, doc;
    const int64_t *tags; // by which it is found (core/tag); of those who read a task, none learns them
    size_t tag_count;
};

// Gives a task that is to be stored its tags, which live as long as the arena.
void store_task_tag(struct store_task *stored, const struct task *task, struct arena *arena);

enum { STORE_SECRET_SIZE = 32 };

// ERR_FENCED from JOIN: the node numbers are used up, or this incarnation was declared dead. Joining again changes nothing.
struct store_join {
    struct store_op op;
    int64_t incarnation, now_ms;
    bool pulls;       // it claims and runs jobs
    int node;         // out: the smallest number that no other incarnation has, dead ones that are not forgotten included
    int64_t id_floor; // out: no id given out so far is larger
    int64_t clock_ms; // out: as of a beat
    uint8_t secret[STORE_SECRET_SIZE]; // out: the store's secret, which is what the first who ever joined came with
    bool alone;                        // out: every other incarnation is certainly dead (this process holds the lock)
};

struct store_peer {
    int64_t incarnation;
    int64_t beat; // counts up while it lives
    bool pulls;   // as it said when it joined
    bool dead;    // has been declared dead
    bool listens; // as it said with its latest beat; false before the first
    bool tells;   // the same; true before the first
};

// ERR_FENCED: this incarnation was declared dead, or is unknown.
struct store_beat {
    struct store_op op;
    int64_t incarnation;
    bool listens;             // it has clients that want to hear what happens elsewhere
    bool tells;               // it writes down what happens at it (STORE_TELL)
    bool in_turn;             // one after the other with all others that say so: what one of them wrote, the next one sees
    int64_t clock_ms;         // out: the wall clock of the store, read after the beat was asked for; 0: it has none of its own
    struct store_peer *peers; // out: all but itself, by incarnation
    size_t peer_count;
};

// Declares an incarnation dead if its beat still stands where it was seen. ERR_LEASE_LOST: it moved, it lives.
// Dead already, or forgotten: ERR_OK.
struct store_bury {
    struct store_op op;
    int64_t incarnation, beat;
};

// Removes an incarnation's row, and what it was asked. ERR_LEASE_LOST: it still holds jobs. Removed already: ERR_OK.
struct store_forget {
    struct store_op op;
    int64_t incarnation;
};

struct store_owner {
    int32_t bucket;
    int64_t puller; // an incarnation, which may be gone by now
};

struct store_owners {
    struct store_op op;
    int64_t term;               // out: grows with each division; 0 before the first
    struct store_owner *owners; // out: by bucket, then by puller
    size_t owner_count;
};

// Replaces all owners, if the term still is `term`, and begins the next. ERR_LEASE_LOST: somebody else did meanwhile.
struct store_divide {
    struct store_op op;
    int64_t term;
    const struct store_owner *owners; // no two alike
    size_t owner_count;
};

enum store_wish {
    STORE_WISH_CANCEL,
    STORE_WISH_RUN,
    STORE_WISH_RECALL, // give it back, if it still waits for its time
    STORE_WISH_COUNT
};

struct store_asked_job {
    int64_t job_id;
    int32_t tenant;
    enum store_wish wish;
};

// Of two wishes about one job the first of the above counts: a cancel is not taken back. ERR_LEASE_LOST: there is no such
// incarnation any more.
struct store_ask {
    struct store_op op;
    int64_t holder;
    struct store_asked_job job;
};

// Takes what `holder` was asked, by job id, at most `max`: it is not told again.
struct store_asked {
    struct store_op op;
    int64_t holder;
    size_t max;
    struct store_asked_job *jobs; // out
    size_t job_count;
};

// One new task with its jobs. With task == NULL the jobs are added to a task that exists (jobs[].task_id, .tenant),
// whose lane they get; ERR_NOT_FOUND when it is gone. Jobs come with id, task_id, state and times filled in, and may be held
// already, but not leased: .lease_until and .result are not looked at. With a key (of a new task): if the tenant used it before,
// nothing is added; `existing_id` is the task, ERR_KEY_SPENT says that it was removed (STORE_REMOVE) at `spent_at`, and otherwise
// ERR_KEY_REUSED that the digest differs. ERR_INTERNAL: one of its ids is taken already.
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
// make the same ids. Otherwise items succeed or fail one by one, in one commit. Of two items with one key the first is added, the
// second finds it.
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
    int64_t from_ms;  // what is due before is left alone: who knows that there is nothing spares the store to look for it
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
// ERR_LEASE_LOST: the record has moved on. ERR_NOT_FOUND: it is gone.
// A job's id, task_id, parent_id, tenant, lane, priority and nominal_at never change. A touched_at of 0 leaves the one that is
// stored.
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

// Changes a task that is as it was read (`version`), and jobs of it that nobody has in hand (by their tokens): all, or nothing.
// Here a job's priority may change, and all of them go to the lane of `task.queue`. ERR_LEASE_LOST: something has moved on.
// ERR_NOT_FOUND: the task is absent, or another tenant's.
struct store_amend {
    struct store_op op;
    struct store_task task; // as it shall be, but for `version`, which was read
    bool retag;             // it has the tags of `task` from now on; otherwise those it had
    struct store_step *steps;
    size_t count;
};

// Removes a task with all its jobs, also those that run: nothing of them is read, listed or counted from then on, and whoever
// has one in hand finds it absent when it writes what became of it. Its key stays until `keys_until`, and is spent.
// ERR_LEASE_LOST: the task is not as it was read (`version`); a job of it has not begun (with `ended`: has not ended), or is
// being written at this moment. ERR_NOT_FOUND: the task is absent, or another tenant's. If it has more than `max` jobs, so many
// go, those with the lowest ids, and `more` says that it is to be asked again. A caller that asks again sets `goes_on`: then only
// the jobs that go now are judged, so that all steps together look at each job once. Each job is judged when it goes, if not
// before.
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
// Who goes on from upto_ms and passes upto_id back as from_id spares the store to look again at those of the millisecond
// behind upto_ms that are done: a million jobs due at one instant need it, otherwise 0 will do.
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
    STORE_FIND_LAPSED,  // jobs with 0 < lease_until <= now_ms, earliest first, then lowest id
    STORE_FIND_COUNT
};

// Reads a page of the jobs that `what` names. A caller that wants to run what it holds sets `to_run`, and gets no document of a
// job that has not begun while its task is paused: as with a claim.
struct store_find {
    struct store_op op;
    enum store_find_what what;
    int64_t holder, after_id; // of what is held
    bool to_run;              // the same
    int64_t now_ms;           // of what has expired or lapsed
    size_t max;
    struct store_job *jobs; // out
    size_t job_count;       // out
    bool more;              // out: the page ended before all were given, or just when they were
};

struct store_lane {
    int64_t id;
    int32_t tenant;
    struct str queue;
    bool paused;
    int64_t next_due;                // of its waiting jobs, TIME_NEVER when there is none; 0 if only names were asked for
    int64_t counts[JOB_STATE_COUNT]; // if asked for
};

// Lanes by id, beginning behind `after_id`; of one tenant, or of all when tenant is 0. Lanes that were dropped are left out.
struct store_lanes {
    struct store_op op;
    int32_t tenant;
    int64_t after_id;
    size_t max;
    bool counts;     // with how many jobs are in which state
    bool names_only; // without when something is due, which is what makes it dear
    struct store_lane *lanes;
    size_t lane_count;
};

// Makes the lane if need be, and brings back one that was dropped.
struct store_pause {
    struct store_op op;
    int32_t tenant;
    struct str queue;
    bool paused;
    int64_t lane; // out
};

// Drops a lane: STORE_LANES leaves it out from then on. It comes back, not paused, as soon as a job that is not final is added to
// it or moved there, also by an operation that is under way at the same time; so no job that is not final is ever in a lane that
// is left out. The lane keeps its id, and its final jobs are read, listed and swept as before. ERR_NOT_FOUND: there is no such
// lane, or it is dropped already. ERR_QUEUE_NOT_EMPTY: it has jobs that are not final. ERR_QUEUE_PAUSED: it is paused.
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
    int64_t series_before; // counts of minutes before this go, too, and news told before that; at most `max` of each
    int64_t news_before;
    size_t removed; // out: jobs
};

// Reads a task (task_id) or one job and its task (job_id). ERR_NOT_FOUND: absent, or another tenant's. Only one job that is asked
// for by its id comes with any result: otherwise those of more than STORE_LISTED_RESULT bytes are left out. And only its attempts
// come with their responses. GET and LIST give touched_at of what has not ended.
enum { STORE_LISTED_RESULT = 4096 };
_Static_assert((int)STORE_LISTED_RESULT >= (int)JOB_PROGRESS_MAX, "what a leased job said of its progress always comes along");

struct store_get {
    struct store_op op;
    int32_t tenant;          // 0: any, for those who have another proof than being of a tenant
    int64_t task_id, job_id; // one of them, the other 0
    size_t max_jobs;         // with task_id: newest scheduled_at first, then largest id
    bool open_first;         // … but before them those that are not final
    struct store_task task;  // out
    struct job *jobs;        // out
    size_t job_count;
    struct attempt *attempts; // out: of those jobs, by job and then by number: see job_attempts()
    size_t attempt_count;
};

// A place in a list: behind this row. Tasks have only the id.
struct store_key {
    int64_t at, id;
};

// A page of a list, newest first: tasks by id; jobs by scheduled_at, then by id. At most `look` rows behind `before` are looked
// at, and of those that match at most `max` are given back. So a page may be short, or empty, and yet there are more behind
// `next`; but not when there is no such queue, or no such key.
//
// Rows that have failed or were cancelled are found without looking at others, if one or two such states are all that is asked
// for; so are rows by a tag. Of several of these, the one counts that has fewest rows behind `before`, or is the first with
// STORE_RARE or more: its rows are looked at, and whether they are the others', too.
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
    struct store_key before;
    size_t max, look;
    size_t bytes_max;         // 0: however many
    size_t max_jobs;          // of each task
    bool docs;                // jobs: with their tasks
    struct store_task *tasks; // out: the page; or, with docs, the task of each job
    size_t task_count;
    struct job *found; // out: the page; or the jobs of the tasks, task after task, as STORE_GET gives them with open_first
    size_t found_count;
    struct attempt *attempts; // out: of those jobs, by job and then by number: see job_attempts()
    size_t attempt_count;
    bool more; // out: there may be more, behind `next`
    struct store_key next;
};

enum { STORE_RARE = 1000 };

// What a record counts for in a page: its texts, and about what it takes besides.
enum { STORE_TASK_BYTES = 256, STORE_JOB_BYTES = 256, STORE_ATTEMPT_BYTES = 128 };

static inline size_t store_task_bytes(const struct store_task *task)
{
    return STORE_TASK_BYTES + task->doc.n;
}

static inline size_t store_job_bytes(const struct job *job)
{
    return STORE_JOB_BYTES + job->reason.n + job->response.n + job->result.n;
}

static inline size_t store_attempt_bytes(const struct attempt *attempt)
{
    return STORE_ATTEMPT_BYTES + attempt->reason.n;
}

// A bulk: one action on everything that matches a filter, done bit by bit.
enum store_bulk_state { STORE_BULK_RUNNING, STORE_BULK_DONE, STORE_BULK_STOPPED };

struct store_bulk_row {
    int64_t id;
    int32_t tenant;
    int64_t version; // 0: it is new; else as it was read, and one more with each write
    uint8_t state;   // enum store_bulk_state
    int64_t holder;  // the incarnation that is at it, or 0
    int64_t created_at, ended_at;
    int64_t matched, changed, unchanged, failed;
    struct store_key next; // how far it has come
    struct str doc;        // what was asked, as JSON; does not change
};

// Writes a row. ERR_LEASE_LOST: somebody else has written it meanwhile. In any case those that ended
// before `forget_before` are forgotten.
struct store_bulk {
    struct store_op op;
    struct store_bulk_row row;
    int64_t forget_before;
};

// One bulk of a tenant (ERR_NOT_FOUND: there is none), or, with id 0, those of all tenants that run, by id.
struct store_bulks {
    struct store_op op;
    int32_t tenant;
    int64_t id;
    size_t max;
    struct store_bulk_row *rows; // out
    size_t row_count;
};

// ERR_UNSUPPORTED: who runs the store has better ways.
struct store_backup {
    struct store_op op;
    int fd; // out: of the copy, a file without a name; the caller closes it
};

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

struct store_stats {
    struct store_op op;
    int32_t tenant; // 0: all
    int64_t counts[JOB_STATE_COUNT];
};

// What one process counted for a tenant in one minute, as a text that only its writer and reader understand.
struct store_minute {
    int32_t tenant;
    int64_t at;     // when the minute began
    int64_t source; // which process
    struct str doc;
};

// Written again, it replaces what was there.
struct store_tally {
    struct store_op op;
    struct store_minute minute;
};

// A tenant's minutes with from_ms <= at < to_ms, by time, then by source. Who goes on behind the last one given names its time as
// from_ms and its source as from_source: of that time, only larger ones are given. Otherwise from_source is 0.
struct store_series {
    struct store_op op;
    int32_t tenant;
    int64_t from_ms, to_ms, from_source;
    size_t max;
    struct store_minute *minutes; // out
    size_t minute_count;
};

// News of one process. A source counts its own up from 1, so that who reads them notices when some are missing: they are kept for
// a short time, and need not survive a crash of the database.
struct store_news {
    int64_t source, number;
    struct str doc;
};

// Told again, it changes nothing.
struct store_tell {
    struct store_op op;
    int64_t now_ms;
    struct store_news news;
};

struct store_heard {
    int64_t source, number;
};

// News behind those that were heard, by source, then by number; of a source that is not named, all. `skip` is who asks.
// With from_now nothing is given, but `last`: the latest number of every source.
struct store_hear {
    struct store_op op;
    int64_t skip;
    const struct store_heard *heard; // no source twice
    size_t heard_count;
    size_t max; // of each source
    bool from_now;
    struct store_news *news; // out
    size_t news_count;
    struct store_heard *last; // out
    size_t last_count;
};

struct store;

struct store_ops {
    const char *scheme; // "sqlite", "postgres", "memory"
    bool shared;        // several processes may have it open
    err_check enum err (*open)(struct store **ret_store, const char *url, char why[ERR_WHY_MAX]);
    void (*submit)(struct store *store, struct store_op *op);
    void (*close)(struct store *store); // everything in flight is completed first
    bool copies;                        // STORE_BACKUP makes a copy
};

// What a backend's own struct begins with.
struct store {
    const struct store_ops *ops;
    char where[256]; // for people: which database; "" when the URL says it all
    bool is_new;     // the directory had no database
};

// Opens by URL: "sqlite:DIR", "postgres://…" or "memory:". `why` says what is wrong, and what would be right.
err_check enum err store_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX]);
bool store_is_known(const char *url);  // some backend serves it
bool store_is_shared(const char *url); // several processes may have it open
void store_submit(struct store *store, struct store_op *op);
void store_close(struct store *store); // accepts NULL

void store_op_init(struct store_op *op, enum store_verb verb, void (*done)(struct store_op *op));
void store_op_post(struct store_op *op, enum store_verb verb, struct mailbox *answers); // done() puts it into the mailbox
void store_op_to(struct store_op *op, struct mailbox *answers); // the same for one that was made already
void store_op_done(struct store_op *op);                                                // frees the results

// Submits and waits: for tools, tests and the start of a server.
void store_call(struct store *store, struct store_op *op);
