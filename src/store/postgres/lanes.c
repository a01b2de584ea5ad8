// Lanes: which ones a session remembers, how they are paused, dropped and read, and their floors.
//
// No job waits in a lane with a due_at before its floor, so a claim begins to look there. A statement that adds a job before the
// floor lowers it (PG_LOWER_FLOORS); a read of lanes that found nothing up to some time raises it.
#include "store/postgres/postgres.h"

#include "base/data/hash.h"

enum { LANES_REMEMBERED_MAX = 262144 };
enum { FLOOR_STEP_MS = 1000, FLOOR_LAG_MS = 2000, FLOOR_TURN_MS = 5000 };

// clang-format off

// PAUSE. $1 tenant, $2 whether it is paused, $3 queue. The lane of what is called is made if there is none. The others of the queue
// are locked with it before either is written, in order of id as in PG_LOWER_FLOORS.
static const char pause_queue[] =
    "WITH lane AS MATERIALIZED (SELECT id, dispatch FROM @lanes WHERE tenant=$1 AND queue=$3 ORDER BY id FOR UPDATE),"
    " others AS (UPDATE @lanes SET paused=$2<>0, dropped=false WHERE id=" PG_ANY("SELECT id FROM lane WHERE dispatch<>{called}") ")"
    " INSERT INTO @lanes(id,tenant,queue,dispatch,paused) SELECT coalesce(max(id),0)+1, $1, $3, {called}, $2<>0 FROM @lanes"
    " WHERE (SELECT count(*) FROM lane)>=0"
    " ON CONFLICT(tenant,queue,dispatch) DO UPDATE SET paused=excluded.paused, dropped=false RETURNING id";

// DROP. $1 tenant, $2 queue. `open` are the rows that PG_SHOWN looks for, locked: nobody adds to them until this is decided. Rows
// that are written meanwhile are not among them, and stay. If those that are add up to nothing in each lane and state, they can go.
static const char drop_queue[] =
    "WITH lane AS MATERIALIZED (SELECT id, paused, dropped FROM @lanes WHERE tenant=$1 AND queue=$2 ORDER BY id FOR UPDATE),"
    " open AS MATERIALIZED (SELECT lane, state, stripe, amount FROM @counts WHERE lane=" PG_ANY("SELECT id FROM lane")
    "   AND state<{first_final} ORDER BY lane, state, stripe FOR UPDATE),"
    " found AS MATERIALIZED (SELECT bool_or(paused) AS paused, bool_or(NOT dropped) OR EXISTS (SELECT FROM open) AS shown,"
    "   coalesce((SELECT sum(amount) FROM open),0)::bigint AS jobs,"
    "   EXISTS (SELECT FROM open GROUP BY lane, state HAVING sum(amount)<>0) AS busy FROM lane HAVING count(*)>0),"
    " cleared AS (DELETE FROM @counts c USING open, found WHERE found.shown AND NOT found.paused AND NOT found.busy"
    "   AND c.lane=open.lane AND c.state=open.state AND c.stripe=open.stripe),"
    " hidden AS (UPDATE @lanes l SET dropped=true FROM found"
    "   WHERE l.id=" PG_ANY("SELECT id FROM lane") " AND found.shown AND NOT found.paused AND NOT found.busy)"
    " SELECT shown::int, CASE WHEN busy THEN greatest(jobs,1) ELSE 0 END, paused::int FROM found";

// LANES: names and pauses; or also when the next job of each is due, and how many there are of each state. $1 the lane it begins
// behind, $2 tenant or 0, $3 max, $4 the kind of dispatch, $5 where to look from, $6 whether jobs are counted.
static const char lane_names[] =
    "SELECT id, tenant, paused::int, NULL::bigint, queue, floor FROM @lanes l WHERE id>$1 AND ($2=0 OR tenant=$2) AND dispatch=$4"
    " AND " PG_SHOWN("l") " ORDER BY id LIMIT $3";
#define COUNT_OF(name, text, final) ", sum(amount) FILTER (WHERE state={" text "})::bigint"
#define FIRST_DUE(place, floor) \
    "(SELECT j.due_at FROM @jobs j WHERE j.waits_at=" place " AND j.state IN {waiting} AND j.due_at>=" floor \
    " ORDER BY j.due_at LIMIT 1)"
static const char some_lanes[] =
    "SELECT l.id, l.tenant, l.paused::int, next.due_at, l.queue, l.floor, counted.*"
    " FROM (SELECT * FROM @lanes o WHERE o.id>$1 AND ($2=0 OR o.tenant=$2) AND o.dispatch=$4 AND " PG_SHOWN("o")
    "   ORDER BY o.id LIMIT $3) l"
    " CROSS JOIN LATERAL (SELECT min(first.due_at) AS due_at FROM " PG_PLACES_OF("l.id") " place CROSS JOIN LATERAL "
        FIRST_DUE("place", "CASE $5 WHEN {look_floor} THEN l.floor WHEN {look_old} THEN l.floor_old ELSE 0 END") " first) next"
    " CROSS JOIN LATERAL (SELECT NULL" JOB_STATES(COUNT_OF) " FROM @counts WHERE $6<>0 AND lane=l.id) counted"
    " ORDER BY l.id";
enum { COUNTS_AT = 7 }; // where the counts begin among the columns of `some_lanes` and of `some_queues`

// LANES, of queues: the lanes of each are one row. $1 to $3 as above, $4 whether what is due is looked for, $5 whether jobs are
// counted. The lateral subquery makes PostgreSQL go through the lanes by id, and look up the others of each queue, until it has $3.
static const char some_queues[] =
    "SELECT queue.id, queue.tenant, queue.paused::int, next.due_at, queue.queue, NULL::bigint, counted.*"
    " FROM (SELECT o.id, o.tenant, o.queue, o.paused, of_queue.lanes FROM @lanes o"
    "   CROSS JOIN LATERAL (SELECT min(l.id) AS first, bool_or(" PG_SHOWN("l") ") AS shown, array_agg(l.id) AS lanes"
    "     FROM @lanes l WHERE l.tenant=o.tenant AND l.queue=o.queue) of_queue"
    "   WHERE o.id>$1 AND ($2=0 OR o.tenant=$2) AND of_queue.first=o.id AND of_queue.shown ORDER BY o.id LIMIT $3) queue"
    " CROSS JOIN LATERAL (SELECT min(first.due_at) AS due_at FROM @lanes l CROSS JOIN " PG_PLACES_OF("l.id") " place"
    "   CROSS JOIN LATERAL " FIRST_DUE("place", "l.floor_old") " first WHERE $4<>0 AND l.id=ANY(queue.lanes)) next"
    " CROSS JOIN LATERAL (SELECT NULL" JOB_STATES(COUNT_OF) " FROM @counts WHERE $5<>0 AND lane=ANY(queue.lanes)) counted"
    " ORDER BY queue.id";

// Behind LANES. $1 how far floors stay behind the time, for what comes in time is not to lower them; $2 how long until floor_new is
// old; $3 the least step; $4 lanes, $5 what is due next in them, as it was read. The statement passes a lane that is locked, and does not wait for it.
static const char raise_floors[] =
    "WITH clock AS (SELECT " PG_CLOCK_MS " AS now),"
    " seen AS (SELECT unnest($4::bigint[]) AS id, unnest($5::bigint[]) AS due_at),"
    " higher AS MATERIALIZED (SELECT l.id, least(seen.due_at,clock.now-$1) AS floor FROM clock, seen JOIN @lanes l ON l.id=seen.id"
    "   WHERE least(seen.due_at,clock.now-$1)>=l.floor+$3 ORDER BY l.id FOR UPDATE OF l SKIP LOCKED)"
    " UPDATE @lanes l SET floor=higher.floor,"
    " floor_old=CASE WHEN clock.now-l.turned_at>=$2 THEN l.floor_new ELSE l.floor_old END,"
    " floor_new=CASE WHEN clock.now-l.turned_at>=$2 THEN l.floor ELSE l.floor_new END,"
    " turned_at=CASE WHEN clock.now-l.turned_at>=$2 THEN clock.now ELSE l.turned_at END FROM higher, clock WHERE l.id=higher.id";

// clang-format on

// ---- lanes remembered

struct known_lane {
    struct known_lane *next;
    int64_t id;
    int32_t tenant;
    enum target_dispatch dispatch;
    struct str queue;
    char bytes[];
};

int64_t pg_known_lane(const struct pg_session *session, const struct store_task *task)
{
    const struct known_lane *lane = map_get(&session->lanes, hash_name(task->tenant, task->queue));
    while (lane && (lane->tenant != task->tenant || lane->dispatch != task->dispatch || !str_eq(lane->queue, task->queue)))
        lane = lane->next;
    return lane ? lane->id : 0;
}

void pg_remember_lane(struct pg_session *session, const struct store_task *task, int64_t id)
{
    if (pg_known_lane(session, task))
        return;
    struct str queue = task->queue;
    struct known_lane *lane = mem_zero(sizeof *lane + queue.n + 1);
    if (queue.n)
        memcpy(lane->bytes, queue.p, queue.n);
    lane->id = id;
    lane->tenant = task->tenant;
    lane->dispatch = task->dispatch;
    lane->queue = (struct str){lane->bytes, queue.n};
    lane->next = map_put(&session->lanes, hash_name(task->tenant, queue), lane);
}

void pg_forget_lanes(struct pg_session *session)
{
    struct known_lane *lane;
    int64_t hash;
    for (size_t at = 0; (lane = map_next(&session->lanes, &at, &hash));)
        for (struct known_lane *next; lane; lane = next) {
            next = lane->next;
            mem_free(lane);
        }
    map_done(&session->lanes);
}

void pg_forget_lanes_if_many(struct pg_session *session)
{
    if (session->lanes.count > LANES_REMEMBERED_MAX)
        pg_forget_lanes(session);
}

// ---- pausing and dropping

static void read_pause(void *ctx, const PGresult *result)
{
    ((struct store_pause *)ctx)->lane = pg_int(result, 0, 0);
}

void pg_pause_send(struct pg_session *session, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    pg_lock(session, PG_LOCK_LANES);
    pg_begin_query(session);
    pg_put(session, pause_queue);
    pg_param_int(session, pause->tenant);
    pg_param_int(session, pause->paused);
    pg_param_text(session, pause->queue);
    pg_send(session, read_pause, pause);
}

static void read_drop(void *ctx, const PGresult *result)
{
    bool known = PQntuples(result) && pg_int(result, 0, 0);
    store_drop_judge(ctx, known, known ? pg_int(result, 0, 1) : 0, known && pg_int(result, 0, 2));
}

// A sweep moves rows from stripe to stripe, so none is to be under way.
void pg_drop_send(struct pg_session *session, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    pg_lock(session, PG_LOCK_SWEEP);
    pg_begin_query(session);
    pg_put(session, drop_queue);
    pg_param_int(session, drop->tenant);
    pg_param_text(session, drop->queue);
    pg_send(session, read_drop, drop);
}

// ---- reading, and raising floors

// Which look it is time for.
static enum pg_look next_look(struct pg_session *session)
{
    enum { OLD_LOOK_MS = 5000, FULL_LOOK_MS = 600000 };
    int64_t now = clock_mono_ns() / 1000000;
    bool full = !session->full_look_ms || now >= session->full_look_ms + FULL_LOOK_MS;
    bool old = now >= session->old_look_ms + OLD_LOOK_MS;
    if (full)
        session->full_look_ms = now;
    if (full || old)
        session->old_look_ms = now;
    return full ? PG_LOOK_ALL : old ? PG_LOOK_OLD : PG_LOOK_FLOOR;
}

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

// That floors were not raised is no failure of those that were read.
void pg_raise_floors(struct pg_session *session)
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
        *lane = (struct store_lane){
            .id = pg_int(result, row, 0), .tenant = (int32_t)pg_int(result, row, 1), .dispatch = lanes->dispatch};
        lane->paused = pg_int(result, row, 2);
        lane->next_due = lanes->names_only ? 0 : PQgetisnull(result, row, 3) ? TIME_NEVER : pg_int(result, row, 3);
        lane->queue = pg_bytes(result, row, 4, &lanes->op.arena);
        for (int state = 0; state < JOB_STATE_COUNT && lanes->counts; state++)
            lane->counts[state] = pg_int(result, row, COUNTS_AT + state);
        if (!PQgetisnull(result, row, 5) && lane->next_due >= pg_int(result, row, 5) + FLOOR_STEP_MS)
            raise_later(listing->session, lane);
    }
}

void pg_lanes_send(struct pg_session *session, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    struct listing *listing = arena_alloc(&session->arena, sizeof *listing);
    *listing = (struct listing){session, lanes};
    int64_t max = store_limit(lanes->max);
    if (lanes->dispatch == TARGET_NOT_DISPATCHED) {
        pg_sql(session, some_queues, read_lanes, listing, lanes->after_id, lanes->tenant, max, !lanes->names_only, lanes->counts);
        return;
    }
    if (lanes->names_only && !lanes->counts) {
        pg_sql(session, lane_names, read_lanes, listing, lanes->after_id, lanes->tenant, max, lanes->dispatch);
        return;
    }
    if (lanes->after_id == 0 && lanes->tenant == 0) // a whole walk, or none of it
        session->look = next_look(session);
    pg_sql(session, some_lanes, read_lanes, listing, lanes->after_id, lanes->tenant, max, lanes->dispatch,
           lanes->tenant ? PG_LOOK_OLD : session->look, lanes->counts);
}
