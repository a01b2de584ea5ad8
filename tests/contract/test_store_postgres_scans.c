// What the PostgreSQL store scans, keeps and parses stays small, however much there is or was.
#include "../support/proxy.h"
#include "postgres_contract.h"

#include <stdio.h>

static long long floor_of(const struct world *world)
{
    return session_ask_in(world->schema, "SELECT floor FROM @lanes WHERE queue='q'");
}

// Lists the lanes, which raises their floors.
static int64_t look(struct world *world)
{
    struct store_lanes *op = OP(world, store_lanes, STORE_LANES);
    op->dispatch = TARGET_CALLED;
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
    op->before = (struct store_cursor){INT64_MAX, INT64_MAX};
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
        struct store_cursor next = op->next;
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
                 "WITH u AS (UPDATE @counts SET stripe=stripe%%16384+16384*%d WHERE stripe>16384*9 RETURNING 1)"
                 " SELECT count(*) FROM u",
                 i + 2);
        assert_true(session_ask_in(world->schema, sql) > 0);
    }
    add(world, (struct sample){0}); // this is the present one
    assert_ready(world, 4);
    assert_true(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE stripe>0 AND lane=0") > 1);
    sweep(world, NOW, 100);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE stripe>0 AND lane=0"), 1);
    assert_int_equal(session_ask_in(world->schema, "SELECT amount FROM @counts WHERE stripe=0 AND lane=0"), 3);
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
    assert_true(session_ask_in(world->schema, "WITH u AS (UPDATE @counts SET stripe=stripe%16384+16384*2 RETURNING 1)"
                                              " SELECT count(*) FROM u") > 0);
    sweep(world, NOW, 100);
    assert_int_equal(session_ask_in(world->schema, "SELECT count(*) FROM @counts WHERE stripe>0"), 0);
    assert_true(is_listed(world, TENANT, "a"));
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    assert_false(is_listed(world, TENANT, "a"));
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

int contract_postgres_scans(void)
{
    const struct CMUnitTest tests[] = {
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
        PROMISE(tags_leave_nothing_behind),
        PROMISE(what_left_a_hand_is_forgotten_and_what_stays_is_not),
        PROMISE(a_batch_whose_jobs_have_all_ended_is_forgotten_at_once),
        PROMISE(what_comes_again_is_not_parsed_again),
    };
    return cmocka_run_group_tests_name("store postgres: scans", tests, NULL, NULL);
}
