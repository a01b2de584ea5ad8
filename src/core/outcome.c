// An outcome lives in the memory of its order, because an order that has an outcome is needed no more. Only the outcome that says
// that an attempt began is sent while the order stays where it is.
#include "core/outcome.h"

struct outcome *outcome_new(struct order *order)
{
    struct outcome *outcome = arena_alloc(&order->arena, sizeof *outcome);
    outcome->job = order->job;
    outcome->token = order->job.token;
    outcome->policy = order->task.policy;
    outcome->queue = order->task.queue;
    outcome->name = order->task.name;
    outcome->order = order;
    return outcome;
}

static void keep_text(struct arena *arena, struct str *text)
{
    if (text->n)
        *text = arena_copy(arena, *text);
}

struct outcome *outcome_began(const struct outcome *running)
{
    struct arena arena;
    arena_init(&arena);
    struct outcome *began = arena_alloc(&arena, sizeof *began);
    began->end = ORDER_BEGAN;
    began->job = running->job;
    began->token = running->token;
    began->arena = arena;
    keep_text(&began->arena, &began->job.reason);
    keep_text(&began->arena, &began->job.response);
    return began;
}

void outcome_free(struct outcome *outcome)
{
    if (!outcome)
        return;
    if (outcome->order) {
        order_free(outcome->order);
        return;
    }
    struct arena arena = outcome->arena; // the outcome is in it
    arena_done(&arena);
}
