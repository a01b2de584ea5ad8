// The checks run whenever a document is read, also that of a claimed job. So they cost a one-time task two comparisons.
// What this file does not do: read single fields (core/task/recurrence_types), or say what becomes of an instant (core/schedule).
#include "core/task/recurrence.h"

#include "base/clock.h"
#include "base/data/hash.h"
#include "base/text/when.h"
#include "core/task/task.h"

enum { GAPS_SEEN = 100 };

bool task_recurs(const struct task *task)
{
    return task->recurs && (task->recurs->cron.p || task->recurs->every_ms > 0);
}

uint64_t recurrence_hash(struct str name, int64_t task_id)
{
    return name.n ? hash_bytes(name.p, name.n) : hash_number(task_id);
}

// ---- checks across fields

static enum err check_one_time(const struct task *task, struct problem *why)
{
    const struct recurrence *recurs = task->recurs;
    bool cron = recurs && recurs->cron.p, every = recurs && recurs->every_ms > 0;
    if ((task->at_ms != 0) + (task->in_ms >= 0) + cron + every <= 1)
        return ERR_OK;
    const char *last = every ? "/every" : cron ? "/cron" : "/in";
    return problem_set(why, ERR_INVALID_FIELD, last, "At most one of at, in, cron and every may be given.");
}

static enum err read_pattern(const struct task *task, int64_t task_id, struct cron *ret_cron, struct problem *why)
{
    char words[ERR_WHY_MAX];
    enum err err = cron_parse(task->recurs->cron, recurrence_hash(task->name, task_id), ret_cron, words);
    return err ? problem_set(why, err, "/cron", "%s", words) : ERR_OK;
}

static enum err check_recurring(const struct task *task, struct problem *why)
{
    const struct recurrence *recurs = task->recurs;
    struct cron cron;
    if (task->not_after_ms)
        return problem_set(why, ERR_INVALID_FIELD, "/not_after",
                           "not_after of a recurring task must be a duration after the planned time of each job, such as "
                           "\"10m\"; ends_at says when the task itself ends.");
    if (recurs->starts_at && recurs->ends_at && recurs->starts_at >= recurs->ends_at)
        return problem_set(why, ERR_INVALID_FIELD, "/ends_at", "ends_at must lie after starts_at.");
    return recurs->cron.p ? read_pattern(task, 0, &cron, why) : ERR_OK;
}

enum err recurrence_check(const struct task *task, struct problem *why)
{
    enum err err = check_one_time(task, why);
    return err || !task_recurs(task) ? err : check_recurring(task, why);
}

// ---- the schedule

static void read_excludes(struct json list, struct arena *arena, struct schedule *schedule)
{
    struct json item;
    size_t count = 0;
    for (struct json_iter iter = json_iter(list); json_next_item(&iter, &item);)
        count++;
    struct exclude *excludes = arena_array(arena, struct exclude, count);
    for (struct json_iter iter = json_iter(list); json_next_item(&iter, &item);)
        schedule->exclude_count += exclude_read(json_text(item, arena), &excludes[schedule->exclude_count]);
    schedule->excludes = excludes;
}

enum err task_schedule(const struct task *task, int64_t task_id, int64_t since_ms, const struct zone *zone, struct arena *arena,
                       struct schedule *ret_schedule, struct problem *why)
{
    const struct recurrence *recurs = task->recurs;
    bool anchored = recurs->anchor_ms >= 0;
    *ret_schedule = (struct schedule){.gap = recurs->dst_gap,
                                      .overlap = recurs->dst_overlap,
                                      .zone = zone,
                                      .every_ms = time_max(recurs->every_ms, 0),
                                      .anchor_ms = anchored ? recurs->anchor_ms : since_ms,
                                      .anchor_is_instant = !anchored,
                                      .starts_at = recurs->starts_at,
                                      .ends_at = recurs->ends_at,
                                      .jitter_ms = time_max(recurs->jitter_ms, 0),
                                      .hash = recurrence_hash(task->name, task_id)};
    if (recurs->exclude.type == JSON_ARRAY)
        read_excludes(recurs->exclude, arena, ret_schedule);
    return recurs->cron.p ? read_pattern(task, task_id, &ret_schedule->cron, why) : ERR_OK;
}

// ---- what lies ahead

static enum err refuse_never(const struct recurrence *recurs, const struct schedule *schedule, struct problem *why)
{
    bool begins = schedule_next(schedule, 0).at_ms != TIME_NEVER;
    if (begins)
        return problem_set(why, ERR_CRON_NEVER,
                           recurs->ends_at  ? "/ends_at"
                           : recurs->cron.p ? "/cron"
                                            : "/every",
                           "The task would never run: all times of its schedule have passed.");
    if (recurs->ends_at)
        return problem_set(why, ERR_CRON_NEVER, "/ends_at",
                           "The task would never run: ends_at lies before the first time of its schedule.");
    return problem_set(why, ERR_CRON_NEVER, recurs->starts_at ? "/starts_at" : "/anchor",
                       "The task would never run: a schedule goes up to the year 2199, and this one would begin later.");
}

// The shortest time between two runs. Of a pattern the first runs since 1970 are looked at, in UTC: so the answer does not depend
// on when it is asked for.
static int64_t shortest_gap(const struct schedule *schedule)
{
    int64_t shortest_s = INT64_MAX, last_s = 0;
    if (schedule->every_ms > 0)
        return schedule->every_ms;
    for (int i = 0; i < GAPS_SEEN; i++) {
        int64_t next_s = cron_next(&schedule->cron, &zone_utc, schedule->gap, schedule->overlap, last_s);
        if (next_s == INT64_MAX)
            break;
        shortest_s = i ? time_min(shortest_s, next_s - last_s) : shortest_s;
        last_s = next_s;
    }
    return shortest_s == INT64_MAX ? TIME_NEVER : shortest_s * 1000;
}

// A run that the next one overtakes counts as missed: see core/schedule/plan_judge.
static enum err check_jitter(const struct schedule *schedule, struct problem *why)
{
    char gap[WHEN_TEXT_SIZE];
    int64_t gap_ms = schedule->jitter_ms ? shortest_gap(schedule) : TIME_NEVER;
    if (schedule->jitter_ms <= gap_ms)
        return ERR_OK;
    duration_format(gap, gap_ms);
    return problem_set(
        why, ERR_INVALID_FIELD, "/jitter",
        "jitter must not be longer than the time between two runs, which is %s here: one run would overtake another.", gap);
}

enum err recurrence_check_ahead(const struct task *task, const struct schedule *schedule, int64_t now_ms, struct problem *why)
{
    int64_t first = schedule_next(schedule, now_ms).at_ms;
    if (first == TIME_NEVER)
        return refuse_never(task->recurs, schedule, why);
    if (schedule_next_run(schedule, now_ms, first + TASK_HORIZON_MS) == TIME_NEVER)
        return problem_set(why, ERR_CRON_NEVER, "/exclude", "The task would never run: all its days are excluded.");
    return check_jitter(schedule, why);
}
