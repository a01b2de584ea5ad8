// What a suite does to the PostgreSQL cluster that tests/support/postgres.py made for it.
#pragma once
#include <libpq-fe.h>
#include <stdbool.h>

// A session beside the store: as the role that has no privileges, or as the one that has them all.
PGconn *session_new(bool superuser);
void session_do(PGconn *session, const char *sql);                     // it must succeed
long long session_ask(PGconn *session, const char *sql);               // the first value of the first row, as a number
void session_do_as(bool superuser, const char *sql);                   // in a session of its own
long long session_ask_in(const char *schema, const char *sql_with_at); // @ stands for the schema

int cluster_port(void);
int store_port(void);      // where a store connects: that, or the pooler before it
void cluster_kill(void);   // at once, as `pg_ctl stop -m immediate`; it is gone then, and started again
void cluster_freeze(void); // all its processes stand still
void cluster_continue(void);
