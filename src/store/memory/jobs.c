// The memory store's verbs about jobs: adding, taking, changing, removing. They run under its lock.
#include "store/memory/memory.h"

#include "base/data/hash.h"

#include <assert.h>
#include <stdlib.h>

// ---- adding

struct memory_key *memory_find_key(const struct memory *memory, int32_t tenant, struct str key)
{
    struct memory_key *found = map_get(&memory->keys, hash_name(tenant, key));
    while (found && (found->tenant != tenant || !str_eq(found->key, key)))
        found = found->next;
    return found;
}

static void add_key(struct memory *memory, const struct store_new *item)
{
    struct memory_key *key = mem_zero(sizeof *key);
    *key = (struct memory_key){.tenant = item->task->tenant, .key = memory_copy(item->key), .task_id = item->task->id};
    key->until = TIME_NEVER; // while its task is there
    memcpy(key->digest, item->digest, sizeof key->digest);
    key->next = map_put(&memory->keys, hash_name(key->tenant, key->key), key);
}

bool memory_ids_are_free(const struct memory *memory, const struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (map_get(&memory->jobs, jobs[i].id))
            return false;
        for (size_t k = 0; k < i; k++)
            if (jobs[k].id == jobs[i].id)
                return false;
    }
    return true;
}

static void tag_task(struct memory_task *task, const struct store_task *from)
{
    task->tag_count = from->tag_count;
    memcpy(task->tags, from->tags ? from->tags : task->tags, from->tag_count * sizeof *task->tags);
    task->task.tags = NULL;
    task->task.tag_count = 0;
}

static struct memory_task *add_task(struct memory *memory, const struct store_task *from, int64_t lane)
{
    struct memory_task *task = mem_zero(sizeof *task);
    task->task = *from;
    task->task.version = 1;
    task->task.queue = memory_copy(from->queue);
    task->task.name = memory_copy(from->name);
    task->task.doc = memory_copy(from->doc);
    tag_task(task, from);
    task->lane = lane;
    task->task.plan = NULL;
    if (from->plan)
        memory_add_plan(task, from->plan);
    memory_note_plan(memory, task);
    map_put(&memory->tasks, from->id, task);
    memory->id_floor = time_max(memory->id_floor, from->id);
    return task;
}

static void add_job(struct memory *memory, struct memory_task *task, struct job *from)
{
    from->lane = task->lane;
    struct memory_job *job = mem_zero(sizeof *job);
    job->job = *from;
    job->job.reason = memory_copy(from->reason);
    job->job.response = memory_copy(from->response);
    job->job.lease_until = 0;
    job->job.result = (struct str){0};
    job->task = task;
    task->jobs = mem_grow(task->jobs, (task->job_count + 1) * sizeof(struct memory_job *));
    task->jobs[task->job_count++] = job;
    map_put(&memory->jobs, job->job.id, job);
    memory->id_floor = time_max(memory->id_floor, job->job.id);
    memory_enter(memory, job);
}

void memory_add_jobs(struct memory *memory, struct memory_task *task, struct job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_job(memory, task, &jobs[i]);
}

// The task that has the name which the item reserves; NULL: none has, or it reserves none.
static struct memory_task *find_reserved(const struct memory *memory, const struct store_new *item)
{
    bool reserves = item->task && item->task->plan && item->task->plan->reserved.n;
    return reserves ? memory_find_reserved(memory, item->task->tenant, item->task->plan->reserved) : NULL;
}

static enum err add_item(struct memory *memory, struct store_new *item)
{
    const struct memory_key *key = item->task && item->key.n ? memory_find_key(memory, item->task->tenant, item->key) : NULL;
    if (key) {
        item->existing_id = key->task_id;
        item->spent_at = key->spent_at;
        return key->spent_at ? ERR_KEY_SPENT : memcmp(key->digest, item->digest, sizeof key->digest) ? ERR_KEY_REUSED : ERR_OK;
    }
    struct memory_task *task = NULL, *reserved = find_reserved(memory, item);
    int64_t lane = 0;
    if (reserved && plan_owes(reserved->plan)) {
        item->existing_id = reserved->task.id;
        return ERR_OK;
    }
    if (item->task) {
        lane = memory_lane_of_task(memory, item->task)->id;
    } else {
        task = item->job_count ? map_get(&memory->tasks, item->jobs[0].task_id) : NULL;
        if (!task || task->task.tenant != item->jobs[0].tenant)
            return ERR_NOT_FOUND;
    }
    if ((item->task && map_get(&memory->tasks, item->task->id)) || !memory_ids_are_free(memory, item->jobs, item->job_count))
        return ERR_INTERNAL;
    if (reserved)
        memory_free_str(&reserved->plan->reserved); // its new task takes it over
    if (!task)
        task = add_task(memory, item->task, lane);
    memory_add_jobs(memory, task, item->jobs, item->job_count);
    if (item->task && item->key.n)
        add_key(memory, item);
    return ERR_OK;
}

void memory_run_add(struct memory *memory, struct store_op *op)
{
    struct store_add *add = container_of(op, struct store_add, op);
    if (add->holder && memory_is_fenced(memory, add->holder)) {
        store_op_fail(op, ERR_FENCED, "the holder was declared dead, or is unknown");
        return;
    }
    for (size_t i = 0; i < add->count; i++)
        add->items[i].err = add_item(memory, &add->items[i]);
}

// ---- taking and changing

// `job` still has the store's own.
void memory_give_result(struct arena *arena, struct job *job, bool any)
{
    job->result_left_out = !any && job->result.n > STORE_LISTED_RESULT;
    job->result = !job->result_left_out ? memory_give(arena, job->result) : (struct str){0};
}

static struct store_job give_job(struct arena *arena, const struct memory_job *from)
{
    struct store_job job = {
        .job = from->job, .doc = memory_give(arena, from->task->task.doc), .version = from->task->task.version};
    job.job.reason = memory_give(arena, from->job.reason);
    job.job.response = memory_give(arena, from->job.response);
    job.job.touched_at = 0;
    memory_give_result(arena, &job.job, false);
    return job;
}

static void leave_out_doc(struct store_job *job)
{
    job->doc = (struct str){0};
    job->version = 0;
}

// The step may not change what never changes: those members keep what is stored.
static void write_job(struct memory *memory, struct memory_job *job, const struct job *as)
{
    memory_leave(memory, job);
    struct job was = job->job;
    job->job = *as;
    job->job.id = was.id;
    job->job.task_id = was.task_id;
    job->job.parent_id = was.parent_id;
    job->job.tenant = was.tenant;
    job->job.lane = was.lane;
    job->job.priority = was.priority;
    job->job.nominal_at = was.nominal_at;
    job->job.trigger = was.trigger;
    job->job.touched_at = as->touched_at ? as->touched_at : was.touched_at;
    job->job.reason = memory_copy(as->reason);
    job->job.response = memory_copy(as->response);
    memory_free_str(&was.reason);
    memory_free_str(&was.response);
    job->job.result_left_out = false;
    job->job.result = memory_copy(as->result);
    memory_free_str(&was.result);
    memory_enter(memory, job);
}

static void claim_job(struct memory *memory, struct store_claim *claim, struct memory_job *from)
{
    claim->jobs = store_push(&claim->op.arena, claim->jobs, claim->job_count, sizeof *claim->jobs);
    struct store_job *job = &claim->jobs[claim->job_count++];
    *job = give_job(&claim->op.arena, from);
    if (from->task->task.paused)
        leave_out_doc(job);
    enum err err = job_claim(&job->job, claim->holder, claim->now_ms);
    assert(!err);
    write_job(memory, from, &job->job);
}

static void claim_lane(struct memory *memory, struct store_claim *claim, struct store_want *want)
{
    const struct memory_lane *lane = memory_lane_by_id(memory, want->lane);
    size_t left = lane && !lane->paused ? want->max : 0, bytes = 0;
    for (int64_t place = want->lane * STORE_PLACES; left && place < (want->lane + 1) * STORE_PLACES; place++) {
        size_t at = memory_find(memory, (struct spot){place, want->from_ms, want->from_id});
        while (left && at < memory->place_count && store_place(&memory->places[at]->job) == place &&
               memory->places[at]->job.due_at <= claim->until_ms) {
            // Taking the job removes it from its place, so the next one comes to where it was.
            struct memory_job *job = memory->places[at];
            bytes += job->task->task.paused ? 0 : job->task->task.doc.n;
            if (!store_want_fits(want, bytes, left)) {
                left = 0;
                break;
            }
            claim_job(memory, claim, job);
            at = memory_find(memory, (struct spot){place, want->from_ms, want->from_id});
            left--;
        }
    }
    want->next_due = memory_next_due(memory, want->lane, want->from_ms, want->from_id, &want->next_id);
}

void memory_run_claim(struct memory *memory, struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    if (memory_is_fenced(memory, claim->holder)) {
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
        memory_free_str(&job->attempts[at].reason);
        memory_free_str(&job->attempts[at].response);
    } else {
        job->attempts = mem_grow(job->attempts, (job->attempt_count + 1) * sizeof *job->attempts);
        memmove(&job->attempts[at + 1], &job->attempts[at], (job->attempt_count - at) * sizeof *job->attempts);
        job->attempt_count++;
    }
    job->attempts[at] = *from;
    job->attempts[at].job_id = job->job.id;
    job->attempts[at].reason = memory_copy(from->reason);
    job->attempts[at].response = memory_copy(from->response);
}

// A job that has ended and counts is added to `counted`.
static enum err change_job(struct memory *memory, const struct store_step *step, struct memory_found *counted)
{
    struct memory_job *job = map_get(&memory->jobs, step->job->id);
    if (!job)
        return ERR_NOT_FOUND;
    if (job->job.token != step->token || (step->watched && job->job.state != JOB_WATCHING) || job->job.lease_until != step->lease)
        return ERR_MOVED_ON;
    if (store_step_counts((enum job_state)job->job.state, step->job))
        memory_found_add(counted, job);
    write_job(memory, job, step->job);
    if (step->attempt)
        keep_attempt(job, step->attempt);
    return ERR_OK;
}

MEMORY_COMPARE_BY(id)

// Jobs that ended by one change count in the order of their ids.
static void count_jobs(struct memory_found *ended)
{
    memory_found_sort(ended, compare_id);
    for (size_t i = 0; i < ended->count; i++)
        memory_count_job(ended->jobs[i]);
    mem_free(ended->jobs);
}

void memory_run_change(struct memory *memory, struct store_op *op)
{
    struct store_change *change = container_of(op, struct store_change, op);
    struct memory_found counted = {0};
    for (size_t i = 0; i < change->count; i++)
        change->steps[i].err = change_job(memory, &change->steps[i], &counted);
    count_jobs(&counted);
}

static bool stands(const struct memory *memory, const struct store_step *step)
{
    const struct memory_job *job = map_get(&memory->jobs, step->job->id);
    return job && job->job.token == step->token && !job_state_held(job->job.state) && !job_state_final(job->job.state);
}

static void replace(struct str *text, struct str by)
{
    memory_free_str(text);
    *text = memory_copy(by);
}

static void amend_task(struct memory *memory, struct memory_task *task, const struct store_amend *amend, int64_t lane)
{
    task->lane = lane;
    task->task.version++;
    task->task.paused = amend->task.paused;
    task->task.dispatch = amend->task.dispatch;
    if (amend->retag)
        tag_task(task, &amend->task);
    task->task.updated_at = amend->task.updated_at;
    replace(&task->task.queue, amend->task.queue);
    replace(&task->task.name, amend->task.name);
    replace(&task->task.doc, amend->task.doc);
    memory_write_plan(task, amend->task.plan);
    memory_note_plan(memory, task);
    for (size_t i = 0; i < amend->count; i++) {
        struct memory_job *job = map_get(&memory->jobs, amend->steps[i].job->id);
        memory_leave(memory, job);
        job->job.lane = task->lane;
        job->job.priority = amend->steps[i].job->priority;
        job->job.nominal_at = amend->steps[i].job->nominal_at;
        bool counts = store_step_counts((enum job_state)job->job.state, amend->steps[i].job);
        memory_enter(memory, job);
        write_job(memory, job, amend->steps[i].job);
        if (counts)
            memory_count_job(job);
    }
    memory_add_jobs(memory, task, amend->jobs, amend->job_count);
}

void memory_run_amend(struct memory *memory, struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    struct memory_task *task = map_get(&memory->tasks, amend->task.id);
    if (!task || task->task.tenant != amend->task.tenant) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    bool standing = task->task.version == amend->task.version;
    int64_t lane = standing ? memory_lane_of_task(memory, &amend->task)->id : 0;
    standing &= !task->plan || !amend->task.plan || task->plan->revision == amend->task.plan->revision;
    for (size_t i = 0; i < amend->count && standing; i++)
        standing = stands(memory, &amend->steps[i]);
    if (!standing)
        store_op_fail(op, ERR_MOVED_ON, "the task, its plan or a job of it has changed meanwhile");
    else if (!memory_ids_are_free(memory, amend->jobs, amend->job_count))
        store_op_fail(op, ERR_INTERNAL, "an id of a job is taken already");
    else
        amend_task(memory, task, amend, lane);
}

// A list of jobs on the way to being sorted and cut.
void memory_found_add(struct memory_found *found, struct memory_job *job)
{
    if ((found->count & (found->count - 1)) == 0)
        found->jobs = mem_grow(found->jobs, (found->count ? found->count * 2 : 1) * sizeof *found->jobs);
    found->jobs[found->count++] = job;
}

void memory_found_sort(struct memory_found *found, int (*compare)(const void *a, const void *b))
{
    if (found->count)
        qsort(found->jobs, found->count, sizeof *found->jobs, compare);
}

MEMORY_COMPARE_BY(due_at)
MEMORY_COMPARE_BY(expires_at)
MEMORY_COMPARE_BY(lease_until)
MEMORY_COMPARE_BY(purge_at)

static bool is_promoted(const struct store_due *due, const struct job *job)
{
    if (job->state != JOB_DELAYED || job->lane != due->lane || job->due_at > due->to_ms || job->due_at <= due->from_ms)
        return false;
    return job->due_at > due->from_ms + 1 || job->id > due->from_id;
}

void memory_run_due(struct memory *memory, struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    struct memory_found found = {0};
    size_t at = memory_find(memory, (struct spot){due->lane * STORE_PLACES, INT64_MIN, INT64_MIN});
    size_t end = memory_find(memory, (struct spot){(due->lane + 1) * STORE_PLACES, INT64_MIN, INT64_MIN});
    for (; at < end; at++)
        if (is_promoted(due, &memory->places[at]->job))
            memory_found_add(&found, memory->places[at]);
    memory_found_sort(&found, compare_due_at);
    due->changed = found.count < due->max ? found.count : due->max;
    for (size_t i = 0; i < due->changed; i++) {
        memory_leave(memory, found.jobs[i]);
        found.jobs[i]->job.state = JOB_READY;
        memory_enter(memory, found.jobs[i]);
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

static void give_jobs(struct store_find *find, struct memory_found *found)
{
    size_t bytes = 0;
    for (size_t i = 0; i < found->count && !store_page_ends(i, find->max, bytes); i++) {
        find->jobs = store_push(&find->op.arena, find->jobs, i, sizeof *find->jobs);
        find->jobs[i] = give_job(&find->op.arena, found->jobs[i]);
        bytes += find->jobs[i].doc.n;
        find->job_count = i + 1;
    }
    find->more = store_page_ends(find->job_count, find->max, bytes);
    mem_free(found->jobs);
}

static bool is_paused(const struct memory *memory, const struct job *job)
{
    return ((const struct memory_job *)map_get(&memory->jobs, job->id))->task->task.paused;
}

static void find_held(struct memory *memory, struct store_find *find)
{
    struct memory_found found = {0};
    size_t at = memory_find(memory, (struct spot){-find->holder, INT64_MIN, INT64_MIN});
    for (; at < memory->place_count && store_place(&memory->places[at]->job) == -find->holder; at++)
        if (memory->places[at]->job.id > find->after_id)
            memory_found_add(&found, memory->places[at]);
    memory_found_sort(&found, compare_id);
    give_jobs(find, &found);
    for (size_t i = 0; i < find->job_count; i++)
        if (find->to_run && find->jobs[i].job.state == JOB_WATCHING && is_paused(memory, &find->jobs[i].job))
            leave_out_doc(&find->jobs[i]);
}

static void find_expired(struct memory *memory, struct store_find *find)
{
    if (find->now_ms < memory->expire_after)
        return;
    struct memory_found found = {0};
    struct memory_job *job;
    int64_t id, earliest = TIME_NEVER;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));) {
        if (job->job.expires_at <= 0 || job_state_held(job->job.state) || job_state_final(job->job.state))
            continue;
        earliest = time_min(earliest, job->job.expires_at);
        if (job->job.expires_at <= find->now_ms)
            memory_found_add(&found, job);
    }
    memory->expire_after = earliest;
    memory_found_sort(&found, compare_expires_at);
    give_jobs(find, &found);
}

static void find_leases(struct memory *memory, struct store_find *find)
{
    if (find->now_ms < memory->lease_after)
        return;
    struct memory_found found = {0};
    struct memory_job *job;
    int64_t id, earliest = TIME_NEVER;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));) {
        if (job->job.lease_until <= 0)
            continue;
        earliest = time_min(earliest, job->job.lease_until);
        if (job->job.lease_until <= find->now_ms)
            memory_found_add(&found, job);
    }
    memory->lease_after = earliest;
    memory_found_sort(&found, compare_lease_until);
    give_jobs(find, &found);
}

static void (*const finds[STORE_FIND_COUNT])(struct memory *memory, struct store_find *find) = {
    [STORE_FIND_HELD] = find_held, [STORE_FIND_EXPIRED] = find_expired, [STORE_FIND_LEASES] = find_leases};

void memory_run_find(struct memory *memory, struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    finds[find->what](memory, find);
}

// ---- removing

void memory_free_job(struct memory_job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++) {
        memory_free_str(&job->attempts[i].reason);
        memory_free_str(&job->attempts[i].response);
    }
    mem_free(job->attempts);
    memory_free_str(&job->job.reason);
    memory_free_str(&job->job.response);
    memory_free_str(&job->job.result);
    mem_free(job);
}

void memory_free_task(struct memory_task *task)
{
    memory_free_str(&task->task.queue);
    memory_free_str(&task->task.name);
    memory_free_str(&task->task.doc);
    memory_free_plan(task->plan);
    mem_free(task->jobs);
    mem_free(task);
}

static void loosen_keys(struct memory *memory, int64_t task_id, int64_t until, int64_t spent_at)
{
    struct memory_key *key;
    int64_t hash;
    for (size_t at = 0; (key = map_next(&memory->keys, &at, &hash));)
        for (; key; key = key->next)
            if (key->task_id == task_id) {
                key->until = until;
                key->spent_at = spent_at;
            }
}

static void remove_task(struct memory *memory, struct memory_task *task, int64_t keys_until, int64_t spent_at)
{
    map_remove(&memory->tasks, task->task.id);
    map_remove(&memory->recurring, task->task.id);
    loosen_keys(memory, task->task.id, keys_until, spent_at);
    memory_free_task(task);
}

// Retention leaves a task alone while its plan is not over.
static bool owes(const struct memory_task *task)
{
    return task->plan && task->plan->planned_through < TIME_NEVER;
}

static void remove_job(struct memory *memory, struct memory_job *job, int64_t keys_until, int64_t spent_at)
{
    struct memory_task *task = job->task;
    size_t at = 0;
    while (task->jobs[at] != job)
        at++;
    task->jobs[at] = task->jobs[--task->job_count];
    if (!task->job_count && !(owes(task) && !spent_at))
        remove_task(memory, task, keys_until, spent_at);
    memory_leave(memory, job);
    map_remove(&memory->jobs, job->job.id);
    memory_free_job(job);
}

static void remove_key(struct memory *memory, struct memory_key *key)
{
    int64_t hash = hash_name(key->tenant, key->key);
    struct memory_key *first = map_remove(&memory->keys, hash), **link = &first;
    while (*link != key)
        link = &(*link)->next;
    *link = key->next;
    if (first)
        map_put(&memory->keys, hash, first);
    memory_free_str(&key->key);
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
            if (key->until <= now_ms && (!first || key_before(key, first)))
                first = key;
    return first;
}

static void sweep_jobs(struct memory *memory, struct store_sweep *sweep)
{
    struct memory_found found = {0};
    struct memory_job *job;
    int64_t id, earliest = TIME_NEVER;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));) {
        if (job->job.purge_at <= 0 || !job_state_final(job->job.state))
            continue;
        earliest = time_min(earliest, job->job.purge_at);
        if (job->job.purge_at <= sweep->now_ms)
            memory_found_add(&found, job);
    }
    memory->purge_after = earliest;
    memory_found_sort(&found, compare_purge_at);
    for (; sweep->removed < found.count && sweep->removed < sweep->max; sweep->removed++)
        remove_job(memory, found.jobs[sweep->removed], sweep->keys_until, 0);
    mem_free(found.jobs);
}

// The first recurring task that has no job any more, and will get none.
static struct memory_task *first_over(const struct memory *memory)
{
    struct memory_task *first = NULL, *task;
    int64_t id;
    for (size_t at = 0; (task = map_next(&memory->recurring, &at, &id));)
        if (!owes(task) && !task->job_count && (!first || id < first->task.id))
            first = task;
    return first;
}

void memory_run_remove(struct memory *memory, struct store_op *op)
{
    struct store_remove *remove = container_of(op, struct store_remove, op);
    struct memory_task *task = map_get(&memory->tasks, remove->task_id);
    struct memory_found found = {0};
    if (!task || task->task.tenant != remove->tenant) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task");
        return;
    }
    bool standing = task->task.version == remove->version;
    for (size_t i = 0; i < task->job_count; i++)
        memory_found_add(&found, task->jobs[i]);
    memory_found_sort(&found, compare_id);
    for (size_t i = 0; i < found.count && (i < remove->max || !remove->goes_on); i++)
        standing &= found.jobs[i]->job.state > store_remove_last(remove);
    for (size_t i = 0; i < found.count && i < remove->max && standing; i++)
        remove_job(memory, found.jobs[i], remove->keys_until, remove->now_ms);
    if (standing && !found.count)
        remove_task(memory, task, remove->keys_until, remove->now_ms);
    remove->more = standing && found.count > remove->max;
    if (!standing)
        store_op_fail(op, ERR_MOVED_ON, "the task or a job of it has changed meanwhile");
    mem_free(found.jobs);
}

void memory_run_sweep(struct memory *memory, struct store_op *op)
{
    struct store_sweep *sweep = container_of(op, struct store_sweep, op);
    if (sweep->now_ms >= memory->purge_after)
        sweep_jobs(memory, sweep);
    struct memory_task *task;
    for (size_t i = 0; i < sweep->max && (task = first_over(memory)); i++)
        remove_task(memory, task, sweep->keys_until, 0);
    struct memory_key *key;
    for (size_t i = 0; i < sweep->max && (key = first_loose_key(memory, sweep->now_ms)); i++)
        remove_key(memory, key);
    memory_sweep_journal(memory, sweep);
}
