// Steering by hand: cancel, run now, retry; pause, resume, change and delete a task.
// Layer: flow. Owned by the flow thread; steer_submit may be called by any thread.
#pragma once
#include "base/clock.h"
#include "core/task.h"
#include "flow/record.h"

enum steer_act {
    STEER_CANCEL, // a job, or all jobs of a task, that are not final. After done() no new attempt of them begins
    STEER_RUN,    // the waiting job of a one-time task is planned for now
    STEER_RETRY,  // a new job from a final one
    STEER_PAUSE,  // no job of the task begins any more …
    STEER_RESUME, // … until here; what was due meanwhile is due now
    STEER_PATCH,  // the task is changed, and its planned jobs with it
    STEER_DELETE, // its planned jobs are cancelled, and it is removed with all of them
    STEER_RECALL, // a job that waits for its time in this node's hand is given back for a moment
};

struct steer_op {
    struct list link;
    enum steer_act act;
    int32_t tenant;
    int64_t task_id, job_id; // one of them, the other 0: CANCEL takes either, RETRY and RECALL a job, the others a task
    bool running;            // DELETE: those that run are cancelled, too
    struct json patch;       // PATCH: a merge patch; the caller's until done()
    const int64_t *versions; // of the task, those it is meant for, `version_count` of them; NULL: whichever there is
    size_t version_count;
    // PATCH: the document was read, or has moved on since. On the flow thread, so it may only enqueue: another thread, which has
    // time to look at a mebibyte, then calls steer_merge().
    void (*merge)(struct steer_op *op);
    void (*done)(struct steer_op *op); // on the flow thread: may only enqueue
    void *ctx;
    enum err err; // ERR_NOT_FOUND, ERR_ILLEGAL_TRANSITION, ERR_VERSION_MISMATCH, a store error
    char why[ERR_WHY_MAX];
    struct problem problem; // PATCH: what is wrong with the patch, when problem.err is set
    int64_t new_job_id;     // RETRY: the job that was made
    void *work;             // steer's own
};

struct steer;

struct steer *steer_new(struct node *node, struct pull *pull, struct recorder *recorder);
void steer_free(struct steer *steer);
int64_t steer_turn(struct steer *steer, struct now now); // on the wall clock: when to turn again
void steer_submit(struct steer *steer, struct steer_op *op);
// What was asked for by op->merge(): makes the changed task of the document that was read, and hands it back. Any thread.
void steer_merge(struct steer *steer, struct steer_op *op);
bool steer_idle(const struct steer *steer);
