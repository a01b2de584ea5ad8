// The broker port: carries orders from pullers to executors, outcomes back to the completer, and controls to executors: what they
// may do.
//
// Layer: port. Publishing and taking may happen on different threads. What was accepted is delivered at least once, unless its
// taker dies; it may come twice, late and in another order. The store is the truth: the broker is a hint. Nobody is harmed by a
// copy, because a claim is named by its token.
#pragma once
#include "base/mailbox.h"
#include "core/outcome.h"

// What an executor gets beside its orders.
enum control_kind {
    CONTROL_REVOKE, // the job `id` is called off, up to the claim `token`: it must not start, or is to be ended
    CONTROL_PAUSE,  // the lane `id` is paused, or no longer: nothing of a paused one starts
    CONTROL_RENEW,  // the incarnation `id` lives: what it holds may start until `until_ms`, on the monotonic clock; 0: no longer
};

struct control {
    enum control_kind kind;
    int64_t id, token;
    bool paused;
    int64_t until_ms;
};

// The one that executes. control() may be called on any thread, must not block, and has taken effect when it returns.
struct broker_executor {
    void (*control)(void *ctx, const struct control *control);
    void *ctx;
};

struct broker_config {
    int max;                      // orders that wait to be taken
    struct waker *orders_waker;   // of the thread that takes orders
    struct waker *outcomes_waker; // … and outcomes
};

struct broker;

struct broker_ops {
    const char *scheme;
    err_check enum err (*open)(struct broker **ret_broker, const struct broker_config *config, char why[ERR_WHY_MAX]);
    void (*attach)(struct broker *broker, const struct broker_executor *executor);
    err_check enum err (*publish)(struct broker *broker, struct order *order);
    void (*take)(struct broker *broker, struct list *ret_orders);
    void (*report)(struct broker *broker, struct outcome *outcome);
    void (*take_outcomes)(struct broker *broker, struct list *ret_outcomes);
    void (*acknowledge)(struct broker *broker, struct outcome *outcome);
    void (*control)(struct broker *broker, const struct control *control);
    void (*close)(struct broker *broker);
};

// What a backend's own struct begins with.
struct broker {
    const struct broker_ops *ops;
};

// Opens by URL: "local:". `why` says what is wrong, and what would be right.
err_check enum err broker_open(struct broker **ret_broker, const char *url, const struct broker_config *config,
                               char why[ERR_WHY_MAX]);
void broker_close(struct broker *broker); // accepts NULL; frees what was not taken

// The puller's side. ERR_BUSY: full, the order stays the caller's.
err_check enum err broker_publish(struct broker *broker, struct order *order);
// With "local:" a control has taken effect when this returns, with another broker within its bound. An executor that gets no
// CONTROL_RENEW for that long starts nothing more.
void broker_control(struct broker *broker, const struct control *control);

// The executor's side. An order that was taken is the taker's to run or to give back.
void broker_attach(struct broker *broker, const struct broker_executor *executor); // copied; before the first control
void broker_take(struct broker *broker, struct list *ret_orders);
void broker_report(struct broker *broker, struct outcome *outcome);

// The completer's side. What was taken and not acknowledged may be delivered again to whoever comes after it.
void broker_take_outcomes(struct broker *broker, struct list *ret_outcomes);
void broker_acknowledge(struct broker *broker, struct outcome *outcome); // what it says is written; frees it

extern const struct broker_ops broker_local_ops;
