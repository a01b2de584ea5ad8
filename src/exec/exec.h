// The executor port: carries out attempts.
// Layer: port. Everything on one thread, the dispatcher's.
#pragma once
#include "base/clock.h"
#include "base/mailbox.h"
#include "broker/run.h"

struct exec;

struct exec_ops {
    // Is everything known that an attempt needs, such as where its host is? If not it is found out, and exec->prepared() is
    // called, never from within prepare(), unless it is forgotten before. Meanwhile no attempt has begun. NULL: always.
    bool (*prepare)(struct exec *exec, struct run *run);
    void (*forget)(struct exec *exec, struct run *run);
    // Begins an attempt; run->job is `reserved`. Ends with exec->ended(), never from within start().
    void (*start)(struct exec *exec, struct run *run, struct now now);
    // Ends it early: ended() is called before the next poll returns, with OUTCOME_CANCELLED unless it had ended by itself.
    void (*cancel)(struct exec *exec, struct run *run);
    // Does what is to be done, waiting at most wait_ns for it (0: not at all).
    void (*poll)(struct exec *exec, int64_t wait_ns);
    void (*close)(struct exec *exec); // nothing may be running
};

struct exec {
    const struct exec_ops *ops;
    void (*prepared)(void *ctx, struct run *run);
    void (*ended)(void *ctx, struct run *run); // run->result is filled in; the run is the callee's
    void *ctx;
};

struct exec_http_config {
    int connections_max;  // kept open for reuse
    size_t response_max;  // bytes of an answer that are kept
    bool private_allowed; // may loopback and private addresses be called
    const char *user_agent;
};

err_check enum err exec_http_new(struct exec **ret_exec, const struct exec_http_config *config, char why[ERR_WHY_MAX]);

// How many bytes of an answer are kept of calls that begin from now on. Any thread.
void exec_http_keep_response(struct exec *exec, size_t response_max);

// The waker that ends exec_http's poll from another thread.
struct waker *exec_http_waker(struct exec *exec);
