// What is said later about an attempt that goes on elsewhere: it succeeded, it failed, it goes on.
// Layer: flow. Owned by the flow thread; settle_submit may be called by any thread.
#pragma once
#include "base/clock.h"
#include "flow/record.h"

enum settle_word { SETTLE_COMPLETE, SETTLE_FAIL, SETTLE_BEAT };

struct settle_op {
    struct list link;
    enum settle_word word;
    int64_t job_id;
    struct str ticket; // as it was sent in Rota-Token
    int32_t tenant;    // who asks. The ticket needs none, but whoever has no right one learns only of its own jobs
    struct str result; // COMPLETE: JSON, or empty. BEAT: with .p, how far it has come
    struct str reason; // FAIL
    bool no_retry;     // FAIL: another try would be in vain
    void (*done)(struct settle_op *op); // on the flow thread, when it is durable: may only enqueue
    void *ctx;
    enum err err; // ERR_NOT_FOUND, ERR_LEASE_LOST, ERR_ILLEGAL_TRANSITION, ERR_BUSY, ERR_STOPPING, a store error
    char why[ERR_WHY_MAX];
};

struct settle;

struct settle *settle_new(struct node *node, struct recorder *recorder, uint64_t seed);
void settle_free(struct settle *settle);
int64_t settle_turn(struct settle *settle, struct now now);      // on the wall clock: when to turn again
void settle_submit(struct settle *settle, struct settle_op *op); // its texts stay the caller's, and live until done()
bool settle_idle(const struct settle *settle);
