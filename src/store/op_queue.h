// A queue: a thread of a backend and the operations that wait for it. Private to this folder.
// Layer: port. Any thread may put; only the queue's own thread takes.
#pragma once
#include "store/store.h"

#include <pthread.h>

struct op_queue {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct list ops;
    size_t rows; // that they bring, about
    bool closing;
};

void op_queue_init(struct op_queue *queue);
void op_queue_done(struct op_queue *queue);
void op_queue_start(struct op_queue *queue, const char *name, void *(*run)(void *ctx),
                    void *ctx); // aborts when there is no thread to be had
void op_queue_put(struct op_queue *queue, struct store_op *op);
size_t op_queue_waiting(struct op_queue *queue); // how many rows wait

// Takes everything that waits. Waits for it at most wait_ms (-1: for ever). False: the queue is closed and empty.
bool op_queue_take(struct op_queue *queue, int wait_ms, struct list *ret_ops);
bool op_queue_closing(struct op_queue *queue);
void op_queue_close(struct op_queue *queue); // returns when its thread has ended

// Moves the first operations of `from` that fit together in one transaction: up to rows_max rows, unless a single one has more.
// A group ends between two of which apart() says so (NULL: of none).
typedef bool op_queue_apart(const struct store_op *op, const struct store_op *next);
void op_queue_take_group(struct list *from, size_t rows_max, op_queue_apart *apart, struct list *ret_group);
void op_queue_give_back(struct list *group); // done() for each
