// The patched document is put together from slices of both, and then checked as if it had been submitted.
#include "core/task/patch.h"

#include <stdlib.h>

static void merge(struct buf *buf, struct json target, struct json patch, struct arena *scratch);

static void put_member(struct buf *buf, bool *first, struct json key)
{
    buf_putc(buf, *first ? '{' : ',');
    *first = false;
    buf_put(buf, key.raw);
    buf_putc(buf, ':');
}

// A member of a patch. Its name is compared decoded.
struct change {
    struct str name;
    struct json key, value;
    bool taken; // the target has such a member
};

static int compare_names(const void *a, const void *b)
{
    const struct str *left = &(*(struct change *const *)a)->name, *right = &(*(struct change *const *)b)->name;
    size_t n = left->n < right->n ? left->n : right->n;
    int order = n ? memcmp(left->p, right->p, n) : 0;
    return order ? order : (left->n > right->n) - (left->n < right->n);
}

// The members of one object of a patch: in their order, and by name, so that two objects of n members are merged in n log n.
struct changes {
    struct change *all, **by_name;
    size_t count;
};

static struct changes read_changes(struct json patch, struct arena *scratch)
{
    struct changes changes = {0};
    struct json key, value;
    size_t room = 0;
    for (struct json_iter iter = json_iter(patch); json_next(&iter, &key, &value);)
        room++;
    changes.all = arena_array(scratch, struct change, room);
    changes.by_name = arena_array(scratch, struct change *, room);
    for (struct json_iter iter = json_iter(patch); json_next(&iter, &key, &value); changes.count++) {
        changes.all[changes.count] = (struct change){.name = json_text(key, scratch), .key = key, .value = value};
        changes.by_name[changes.count] = &changes.all[changes.count];
    }
    qsort(changes.by_name, changes.count, sizeof(struct change *), compare_names);
    return changes;
}

static struct change *find_change(const struct changes *changes, struct str name)
{
    struct change wanted = {.name = name}, *key = &wanted;
    struct change **found =
        changes->count ? bsearch(&key, changes->by_name, changes->count, sizeof(struct change *), compare_names) : NULL;
    return found ? *found : NULL;
}

// Members of the target that the patch leaves alone, and those that it changes, then those that are new.
static void merge_objects(struct buf *buf, struct json target, struct json patch, struct arena *scratch)
{
    struct json key, value;
    bool first = true;
    struct changes changes = read_changes(patch, scratch);
    struct json_iter iter = json_iter(target);
    while (target.type == JSON_OBJECT && json_next(&iter, &key, &value)) {
        struct change *change = find_change(&changes, json_text(key, scratch));
        if (change)
            change->taken = true;
        if (change && change->value.type == JSON_NULL)
            continue;
        put_member(buf, &first, key);
        if (change)
            merge(buf, value, change->value, scratch);
        else
            buf_put(buf, value.raw);
    }
    for (const struct change *change = changes.all; change < changes.all + changes.count; change++) {
        if (change->taken || change->value.type == JSON_NULL)
            continue;
        put_member(buf, &first, change->key);
        merge(buf, (struct json){0}, change->value, scratch);
    }
    buf_puts(buf, first ? "{}" : "}");
}

static void merge(struct buf *buf, struct json target, struct json patch, struct arena *scratch)
{
    if (patch.type == JSON_OBJECT)
        merge_objects(buf, target, patch, scratch);
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
    struct arena scratch;
    arena_init(&scratch);
    struct buf buf = {0};
    merge(&buf, target, patch, &scratch);
    arena_done(&scratch);
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
enum err patch_job(const struct patched *patched, struct job *job, int64_t now_ms, struct problem *why)
{
    int64_t scheduled_at = job->scheduled_at, expires_at;
    if (patched->replanned && !job->attempts) {
        enum err err = task_plan(&patched->task, now_ms, &scheduled_at, &expires_at, why);
        if (err)
            return why->err = err;
    }
    job->priority = (uint8_t)patched->task.priority;
    job->expires_at = task_expiry(&patched->task, scheduled_at);
    return job_replan(job, scheduled_at, now_ms);
}
