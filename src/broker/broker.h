// The broker port: carries runs from the puller to the dispatchers, and words about them back to the completer.
//
// Layer: port. Publishing and taking may happen on different threads. What was accepted is delivered at least once, unless its
// taker dies; it may come twice, late and in another order. The store is the truth: the broker is a hint.
#pragma once
#include "base/mailbox.h"
#include "broker/run.h"

struct broker;

struct broker_ops {
    const char *scheme;
    err_check enum err (*publish)(struct broker *broker, struct run *run); // ERR_BUSY: full, the run stays the caller's
    void (*take)(struct broker *broker, struct list *ret_runs);
    void (*note)(struct broker *broker, struct run_note *note);
    void (*take_notes)(struct broker *broker, struct list *ret_notes);
    void (*close)(struct broker *broker); // frees what was not taken
};

struct broker {
    const struct broker_ops *ops;
};

err_check enum err broker_publish(struct broker *broker, struct run *run);
void broker_take(struct broker *broker, struct list *ret_runs);
void broker_note(struct broker *broker, struct run_note *note);
void broker_take_notes(struct broker *broker, struct list *ret_notes);
void broker_close(struct broker *broker); // accepts NULL

// The broker of one process: two mailboxes. Holds at most `max` runs. The wakers belong to the threads that take.
struct broker *broker_local_new(int max, struct waker *runs_waker, struct waker *notes_waker);
