// An outcome: what became of an order. What the broker carries from the owner of an order to the completer.
//
// Layer: core, pure. It is a value, as an order is, and has all that is needed to decide what follows: nothing has to be read.
#pragma once
#include "core/order.h"

// What became of an order.
enum order_end {
    ORDER_BEGAN,       // an attempt began and still runs: to be written down, nothing is decided
    ORDER_ENDED,       // the attempt ended: `result`
    ORDER_DETACHED,    // the target will say later how it ended: `result`
    ORDER_UNREADABLE,  // it cannot be run: result.reason
    ORDER_RELEASED,    // no attempt began: ready again
    ORDER_POSTPONED,   // no attempt began: again at `postpone_to`
    ORDER_HURRIED,     // no attempt began: planned for now, by hand
    ORDER_INTERRUPTED, // an attempt began and was given up by its executor
    ORDER_CANCELLED,   // by hand
    ORDER_EXPIRED,     // not started by its expires_at
    ORDER_SKIPPED,     // its schedule passes over it: result.reason
    ORDER_BLOCKED,     // no attempt began: it waits until another of its task has ended
};

struct outcome {
    struct list link; // in the list of whoever has it
    enum order_end end;
    struct job job;           // the record; ahead of the stored one once an attempt began
    int64_t token;            // of the stored record
    struct job_policy policy; // of its task: what follows is decided by it
    struct str queue, name;   // of its task: events name them
    struct job_result result;
    int64_t postpone_to;
    struct order *order; // the order it is of, in whose memory it lives; NULL: it has its own
    struct arena arena;  // … which is this
};

// The outcome of an order, which is its from now on: whoever has the outcome has the order too.
struct outcome *outcome_new(struct order *order);
// Of an attempt that goes on: an outcome of its own, with a copy of the record.
struct outcome *outcome_began(const struct outcome *running);
void outcome_free(struct outcome *outcome); // accepts NULL
