// What only the PostgreSQL store promises. Here: which servers, roles, settings and URLs it takes. What many sessions do at once,
// how little is scanned, what becomes of older schemas, and what it makes of faults is in the files test_store_postgres_… of this
// program.
#include "postgres_contract.h"

#include <stdio.h>
#include <stdlib.h>

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

static int contract_postgres_settings(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(commits_that_become_unsafe_are_not_acknowledged),
    };
    return cmocka_run_group_tests_name("store postgres: settings", tests, NULL, NULL);
}

static int contract_postgres_connections(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_role_that_owns_its_schema_needs_nothing_else),
        PROMISE(a_database_that_may_lose_commits_is_refused_unless_told),
        PROMISE(urls_that_are_not_understood_are_refused_with_words),
        PROMISE(who_cannot_connect_is_told_why),
    };
    return cmocka_run_group_tests_name("store postgres: connections", tests, NULL, NULL);
}

int main(void)
{
    int failed = contract_postgres_sessions() + contract_postgres_plans() + contract_postgres_scans() +
                 contract_postgres_upgrade() + contract_postgres_settings() + contract_postgres_faults();
    // Behind a pooler these are the pooler's.
    if (store_port() == cluster_port())
        failed += contract_postgres_connections() + contract_postgres_server_faults();
    return failed;
}
