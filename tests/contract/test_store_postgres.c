// What only the PostgreSQL store promises: many sessions claim at once, the schema is brought up to date whatever happens on the
// way, unsafe settings are refused, and a database that goes, hangs or loses a connection is met as it should be.
#include "store_support.h"

#include "../support/proxy.h"
#include "postgres_support.h"
#include "store/lives.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { A = 11, DAY = 86400 * 1000 };

static int set_up(void **state)
{
    struct world *world = world_new("postgres");
    join(world, A);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

static void url_over(const struct world *world, int port, char ret_url[160])
{
    snprintf(ret_url, 160, "postgres://rota@127.0.0.1:%d/rota?sslmode=disable&schema=%s", port, world->schema);
}

// ---- claims

enum { SESSIONS = 4, JOBS = 600, BITE = 7 };

struct claimer {
    struct world *world;
    pthread_t thread;
    int64_t lane;
    int64_t ids[JOBS];
    size_t count, largest;
};

static void *claimer_main(void *ctx)
{
    struct claimer *claimer = ctx;
    struct store *store;
    char url[160], why[ERR_WHY_MAX];
    world_url(claimer->world, url);
    if (store_open(&store, url, why))
        return NULL;
    for (bool more = true; more;) {
        struct store_want want = {.lane = claimer->lane, .max = BITE};
        struct store_claim op = {.holder = A, .now_ms = NOW, .until_ms = NOW, .wants = &want, .want_count = 1};
        store_op_init(&op.op, STORE_CLAIM, NULL);
        store_call(store, &op.op);
        for (size_t i = 0; i < op.job_count; i++)
            claimer->ids[claimer->count++] = op.jobs[i].job.id;
        if (op.job_count > claimer->largest)
            claimer->largest = op.job_count;
        more = op.op.err == ERR_OK && (op.job_count || want.next_due != TIME_NEVER);
        store_op_done(&op.op);
    }
    store_close(store);
    return claimer;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void several_sessions_at_once_get_each_job_once(void **state)
{
    struct world *world = *state;
    struct claimer *claimers = world_mem(world, SESSIONS * sizeof *claimers);
    int64_t ids[JOBS], lane = lane_of(world, TENANT, "q");
    size_t count = 0;
    for (int i = 0; i < JOBS; i++)
        add(world, (struct sample){.priority = 1 + i % 3, .due_at = NOW - i % 5});
    for (int i = 0; i < SESSIONS; i++) {
        claimers[i] = (struct claimer){.world = world, .lane = lane};
        assert_int_equal(pthread_create(&claimers[i].thread, NULL, claimer_main, &claimers[i]), 0);
    }
    for (int i = 0; i < SESSIONS; i++) {
        void *well;
        pthread_join(claimers[i].thread, &well);
        assert_non_null(well);
        assert_true(claimers[i].largest <= BITE);
        assert_true(count + claimers[i].count <= JOBS);
        memcpy(ids + count, claimers[i].ids, claimers[i].count * sizeof *ids);
        count += claimers[i].count;
    }
    assert_int_equal(count, JOBS);
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        assert_true(ids[i - 1] < ids[i]);
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    assert_int_equal(stats->counts[JOB_WATCHING], JOBS);
    assert_int_equal(stats->counts[JOB_READY], 0);
}

// Another session is in the middle of changing some of four jobs, in every combination.
static void what_others_have_locked_is_left_out_and_not_waited_for(void **state)
{
    struct world *world = *state;
    enum { FEW = 4 };
    for (int locked = 0; locked < 1 << FEW; locked++) {
        char queue[8], sql[200];
        int64_t ids[FEW];
        size_t expected = 0;
        snprintf(queue, sizeof queue, "q%d", locked);
        PGconn *other = session_new(false);
        session_do(other, "BEGIN");
        for (int i = 0; i < FEW; i++) {
            ids[i] = add(world, (struct sample){.queue = queue, .due_at = NOW - FEW + i});
            snprintf(sql, sizeof sql, "SELECT 1 FROM %s.jobs WHERE id=%lld FOR UPDATE", world->schema, (long long)ids[i]);
            if (locked & 1 << i)
                session_do(other, sql);
        }
        struct store_claim *op = claim(world, A, NOW, lane_of(world, TENANT, queue), FEW);
        for (int i = 0; i < FEW; i++)
            if (!(locked & 1 << i))
                assert_int_equal(op->jobs[expected++].job.id, ids[i]);
        assert_int_equal(op->job_count, expected);
        assert_int_equal(op->wants[0].next_due == TIME_NEVER, locked == 0);
        session_do(other, "ROLLBACK");
        PQfinish(other);
        assert_int_equal(claim(world, A, NOW, lane_of(world, TENANT, queue), FEW)->job_count, FEW - expected);
    }
}

// ---- a claim and a change of the task

static void wait_until_asked(const char *what)
{
    PGconn *session = session_new(true);
    char sql[300];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type='Lock' AND %s", what);
    while (session_ask(session, sql) == 0)
        ;
    PQfinish(session);
}

struct caller {
    struct store *store;
    struct store_op *op;
};

static void *caller_main(void *ctx)
{
    struct caller *caller = ctx;
    store_call(caller->store, caller->op);
    return NULL;
}

// The claim has looked at the database and stands still where it reads the lanes. When it goes on, the task was changed, and the
// job with it; it takes the job as it is now, so the document must be the new one, too.
static void a_claim_that_meets_a_change_gets_the_document_that_was_changed(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.due_at = NOW - 5});
    struct store_want want = {.lane = lane_of(world, TENANT, "q"), .max = 10};
    struct store_claim claim = {.holder = A, .now_ms = NOW, .until_ms = NOW, .wants = &want, .want_count = 1};
    pthread_t thread;
    char path[160];
    PGconn *session = session_new(true);
    snprintf(path, sizeof path, "SET search_path=%s", world->schema);
    session_do(session, path);
    session_do(session, "CREATE POLICY stall ON lanes USING (pg_advisory_xact_lock_shared(77) IS NOT NULL)");
    session_do(session, "ALTER TABLE lanes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY");
    session_do(session, "BEGIN; SELECT pg_advisory_xact_lock(77)");
    store_op_init(&claim.op, STORE_CLAIM, NULL);
    assert_int_equal(pthread_create(&thread, NULL, caller_main, &(struct caller){world->store, &claim.op}), 0);
    wait_until_asked("wait_event='advisory' AND query LIKE '%FOR UPDATE SKIP LOCKED%'");
    session_do(session, "UPDATE tasks SET doc='new'; UPDATE jobs SET due_at=due_at+1");
    session_do(session, "COMMIT");
    pthread_join(thread, NULL);
    assert_int_equal(claim.op.err, ERR_OK);
    assert_int_equal(claim.job_count, 1);
    assert_int_equal(claim.jobs[0].job.id, id);
    assert_int_equal(claim.jobs[0].job.due_at, NOW - 4);
    assert_true(str_is(claim.jobs[0].doc, "new"));
    store_op_done(&claim.op);
    PQfinish(session);
}

// ---- adding in bulk

static struct store_add *many_tasks(struct world *world, size_t count, const char *name)
{
    struct store_add *op = OP(world, store_add, STORE_ADD);
    struct store_task *tasks = world_mem(world, count * sizeof *tasks);
    struct job *jobs = world_mem(world, count * sizeof *jobs);
    op->items = world_mem(world, count * sizeof *op->items);
    op->count = count;
    for (size_t i = 0; i < count; i++) {
        sample_fill(world, &(struct sample){0}, &tasks[i], &jobs[i], &op->items[i]);
        tasks[i].name = str_of(name);
    }
    return op;
}

static void who_adds_one_task_does_not_wait_for_those_who_add_many(void **state)
{
    struct world *world = *state;
    pthread_t thread;
    char path[160];
    PGconn *session = session_new(true);
    snprintf(path, sizeof path, "SET search_path=%s", world->schema);
    session_do(session, path);
    session_do(session, "CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS"
                        " 'BEGIN PERFORM pg_advisory_xact_lock_shared(78); RETURN NEW; END'");
    session_do(session,
               "CREATE TRIGGER stall BEFORE INSERT ON tasks FOR EACH ROW WHEN (NEW.name='slow') EXECUTE FUNCTION stall()");
    session_do(session, "BEGIN; SELECT pg_advisory_xact_lock(78)");
    add(world, (struct sample){0}); // who makes the lane is waited for
    struct store_add *many = many_tasks(world, 100, "slow");
    assert_int_equal(pthread_create(&thread, NULL, caller_main, &(struct caller){world->store, &many->op}), 0);
    wait_until_asked("wait_event='advisory' AND query LIKE '%tasks%'");
    int64_t one = add(world, (struct sample){0});
    assert_int_equal(job_now(world, one).state, JOB_READY);
    session_do(session, "COMMIT");
    pthread_join(thread, NULL);
    assert_int_equal(many->op.err, ERR_OK);
    PQfinish(session);
}

// ---- beats in turn

struct beater {
    struct store *store;
    struct store_beat beat;
    pthread_t thread;
};

static void *beater_main(void *ctx)
{
    struct beater *beater = ctx;
    store_call(beater->store, &beater->beat.op);
    return NULL;
}

static void start_beat(struct beater *beater, struct world *world, int64_t incarnation)
{
    char url[160], why[ERR_WHY_MAX];
    world_url(world, url);
    assert_int_equal(store_open(&beater->store, url, why), ERR_OK);
    store_op_init(&beater->beat.op, STORE_BEAT, NULL);
    beater->beat.incarnation = incarnation;
    beater->beat.in_turn = true;
    assert_int_equal(pthread_create(&beater->thread, NULL, beater_main, beater), 0);
}

// Somebody begins to listen, and while that is not committed yet somebody else wants to stop telling: it waits, and sees it.
static void of_two_beats_in_turn_the_second_sees_the_first(void **state)
{
    enum { B = 22 };
    struct world *world = *state;
    struct beater first = {.beat = {.listens = true, .relays = true}}, second = {.beat = {.relays = false}};
    char sql[120];
    join(world, B);
    PGconn *session = session_new(false);
    session_do(session, "BEGIN");
    snprintf(sql, sizeof sql, "SELECT 1 FROM %s.incarnations WHERE id=%d FOR UPDATE", world->schema, A);
    session_do(session, sql);
    start_beat(&first, world, A);
    snprintf(sql, sizeof sql, "query LIKE 'UPDATE%%%s%%incarnations%%'", world->schema);
    wait_until_asked(sql);
    start_beat(&second, world, B);
    wait_until_asked("wait_event='advisory'");
    session_do(session, "COMMIT");
    PQfinish(session);
    pthread_join(first.thread, NULL);
    pthread_join(second.thread, NULL);
    assert_int_equal(first.beat.op.err, ERR_OK);
    assert_int_equal(second.beat.op.err, ERR_OK);
    assert_true(first.beat.peers[0].relays);
    assert_true(second.beat.peers[0].listens);
    store_op_done(&first.beat.op);
    store_op_done(&second.beat.op);
    store_close(first.store);
    store_close(second.store);
}

// ---- what is scanned stays small

static long long floor_of(const struct world *world)
{
    return session_ask_in(world->schema, "SELECT floor FROM @lanes WHERE queue='q'");
}

// Lists the lanes, which raises their floors.
static int64_t look(struct world *world)
{
    struct store_lanes *op = OP(world, store_lanes, STORE_LANES);
    op->max = 10;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->lane_count, 1);
    return op->lanes[0].next_due;
}

static void a_job_that_comes_long_after_its_time_is_claimed_at_once(void **state)
{
    struct world *world = *state;
    int64_t lane = lane_of(world, TENANT, "q"), first = add(world, (struct sample){.due_at = NOW - 50});
    assert_int_equal(look(world), NOW - 50);
    assert_int_equal(floor_of(world), NOW - 50);
    assert_int_equal(claim(world, A, NOW, lane, 10)->job_count, 1);
    for (int i = 0; i < 3; i++) { // as if ten seconds passed each time
        session_ask_in(world->schema, "UPDATE @lanes SET turned_at=0, floor=least(floor,1000) RETURNING 1");
        assert_int_equal(look(world), TIME_NEVER);
        assert_true(floor_of(world) > NOW);
    }
    assert_true(session_ask_in(world->schema, "SELECT floor_old FROM @lanes") == 1000);
    int64_t late = add(world, (struct sample){.due_at = 7});
    assert_int_equal(floor_of(world), 7);
    struct store_claim *op = claim(world, A, NOW, lane, 10);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, late);
    struct job job = job_now(world, first);
    int64_t token = job.token++;
    job.state = JOB_READY; // and one that is given back
    job.due_at = 5;
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
    assert_int_equal(claim(world, A, NOW, lane, 0)->wants[0].next_due, 5);
    assert_int_equal(claim(world, A, NOW, lane, 10)->jobs[0].job.id, first);
}

// Of a million that are due in one millisecond, those that were claimed before are not gone through again.
static void a_claim_begins_at_from_id(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.due_at = NOW});
    int64_t second = add(world, (struct sample){.due_at = NOW});
    struct store_want want = {.lane = lane_of(world, TENANT, "q"), .max = 2, .from_ms = NOW, .from_id = second};
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    *op = (struct store_claim){.op = op->op, .holder = A, .now_ms = NOW, .until_ms = NOW, .wants = &want, .want_count = 1};
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, second);
    assert_int_equal(want.next_due, TIME_NEVER);
}

static struct job ended(struct world *world, int64_t id, int64_t purge_at)
{
    struct job job = job_now(world, id);
    job.token++;
    job.state = JOB_SUCCESS;
    job.completed_at = NOW;
    job.purge_at = purge_at;
    return job;
}

static void finish(struct world *world, int64_t id, int64_t purge_at)
{
    struct job job = ended(world, id, purge_at);
    assert_int_equal(change(world, job.token - 1, job, NULL), ERR_OK);
}

static void finished_jobs_leave_the_table_that_is_scanned(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0}), kept = add(world, (struct sample){0}), distant = add(world, (struct sample){0});
    finish(world, id, NOW + DAY);
    finish(world, kept, 0);
    finish(world, distant, NOW + 400LL * DAY);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @jobs"), 0);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @jobs_done_2"), 1);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @jobs_done_0"), 2);
    assert_int_equal(job_now(world, id).state, JOB_SUCCESS);
}

static long long scans_of(const struct world *world, const char *index)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT idx_scan FROM pg_stat_user_indexes WHERE schemaname='%s' AND indexrelname='%s'",
             world->schema, index);
    return session_ask_in(world->schema, sql);
}

// The jobs lie in the order of scheduled_at, two on a page, and not in that of their ids: to a PostgreSQL that does not know how
// few jobs are in a range of ids, the index that lists them seems the better one.
static void jobs_that_end_are_looked_up_by_id_however_they_lie(void **state)
{
    struct world *world = *state;
    enum { ENDS = 20 };
    struct job jobs[ENDS];
    struct store_step steps[ENDS];
    add(world, (struct sample){.due_at = NOW + DAY});
    session_ask_in(world->schema, "INSERT INTO @jobs SELECT (jsonb_populate_record(j, jsonb_build_object('scheduled_at', n,"
                                  " 'id', 1000000000+n::bigint*7919%4001, 'reason', repeat('x',1500)))).*"
                                  " FROM @jobs j, generate_series(1,4000) n RETURNING 1");
    session_ask_in(world->schema, "ANALYZE @jobs; SELECT 1");
    for (int i = 0; i < ENDS; i++) {
        jobs[i] = ended(world, add(world, (struct sample){0}), NOW + DAY); // which looks it up, too
        steps[i] = (struct store_step){.token = jobs[i].token - 1, .job = &jobs[i]};
    }
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = steps;
    op->count = ENDS;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (int i = 0; i < ENDS; i++)
        assert_int_equal(steps[i].err, ERR_OK);
    while (scans_of(world, "jobs_pkey") + scans_of(world, "jobs_listed") < 2 * ENDS)
        ; // a session tells within a second
    assert_int_equal(scans_of(world, "jobs_listed"), 0);
}

static long long days_of(const struct world *world)
{
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_inherits WHERE inhparent='%s.jobs_done'::regclass", world->schema);
    return session_ask_in(world->schema, sql);
}

// With ten million planned jobs it would take longer than a statement may.
static void a_task_is_deleted_without_looking_at_the_jobs_of_others(void **state)
{
    struct world *world = *state;
    static const char others_read[] = "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE relid='@jobs'::regclass";
    enum { OTHERS = 4000 };
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS});
    add(world, (struct sample){.due_at = NOW + DAY});
    session_ask_in(world->schema, "INSERT INTO @jobs SELECT (jsonb_populate_record(j, jsonb_build_object('id', 1000000000+n))).*"
                                  " FROM @jobs j, generate_series(1,4000) n RETURNING 1");
    session_ask_in(world->schema, "ANALYZE @jobs; SELECT 1");
    long long before = session_ask_in(world->schema, others_read), looked = scans_of(world, "tasks_pkey");
    struct store_remove *op = OP(world, store_remove, STORE_REMOVE);
    op->task_id = id;
    op->version = 1;
    op->tenant = TENANT;
    op->max = 10;
    assert_int_equal(call(world, &op->op), ERR_OK);
    while (scans_of(world, "tasks_pkey") == looked)
        ; // a session tells within a second
    assert_true(session_ask_in(world->schema, others_read) - before < OTHERS / 10);
}

static void add_ended(struct world *world, int64_t task_id, size_t count)
{
    struct job *jobs = world_mem(world, count * sizeof *jobs);
    for (size_t i = 0; i < count; i++)
        jobs[i] = (struct job){
            .id = ++world->last_id, .task_id = task_id, .tenant = TENANT, .state = JOB_SUCCESS, .token = 1, .scheduled_at = NOW};
    struct store_new item = {.jobs = jobs, .job_count = count};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
}

// Rows are counted: steps that judge all jobs that are left read 60,000 in all.
static void a_task_with_very_many_jobs_is_removed_without_reading_them_in_each_step(void **state)
{
    struct world *world = *state;
    enum { MANY = 1000, STEP = 10, READS = 20 };
    static const char gone[] = "SELECT n_tup_del FROM pg_stat_user_tables WHERE relid='@extras'::regclass";
    char reads[200];
    snprintf(reads, sizeof reads, "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE schemaname='%s'",
             world->schema);
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS});
    add_ended(world, id, MANY);
    session_ask_in(world->schema, "ANALYZE @extras; ANALYZE @jobs_done; SELECT 1");
    long long before = session_ask_in(world->schema, reads);
    struct store_remove *op = OP(world, store_remove, STORE_REMOVE);
    *op = (struct store_remove){.op = op->op, .task_id = id, .version = 1, .tenant = TENANT, .max = STEP, .more = true};
    for (; op->more; op->goes_on = true)
        assert_int_equal(call(world, &op->op), ERR_OK);
    store_close(world->store);
    while (session_ask_in(world->schema, gone) < MANY)
        ; // a session tells when it ends
    long long read = session_ask_in(world->schema, reads) - before;
    world_open(world);
    assert_in_range(read, MANY, MANY * READS);
}

static struct store_list *tagged(struct world *world, bool jobs, size_t look)
{
    struct store_list *op = OP(world, store_list, STORE_LIST);
    op->tenant = TENANT;
    op->jobs = jobs;
    op->before = (struct store_key){INT64_MAX, INT64_MAX};
    op->tags[0] = 2;
    op->tag_count = 1;
    op->max_jobs = 1;
    op->max = op->look = look;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

// Each lookup of an id in a day is a scan of that day's index.
static void jobs_found_by_a_tag_are_looked_up_in_the_days_they_are_in(void **state)
{
    struct world *world = *state;
    static const char lookups[] = "SELECT sum(s.idx_scan)::bigint FROM pg_stat_user_indexes s JOIN pg_inherits i ON"
                                  " i.inhrelid=s.indexrelid WHERE i.inhparent='@jobs_done_id'::regclass";
    enum { DAYS = 20, TAGGED = 50 };
    for (int day = 1; day <= DAYS; day++)
        add(world, (struct sample){.state = JOB_SUCCESS, .purge_at = NOW + (int64_t)day * DAY});
    for (int i = 0; i < TAGGED; i++)
        add(world, (struct sample){.tags = {2}, .state = JOB_SUCCESS, .purge_at = NOW + (int64_t)(i < 5 ? 3 : 4) * DAY});
    for (int jobs = 0; jobs < 2; jobs++) {
        long long before = session_ask_in(world->schema, lookups), looked = 0;
        assert_int_equal(tagged(world, jobs, TAGGED)->found_count, TAGGED);
        while (looked < TAGGED) // a session tells within a second
            looked = session_ask_in(world->schema, lookups) - before;
        assert_in_range(looked, TAGGED, DAYS * TAGGED / 2);
    }
}

// Rows of tags that lead nowhere, whoever left them, hide nothing behind them.
static void a_list_by_a_tag_goes_on_behind_a_row_that_leads_nowhere(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.tags = {2}});
    session_ask_in(world->schema, "INSERT INTO @tags SELECT 7, 2+n%2, n%2*200000, 9000000000000000+n FROM generate_series(1,6) n"
                                  " RETURNING 1");
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list *op = tagged(world, jobs, 2);
        assert_int_equal(op->found_count, 0);
        assert_true(op->more);
        struct store_key next = op->next;
        op = tagged(world, jobs, 10);
        assert_int_equal(op->found_count, 1);
        assert_int_equal(op->found[0].id, id);
        assert_false(op->more);
        assert_true(next.id > id);
    }
}

static void days_that_are_past_are_dropped_and_the_counters_stay_right(void **state)
{
    struct world *world = *state;
    for (int day = 1; day <= 4; day++)
        finish(world, add(world, (struct sample){0}), NOW + (int64_t)day * DAY);
    assert_int_equal(days_of(world), 5); // and the one of those that are kept
    assert_int_equal(sweep(world, NOW + 3LL * DAY, 100), 3);
    assert_int_equal(days_of(world), 3);
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    assert_int_equal(stats->counts[JOB_SUCCESS], 1);
    finish(world, add(world, (struct sample){0}), NOW + DAY); // into a day that was dropped
    assert_int_equal(sweep(world, NOW + 4LL * DAY, 100), 2);
}

static void assert_ready(struct world *world, int64_t count)
{
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    assert_int_equal(stats->counts[JOB_READY], count);
}

static void counters_of_past_periods_are_added_up(void **state)
{
    struct world *world = *state;
    char sql[200];
    for (int i = 0; i < 3; i++) {
        add(world, (struct sample){0});
        snprintf(sql, sizeof sql,
                 "WITH u AS (UPDATE @counts SET slot=slot%%16384+16384*%d WHERE slot>16384*9 RETURNING 1)"
                 " SELECT count(*) FROM u",
                 i + 2);
        assert_true(session_ask_in(world->schema, sql) > 0);
    }
    add(world, (struct sample){0}); // this is the present one
    assert_ready(world, 4);
    assert_true(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE slot>0 AND lane=0") > 1);
    sweep(world, NOW, 100);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE slot>0 AND lane=0"), 1);
    assert_int_equal(session_ask_in(world->schema, "SELECT jobs FROM @counts WHERE slot=0 AND lane=0"), 3);
    assert_ready(world, 4);
}

// What brought the lane back was counted in rows that a sweep adds up: the sum is none, and stays.
static void a_lane_that_came_back_stays_when_its_counters_are_added_up(void **state)
{
    struct world *world = *state;
    lane_of(world, TENANT, "a");
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    struct job job = job_now(world, add(world, (struct sample){.queue = "a"}));
    int64_t token = job.token++;
    job.state = JOB_SUCCESS;
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
    assert_true(session_ask_in(world->schema, "WITH u AS (UPDATE @counts SET slot=slot%16384+16384*2 RETURNING 1)"
                                              " SELECT count(*) FROM u") > 0);
    sweep(world, NOW, 100);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE slot>0"), 0);
    assert_true(is_listed(world, TENANT, "a"));
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    assert_false(is_listed(world, TENANT, "a"));
}

// ---- the schema

static void migrations_go_on_after_a_cut_at_any_point(void **state)
{
    struct world *world = *state;
    struct proxy *proxy = proxy_start(store_port());
    struct store *store = NULL;
    char url[160], why[ERR_WHY_MAX];
    int cuts = 0;
    for (bool opened = false; !opened; cuts++) {
        store_close(world->store);
        snprintf(world->schema, sizeof world->schema, "cut%d", cuts);
        url_over(world, proxy_port(proxy), url);
        proxy_cut_at_sync(proxy, cuts + 1);
        opened = store_open(&store, url, why) == ERR_OK;
        proxy_cut_at_sync(proxy, 0);
        store_close(store);
        world_open(world); // goes on where it was cut
        assert_int_equal(session_ask_in(world->schema, "SELECT value FROM @meta WHERE name='schema'"), 16);
        join(world, A);
        add(world, (struct sample){0});
    }
    assert_true(cuts > 4);
    proxy_stop(proxy);
}

// Take back what a step of the schema added, and those behind it.
#define WITHOUT_STEP_16 " DELETE FROM meta WHERE name='range';"
#define WITHOUT_STEP_15 WITHOUT_STEP_16 " DROP INDEX extras_of_task; CREATE INDEX extras_task ON extras(task_id);"
#define WITHOUT_STEP_14 WITHOUT_STEP_15 " ALTER TABLE lanes DROP COLUMN dropped;"
#define WITHOUT_STEP_13 WITHOUT_STEP_14 " ALTER TABLE counts RENAME jobs TO n;"
#define WITHOUT_STEP_12                                                                            \
    WITHOUT_STEP_13                                                                                \
    " DROP TABLE tags; ALTER TABLE tasks DROP COLUMN tags; ALTER TABLE keys DROP COLUMN spent_at;" \
    " ALTER TABLE tasks DROP COLUMN updated_at; ALTER TABLE jobs DROP COLUMN touched_at;"          \
    " ALTER TABLE jobs_done DROP COLUMN touched_at; ALTER TABLE attempts DROP COLUMN response, DROP COLUMN response_truncated;"

// Before version 11 a job in hand was found by -holder, in a column of another name.
static void what_is_in_hand_is_still_found_after_the_migration_that_moves_it(void **state)
{
    struct world *world = *state;
    char sql[1000];
    join(world, A);
    int64_t held = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    int64_t waits = add(world, (struct sample){.state = JOB_READY, .due_at = NOW - 1});
    int64_t lane = job_now(world, waits).lane;
    store_close(world->store);
    snprintf(sql, sizeof sql,
             "SET search_path=%s; UPDATE jobs SET waits_at=-holder WHERE state=3; ALTER TABLE jobs RENAME waits_at TO place;"
             " DROP TABLE hands; ALTER TABLE jobs DROP COLUMN hand;" WITHOUT_STEP_12
             " UPDATE meta SET value=10 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    world_open(world);
    const struct store_find *op = held_by(world, A);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, held);
    struct store_claim *claimed = claim(world, A, NOW, lane, 10);
    assert_int_equal(claimed->job_count, 1);
    assert_int_equal(claimed->jobs[0].job.id, waits);
}

static void tasks_of_an_older_schema_get_their_tags(void **state)
{
    struct world *world = *state;
    char sql[1000];
    add_old_tasks(world);
    store_close(world->store);
    snprintf(sql, sizeof sql, "SET search_path=%s;" WITHOUT_STEP_12 " UPDATE meta SET value=11 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    world_open(world);
    assert_old_tasks_are_found(world);
}

// A document that is not in its row is read by a scan of the index of what is too long for a row.
static void the_migration_that_gives_tags_reads_each_document_once(void **state)
{
    struct world *world = *state;
    static const char reads[] = "SELECT s.idx_scan FROM pg_class c JOIN pg_stat_all_tables s ON s.relid=c.reltoastrelid"
                                " WHERE c.oid='@tasks'::regclass";
    enum { LENGTH = 300000, TASKS = 30 };
    char *doc = world_mem(world, LENGTH + 1), sql[1000];
    size_t n = (size_t)snprintf(doc, LENGTH, "{\"url\":\"http://a/\",\"created_by\":\"a\",\"body\":\"");
    for (uint64_t x = 1; n < LENGTH - 2; x = x * 6364136223846793005u + 1442695040888963407u)
        doc[n++] = (char)('A' + (x >> 33) % 26); // which is not much shorter when it is compressed
    memcpy(doc + n, "\"}", 3);
    for (int i = 0; i < TASKS; i++) // more than are read at a time
        add(world, (struct sample){.doc = str_of(doc)});
    store_close(world->store);
    snprintf(sql, sizeof sql,
             "SET search_path=%s; UPDATE tasks SET name=NULL;" WITHOUT_STEP_13 " UPDATE meta SET value=12 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    long long before = 0, read = 0;
    while (before < TASKS) // each was written with a scan, and a session tells of those when it has ended
        before = session_ask_in(world->schema, reads);
    world_open(world);
    while (read < TASKS) // a session tells within a second
        read = session_ask_in(world->schema, reads) - before;
    assert_int_equal(read, TASKS);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @tags"), 2 * TASKS);
}

// A node of the release before went on beside a newer one: a task that it added has no tags, and one that it changed wrong ones.
static void what_was_written_by_who_knew_no_tags_gets_them_when_nobody_can_any_more(void **state)
{
    struct world *world = *state;
    char sql[1000];
    int64_t changed = add(world, (struct sample){.tags = {2, 4}, .doc = STR("{\"url\": \"http://a/\"}")});
    add_old_tasks(world);
    store_close(world->store);
    snprintf(sql, sizeof sql, "SET search_path=%s;" WITHOUT_STEP_13 " UPDATE meta SET value=12 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    world_open(world);
    assert_old_tasks_are_found(world);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM @tags WHERE id=%lld", (long long)changed);
    assert_int_equal(session_ask_in(world->schema, sql), 0);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @tasks WHERE 2=ANY(tags)"), 0);
}

static long long count_tags(struct world *world)
{
    return session_ask_in(world->schema, "SELECT count(*) FROM @tags");
}

// Whatever was done with tasks that had tags: when they are removed no row stays behind.
static void tags_leave_nothing_behind(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.tags = {2, 4, 6}, .state = JOB_SUCCESS, .purge_at = NOW});
    struct job more = {.id = ++world->last_id, .task_id = id, .tenant = TENANT, .token = 1, .state = JOB_READY};
    more.scheduled_at = more.due_at = NOW + 10;
    struct store_new item = {.jobs = &more, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(count_tags(world), 9);
    struct job job = job_now(world, more.id);
    job.scheduled_at = NOW + 99;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_int_equal(count_tags(world), 6);
    job.state = JOB_SUCCESS;
    job.scheduled_at = NOW + 100; // an end may say it, too
    job.purge_at = NOW;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_int_equal(count_tags(world), 0);
    add(world, (struct sample){.queue = "plain"});
    assert_int_equal(count_tags(world), 0);
}

// Lets a sweep look at all that came into hands.
static void clear_hands(struct world *world)
{
    char sql[120];
    snprintf(sql, sizeof sql, "UPDATE %s.hands SET look_at=0", world->schema);
    session_do_as(false, sql);
    sweep(world, NOW, 10);
}

// A job leaves a hand by its end, which is counted, or otherwise, which is found out later.
static void what_left_a_hand_is_forgotten_and_what_stays_is_not(void **state)
{
    struct world *world = *state;
    enum { FEW = 4, LOOKS = 8 };
    join(world, A);
    for (int i = 0; i < FEW; i++)
        add(world, (struct sample){.state = JOB_READY, .due_at = NOW - FEW + i});
    struct store_claim *claimed = claim(world, A, NOW, lane_of(world, TENANT, "q"), FEW);
    assert_int_equal(claimed->job_count, FEW);
    int64_t ids[FEW];
    for (int i = 0; i < FEW; i++)
        ids[i] = claimed->jobs[i].job.id;
    struct job job = job_now(world, ids[0]);
    job.state = JOB_SUCCESS;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    job = job_now(world, ids[1]);
    job.state = JOB_READY;
    job.holder = 0;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    for (int i = 0; i < LOOKS; i++) {
        clear_hands(world);
        assert_int_equal(held_by(world, A)->job_count, 2);
    }
    assert_int_equal(session_ask_in(world->schema, "SELECT sum(cardinality(ids)) FROM @hands"), 2);
    for (int i = 2; i < FEW; i++) {
        job = job_now(world, ids[i]);
        job.state = JOB_SUCCESS;
        assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    }
    clear_hands(world);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @hands"), 0);
}

static void a_batch_whose_jobs_have_all_ended_is_forgotten_at_once(void **state)
{
    struct world *world = *state;
    join(world, A);
    int64_t id = add(world, (struct sample){.state = JOB_READY, .due_at = NOW - 1});
    assert_int_equal(claim(world, A, NOW, lane_of(world, TENANT, "q"), 1)->job_count, 1);
    clear_hands(world);
    assert_int_equal(session_ask_in(world->schema, "SELECT remain FROM @hands"), 1);
    struct job job = job_now(world, id);
    job.state = JOB_SUCCESS;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(session_ask_in(world->schema, "SELECT remain FROM @hands"), 0);
    clear_hands(world);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @hands"), 0);
}

static void stores_that_open_at_once_make_one_schema(void **state)
{
    struct world *world = *state;
    struct claimer claimers[SESSIONS];
    snprintf(world->schema, sizeof world->schema, "together");
    for (int i = 0; i < SESSIONS; i++) {
        claimers[i] = (struct claimer){.world = world, .lane = 404};
        assert_int_equal(pthread_create(&claimers[i].thread, NULL, claimer_main, &claimers[i]), 0);
    }
    for (int i = 0; i < SESSIONS; i++) {
        void *well;
        pthread_join(claimers[i].thread, &well);
        assert_non_null(well);
    }
}

static void a_newer_schema_is_refused_with_words(void **state)
{
    struct world *world = *state;
    char url[160], sql[100], why[ERR_WHY_MAX] = "";
    world_url(world, url);
    store_close(world->store);
    snprintf(sql, sizeof sql, "UPDATE %s.meta SET value=99 WHERE name='schema'", world->schema);
    session_do_as(false, sql);
    assert_int_not_equal(store_open(&world->store, url, why), ERR_OK);
    assert_null(world->store);
    assert_non_null(strstr(why, "schema version 99"));
}

static void a_role_that_owns_its_schema_needs_nothing_else(void **state)
{
    struct store *store;
    char url[160], why[ERR_WHY_MAX] = "";
    session_do_as(true,
                  "CREATE ROLE plain LOGIN; CREATE SCHEMA of_plain AUTHORIZATION plain; REVOKE ALL ON DATABASE rota FROM PUBLIC;"
                  " GRANT CONNECT ON DATABASE rota TO plain");
    snprintf(url, sizeof url, "postgres://plain@127.0.0.1:%d/rota?schema=of_plain", cluster_port());
    if (store_open(&store, url, why))
        fail_msg("%s", why);
    store_close(store);
}

// ---- settings

static void assert_refused(struct world *world, const char *words)
{
    struct store *store;
    char url[160], why[ERR_WHY_MAX] = "";
    world_url(world, url);
    assert_int_equal(store_open(&store, url, why), ERR_BAD_REQUEST);
    assert_non_null(strstr(why, words));
    assert_non_null(strstr(why, "allow_unsafe=1"));
    char told[200];
    snprintf(told, sizeof told, "%s&allow_unsafe=1", url);
    if (store_open(&store, told, why))
        fail_msg("%s", why);
    store_close(store);
}

static void set_fsync(const char *sql)
{
    session_do_as(true, sql);
    session_do_as(true, "SELECT pg_reload_conf()");
}

static void a_database_that_may_lose_commits_is_refused_unless_told(void **state)
{
    session_do_as(false, "ALTER ROLE rota SET synchronous_commit=off");
    assert_refused(*state, "synchronous_commit is off");
    session_do_as(false, "ALTER ROLE rota SET synchronous_commit=local");
    assert_refused(*state, "synchronous_commit is local");
    session_do_as(false, "ALTER ROLE rota RESET synchronous_commit");
    set_fsync("ALTER SYSTEM SET fsync=off");
    while (session_ask_in("", "SELECT count(*) FROM pg_settings WHERE name='fsync' AND setting='off'") == 0)
        ;
    assert_refused(*state, "fsync is off");
    set_fsync("ALTER SYSTEM RESET fsync");
    while (session_ask_in("", "SELECT count(*) FROM pg_settings WHERE name='fsync' AND setting='off'") == 1)
        ;
}

// The server tells its sessions one after the other, so it is tried until this one knows.
static void commits_that_become_unsafe_are_not_acknowledged(void **state)
{
    struct world *world = *state;
    enum err err;
    add(world, (struct sample){0});
    set_fsync("ALTER SYSTEM SET fsync=off");
    do
        try_add(world, (struct sample){0}, &err);
    while (err == ERR_OK);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    set_fsync("ALTER SYSTEM RESET fsync");
    do
        try_add(world, (struct sample){0}, &err);
    while (err == ERR_STORE_UNAVAILABLE);
    assert_int_equal(err, ERR_OK);
}

static void urls_that_are_not_understood_are_refused_with_words(void **state)
{
    static const struct {
        const char *url, *words;
    } rows[] = {
        {"postgres://127.0.0.1:1/x?nonsense=1", "nonsense"},
        {"postgres://127.0.0.1:1/x?schema=a.b", "schema=a.b"},
        {"postgres:host", "postgres://USER@HOST/DATABASE"},
    };
    struct store *store;
    for (size_t i = 0; i < array_count(rows); i++) {
        char why[ERR_WHY_MAX] = "";
        assert_int_equal(store_open(&store, rows[i].url, why), ERR_BAD_REQUEST);
        assert_non_null(strstr(why, rows[i].words));
    }
    char why[ERR_WHY_MAX] = "", url[160];
    assert_int_equal(store_open(&store, "postgres://127.0.0.1:1/x", why), ERR_STORE_UNAVAILABLE);
    assert_non_null(strstr(why, "refused"));
    snprintf(url, sizeof url, "postgres:host=%s port=%d user=rota dbname=rota schema=by_words", getenv("ROTA_TEST_POSTGRES_DIR"),
             cluster_port());
    if (store_open(&store, url, why))
        fail_msg("%s", why);
    store_close(store);
}

// ---- faults

// A trigger that fails as the server would.
static void raise_on_add(struct world *world, const char *condition, const char *state)
{
    char sql[900];
    snprintf(
        sql, sizeof sql,
        "CREATE SEQUENCE IF NOT EXISTS %s.times; CREATE OR REPLACE FUNCTION %s.fail() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN"
        " IF %s THEN RAISE EXCEPTION 'on purpose' USING ERRCODE='%s'; END IF; RETURN NEW; END $$;"
        " DROP TRIGGER IF EXISTS fail ON %s.tasks; CREATE TRIGGER fail BEFORE INSERT ON %s.tasks FOR EACH ROW EXECUTE FUNCTION"
        " %s.fail()",
        world->schema, world->schema, condition, state, world->schema, world->schema, world->schema);
    session_do_as(false, sql);
}

static void a_full_disk_is_said_and_forgotten_when_there_is_room(void **state)
{
    struct world *world = *state;
    enum err err;
    raise_on_add(world, "true", "53100");
    struct store_new *item = try_add(world, (struct sample){.queue = "made in vain"}, &err);
    assert_int_equal(err, ERR_STORAGE_FULL);
    assert_int_equal(item->err, ERR_STORAGE_FULL);
    raise_on_add(world, "false", "53100");
    int64_t id = add(world, (struct sample){.queue = "made in vain"});
    assert_int_equal(job_now(world, id).lane, lane_of(world, TENANT, "made in vain"));
}

static void a_deadlock_is_tried_again(void **state)
{
    struct world *world = *state;
    char condition[100];
    snprintf(condition, sizeof condition, "nextval('%s.times')<3", world->schema);
    raise_on_add(world, condition, "40P01");
    add(world, (struct sample){0});
}

// What the server may say, and what follows: how often it is tried, and whether the connection is made anew. The trigger leaves
// both in sequences, which no rollback undoes.
static void what_a_server_says_is_understood(void **state)
{
    static const struct {
        const char *state;
        enum err err;
        int tries;
        bool away;
    } rows[] = {
        {"40001", ERR_STORE_UNAVAILABLE, 4, false}, // serialization
        {"40P01", ERR_STORE_UNAVAILABLE, 4, false}, // deadlock
        {"55P03", ERR_STORE_UNAVAILABLE, 4, false}, // lock_timeout
        {"23505", ERR_INTERNAL, 4, false},          // unique: somebody was quicker, or somebody made a mistake
        {"57014", ERR_STORE_UNAVAILABLE, 1, false}, // cancelled, or statement_timeout
        {"53100", ERR_STORAGE_FULL, 1, false},      // disk full
        {"53200", ERR_STORE_UNAVAILABLE, 1, true},  // out of memory
        {"53300", ERR_STORE_UNAVAILABLE, 1, true},  // too many connections
        {"57P01", ERR_STORE_UNAVAILABLE, 1, true},  // admin shutdown
        {"57P02", ERR_STORE_UNAVAILABLE, 1, true},  // crash shutdown
        {"57P03", ERR_STORE_UNAVAILABLE, 1, true},  // starting up, or in recovery
        {"08P01", ERR_STORE_UNAVAILABLE, 1, true},  // what a pooler says
        {"25006", ERR_STORE_UNAVAILABLE, 1, true},  // read-only: a standby
        {"42P01", ERR_STORE_UNAVAILABLE, 1, true},  // a table is not there
        {"42703", ERR_STORE_UNAVAILABLE, 1, true},  // a column
        {"3F000", ERR_STORE_UNAVAILABLE, 1, true},  // a schema
        {"42501", ERR_STORE_UNAVAILABLE, 1, true},  // a right
        {"58030", ERR_STORE_UNAVAILABLE, 1, false}, // I/O error
        {"XX001", ERR_STORE_UNAVAILABLE, 1, false}, // corrupted
        {"22021", ERR_INTERNAL, 1, false},          // not UTF-8
        {"54000", ERR_INTERNAL, 1, false},          // too large for an index
    };
    struct world *world = *state;
    char sql[200], times[80], pids[80];
    add(world, (struct sample){0});
    snprintf(sql, sizeof sql, "CREATE SEQUENCE %s.times; CREATE SEQUENCE %s.pids", world->schema, world->schema);
    session_do_as(false, sql);
    snprintf(sql, sizeof sql, "SELECT setval('%s.times',1)", world->schema);
    snprintf(times, sizeof times, "SELECT last_value-1 FROM %s.times", world->schema);
    snprintf(pids, sizeof pids, "SELECT last_value FROM %s.pids", world->schema);
    for (size_t i = 0; i < array_count(rows); i++) {
        enum err err;
        char condition[300];
        snprintf(condition, sizeof condition, "nextval('%s.times')>0 AND setval('%s.pids',pg_backend_pid())>0", world->schema,
                 world->schema);
        raise_on_add(world, condition, rows[i].state);
        session_do_as(false, sql);
        try_add(world, (struct sample){0}, &err);
        long long tries = session_ask_in("", times), failed_in = session_ask_in("", pids);
        snprintf(condition, sizeof condition, "setval('%s.pids',pg_backend_pid())=0", world->schema);
        raise_on_add(world, condition, rows[i].state);
        add(world, (struct sample){0});
        bool away = session_ask_in("", pids) != failed_in;
        if (err != rows[i].err || tries != rows[i].tries || away != rows[i].away)
            fail_msg("%s: %s, %lld tries, connection %s", rows[i].state, err_info(err)->code, tries, away ? "made anew" : "kept");
    }
}

static void a_connection_that_the_server_ends_is_made_anew(void **state)
{
    struct world *world = *state;
    enum err err;
    raise_on_add(world, "pg_terminate_backend(pg_backend_pid())", "22000");
    try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    raise_on_add(world, "false", "22000");
    add(world, (struct sample){0});
}

static void a_statement_ends_when_nobody_waits_for_it_any_more(void **state)
{
    struct world *world = *state;
    enum err err;
    char sql[200];
    add(world, (struct sample){0});
    PGconn *other = session_new(false);
    snprintf(sql, sizeof sql, "BEGIN; LOCK TABLE %s.tasks", world->schema);
    session_do(other, sql);
    try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    while (session_ask_in("", "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0)
        ;
    session_do(other, "COMMIT");
    PQfinish(other);
    add(world, (struct sample){0});
}

static void a_database_that_only_reads_is_left_and_taken_again_when_it_writes(void **state)
{
    struct world *world = *state;
    enum err err;
    add(world, (struct sample){0});
    session_do_as(false, "ALTER ROLE rota SET default_transaction_read_only=on");
    session_do_as(true, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename='rota'");
    try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    session_do_as(true, "ALTER ROLE rota RESET default_transaction_read_only");
    add(world, (struct sample){0});
}

static void a_newer_schema_that_comes_meanwhile_is_noticed_with_the_next_connection(void **state)
{
    struct world *world = *state;
    char sql[200];
    add(world, (struct sample){0});
    snprintf(sql, sizeof sql, "UPDATE %s.meta SET value=99 WHERE name='schema'; ALTER TABLE %s.tasks RENAME doc TO document",
             world->schema, world->schema);
    session_do_as(false, sql);
    for (int i = 0; i < 2; i++) { // what fails first, and what is known then
        struct store_add *op = OP(world, store_add, STORE_ADD);
        struct {
            struct store_task task;
            struct job job;
            struct store_new item;
        } *made = world_mem(world, sizeof *made);
        sample_fill(world, &(struct sample){0}, &made->task, &made->job, &made->item);
        op->items = &made->item;
        op->count = 1;
        assert_int_equal(call(world, &op->op), ERR_STORE_UNAVAILABLE);
        assert_non_null(strstr(op->op.why, i == 0 ? "doc" : "schema version 99"));
    }
}

static void who_cannot_connect_is_told_why(void **state)
{
    static const struct {
        const char *who, *words;
    } rows[] = {
        {"nobody@127.0.0.1:%d/rota", "role \"nobody\" does not exist"},
        {"rota@127.0.0.1:%d/elsewhere", "database \"elsewhere\" does not exist"},
        {"crowd@127.0.0.1:%d/rota", "too many connections for role"},
        {"guarded:wrong@127.0.0.1:%d/rota", "password authentication failed"},
    };
    session_do_as(true, "CREATE ROLE crowd LOGIN CONNECTION LIMIT 0; CREATE ROLE guarded LOGIN PASSWORD 'right'");
    for (size_t i = 0; i < array_count(rows); i++) {
        struct store *store;
        char url[160] = "postgres://", why[ERR_WHY_MAX] = "";
        // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): the rows of the table above
        snprintf(url + strlen(url), sizeof url - strlen(url), rows[i].who, cluster_port());
        assert_int_equal(store_open(&store, url, why), ERR_STORE_UNAVAILABLE);
        assert_non_null(strstr(why, rows[i].words));
        assert_null(strstr(why, "wrong"));
    }
}

static void note_done(struct store_op *op)
{
    op->done = NULL;
}

static void what_cannot_be_stored_fails_alone(void **state)
{
    struct world *world = *state;
    enum { MANY = 50, POISON = 20 };
    struct store_add *ops[MANY];
    raise_on_add(world, "NEW.name='poison'", "22000");
    for (int i = 0; i < MANY; i++) {
        struct {
            struct store_task task;
            struct job job;
            struct store_new item;
        } *made = world_mem(world, sizeof *made);
        ops[i] = OP(world, store_add, STORE_ADD);
        sample_fill(world, &(struct sample){0}, &made->task, &made->job, &made->item);
        if (i == POISON)
            made->task.name = STR("poison");
        ops[i]->items = &made->item;
        ops[i]->count = 1;
        ops[i]->op.done = note_done;
        store_submit(world->store, &ops[i]->op);
    }
    store_close(world->store);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(ops[i]->op.err, i == POISON ? ERR_INTERNAL : ERR_OK);
    world_open(world);
}

// Parsing and planning take longer than a small transaction does. A text gets its name when it comes for the second time; behind
// a pooler it never does, so this is the server itself.
static void what_comes_again_is_not_parsed_again(void **state)
{
    struct world *world = *state;
    struct proxy *proxy = proxy_start(cluster_port());
    char url[160], why[ERR_WHY_MAX];
    enum { NAMED_FROM = 4, ROUNDS = 8 };
    int parses = 0;
    store_close(world->store);
    url_over(world, proxy_port(proxy), url);
    if (store_open(&world->store, url, why))
        fail_msg("%s", why);
    add(world, (struct sample){.state = JOB_SUCCESS});
    int64_t lane = lane_of(world, TENANT, "q");
    for (int round = 1; round <= ROUNDS; round++) {
        if (round == NAMED_FROM)
            parses = proxy_parses(proxy);
        int64_t id = add(world, (struct sample){0});
        assert_int_equal(claim(world, A, NOW, lane, 1)->job_count, 1);
        struct job job = job_now(world, id);
        job.state = JOB_SUCCESS;
        assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    }
    assert_int_equal(proxy_parses(proxy), parses);
    store_close(world->store);
    world->store = NULL;
    proxy_stop(proxy);
    world_open(world);
}

static void a_connection_cut_after_commit_leaves_a_task_that_its_key_finds(void **state)
{
    struct world *world = *state;
    struct proxy *proxy = proxy_start(store_port());
    char url[160], why[ERR_WHY_MAX];
    enum err err;
    store_close(world->store);
    url_over(world, proxy_port(proxy), url);
    if (store_open(&world->store, url, why))
        fail_msg("%s", why);
    add(world, (struct sample){0});
    proxy_cut_after_commit(proxy);
    struct store_new *first = try_add(world, (struct sample){.key = STR("k"), .digest = 3}, &err);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    assert_int_equal(first->err, ERR_STORE_UNAVAILABLE);
    struct store_new *again = try_add(world, (struct sample){.key = STR("k"), .digest = 3}, &err);
    assert_int_equal(err, ERR_OK);
    assert_int_equal(again->err, ERR_OK);
    assert_int_equal(again->existing_id, first->task->id);
    store_close(world->store);
    world->store = NULL;
    proxy_stop(proxy);
    world_open(world);
}

static void a_database_that_was_killed_serves_again_when_it_is_back(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.key = STR("before")});
    for (int round = 0; round < 3; round++) {
        enum err err = ERR_OK;
        cluster_kill();
        do
            try_add(world, (struct sample){0}, &err);
        while (err == ERR_STORE_UNAVAILABLE);
        assert_int_equal(err, ERR_OK);
        struct store_get *get;
        do
            get = get_job(world, id);
        while (get->op.err == ERR_STORE_UNAVAILABLE);
        assert_int_equal(get->op.err, ERR_OK);
    }
}

static void a_database_that_hangs_is_unavailable_and_does_not_keep_the_store_from_closing(void **state)
{
    struct world *world = *state;
    enum err err;
    int64_t id = add(world, (struct sample){0});
    cluster_freeze();
    try_add(world, (struct sample){0}, &err);
    assert_int_equal(err, ERR_STORE_UNAVAILABLE);
    assert_int_equal(get_job(world, id)->op.err, ERR_STORE_UNAVAILABLE);
    store_close(world->store); // also with a connection that is being made
    world->store = NULL;
    cluster_continue();
    world_open(world);
    assert_int_equal(job_now(world, id).id, id);
}

#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(several_sessions_at_once_get_each_job_once),
        PROMISE(what_others_have_locked_is_left_out_and_not_waited_for),
        PROMISE(a_claim_that_meets_a_change_gets_the_document_that_was_changed),
        PROMISE(who_adds_one_task_does_not_wait_for_those_who_add_many),
        PROMISE(of_two_beats_in_turn_the_second_sees_the_first),
        PROMISE(a_job_that_comes_long_after_its_time_is_claimed_at_once),
        PROMISE(a_claim_begins_at_from_id),
        PROMISE(finished_jobs_leave_the_table_that_is_scanned),
        PROMISE(jobs_that_end_are_looked_up_by_id_however_they_lie),
        PROMISE(a_task_is_deleted_without_looking_at_the_jobs_of_others),
        PROMISE(a_task_with_very_many_jobs_is_removed_without_reading_them_in_each_step),
        PROMISE(jobs_found_by_a_tag_are_looked_up_in_the_days_they_are_in),
        PROMISE(a_list_by_a_tag_goes_on_behind_a_row_that_leads_nowhere),
        PROMISE(days_that_are_past_are_dropped_and_the_counters_stay_right),
        PROMISE(counters_of_past_periods_are_added_up),
        PROMISE(a_lane_that_came_back_stays_when_its_counters_are_added_up),
        PROMISE(migrations_go_on_after_a_cut_at_any_point),
        PROMISE(what_is_in_hand_is_still_found_after_the_migration_that_moves_it),
        PROMISE(tasks_of_an_older_schema_get_their_tags),
        PROMISE(the_migration_that_gives_tags_reads_each_document_once),
        PROMISE(what_was_written_by_who_knew_no_tags_gets_them_when_nobody_can_any_more),
        PROMISE(tags_leave_nothing_behind),
        PROMISE(what_left_a_hand_is_forgotten_and_what_stays_is_not),
        PROMISE(a_batch_whose_jobs_have_all_ended_is_forgotten_at_once),
        PROMISE(stores_that_open_at_once_make_one_schema),
        PROMISE(a_newer_schema_is_refused_with_words),
        PROMISE(a_full_disk_is_said_and_forgotten_when_there_is_room),
        PROMISE(a_deadlock_is_tried_again),
        PROMISE(commits_that_become_unsafe_are_not_acknowledged),
        PROMISE(a_statement_ends_when_nobody_waits_for_it_any_more),
        PROMISE(a_newer_schema_that_comes_meanwhile_is_noticed_with_the_next_connection),
        PROMISE(what_cannot_be_stored_fails_alone),
        PROMISE(what_comes_again_is_not_parsed_again),
        PROMISE(a_connection_cut_after_commit_leaves_a_task_that_its_key_finds),
        PROMISE(a_database_that_was_killed_serves_again_when_it_is_back),
        PROMISE(a_database_that_hangs_is_unavailable_and_does_not_keep_the_store_from_closing),
    };
    const struct CMUnitTest of_connections[] = {
        PROMISE(a_role_that_owns_its_schema_needs_nothing_else),
        PROMISE(a_database_that_may_lose_commits_is_refused_unless_told),
        PROMISE(urls_that_are_not_understood_are_refused_with_words),
        PROMISE(who_cannot_connect_is_told_why),
        PROMISE(what_a_server_says_is_understood),
        PROMISE(a_connection_that_the_server_ends_is_made_anew),
        PROMISE(a_database_that_only_reads_is_left_and_taken_again_when_it_writes),
    };
    int failed = cmocka_run_group_tests_name("store postgres: alone", tests, NULL, NULL);
    // Behind a pooler these are the pooler's.
    if (store_port() == cluster_port())
        failed += cmocka_run_group_tests_name("store postgres: connections", of_connections, NULL, NULL);
    return failed;
}
