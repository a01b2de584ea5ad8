// What the store's suites share: a store to try, operations that are freed with it, and short ways to say what happens.
#pragma once
#include "base/clock.h"
#include "base/rand.h"
#include "store/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct world {
    struct store *store;
    char dir[128];   // "" when the store has none
    char schema[32]; // "" when the store has none
    void **kept;     // operations, freed with the world
    size_t kept_count;
    int64_t last_id;
};

enum { KEYS_KEPT = 5 }; // how long sweep() lets keys outlive their tasks
enum { NOW = 100000, TENANT = 7 };

// A backend by its scheme; a directory or a schema of its own when it needs one. "postgres" is the cluster that postgres.py
// gives.
struct world *world_new(const char *scheme);
void world_reopen(struct world *world); // closes the store and opens it again
void world_free(struct world *world);
void world_open(struct world *world); // when it was closed by hand
void world_url(const struct world *world, char ret_url[160]);

void *world_op(struct world *world, size_t size, enum store_verb verb); // zeroed but for its head, freed with the world
#define OP(world, type, verb) ((struct type *)world_op((world), sizeof(struct type), (verb)))
void *world_mem(struct world *world, size_t size);

enum err call(struct world *world, struct store_op *op);

// A task with one job, as the tests need it: what is 0 is usual (tenant TENANT, queue "q", called, priority 5, ready and due
// now).
struct sample {
    int32_t tenant;
    const char *queue;
    enum target_dispatch dispatch;
    int priority; // 0: 5; -1: 0
    enum job_state state;
    int64_t due_at, expires_at, purge_at, scheduled_at;
    int64_t holder;
    struct str doc, key, response;
    uint8_t digest;
    int64_t tags[TAGS_MAX]; // up to the first 0
};

void sample_fill(struct world *world, const struct sample *sample, struct store_task *ret_task, struct job *ret_job,
                 struct store_new *ret_item);
int64_t add(struct world *world, struct sample sample); // the id of the task and of its job; it must succeed
struct store_new *try_add(struct world *world, struct sample sample, enum err *ret_err);

void join(struct world *world, int64_t incarnation);
void bury(struct world *world, int64_t incarnation);
int64_t lane_of(struct world *world, int32_t tenant, const char *queue);
struct store_drop *drop(struct world *world, int32_t tenant, const char *queue);
bool is_listed(struct world *world, int32_t tenant, const char *queue); // by a list of all lanes, and by one of names
struct store_claim *claim(struct world *world, int64_t holder, int64_t until_ms, int64_t lane, size_t max);
struct store_find *held_by(struct world *world, int64_t holder); // all that it has in hand
struct store_get *get_job(struct world *world, int64_t id);
struct job job_now(struct world *world, int64_t id); // the record as it is stored
enum err change(struct world *world, int64_t token, struct job job, const struct attempt *attempt);
size_t sweep(struct world *world, int64_t now_ms, size_t max);

// For a database from before lanes knew how their jobs are dispatched, when requests and events had other names: one of each, and
// what is to be found of them afterwards.
void add_old_names(struct world *world);
void assert_old_names_are_kept(struct world *world);

// For a database from before there were tags: tasks that are added without any, and found by what their documents say once they
// have some.
void add_old_tasks(struct world *world);
void assert_old_tasks_are_found(struct world *world);
