// A job whose time has come: does it run? First it is asked whether its instant was missed, then whether there is room beside the
// jobs of its task that are active.
#include "base/clock.h"
#include "core/schedule/plan_judge.h"
#include "core/schedule/plan_skips.h"

// With overlap: cancel a job that is cancelled stays active until it has ended, so there may be more than max_active. They are
// bounded all the same.
enum { ACTIVE_BOUND = 2 * PLAN_ACTIVE_MAX, NOWHERE = -1 };

static const struct plan_pick runs = {.verdict = PLAN_RUNS};
static const struct plan_pick queued = {.verdict = PLAN_QUEUED};

// ---- lists of jobs

static int place_of(const int64_t *jobs, size_t count, int64_t job_id)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i] == job_id)
            return (int)i;
    }
    return NOWHERE;
}

static void append(const int64_t **jobs, size_t *count, int64_t job_id, struct arena *arena)
{
    int64_t *longer = arena_array(arena, int64_t, *count + 1);
    if (*count)
        memcpy(longer, *jobs, *count * sizeof longer[0]);
    longer[*count] = job_id;
    *jobs = longer;
    *count += 1;
}

static void remove_at(const int64_t **jobs, size_t *count, size_t place, struct arena *arena)
{
    int64_t *shorter = arena_array(arena, int64_t, *count);
    memcpy(shorter, *jobs, place * sizeof shorter[0]);
    memcpy(shorter + place, *jobs + place + 1, (*count - place - 1) * sizeof shorter[0]);
    *jobs = shorter;
    *count -= 1;
}

// ---- whether it was missed

static bool was_put_off(const struct schedule *schedule, struct plan_row row)
{
    return row.due_at > schedule_due(schedule, row.nominal_at);
}

static struct plan_pick skipped(struct plan *plan, const struct schedule *schedule, int64_t nominal_at, enum plan_reason reason,
                                struct arena *arena)
{
    plan_skip(plan, schedule, (struct plan_skip){nominal_at, nominal_at, 1, reason}, arena);
    return (struct plan_pick){.verdict = PLAN_SKIPPED, .reason = reason};
}

// Its skip says why, if there is one: whoever skipped it did not live to cancel the job, or has not heard that the skip was
// written. It is not judged again, because by now there may be room for it.
static bool was_skipped(const struct plan *plan, int64_t nominal_at, enum plan_reason *ret_reason)
{
    struct plan_skips skips;
    plan_skips_load(&skips, plan);
    for (size_t i = 0; i < skips.count; i++) {
        if (skips.skips[i].from <= nominal_at && nominal_at <= skips.skips[i].to) {
            *ret_reason = skips.skips[i].reason;
            return true;
        }
    }
    return false;
}

// ---- whether there is room

static bool has_room(const struct plan *plan, const struct plan_rules *rules)
{
    return rules->overlap == PLAN_OVERLAP_ALLOW || plan->active_count < (size_t)rules->max_active;
}

int64_t plan_next_queued(const struct plan *plan, const struct plan_rules *rules)
{
    return plan->queued_count && has_room(plan, rules) ? plan->queued[0] : 0;
}

// Each job beyond max_active was begun in place of the one so many places before it. That one is cancelled again, if it is still
// there: whoever decided so may not have lived to do it.
static struct plan_pick active_at(const struct plan *plan, const struct plan_rules *rules, size_t place)
{
    bool instead = rules->overlap == PLAN_OVERLAP_CANCEL && place >= (size_t)rules->max_active;
    return (struct plan_pick){.verdict = PLAN_RUNS, .cancels = instead ? plan->active[place - (size_t)rules->max_active] : 0};
}

static struct plan_pick activate(struct plan *plan, const struct plan_rules *rules, int64_t job_id, struct arena *arena)
{
    if (rules->overlap == PLAN_OVERLAP_ALLOW)
        return runs;
    append(&plan->active, &plan->active_count, job_id, arena);
    return active_at(plan, rules, plan->active_count - 1);
}

static struct plan_pick leave_queue(struct plan *plan, const struct plan_rules *rules, size_t place, struct arena *arena)
{
    int64_t job_id = plan->queued[place];
    if (rules->overlap != PLAN_OVERLAP_ALLOW && plan_next_queued(plan, rules) != job_id)
        return queued;
    remove_at(&plan->queued, &plan->queued_count, place, arena);
    return activate(plan, rules, job_id, arena);
}

// What the rule says of one job too many. With overlap: queue a job is also one too many while others wait, whom it would
// overtake.
static enum plan_verdict verdict_beside(const struct plan *plan, const struct plan_rules *rules)
{
    switch (rules->overlap) {
    case PLAN_OVERLAP_ALLOW:
        return PLAN_RUNS;
    case PLAN_OVERLAP_SKIP:
        return has_room(plan, rules) ? PLAN_RUNS : PLAN_SKIPPED;
    case PLAN_OVERLAP_QUEUE:
        if (has_room(plan, rules) && !plan->queued_count)
            return PLAN_RUNS;
        return plan->queued_count < PLAN_QUEUED_MAX ? PLAN_QUEUED : PLAN_SKIPPED;
    case PLAN_OVERLAP_CANCEL:
        return plan->active_count < ACTIVE_BOUND ? PLAN_RUNS : PLAN_SKIPPED;
    }
    return PLAN_RUNS;
}

// ---- both

struct plan_pick plan_pick(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, int64_t job_id,
                           struct plan_row row, int64_t now_ms, struct arena *arena)
{
    int active = place_of(plan->active, plan->active_count, job_id);
    if (active != NOWHERE)
        return active_at(plan, rules, (size_t)active);
    int waits = place_of(plan->queued, plan->queued_count, job_id);
    if (waits != NOWHERE)
        return leave_queue(plan, rules, (size_t)waits, arena);
    enum plan_reason reason = PLAN_MISFIRE;
    if (was_skipped(plan, row.nominal_at, &reason))
        return (struct plan_pick){.verdict = PLAN_SKIPPED, .reason = reason};
    struct plan_judge judge = {schedule, rules, now_ms, false, plan_last_instant(plan, rules)};
    if (!was_put_off(schedule, row) && !plan_judge_runs(&judge, row.nominal_at, &reason))
        return skipped(plan, schedule, row.nominal_at, reason, arena);
    switch (verdict_beside(plan, rules)) {
    case PLAN_RUNS:
        return activate(plan, rules, job_id, arena);
    case PLAN_SKIPPED:
        return skipped(plan, schedule, row.nominal_at, PLAN_OVERLAP, arena);
    case PLAN_QUEUED:
        break;
    }
    append(&plan->queued, &plan->queued_count, job_id, arena);
    return queued;
}

struct plan_pick plan_pick_again(const struct plan *plan, struct plan_row row)
{
    enum plan_reason reason;
    return was_skipped(plan, row.nominal_at, &reason) ? (struct plan_pick){.verdict = PLAN_SKIPPED, .reason = reason} : runs;
}

bool plan_pick_unread(const struct schedule *schedule, const struct plan_rules *rules, struct plan_row row, bool is_new,
                      int64_t now_ms)
{
    struct plan_judge judge = {schedule, rules, now_ms, false, TIME_NEVER};
    enum plan_reason reason;
    if (rules->overlap != PLAN_OVERLAP_ALLOW)
        return false;
    if (was_put_off(schedule, row) || !plan_judge_missed(&judge, row.nominal_at))
        return true;
    return is_new && !rules->max_runs && plan_judge_runs(&judge, row.nominal_at, &reason);
}
