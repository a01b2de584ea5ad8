// An order: a job that is in hand, with all that is needed to run it. What the broker carries from the puller to an executor.
//
// Layer: core, pure. It is a value: it points to nothing outside itself, so it may go to another process. It has one owner at a
// time: the one it was handed to last. Nothing of it changes after it was made but its ticket; what becomes of it is an outcome
// (core/outcome).
#pragma once
#include "base/data/list.h"
#include "core/job.h"
#include "core/task/task.h"

// ROOM: what the dispatcher and exec may keep in the memory of an order without another block being allocated for it.
enum { ORDER_TICKET_SIZE = 64, ORDER_ROOM_DISPATCHER = 96, ORDER_ROOM_EXEC = 144 };

struct order {
    struct list link; // in the list of whoever has it
    struct job job;   // the record as it was claimed: job.holder may start it, job.token names the claim
    struct task task; // its document, as task_read() reads it
    int64_t version;  // of the task that has this document; whoever claimed it fills it in
    bool readable;    // the document could be read; if not, `why` says why
    struct str why;
    uint64_t host;                  // whom it calls, as a hash; 0: nobody
    char ticket[ORDER_TICKET_SIZE]; // what a target is sent to report on this attempt with; "": nothing
    struct arena arena;             // the owner's, for what lives as long as the order: the order itself lives there too
    struct str doc;
};

// Makes an order of a claimed record and its task's document, which are copied.
struct order *order_new(const struct job *job, struct str doc);
void order_free(struct order *order); // accepts NULL

uint64_t order_host(const struct target *target); // whom it calls, as a hash; 0: nobody
