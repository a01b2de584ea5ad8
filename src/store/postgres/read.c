// The verbs that only read: jobs that are looked for, a task or a job with all it has, how many wait before a job. They have a
// session of their own, so no claim or completion waits for them; all of a group see one moment.
#include "store/postgres/postgres.h"

// clang-format off

// A page of `rows` ends when its documents (`doc` of `y`) have so many bytes: a row is in it while those before it have fewer.
#define PAGE_OF(doc, order, rows) \
    "(SELECT * FROM (SELECT y.*, sum(octet_length(" doc ")) OVER (ORDER BY " order \
    "   ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before FROM (" rows ") y) summed" \
    " WHERE coalesce(summed.bytes_before,0)<{page_bytes})"

// FIND, of what is held. $1 holder, $2 the id it begins behind, $3 max, $4 whether they are to be run.
#define IF_HELD_TO_RUN(job, to_run, otherwise) \
    "CASE WHEN $4<>0 AND " job ".state={watching} THEN " to_run " ELSE " otherwise " END"
#define HELD_DOC(job) IF_HELD_TO_RUN(job, PG_DOC_TO_RUN(job), PG_DOC_OF(job))
#define HELD_VERSION(job) IF_HELD_TO_RUN(job, PG_VERSION_TO_RUN(job), PG_VERSION_OF(job))
static const char held_jobs[] =
    "SELECT {job of j}, " HELD_DOC("j") ", " HELD_VERSION("j") " FROM "
    PAGE_OF(HELD_DOC("y"), "y.id", "SELECT j.* FROM @jobs j WHERE j.id=" PG_ANY("SELECT j.id FROM @jobs j WHERE j.id="
        PG_ANY(PG_HAND_OF("$1") " AND listed.id>$2") " AND " PG_IN_HAND_OF("$1") " ORDER BY j.id LIMIT $3"))
    " j ORDER BY j.id";
// FIND, of leases that ran out. $1 now, $2 max.
static const char ended_leases[] =
    "SELECT {job of j}" PG_LEASE PG_LISTED_RESULT "," PG_DOC_OF("j") "," PG_VERSION_OF("j") " FROM "
    PAGE_OF(PG_DOC_OF("y"), "y.lease_until, y.id",
        "SELECT * FROM @jobs WHERE lease_until>0 AND lease_until<=$1 ORDER BY lease_until, id LIMIT $2")
    " j ORDER BY j.lease_until, j.id";
// FIND, of what has expired. $1 now, $2 max.
static const char expired_jobs[] =
    "SELECT {job of j}," PG_DOC_OF("j") "," PG_VERSION_OF("j") " FROM "
    PAGE_OF(PG_DOC_OF("y"), "y.expires_at, y.id",
        "SELECT * FROM @jobs WHERE expires_at>0 AND state<={ready} AND expires_at<=$1 ORDER BY expires_at, id LIMIT $2")
    " j ORDER BY j.expires_at, j.id";

// AHEAD. $1 lane, $2 the last place, $3 due_at, $4 id, $5 how many. Below the floor there is nothing but what is gone.
static const char waiting_ahead[] =
    "SELECT count(*) FROM (SELECT FROM @lanes l CROSS JOIN generate_series($1*{places},$2) place"
    "   CROSS JOIN LATERAL (SELECT FROM @jobs j WHERE j.waits_at=place AND j.state IN {waiting} AND j.due_at>=l.floor_old"
    "     AND (j.due_at,j.id)<($3,CASE WHEN place<$2 THEN 9223372036854775807 ELSE $4 END) LIMIT $5) at_place"
    "   WHERE l.id=$1 LIMIT $5) ahead";

// UPCOMING. $1 tenant, $2 and $3 behind which time and id, $4 up to which time, $5 how many rows.
static const char upcoming_jobs[] =
    "SELECT j.id, j.task_id, j.lane, j.scheduled_at, j.state, t.paused::int, t.name FROM"
    " (SELECT id, task_id, lane, scheduled_at, state FROM @jobs WHERE tenant=$1 AND (scheduled_at,id)>($2,$3) AND scheduled_at<=$4"
    "   ORDER BY scheduled_at, id LIMIT $5) j"
    " LEFT JOIN @tasks t ON " PG_IS("t.id", "j.task_id") " ORDER BY j.scheduled_at, j.id";

// GET, by the id of a task or of a job ($1): the task, its jobs, their attempts. $2 tenant, or 0.
static const char task_by_id[] =
    "SELECT " PG_TASK_AND_PLAN " FROM @tasks t LEFT JOIN @lanes l ON l.id=t.lane" PG_PLAN_IF_ANY
    " WHERE ($2=0 OR t.tenant=$2) AND t.id=$1";
static const char task_of_job[] =
    "SELECT " PG_TASK_AND_PLAN " FROM @tasks t LEFT JOIN @lanes l ON l.id=t.lane" PG_PLAN_IF_ANY
    " WHERE ($2=0 OR t.tenant=$2) AND t.id=(SELECT task_id FROM @jobs WHERE id=$1 UNION ALL SELECT task_id FROM @jobs_done WHERE id=$1 LIMIT 1)";
static const char task_by_name[] = "SELECT task_id FROM @plans WHERE tenant=$1 AND reserved=$2";
static const char job_by_id[] =
    "SELECT {job of j}" PG_LEASE "j.result FROM @jobs j WHERE j.id=$1"
    " UNION ALL SELECT {job of j}" PG_LEASE "j.result FROM @jobs_done j WHERE j.id=$1";
// $2 max, $3 whether those that are open come first.
#define JOBS_OF_TASK(table) \
    "SELECT {job of j}" PG_LEASE PG_LISTED_RESULT " FROM " table " j WHERE j.task_id=$1 AND j.id=" PG_ANY(PG_IDS_OF_TASK("$1"))
static const char jobs_of_task[] =
    "SELECT * FROM (" JOBS_OF_TASK("@jobs") " UNION ALL " JOBS_OF_TASK("@jobs_done") ") j"
    " ORDER BY ($3<>0 AND j.state>={first_final}), j.scheduled_at DESC, j.id DESC LIMIT $2";
static const char attempts_of_job[] = "SELECT job_id, number, {attempt} FROM @attempts WHERE job_id=$1 ORDER BY number";
static const char attempts_of_task[] =
    PG_BRIEF_ATTEMPTS " WHERE job_id=" PG_ANY(PG_IDS_OF_TASK("$1")) " ORDER BY job_id, number";

// clang-format on

// ---- jobs that are looked for

static void read_found(void *ctx, const PGresult *result)
{
    struct store_find *find = ctx;
    pg_read_store_jobs(result, &find->op.arena, &find->jobs, &find->job_count);
    find->more = store_page_is_full(find->jobs, find->job_count, find->max);
}

static void read_leases(void *ctx, const PGresult *result)
{
    struct store_find *find = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        find->jobs = store_push(&find->op.arena, find->jobs, find->job_count, sizeof *find->jobs);
        struct store_job *job = &find->jobs[find->job_count++];
        int at = pg_read_job(result, row, 0, &job->job, &find->op.arena);
        at = pg_read_lease(result, row, at, &job->job, &find->op.arena);
        job->doc = pg_bytes(result, row, at, &find->op.arena);
        job->version = pg_int(result, row, at + 1);
    }
    find->more = store_page_is_full(find->jobs, find->job_count, find->max);
}

static void send_find(struct pg_session *session, struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    int64_t max = store_limit(find->max);
    if (find->what == STORE_FIND_HELD)
        pg_sql(session, held_jobs, read_found, find, find->holder, find->after_id, max, find->to_run);
    else if (find->what == STORE_FIND_EXPIRED)
        pg_sql(session, expired_jobs, read_found, find, find->now_ms, max);
    else
        pg_sql(session, ended_leases, read_leases, find, find->now_ms, max);
}

// ---- a task or a job

static void read_task(void *ctx, const PGresult *result)
{
    struct store_get *get = ctx;
    if (!PQntuples(result)) {
        store_op_fail(&get->op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    get->task = pg_read_task_and_plan(result, 0, &get->op.arena);
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

static void read_id(void *ctx, const PGresult *result)
{
    *(int64_t *)ctx = PQntuples(result) ? pg_int(result, 0, 0) : 0;
}

// The task that has reserved a name; 0: none has. That is a round trip, so that all else is read by the id of the task.
static int64_t find_by_name(struct pg_session *session, const struct store_get *get)
{
    int64_t id = 0;
    pg_begin_query(session);
    pg_param_int(session, get->tenant);
    pg_param_text(session, get->reserved);
    pg_put(session, task_by_name);
    pg_send(session, read_id, &id);
    pg_sync(session);
    return id;
}

static void send_get(struct pg_session *session, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    if (get->job_id) {
        pg_sql(session, task_of_job, read_task, get, get->job_id, get->tenant);
        pg_sql(session, job_by_id, read_jobs, get, get->job_id);
        pg_sql(session, attempts_of_job, pg_read_attempts, get, get->job_id);
        return;
    }
    int64_t id = get->reserved.n ? find_by_name(session, get) : get->task_id;
    pg_sql(session, task_by_id, read_task, get, id, get->tenant);
    pg_sql(session, jobs_of_task, read_jobs, get, id, store_limit(get->max_jobs), (int64_t)get->open_first);
    pg_sql(session, attempts_of_task, pg_read_attempts, get, id);
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
    pg_sql(session, waiting_ahead, read_ahead, ahead, ahead->lane, own, ahead->due_at, ahead->id, store_limit(ahead->max));
}

static void read_upcoming(void *ctx, const PGresult *result)
{
    struct store_upcoming *upcoming = ctx;
    struct arena *arena = &upcoming->op.arena;
    size_t looked = 0;
    for (int row = 0; row < PQntuples(result); row++) {
        struct store_cursor key = {pg_int(result, row, 3), pg_int(result, row, 0)};
        if (!store_upcoming_look(upcoming, &looked, key, (int)pg_int(result, row, 4)))
            continue;
        upcoming->jobs = store_push(arena, upcoming->jobs, upcoming->job_count, sizeof *upcoming->jobs);
        upcoming->jobs[upcoming->job_count++] = (struct store_upcoming_job){.id = key.id,
                                                                            .task_id = pg_int(result, row, 1),
                                                                            .lane = pg_int(result, row, 2),
                                                                            .scheduled_at = key.at,
                                                                            .paused = pg_int(result, row, 5),
                                                                            .name = pg_bytes(result, row, 6, arena)};
    }
}

static void send_upcoming(struct pg_session *session, struct store_op *op)
{
    struct store_upcoming *upcoming = container_of(op, struct store_upcoming, op);
    pg_sql(session, upcoming_jobs, read_upcoming, upcoming, upcoming->tenant, upcoming->after.at, upcoming->after.id,
           upcoming->until_ms, store_limit(upcoming->look) + 1);
}

static void send_backup(struct pg_session *session, struct store_op *op)
{
    store_op_fail(op, ERR_UNSUPPORTED, "a PostgreSQL database is backed up with pg_dump or pg_basebackup");
}

// ---- the group

static void (*const sends[STORE_VERB_COUNT])(struct pg_session *session, struct store_op *op) = {
    [STORE_OWNERS] = pg_owners_send,  [STORE_FIND] = send_find,      [STORE_LANES] = pg_lanes_send,
    [STORE_GET] = send_get,           [STORE_STATS] = pg_stats_send, [STORE_LIST] = pg_list_send,
    [STORE_BULKS] = pg_bulks_send,    [STORE_BACKUP] = send_backup,  [STORE_SERIES] = pg_series_send,
    [STORE_EVENTS] = pg_events_send,  [STORE_AHEAD] = send_ahead,    [STORE_PLANS] = pg_plans_send,
    [STORE_UPCOMING] = send_upcoming,
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
    pg_raise_floors(session);
}
