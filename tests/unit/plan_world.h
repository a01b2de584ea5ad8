// A plan and its schedule, for tests: times are seconds behind an hour of 2026, so that rows read as prose.
#pragma once
#include "base/clock.h"
#include "base/mem.h"
#include "base/text/when.h"
#include "core/schedule/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define PLAN_ZERO INT64_C(1767265200000) // 2026-01-01T11:00:00Z

struct plan_world {
    struct arena arena;
    struct schedule schedule;
    struct plan_rules rules;
    struct plan plan;
    struct plan_rows rows;
};

static inline int64_t at(int64_t seconds)
{
    return PLAN_ZERO + seconds * 1000;
}

// Every so many seconds, from PLAN_ZERO on.
static inline void plan_world_begin(struct plan_world *world, int64_t every_s)
{
    *world = (struct plan_world){
        .schedule = {.zone = &zone_utc, .every_ms = every_s * 1000, .anchor_ms = PLAN_ZERO},
        .rules = {.misfire_window_ms = -1, .max_active = 1},
    };
    arena_init(&world->arena);
    plan_begin(&world->plan, PLAN_ZERO);
}

static inline void plan_world_cron(struct plan_world *world, const char *pattern)
{
    char why[ERR_WHY_MAX];
    world->schedule.every_ms = 0;
    assert_int_equal(cron_parse(str_of(pattern), 0, &world->schedule.cron, why), ERR_OK);
}

static inline void plan_world_extend(struct plan_world *world, int64_t now_ms)
{
    plan_extend(&world->plan, &world->schedule, &world->rules, now_ms, &world->arena, &world->rows);
}

// Extends until nothing is left to do. Returns how many rows there were; .rows has the last ones.
static inline size_t plan_world_extend_all(struct plan_world *world, int64_t now_ms)
{
    size_t count = 0;
    do {
        plan_world_extend(world, now_ms);
        count += world->rows.count;
    } while (world->rows.more);
    return count;
}

static inline struct plan_row plan_world_row(const struct plan_world *world, int64_t nominal_at)
{
    return (struct plan_row){nominal_at, schedule_due(&world->schedule, nominal_at)};
}

static inline struct plan_pick plan_world_pick(struct plan_world *world, int64_t job_id, int64_t nominal_at, int64_t now_ms)
{
    return plan_pick(&world->plan, &world->schedule, &world->rules, job_id, plan_world_row(world, nominal_at), now_ms,
                     &world->arena);
}

// The skips as "misfire 60-120 2, overlap 300-300 1", in seconds.
static inline void plan_world_expect_skips(const struct plan_world *world, const char *expected)
{
    struct plan_skip skips[PLAN_SKIPS_MAX];
    char text[4096] = "";
    size_t count = plan_skips_read(world->plan.skips, skips), n = 0;
    for (size_t i = 0; i < count && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %lld-%lld %lld", i ? ", " : "", plan_reason_text(skips[i].reason),
                              (long long)(skips[i].from - PLAN_ZERO) / 1000, (long long)(skips[i].to - PLAN_ZERO) / 1000,
                              (long long)skips[i].count);
    assert_string_equal(text, expected);
}

static inline void plan_world_end(struct plan_world *world)
{
    arena_done(&world->arena);
}
