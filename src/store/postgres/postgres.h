// What the files of the PostgreSQL backend share: a session, which is one connection used by one thread, and the verbs.
// Layer: port, private to this folder.
#pragma once
#include "base/data/map.h"
#include "store/op_queue.h"
#include "store/postgres/columns.h"
#include "store/postgres/fragments.h"
#include "store/postgres/sql.h"
#include "store/store_private.h"

#include <libpq-fe.h>
#include <stdatomic.h>

enum {
    PG_DEADLINE_MS = 4000, // an operation that has no answer by then has failed
    PG_NAMED_MAX = 256,    // statements a connection keeps
    PG_DAY_MS = 86400 * 1000,
    PG_LONG_DAYS = 32, // what is kept longer than this lies together, in day 0
};

// Reads the answer of one statement. It is called only while everything went well so far.
typedef void pg_reader(void *ctx, const PGresult *result);

struct pg {
    struct store store;
    char *conninfo;
    char schema[140]; // quoted, with the dot behind it
    char schema_name[64];
    bool allow_unsafe;
    bool prepared;   // the schema was brought up to date
    atomic_int node; // of the incarnation that joined last; -1 before
    struct pg_queue *queues;
};

// What shall follow a failure.
enum pg_class { PG_FINE, PG_REFUSED, PG_RETRY, PG_AWAY };

// Where to begin to look for what waits: at the floor, where it was five to ten seconds ago, or at the very beginning. The first
// look sees all but jobs that were added while the floor was raised, the second sees those too, and the third is for mistakes.
enum pg_look { PG_LOOK_FLOOR, PG_LOOK_OLD, PG_LOOK_ALL };

// Lanes that were read, whose floors can be raised: see lanes.c.
enum { PG_RAISE_MAX = 512 };
struct pg_raise {
    size_t count;
    int64_t lanes[PG_RAISE_MAX], dues[PG_RAISE_MAX];
};

// The first failure sticks in `err` and makes everything behind it do nothing, so a verb reads as if nothing could fail and
// whoever runs the group looks once.
struct pg_session {
    struct pg *pg;
    int number; // which of the store's sessions: it counts in rows of its own
    PGconn *conn;
    int64_t deadline_ms; // of all that is done now
    enum err err;
    enum pg_class class;
    char why[ERR_WHY_MAX];
    struct pg_query query;
    struct pg_pending {
        pg_reader *read;
        void *ctx;
    } * pending; // statements sent and not yet answered
    size_t pending_count, pending_cap;
    bool direct;                       // no pooler in between: a session keeps its settings, and statements by their names
    int names;                         // given so far
    struct map named;                  // by hash of its text: struct pg_named
    struct arena arena;                // of the group under way
    enum pg_look look;                 // of the walk round the lanes that is under way
    int64_t old_look_ms, full_look_ms; // when it last looked so
    int64_t fold_at;                   // when it next adds up what was counted in past periods
    bool careful;                      // the group was refused once: look before adding
    bool stored;                       // a part of the group is committed
    struct map lanes;                  // by hash of tenant and queue: the sessions that add remember them
    struct pg_raise raise;
    struct map days; // partitions of jobs_done known to be there
};

// ---- session.c

void pg_session_init(struct pg_session *session, struct pg *pg, int number);
void pg_session_done(struct pg_session *session);
void pg_session_connect(struct pg_session *session); // one try, by the deadline; checks the server's settings
void pg_session_drop(struct pg_session *session);
bool pg_session_alive(struct pg_session *session); // as far as can be seen without asking
void pg_session_reset(struct pg_session *session); // forgets the failure; ends a transaction that is left open
void pg_fail(struct pg_session *session, enum pg_class class, enum err err, const char *why);

void pg_send(struct pg_session *session, pg_reader *read, void *ctx);
void pg_sync(struct pg_session *session); // waits for the answers of everything sent

void pg_begin(struct pg_session *session, const char *begin); // BEGIN …, and the settings that the session lacks
void pg_commit(struct pg_session *session);                   // and waits as above

// A fixed statement with whole numbers as $1 … $n.
void pg_run(struct pg_session *session, const char *sql, size_t count, const int64_t *values, pg_reader *read, void *ctx);
void pg_run_once(struct pg_session *session, const char *sql, pg_reader *read,
                 void *ctx); // a text of its own, as of a day's partition
#define pg_sql(session, sql, read, ctx, ...) \
    pg_run((session), (sql), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, (read), (ctx))

// ---- days.c: the partitions of jobs_done

int32_t pg_day_of(const struct job *job);
void pg_rows_day(struct pg_rows *rows, const struct job *const *jobs);
void pg_make_days(struct pg_session *session, const struct job *const *jobs, size_t count); // for those that are final
void pg_drop_days(struct pg_session *session, int64_t today); // those that have passed and are empty

// ---- counts.c: the jobs of each state

enum { PG_STRIPES = 16384 };
int64_t pg_stripe(const struct pg_session *session); // where it counts: $1 of PG_COUNT
void pg_fold_counts(struct pg_session *session);     // when it is time to
void pg_stats_send(struct pg_session *session, struct store_op *op);

// ---- lanes.c

// The lane of a task.
int64_t pg_known_lane(const struct pg_session *session, const struct store_task *task); // 0: it is not remembered
void pg_remember_lane(struct pg_session *session, const struct store_task *task, int64_t id);
void pg_forget_lanes(struct pg_session *session);
void pg_forget_lanes_if_many(struct pg_session *session);
void pg_raise_floors(struct pg_session *session); // of the lanes that were read, in a transaction behind it
void pg_pause_send(struct pg_session *session, struct store_op *op);
void pg_drop_send(struct pg_session *session, struct store_op *op);
void pg_lanes_send(struct pg_session *session, struct store_op *op);

// ---- tags.c: what tasks and jobs are found by

struct str pg_tags_text(const struct store_task *task, struct arena *arena); // an array, as text; none is empty
void pg_tags_fill(struct pg_session *session); // of all tasks that were stored before there were tags

// ---- tasks and jobs

void pg_lock_task(struct pg_session *session, int64_t id); // and its plan, before they, its tags or its jobs are changed
void pg_note_large(struct pg_session *session); // within the transaction that stores a large document, before it locks anything

void pg_claim_send(struct pg_session *session, struct store_op *op);
void pg_due_send(struct pg_session *session, struct store_op *op);
void pg_amend_prepare(struct pg_session *session, struct store_op *op); // before the transaction
void pg_amend_send(struct pg_session *session, struct store_op *op);
void pg_remove_send(struct pg_session *session, struct store_op *op);
void pg_list_send(struct pg_session *session, struct store_op *op); // waits for its answer: the next question follows from it
void pg_sweep_run(struct pg_session *session, struct store_op *op);

// ---- plans.c

void pg_lock_plans(struct pg_session *session, const int64_t *tasks, size_t count); // before jobs of these tasks are locked
void pg_plans_send(struct pg_session *session, struct store_op *op);
void pg_tzdata_send(struct pg_session *session, struct store_op *op);

// ---- lives.c: incarnations

// Those that made the ids of what is added in a transaction.
struct pg_holders {
    int64_t *ids, *alive;
    size_t count, alive_count;
};
void pg_holders_init(struct pg_holders *holders, struct arena *arena, size_t max);
void pg_holders_put(struct pg_holders *holders, int64_t id);           // 0: nobody
void pg_fence(struct pg_session *session, struct pg_holders *holders); // finds out who is alive, and keeps them so
bool pg_may_act(const struct pg_holders *holders, int64_t id);         // once that was answered

void pg_join_send(struct pg_session *session, struct store_op *op);
void pg_beat_send(struct pg_session *session, struct store_op *op);
void pg_bury_send(struct pg_session *session, struct store_op *op);
void pg_forget_send(struct pg_session *session, struct store_op *op);

// ---- peers.c: who goes first, and requests to holders

void pg_owners_send(struct pg_session *session, struct store_op *op);
void pg_divide_send(struct pg_session *session, struct store_op *op);
void pg_request_send(struct pg_session *session, struct store_op *op);
void pg_requests_send(struct pg_session *session, struct store_op *op);

// ---- journal.c: bulks, what processes counted, and their events

void pg_bulk_send(struct pg_session *session, struct store_op *op);
void pg_bulks_send(struct pg_session *session, struct store_op *op);
void pg_minute_send(struct pg_session *session, struct store_op *op);
void pg_series_send(struct pg_session *session, struct store_op *op);
void pg_relay_send(struct pg_session *session, struct store_op *op);
void pg_events_send(struct pg_session *session, struct store_op *op);
void pg_sweep_journal_send(struct pg_session *session, const struct store_sweep *sweep, int64_t max);

// ---- the queues: each runs a group of operations in one transaction

void pg_add_group(struct pg_session *session, struct list *group);
void pg_plan_group(struct pg_session *session, struct list *group);
void pg_change_group(struct pg_session *session, struct list *group);
void pg_tend_group(struct pg_session *session, struct list *group);
void pg_read_group(struct pg_session *session, struct list *group);

// ---- schema.c

enum pg_lock { PG_LOCK_SCHEMA, PG_LOCK_LANES, PG_LOCK_NODES, PG_LOCK_SWEEP, PG_LOCK_TURN };
int64_t pg_lock_key(const struct pg *pg, enum pg_lock lock); // of an advisory lock of this schema
void pg_lock(struct pg_session *session, enum pg_lock lock); // until the transaction ends

// Brings the schema to what this binary knows, each step in a transaction of its own.
void pg_migrate(struct pg_session *session);
void pg_send_version(struct pg_session *session); // asks whether that still holds
