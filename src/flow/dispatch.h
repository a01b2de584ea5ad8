// Stage 3, dispatch: broker -> executor. Starts runs while slots are free, lane by lane.
//
// Layer: flow. Owned by the exec thread; dispatch_revoke and dispatch_ask may be called by any thread.
#pragma once
#include "base/clock.h"
#include "exec/exec.h"
#include "flow/node.h"
#include "flow/slots.h"

struct dispatch;

// What keeps a job from starting, as far as its lane and host are this node's. It stays the asker's, who waits for done(): on the
// exec thread, with the view filled in.
struct dispatch_question {
    struct list link;
    int64_t job_id, lane;
    int priority;
    bool aside;             // it was set aside for its host
    uint64_t host;          // run_host() of its target
    struct slots_view view; // out
    bool preparing;         // out: it waits for what it needs to know, not for a slot
    void (*done)(struct dispatch_question *question);
};

// `waker` wakes the thread that calls dispatch_turn. The executor is the dispatcher's from now on.
struct dispatch *dispatch_new(struct node *node, struct exec *exec, int slots, struct waker *waker);
void dispatch_free(struct dispatch *dispatch);
int64_t dispatch_turn(struct dispatch *dispatch, struct now now); // on the wall clock: when to turn again

void dispatch_revoke(struct dispatch *dispatch, int64_t job_id); // the job is cancelled: do not start it, or end it
void dispatch_ask(struct dispatch *dispatch, struct dispatch_question *question); // any thread
size_t dispatch_count(const struct dispatch *dispatch);                           // waiting and running
void dispatch_limit_hosts(struct dispatch *dispatch, int per_host); // attempts at once to one host; 0: no limit. Any thread
void dispatch_interrupt(struct dispatch *dispatch);                 // gives up what still runs: the process is stopping
