// An order and its document are one block of memory, the first of the order's own arena, and the parsed task is slices of it.
// That block has room for what the dispatcher and exec add, for the outcome, and for a short answer of the target: a
// second block would be allocated and freed by two threads, which costs more than the room in orders that wait.
#include "core/order.h"

#include "base/data/hash.h"
#include "core/outcome.h"

enum { SHORT_ANSWER = 48, ROOM = ORDER_ROOM_DISPATCHER + ORDER_ROOM_EXEC + SHORT_ANSWER + sizeof(struct outcome) };

uint64_t order_host(const struct target *target)
{
    struct target_host host;
    return target_host(target, &host) ? hash_bytes(host.name.p, host.name.n) + host.port : 0;
}

static void read_doc(struct order *order)
{
    char why[ERR_WHY_MAX];
    order->readable = task_read(&order->task, order->doc, &order->arena, why);
    if (order->readable)
        order->host = order_host(&order->task.target);
    else
        order->why = arena_printf(&order->arena, "its document cannot be read: %s", why);
}

struct order *order_new(const struct job *job, struct str doc)
{
    struct arena arena;
    size_t recurrence = job->trigger == TRIGGER_SUBMIT ? 0 : sizeof(struct recurrence); // only a one-time task has jobs by submit
    arena_init_for(&arena, sizeof(struct order) + doc.n + 1 + recurrence + ROOM);
    struct order *order = arena_alloc(&arena, sizeof *order);
    order->job = *job;
    order->doc = arena_copy(&arena, doc);
    order->arena = arena;
    if (job->reason.n)
        order->job.reason = arena_copy(&order->arena, job->reason);
    if (job->response.n)
        order->job.response = arena_copy(&order->arena, job->response);
    order->job.result = (struct str){0}; // what is claimed has none
    read_doc(order);
    return order;
}

void order_free(struct order *order)
{
    if (!order)
        return;
    struct arena arena = order->arena; // the order is in it
    arena_done(&arena);
}
