// The verbs that only read. They have a session of their own, so no claim or completion waits for them; all of a group see one
// moment.
#include "store/postgres/postgres.h"

// clang-format off
// What a page's documents have before a row decides whether it is in it.
#define PAGE_OF(size, order, rows) \
    "(SELECT * FROM (SELECT y.*, sum(octet_length(" size ")) OVER (ORDER BY " order " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)" \
    " AS bytes_before FROM (" rows ") y) z WHERE coalesce(z.bytes_before,0)<" PAGE_BYTES ")"
#define PAGE_BYTES "8388608"
_Static_assert(STORE_PAGE_BYTES == 8388608, "the statements have it as a text");

#define HELD_DOC(job) "CASE WHEN $4<>0 AND " job ".state=3 THEN " PG_DOC_TO_RUN(job) " ELSE " PG_DOC_OF(job) " END"
static const char held_jobs[] =
    "SELECT " PG_JOB_OF_J ", " HELD_DOC("j") " FROM "
    PAGE_OF(HELD_DOC("y"), "y.id", "SELECT j.* FROM @jobs j WHERE j.id=" PG_ANY("SELECT j.id FROM @jobs j WHERE j.id="
        PG_ANY(PG_HAND_OF("$1") " AND x.id>$2") " AND " PG_IN_HAND_OF("$1") " ORDER BY j.id LIMIT $3")) " j ORDER BY j.id";
static const char lapsed_jobs[] =
    "SELECT " PG_JOB_OF_J PG_LEASE_COLUMNS PG_LISTED_RESULT "," PG_DOC_OF("j") " FROM "
    PAGE_OF(PG_DOC_OF("y"), "y.lease_until, y.id", "SELECT * FROM @jobs WHERE lease_until>0 AND lease_until<=$1 ORDER BY lease_until, id LIMIT $2")
    " j ORDER BY j.lease_until, j.id";
static const char expired_jobs[] =
    "SELECT " PG_JOB_OF_J "," PG_DOC_OF("j") " FROM "
    PAGE_OF(PG_DOC_OF("y"), "y.expires_at, y.id", "SELECT * FROM @jobs WHERE expires_at>0 AND state<=2 AND expires_at<=$1 ORDER BY expires_at, id LIMIT $2")
    " j ORDER BY j.expires_at, j.id";
// clang-format on

// $1 lane, $2 the last place, $3 due_at, $4 id, $5 how many. Below the floor there is nothing but what is gone.
static const char waiting_ahead[] =
    "SELECT count(*) FROM (SELECT FROM @lanes l CROSS JOIN generate_series($1*16,$2) g CROSS JOIN LATERAL (SELECT FROM @jobs j"
    " WHERE j.waits_at=g AND j.state IN (1,2) AND j.due_at>=l.floor_old"
    " AND (j.due_at,j.id)<($3,CASE WHEN g<$2 THEN 9223372036854775807 ELSE $4 END) LIMIT $5) x WHERE l.id=$1 LIMIT $5) y";

#define COUNTS_OF_9                                                                                                 \
    "sum(jobs) FILTER (WHERE state=0)::bigint, sum(jobs) FILTER (WHERE state=1)::bigint, sum(jobs) FILTER (WHERE "  \
    "state=2)::bigint,"                                                                                             \
    " sum(jobs) FILTER (WHERE state=3)::bigint, sum(jobs) FILTER (WHERE state=4)::bigint, sum(jobs) FILTER (WHERE " \
    "state=5)::bigint,"                                                                                             \
    " sum(jobs) FILTER (WHERE state=6)::bigint, sum(jobs) FILTER (WHERE state=7)::bigint, sum(jobs) FILTER (WHERE " \
    "state=8)::bigint"
_Static_assert(JOB_STATE_COUNT == 9, "the counts are nine columns");
// clang-format off
static const char some_lanes[] =
    "SELECT l.id, l.tenant, l.paused::int, d.due_at, l.queue, l.floor, c.*"
    " FROM (SELECT * FROM @lanes o WHERE o.id>$1 AND ($2=0 OR o.tenant=$2) AND " PG_SHOWN("o") " ORDER BY o.id LIMIT $3) l"
    " CROSS JOIN LATERAL (SELECT min(x.due_at) AS due_at FROM generate_series(l.id*16,l.id*16+9) g CROSS JOIN LATERAL"
    " (SELECT j.due_at FROM @jobs j WHERE j.waits_at=g AND j.state IN (1,2) AND"
    " j.due_at>=CASE $4 WHEN 0 THEN l.floor WHEN 1 THEN l.floor_old ELSE 0 END ORDER BY j.due_at LIMIT 1) x) d"
    " CROSS JOIN LATERAL (SELECT " COUNTS_OF_9 " FROM @counts WHERE $5<>0 AND lane=l.id) c ORDER BY l.id";
// clang-format on
static const char lane_names[] = "SELECT id, tenant, paused::int, NULL::bigint, queue, floor FROM @lanes o WHERE id>$1 AND ($2=0"
                                 " OR tenant=$2) AND " PG_SHOWN("o") " ORDER BY id LIMIT $3";
static const char all_counts[] = "SELECT state, sum(jobs)::bigint FROM @counts WHERE lane=0 AND $1=0 GROUP BY state";
static const char counts_of_tenant[] =
    "SELECT state, sum(jobs)::bigint FROM @counts WHERE lane IN (SELECT id FROM @lanes WHERE tenant=$1) GROUP BY state";

#define WHOLE_JOB "SELECT " PG_JOB_OF_J PG_LEASE_COLUMNS "j.result FROM "
#define JOB_BY_ID WHOLE_JOB "@jobs j WHERE j.id=$1 UNION ALL " WHOLE_JOB "@jobs_done j WHERE j.id=$1"
#define TASK_COLUMNS "SELECT " PG_TASK_OF_T " FROM @tasks t LEFT JOIN @lanes l ON l.id=t.lane "
static const char task_of_job[] =
    TASK_COLUMNS "WHERE ($2=0 OR t.tenant=$2) AND t.id=(SELECT task_id FROM @jobs WHERE id=$1 UNION ALL"
                 " SELECT task_id FROM @jobs_done WHERE id=$1 LIMIT 1)";
static const char task_by_id[] = TASK_COLUMNS "WHERE ($2=0 OR t.tenant=$2) AND t.id=$1";
#define IDS_OF_TASK "SELECT $1 UNION SELECT id FROM @extras WHERE task_id=$1"
// clang-format off
#define LISTED_JOB "SELECT " PG_JOB_OF_J PG_LEASE_COLUMNS PG_LISTED_RESULT " FROM "
#define JOBS_OF_TASK(table) LISTED_JOB table " j WHERE j.task_id=$1 AND j.id=" PG_ANY(IDS_OF_TASK)
static const char jobs_of_task[] =
    "SELECT * FROM (" JOBS_OF_TASK("@jobs") " UNION ALL " JOBS_OF_TASK("@jobs_done") ") j"
    " ORDER BY ($3<>0 AND j.state>=5), j.scheduled_at DESC, j.id DESC LIMIT $2";
// clang-format on

static const char attempts_of_job[] = PG_ATTEMPTS_WITH("response_truncated, response") "WHERE job_id=$1 ORDER BY number";
static const char attempts_of_task[] = PG_ATTEMPTS "WHERE job_id=" PG_ANY(IDS_OF_TASK) " ORDER BY job_id, number";

static int64_t limit(size_t max)
{
    return max > INT32_MAX ? INT32_MAX : (int64_t)max;
}

static void read_found(void *ctx, const PGresult *result)
{
    struct store_find *find = ctx;
    pg_read_store_jobs(result, &find->op.arena, &find->jobs, &find->job_count);
    find->more = store_page_is_full(find->jobs, find->job_count, find->max);
}

static void read_lapsed(void *ctx, const PGresult *result)
{
    struct store_find *find = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        struct store_job *job = &find->jobs[find->job_count++];
        int at = pg_read_job(result, row, 0, &job->job, &find->op.arena);
        at = pg_read_lease(result, row, at, &job->job, &find->op.arena);
        job->doc = pg_bytes(result, row, at, &find->op.arena);
    }
    find->more = store_page_is_full(find->jobs, find->job_count, find->max);
}

static void send_find(struct pg_session *session, struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    int64_t max = limit(find->max);
    if (find->what == STORE_FIND_HELD)
        pg_sql(session, held_jobs, read_found, find, find->holder, find->after_id, max, find->to_run);
    else if (find->what == STORE_FIND_EXPIRED)
        pg_sql(session, expired_jobs, read_found, find, find->now_ms, max);
    else
        pg_sql(session, lapsed_jobs, read_lapsed, find, find->now_ms, max);
}

// ---- floors

enum { FLOOR_STEP_MS = 1000, FLOOR_LAG_MS = 2000, FLOOR_TURN_MS = 5000 };

// $1 how far floors stay behind the time, for what comes in time is not to lower them; $2 how long until floor_new is old; $3 the
// least step; $4 lanes, $5 what is due next in them, as it was read. Who has a lane locked is not waited for.
// clang-format off
static const char raise_floors[] =
    "WITH t AS (SELECT " PG_CLOCK_MS " AS now),"
    " x AS (SELECT unnest($4::bigint[]) AS id, unnest($5::bigint[]) AS due_at),"
    " k AS MATERIALIZED (SELECT l.id, least(x.due_at,t.now-$1) AS floor FROM t, x JOIN @lanes l ON l.id=x.id"
    " WHERE least(x.due_at,t.now-$1)>=l.floor+$3 ORDER BY l.id FOR UPDATE OF l SKIP LOCKED)"
    " UPDATE @lanes l SET floor=k.floor,"
    " floor_old=CASE WHEN t.now-l.turned_at>=$2 THEN l.floor_new ELSE l.floor_old END,"
    " floor_new=CASE WHEN t.now-l.turned_at>=$2 THEN l.floor ELSE l.floor_new END,"
    " turned_at=CASE WHEN t.now-l.turned_at>=$2 THEN t.now ELSE l.turned_at END FROM k, t WHERE l.id=k.id";
// clang-format on

struct listing {
    struct pg_session *session;
    struct store_lanes *lanes;
};

// The lanes whose floors can be raised, when all have been read.
static void raise_later(struct pg_session *session, const struct store_lane *lane)
{
    struct pg_raise *raise = &session->raise;
    if (raise->count == PG_RAISE_MAX)
        return;
    raise->lanes[raise->count] = lane->id;
    raise->dues[raise->count++] = lane->next_due;
}

// A transaction of its own, behind the one that read. That floors were not raised is no failure of those that were read.
static void raise_now(struct pg_session *session)
{
    struct pg_raise *raise = &session->raise;
    size_t count = raise->count;
    raise->count = 0;
    if (!count || session->err)
        return;
    pg_begin(session, "BEGIN");
    pg_begin_query(session);
    pg_put(session, raise_floors);
    pg_param_int(session, FLOOR_LAG_MS);
    pg_param_int(session, FLOOR_TURN_MS);
    pg_param_int(session, FLOOR_STEP_MS);
    pg_param_ints(session, raise->lanes, count);
    pg_param_ints(session, raise->dues, count);
    pg_send(session, NULL, NULL);
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
    if (session->err)
        pg_session_reset(session);
    session->err = ERR_OK;
}

static void read_lanes(void *ctx, const PGresult *result)
{
    const struct listing *listing = ctx;
    struct store_lanes *lanes = listing->lanes;
    for (int row = 0; row < PQntuples(result); row++) {
        lanes->lanes = store_push(&lanes->op.arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = pg_int(result, row, 0), .tenant = (int32_t)pg_int(result, row, 1)};
        lane->paused = pg_int(result, row, 2);
        lane->next_due = lanes->names_only ? 0 : PQgetisnull(result, row, 3) ? TIME_NEVER : pg_int(result, row, 3);
        lane->queue = pg_bytes(result, row, 4, &lanes->op.arena);
        for (int state = 0; state < JOB_STATE_COUNT && lanes->counts; state++)
            lane->counts[state] = pg_int(result, row, 6 + state);
        if (lane->next_due >= pg_int(result, row, 5) + FLOOR_STEP_MS)
            raise_later(listing->session, lane);
    }
}

static void send_lanes(struct pg_session *session, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    struct listing *listing = arena_alloc(&session->arena, sizeof *listing);
    *listing = (struct listing){session, lanes};
    if (lanes->names_only && !lanes->counts) {
        pg_sql(session, lane_names, read_lanes, listing, lanes->after_id, lanes->tenant, limit(lanes->max));
        return;
    }
    if (lanes->after_id == 0 && lanes->tenant == 0) // a whole walk, or none of it
        session->look = pg_look(session);
    pg_sql(session, some_lanes, read_lanes, listing, lanes->after_id, lanes->tenant, limit(lanes->max),
           lanes->tenant ? PG_LOOK_OLD : session->look, lanes->counts);
}

static void read_stats(void *ctx, const PGresult *result)
{
    struct store_stats *stats = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        stats->counts[pg_int(result, row, 0)] = pg_int(result, row, 1);
}

static void send_stats(struct pg_session *session, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    pg_sql(session, stats->tenant ? counts_of_tenant : all_counts, read_stats, stats, stats->tenant);
}

// ---- a task or a job

static void read_task(void *ctx, const PGresult *result)
{
    struct store_get *get = ctx;
    if (!PQntuples(result)) {
        store_op_fail(&get->op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    get->task = pg_read_task(result, 0, 0, &get->op.arena);
}

static void read_jobs(void *ctx, const PGresult *result)
{
    struct store_get *get = ctx;
    if (get->op.err)
        return;
    get->job_count = (size_t)PQntuples(result);
    get->jobs = get->job_count ? arena_array(&get->op.arena, struct job, get->job_count) : NULL;
    for (int row = 0; row < PQntuples(result); row++)
        pg_read_lease(result, row, pg_read_job(result, row, 0, &get->jobs[row], &get->op.arena), &get->jobs[row], &get->op.arena);
}

static void read_attempt(struct store_get *get, const PGresult *result, int row)
{
    get->attempts = store_push(&get->op.arena, get->attempts, get->attempt_count, sizeof *get->attempts);
    struct attempt *attempt = &get->attempts[get->attempt_count++];
    *attempt = (struct attempt){
        .job_id = pg_int(result, row, 0), .number = (int32_t)pg_int(result, row, 1), .status = (int32_t)pg_int(result, row, 2)};
    attempt->outcome = (uint8_t)pg_int(result, row, 3);
    attempt->picked_at = pg_int(result, row, 4);
    attempt->started_at = pg_int(result, row, 5);
    attempt->completed_at = pg_int(result, row, 6);
    attempt->holder = pg_int(result, row, 7);
    attempt->reason = pg_bytes(result, row, 8, &get->op.arena);
    attempt->response_truncated = pg_int(result, row, 9);
    attempt->response = pg_bytes(result, row, 10, &get->op.arena);
}

// They come by job id; wanted are those of the jobs that are given.
void pg_read_attempts(void *ctx, const PGresult *result)
{
    struct store_get *get = ctx;
    int rows = PQntuples(result);
    for (size_t i = 0; i < get->job_count && rows && !get->op.err; i++) {
        int low = 0, high = rows;
        while (low < high) {
            int middle = low + (high - low) / 2;
            if (pg_int(result, middle, 0) < get->jobs[i].id)
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < rows && pg_int(result, low, 0) == get->jobs[i].id; low++)
            read_attempt(get, result, low);
    }
    store_sort_attempts(get->attempts, get->attempt_count);
}

static void send_get(struct pg_session *session, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (get->job_id) {
        pg_sql(session, task_of_job, read_task, get, get->job_id, get->tenant);
        pg_sql(session, JOB_BY_ID, read_jobs, get, get->job_id);
        pg_sql(session, attempts_of_job, pg_read_attempts, get, get->job_id);
        return;
    }
    pg_sql(session, task_by_id, read_task, get, get->task_id, get->tenant);
    pg_sql(session, jobs_of_task, read_jobs, get, get->task_id, limit(get->max_jobs), (int64_t)get->open_first);
    pg_sql(session, attempts_of_task, pg_read_attempts, get, get->task_id);
}

// The term is read with the owners: a group sees one moment.
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

static void send_owners(struct pg_session *session, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    pg_run(session, "SELECT value FROM @meta WHERE name='term'", 0, NULL, read_term, owners);
    pg_run(session, "SELECT bucket, puller FROM @owners ORDER BY bucket, puller", 0, NULL, read_owners, owners);
}

// ---- bulks

#define BULK_COLUMNS "SELECT id,tenant,version" BULK_MOVING(PG_NAME) ",next_at,next_id,doc FROM @bulks WHERE "

static void read_bulks(void *ctx, const PGresult *result)
{
    struct store_bulks *bulks = ctx;
    bulks->row_count = (size_t)PQntuples(result);
    bulks->rows = arena_array(&bulks->op.arena, struct store_bulk_row, bulks->row_count);
    for (int row = 0; row < PQntuples(result); row++) {
        struct store_bulk_row *bulk = &bulks->rows[row];
        int at = 0;
        bulk->id = pg_int(result, row, at++);
        bulk->tenant = (int32_t)pg_int(result, row, at++);
        bulk->version = pg_int(result, row, at++);
#define X(name) bulk->name = pg_int(result, row, at++);
        BULK_MOVING(X)
#undef X
        bulk->next.at = pg_int(result, row, at++);
        bulk->next.id = pg_int(result, row, at++);
        bulk->doc = pg_bytes(result, row, at, &bulks->op.arena);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(&bulks->op, ERR_NOT_FOUND, "there is no such bulk");
}

static void send_bulks(struct pg_session *session, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    if (bulks->id)
        pg_sql(session, BULK_COLUMNS "id=$1 AND tenant=$2", read_bulks, bulks, bulks->id, bulks->tenant);
    else
        pg_sql(session, BULK_COLUMNS "state=0 ORDER BY id LIMIT $1", read_bulks, bulks, limit(bulks->max));
}

static void read_ahead(void *ctx, const PGresult *result)
{
    struct store_ahead *ahead = ctx;
    ahead->count = (size_t)pg_int(result, 0, 0);
}

static void send_ahead(struct pg_session *session, struct store_op *op)
{
    struct store_ahead *ahead = container_of(op, struct store_ahead, op);
    int64_t own = store_place(&(struct job){.lane = ahead->lane, .priority = (uint8_t)ahead->priority, .state = JOB_READY});
    pg_sql(session, waiting_ahead, read_ahead, ahead, ahead->lane, own, ahead->due_at, ahead->id, limit(ahead->max));
}

static void send_backup(struct pg_session *session, struct store_op *op)
{
    store_op_fail(op, ERR_UNSUPPORTED, "a PostgreSQL database is backed up with pg_dump or pg_basebackup");
}

static void (*const sends[STORE_VERB_COUNT])(struct pg_session *session, struct store_op *op) = {
    [STORE_OWNERS] = send_owners,    [STORE_FIND] = send_find,    [STORE_LANES] = send_lanes, [STORE_GET] = send_get,
    [STORE_STATS] = send_stats,      [STORE_LIST] = pg_list_send, [STORE_BULKS] = send_bulks, [STORE_BACKUP] = send_backup,
    [STORE_SERIES] = pg_series_send, [STORE_HEAR] = pg_hear_send, [STORE_AHEAD] = send_ahead,
};

void pg_read_group(struct pg_session *session, struct list *group)
{
    session->raise.count = 0;
    pg_begin(session, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    list_each (group, node) {
        struct store_op *op = list_entry(node, struct store_op, link);
        sends[op->verb](session, op);
    }
    pg_run(session, "COMMIT", 0, NULL, NULL, NULL);
    pg_sync(session);
    raise_now(session);
}
