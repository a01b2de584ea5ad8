// Instants behind planned_through that have passed are judged one by one; then those ahead follow, until enough jobs lie there. A
// long downtime is walked in several steps, which the flow thread takes between others. Of an `every`, most of what was missed
// and all that is excluded is counted instead; of a pattern, whole days of it are.
#include "core/schedule/plan_walk.h"

#include "base/clock.h"
#include "core/schedule/plan_judge.h"

enum {
    WALK_MAX = 10000,                 // instants, or days of them, of one step,
    BEHIND_MAX = 2000,                // … if they have not brought it to the present: judging so many takes about a millisecond
    LOOK_AGAIN_MS = 24 * 3600 * 1000, // when less is planned than shall be: the horizon has moved by then
};

// ---- what was passed

static void close_skip(struct plan_walk *walk)
{
    if (walk->open.count)
        plan_skips_add(&walk->skips, walk->schedule, walk->open);
    walk->open.count = 0;
}

// Skips instants that follow planned_through immediately.
static void pass_skip(struct plan_walk *walk, struct plan_skip skip)
{
    struct plan_skip *open = &walk->open;
    if (!open->count || open->reason != skip.reason) {
        close_skip(walk);
        *open = skip;
    } else {
        open->to = skip.to;
        open->count += skip.count;
    }
    walk->plan->planned_through = skip.to;
    walk->plan->instants += skip.reason == PLAN_EXCLUDED ? 0 : skip.count;
}

static void pass_row(struct plan_walk *walk, int64_t nominal_at, int64_t due_at)
{
    close_skip(walk);
    walk->rows->rows[walk->rows->count++] = (struct plan_row){nominal_at, due_at};
    walk->plan->planned_through = nominal_at;
    walk->plan->instants++;
}

static int64_t runs_left(const struct plan_walk *walk)
{
    return walk->rules.max_runs ? time_max(walk->rules.max_runs - walk->plan->instants, 0) : TIME_NEVER;
}

// ---- a stretch that is missed as a whole

static enum plan_reason reason_of_missed(const struct plan_walk *walk, enum plan_reason reason)
{
    return walk->resumes ? PLAN_PAUSED : reason;
}

// How many instants of an `every` follow planned_through before this time; if there are excluded days, those of one day.
static int64_t count_before(const struct plan_walk *walk, int64_t before_ms)
{
    const struct schedule *schedule = walk->schedule;
    int64_t first = schedule_next(schedule, walk->plan->planned_through).at_ms;
    if (schedule->ends_at)
        before_ms = time_min(before_ms, schedule->ends_at + 1);
    if (schedule->exclude_count)
        before_ms = time_min(before_ms, schedule_day_end(schedule, first) + 1);
    return first < before_ms ? (before_ms - 1 - first) / schedule->every_ms + 1 : 0;
}

// The last instant that max_runs allows is judged by itself.
static bool jump(struct plan_walk *walk, int64_t count, enum plan_reason reason)
{
    count = time_min(count, runs_left(walk) - 1);
    if (count <= 0)
        return false;
    int64_t first = schedule_next(walk->schedule, walk->plan->planned_through).at_ms;
    int64_t last = first + (count - 1) * walk->schedule->every_ms;
    pass_skip(walk, (struct plan_skip){first, last, count, reason_of_missed(walk, reason)});
    return true;
}

// Of an `every` without excluded days it is known how many instants have passed.
static bool is_even(const struct schedule *schedule)
{
    return schedule->every_ms && !schedule->exclude_count;
}

// Whether the judge would skip all instants of the day, for one reason, which is noted. All of them were missed.
static bool are_skipped(const struct plan_walk *walk, struct plan_skip *day)
{
    const struct plan_rules *rules = &walk->rules;
    int64_t on_time_ms = walk->now_ms - walk->schedule->jitter_ms, window_ms = rules->misfire_window_ms;
    day->reason = PLAN_WINDOW;
    if (window_ms >= 0 && day->to < on_time_ms - time_max(window_ms, PLAN_LATE_MS))
        return true;
    day->reason = PLAN_MISFIRE;
    if (window_ms >= 0 && walk->now_ms - day->from > window_ms)
        return false;
    switch (rules->misfire) {
    case PLAN_MISFIRE_SKIP:
        return true;
    case PLAN_MISFIRE_ONE: // a later one is there to run
        return schedule_next_run(walk->schedule, day->to, on_time_ms - PLAN_LATE_MS - 1) != TIME_NEVER;
    case PLAN_MISFIRE_ALL:
        break;
    }
    return walk->surplus >= day->count;
}

// Skips a day of a pattern that was missed as a whole. False: its first instant must be judged.
static bool jump_day(struct plan_walk *walk, int64_t first)
{
    struct plan_skip day = {.from = first};
    day.count = schedule_whole_day(walk->schedule, first, &day.to);
    if (!day.count || day.to >= walk->now_ms - walk->schedule->jitter_ms - PLAN_LATE_MS || day.count >= runs_left(walk) ||
        !are_skipped(walk, &day))
        return false;
    day.reason = reason_of_missed(walk, day.reason);
    walk->surplus -= day.count;
    pass_skip(walk, day);
    return true;
}

// Skips at once what the judge would skip, whatever the jitter. False: the next instant, which has passed, must be judged.
static bool jump_missed(struct plan_walk *walk, int64_t next)
{
    const struct plan_rules *rules = &walk->rules;
    int64_t on_time_ms = walk->now_ms - walk->schedule->jitter_ms; // what comes before it was due by now
    if (!walk->schedule->every_ms)
        return jump_day(walk, next);
    if (rules->misfire_window_ms >= 0 &&
        jump(walk, count_before(walk, on_time_ms - time_max(rules->misfire_window_ms, PLAN_LATE_MS)), PLAN_WINDOW))
        return true;
    int64_t missed = count_before(walk, on_time_ms - PLAN_LATE_MS);
    switch (rules->misfire) {
    case PLAN_MISFIRE_SKIP:
        return jump(walk, missed, PLAN_MISFIRE);
    case PLAN_MISFIRE_ONE:
        return jump(walk, missed - 1, PLAN_MISFIRE);
    case PLAN_MISFIRE_ALL:
        break;
    }
    return is_even(walk->schedule) && jump(walk, count_before(walk, walk->now_ms + 1) - PLAN_MISSED_MAX, PLAN_MISFIRE);
}

// How many of the instants that have passed are more than may run. Those of a longer stretch than one step are too many anyway.
static int64_t count_surplus(const struct plan_walk *walk)
{
    if (walk->rules.misfire != PLAN_MISFIRE_ALL || is_even(walk->schedule))
        return 0;
    int64_t count = 0, at_ms = walk->plan->planned_through;
    for (int i = 0; i < PLAN_MISSED_MAX + BEHIND_MAX; i++) {
        int64_t last, first = schedule_next_run(walk->schedule, at_ms, walk->now_ms);
        if (first == TIME_NEVER)
            break;
        int64_t day = schedule_whole_day(walk->schedule, first, &last);
        bool is_whole = day && last <= walk->now_ms;
        count += is_whole ? day : 1;
        at_ms = is_whole ? last : first;
    }
    return time_min(count, runs_left(walk)) - PLAN_MISSED_MAX;
}

// ---- one instant

static struct plan_judge judge_of(const struct plan_walk *walk, int64_t nominal_at)
{
    struct plan_judge judge = {walk->schedule, &walk->rules, walk->now_ms, walk->resumes, TIME_NEVER};
    int64_t left = runs_left(walk);
    if (left <= 2)
        judge.last = left == 1 ? nominal_at : schedule_next_run(walk->schedule, nominal_at, walk->now_ms);
    return judge;
}

static void pass_missable(struct plan_walk *walk, int64_t nominal_at)
{
    struct plan_judge judge = judge_of(walk, nominal_at);
    enum plan_reason reason = PLAN_MISFIRE;
    int64_t due_at = schedule_due(walk->schedule, nominal_at);
    bool is_surplus = walk->surplus-- > 0;
    if (!plan_judge_runs(&judge, nominal_at, &reason) || is_surplus)
        pass_skip(walk, (struct plan_skip){nominal_at, nominal_at, 1, reason_of_missed(walk, reason)});
    else if (walk->resumes && plan_judge_missed(&judge, nominal_at))
        pass_row(walk, nominal_at, time_max(due_at, walk->now_ms));
    else
        pass_row(walk, nominal_at, due_at);
}

// Excluded instants ahead are passed only if one that runs follows them within the horizon. Otherwise every look at a schedule
// whose days are all excluded would go through ten years of them.
static bool is_wanted_ahead(struct plan_walk *walk, struct schedule_instant next)
{
    int64_t horizon_ms = walk->now_ms + TASK_HORIZON_MS;
    if (walk->ahead >= walk->wanted || next.at_ms > horizon_ms)
        return false;
    if (next.excluded && next.at_ms > walk->clear_ms) {
        int64_t run = schedule_next_run(walk->schedule, next.at_ms, horizon_ms);
        if (run == TIME_NEVER)
            return false;
        walk->clear_ms = run;
    }
    return true;
}

// The rest of the day is counted, or what has passed of it: whether more is wanted is asked at the first instant ahead.
static void pass_excluded(struct plan_walk *walk, int64_t nominal_at)
{
    const struct schedule *schedule = walk->schedule;
    int64_t through = schedule_day_end(schedule, nominal_at), last;
    if (nominal_at <= walk->now_ms)
        through = time_min(through, walk->now_ms);
    int64_t count = schedule->every_ms ? count_before(walk, through + 1) : schedule_whole_day(schedule, nominal_at, &last);
    if (schedule->every_ms)
        last = nominal_at + (count - 1) * schedule->every_ms;
    struct plan_skip skip = {nominal_at, last, count, PLAN_EXCLUDED};
    if (!count || last > through)
        skip = (struct plan_skip){nominal_at, nominal_at, 1, PLAN_EXCLUDED};
    pass_skip(walk, skip);
}

// Passes the next instant. False: there is none that must be planned now.
static bool pass_next(struct plan_walk *walk)
{
    struct schedule_instant next = schedule_next(walk->schedule, walk->plan->planned_through);
    walk->ended = next.at_ms == TIME_NEVER || !runs_left(walk);
    if (walk->ended)
        return false;
    bool lies_ahead = next.at_ms > walk->now_ms;
    if (lies_ahead && !is_wanted_ahead(walk, next))
        return false;
    if (next.excluded) {
        pass_excluded(walk, next.at_ms);
    } else if (lies_ahead) {
        pass_row(walk, next.at_ms, schedule_due(walk->schedule, next.at_ms));
        walk->ahead++;
    } else if (!jump_missed(walk, next.at_ms)) {
        pass_missable(walk, next.at_ms);
    }
    return true;
}

// ---- the whole

static size_t count_ahead(const struct plan_walk *walk)
{
    size_t count = 0;
    int64_t at_ms = walk->now_ms;
    while (count < walk->wanted && (at_ms = schedule_next_run(walk->schedule, at_ms, walk->plan->planned_through)) != TIME_NEVER)
        count++;
    return count;
}

// The plan is carried on when the first job that lies ahead is picked. Where there is none, or not as many as there shall be, it
// is looked at again because time moves the horizon.
static int64_t next_check(const struct plan_walk *walk)
{
    const struct schedule *schedule = walk->schedule;
    int64_t through = walk->plan->planned_through, due_at = schedule_due(schedule, through);
    if (walk->rows->more)
        return walk->now_ms + PLAN_CHECK_MS;
    int64_t first = schedule_next_run(schedule, walk->now_ms, through);
    int64_t check_at = due_at > walk->now_ms ? time_min(schedule_due(schedule, first), due_at) + PLAN_CHECK_MS : TIME_NEVER;
    return !walk->ended && walk->ahead < walk->wanted ? time_min(check_at, walk->now_ms + LOOK_AGAIN_MS) : check_at;
}

static void settle(struct plan_walk *walk)
{
    struct plan *plan = walk->plan;
    if (walk->ended && schedule_due(walk->schedule, plan->planned_through) <= walk->now_ms) {
        plan->ended_with = plan->planned_through;
        plan->planned_through = plan->check_at = TIME_NEVER;
    } else {
        plan->check_at = next_check(walk);
    }
}

// A queued job is let go when another ends. Whoever ended that one may have died before it did so: then the round that looks for
// plans finds this one, also when its schedule is over.
static void look_after_queue(struct plan *plan, int64_t now_ms)
{
    bool is_soon = plan->check_at > now_ms && plan->check_at <= now_ms + PLAN_CHECK_MS;
    if (plan->queued_count && !is_soon)
        plan->check_at = now_ms + PLAN_CHECK_MS;
    else if (!plan->queued_count && plan->planned_through == TIME_NEVER)
        plan->check_at = TIME_NEVER;
}

static void walk_on(struct plan_walk *walk, struct arena *arena, struct plan_rows *ret_rows)
{
    walk->rows = ret_rows;
    plan_skips_load(&walk->skips, walk->plan);
    walk->surplus = count_surplus(walk);
    walk->ahead = count_ahead(walk);
    for (int passed = 1; !ret_rows->more && pass_next(walk); passed++) {
        int max = walk->plan->planned_through < walk->now_ms ? BEHIND_MAX : WALK_MAX;
        ret_rows->more = ret_rows->count == PLAN_ROWS_MAX || passed >= max;
    }
    close_skip(walk);
    plan_skips_save(&walk->skips, walk->plan, arena);
    settle(walk);
}

void plan_walk(struct plan_walk *walk, struct arena *arena, struct plan_rows *ret_rows)
{
    *ret_rows = (struct plan_rows){0};
    if (walk->plan->planned_through != TIME_NEVER)
        walk_on(walk, arena, ret_rows);
    look_after_queue(walk->plan, walk->now_ms);
}
