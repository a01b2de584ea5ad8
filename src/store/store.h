// The store port: what remembers tasks and jobs. Everything is a batch and completes asynchronously.
//
// Layer: port. A caller fills an operation, store_submit() takes it, and done() gives it back, once, when it is durable (or
// has failed). done() runs on a thread of the store, possibly before store_submit() returns, and must not block.
// Operations of one caller that are in flight together may be carried out in any order.
//
// Backends store and deliver. They hold no rule: what follows is decided by core/ before it is written. Times in records are
// arguments; a backend asks a clock only for its own housekeeping, and for the answer to a beat. What keeps two deciders apart is
// the token of a job: a change names the token it was decided on, and is refused (ERR_MOVED_ON) by the statement that would
// have written it when the record has moved on.
//
// This file says what an operation is and how a store is opened. The operations themselves: store/jobs.h, store/lives.h,
// store/peers.h, store/plans.h and store/journal.h.
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/mailbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_verb {
    // store/lives.h
    STORE_JOIN,   // an incarnation begins
    STORE_BEAT,   // it lives; and what is known of the others
    STORE_BURY,   // an incarnation is declared dead
    STORE_FORGET, // an incarnation that holds nothing is removed
    // store/peers.h
    STORE_OWNERS,   // who goes first in which bucket
    STORE_DIVIDE,   // … is decided anew
    STORE_REQUEST,  // a request about a job goes to the incarnation that has it in hand
    STORE_REQUESTS, // … which takes the requests it was sent
    STORE_TZDATA,   // which tzdata the plans of recurring tasks follow, and who sees to it
    // store/jobs.h
    STORE_ADD,      // new tasks with their jobs, or jobs for tasks that exist
    STORE_CLAIM,    // take waiting jobs in hand
    STORE_CHANGE,   // write what was decided
    STORE_AMEND,    // change a task, and its waiting jobs with it
    STORE_REMOVE,   // a task goes, and its jobs with it
    STORE_DUE,      // delayed jobs whose time has come become ready
    STORE_FIND,     // jobs that somebody has to look after
    STORE_LANES,    // lanes or queues, and when their next job is due
    STORE_PAUSE,    // hold a queue or let it go
    STORE_DROP,     // a queue without open jobs goes
    STORE_SWEEP,    // remove what retention lets go
    STORE_GET,      // read a task or job
    STORE_LIST,     // read a page of tasks or jobs
    STORE_STATS,    // jobs per state
    STORE_AHEAD,    // how many wait before a job
    STORE_UPCOMING, // jobs that are to begin, earliest first
    // store/plans.h
    STORE_PLAN,  // write plans of recurring tasks, with the jobs they plan
    STORE_PLANS, // read them
    // store/journal.h
    STORE_BULKS,  // read bulks
    STORE_BULK,   // a bulk begins, goes on, or ends
    STORE_BACKUP, // a copy of everything, as it is at one moment
    STORE_MINUTE, // what a process counted in a minute
    STORE_SERIES, // … of all of them, over time
    STORE_RELAY,  // events of a process, for others that listen
    STORE_EVENTS, // … which they read
    STORE_VERB_COUNT
};

// An operation that fails was not stored, with one exception: ERR_STORE_UNAVAILABLE says that nobody knows. A connection broke,
// and all of it, or some of its items, may have been stored.
struct store_op {
    struct list link; // the store's while the operation is its, the owner's before and after
    enum store_verb verb;
    void (*done)(struct store_op *op);
    struct mailbox *answers; // of an operation made by store_op_post
    enum err err;            // of the operation as a whole, and every item says the same: see below
    char why[ERR_WHY_MAX];   // words for the log when err is set
    struct arena arena;      // results live here; the owner of the operation frees it
};

struct store;

struct store_ops {
    const char *scheme; // "sqlite", "postgres", "memory"
    bool shared;        // several processes may have it open
    err_check enum err (*open)(struct store **ret_store, const char *url, char why[ERR_WHY_MAX]);
    void (*submit)(struct store *store, struct store_op *op);
    void (*close)(struct store *store); // everything in flight is completed first
    bool copies;                        // STORE_BACKUP makes a copy
};

// What a backend's own struct begins with.
struct store {
    const struct store_ops *ops;
    char where[256]; // for people: which database; "" when the URL says it all
    bool is_new;     // the directory had no database
};

// Opens by URL: "sqlite:DIR", "postgres://…" or "memory:". `why` says what is wrong, and what would be right.
err_check enum err store_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX]);
bool store_is_known(const char *url);  // some backend serves it
bool store_is_shared(const char *url); // several processes may have it open
void store_submit(struct store *store, struct store_op *op);
void store_close(struct store *store); // accepts NULL

void store_op_init(struct store_op *op, enum store_verb verb, void (*done)(struct store_op *op));
void store_op_post(struct store_op *op, enum store_verb verb, struct mailbox *answers); // done() puts it into the mailbox
void store_op_to(struct store_op *op, struct mailbox *answers);                         // the same for one that was made already
void store_op_done(struct store_op *op);                                                // frees the results

// Submits and waits: for tools, tests and the start of a server.
void store_call(struct store *store, struct store_op *op);
