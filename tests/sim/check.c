// The invariants, by the numbers of ARCHITECTURE.md. They are checked on what the store accepted and what reached the targets,
// never on what a node believes.
#include "world.h"

#include <stdarg.h>
#include <stdio.h>

void violate(struct world *world, int invariant, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("seed %llu, %lld ms: I%d broken: ", (unsigned long long)world->seed, (long long)world->now, invariant);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    world->violations++;
}

struct shadow *shadow_of(struct world *world, int64_t job_id)
{
    struct shadow *shadow = map_get(&world->shadows, job_id);
    if (!shadow) {
        shadow = mem_zero(sizeof *shadow);
        map_put(&world->shadows, job_id, shadow);
    }
    return shadow;
}

static void take_record(struct shadow *shadow, const struct job *job)
{
    shadow->job = *job;
    shadow->job.reason = shadow->job.response = (struct str){0};
}

// Is there a way from one state to the other, in one written step? A quick job goes from watching to its end in one write, and a hurried one
// is given back and made due in one.
static bool may_follow(enum job_state from, enum job_state to)
{
    if (from == to || (job_state_waiting(from) && job_state_waiting(to)))
        return !job_state_final(from);
    for (int event = 0; event < JOB_EVENT_COUNT; event++) {
        if (job_next(from, event) == to)
            return true;
        if (from == JOB_WATCHING && job_next(JOB_RESERVED, event) == to)
            return true;
    }
    return false;
}

static void check_step(struct sim_node *node, const struct store_step *step)
{
    struct world *world = node->world;
    struct shadow *shadow = map_get(&world->shadows, step->job->id);
    if (step->err)
        return;
    if (!shadow) {
        violate(world, 2, "job %lld was changed but never added", (long long)step->job->id);
        return;
    }
    if (shadow->job.token != step->token)
        violate(world, 3, "job %lld: a write with token %lld was accepted, the record had %lld", (long long)step->job->id,
                (long long)step->token, (long long)shadow->job.token);
    if (!may_follow(shadow->job.state, step->job->state))
        violate(world, 2, "job %lld: %s after %s", (long long)step->job->id, job_state_text(step->job->state),
                job_state_text(shadow->job.state));
    take_record(shadow, step->job);
}

static void check_add(struct sim_node *node, const struct store_add *add)
{
    for (size_t i = 0; i < add->count; i++)
        if (!add->items[i].err && !add->items[i].existing_id)
            take_record(shadow_of(node->world, add->items[i].jobs[0].id), &add->items[i].jobs[0]);
}

static void check_claim(struct sim_node *node, const struct store_claim *claim)
{
    for (size_t i = 0; i < claim->job_count; i++) {
        const struct job *job = &claim->jobs[i].job;
        struct shadow *shadow = shadow_of(node->world, job->id);
        if (!job_state_waiting(shadow->job.state))
            violate(node->world, 3, "job %lld was claimed while %s", (long long)job->id, job_state_text(shadow->job.state));
        take_record(shadow, job);
    }
}

void check_operation(struct sim_node *node, struct store_op *op)
{
    if (op->err)
        return;
    if (op->verb == STORE_ADD)
        check_add(node, container_of(op, struct store_add, op));
    if (op->verb == STORE_CLAIM)
        check_claim(node, container_of(op, struct store_claim, op));
    if (op->verb != STORE_CHANGE)
        return;
    struct store_change *change = container_of(op, struct store_change, op);
    for (size_t i = 0; i < change->count; i++)
        check_step(node, &change->steps[i]);
}

void check_start(struct sim_node *node, const struct run *run, int64_t end)
{
    struct world *world = node->world;
    struct shadow *shadow = shadow_of(world, run->job.id);
    struct now now = node_now(node);
    if (run->job.due_at > now.wall_ms)
        violate(world, 4, "job %lld started %lld ms early", (long long)run->job.id, (long long)(run->job.due_at - now.wall_ms));
    if (run->job.expires_at && run->job.expires_at <= now.wall_ms)
        violate(world, 4, "job %lld started after it had expired", (long long)run->job.id);
    if (shadow->cancelled_on == node->number + 1)
        violate(world, 5, "job %lld was started after its cancel was confirmed here", (long long)run->job.id);
    bool ours = shadow->job.token == run->token && shadow->job.holder == run->job.holder;
    if (!ours && !shadow->cancelled_on)
        violate(world, 6, "job %lld was started with token %lld, the record has %lld", (long long)run->job.id, (long long)run->token,
                (long long)shadow->job.token);
    // The call before this one may still be on its way only if its holder was lost.
    bool same_life = shadow->last_call_node == node->number && shadow->last_call_life == node->life;
    if (shadow->calls && shadow->last_call_end > world->now && same_life && node->frozen_until == 0)
        violate(world, 6, "job %lld runs twice at once in one life", (long long)run->job.id);
    shadow->calls++;
    shadow->last_call_start = world->now;
    shadow->last_call_end = end;
    shadow->last_call_node = node->number;
    shadow->last_call_life = node->life;
}

static void check_job(struct world *world, const struct job *job)
{
    struct shadow *shadow = map_get(&world->shadows, job->id);
    if (!shadow) {
        violate(world, 1, "job %lld exists but was never added", (long long)job->id);
        return;
    }
    if (!job_state_final(job->state))
        violate(world, 2, "job %lld is still %s", (long long)job->id, job_state_text(job->state));
    if (shadow->calls > job->attempts && !shadow->cancelled_on)
        violate(world, 6, "job %lld was called %d times, its record shows %d attempts", (long long)job->id, shadow->calls,
                job->attempts);
    if (job->state == JOB_SUCCESS && shadow->calls == 0)
        violate(world, 2, "job %lld is a success but was never called", (long long)job->id);
}

static void check_counts(struct world *world, const int64_t counted[JOB_STATE_COUNT])
{
    struct store_stats stats = {0};
    store_op_init(&stats.op, STORE_STATS, NULL);
    store_call(world->memory, &stats.op);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (stats.counts[i] != counted[i])
            violate(world, 8, "%lld jobs are %s, the counters say %lld", (long long)counted[i], job_state_text(i),
                    (long long)stats.counts[i]);
    store_op_done(&stats.op);
}

static void check_nodes(struct world *world)
{
    for (int i = 0; i < NODES; i++) {
        struct sim_node *node = &world->nodes[i];
        if (lanes_held(node->flow->lanes) || pull_count(node->flow->pull))
            violate(world, 7, "node %d still has %d places taken and %zu jobs in hand", i, lanes_held(node->flow->lanes),
                    pull_count(node->flow->pull));
    }
}

void check_end(struct world *world)
{
    int64_t counted[JOB_STATE_COUNT] = {0};
    int64_t id;
    size_t at = 0;
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        struct store_get get = {.tenant = 1, .job_id = id};
        store_op_init(&get.op, STORE_GET, NULL);
        store_call(world->memory, &get.op);
        if (get.op.err) {
            if (!job_state_final(shadow->job.state) || !shadow->job.purge_at)
                violate(world, 1, "job %lld is gone", (long long)id);
        } else {
            counted[get.jobs[0].state]++;
            check_job(world, &get.jobs[0]);
        }
        store_op_done(&get.op);
    }
    check_counts(world, counted);
    check_nodes(world);
}
