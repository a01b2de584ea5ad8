// Tasks that are declared under a name. PUT adds the task when nobody has the name, and otherwise makes the task what the
// document says, by the command that PATCH has, too.
//
// Somebody else may add, end or delete the task between two of these steps. Then the name is looked up again. The name of a task
// whose schedule has ended is free: the store gives it to the new task.
#include "api/params.h"
#include "api/read.h"
#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/text/utf8.h"
#include "core/task/patch.h"
#include "flow/zones.h"
#include "store/jobs.h"

enum {
    TRIES_MAX = 5,
    JOBS_SHOWN = 100, // of a dry run: those that are open come first
};

struct declaration {
    struct api_call call;
    struct str name;
    struct json doc; // with its name
    struct task task;
    bool dry_run;
    bool must_exist;  // If-Match: *
    bool must_be_new; // If-None-Match: *
    bool merging;     // the document that there is was read, and waits to be compared on this thread
    int tries;
    struct store_get get;
    struct admission admission;
    struct command op;
};

static void look(struct declaration *declaration);

static void look_again(struct declaration *declaration)
{
    if (++declaration->tries < TRIES_MAX)
        look(declaration);
    else
        problem_say(declaration->call.request, ERR_BUSY, NULL, "The task of this name comes and goes all the time. Try again.");
}

// ---- changing the task that has the name

static void merge_wanted(struct command *op)
{
    struct declaration *declaration = op->ctx;
    declaration->merging = true;
    http_resume(declaration->call.request);
}

static void command_done(struct command *op)
{
    struct declaration *declaration = op->ctx;
    http_resume(declaration->call.request);
}

static void changed(struct http_request *request, void *state)
{
    struct declaration *declaration = state;
    const struct command *op = &declaration->op;
    if (declaration->merging) {
        declaration->merging = false;
        http_wait(request, changed, declaration);
        commands_merge(declaration->call.api->commands, &declaration->op, clock_now().wall_ms);
    } else if (op->err == ERR_NOT_FOUND || op->err == ERR_ILLEGAL_TRANSITION) { // it has gone or ended since, or lost the name
        look_again(declaration);
    } else if (op->problem.err) {
        problem_reply(request, &op->problem);
    } else if (op->err) {
        problem_store(request, op->err, op->why);
    } else {
        read_reply(&declaration->call, &(struct read_plan){.what = READ_TASK, .id = op->task_id, .status = 200, .steered = true});
    }
}

static void change(struct declaration *declaration, int64_t task_id)
{
    struct command *op = &declaration->op;
    *op = (struct command){.act = COMMAND_PATCH,
                           .tenant = declaration->call.tenant,
                           .task_id = task_id,
                           .patch = declaration->doc,
                           .whole = true,
                           .versions = op->versions,
                           .version_count = op->version_count,
                           .merge = merge_wanted,
                           .done = command_done,
                           .ctx = declaration};
    http_wait(declaration->call.request, changed, declaration);
    commands_submit(declaration->call.api->commands, op);
}

// ---- adding it

static void admitted(struct admission *admission)
{
    struct declaration *declaration = admission->ctx;
    http_resume(declaration->call.request);
}

static void say_taken(struct http_request *request)
{
    problem_say(request, ERR_VERSION_MISMATCH, NULL, "A task has this name. Without If-None-Match it is changed.");
}

static void added(struct http_request *request, void *state)
{
    struct declaration *declaration = state;
    const struct store_add *add = &declaration->admission.addition.add;
    const struct store_new *item = &add->items[0];
    int64_t existing_id = item->existing_id;
    enum err err = item->err;
    if (add->op.err)
        problem_store(request, add->op.err, add->op.why);
    else if (err == ERR_MOVED_ON) // somebody else was quicker, and that task is gone already
        look_again(declaration);
    else if (err)
        problem_say(request, err, NULL, "%s", err_info(err)->title);
    else if (existing_id && declaration->must_be_new) // somebody else was quicker
        say_taken(request);
    else if (existing_id)
        change(declaration, existing_id);
    else
        tasks_reply_created(request, &declaration->admission, &declaration->task);
    admission_done(&declaration->admission);
}

static void add(struct declaration *declaration)
{
    struct admission *admission = &declaration->admission;
    struct http_request *request = declaration->call.request;
    struct now now = clock_now();
    struct problem why = {0};
    admission_init(admission, declaration->call.tenant, 1);
    enum err err = zones_check(declaration->call.api->zones, &declaration->task, now.wall_ms, http_arena(request), &why);
    if (!err)
        err = admission_add(admission, &declaration->task, declaration->doc.raw, NULL, now.wall_ms, &why);
    if (err) {
        why.err = err;
        problem_reply(request, &why);
        admission_done(admission);
        return;
    }
    admission->reserved = declaration->name;
    admission->done = admitted;
    admission->ctx = declaration;
    http_wait(request, added, declaration);
    err = admit_submit(declaration->call.api->admit, admission, now);
    if (err) {
        admission->addition.add.op.err = err;
        http_resume(request);
    }
}

// ---- only saying what would be done

static void reply_dry(struct declaration *declaration, const char *changes, const struct task_view *view)
{
    buf_auto struct buf task = {0};
    struct buf body = {0};
    render_task(&task, view, clock_now().wall_ms);
    buf_printf(&body, "{\"changes\":\"%s\",", changes);
    buf_put(&body, (struct str){task.p + 1, task.n - 1}); // without its brace
    reply_json(declaration->call.request, 200, &body);
}

static void dry_add(struct declaration *declaration)
{
    struct http_request *request = declaration->call.request;
    struct problem why = {0};
    struct store_task stored = {.version = 1};
    why.err = zones_check(declaration->call.api->zones, &declaration->task, clock_now().wall_ms, http_arena(request), &why);
    if (why.err)
        problem_reply(request, &why);
    else
        reply_dry(declaration, "created", &(struct task_view){.stored = &stored, .task = &declaration->task});
}

static void dry_change(struct declaration *declaration)
{
    struct http_request *request = declaration->call.request;
    const struct store_get *get = &declaration->get;
    struct arena *arena = http_arena(request);
    struct patched patched;
    struct problem why = {0};
    struct store_task stored = get->task;
    bool same = patch_changes_nothing(&declaration->task, get->task.doc, arena);
    enum err err = patch_replace(&patched, get->task.doc, declaration->doc, arena, &why);
    if (!err && !same && patched.replanned)
        err = zones_check(declaration->call.api->zones, &declaration->task, clock_now().wall_ms, arena, &why);
    if (err) {
        why.err = err;
        problem_reply(request, &why);
        return;
    }
    stored.version += !same;
    reply_dry(declaration, same ? "none" : "changed",
              &(struct task_view){.stored = &stored,
                                  .task = &declaration->task,
                                  .jobs = get->jobs,
                                  .job_count = get->job_count,
                                  .attempts = get->attempts,
                                  .attempt_count = get->attempt_count});
}

// ---- who has the name

// Does If-Match fit the task, version 0 being none? A command looks at it again when it changes the task.
static bool is_meant(const struct declaration *declaration, int64_t version)
{
    const struct command *op = &declaration->op;
    if (declaration->must_exist)
        return version;
    for (size_t i = 0; i < op->version_count; i++)
        if (op->versions[i] == version)
            return true;
    return !op->versions;
}

static void decide(struct declaration *declaration)
{
    const struct store_get *get = &declaration->get;
    bool stands = !get->op.err && plan_owes(get->task.plan);
    if (get->op.err && get->op.err != ERR_NOT_FOUND)
        problem_store(declaration->call.request, get->op.err, get->op.why);
    else if (!is_meant(declaration, stands ? get->task.version : 0))
        problem_say(declaration->call.request, ERR_VERSION_MISMATCH, NULL,
                    stands ? "The task has another version by now: read it again and decide anew."
                           : "There is no task of this name, or its schedule has ended. Without If-Match a new one is made.");
    else if (stands && declaration->must_be_new)
        say_taken(declaration->call.request);
    else if (declaration->dry_run)
        (stands ? dry_change : dry_add)(declaration);
    else if (stands)
        change(declaration, get->task.id);
    else
        add(declaration);
}

static void looked(struct http_request *request, void *state)
{
    struct declaration *declaration = state;
    decide(declaration);
    store_op_done(&declaration->get.op);
}

static void got(struct store_op *op)
{
    http_resume(container_of(op, struct declaration, get.op)->call.request);
}

static void look(struct declaration *declaration)
{
    struct store_get *get = &declaration->get;
    *get = (struct store_get){.tenant = declaration->call.tenant,
                              .reserved = declaration->name,
                              .max_jobs = declaration->dry_run ? JOBS_SHOWN : 1,
                              .open_first = true};
    store_op_init(&get->op, STORE_GET, got);
    http_wait(declaration->call.request, looked, declaration);
    store_submit(declaration->call.api->store, &get->op);
}

// ---- the request

// The document with its name, which may stand in the path alone. It outlives the body.
static struct json complete(struct json doc, struct str name, struct arena *arena)
{
    buf_auto struct buf text = {0};
    struct json key, value;
    struct json_iter iter = json_iter(doc);
    if (json_member(doc, STR("name")).type != JSON_ABSENT)
        return (struct json){JSON_OBJECT, arena_copy(arena, doc.raw)};
    buf_puts(&text, "{\"name\":");
    json_put_string(&text, name);
    while (json_next(&iter, &key, &value))
        buf_printf(&text, "," STR_FMT ":" STR_FMT, STR_ARG(key.raw), STR_ARG(value.raw));
    buf_putc(&text, '}');
    return (struct json){JSON_OBJECT, arena_copy(arena, buf_str(&text))};
}

// What a declared task may be. `why` is set otherwise.
static enum err check_task(const struct declaration *declaration, struct problem *why)
{
    const struct task *task = &declaration->task;
    if (!str_eq(task->name, declaration->name))
        return problem_set(why, ERR_INVALID_FIELD, "/name", "The name is another than that in the path. It may be left out.");
    if (task->key.n)
        return problem_set(why, ERR_INVALID_FIELD, "/key", "A task that is declared under a name has no key: the name is one.");
    if (!task_recurs(task))
        return problem_set(why, ERR_INVALID_FIELD, "/cron",
                           "Only recurring tasks are declared under a name: give cron or every. One that runs once is submitted, "
                           "with a key if it may be sent twice.");
    return ERR_OK;
}

static bool is_text(struct str name)
{
    const char *at = name.p, *end = name.p + name.n;
    for (int n = 1; at < end; at += n)
        if (!(n = utf8_length(at, end)))
            return false;
    return true;
}

static enum err read_task(struct declaration *declaration, struct json body, struct problem *why)
{
    struct arena *arena = http_arena(declaration->call.request);
    if (body.type != JSON_OBJECT)
        return problem_set(why, ERR_INVALID_FIELD, NULL, "A task is a JSON object.");
    if (!is_text(declaration->name))
        return problem_set(why, ERR_INVALID_FIELD, "/name",
                           "The name in the path must be UTF-8, with its bytes percent-encoded.");
    declaration->doc = complete(body, declaration->name, arena);
    if (declaration->doc.raw.n > TASK_DOC_MAX)
        return problem_set(why, ERR_TOO_LARGE, NULL, "A task may have 1 MiB, with its name this one has %zu bytes.",
                           declaration->doc.raw.n);
    enum err err = task_parse(&declaration->task, declaration->doc, arena, why);
    return err ? err : check_task(declaration, why);
}

// False: the request was answered.
static bool read_conditions(struct declaration *declaration)
{
    const struct api_call *call = &declaration->call;
    struct str unless = http_header_list(call->request, "If-None-Match");
    declaration->must_exist = str_is(http_header_list(call->request, "If-Match"), "*");
    declaration->must_be_new = str_is(unless, "*");
    if (unless.p && !declaration->must_be_new) {
        problem_say(call->request, ERR_INVALID_FIELD, "If-None-Match",
                    "If-None-Match is * here: only make the task if nobody has the name.");
        return false;
    }
    return params_versions(call, true, &declaration->op);
}

void named_put(const struct api_call *call)
{
    struct declaration *declaration = arena_alloc(http_arena(call->request), sizeof *declaration);
    struct json body;
    struct problem why = {0};
    declaration->call = *call;
    declaration->name = arena_copy(http_arena(call->request), call->param);
    if (!params_flag(call, "dry_run", &declaration->dry_run) || !params_json(call, &body) ||
        !params_no_key(call, "the name is the key: the same PUT twice changes nothing.") || !read_conditions(declaration))
        return;
    why.err = read_task(declaration, body, &why);
    if (why.err)
        problem_reply(call->request, &why);
    else
        look(declaration);
}

void named_show(const struct api_call *call)
{
    struct str name = arena_copy(http_arena(call->request), call->param); // the path goes when the client does
    read_reply(call, &(struct read_plan){.what = READ_TASK, .reserved = name, .status = 200});
}
