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
    LOOK_MS = 1000,              // how often the world looks whether it may stop
};

const int64_t EPOCH = 1800000000000; // any time will do; this one is in 2027

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

bool world_idle(struct world *world)
{
    int64_t id;
    size_t at = 0;
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));)
        if (!job_state_final(shadow->job.state) && !shadow->removed)
            return false;
    for (int i = 0; i < world->node_count; i++) {
        const struct sim_node *node = &world->nodes[i];
        if (!node_acts(node) || lanes_held(node->flow->lanes) || !commands_idle(node->flow->commands) ||
            !recur_idle(node->flow->recur) || !lease_reports_idle(node->flow->lease_reports))
            return false;
    }
    return clients_done(world) && reports_done(world);
}

void world_run(struct world *world, int64_t until, bool (*stop)(struct world *world))
{
    int64_t looked = world->now;
    for (struct heap_node *top; (top = heap_top(&world->events)) && top->key >> 22 <= until;) {
        struct event *event = container_of(top, struct event, node);
        world->now = time_max(world->now, top->key >> 22);
        heap_remove(&world->events, top);
        event->happen(event);
        if (world->now <= looked + LOOK_MS)
            continue;
        looked = world->now;
        if (world->quiet_since)
            check_waiting(world);
        if (stop && stop(world))
            return;
    }
    world->now = until;
}

static void end_misfortune(struct world *world)
{
    world->faults = false;
    world->outage_until = 0;
    world->quiet_since = world->now;
    for (int32_t tenant = 1; tenant <= TENANTS; tenant++)
        for (int64_t queue = 1; queue <= QUEUES; queue++)
            set_paused(world, tenant, queue, false);
    for (int i = 0; i < world->node_count; i++)
        world->nodes[i].offset_ms = 0;
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
    world->zones = zones_new(NULL);
    world->faults = true;
    world->node_count = seed % 4 == 0 ? 1 : NODES;
    world->store_clock = seed % 2;
    world->api_node = seed % 8 == 3 || seed % 8 == 6;
    for (int i = 0; i < world->node_count; i++) {
        world->nodes[i] = (struct sim_node){.world = world, .number = i};
        node_start(&world->nodes[i]);
    }
    clients_start(world);
    recurring_start(world);
    misfortune_start(world);
    world_run(world, ACTIVE_MS, NULL);
    end_misfortune(world);
    world_run(world, ACTIVE_MS + QUIET_MS, world_idle);
    if (world_idle(world))
        calm_run(world);
    else
        violate(world, 7, "the world does not come to rest, so its calm part was not played");
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
        __atomic_fetch_add(&counts[i], mark_count(i), __ATOMIC_RELAXED);
}

static pid_t start_seed(int seed, uint64_t counts[MARK_COUNT])
{
    fflush(stdout);
    pid_t child = fork();
    if (child)
        return child;
    int broken = run_seed((uint64_t)seed);
    add_marks(counts);
    fflush(stdout);
    _exit(broken ? 1 : 0);
}

// Waits for any of the children; says whether it passed.
static bool end_seed(pid_t children[], int count)
{
    int status;
    pid_t child = wait(&status);
    int seed = 1;
    while (seed < count && children[seed] != child)
        seed++;
    if (status)
        printf("seed %d failed (status %d); `sim %d` replays it\n", seed, status, seed);
    return status == 0;
}

static int run_suite(int count)
{
    // cppcheck-suppress invalidFunctionArg; memory that belongs to no file has no descriptor
    uint64_t *counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t *children = mem_zero((size_t)(count + 1) * sizeof *children);
    long together = sysconf(_SC_NPROCESSORS_ONLN);
    int passed = 0, failed = 0;
    for (int seed = 1, ended = 0; ended < count; ended++) {
        for (; seed <= count && seed - 1 - ended < together; seed++)
            children[seed] = start_seed(seed, counts);
        if (end_seed(children, count))
            passed++;
        else
            failed++;
    }
    mem_free(children);
    print_marks(counts);
    for (int i = 0; i < MARK_COUNT; i++)
        if (counts[i] == 0) {
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
    fflush(stdout);
    return broken ? 1 : 0;
}
