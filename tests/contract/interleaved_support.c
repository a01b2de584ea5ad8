// The stage, and the play: statements are let through one by one, in every order, and after each order what must always be true
// is looked up in the tables.
#include "interleaved_support.h"
#include "store/lives.h"
#include "store/plans.h"

#include <stdio.h>
#include <time.h>

// ---- the stage

long long ask(struct stage *stage, const char *sql_with_at)
{
    char sql[2000] = "";
    size_t n = 0;
    for (const char *at = sql_with_at; *at; at++)
        n += (size_t)snprintf(sql + n, sizeof sql - n, *at == '@' ? "%s." : "%.1s", *at == '@' ? stage->world->schema : at);
    return session_ask(stage->watcher, sql);
}

static void session_start(struct session *session)
{
    char url[160], why[ERR_WHY_MAX];
    struct world on = {.last_id = 0};
    session->proxy = proxy_start(cluster_port());
    snprintf(url, sizeof url, "postgres://rota@127.0.0.1:%d/rota?sslmode=disable&application_name=session%d&schema=%s",
             proxy_port(session->proxy), session->number, session->stage->world->schema);
    if (store_open(&session->store, url, why))
        fail_msg("%s", why);
    // One operation at each queue, so that all of them are connected.
    on.store = session->store;
    join(&on, session->incarnation);
    struct store_add *add = OP(&on, store_add, STORE_ADD);
    assert_int_equal(call(&on, &add->op), ERR_OK);
    struct store_plan *plan = OP(&on, store_plan, STORE_PLAN);
    assert_int_equal(call(&on, &plan->op), ERR_OK);
    struct store_change *change = OP(&on, store_change, STORE_CHANGE);
    assert_int_equal(call(&on, &change->op), ERR_OK);
    struct store_stats *stats = OP(&on, store_stats, STORE_STATS);
    assert_int_equal(call(&on, &stats->op), ERR_OK);
    on.store = NULL;
    for (size_t i = 0; i < on.kept_count; i++) {
        store_op_done(on.kept[i]);
        mem_free(on.kept[i]);
    }
    mem_free(on.kept);
}

int set_up(void **state)
{
    struct stage *stage = mem_zero(sizeof *stage);
    struct world *world = stage->world = world_new("postgres");
    *state = stage;
    session_do_as(true, "ALTER ROLE rota SET deadlock_timeout='20ms'");
    stage->watcher = session_new(false);
    stage->lanes[0] = lane_of(world, TENANT, "one");
    stage->lanes[1] = lane_of(world, TENANT, "two");
    for (int i = 0; i < JOBS; i++)
        stage->ids[i] = add(world, (struct sample){.queue = i < 3 ? "one" : "two",
                                                   .state = i == 1 ? JOB_DELAYED : JOB_READY,
                                                   .due_at = NOW - 5 + i,
                                                   .tags = {i ? 0 : 2}});
    stage->ended = add(world, (struct sample){.queue = "one", .state = JOB_SUCCESS, .purge_at = NOW + 1});
    // A lane whose only job has ended: its counters are rows that add up to nothing.
    int64_t last = add(world, (struct sample){.queue = "empty"});
    struct job job = job_now(world, last);
    int64_t token = job.token++;
    job.state = JOB_SUCCESS;
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
    for (int i = 0; i < SESSIONS; i++) {
        stage->sessions[i] = (struct session){.stage = stage, .number = i, .incarnation = FIRST + i};
        session_start(&stage->sessions[i]);
    }
    char sql[900];
    const char *s = world->schema;
    snprintf(sql, sizeof sql,
             "SET search_path=%s; CREATE TABLE was_jobs AS TABLE jobs;"
             " CREATE TABLE was_lanes AS TABLE lanes; CREATE TABLE was_incarnations AS TABLE incarnations;"
             " CREATE TABLE was_tasks AS TABLE tasks; CREATE TABLE was_tags AS TABLE tags;"
             " CREATE TABLE was_done AS SELECT * FROM jobs_done WHERE purge_at>0; DELETE FROM jobs_done; DELETE FROM "
             "counts WHERE state=5; CREATE TABLE "
             "was_counts AS TABLE counts",
             s);
    session_do(stage->watcher, sql);
    return 0;
}

int tear_down(void **state)
{
    struct stage *stage = *state;
    for (int i = 0; i < SESSIONS; i++) {
        store_close(stage->sessions[i].store);
        proxy_stop(stage->sessions[i].proxy);
    }
    PQfinish(stage->watcher);
    world_free(stage->world);
    mem_free(stage);
    return 0;
}

static void start_over(struct stage *stage)
{
    session_do(stage->watcher,
               "BEGIN; DELETE FROM jobs; DELETE FROM jobs_done; DELETE FROM counts; DELETE FROM lanes; DELETE FROM incarnations;"
               " DELETE FROM owners; DELETE FROM requests; DELETE FROM hands; DELETE FROM meta WHERE name='term';"
               " INSERT INTO jobs SELECT * FROM was_jobs; INSERT INTO counts SELECT * FROM was_counts;"
               " DELETE FROM plans; DELETE FROM extras; DELETE FROM tasks; INSERT INTO tasks SELECT * FROM was_tasks;"
               " DELETE FROM tags; INSERT INTO tags SELECT * FROM was_tags;"
               " INSERT INTO lanes SELECT * FROM was_lanes; INSERT INTO incarnations SELECT * FROM was_incarnations; COMMIT");
    stage->held_when_buried = -1;
    stage->claims_when_paused = -1;
}

// ---- steps

static bool waits_for_lock(struct session *session)
{
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM pg_stat_activity WHERE application_name='session%d' AND cardinality(pg_blocking_pids(pid))>0",
             session->number);
    return session_ask(session->stage->watcher, sql) > 0;
}

static void note_ended(struct session *session)
{
    struct stage *stage = session->stage;
    session->ended = true;
    if (session->verb == STORE_BURY && !session->op->err)
        stage->held_when_buried = ask(stage, "SELECT count(*) FROM @jobs WHERE state IN (3,4) AND holder=11");
    if (session->verb == STORE_PAUSE || session->verb == STORE_AMEND) {
        stage->claims_when_paused = 0;
        for (int i = 0; i < SESSIONS; i++)
            if (stage->sessions[i].op && stage->sessions[i].verb == STORE_CLAIM)
                stage->claims_when_paused += stage->sessions[i].allowed;
    }
}

// Until it has answered all it was allowed, or ended, or waits for another. False: it waits.
static bool settle(struct session *session)
{
    enum { LOOKS_BEFORE_ASKING = 60, PAUSE_NS = 50000 };
    for (int looks = 0; !session->ended; looks++) {
        if (session->done) {
            note_ended(session);
            return true;
        }
        if (proxy_answered(session->proxy) >= session->allowed)
            return true;
        if ((looks >= LOOKS_BEFORE_ASKING || session->waits) && waits_for_lock(session)) {
            session->waits = true;
            return false;
        }
        session->waits = false;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return true;
}

static void start(struct session *session, beginning *begin)
{
    begin(session);
    session->done = session->ended = session->waits = false;
    session->allowed = 0;
    proxy_hold(session->proxy, true);
    store_submit(session->store, session->op);
}

// Allows `count` statements, one after the other, as long as nothing is in its way; and lets others go on whom it let go.
static void step(struct stage *stage, struct session *session, int count)
{
    for (int i = 0; i < count && !session->ended && settle(session) && !session->ended; i++) {
        session->allowed++;
        proxy_allow(session->proxy, 1);
        for (int k = 0; k < SESSIONS; k++)
            if (stage->sessions[k].op)
                settle(k ? &stage->sessions[(session->number + k) % SESSIONS] : session);
    }
}

static void end_all(struct stage *stage)
{
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < SESSIONS; i++)
            if (stage->sessions[i].op && !stage->sessions[i].ended) {
                more = true;
                step(stage, &stage->sessions[i], 1);
            }
    }
}

// ---- what must always be true

static const char places_wrong[] = "SELECT count(*) FROM @jobs WHERE waits_at IS DISTINCT FROM CASE WHEN state IN (1,2) OR state "
                                   "IN (3,4) AND waits_at IS NOT NULL"
                                   " THEN lane*16+9-priority END OR state>4";
// What is in a hand that does not say so would never be found again.
static const char hands_wrong[] = "SELECT count(*) FROM @jobs j WHERE state IN (3,4) AND NOT EXISTS (SELECT FROM @hands h WHERE "
                                  "h.holder=j.holder AND j.id=ANY(h.ids))";
static const char counts_wrong[] =
    "SELECT count(*) FROM (SELECT lane,state,sum(amount) AS n FROM @counts WHERE lane>0 GROUP BY 1,2 UNION ALL"
    " SELECT 0,state,sum(amount) FROM @counts WHERE lane=0 GROUP BY 2) c FULL JOIN (SELECT lane,state,count(*) AS n FROM"
    " (SELECT lane,state FROM @jobs UNION ALL SELECT lane,state FROM @jobs_done) j GROUP BY 1,2 UNION ALL SELECT 0,state,count(*)"
    " FROM (SELECT state FROM @jobs UNION ALL SELECT state FROM @jobs_done) j GROUP BY 2) j USING(lane,state)"
    " WHERE coalesce(c.n,0)<>coalesce(j.n,0)";

#define TAGS_THERE_SHALL_BE                                                                                                    \
    "SELECT t.tenant,x,0,t.id FROM @tasks t, unnest(t.tags) x UNION ALL SELECT t.tenant,x+1,j.scheduled_at,j.id FROM @tasks t" \
    " JOIN (SELECT id,task_id,scheduled_at FROM @jobs UNION ALL SELECT id,task_id,scheduled_at FROM @jobs_done) j"             \
    " ON j.task_id=t.id, unnest(t.tags) x"
static const char tags_wrong[] = "SELECT count(*) FROM ((TABLE @tags EXCEPT (" TAGS_THERE_SHALL_BE ")) UNION ALL"
                                 " ((" TAGS_THERE_SHALL_BE ") EXCEPT TABLE @tags)) w";

static const char all_tokens[] =
    "SELECT string_agg(token::text,'' ORDER BY id) FROM (SELECT id,token FROM @jobs UNION ALL SELECT id,token FROM @jobs_done) j"
    " WHERE id IN (SELECT id FROM @was_jobs)";
static const char jobs_lost[] =
    "SELECT count(*) FROM @was_jobs w WHERE (SELECT count(*) FROM (SELECT id FROM @jobs UNION ALL SELECT id FROM @jobs_done) j"
    " WHERE j.id=w.id)<>1";

int times_written(const struct stage *stage, int64_t id)
{
    int times = 0;
    for (int i = 0; i < SESSIONS; i++) {
        const struct session *session = &stage->sessions[i];
        if (session->op && session->verb == STORE_CLAIM) {
            const struct store_claim *claim = container_of(session->op, struct store_claim, op);
            for (size_t k = 0; k < claim->job_count; k++)
                times += claim->jobs[k].job.id == id;
        }
        if (session->op && session->verb == STORE_AMEND && id == stage->ids[0])
            times += !session->op->err && container_of(session->op, struct store_amend, op)->count;
        if (session->op && session->verb == STORE_CHANGE) {
            const struct store_change *change = container_of(session->op, struct store_change, op);
            for (size_t k = 0; k < change->count; k++)
                times += change->steps[k].job->id == id && change->steps[k].err == ERR_OK;
        }
    }
    return times;
}

static void check_claim(struct stage *stage, const struct store_claim *claim)
{
    size_t most = 0;
    for (size_t i = 0; i < claim->want_count; i++)
        most += claim->wants[i].max;
    assert_true(claim->job_count <= most);
    if (claim->op.err)
        assert_int_equal(claim->op.err, ERR_FENCED);
    for (size_t i = 0; i < claim->job_count; i++) {
        char sql[200];
        const struct job *job = &claim->jobs[i].job;
        snprintf(
            sql, sizeof sql,
            "SELECT count(*) FROM (SELECT id,token,holder FROM @jobs UNION ALL SELECT id,token,holder FROM @jobs_done) j WHERE"
            " id=%lld AND (token>%lld OR token=%lld AND holder=%lld)",
            (long long)job->id, (long long)job->token, (long long)job->token, (long long)claim->holder);
        assert_int_equal(ask(stage, sql), 1);
    }
}

// A job is handed out and changed once for each token it had, so its token tells how often that was.
static void check_always(struct stage *stage)
{
    assert_int_equal(ask(stage, places_wrong), 0);
    assert_int_equal(ask(stage, hands_wrong), 0);
    assert_int_equal(ask(stage, counts_wrong), 0);
    assert_int_equal(ask(stage, jobs_lost), 0);
    assert_int_equal(ask(stage, tags_wrong), 0);
    // All tokens at once, as digits of one number.
    long long tokens = 0;
    for (int i = 0; i < JOBS; i++)
        tokens = tokens * 10 + 1 + times_written(stage, stage->ids[i]);
    assert_int_equal(ask(stage, all_tokens), tokens);
    for (int i = 0; i < SESSIONS; i++)
        if (stage->sessions[i].op && stage->sessions[i].verb == STORE_CLAIM)
            check_claim(stage, container_of(stage->sessions[i].op, struct store_claim, op));
    // Once an incarnation is declared dead, nothing more comes into its hands.
    if (stage->held_when_buried >= 0)
        assert_true(ask(stage, "SELECT count(*) FROM @jobs WHERE state IN (3,4) AND holder=11") <= stage->held_when_buried);
}

// ---- every order

struct order {
    int who[SESSIONS * STEPS_MAX];
    int length, left[SESSIONS];
};

static void play(struct stage *stage, const struct scenario *scenario, const struct order *order)
{
    start_over(stage);
    for (int i = 0; i < SESSIONS; i++) {
        stage->sessions[i].op = NULL;
        if (scenario->begin[i])
            start(&stage->sessions[i], scenario->begin[i]);
    }
    for (int i = 0; i < order->length; i++)
        step(stage, &stage->sessions[order->who[i]], scenario->coarse);
    end_all(stage);
    check_always(stage);
    if (scenario->check)
        scenario->check(stage);
}

static int play_all(struct stage *stage, const struct scenario *scenario, struct order *order)
{
    int played = 0;
    bool more = false;
    for (int i = 0; i < SESSIONS; i++) {
        if (!order->left[i])
            continue;
        more = true;
        order->left[i]--;
        order->who[order->length++] = i;
        played += play_all(stage, scenario, order);
        order->length--;
        order->left[i]++;
    }
    if (more)
        return played;
    play(stage, scenario, order);
    return 1;
}

static int statements_alone(struct stage *stage, beginning *begin, int who)
{
    start_over(stage);
    for (int i = 0; i < SESSIONS; i++)
        stage->sessions[i].op = NULL;
    start(&stage->sessions[who], begin);
    end_all(stage);
    return proxy_answered(stage->sessions[who].proxy);
}

static int errors_of_all(struct stage *stage)
{
    int errors = 0;
    for (int i = 0; i < SESSIONS; i++)
        errors += proxy_errors(stage->sessions[i].proxy);
    return errors;
}

void try_every_order(void **state, struct scenario scenario)
{
    struct stage *stage = *state;
    struct order order = {0};
    if (!scenario.coarse)
        scenario.coarse = 1;
    for (int i = 0; i < SESSIONS; i++)
        if (scenario.begin[i]) {
            statements_alone(stage, scenario.begin[i], i); // what it does only once, such as to look up a lane, is done then
            order.left[i] = (statements_alone(stage, scenario.begin[i], i) + scenario.coarse - 1) / scenario.coarse;
            assert_true(order.left[i] > 0 && order.left[i] <= STEPS_MAX);
        }
    int played = play_all(stage, &scenario, &order);
    assert_int_equal(errors_of_all(stage), 0);
    print_message("# %d orders\n", played);
}
