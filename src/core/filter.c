// A filter is set name by name from a table, so that a list's query and a bulk's document mean the same.
#include "core/filter.h"

#include "base/mem.h"
#include "base/text/when.h"
#include "core/fnv.h"

#include <stdio.h>

static enum err refuse(struct problem *why, struct str name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static enum err refuse(struct problem *why, struct str name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    problem_set_args(why, ERR_INVALID_FIELD, NULL, format, args);
    va_end(args);
    snprintf(why->field, sizeof why->field, STR_FMT, (int)(name.n < 80 ? name.n : 80), name.p);
    return why->err;
}

struct filter filter_any(enum filter_of of)
{
    return (struct filter){.of = of};
}

// ---- conditions

#define BIT(name) (1u << (name))

// A state, or how people call some of them together. Answers only say the states themselves.
static const struct {
    const char *word;
    unsigned jobs, tasks; // 0: not said of them
} states[] = {
    {"active", 0, BIT(TASK_ACTIVE)},
    {"paused", 0, BIT(TASK_PAUSED)},
    {"done", 0, BIT(TASK_DONE)},
    {"blocked", BIT(JOB_BLOCKED), 0},
    {"delayed", BIT(JOB_DELAYED), 0},
    {"ready", BIT(JOB_READY), 0},
    {"watching", BIT(JOB_WATCHING), 0},
    {"reserved", BIT(JOB_RESERVED), 0},
    {"success", BIT(JOB_SUCCESS), BIT(TASK_SUCCEEDED)},
    {"aborted", BIT(JOB_ABORTED), 0},
    {"buried", BIT(JOB_BURIED), 0},
    {"cancelled", BIT(JOB_CANCELLED), BIT(TASK_CANCELLED)},
    {"waiting", BIT(JOB_BLOCKED) | BIT(JOB_DELAYED) | BIT(JOB_READY) | BIT(JOB_WATCHING), BIT(TASK_WAITING)},
    {"running", BIT(JOB_RESERVED), BIT(TASK_RUNNING)},
    {"failed", BIT(JOB_ABORTED) | BIT(JOB_BURIED), BIT(TASK_FAILED)},
};

static enum err set_state(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    bool tasks = filter->of == FILTER_TASKS;
    for (size_t i = 0; i < array_count(states); i++) {
        unsigned meant = tasks ? states[i].tasks : states[i].jobs;
        if (!meant || !str_is(value, states[i].word))
            continue;
        filter->states = meant;
        return ERR_OK;
    }
    return refuse(why, name,
                  tasks
                      ? "The state of a task is active, paused, done or cancelled; or one asks for waiting, running, success or "
                        "failed."
                      : "The state of a job is blocked, delayed, ready, watching, reserved, success, aborted, buried or "
                        "cancelled; or one asks for waiting, running or failed.");
}

static enum err set_queue(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    filter->queue = value;
    return task_name_fits(value) ? ERR_OK : refuse(why, name, "The name of a queue is " TASK_NAME_WORDS ".");
}

static enum err set_due_before(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    if (when_parse(value, &filter->due_before) && filter->due_before > 0)
        return ERR_OK;
    return refuse(why, name, "This is a time as \"2030-01-31T08:00:00Z\" (in a query, '+' is written %%2B).");
}

static enum err set_sla_met(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    filter->sla = str_is(value, "true") ? JOB_SLA_MET : JOB_SLA_MISSED;
    return str_is(value, "true") || str_is(value, "false") ? ERR_OK : refuse(why, name, "sla_met is true or false.");
}

static enum err set_recurring(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    if (filter->of == FILTER_JOBS)
        return refuse(why, name, "recurring is asked of tasks, not of jobs.");
    filter->recurring = str_is(value, "true") ? FILTER_RECURRING : FILTER_ONE_TIME;
    return str_is(value, "true") || str_is(value, "false") ? ERR_OK : refuse(why, name, "recurring is true or false.");
}

static enum err set_late_stage(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    for (int stage = STAGE_NONE + 1; stage < STAGE_COUNT; stage++)
        if (str_is(value, job_stage_text(stage)))
            filter->late_stage = stage;
    return filter->late_stage ? ERR_OK : refuse(why, name, "late_stage is puller, queue or target.");
}

static enum err set_text(struct str *ret_text, struct str name, struct str value, struct problem *why)
{
    *ret_text = value;
    return value.n && value.n <= TASK_NAME_MAX ? ERR_OK
                                               : refuse(why, name, STR_FMT " has 1 to %d bytes.", STR_ARG(name), TASK_NAME_MAX);
}

static enum err set_name(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    return set_text(&filter->name, name, value, why);
}

static enum err set_key(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    filter->key = value;
    return value.n && value.n <= TASK_KEY_MAX ? ERR_OK : refuse(why, name, "A key has 1 to %d bytes.", TASK_KEY_MAX);
}

static enum err set_tracing_id(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    return set_text(&filter->tracing_id, name, value, why);
}

static enum err set_created_by(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    return set_text(&filter->created_by, name, value, why);
}

static const struct {
    const char *name;
    enum err (*set)(struct filter *filter, struct str name, struct str value, struct problem *why);
    bool flag;
} setters[] = {{"state", set_state},
               {"queue", set_queue},
               {"name", set_name},
               {"key", set_key},
               {"due_before", set_due_before},
               {"sla_met", set_sla_met, true},
               {"late_stage", set_late_stage},
               {"tracing_id", set_tracing_id},
               {"created_by", set_created_by},
               {"recurring", set_recurring, true}};

bool filter_is_flag(struct str name)
{
    for (size_t i = 0; i < array_count(setters); i++)
        if (str_is(name, setters[i].name))
            return setters[i].flag;
    return false;
}

static enum err set_label(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    struct str key = {name.p + 6, name.n - 6};
    for (size_t i = 0; i < filter->label_count; i++)
        if (str_eq(filter->labels[i].key, key))
            return refuse(why, name, "The label is given twice.");
    if (filter->label_count == FILTER_LABELS_MAX)
        return refuse(why, name, "A task has at most %d labels.", FILTER_LABELS_MAX);
    filter->labels[filter->label_count].key = key;
    filter->labels[filter->label_count++].value = value;
    return ERR_OK;
}

enum err filter_set(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    for (size_t i = 0; i < array_count(setters); i++)
        if (str_is(name, setters[i].name))
            return setters[i].set(filter, name, value, why);
    if (str_starts(name, STR("label.")) && name.n > 6)
        return set_label(filter, name, value, why);
    refuse(why, name,
           "There is no such filter; there are state, queue, name, key, label.KEY, due_before, sla_met, late_stage, tracing_id, "
           "created_by and, of tasks, recurring.");
    return why->err = ERR_UNKNOWN_FIELD;
}

unsigned filter_stored_states(const struct filter *filter)
{
    if (filter->of == FILTER_TASKS)
        return 0;
    return filter->states & BIT(JOB_READY) ? filter->states | BIT(JOB_DELAYED) : filter->states;
}

// ---- rows

bool filter_needs_task(const struct filter *filter)
{
    return filter->label_count || filter->tracing_id.p || filter->created_by.p;
}

bool filter_takes_all(const struct filter *filter)
{
    return !filter->states && !filter->queue.p && !filter->name.p && !filter->key.p && !filter->due_before && !filter->sla &&
           !filter->late_stage && !filter->recurring && !filter_needs_task(filter);
}

static bool labels_match(const struct filter *filter, const struct task *task, struct arena *arena)
{
    for (size_t i = 0; i < filter->label_count; i++) {
        struct json value =
            task->labels.type == JSON_OBJECT ? json_member(task->labels, filter->labels[i].key) : (struct json){0};
        if (value.type != JSON_STRING || !str_eq(json_text(value, arena), filter->labels[i].value))
            return false;
    }
    return true;
}

static bool task_matches(const struct filter *filter, const struct task *task, struct arena *arena)
{
    return (!filter->tracing_id.p || str_eq(filter->tracing_id, task->tracing_id)) &&
           (!filter->created_by.p || str_eq(filter->created_by, task->created_by)) && labels_match(filter, task, arena);
}

static bool job_matches(const struct filter *filter, const struct filter_row *row)
{
    return (!filter->due_before || row->job->scheduled_at < filter->due_before) && (!filter->sla || row->sla == filter->sla) &&
           (!filter->late_stage || row->job->late_stage == filter->late_stage);
}

bool filter_takes(const struct filter *filter, const struct filter_row *row, int64_t now_ms, struct arena *arena)
{
    unsigned is = filter->of == FILTER_TASKS ? row->words : BIT(job_state_at(row->job, now_ms));
    if (filter->states && !(filter->states & is))
        return false;
    if (filter->recurring && (filter->recurring == FILTER_RECURRING) != row->recurring)
        return false;
    bool of_job = filter->due_before || filter->sla || filter->late_stage;
    if (of_job && (!row->job || !job_matches(filter, row)))
        return false;
    return !filter_needs_task(filter) || task_matches(filter, row->task, arena);
}

// ---- digests

// The length keeps "ab" and "c" apart from "a" and "bc". The digest shows an honest mistake, and no more is promised.
static uint64_t mix(uint64_t hash, struct str text)
{
    return fnv_add(fnv_add_number(hash, text.n), text);
}

uint32_t filter_digest(const struct filter *filter)
{
    int64_t numbers[] = {filter->of, filter->states, filter->due_before, filter->sla, filter->late_stage, filter->recurring};
    uint64_t hash = mix(FNV_START, (struct str){(const char *)numbers, sizeof numbers});
    hash = mix(mix(mix(mix(mix(hash, filter->queue), filter->name), filter->key), filter->tracing_id), filter->created_by);
    for (size_t i = 0; i < filter->label_count; i++)
        hash = mix(mix(hash, filter->labels[i].key), filter->labels[i].value);
    return (uint32_t)(hash >> 32);
}

// ---- cursors

struct cursor filter_newest(const struct filter *filter, int64_t now_ms)
{
    enum { NEAR_MS = 60000 };
    if (filter->of == FILTER_TASKS)
        return (struct cursor){INT64_MAX, INT64_MAX};
    bool may_be_planned = !filter->states || filter->states & (BIT(JOB_BLOCKED) | BIT(JOB_DELAYED) | BIT(JOB_CANCELLED));
    int64_t at = may_be_planned ? INT64_MAX : now_ms + NEAR_MS;
    bool earlier = filter->due_before && filter->due_before <= at;
    return (struct cursor){earlier ? filter->due_before : at, earlier ? 0 : INT64_MAX};
}

static uint32_t seal(struct cursor cursor, uint32_t digest)
{
    return (uint32_t)(mix(mix(digest, (struct str){(const char *)&cursor.at, sizeof cursor.at}),
                          (struct str){(const char *)&cursor.id, sizeof cursor.id}) >>
                      32);
}

void cursor_format(char ret_text[CURSOR_TEXT_SIZE], struct cursor cursor, uint32_t digest)
{
    snprintf(ret_text, CURSOR_TEXT_SIZE, "%016llx%016llx%08x", (unsigned long long)cursor.at, (unsigned long long)cursor.id,
             (unsigned)seal(cursor, digest));
}

static bool read_hex(const char *text, int digits, uint64_t *ret_value)
{
    *ret_value = 0;
    for (int i = 0; i < digits; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            return false;
        *ret_value = *ret_value << 4 | (uint64_t)digit;
    }
    return true;
}

bool cursor_parse(struct str text, uint32_t digest, struct cursor *ret_cursor)
{
    uint64_t at, id, sum;
    if (text.n != CURSOR_TEXT_SIZE - 1 || !read_hex(text.p, 16, &at) || !read_hex(text.p + 16, 16, &id) ||
        !read_hex(text.p + 32, 8, &sum))
        return false;
    *ret_cursor = (struct cursor){(int64_t)at, (int64_t)id};
    return seal(*ret_cursor, digest) == sum;
}
