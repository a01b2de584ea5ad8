// What a command does next, given the record and what it has done so far. The rules of cancel, run, retry, pause, resume, change
// and delete.
// Layer: flow, pure: no I/O, clock or thread. flow/commands carries out what is said here.
#pragma once
#include "base/data/map.h"
#include "core/outcome.h"
#include "flow/commands/commands.h"
#include "store/jobs.h"
#include "store/peers.h"

// What a command does with a record that it has read. After all but COMMAND_DONE the record is read again.
enum command_phase {
    COMMAND_DONE,      // it is answered: `err`, `why`
    COMMAND_FETCH,     // this node's pull is asked to give `job` up, as `end`
    COMMAND_REQUEST,   // the node that has `job` in hand gets a `request`
    COMMAND_BEGINS,    // `job` has begun in another's hand, or is about to: that is noted
    COMMAND_WAIT,      // `job` is looked at again a moment later
    COMMAND_END_JOB,   // `job` is written as cancelled
    COMMAND_HURRY_JOB, // `job` is written as planned for now
    COMMAND_LET_GO,    // `job` is written as waiting for nothing but its time
    COMMAND_ADD_JOB,   // a new job is added that repeats `job`; NULL: one of the task
    COMMAND_MERGE,     // whoever asked makes the changed document
    COMMAND_AMEND,     // the task is written, with its jobs that wait
    COMMAND_REMOVE,    // the task is removed
    COMMAND_PHASE_COUNT
};

struct command_next {
    enum command_phase phase;
    const struct job *job;
    enum order_end end;
    enum store_request_kind request;
    enum err err;
    const char *why;
};

// What a command has done so far: a set.
enum command_did {
    COMMAND_DID_WRITE = 1,    // something of what was asked: a task that is gone then is no surprise
    COMMAND_DID_AMEND = 2,    // it has written the task
    COMMAND_DID_CALL_OFF = 4, // after a cancel was written, pull has called the job off
    COMMAND_DID_HAND_ON = 8,  // the holder of a job got a request, and may have carried it out
    COMMAND_DID_MEET = 16,    // of a run by hand: it met a job that had not ended
};

enum {
    COMMAND_JOBS_MAX = 100,   // of a task that are read at first: hardly any has more that have not ended
    COMMAND_JOBS_ALL = 20000, // … and if it has: more than `misfire: all` can leave behind
};

struct command_past {
    unsigned did;
    int64_t asked_id, asked_token; // what pull was last asked for: read again unchanged, it was not in hand
    struct map beginning; // jobs in somebody's hand that have begun, or are about to, or will begin as they shall: id -> token
    int64_t requested_id, request_began; // which job's holder was asked, and since when on the monotonic clock
    int64_t merged_from;  // the version of the task from which the changed document was made; 0: it was not made yet
    bool changes_nothing; // that document says the same as the one it was made from
};

void command_past_done(struct command_past *past);
void command_note_beginning(struct command_past *past, int64_t id, int64_t token);
bool command_is_noted(const struct command_past *past, int64_t id); // whatever its token is

struct command_view {
    enum command_act act;
    bool running; // of a delete: what runs is cancelled, too
    int64_t life; // this node's incarnation
    struct now now;
    const struct store_get *get;
    bool queue_paused; // that of command_open()
    bool moves;        // of a REPLAN: a planned job has another instant by now
    const struct command_past *past;
};

const struct job *command_open(const struct store_get *get); // the first that has not ended; NULL: all have
struct command_next command_next(const struct command_view *view);
bool command_may_recall(const struct command_view *view, const struct job *job); // it waits in this node's hand
