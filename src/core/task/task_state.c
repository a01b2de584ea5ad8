// How a task is doing follows from its jobs and from whether it is paused. So a store keeps no state of a task, and none can be
// out of step with its jobs. What this file does not do: say what a job is (core/job), or which tasks a list shows (core/filter).
#include "core/task/task_state.h"

#include "base/mem.h"

const char *task_state_text(enum task_state state)
{
    static const char *const texts[] = {"active", "paused", "done", "cancelled"};
    _Static_assert(array_count(texts) == TASK_STATE_COUNT, "each state has a text");
    return texts[state];
}

enum task_state task_state_of(bool paused, bool owes, const struct job *jobs, size_t count)
{
    if (owes)
        return paused ? TASK_PAUSED : TASK_ACTIVE;
    for (size_t i = 0; i < count; i++)
        if (!job_state_final(jobs[i].state))
            return paused ? TASK_PAUSED : TASK_ACTIVE;
    const struct job *shown = task_job_to_show(jobs, count);
    return shown && shown->state == JOB_CANCELLED ? TASK_CANCELLED : TASK_DONE;
}

// Which job stands for its task: the first kind here that there is; and among several of one kind, the one with the largest
// number: what began last, what was asked for last, what ended last, what is planned first.
enum telling { TELLS_RUNNING, TELLS_BY_HAND, TELLS_ENDED, TELLS_PLANNED };

static enum telling telling_of(const struct job *job)
{
    if (job_state_final(job->state))
        return TELLS_ENDED;
    if (!job_planned(job) || (job->trigger == TRIGGER_SCHEDULE && job->attempts))
        return TELLS_RUNNING; // between two attempts it runs, too: others of its task may lie ahead
    return job->parent_id || job->trigger == TRIGGER_RUN ? TELLS_BY_HAND : TELLS_PLANNED;
}

static int64_t number_of(const struct job *job)
{
    const int64_t numbers[] = {[TELLS_RUNNING] = job->started_at,
                               [TELLS_BY_HAND] = job->id,
                               [TELLS_ENDED] = job->completed_at,
                               [TELLS_PLANNED] = -job->scheduled_at};
    return numbers[telling_of(job)];
}

static bool tells_more(const struct job *job, const struct job *than)
{
    if (telling_of(job) != telling_of(than))
        return telling_of(job) < telling_of(than);
    if (number_of(job) != number_of(than))
        return number_of(job) > number_of(than);
    return job->id > than->id;
}

const char *task_outcome_text(enum task_outcome outcome)
{
    static const char *const texts[TASK_OUTCOME_COUNT] = {NULL, "pending", "in_progress", "success", "failed", "cancelled"};
    return texts[outcome];
}

static enum task_outcome outcome_of_job(const struct job *job)
{
    static const enum task_outcome outcomes[JOB_STATE_COUNT] = {[JOB_RESERVED] = TASK_OUTCOME_IN_PROGRESS,
                                                                [JOB_SUCCESS] = TASK_OUTCOME_SUCCESS,
                                                                [JOB_ABORTED] = TASK_OUTCOME_FAILED,
                                                                [JOB_BURIED] = TASK_OUTCOME_FAILED,
                                                                [JOB_CANCELLED] = TASK_OUTCOME_CANCELLED};
    if (outcomes[job->state])
        return outcomes[job->state];
    return job->attempts ? TASK_OUTCOME_IN_PROGRESS : TASK_OUTCOME_PENDING;
}

// While a job has not ended, that is how the task is going: a job that was made by hand takes the place of the one that failed.
// What a schedule has planned says nothing of how it is going.
enum task_outcome task_outcome_of(const struct job *jobs, size_t count)
{
    enum task_outcome live = TASK_OUTCOME_UNKNOWN;
    for (size_t i = 0; i < count; i++)
        if (!job_state_final(jobs[i].state) && !job_is_ahead(&jobs[i]) && live < outcome_of_job(&jobs[i]))
            live = outcome_of_job(&jobs[i]);
    if (live)
        return live;
    const struct job *shown = task_job_to_show(jobs, count);
    return shown ? outcome_of_job(shown) : TASK_OUTCOME_UNKNOWN;
}

unsigned task_words(bool paused, bool owes, const struct job *jobs, size_t count)
{
    static const unsigned by_outcome[TASK_OUTCOME_COUNT] = {
        [TASK_OUTCOME_SUCCESS] = 1u << TASK_SUCCEEDED, [TASK_OUTCOME_FAILED] = 1u << TASK_FAILED};
    enum task_state state = task_state_of(paused, owes, jobs, count);
    unsigned words = 1u << state | by_outcome[task_outcome_of(jobs, count)];
    if (state != TASK_ACTIVE && state != TASK_PAUSED)
        return words;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].state == JOB_RESERVED)
            return words | 1u << TASK_RUNNING;
    return words | 1u << TASK_WAITING;
}

const struct job *task_job_to_show(const struct job *jobs, size_t count)
{
    const struct job *shown = NULL;
    for (size_t i = 0; i < count; i++)
        if (!shown || tells_more(&jobs[i], shown))
            shown = &jobs[i];
    return shown;
}

int64_t task_scheduled_at(const struct job *jobs, size_t count)
{
    const struct job *shown = task_job_to_show(jobs, count);
    int64_t farthest = 0;
    for (size_t i = 0; i < count; i++)
        if (job_is_ahead(&jobs[i]) && jobs[i].scheduled_at > farthest)
            farthest = jobs[i].scheduled_at;
    return farthest ? farthest : shown ? shown->scheduled_at : 0;
}

int64_t task_next_at(const struct job *jobs, size_t count)
{
    int64_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (job_is_ahead(&jobs[i]) && (!next || jobs[i].scheduled_at < next))
            next = jobs[i].scheduled_at;
    return next;
}
