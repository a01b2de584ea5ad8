// A round: find jobs, decide about each, record it. What time brings is done in rounds: expiry, leases that ran out, and what a
// dead node held.
//
// Layer: flow. Owned by the flow thread; embedded in its owner.
#pragma once
#include "flow/record.h"

struct round {
    struct node *node;
    struct recorder *recorder;
    const char *who;         // in the log
    struct mailbox *answers; // the owner's: when `find.op` comes out of it, round_found() is to be called
    struct store_find find;  // what to find is the owner's to fill in; what was found is kept until ended()
    struct recording recording;
    bool under_way;
    struct now now; // of the answer at hand
    // What follows for a job, written into its record. An error: nothing does.
    enum err (*decide)(struct round *round, struct job *job, const struct job_policy *policy, struct job_step *ret_step);
    void (*wrote)(struct round *round, const struct job *job); // its step was written; NULL: nobody wants to know
    // All that was found is recorded; or the store failed, and the rest is for another round.
    void (*ended)(struct round *round, enum err err);
};

void round_init(struct round *round, struct node *node, struct recorder *recorder, const char *who, struct mailbox *answers);
void round_done(struct round *round);
void round_begin(struct round *round, struct now now); // not while one is under way
void round_found(struct round *round, struct now now);
