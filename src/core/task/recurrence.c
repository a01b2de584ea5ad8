// The checks run whenever a document is read, also that of a claimed job. So they cost a one-time task two comparisons.
// What this file does not do: read single fields (core/task/recurrence_types), or say what becomes of an instant (core/schedule).
#include "core/task/recurrence.h"

#include "base/clock.h"
#include "base/data/hash.h"
#include "base/text/when.h"
#include "core/task/task.h"

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

enum err recurrence_check_ahead(const struct task *task, const struct schedule *schedule, int64_t now_ms, struct problem *why)
{
    int64_t first = schedule_next(schedule, now_ms).at_ms;
    const char *field = task->recurs->ends_at ? "/ends_at" : task->recurs->cron.p ? "/cron" : "/every";
    if (first == TIME_NEVER)
        return problem_set(why, ERR_CRON_NEVER, field, "The task would never run: all times of its schedule have passed.");
    if (schedule_next_run(schedule, now_ms, first + TASK_HORIZON_MS) == TIME_NEVER)
        return problem_set(why, ERR_CRON_NEVER, "/exclude", "The task would never run: all its days are excluded.");
    return ERR_OK;
}
