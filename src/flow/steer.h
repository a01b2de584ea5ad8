// Steering by hand: cancel, run now, retry.
// Layer: flow. Owned by the flow thread; steer_submit may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/node.h"

enum steer_act {
    STEER_CANCEL, // a job, or all jobs of a task, that are not final. After done() no new attempt of them begins
    STEER_RUN,    // the waiting job of a one-time task is planned for now
    STEER_RETRY,  // a new job from a final one
};

struct steer_op {
    struct list link;
    enum steer_act act;
    int32_t tenant;
    int64_t task_id, job_id;           // one of them, the other 0: CANCEL takes either, RUN a task, RETRY a job
    void (*done)(struct steer_op *op); // on the flow thread: may only enqueue
    void *ctx;
    enum err err; // ERR_NOT_FOUND, ERR_ILLEGAL_TRANSITION, a store error
    char why[ERR_WHY_MAX];
    int64_t new_job_id; // RETRY: the job that was made
};

struct pull;
struct steer;

struct steer *steer_new(struct node *node, struct pull *pull);
void steer_free(struct steer *steer);
int64_t steer_turn(struct steer *steer, struct now now); // on the wall clock: when to turn again
void steer_submit(struct steer *steer, struct steer_op *op);
bool steer_idle(const struct steer *steer);
