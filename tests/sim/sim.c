// `sim SEED` runs one world and says what happened; `sim --suite N` runs seeds 1 … N, each in a process of its own, and fails
// when an invariant broke or when a rare event never occurred in all of them. The same seed gives the same run.
#include "world.h"

#include "base/log.h"
#include "base/mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ACTIVE_MS = 240 * 1000,      // with clients and misfortune
    QUIET_MS = 12 * 3600 * 1000, // afterwards everything must come to its end within this: clocks may have been hours ahead
    SLEEP_MAX_MS = 500,          // as the server's loops
    TURNS_MAX = 200,             // turns at one instant: more is a loop without end
};

static const int64_t EPOCH = 1800000000000; // any time will do; this one is in 2027

void world_at(struct world *world, int64_t at_ms, struct event *event, void (*happen)(struct event *event))
{
    event->world = world;
    event->happen = happen;
    heap_set(&world->events, &event->node, at_ms << 22 | (world->sequence++ & 0x3fffff));
}

bool chance(struct world *world, int in_thousand)
{
    return rand_below(&world->rand, 1000) < (uint64_t)in_thousand;
}

int64_t between(struct world *world, int64_t low, int64_t high)
{
    return low + (int64_t)rand_below(&world->rand, (uint64_t)(high - low + 1));
}

struct now node_now(const struct sim_node *node)
{
    return (struct now){.wall_ms = EPOCH + node->world->now + node->offset_ms, .mono_ms = node->world->now + node->mono_base};
}

bool node_acts(const struct sim_node *node)
{
    return node->up && node->world->now >= node->frozen_until;
}

// ---- nodes

struct node_event {
    struct event event;
    struct sim_node *node;
};

static struct node_event turns[NODES];

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
    struct now now = node_now(node);
    int64_t next = now.wall_ms + SLEEP_MAX_MS;
    int count = 0;
    node->turn_at = world->now;
    do {
        node->woken = false;
        next = time_min(now.wall_ms + SLEEP_MAX_MS, flow_turn(node->flow, now));
        next = time_min(next, flow_exec_turn(node->flow, now));
        node->exec->ops->poll(node->exec, 0);
        if (++count == TURNS_MAX) {
            violate(world, 7, "node %d turns without end", node->number);
            break;
        }
    } while (node->woken);
    int64_t at = world->now + time_max(next - now.wall_ms, 1);
    schedule(node, time_min(at, time_max(sim_exec_next(node->exec), world->now + 1)));
    node->frozen_until = 0;
}

static void node_start(struct sim_node *node)
{
    struct world *world = node->world;
    node->life++;
    node->up = true;
    node->frozen_until = 0;
    node->mono_base = between(world, 1, 1000000000);
    node->waker.wake = wake;
    node->store = sim_store_new(node);
    node->broker = sim_broker_new(node);
    node->exec = sim_exec_new(node);
    struct flow_config config = {.room = ROOM, .slots = SLOTS, .seed = rand_next(&world->rand)};
    node->flow = flow_new(&config, node->store, node->broker, node->exec, &node->waker, &node->waker);
    schedule(node, world->now);
}

static void keep(struct world *world, void *what)
{
    if (world->zombie_count < sizeof world->zombies / sizeof *world->zombies)
        world->zombies[world->zombie_count++] = what;
}

// What is on its way inside the node dies with it. Its memory is kept: operations in flight point into it.
static void node_crash(struct sim_node *node)
{
    node->up = false;
    sim_store_crash(node->store);
    sim_exec_crash(node->exec);
    clients_crash(node->world, node);
    keep(node->world, node->flow);
    keep(node->world, node->store);
    keep(node->world, node->broker);
    keep(node->world, node->exec);
}

// ---- misfortune

static void restart(struct event *event)
{
    struct node_event *restart_event = container_of(event, struct node_event, event);
    node_start(restart_event->node);
    mem_free(restart_event);
}

static void crash_one(struct world *world)
{
    struct sim_node *node = &world->nodes[between(world, 0, NODES - 1)];
    if (!node->up)
        return;
    node_crash(node);
    struct node_event *back = mem_zero(sizeof *back);
    back->node = node;
    world_at(world, world->now + between(world, 100, 40000), &back->event, restart);
}

static void freeze_one(struct world *world)
{
    struct sim_node *node = &world->nodes[between(world, 0, NODES - 1)];
    if (node->up)
        node->frozen_until = world->now + between(world, 100, 45000);
}

static void jump_one(struct world *world)
{
    static const int64_t jumps[] = {-3600000, -20000, -1500, 1500, 20000, 3600000};
    struct sim_node *node = &world->nodes[between(world, 0, NODES - 1)];
    node->offset_ms += jumps[between(world, 0, 5)];
    if (chance(world, 400))
        node->offset_ms = 0;
}

static void outage(struct world *world)
{
    world->outage_until = world->now + between(world, 100, 15000);
}

// As the API does it: the store is told, then the lanes of the node that was asked; the others find out.
static void set_paused(struct world *world, int64_t queue, bool paused)
{
    char name[32];
    snprintf(name, sizeof name, "q%lld", (long long)queue);
    struct store_pause pause = {.tenant = 1, .queue = str_of(name), .paused = paused};
    store_op_init(&pause.op, STORE_PAUSE, NULL);
    store_call(world->memory, &pause.op);
    struct sim_node *node = &world->nodes[between(world, 0, NODES - 1)];
    if (node->up)
        lanes_pause(node->flow->lanes, pause.lane, 1, pause.queue, paused);
    store_op_done(&pause.op);
}

static void pause_one(struct world *world)
{
    set_paused(world, between(world, 1, 4), chance(world, 400));
}

static void misfortune(struct event *event)
{
    static void (*const kinds[])(struct world *) = {crash_one, crash_one, freeze_one, freeze_one,
                                                    jump_one,  outage,    pause_one,  pause_one};
    struct world *world = event->world;
    if (!world->faults)
        return;
    kinds[between(world, 0, 7)](world);
    world_at(world, world->now + between(world, 2000, 20000), event, misfortune);
}

// ---- the run

static bool all_final(struct world *world)
{
    int64_t id;
    size_t at = 0;
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
        if (!job_state_final(shadow->job.state))
            return false;
    for (int i = 0; i < NODES; i++)
        if (!world->nodes[i].up || lanes_held(world->nodes[i].flow->lanes) || !steer_idle(world->nodes[i].flow->steer))
            return false;
    return clients_done(world);
}

static void run_until(struct world *world, int64_t until, bool stop_when_final)
{
    int64_t looked = world->now;
    for (struct heap_node *top; (top = heap_top(&world->events)) && top->key >> 22 <= until;) {
        struct event *event = container_of(top, struct event, node);
        world->now = time_max(world->now, top->key >> 22);
        heap_remove(&world->events, top);
        event->happen(event);
        if (stop_when_final && world->now > looked + 1000) {
            looked = world->now;
            if (all_final(world))
                return;
        }
    }
}

static int run_seed(uint64_t seed)
{
    static struct world the_world;
    struct world *world = &the_world;
    char why[ERR_WHY_MAX];
    world->seed = seed;
    rand_init(&world->rand, seed);
    if (store_open(&world->memory, "memory:", why))
        return 1;
    world->faults = true;
    for (int i = 0; i < NODES; i++) {
        world->nodes[i] = (struct sim_node){.world = world, .number = i};
        turns[i].node = &world->nodes[i];
        node_start(&world->nodes[i]);
    }
    clients_start(world);
    struct event *trouble = mem_zero(sizeof *trouble);
    world_at(world, 5000, trouble, misfortune);
    run_until(world, ACTIVE_MS, false);
    world->faults = false;
    for (int64_t queue = 1; queue <= 4; queue++)
        set_paused(world, queue, false);
    for (int i = 0; i < NODES; i++)
        world->nodes[i].offset_ms = 0;
    run_until(world, ACTIVE_MS + QUIET_MS, true);
    clients_check(world);
    check_end(world);
    return world->violations;
}

static void print_marks(const uint64_t counts[MARK_COUNT])
{
    for (int i = 0; i < MARK_COUNT; i++)
        printf("%8llu  %-18s %s\n", (unsigned long long)counts[i], mark_name(i), mark_text(i));
}

static void add_marks(uint64_t counts[MARK_COUNT])
{
    for (int i = 0; i < MARK_COUNT; i++)
        counts[i] += mark_count(i);
}

// Stopping a process is not a part of these worlds; the end-to-end tests see to it.
static bool expected(enum mark what)
{
    return what != MARK_INTERRUPTED;
}

static int run_suite(int count)
{
    uint64_t *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int passed = 0, failed = 0;
    for (int seed = 1; seed <= count; seed++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int broken = run_seed((uint64_t)seed);
            add_marks(counts);
            fflush(stdout);
            _exit(broken ? 1 : 0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status == 0) {
            passed++;
        } else {
            failed++;
            printf("seed %d failed (status %d); `sim %d` replays it\n", seed, status, seed);
        }
    }
    print_marks(counts);
    for (int i = 0; i < MARK_COUNT; i++)
        if (expected(i) && counts[i] == 0) {
            printf("never occurred: %s\n", mark_name(i));
            failed++;
        }
    printf("%d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
    log_set_level(LOG_ERROR);
    if (argc == 3 && str_is(str_of(argv[1]), "--suite"))
        return run_suite(atoi(argv[2]));
    if (argc != 2 || atoi(argv[1]) <= 0) {
        fprintf(stderr, "usage: sim SEED | sim --suite COUNT\n");
        return 2;
    }
    int broken = run_seed(strtoull(argv[1], NULL, 10));
    uint64_t counts[MARK_COUNT] = {0};
    add_marks(counts);
    print_marks(counts);
    printf("seed %s: %d violations\n", argv[1], broken);
    return broken ? 1 : 0;
}
