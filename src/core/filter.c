// A filter is set name by name from a table, so that a list's query and a bulk's document mean the same.
#include "core/filter.h"

#include "base/when.h"

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
    return (struct filter){.of = of, .state = FILTER_ANY};
}

static enum err set_state(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    int count = filter->of == FILTER_TASKS ? TASK_STATE_COUNT : JOB_STATE_COUNT;
    for (int state = 0; state < count; state++) {
        if (str_is(value, filter->of == FILTER_TASKS ? task_state_text(state) : job_state_text(state))) {
            filter->state = state;
            return ERR_OK;
        }
    }
    return refuse(why, name,
                  filter->of == FILTER_TASKS ? "The state of a task is active, paused, done or cancelled."
                                             : "The state of a job is blocked, delayed, ready, watching, reserved, success, "
                                               "aborted, buried or cancelled.");
}

static enum err set_queue(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    filter->queue = value;
    return task_name_fits(value) ? ERR_OK : refuse(why, name, "The name of a queue is " TASK_NAME_WORDS ".");
}

static enum err set_name(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    filter->name = value;
    return value.n && value.n <= TASK_NAME_MAX ? ERR_OK : refuse(why, name, "A name has 1 to %d bytes.", TASK_NAME_MAX);
}

static enum err set_due_before(struct filter *filter, struct str name, struct str value, struct problem *why)
{
    if (when_parse(value, &filter->due_before) && filter->due_before > 0)
        return ERR_OK;
    return refuse(why, name, "This is a time as \"2030-01-31T08:00:00Z\" (in a query, '+' is written %%2B).");
}

static const struct {
    const char *name;
    enum err (*set)(struct filter *filter, struct str name, struct str value, struct problem *why);
} setters[] = {{"state", set_state}, {"queue", set_queue}, {"name", set_name}, {"due_before", set_due_before}};

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
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++)
        if (str_is(name, setters[i].name))
            return setters[i].set(filter, name, value, why);
    if (str_starts(name, STR("label.")) && name.n > 6)
        return set_label(filter, name, value, why);
    refuse(why, name, "There is no such filter; there are state, queue, name, label.KEY and due_before.");
    return why->err = ERR_UNKNOWN_FIELD;
}

unsigned filter_stored_states(const struct filter *filter)
{
    if (filter->of == FILTER_TASKS || filter->state == FILTER_ANY)
        return 0;
    unsigned states = 1u << filter->state;
    return filter->state == JOB_READY ? states | 1u << JOB_DELAYED : states;
}

bool filter_needs_task(const struct filter *filter)
{
    return filter->label_count > 0;
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

bool filter_takes_job(const struct filter *filter, const struct job *job, const struct task *task, int64_t now_ms,
                      struct arena *arena)
{
    if (filter->state != FILTER_ANY && job_state_at(job, now_ms) != (enum job_state)filter->state)
        return false;
    if (filter->due_before && job->scheduled_at >= filter->due_before)
        return false;
    return !filter->label_count || labels_match(filter, task, arena);
}

bool filter_takes_task(const struct filter *filter, enum task_state state, const struct job *job, const struct task *task,
                       struct arena *arena)
{
    if (filter->state != FILTER_ANY && state != (enum task_state)filter->state)
        return false;
    if (filter->due_before && (!job || job->scheduled_at >= filter->due_before))
        return false;
    return !filter->label_count || labels_match(filter, task, arena);
}

// FNV-1a over the length and the bytes: enough to tell an honest mistake, and no more is promised.
static uint64_t mix(uint64_t hash, struct str text)
{
    hash = (hash ^ text.n) * 0x100000001B3u;
    for (size_t i = 0; i < text.n; i++)
        hash = (hash ^ (uint8_t)text.p[i]) * 0x100000001B3u;
    return hash;
}

uint32_t filter_digest(const struct filter *filter)
{
    uint64_t hash = mix(0xCBF29CE484222325u ^ (uint64_t)filter->of << 8 ^ (uint8_t)filter->state, filter->queue);
    hash = mix(mix(hash, filter->name), (struct str){(const char *)&filter->due_before, sizeof filter->due_before});
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
    bool may_be_planned = filter->state == FILTER_ANY || filter->state == JOB_BLOCKED || filter->state == JOB_DELAYED ||
                          filter->state == JOB_CANCELLED;
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
