// Two or three sessions at once, in every interleaving of their statements.
//
// Each session is a store of its own behind a proxy that holds its statements back (tests/support/proxy.h). A scenario says what
// each of them does; every order in which their statements can come is tried, from the same rows, and after each order what must
// always be true is looked up in the tables. A statement that waits for a lock goes on when the lock is free, and the order
// around it.
//
// How many statements an operation has is found out by letting it run alone. BEGIN commutes with everything and goes along with
// the statement behind it.
#include "store_support.h"

#include "../support/proxy.h"
#include "postgres_support.h"
#include "store/lives.h"
#include "store/peers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { SESSIONS = 3, FIRST = 11, STEPS_MAX = 12, JOBS = 5, DAY_MS = 86400 * 1000 };

struct session {
    struct stage *stage;
    struct store *store;
    struct proxy *proxy;
    int number;
    int64_t incarnation;
    struct store_op *op;
    enum store_verb verb;
    atomic_bool done; // since the store gave the operation back
    int allowed;      // statements, up to now
    bool ended;       // as seen by the one who steps
    bool waits;       // for a lock, when it was last looked at
};

struct stage {
    struct world *world; // beside the sessions; makes what they find
    PGconn *watcher;
    struct session sessions[SESSIONS];
    int64_t lanes[2], ids[JOBS];
    int64_t ended;              // a task that has no job any more
    long long held_when_buried; // -1: nobody was buried
    int claims_when_paused;     // statements that the claims had sent when the pause was done; -1: nothing was paused
};

// What a session does in a scenario.
typedef void beginning(struct session *session);

struct scenario {
    beginning *begin[SESSIONS];
    int coarse; // statements that go together as one step, where three sessions would have too many orders
    void (*check)(struct stage *stage);
};

// ---- the operations

static void note_done(struct store_op *op);

static void *new_op(struct session *session, size_t size, enum store_verb verb)
{
    struct store_op *op = world_op(session->stage->world, size, verb);
    op->done = note_done;
    op->answers = (struct mailbox *)session; // which is whose it is, here
    session->op = op;
    session->verb = verb;
    return op;
}
#define NEW_OP(session, type, verb) ((struct type *)new_op((session), sizeof(struct type), (verb)))

static void note_done(struct store_op *op)
{
    ((struct session *)op->answers)->done = true;
}

static void begin_claim_of(struct session *session, size_t count, bool backwards)
{
    struct store_claim *op = NEW_OP(session, store_claim, STORE_CLAIM);
    op->wants = world_mem(session->stage->world, count * sizeof *op->wants);
    op->want_count = count;
    for (size_t i = 0; i < count; i++)
        op->wants[i] = (struct store_want){.lane = session->stage->lanes[backwards ? count - 1 - i : i], .max = 2};
    op->holder = session->incarnation;
    op->now_ms = op->until_ms = NOW;
}

static void claim_one_lane(struct session *session)
{
    begin_claim_of(session, 1, false);
}

static void claim_two_lanes(struct session *session)
{
    begin_claim_of(session, 2, session->number % 2);
}

// The first session ends the job, the others put it off: on the token it has at the beginning.
static void change_first(struct session *session)
{
    struct store_change *op = NEW_OP(session, store_change, STORE_CHANGE);
    struct {
        struct store_step step;
        struct job job;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = session->stage->ids[0], .token = 2, .due_at = NOW - 20000, .scheduled_at = NOW - 5};
    made->job.state = session->number ? JOB_DELAYED : JOB_CANCELLED;
    made->job.completed_at = session->number ? 0 : NOW;
    made->step = (struct store_step){.token = 1, .job = &made->job};
    op->steps = &made->step;
    op->count = 1;
}

// … and plans it for another time.
static void replan_first(struct session *session)
{
    change_first(session);
    const struct store_step *step = container_of(session->op, struct store_change, op)->steps;
    ((struct job *)step->job)->scheduled_at = NOW + 7;
}

static void add_in_hand_of_first(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    struct sample sample = {.queue = "one", .state = JOB_WATCHING, .holder = FIRST};
    sample_fill(session->stage->world, &sample, &made->task, &made->job, &made->item);
    op->now_ms = NOW;
    op->holder = FIRST;
    op->items = &made->item;
    op->count = 1;
}

static void add_late(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct store_task task;
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    struct sample sample = {.queue = "two",
                            .due_at = NOW + 60000}; // behind all that waits there, and long past by the server's clock
    sample_fill(session->stage->world, &sample, &made->task, &made->job, &made->item);
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
}

static void claim_other_lane(struct session *session)
{
    begin_claim_of(session, 1, false);
    struct store_claim *op = container_of(session->op, struct store_claim, op);
    op->wants[0].lane = session->stage->lanes[1];
    op->wants[0].max = 10;
}

static void list_lanes(struct session *session)
{
    NEW_OP(session, store_lanes, STORE_LANES)->max = 10;
}

static void bury_first(struct session *session)
{
    NEW_OP(session, store_bury, STORE_BURY)->incarnation = FIRST;
}

static void forget_first(struct session *session)
{
    NEW_OP(session, store_forget, STORE_FORGET)->incarnation = FIRST;
}

static void beat_of_first(struct session *session)
{
    NEW_OP(session, store_beat, STORE_BEAT)->incarnation = FIRST;
}

// Each session wants all buckets for itself.
static void divide(struct session *session)
{
    struct store_divide *op = NEW_OP(session, store_divide, STORE_DIVIDE);
    struct store_owner *owners = world_mem(session->stage->world, 2 * sizeof *owners);
    for (int32_t i = 0; i < 2; i++)
        owners[i] = (struct store_owner){i, session->incarnation};
    op->owners = owners;
    op->owner_count = 2;
}

static void ask_first(struct session *session)
{
    struct store_request *op = NEW_OP(session, store_request, STORE_REQUEST);
    op->holder = FIRST;
    op->job = (struct store_job_request){.job_id = session->stage->ids[0], .tenant = TENANT};
}

static void asked_of_first(struct session *session)
{
    struct store_requests *op = NEW_OP(session, store_requests, STORE_REQUESTS);
    op->holder = FIRST;
    op->max = 10;
}

// The first task goes to the other queue, its job on the token it has at the beginning.
static void amend_first(struct session *session)
{
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    struct {
        struct store_step step;
        struct job job;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = session->stage->ids[0],
                             .token = 2,
                             .state = JOB_DELAYED,
                             .due_at = NOW + 1000,
                             .scheduled_at = NOW + 1000,
                             .priority = 7};
    made->step = (struct store_step){.token = 1, .job = &made->job};
    op->task = (struct store_task){
        .id = session->stage->ids[0], .tenant = TENANT, .version = 1, .queue = STR("two"), .doc = STR("{\"amended\":1}")};
    op->steps = &made->step;
    op->count = 1;
}

static void pause_first(struct session *session)
{
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    op->task = (struct store_task){
        .id = session->stage->ids[0], .tenant = TENANT, .version = 1, .paused = true, .queue = STR("one"), .doc = STR("{}")};
}

// The first task gets another tag, whoever has its job.
static void retag_first(struct session *session)
{
    static const int64_t tags[] = {4};
    struct store_amend *op = NEW_OP(session, store_amend, STORE_AMEND);
    op->task = (struct store_task){.id = session->stage->ids[0],
                                   .tenant = TENANT,
                                   .version = 1,
                                   .queue = STR("one"),
                                   .doc = STR("{}"),
                                   .tags = tags,
                                   .tag_count = 1};
    op->retag = true;
}

// … and its job is planned for another time with it.
static void retag_first_and_replan(struct session *session)
{
    retag_first(session);
    struct store_amend *retag = container_of(session->op, struct store_amend, op);
    struct store_task task = retag->task;
    amend_first(session);
    struct store_amend *op = container_of(session->op, struct store_amend, op);
    op->task.tags = task.tags;
    op->task.tag_count = task.tag_count;
    op->retag = true;
}

static void delete_ended(struct session *session)
{
    struct store_remove *op = NEW_OP(session, store_remove, STORE_REMOVE);
    op->task_id = session->stage->ended;
    op->tenant = TENANT;
    op->version = 1;
    op->max = 10;
}

static void delete_first(struct session *session)
{
    delete_ended(session);
    container_of(session->op, struct store_remove, op)->task_id = session->stage->ids[0];
}

static void add_to_ended(struct session *session)
{
    struct store_add *op = NEW_OP(session, store_add, STORE_ADD);
    struct {
        struct job job;
        struct store_new item;
    } *made = world_mem(session->stage->world, sizeof *made);
    made->job = (struct job){.id = ++session->stage->world->last_id,
                             .task_id = session->stage->ended,
                             .tenant = TENANT,
                             .state = JOB_READY,
                             .due_at = NOW,
                             .token = 1};
    made->item = (struct store_new){.jobs = &made->job, .job_count = 1};
    op->now_ms = NOW;
    op->items = &made->item;
    op->count = 1;
}

static void bring_ended_back(struct stage *stage)
{
    session_do(stage->watcher, "DELETE FROM jobs_done; INSERT INTO jobs_done SELECT * FROM was_done;"
                               " INSERT INTO counts SELECT 0,unnest(ARRAY[0,lane]),5,1 FROM was_done ON CONFLICT DO NOTHING");
}

// What has ended is taken away by retention.
static void sweep_ended(struct session *session)
{
    bring_ended_back(session->stage);
    struct store_sweep *op = NEW_OP(session, store_sweep, STORE_SWEEP);
    op->now_ms = NOW + 2;
    op->keys_until = NOW + 10;
    op->max = 1;
}

// What has ended is planned again, for another time.
static void plan_ended_again(struct session *session)
{
    bring_ended_back(session->stage);
    replan_first(session);
    const struct store_step *step = container_of(session->op, struct store_change, op)->steps;
    ((struct job *)step->job)->id = session->stage->ended;
}

static void make_due(struct session *session)
{
    struct store_due *op = NEW_OP(session, store_due, STORE_DUE);
    op->lane = session->stage->lanes[0];
    op->to_ms = NOW;
    op->max = 10;
}

static void pause_queue(struct session *session, const char *queue)
{
    struct store_pause *op = NEW_OP(session, store_pause, STORE_PAUSE);
    op->tenant = TENANT;
    op->queue = str_of(queue);
    op->paused = true;
}

static void pause_lane(struct session *session)
{
    pause_queue(session, "one");
}

static void pause_other_lane(struct session *session)
{
    pause_queue(session, "two");
}

static void add_to_empty(struct session *session)
{
    add_late(session);
    struct store_add *op = container_of(session->op, struct store_add, op);
    ((struct store_task *)op->items[0].task)->queue = STR("empty");
}

static void move_first_to_empty(struct session *session)
{
    amend_first(session);
    container_of(session->op, struct store_amend, op)->task.queue = STR("empty");
}

static void pause_empty(struct session *session)
{
    pause_queue(session, "empty");
}

static void drop_empty(struct session *session)
{
    struct store_drop *op = NEW_OP(session, store_drop, STORE_DROP);
    op->tenant = TENANT;
    op->queue = STR("empty");
}

// ---- the stage

static long long ask(struct stage *stage, const char *sql_with_at)
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

static int set_up(void **state)
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

static int tear_down(void **state)
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
               " DELETE FROM owners; DELETE FROM asks; DELETE FROM hands; DELETE FROM meta WHERE name='term';"
               " INSERT INTO jobs SELECT * FROM was_jobs; INSERT INTO counts SELECT * FROM was_counts;"
               " DELETE FROM tasks; INSERT INTO tasks SELECT * FROM was_tasks;"
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
    "SELECT count(*) FROM (SELECT lane,state,sum(jobs) AS n FROM @counts WHERE lane>0 GROUP BY 1,2 UNION ALL"
    " SELECT 0,state,sum(jobs) FROM @counts WHERE lane=0 GROUP BY 2) c FULL JOIN (SELECT lane,state,count(*) AS n FROM"
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

static int times_written(const struct stage *stage, int64_t id)
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
            const struct store_step *step = container_of(session->op, struct store_change, op)->steps;
            times += step->job->id == id && step->err == ERR_OK;
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

// No order may end in a deadlock, which would be an error of the server.
static void try_every_order(void **state, struct scenario scenario)
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

// ---- two sessions

static size_t claimed_by_all(const struct stage *stage)
{
    size_t count = 0;
    for (int i = 0; i < SESSIONS; i++)
        if (stage->sessions[i].op && stage->sessions[i].verb == STORE_CLAIM)
            count += container_of(stage->sessions[i].op, struct store_claim, op)->job_count;
    return count;
}

static void all_of_lane_one_are_claimed(struct stage *stage)
{
    assert_int_equal(claimed_by_all(stage), 3);
}

static void all_are_claimed_but_what_is_over_the_limit(struct stage *stage)
{
    assert_int_equal(claimed_by_all(stage), JOBS);
}

static void the_first_job_was_written_once(struct stage *stage)
{
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void one_of_both_wins(struct stage *stage)
{
    enum err first = stage->sessions[0].op->err, second = stage->sessions[1].op->err;
    assert_true((first == ERR_OK && second == ERR_LEASE_LOST) || (first == ERR_FENCED && second == ERR_OK));
}

static void nothing_was_claimed_once_it_was_paused(struct stage *stage)
{
    if (stage->claims_when_paused < 2) // the fence only
        assert_int_equal(claimed_by_all(stage), 0);
}

// Of those who divide at once one is heard, and all rows are its own.
static void one_divided(struct stage *stage)
{
    int heard = 0;
    for (int i = 0; i < SESSIONS; i++)
        heard += stage->sessions[i].op && stage->sessions[i].op->err == ERR_OK;
    assert_int_equal(heard, 1);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @owners WHERE term=1"), 2);
    assert_int_equal(ask(stage, "SELECT count(DISTINCT puller) FROM @owners"), 1);
    assert_int_equal(ask(stage, "SELECT value FROM @meta WHERE name='term'"), 1);
}

static void no_wish_is_left_to_the_gone(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT count(*) FROM @asks WHERE holder NOT IN (SELECT id FROM @incarnations)"), 0);
}

// A wish is told, still there, or was refused.
static void no_wish_is_lost(struct stage *stage)
{
    const struct store_requests *asked = container_of(stage->sessions[1].op, struct store_requests, op);
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    assert_int_equal((long long)asked->job_count + ask(stage, "SELECT count(*) FROM @asks"), 1);
}

static void two_claims(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, claim_one_lane}, .check = all_of_lane_one_are_claimed});
}

static void two_claims_of_two_lanes_in_opposite_order(void **state)
{
    try_every_order(state,
                    (struct scenario){{claim_two_lanes, claim_two_lanes}, .check = all_are_claimed_but_what_is_over_the_limit});
}

static void a_change_that_ends_a_job_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{change_first, claim_one_lane}, .check = the_first_job_was_written_once});
}

static void a_claim_and_a_change_that_puts_a_job_off(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first}});
}

static void a_claim_and_the_burial_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, bury_first}});
}

static void a_job_added_in_hand_and_the_burial_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{add_in_hand_of_first, bury_first}});
}

static void a_claim_and_the_forgetting_of_its_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, forget_first}, .check = one_of_both_wins});
}

static void a_beat_and_a_burial(void **state)
{
    try_every_order(state, (struct scenario){{beat_of_first, bury_first}, .check = one_of_both_wins});
}

static void two_changes_on_one_token(void **state)
{
    try_every_order(state, (struct scenario){{change_first, change_first}, .check = the_first_job_was_written_once});
}

static void jobs_that_become_due_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{make_due, claim_one_lane}});
}

static void jobs_that_become_due_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{make_due, change_first}});
}

static void a_pause_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{pause_lane, claim_one_lane}, .check = nothing_was_claimed_once_it_was_paused});
}

// The list raises the floor of an emptied lane above what is being added. Who looks afterwards must find it all the same.
static void what_was_added_is_found(struct stage *stage)
{
    struct store_claim *op = claim(stage->world, FIRST, NOW + 120000, stage->lanes[1], 10);
    const struct store_claim *before = container_of(stage->sessions[2].op, struct store_claim, op);
    assert_int_equal(op->job_count + before->job_count, 3);
    assert_int_equal(op->wants[0].next_due, TIME_NEVER);
}

static void a_job_that_is_added_while_floors_are_raised(void **state)
{
    try_every_order(state,
                    (struct scenario){{add_late, list_lanes, claim_other_lane}, .coarse = 2, .check = what_was_added_is_found});
}

static void two_divisions(void **state)
{
    try_every_order(state, (struct scenario){{divide, divide}, .check = one_divided});
}

static void a_wish_and_the_forgetting_of_who_is_asked(void **state)
{
    try_every_order(state, (struct scenario){{ask_first, forget_first}, .check = no_wish_is_left_to_the_gone});
}

static void a_wish_and_who_takes_it(void **state)
{
    try_every_order(state, (struct scenario){{ask_first, asked_of_first}, .check = no_wish_is_lost});
}

// What the amendment found is what it wrote with: the job went along, or nothing did.
static void the_amendment_took_its_job_along_or_nothing(struct stage *stage)
{
    bool amended = false;
    for (int i = 0; i < SESSIONS; i++)
        if (stage->sessions[i].op && stage->sessions[i].verb == STORE_AMEND) {
            amended |= !stage->sessions[i].op->err;
            assert_true(!stage->sessions[i].op->err || stage->sessions[i].op->err == ERR_LEASE_LOST);
        }
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT version*10+(doc='{\"amended\":1}')::int FROM @tasks WHERE id=%lld",
             (long long)stage->ids[0]);
    assert_int_equal(ask(stage, sql), amended ? 21 : 10);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM @jobs WHERE id=%lld AND lane=%lld AND priority=7", (long long)stage->ids[0],
             (long long)stage->lanes[1]);
    assert_int_equal(ask(stage, sql), amended);
}

static void one_was_first(struct stage *stage)
{
    the_amendment_took_its_job_along_or_nothing(stage);
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void one_amended(struct stage *stage)
{
    assert_int_equal(!stage->sessions[0].op->err + !stage->sessions[1].op->err, 1);
    one_was_first(stage);
}

// Who claims after the pause gets nothing to run of that task, and of the others all the same.
static void a_claim_behind_the_pause_brings_no_document(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    const struct store_claim *claim = container_of(stage->sessions[1].op, struct store_claim, op);
    for (size_t i = 0; i < claim->job_count; i++)
        if (claim->jobs[i].job.id != stage->ids[0])
            assert_true(claim->jobs[i].doc.n > 0);
        else if (stage->claims_when_paused < 2) // the fence only
            assert_int_equal(claim->jobs[i].doc.n, 0);
}

static void nothing_waits_of_a_task_that_is_gone(struct stage *stage)
{
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
    enum err added = container_of(stage->sessions[1].op, struct store_add, op)->items[0].err;
    assert_true(stage->sessions[0].op->err ? stage->sessions[0].op->err == ERR_LEASE_LOST && !added : added == ERR_NOT_FOUND);
}

// Its job waits, or somebody has it in hand: in whichever order, that keeps the task.
static void the_task_is_still_there(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_LEASE_LOST);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
}

static void an_amendment_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, claim_one_lane}, .check = one_was_first});
}

static void an_amendment_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{change_first, amend_first}, .check = one_was_first});
}

static void both_were_done(struct stage *stage)
{
    assert_int_equal(stage->sessions[0].op->err, ERR_OK);
    assert_int_equal(times_written(stage, stage->ids[0]), 1);
}

static void new_tags_of_a_task_and_a_new_plan_for_its_job(void **state)
{
    try_every_order(state, (struct scenario){{retag_first, replan_first}, .check = both_were_done});
}

static void new_tags_with_a_new_plan_and_another_plan(void **state)
{
    try_every_order(state, (struct scenario){{replan_first, retag_first_and_replan}, .check = one_was_first});
}

static void it_was_swept_or_planned(struct stage *stage)
{
    bool swept = container_of(stage->sessions[0].op, struct store_sweep, op)->removed;
    enum err err = container_of(stage->sessions[1].op, struct store_change, op)->steps[0].err;
    assert_int_equal(err, swept ? ERR_NOT_FOUND : ERR_OK);
    assert_int_equal(ask(stage, "SELECT count(*) FROM @jobs j WHERE NOT EXISTS (SELECT FROM @tasks t WHERE t.id=j.task_id)"), 0);
}

static void a_sweep_and_a_new_plan_for_what_has_ended(void **state)
{
    try_every_order(state, (struct scenario){{sweep_ended, plan_ended_again}, .coarse = 2, .check = it_was_swept_or_planned});
}

static void two_amendments(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, amend_first}, .check = one_amended});
}

static void a_pause_of_a_task_and_a_claim(void **state)
{
    try_every_order(state,
                    (struct scenario){{pause_first, claim_one_lane}, .check = a_claim_behind_the_pause_brings_no_document});
}

static void a_deletion_and_a_new_job_of_the_task(void **state)
{
    try_every_order(state, (struct scenario){{delete_ended, add_to_ended}, .check = nothing_waits_of_a_task_that_is_gone});
}

static void a_deletion_and_a_claim(void **state)
{
    try_every_order(state, (struct scenario){{delete_first, claim_one_lane}, .check = the_task_is_still_there});
}

static void a_deletion_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{delete_first, change_first}, .check = the_task_is_still_there});
}

// Whoever was first: what was added is in a lane that is listed.
static void the_lane_is_listed(struct stage *stage)
{
    enum err err = stage->sessions[0].op->err;
    assert_true(err == ERR_OK || err == ERR_QUEUE_NOT_EMPTY);
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    assert_true(is_listed(stage->world, TENANT, "empty"));
}

static void the_lane_is_listed_and_paused(struct stage *stage)
{
    enum err err = stage->sessions[0].op->err;
    assert_true(err == ERR_OK || err == ERR_QUEUE_PAUSED);
    assert_int_equal(stage->sessions[1].op->err, ERR_OK);
    assert_true(is_listed(stage->world, TENANT, "empty"));
    assert_int_equal(ask(stage, "SELECT count(*) FROM @lanes WHERE queue='empty' AND paused"), 1);
}

static void one_dropped(struct stage *stage)
{
    enum err first = stage->sessions[0].op->err, second = stage->sessions[1].op->err;
    assert_true((first == ERR_OK && second == ERR_NOT_FOUND) || (first == ERR_NOT_FOUND && second == ERR_OK));
    assert_false(is_listed(stage->world, TENANT, "empty"));
}

static void a_dropped_lane_and_a_job_that_is_added_to_it(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, add_to_empty}, .check = the_lane_is_listed});
}

static void a_dropped_lane_and_a_job_that_is_moved_there(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, move_first_to_empty}, .check = the_lane_is_listed});
}

static void a_dropped_lane_and_its_pause(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, pause_empty}, .check = the_lane_is_listed_and_paused});
}

static void a_lane_that_is_dropped_twice(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, drop_empty}, .check = one_dropped});
}

// ---- three sessions

static void two_jobs_that_are_added_to_a_dropped_lane(void **state)
{
    try_every_order(state, (struct scenario){{drop_empty, add_to_empty, add_to_empty}, .coarse = 2, .check = the_lane_is_listed});
}

static void an_amendment_a_claim_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{amend_first, claim_one_lane, change_first},
                                             .coarse = 2,
                                             .check = the_amendment_took_its_job_along_or_nothing});
}

static void three_divisions(void **state)
{
    try_every_order(state, (struct scenario){{divide, divide, divide}, .check = one_divided});
}

static void a_claim_a_change_and_the_burial_of_the_holder(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first, bury_first}});
}

static void a_claim_a_change_and_jobs_that_become_due(void **state)
{
    try_every_order(state, (struct scenario){{claim_one_lane, change_first, make_due}, .coarse = 2});
}

static void three_claims(void **state)
{
    try_every_order(
        state,
        (struct scenario){{claim_one_lane, claim_one_lane, claim_one_lane}, .coarse = 2, .check = all_of_lane_one_are_claimed});
}

static void two_claims_of_two_lanes_and_a_change(void **state)
{
    try_every_order(state, (struct scenario){{claim_two_lanes, claim_two_lanes, change_first}, .coarse = 2});
}

// Who holds one of the lanes makes both claims wait in the middle of a statement, if they wait at all.
static void two_claims_of_two_lanes_and_a_pause(void **state)
{
    try_every_order(state, (struct scenario){{claim_two_lanes, claim_two_lanes, pause_other_lane}, .coarse = 2});
}

#define PROMISE(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(two_claims),
        PROMISE(two_claims_of_two_lanes_in_opposite_order),
        PROMISE(a_change_that_ends_a_job_and_a_claim),
        PROMISE(a_claim_and_a_change_that_puts_a_job_off),
        PROMISE(a_claim_and_the_burial_of_its_holder),
        PROMISE(a_job_added_in_hand_and_the_burial_of_its_holder),
        PROMISE(a_claim_and_the_forgetting_of_its_holder),
        PROMISE(a_beat_and_a_burial),
        PROMISE(two_changes_on_one_token),
        PROMISE(jobs_that_become_due_and_a_claim),
        PROMISE(jobs_that_become_due_and_a_change),
        PROMISE(a_pause_and_a_claim),
        PROMISE(a_job_that_is_added_while_floors_are_raised),
        PROMISE(two_divisions),
        PROMISE(a_wish_and_the_forgetting_of_who_is_asked),
        PROMISE(a_wish_and_who_takes_it),
        PROMISE(an_amendment_and_a_claim),
        PROMISE(an_amendment_and_a_change),
        PROMISE(new_tags_of_a_task_and_a_new_plan_for_its_job),
        PROMISE(new_tags_with_a_new_plan_and_another_plan),
        PROMISE(a_sweep_and_a_new_plan_for_what_has_ended),
        PROMISE(two_amendments),
        PROMISE(a_pause_of_a_task_and_a_claim),
        PROMISE(a_deletion_and_a_new_job_of_the_task),
        PROMISE(a_deletion_and_a_claim),
        PROMISE(a_deletion_and_a_change),
        PROMISE(a_dropped_lane_and_a_job_that_is_added_to_it),
        PROMISE(a_dropped_lane_and_a_job_that_is_moved_there),
        PROMISE(a_dropped_lane_and_its_pause),
        PROMISE(a_lane_that_is_dropped_twice),
        PROMISE(two_jobs_that_are_added_to_a_dropped_lane),
        PROMISE(an_amendment_a_claim_and_a_change),
        PROMISE(three_divisions),
        PROMISE(a_claim_a_change_and_the_burial_of_the_holder),
        PROMISE(a_claim_a_change_and_jobs_that_become_due),
        PROMISE(three_claims),
        PROMISE(two_claims_of_two_lanes_and_a_change),
        PROMISE(two_claims_of_two_lanes_and_a_pause),
    };
    return cmocka_run_group_tests_name("store postgres: every interleaving", tests, set_up, tear_down);
}
