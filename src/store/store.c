// The front door of the store port: which backend serves a URL, and what all backends do alike with an operation.
//
// What it does not do: know how anything is stored.
#include "store/store.h"

#include "core/id.h"
#include "store/store_private.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct store_ops *const backends[] = {&store_sqlite_ops, &store_postgres_ops, &store_postgresql_ops,
                                                   &store_memory_ops};

static const struct store_ops *backend_of(const char *url)
{
    for (size_t i = 0; i < array_count(backends); i++) {
        size_t n = strlen(backends[i]->scheme);
        if (strncmp(url, backends[i]->scheme, n) == 0 && url[n] == ':')
            return backends[i];
    }
    return NULL;
}

enum err store_open(struct store **ret_store, const char *url, char why[ERR_WHY_MAX])
{
    const struct store_ops *backend = backend_of(url);
    *ret_store = NULL;
    if (backend)
        return backend->open(ret_store, url, why);
    int scheme = (int)strcspn(url, ":"); // no more of the URL is said, because there may be a password in it
    snprintf(why, ERR_WHY_MAX, "no store is known by \"%.*s\"; \"sqlite:DIR\", \"postgres://…\" and \"memory:\" are",
             scheme < 100 ? scheme : 100, url);
    return ERR_BAD_REQUEST;
}

bool store_is_known(const char *url)
{
    return backend_of(url);
}

bool store_is_shared(const char *url)
{
    const struct store_ops *backend = backend_of(url);
    return backend && backend->shared;
}

void store_submit(struct store *store, struct store_op *op)
{
    assert(op->verb < STORE_VERB_COUNT && op->done);
    op->err = ERR_OK;
    op->why[0] = 0;
    store->ops->submit(store, op);
}

void store_close(struct store *store)
{
    if (store)
        store->ops->close(store);
}

void store_op_init(struct store_op *op, enum store_verb verb, void (*done)(struct store_op *op))
{
    *op = (struct store_op){.verb = verb, .done = done};
    arena_init(&op->arena);
}

static void post(struct store_op *op)
{
    mailbox_post(op->answers, &op->link);
}

void store_op_post(struct store_op *op, enum store_verb verb, struct mailbox *answers)
{
    store_op_init(op, verb, NULL);
    store_op_to(op, answers);
}

void store_op_to(struct store_op *op, struct mailbox *answers)
{
    op->done = post;
    op->answers = answers;
}

void store_op_done(struct store_op *op)
{
    arena_done(&op->arena);
}

// One lock for all waiting callers: they are tools, tests and a server that starts.
static pthread_mutex_t call_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t call_ended = PTHREAD_COND_INITIALIZER;

// The operation's own `done` says whether it has come back: it is NULL from then on.
static void end_call(struct store_op *op)
{
    pthread_mutex_lock(&call_lock);
    op->done = NULL;
    pthread_cond_broadcast(&call_ended);
    pthread_mutex_unlock(&call_lock);
}

void store_call(struct store *store, struct store_op *op)
{
    void (*done)(struct store_op * op) = op->done;
    op->done = end_call;
    store_submit(store, op);
    pthread_mutex_lock(&call_lock);
    while (op->done)
        pthread_cond_wait(&call_ended, &call_lock);
    pthread_mutex_unlock(&call_lock);
    op->done = done;
}

void store_task_tag(struct store_task *stored, const struct task *task, struct arena *arena)
{
    int64_t tags[TAGS_MAX];
    if (!task->name.n && task->labels.type == JSON_ABSENT && !task->tracing_id.n && !task->created_by.n)
        return; // as most
    stored->tag_count = tags_of_task(task, arena, tags);
    int64_t *kept = arena_array(arena, int64_t, TAGS_MAX);
    memcpy(kept, tags, stored->tag_count * sizeof *tags);
    stored->tags = kept;
}

struct store_step store_step_from(const struct job *was, const struct job *job, const struct job_step *step)
{
    return (struct store_step){.token = was->token,
                               .watched = was->state == JOB_WATCHING,
                               .lease = was->lease_until,
                               .job = job,
                               .attempt = step->kept ? &step->attempt : NULL};
}

int64_t store_place(const struct job *job)
{
    if (job_in_hand(job))
        return -job->holder;
    if (job_state_waiting(job->state))
        return job->lane * STORE_PLACES + (JOB_PRIORITIES - 1 - job->priority);
    return STORE_NOWHERE;
}

bool store_page_is_full(const struct store_job *jobs, size_t count, size_t max)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += jobs[i].doc.n;
    return store_page_ends(count, max, bytes);
}

void *store_push(struct arena *arena, void *array, size_t count, size_t size)
{
    enum { FIRST = 16 };
    if (count && (count < FIRST || (count & (count - 1))))
        return array;
    void *more = arena_alloc(arena, size * (count ? count * 2 : FIRST));
    if (count)
        memcpy(more, array, count * size);
    return more;
}

static int compare_attempts(const void *a, const void *b)
{
    const struct attempt *one = a, *other = b;
    if (one->job_id != other->job_id)
        return one->job_id < other->job_id ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

void store_sort_attempts(struct attempt *attempts, size_t count)
{
    if (count)
        qsort(attempts, count, sizeof *attempts, compare_attempts);
}

static void clear_join(struct store_op *op)
{
    struct store_join *join = container_of(op, struct store_join, op);
    join->node = 0;
    join->id_floor = join->clock_ms = 0;
    join->alone = false;
}

static void clear_beat(struct store_op *op)
{
    struct store_beat *beat = container_of(op, struct store_beat, op);
    beat->clock_ms = 0;
    beat->peers = NULL;
    beat->peer_count = 0;
}

static void clear_owners(struct store_op *op)
{
    struct store_owners *owners = container_of(op, struct store_owners, op);
    owners->term = 0;
    owners->owners = NULL;
    owners->owner_count = 0;
}

static void clear_requests(struct store_op *op)
{
    struct store_requests *requests = container_of(op, struct store_requests, op);
    requests->jobs = NULL;
    requests->job_count = 0;
}

static void clear_tzdata(struct store_op *op)
{
    container_of(op, struct store_tzdata, op)->text = (struct str){0};
}

static void clear_add(struct store_op *op)
{
    struct store_add *add = container_of(op, struct store_add, op);
    for (size_t i = 0; i < add->count; i++) {
        add->items[i].err = op->err;
        add->items[i].existing_id = add->items[i].spent_at = 0;
    }
}

static void clear_claim(struct store_op *op)
{
    struct store_claim *claim = container_of(op, struct store_claim, op);
    claim->jobs = NULL;
    claim->job_count = 0;
    for (size_t i = 0; i < claim->want_count; i++) {
        claim->wants[i].next_due = TIME_NEVER;
        claim->wants[i].next_id = 0;
    }
}

static void clear_change(struct store_op *op)
{
    struct store_change *change = container_of(op, struct store_change, op);
    for (size_t i = 0; i < change->count; i++)
        change->steps[i].err = op->err;
}

static void clear_amend(struct store_op *op)
{
    struct store_amend *amend = container_of(op, struct store_amend, op);
    for (size_t i = 0; i < amend->count; i++)
        amend->steps[i].err = op->err;
}

static void clear_remove(struct store_op *op)
{
    container_of(op, struct store_remove, op)->more = false;
}

static void clear_due(struct store_op *op)
{
    struct store_due *due = container_of(op, struct store_due, op);
    due->changed = 0;
    due->upto_ms = due->from_ms;
    due->upto_id = due->from_id;
}

static void clear_find(struct store_op *op)
{
    struct store_find *find = container_of(op, struct store_find, op);
    find->jobs = NULL;
    find->job_count = 0;
    find->more = false;
}

static void clear_lanes(struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    lanes->lanes = NULL;
    lanes->lane_count = 0;
}

static void clear_pause(struct store_op *op)
{
    container_of(op, struct store_pause, op)->lane = 0;
}

static void clear_drop(struct store_op *op)
{
    container_of(op, struct store_drop, op)->open = 0;
}

static void clear_sweep(struct store_op *op)
{
    container_of(op, struct store_sweep, op)->removed = 0;
}

static void clear_get(struct store_op *op)
{
    struct store_get *get = container_of(op, struct store_get, op);
    get->task = (struct store_task){0};
    get->jobs = NULL;
    get->attempts = NULL;
    get->job_count = get->attempt_count = 0;
}

static void clear_list(struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    list->tasks = NULL;
    list->found = NULL;
    list->attempts = NULL;
    list->task_count = list->found_count = list->attempt_count = 0;
    list->more = false;
    list->next = list->before;
}

static void clear_backup(struct store_op *op)
{
    container_of(op, struct store_backup, op)->fd = -1;
}

static void clear_plan(struct store_op *op)
{
    struct store_plan *plan = container_of(op, struct store_plan, op);
    for (size_t i = 0; i < plan->count; i++)
        plan->items[i].err = op->err;
}

static void clear_plans(struct store_op *op)
{
    struct store_plans *plans = container_of(op, struct store_plans, op);
    plans->tasks = NULL;
    plans->count = 0;
}

static void clear_bulks(struct store_op *op)
{
    struct store_bulks *bulks = container_of(op, struct store_bulks, op);
    bulks->rows = NULL;
    bulks->row_count = 0;
}

static void clear_stats(struct store_op *op)
{
    struct store_stats *stats = container_of(op, struct store_stats, op);
    memset(stats->counts, 0, sizeof stats->counts);
}

static void clear_ahead(struct store_op *op)
{
    container_of(op, struct store_ahead, op)->count = 0;
}

static void clear_upcoming(struct store_op *op)
{
    struct store_upcoming *upcoming = container_of(op, struct store_upcoming, op);
    upcoming->jobs = NULL;
    upcoming->job_count = 0;
    upcoming->more = false;
    upcoming->next = (struct store_cursor){0};
}

static void clear_series(struct store_op *op)
{
    struct store_series *series = container_of(op, struct store_series, op);
    series->minutes = NULL;
    series->minute_count = 0;
}

static void clear_events(struct store_op *op)
{
    struct store_events *events = container_of(op, struct store_events, op);
    events->rows = NULL;
    events->last = NULL;
    events->row_count = events->last_count = 0;
}

static void clear_nothing(struct store_op *op)
{
}

static void (*const clears[STORE_VERB_COUNT])(struct store_op *op) = {
    [STORE_JOIN] = clear_join,       [STORE_BEAT] = clear_beat,         [STORE_BURY] = clear_nothing,
    [STORE_FORGET] = clear_nothing,  [STORE_OWNERS] = clear_owners,     [STORE_DIVIDE] = clear_nothing,
    [STORE_REQUEST] = clear_nothing, [STORE_REQUESTS] = clear_requests, [STORE_ADD] = clear_add,
    [STORE_CLAIM] = clear_claim,     [STORE_CHANGE] = clear_change,     [STORE_DUE] = clear_due,
    [STORE_FIND] = clear_find,       [STORE_LANES] = clear_lanes,       [STORE_PAUSE] = clear_pause,
    [STORE_SWEEP] = clear_sweep,     [STORE_GET] = clear_get,           [STORE_STATS] = clear_stats,
    [STORE_LIST] = clear_list,       [STORE_AMEND] = clear_amend,       [STORE_BULKS] = clear_bulks,
    [STORE_BULK] = clear_nothing,    [STORE_BACKUP] = clear_backup,     [STORE_MINUTE] = clear_nothing,
    [STORE_SERIES] = clear_series,   [STORE_RELAY] = clear_nothing,     [STORE_EVENTS] = clear_events,
    [STORE_REMOVE] = clear_remove,   [STORE_AHEAD] = clear_ahead,       [STORE_DROP] = clear_drop,
    [STORE_PLAN] = clear_plan,       [STORE_PLANS] = clear_plans,       [STORE_UPCOMING] = clear_upcoming,
    [STORE_TZDATA] = clear_tzdata,
};

void store_join_number(struct store_join *join, int64_t range, int number)
{
    assert(number >= 0 && number < ID_RANGE_NODES);
    if (range < 0 || range >= ID_RANGES)
        store_op_fail(&join->op, ERR_FENCED, "the range of node numbers in the database is not one of those there are");
    else
        join->node = (int)range * ID_RANGE_NODES + number;
}

void store_drop_judge(struct store_drop *drop, bool known, int64_t open, bool paused)
{
    if (!known) {
        store_op_fail(&drop->op, ERR_NOT_FOUND, "there is no such queue");
    } else if (open) {
        store_op_fail(&drop->op, ERR_QUEUE_NOT_EMPTY, "the queue has jobs that have not ended");
        drop->open = open;
    } else if (paused) {
        store_op_fail(&drop->op, ERR_QUEUE_PAUSED, "the queue is paused");
    }
}

size_t store_list_failed(const struct store_list *list, int ret_states[STORE_FAILED_MAX])
{
    size_t count = 0;
    if (list->task_id || list->key.p || list->states & ((1u << JOB_ABORTED) - 1))
        return 0;
    for (int state = JOB_ABORTED; state < JOB_STATE_COUNT; state++) {
        if (!(list->states & 1u << state))
            continue;
        if (count == STORE_FAILED_MAX)
            return 0;
        ret_states[count++] = state;
    }
    return count;
}

size_t store_list_candidates(const struct store_list *list)
{
    int failed[STORE_FAILED_MAX];
    return list->key.p ? 0 : list->tag_count + (store_list_failed(list, failed) > 0);
}

size_t store_list_lead(const struct store_list *list, store_counter *count, void *ctx)
{
    int64_t counts[STORE_CANDIDATES_MAX] = {0};
    size_t candidates = store_list_candidates(list), lead = 0;
    if (candidates > 1)
        count(ctx, candidates, counts);
    for (size_t i = 1; i < candidates; i++)
        if (counts[i] < counts[lead])
            lead = i;
    return lead;
}

bool store_list_by_tag(const struct store_list *list, size_t lead)
{
    return store_list_candidates(list) && lead < list->tag_count;
}

bool store_list_by_plan(const struct store_list *list)
{
    return list->recurring && !list->key.p && !store_list_candidates(list);
}

int64_t store_list_tag(const struct store_list *list, size_t candidate)
{
    return list->jobs ? store_tag_of_jobs(list->tags[candidate]) : list->tags[candidate];
}

bool store_list_look(struct store_list *list, struct store_page *page, struct store_cursor key)
{
    bool heavy = list->bytes_max && page->bytes >= list->bytes_max;
    list->more = page->looked == list->look || page->given == list->max || heavy;
    if (list->more)
        return false;
    page->looked++;
    list->next = key;
    return true;
}

bool store_upcoming_look(struct store_upcoming *upcoming, size_t *looked, struct store_cursor key, int state)
{
    upcoming->more = *looked == upcoming->look;
    if (upcoming->more)
        return false;
    (*looked)++;
    upcoming->next = key;
    return state < JOB_RESERVED;
}

void store_list_give(const struct store_list *list, struct store_page *page, const struct store_get *records)
{
    page->given++;
    while (page->tasks < list->task_count)
        page->bytes += store_task_bytes(&list->tasks[page->tasks++]);
    while (page->jobs < records->job_count)
        page->bytes += store_job_bytes(&records->jobs[page->jobs++]);
    while (page->attempts < records->attempt_count)
        page->bytes += store_attempt_bytes(&records->attempts[page->attempts++]);
}

void store_list_end(struct store_list *list, const struct store_get *records)
{
    list->op.arena = records->op.arena;
    list->found = records->jobs;
    list->found_count = records->job_count;
    list->attempts = records->attempts;
    list->attempt_count = records->attempt_count;
    store_sort_attempts(list->attempts, list->attempt_count);
}

void store_op_clear(struct store_op *op)
{
    clears[op->verb](op);
}

void store_op_fail(struct store_op *op, enum err err, const char *why)
{
    op->err = err;
    snprintf(op->why, sizeof op->why, "%s", why);
    store_op_clear(op);
}
