// The store as a node sees it: delayed, failing before or after the work was done, and away for a while.
#include "store/lives.h"
#include "world.h"

#include <stdio.h>

enum { FLAKY = 40 }; // of a thousand operations, when nothing else goes wrong

struct pending {
    struct event event;
    struct list link;
    struct sim_store *store;
    struct store_op *op;
    void (*done)(struct store_op *op);
    bool fail_before, fail_after, executed;
};

struct sim_store {
    struct store store;
    struct sim_node *node;
    struct list pending;
    bool dead;
};

static void ignore(struct store_op *op)
{
}

static void execute(struct pending *pending)
{
    struct sim_node *node = pending->store->node;
    pending->op->done = ignore;
    store_submit(node->world->memory, pending->op);
    pending->executed = true;
    int64_t clock = node->world->store_clock ? EPOCH + node->world->now : 0;
    if (pending->op->verb == STORE_JOIN) { // a lone node knows that it is, as with SQLite's lock
        struct store_join *join = container_of(pending->op, struct store_join, op);
        join->alone = node->world->node_count == 1;
        join->clock_ms = clock;
    }
    if (pending->op->verb == STORE_BEAT)
        container_of(pending->op, struct store_beat, op)->clock_ms = clock;
    check_operation(node, pending->op);
}

static void deliver(struct event *event)
{
    struct pending *pending = container_of(event, struct pending, event);
    struct store_op *op = pending->op;
    list_remove(&pending->link);
    if (pending->store->dead) {
        keep(event->world, op);
        mem_free(pending);
        return;
    }
    if (pending->fail_before || pending->fail_after) {
        op->err = ERR_STORE_UNAVAILABLE;
        snprintf(op->why, sizeof op->why, "played");
    }
    op->done = pending->done;
    mem_free(pending);
    op->done(op);
}

static void carry_out(struct event *event)
{
    struct pending *pending = container_of(event, struct pending, event);
    struct world *world = event->world;
    if (!pending->fail_before)
        execute(pending);
    bool late = world->faults && chance(world, 40);
    world_at(world, world->now + (late ? between(world, 50, 4000) : between(world, 0, 4)), event, deliver);
}

// What a frozen node has asked for without it having left the process: it comes when the node wakes.
void sim_store_hold(struct store *port, int64_t until)
{
    struct sim_store *store = (struct sim_store *)port;
    list_each (&store->pending, link) {
        struct pending *pending = list_entry(link, struct pending, link);
        if (!pending->executed && !pending->fail_before)
            world_at(store->node->world, until, &pending->event, carry_out);
    }
}

static void submit(struct store *port, struct store_op *op)
{
    struct sim_store *store = (struct sim_store *)port;
    struct world *world = store->node->world;
    struct pending *pending = mem_zero(sizeof *pending);
    pending->store = store;
    pending->op = op;
    pending->done = op->done;
    if (world->faults || world->flaky) {
        int often = world->flaky ? FLAKY : 8;
        pending->fail_before = world->now < world->outage_until || chance(world, often);
        pending->fail_after = !pending->fail_before && chance(world, often);
    }
    int slow = op->verb == STORE_DIVIDE ? 200 : 10; // there are few of them, and somebody else is to be quicker now and then
    int64_t delay = world->faults && chance(world, slow) ? between(world, 50, 2000) : between(world, 0, 3);
    list_append(&store->pending, &pending->link);
    world_at(world, world->now + delay, &pending->event, carry_out);
}

bool sim_store_idle(const struct store *port)
{
    return list_empty(&((const struct sim_store *)port)->pending);
}

void sim_store_crash(struct store *port)
{
    struct sim_store *store = (struct sim_store *)port;
    store->dead = true;
    // Whether the last words reached the database is up to chance. Their memory died with the node, so they are carried out
    // now or never.
    list_each (&store->pending, link) {
        struct pending *pending = list_entry(link, struct pending, link);
        if (!pending->executed && !pending->fail_before && chance(store->node->world, 500))
            execute(pending);
        pending->fail_before = true;
    }
}

static const struct store_ops ops = {.scheme = "sim", .submit = submit};

struct store *sim_store_new(struct sim_node *node)
{
    struct sim_store *store = mem_zero(sizeof *store);
    store->store.ops = &ops;
    store->node = node;
    list_init(&store->pending);
    return &store->store;
}
