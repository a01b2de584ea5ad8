// A desk: a thread of a backend and the operations that wait for it. Private to this folder.
// Layer: port. Any thread may put; only the desk's own thread takes.
#pragma once
#include "store/store.h"

#include <pthread.h>

struct desk {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct list ops;
    size_t rows; // that they bring, about
    bool closing;
};

void desk_init(struct desk *desk);
void desk_done(struct desk *desk);
void desk_start(struct desk *desk, const char *name, void *(*run)(void *ctx),
                void *ctx); // aborts when there is no thread to be had
void desk_put(struct desk *desk, struct store_op *op);
size_t desk_waiting(struct desk *desk); // how many rows wait

// Takes everything that waits. Waits for it at most wait_ms (-1: for ever). False: the desk is closed and empty.
bool desk_take(struct desk *desk, int wait_ms, struct list *ret_ops);
bool desk_closing(struct desk *desk);
void desk_close(struct desk *desk); // returns when its thread has ended

// Moves the first operations of `from` that fit together in one transaction: up to rows_max rows, unless a single one has more.
// One for which alone() says so (NULL: none) is a group of its own.
void desk_take_group(struct list *from, size_t rows_max, bool (*alone)(const struct store_op *op), struct list *ret_group);
void desk_give_back(struct list *group); // done() for each
