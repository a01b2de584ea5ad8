// The schema of the PostgreSQL store is brought up to date whatever happens on the way; a newer one is refused.
#include "../support/proxy.h"
#include "postgres_contract.h"

#include <stdio.h>

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
        assert_int_equal(session_ask_in(world->schema, "SELECT value FROM @meta WHERE name='schema'"), 18);
        join(world, A);
        add(world, (struct sample){0});
    }
    assert_true(cuts > 4);
    proxy_stop(proxy);
}

// Take back what a step of the schema added, and those behind it.
#define WITHOUT_STEP_18                                                                                                     \
    " DROP TABLE plans; DROP TRIGGER jobs_removed ON jobs; DROP FUNCTION note_missing_job(); ALTER TABLE jobs DROP COLUMN " \
    "trigger; ALTER TABLE jobs_done DROP COLUMN trigger; ALTER TABLE counts RENAME amount TO job_count;"                    \
    " ALTER TABLE counts RENAME stripe TO slot;"
#define WITHOUT_STEP_17                                                                                                  \
    WITHOUT_STEP_18                                                                                                      \
    " ALTER TABLE counts RENAME job_count TO jobs; ALTER TABLE lanes DROP COLUMN dispatch, ADD UNIQUE(tenant, queue);"   \
    " ALTER TABLE requests RENAME kind TO wish; ALTER TABLE requests RENAME TO asks; ALTER TABLE events RENAME TO news;" \
    " ALTER TABLE news RENAME relayed_at TO told_at; ALTER TABLE incarnations RENAME relays TO tells;"
#define WITHOUT_STEP_16 WITHOUT_STEP_17 " DELETE FROM meta WHERE name='range';"
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
    char sql[2000];
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

static void what_an_older_schema_calls_otherwise_is_kept(void **state)
{
    struct world *world = *state;
    char sql[2000];
    add_old_names(world);
    store_close(world->store);
    snprintf(sql, sizeof sql, "SET search_path=%s;" WITHOUT_STEP_17 " UPDATE meta SET value=16 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    world_open(world);
    assert_old_names_are_kept(world);
}

// Counts a job as a node of the version before does in each statement that writes one, and says why it could not; "" when it did.
static void count_as_before(const struct world *world, char ret_why[ERR_WHY_MAX])
{
    char sql[300];
    snprintf(sql, sizeof sql,
             "INSERT INTO %s.counts AS counted(slot,lane,state,jobs) VALUES(1,1,2,1)"
             " ON CONFLICT(lane,state,slot) DO UPDATE SET jobs=counted.jobs+excluded.jobs",
             world->schema);
    PGconn *session = session_new(false);
    PGresult *result = PQexec(session, sql);
    snprintf(ret_why, ERR_WHY_MAX, "%s", PQresultErrorMessage(result));
    PQclear(result);
    PQfinish(session);
}

// A node that knows nothing of kinds of dispatch would claim what is handed out.
static void who_knows_no_kinds_of_dispatch_writes_no_job_any_more(void **state)
{
    struct world *world = *state;
    char sql[2000], why[ERR_WHY_MAX];
    store_close(world->store);
    snprintf(sql, sizeof sql, "SET search_path=%s;" WITHOUT_STEP_17 " UPDATE meta SET value=16 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    count_as_before(world, why);
    assert_string_equal(why, "");
    world_open(world);
    count_as_before(world, why);
    assert_non_null(strstr(why, "of relation \"counts\" does not exist"));
}

// A job from before was made by a submit, whether it has ended or not; and its task can begin to recur.
static void jobs_of_an_older_schema_were_submitted(void **state)
{
    struct world *world = *state;
    char sql[2000];
    int64_t waits = add(world, (struct sample){0}), ended = add(world, (struct sample){.state = JOB_SUCCESS});
    store_close(world->store);
    snprintf(sql, sizeof sql, "SET search_path=%s;" WITHOUT_STEP_18 " UPDATE meta SET value=17 WHERE name='schema'",
             world->schema);
    session_do_as(false, sql);
    world_open(world);
    assert_int_equal(job_now(world, waits).trigger, TRIGGER_SUBMIT);
    assert_int_equal(job_now(world, ended).trigger, TRIGGER_SUBMIT);
    struct store_get *get = get_job(world, waits);
    assert_null(get->task.plan);
    struct plan plan = {.planned_through = NOW, .check_at = NOW};
    struct store_amend *amend = OP(world, store_amend, STORE_AMEND);
    amend->task = get->task;
    amend->task.plan = &plan;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_int_equal(get_job(world, waits)->task.plan->planned_through, NOW);
    assert_null(get_job(world, ended)->task.plan);
}

static void tasks_of_an_older_schema_get_their_tags(void **state)
{
    struct world *world = *state;
    char sql[2000];
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
    char *doc = world_mem(world, LENGTH + 1), sql[2000];
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
    char sql[2000];
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

int contract_postgres_upgrade(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(migrations_go_on_after_a_cut_at_any_point),
        PROMISE(what_is_in_hand_is_still_found_after_the_migration_that_moves_it),
        PROMISE(what_an_older_schema_calls_otherwise_is_kept),
        PROMISE(who_knows_no_kinds_of_dispatch_writes_no_job_any_more),
        PROMISE(jobs_of_an_older_schema_were_submitted),
        PROMISE(tasks_of_an_older_schema_get_their_tags),
        PROMISE(the_migration_that_gives_tags_reads_each_document_once),
        PROMISE(what_was_written_by_who_knew_no_tags_gets_them_when_nobody_can_any_more),
        PROMISE(a_newer_schema_is_refused_with_words),
    };
    return cmocka_run_group_tests_name("store postgres: upgrade", tests, NULL, NULL);
}
