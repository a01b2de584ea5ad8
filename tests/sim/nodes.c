// The nodes: turns on virtual time, birth, sudden death and graceful stop. What a node does in its turn is rota's own.
#include "store/lives.h"
#include "world.h"

#include <stdlib.h>

enum {
    SLEEP_MAX_MS = 500, // as the server's loops
    TURNS_MAX = 200,    // turns at one instant: more is a loop without end
    GRACE_MS = 5000,    // what runs may take so long when a node stops, then it is interrupted
    STOP_MAX_MS = 25000,
    DECIDED_MS = 30000, // so long ago a node may have decided what it writes
};

struct node_event {
    struct event event;
    struct sim_node *node;
};

static struct node_event turns[NODES];

struct now node_now(const struct sim_node *node)
{
    return (struct now){.wall_ms = EPOCH + node->world->now + node->offset_ms + node->correction_ms,
                        .mono_ms = node->world->now + node->mono_base};
}

// Corrected to within the time that a beat takes, it counts as right.
bool node_clock_wrong(const struct sim_node *node)
{
    return llabs(node->offset_ms + node->correction_ms) > CLOCK_MAX_MS;
}

bool node_clock_was_wrong(const struct sim_node *node)
{
    return node_clock_wrong(node) || (node->wrong_at && node->world->now - node->wrong_at < DECIDED_MS);
}

static void correct_clock(void *ctx, int64_t by_ms)
{
    struct sim_node *node = ctx;
    node->corrected_at = node->world->now;
    node->found_ms += by_ms; // the turn goes on with the time it began at
}

bool node_acts(const struct sim_node *node)
{
    return node->up && !node->stop_since && node->world->now >= node->frozen_until;
}

struct sim_node *any_node(struct world *world)
{
    for (int tries = 0; tries < 20; tries++) {
        struct sim_node *node = &world->nodes[between(world, 0, world->node_count - 1)];
        if (node_acts(node))
            return node;
    }
    return NULL;
}

static void turn(struct event *event);

static void schedule(struct sim_node *node, int64_t at)
{
    node->turn_at = at;
    world_at(node->world, at, &turns[node->number].event, turn);
}

static void wake(struct waker *waker)
{
    struct sim_node *node = container_of(waker, struct sim_node, waker);
    node->woken = true;
    if (node->turn_at > node->world->now && node->world->now >= node->frozen_until)
        schedule(node, node->world->now);
}

static void do_turns(struct sim_node *node)
{
    struct world *world = node->world;
    node->correction_ms = node->found_ms;
    if (node_clock_wrong(node))
        node->wrong_at = world->now;
    world->ahead_ms = time_max(world->ahead_ms, node->offset_ms + node->correction_ms);
    struct now now = node_now(node);
    int64_t next = now.wall_ms + SLEEP_MAX_MS;
    int count = 0;
    node->turn_at = world->now;
    do {
        node->woken = false;
        next = time_min(now.wall_ms + SLEEP_MAX_MS, flow_turn(node->flow, now));
        node->drained = node->stop_since && flow_drained(node->flow); // the server, too, believes it at once
        next = time_min(next, flow_exec_turn(node->flow, now));
        node->exec->ops->poll(node->exec, 0);
        if (++count == TURNS_MAX) {
            violate(world, 7, "node %d turns without end", node->number);
            break;
        }
    } while (node->woken && !node->drained);
    int64_t at = world->now + time_max(next - now.wall_ms, 1);
    schedule(node, time_min(at, time_max(sim_exec_next(node->exec), world->now + 1)));
    node->frozen_until = 0;
    check_turn(node);
}

// It says goodbye and is taken apart, as the server does it.
static void leave(struct sim_node *node)
{
    struct world *world = node->world;
    struct store_forget forget = {.incarnation = atomic_load(&node->flow->node.incarnation)};
    store_op_init(&forget.op, STORE_FORGET, NULL);
    store_call(world->memory, &forget.op);
    if (forget.op.err)
        violate(world, 16, "node %d stopped and left: %s", node->number, forget.op.why);
    store_op_done(&forget.op);
    node->up = false;
    flow_free(node->flow);
    broker_close(node->broker);
    keep(world, node->store);
    keep(world, node->exec);
    node_start_later(node, between(world, 100, 10000));
}

// How far the stop has come. A node that cannot end is killed, as the server's supervisor would.
static void go_on_stopping(struct sim_node *node)
{
    struct world *world = node->world;
    int64_t since = world->now - node->stop_since;
    if (node->drained) {
        if (sim_store_idle(node->store))
            leave(node);
        else
            schedule(node, world->now + 1);
        return;
    }
    if (since >= GRACE_MS && !node->interrupted) {
        node->interrupted = true;
        dispatch_interrupt(node->flow->dispatch);
        schedule(node, world->now + 1);
    }
    if (since < STOP_MAX_MS)
        return;
    bool undisturbed = world->outage_until < node->stop_since && node->trouble_since < node->stop_since;
    if (undisturbed)
        violate(world, 16, "node %d does not stop: %zu jobs are in hand", node->number, pull_count(node->flow->pull));
    node_crash(node);
    node_start_later(node, between(world, 100, 10000));
}

static void turn(struct event *event)
{
    struct sim_node *node = container_of(event, struct node_event, event)->node;
    struct world *world = node->world;
    if (!node->up)
        return;
    if (world->now < node->frozen_until) {
        schedule(node, node->frozen_until);
        return;
    }
    if (!node->drained)
        do_turns(node);
    if (node->stop_since)
        go_on_stopping(node);
}

void node_start(struct sim_node *node)
{
    struct world *world = node->world;
    turns[node->number].node = node;
    node->life++;
    node->up = true;
    node->frozen_until = node->stop_since = 0;
    node->drained = node->interrupted = false;
    node->mono_base = between(world, 1, 1000000000);
    node->waker.wake = wake;
    node->store = sim_store_new(node);
    node->broker = sim_broker_new(node);
    node->exec = sim_exec_new(node);
    node->correction_ms = node->found_ms = 0;
    struct flow_config config = {.room = ROOM,
                                 .room_bytes = ROOM_BYTES,
                                 .slots = SLOTS,
                                 .seed = rand_next(&world->rand),
                                 .zones = world->zones,
                                 .api_only = world->api_node && node->number == 0,
                                 .correct_clock = correct_clock,
                                 .clock_ctx = node};
    node->flow = flow_new(&config, node->store, node->broker, node->exec, &node->waker, &node->waker);
    schedule(node, world->now);
}

static void start_now(struct event *event)
{
    struct node_event *start = container_of(event, struct node_event, event);
    node_start(start->node);
    mem_free(start);
}

void node_start_later(struct sim_node *node, int64_t delay_ms)
{
    struct node_event *start = mem_zero(sizeof *start);
    start->node = node;
    world_at(node->world, node->world->now + delay_ms, &start->event, start_now);
}

void node_stop(struct sim_node *node)
{
    node->stop_since = node->world->now;
    flow_stop(node->flow);
    schedule(node, node->world->now);
}

void node_freeze(struct sim_node *node, int64_t ms)
{
    struct world *world = node->world;
    node->frozen_until = node->trouble_since = world->now + ms;
    if (chance(world, 700))
        sim_store_hold(node->store, node->frozen_until);
}

void keep(struct world *world, void *what)
{
    if (world->zombie_count < array_count(world->zombies))
        world->zombies[world->zombie_count++] = what;
}

// What is on its way inside the node dies with it. Its memory is kept: operations in flight point into it.
void node_crash(struct sim_node *node)
{
    node->up = false;
    node->stop_since = 0;
    sim_store_crash(node->store);
    sim_exec_crash(node->exec);
    clients_crash(node->world, node);
    reports_crash(node->world, node);
    keep(node->world, node->flow);
    keep(node->world, node->store);
    keep(node->world, node->broker);
    keep(node->world, node->exec);
}
