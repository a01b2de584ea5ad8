// CLAIM and DUE: what takes jobs from their lanes, or makes them ready there.
//
// A claim is one statement for all lanes it wants. For each it goes through the ten places of the lane, and stops where it has
// enough; rows that somebody else has locked are left out, never waited for. The CTE is MATERIALIZED, or the limit might be
// exceeded. What a claim does to a record is asked of core once, and the statement does the same.
//
// Where a want has a bound of bytes, the sizes of the documents are looked up, but only in a database that has ever had a large
// one (a row of `meta`, which who adds it writes): else every claim would pay for what nobody uses.
//
// The documents are read by a statement behind it, which therefore sees what was committed before the rows were locked. In the
// claim itself they would be as old as its snapshot, though a row that an AMEND changed meanwhile is taken as it is now: a job
// would run as its task was before a change that had long been answered.
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>

static const char fence[] = "SELECT 1 FROM @incarnations WHERE id=$1 AND NOT dead FOR KEY SHARE";

// clang-format off

// Who does not know from where on there is something is told where there is nothing.
#define LOOK_FROM "CASE WHEN s.from_ms>0 THEN s.from_ms ELSE l.floor_old END"
// Of a millisecond with very many jobs, those that are in hand or gone are passed without being looked at.
#define FROM_ON(floor, from_id) "(j.due_at,j.id)>=(" floor "," from_id ")"

// What a claim leaves as it was, and the token. The rest of a record is the same for all that are claimed.
#define KEPT(X) \
    X(id) JOB_FIXED(X) X(token) X(due_at) X(ready_at) X(scheduled_at) X(expires_at) X(purge_at) X(attempts) X(retries) X(losses) \
    X(late_stage)

// $1 slot, $2 holder, $3 now, $4 until, $5 the state after, $6 by how much the token grows; then the wants. Rows come in the order
// in which they were found and locked, and so do their documents.
static const char claim_from[] = "WITH w AS MATERIALIZED (SELECT s.*, " LOOK_FROM " AS floor FROM ";
static const char claim_picked[] =
    " s JOIN @lanes l ON l.id=s.lane WHERE NOT l.paused AND s.max>0"
    " AND EXISTS (SELECT FROM @incarnations WHERE id=$2 AND NOT dead)),"
    " f AS MATERIALIZED (SELECT w.lane, w.bytes, x.id, x.state, x.task_id FROM w CROSS JOIN LATERAL (SELECT y.id, y.state, y.task_id"
    " FROM generate_series(w.lane*16, w.lane*16+9) g CROSS JOIN LATERAL (SELECT j.id, j.state, j.task_id FROM @jobs j WHERE j.waits_at=g"
    " AND j.state IN (1,2) AND " FROM_ON("w.floor", "w.from_id") " AND j.due_at<=$4 ORDER BY j.due_at, j.id LIMIT w.max FOR UPDATE SKIP LOCKED) y LIMIT w.max) x),"
    " large AS MATERIALIZED (SELECT EXISTS (SELECT FROM @meta WHERE name='" PG_LARGE "') AS seen),"
    " sized AS (SELECT f.*, row_number() OVER () AS no, coalesce(octet_length(" PG_DOC_TO_RUN("f") "),0) AS size FROM f"
    " WHERE (SELECT seen FROM large)),"
    " summed AS (SELECT sized.*, sum(size) OVER (PARTITION BY lane ORDER BY no) AS bytes_upto, min(no) OVER (PARTITION BY lane) AS first"
    " FROM sized),"
    " p AS MATERIALIZED (SELECT lane, id, state FROM f WHERE NOT (SELECT seen FROM large)"
    " UNION ALL SELECT lane, id, state FROM summed WHERE bytes=0 OR bytes_upto<=bytes OR no=first),"
    " i AS (INSERT INTO @hands(holder,look_at,remain,ids) SELECT $2, " PG_CLOCK_MS "+3000, count(*), array_agg(id) FROM p"
    " HAVING count(*)>0 RETURNING number),"
    " u AS (UPDATE @jobs j SET state=$5, token=j.token+$6, holder=$2, hand=(SELECT number FROM i), picked_at=$3, started_at=0, completed_at=0,"
    " status=0, outcome=0, response_truncated=0, reason=NULL, response=NULL FROM p WHERE " PG_IS("j.id", "p.id")
    " RETURNING 0" KEPT(PG_NAME_OF_J) "),"
    " c AS (" PG_COUNT(PG_MOVES("SELECT lane, state AS was, $5 AS state, count(*) AS n FROM p GROUP BY 1,2")) "),"
    " k AS MATERIALIZED (SELECT set_config('rota.claimed', string_agg(u.task_id::text, ','), true) FROM u)"
    " SELECT 0" KEPT(PG_NAME_OF_U) " FROM k, u";
static const char claimed_docs[] =
    "SELECT " PG_DOC_TO_RUN("x") " FROM unnest(string_to_array(current_setting('rota.claimed', true), ',')::bigint[])"
    " WITH ORDINALITY x(task_id, no) ORDER BY x.no";

static const char next_due_from[] =
    "SELECT s.no, x.due_at, x.id FROM ";
static const char next_due[] =
    " s JOIN @lanes l ON l.id=s.lane CROSS JOIN LATERAL (SELECT y.due_at, y.id FROM generate_series(s.lane*16, s.lane*16+9) g"
    " CROSS JOIN LATERAL (SELECT j.due_at, j.id FROM @jobs j WHERE j.waits_at=g AND j.state IN (1,2) AND "
    FROM_ON(LOOK_FROM, "s.from_id") " ORDER BY j.due_at, j.id LIMIT 1) y ORDER BY y.due_at, y.id LIMIT 1) x";

// clang-format on

static void read_fence(void *ctx, const PGresult *result)
{
    struct store_claim *claim = ctx;
    if (!PQntuples(result))
        store_op_fail(&claim->op, ERR_FENCED, "the holder was declared dead, or is unknown");
}

// The wants of one statement: no lane comes twice.
struct part {
    struct store_claim *claim;
    struct store_want *wants;
    size_t count;
    struct job sample; // what a claim makes of a job of which nothing else is known
    size_t first_job;  // what it claimed is from here on
};

static void read_claimed(void *ctx, const PGresult *result)
{
    struct part *part = ctx;
    struct store_claim *claim = part->claim;
    part->first_job = claim->job_count;
    for (int row = 0; row < PQntuples(result) && !claim->op.err; row++) {
        claim->jobs = store_push(&claim->op.arena, claim->jobs, claim->job_count, sizeof *claim->jobs);
        struct job *job = &claim->jobs[claim->job_count].job;
        claim->jobs[claim->job_count++] = (struct store_job){.job = part->sample};
        int column = 1;
#define X(name) job->name = pg_int(result, row, column++);
        KEPT(X)
#undef X
    }
}

static size_t want_of(const struct part *part, int64_t lane)
{
    size_t at = 0;
    while (at < part->count && part->wants[at].lane != lane)
        at++;
    return at;
}

// < 0: a is handed out before b.
static int claim_order(const void *a, const void *b, void *ctx)
{
    const struct job *left = &((const struct store_job *)a)->job, *right = &((const struct store_job *)b)->job;
    if (left->lane != right->lane)
        return want_of(ctx, left->lane) < want_of(ctx, right->lane) ? -1 : 1;
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left->due_at != right->due_at)
        return left->due_at < right->due_at ? -1 : 1;
    return left->id < right->id ? -1 : left->id > right->id;
}

// They are found in this order, and only a plan nobody has seen yet would bring them in another.
static void put_in_order(struct part *part, struct store_job *jobs, size_t count)
{
    size_t sorted = 1;
    while (sorted < count && claim_order(&jobs[sorted - 1], &jobs[sorted], part) < 0)
        sorted++;
    if (sorted < count)
        qsort_r(jobs, count, sizeof *jobs, claim_order, part);
}

// In the order of the jobs. When none were claimed, these are of whoever claimed some in this transaction.
static void read_docs(void *ctx, const PGresult *result)
{
    struct part *part = ctx;
    struct store_claim *claim = part->claim;
    for (size_t i = part->first_job; i < claim->job_count; i++)
        claim->jobs[i].doc = pg_bytes(result, (int)(i - part->first_job), 0, &claim->op.arena);
    put_in_order(part, claim->jobs + part->first_job, claim->job_count - part->first_job);
}

static void read_next(void *ctx, const PGresult *result)
{
    const struct part *part = ctx;
    for (int row = 0; row < PQntuples(result) && !part->claim->op.err; row++) {
        struct store_want *want = &part->wants[pg_int(result, row, 0)];
        want->next_due = pg_int(result, row, 1);
        want->next_id = pg_int(result, row, 2);
    }
}

static void want_rows(struct pg_session *session, struct pg_rows *rows, const struct part *part)
{
    pg_rows_init(rows, &session->arena, part->count);
    int64_t *lanes = pg_rows_ints(rows, "lane"), *most = pg_rows_ints(rows, "max"), *from = pg_rows_ints(rows, "from_ms"),
            *ids = pg_rows_ints(rows, "from_id"), *bytes = pg_rows_ints(rows, "bytes");
    for (size_t i = 0; i < part->count; i++) {
        lanes[i] = part->wants[i].lane;
        from[i] = part->wants[i].from_ms;
        ids[i] = part->wants[i].from_id;
        bytes[i] = (int64_t)part->wants[i].bytes;
        most[i] = part->wants[i].max > INT32_MAX ? INT32_MAX : (int64_t)part->wants[i].max;
    }
}

static bool wants_any(const struct part *part)
{
    for (size_t i = 0; i < part->count; i++)
        if (part->wants[i].max)
            return true;
    return false;
}

static void send_part(struct pg_session *session, struct store_claim *claim, size_t first, size_t count)
{
    struct part *part = arena_alloc(&session->arena, sizeof *part);
    struct pg_rows rows;
    struct job sample = {.state = JOB_READY};
    enum err err = job_claim(&sample, claim->holder, claim->now_ms);
    assert(!err);
    *part = (struct part){.claim = claim, .wants = &claim->wants[first], .count = count, .sample = sample};
    want_rows(session, &rows, part);
    if (wants_any(part)) {
        pg_begin_query(session);
        int64_t values[] = {pg_slot(session), claim->holder, claim->now_ms, claim->until_ms, sample.state, sample.token};
        for (size_t i = 0; i < array_count(values); i++)
            pg_param_int(session, values[i]);
        pg_put(session, claim_from);
        pg_put_rows(session, &rows);
        pg_put(session, claim_picked);
        pg_send(session, read_claimed, part);
        pg_run(session, claimed_docs, 0, NULL, read_docs, part);
    }
    pg_begin_query(session);
    pg_put(session, next_due_from);
    pg_put_rows(session, &rows);
    pg_put(session, next_due);
    pg_send(session, read_next, part);
}

void pg_claim_send(struct pg_session *session, struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    struct map seen = {0};
    size_t first = 0;
    pg_sql(session, fence, read_fence, claim, claim->holder);
    for (size_t i = 0; i < claim->want_count; i++) {
        if (map_put(&seen, claim->wants[i].lane, session)) {
            send_part(session, claim, first, i - first);
            map_done(&seen);
            map_put(&seen, claim->wants[i].lane, session);
            first = i;
        }
    }
    if (first < claim->want_count)
        send_part(session, claim, first, claim->want_count - first);
    map_done(&seen);
}

// ---- becoming ready

// $1 slot, $2 lane, $3 from, $4 to, $5 from_id, $6 max. Of each place one more than wanted is looked at, to know whether there is
// more. Rows that are locked are waited for, in order of id as in a CHANGE; those that are no longer delayed then are left as
// they are.
// clang-format off
static const char make_ready[] =
    "WITH f AS MATERIALIZED (SELECT x.id, x.due_at, row_number() OVER (ORDER BY x.due_at, x.id) AS rank"
    " FROM generate_series($2*16, $2*16+9) g CROSS JOIN LATERAL ("
    "(SELECT j.id, j.due_at FROM @jobs j WHERE j.waits_at=g AND j.due_at=$3+1 AND j.due_at<=$4 AND j.id>$5 AND j.state=1"
    " ORDER BY j.due_at, j.id LIMIT $6+1) UNION ALL"
    " (SELECT j.id, j.due_at FROM @jobs j WHERE j.waits_at=g AND j.due_at>$3+1 AND j.due_at<=$4 AND j.state=1"
    " ORDER BY j.due_at, j.id LIMIT $6+1)) x ORDER BY x.due_at, x.id LIMIT $6+1),"
    " l AS MATERIALIZED (SELECT j.id FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM f WHERE rank<=$6")
    " AND j.state=1 AND j.due_at<=$4 ORDER BY j.id FOR UPDATE),"
    " u AS (UPDATE @jobs j SET state=2 WHERE j.id=" PG_ANY("SELECT id FROM l") " RETURNING j.lane),"
    " c AS (" PG_COUNT("SELECT u.lane, 1 AS state, -1 AS n FROM u UNION ALL SELECT u.lane, 2, 1 FROM u") ")"
    " SELECT (SELECT count(*) FROM f), (SELECT count(*) FROM u), f.due_at, f.id FROM (SELECT) AS one LEFT JOIN f ON f.rank=$6";
// clang-format on

static void read_due(void *ctx, const PGresult *result)
{
    struct store_due *due = ctx;
    size_t found = (size_t)pg_int(result, 0, 0);
    due->changed = (size_t)pg_int(result, 0, 1);
    if (found <= due->max) {
        due->upto_ms = due->to_ms;
        due->upto_id = 0;
    } else if (due->max) {
        due->upto_ms = pg_int(result, 0, 2) - 1;
        due->upto_id = pg_int(result, 0, 3);
    }
}

void pg_due_send(struct pg_session *session, struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    int64_t max = due->max > INT32_MAX ? INT32_MAX : (int64_t)due->max;
    pg_sql(session, make_ready, read_due, due, pg_slot(session), due->lane, due->from_ms, due->to_ms, due->from_id, max);
}
