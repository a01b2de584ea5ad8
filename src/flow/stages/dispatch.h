// Stage 3, dispatch: broker -> executor. Starts orders while slots are free, lane by lane.
//
// Layer: flow, but it knows neither the store nor the node: what it may do comes through the broker, as controls. So it can run
// in a process that has no database. Owned by the exec thread; what may be called by any thread says so.
#pragma once
#include "base/clock.h"
#include "broker/broker.h"
#include "exec/exec.h"
#include "flow/stages/slots.h"

struct dispatch;

// What keeps a job from starting, as far as its lane and host on this node do. The struct stays the caller's, who waits for
// done(), which is called on the exec thread with the view filled in.
struct dispatch_question {
    struct list link;
    int64_t job_id, lane;
    int priority;
    bool aside;             // it was set aside for its host
    uint64_t host;          // order_host() of its target
    struct slots_view view; // out
    bool preparing;         // out: it waits for what it needs to know, not for a slot
    void (*done)(struct dispatch_question *question);
};

struct dispatch_config {
    struct broker *broker; // it attaches itself to it
    struct exec *exec;     // the dispatcher's from now on
    int slots;             // attempts at once
    struct waker *waker;   // wakes the thread that calls dispatch_turn
    // An attempt begins, with its record. On the exec thread. NULL: nobody wants to know
    void (*started)(void *ctx, const struct outcome *running);
    void *ctx;
};

struct dispatch *dispatch_new(const struct dispatch_config *config);
void dispatch_free(struct dispatch *dispatch);
int64_t dispatch_turn(struct dispatch *dispatch, struct now now); // on the wall clock: when to turn again
size_t dispatch_count(const struct dispatch *dispatch);           // orders that wait and run

// Any thread.
void dispatch_ask(struct dispatch *dispatch, struct dispatch_question *question);
void dispatch_limit_hosts(struct dispatch *dispatch, int per_host); // attempts at once to one host; 0: no limit
void dispatch_stop(struct dispatch *dispatch);                      // starts nothing more; gives back what waits
void dispatch_interrupt(struct dispatch *dispatch);                 // gives up what still runs
