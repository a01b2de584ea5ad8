// The store that forgets: everything in one process's memory, under one lock. It is the reference the other backends are
// compared with, and what the simulator's nodes share, so it is written to be obviously right and to answer the same on every
// run.
//
// An operation is carried out inside store_submit() and given back there, after the lock is released. One sorted array
// `places` plays the part of the index (place, due_at, id); whatever is rare is a walk over all jobs.
//
// What it does not do: survive its process, or stay fast beyond some ten thousand waiting jobs.
#include "base/map.h"
#include "core/id.h"
#include "store/store_private.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct memory_job {
    struct job job;
    struct memory_task *task;
    struct attempt *attempts; // by number
    size_t attempt_count;
};

struct memory_task {
    struct store_task task;
    int64_t lane;
    struct memory_job **jobs;
    size_t job_count;
};

struct memory_key {
    struct memory_key *next; // of the same hash
    int32_t tenant;
    struct str key;
    uint8_t digest[32];
    int64_t task_id, until;
};

struct memory_lane {
    int64_t id;
    int32_t tenant;
    struct str queue;
    bool paused;
    int64_t counts[JOB_STATE_COUNT];
};

struct memory_incarnation {
    int64_t id, beat;
    int node;
    bool dead;
};

struct memory {
    struct store store;
    pthread_mutex_t lock;
    struct map tasks, jobs, keys;
    struct memory_job **places; // by place, due_at, id
    size_t place_count, place_cap;
    struct memory_lane **lanes; // lane n is at n - 1
    size_t lane_count;
    struct memory_incarnation *incarnations; // by id
    size_t incarnation_count;
    int64_t id_floor;    // the largest id ever added
    int64_t purge_after; // nothing is to be swept before this, and nothing expires before that
    int64_t expire_after;
};

static struct str copy_str(struct str text)
{
    return text.n ? (struct str){mem_copy(text.p, text.n), text.n} : (struct str){0};
}

static void free_str(struct str *text)
{
    mem_free((char *)text->p);
    *text = (struct str){0};
}

static struct str give_str(struct arena *arena, struct str text)
{
    return text.n ? arena_copy(arena, text) : (struct str){0};
}

// ---- places

static int compare_ints(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

struct spot {
    int64_t place, due_at, id;
};

static int compare_spot(const struct memory_job *job, struct spot spot)
{
    int order = compare_ints(store_place(&job->job), spot.place);
    if (!order)
        order = compare_ints(job->job.due_at, spot.due_at);
    return order ? order : compare_ints(job->job.id, spot.id);
}

// The first index that is not before `spot`.
static size_t find_spot(const struct memory *memory, struct spot spot)
{
    size_t low = 0, high = memory->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_spot(memory->places[middle], spot) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct spot spot_of(const struct memory_job *job)
{
    return (struct spot){store_place(&job->job), job->job.due_at, job->job.id};
}

// A job's state, place and due_at change only between these two: leave, change, enter.
static void leave(struct memory *memory, struct memory_job *job)
{
    memory->lanes[job->job.lane - 1]->counts[job->job.state]--;
    struct spot spot = spot_of(job);
    if (spot.place == STORE_NOWHERE)
        return;
    size_t at = find_spot(memory, spot);
    assert(memory->places[at] == job);
    memory->place_count--;
    memmove(&memory->places[at], &memory->places[at + 1], (memory->place_count - at) * sizeof *memory->places);
}

static void enter(struct memory *memory, struct memory_job *job)
{
    memory->lanes[job->job.lane - 1]->counts[job->job.state]++;
    if (job->job.purge_at > 0)
        memory->purge_after = time_min(memory->purge_after, job->job.purge_at);
    if (job->job.expires_at > 0)
        memory->expire_after = time_min(memory->expire_after, job->job.expires_at);
    struct spot spot = spot_of(job);
    if (spot.place == STORE_NOWHERE)
        return;
    if (memory->place_count == memory->place_cap) {
        memory->place_cap = memory->place_cap ? memory->place_cap * 2 : 64;
        memory->places = mem_grow(memory->places, memory->place_cap * sizeof *memory->places);
    }
    size_t at = find_spot(memory, spot);
    memmove(&memory->places[at + 1], &memory->places[at], (memory->place_count - at) * sizeof *memory->places);
    memory->places[at] = job;
    memory->place_count++;
}

static int64_t lane_next_due(const struct memory *memory, int64_t lane)
{
    int64_t next = TIME_NEVER;
    for (int64_t place = lane * STORE_PLACES; place < (lane + 1) * STORE_PLACES; place++) {
        size_t at = find_spot(memory, (struct spot){place, INT64_MIN, INT64_MIN});
        if (at < memory->place_count && store_place(&memory->places[at]->job) == place)
            next = time_min(next, memory->places[at]->job.due_at);
    }
    return next;
}

// ---- incarnations

static struct memory_incarnation *find_incarnation(struct memory *memory, int64_t id)
{
    for (size_t i = 0; i < memory->incarnation_count; i++)
        if (memory->incarnations[i].id == id)
            return &memory->incarnations[i];
    return NULL;
}

static bool is_fenced(struct memory *memory, int64_t holder)
{
    struct memory_incarnation *incarnation = find_incarnation(memory, holder);
    return !incarnation || incarnation->dead;
}

static int free_node(const struct memory *memory)
{
    bool used[ID_NODES] = {false};
    for (size_t i = 0; i < memory->incarnation_count; i++)
        used[memory->incarnations[i].node] = true;
    int node = 0;
    while (node < ID_NODES && used[node])
        node++;
    return node;
}

static struct memory_incarnation *add_incarnation(struct memory *memory, int64_t id, int node)
{
    size_t at = 0, count = memory->incarnation_count++;
    memory->incarnations = mem_grow(memory->incarnations, memory->incarnation_count * sizeof *memory->incarnations);
    while (at < count && memory->incarnations[at].id < id)
        at++;
    memmove(&memory->incarnations[at + 1], &memory->incarnations[at], (count - at) * sizeof *memory->incarnations);
    memory->incarnations[at] = (struct memory_incarnation){.id = id, .node = node};
    return &memory->incarnations[at];
}

static void run_join(struct memory *memory, struct store_op *op)
{
    struct store_join *join = container_of(op, struct store_join, op);
    struct memory_incarnation *incarnation = find_incarnation(memory, join->incarnation);
    if (incarnation && incarnation->dead) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead");
        return;
    }
    if (!incarnation) {
        int node = free_node(memory);
        if (node == ID_NODES) {
            store_op_fail(op, ERR_FENCED, "all node numbers are in use");
            return;
        }
        incarnation = add_incarnation(memory, join->incarnation, node);
    }
    join->node = incarnation->node;
    join->id_floor = memory->id_floor;
}

static void run_beat(struct memory *memory, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (is_fenced(memory, beat->incarnation)) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
        return;
    }
    find_incarnation(memory, beat->incarnation)->beat++;
    for (size_t i = 0; i < memory->incarnation_count; i++) {
        const struct memory_incarnation *other = &memory->incarnations[i];
        if (other->id == beat->incarnation)
            continue;
        beat->peers = store_push(&op->arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] = (struct store_peer){other->id, other->beat, other->dead};
    }
}

static void run_bury(struct memory *memory, struct store_op *op)
{
    struct store_bury *bury = container_of(op, struct store_bury, op);
    struct memory_incarnation *incarnation = find_incarnation(memory, bury->incarnation);
    if (!incarnation || incarnation->dead)
        return;
    if (incarnation->beat != bury->beat)
        store_op_fail(op, ERR_LEASE_LOST, "it has beaten since");
    else
        incarnation->dead = true;
}

static bool holds_jobs(const struct memory *memory, int64_t holder)
{
    size_t at = find_spot(memory, (struct spot){-holder, INT64_MIN, INT64_MIN});
    return at < memory->place_count && store_place(&memory->places[at]->job) == -holder;
}

static void run_forget(struct memory *memory, struct store_op *op)
{
    struct store_forget *forget = container_of(op, struct store_forget, op);
    struct memory_incarnation *incarnation = find_incarnation(memory, forget->incarnation);
    if (!incarnation)
        return;
    if (holds_jobs(memory, forget->incarnation)) {
        store_op_fail(op, ERR_LEASE_LOST, "it still holds jobs");
        return;
    }
    size_t at = (size_t)(incarnation - memory->incarnations);
    memory->incarnation_count--;
    memmove(incarnation, incarnation + 1, (memory->incarnation_count - at) * sizeof *incarnation);
}

// ---- lanes

static struct memory_lane *lane_by_name(struct memory *memory, int32_t tenant, struct str queue)
{
    for (size_t i = 0; i < memory->lane_count; i++)
        if (memory->lanes[i]->tenant == tenant && str_eq(memory->lanes[i]->queue, queue))
            return memory->lanes[i];
    struct memory_lane *lane = mem_zero(sizeof *lane);
    memory->lanes = mem_grow(memory->lanes, (memory->lane_count + 1) * sizeof *memory->lanes);
    memory->lanes[memory->lane_count++] = lane;
    lane->id = (int64_t)memory->lane_count;
    lane->tenant = tenant;
    lane->queue = copy_str(queue);
    return lane;
}

static struct memory_lane *lane_by_id(const struct memory *memory, int64_t id)
{
    return id >= 1 && (size_t)id <= memory->lane_count ? memory->lanes[id - 1] : NULL;
}

static void run_pause(struct memory *memory, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    struct memory_lane *lane = lane_by_name(memory, pause->tenant, pause->queue);
    lane->paused = pause->paused;
    pause->lane = lane->id;
}

static void run_lanes(struct memory *memory, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    for (size_t i = 0; i < memory->lane_count && lanes->lane_count < lanes->max; i++) {
        const struct memory_lane *from = memory->lanes[i];
        if (from->id <= lanes->after_id || (lanes->tenant && from->tenant != lanes->tenant))
            continue;
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = from->id, .tenant = from->tenant, .paused = from->paused};
        lane->queue = give_str(&op->arena, from->queue);
        lane->next_due = lane_next_due(memory, from->id);
        memcpy(lane->counts, from->counts, sizeof lane->counts);
    }
}

static void run_stats(struct memory *memory, struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    for (size_t i = 0; i < memory->lane_count; i++)
        for (int state = 0; state < JOB_STATE_COUNT; state++)
            if (!stats->tenant || stats->tenant == memory->lanes[i]->tenant)
                stats->counts[state] += memory->lanes[i]->counts[state];
}

// ---- adding

static int64_t key_hash(int32_t tenant, struct str key)
{
    return (int64_t)(map_hash_bytes(key.p, key.n) ^ map_hash(tenant));
}

static struct memory_key *find_key(const struct memory *memory, int32_t tenant, struct str key)
{
    struct memory_key *found = map_get(&memory->keys, key_hash(tenant, key));
    while (found && (found->tenant != tenant || !str_eq(found->key, key)))
        found = found->next;
    return found;
}

static void add_key(struct memory *memory, const struct store_new *item)
{
    struct memory_key *key = mem_zero(sizeof *key);
    *key = (struct memory_key){.tenant = item->task->tenant, .key = copy_str(item->key), .task_id = item->task->id};
    key->until = item->key_until;
    memcpy(key->digest, item->digest, sizeof key->digest);
    key->next = map_put(&memory->keys, key_hash(key->tenant, key->key), key);
}

static bool ids_are_free(const struct memory *memory, const struct store_new *item)
{
    if (item->task && map_get(&memory->tasks, item->task->id))
        return false;
    for (size_t i = 0; i < item->job_count; i++) {
        if (map_get(&memory->jobs, item->jobs[i].id))
            return false;
        for (size_t k = 0; k < i; k++)
            if (item->jobs[k].id == item->jobs[i].id)
                return false;
    }
    return true;
}

static struct memory_task *add_task(struct memory *memory, const struct store_task *from, int64_t lane)
{
    struct memory_task *task = mem_zero(sizeof *task);
    task->task = *from;
    task->task.queue = copy_str(from->queue);
    task->task.name = copy_str(from->name);
    task->task.doc = copy_str(from->doc);
    task->lane = lane;
    map_put(&memory->tasks, from->id, task);
    memory->id_floor = time_max(memory->id_floor, from->id);
    return task;
}

static void add_job(struct memory *memory, struct memory_task *task, struct job *from)
{
    from->lane = task->lane;
    struct memory_job *job = mem_zero(sizeof *job);
    job->job = *from;
    job->job.reason = copy_str(from->reason);
    job->job.response = copy_str(from->response);
    job->task = task;
    task->jobs = mem_grow(task->jobs, (task->job_count + 1) * sizeof(struct memory_job *));
    task->jobs[task->job_count++] = job;
    map_put(&memory->jobs, job->job.id, job);
    memory->id_floor = time_max(memory->id_floor, job->job.id);
    enter(memory, job);
}

static enum err add_item(struct memory *memory, struct store_new *item)
{
    const struct memory_key *key = item->task && item->key.n ? find_key(memory, item->task->tenant, item->key) : NULL;
    if (key) {
        item->existing_id = key->task_id;
        return memcmp(key->digest, item->digest, sizeof key->digest) ? ERR_KEY_REUSED : ERR_OK;
    }
    struct memory_task *task = NULL;
    int64_t lane = 0;
    if (item->task) {
        lane = lane_by_name(memory, item->task->tenant, item->task->queue)->id;
    } else {
        task = item->job_count ? map_get(&memory->tasks, item->jobs[0].task_id) : NULL;
        if (!task || task->task.tenant != item->jobs[0].tenant)
            return ERR_NOT_FOUND;
    }
    if (!ids_are_free(memory, item))
        return ERR_INTERNAL;
    if (!task)
        task = add_task(memory, item->task, lane);
    for (size_t i = 0; i < item->job_count; i++)
        add_job(memory, task, &item->jobs[i]);
    if (item->task && item->key.n)
        add_key(memory, item);
    return ERR_OK;
}

static void run_add(struct memory *memory, struct store_op *op)
{
    struct store_add *add = container_of(op, struct store_add, op);
    if (add->holder && is_fenced(memory, add->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < add->count; i++)
        add->items[i].err = add_item(memory, &add->items[i]);
}

// ---- taking and changing

static struct store_job give_job(struct arena *arena, const struct memory_job *from)
{
    struct store_job job = {.job = from->job, .doc = give_str(arena, from->task->task.doc)};
    job.job.reason = give_str(arena, from->job.reason);
    job.job.response = give_str(arena, from->job.response);
    return job;
}

// The step may not change what never changes: those members keep what is stored.
static void write_job(struct memory *memory, struct memory_job *job, const struct job *as)
{
    leave(memory, job);
    struct job was = job->job;
    job->job = *as;
    job->job.id = was.id;
    job->job.task_id = was.task_id;
    job->job.parent_id = was.parent_id;
    job->job.tenant = was.tenant;
    job->job.lane = was.lane;
    job->job.priority = was.priority;
    job->job.nominal_at = was.nominal_at;
    job->job.reason = copy_str(as->reason);
    job->job.response = copy_str(as->response);
    free_str(&was.reason);
    free_str(&was.response);
    enter(memory, job);
}

static void claim_job(struct memory *memory, struct store_claim *claim, struct memory_job *from)
{
    claim->jobs = store_push(&claim->op.arena, claim->jobs, claim->job_count, sizeof *claim->jobs);
    struct store_job *job = &claim->jobs[claim->job_count++];
    *job = give_job(&claim->op.arena, from);
    enum err err = job_claim(&job->job, claim->holder, claim->now_ms);
    assert(!err);
    write_job(memory, from, &job->job);
}

static void claim_lane(struct memory *memory, struct store_claim *claim, struct store_want *want)
{
    const struct memory_lane *lane = lane_by_id(memory, want->lane);
    size_t left = lane && !lane->paused ? want->max : 0;
    for (int64_t place = want->lane * STORE_PLACES; left && place < (want->lane + 1) * STORE_PLACES; place++) {
        size_t at = find_spot(memory, (struct spot){place, INT64_MIN, INT64_MIN});
        while (left && at < memory->place_count && store_place(&memory->places[at]->job) == place &&
               memory->places[at]->job.due_at <= claim->until_ms) {
            // Taking the job removes it from its place, so the next one comes to where it was.
            struct memory_job *job = memory->places[at];
            claim_job(memory, claim, job);
            at = find_spot(memory, (struct spot){place, INT64_MIN, INT64_MIN});
            left--;
        }
    }
    want->next_due = lane_next_due(memory, want->lane);
}

static void run_claim(struct memory *memory, struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    if (is_fenced(memory, claim->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < claim->want_count; i++)
        claim_lane(memory, claim, &claim->wants[i]);
}

static void keep_attempt(struct memory_job *job, const struct attempt *from)
{
    size_t at = 0;
    while (at < job->attempt_count && job->attempts[at].number < from->number)
        at++;
    if (at < job->attempt_count && job->attempts[at].number == from->number) {
        free_str(&job->attempts[at].reason);
    } else {
        job->attempts = mem_grow(job->attempts, (job->attempt_count + 1) * sizeof *job->attempts);
        memmove(&job->attempts[at + 1], &job->attempts[at], (job->attempt_count - at) * sizeof *job->attempts);
        job->attempt_count++;
    }
    job->attempts[at] = *from;
    job->attempts[at].job_id = job->job.id;
    job->attempts[at].reason = copy_str(from->reason);
}

static enum err change_job(struct memory *memory, const struct store_step *step)
{
    struct memory_job *job = map_get(&memory->jobs, step->job->id);
    if (!job)
        return ERR_NOT_FOUND;
    if (job->job.token != step->token)
        return ERR_LEASE_LOST;
    write_job(memory, job, step->job);
    if (step->attempt)
        keep_attempt(job, step->attempt);
    return ERR_OK;
}

static void run_change(struct memory *memory, struct store_op *op)
{
    struct store_change *change = container_of(op, struct store_change, op);
    for (size_t i = 0; i < change->count; i++)
        change->steps[i].err = change_job(memory, &change->steps[i]);
}

// A list of jobs on the way to being sorted and cut.
struct found {
    struct memory_job **jobs;
    size_t count;
};

static void found_add(struct found *found, struct memory_job *job)
{
    if ((found->count & (found->count - 1)) == 0)
        found->jobs = mem_grow(found->jobs, (found->count ? found->count * 2 : 1) * sizeof *found->jobs);
    found->jobs[found->count++] = job;
}

static void found_sort(struct found *found, int (*compare)(const void *a, const void *b))
{
    if (found->count)
        qsort(found->jobs, found->count, sizeof *found->jobs, compare);
}

#define COMPARE_BY(member)                                                                                                       \
    static int compare_##member(const void *a, const void *b)                                                                    \
    {                                                                                                                            \
        const struct job *left = &(*(struct memory_job *const *)a)->job;                                                         \
        const struct job *right = &(*(struct memory_job *const *)b)->job;                                                        \
        int order = compare_ints(left->member, right->member);                                                                   \
        return order ? order : compare_ints(left->id, right->id);                                                                \
    }
COMPARE_BY(due_at)
COMPARE_BY(expires_at)
COMPARE_BY(purge_at)
COMPARE_BY(id)
COMPARE_BY(scheduled_at)

static bool is_promoted(const struct store_due *due, const struct job *job)
{
    if (job->state != JOB_DELAYED || job->lane != due->lane || job->due_at > due->to_ms || job->due_at <= due->from_ms)
        return false;
    return job->due_at > due->from_ms + 1 || job->id > due->from_id;
}

static void run_due(struct memory *memory, struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    struct found found = {0};
    size_t at = find_spot(memory, (struct spot){due->lane * STORE_PLACES, INT64_MIN, INT64_MIN});
    size_t end = find_spot(memory, (struct spot){(due->lane + 1) * STORE_PLACES, INT64_MIN, INT64_MIN});
    for (; at < end; at++)
        if (is_promoted(due, &memory->places[at]->job))
            found_add(&found, memory->places[at]);
    found_sort(&found, compare_due_at);
    due->changed = found.count < due->max ? found.count : due->max;
    for (size_t i = 0; i < due->changed; i++) {
        leave(memory, found.jobs[i]);
        found.jobs[i]->job.state = JOB_READY;
        enter(memory, found.jobs[i]);
    }
    if (due->changed == found.count) {
        due->upto_ms = due->to_ms;
        due->upto_id = 0;
    } else if (due->changed) {
        due->upto_ms = found.jobs[due->changed - 1]->job.due_at - 1;
        due->upto_id = found.jobs[due->changed - 1]->job.id;
    }
    mem_free(found.jobs);
}

// ---- lists

static struct store_job *give_jobs(struct arena *arena, struct found *found, size_t max, size_t *ret_count)
{
    struct store_job *jobs = NULL;
    for (size_t i = 0; i < found->count && i < max; i++) {
        jobs = store_push(arena, jobs, i, sizeof *jobs);
        jobs[i] = give_job(arena, found->jobs[i]);
        *ret_count = i + 1;
    }
    mem_free(found->jobs);
    return jobs;
}

static void run_held(struct memory *memory, struct store_op *op)
{
    struct store_held *held = container_of(op, struct store_held, op);
    struct found found = {0};
    size_t at = find_spot(memory, (struct spot){-held->holder, INT64_MIN, INT64_MIN});
    for (; at < memory->place_count && store_place(&memory->places[at]->job) == -held->holder; at++)
        if (memory->places[at]->job.id > held->after_id)
            found_add(&found, memory->places[at]);
    found_sort(&found, compare_id);
    held->jobs = give_jobs(&op->arena, &found, held->max, &held->job_count);
}

static void run_expired(struct memory *memory, struct store_op *op)
{
    struct store_expired *expired = container_of(op, struct store_expired, op);
    if (expired->now_ms < memory->expire_after)
        return;
    struct found found = {0};
    struct memory_job *job;
    int64_t id, earliest = TIME_NEVER;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));) {
        if (job->job.expires_at <= 0 || job_state_held(job->job.state) || job_state_final(job->job.state))
            continue;
        earliest = time_min(earliest, job->job.expires_at);
        if (job->job.expires_at <= expired->now_ms)
            found_add(&found, job);
    }
    memory->expire_after = earliest;
    found_sort(&found, compare_expires_at);
    expired->jobs = give_jobs(&op->arena, &found, expired->max, &expired->job_count);
}

// ---- removing

static void free_job(struct memory_job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++)
        free_str(&job->attempts[i].reason);
    mem_free(job->attempts);
    free_str(&job->job.reason);
    free_str(&job->job.response);
    mem_free(job);
}

static void free_task(struct memory_task *task)
{
    free_str(&task->task.queue);
    free_str(&task->task.name);
    free_str(&task->task.doc);
    mem_free(task->jobs);
    mem_free(task);
}

static void remove_job(struct memory *memory, struct memory_job *job)
{
    struct memory_task *task = job->task;
    size_t at = 0;
    while (task->jobs[at] != job)
        at++;
    task->jobs[at] = task->jobs[--task->job_count];
    if (!task->job_count) {
        map_remove(&memory->tasks, task->task.id);
        free_task(task);
    }
    leave(memory, job);
    map_remove(&memory->jobs, job->job.id);
    free_job(job);
}

static void remove_key(struct memory *memory, struct memory_key *key)
{
    int64_t hash = key_hash(key->tenant, key->key);
    struct memory_key *first = map_remove(&memory->keys, hash), **link = &first;
    while (*link != key)
        link = &(*link)->next;
    *link = key->next;
    if (first)
        map_put(&memory->keys, hash, first);
    free_str(&key->key);
    mem_free(key);
}

static bool key_before(const struct memory_key *a, const struct memory_key *b)
{
    int order = compare_ints(a->until, b->until);
    if (!order)
        order = compare_ints(a->tenant, b->tenant);
    if (!order)
        order = memcmp(a->key.p, b->key.p, a->key.n < b->key.n ? a->key.n : b->key.n);
    return order ? order < 0 : a->key.n < b->key.n;
}

static struct memory_key *first_loose_key(const struct memory *memory, int64_t now_ms)
{
    struct memory_key *first = NULL, *key;
    int64_t hash;
    for (size_t at = 0; (key = map_next(&memory->keys, &at, &hash));)
        for (; key; key = key->next)
            if (key->until <= now_ms && !map_get(&memory->tasks, key->task_id) && (!first || key_before(key, first)))
                first = key;
    return first;
}

static void sweep_jobs(struct memory *memory, struct store_sweep *sweep)
{
    struct found found = {0};
    struct memory_job *job;
    int64_t id, earliest = TIME_NEVER;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));) {
        if (job->job.purge_at <= 0 || !job_state_final(job->job.state))
            continue;
        earliest = time_min(earliest, job->job.purge_at);
        if (job->job.purge_at <= sweep->now_ms)
            found_add(&found, job);
    }
    memory->purge_after = earliest;
    found_sort(&found, compare_purge_at);
    for (; sweep->removed < found.count && sweep->removed < sweep->max; sweep->removed++)
        remove_job(memory, found.jobs[sweep->removed]);
    mem_free(found.jobs);
}

static void run_sweep(struct memory *memory, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    if (sweep->now_ms >= memory->purge_after)
        sweep_jobs(memory, sweep);
    struct memory_key *key;
    for (size_t i = 0; i < sweep->max && (key = first_loose_key(memory, sweep->now_ms)); i++)
        remove_key(memory, key);
}

// ---- reading

static void give_attempts(struct store_get *get, const struct memory_job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++) {
        get->attempts = store_push(&get->op.arena, get->attempts, get->attempt_count, sizeof *get->attempts);
        struct attempt *attempt = &get->attempts[get->attempt_count++];
        *attempt = job->attempts[i];
        attempt->reason = give_str(&get->op.arena, attempt->reason);
    }
}

static void give_record(struct store_get *get, const struct memory_job *from)
{
    get->jobs = store_push(&get->op.arena, get->jobs, get->job_count, sizeof *get->jobs);
    struct job *job = &get->jobs[get->job_count++];
    *job = from->job;
    job->reason = give_str(&get->op.arena, job->reason);
    job->response = give_str(&get->op.arena, job->response);
    give_attempts(get, from);
}

static void run_get(struct memory *memory, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    struct memory_job *job = get->job_id ? map_get(&memory->jobs, get->job_id) : NULL;
    struct memory_task *task = get->job_id ? (job ? job->task : NULL) : map_get(&memory->tasks, get->task_id);
    if (!task || task->task.tenant != get->tenant) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    get->task = task->task;
    get->task.queue = give_str(&op->arena, task->task.queue);
    get->task.name = give_str(&op->arena, task->task.name);
    get->task.doc = give_str(&op->arena, task->task.doc);
    if (job) {
        give_record(get, job);
        return;
    }
    struct found found = {0};
    for (size_t i = 0; i < task->job_count; i++)
        found_add(&found, task->jobs[i]);
    found_sort(&found, compare_scheduled_at);
    for (size_t i = found.count; i > 0 && get->job_count < get->max_jobs; i--)
        give_record(get, found.jobs[i - 1]);
    mem_free(found.jobs);
}

// ---- the port

static void (*const runs[STORE_VERB_COUNT])(struct memory *memory, struct store_op *op) = {
    [STORE_JOIN] = run_join,   [STORE_BEAT] = run_beat,       [STORE_BURY] = run_bury,     [STORE_FORGET] = run_forget,
    [STORE_ADD] = run_add,     [STORE_CLAIM] = run_claim,     [STORE_CHANGE] = run_change, [STORE_DUE] = run_due,
    [STORE_HELD] = run_held,   [STORE_EXPIRED] = run_expired, [STORE_LANES] = run_lanes,   [STORE_PAUSE] = run_pause,
    [STORE_SWEEP] = run_sweep, [STORE_GET] = run_get,         [STORE_STATS] = run_stats,
};

static enum err memory_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    struct memory *memory = mem_zero(sizeof *memory);
    memory->store.ops = &store_memory_ops;
    memory->purge_after = memory->expire_after = TIME_NEVER;
    pthread_mutex_init(&memory->lock, NULL);
    *ret_store = &memory->store;
    return ERR_OK;
}

static void memory_submit(struct store *store, struct store_op *op)
{
    struct memory *memory = container_of(store, struct memory, store);
    pthread_mutex_lock(&memory->lock);
    store_op_clear(op);
    runs[op->verb](memory, op);
    pthread_mutex_unlock(&memory->lock);
    op->done(op);
}

static void free_keys(struct memory *memory)
{
    struct memory_key *key;
    int64_t hash;
    for (size_t at = 0; (key = map_next(&memory->keys, &at, &hash));)
        for (struct memory_key *next; key; key = next) {
            next = key->next;
            free_str(&key->key);
            mem_free(key);
        }
    map_done(&memory->keys);
}

static void memory_close(struct store *store)
{
    struct memory *memory = container_of(store, struct memory, store);
    struct memory_job *job;
    struct memory_task *task;
    int64_t id;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));)
        free_job(job);
    for (size_t at = 0; (task = map_next(&memory->tasks, &at, &id));)
        free_task(task);
    map_done(&memory->jobs);
    map_done(&memory->tasks);
    free_keys(memory);
    for (size_t i = 0; i < memory->lane_count; i++) {
        free_str(&memory->lanes[i]->queue);
        mem_free(memory->lanes[i]);
    }
    mem_free(memory->lanes);
    mem_free(memory->places);
    mem_free(memory->incarnations);
    pthread_mutex_destroy(&memory->lock);
    mem_free(memory);
}

const struct store_ops store_memory_ops = {"memory", memory_open, memory_submit, memory_close};
