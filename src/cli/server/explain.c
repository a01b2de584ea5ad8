// See explain.h.
#include "cli/server/explain.h"

#include "core/task/task_state.h"

void explain_get(struct caller *caller, struct str job_id, struct reply *ret_reply)
{
    call_get(caller, arena_copy(caller->arena, job_id).p, "/explain", ret_reply);
}

bool explain_is_held_up(const struct value *task, const struct value *job)
{
    if (str_is(value_text(value_at(task, "state")), task_state_text(TASK_PAUSED)))
        return true;
    struct str state = value_text(value_at(job, "state"));
    return str_is(state, job_state_text(JOB_READY)) || str_is(state, job_state_text(JOB_BLOCKED));
}
