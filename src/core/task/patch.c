// The patched document is put together from slices of both, and then checked as if it had been submitted.
#include "core/task/patch.h"

#include "base/mem.h"

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

static bool is_among(const char *const *names, struct str name)
{
    for (; *names; names++)
        if (str_is(name, *names))
            return true;
    return false;
}

// A document without some members, for the arena.
static struct json without(struct json object, const char *const *names, struct arena *arena)
{
    struct buf buf = {0};
    struct json key, value;
    bool first = true;
    struct json_iter iter = json_iter(object);
    while (json_next(&iter, &key, &value)) {
        if (is_among(names, json_text(key, arena)))
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

// The first of some members that an object gives. NULL: it gives none of them.
static const char *first_given(struct json object, const char *const *names)
{
    for (; *names; names++)
        if (gives(object, *names))
            return *names;
    return NULL;
}

static enum err refuse_member(struct problem *why, const char *name, const char *words)
{
    problem_set(why, ERR_INVALID_FIELD, NULL, "%s", words);
    problem_point(why, str_of(name));
    return ERR_INVALID_FIELD;
}

// Jobs of a recurring task are planned from its schedule and those of a one-time task are not, so one does not become the other.
static enum err refuse_other_kind(struct json target, struct json patch, struct problem *why)
{
    static const char *const once[] = {"at", "in", NULL}, *const again[] = {"cron", "every", NULL};
    const char *said = first_given(target, again), *other = first_given(patch, said ? once : again);
    if (!said && other)
        return refuse_member(why, other, "This task runs once and cannot become a recurring one: submit that as another task.");
    if (other)
        return refuse_member(why, other, "This task recurs and cannot become a one-time one: submit that as another task.");
    if (said && has(patch, said) && !first_given(patch, again))
        return refuse_member(why, said, "A recurring task must have cron or every: give one of them instead of null.");
    return ERR_OK;
}

// What says when takes the place of what said it before, and of the fields that only made sense with that.
static struct json without_replaced(struct json target, struct json patch, struct arena *arena)
{
    static const struct {
        const char *given, *replaced[4];
    } rows[] = {{"at", {"in"}}, {"in", {"at"}}, {"cron", {"every", "anchor"}}, {"every", {"cron", "dst_gap", "dst_overlap"}}};
    for (size_t i = 0; i < array_count(rows); i++)
        if (gives(patch, rows[i].given))
            target = without(target, rows[i].replaced, arena);
    return target;
}

// A name is a field of when, too, because the times of a recurring task are spread by it.
static const char *const fields_of_when[] = {"cron",    "timezone",  "every",   "anchor",   "dst_gap", "dst_overlap",
                                             "exclude", "starts_at", "ends_at", "max_runs", "jitter",  "name"};

static bool says_when(struct json patch, const struct task *task)
{
    for (size_t i = 0; task_recurs(task) && i < array_count(fields_of_when); i++)
        if (has(patch, fields_of_when[i]))
            return true;
    return has(patch, "at") || has(patch, "in");
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
    if (!err)
        err = refuse_other_kind(target, patch, why);
    if (err)
        return err;
    target = without_replaced(target, patch, arena);
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
    err = task_parse(&ret_patched->task, (struct json){JSON_OBJECT, ret_patched->doc}, arena, why);
    if (!err)
        ret_patched->replanned = says_when(patch, &ret_patched->task);
    return why->err = err;
}

static bool says_when_otherwise(struct json doc, struct json whole)
{
    for (size_t i = 0; i < array_count(fields_of_when); i++) {
        struct str name = str_of(fields_of_when[i]);
        if (!str_eq(json_member(doc, name).raw, json_member(whole, name).raw))
            return true;
    }
    return false;
}

enum err patch_replace(struct patched *ret_patched, struct str doc, struct json whole, struct arena *arena, struct problem *why)
{
    ret_patched->doc = arena_copy(arena, whole.raw);
    ret_patched->replanned = says_when_otherwise((struct json){JSON_OBJECT, doc}, whole);
    return why->err = task_parse(&ret_patched->task, (struct json){JSON_OBJECT, ret_patched->doc}, arena, why);
}

bool patch_changes_nothing(const struct task *task, struct str doc, struct arena *arena)
{
    struct task was;
    char why[ERR_WHY_MAX];
    buf_auto struct buf before = {0}, after = {0};
    if (!task_read(&was, doc, arena, why))
        return false;
    task_render(&was, &before);
    task_render(task, &after);
    return str_eq(buf_str(&before), buf_str(&after));
}

// What is not replanned keeps its time: an `in` counts from when it was given. A job of a recurring task keeps it here, too,
// because plan_change() says which instant it gets.
enum err patch_job(const struct patched *patched, struct job *job, int64_t now_ms, struct problem *why)
{
    int64_t scheduled_at = job->scheduled_at, expires_at;
    if (patched->replanned && !job->attempts && !task_recurs(&patched->task)) {
        enum err err = task_plan(&patched->task, now_ms, &scheduled_at, &expires_at, why);
        if (err)
            return why->err = err;
    }
    job->priority = (uint8_t)patched->task.priority;
    job->expires_at = task_expiry(&patched->task, scheduled_at);
    return job_replan(job, scheduled_at, now_ms);
}
