#include "support/faulty_broker.h"

#include "base/mem.h"

#include <string.h>

enum {
    BUSY = 20, // of a thousand
    DOUBLED = 30,
    LATE = 30,
    LATE_MS = 3000,
    OUTCOME_LATE_MS = 500,
};

struct faulty {
    struct broker broker;
    struct broker *inner; // NULL: closed
    struct fault_world world;
    int on_the_way; // it is freed when the last of them has come
};

// What is on its way: one of them.
struct late {
    struct faulty *faulty;
    struct order *order;
    struct outcome *outcome;
    struct control control;
};

static struct faulty *faulty_of(struct broker *broker)
{
    return container_of(broker, struct faulty, broker);
}

static void free_if_done(struct faulty *faulty)
{
    if (!faulty->inner && !faulty->on_the_way)
        mem_free(faulty);
}

// A full broker is tried again a little later: what was accepted is not lost.
static void arrive(void *arg)
{
    struct late *late = arg;
    struct faulty *faulty = late->faulty;
    if (!faulty->inner) {
        order_free(late->order);
        outcome_free(late->outcome);
    } else if (late->outcome) {
        broker_report(faulty->inner, late->outcome);
    } else if (late->order && broker_publish(faulty->inner, late->order)) {
        faulty->world.later(faulty->world.ctx, 1, arrive, late);
        return;
    } else if (!late->order) {
        broker_control(faulty->inner, &late->control);
    }
    faulty->on_the_way--;
    mem_free(late);
    free_if_done(faulty);
}

static void send_late(struct faulty *faulty, struct late what, int64_t most_ms)
{
    struct late *late = mem_alloc(sizeof *late);
    *late = what;
    late->faulty = faulty;
    faulty->on_the_way++;
    faulty->world.later(faulty->world.ctx, faulty->world.between(faulty->world.ctx, 0, most_ms), arrive, late);
}

static bool chance(struct faulty *faulty, int in_thousand)
{
    return faulty->world.chance(faulty->world.ctx, in_thousand);
}

static struct order *copy_order(const struct order *order)
{
    struct order *copy = order_new(&order->job, order->doc);
    memcpy(copy->ticket, order->ticket, sizeof copy->ticket);
    return copy;
}

static struct str copy_text(struct arena *arena, struct str text)
{
    return text.n ? arena_copy(arena, text) : (struct str){0};
}

// As a broker that carries bytes would make it: with an order's memory, and nothing of the first one's.
static struct outcome *copy_outcome(const struct outcome *outcome)
{
    if (!outcome->order)
        return outcome_began(outcome);
    struct order *order = copy_order(outcome->order);
    struct outcome *copy = outcome_new(order);
    struct arena *arena = &order->arena;
    copy->end = outcome->end;
    copy->job = outcome->job;
    copy->job.reason = copy_text(arena, outcome->job.reason);
    copy->job.response = copy_text(arena, outcome->job.response);
    copy->token = outcome->token;
    copy->postpone_to = outcome->postpone_to;
    copy->result = outcome->result;
    copy->result.reason = copy_text(arena, outcome->result.reason);
    copy->result.response = copy_text(arena, outcome->result.response);
    copy->result.result = copy_text(arena, outcome->result.result);
    return copy;
}

static void faulty_attach(struct broker *broker, const struct broker_executor *executor)
{
    broker_attach(faulty_of(broker)->inner, executor);
}

static enum err faulty_publish(struct broker *broker, struct order *order)
{
    struct faulty *faulty = faulty_of(broker);
    if (chance(faulty, BUSY))
        return ERR_BUSY;
    if (chance(faulty, DOUBLED))
        send_late(faulty, (struct late){.order = copy_order(order)}, LATE_MS);
    if (!chance(faulty, LATE))
        return broker_publish(faulty->inner, order);
    send_late(faulty, (struct late){.order = order}, LATE_MS);
    return ERR_OK;
}

static void faulty_take(struct broker *broker, struct list *ret_orders)
{
    broker_take(faulty_of(broker)->inner, ret_orders);
}

static void faulty_report(struct broker *broker, struct outcome *outcome)
{
    struct faulty *faulty = faulty_of(broker);
    if (chance(faulty, DOUBLED))
        send_late(faulty, (struct late){.outcome = copy_outcome(outcome)}, OUTCOME_LATE_MS);
    if (chance(faulty, LATE))
        send_late(faulty, (struct late){.outcome = outcome}, OUTCOME_LATE_MS);
    else
        broker_report(faulty->inner, outcome);
}

static void faulty_take_outcomes(struct broker *broker, struct list *ret_outcomes)
{
    broker_take_outcomes(faulty_of(broker)->inner, ret_outcomes);
}

static void faulty_acknowledge(struct broker *broker, struct outcome *outcome)
{
    broker_acknowledge(faulty_of(broker)->inner, outcome);
}

// Only a revoke may be late: that an executor must not act on what it has not heard is what pauses and renewals are bounded by,
// and by how much is for each broker to say.
static void faulty_control(struct broker *broker, const struct control *control)
{
    struct faulty *faulty = faulty_of(broker);
    if (control->kind == CONTROL_REVOKE && chance(faulty, LATE))
        send_late(faulty, (struct late){.control = *control}, OUTCOME_LATE_MS);
    else
        broker_control(faulty->inner, control);
}

static void faulty_close(struct broker *broker)
{
    struct faulty *faulty = faulty_of(broker);
    broker_close(faulty->inner);
    faulty->inner = NULL;
    free_if_done(faulty);
}

static const struct broker_ops faulty_ops = {.scheme = "faulty",
                                             .attach = faulty_attach,
                                             .publish = faulty_publish,
                                             .take = faulty_take,
                                             .report = faulty_report,
                                             .take_outcomes = faulty_take_outcomes,
                                             .acknowledge = faulty_acknowledge,
                                             .control = faulty_control,
                                             .close = faulty_close};

struct broker *faulty_broker_new(struct broker *inner, const struct fault_world *world)
{
    struct faulty *faulty = mem_zero(sizeof *faulty);
    faulty->broker.ops = &faulty_ops;
    faulty->inner = inner;
    faulty->world = *world;
    return &faulty->broker;
}
