// Who goes first in which bucket, requests to those that hold jobs, and which tzdata plans follow.
#include "store/postgres/postgres.h"

// clang-format off

// OWNERS. Both are read in one transaction, so they are of one moment.
static const char this_term[] = "SELECT value FROM @meta WHERE name='term'";
static const char all_owners[] = "SELECT bucket, puller FROM @owners ORDER BY bucket, puller";

// DIVIDE. Two nodes that divide at once meet at the row of the term: the later one finds that the term has moved, and does
// nothing. $1 term, $2 buckets, $3 pullers.
static const char divide_anew[] =
    "WITH wanted AS MATERIALIZED (SELECT unnest($2::bigint[])::int AS bucket, unnest($3::bigint[]) AS puller),"
    " next_term AS (INSERT INTO @meta AS m(name,value)"
    "   SELECT 'term', 1 WHERE $1=0 OR EXISTS (SELECT FROM @meta WHERE name='term')"
    "   ON CONFLICT(name) DO UPDATE SET value=m.value+1 WHERE m.value=$1 RETURNING value),"
    " removed AS (DELETE FROM @owners o WHERE EXISTS (SELECT FROM next_term)"
    "   AND NOT EXISTS (SELECT FROM wanted WHERE wanted.bucket=o.bucket AND wanted.puller=o.puller)),"
    " stored AS (INSERT INTO @owners(bucket,puller,term)"
    "   SELECT wanted.bucket, wanted.puller, next_term.value FROM wanted, next_term"
    "   ON CONFLICT(bucket,puller) DO UPDATE SET term=excluded.term)"
    " SELECT value FROM next_term";

// REQUEST. FOR KEY SHARE: a FORGET of the incarnation comes before it or behind. $1 holder, $2 job, $3 tenant, $4 kind.
static const char send_request[] =
    "WITH holder AS MATERIALIZED (SELECT id FROM @incarnations WHERE id=$1 FOR KEY SHARE)"
    " INSERT INTO @requests AS asked(holder,job_id,tenant,kind) SELECT id, $2, $3, $4 FROM holder"
    " ON CONFLICT(holder,job_id) DO UPDATE SET kind=least(asked.kind,excluded.kind) RETURNING 1";

// REQUESTS. $1 holder, $2 max.
static const char take_requests[] =
    "WITH taken AS (DELETE FROM @requests WHERE holder=$1 AND job_id="
        PG_ANY("SELECT job_id FROM @requests WHERE holder=$1 ORDER BY job_id LIMIT $2 FOR UPDATE SKIP LOCKED")
    "   RETURNING job_id, tenant, kind)"
    " SELECT * FROM taken ORDER BY job_id";

// TZDATA. $1 the text as it was, $2 as it shall be.
static const char this_tzdata[] = "SELECT encode(bytes,'escape') FROM @meta WHERE name='tzdata'";
static const char set_tzdata[] =
    "INSERT INTO @meta AS m(name,value,bytes) SELECT 'tzdata', 0, decode($2,'escape')"
    "   WHERE $1='' OR EXISTS (SELECT FROM @meta WHERE name='tzdata')"
    " ON CONFLICT(name) DO UPDATE SET bytes=excluded.bytes WHERE m.bytes=decode($1,'escape') RETURNING 1";

// clang-format on

// ---- who goes first

static void read_term(void *ctx, const PGresult *result)
{
    ((struct store_owners *)ctx)->term = PQntuples(result) ? pg_int(result, 0, 0) : 0;
}

static void read_owners(void *ctx, const PGresult *result)
{
    struct store_owners *owners = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        owners->owners = store_push(&owners->op.arena, owners->owners, owners->owner_count, sizeof *owners->owners);
        owners->owners[owners->owner_count++] =
            (struct store_owner){.bucket = (int32_t)pg_int(result, row, 0), .puller = pg_int(result, row, 1)};
    }
}

void pg_owners_send(struct pg_session *session, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    pg_run(session, this_term, 0, NULL, read_term, owners);
    pg_run(session, all_owners, 0, NULL, read_owners, owners);
}

static void read_divide(void *ctx, const PGresult *result)
{
    struct store_divide *divide = ctx;
    if (!PQntuples(result))
        store_op_fail(&divide->op, ERR_MOVED_ON, "they were divided by another meanwhile");
}

void pg_divide_send(struct pg_session *session, struct store_op *op)
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

// ---- requests to those that hold jobs

static void read_request(void *ctx, const PGresult *result)
{
    struct store_request *request = ctx;
    if (!PQntuples(result))
        store_op_fail(&request->op, ERR_MOVED_ON, "there is no such incarnation any more");
}

void pg_request_send(struct pg_session *session, struct store_op *op)
{
    struct store_request *request = container_of(op, struct store_request, op);
    pg_sql(session, send_request, read_request, request, request->holder, request->job.job_id, request->job.tenant,
           (int64_t)request->job.kind);
}

static void read_requests(void *ctx, const PGresult *result)
{
    struct store_requests *requests = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        requests->jobs = store_push(&requests->op.arena, requests->jobs, requests->job_count, sizeof *requests->jobs);
        requests->jobs[requests->job_count++] =
            (struct store_job_request){.job_id = pg_int(result, row, 0),
                                       .tenant = (int32_t)pg_int(result, row, 1),
                                       .kind = (enum store_request_kind)pg_int(result, row, 2)};
    }
}

void pg_requests_send(struct pg_session *session, struct store_op *op)
{
    struct store_requests *requests = container_of(op, struct store_requests, op);
    pg_sql(session, take_requests, read_requests, requests, requests->holder, store_limit(requests->max));
}

// ---- which tzdata plans follow

static void read_tzdata(void *ctx, const PGresult *result)
{
    struct store_tzdata *tzdata = ctx;
    if (PQntuples(result))
        tzdata->text = arena_copy(&tzdata->op.arena, str_of(PQgetvalue(result, 0, 0)));
}

static void read_set_tzdata(void *ctx, const PGresult *result)
{
    struct store_tzdata *tzdata = ctx;
    if (!PQntuples(result))
        store_op_fail(&tzdata->op, ERR_MOVED_ON, "it was written by another meanwhile");
}

void pg_tzdata_send(struct pg_session *session, struct store_op *op)
{
    struct store_tzdata *tzdata = container_of(op, struct store_tzdata, op);
    if (!tzdata->writes) {
        pg_run(session, this_tzdata, 0, NULL, read_tzdata, tzdata);
        return;
    }
    pg_begin_query(session);
    pg_put(session, set_tzdata);
    pg_param_text(session, tzdata->was);
    pg_param_text(session, tzdata->next);
    pg_send(session, read_set_tzdata, tzdata);
}
