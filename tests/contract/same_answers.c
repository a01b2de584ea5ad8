// What a store answered, as text: everything an operation gives back is in it, so equal texts are equal answers.
#include "base/buf.h"
#include "same_support.h"
#include "store/journal.h"
#include "store/lives.h"
#include "store/peers.h"
#include "store/plans.h"

static void put_bytes(struct buf *buf, struct str bytes)
{
    buf_putc(buf, '"');
    buf_put(buf, bytes);
    buf_putc(buf, '"');
}

static void put_ints(struct buf *buf, const char *what, const int64_t *values, size_t count)
{
    buf_printf(buf, " %s", what);
    for (size_t i = 0; i < count; i++)
        buf_printf(buf, " %lld", (long long)values[i]);
}
#define PUT(buf, what, ...) put_ints((buf), (what), (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void put_job(struct buf *buf, const struct job *job)
{
    PUT(buf, "job", job->id, job->task_id, job->parent_id, job->lane, job->tenant, job->state, job->priority, job->scheduled_at,
        job->ready_at, job->due_at, job->nominal_at, job->expires_at, job->holder, job->token, job->picked_at, job->started_at,
        job->completed_at, job->attempts, job->retries, job->losses, job->status, job->outcome, job->late_stage,
        job->response_truncated, job->purge_at, job->lease_until, job->result_left_out, job->trigger);
    put_bytes(buf, job->reason);
    put_bytes(buf, job->response);
    put_bytes(buf, job->result);
}

static void put_jobs(struct buf *buf, const struct store_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put_job(buf, &jobs[i].job);
        PUT(buf, "version", jobs[i].version);
        put_bytes(buf, jobs[i].doc);
    }
}

static void put_plan(struct buf *buf, const struct plan *plan)
{
    PUT(buf, "plan", plan->task_id, plan->tenant, plan->version, plan->revision, plan->planned_through, plan->instants,
        plan->check_at, plan->success, plan->failed, plan->cancelled, plan->failures_in_row, plan->last_at, plan->paused_at);
    put_ints(buf, "active", plan->active, plan->active_count);
    put_ints(buf, "queued", plan->queued, plan->queued_count);
    put_bytes(buf, plan->skips);
    put_bytes(buf, plan->paused_note);
    put_bytes(buf, plan->paused_by);
    put_bytes(buf, plan->missing);
}

static void put_task(struct buf *buf, const struct store_task *task)
{
    PUT(buf, "task", task->id, task->tenant, task->created_at, task->updated_at, task->version, task->paused, task->dispatch);
    put_bytes(buf, task->queue);
    put_bytes(buf, task->name);
    put_bytes(buf, task->doc);
    if (task->plan)
        put_plan(buf, task->plan);
}

static void put_records(struct buf *buf, const struct job *jobs, size_t job_count, const struct attempt *attempts,
                        size_t attempt_count)
{
    for (size_t i = 0; i < job_count; i++) {
        put_job(buf, &jobs[i]);
        PUT(buf, "touched", jobs[i].touched_at);
    }
    for (size_t i = 0; i < attempt_count; i++) {
        const struct attempt *attempt = &attempts[i];
        PUT(buf, "attempt", attempt->job_id, attempt->number, attempt->status, attempt->outcome, attempt->picked_at,
            attempt->started_at, attempt->completed_at, attempt->holder, attempt->response_truncated);
        put_bytes(buf, attempt->reason);
        put_bytes(buf, attempt->response);
    }
}

static void put_get(struct buf *buf, const struct store_get *get)
{
    put_task(buf, &get->task);
    put_records(buf, get->jobs, get->job_count, get->attempts, get->attempt_count);
}

static void put_list(struct buf *buf, const struct store_list *list)
{
    PUT(buf, "list", list->more, list->more ? list->next.at : 0, list->more ? list->next.id : 0);
    for (size_t i = 0; i < list->task_count; i++)
        put_task(buf, &list->tasks[i]);
    put_records(buf, list->found, list->found_count, list->attempts, list->attempt_count);
}

static void put_bulk(struct buf *buf, const struct store_bulk_row *row)
{
    PUT(buf, "bulk", row->id, row->tenant, row->version, row->state, row->holder, row->created_at, row->ended_at, row->matched,
        row->changed, row->unchanged, row->failed, row->next.at, row->next.id);
    put_bytes(buf, row->doc);
}

static void put_answer(struct buf *buf, struct store_op *op)
{
    PUT(buf, "verb, err", op->verb, op->err);
    if (op->verb == STORE_JOIN)
        PUT(buf, "join", container_of(op, struct store_join, op)->node, container_of(op, struct store_join, op)->id_floor);
    if (op->verb == STORE_JOIN && !op->err)
        put_bytes(buf, (struct str){(char *)container_of(op, struct store_join, op)->secret, STORE_SECRET_SIZE});
    if (op->verb == STORE_BEAT)
        for (size_t i = 0; i < container_of(op, struct store_beat, op)->peer_count; i++) {
            const struct store_peer *peer = &container_of(op, struct store_beat, op)->peers[i];
            PUT(buf, "peer", peer->incarnation, peer->beat, peer->pulls, peer->dead, peer->listens, peer->relays);
        }
    if (op->verb == STORE_OWNERS) {
        const struct store_owners *owners = container_of(op, struct store_owners, op);
        PUT(buf, "term", owners->term);
        for (size_t i = 0; i < owners->owner_count; i++)
            PUT(buf, "owner", owners->owners[i].bucket, owners->owners[i].puller);
    }
    if (op->verb == STORE_REQUESTS)
        for (size_t i = 0; i < container_of(op, struct store_requests, op)->job_count; i++) {
            const struct store_job_request *job = &container_of(op, struct store_requests, op)->jobs[i];
            PUT(buf, "request", job->job_id, job->tenant, job->kind);
        }
    if (op->verb == STORE_ADD)
        for (size_t i = 0; i < container_of(op, struct store_add, op)->count; i++) {
            const struct store_new *item = &container_of(op, struct store_add, op)->items[i];
            bool added = !item->err && !item->existing_id && item->job_count;
            PUT(buf, "item", item->err, item->existing_id, added ? item->jobs[0].lane : 0);
        }
    if (op->verb == STORE_CLAIM) {
        const struct store_claim *claim = container_of(op, struct store_claim, op);
        for (size_t i = 0; i < claim->want_count; i++)
            PUT(buf, "want", claim->wants[i].next_due);
        put_jobs(buf, claim->jobs, claim->job_count);
    }
    if (op->verb == STORE_CHANGE)
        for (size_t i = 0; i < container_of(op, struct store_change, op)->count; i++)
            PUT(buf, "step", container_of(op, struct store_change, op)->steps[i].err);
    if (op->verb == STORE_DUE) {
        const struct store_due *due = container_of(op, struct store_due, op);
        PUT(buf, "due", (int64_t)due->changed, due->upto_ms, due->upto_id);
    }
    if (op->verb == STORE_FIND)
        put_jobs(buf, container_of(op, struct store_find, op)->jobs, container_of(op, struct store_find, op)->job_count);
    if (op->verb == STORE_LANES)
        for (size_t i = 0; i < container_of(op, struct store_lanes, op)->lane_count; i++) {
            const struct store_lane *lane = &container_of(op, struct store_lanes, op)->lanes[i];
            PUT(buf, "lane", lane->id, lane->tenant, lane->dispatch, lane->paused, lane->next_due);
            put_ints(buf, "counts", lane->counts, JOB_STATE_COUNT);
            put_bytes(buf, lane->queue);
        }
    if (op->verb == STORE_PAUSE)
        PUT(buf, "pause", container_of(op, struct store_pause, op)->lane);
    if (op->verb == STORE_DROP)
        PUT(buf, "drop", container_of(op, struct store_drop, op)->open);
    if (op->verb == STORE_SWEEP)
        PUT(buf, "sweep", (int64_t)container_of(op, struct store_sweep, op)->removed);
    if (op->verb == STORE_GET)
        put_get(buf, container_of(op, struct store_get, op));
    if (op->verb == STORE_LIST)
        put_list(buf, container_of(op, struct store_list, op));
    if (op->verb == STORE_PLAN)
        for (size_t i = 0; i < container_of(op, struct store_plan, op)->count; i++) {
            const struct store_planned *item = &container_of(op, struct store_plan, op)->items[i];
            PUT(buf, "planned", item->err, !item->err && item->job_count ? item->jobs[0].lane : 0);
        }
    if (op->verb == STORE_PLANS)
        for (size_t i = 0; i < container_of(op, struct store_plans, op)->count; i++)
            put_task(buf, &container_of(op, struct store_plans, op)->tasks[i]);
    if (op->verb == STORE_TZDATA)
        put_bytes(buf, container_of(op, struct store_tzdata, op)->text);
    if (op->verb == STORE_BULKS)
        for (size_t i = 0; i < container_of(op, struct store_bulks, op)->row_count; i++)
            put_bulk(buf, &container_of(op, struct store_bulks, op)->rows[i]);
    if (op->verb == STORE_STATS)
        put_ints(buf, "stats", container_of(op, struct store_stats, op)->counts, JOB_STATE_COUNT);
    if (op->verb == STORE_AHEAD)
        PUT(buf, "ahead", (int64_t)container_of(op, struct store_ahead, op)->count);
    if (op->verb == STORE_UPCOMING)
        for (size_t i = 0; i < container_of(op, struct store_upcoming, op)->job_count; i++) {
            const struct store_upcoming_job *job = &container_of(op, struct store_upcoming, op)->jobs[i];
            PUT(buf, "upcoming", job->id, job->task_id, job->lane, job->scheduled_at, job->paused);
            put_bytes(buf, job->name);
        }
    if (op->verb == STORE_SERIES)
        for (size_t i = 0; i < container_of(op, struct store_series, op)->minute_count; i++) {
            const struct store_minute_row *minute = &container_of(op, struct store_series, op)->minutes[i];
            PUT(buf, "minute", minute->tenant, minute->at, minute->source);
            put_bytes(buf, minute->doc);
        }
    if (op->verb == STORE_EVENTS) {
        const struct store_events *events = container_of(op, struct store_events, op);
        for (size_t i = 0; i < events->last_count; i++)
            PUT(buf, "last", events->last[i].source, events->last[i].number);
        for (size_t i = 0; i < events->row_count; i++) {
            PUT(buf, "events", events->rows[i].source, events->rows[i].number);
            put_bytes(buf, events->rows[i].doc);
        }
    }
}

void ask_both(struct pair *pair, struct store_op *ops[2])
{
    struct buf said[2] = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        call(pair->worlds[i], ops[i]);
        put_answer(&said[i], ops[i]);
        buf_putc(&said[i], 0);
    }
    if (said[0].n != said[1].n || memcmp(said[0].p, said[1].p, said[0].n) != 0)
        fail_msg("seed %llu, step %d:\nmemory: %s\n%s: %s\n%s", (unsigned long long)pair->seed, pair->step, said[0].p,
                 pair->scheme, said[1].p, ops[1]->why);
    buf_done(&said[0]);
    buf_done(&said[1]);
}
