// What the files of the PostgreSQL store's own suite share.
#pragma once
#include "postgres_support.h"
#include "store_support.h"

enum { A = 11, DAY = 86400 * 1000 };

int set_up(void **state); // A has joined
int tear_down(void **state);
#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
void url_over(const struct world *world, int port, char ret_url[160]); // the world's store, through a proxy at that port

// The promises of a file. Each returns how many were broken.
int contract_postgres_sessions(void);
int contract_postgres_plans(void);
int contract_postgres_scans(void);
int contract_postgres_upgrade(void);
int contract_postgres_faults(void);
int contract_postgres_server_faults(void); // those that a pooler would hide
