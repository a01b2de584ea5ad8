// CHANGE: writes what was decided.
//
// Nearly every step ends a job that has no lease. Those of a group are one statement that takes the rows whose tokens stand away
// and puts the records where final ones lie. Nothing else is asked, for nothing else happens as a rule; what it did not take is
// given, behind it, to the statement that all other steps are in, which finds out why.
//
// There rows are locked by id first, because an UPDATE that had to wait looks again only at the row it waited for; in order of
// id, so that two batches do not wait for each other in a circle; and then the token is compared. All steps are one statement,
// unless a job comes twice: then its second step is in the next. A job that is final already lies elsewhere. That is looked up
// only for what was not found among the others, in a transaction behind the first.
//
// Whoever moves rows of tags locks their tasks before any job, in a statement of its own: who changes a task has the task before
// its jobs, too, so they do not wait for each other in a circle, and the statement behind the lock sees the tags as they are
// then. Hardly any step plans a job for another time, so the others do not pay for it: a step that does is left out at first, and
// taken in a transaction behind, which locks.
#include "store/postgres/postgres.h"

#include <stdlib.h>

// clang-format off
#define STANDS "l.token=s.expected AND (s.watched=0 OR l.state=3) AND l.lease_until="
#define LOCKED(table) \
    ", l AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane, j.lease_until, j.task_id, j.scheduled_at FROM " table " j" \
    " WHERE j.id=" PG_ANY("SELECT id FROM s") \
    " ORDER BY j.id FOR UPDATE)"
static const char lock_live[] = LOCKED("@jobs"), lock_done[] = LOCKED("@jobs_done");
static const char hits[] =
    ", h AS MATERIALIZED (SELECT s.*, l.state AS was, l.lane, l.task_id, l.scheduled_at AS was_scheduled FROM s"
    " JOIN l ON l.id=s.id AND " STANDS;
static const char as_planned[] = " AND l.scheduled_at=s.scheduled_at";
// $1 the jobs, $2 when they are to be planned for. A job that is planned anew by somebody else behind this has another token.
#define TASKS_OF_MOVED(table) \
    "SELECT FROM @tasks t WHERE t.id=" PG_ANY( \
        "SELECT j.task_id FROM unnest($1::bigint[],$2::bigint[]) s(id,scheduled_at) JOIN " table " j ON " PG_IS("j.id", "s.id") \
        " WHERE j.scheduled_at<>s.scheduled_at") " ORDER BY t.id FOR KEY SHARE"
static const char lock_tasks_of_live[] = TASKS_OF_MOVED("@jobs"), lock_tasks_of_done[] = TASKS_OF_MOVED("@jobs_done");
// Jobs that are planned for another time are found at another place by the tags of their tasks.
static const char move_tags[] =
    ", moved AS MATERIALIZED (SELECT h.id, h.was_scheduled, h.scheduled_at, t.tenant, t.tags FROM h JOIN (SELECT t.id, t.tenant, t.tags"
    " FROM @tasks t WHERE t.id=" PG_ANY("SELECT task_id FROM h WHERE scheduled_at<>was_scheduled")
    " AND t.tags IS NOT NULL) t ON t.id=h.task_id WHERE h.scheduled_at<>h.was_scheduled)"
    ", untag AS (" PG_REMOVE_TAGS(PG_TAGS_OF_JOBS("SELECT tenant, tags, was_scheduled AS at, id FROM moved")) ")"
    ", tag AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS("SELECT tenant, tags, scheduled_at AS at, id FROM moved")) ")";

#define ASSIGN(name) #name "=h." #name ","
static const char update_live[] =
    ", u AS (UPDATE @jobs j SET " JOB_MOVING(ASSIGN) "reason=h.reason, response=h.response,";
#define NEW_PLACE PG_PLACE("h.state", "j.lane", "j.priority", "j.waits_at")
static const char place_live[] = " waits_at=" NEW_PLACE;
static const char place_leased[] =
    " lease_until=h.lease_until, result=h.result, waits_at=CASE WHEN h.lease_until=0 THEN " NEW_PLACE " END";
static const char from_hits[] =
    " FROM h WHERE j.id=h.id AND h.state<5 AND j.id=" PG_ANY("SELECT id FROM h WHERE state<5") ")";
// clang-format on

#define FIXED_OF_J "j.id" JOB_FIXED(PG_NAME_OF_J)
#define RECORD "g.id" JOB_FIXED(PG_NAME_OF_G) JOB_MOVING(PG_NAME_OF_H) ",h.reason,h.response"
static const char leave_live[] =
    ", g AS (DELETE FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM h WHERE state>=5") " RETURNING " FIXED_OF_J ")";
static const char leave_done[] =
    ", g AS (DELETE FROM @jobs_done j WHERE j.id=" PG_ANY("SELECT id FROM h") " RETURNING " FIXED_OF_J ")";
static const char enter_done[] =
    ", d AS (INSERT INTO @jobs_done(" PG_JOB_COLUMNS ",day) SELECT " RECORD ",h.day FROM g JOIN h ON h.id=g.id WHERE h.state>=5)";
static const char enter_done_leased[] = ", d AS (INSERT INTO @jobs_done(" PG_JOB_COLUMNS ",day,result) SELECT " RECORD
                                        ",h.day,h.result FROM g JOIN h ON h.id=g.id WHERE h.state>=5)";
// What is final had no lease, and what comes back from there gets none.
static const char enter_live[] =
    ", b AS (INSERT INTO @jobs(" PG_JOB_COLUMNS ",waits_at) SELECT " RECORD
    "," PG_PLACE("h.state", "g.lane", "g.priority", "NULL") " FROM g JOIN h ON h.id=g.id WHERE h.state<5)";

static const char keep_attempts[] =
    " a JOIN h ON h.no=a.step ON CONFLICT(job_id,number) DO UPDATE SET status=excluded.status, outcome=excluded.outcome,"
    " picked_at=excluded.picked_at, started_at=excluded.started_at, completed_at=excluded.completed_at, holder=excluded.holder,"
    " response_truncated=excluded.response_truncated, reason=excluded.reason, response=excluded.response)";

static const char hold[] = ", i AS (" PG_HOLD("NULL::bigint", "SELECT holder, id FROM h WHERE state IN (3,4)") ")";
static const char hold_leased[] =
    ", i AS (" PG_HOLD("NULL::bigint", "SELECT holder, id FROM h WHERE state IN (3,4) AND lease_until=0") ")";
static const char lower_floors[] = ", f AS (" PG_LOWER_FLOORS("SELECT h.lane, h.due_at FROM h WHERE h.state IN (1,2)") ")";

// clang-format off
static const char count_changes[] =
    ", c AS (" PG_COUNT("SELECT h.lane, h.was AS state, -1 AS n FROM h UNION ALL SELECT h.lane, h.state, 1 FROM h") ")"
    " SELECT s.no, (" STANDS;
static const char of_steps[] = ")::int, (l.scheduled_at<>s.scheduled_at)::int FROM s JOIN l ON l.id=s.id";
// clang-format on

// Ends jobs. The ids come sorted and are looked up in their order, so rows are locked in that order here, too. A row that another
// had meanwhile is looked at anew by PostgreSQL, with its step. $1 slot, $2 how many there are at most, which PostgreSQL would
// overestimate.
static const char end_from[] = "WITH h AS (DELETE FROM @jobs j USING ";
static const char end_jobs[] = " s WHERE " PG_IS(
    "j.id", "s.id") " AND j.token=s.expected AND (s.watched=0 OR j.state=3) AND j.lease_until=0 AND j.scheduled_at=s.scheduled_at"
                    " RETURNING s.no, j.state AS was, j.hand, s.day, j.id" JOB_FIXED(PG_NAME_OF_J)
                        JOB_MOVING(PG_NAME_OF_S) ",s.reason,s.response)"
                                                 ", d AS (INSERT INTO @jobs_done(" PG_JOB_COLUMNS ",day) SELECT " PG_JOB_COLUMNS
                                                 ",day FROM h)";
static const char count_ends[] =
    ", x AS (UPDATE @hands k SET remain=k.remain-q.n FROM (SELECT hand, count(*) AS n FROM (SELECT hand FROM h LIMIT $2) h"
    " WHERE hand>0 GROUP BY 1 ORDER BY 1) q WHERE " PG_IS(
        "k.number", "q.hand") ")"
                              ", c AS (" PG_COUNT(PG_MOVES(
                                  "SELECT lane, was, state, count(*) AS n FROM (SELECT lane, was, state FROM h LIMIT $2) h"
                                  " GROUP BY 1,2,3")) ") SELECT no FROM h";

// In which of the tables jobs are looked for, and whether they may be planned for another time.
enum way { AS_PLANNED, TASKS_LOCKED, AMONG_DONE };

struct batch {
    struct store_step **steps;
    size_t count;
    struct batch *moved; // takes those that were left out because they plan a job for another time; NULL: none is
};

static void read_steps(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++) {
        struct store_step *step = batch->steps[pg_int(result, row, 0)];
        bool stands = pg_int(result, row, 1), moves = pg_int(result, row, 2);
        if (stands && moves && batch->moved)
            batch->moved->steps[batch->moved->count++] = step;
        else
            step->err = stands ? ERR_OK : ERR_LEASE_LOST;
    }
}

static void read_ended(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        batch->steps[pg_int(result, row, 0)]->err = ERR_OK;
}

static bool attempt_rows(struct pg_session *session, struct pg_rows *rows, const struct batch *batch)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < batch->count; i++)
        count += batch->steps[i]->attempt != NULL;
    pg_rows_init(rows, &session->arena, count);
    int64_t *steps = pg_rows_ints(rows, "step"), *numbers = pg_rows_ints(rows, "number"),
            *statuses = pg_rows_ints(rows, "status"), *outcomes = pg_rows_ints(rows, "outcome"),
            *picked = pg_rows_ints(rows, "picked_at"), *started = pg_rows_ints(rows, "started_at"),
            *completed = pg_rows_ints(rows, "completed_at"), *holders = pg_rows_ints(rows, "holder"),
            *truncated = pg_rows_ints(rows, "response_truncated");
    struct str *reasons = pg_rows_strs(rows, "reason", PG_BYTES), *responses = pg_rows_strs(rows, "response", PG_BYTES);
    for (size_t i = 0; i < batch->count; i++) {
        const struct attempt *attempt = batch->steps[i]->attempt;
        if (!attempt)
            continue;
        steps[at] = (int64_t)i;
        numbers[at] = attempt->number;
        statuses[at] = attempt->status;
        outcomes[at] = attempt->outcome;
        picked[at] = attempt->picked_at;
        started[at] = attempt->started_at;
        completed[at] = attempt->completed_at;
        holders[at] = attempt->holder;
        truncated[at] = attempt->response_truncated;
        responses[at] = attempt->response;
        reasons[at++] = attempt->reason;
    }
    return count > 0;
}

static void put_attempts(struct pg_session *session, const struct batch *batch)
{
    struct pg_rows rows;
    if (!attempt_rows(session, &rows, batch))
        return;
    pg_put(session,
           ", a AS (INSERT INTO @attempts(job_id,number,status,outcome,picked_at,started_at,completed_at,holder,"
           "response_truncated,reason,response)"
           " SELECT h.id,a.number,a.status,a.outcome,a.picked_at,a.started_at,a.completed_at,a.holder,a.response_truncated,"
           "a.reason,a.response FROM ");
    pg_put_rows(session, &rows);
    pg_put(session, keep_attempts);
}

// What the steps of a batch are: it says which parts its statement needs.
struct kinds {
    bool final, live, leased, held, touched;
};

static void step_rows(struct pg_session *session, struct pg_rows *rows, const struct batch *batch, struct kinds *ret_kinds)
{
    const struct job **jobs = arena_array(&session->arena, const struct job *, batch->count);
    pg_rows_init(rows, &session->arena, batch->count);
    int64_t *ids = pg_rows_ints(rows, "id"), *expected = pg_rows_ints(rows, "expected"), *watched = pg_rows_ints(rows, "watched");
    *ret_kinds = (struct kinds){0};
    for (size_t i = 0; i < batch->count; i++) {
        jobs[i] = batch->steps[i]->job;
        ids[i] = jobs[i]->id;
        expected[i] = batch->steps[i]->token;
        watched[i] = batch->steps[i]->watched;
        ret_kinds->final |= job_state_final(jobs[i]->state);
        ret_kinds->live |= !job_state_final(jobs[i]->state);
        ret_kinds->leased |= store_step_leased(batch->steps[i]);
        ret_kinds->held |= job_in_hand(jobs[i]);
        ret_kinds->touched |= jobs[i]->touched_at != 0;
    }
    pg_rows_moving(rows, jobs);
    if (ret_kinds->touched)
        pg_rows_touched(rows, jobs);
    if (!ret_kinds->leased)
        return;
    int64_t *leases = pg_rows_ints(rows, "lease");
    for (size_t i = 0; i < batch->count; i++)
        leases[i] = batch->steps[i]->lease;
    pg_rows_lease(rows, jobs);
}

static void send_batch(struct pg_session *session, struct batch *batch, enum way way)
{
    struct pg_rows rows;
    struct kinds kinds;
    step_rows(session, &rows, batch, &kinds);
    bool final = kinds.final, live = kinds.live, done = way == AMONG_DONE;
    const char *lease = kinds.leased ? "s.lease" : "0";
    pg_begin_query(session);
    pg_param_int(session, pg_slot(session));
    pg_put(session, "WITH s AS MATERIALIZED (SELECT * FROM ");
    pg_put_rows(session, &rows);
    pg_put(session, " s)");
    pg_put(session, done ? lock_done : lock_live);
    pg_put(session, hits);
    pg_put(session, lease);
    pg_put(session, way == AS_PLANNED ? as_planned : "");
    pg_put(session, ")");
    pg_put(session, way == AS_PLANNED ? "" : move_tags);
    if (live && !done) {
        pg_put(session, update_live);
        pg_put(session, kinds.touched ? PG_TOUCH : "");
        pg_put(session, kinds.leased ? place_leased : place_live);
        pg_put(session, from_hits);
    }
    if (final || done)
        pg_put(session, done ? leave_done : leave_live);
    if (final)
        pg_put(session, kinds.leased ? enter_done_leased : enter_done);
    if (live && done)
        pg_put(session, enter_live);
    put_attempts(session, batch);
    if (kinds.held)
        pg_put(session, kinds.leased ? hold_leased : hold);
    if (live)
        pg_put(session, lower_floors);
    pg_put(session, count_changes);
    pg_put(session, lease);
    pg_put(session, of_steps);
    pg_send(session, read_steps, batch);
}

static void send_ends(struct pg_session *session, struct batch *batch)
{
    struct pg_rows rows;
    struct kinds kinds;
    step_rows(session, &rows, batch, &kinds);
    pg_begin_query(session);
    pg_param_int(session, pg_slot(session));
    pg_param_int(session, (int64_t)batch->count);
    pg_put(session, end_from);
    pg_put_rows(session, &rows);
    pg_put(session, end_jobs);
    put_attempts(session, batch);
    pg_put(session, count_ends);
    pg_send(session, read_ended, batch);
}

static void lock_tasks(struct pg_session *session, const struct batch *batch, bool done)
{
    int64_t *ids = arena_array(&session->arena, int64_t, batch->count),
            *times = arena_array(&session->arena, int64_t, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        ids[i] = batch->steps[i]->job->id;
        times[i] = batch->steps[i]->job->scheduled_at;
    }
    pg_begin_query(session);
    pg_put(session, done ? lock_tasks_of_done : lock_tasks_of_live);
    pg_param_ints(session, ids, batch->count);
    pg_param_ints(session, times, batch->count);
    pg_send(session, NULL, NULL);
}

// Cuts the steps where a job comes for the second time, and sends what lies between.
static void send_batches(struct pg_session *session, struct batch *all, enum way way)
{
    struct map seen = {0};
    size_t first = 0;
    for (size_t i = 0; i <= all->count; i++) {
        if (i < all->count && (i == first || !map_get(&seen, all->steps[i]->job->id))) {
            map_put(&seen, all->steps[i]->job->id, session);
            continue;
        }
        struct batch *batch = arena_alloc(&session->arena, sizeof *batch);
        *batch = (struct batch){&all->steps[first], i - first, all->moved};
        if (batch->count)
            send_batch(session, batch, way);
        map_done(&seen);
        first = i;
        if (i < all->count)
            map_put(&seen, all->steps[i]->job->id, session);
    }
    map_done(&seen);
}

static void run_batches(struct pg_session *session, struct batch *ends, struct batch *others, enum way way)
{
    for (size_t i = 0; i < others->count; i++)
        others->steps[i]->err = ERR_NOT_FOUND; // until it is found
    pg_begin(session, "BEGIN");
    if (way != AS_PLANNED && others->count)
        lock_tasks(session, others, way == AMONG_DONE);
    if (ends && ends->count)
        send_ends(session, ends);
    send_batches(session, others, way);
    pg_commit(session);
}

// The same in a transaction of its own, behind another.
static void run_behind(struct pg_session *session, struct batch *batch, enum way way)
{
    if (batch->count && !session->err)
        run_batches(session, NULL, batch, way);
}

static int by_id(const void *a, const void *b)
{
    int64_t left = (*(struct store_step *const *)a)->job->id, right = (*(struct store_step *const *)b)->job->id;
    return left < right ? -1 : left > right;
}

static struct batch list_steps(struct pg_session *session, struct list *group)
{
    struct batch all = {0};
    list_each (group, node)
        all.count += container_of(list_entry(node, struct store_op, link), struct store_change, op)->count;
    all.steps = arena_array(&session->arena, struct store_step *, all.count);
    all.count = 0;
    list_each (group, node) {
        struct store_change *change = container_of(list_entry(node, struct store_op, link), struct store_change, op);
        for (size_t i = 0; i < change->count; i++)
            all.steps[all.count++] = &change->steps[i];
    }
    return all;
}

// Those that end a job, by id. A job that comes twice has its first step there at most: ends are written before the others.
// Returns whether one does.
static bool sort_out(struct pg_session *session, const struct batch *all, struct batch *ret_ends, struct batch *ret_others)
{
    struct map seen = {0};
    bool twice = false;
    ret_ends->steps = arena_array(&session->arena, struct store_step *, all->count);
    ret_others->steps = arena_array(&session->arena, struct store_step *, all->count);
    for (size_t i = 0; i < all->count; i++) {
        struct store_step *step = all->steps[i];
        bool first = !map_put(&seen, step->job->id, step);
        twice |= !first;
        struct batch *to = first && job_state_final(step->job->state) && !store_step_leased(step) ? ret_ends : ret_others;
        to->steps[to->count++] = step;
    }
    map_done(&seen);
    if (ret_ends->count)
        qsort(ret_ends->steps, ret_ends->count, sizeof *ret_ends->steps, by_id);
    return twice;
}

// Moves the steps that were not found to the front, in their order.
static void keep_missing(struct batch *batch)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->steps[i]->err == ERR_NOT_FOUND)
            batch->steps[count++] = batch->steps[i];
    batch->count = count;
}

// Where a job comes twice no step is left out at first: the next one of the job would come before it.
void pg_change_group(struct pg_session *session, struct list *group)
{
    struct batch all = list_steps(session, group), ends = {0}, others = {0}, moved = {0};
    for (size_t i = 0; i < all.count; i++) {
        pg_make_days(session, (const struct job *const[]){all.steps[i]->job}, 1);
        all.steps[i]->err = ERR_NOT_FOUND;
    }
    bool twice = sort_out(session, &all, &ends, &others);
    moved.steps = arena_array(&session->arena, struct store_step *, others.count);
    others.moved = twice ? NULL : &moved;
    run_batches(session, &ends, &others, twice ? TASKS_LOCKED : AS_PLANNED);
    run_behind(session, &moved, TASKS_LOCKED);
    if (!session->err)
        keep_missing(&ends);
    run_behind(session, &ends, TASKS_LOCKED);
    if (!session->err)
        keep_missing(&all);
    run_behind(session, &all, AMONG_DONE);
}
