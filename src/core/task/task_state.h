// How a task is doing, as its jobs show it: its state, its outcome, the words that filters ask for, and the job that is shown.
// Layer: core, pure.
#pragma once
#include "core/job.h"

// A task lives while a job of it does, or its schedule owes a run (plan_owes()); then it is what became of the one that is shown.
enum task_state { TASK_ACTIVE, TASK_PAUSED, TASK_DONE, TASK_CANCELLED, TASK_STATE_COUNT };
const char *task_state_text(enum task_state state);
enum task_state task_state_of(bool paused, bool owes, const struct job *jobs, size_t count); // its jobs, in any order

// How a task is going, or went, as people ask for it. Unknown when none of its jobs is left.
enum task_outcome {
    TASK_OUTCOME_UNKNOWN,
    TASK_OUTCOME_PENDING,     // nothing of it has begun
    TASK_OUTCOME_IN_PROGRESS, // an attempt runs, or another will follow
    TASK_OUTCOME_SUCCESS,
    TASK_OUTCOME_FAILED, // aborted or buried
    TASK_OUTCOME_CANCELLED,
    TASK_OUTCOME_COUNT
};
const char *task_outcome_text(enum task_outcome outcome); // NULL: unknown
enum task_outcome task_outcome_of(const struct job *jobs, size_t count);

// What can be said of a task beside its state; several may hold. Filters ask for it.
enum task_word {
    TASK_WAITING = TASK_STATE_COUNT, // it has not ended, and no attempt runs
    TASK_RUNNING,                    // an attempt runs
    TASK_SUCCEEDED,
    TASK_FAILED,
};
unsigned task_words(bool paused, bool owes, const struct job *jobs, size_t count); // bits, that of its state among them

// The one of them that stands for the task: what runs; else the newest that waits because somebody asked for it by hand; else
// what ended last; else the next that is planned. NULL: there is none.
const struct job *task_job_to_show(const struct job *jobs, size_t count);

// When it is planned: a recurring task for the farthest job that is planned, another for the job that is shown. 0: not at all.
int64_t task_scheduled_at(const struct job *jobs, size_t count);
int64_t task_next_at(const struct job *jobs,
                     size_t count); // of the jobs that its schedule has planned, the first; 0: there is none
