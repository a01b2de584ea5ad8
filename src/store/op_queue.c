// Where operations wait for a thread of a backend. While it is busy they gather, and it takes them as a group.
//
// What it does not do: know what is done with them.
#include "store/op_queue.h"

#include "base/cond.h"
#include "store/plans.h"

#include <stdlib.h>

void op_queue_init(struct op_queue *queue)
{
    cond_init(&queue->wake);
    pthread_mutex_init(&queue->lock, NULL);
    list_init(&queue->ops);
}

void op_queue_done(struct op_queue *queue)
{
    pthread_cond_destroy(&queue->wake);
    pthread_mutex_destroy(&queue->lock);
}

void op_queue_start(struct op_queue *queue, const char *name, void *(*run)(void *ctx), void *ctx)
{
    if (pthread_create(&queue->thread, NULL, run, ctx))
        abort(); // as when memory is gone
    pthread_setname_np(queue->thread, name);
}

enum { ROW_BYTES = 4096 }; // a large result weighs as much as so many rows

static size_t rows_of(const struct store_op *op)
{
    size_t rows = 1;
    if (op->verb == STORE_ADD)
        rows = container_of(op, struct store_add, op)->count;
    if (op->verb == STORE_CHANGE)
        rows = container_of(op, struct store_change, op)->count + container_of(op, struct store_change, op)->bytes / ROW_BYTES;
    if (op->verb == STORE_DUE)
        rows = container_of(op, struct store_due, op)->max;
    if (op->verb == STORE_SWEEP)
        rows = container_of(op, struct store_sweep, op)->max;
    if (op->verb == STORE_CLAIM)
        for (size_t i = 0; i < container_of(op, struct store_claim, op)->want_count; i++)
            rows += container_of(op, struct store_claim, op)->wants[i].max;
    if (op->verb == STORE_PLAN)
        for (size_t i = 0; i < container_of(op, struct store_plan, op)->count; i++)
            rows += 1 + container_of(op, struct store_plan, op)->items[i].job_count;
    return rows;
}

void op_queue_put(struct op_queue *queue, struct store_op *op)
{
    size_t rows = rows_of(op);
    pthread_mutex_lock(&queue->lock);
    bool sleeping = list_empty(&queue->ops);
    list_append(&queue->ops, &op->link);
    queue->rows += rows;
    pthread_mutex_unlock(&queue->lock);
    if (sleeping)
        pthread_cond_signal(&queue->wake);
}

size_t op_queue_waiting(struct op_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    size_t rows = queue->rows;
    pthread_mutex_unlock(&queue->lock);
    return rows;
}

bool op_queue_take(struct op_queue *queue, int wait_ms, struct list *ret_ops)
{
    int64_t until = cond_until(wait_ms);
    bool patient = true;
    pthread_mutex_lock(&queue->lock);
    while (patient && list_empty(&queue->ops) && !queue->closing)
        patient = cond_wait(&queue->wake, &queue->lock, until);
    list_splice(ret_ops, &queue->ops);
    queue->rows = 0;
    bool open = !queue->closing || !list_empty(ret_ops);
    pthread_mutex_unlock(&queue->lock);
    return open;
}

bool op_queue_closing(struct op_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool closing = queue->closing;
    pthread_mutex_unlock(&queue->lock);
    return closing;
}

void op_queue_close(struct op_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closing = true;
    pthread_cond_signal(&queue->wake);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
}

void op_queue_take_group(struct list *from, size_t rows_max, op_queue_apart *apart, struct list *ret_group)
{
    const struct store_op *last = NULL;
    size_t rows = 0;
    list_init(ret_group);
    while (!list_empty(from)) {
        const struct store_op *op = list_entry(from->next, struct store_op, link);
        rows += rows_of(op);
        if (last && (rows > rows_max || (apart && apart(last, op))))
            return;
        list_append(ret_group, list_take(from));
        last = op;
    }
}

void op_queue_give_back(struct list *group)
{
    struct list *node;
    while ((node = list_take(group))) {
        struct store_op *op = list_entry(node, struct store_op, link);
        op->done(op);
    }
}
