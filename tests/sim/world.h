// The simulated world: several nodes of shipped stage objects over one memory store, virtual time, and faults from one seed.
//
// Nothing here decides what rota decides. The world plays the clock, the store's delays and failures, the broker's doubles, the
// targets, the clients and misfortune; the nodes are struct flow as the server runs it.
#pragma once
#include "base/heap.h"
#include "base/map.h"
#include "base/rand.h"
#include "flow/flow.h"

enum { NODES = 3, ROOM = 40, SLOTS = 16 };

struct world;

// What the world knows of a job, from what the store accepted: the shadow that the checks compare with.
struct shadow {
    struct job job; // without texts
    int calls;      // attempts that reached the target
    int64_t last_call_start, last_call_end; // true time; the end is when the target is done with it
    int last_call_node, last_call_life;
    int cancelled_on; // the node whose cancel was confirmed + 1
    bool overlap_excused;
};

struct sim_node {
    struct world *world;
    int number, life;
    bool up;
    int64_t frozen_until; // true time
    int64_t offset_ms;    // of its wall clock
    int64_t mono_base;    // its monotonic clock begins anywhere
    struct flow *flow;
    struct store *store;
    struct broker *broker;
    struct exec *exec;
    struct waker waker;
    bool woken;
    int64_t turn_at; // true time of its next turn
};

struct world {
    uint64_t seed;
    struct rand rand;
    int64_t now; // true time, ms
    struct heap events;
    int64_t sequence;
    struct store *memory;
    struct sim_node nodes[NODES];
    struct map shadows; // job id -> shadow
    struct map acked;   // task id -> struct client_task
    bool faults;
    int64_t outage_until;
    int violations;
    void *zombies[4096]; // what crashed lives left behind: kept reachable, freed by the end of the process
    size_t zombie_count;
};

// An event: something that happens at a time.
struct event {
    struct heap_node node;
    void (*happen)(struct event *event);
    struct world *world;
};
void world_at(struct world *world, int64_t at_ms, struct event *event, void (*happen)(struct event *event));

bool chance(struct world *world, int in_thousand);
int64_t between(struct world *world, int64_t low, int64_t high); // both included
void violate(struct world *world, int invariant, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct now node_now(const struct sim_node *node);
bool node_acts(const struct sim_node *node); // up and not frozen
struct shadow *shadow_of(struct world *world, int64_t job_id);

// The played ports.
struct store *sim_store_new(struct sim_node *node);
void sim_store_crash(struct store *store); // what is in flight is carried out or not, and never answered
struct broker *sim_broker_new(struct sim_node *node);
struct exec *sim_exec_new(struct sim_node *node);
int64_t sim_exec_next(struct exec *exec); // true time of the next end
void sim_exec_crash(struct exec *exec);

// Clients and misfortune, as events that go on until world->faults is off.
void clients_start(struct world *world);
void clients_check(struct world *world); // at the end
bool clients_done(struct world *world);  // everybody has an answer
void clients_crash(struct world *world, struct sim_node *node);

// Called by the store when it has carried out an operation, before anybody hears of it.
void check_operation(struct sim_node *node, struct store_op *op);
void check_start(struct sim_node *node, const struct run *run, int64_t end);
void check_end(struct world *world);
