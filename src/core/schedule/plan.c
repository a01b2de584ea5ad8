// What the others ask of a plan as time goes on. How instants are gone through: plan_walk.c; which of them run: plan_judge.c.
#include "core/schedule/plan.h"

#include "base/clock.h"
#include "core/schedule/plan_walk.h"

void plan_begin(struct plan *plan, int64_t now_ms)
{
    plan->planned_through = now_ms;
    plan->instants = plan->ended_with = 0;
    plan->check_at = now_ms + PLAN_CHECK_MS;
}

void plan_extend(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, int64_t now_ms,
                 struct arena *arena, struct plan_rows *ret_rows)
{
    struct plan_walk walk = {plan, schedule, *rules, now_ms, .wanted = PLAN_AHEAD};
    if (!plan->paused_at) {
        plan_walk(&walk, arena, ret_rows);
        return;
    }
    *ret_rows = (struct plan_rows){0};
    plan->check_at = TIME_NEVER;
}

// When the job before was picked, its plan reached PLAN_AHEAD instants further than that one. So it has now all but the last of
// the instants that follow this one.
bool plan_extend_unread(const struct schedule *schedule, const struct plan_rules *rules, struct plan_row row, int64_t now_ms,
                        struct plan_unread *ret_unread)
{
    int64_t next[PLAN_AHEAD], at_ms = row.nominal_at;
    if (rules->max_runs || rules->overlap != PLAN_OVERLAP_ALLOW || row.nominal_at > now_ms)
        return false;
    for (int i = 0; i < PLAN_AHEAD; i++) {
        struct schedule_instant instant = schedule_next(schedule, at_ms);
        if (instant.excluded || instant.at_ms <= now_ms || instant.at_ms > now_ms + TASK_HORIZON_MS)
            return false;
        next[i] = at_ms = instant.at_ms;
    }
    int64_t last_due_at = schedule_due(schedule, at_ms);
    *ret_unread = (struct plan_unread){
        .from = next[PLAN_AHEAD - 2],
        .check_at = time_min(schedule_due(schedule, next[PLAN_AHEAD - 2]), last_due_at) + PLAN_CHECK_MS,
        .check_before = schedule_due(schedule, next[0]) + PLAN_CHECK_MS,
        .row = {at_ms, last_due_at},
    };
    return true;
}
