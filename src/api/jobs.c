// Looking at tasks and jobs.
#include "api/read.h"
#include "api/reply.h"

void tasks_show(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_TASK, &id))
        read_reply(call, &(struct read_plan){.what = READ_TASK, .id = id, .status = 200});
}

void tasks_status(const struct api_call *call)
{
    struct api_call named = *call;
    int64_t id;
    named.param = http_query(call->request, "id");
    if (!named.param.p)
        problem_say(call->request, ERR_MISSING_FIELD, "id", "Which task? /task/status?id=ID");
    else if (read_path_id(&named, ID_TASK, &id))
        read_reply(call, &(struct read_plan){.what = READ_TASK, .id = id, .status = 200});
}

void jobs_show(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_JOB, &id))
        read_reply(call, &(struct read_plan){.what = READ_JOB, .id = id, .status = 200});
}
