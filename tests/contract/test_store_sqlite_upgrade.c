// What the SQLite store makes of databases with another schema: older ones are brought up to date, newer ones are refused.
#include "sqlite_contract.h"
#include "store/peers.h"

static void a_newer_schema_is_refused_with_words(void **state)
{
    struct world *world = *state;
    char url[160], why[ERR_WHY_MAX] = "";
    world_url(world, url);
    store_close(world->store);
    execute(world, "UPDATE meta SET value=99 WHERE name='schema'");
    assert_int_not_equal(store_open(&world->store, url, why), ERR_OK);
    assert_null(world->store);
    assert_non_null(strstr(why, "schema version 99"));
    execute(world, "DROP TABLE meta");
    assert_int_not_equal(store_open(&world->store, url, why), ERR_OK);
    assert_non_null(strstr(why, "not one of rota's"));
}

// Take back what a step of the schema added, and those behind it.
#define WITHOUT_STEP_11 "DROP TABLE plans; DROP TRIGGER jobs_removed; ALTER TABLE jobs DROP COLUMN trigger;"
#define WITHOUT_STEP_10                                                                          \
    WITHOUT_STEP_11                                                                              \
    "DROP INDEX lanes_name; ALTER TABLE lanes DROP COLUMN dispatch;"                             \
    "CREATE UNIQUE INDEX lanes_name ON lanes(tenant, queue);"                                    \
    "ALTER TABLE requests RENAME COLUMN kind TO wish; ALTER TABLE requests RENAME TO asks;"      \
    "ALTER TABLE events RENAME COLUMN relayed_at TO told_at; ALTER TABLE events RENAME TO news;" \
    "ALTER TABLE incarnations RENAME COLUMN relays TO tells;"
#define WITHOUT_STEP_9 WITHOUT_STEP_10 "DELETE FROM meta WHERE name='range';"
#define WITHOUT_STEP_8 WITHOUT_STEP_9 "ALTER TABLE lanes DROP COLUMN dropped;"
#define WITHOUT_STEP_7                                                                            \
    WITHOUT_STEP_8                                                                                \
    "DROP TABLE tags; ALTER TABLE tasks DROP COLUMN tags; ALTER TABLE keys DROP COLUMN spent_at;" \
    "ALTER TABLE tasks DROP COLUMN updated_at; ALTER TABLE jobs DROP COLUMN touched_at;"          \
    "ALTER TABLE attempts DROP COLUMN response; ALTER TABLE attempts DROP COLUMN response_truncated;"

// The first version had no owners, requests, lists, bulks and leases, told nothing of itself, and had in each record where it is.
static void an_older_schema_is_brought_up_to_date(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_READY});
    int64_t held = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    store_close(world->store);
    execute(world, WITHOUT_STEP_7
            "ALTER TABLE jobs ADD COLUMN place INTEGER; UPDATE jobs SET place=(SELECT place FROM waiting w WHERE w.id=jobs.id);"
            "UPDATE jobs SET place=-holder WHERE holder>0; DROP TABLE waiting; DROP TABLE hands;"
            "CREATE INDEX jobs_place ON jobs(place, due_at) WHERE place IS NOT NULL;"
            "ALTER TABLE incarnations DROP COLUMN pulls; DROP TABLE owners; DROP TABLE asks; DROP TABLE bulks;"
            "DROP INDEX jobs_listed; DROP INDEX jobs_failed; ALTER TABLE tasks DROP COLUMN version;"
            "ALTER TABLE tasks DROP COLUMN paused; ALTER TABLE tasks DROP COLUMN gone;"
            "DROP INDEX jobs_lease; ALTER TABLE jobs DROP COLUMN lease_until; ALTER TABLE jobs DROP COLUMN result;"
            "ALTER TABLE incarnations DROP COLUMN listens; ALTER TABLE incarnations DROP COLUMN tells;"
            "DROP TABLE series; DROP TABLE news; UPDATE meta SET value=1 WHERE name='schema'");
    world_open(world);
    assert_int_equal(job_now(world, id).state, JOB_READY);
    struct store_owners *owners = OP(world, store_owners, STORE_OWNERS);
    assert_int_equal(call(world, &owners->op), ERR_OK);
    world_reopen(world); // and stays so
    assert_int_equal(job_now(world, id).state, JOB_READY);
    const struct store_find *op = held_by(world, A);
    assert_int_equal(op->job_count, 1);
    assert_int_equal(op->jobs[0].job.id, held);
    struct store_claim *claimed = claim(world, A, NOW, job_now(world, id).lane, 10);
    assert_int_equal(claimed->job_count, 1);
    assert_int_equal(claimed->jobs[0].job.id, id);
}

static void what_an_older_schema_calls_otherwise_is_kept(void **state)
{
    struct world *world = *state;
    add_old_names(world);
    store_close(world->store);
    execute(world, WITHOUT_STEP_10 "UPDATE meta SET value=9 WHERE name='schema'");
    world_open(world);
    assert_old_names_are_kept(world);
}

static void tasks_of_an_older_schema_get_their_tags(void **state)
{
    struct world *world = *state;
    add_old_tasks(world);
    store_close(world->store);
    execute(world, WITHOUT_STEP_7 "UPDATE meta SET value=6 WHERE name='schema'");
    world_open(world);
    assert_old_tasks_are_found(world);
}

// Everything that was there is; what was repeated by hand says so; and a task may recur from now on.
static void jobs_of_an_older_schema_know_what_made_them(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "made"});
    struct job again = job_now(world, id), more = again;
    again.id = ++world->last_id;
    again.parent_id = id;
    again.trigger = TRIGGER_RETRY;
    more.id = ++world->last_id;
    struct job jobs[] = {again, more};
    struct store_new item = {.jobs = jobs, .job_count = array_count(jobs)};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    store_close(world->store);
    execute(world, WITHOUT_STEP_11 "UPDATE meta SET value=10 WHERE name='schema'");
    world_open(world);
    assert_int_equal(job_now(world, id).trigger, TRIGGER_SUBMIT);
    assert_int_equal(job_now(world, more.id).trigger, TRIGGER_SUBMIT);
    assert_int_equal(job_now(world, again.id).trigger, TRIGGER_RETRY);
    assert_int_equal(job_now(world, again.id).parent_id, id);
    assert_int_equal(claim(world, A, NOW, again.lane, 10)->job_count, 3);
    struct plan plan = {.planned_through = NOW, .check_at = NOW};
    struct store_get *get = get_job(world, id);
    struct store_amend *amend = OP(world, store_amend, STORE_AMEND);
    amend->task = get->task;
    amend->task.plan = &plan;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_int_equal(get_job(world, id)->task.plan->planned_through, NOW);
}

int contract_sqlite_upgrade(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_newer_schema_is_refused_with_words),         PROMISE(an_older_schema_is_brought_up_to_date),
        PROMISE(what_an_older_schema_calls_otherwise_is_kept), PROMISE(tasks_of_an_older_schema_get_their_tags),
        PROMISE(jobs_of_an_older_schema_know_what_made_them),
    };
    return cmocka_run_group_tests_name("store sqlite: upgrade", tests, NULL, NULL);
}
