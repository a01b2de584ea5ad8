// The skips of a plan while they are worked on. Their text is read once before a step, and written once after it.
// Layer: core, pure. Only the files of core/schedule/plan look at it.
#pragma once
#include "core/schedule/plan.h"

struct plan_skips {
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t count;
};

void plan_skips_load(struct plan_skips *skips, const struct plan *plan);
void plan_skips_save(const struct plan_skips *skips, struct plan *plan, struct arena *arena);

// As plan_skip().
void plan_skips_add(struct plan_skips *skips, const struct schedule *schedule, struct plan_skip skip);

// Forgets what lies after `through_ms`: those instants are planned again.
void plan_skips_cut(struct plan_skips *skips, const struct schedule *schedule, int64_t through_ms);
