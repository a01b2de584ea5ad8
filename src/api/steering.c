// Steering by hand: the request waits for flow/steer, and is then answered with what it changed, read afresh.
#include "api/params.h"
#include "api/read.h"
#include "api/reply.h"

struct steering {
    struct steer_op op;
    struct api_call call;
};

static void steer_done(struct steer_op *op)
{
    struct steering *steering = op->ctx;
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

static void answer(struct http_request *request, void *state)
{
    struct steering *steering = state;
    const struct steer_op *op = &steering->op;
    if (op->problem.err)
        problem_reply(request, &op->problem);
    else if (op->err)
        problem_store(request, op->err, op->why);
    else if (op->act == STEER_RETRY)
        answer_retry(steering);
    else if (op->act == STEER_DELETE)
        http_reply(request, 204, NULL, NULL);
    else
        read_reply(&steering->call, &(struct read_plan){.what = op->task_id ? READ_TASK : READ_JOB,
                                                        .id = op->task_id ? op->task_id : op->job_id,
                                                        .status = 200,
                                                        .steered = true});
}

static void submit(const struct api_call *call, const struct steer_op *op)
{
    struct steering *steering = arena_alloc(http_arena(call->request), sizeof *steering);
    steering->call = *call;
    steering->op = *op;
    steering->op.tenant = call->tenant;
    steering->op.done = steer_done;
    steering->op.ctx = steering;
    http_wait(call->request, answer, steering);
    steer_submit(call->api->steer, &steering->op);
}

static void steer(const struct api_call *call, enum steer_act act, enum id_kind kind)
{
    int64_t id;
    if (read_path_id(call, kind, &id) && params_no_body(call))
        submit(call, &(struct steer_op){.act = act, .task_id = kind == ID_TASK ? id : 0, .job_id = kind == ID_JOB ? id : 0});
}

void tasks_cancel(const struct api_call *call)
{
    steer(call, STEER_CANCEL, ID_TASK);
}

void tasks_run(const struct api_call *call)
{
    steer(call, STEER_RUN, ID_TASK);
}

void tasks_pause(const struct api_call *call)
{
    steer(call, STEER_PAUSE, ID_TASK);
}

void tasks_resume(const struct api_call *call)
{
    steer(call, STEER_RESUME, ID_TASK);
}

void jobs_cancel(const struct api_call *call)
{
    steer(call, STEER_CANCEL, ID_JOB);
}

void jobs_retry(const struct api_call *call)
{
    if (params_no_key(call, "each retry makes a new job. Before you repeat one, look at the task's jobs."))
        steer(call, STEER_RETRY, ID_JOB);
}

void tasks_delete(const struct api_call *call)
{
    int64_t id;
    bool running;
    if (read_path_id(call, ID_TASK, &id) && params_flag(call, "running", &running) && params_no_body(call))
        submit(call, &(struct steer_op){.act = STEER_DELETE, .task_id = id, .running = running});
}

// Which version a change is meant for: 0 when any will do, -1 when it can be none that there is.
static int64_t version_wanted(struct http_request *request)
{
    struct str text = http_header(request, "If-Match");
    int64_t version = 0;
    if (!text.p || str_is(text, "*"))
        return 0;
    if (text.n < 3 || text.n > 18 || text.p[0] != '"' || text.p[text.n - 1] != '"')
        return -1;
    for (size_t i = 1; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return -1;
        version = version * 10 + (text.p[i] - '0');
    }
    return version ? version : -1;
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
        submit(call,
               &(struct steer_op){.act = STEER_PATCH, .task_id = id, .patch = patch, .version = version_wanted(call->request)});
}
