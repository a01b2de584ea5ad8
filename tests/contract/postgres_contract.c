// A PostgreSQL store to try, and ways to it.
#include "postgres_contract.h"

#include <stdio.h>

int set_up(void **state)
{
    struct world *world = world_new("postgres");
    join(world, A);
    *state = world;
    return 0;
}

int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

void url_over(const struct world *world, int port, char ret_url[160])
{
    snprintf(ret_url, 160, "postgres://rota@127.0.0.1:%d/rota?sslmode=disable&schema=%s", port, world->schema);
}
