// What a command does next, as the record and what it has done so far have it. The rules of cancel, run, retry, pause, resume,
// change and delete.
// Layer: flow, pure: no I/O, clock or thread. flow/steer carries out what is said here.
#pragma once
#include "core/outcome.h"
#include "flow/steer.h"
#include "store/jobs.h"
#include "store/peers.h"

// What a command does with a record that it has read. After all but STEER_DONE the record is read again.
enum steer_phase {
    STEER_DONE,      // it is answered: `err`, `why`
    STEER_FETCH,     // this node's pull is asked to give `job` up, as `end`
    STEER_ASK,       // the node that has `job` in hand is asked: `wish`
    STEER_BEGINS,    // `job` has begun in another's hand, or is about to: that is noted
    STEER_WAIT,      // `job` is looked at again a moment later
    STEER_END_JOB,   // `job` is written as cancelled
    STEER_HURRY_JOB, // `job` is written as planned for now
    STEER_ADD_JOB,   // a new job is added that repeats `job`
    STEER_MERGE,     // whoever asked makes the changed document
    STEER_AMEND,     // the task is written, with its jobs that wait
    STEER_REMOVE,    // the task is removed
    STEER_PHASE_COUNT
};

struct steer_next {
    enum steer_phase phase;
    const struct job *job;
    enum order_end end;
    enum store_wish wish;
    enum err err;
    const char *why;
};

// What a command has done so far: a set.
enum steer_did {
    STEER_DID_WRITE = 1,    // something of what was asked: a task that is gone then is no surprise
    STEER_DID_AMEND = 2,    // it has written the task
    STEER_DID_CALL_OFF = 4, // after a cancel was written, pull was told of it
    STEER_DID_HAND_ON = 8,  // whoever holds a job was asked to do what was asked, and may have done it
    STEER_DID_MEET = 16,    // of a run by hand: it met a job that had not ended
};

enum { STEER_JOBS_MAX = 100 }; // of a task that are read at once

struct steer_past {
    unsigned did;
    int64_t asked_id, asked_token; // what pull was last asked for: read again unchanged, it was not in hand
    struct {
        int64_t id, token;
    } beginning[STEER_JOBS_MAX]; // jobs in somebody's hand that have begun, or are about to
    size_t beginning_count;
    int64_t wished_id, wish_began; // which job's holder was asked, and since when on the monotonic clock
    int64_t merged_from;           // the version of the task from which the changed document was made; 0: it was not made yet
};

void steer_note_beginning(struct steer_past *past, int64_t id, int64_t token);

struct steer_view {
    enum steer_act act;
    bool running; // of a delete: what runs is cancelled, too
    int64_t life; // this node's incarnation
    struct now now;
    const struct store_get *get;
    bool queue_paused; // that of steer_open()
    const struct steer_past *past;
};

const struct job *steer_open(const struct store_get *get); // the first that has not ended; NULL: all have
struct steer_next steer_next(const struct steer_view *view);
