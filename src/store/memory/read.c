// GET and LIST. What is given back is copied; a page is found by going through everything, which is fine for a reference.
#include "base/mem.h"
#include "store/memory/memory.h"

#include <assert.h>
#include <stdlib.h>

MEMORY_COMPARE_BY(scheduled_at)

static void give_attempts(struct store_get *get, const struct memory_job *job)
{
    for (size_t i = 0; i < job->attempt_count; i++) {
        get->attempts = store_push(&get->op.arena, get->attempts, get->attempt_count, sizeof *get->attempts);
        struct attempt *attempt = &get->attempts[get->attempt_count++];
        *attempt = job->attempts[i];
        attempt->reason = memory_give(&get->op.arena, attempt->reason);
        attempt->response = get->job_id ? memory_give(&get->op.arena, attempt->response) : (struct str){0};
        attempt->response_truncated &= get->job_id != 0;
    }
}

static void give_record(struct store_get *get, const struct memory_job *from)
{
    get->jobs = store_push(&get->op.arena, get->jobs, get->job_count, sizeof *get->jobs);
    struct job *job = &get->jobs[get->job_count++];
    *job = from->job;
    job->reason = memory_give(&get->op.arena, job->reason);
    job->response = memory_give(&get->op.arena, job->response);
    job->touched_at = job_state_final(job->state) ? 0 : job->touched_at;
    memory_give_result(&get->op.arena, job, get->job_id != 0);
    give_attempts(get, from);
}

static bool job_is_any(const struct job *job)
{
    return true;
}

static bool job_is_final(const struct job *job)
{
    return job_state_final(job->state);
}

static bool job_is_open(const struct job *job)
{
    return !job_state_final(job->state);
}

static void give_newest(struct store_get *get, const struct memory_found *found, bool (*wanted)(const struct job *job))
{
    for (size_t i = found->count; i > 0 && get->job_count < get->max_jobs; i--)
        if (wanted(&found->jobs[i - 1]->job))
            give_record(get, found->jobs[i - 1]);
}

struct store_task memory_give_task(struct arena *arena, const struct memory_task *from)
{
    struct store_task task = from->task;
    task.queue = memory_give(arena, task.queue);
    task.name = memory_give(arena, task.name);
    task.doc = memory_give(arena, task.doc);
    task.plan = memory_give_plan(arena, from->plan);
    return task;
}

static void give_jobs_of(struct store_get *get, const struct memory_task *task)
{
    struct memory_found found = {0};
    for (size_t i = 0; i < task->job_count; i++)
        memory_found_add(&found, task->jobs[i]);
    memory_found_sort(&found, compare_scheduled_at);
    if (get->open_first)
        give_newest(get, &found, job_is_open);
    give_newest(get, &found, get->open_first ? job_is_final : job_is_any);
    mem_free(found.jobs);
}

void memory_run_get(struct memory *memory, struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    struct memory_job *job = get->job_id ? map_get(&memory->jobs, get->job_id) : NULL;
    struct memory_task *task = job               ? job->task
                               : get->job_id     ? NULL
                               : get->reserved.n ? memory_find_reserved(memory, get->tenant, get->reserved)
                                                 : map_get(&memory->tasks, get->task_id);
    if (!task || (get->tenant && task->task.tenant != get->tenant)) {
        store_op_fail(op, ERR_NOT_FOUND, "there is no such task or job");
        return;
    }
    get->task = memory_give_task(&op->arena, task);
    if (job) {
        give_record(get, job);
        return;
    }
    give_jobs_of(get, task);
    store_sort_attempts(get->attempts, get->attempt_count);
}

void memory_run_ahead(struct memory *memory, struct store_op *op)
{
    struct store_ahead *ahead = container_of(op, struct store_ahead, op);
    int64_t own = store_place(&(struct job){.lane = ahead->lane, .priority = (uint8_t)ahead->priority, .state = JOB_READY});
    for (int64_t place = ahead->lane * STORE_PLACES; place <= own; place++) {
        size_t from = memory_find(memory, (struct spot){place, INT64_MIN, INT64_MIN});
        ahead->count += memory_find(memory, (struct spot){place, ahead->due_at, place < own ? INT64_MAX : ahead->id}) - from;
    }
    ahead->count = ahead->count < ahead->max ? ahead->count : ahead->max;
}

// ---- pages

static bool is_behind(struct store_cursor key, struct store_cursor before)
{
    return key.at != before.at ? key.at < before.at : key.id < before.id;
}

static bool has_tag(const struct memory_task *task, int64_t tag)
{
    for (size_t i = 0; i < task->tag_count; i++)
        if (task->tags[i] == tag)
            return true;
    return false;
}

static bool has_tags(const struct memory_task *task, const struct store_list *list)
{
    for (size_t i = 0; i < list->tag_count; i++)
        if (!has_tag(task, list->tags[i]))
            return false;
    return true;
}

static bool task_matches(const struct store_list *list, const struct memory_task *task)
{
    return (!list->queue.p || str_eq(list->queue, task->task.queue)) && (!list->name.p || str_eq(list->name, task->task.name)) &&
           (!list->recurring || task->plan) && has_tags(task, list);
}

static bool queue_matches(const struct memory *memory, const struct store_list *list, const struct memory_job *job)
{
    return !list->queue.p || str_eq(list->queue, memory_lane_by_id(memory, job->job.lane)->queue);
}

static bool has_queue(const struct memory *memory, int32_t tenant, struct str queue)
{
    for (size_t i = 0; i < memory->lane_count; i++)
        if (memory->lanes[i]->tenant == tenant && str_eq(memory->lanes[i]->queue, queue))
            return true;
    return false;
}

static bool job_matches(const struct memory *memory, const struct store_list *list, const struct memory_job *job)
{
    if (list->states && !(list->states & 1u << job->job.state))
        return false;
    return queue_matches(memory, list, job) && (!list->name.p || str_eq(list->name, job->task->task.name)) &&
           has_tags(job->task, list);
}

// ---- which rows are looked at

// What a page is looked for in.
struct source {
    struct memory *memory;
    const struct store_list *list;
    int64_t task_id; // the only one there may be; 0: any
    size_t lead;     // the candidate by which rows are found, if there are any: a tag, or behind them the state that failed
};

static bool is_candidate(const struct source *source, size_t candidate, const struct memory_task *task, const struct job *job)
{
    const struct store_list *list = source->list;
    if (store_list_by_plan(list))
        return task->plan;
    if (!store_list_candidates(list))
        return true;
    if (candidate < list->tag_count)
        return has_tag(task, list->tags[candidate]);
    assert(job); // only in a list of jobs a state is a candidate
    return (list->states & 1u << job->state) != 0;
}

static bool may_be_task(const struct source *source, const struct memory_task *task)
{
    const struct store_list *list = source->list;
    return task->task.tenant == list->tenant && task->task.id < list->before.id &&
           (!source->task_id || task->task.id == source->task_id);
}

static bool may_be_job(const struct source *source, const struct memory_job *job)
{
    const struct store_list *list = source->list;
    return job->job.tenant == list->tenant &&
           is_behind((struct store_cursor){job->job.scheduled_at, job->job.id}, list->before) &&
           (!source->task_id || job->job.task_id == source->task_id);
}

static int64_t count_candidate(const struct source *source, size_t candidate)
{
    const struct map *map = source->list->jobs ? &source->memory->jobs : &source->memory->tasks;
    int64_t id, count = 0;
    void *row;
    for (size_t at = 0; count < STORE_RARE && (row = map_next(map, &at, &id));) {
        const struct memory_job *job = source->list->jobs ? row : NULL;
        const struct memory_task *task = job ? job->task : row;
        bool may_be = job ? may_be_job(source, job) : may_be_task(source, task);
        count += may_be && is_candidate(source, candidate, task, job ? &job->job : NULL);
    }
    return count;
}

static void count_candidates(void *ctx, size_t candidates, int64_t ret_counts[STORE_CANDIDATES_MAX])
{
    for (size_t i = 0; i < candidates; i++)
        ret_counts[i] = count_candidate(ctx, i);
}

// ---- the pages

static void push_task(struct store_list *list, struct store_get *records, const struct memory_task *task)
{
    list->tasks = store_push(&records->op.arena, list->tasks, list->task_count, sizeof *list->tasks);
    struct store_task *given = &list->tasks[list->task_count++];
    *given = memory_give_task(&records->op.arena, task);
    if (list->jobs)
        given->plan = NULL;
}

static void list_jobs(const struct source *source, struct store_list *list, struct store_get *records)
{
    struct memory_found found = {0};
    struct memory_job *job;
    int64_t id;
    struct store_page page = {0};
    for (size_t at = 0; (job = map_next(&source->memory->jobs, &at, &id));)
        if (may_be_job(source, job) && is_candidate(source, source->lead, job->task, &job->job))
            memory_found_add(&found, job);
    memory_found_sort(&found, compare_scheduled_at);
    for (size_t i = found.count; i > 0; i--) {
        job = found.jobs[i - 1];
        if (!store_list_look(list, &page, (struct store_cursor){job->job.scheduled_at, job->job.id}))
            break;
        if (!job_matches(source->memory, list, job))
            continue;
        give_record(records, job);
        if (list->docs)
            push_task(list, records, job->task);
        store_list_give(list, &page, records);
    }
    mem_free(found.jobs);
}

static int compare_tasks(const void *a, const void *b)
{
    return compare_ints((*(struct memory_task *const *)b)->task.id, (*(struct memory_task *const *)a)->task.id);
}

static void list_tasks(const struct source *source, struct store_list *list, struct store_get *records)
{
    const struct map *map = &source->memory->tasks;
    struct memory_task **tasks = mem_zero((map->count + 1) * sizeof *tasks), *task;
    struct store_page page = {0};
    size_t count = 0;
    int64_t id;
    for (size_t at = 0; (task = map_next(map, &at, &id));)
        if (may_be_task(source, task) && is_candidate(source, source->lead, task, NULL))
            tasks[count++] = task;
    qsort(tasks, count, sizeof *tasks, compare_tasks);
    for (size_t i = 0; i < count && store_list_look(list, &page, (struct store_cursor){0, tasks[i]->task.id}); i++) {
        if (!task_matches(list, tasks[i]))
            continue;
        push_task(list, records, tasks[i]);
        records->max_jobs = records->job_count + list->max_jobs;
        give_jobs_of(records, tasks[i]);
        store_list_give(list, &page, records);
    }
    mem_free(tasks);
}

// Whether there can be anything at all; and the one task that the key is of.
static bool begin(struct source *source)
{
    const struct store_list *list = source->list;
    source->task_id = list->task_id;
    if (list->queue.p && !has_queue(source->memory, list->tenant, list->queue))
        return false;
    if (!list->key.p)
        return true;
    const struct memory_key *key = memory_find_key(source->memory, list->tenant, list->key);
    source->task_id = key ? key->task_id : 0;
    return key;
}

void memory_run_list(struct memory *memory, struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    struct source source = {.memory = memory, .list = list};
    struct store_get records = {.op.arena = op->arena, .open_first = true};
    if (!begin(&source))
        return;
    source.lead = store_list_lead(list, count_candidates, &source);
    if (list->jobs)
        list_jobs(&source, list, &records);
    else
        list_tasks(&source, list, &records);
    store_list_end(list, &records);
}

// ---- what is to come

static bool is_upcoming(const struct store_upcoming *upcoming, const struct job *job)
{
    return job->tenant == upcoming->tenant && job->scheduled_at <= upcoming->until_ms &&
           is_behind(upcoming->after, (struct store_cursor){job->scheduled_at, job->id});
}

static void give_upcoming(struct store_upcoming *upcoming, const struct memory_job *job)
{
    struct arena *arena = &upcoming->op.arena;
    upcoming->jobs = store_push(arena, upcoming->jobs, upcoming->job_count, sizeof *upcoming->jobs);
    upcoming->jobs[upcoming->job_count++] = (struct store_upcoming_job){.id = job->job.id,
                                                                        .task_id = job->job.task_id,
                                                                        .lane = job->job.lane,
                                                                        .scheduled_at = job->job.scheduled_at,
                                                                        .name = memory_give(arena, job->task->task.name),
                                                                        .paused = job->task->task.paused};
}

void memory_run_upcoming(struct memory *memory, struct store_op *op)
{
    struct store_upcoming *upcoming = container_of(op, struct store_upcoming, op);
    struct memory_found found = {0};
    struct memory_job *job;
    int64_t id;
    size_t looked = 0;
    for (size_t at = 0; (job = map_next(&memory->jobs, &at, &id));)
        if (is_upcoming(upcoming, &job->job))
            memory_found_add(&found, job);
    memory_found_sort(&found, compare_scheduled_at);
    for (size_t i = 0; i < found.count; i++) {
        const struct job *row = &found.jobs[i]->job;
        if (store_upcoming_look(upcoming, &looked, (struct store_cursor){row->scheduled_at, row->id}, row->state))
            give_upcoming(upcoming, found.jobs[i]);
    }
    mem_free(found.jobs);
}
