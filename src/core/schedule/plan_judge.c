// The judge knows nothing of what was decided before: an instant is judged by the schedule and the clock alone. So it does not
// matter in which order jobs are picked, nor whether a decision was lost.
#include "core/schedule/plan_judge.h"

#include "base/clock.h"

int64_t plan_last_instant(const struct plan *plan, const struct plan_rules *rules)
{
    if (!rules->max_runs || plan->instants < rules->max_runs)
        return TIME_NEVER;
    return plan->planned_through == TIME_NEVER ? plan->ended_with : plan->planned_through;
}

// The next instant that gets a job, if it has passed. One that lies ahead is not due, whatever its jitter.
static int64_t next_passed(const struct plan_judge *judge, int64_t nominal_at)
{
    return nominal_at >= judge->last ? TIME_NEVER : schedule_next_run(judge->schedule, nominal_at, judge->now_ms);
}

bool plan_judge_missed(const struct plan_judge *judge, int64_t nominal_at)
{
    int64_t late_ms = judge->now_ms - schedule_due(judge->schedule, nominal_at);
    return late_ms > PLAN_LATE_MS || (judge->resumes && late_ms >= 0) ||
           schedule_due(judge->schedule, next_passed(judge, nominal_at)) <= judge->now_ms;
}

// Of several missed instants the latest is the one that another missed one does not follow.
static bool is_latest(const struct plan_judge *judge, int64_t nominal_at)
{
    int64_t next = next_passed(judge, nominal_at);
    return next == TIME_NEVER || !plan_judge_missed(judge, next);
}

bool plan_judge_runs(const struct plan_judge *judge, int64_t nominal_at, enum plan_reason *ret_reason)
{
    const struct plan_rules *rules = judge->rules;
    if (!plan_judge_missed(judge, nominal_at))
        return true;
    int64_t late_ms = judge->now_ms - schedule_due(judge->schedule, nominal_at);
    if (rules->misfire_window_ms >= 0 && late_ms > rules->misfire_window_ms) {
        *ret_reason = PLAN_WINDOW;
        return false;
    }
    *ret_reason = PLAN_MISFIRE;
    return rules->misfire == PLAN_MISFIRE_ALL || (rules->misfire == PLAN_MISFIRE_ONE && is_latest(judge, nominal_at));
}
