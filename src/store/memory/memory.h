// What the files of the memory store share: the records it keeps and how they are found.
// Layer: port, private to this folder. Everything is under the lock of struct memory.
#pragma once
#include "base/data/map.h"
#include "store/store_private.h"

#include <pthread.h>

struct memory_job {
    struct job job;
    struct memory_task *task;
    struct attempt *attempts; // by number
    size_t attempt_count;
};

struct memory_task {
    struct store_task task;
    int64_t lane;
    int64_t tags[TAGS_MAX];
    size_t tag_count;
    struct memory_job **jobs;
    size_t job_count;
    struct plan *plan; // NULL: it does not recur
};

struct memory_key {
    struct memory_key *next; // of the same hash
    int32_t tenant;
    struct str key;
    uint8_t digest[32];
    int64_t task_id, until, spent_at;
};

struct memory_lane {
    int64_t id;
    int32_t tenant;
    enum target_dispatch dispatch;
    struct str queue;
    bool paused, dropped;
    int64_t counts[JOB_STATE_COUNT];
};

struct memory_incarnation {
    int64_t id, beat;
    int number; // in the range
    bool pulls, dead, listens, relays;
    struct store_job_request *asked; // by job id
    size_t asked_count;
};

struct memory_event {
    struct store_event_row events;
    int64_t relayed_at;
};

struct memory {
    struct store store;
    pthread_mutex_t lock;
    struct map tasks, jobs, keys;
    struct map recurring;       // those of the tasks that have a plan: looking for plans must not go through all tasks
    struct memory_job **places; // by place, due_at, id
    size_t place_count, place_cap;
    struct memory_lane **lanes; // lane n is at n - 1
    size_t lane_count;
    struct memory_incarnation *incarnations; // by id
    size_t incarnation_count;
    int64_t term; // of the owners
    char *tzdata; // NULL: empty
    struct store_owner *owners;
    size_t owner_count;
    struct store_bulk_row *bulks; // by id
    size_t bulk_count;
    struct store_minute_row *minutes; // by tenant, time, source
    size_t minute_count;
    struct memory_event *events; // by source, number
    size_t events_count;
    int64_t range;       // of node numbers
    int64_t id_floor;    // the largest id ever added
    int64_t purge_after; // nothing is to be swept before this, and nothing expires before that
    int64_t expire_after;
    int64_t lease_after; // and no lease runs out
    bool has_secret;
    uint8_t secret[STORE_SECRET_SIZE];
};

struct spot {
    int64_t place, due_at, id;
};

static inline int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

// Strings that are the store's own, and copies of them for the caller. An empty one has no memory.
struct str memory_copy(struct str text);
void memory_free_str(struct str *text);
struct str memory_give(struct arena *arena, struct str text);
void memory_give_result(struct arena *arena, struct job *job, bool any); // `job` still has the store's own; any: however large

struct store_task memory_give_task(struct arena *arena, const struct memory_task *from);

// Jobs that were looked for.
struct memory_found {
    struct memory_job **jobs;
    size_t count;
};
void memory_found_add(struct memory_found *found, struct memory_job *job);
void memory_found_sort(struct memory_found *found, int (*compare)(const void *a, const void *b));
#define MEMORY_COMPARE_BY(member)                                         \
    static int compare_##member(const void *a, const void *b)             \
    {                                                                     \
        const struct job *left = &(*(struct memory_job *const *)a)->job;  \
        const struct job *right = &(*(struct memory_job *const *)b)->job; \
        int order = compare_ints(left->member, right->member);            \
        return order ? order : compare_ints(left->id, right->id);         \
    }

size_t memory_find(const struct memory *memory, struct spot spot); // the first index of `places` that is not before `spot`
// A job's state, place and due_at change only between these two: leave, change, enter.
void memory_leave(struct memory *memory, struct memory_job *job);
void memory_enter(struct memory *memory, struct memory_job *job);

bool memory_ids_are_free(const struct memory *memory, const struct job *jobs, size_t count); // also among themselves
void memory_add_jobs(struct memory *memory, struct memory_task *task, struct job *jobs, size_t count);
struct memory_key *memory_find_key(const struct memory *memory, int32_t tenant, struct str key);
struct memory_incarnation *memory_incarnation(struct memory *memory, int64_t id); // NULL: it is unknown
bool memory_is_fenced(struct memory *memory, int64_t holder);
struct memory_lane *memory_lane_of_task(struct memory *memory, const struct store_task *task); // made if need be
struct memory_lane *memory_lane_by_id(const struct memory *memory, int64_t id);
// The first that waits in the lane from then on, or TIME_NEVER.
int64_t memory_next_due(const struct memory *memory, int64_t lane, int64_t from_ms, int64_t from_id, int64_t *ret_id);

// The verbs of store/jobs.h.
void memory_run_add(struct memory *memory, struct store_op *op);
void memory_run_claim(struct memory *memory, struct store_op *op);
void memory_run_change(struct memory *memory, struct store_op *op);
void memory_run_amend(struct memory *memory, struct store_op *op);
void memory_run_remove(struct memory *memory, struct store_op *op);
void memory_run_due(struct memory *memory, struct store_op *op);
void memory_run_find(struct memory *memory, struct store_op *op);
void memory_run_sweep(struct memory *memory, struct store_op *op);
void memory_run_get(struct memory *memory, struct store_op *op);
void memory_run_list(struct memory *memory, struct store_op *op);
void memory_run_ahead(struct memory *memory, struct store_op *op);
void memory_run_upcoming(struct memory *memory, struct store_op *op);
void memory_run_lanes(struct memory *memory, struct store_op *op);
void memory_run_pause(struct memory *memory, struct store_op *op);
void memory_run_drop(struct memory *memory, struct store_op *op);
void memory_run_stats(struct memory *memory, struct store_op *op);

// The verbs of store/plans.h, and what else is done with plans.
void memory_run_plan(struct memory *memory, struct store_op *op);
void memory_run_plans(struct memory *memory, struct store_op *op);
void memory_run_tzdata(struct memory *memory, struct store_op *op);
void memory_add_plan(struct memory_task *task, const struct plan *from); // to a task that has none
void memory_note_plan(struct memory *memory, struct memory_task *task);  // after it got a plan, or lost it
void memory_write_plan(struct memory_task *task, const struct plan *as); // but for what is counted; NULL: it has none
struct memory_task *memory_find_reserved(const struct memory *memory, int32_t tenant, struct str name); // NULL: none has it
void memory_count_job(const struct memory_job *job);                                                    // which has ended
const struct plan *memory_give_plan(struct arena *arena, const struct plan *from);                      // accepts NULL
void memory_free_plan(struct plan *plan);                                                               // accepts NULL

// The verbs of store/lives.h.
void memory_run_join(struct memory *memory, struct store_op *op);
void memory_run_beat(struct memory *memory, struct store_op *op);
void memory_run_bury(struct memory *memory, struct store_op *op);
void memory_run_forget(struct memory *memory, struct store_op *op);

// The verbs of store/peers.h.
void memory_run_owners(struct memory *memory, struct store_op *op);
void memory_run_divide(struct memory *memory, struct store_op *op);
void memory_run_request(struct memory *memory, struct store_op *op);
void memory_run_requests(struct memory *memory, struct store_op *op);

// The verbs of store/journal.h, and what else concerns what they keep.
void memory_run_bulks(struct memory *memory, struct store_op *op);
void memory_run_bulk(struct memory *memory, struct store_op *op);
void memory_run_backup(struct memory *memory, struct store_op *op);
void memory_run_minute(struct memory *memory, struct store_op *op);
void memory_run_series(struct memory *memory, struct store_op *op);
void memory_run_relay(struct memory *memory, struct store_op *op);
void memory_run_events(struct memory *memory, struct store_op *op);
void memory_sweep_journal(struct memory *memory, const struct store_sweep *sweep);
void memory_free_journal(struct memory *memory);

void memory_free_job(struct memory_job *job);
void memory_free_task(struct memory_task *task);
