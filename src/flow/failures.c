// A failure that only the record shows is found by those who look there. One line a job is what people grep for; ten thousand
// lines a second, when a target is down, would bury everything else and cost more than the jobs. So a few are shown and the rest
// counted.
//
// Time enters with the turn alone: what ends between two turns belongs to the second of the first.
#include "flow/failures.h"

#include "base/log.h"
#include "base/text/json.h"
#include "core/id.h"

bool failures_count(struct failures *failures, enum job_state state)
{
    if (failures->shown < FAILURES_SHOWN) {
        failures->shown++;
        return true;
    }
    *(state == JOB_BURIED ? &failures->buried : &failures->aborted) += 1;
    return false;
}

// What its user wrote is quoted as in JSON, so that no name can be taken for something else. The reason is last: a line that is
// too long loses its end.
void failures_put(struct buf *words, const struct job *job, struct str queue, struct str name)
{
    char job_id[ID_TEXT_SIZE], task_id[ID_TEXT_SIZE];
    id_format(job_id, ID_JOB, job->id);
    id_format(task_id, ID_TASK, job->task_id);
    buf_printf(words, "job %s of task %s", job_id, task_id);
    if (queue.n) // what cannot be read has none
        buf_printf(words, ", queue " STR_FMT, STR_ARG(queue));
    if (name.n) {
        buf_puts(words, ", name ");
        json_put_string(words, name);
    }
    buf_printf(words, ", ended %s after attempt %d", job_state_text(job->state), (int)job->attempts);
    if (job->outcome != OUTCOME_NONE)
        buf_printf(words, ": %s", job_outcome_text(job->outcome));
    if (job->reason.n) {
        buf_puts(words, ", ");
        json_put_string(words, job->reason);
    }
}

bool failures_sum(struct failures *failures, int64_t seconds, struct buf *words)
{
    int aborted = failures->aborted, buried = failures->buried;
    if (!aborted && !buried)
        return false;
    buf_printf(words, "and %d more %s ended ", aborted + buried, aborted + buried == 1 ? "job" : "jobs");
    if (aborted && buried)
        buf_printf(words, "aborted (%d) or buried (%d)", aborted, buried);
    else
        buf_puts(words, aborted ? "aborted" : "buried");
    if (seconds)
        buf_printf(words, " in the last %lld s", (long long)seconds);
    failures->aborted = failures->buried = 0;
    failures->since = 0;
    return true;
}

void failures_note(struct failures *failures, const struct job *job, struct str queue, struct str name)
{
    buf_auto struct buf words = {0};
    if (!failures_count(failures, job->state))
        return;
    failures_put(&words, job, queue, name);
    log_warn(STR_FMT, STR_ARG(buf_str(&words)));
}

static void say_sum(struct failures *failures, int64_t seconds)
{
    buf_auto struct buf words = {0};
    if (failures_sum(failures, seconds, &words))
        log_warn(STR_FMT, STR_ARG(buf_str(&words)));
}

int64_t failures_turn(struct failures *failures, struct now now)
{
    if (now.mono_ms / 1000 != failures->second) {
        failures->second = now.mono_ms / 1000;
        failures->shown = 0;
    }
    if (!failures->aborted && !failures->buried)
        return TIME_NEVER;
    if (!failures->since)
        failures->since = now.mono_ms;
    int64_t wait = failures->since + FAILURES_SUM_MS - now.mono_ms;
    if (wait > 0)
        return now.wall_ms + wait;
    say_sum(failures, (now.mono_ms - failures->since) / 1000);
    return TIME_NEVER;
}

void failures_leave(struct failures *failures)
{
    say_sum(failures, 0);
}
