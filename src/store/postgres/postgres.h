// What the files of the PostgreSQL backend share: a session (one connection, one thread), statements and how they are made, the
// verbs. Layer: port, private to store_postgres*.c. A session belongs to one thread.
#pragma once
#include "base/buf.h"
#include "base/map.h"
#include "store/store_desk.h"
#include "store/store_private.h"

#include <libpq-fe.h>
#include <stdatomic.h>

enum {
    PG_DEADLINE_MS = 4000, // an operation that has no answer by then has failed
    PG_PARAMS_MAX = 96,
    PG_NAMED_MAX = 256, // statements a connection keeps
    PG_COLUMNS_MAX = 40,
    PG_DAY_MS = 86400 * 1000,
    PG_LONG_DAYS = 32, // what is kept longer than this lies together, in day 0
};

// The rows of an operation, column by column, on their way into a statement.
enum pg_kind { PG_INT, PG_BYTES, PG_TEXT };

struct pg_column {
    const char *name;
    enum pg_kind kind;
    int64_t *ints;
    struct str *strs; // an empty one is NULL
};

struct pg_rows {
    struct arena *arena;
    size_t count;
    int width;
    struct pg_column columns[PG_COLUMNS_MAX];
};

void pg_rows_init(struct pg_rows *rows, struct arena *arena, size_t count);
int64_t *pg_rows_ints(struct pg_rows *rows, const char *name); // to be filled in by the caller, `count` of them
struct str *pg_rows_strs(struct pg_rows *rows, const char *name, enum pg_kind kind);

// Reads the answer of one statement. It is called only while everything went well so far.
typedef void pg_reader(void *ctx, const PGresult *result);

struct pg_query {
    struct buf sql;
    bool once;          // its text does not come again, so it needs no name
    struct arena arena; // what the parameters point to
    int count;
    Oid types[PG_PARAMS_MAX];
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX], formats[PG_PARAMS_MAX];
};

struct pg {
    struct store store;
    char *conninfo;
    char schema[140]; // quoted, with the dot behind it
    char schema_name[64];
    bool allow_unsafe;
    bool prepared;   // the schema was brought up to date
    atomic_int node; // of the incarnation that joined last; -1 before
    struct pg_desk *desks;
};

// What shall follow a failure.
enum pg_class { PG_FINE, PG_REFUSED, PG_RETRY, PG_AWAY };

// Where to begin to look for what waits: at the floor, where it was ten seconds ago, or at the very beginning. The first sees all
// but what crossed a raise, the second that too, and the third is for what nobody thought of.
enum pg_look { PG_LOOK_FLOOR, PG_LOOK_OLD, PG_LOOK_ALL };

// Lanes that were read, whose floors can be raised: see postgres/read.c.
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
    bool direct;                       // no pooler in between: a session keeps what it is told, and statements by their names
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

// ---- postgres/session.c

void pg_session_init(struct pg_session *session, struct pg *pg, int number);
void pg_session_done(struct pg_session *session);
void pg_session_connect(struct pg_session *session); // one try, by the deadline; checks the server's settings
void pg_session_drop(struct pg_session *session);
bool pg_session_alive(struct pg_session *session); // as far as can be seen without asking
void pg_session_reset(struct pg_session *session); // forgets the failure; ends a transaction that is left open
void pg_fail(struct pg_session *session, enum pg_class class, enum err err, const char *why);

// A statement: its text is put together, parameters are added, it is sent. In the text @ stands for the schema.
void pg_begin_query(struct pg_session *session);
void pg_put(struct pg_session *session, const char *sql);
int pg_param_int(struct pg_session *session, int64_t value); // its number
int pg_param_text(struct pg_session *session, struct str text);
int pg_param_bytes(struct pg_session *session, struct str bytes);
int pg_param_ints(struct pg_session *session, const int64_t *values, size_t count);
void pg_put_rows(struct pg_session *session, const struct pg_rows *rows); // as a SELECT in brackets, of all columns and `no`
void pg_send(struct pg_session *session, pg_reader *read, void *ctx);
void pg_sync(struct pg_session *session); // waits for the answers of everything sent

void pg_begin(struct pg_session *session, const char *begin); // BEGIN …, and what the session was not told
void pg_commit(struct pg_session *session);                   // and waits as above

// A fixed statement with whole numbers as $1 … $n.
void pg_run(struct pg_session *session, const char *sql, size_t count, const int64_t *values, pg_reader *read, void *ctx);
void pg_run_once(struct pg_session *session, const char *sql, pg_reader *read,
                 void *ctx); // a text of its own, as of a day's partition
#define pg_sql(session, sql, read, ctx, ...) \
    pg_run((session), (sql), sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__}, (read), (ctx))

int64_t pg_int(const PGresult *result, int row, int column); // of any width; 0 for NULL
struct str pg_bytes(const PGresult *result, int row, int column, struct arena *arena);

// ---- postgres/jobs.c: records

#define PG_NAME(name) "," #name
#define PG_NAME_OF_J(name) ",j." #name
#define PG_NAME_OF_U(name) ",u." #name
#define PG_NAME_OF_N(name) ",n." #name
#define PG_NAME_OF_H(name) ",h." #name
#define PG_NAME_OF_G(name) ",g." #name
#define PG_NAME_OF_S(name) ",s." #name

#define PG_JOB_COLUMNS "id" JOB_FIXED(PG_NAME) JOB_MOVING(PG_NAME) ",reason,response"
#define PG_JOB_OF_J "j.id" JOB_FIXED(PG_NAME_OF_J) JOB_MOVING(PG_NAME_OF_J) ",j.reason,j.response"
#define PG_JOB_OF_U "u.id" JOB_FIXED(PG_NAME_OF_U) JOB_MOVING(PG_NAME_OF_U) ",u.reason,u.response"

#define PG_TASK_OF_T "t.id, t.tenant, t.created_at, coalesce(t.updated_at,0), t.version, t.paused::int, l.queue, t.name, t.doc"
#define PG_ATTEMPTS_WITH(response) \
    "SELECT job_id, number, status, outcome, picked_at, started_at, completed_at, holder, reason, " response " FROM @attempts "
#define PG_ATTEMPTS PG_ATTEMPTS_WITH("0, NULL::bytea")

struct store_task pg_read_task(const PGresult *result, int row, int column, struct arena *arena);
void pg_read_attempts(void *ctx, const PGresult *result); // a pg_reader: by job id, into the struct store_get that has the jobs
// What is claimed or in hand has no lease and no result, so these are read only by those who may meet them, behind the others.
#define PG_LEASE_COLUMNS ",coalesce(j.touched_at,0) AS touched_at,j.lease_until,octet_length(j.result),"
#define PG_LISTED_RESULT "CASE WHEN octet_length(j.result)<=4096 THEN j.result END"
_Static_assert(STORE_LISTED_RESULT == 4096, "the SQL above says so");
int pg_read_lease(const PGresult *result, int row, int column, struct job *job, struct arena *arena); // as below

int pg_read_job(const PGresult *result, int row, int column, struct job *ret_job, struct arena *arena); // the column behind it
void pg_read_store_jobs(const PGresult *result, struct arena *arena, struct store_job **ret_jobs, size_t *ret_count);
void pg_rows_moving(struct pg_rows *rows, const struct job *const *jobs); // the columns a step writes, and `day`
void pg_rows_touched(struct pg_rows *rows, const struct job *const *jobs);
#define PG_TOUCH " touched_at=coalesce(nullif(h.touched_at,0),j.touched_at),"
void pg_rows_lease(struct pg_rows *rows, const struct job *const *jobs); // … and those of a lease
int32_t pg_day_of(const struct job *job);
void pg_make_days(struct pg_session *session, const struct job *const *jobs, size_t count); // partitions for those that are final

// Where a job of this lane and priority waits. One that is claimed stays there while it is in hand, which its state says, and one
// that came into a hand otherwise is at no place: so whatever brings it there or leaves it there changes nothing that an index
// has. `kept` is the place it has.
#define PG_PLACE(state, lane, priority, kept) \
    "CASE WHEN " state " IN (1,2) THEN " lane "*16+9-" priority " WHEN " state " IN (3,4) THEN " kept " END"
// What is in whose hand is found by way of `hands`, which lists all that came into one, and more. Whoever brings jobs (id,
// holder) into a hand adds to it; `remain` is how many of them say in which row they are (jobs.hand), or NULL: none does.
#define PG_HOLD(remain, jobs)                                                                      \
    "INSERT INTO @hands(holder,look_at,remain,ids) SELECT q.holder, " PG_CLOCK_MS "+3000, " remain \
    ", array_agg(q.id) FROM (" jobs ") q GROUP BY q.holder ORDER BY q.holder RETURNING number, holder"
#define PG_IN_HAND_OF(holder) "j.holder=" holder " AND j.state IN (3,4) AND j.lease_until=0"
#define PG_HAND_OF(holder) \
    "SELECT x.id FROM @hands h CROSS JOIN LATERAL unnest(h.ids) x(id) WHERE h.holder=" holder " AND h.remain IS DISTINCT FROM 0"

// The rows whose id is among those: each is looked up by the index. In a join with a list PostgreSQL would read all of a table
// that is not large yet, for every batch again.
#define PG_ANY(ids) "ANY(ARRAY(" ids "))"
// The row with this id, in a join with a batch. It is not an equation, so PostgreSQL has no other way to join them than to look
// up each row of the batch, in their order; and it knows that there is one such row, so it does that by the id.
#define PG_IS(id, other) id "=ANY(ARRAY[" other "])"
#define PG_DOC_OF(job) "(SELECT t.doc FROM @tasks t WHERE t.id=" job ".task_id)"
#define PG_DOC_TO_RUN(job) "(SELECT t.doc FROM @tasks t WHERE t.id=" job ".task_id AND NOT t.paused)"

// The row of `meta` that says that a document of STORE_SMALL_DOC bytes or more has been stored, ever.
#define PG_LARGE "large_docs"
void pg_note_large(struct pg_session *session); // within the transaction that stores one, before it locks anything

#define PG_CLOCK_MS "floor(extract(epoch FROM clock_timestamp())*1000)::bigint" // the server's

// Lowers the floors of lanes in which jobs (lane, due_at) are to wait from now on. Lanes are locked in order of id, so that two
// who do this do not wait for each other in a circle.
#define PG_LOWER_FLOORS(jobs)                                                                                                   \
    "UPDATE @lanes l SET floor=least(l.floor,x.due_at), floor_new=least(l.floor_new,x.due_at), "                                \
    "floor_old=least(l.floor_old,x.due_at)"                                                                                     \
    " FROM (SELECT l.id, m.due_at FROM (SELECT q.lane, min(q.due_at) AS"                                                        \
    " due_at FROM (" jobs ") q GROUP BY q.lane) m JOIN @lanes l ON l.id=m.lane WHERE l.floor>m.due_at ORDER BY l.id FOR UPDATE" \
    " OF l) x WHERE l.id=x.id"

// Adds up moves (lane, state, n) into the session's own rows; $1 is its slot, which is another every few seconds: a row that is
// updated again and again keeps all its versions while anybody holds a snapshot, and who updates it goes through all of them. A
// sweep adds what was counted in past periods to slot 0.
enum { PG_SLOTS = 16384 };
#define PG_COUNT(moves)                                                                                                    \
    "INSERT INTO @counts AS o(slot,lane,state,jobs) SELECT $1, coalesce(m.lane,0), m.state, sum(m.n)::bigint FROM (" moves \
    ") m GROUP BY GROUPING SETS ((m.lane,m.state),(m.state)) HAVING sum(m.n)<>0 ORDER BY 2,3 ON CONFLICT(lane,state,slot)" \
    " DO UPDATE SET jobs=o.jobs+excluded.jobs"
// The moves of jobs that were counted (lane, was, state, n) before: of a batch there are few.
#define PG_MOVES(counted) \
    "SELECT q.lane, v.state, v.n FROM (" counted ") q CROSS JOIN LATERAL (VALUES (q.was,-q.n),(q.state,q.n)) v(state,n)"
// Whether a lane is there, as far as it was not dropped. Who drops it removes its rows of states that are not final, which add up
// to nothing, and whoever adds such a job writes one (slot 0 keeps it when a sweep adds it up). So an add that comes at the same
// time brings the lane back, and neither looks at its row nor waits for it. It is no EXISTS, for which PostgreSQL might read all
// counters instead of looking up those of one lane.
#define PG_SHOWN(lane) "(NOT " lane ".dropped OR (SELECT true FROM @counts s WHERE s.lane=" lane ".id AND s.state<5 LIMIT 1))"
int64_t pg_period(void);
int64_t pg_slot(const struct pg_session *session);
enum pg_look pg_look(struct pg_session *session); // which one it is time for

// ---- postgres/tags.c: what tasks and jobs are found by

struct str pg_tags_text(const struct store_task *task, struct arena *arena); // an array, as text; none is empty
void pg_tags_fill(struct pg_session *session);             // of all tasks that were stored before there were tags
void pg_lock_task(struct pg_session *session, int64_t id); // by who changes it or its tags, before any of its jobs is locked

// Rows of tags, from a list of keys (tenant, tags, at, id) with the tags of their tasks.
#define PG_TAGS_OF(keys) "SELECT k.tenant, x.tag, k.at, k.id FROM (" keys ") k CROSS JOIN LATERAL unnest(k.tags) x(tag)"
#define PG_TAGS_OF_JOBS(keys) \
    "SELECT k.tenant, x.tag+1 AS tag, k.at, k.id FROM (" keys ") k CROSS JOIN LATERAL unnest(k.tags) x(tag)"
// Removes such rows. Each is looked up by the index, however many there are.
#define PG_REMOVE_TAGS(rows) \
    "DELETE FROM @tags g USING (" rows ") r WHERE g.tenant=r.tenant AND g.tag=r.tag AND g.at=r.at AND g.id=r.id"
#define PG_ADD_TAGS(rows) "INSERT INTO @tags(tenant,tag,at,id) " rows " ON CONFLICT DO NOTHING"

// ---- the verbs: each runs a group of operations in one transaction

void pg_forget_lanes(struct pg_session *session);
void pg_add_group(struct pg_session *session, struct list *group);
void pg_change_group(struct pg_session *session, struct list *group);
void pg_tend_group(struct pg_session *session, struct list *group);
void pg_read_group(struct pg_session *session, struct list *group);

void pg_claim_send(struct pg_session *session, struct store_op *op);
void pg_amend_send(struct pg_session *session, struct store_op *op);
void pg_remove_send(struct pg_session *session, struct store_op *op);
void pg_due_send(struct pg_session *session, struct store_op *op);
void pg_list_send(struct pg_session *session, struct store_op *op); // waits for its answer: the next question follows from it
void pg_sweep_run(struct pg_session *session, struct store_op *op);
void pg_tally_send(struct pg_session *session, struct store_op *op);
void pg_series_send(struct pg_session *session, struct store_op *op);
void pg_tell_send(struct pg_session *session, struct store_op *op);
void pg_hear_send(struct pg_session *session, struct store_op *op);
void pg_sweep_news_send(struct pg_session *session, const struct store_sweep *sweep, int64_t max);

enum pg_lock { PG_LOCK_SCHEMA, PG_LOCK_LANES, PG_LOCK_NODES, PG_LOCK_SWEEP, PG_LOCK_TURN };
int64_t pg_lock_key(const struct pg *pg, enum pg_lock lock); // of an advisory lock of this schema
void pg_lock(struct pg_session *session, enum pg_lock lock); // until the transaction ends

// ---- postgres/schema.c

// Brings the schema to what this binary knows, each step in a transaction of its own.
void pg_migrate(struct pg_session *session);
void pg_send_version(struct pg_session *session); // asks whether that still holds
