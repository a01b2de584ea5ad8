// The store that forgets: everything in one process's memory, under one lock. It is the reference the other backends are
// compared with, and what the simulator's nodes share, so it is written to be obviously right and to answer the same on every
// run.
//
// An operation is carried out inside store_submit() and given back there, after the lock is released. One sorted array
// `places` plays the part of the index (place, due_at, id); whatever is rare is a walk over all jobs.
//
// The verbs about jobs are in memory/jobs.c, GET and LIST in memory/read.c, those about what is counted and told in
// memory/news.c.
//
// What it does not do: survive its process, or stay fast beyond some ten thousand waiting jobs.
#include "store/memory/memory.h"
#include "core/id.h"

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
        memory->lapse_after = time_min(memory->lapse_after, job->job.lease_until);
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

// ---- incarnations

static struct memory_incarnation *find_incarnation(struct memory *memory, int64_t id)
{
    for (size_t i = 0; i < memory->incarnation_count; i++)
        if (memory->incarnations[i].id == id)
            return &memory->incarnations[i];
    return NULL;
}

bool memory_is_fenced(struct memory *memory, int64_t holder)
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
    memory->incarnations[at] = (struct memory_incarnation){.id = id, .node = node, .tells = true};
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
        incarnation->pulls = join->pulls;
    }
    if (!memory->has_secret)
        memcpy(memory->secret, join->secret, sizeof memory->secret);
    memory->has_secret = true;
    memcpy(join->secret, memory->secret, sizeof join->secret);
    join->node = incarnation->node;
    join->id_floor = memory->id_floor;
}

static void run_beat(struct memory *memory, struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    if (memory_is_fenced(memory, beat->incarnation)) {
        store_op_fail(op, ERR_FENCED, "this incarnation was declared dead, or is unknown");
        return;
    }
    struct memory_incarnation *self = find_incarnation(memory, beat->incarnation);
    self->beat++;
    self->listens = beat->listens;
    self->tells = beat->tells;
    for (size_t i = 0; i < memory->incarnation_count; i++) {
        const struct memory_incarnation *other = &memory->incarnations[i];
        if (other->id == beat->incarnation)
            continue;
        beat->peers = store_push(&op->arena, beat->peers, beat->peer_count, sizeof *beat->peers);
        beat->peers[beat->peer_count++] =
            (struct store_peer){other->id, other->beat, other->pulls, other->dead, other->listens, other->tells};
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
    size_t at = memory_find(memory, (struct spot){-holder, INT64_MIN, INT64_MIN});
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
    mem_free(incarnation->asked);
    memory->incarnation_count--;
    memmove(incarnation, incarnation + 1, (memory->incarnation_count - at) * sizeof *incarnation);
}

// ---- owners and wishes

static int compare_owners(const void *one, const void *other)
{
    const struct store_owner *a = one, *b = other;
    return a->bucket != b->bucket ? compare_ints(a->bucket, b->bucket) : compare_ints(a->puller, b->puller);
}

static void run_owners(struct memory *memory, struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    owners->term = memory->term;
    owners->owner_count = memory->owner_count;
    owners->owners = arena_array(&op->arena, struct store_owner, memory->owner_count);
    if (memory->owner_count)
        memcpy(owners->owners, memory->owners, memory->owner_count * sizeof *memory->owners);
}

static void run_divide(struct memory *memory, struct store_op *op)
{
    struct store_divide *divide = container_of(op, struct store_divide, op);
    if (memory->term != divide->term) {
        store_op_fail(op, ERR_LEASE_LOST, "they were divided by another meanwhile");
        return;
    }
    memory->term++;
    memory->owner_count = divide->owner_count;
    memory->owners = mem_grow(memory->owners, (divide->owner_count + 1) * sizeof *memory->owners);
    if (divide->owner_count)
        memcpy(memory->owners, divide->owners, divide->owner_count * sizeof *memory->owners);
    qsort(memory->owners, memory->owner_count, sizeof *memory->owners, compare_owners);
}

static void run_ask(struct memory *memory, struct store_op *op)
{
    struct store_ask *ask = container_of(op, struct store_ask, op);
    struct memory_incarnation *holder = find_incarnation(memory, ask->holder);
    if (!holder) {
        store_op_fail(op, ERR_LEASE_LOST, "there is no such incarnation any more");
        return;
    }
    size_t at = 0;
    while (at < holder->asked_count && holder->asked[at].job_id < ask->job.job_id)
        at++;
    if (at == holder->asked_count || holder->asked[at].job_id != ask->job.job_id) {
        holder->asked = mem_grow(holder->asked, (holder->asked_count + 1) * sizeof *holder->asked);
        memmove(&holder->asked[at + 1], &holder->asked[at], (holder->asked_count - at) * sizeof *holder->asked);
        holder->asked_count++;
        holder->asked[at] = ask->job;
    }
    if (ask->job.wish < holder->asked[at].wish)
        holder->asked[at].wish = ask->job.wish;
}

static void run_asked(struct memory *memory, struct store_op *op)
{
    struct store_asked *asked = container_of(op, struct store_asked, op);
    struct memory_incarnation *holder = find_incarnation(memory, asked->holder);
    size_t count = holder && holder->asked_count < asked->max ? holder->asked_count : holder ? asked->max : 0;
    if (count == 0)
        return;
    asked->jobs = arena_array(&op->arena, struct store_asked_job, count);
    asked->job_count = count;
    memcpy(asked->jobs, holder->asked, count * sizeof *holder->asked);
    holder->asked_count -= count;
    memmove(holder->asked, &holder->asked[count], holder->asked_count * sizeof *holder->asked);
}

// ---- lanes

static struct memory_lane *find_lane(const struct memory *memory, int32_t tenant, struct str queue)
{
    for (size_t i = 0; i < memory->lane_count; i++)
        if (memory->lanes[i]->tenant == tenant && str_eq(memory->lanes[i]->queue, queue))
            return memory->lanes[i];
    return NULL;
}

struct memory_lane *memory_lane_by_name(struct memory *memory, int32_t tenant, struct str queue)
{
    struct memory_lane *lane = find_lane(memory, tenant, queue);
    if (lane)
        return lane;
    lane = mem_zero(sizeof *lane);
    memory->lanes = mem_grow(memory->lanes, (memory->lane_count + 1) * sizeof *memory->lanes);
    memory->lanes[memory->lane_count++] = lane;
    lane->id = (int64_t)memory->lane_count;
    lane->tenant = tenant;
    lane->queue = memory_copy(queue);
    return lane;
}

struct memory_lane *memory_lane_by_id(const struct memory *memory, int64_t id)
{
    return id >= 1 && (size_t)id <= memory->lane_count ? memory->lanes[id - 1] : NULL;
}

static void run_pause(struct memory *memory, struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    struct memory_lane *lane = memory_lane_by_name(memory, pause->tenant, pause->queue);
    lane->paused = pause->paused;
    lane->dropped = false;
    pause->lane = lane->id;
}

static void run_drop(struct memory *memory, struct store_op *op)
{
    struct store_drop *drop = container_of(op, struct store_drop, op);
    struct memory_lane *lane = find_lane(memory, drop->tenant, drop->queue);
    int64_t open = 0;
    for (int state = 0; state < JOB_STATE_COUNT && lane; state++)
        open += job_state_final((enum job_state)state) ? 0 : lane->counts[state];
    store_drop_judge(drop, lane && !lane->dropped, open, lane && lane->paused);
    if (lane && !op->err)
        lane->dropped = true;
}

static void run_lanes(struct memory *memory, struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    for (size_t i = 0; i < memory->lane_count && lanes->lane_count < lanes->max; i++) {
        const struct memory_lane *from = memory->lanes[i];
        if (from->dropped || from->id <= lanes->after_id || (lanes->tenant && from->tenant != lanes->tenant))
            continue;
        lanes->lanes = store_push(&op->arena, lanes->lanes, lanes->lane_count, sizeof *lanes->lanes);
        struct store_lane *lane = &lanes->lanes[lanes->lane_count++];
        *lane = (struct store_lane){.id = from->id, .tenant = from->tenant, .paused = from->paused};
        lane->queue = memory_give(&op->arena, from->queue);
        lane->next_due = lanes->names_only ? 0 : memory_next_due(memory, from->id, INT64_MIN, 0, &(int64_t){0});
        if (lanes->counts)
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

// ---- bulks

static void run_bulks(struct memory *memory, struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    for (size_t i = 0; i < memory->bulk_count; i++) {
        const struct store_bulk_row *row = &memory->bulks[i];
        bool wanted = bulks->id ? row->id == bulks->id && row->tenant == bulks->tenant
                                : row->state == STORE_BULK_RUNNING && bulks->row_count < bulks->max;
        if (!wanted)
            continue;
        bulks->rows = store_push(&op->arena, bulks->rows, bulks->row_count, sizeof *bulks->rows);
        bulks->rows[bulks->row_count] = *row;
        bulks->rows[bulks->row_count++].doc = memory_give(&op->arena, row->doc);
    }
    if (bulks->id && !bulks->row_count)
        store_op_fail(op, ERR_NOT_FOUND, "there is no such bulk");
}

static void run_backup(struct memory *memory, struct store_op *op)
{
    store_op_fail(op, ERR_UNSUPPORTED, "what is kept in memory only is not backed up");
}

static struct store_bulk_row *find_bulk(struct memory *memory, int64_t id)
{
    for (size_t i = 0; i < memory->bulk_count; i++)
        if (memory->bulks[i].id == id)
            return &memory->bulks[i];
    return NULL;
}

static void add_bulk(struct memory *memory, const struct store_bulk_row *row)
{
    memory->bulks = mem_grow(memory->bulks, (memory->bulk_count + 1) * sizeof *memory->bulks);
    size_t at = memory->bulk_count++;
    for (; at > 0 && memory->bulks[at - 1].id > row->id; at--)
        memory->bulks[at] = memory->bulks[at - 1];
    memory->bulks[at] = *row;
    memory->bulks[at].version = 1;
    memory->bulks[at].doc = memory_copy(row->doc);
}

static void forget_bulks(struct memory *memory, int64_t before)
{
    size_t kept = 0;
    for (size_t i = 0; i < memory->bulk_count; i++) {
        struct store_bulk_row *row = &memory->bulks[i];
        if (row->state != STORE_BULK_RUNNING && row->ended_at < before)
            memory_free_str(&row->doc);
        else
            memory->bulks[kept++] = *row;
    }
    memory->bulk_count = kept;
}

static void run_bulk(struct memory *memory, struct store_op *op)
{
    struct store_bulk *bulk = container_of(op, struct store_bulk, op);
    struct store_bulk_row *row = find_bulk(memory, bulk->row.id);
    if ((row ? row->version : 0) != bulk->row.version) {
        store_op_fail(op, ERR_LEASE_LOST, "the bulk has changed meanwhile");
    } else if (row) {
        struct str doc = row->doc;
        *row = bulk->row;
        row->version++;
        row->doc = doc;
    } else {
        add_bulk(memory, &bulk->row);
    }
    forget_bulks(memory, bulk->forget_before);
}

// ---- the port

static void (*const runs[STORE_VERB_COUNT])(struct memory *memory, struct store_op *op) = {
    [STORE_JOIN] = run_join,
    [STORE_BEAT] = run_beat,
    [STORE_BURY] = run_bury,
    [STORE_FORGET] = run_forget,
    [STORE_OWNERS] = run_owners,
    [STORE_DIVIDE] = run_divide,
    [STORE_ASK] = run_ask,
    [STORE_ASKED] = run_asked,
    [STORE_ADD] = memory_run_add,
    [STORE_CLAIM] = memory_run_claim,
    [STORE_CHANGE] = memory_run_change,
    [STORE_DUE] = memory_run_due,
    [STORE_FIND] = memory_run_find,
    [STORE_LANES] = run_lanes,
    [STORE_PAUSE] = run_pause,
    [STORE_DROP] = run_drop,
    [STORE_SWEEP] = memory_run_sweep,
    [STORE_GET] = memory_run_get,
    [STORE_LIST] = memory_run_list,
    [STORE_AMEND] = memory_run_amend,
    [STORE_REMOVE] = memory_run_remove,
    [STORE_BULKS] = run_bulks,
    [STORE_BULK] = run_bulk,
    [STORE_BACKUP] = run_backup,
    [STORE_STATS] = run_stats,
    [STORE_AHEAD] = memory_run_ahead,
    [STORE_TALLY] = memory_run_tally,
    [STORE_SERIES] = memory_run_series,
    [STORE_TELL] = memory_run_tell,
    [STORE_HEAR] = memory_run_hear,
};

static enum err memory_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    struct memory *memory = mem_zero(sizeof *memory);
    memory->store.ops = &store_memory_ops;
    memory->purge_after = memory->expire_after = memory->lapse_after = TIME_NEVER;
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
    for (size_t i = 0; i < memory->bulk_count; i++)
        memory_free_str(&memory->bulks[i].doc);
    mem_free(memory->bulks);
    memory_free_news(memory);
    pthread_mutex_destroy(&memory->lock);
    mem_free(memory);
}

const struct store_ops store_memory_ops = {"memory", false, memory_open, memory_submit, memory_close};
