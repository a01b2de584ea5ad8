// The store that forgets: everything in one process's memory, under one lock. It is the reference the other backends are
// compared with, and what the simulator's nodes share, so it is written to be obviously right and to answer the same on every
// run.
//
// An operation is carried out inside store_submit() and given back there, after the lock is released. One sorted array
// `places` plays the part of the index (place, due_at, id); whatever is rare is a walk over all jobs.
//
// This file has the index and the port. The verbs are in memory/jobs.c, memory/read.c (GET, LIST) and memory/lanes.c for
// store/jobs.h, and in memory/lives.c, memory/peers.c, memory/plans.c and memory/journal.c for the headers of the same names.
//
// What it does not do: survive its process, or stay fast beyond some ten thousand waiting jobs.
#include "store/memory/memory.h"

#include <assert.h>
#include <stdlib.h>

struct str memory_copy(struct str text)
{
    return text.n ? (struct str){mem_copy(text.p, text.n), text.n} : (struct str){0};
}

void memory_free_str(struct str *text)
{
    mem_free((char *)text->p);
    *text = (struct str){0};
}

struct str memory_give(struct arena *arena, struct str text)
{
    return text.n ? arena_copy(arena, text) : (struct str){0};
}

// ---- places

static int compare_spot(const struct memory_job *job, struct spot spot)
{
    int order = compare_ints(store_place(&job->job), spot.place);
    if (!order)
        order = compare_ints(job->job.due_at, spot.due_at);
    return order ? order : compare_ints(job->job.id, spot.id);
}

size_t memory_find(const struct memory *memory, struct spot spot)
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

void memory_leave(struct memory *memory, struct memory_job *job)
{
    memory->lanes[job->job.lane - 1]->counts[job->job.state]--;
    struct spot spot = spot_of(job);
    if (spot.place == STORE_NOWHERE)
        return;
    size_t at = memory_find(memory, spot);
    assert(memory->places[at] == job);
    memory->place_count--;
    memmove(&memory->places[at], &memory->places[at + 1], (memory->place_count - at) * sizeof *memory->places);
}

void memory_enter(struct memory *memory, struct memory_job *job)
{
    struct memory_lane *lane = memory->lanes[job->job.lane - 1];
    lane->counts[job->job.state]++;
    lane->dropped = lane->dropped && job_state_final(job->job.state);
    if (job->job.purge_at > 0)
        memory->purge_after = time_min(memory->purge_after, job->job.purge_at);
    if (job->job.expires_at > 0)
        memory->expire_after = time_min(memory->expire_after, job->job.expires_at);
    if (job->job.lease_until > 0)
        memory->lease_after = time_min(memory->lease_after, job->job.lease_until);
    struct spot spot = spot_of(job);
    if (spot.place == STORE_NOWHERE)
        return;
    if (memory->place_count == memory->place_cap) {
        memory->place_cap = memory->place_cap ? memory->place_cap * 2 : 64;
        memory->places = mem_grow(memory->places, memory->place_cap * sizeof *memory->places);
    }
    size_t at = memory_find(memory, spot);
    memmove(&memory->places[at + 1], &memory->places[at], (memory->place_count - at) * sizeof *memory->places);
    memory->places[at] = job;
    memory->place_count++;
}

int64_t memory_next_due(const struct memory *memory, int64_t lane, int64_t from_ms, int64_t from_id, int64_t *ret_id)
{
    int64_t next = TIME_NEVER;
    *ret_id = 0;
    for (int64_t place = lane * STORE_PLACES; place < (lane + 1) * STORE_PLACES; place++) {
        size_t at = memory_find(memory, (struct spot){place, from_ms, from_id});
        const struct job *job = at < memory->place_count ? &memory->places[at]->job : NULL;
        if (!job || store_place(job) != place || job->due_at > next || (job->due_at == next && job->id > *ret_id))
            continue;
        next = job->due_at;
        *ret_id = job->id;
    }
    return next;
}

// ---- the port

static void (*const runs[STORE_VERB_COUNT])(struct memory *memory, struct store_op *op) = {
    [STORE_JOIN] = memory_run_join,       [STORE_BEAT] = memory_run_beat,         [STORE_BURY] = memory_run_bury,
    [STORE_FORGET] = memory_run_forget,   [STORE_OWNERS] = memory_run_owners,     [STORE_DIVIDE] = memory_run_divide,
    [STORE_REQUEST] = memory_run_request, [STORE_REQUESTS] = memory_run_requests, [STORE_ADD] = memory_run_add,
    [STORE_CLAIM] = memory_run_claim,     [STORE_CHANGE] = memory_run_change,     [STORE_DUE] = memory_run_due,
    [STORE_FIND] = memory_run_find,       [STORE_LANES] = memory_run_lanes,       [STORE_PAUSE] = memory_run_pause,
    [STORE_DROP] = memory_run_drop,       [STORE_SWEEP] = memory_run_sweep,       [STORE_GET] = memory_run_get,
    [STORE_LIST] = memory_run_list,       [STORE_AMEND] = memory_run_amend,       [STORE_REMOVE] = memory_run_remove,
    [STORE_BULKS] = memory_run_bulks,     [STORE_BULK] = memory_run_bulk,         [STORE_BACKUP] = memory_run_backup,
    [STORE_STATS] = memory_run_stats,     [STORE_AHEAD] = memory_run_ahead,       [STORE_MINUTE] = memory_run_minute,
    [STORE_SERIES] = memory_run_series,   [STORE_RELAY] = memory_run_relay,       [STORE_EVENTS] = memory_run_events,
    [STORE_PLAN] = memory_run_plan,       [STORE_PLANS] = memory_run_plans,       [STORE_UPCOMING] = memory_run_upcoming,
    [STORE_TZDATA] = memory_run_tzdata,
};

static enum err memory_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    struct memory *memory = mem_zero(sizeof *memory);
    memory->store.ops = &store_memory_ops;
    memory->purge_after = memory->expire_after = memory->lease_after = TIME_NEVER;
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
            memory_free_str(&key->key);
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
        memory_free_job(job);
    for (size_t at = 0; (task = map_next(&memory->tasks, &at, &id));)
        memory_free_task(task);
    map_done(&memory->jobs);
    map_done(&memory->tasks);
    map_done(&memory->recurring);
    free_keys(memory);
    for (size_t i = 0; i < memory->lane_count; i++) {
        memory_free_str(&memory->lanes[i]->queue);
        mem_free(memory->lanes[i]);
    }
    mem_free(memory->lanes);
    mem_free(memory->places);
    for (size_t i = 0; i < memory->incarnation_count; i++)
        mem_free(memory->incarnations[i].asked);
    mem_free(memory->incarnations);
    mem_free(memory->owners);
    mem_free(memory->tzdata);
    memory_free_journal(memory);
    pthread_mutex_destroy(&memory->lock);
    mem_free(memory);
}

const struct store_ops store_memory_ops = {"memory", false, memory_open, memory_submit, memory_close};
