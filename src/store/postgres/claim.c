// CLAIM and DUE: what takes jobs from their lanes, or makes them ready there.
//
// A claim is one statement for all lanes it wants. For each it goes through the ten places of the lane, and stops where it has
// enough; rows that somebody else has locked are left out, never waited for. The CTE is MATERIALIZED, or the limit might be
// exceeded. The backend asks core once what a claim does to a record, and the statement does the same.
//
// Where a want has a bound of bytes, the sizes of the documents are looked up, but only in a database that has ever had a large
// one (the transaction that adds it writes a row of `meta`): otherwise every claim would pay for what nobody uses.
//
// The documents are read by a statement behind it, which therefore sees what was committed before the rows were locked. In the
// claim itself they would be as old as its snapshot, though a row that an AMEND changed meanwhile is taken as it is now: a job
// would run as its task was before a change that had long been answered.
#include "store/postgres/postgres.h"

#include <assert.h>
#include <stdlib.h>

// clang-format off

// CLAIM, first: nobody declares the holder dead until this is committed. $1 holder.
static const char fence[] = "SELECT 1 FROM @incarnations WHERE id=$1 AND NOT dead FOR KEY SHARE";

// A want that names no time begins at the lane's old floor, below which nothing waits.
#define LOOK_FROM "CASE WHEN want.from_ms>0 THEN want.from_ms ELSE l.floor_old END"
// Of a millisecond with very many jobs, those that are in hand or gone are passed without being looked at.
#define FROM_ON(floor, from_id) "(j.due_at,j.id)>=(" floor "," from_id ")"

// CLAIM. $1 stripe, $2 holder, $3 now, $4 until, $5 the state after, $6 by how much the token grows; then the wants. Rows come in the
// order in which they were found and locked, and so do their documents, whose tasks `told` writes down for the next statement.
static const char claim_jobs[] =
    "WITH wanted AS MATERIALIZED (SELECT want.*, " LOOK_FROM " AS floor FROM {wants} want JOIN @lanes l ON l.id=want.lane"
    "   WHERE NOT l.paused AND want.max>0 AND EXISTS (SELECT FROM @incarnations WHERE id=$2 AND NOT dead)),"
    " found AS MATERIALIZED (SELECT wanted.lane, wanted.bytes, of_lane.id, of_lane.state, of_lane.task_id FROM wanted"
    "   CROSS JOIN LATERAL (SELECT at_place.id, at_place.state, at_place.task_id FROM " PG_PLACES_OF("wanted.lane") " place"
    "     CROSS JOIN LATERAL (SELECT j.id, j.state, j.task_id FROM @jobs j WHERE j.waits_at=place AND j.state IN {waiting}"
    "       AND " FROM_ON("wanted.floor", "wanted.from_id") " AND j.due_at<=$4"
    "       ORDER BY j.due_at, j.id LIMIT wanted.max FOR UPDATE SKIP LOCKED) at_place LIMIT wanted.max) of_lane),"
    " large AS MATERIALIZED (SELECT EXISTS (SELECT FROM @meta WHERE name='" PG_LARGE "') AS seen),"
    " sized AS (SELECT found.*, row_number() OVER () AS no, coalesce(octet_length(" PG_DOC_TO_RUN("found") "),0) AS size FROM found"
    "   WHERE (SELECT seen FROM large)),"
    " summed AS (SELECT sized.*, sum(size) OVER (PARTITION BY lane ORDER BY no) AS bytes_upto,"
    "   min(no) OVER (PARTITION BY lane) AS first FROM sized),"
    " picked AS MATERIALIZED (SELECT lane, id, state FROM found WHERE NOT (SELECT seen FROM large)"
    "   UNION ALL SELECT lane, id, state FROM summed WHERE bytes=0 OR bytes_upto<=bytes OR no=first),"
    " hand AS (INSERT INTO @hands(holder,look_at,remain,ids) SELECT $2, " PG_CLOCK_MS "+3000, count(*), array_agg(id) FROM picked"
    "   HAVING count(*)>0 RETURNING number),"
    " claimed AS (UPDATE @jobs j SET state=$5, token=j.token+$6, holder=$2, hand=(SELECT number FROM hand), picked_at=$3,"
    "   {clear attempted} FROM picked WHERE " PG_IS("j.id", "picked.id") " RETURNING {kept of j}),"
    " counted AS (" PG_COUNT(PG_MOVES("SELECT lane, state AS was, $5 AS state, count(*) AS n FROM picked GROUP BY 1,2")) "),"
    " told AS MATERIALIZED (SELECT set_config('rota.claimed', string_agg(claimed.task_id::text, ','), true) FROM claimed)"
    " SELECT {kept of claimed} FROM told, claimed";
// Behind it.
static const char claimed_docs[] =
    "SELECT t.doc, t.version"
    " FROM unnest(string_to_array(current_setting('rota.claimed', true), ',')::bigint[]) WITH ORDINALITY claimed(task_id, no)"
    " LEFT JOIN @tasks t ON " PG_IS("t.id", "claimed.task_id") " AND NOT t.paused ORDER BY claimed.no";
// And behind that, what waits next in each of the lanes.
static const char next_due[] =
    "SELECT want.no, next.due_at, next.id FROM {wants} want JOIN @lanes l ON l.id=want.lane"
    " CROSS JOIN LATERAL (SELECT at_place.due_at, at_place.id FROM " PG_PLACES_OF("want.lane") " place"
    "   CROSS JOIN LATERAL (SELECT j.due_at, j.id FROM @jobs j WHERE j.waits_at=place AND j.state IN {waiting} AND "
        FROM_ON(LOOK_FROM, "want.from_id") " ORDER BY j.due_at, j.id LIMIT 1) at_place"
    "   ORDER BY at_place.due_at, at_place.id LIMIT 1) next";

// DUE. $1 stripe, $2 lane, $3 from, $4 to, $5 from_id, $6 max. Of each place one more than wanted is looked at, to know whether there
// is more. The statement waits for rows that are locked, in order of id as in a CHANGE; it leaves those as they are
// that are no longer delayed then.
static const char make_ready[] =
    "WITH found AS MATERIALIZED (SELECT delayed.id, delayed.due_at, row_number() OVER (ORDER BY delayed.due_at, delayed.id) AS rank"
    "   FROM " PG_PLACES_OF("$2") " place CROSS JOIN LATERAL ("
    "     (SELECT j.id, j.due_at FROM @jobs j WHERE j.waits_at=place AND j.due_at=$3+1 AND j.due_at<=$4 AND j.id>$5"
    "       AND j.state={delayed} ORDER BY j.due_at, j.id LIMIT $6+1)"
    "     UNION ALL (SELECT j.id, j.due_at FROM @jobs j WHERE j.waits_at=place AND j.due_at>$3+1 AND j.due_at<=$4"
    "       AND j.state={delayed} ORDER BY j.due_at, j.id LIMIT $6+1)) delayed"
    "   ORDER BY delayed.due_at, delayed.id LIMIT $6+1),"
    " locked AS MATERIALIZED (SELECT j.id FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM found WHERE rank<=$6")
    "   AND j.state={delayed} AND j.due_at<=$4 ORDER BY j.id FOR UPDATE),"
    " changed AS (UPDATE @jobs j SET state={ready} WHERE j.id=" PG_ANY("SELECT id FROM locked") " RETURNING j.lane),"
    " counted AS (" PG_COUNT("SELECT lane, {delayed} AS state, -1 AS n FROM changed UNION ALL SELECT lane, {ready}, 1 FROM changed") ")"
    " SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM changed), found.due_at, found.id"
    " FROM (SELECT) AS one LEFT JOIN found ON found.rank=$6";

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
        pg_read_kept(result, row, 0, job);
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

// The rows come in this order; a plan of PostgreSQL that brings them in another is possible, but was never seen.
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
    for (size_t i = part->first_job; i < claim->job_count; i++) {
        claim->jobs[i].doc = pg_bytes(result, (int)(i - part->first_job), 0, &claim->op.arena);
        claim->jobs[i].version = pg_int(result, (int)(i - part->first_job), 1);
    }
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
        most[i] = store_limit(part->wants[i].max);
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
        int64_t values[] = {pg_stripe(session), claim->holder, claim->now_ms, claim->until_ms, sample.state, sample.token};
        pg_param_each(session, values, array_count(values));
        pg_put_with(session, claim_jobs, PG_ROWS("wants", &rows));
        pg_send(session, read_claimed, part);
        pg_run(session, claimed_docs, 0, NULL, read_docs, part);
    }
    pg_begin_query(session);
    pg_put_with(session, next_due, PG_ROWS("wants", &rows));
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
    pg_sql(session, make_ready, read_due, due, pg_stripe(session), due->lane, due->from_ms, due->to_ms, due->from_id,
           store_limit(due->max));
}
