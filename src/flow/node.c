#include "flow/node.h"

#include "base/log.h"

enum { SAY_MS = 5000 };

void node_init(struct node *node, struct store *store, struct broker *broker, struct lanes *lanes, struct waker *flow_waker)
{
    *node = (struct node){.store = store, .broker = broker, .lanes = lanes, .flow_waker = flow_waker};
    pthread_mutex_init(&node->id_lock, NULL);
    node->news = news_new(flow_waker);
}

void node_done(struct node *node)
{
    news_free(node->news);
    pthread_mutex_destroy(&node->id_lock);
}

struct digest_key *node_ticket_key(const struct node *node)
{
    return digest_key_new((struct str){(const char *)node->secret, sizeof node->secret});
}

int64_t node_make_id(struct node *node, int64_t wall_ms)
{
    pthread_mutex_lock(&node->id_lock);
    int64_t id = id_make(&node->ids, wall_ms);
    pthread_mutex_unlock(&node->id_lock);
    return id;
}

bool node_alive(struct node *node, int64_t mono_ms)
{
    return mono_ms < atomic_load(&node->alive_until_ms);
}

static void tell_renewed(struct node *node, int64_t until_ms)
{
    broker_control(node->broker,
                   &(struct control){.kind = CONTROL_RENEW, .id = atomic_load(&node->incarnation), .until_ms = until_ms});
}

void node_renew_life(struct node *node, int64_t until_ms)
{
    atomic_store(&node->alive_until_ms, until_ms);
    tell_renewed(node, until_ms);
}

void node_begin_life(struct node *node, int64_t incarnation, int64_t until_ms)
{
    atomic_store(&node->incarnation, incarnation);
    node_renew_life(node, until_ms);
}

void node_end_life(struct node *node)
{
    atomic_store(&node->alive_until_ms, 0);
    tell_renewed(node, 0);
    atomic_store(&node->incarnation, 0);
}

int64_t node_round(const struct node *node, int64_t mono_ms, int64_t period_ms)
{
    int64_t phase = (int64_t)((uint64_t)atomic_load(&node->incarnation) % (uint64_t)period_ms);
    return ((mono_ms - phase) / period_ms + 1) * period_ms + phase;
}

void node_submitted(struct node *node, const struct job *job, struct str queue, struct str name, int64_t now_ms)
{
    tally_count(&node->tally, TALLY_SUBMITTED, 1);
    if (news_wanted(node->news))
        news_tell(node->news, &(struct news_item){.type = NEWS_SUBMITTED,
                                                  .tenant = job->tenant,
                                                  .at_ms = now_ms,
                                                  .task_id = job->task_id,
                                                  .job_id = job->id,
                                                  .state = job->state,
                                                  .queue = queue,
                                                  .name = name});
}

void node_started(struct node *node, const struct outcome *running)
{
    const struct job *job = &running->job;
    tally_started(&node->tally, job, &running->policy);
    if (news_wanted(node->news))
        news_tell(node->news, &(struct news_item){.type = NEWS_STARTED,
                                                  .tenant = job->tenant,
                                                  .at_ms = job->started_at,
                                                  .task_id = job->task_id,
                                                  .job_id = job->id,
                                                  .state = job->state,
                                                  .queue = running->queue,
                                                  .name = running->name,
                                                  .attempt = job->attempts});
}

// NEWS_TYPE_COUNT: nothing that anybody was waiting for.
static enum news_type type_of(const struct job *job, const struct attempt *attempt)
{
    static const enum news_type ends[JOB_STATE_COUNT] = {
        [JOB_SUCCESS] = NEWS_SUCCESS, [JOB_ABORTED] = NEWS_ABORTED, [JOB_BURIED] = NEWS_BURIED, [JOB_CANCELLED] = NEWS_CANCELLED};
    if (job_state_final(job->state))
        return ends[job->state];
    if (!attempt)
        return NEWS_TYPE_COUNT;
    return attempt->outcome == OUTCOME_LOST ? NEWS_LOST : attempt->outcome == OUTCOME_RELEASED ? NEWS_RELEASED : NEWS_RETRIED;
}

static void tell_changed(struct node *node, const struct job *job, const struct attempt *attempt, struct str queue,
                         struct str name)
{
    enum news_type type = type_of(job, attempt);
    struct attempt latest = job_latest_attempt(job);
    if (type == NEWS_TYPE_COUNT)
        return;
    bool final = job_state_final(job->state);
    attempt = attempt && !final ? attempt : &latest;
    news_tell(node->news, &(struct news_item){.type = type,
                                              .tenant = job->tenant,
                                              .at_ms = attempt->completed_at,
                                              .task_id = job->task_id,
                                              .job_id = job->id,
                                              .state = job->state,
                                              .queue = queue,
                                              .name = name,
                                              .attempt = attempt->number,
                                              .status = attempt->status,
                                              .outcome = attempt->outcome,
                                              .reason = final ? job->reason : attempt->reason,
                                              .next_at = type == NEWS_RETRIED ? job->due_at : 0});
}

static bool is_failure(const struct job *job)
{
    return job->state == JOB_ABORTED || job->state == JOB_BURIED;
}

void node_changed(struct node *node, const struct job *job, const struct attempt *attempt, struct str queue, struct str name)
{
    tally_changed(&node->tally, job, attempt);
    if (is_failure(job))
        failures_note(&node->failures, job, queue, name);
    if (news_wanted(node->news))
        tell_changed(node, job, attempt, queue, name);
}

void node_changed_doc(struct node *node, const struct job *job, const struct attempt *attempt, struct str doc)
{
    struct task task;
    struct arena arena;
    char why[ERR_WHY_MAX];
    if (!news_wanted(node->news) && !is_failure(job)) {
        tally_changed(&node->tally, job, attempt);
        return;
    }
    arena_init(&arena);
    task_read(&task, doc, &arena, why); // what cannot be read is told all the same
    node_changed(node, job, attempt, task.queue, task.name);
    arena_done(&arena);
}

bool node_push_begin(struct node *node)
{
    atomic_fetch_add(&node->pushing, 1);
    if (!atomic_load(&node->counting) && !atomic_load(&node->stopping))
        return true;
    atomic_fetch_sub(&node->pushing, 1);
    return false;
}

void node_push_end(struct node *node)
{
    atomic_fetch_sub(&node->pushing, 1);
}

void node_say_failed(struct node *node, const char *who, const struct store_op *op, int64_t mono_ms)
{
    atomic_store(&node->survey_wanted, true); // it may have been done all the same
    if (node->said_at && mono_ms - node->said_at < SAY_MS) {
        node->unsaid++;
        return;
    }
    if (node->unsaid)
        log_warn("%s: %s: %s (and %d more times since it was said last)", who, err_info(op->err)->code, op->why, node->unsaid);
    else
        log_warn("%s: %s: %s", who, err_info(op->err)->code, op->why);
    node->said_at = mono_ms;
    node->unsaid = 0;
}
