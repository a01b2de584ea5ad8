// Reading a document is one walk of it along the table of fields (core/task/task_fields), and then what no field can say alone.
// What it does not do: read a clock, look at addresses, or keep anything.
#include "core/task/task.h"

#include "base/clock.h"
#include "core/task/field.h"
#include "core/task/task_fields.h"

#include <assert.h>
#include <stdio.h>

bool task_name_fits(struct str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!str_is_letter(c) && !str_is_digit(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return name.n >= 1 && name.n <= TASK_QUEUE_MAX;
}

static bool is_lower_hex(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!(str_is_digit(text.p[i]) || (text.p[i] >= 'a' && text.p[i] <= 'f')))
            return false;
    return true;
}

static bool is_zeros(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '0')
            return false;
    return true;
}

// version-trace-parent-flags, in lower-case hexadecimal; neither id may be zero, and version ff is none.
bool task_traceparent_fits(struct str text)
{
    if (text.n != 55 || text.p[2] != '-' || text.p[35] != '-' || text.p[52] != '-')
        return false;
    struct str version = {text.p, 2}, trace = {text.p + 3, 32}, parent = {text.p + 36, 16}, flags = {text.p + 53, 2};
    return is_lower_hex(version) && is_lower_hex(trace) && is_lower_hex(parent) && is_lower_hex(flags) &&
           !str_eq(version, STR("ff")) && !is_zeros(trace) && !is_zeros(parent);
}

// How long an attempt may take is the one default that depends on the target.
static void settle_timeout(struct task *task)
{
    if (task->policy.timeout_ms == TASK_TIMEOUT_OF_TARGET)
        task->policy.timeout_ms = target_rule(task->target.kind)->timeout_ms;
}

enum err task_parse(struct task *ret_task, struct json doc, struct arena *arena, struct problem *why)
{
    struct task task = task_defaults;
    struct field_reader reader = {.object = &task, .arena = arena, .why = why, .within = ""};
    if (doc.type != JSON_OBJECT)
        return field_refuse(&reader, ERR_INVALID_FIELD, STR(""),
                            "A task must be a JSON object, such as {\"url\": \"https://hooks.example/ring\"}.");
    enum err err = field_read_all(&reader, &task_fields, doc);
    if (!err)
        err = recurrence_check(&task, why);
    if (err)
        return err;
    settle_timeout(&task);
    if (!task_recurs(&task))
        task.recurs = NULL; // a misfire_window of null may be given without cron or every
    *ret_task = task;
    return ERR_OK;
}

bool task_read(struct task *ret_task, struct str doc, struct arena *arena, char why[ERR_WHY_MAX])
{
    struct json value;
    struct problem problem;
    enum err err = json_check_again(doc, &value, why);
    if (!err && !task_parse(ret_task, value, arena, &problem))
        return true;
    if (!err) {
        int n = snprintf(why, ERR_WHY_MAX, "%s%s", problem.field, problem.field[0] ? ": " : "");
        snprintf(why + n, ERR_WHY_MAX - (size_t)n, "%s", problem.detail);
    }
    *ret_task = (struct task){.policy = task_defaults.policy};
    settle_timeout(ret_task);
    return false;
}

int64_t task_expiry(const struct task *task, int64_t scheduled_at)
{
    return task->not_after_in_ms >= 0 ? scheduled_at + task->not_after_in_ms : task->not_after_ms;
}

enum err task_plan(const struct task *task, int64_t now_ms, int64_t *ret_scheduled_at, int64_t *ret_expires_at,
                   struct problem *why)
{
    assert(!task_recurs(task));
    int64_t planned = task->in_ms >= 0 ? now_ms + task->in_ms : time_max(task->at_ms, now_ms);
    if (planned - now_ms > TASK_HORIZON_MS)
        return problem_set(why, ERR_INVALID_FIELD, task->in_ms >= 0 ? "/in" : "/at",
                           "A task may be planned at most 10 years ahead.");
    int64_t expires = task_expiry(task, planned);
    if (expires && expires < planned)
        return problem_set(why, ERR_INVALID_FIELD, "/not_after",
                           "not_after lies before the planned time (or has passed): the task could never run.");
    *ret_scheduled_at = planned;
    *ret_expires_at = expires;
    return ERR_OK;
}

void task_render(const struct task *task, struct buf *buf)
{
    field_write_all(&task_fields, target_rule(task->target.kind)->form, task, FIELD_FOR_PEOPLE, buf);
}

void task_render_for_key(const struct task *task, struct buf *buf)
{
    field_write_all(&task_fields, target_rule(task->target.kind)->form, task, FIELD_FOR_KEYS, buf);
}

struct job_policy task_policy(struct str doc, struct arena *arena)
{
    struct task task;
    char why[ERR_WHY_MAX];
    task_read(&task, doc, arena, why);
    return task.policy;
}
