// See by_hand.h. A job that repeats another one stands for the same instant.
#include "flow/commands/by_hand.h"

#include "core/task/task.h"

struct job by_hand_job(struct store_get *get, const struct job *old, int64_t id, int64_t now_ms)
{
    struct task task;
    char why[ERR_WHY_MAX];
    struct job job = {.id = id,
                      .task_id = get->task.id,
                      .tenant = get->task.tenant,
                      .state = JOB_READY,
                      .trigger = old ? TRIGGER_RETRY : TRIGGER_RUN,
                      .scheduled_at = now_ms,
                      .ready_at = now_ms,
                      .due_at = now_ms,
                      .token = 1};
    if (old) {
        job.parent_id = old->id;
        job.priority = old->priority;
        job.nominal_at = old->nominal_at;
    } else {
        task_read(&task, get->task.doc, &get->op.arena, why);
        job.priority = (uint8_t)task.priority;
    }
    return job;
}
