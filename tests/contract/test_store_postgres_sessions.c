// Many sessions on one PostgreSQL database at once: claims, additions, beats and starts do not get in each other's way.
#include "postgres_contract.h"
#include "store/lives.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

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

// ---- starting at once

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

int contract_postgres_sessions(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(several_sessions_at_once_get_each_job_once),
        PROMISE(what_others_have_locked_is_left_out_and_not_waited_for),
        PROMISE(a_claim_that_meets_a_change_gets_the_document_that_was_changed),
        PROMISE(who_adds_one_task_does_not_wait_for_those_who_add_many),
        PROMISE(of_two_beats_in_turn_the_second_sees_the_first),
        PROMISE(stores_that_open_at_once_make_one_schema),
    };
    return cmocka_run_group_tests_name("store postgres: sessions", tests, NULL, NULL);
}
