#include "api/read.h"

#include "api/render.h"
#include "api/reply.h"
#include "base/clock.h"
#include "flow/commands/match.h"
#include "store/jobs.h"

struct reading {
    struct store_get get;
    struct gate_wait wait;
    struct api_call call;
    struct read_plan plan;
};

static void store_done(struct store_op *op)
{
    struct reading *reading = container_of(op, struct reading, get.op);
    http_resume(reading->call.request);
}

static enum err put_task(struct reading *reading, struct buf *body, int64_t now_ms)
{
    const struct store_get *get = &reading->get;
    struct task task;
    if (!match_read(&get->task, &task, http_arena(reading->call.request)))
        return ERR_INTERNAL;
    render_task(body,
                &(struct task_view){.stored = &get->task,
                                    .task = &task,
                                    .jobs = get->jobs,
                                    .job_count = get->job_count,
                                    .attempts = get->attempts,
                                    .attempt_count = get->attempt_count},
                now_ms);
    return ERR_OK;
}

static enum err put_job(struct reading *reading, struct buf *body, int64_t now_ms)
{
    const struct store_get *get = &reading->get;
    if (!get->job_count)
        return ERR_NOT_FOUND;
    render_job(body, &get->jobs[0], get->attempts, get->attempt_count, now_ms);
    return ERR_OK;
}

static enum err (*const put[])(struct reading *reading, struct buf *body, int64_t now_ms) = {
    [READ_TASK] = put_task,
    [READ_JOB] = put_job,
};

static void reply_absent(struct reading *reading)
{
    struct http_request *request = reading->call.request;
    if (reading->plan.given) {
        struct buf body = {0};
        struct store_task stored = {.id = reading->plan.id, .version = 1};
        render_task(&body, &(struct task_view){.stored = &stored, .task = reading->plan.given}, 0);
        reply_json(request, reading->plan.status, &body);
    } else if (reading->plan.steered) {
        http_reply(request, 204, NULL, NULL);
    } else if (reading->plan.reserved.n) {
        problem_say(request, ERR_NOT_FOUND, NULL,
                    "No task was declared by PUT under this name. GET /v1/tasks?name= finds those that were submitted with it.");
    } else {
        problem_say(request, ERR_NOT_FOUND, NULL, "There is no such %s.", reading->plan.what == READ_TASK ? "task" : "job");
    }
}

static void answer(struct http_request *request, void *state)
{
    struct reading *reading = state;
    struct buf body = {0};
    enum err failed = reading->get.op.err, err = failed;
    if (!err)
        err = put[reading->plan.what](reading, &body, clock_now().wall_ms);
    if (!err) {
        if (reading->plan.what == READ_TASK)
            reply_version(request, reading->get.task.version);
        reply_json(request, reading->plan.status, &body);
    } else {
        buf_done(&body);
        if (err == ERR_NOT_FOUND)
            reply_absent(reading);
        else
            problem_store(request, err, reading->get.op.why);
    }
    store_op_done(&reading->get.op);
    gate_leave(&reading->call.api->reads, failed == ERR_NOT_FOUND ? ERR_OK : failed);
}

static void ask(struct http_request *request, void *state)
{
    struct reading *reading = state;
    reading->get.op.err = reading->wait.failed;
    if (reading->wait.failed) {
        answer(request, reading);
        return;
    }
    http_wait(request, answer, reading);
    store_submit(reading->call.api->store, &reading->get.op);
}

void read_reply(const struct api_call *call, const struct read_plan *plan)
{
    struct reading *reading = arena_alloc(http_arena(call->request), sizeof *reading);
    reading->call = *call;
    reading->plan = *plan;
    store_op_init(&reading->get.op, STORE_GET, store_done);
    reading->get.tenant = call->tenant;
    if (plan->what != READ_TASK)
        reading->get.job_id = plan->id;
    else
        reading->get.task_id = plan->id;
    reading->get.reserved = plan->reserved;
    reading->get.max_jobs = READ_JOBS_MAX;
    reading->get.open_first = true; // however many have ended: what has not decides what the task is
    gate_enter(&call->api->reads, READS_MAX, &reading->wait, call->request, ask, reading);
}

bool read_path_id(const struct api_call *call, enum id_kind kind, int64_t *ret_id)
{
    enum id_kind other = kind == ID_JOB ? ID_TASK : ID_JOB;
    if (id_parse(call->param, kind, ret_id) && *ret_id > 0)
        return true;
    if (id_parse(call->param, other, ret_id)) {
        problem_say(call->request, ERR_NOT_FOUND, NULL,
                    kind == ID_JOB ? "This is the id of a task, and a job's is needed: its first has the same with j for t."
                                   : "This is the id of a job, and a task's is needed: the job's task_id.");
        return false;
    }
    problem_say(call->request, ERR_NOT_FOUND, NULL, "There is no such %s.", kind == ID_JOB ? "job" : "task");
    return false;
}
