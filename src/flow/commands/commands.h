// Commands, given by hand: cancel, run now, retry; pause, resume, change and delete a task. Others are given by tenders.
// Layer: flow. Owned by the flow thread; commands_submit may be called by any thread.
#pragma once
#include "base/clock.h"
#include "core/task/task.h"
#include "flow/record.h"

enum command_act {
    COMMAND_CANCEL,  // a job, or all jobs of a task, that are not final. After done() no new attempt of them begins
    COMMAND_RUN,     // the waiting job of a one-time task is planned for now; a recurring task gets one more job
    COMMAND_RETRY,   // a new job from a final one
    COMMAND_PAUSE,   // no job of the task begins any more …
    COMMAND_RESUME,  // … until here; what was due meanwhile is due now
    COMMAND_PATCH,   // the task is changed, and its planned jobs with it
    COMMAND_DELETE,  // its planned jobs are cancelled, and it is removed with all of them
    COMMAND_RECALL,  // a job that waits for its time in this node's hand is given back for a moment
    COMMAND_UNBLOCK, // a job that waits for others of its task need not do so any more
    COMMAND_REPLAN,  // planned jobs of a recurring task move to where its schedule has them by the time zones of today
};

struct command {
    struct list link;
    enum command_act act;
    int32_t tenant;
    int64_t task_id, job_id; // one of them, the other 0: CANCEL takes either, RETRY, RECALL and UNBLOCK a job, the others a task
    bool running;            // DELETE: those that run are cancelled, too
    struct json patch;       // PATCH: a merge patch; the caller's until done()
    bool whole;              // … or the whole document of a task that has reserved its name
    struct str note, by;     // PAUSE: why, and who asks for it: "" by hand; REPLAN: why; the caller's until done()
    bool runs_missed;        // RESUME of a recurring task: instants that came meanwhile run as `missed` says; otherwise none does
    enum plan_misfire missed;
    const int64_t *versions; // of the task, those it is meant for, `version_count` of them; NULL: whichever there is
    size_t version_count;
    // PATCH: the document was read, or has moved on since. On the flow thread, so it may only enqueue: another thread, which has
    // time to look at a mebibyte, then calls commands_merge().
    void (*merge)(struct command *op);
    void (*done)(struct command *op); // on the flow thread: may only enqueue
    void *ctx;
    enum err err; // ERR_NOT_FOUND, ERR_ILLEGAL_TRANSITION, ERR_VERSION_MISMATCH, a store error
    char why[ERR_WHY_MAX];
    struct problem problem; // PATCH: what is wrong with the patch, when problem.err is set
    int64_t new_job_id;     // RETRY, RUN of a recurring task: the job that was made
    void *work;             // of the commands
};

struct commands;
struct zones;

struct commands *commands_new(struct node *node, struct pull *pull, struct recorder *recorder, struct zones *zones);
void commands_free(struct commands *commands);
int64_t commands_turn(struct commands *commands, struct now now); // on the wall clock: when to turn again
void commands_submit(struct commands *commands, struct command *op);
// Carries out what op->merge() asked for: makes the changed task of the document that was read, and hands it back. Any thread.
void commands_merge(struct commands *commands, struct command *op, int64_t now_ms);
bool commands_idle(const struct commands *commands);
