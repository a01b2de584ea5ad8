// The invariants, by the numbers of ARCHITECTURE.md, as they can be judged while it happens. They are checked on what the store
// accepted and what reached the targets, never on what a node believes. What can only be judged at the end is in check_end.c.
#include "world.h"

#include "base/data/hash.h"
#include "store/jobs.h"
#include "store/journal.h"
#include "store/lives.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    VIOLATIONS_MAX = 100,         // then the world ends
    HELD_MAX = 2 * ROOM,          // what a lost answer left behind is adopted beyond the room, never more than once over
    PAUSE_KNOWN_MS = 30000,       // by then every node that acts has looked at its lanes
    SETTLE_MS = 90000,            // after misfortune: frozen nodes wake, dead ones are noticed, the backlog is worked off
    WAIT_MAX_MS = 10000,          // then nothing that is due waits longer than this,
    RUN_MAX_MS = SLOW_MS + 60000, // nor is anything called running that cannot be
};

void violate(struct world *world, int invariant, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("seed %llu, %lld ms: I%d broken: ", (unsigned long long)world->seed, (long long)world->now, invariant);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    if (++world->violations < VIOLATIONS_MAX)
        return;
    printf("that is enough\n");
    fflush(stdout);
    _exit(1);
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

// SIM_TRACE=JOB-ID prints what the store and the targets see of one job.
static void trace(const struct sim_node *node, int64_t job_id, const char *what, const struct job *job)
{
    const char *wanted = getenv("SIM_TRACE");
    if (wanted && atoll(wanted) == job_id)
        printf("%8lld node %d.%d %-8s %-9s token %lld holder %llx attempts %d due %lld\n", (long long)node->world->now,
               node->number, node->life, what, job_state_text(job->state), (long long)job->token, (unsigned long long)job->holder,
               job->attempts, (long long)(job->due_at - EPOCH));
}

void take_record(struct shadow *shadow, const struct job *job)
{
    shadow->job = *job;
    shadow->job.reason = shadow->job.response = shadow->job.result = (struct str){0};
}

bool job_is_at_hand(const struct job *job, int64_t now_ms)
{
    return job->state == JOB_RESERVED || (job->state == JOB_WATCHING && job->due_at <= now_ms);
}

// Is there a way from one state to the other, in one written step? A quick job goes from watching to its end in one write, and a
// hurried one is given back and made due in one.
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

// I11: when an attempt is written, the record says whether it began within the SLA, once and for all.
static void check_sla(struct world *world, const struct shadow *shadow, const struct store_step *step)
{
    const struct job *was = &shadow->job, *job = step->job;
    int64_t started = job->started_at ? job->started_at : step->attempt ? step->attempt->started_at : 0;
    bool late = was->late_stage || (started && started - was->ready_at > shadow->policy.sla_ms);
    if (late != (job->late_stage != STAGE_NONE))
        violate(world, 11, "job %lld began %lld ms after its time, and its record says %s", (long long)job->id,
                (long long)(started - was->ready_at), job->late_stage ? "late" : "in time");
}

static const struct said *said_to(const struct shadow *shadow, int64_t token, enum job_outcome outcome)
{
    for (size_t i = 0; i < SAID_MAX; i++)
        if (shadow->said[i].token == token && shadow->said[i].outcome == outcome)
            return &shadow->said[i];
    return NULL;
}

static bool by_target(enum job_outcome outcome)
{
    return outcome == OUTCOME_SUCCESS || outcome == OUTCOME_FAILED || outcome == OUTCOME_TIMEOUT;
}

// I18: a lease ends an attempt by running out, and by nothing else that nobody asked for: no node had it in hand.
static void check_lease(struct world *world, const struct shadow *shadow, const struct store_step *step, enum job_outcome outcome)
{
    int64_t early = step->attempt ? shadow->job.lease_until - step->attempt->completed_at : 0;
    if (outcome != OUTCOME_TIMEOUT)
        violate(world, 18, "job %lld had a lease and is written as %s", (long long)step->job->id, job_outcome_text(outcome));
    else if (early > 0)
        violate(world, 18, "the lease of job %lld was ended %lld ms early", (long long)step->job->id, (long long)early);
}

// I2: what is written about an end is what the target said to this very claim.
static void check_outcome(struct world *world, const struct shadow *shadow, const struct store_step *step)
{
    enum job_outcome outcome = step->attempt ? step->attempt->outcome : step->job->outcome;
    const struct said *said = said_to(shadow, step->token, outcome);
    if (shadow->job.lease_until && !step->job->lease_until && outcome != OUTCOME_CANCELLED && !said)
        check_lease(world, shadow, step, outcome);
    else if (by_target(outcome) && !said)
        violate(world, 2, "job %lld is written as %s, which its target did not say", (long long)step->job->id,
                job_outcome_text(outcome));
    if ((step->job->state == JOB_SUCCESS) != (outcome == OUTCOME_SUCCESS))
        violate(world, 2, "job %lld is %s after %s", (long long)step->job->id, job_state_text(step->job->state),
                job_outcome_text(outcome));
}

// The shortest wait before this retry that the policy and the target's wish allow: jitter takes off up to half.
static int64_t shortest_delay(const struct job_policy *policy, int retry, int64_t retry_after_ms)
{
    int64_t delay = policy->retry.delay_ms;
    for (int i = 1; i < retry && policy->retry.exponential; i++)
        delay = time_min(delay * 2, policy->retry.max_delay_ms);
    return time_max(delay - delay / 2, retry_after_ms);
}

// I13: a try is used by a failure, a loss only by the death of a holder who had begun, neither by anything else.
static void check_tries(struct world *world, struct shadow *shadow, const struct store_step *step)
{
    const struct job *was = &shadow->job, *job = step->job;
    enum job_outcome kept = step->attempt ? (enum job_outcome)step->attempt->outcome : OUTCOME_NONE;
    const struct said *said = said_to(shadow, step->token, kept);
    bool retried = by_target(kept) && job->state == JOB_DELAYED;
    bool lost = kept == OUTCOME_LOST && was->state == JOB_RESERVED;
    if (job->retries != was->retries + retried || job->losses != was->losses + lost || job->retries > shadow->policy.retry.max)
        violate(world, 13, "job %lld: %d retries and %d losses after %d and %d, the attempt was %s", (long long)job->id,
                job->retries, job->losses, was->retries, was->losses, job_outcome_text(kept));
    if (job->state == JOB_ABORTED && job->retries != shadow->policy.retry.max)
        violate(world, 13, "job %lld is aborted after %d retries of %d", (long long)job->id, job->retries,
                shadow->policy.retry.max);
    if ((job->state == JOB_BURIED) != (lost && job->losses >= shadow->policy.lost_max))
        violate(world, 13, "job %lld is %s after %d losses", (long long)job->id, job_state_text(job->state), job->losses);
    if (retried)
        shadow->not_before =
            step->attempt->completed_at + shortest_delay(&shadow->policy, job->retries, said ? said->retry_after_ms : 0);
}

static void check_step(struct sim_node *node, const struct store_step *step)
{
    struct world *world = node->world;
    struct shadow *shadow = map_get(&world->shadows, step->job->id);
    trace(node, step->job->id, step->err ? "refused" : "change", step->job);
    if (step->err)
        return;
    if (!shadow) {
        violate(world, 2, "job %lld was changed but never added", (long long)step->job->id);
        return;
    }
    if (shadow->job.token != step->token)
        violate(world, 3, "job %lld: a write with token %lld was accepted, the record had %lld", (long long)step->job->id,
                (long long)step->token, (long long)shadow->job.token);
    if (shadow->removed)
        violate(world, 21, "job %lld was written as %s after its task was deleted", (long long)step->job->id,
                job_state_text(step->job->state));
    if (!may_follow(shadow->job.state, step->job->state))
        violate(world, 2, "job %lld: %s after %s", (long long)step->job->id, job_state_text(step->job->state),
                job_state_text(shadow->job.state));
    bool same_hand =
        job_state_held(step->job->state) || (job_state_waiting(shadow->job.state) && job_state_waiting(step->job->state));
    if (!same_hand && step->job->token <= step->token)
        violate(world, 3, "job %lld left a hand and its token stayed %lld", (long long)step->job->id, (long long)step->token);
    check_sla(world, shadow, step);
    check_outcome(world, shadow, step);
    check_tries(world, shadow, step);
    shadow->clock_was_wrong |= node_clock_was_wrong(node) && !job_state_held(step->job->state);
    // Who decided it before the job was due could not know of a start that crossed it.
    bool cancelled = step->job->state == JOB_CANCELLED && step->job->completed_at >= shadow->job.due_at;
    if (cancelled && shadow->calls > step->job->attempts && !shadow->clock_was_wrong)
        violate(world, 6, "job %lld was called %d times before its cancel, which shows %d attempts", (long long)step->job->id,
                shadow->calls, step->job->attempts);
    take_record(shadow, step->job);
}

// I3: who was declared dead takes nothing in hand any more.
static void check_holder(struct world *world, int64_t job_id, int64_t holder)
{
    if (map_get(&world->buried, holder))
        violate(world, 3, "job %lld was taken by an incarnation that is dead", (long long)job_id);
}

static void check_key(struct world *world, const struct store_new *item)
{
    int64_t hash = hash_name(item->task->tenant, item->key);
    void *known = map_get(&world->keys, hash);
    if (!known)
        map_put(&world->keys, hash, (void *)(intptr_t)item->task->id);
    else
        violate(world, 9, "a second task %lld was added for a key that led to %lld", (long long)item->task->id,
                (long long)(intptr_t)known);
}

static void check_lane(struct world *world, const struct job *job)
{
    int32_t *tenant = &world->lane_tenants[job->lane % LANES_MAX];
    if (*tenant && *tenant != job->tenant)
        violate(world, 14, "lane %lld is of tenants %d and %d", (long long)job->lane, *tenant, job->tenant);
    *tenant = job->tenant;
}

void check_added_job(struct sim_node *node, const struct job *job, const struct job_policy *policy)
{
    struct world *world = node->world;
    struct shadow *shadow = shadow_of(world, job->id);
    trace(node, job->id, "add", job);
    if (shadow->job.id)
        violate(world, 1, "job %lld was added twice", (long long)job->id);
    shadow->policy = *policy;
    shadow->added_at = world->now;
    shadow->not_before = job->scheduled_at;
    if (job_state_held(job->state))
        check_holder(world, job->id, job->holder);
    check_lane(world, job);
    take_record(shadow, job);
}

// A job that is added by hand follows its task as it was submitted: no patch of a client changes how often it is tried.
static struct job_policy policy_of(struct world *world, const struct store_new *item, struct arena *arena)
{
    const struct plan_shadow *plan = map_get(&world->plans, item->jobs[0].task_id);
    if (item->task)
        return task_policy(item->task->doc, arena);
    return plan ? plan->policy : shadow_of(world, item->jobs[0].parent_id)->policy;
}

static void check_new(struct sim_node *node, const struct store_new *item, struct arena *arena)
{
    struct world *world = node->world;
    const struct job *first = &item->jobs[0];
    struct job_policy policy = policy_of(world, item, arena);
    if (first->parent_id && !job_state_final(shadow_of(world, first->parent_id)->job.state))
        violate(world, 2, "job %lld was retried before it had ended", (long long)first->parent_id);
    for (size_t i = 0; i < item->job_count; i++)
        check_added_job(node, &item->jobs[i], &policy);
    if (world->hurrying[first->tenant])
        map_put(&world->hurried, first->task_id, world);
    if (world->resuming[first->tenant])
        task_shadow_of(world, first->task_id)->resume_asked = true;
    if (item->task && item->key.n)
        check_key(world, item);
    if (item->task && item->task->plan)
        check_new_plan(node, item);
}

static void check_add(struct sim_node *node, const struct store_add *add)
{
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < add->count; i++)
        if (!add->items[i].err && !add->items[i].existing_id)
            check_new(node, &add->items[i], &arena);
    arena_done(&arena);
}

static void check_claim(struct sim_node *node, const struct store_claim *claim)
{
    for (size_t i = 0; i < claim->job_count; i++) {
        const struct job *job = &claim->jobs[i].job;
        struct shadow *shadow = shadow_of(node->world, job->id);
        trace(node, job->id, "claim", job);
        if (!job_state_waiting(shadow->job.state))
            violate(node->world, 3, "job %lld was claimed while %s", (long long)job->id, job_state_text(shadow->job.state));
        check_holder(node->world, job->id, job->holder);
        check_handed_out(node->world, &claim->jobs[i]);
        take_record(shadow, job);
    }
}

// I3: when somebody is declared dead, it has already stopped to act by itself.
static void check_bury(struct world *world, const struct store_bury *bury)
{
    map_put(&world->buried, bury->incarnation, world);
    for (int i = 0; i < world->node_count; i++) {
        struct sim_node *node = &world->nodes[i];
        if (node->up && atomic_load(&node->flow->node.incarnation) == bury->incarnation &&
            node_alive(&node->flow->node, node_now(node).mono_ms))
            violate(world, 3, "node %d was declared dead while it still may act", i);
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
    if (op->verb == STORE_AMEND)
        check_amend(node, container_of(op, struct store_amend, op));
    if (op->verb == STORE_PLAN)
        check_plan(node, container_of(op, struct store_plan, op));
    if (op->verb == STORE_REMOVE)
        check_remove(node, container_of(op, struct store_remove, op));
    if (op->verb == STORE_BULK)
        check_bulk_write(node, &container_of(op, struct store_bulk, op)->row);
    const struct store_find *find = container_of(op, struct store_find, op);
    for (size_t i = 0; op->verb == STORE_FIND && find->to_run && i < find->job_count; i++)
        check_handed_out(node->world, &find->jobs[i]);
    if (op->verb == STORE_BURY)
        check_bury(node->world, container_of(op, struct store_bury, op));
    if (op->verb == STORE_JOIN) // who was forgotten before it heard that it had joined held nothing, and begins anew
        map_remove(&node->world->buried, container_of(op, struct store_join, op)->incarnation);
    const struct store_due *due = container_of(op, struct store_due, op);
    bool settled = node->world->quiet_since && node->world->now - node->world->quiet_since > SETTLE_MS;
    if (op->verb == STORE_DUE && settled && !node_clock_wrong(node) && node->world->now - node->corrected_at > SETTLE_MS &&
        due->to_ms > node_now(node).wall_ms)
        violate(node->world, 4, "jobs are called ready %lld ms early", (long long)(due->to_ms - node_now(node).wall_ms));
    const struct store_get *get = container_of(op, struct store_get, op);
    if (op->verb == STORE_GET && get->tenant && get->task.tenant != get->tenant)
        violate(node->world, 14, "tenant %d read task %lld of tenant %d", get->tenant, (long long)get->task.id, get->task.tenant);
    if (op->verb != STORE_CHANGE)
        return;
    struct store_change *change = container_of(op, struct store_change, op);
    for (size_t i = 0; i < change->count; i++)
        check_step(node, &change->steps[i]);
}

// I4, and I15: a pause holds once everybody can have heard of it.
static void check_time(struct sim_node *node, const struct exec_attempt *attempt, const struct shadow *shadow)
{
    struct world *world = node->world;
    int64_t wall = node_now(node).wall_ms, id = attempt->outcome->job.id;
    bool hurried = map_get(&world->hurried, attempt->outcome->job.task_id) != NULL;
    if (attempt->outcome->job.due_at > wall || (!hurried && shadow->not_before > wall))
        violate(world, 4, "job %lld started %lld ms early", (long long)id,
                (long long)(time_max(attempt->outcome->job.due_at, shadow->not_before) - wall));
    if (attempt->outcome->job.expires_at && attempt->outcome->job.expires_at <= wall)
        violate(world, 4, "job %lld started after it had expired", (long long)id);
    int64_t paused = world->paused_since[attempt->outcome->job.lane % LANES_MAX];
    if (paused && world->now - paused > PAUSE_KNOWN_MS && world->now - world->outage_until > PAUSE_KNOWN_MS)
        violate(world, 15, "job %lld started in a queue that has been paused for %lld ms", (long long)id,
                (long long)(world->now - paused));
    int64_t late = EPOCH + world->now - time_max(attempt->outcome->job.due_at, EPOCH + shadow->added_at);
    if (world->late_max_ms > 0 && late > world->late_max_ms)
        violate(world, 12, "job %lld started %lld ms late, with nothing in its way", (long long)id, (long long)late);
}

void check_start(struct sim_node *node, const struct exec_attempt *attempt, int64_t end)
{
    struct world *world = node->world;
    struct shadow *shadow = shadow_of(world, attempt->outcome->job.id);
    trace(node, attempt->outcome->job.id, "start", &attempt->outcome->job);
    check_time(node, attempt, shadow);
    check_task_start(node, attempt, shadow);
    check_overlap(world, &attempt->outcome->job);
    if (shadow->cancelled)
        violate(world, 5, "job %lld was started after its cancel was confirmed", (long long)attempt->outcome->job.id);
    if (!node->flow->node.pulls)
        violate(world, 17, "job %lld was started on a node that only takes requests", (long long)attempt->outcome->job.id);
    bool ours = shadow->job.token == attempt->outcome->token && shadow->job.holder == attempt->outcome->job.holder;
    // Between the writing of a cancel and its confirmation a start is not wrong: the two crossed.
    if (!ours && shadow->job.state != JOB_CANCELLED)
        violate(world, 6, "job %lld was started with token %lld, the record has %lld", (long long)attempt->outcome->job.id,
                (long long)attempt->outcome->token, (long long)shadow->job.token);
    // The call before this one may still be on its way only if its holder was lost.
    bool same_life = shadow->last_call_node == node->number && shadow->last_call_life == node->life;
    if (shadow->calls && shadow->last_call_end > world->now && same_life && node->frozen_until == 0)
        violate(world, 6, "job %lld runs twice at once in one life", (long long)attempt->outcome->job.id);
    shadow->calls++;
    shadow->not_before = 0; // until it fails and is to be tried again
    shadow->clock_was_wrong |= node_clock_wrong(node);
    shadow->last_call_start = world->now;
    shadow->last_call_end = end;
    shadow->last_call_node = node->number;
    shadow->last_call_life = node->life;
}

void check_said(struct sim_node *node, const struct exec_attempt *attempt)
{
    struct shadow *shadow = shadow_of(node->world, attempt->outcome->job.id);
    if (attempt->outcome->result.later)
        return; // that says nothing yet
    shadow->said[shadow->said_count++ % SAID_MAX] = (struct said){.token = attempt->outcome->token,
                                                                  .outcome = attempt->outcome->result.outcome,
                                                                  .retry_after_ms = attempt->outcome->result.retry_after_ms};
}

// Under the token of its claim while its call is open, or under the one of its lease.
void check_report(struct world *world, int64_t job_id, int64_t number, enum job_outcome outcome)
{
    struct shadow *shadow = shadow_of(world, job_id);
    for (int i = 0; i < 2; i++)
        if (!said_to(shadow, number + i, outcome))
            shadow->said[shadow->said_count++ % SAID_MAX] = (struct said){.token = number + i, .outcome = outcome};
}

void check_turn(struct sim_node *node)
{
    int held = lanes_held(node->flow->lanes);
    if (held > HELD_MAX && held > node->world->held_most)
        violate(node->world, 7, "node %d has %d places taken of %d", node->number, held, ROOM);
    node->world->held_most = held > node->world->held_most ? held : node->world->held_most;
}

// I12: once misfortune is over and its marks are gone, nothing that is due is left lying.
void check_waiting(struct world *world)
{
    int64_t id;
    size_t at = 0;
    if (world->now - world->quiet_since < SETTLE_MS || world->late_max_ms < 0)
        return;
    check_plans_waiting(world);
    for (struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        const struct job *job = &shadow->job;
        int64_t wall = EPOCH + world->now;
        const struct task_shadow *task = map_get(&world->tasks, job->task_id);
        int64_t since = task && task->resumed && !shadow->clock_was_wrong ? time_min(job->due_at, job->ready_at) : job->due_at;
        bool left = job->lease_until             ? wall - job->lease_until > WAIT_MAX_MS
                    : job->state == JOB_RESERVED ? wall - job->started_at > RUN_MAX_MS
                                                 : wall - since > WAIT_MAX_MS;
        if (task && task->paused && !job->lease_until)
            continue;
        if (!left || job_state_final(job->state) || shadow->removed)
            continue;
        if (job->state == JOB_BLOCKED)
            continue; // it waits for another one: check_plans_waiting() looks after it
        violate(world, 12, "job %lld has been %s for %lld ms", (long long)id, job_state_text(job->state),
                (long long)(wall - since));
        shadow->job.due_at = shadow->job.ready_at = shadow->job.started_at = wall; // said once
        if (job->lease_until)
            shadow->job.lease_until = wall;
    }
}
