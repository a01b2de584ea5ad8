// Revising a record: read it, decide, write by token, and begin again when it moved meanwhile. What is asked by hand
// (flow/commands) and what is said of attempts that go on elsewhere (flow/commands/lease_reports) are such loops.
//
// Layer: flow. Owned by the flow thread.
#pragma once
#include "base/mark.h"
#include "flow/record.h"

struct revision;

// Where the revisions of one owner are. Embedded in the owner.
struct reviser {
    struct node *node;
    struct recorder *recorder;
    enum mark again; // counted when a record had moved
    struct mailbox answers;
    struct list revisions;
    struct now now; // of the turn, or answer, at hand
};

void reviser_init(struct reviser *reviser, struct node *node, struct recorder *recorder, enum mark again);
void reviser_done(struct reviser *reviser);                    // nothing may be in it
int64_t reviser_turn(struct reviser *reviser, struct now now); // on the wall clock: when to turn again
static inline bool reviser_idle(const struct reviser *reviser)
{
    return list_empty(&reviser->revisions);
}

// One loop. It has one operation out at a time. Embedded in what its owner knows of the request.
struct revision {
    struct list link; // in reviser->revisions
    struct reviser *reviser;
    struct store_get get; // what to read is the owner's to fill in; what was read is kept until the next time
    struct job job;       // the record that is written; its texts may be in `get`
    struct job_step step;
    struct recording recording;
    int tries;
    int64_t look_ms; // how long it waits before it reads again, twice as long each time
    int64_t look_at; // monotonic: when it reads again; 0: something else is under way
    // The record was read, or get.op.err says why not. Ends with a call below, or with the end of the revision.
    void (*decide)(struct revision *revision);
    // The step was written; or it was not, for the reason given. It is not called for a step that was refused: the record is read
    // again.
    void (*written)(struct revision *revision, enum err err);
};

enum { REVISE_LOOK_MAX_MS = 500 };

void revision_begin(struct revision *revision, struct reviser *reviser);
void revision_end(struct revision *revision); // frees what it has read; the struct is the owner's

void revision_read(struct revision *revision);
// Reads after a while. The first time after first_ms, or after a step forward (revision_moved), then ever later.
void revision_read_later(struct revision *revision, int64_t first_ms);
void revision_moved(struct revision *revision); // there was a step forward: it is not going round in a circle
// Writes revision->job, with revision->step, if the record is still as it was when it was read.
void revision_write(struct revision *revision, const struct job *was, size_t result_bytes);
