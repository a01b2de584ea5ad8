// Whether an instant was missed, and what becomes of it then. Planning and picking ask the same judge.
// Layer: core, pure. Only the files of core/schedule/plan look at it.
#pragma once
#include "core/schedule/plan.h"

struct plan_judge {
    const struct schedule *schedule;
    const struct plan_rules *rules;
    int64_t now_ms;
    bool resumes; // after a pause an instant was missed when its time has come
    int64_t last; // the last instant that max_runs allows; TIME_NEVER: it is none of those that are judged
};

// The last instant that max_runs allows, once it is planned; else TIME_NEVER. None that is due follows it, although the schedule
// goes on.
int64_t plan_last_instant(const struct plan *plan, const struct plan_rules *rules);

// It is later than PLAN_LATE_MS after its time, or the time of the next one has come.
bool plan_judge_missed(const struct plan_judge *judge, int64_t nominal_at);

// Does an instant that is picked now run? False: it was missed, and is skipped for *ret_reason.
bool plan_judge_runs(const struct plan_judge *judge, int64_t nominal_at, enum plan_reason *ret_reason);
