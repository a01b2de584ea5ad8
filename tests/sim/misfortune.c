// What goes wrong, from one seed: death, freezing, stopping, clocks that jump, a store that is away, queues that are paused.
// (Delays, doubles and single failures are played by the ports.)
#include "store/jobs.h"
#include "world.h"

#include <stdio.h>

static struct sim_node *pick(struct world *world)
{
    return &world->nodes[between(world, 0, world->node_count - 1)];
}

static void crash_one(struct world *world)
{
    struct sim_node *node = pick(world);
    if (!node->up)
        return;
    node_crash(node);
    node_start_later(node, between(world, 100, 40000));
}

static void freeze_one(struct world *world)
{
    struct sim_node *node = pick(world);
    if (node->up)
        node_freeze(node, between(world, 100, 45000));
}

static void stop_one(struct world *world)
{
    struct sim_node *node = pick(world);
    if (node_acts(node))
        node_stop(node);
}

static void jump_one(struct world *world)
{
    static const int64_t jumps[] = {-3600000, -20000, -1500, 1500, 20000, 3600000};
    struct sim_node *node = pick(world);
    node->offset_ms += jumps[between(world, 0, 5)];
    if (chance(world, 400))
        node->offset_ms = 0;
}

static void outage(struct world *world)
{
    world->outage_until = world->now + between(world, 100, 15000);
}

// As the API does it: the store is told, then the lanes of the node that was asked; the others find out.
void set_paused(struct world *world, int32_t tenant, int64_t queue, bool paused)
{
    char name[32];
    snprintf(name, sizeof name, "q%lld", (long long)queue);
    struct store_pause pause = {.tenant = tenant, .queue = str_of(name), .paused = paused};
    store_op_init(&pause.op, STORE_PAUSE, NULL);
    store_call(world->memory, &pause.op);
    struct sim_node *node = pick(world);
    if (node->up && !node->drained)
        lanes_pause(node->flow->lanes, pause.lane, tenant, pause.queue, paused);
    int64_t *since = &world->paused_since[pause.lane % LANES_MAX];
    *since = !paused ? 0 : *since ? *since : world->now + 1;
    store_op_done(&pause.op);
}

static void pause_one(struct world *world)
{
    set_paused(world, (int32_t)between(world, 1, TENANTS), between(world, 1, QUEUES), chance(world, 400));
}

static void misfortune(struct event *event)
{
    static void (*const kinds[])(struct world *) = {crash_one, crash_one, freeze_one, freeze_one, jump_one,
                                                    outage,    pause_one, pause_one,  stop_one};
    struct world *world = event->world;
    if (!world->faults) {
        mem_free(event);
        return;
    }
    kinds[between(world, 0, (int64_t)array_count(kinds) - 1)](world);
    world_at(world, world->now + between(world, 2000, 20000), event, misfortune);
}

void misfortune_start(struct world *world)
{
    struct event *trouble = mem_zero(sizeof *trouble);
    world_at(world, world->now + 5000, trouble, misfortune);
}
