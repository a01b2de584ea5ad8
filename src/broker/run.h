// A run: a job in hand, on its way from the puller to an executor and back. What the broker carries.
// Layer: port. It has one owner at a time, who is whoever it was handed to last.
#pragma once
#include "base/wheel.h"
#include "core/job.h"
#include "core/task.h"

enum { RUN_TICKET_SIZE = 56 };

// What is to be written about a run when it comes back.
enum run_end {
    RUN_ENDED,       // the attempt ended: `result`
    RUN_DETACHED,    // the target will say later how it ended: `result`
    RUN_RELEASED,    // no attempt began: ready again
    RUN_POSTPONED,   // no attempt began: again at `postpone_to`
    RUN_HURRIED,     // no attempt began: planned for now, by hand
    RUN_INTERRUPTED, // an attempt began and was given up by its holder
    RUN_CANCELLED,   // by hand
    RUN_EXPIRED,     // not started by its expires_at
};

// Whether the executor knows all that an attempt needs (exec_ops.prepare).
enum run_needs { RUN_UNPREPARED, RUN_PREPARING, RUN_PREPARED };

struct run;

// A word about a run, from the executor's side to the completer. Made with mem_alloc(); whoever takes it frees it.
struct run_note {
    struct list link;
    struct run *run; // it came back; NULL: this is the note of a run_began
};

// A run has begun and is still running, elsewhere: its record as it is to be written.
struct run_began {
    struct run_note note; // first
    struct job job;
    int64_t token; // of the stored record
};

struct run {
    struct list link;        // in the list of whoever has it
    struct wheel_node timer; // the puller's
    struct job job;          // as stored, and in memory ahead of it once an attempt began
    int64_t token;           // of the stored record
    struct task task;
    bool readable; // its document could be read, as task_read() says; if not, result.reason says why
    enum run_end end;
    struct job_result result; // .reason and .response point into `arena`
    int64_t postpone_to;
    uint64_t host;                // whom it calls, as a hash; 0: nobody
    int64_t waits_since;          // the dispatcher's, monotonic: when it began to wait for a slot
    enum run_needs needs;         // the dispatcher's
    void *exec;                   // the executor's
    char ticket[RUN_TICKET_SIZE]; // what the target is sent to speak of this attempt with; "": nothing
    int64_t mono_start;           // when it was started, on the clock that does not jump
    struct run_note note;         // for its way back: nothing is allocated to say that it ended
    struct arena arena;
    size_t doc_size;
    char doc[];
};

uint64_t run_host(const struct target *target); // whom it calls, as a hash; 0: nobody

// Makes a run from a claimed record and its task's document, both copied; see run->readable.
struct run *run_new(const struct job *job, struct str doc);
struct run *run_copy(const struct run *run); // as it was when it was made
void run_free(struct run *run);              // accepts NULL
