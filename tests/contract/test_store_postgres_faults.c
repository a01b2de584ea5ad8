// A PostgreSQL database that fails, goes, hangs or loses a connection is met as it should be.
#include "../support/proxy.h"
#include "postgres_contract.h"

#include <stdio.h>

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

int contract_postgres_faults(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_full_disk_is_said_and_forgotten_when_there_is_room),
        PROMISE(a_deadlock_is_tried_again),
        PROMISE(a_statement_ends_when_nobody_waits_for_it_any_more),
        PROMISE(a_newer_schema_that_comes_meanwhile_is_noticed_with_the_next_connection),
        PROMISE(what_cannot_be_stored_fails_alone),
        PROMISE(a_connection_cut_after_commit_leaves_a_task_that_its_key_finds),
        PROMISE(a_database_that_was_killed_serves_again_when_it_is_back),
        PROMISE(a_database_that_hangs_is_unavailable_and_does_not_keep_the_store_from_closing),
    };
    return cmocka_run_group_tests_name("store postgres: faults", tests, NULL, NULL);
}

int contract_postgres_server_faults(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(what_a_server_says_is_understood),
        PROMISE(a_connection_that_the_server_ends_is_made_anew),
        PROMISE(a_database_that_only_reads_is_left_and_taken_again_when_it_writes),
    };
    return cmocka_run_group_tests_name("store postgres: faults of the server", tests, NULL, NULL);
}
