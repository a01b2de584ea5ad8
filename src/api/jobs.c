// Looking at tasks and jobs.
#include "api/params.h"
#include "api/read.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = READ_JOBS_MAX };

void tasks_show(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_TASK, &id))
        read_reply(call, &(struct read_plan){.what = READ_TASK, .id = id, .status = 200});
}

void tasks_jobs(const struct api_call *call)
{
    int64_t id, limit = LIMIT_DEFAULT;
    if (read_path_id(call, ID_TASK, &id) && params_number(call, "limit", 1, LIMIT_MAX, &limit))
        read_reply(call, &(struct read_plan){.what = READ_JOBS, .id = id, .max_jobs = (size_t)limit, .status = 200});
}

void jobs_show(const struct api_call *call)
{
    int64_t id;
    if (read_path_id(call, ID_JOB, &id))
        read_reply(call, &(struct read_plan){.what = READ_JOB, .id = id, .status = 200});
}
