// The simulated world: several nodes of shipped stage objects over one memory store, virtual time, and faults from one seed.
//
// Nothing here decides what rota decides. The world plays the clock, the store's delays and failures, the broker's doubles, the
// targets, the clients and misfortune; the nodes are struct flow as the server runs it.
#pragma once
#include "base/data/heap.h"
#include "base/data/map.h"
#include "base/rand.h"
#include "flow/flow.h"
#include "store/jobs.h"
#include "store/journal.h"

enum {
    NODES = 3,
    ROOM = 40,
    ROOM_BYTES = 16 * 1024, // of documents
    SLOTS = 16,
    QUEUES = 4,  // q1 … of each tenant
    TENANTS = 2, // 1 …
    LANES_MAX = 64,
    SAID_MAX = 16,
    CLOCK_MAX_MS = 10,  // how wrong a clock may be that was corrected
    SLOW_MS = 20000,    // how long a call to a host slow-… takes
    VERSIONS_MAX = 512, // of a task: a pause of one with many jobs in hand writes it once for each
};

extern const int64_t EPOCH; // the wall clock at true time 0

struct world;

// What a target said, to which claim of a job.
struct said {
    int64_t token, retry_after_ms;
    enum job_outcome outcome;
};

// What the world knows of a job, from what the store accepted: the shadow that the checks compare with.
struct shadow {
    struct job job; // without texts
    struct job_policy policy;
    int64_t added_at;                       // true time
    int64_t not_before;                     // wall clock: as planned, or as its retry was
    int calls;                              // attempts that reached the target
    int64_t last_call_start, last_call_end; // true time; the end is when the target is done with it
    int last_call_node, last_call_life;
    struct said said[SAID_MAX];
    size_t said_count;
    bool cancelled;       // and that was confirmed
    bool clock_was_wrong; // at a start or a taking back: what the record says of attempts was judged by a wrong clock
    bool removed;         // with its task, which was deleted
    bool released;        // it was cancelled by a change of its task: its instant may get another job
    int64_t paused_token, patched_token; // the claim that was about to begin when a pause, or a patch, was confirmed
};

// The same of a task.
struct task_shadow {
    int64_t version;
    int serials[VERSIONS_MAX]; // which patch gave the URL of each version; -1: it is as it was submitted
    int64_t least_version;     // a patch that made this one was confirmed
    bool paused, gone;         // as the store has it
    bool pause_confirmed;      // and it is still paused
    bool resume_asked;         // ever
    bool resumed;              // it was paused, and then not any more
};

// The same of the plan of a recurring task. Its instants are anchor_ms and all that lie whole steps away from it.
struct plan_shadow {
    int64_t task_id, step_ms, anchor_ms, jitter_ms, max_runs;
    int32_t tenant;
    struct job_policy policy;
    enum plan_overlap overlap;
    int max_active;
    int64_t planned_through; // as it was written last
    bool rescheduled;        // its instants are not those it began with
    struct shadow **jobs;    // that the schedule has made
    size_t job_count;
    bool put_far;                        // a clock that was ahead has put off the next look at a queued job
    int64_t short_since, stranded_since; // true time: too little is planned; a job is queued though there is room
};

struct sim_node {
    struct world *world;
    int number, life;
    bool up;
    int64_t frozen_until;            // true time
    int64_t offset_ms;               // of its wall clock
    int64_t corrected_at, wrong_at;  // true time
    int64_t correction_ms, found_ms; // what it has found out about that
    int64_t mono_base;               // its monotonic clock begins anywhere
    struct flow *flow;
    struct store *store;
    struct broker *broker;
    struct exec *exec;
    struct waker waker;
    bool woken;
    int64_t turn_at;       // true time of its next turn
    int64_t stop_since;    // true time when it was told to stop, 0: it was not
    bool drained;          // and has nothing in hand any more
    bool interrupted;      // and was told to give up what runs
    int64_t trouble_since; // true time of its last freeze: a stop that met one may take longer
};

struct world {
    uint64_t seed;
    struct rand rand;
    int64_t now; // true time, ms
    struct heap events;
    int64_t sequence;
    struct store *memory;
    struct zones *zones; // of all nodes
    struct sim_node nodes[NODES];
    int node_count;                                    // 1: alone, and knows it, as with SQLite
    bool store_clock;                                  // the store has a clock, to which nodes correct theirs
    bool api_node;                                     // node 0 only takes requests
    struct map shadows;                                // job id -> shadow
    struct map tasks;                                  // task id -> task_shadow, of those that were changed
    struct map plans;                                  // task id -> plan_shadow
    struct map hurried;                                // tasks that somebody asked to run now
    bool hurrying[TENANTS + 1], resuming[TENANTS + 1]; // a bulk does that, to what it finds
    struct map buried;                                 // incarnations that were declared dead
    struct map bulks;                                  // bulk id -> store_bulk_row as it was last written by who carries it out
    struct map keys;                                   // hash of tenant and key -> task id
    int32_t lane_tenants[LANES_MAX];
    int64_t paused_since[LANES_MAX]; // of each lane: true time + 1, 0: not paused
    bool faults;                     // everything may happen
    bool flaky;                      // the store's answers get lost, nothing else
    int64_t quiet_since;             // true time when the faults ended, 0: they have not
    int64_t late_max_ms;             // starts must not be later than this; 0: no matter, -1: nor how long something waits
    int64_t outage_until;
    int64_t ahead_ms; // how far a node's clock was ahead, at most: retention goes by it
    int violations;
    int held_most;       // places taken on one node, at most
    void *zombies[8192]; // what crashed lives left behind: kept reachable, freed by the end of the process
    size_t zombie_count;
};

// An event: something that happens at a time.
struct event {
    struct heap_node node;
    void (*happen)(struct event *event);
    struct world *world;
};
void world_at(struct world *world, int64_t at_ms, struct event *event, void (*happen)(struct event *event));
void world_run(struct world *world, int64_t until, bool (*stop)(struct world *world)); // until then, or until stop() says so
bool world_idle(struct world *world); // every job is final, every node has nothing in hand, every client an answer

bool chance(struct world *world, int in_thousand);
int64_t between(struct world *world, int64_t low, int64_t high); // both included
void keep(struct world *world, void *what);                      // among the zombies
void violate(struct world *world, int invariant, const char *format, ...) __attribute__((format(printf, 3, 4)));
struct shadow *shadow_of(struct world *world, int64_t job_id);
struct task_shadow *task_shadow_of(struct world *world, int64_t task_id);

// Nodes.
struct now node_now(const struct sim_node *node);
bool node_clock_wrong(const struct sim_node *node);
bool node_clock_was_wrong(const struct sim_node *node); // now, or when it decided what it writes now
bool node_acts(const struct sim_node *node);            // up, not frozen and not stopping
void node_start(struct sim_node *node);
void node_start_later(struct sim_node *node, int64_t delay_ms);
void node_crash(struct sim_node *node);
void node_stop(struct sim_node *node); // gracefully; it comes back after a while
void node_freeze(struct sim_node *node, int64_t ms);
struct sim_node *any_node(struct world *world); // one that acts, or NULL

// Misfortune, as events that go on until world->faults is off.
void misfortune_start(struct world *world);
void set_paused(struct world *world, int32_t tenant, int64_t queue, bool paused);

// The calm after it: what must happen, and by when, if nothing goes wrong but what the step itself does.
void calm_run(struct world *world);

// The played ports.
struct store *sim_store_new(struct sim_node *node);
bool sim_store_idle(const struct store *store);          // nothing is in flight
void sim_store_hold(struct store *store, int64_t until); // what has not been carried out is, then
void sim_store_crash(struct store *store);               // what is in flight is carried out or not, and never answered
struct broker *sim_broker_new(struct sim_node *node);
struct exec *sim_exec_new(struct sim_node *node);
int64_t sim_exec_next(struct exec *exec); // true time of the next end
void sim_exec_crash(struct exec *exec);

// Clients, who go on until world->faults is off. A task somebody wants done:
struct client_task {
    struct event event;
    struct world *world;
    struct sim_node *node; // asked now; NULL: nobody
    int life;
    struct admission admission;
    int32_t tenant;
    char doc[512];
    char key[32];
    uint8_t digest[32];
    bool must_be_refused; // the key is used, with another digest
    int64_t id;           // once acknowledged
    bool gave_up;         // no key, no answer: it may be there or not
};
void clients_start(struct world *world);
struct client_task *client_submit(struct world *world, int32_t tenant, const char *key, const char *host, const char *members);
void client_steer(struct world *world, struct sim_node *node, const struct client_task *task, enum command_act act,
                  int32_t tenant);
void client_resume(struct world *world, struct sim_node *node, const struct client_task *task, enum plan_misfire missed);
void client_patch(struct world *world, struct sim_node *node, const struct client_task *task, const char *members);
int64_t client_bulk(struct world *world, struct sim_node *node, int32_t tenant, const char *action, const char *filter);
struct store_bulk_row client_bulk_row(struct world *world, int32_t tenant, int64_t id); // without its document
void clients_check(struct world *world);                                                // at the end
bool clients_done(struct world *world);                                                 // everybody has an answer
void clients_crash(struct world *world, struct sim_node *node);

// Clients with recurring tasks, who end all of them when the storm has been over for a while.
void recurring_start(struct world *world);
bool recurring_done(void); // all have ended

// What targets say later about attempts they answered with 202.
void reports_plan(struct world *world, const struct exec_attempt *attempt, int64_t answer); // anything may happen
void reports_say(struct world *world, const struct exec_attempt *attempt, enum lease_report_kind what, int64_t at);
void reports_crash(struct world *world, struct sim_node *node);
bool reports_done(struct world *world); // everything is said

// Called by the store when it has carried out an operation, before anybody hears of it.
void check_operation(struct sim_node *node, struct store_op *op);
void check_start(struct sim_node *node, const struct exec_attempt *attempt, int64_t end);
void check_said(struct sim_node *node, const struct exec_attempt *attempt);                       // how the target answered
void check_report(struct world *world, int64_t job_id, int64_t number, enum job_outcome outcome); // … later
void check_turn(struct sim_node *node);                                                           // after each turn
void check_waiting(struct world *world); // now and then: does anything wait without need?
void check_amend(struct sim_node *node, const struct store_amend *amend);
void check_remove(struct sim_node *node, const struct store_remove *remove);
void check_handed_out(struct world *world, const struct store_job *job);
void check_confirmed(struct sim_node *node, const struct command *op, int serial); // to a client
void check_task_start(struct sim_node *node, const struct exec_attempt *attempt, const struct shadow *shadow);
void check_bulk_write(struct sim_node *node, const struct store_bulk_row *row);
void check_bulk(struct world *world, const struct store_bulk_row *row);
void take_record(struct shadow *shadow, const struct job *job);
bool job_is_at_hand(const struct job *job, int64_t now_ms); // it has begun, or somebody has it in hand and its time has come
void check_added_job(struct sim_node *node, const struct job *job, const struct job_policy *policy);
void check_new_plan(struct sim_node *node, const struct store_new *item); // … of a recurring task
void check_plan(struct sim_node *node, const struct store_plan *plan);
void check_amended_plan(struct sim_node *node, const struct store_amend *amend, bool patches, bool resumes);
void check_overlap(struct world *world, const struct job *job); // which begins
void check_plans_waiting(struct world *world);                  // now and then
void check_plans_end(struct world *world);
bool plan_has_skip(struct world *world, int64_t task_id, int64_t nominal_at);
bool task_is_gone(struct world *world, int64_t task_id);
void check_end(struct world *world);
