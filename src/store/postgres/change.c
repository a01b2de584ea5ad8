// CHANGE: writes what was decided.
//
// Nearly every step ends a job that has no lease. All such steps of a group are one statement (`end_jobs`): it deletes the rows
// whose tokens stand and files the records among those of finished jobs. It asks nothing else, because nothing else happens as a
// rule. A step that it did not take goes to the statement of all other steps (`change_jobs`), which finds out why.
//
// `change_jobs` locks rows by id first, because an UPDATE that had to wait looks again only at the row it waited for. It locks
// them in order of id, so that two batches do not wait for each other in a circle, and then compares the tokens. All steps are
// one statement, unless a job comes twice: then its second step is in the next. A job that is final already lies in jobs_done.
// Steps are looked for there only if they were not found in jobs, in a transaction behind the first.
//
// A statement that moves rows of tags comes behind one that locks their tasks. An AMEND locks the task before its jobs, too, so
// the two do not wait for each other in a circle, and the statement behind the lock sees the tags as they are then. Hardly any
// step plans a job for another time, so the others do not pay for it: a step that does is left out at first, and taken in a
// transaction behind, which locks.
//
// Steps that end jobs of recurring tasks count in the plans of these. The trigger in a job's record says whether its end may
// count, so batches of one-time jobs have nothing to do with plans. The plans are locked before the first job: see plans.c.
#include "store/postgres/postgres.h"

#include <stdlib.h>

// clang-format off

// CHANGE, before a statement that may plan jobs for another time. $1 the jobs, $2 when they are to be planned for. A job that is
// planned anew by somebody else behind this has another token.
static const char lock_tasks_of_moved[] =
    "SELECT FROM @tasks t WHERE t.id=" PG_ANY(
        "SELECT j.task_id FROM unnest($1::bigint[],$2::bigint[]) step(id,scheduled_at) JOIN {table} j ON " PG_IS("j.id", "step.id")
        " WHERE j.scheduled_at<>step.scheduled_at") " ORDER BY t.id FOR KEY SHARE";

// The attempts that steps keep. `taken` has the steps that were taken (no, id).
#define KEEP_ATTEMPTS(taken) \
    "{keeps:, kept AS (INSERT INTO @attempts(job_id,number,{attempt}) SELECT " taken ".id,a.number,{attempt of a}" \
    "   FROM {attempts} a JOIN " taken " ON " taken ".no=a.step" \
    "   ON CONFLICT(job_id,number) DO UPDATE SET {set attempt from excluded})}"

// Counts the jobs of recurring tasks that were `ended` in the plans of their tasks, if they have one: in the order of their ids.
// Only jobs that the schedule has made (`planned`) count for failures_in_row.
#define HAS_FAILED "ended.state IN ({aborted},{buried})"
#define WITHOUT(ids, gone) \
    "CASE WHEN cardinality(" ids ")>0 THEN" \
    " ARRAY(SELECT each.id FROM unnest(" ids ") WITH ORDINALITY each(id,no) WHERE each.id<>ALL(" gone ") ORDER BY each.no) END"
#define COUNT_IN_PLANS(ended) \
    "{recurs:, in_order AS (SELECT ended.task_id, ended.id, ended.state, ended.completed_at, ended.trigger={by_schedule} AS planned," \
    "   count(*) FILTER (WHERE ended.state={success} AND ended.trigger={by_schedule})" \
    "     OVER (PARTITION BY ended.task_id ORDER BY ended.id DESC) AS later_successes" \
    "   FROM " ended " ended WHERE ended.trigger>0 AND ended.state>={first_final})" \
    ", of_task AS MATERIALIZED (SELECT ended.task_id, array_agg(ended.id) AS ids, count(*) AS n," \
    "   count(*) FILTER (WHERE ended.state={success}) AS success, count(*) FILTER (WHERE " HAS_FAILED ") AS failed," \
    "   count(*) FILTER (WHERE ended.state={cancelled}) AS cancelled," \
    "   count(*) FILTER (WHERE " HAS_FAILED " AND ended.planned AND ended.later_successes=0) AS failures_in_row," \
    "   bool_or(ended.state={success} AND ended.planned) AS breaks_row," \
    "   max(ended.completed_at) FILTER (WHERE ended.state<>{cancelled}) AS last_at" \
    "   FROM in_order ended GROUP BY ended.task_id)" \
    ", counted_in_plan AS (UPDATE @plans p SET revision=p.revision+of_task.n, success=p.success+of_task.success," \
    "   failed=p.failed+of_task.failed, cancelled=p.cancelled+of_task.cancelled," \
    "   failures_in_row=of_task.failures_in_row+CASE WHEN of_task.breaks_row THEN 0 ELSE p.failures_in_row END," \
    "   last_at=greatest(p.last_at,of_task.last_at)," \
    "   active=" WITHOUT("p.active", "of_task.ids") ", queued=" WITHOUT("p.queued", "of_task.ids") \
    "   FROM of_task WHERE " PG_IS("p.task_id", "of_task.task_id") ")}"

// CHANGE: any steps. $1 stripe. `table` is where the jobs are looked for: `jobs`, or (`done`) jobs_done. What a part is on for:
//
//   final, live    some steps end their job; some do not
//   planned        steps that plan a job for another time are left out
//   leased         some steps have to do with a lease. A job in jobs_done has none, and gets none when it comes back
//   touched        some leave no other time behind
//   in_hand        some bring their job into a hand
//   recurs         some end jobs that count in plans
#define STANDS \
    "locked.token=step.expected AND (step.watched=0 OR locked.state={watching})" \
    " AND locked.lease_until={leased:step.lease}{not leased:0}"
#define NEW_PLACE PG_PLACE("hit.state", "j.lane", "j.priority", "j.waits_at")
static const char change_jobs[] =
    "WITH step AS MATERIALIZED (SELECT * FROM {steps} step)"
    ", locked AS MATERIALIZED (SELECT j.id, j.token, j.state, j.lane, j.lease_until, j.task_id, j.scheduled_at{recurs:, j.trigger} FROM {table} j"
    "   WHERE j.id=" PG_ANY("SELECT id FROM step") " ORDER BY j.id FOR UPDATE)"
    ", hit AS MATERIALIZED (SELECT step.*, locked.state AS was, locked.lane, locked.task_id, locked.scheduled_at AS was_scheduled{recurs:, locked.trigger}"
    "   FROM step JOIN locked ON locked.id=step.id AND " STANDS "{planned: AND locked.scheduled_at=step.scheduled_at})"
    // Jobs that are planned for another time are found at another place by the tags of their tasks.
    "{not planned:"
    ", moved AS MATERIALIZED (SELECT hit.id, hit.was_scheduled, hit.scheduled_at, t.tenant, t.tags FROM hit"
    "   JOIN (SELECT t.id, t.tenant, t.tags FROM @tasks t"
    "     WHERE t.id=" PG_ANY("SELECT task_id FROM hit WHERE scheduled_at<>was_scheduled") " AND t.tags IS NOT NULL) t"
    "   ON t.id=hit.task_id WHERE hit.scheduled_at<>hit.was_scheduled)"
    ", untagged AS (" PG_REMOVE_TAGS(PG_TAGS_OF_JOBS("SELECT tenant, tags, was_scheduled AS at, id FROM moved")) ")"
    ", tagged AS (" PG_ADD_TAGS(PG_TAGS_OF_JOBS("SELECT tenant, tags, scheduled_at AS at, id FROM moved")) ")}"
    // Jobs that are not final stay in `jobs`, or come back to it.
    "{live:{not done:, updated AS (UPDATE @jobs j SET {set moving from hit},"
    "   {touched:touched_at=coalesce(nullif(hit.touched_at,0),j.touched_at),}"
    "   {not leased:waits_at=" NEW_PLACE "}"
    "   {leased:lease_until=hit.lease_until, result=hit.result, waits_at=CASE WHEN hit.lease_until=0 THEN " NEW_PLACE " END}"
    "   FROM hit WHERE j.id=hit.id AND hit.state<{first_final}"
    "   AND j.id=" PG_ANY("SELECT id FROM hit WHERE state<{first_final}") ")}}"
    "{done:, gone AS (DELETE FROM @jobs_done j WHERE j.id=" PG_ANY("SELECT id FROM hit") " RETURNING {fixed of j})}"
    "{not done:{final:, gone AS (DELETE FROM @jobs j WHERE j.id=" PG_ANY("SELECT id FROM hit WHERE state>={first_final}")
    "   RETURNING {fixed of j})}}"
    "{final:, filed AS (INSERT INTO @jobs_done({fixed},{moving},day{leased:,result})"
    "   SELECT {fixed of gone},{moving of hit},hit.day{leased:,hit.result} FROM gone JOIN hit ON hit.id=gone.id"
    "   WHERE hit.state>={first_final})}"
    "{live:{done:, back AS (INSERT INTO @jobs({fixed},{moving},waits_at)"
    "   SELECT {fixed of gone},{moving of hit}," PG_PLACE("hit.state", "gone.lane", "gone.priority", "NULL")
    "   FROM gone JOIN hit ON hit.id=gone.id WHERE hit.state<{first_final})}}"
    KEEP_ATTEMPTS("hit")
    COUNT_IN_PLANS("hit")
    "{in_hand:, hand AS ("
        PG_HOLD("NULL::bigint", "SELECT holder, id FROM hit WHERE state IN {held}{leased: AND lease_until=0}") ")}"
    "{live:, lowered AS (" PG_LOWER_FLOORS("SELECT hit.lane, hit.due_at FROM hit WHERE hit.state IN {waiting}") ")}"
    ", counted AS (" PG_COUNT("SELECT hit.lane, hit.was AS state, -1 AS n FROM hit UNION ALL SELECT hit.lane, hit.state, 1 FROM hit") ")"
    " SELECT step.no, (" STANDS ")::int, (locked.scheduled_at<>step.scheduled_at)::int FROM step JOIN locked ON locked.id=step.id";

// CHANGE: steps that end jobs which have no lease. The ids come sorted and are looked up in their order, so rows are locked in that
// order here, too. A row that another had meanwhile is looked at anew by PostgreSQL, with its step. $1 stripe, $2 how many there are
// at most, which PostgreSQL would overestimate.
static const char end_jobs[] =
    "WITH ended AS (DELETE FROM @jobs j USING {steps} step WHERE " PG_IS("j.id", "step.id") " AND j.token=step.expected"
    "   AND (step.watched=0 OR j.state={watching}) AND j.lease_until=0 AND j.scheduled_at=step.scheduled_at"
    "   RETURNING step.no, j.state AS was, j.hand, step.day, {fixed of j},{moving of step})"
    ", filed AS (INSERT INTO @jobs_done({job},day) SELECT {job},day FROM ended)"
    KEEP_ATTEMPTS("ended")
    COUNT_IN_PLANS("ended")
    ", left_hand AS (UPDATE @hands h SET remain=h.remain-leaving.n FROM (SELECT hand, count(*) AS n"
    "   FROM (SELECT hand FROM ended LIMIT $2) ended WHERE hand>0 GROUP BY 1 ORDER BY 1) leaving"
    "   WHERE " PG_IS("h.number", "leaving.hand") ")"
    ", counted AS (" PG_COUNT(PG_MOVES(
        "SELECT lane, was, state, count(*) AS n FROM (SELECT lane, was, state FROM ended LIMIT $2) ended GROUP BY 1,2,3")) ")"
    " SELECT no FROM ended";

// clang-format on

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
            step->err = stands ? ERR_OK : ERR_MOVED_ON;
    }
}

static void read_ended(void *ctx, const PGresult *result)
{
    struct batch *batch = ctx;
    for (int row = 0; row < PQntuples(result); row++)
        batch->steps[pg_int(result, row, 0)]->err = ERR_OK;
}

// The attempts that the steps of a batch keep: there are `rows->count`.
static void attempt_rows(struct pg_session *session, struct pg_rows *rows, const struct batch *batch)
{
    const struct attempt **attempts = arena_array(&session->arena, const struct attempt *, batch->count);
    int64_t *steps = arena_array(&session->arena, int64_t, batch->count);
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (batch->steps[i]->attempt) {
            steps[count] = (int64_t)i;
            attempts[count++] = batch->steps[i]->attempt;
        }
    pg_rows_init(rows, &session->arena, count);
    int64_t *step = pg_rows_ints(rows, "step");
    for (size_t i = 0; i < count; i++)
        step[i] = steps[i];
    pg_rows_attempts(rows, attempts);
}

// What the steps of a batch are: it says which parts its statement needs.
struct kinds {
    bool final, live, leased, in_hand, touched, recurs;
};

// Whether a step counts in a plan if its job has not ended before, which only the statement sees.
static bool may_count(const struct store_step *step)
{
    return store_step_counts(JOB_RESERVED, step->job);
}

static struct kinds kinds_of(const struct batch *batch)
{
    struct kinds kinds = {0};
    for (size_t i = 0; i < batch->count; i++) {
        const struct job *job = batch->steps[i]->job;
        kinds.final |= job_state_final(job->state);
        kinds.live |= !job_state_final(job->state);
        kinds.leased |= store_step_leased(batch->steps[i]);
        kinds.in_hand |= job_in_hand(job);
        kinds.touched |= job->touched_at != 0;
        kinds.recurs |= may_count(batch->steps[i]);
    }
    return kinds;
}

static void step_rows(struct pg_session *session, struct pg_rows *rows, const struct batch *batch, const struct kinds *kinds)
{
    const struct job **jobs = pg_rows_steps(rows, &session->arena, (const struct store_step *const *)batch->steps, batch->count);
    pg_rows_day(rows, jobs);
    int64_t *watched = pg_rows_ints(rows, "watched");
    for (size_t i = 0; i < batch->count; i++)
        watched[i] = batch->steps[i]->watched;
    if (kinds->touched)
        pg_rows_touched(rows, jobs);
    if (!kinds->leased)
        return;
    int64_t *leases = pg_rows_ints(rows, "lease");
    for (size_t i = 0; i < batch->count; i++)
        leases[i] = batch->steps[i]->lease;
    pg_rows_lease(rows, jobs);
}

static const char *table_of(enum way way)
{
    return way == AMONG_DONE ? "@jobs_done" : "@jobs";
}

// Begins a statement for the steps of a batch; $1 is the stripe.
static struct kinds begin_batch(struct pg_session *session, const struct batch *batch, struct pg_rows *ret_steps,
                                struct pg_rows *ret_attempts)
{
    struct kinds kinds = kinds_of(batch);
    step_rows(session, ret_steps, batch, &kinds);
    attempt_rows(session, ret_attempts, batch);
    pg_begin_query(session);
    pg_param_int(session, pg_stripe(session));
    return kinds;
}

static void send_batch(struct pg_session *session, struct batch *batch, enum way way)
{
    struct pg_rows steps, attempts;
    struct kinds kinds = begin_batch(session, batch, &steps, &attempts);
    pg_put_with(session, change_jobs, PG_ROWS("steps", &steps), PG_ROWS("attempts", &attempts), PG_IF("keeps", attempts.count),
                PG_TEXT_OF("table", table_of(way)), PG_IF("done", way == AMONG_DONE), PG_IF("planned", way == AS_PLANNED),
                PG_IF("final", kinds.final), PG_IF("live", kinds.live), PG_IF("leased", kinds.leased),
                PG_IF("touched", kinds.touched), PG_IF("in_hand", kinds.in_hand),
                PG_IF("recurs", kinds.recurs && way != AMONG_DONE));
    pg_send(session, read_steps, batch);
}

static void send_ends(struct pg_session *session, struct batch *batch)
{
    struct pg_rows steps, attempts;
    struct kinds kinds = begin_batch(session, batch, &steps, &attempts);
    pg_param_int(session, (int64_t)batch->count);
    pg_put_with(session, end_jobs, PG_ROWS("steps", &steps), PG_ROWS("attempts", &attempts), PG_IF("keeps", attempts.count),
                PG_IF("recurs", kinds.recurs));
    pg_send(session, read_ended, batch);
}

static void lock_tasks(struct pg_session *session, const struct batch *batch, enum way way)
{
    int64_t *ids = arena_array(&session->arena, int64_t, batch->count),
            *times = arena_array(&session->arena, int64_t, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        ids[i] = batch->steps[i]->job->id;
        times[i] = batch->steps[i]->job->scheduled_at;
    }
    pg_begin_query(session);
    pg_put_with(session, lock_tasks_of_moved, PG_TEXT_OF("table", table_of(way)));
    pg_param_ints(session, ids, batch->count);
    pg_param_ints(session, times, batch->count);
    pg_send(session, NULL, NULL);
}

static size_t list_plans(const struct batch *batch, int64_t *ret_tasks)
{
    size_t count = 0;
    for (size_t i = 0; i < batch->count; i++)
        if (may_count(batch->steps[i]))
            ret_tasks[count++] = batch->steps[i]->job->task_id;
    return count;
}

// The plans of all steps, before the first of their jobs.
static void lock_plans(struct pg_session *session, const struct batch *ends, const struct batch *others)
{
    int64_t *tasks = arena_array(&session->arena, int64_t, ends->count + others->count);
    size_t count = list_plans(ends, tasks);
    count += list_plans(others, tasks + count);
    if (count)
        pg_lock_plans(session, tasks, count);
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
        lock_tasks(session, others, way);
    if (way != AMONG_DONE)
        lock_plans(session, ends, others);
    if (ends->count)
        send_ends(session, ends);
    send_batches(session, others, way);
    pg_commit(session);
}

// The same in a transaction of its own, behind another.
static void run_behind(struct pg_session *session, struct batch *batch, enum way way)
{
    if (batch->count && !session->err)
        run_batches(session, &(struct batch){0}, batch, way);
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
