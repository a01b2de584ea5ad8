// A thread that calls turns: does all that is due, sleeps until the next time or until it is woken.
// Layer: node.
#pragma once
#include "base/clock.h"
#include "base/mailbox.h"

#include <stdatomic.h>
#include <stdint.h>

struct loop {
    struct waker waker; // first, so that the waker leads to its loop
    const char *name;
    int64_t (*turn)(void *ctx, struct now now); // returns when to turn again, on the wall clock
    void *ctx;
    int fd; // eventfd
    _Atomic bool signalled, stop;
    _Atomic uint64_t turns; // how many it has made: what stands still is stuck
    pthread_t thread;
};

void loop_init(struct loop *loop, const char *name);
void loop_start(struct loop *loop, int64_t (*turn)(void *ctx, struct now now), void *ctx);
void loop_stop(struct loop *loop); // waits for the thread
void loop_done(struct loop *loop);
