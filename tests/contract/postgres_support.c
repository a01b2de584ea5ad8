// See postgres_support.h.
#include "store_support.h"

#include "postgres_support.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

PGconn *session_new(bool superuser)
{
    char url[200];
    snprintf(url, sizeof url, "host=%s port=%s user=%s dbname=rota", getenv("ROTA_TEST_POSTGRES_DIR"),
             getenv("ROTA_TEST_POSTGRES_PORT"), superuser ? "postgres" : "rota");
    PGconn *session = PQconnectdb(url);
    if (PQstatus(session) != CONNECTION_OK)
        fail_msg("%s", PQerrorMessage(session));
    return session;
}

void session_do(PGconn *session, const char *sql)
{
    PGresult *result = PQexec(session, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(session));
    PQclear(result);
}

long long session_ask(PGconn *session, const char *sql)
{
    PGresult *result = PQexec(session, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(session));
    long long value = PQntuples(result) ? strtoll(PQgetvalue(result, 0, 0), NULL, 10) : -1;
    PQclear(result);
    return value;
}

void session_do_as(bool superuser, const char *sql)
{
    PGconn *session = session_new(superuser);
    session_do(session, sql);
    PQfinish(session);
}

long long session_ask_in(const char *schema, const char *sql_with_at)
{
    char sql[512] = "";
    for (const char *at = sql_with_at; *at; at++) {
        size_t n = strlen(sql);
        if (*at == '@')
            snprintf(sql + n, sizeof sql - n, "%s.", schema);
        else
            snprintf(sql + n, sizeof sql - n, "%c", *at);
    }
    PGconn *session = session_new(false);
    long long value = session_ask(session, sql);
    PQfinish(session);
    return value;
}

int cluster_port(void)
{
    const char *port = getenv("ROTA_TEST_POSTGRES_PORT");
    assert_non_null(port); // tests/support/postgres.py sets it
    return port ? (int)strtol(port, NULL, 10) : 0;
}

int store_port(void)
{
    const char *pooler = getenv("ROTA_TEST_POOLER_PORT");
    return pooler ? (int)strtol(pooler, NULL, 10) : cluster_port();
}

static pid_t postmaster(void)
{
    char path[200];
    int pid = 0;
    snprintf(path, sizeof path, "%s/data/postmaster.pid", getenv("ROTA_TEST_POSTGRES_DIR"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    assert_true(pid > 1);
    return pid;
}

void cluster_kill(void)
{
    pid_t killed = postmaster();
    assert_int_equal(kill(killed, SIGQUIT), 0);
    while (kill(killed, 0) == 0)
        poll(NULL, 0, 10);
}

static void signal_all(int number)
{
    pid_t parent = postmaster();
    char path[100];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent, (int)parent);
    kill(parent, number);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fscanf(file, "%d", &child) == 1)
        kill(child, number);
    fclose(file);
}

void cluster_freeze(void)
{
    signal_all(SIGSTOP);
}

void cluster_continue(void)
{
    signal_all(SIGCONT);
}
