// An arena of its own for each test: for cmocka_unit_test_setup_teardown(), or for a whole group.
#pragma once
#include "base/arena.h"

static struct arena arena;

static inline int arena_set_up(void **state)
{
    arena_init(&arena);
    return 0;
}

static inline int arena_tear_down(void **state)
{
    arena_done(&arena);
    return 0;
}
