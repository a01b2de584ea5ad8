// Where operations wait for a thread of a backend. While it is busy they gather, and it takes them as a group.
//
// What it does not do: know what is done with them.
#include "store/store_desk.h"

#include "base/cond.h"
#include "store/jobs.h"

#include <stdlib.h>

void desk_init(struct desk *desk)
{
    cond_init(&desk->wake);
    pthread_mutex_init(&desk->lock, NULL);
    list_init(&desk->ops);
}

void desk_done(struct desk *desk)
{
    pthread_cond_destroy(&desk->wake);
    pthread_mutex_destroy(&desk->lock);
}

void desk_start(struct desk *desk, const char *name, void *(*run)(void *ctx), void *ctx)
{
    if (pthread_create(&desk->thread, NULL, run, ctx))
        abort(); // as when memory is gone
    pthread_setname_np(desk->thread, name);
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
    return rows;
}

void desk_put(struct desk *desk, struct store_op *op)
{
    size_t rows = rows_of(op);
    pthread_mutex_lock(&desk->lock);
    bool sleeping = list_empty(&desk->ops);
    list_append(&desk->ops, &op->link);
    desk->rows += rows;
    pthread_mutex_unlock(&desk->lock);
    if (sleeping)
        pthread_cond_signal(&desk->wake);
}

size_t desk_waiting(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    size_t rows = desk->rows;
    pthread_mutex_unlock(&desk->lock);
    return rows;
}

bool desk_take(struct desk *desk, int wait_ms, struct list *ret_ops)
{
    int64_t until = cond_until(wait_ms);
    bool patient = true;
    pthread_mutex_lock(&desk->lock);
    while (patient && list_empty(&desk->ops) && !desk->closing)
        patient = cond_wait(&desk->wake, &desk->lock, until);
    list_splice(ret_ops, &desk->ops);
    desk->rows = 0;
    bool open = !desk->closing || !list_empty(ret_ops);
    pthread_mutex_unlock(&desk->lock);
    return open;
}

bool desk_closing(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    bool closing = desk->closing;
    pthread_mutex_unlock(&desk->lock);
    return closing;
}

void desk_close(struct desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    desk->closing = true;
    pthread_cond_signal(&desk->wake);
    pthread_mutex_unlock(&desk->lock);
    pthread_join(desk->thread, NULL);
}

void desk_take_group(struct list *from, size_t rows_max, bool (*alone)(const struct store_op *op), struct list *ret_group)
{
    list_init(ret_group);
    size_t rows = 0;
    bool full = false;
    while (!list_empty(from) && !full) {
        const struct store_op *op = list_entry(from->next, struct store_op, link);
        rows += rows_of(op);
        full = alone && alone(op);
        if (!list_empty(ret_group) && (full || rows > rows_max))
            return;
        list_append(ret_group, list_take(from));
    }
}

void desk_give_back(struct list *group)
{
    struct list *node;
    while ((node = list_take(group))) {
        struct store_op *op = list_entry(node, struct store_op, link);
        op->done(op);
    }
}
