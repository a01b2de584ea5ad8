// The invariants that are judged when everything has come to its end.
#include "store/jobs.h"
#include "world.h"

enum { PURGE_LATE_MS = 10000, LIST_MAX = 100000 };

static void check_calls(struct world *world, const struct shadow *shadow, const struct store_get *get)
{
    const struct job *job = &get->jobs[0];
    if (job->state == JOB_SUCCESS && shadow->calls == 0)
        violate(world, 2, "job %lld is a success but was never called", (long long)job->id);
    size_t kept = (size_t)job->attempts - (job->state == JOB_SUCCESS);
    if (get->attempt_count != kept)
        violate(world, 6, "job %lld shows %zu attempts that did not succeed, there were %zu", (long long)job->id,
                get->attempt_count, kept);
    for (size_t i = 0; i < get->attempt_count; i++)
        if (get->attempts[i].number != (int)i + 1)
            violate(world, 6, "job %lld: attempt %zu has number %d", (long long)job->id, i + 1, get->attempts[i].number);
    // A cancel and a start may cross, so one more call may have been made than a cancelled record can know of.
    int crossed = job->state == JOB_CANCELLED;
    if (shadow->calls > job->attempts + crossed && !shadow->clock_was_wrong)
        violate(world, 6, "job %lld was called %d times, its record shows %d attempts", (long long)job->id, shadow->calls,
                job->attempts);
}

static void check_job(struct world *world, const struct shadow *shadow, const struct store_get *get)
{
    const struct job *job = &get->jobs[0];
    if (!job_state_final(job->state))
        violate(world, 2, "job %lld is still %s", (long long)job->id, job_state_text(job->state));
    if (job->token != shadow->job.token)
        violate(world, 3, "job %lld has token %lld, the last write said %lld", (long long)job->id, (long long)job->token,
                (long long)shadow->job.token);
    if (job->purge_at && job->purge_at < EPOCH + world->now - PURGE_LATE_MS)
        violate(world, 7, "job %lld should have been removed %lld ms ago", (long long)job->id,
                (long long)(EPOCH + world->now - job->purge_at));
    check_calls(world, shadow, get);
}

static void check_counts(struct world *world, int32_t tenant, const int64_t counted[JOB_STATE_COUNT])
{
    struct store_stats stats = {.tenant = tenant};
    store_op_init(&stats.op, STORE_STATS, NULL);
    store_call(world->memory, &stats.op);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        if (stats.counts[i] != counted[i])
            violate(world, 8, "%lld jobs of tenant %d are %s, the counters say %lld", (long long)counted[i], tenant,
                    job_state_text(i), (long long)stats.counts[i]);
    store_op_done(&stats.op);
}

static bool places_free(struct world *world)
{
    int held = 0;
    for (int i = 0; i < world->node_count; i++)
        held += world->nodes[i].up ? lanes_held(world->nodes[i].flow->lanes) : 0;
    return held == 0;
}

// A claim under way has taken places until its answer comes.
static void check_nodes(struct world *world)
{
    if (!places_free(world))
        world_run(world, world->now + 10000, places_free);
    for (int i = 0; i < world->node_count; i++) {
        struct sim_node *node = &world->nodes[i];
        if (!node->up)
            violate(world, 7, "node %d did not come back", i);
        else if (lanes_held(node->flow->lanes) || pull_count(node->flow->pull))
            violate(world, 7, "node %d still has %d places taken and %zu jobs in hand", i, lanes_held(node->flow->lanes),
                    pull_count(node->flow->pull));
    }
}

static enum err get_job(struct world *world, struct store_get *get, int32_t tenant, int64_t id)
{
    *get = (struct store_get){.tenant = tenant, .job_id = id};
    store_op_init(&get->op, STORE_GET, NULL);
    store_call(world->memory, &get->op);
    return get->op.err;
}

static void count_listed(struct world *world, int32_t tenant, int64_t ret_counted[JOB_STATE_COUNT])
{
    struct store_list list = {
        .tenant = tenant, .jobs = true, .before = {INT64_MAX, INT64_MAX}, .max = LIST_MAX, .look = LIST_MAX};
    store_op_init(&list.op, STORE_LIST, NULL);
    store_call(world->memory, &list.op);
    for (size_t i = 0; i < list.found_count; i++) {
        const struct job *job = &list.found[i];
        ret_counted[job->state]++;
        if (!job_state_final(job->state))
            violate(world, 2, "job %lld is still %s", (long long)job->id, job_state_text(job->state));
    }
    store_op_done(&list.op);
}

void check_end(struct world *world)
{
    int64_t counted[TENANTS + 1][JOB_STATE_COUNT] = {0};
    struct store_get get;
    int64_t id;
    size_t at = 0;
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        int32_t tenant = shadow->job.tenant;
        if (!get_job(world, &get, TENANTS + 1 - tenant, id))
            violate(world, 14, "job %lld of tenant %d is seen by another", (long long)id, tenant);
        store_op_done(&get.op);
        const struct task_shadow *task = map_get(&world->tasks, shadow->job.task_id);
        if (get_job(world, &get, tenant, id)) {
            if (task && task->gone)
                continue;
            if (!job_state_final(shadow->job.state) || !shadow->job.purge_at ||
                shadow->job.purge_at > EPOCH + world->now + world->ahead_ms)
                violate(world, 1, "job %lld is gone", (long long)id);
        } else {
            check_job(world, shadow, &get);
        }
        store_op_done(&get.op);
    }
    for (int32_t tenant = 1; tenant <= TENANTS; tenant++) {
        count_listed(world, tenant, counted[tenant]);
        check_counts(world, tenant, counted[tenant]);
    }
    check_plans_end(world);
    check_nodes(world);
}
