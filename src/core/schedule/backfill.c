// Nothing is remembered about an instant but its jobs and the skips of the plan: so a backfill that is judged again after a crash
// finds what it has added by its jobs.
#include "core/schedule/backfill.h"

#include "base/mem.h"
#include "base/text/when.h"

// ---- the document

static const char *const reprocess_words[BACKFILL_REPROCESS_COUNT] = {
    [BACKFILL_NONE] = "none", [BACKFILL_FAILED] = "failed", [BACKFILL_ALL] = "all"};

static enum err take_time(struct json value, struct arena *arena, int64_t *ret_ms, struct problem *why)
{
    if (value.type == JSON_STRING && when_parse(json_text(value, arena), ret_ms))
        return ERR_OK;
    return problem_set(why, ERR_INVALID_FIELD, "", "It is a time as RFC 3339 writes it, like 2026-11-15T20:22:00Z.");
}

static enum err take_from(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why)
{
    return take_time(value, arena, &backfill->from_ms, why);
}

static enum err take_to(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why)
{
    return take_time(value, arena, &backfill->to_ms, why);
}

static enum err take_dry_run(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why)
{
    if (value.type != JSON_TRUE && value.type != JSON_FALSE)
        return problem_set(why, ERR_INVALID_FIELD, "", "dry_run is true or false.");
    backfill->dry_run = value.type == JSON_TRUE;
    return ERR_OK;
}

static enum err take_max_active(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why)
{
    int64_t number;
    if (value.type != JSON_NUMBER || !json_int(value, &number) || number < 1 || number > BACKFILL_ACTIVE_MAX)
        return problem_set(why, ERR_INVALID_FIELD, "", "max_active is a number from 1 to %d.", BACKFILL_ACTIVE_MAX);
    backfill->max_active = (int)number;
    return ERR_OK;
}

static enum err take_reprocess(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why)
{
    struct str text = value.type == JSON_STRING ? json_text(value, arena) : (struct str){0};
    for (int word = 0; word < BACKFILL_REPROCESS_COUNT; word++)
        if (str_is(text, reprocess_words[word])) {
            backfill->reprocess = (enum backfill_reprocess)word;
            return ERR_OK;
        }
    return problem_set(why, ERR_INVALID_FIELD, "", "reprocess is none, failed or all.");
}

static const struct {
    const char *name;
    enum err (*take)(struct backfill *backfill, struct json value, struct arena *arena, struct problem *why);
} fields[] = {
    {"from", take_from},           {"to", take_to}, {"dry_run", take_dry_run}, {"max_active", take_max_active},
    {"reprocess", take_reprocess},
};

static enum err take_field(struct backfill *backfill, struct str name, struct json value, struct arena *arena,
                           struct problem *why)
{
    for (size_t i = 0; i < array_count(fields); i++)
        if (str_is(name, fields[i].name))
            return fields[i].take(backfill, value, arena, why);
    return problem_set(why, ERR_UNKNOWN_FIELD, "",
                       "There is no such field; a backfill has from, to, dry_run, max_active and reprocess.");
}

enum err backfill_parse(struct backfill *ret_backfill, struct json doc, struct arena *arena, struct problem *why)
{
    struct json key, value;
    *ret_backfill = (struct backfill){.from_ms = -1, .to_ms = -1, .max_active = 1};
    if (doc.type != JSON_OBJECT)
        return problem_set(why, ERR_INVALID_FIELD, "", "A backfill is a JSON object: {\"from\": …, \"to\": …}.");
    struct json_iter iter = json_iter(doc);
    while (json_next(&iter, &key, &value)) {
        struct str name = json_text(key, arena);
        if (!take_field(ret_backfill, name, value, arena, why))
            continue;
        problem_point(why, name);
        return why->err;
    }
    if (ret_backfill->from_ms < 0 || ret_backfill->to_ms < 0)
        return problem_set(why, ERR_MISSING_FIELD, ret_backfill->from_ms < 0 ? "/from" : "/to",
                           "A backfill says which instants it is for: from and to, both included.");
    if (ret_backfill->from_ms > ret_backfill->to_ms)
        return problem_set(why, ERR_INVALID_FIELD, "/to", "to lies before from.");
    return ERR_OK;
}

// ---- instants

size_t backfill_list(const struct schedule *schedule, const struct backfill *backfill, struct backfill_instant *ret_instants,
                     size_t max)
{
    size_t count = 0;
    int64_t at = backfill->from_ms - 1;
    while (count < max && (at = schedule_next_run(schedule, at, backfill->to_ms)) != TIME_NEVER) {
        if (ret_instants)
            ret_instants[count] = (struct backfill_instant){.at_ms = at};
        count++;
    }
    return count;
}

static bool is_own(const struct job *job, int64_t begun_ms)
{
    return job->trigger == TRIGGER_BACKFILL && job->scheduled_at >= begun_ms;
}

static unsigned mark_of(const struct job *job)
{
    if (!job_state_final(job->state))
        return BACKFILL_SEEN_OPEN;
    if (job->state == JOB_CANCELLED)
        return job->attempts ? BACKFILL_SEEN_RUN : BACKFILL_SEEN_UNBEGUN;
    return job->state == JOB_SUCCESS ? BACKFILL_SEEN_RUN : BACKFILL_SEEN_FAILED;
}

void backfill_note(struct backfill_instant *instants, size_t count, const struct job *job, int64_t begun_ms)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (instants[middle].at_ms < job->nominal_at)
            from = middle + 1;
        else
            to = middle;
    }
    if (from < count && instants[from].at_ms == job->nominal_at)
        instants[from].marks |= mark_of(job) | (is_own(job, begun_ms) ? BACKFILL_SEEN_ADDED : 0);
}

// What the plan of the task says about all instants.
struct past {
    int64_t created_at, planned_through;
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t skip_count;
};

static bool is_skipped(const struct past *past, int64_t at_ms)
{
    for (size_t i = 0; i < past->skip_count; i++)
        if (past->skips[i].from <= at_ms && at_ms <= past->skips[i].to)
            return true;
    return false;
}

static bool is_wanted(const struct backfill *backfill, const struct past *past, const struct backfill_instant *instant)
{
    unsigned marks = instant->marks;
    if (marks & (BACKFILL_SEEN_OPEN | BACKFILL_SEEN_ADDED))
        return false;
    if (!marks && instant->at_ms > past->created_at && instant->at_ms > past->planned_through)
        return false;
    if (backfill->reprocess == BACKFILL_ALL)
        return true;
    if (marks & BACKFILL_SEEN_RUN)
        return false;
    if (marks & BACKFILL_SEEN_FAILED)
        return backfill->reprocess == BACKFILL_FAILED;
    return marks || instant->at_ms <= past->created_at || is_skipped(past, instant->at_ms);
}

size_t backfill_choose(const struct backfill *backfill, const struct plan *plan, int64_t created_at,
                       struct backfill_instant *instants, size_t count)
{
    size_t kept = 0;
    struct past past = {.created_at = created_at, .planned_through = plan->planned_through};
    past.skip_count = plan_skips_read(plan->skips, past.skips);
    for (size_t i = 0; i < count; i++)
        if (is_wanted(backfill, &past, &instants[i]))
            instants[kept++] = instants[i];
    return kept;
}

size_t backfill_room(const struct backfill *backfill, const struct job *open, size_t count, int64_t begun_ms)
{
    size_t active = 0;
    for (size_t i = 0; i < count; i++)
        active += is_own(&open[i], begun_ms) && !job_state_final(open[i].state) && open[i].nominal_at >= backfill->from_ms &&
                  open[i].nominal_at <= backfill->to_ms;
    return active < (size_t)backfill->max_active ? (size_t)backfill->max_active - active : 0;
}
