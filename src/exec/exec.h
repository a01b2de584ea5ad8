// The exec port: carries out attempts.
// Layer: port. Everything on one thread, the dispatcher's.
#pragma once
#include "base/clock.h"
#include "base/mailbox.h"
#include "core/outcome.h"

// One attempt, as the dispatcher hands it over. It and its order stay where they are until ended() or forget(); what lives as
// long as the order may be taken from the order's arena.
struct exec_attempt {
    struct order *order;
    struct outcome *outcome; // ->job is the record as the attempt began, ->result is the exec's to fill in. NULL before start()
    void *own;               // the exec's
};

struct exec;

struct exec_ops {
    // Is everything known that an attempt needs, such as where its host is? If not it is found out, and exec->prepared() is
    // called, never from within prepare(), unless it is forgotten before. Meanwhile no attempt has begun. NULL: always.
    bool (*prepare)(struct exec *exec, struct exec_attempt *attempt);
    void (*forget)(struct exec *exec, struct exec_attempt *attempt);
    // Begins an attempt. Ends with exec->ended(), never from within start().
    void (*start)(struct exec *exec, struct exec_attempt *attempt, struct now now);
    // Ends it early: ended() is called before the next poll returns, with OUTCOME_CANCELLED unless it had ended by itself.
    void (*cancel)(struct exec *exec, struct exec_attempt *attempt);
    // Does what is to be done, waiting at most wait_ns for it (0: not at all).
    void (*poll)(struct exec *exec, int64_t wait_ns);
    void (*close)(struct exec *exec); // nothing may be running
};

struct exec {
    const struct exec_ops *ops;
    void (*prepared)(void *ctx, struct exec_attempt *attempt);
    void (*ended)(void *ctx, struct exec_attempt *attempt); // its result is filled in
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
