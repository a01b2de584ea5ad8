// The verbs of the tenders, and what they do in one transaction with claims: incarnations, pausing, sweeping.
//
// Fencing: who adds or claims locks its incarnation's row FOR KEY SHARE until it commits, and who declares it dead locks the row
// FOR UPDATE. One of the two comes first. A beat changes no key and waits for neither.
#include "core/id.h"
#include "store/postgres/postgres.h"

#include <stdio.h>

// ---- incarnations

static const char join_in[] =
    "WITH found AS (SELECT node, dead FROM @incarnations WHERE id=$1),"
    " free AS (SELECT min(n) AS node FROM generate_series(0,$2-1) n WHERE NOT EXISTS (SELECT FROM "
    "@incarnations i WHERE i.node=n)),"
    " made AS (INSERT INTO @incarnations(id,node,pulls,beat,dead) SELECT $1, node, $3<>0, 0, false FROM free"
    " WHERE node IS NOT NULL AND NOT EXISTS (SELECT FROM found) RETURNING node)"
    " SELECT node, dead::int, " PG_CLOCK_MS " FROM found UNION ALL SELECT node, 0, " PG_CLOCK_MS " FROM made";
static const char floor_of_ids[] =
    "SELECT greatest((SELECT max(id) FROM @tasks), (SELECT max(id) FROM @jobs), (SELECT max(id) FROM @jobs_done),"
    " (SELECT value FROM @meta WHERE name='id_floor'), 0)";

struct joining {
    struct pg_session *session;
    struct store_join *join;
};

// Who came first is asked for what it kept.
static const char keep_secret[] =
    "INSERT INTO @meta(name,value,bytes) VALUES('secret',0,decode($1,'hex')) ON CONFLICT(name) DO NOTHING";

static void read_secret(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    struct str kept = PQntuples(result) ? pg_bytes(result, 0, 0, &joining->session->arena) : (struct str){0};
    if (kept.n == sizeof joining->join->secret)
        memcpy(joining->join->secret, kept.p, kept.n);
}

static void send_secret(struct pg_session *session, struct joining *joining)
{
    char hex[2 * STORE_SECRET_SIZE + 1];
    for (size_t i = 0; i < STORE_SECRET_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", joining->join->secret[i]);
    pg_begin_query(session);
    pg_put(session, keep_secret);
    pg_param_text(session, str_of(hex));
    pg_send(session, NULL, NULL);
    pg_run(session, "SELECT bytes FROM @meta WHERE name='secret'", 0, NULL, read_secret, joining);
}

static void read_join(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    struct store_join *join = joining->join;
    bool found = PQntuples(result);
    if (!found || pg_int(result, 0, 1)) {
        store_op_fail(&join->op, ERR_FENCED, found ? "this incarnation was declared dead" : "all node numbers are in use");
        return;
    }
    join->node = (int)pg_int(result, 0, 0);
    join->clock_ms = pg_int(result, 0, 2);
}

static void read_floor(void *ctx, const PGresult *result)
{
    struct joining *joining = ctx;
    if (joining->join->op.err)
        return;
    joining->join->id_floor = pg_int(result, 0, 0);
    atomic_store(&joining->session->pg->node, joining->join->node);
}

static void send_join(struct pg_session *session, struct store_op *op)
{
    struct joining *joining = arena_alloc(&session->arena, sizeof *joining);
    *joining = (struct joining){session, container_of(op, struct store_join, op)};
    pg_lock(session, PG_LOCK_NODES);
    pg_sql(session, join_in, read_join, joining, joining->join->incarnation, ID_NODES, joining->join->pulls);
    pg_run(session, floor_of_ids, 0, NULL, read_floor, joining);
    send_secret(session, joining);
}

static void read_beat(void *ctx, const PGresult *result)
{
    struct store_beat *beat = ctx;
    if (PQntuples(result))
        beat->clock_ms = pg_int(result, 0, 0);
    else
        store_op_fail(&beat->op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
}

static void read_peers(void *ctx, const PGresult *result)
{
    struct store_beat *beat = ctx;
    for (int row = 0; row < PQntuples(result) && !beat->op.err; row++) {
        beat->peers = store_push(&beat->op.arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] = (struct store_peer){
            .incarnation = pg_int(result, row, 0),
            .beat = pg_int(result, row, 1),
            .dead = pg_int(result, row, 2),
            .pulls = pg_int(result, row, 3),
            .listens = pg_int(result, row, 4),
            .tells = pg_int(result, row, 5),
        };
    }
}

static void send_beat(struct pg_session *session, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (beat->in_turn)
        pg_lock(session, PG_LOCK_TURN);
    pg_sql(session,
           "UPDATE @incarnations SET beat=beat+1, listens=$2<>0, tells=$3<>0 WHERE id=$1 AND NOT dead RETURNING " PG_CLOCK_MS,
           read_beat, beat, beat->incarnation, beat->listens, beat->tells);
    pg_sql(session,
           "SELECT id, beat, dead::int, pulls::int, listens::int, tells::int FROM @incarnations WHERE id<>$1 ORDER BY id",
           read_peers, beat, beat->incarnation);
}

static const char bury_one[] = "WITH l AS MATERIALIZED (SELECT id, beat, dead FROM @incarnations WHERE id=$1 FOR UPDATE),"
                               " u AS (UPDATE @incarnations i SET dead=true FROM l WHERE i.id=l.id AND NOT l.dead AND l.beat=$2)"
                               " SELECT beat, dead::int FROM l";

static void read_bury(void *ctx, const PGresult *result)
{
    struct store_bury *bury = ctx;
    if (PQntuples(result) && !pg_int(result, 0, 1) && pg_int(result, 0, 0) != bury->beat)
        store_op_fail(&bury->op, ERR_LEASE_LOST, "it has beaten since");
}

static void send_bury(struct pg_session *session, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    pg_sql(session, bury_one, read_bury, bury, bury->incarnation, bury->beat);
}

// The lock comes in a statement of its own, so that the next one sees what was claimed until then.
static void read_left(void *ctx, const PGresult *result)
{
    struct store_forget *forget = ctx;
    if (PQntuples(result))
        store_op_fail(&forget->op, ERR_LEASE_LOST, "it still holds jobs");
}

static void send_forget(struct pg_session *session, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    pg_sql(session, "SELECT 1 FROM @incarnations WHERE id=$1 FOR UPDATE", NULL, NULL, forget->incarnation);
    pg_sql(session,
           "DELETE FROM @incarnations WHERE id=$1 AND NOT EXISTS (SELECT FROM @jobs j"
           " WHERE j.id=" PG_ANY(PG_HAND_OF("$1")) " AND " PG_IN_HAND_OF("$1") ")",
           NULL, NULL, forget->incarnation);
    pg_sql(session, "DELETE FROM @hands WHERE holder=$1 AND NOT EXISTS (SELECT FROM @incarnations WHERE id=$1)", NULL, NULL,
           forget->incarnation);
    pg_sql(session, "DELETE FROM @asks WHERE holder=$1 AND NOT EXISTS (SELECT FROM @incarnations WHERE id=$1)", NULL, NULL,
           forget->incarnation);
    pg_sql(session, "SELECT 1 FROM @incarnations WHERE id=$1", read_left, forget, forget->incarnation);
}

// ---- owners and wishes

// The row of the term is what two who divide at once meet at; the later one finds that the term has moved, and does nothing.
// $1 term, $2 buckets, $3 pullers.
// clang-format off
static const char divide_anew[] =
    "WITH n AS MATERIALIZED (SELECT unnest($2::bigint[])::int AS bucket, unnest($3::bigint[]) AS puller),"
    " t AS (INSERT INTO @meta AS m(name,value) SELECT 'term', 1 WHERE $1=0 OR EXISTS (SELECT FROM @meta WHERE name='term')"
    " ON CONFLICT(name) DO UPDATE SET value=m.value+1 WHERE m.value=$1 RETURNING value),"
    " d AS (DELETE FROM @owners o WHERE EXISTS (SELECT FROM t)"
    " AND NOT EXISTS (SELECT FROM n WHERE n.bucket=o.bucket AND n.puller=o.puller)),"
    " i AS (INSERT INTO @owners(bucket,puller,term) SELECT n.bucket, n.puller, t.value FROM n, t"
    " ON CONFLICT(bucket,puller) DO UPDATE SET term=excluded.term)"
    " SELECT value FROM t";
// clang-format on

static void read_divide(void *ctx, const PGresult *result)
{
    struct store_divide *divide = ctx;
    if (!PQntuples(result))
        store_op_fail(&divide->op, ERR_LEASE_LOST, "they were divided by another meanwhile");
}

static void send_divide(struct pg_session *session, struct store_op *op)
{
    struct store_divide *divide = container_of(op, struct store_divide, op);
    int64_t *buckets = arena_array(&session->arena, int64_t, divide->owner_count);
    int64_t *pullers = arena_array(&session->arena, int64_t, divide->owner_count);
    for (size_t i = 0; i < divide->owner_count; i++) {
        buckets[i] = divide->owners[i].bucket;
        pullers[i] = divide->owners[i].puller;
    }
    pg_begin_query(session);
    pg_put(session, divide_anew);
    pg_param_int(session, divide->term);
    pg_param_ints(session, buckets, divide->owner_count);
    pg_param_ints(session, pullers, divide->owner_count);
    pg_send(session, read_divide, divide);
}

static void read_ask(void *ctx, const PGresult *result)
{
    struct store_ask *ask = ctx;
    if (!PQntuples(result))
        store_op_fail(&ask->op, ERR_LEASE_LOST, "there is no such incarnation any more");
}

// FOR KEY SHARE: who forgets the incarnation comes before it or behind.
static void send_ask(struct pg_session *session, struct store_op *op)
{
    struct store_ask *ask = container_of(op, struct store_ask, op);
    pg_sql(session,
           "WITH i AS MATERIALIZED (SELECT id FROM @incarnations WHERE id=$1 FOR KEY SHARE)"
           " INSERT INTO @asks AS a(holder,job_id,tenant,wish) SELECT id, $2, $3, $4 FROM i"
           " ON CONFLICT(holder,job_id) DO UPDATE SET wish=least(a.wish,excluded.wish) RETURNING 1",
           read_ask, ask, ask->holder, ask->job.job_id, ask->job.tenant, (int64_t)ask->job.wish);
}

static void read_asked(void *ctx, const PGresult *result)
{
    struct store_asked *asked = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        asked->jobs = store_push(&asked->op.arena, asked->jobs, asked->job_count, sizeof *asked->jobs);
        asked->jobs[asked->job_count++] = (struct store_asked_job){.job_id = pg_int(result, row, 0),
                                                                   .tenant = (int32_t)pg_int(result, row, 1),
                                                                   .wish = (enum store_wish)pg_int(result, row, 2)};
    }
}

static void send_asked(struct pg_session *session, struct store_op *op)
{
    struct store_asked *asked = container_of(op, struct store_asked, op);
    pg_sql(session,
           "WITH g AS (DELETE FROM @asks WHERE holder=$1 AND job_id=" PG_ANY(
               "SELECT job_id FROM @asks WHERE holder=$1 ORDER BY job_id LIMIT $2 FOR UPDATE SKIP LOCKED") " RETURNING job_id, "
                                                                                                           "tenant, wish)"
                                                                                                           " SELECT * FROM g "
                                                                                                           "ORDER BY job_id",
           read_asked, asked, asked->holder, asked->max > INT32_MAX ? INT32_MAX : (int64_t)asked->max);
}

// ---- lanes

static void read_pause(void *ctx, const PGresult *result)
{
    ((struct store_pause *)ctx)->lane = pg_int(result, 0, 0);
}

static void send_pause(struct pg_session *session, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    pg_lock(session, PG_LOCK_LANES);
    pg_begin_query(session);
    pg_put(session, "INSERT INTO @lanes(id,tenant,queue,paused) SELECT coalesce(max(id),0)+1, $1, $3, $2<>0 FROM @lanes"
                    " ON CONFLICT(tenant,queue) DO UPDATE SET paused=excluded.paused, dropped=false RETURNING id");
    pg_param_int(session, pause->tenant);
    pg_param_int(session, pause->paused);
    pg_param_text(session, pause->queue);
    pg_send(session, read_pause, pause);
}

// $1 tenant, $2 queue. `open` are the rows that PG_SHOWN looks for, locked: nobody adds to them until this is decided. Rows that
// are written meanwhile are not among them, and stay. If those that are add up to nothing in each state, they can go.
static const char drop_lane[] =
    "WITH lane AS MATERIALIZED (SELECT id, paused, dropped FROM @lanes WHERE tenant=$1 AND queue=$2 FOR UPDATE),"
    " open AS MATERIALIZED (SELECT lane, state, slot, jobs FROM @counts WHERE lane=(SELECT id FROM lane) AND state<5"
    " ORDER BY state, slot FOR UPDATE),"
    " found AS MATERIALIZED (SELECT id, paused, NOT dropped OR EXISTS (SELECT FROM open) AS shown,"
    " coalesce((SELECT sum(jobs) FROM open),0)::bigint AS jobs,"
    " EXISTS (SELECT FROM open GROUP BY state HAVING sum(jobs)<>0) AS busy FROM lane),"
    " cleared AS (DELETE FROM @counts c USING open o, found f WHERE f.shown AND NOT f.paused AND NOT f.busy"
    " AND c.lane=o.lane AND c.state=o.state AND c.slot=o.slot),"
    " hidden AS (UPDATE @lanes l SET dropped=true FROM found f WHERE l.id=f.id AND f.shown AND NOT f.paused AND NOT f.busy)"
    " SELECT shown::int, CASE WHEN busy THEN greatest(jobs,1) ELSE 0 END, paused::int FROM found";

static void read_drop(void *ctx, const PGresult *result)
{
    bool known = PQntuples(result) && pg_int(result, 0, 0);
    store_drop_judge(ctx, known, known ? pg_int(result, 0, 1) : 0, known && pg_int(result, 0, 2));
}

// A sweep moves rows from slot to slot, so none is to be under way.
static void send_drop(struct pg_session *session, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    pg_lock(session, PG_LOCK_SWEEP);
    pg_begin_query(session);
    pg_put(session, drop_lane);
    pg_param_int(session, drop->tenant);
    pg_param_text(session, drop->queue);
    pg_send(session, read_drop, drop);
}

// ---- bulks

static void read_bulk(void *ctx, const PGresult *result)
{
    if (!PQntuples(result))
        store_op_fail(&((struct store_bulk *)ctx)->op, ERR_LEASE_LOST, "the bulk has changed meanwhile");
}

// $1 id, $2 tenant, $3 the version it had, $4 … the rest.
static const char write_bulk[] = "INSERT INTO @bulks AS b(id,tenant,version" BULK_MOVING(
    PG_NAME) ",next_at,next_id,doc) SELECT $1,$2,1,$4,$5,$6,$7,$8,$9,$10,"
             "$11,$12,$13,$14 WHERE $3=0 OR EXISTS (SELECT FROM @bulks WHERE id=$1)"
             " ON CONFLICT(id) DO UPDATE SET version=b.version+1, state=excluded.state, holder=excluded.holder, "
             "ended_at=excluded.ended_at,"
             " matched=excluded.matched, changed=excluded.changed, unchanged=excluded.unchanged, failed=excluded.failed,"
             " next_at=excluded.next_at, next_id=excluded.next_id WHERE b.version=$3 RETURNING 1";

static void send_bulk(struct pg_session *session, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    const struct store_bulk_row *row = &bulk->row;
#define X(name) , row->name
    int64_t values[] = {row->id, row->tenant, row->version BULK_MOVING(X), row->next.at, row->next.id};
#undef X
    pg_begin_query(session);
    pg_put(session, write_bulk);
    for (size_t i = 0; i < array_count(values); i++)
        pg_param_int(session, values[i]);
    pg_param_bytes(session, row->doc);
    pg_send(session, read_bulk, bulk);
    pg_sql(session, "DELETE FROM @bulks WHERE state>0 AND ended_at<$1", NULL, NULL, bulk->forget_before);
}

// ---- sweeping

// What is due is found first, then the tasks of it are locked, and then it is locked and looked at again: whoever plans a job for
// another time or removes a task has the task before the job, too. What somebody else has goes another time.
// $1 now, $2 the day of now, $3 max.
static const char find_due[] = "SELECT j.task_id, j.id FROM @jobs_done j WHERE j.purge_at>0 AND j.purge_at<=$1 AND j.day<=$2"
                               " ORDER BY j.purge_at, j.id LIMIT $3";
static const char lock_tasks[] = "SELECT FROM @tasks WHERE id=ANY($1) ORDER BY id FOR UPDATE";
// $1 slot, $2 now, $3 the day of now, $4 the jobs.
// clang-format off
static const char remove_jobs[] =
    "WITH due AS MATERIALIZED (SELECT j.id FROM @jobs_done j WHERE j.id=ANY($4) AND j.purge_at>0 AND j.purge_at<=$2 AND j.day<=$3"
    " FOR UPDATE SKIP LOCKED),"
    " g AS (DELETE FROM @jobs_done j WHERE j.day<=$3 AND j.id=" PG_ANY("SELECT id FROM due")
    " RETURNING j.id, j.task_id, j.lane, j.state, j.scheduled_at),"
    " a AS (DELETE FROM @attempts a WHERE a.job_id=" PG_ANY("SELECT id FROM g") "),"
    " e AS (DELETE FROM @extras e WHERE e.id=" PG_ANY("SELECT id FROM g WHERE id<>task_id") "),"
    " f AS (INSERT INTO @meta AS o(name,value) SELECT 'id_floor', max(greatest(g.id,g.task_id)) FROM g HAVING count(*)>0"
    " ON CONFLICT(name) DO UPDATE SET value=greatest(o.value,excluded.value)),"
    " c AS (" PG_COUNT("SELECT g.lane, g.state, -1 AS n FROM g") ") SELECT task_id, id, scheduled_at FROM g";
// clang-format on
// $1 the tasks some of whose jobs went; with $2 the ids of these and $3 when they were planned for, or behind keys_until.
static const char remove_tags[] = PG_REMOVE_TAGS(
    PG_TAGS_OF_JOBS("SELECT t.tenant, t.tags, j.at, j.id FROM unnest($1::bigint[],$2::bigint[],$3::bigint[]) j(task_id,id,at)"
                    " JOIN (SELECT id, tenant, tags FROM @tasks WHERE id=ANY($1) AND tags IS NOT NULL) t ON t.id=j.task_id"));
static const char remove_tasks[] =
    "WITH g AS (DELETE FROM @tasks t WHERE t.id=ANY($2) AND NOT EXISTS (SELECT FROM @extras e WHERE e.task_id=t.id)"
    " AND NOT EXISTS (SELECT FROM @jobs j WHERE j.id=t.id AND j.task_id=t.id)"
    " AND NOT EXISTS (SELECT FROM @jobs_done d WHERE d.id=t.id AND d.task_id=t.id) RETURNING t.id, t.tenant, t.key, t.tags),"
    " untag AS (" PG_REMOVE_TAGS(
        PG_TAGS_OF("SELECT tenant, tags, 0::bigint AS at, id FROM g WHERE tags IS NOT NULL")) ")"
                                                                                              " UPDATE @keys k SET loose=true, "
                                                                                              "until=$1 FROM g WHERE "
                                                                                              "k.tenant=g.tenant AND k.key=g.key";
static const char remove_keys[] =
    "DELETE FROM @keys k USING (SELECT tenant,key FROM @keys WHERE loose AND until<=$1 ORDER BY until,tenant,key LIMIT $2) s"
    " WHERE k.tenant=s.tenant AND k.key=s.key";
static const char past_days[] =
    "SELECT substring(c.relname from '^jobs_done_([0-9]+)$')::bigint FROM pg_inherits i JOIN pg_class c ON c.oid=i.inhrelid"
    " JOIN pg_class p ON p.oid=i.inhparent JOIN pg_namespace n ON n.oid=p.relnamespace WHERE n.nspname=$2 AND "
    "p.relname='jobs_done'"
    " AND substring(c.relname from '^jobs_done_([0-9]+)$')::bigint BETWEEN 1 AND $1-1 ORDER BY 1 LIMIT 8";

// $1 the period, $2 max. Who still counts in a past one is left alone.
static const char fold_counts[] =
    "WITH f AS MATERIALIZED (SELECT lane, state, slot FROM @counts WHERE slot/16384 NOT IN (0,$1,$1-1) LIMIT $2 FOR UPDATE SKIP"
    " LOCKED), g AS (DELETE FROM @counts c USING f WHERE c.lane=f.lane AND c.state=f.state AND c.slot=f.slot"
    " RETURNING c.lane, c.state, c.jobs), b AS (INSERT INTO @counts AS o(slot,lane,state,jobs) SELECT 0, lane, state,"
    " sum(jobs)::bigint FROM g GROUP BY lane, state ON CONFLICT(lane,state,slot) DO UPDATE SET jobs=o.jobs+excluded.jobs) SELECT "
    "count(*) FROM g";
_Static_assert(PG_SLOTS == 16384, "the SQL reckons periods with it");

// Of what came into hands a while ago, only what is still there is kept: nothing of a batch whose jobs have all ended; of others
// it is looked up, but not before they had a minute to end. $1 max.
// clang-format off
static const char clear_hands[] =
    "WITH o AS MATERIALIZED (SELECT number, holder, ids, CASE WHEN remain=0 THEN 0 WHEN remain>0 AND looks<5 THEN 1 ELSE 2 END AS how"
    " FROM @hands WHERE look_at<(SELECT " PG_CLOCK_MS ") ORDER BY look_at LIMIT $1 FOR UPDATE SKIP LOCKED),"
    " k AS MATERIALIZED (SELECT o.number, o.how, CASE WHEN o.how=2 THEN"
    " ARRAY(SELECT j.id FROM @jobs j WHERE j.id=ANY(o.ids) AND " PG_IN_HAND_OF("o.holder") ") END AS ids FROM o),"
    " d AS (DELETE FROM @hands h WHERE h.number=" PG_ANY("SELECT number FROM k WHERE how=0 OR cardinality(ids)=0") ")"
    " UPDATE @hands h SET ids=coalesce(k.ids,h.ids), look_at=" PG_CLOCK_MS "+10000, looks=looks+1 FROM k"
    " WHERE " PG_IS("h.number", "k.number") " AND k.how>0 AND (k.how=1 OR cardinality(k.ids)>0)";
// clang-format on

struct sweeping {
    struct store_sweep *sweep;
    struct arena *arena;
    bool alone;
    int64_t *values; // the tasks of jobs that went; or days
    int64_t *jobs, *times;
    size_t count;
};

static void read_alone(void *ctx, const PGresult *result)
{
    ((struct sweeping *)ctx)->alone = pg_int(result, 0, 0);
}

static void read_values(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    sweeping->count = (size_t)PQntuples(result);
    sweeping->values = arena_array(sweeping->arena, int64_t, sweeping->count);
    for (int row = 0; row < PQntuples(result); row++)
        sweeping->values[row] = pg_int(result, row, 0);
}

static void read_due(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    read_values(ctx, result);
    sweeping->jobs = arena_array(sweeping->arena, int64_t, sweeping->count);
    for (int row = 0; row < PQntuples(result); row++)
        sweeping->jobs[row] = pg_int(result, row, 1);
}

static void read_removed(void *ctx, const PGresult *result)
{
    struct sweeping *sweeping = ctx;
    read_due(ctx, result);
    sweeping->times = arena_array(sweeping->arena, int64_t, sweeping->count);
    for (int row = 0; row < PQntuples(result); row++)
        sweeping->times[row] = pg_int(result, row, 2);
}

// Takes the jobs that are due and then those of them that it removed, with their tasks.
static void remove_due(struct pg_session *session, struct sweeping *sweeping, int64_t now_ms, int64_t today, int64_t max)
{
    pg_sql(session, find_due, read_due, sweeping, now_ms, today, max);
    pg_sync(session);
    if (session->err || !sweeping->count)
        return;
    pg_begin_query(session);
    pg_put(session, lock_tasks);
    pg_param_ints(session, sweeping->values, sweeping->count);
    pg_send(session, NULL, NULL);
    pg_begin_query(session);
    pg_put(session, remove_jobs);
    pg_param_int(session, pg_slot(session));
    pg_param_int(session, now_ms);
    pg_param_int(session, today);
    pg_param_ints(session, sweeping->jobs, sweeping->count);
    pg_send(session, read_removed, sweeping);
    pg_sync(session);
}

static void remove_tasks_of(struct pg_session *session, const struct sweeping *sweeping)
{
    pg_begin_query(session);
    pg_put(session, remove_tags);
    pg_param_ints(session, sweeping->values, sweeping->count);
    pg_param_ints(session, sweeping->jobs, sweeping->count);
    pg_param_ints(session, sweeping->times, sweeping->count);
    pg_send(session, NULL, NULL);
    pg_begin_query(session);
    pg_put(session, remove_tasks);
    pg_param_int(session, sweeping->sweep->keys_until);
    pg_param_ints(session, sweeping->values, sweeping->count);
    pg_send(session, NULL, NULL);
}

static void read_empty(void *ctx, const PGresult *result)
{
    *(bool *)ctx = PQntuples(result) == 0;
}

// A day that has passed and is empty goes. The lock is asked for only briefly, for others wait behind it; then it goes another
// time.
static void drop_day(struct pg_session *session, int64_t day)
{
    char sql[120];
    bool empty = false;
    pg_begin(session, "BEGIN");
    pg_run(session, "SET LOCAL lock_timeout='100ms'", 0, NULL, NULL, NULL);
    pg_run(session, "LOCK TABLE @jobs_done IN ACCESS EXCLUSIVE MODE", 0, NULL, NULL, NULL);
    snprintf(sql, sizeof sql, "SELECT 1 FROM @jobs_done_%lld LIMIT 1", (long long)day);
    pg_run_once(session, sql, read_empty, &empty);
    pg_sync(session);
    snprintf(sql, sizeof sql, "DROP TABLE @jobs_done_%lld", (long long)day);
    if (empty)
        pg_run_once(session, sql, NULL, NULL);
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
}

// The sweep is done and committed: that a day could not be dropped does not undo it.
static void drop_days(struct pg_session *session, struct sweeping *sweeping, int64_t today)
{
    pg_begin_query(session);
    pg_put(session, past_days);
    pg_param_int(session, today);
    pg_param_text(session, str_of(session->pg->schema_name));
    pg_send(session, read_values, sweeping);
    pg_sync(session);
    for (size_t i = 0; i < sweeping->count && !session->err; i++)
        drop_day(session, sweeping->values[i]);
    if (!session->err)
        return;
    pg_session_reset(session);
    session->err = ERR_OK;
}

enum { FOLD_MAX = 5000, HANDS_MAX = 2000 };

static void read_folded(void *ctx, const PGresult *result)
{
    enum { FOLD_WAIT_MS = 60000 };
    struct pg_session *session = ctx;
    if (pg_int(result, 0, 0) < FOLD_MAX)
        session->fold_at = clock_mono_ns() / 1000000 + FOLD_WAIT_MS;
}

void pg_sweep_run(struct pg_session *session, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    struct sweeping sweeping = {.sweep = sweep, .arena = &session->arena};
    int64_t max = sweep->max > INT32_MAX ? INT32_MAX : (int64_t)sweep->max, today = sweep->now_ms / PG_DAY_MS + 1;
    pg_begin(session, "BEGIN");
    pg_sql(session, "SELECT pg_try_advisory_xact_lock($1)::int", read_alone, &sweeping, pg_lock_key(session->pg, PG_LOCK_SWEEP));
    pg_sync(session);
    if (!session->err && sweeping.alone) {
        remove_due(session, &sweeping, sweep->now_ms, today, max);
        sweep->removed = sweeping.count;
        if (sweeping.count)
            remove_tasks_of(session, &sweeping);
        pg_sql(session, remove_keys, NULL, NULL, sweep->now_ms, max);
        pg_sweep_news_send(session, sweep, max);
        pg_sql(session, clear_hands, NULL, NULL, HANDS_MAX);
        if (clock_mono_ns() / 1000000 >= session->fold_at)
            pg_sql(session, fold_counts, read_folded, session, pg_period(), FOLD_MAX);
    }
    pg_commit(session);
    if (!session->err && sweeping.alone && sweeping.count < (size_t)max)
        drop_days(session, &sweeping, today);
}

// ---- the group

static void (*const sends[STORE_VERB_COUNT])(struct pg_session *session, struct store_op *op) = {
    [STORE_JOIN] = send_join,      [STORE_BEAT] = send_beat,    [STORE_BURY] = send_bury,        [STORE_FORGET] = send_forget,
    [STORE_DIVIDE] = send_divide,  [STORE_ASK] = send_ask,      [STORE_ASKED] = send_asked,      [STORE_PAUSE] = send_pause,
    [STORE_CLAIM] = pg_claim_send, [STORE_DUE] = pg_due_send,   [STORE_AMEND] = pg_amend_send,   [STORE_BULK] = send_bulk,
    [STORE_TALLY] = pg_tally_send, [STORE_TELL] = pg_tell_send, [STORE_REMOVE] = pg_remove_send, [STORE_DROP] = send_drop,
};

// A sweep is a group of its own (see take_group in postgres/postgres.c), because it needs to see one answer before it asks on.
void pg_tend_group(struct pg_session *session, struct list *group)
{
    struct store_op *first = list_entry(group->next, struct store_op, link);
    if (first->verb == STORE_SWEEP) {
        pg_sweep_run(session, first);
        return;
    }
    pg_begin(session, "BEGIN");
    list_each (group, node) {
        struct store_op *op = list_entry(node, struct store_op, link);
        sends[op->verb](session, op);
    }
    pg_commit(session);
}
