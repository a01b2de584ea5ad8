// Cancel, run and retry by hand: the request waits for flow/steer, and is then answered with what it changed, read afresh.
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
    if (op->err)
        problem_store(request, op->err, op->why);
    else if (op->act == STEER_RETRY)
        answer_retry(steering);
    else
        read_reply(&steering->call, &(struct read_plan){.what = op->task_id ? READ_TASK : READ_JOB,
                                                        .id = op->task_id ? op->task_id : op->job_id,
                                                        .status = 200,
                                                        .steered = true});
}

static void steer(const struct api_call *call, enum steer_act act, enum id_kind kind)
{
    int64_t id;
    if (!read_path_id(call, kind, &id) || !params_no_body(call))
        return;
    struct steering *steering = arena_alloc(http_arena(call->request), sizeof *steering);
    steering->call = *call;
    steering->op = (struct steer_op){.act = act,
                                     .tenant = call->tenant,
                                     .task_id = kind == ID_TASK ? id : 0,
                                     .job_id = kind == ID_JOB ? id : 0,
                                     .done = steer_done,
                                     .ctx = steering};
    http_wait(call->request, answer, steering);
    steer_submit(call->api->steer, &steering->op);
}

void tasks_cancel(const struct api_call *call)
{
    steer(call, STEER_CANCEL, ID_TASK);
}

void tasks_run(const struct api_call *call)
{
    steer(call, STEER_RUN, ID_TASK);
}

void jobs_cancel(const struct api_call *call)
{
    steer(call, STEER_CANCEL, ID_JOB);
}

void jobs_retry(const struct api_call *call)
{
    steer(call, STEER_RETRY, ID_JOB);
}
