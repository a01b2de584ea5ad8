// The patched document is put together from slices of both, and then checked as if it had been submitted.
#include "core/patch.h"

static void merge(struct buf *buf, struct json target, struct json patch, struct arena *arena);

static void put_member(struct buf *buf, bool *first, struct json key)
{
    buf_putc(buf, *first ? '{' : ',');
    *first = false;
    buf_put(buf, key.raw);
    buf_putc(buf, ':');
}

// Members of the target that the patch leaves alone, and those that it changes, then those that are new.
static void merge_objects(struct buf *buf, struct json target, struct json patch, struct arena *arena)
{
    struct json key, value;
    bool first = true;
    struct json_iter iter = json_iter(target);
    while (target.type == JSON_OBJECT && json_next(&iter, &key, &value)) {
        struct json change = json_member(patch, json_text(key, arena));
        if (change.type == JSON_NULL)
            continue;
        put_member(buf, &first, key);
        if (change.type == JSON_ABSENT)
            buf_put(buf, value.raw);
        else
            merge(buf, value, change, arena);
    }
    iter = json_iter(patch);
    while (json_next(&iter, &key, &value)) {
        bool known = target.type == JSON_OBJECT && json_member(target, json_text(key, arena)).type != JSON_ABSENT;
        if (known || value.type == JSON_NULL)
            continue;
        put_member(buf, &first, key);
        merge(buf, (struct json){0}, value, arena);
    }
    buf_puts(buf, first ? "{}" : "}");
}

static void merge(struct buf *buf, struct json target, struct json patch, struct arena *arena)
{
    if (patch.type == JSON_OBJECT)
        merge_objects(buf, target, patch, arena);
    else
        buf_put(buf, patch.raw);
}

// A document without one member, for the arena.
static struct json without(struct json object, const char *name, struct arena *arena)
{
    struct buf buf = {0};
    struct json key, value;
    bool first = true;
    struct json_iter iter = json_iter(object);
    while (json_next(&iter, &key, &value)) {
        if (str_is(json_text(key, arena), name))
            continue;
        put_member(&buf, &first, key);
        buf_put(&buf, value.raw);
    }
    buf_puts(&buf, first ? "{}" : "}");
    struct json rest = {JSON_OBJECT, arena_copy(arena, buf_str(&buf))};
    buf_done(&buf);
    return rest;
}

static bool has(struct json patch, const char *name)
{
    return json_member(patch, str_of(name)).type != JSON_ABSENT;
}

static bool gives(struct json patch, const char *name)
{
    enum json_type type = json_member(patch, str_of(name)).type;
    return type != JSON_ABSENT && type != JSON_NULL;
}

static enum err refuse_key(struct json patch, struct problem *why)
{
    if (json_member(patch, STR("key")).type == JSON_ABSENT)
        return ERR_OK;
    return problem_set(why, ERR_INVALID_FIELD, "/key", "The key of a task cannot be changed.");
}

enum err patch_task(struct patched *ret_patched, struct str doc, struct json patch, struct arena *arena, struct problem *why)
{
    struct json target = {JSON_OBJECT, doc};
    enum err err = refuse_key(patch, why);
    if (err)
        return err;
    if (gives(patch, "at"))
        target = without(target, "in", arena);
    if (gives(patch, "in"))
        target = without(target, "at", arena);
    struct buf buf = {0};
    merge(&buf, target, patch, arena);
    ret_patched->doc = arena_copy(arena, buf_str(&buf));
    buf_done(&buf);
    if (ret_patched->doc.n > TASK_DOC_MAX)
        return problem_set(why, ERR_TOO_LARGE, NULL, "A task may have 1 MiB, with this change it would have %zu bytes.",
                           ret_patched->doc.n);
    ret_patched->replanned = has(patch, "at") || has(patch, "in");
    err = task_parse(&ret_patched->task, (struct json){JSON_OBJECT, ret_patched->doc}, arena, why);
    return why->err = err;
}

// What is not replanned keeps its time: an `in` counts from when it was given.
static int64_t expiry(const struct task *task, int64_t scheduled_at)
{
    return task->not_after_in_ms >= 0 ? scheduled_at + task->not_after_in_ms : task->not_after_ms;
}

enum err patch_job(const struct patched *patched, struct job *job, int64_t now_ms, struct problem *why)
{
    int64_t scheduled_at = job->scheduled_at, expires_at;
    if (patched->replanned && !job->attempts) {
        enum err err = task_plan(&patched->task, now_ms, &scheduled_at, &expires_at, why);
        if (err)
            return why->err = err;
    }
    job->priority = (uint8_t)patched->task.priority;
    job->expires_at = expiry(&patched->task, scheduled_at);
    return job_replan(job, scheduled_at, now_ms);
}
