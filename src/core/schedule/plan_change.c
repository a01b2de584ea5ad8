// A plan whose task is changed or resumed. What is planned already is kept as far as it can be: a job that keeps its instant is
// not written.
#include "base/clock.h"
#include "core/schedule/plan_judge.h"
#include "core/schedule/plan_walk.h"

// ---- changing

static size_t count_after(const struct plan_row *rows, size_t count, int64_t after_ms)
{
    size_t after = 0;
    while (after < count && rows[count - after - 1].nominal_at > after_ms)
        after++;
    return after;
}

static void take_row(struct plan_rows *rows, size_t at)
{
    memmove(rows->rows + at, rows->rows + at + 1, (--rows->count - at) * sizeof rows->rows[0]);
}

static bool take_instant(struct plan_rows *rows, int64_t nominal_at)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].nominal_at == nominal_at) {
            take_row(rows, i);
            return true;
        }
    }
    return false;
}

// A job that was not due yet must not be late by the new jitter.
static struct plan_row kept(const struct schedule *schedule, struct plan_row row, int64_t now_ms)
{
    if (row.due_at > now_ms)
        row.due_at = time_max(schedule_due(schedule, row.nominal_at), now_ms);
    return row;
}

// Gives the instants in `missing` to the jobs that have lost theirs.
static void give_missing(struct plan_moved *moved, size_t count, struct plan_rows *missing)
{
    for (size_t i = 0; i < count && missing->count; i++) {
        if (!moved[i].keeps) {
            moved[i] = (struct plan_moved){true, missing->rows[0]};
            take_row(missing, 0);
        }
    }
}

// Planning begins again behind `from_ms`, where `ahead` jobs are planned.
static void go_back(struct plan *plan, const struct schedule *schedule, int64_t from_ms, size_t ahead, struct arena *arena)
{
    struct plan_skips skips;
    plan_skips_load(&skips, plan);
    plan_skips_cut(&skips, schedule, from_ms);
    plan_skips_save(&skips, plan, arena);
    ahead += plan_forget_missing(plan, from_ms, arena);
    plan->instants = time_max(plan->instants - (int64_t)ahead, 0);
    plan->planned_through = from_ms;
    plan->ended_with = 0;
}

// The last instant that is over whatever the clock says now: somebody has its job in hand, or had, or it was skipped because its
// time had come. Only excluded instants are skipped ahead of their time.
static int64_t last_passed(const struct plan *plan, const struct plan_row *rows, size_t count)
{
    struct plan_skips skips;
    int64_t last = 0;
    plan_skips_load(&skips, plan);
    for (size_t i = 0; i < skips.count; i++)
        if (skips.skips[i].reason != PLAN_EXCLUDED)
            last = time_max(last, skips.skips[i].to);
    for (size_t i = 0; i < count; i++)
        if (rows[i].stays && !rows[i].cancelled)
            last = time_max(last, rows[i].nominal_at);
    return last;
}

void plan_change(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, const struct plan_row *rows,
                 size_t count, int64_t now_ms, struct arena *arena, struct plan_moved *ret_moved, struct plan_rows *ret_rows)
{
    int64_t passed_ms = time_max(now_ms, last_passed(plan, rows, count)); // a clock that is behind plans nothing again
    int64_t from_ms = time_min(plan->planned_through, passed_ms);
    size_t ahead = count_after(rows, count, from_ms), wanted = ahead > PLAN_AHEAD ? ahead : PLAN_AHEAD;
    struct plan_walk walk = {plan, schedule, *rules, passed_ms, .wanted = wanted < PLAN_ROWS_MAX ? wanted : PLAN_ROWS_MAX - 1};
    go_back(plan, schedule, from_ms, ahead, arena);
    *ret_rows = (struct plan_rows){0};
    if (!plan->paused_at || from_ms == passed_ms) // what a pause has passed is left to the resume
        plan_walk(&walk, arena, ret_rows);
    for (size_t i = 0; i < count; i++) {
        int64_t at = rows[i].nominal_at;
        bool keeps = at > from_ms ? take_instant(ret_rows, at) : rows[i].stays || schedule_has_run(schedule, at);
        ret_moved[i] =
            rows[i].stays ? (struct plan_moved){true, rows[i]} : (struct plan_moved){keeps, kept(schedule, rows[i], now_ms)};
    }
    give_missing(ret_moved, count, ret_rows);
    if (plan->paused_at)
        plan->check_at = TIME_NEVER;
}

bool plan_stands_for_passed(const struct schedule *schedule, int64_t nominal_at, int64_t now_ms)
{
    enum { LONGEST_MS = 24 * 3600 * 1000 }; // no clock is set by more
    int64_t next = schedule_next_run(schedule, now_ms, nominal_at + LONGEST_MS);
    int64_t reach = next == TIME_NEVER ? LONGEST_MS : next - nominal_at;
    return reach > 0 && nominal_at > now_ms && schedule_next_run(schedule, nominal_at - reach, now_ms) != TIME_NEVER;
}

// ---- resuming

// Only a job that runs although it was missed is put off: picking it must not ask again whether it was.
static bool resume_row(const struct plan_judge *judge, struct plan_row *row)
{
    enum plan_reason reason;
    if (row->stays || row->due_at > schedule_due(judge->schedule, row->nominal_at) || !plan_judge_missed(judge, row->nominal_at))
        return true;
    row->due_at = time_max(row->due_at, judge->now_ms);
    return plan_judge_runs(judge, row->nominal_at, &reason);
}

void plan_resume(struct plan *plan, const struct schedule *schedule, const struct plan_rules *rules, enum plan_misfire missed,
                 const struct plan_row *rows, size_t count, int64_t now_ms, struct arena *arena, struct plan_moved *ret_moved,
                 struct plan_rows *ret_rows)
{
    struct plan_walk walk = {plan, schedule, *rules, now_ms, .wanted = PLAN_AHEAD, .resumes = true};
    walk.rules.misfire = missed;
    walk.rules.misfire_window_ms = -1;
    struct plan_judge judge = {schedule, &walk.rules, now_ms, true, plan_last_instant(plan, rules)};
    struct plan_skips skips;
    plan_skips_load(&skips, plan);
    for (size_t i = 0; i < count; i++) {
        int64_t at = rows[i].nominal_at;
        ret_moved[i].row = rows[i];
        ret_moved[i].keeps = resume_row(&judge, &ret_moved[i].row);
        if (!ret_moved[i].keeps)
            plan_skips_add(&skips, schedule, (struct plan_skip){at, at, 1, PLAN_PAUSED});
    }
    plan_skips_save(&skips, plan, arena);
    plan_walk(&walk, arena, ret_rows);
    if (ret_rows->more)
        return;
    plan->paused_at = 0;
    plan->paused_note = plan->paused_by = (struct str){0};
}
