// Steering by hand: the request waits for flow/commands, and is then answered with what it changed, read afresh.
#include "api/params.h"
#include "api/read.h"
#include "api/reply.h"
#include "base/clock.h"
#include "core/task/field_type.h"

struct steering {
    struct command op;
    struct api_call call;
    bool merging; // its document was read, and waits to be merged on this thread
};

static void command_done(struct command *op)
{
    struct steering *steering = op->ctx;
    http_resume(steering->call.request);
}

static void merge_wanted(struct command *op)
{
    struct steering *steering = op->ctx;
    steering->merging = true;
    http_resume(steering->call.request);
}

static void answer_retry(struct steering *steering)
{
    struct http_request *request = steering->call.request;
    char id[ID_TEXT_SIZE];
    id_format(id, ID_JOB, steering->op.new_job_id);
    http_header_set(request, "Location", arena_printf(http_arena(request), "/v1/jobs/%s", id).p);
    read_reply(&steering->call,
               &(struct read_plan){.what = READ_JOB, .id = steering->op.new_job_id, .status = 201, .steered = true});
}

static void merge(struct steering *steering);

static void answer(struct http_request *request, void *state)
{
    struct steering *steering = state;
    const struct command *op = &steering->op;
    if (steering->merging)
        merge(steering);
    else if (op->problem.err)
        problem_reply(request, &op->problem);
    else if (op->err)
        problem_store(request, op->err, op->why);
    else if (op->act == COMMAND_RETRY)
        answer_retry(steering);
    else if (op->act == COMMAND_DELETE)
        http_reply(request, 204, NULL, NULL);
    else
        read_reply(&steering->call, &(struct read_plan){.what = op->task_id ? READ_TASK : READ_JOB,
                                                        .id = op->task_id ? op->task_id : op->job_id,
                                                        .status = 200,
                                                        .steered = true});
}

static void merge(struct steering *steering)
{
    steering->merging = false;
    http_wait(steering->call.request, answer, steering);
    commands_merge(steering->call.api->commands, &steering->op, clock_now().wall_ms);
}

static void submit(const struct api_call *call, const struct command *op)
{
    struct steering *steering = arena_alloc(http_arena(call->request), sizeof *steering);
    steering->call = *call;
    steering->op = *op;
    if (!params_versions(call, op->task_id != 0, &steering->op))
        return;
    steering->op.tenant = call->tenant;
    steering->op.merge = merge_wanted;
    steering->op.done = command_done;
    steering->op.ctx = steering;
    http_wait(call->request, answer, steering);
    commands_submit(call->api->commands, &steering->op);
}

static void commands(const struct api_call *call, enum command_act act, enum id_kind kind)
{
    int64_t id;
    if (read_path_id(call, kind, &id) && params_no_body(call))
        submit(call, &(struct command){.act = act, .task_id = kind == ID_TASK ? id : 0, .job_id = kind == ID_JOB ? id : 0});
}

void tasks_cancel(const struct api_call *call)
{
    commands(call, COMMAND_CANCEL, ID_TASK);
}

void tasks_run(const struct api_call *call)
{
    commands(call, COMMAND_RUN, ID_TASK);
}

// What the body of a pause or resume may say.
struct holding {
    struct str note, missed;
};

enum { NOTE_MAX = 1000 };
static const char *const missed_words[] = {
    [PLAN_MISFIRE_ONE] = "one", [PLAN_MISFIRE_SKIP] = "skip", [PLAN_MISFIRE_ALL] = "all", NULL};
static const struct holding holding_defaults = {.missed = {"skip", 4}};
static const struct field holding_rows[] = {
    {FIELD_NAME("note"), .type = &field_type_text, .offset = offsetof(struct holding, note), .max = NOTE_MAX},
    {FIELD_NAME("missed"), .type = &field_type_word, .offset = offsetof(struct holding, missed), .any = missed_words}};
static const struct fields pause_fields = {.rows = holding_rows, .count = 1, .what = "a pause", .defaults = &holding_defaults};
static const struct fields resume_fields = {
    .rows = holding_rows, .count = array_count(holding_rows), .what = "a resume", .defaults = &holding_defaults};

static bool read_holding(const struct api_call *call, const struct fields *fields, struct holding *ret_holding)
{
    struct json body;
    struct problem why = {0};
    struct arena *arena = http_arena(call->request);
    struct field_reader reader = {.object = ret_holding, .arena = arena, .why = &why, .within = ""};
    *ret_holding = holding_defaults;
    if (!http_body(call->request).n)
        return true;
    if (!params_json(call, &body))
        return false;
    if (body.type != JSON_OBJECT) {
        problem_say(call->request, ERR_INVALID_FIELD, NULL, "The body must be an object, or empty.");
        return false;
    }
    why.err = field_read_all(&reader, fields, body);
    if (why.err)
        problem_reply(call->request, &why);
    ret_holding->note = arena_copy(arena, ret_holding->note); // the body goes when the client does
    return !why.err;
}

static void hold(const struct api_call *call, enum command_act act, const struct fields *fields)
{
    int64_t id;
    struct holding holding;
    struct command command = {.act = act};
    if (!read_path_id(call, ID_TASK, &id) || !read_holding(call, fields, &holding))
        return;
    command.task_id = id;
    command.note = holding.note;
    while (!str_is(holding.missed, missed_words[command.missed]))
        command.missed++;
    command.runs_missed = command.missed != PLAN_MISFIRE_SKIP;
    submit(call, &command);
}

void tasks_pause(const struct api_call *call)
{
    hold(call, COMMAND_PAUSE, &pause_fields);
}

void tasks_resume(const struct api_call *call)
{
    hold(call, COMMAND_RESUME, &resume_fields);
}

void jobs_cancel(const struct api_call *call)
{
    commands(call, COMMAND_CANCEL, ID_JOB);
}

void jobs_retry(const struct api_call *call)
{
    if (params_no_key(call, "each retry makes a new job. Before you repeat one, look at the task's jobs."))
        commands(call, COMMAND_RETRY, ID_JOB);
}

void tasks_delete(const struct api_call *call)
{
    int64_t id;
    bool running;
    if (read_path_id(call, ID_TASK, &id) && params_flag(call, "running", &running) && params_no_body(call))
        submit(call, &(struct command){.act = COMMAND_DELETE, .task_id = id, .running = running});
}

void tasks_patch(const struct api_call *call)
{
    int64_t id;
    struct json patch;
    if (!read_path_id(call, ID_TASK, &id) || !params_json(call, &patch))
        return;
    if (patch.type != JSON_OBJECT)
        problem_say(call->request, ERR_INVALID_FIELD, NULL, "A change is a JSON object with the fields that shall be different.");
    else
        submit(call, &(struct command){.act = COMMAND_PATCH, .task_id = id, .patch = patch});
}
