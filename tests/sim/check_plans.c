// The invariants of recurring tasks (I23, I24, I25). Which instants a schedule has is computed here by arithmetic, from the
// document alone: clients use steps that are whole seconds. What was skipped is read from the plan in the store.
#include "store/plans.h"
#include "world.h"

#include <stdlib.h>

enum {
    SHORT_MAX_MS = 10000, // a plan that was not carried on is looked after by then, and a queued job is let go
    AHEAD_LEAST = 3,      // jobs that lie ahead at any time: the fifth follows when the first is picked, the fourth may be late
};

// ---- what the document says

static struct task read_doc(struct str doc, struct arena *arena)
{
    struct task task;
    char why[ERR_WHY_MAX];
    if (!task_read(&task, doc, arena, why))
        abort();
    return task;
}

// "*/5 * * * * *": every five seconds of each minute.
static int64_t step_of_cron(struct str cron)
{
    int64_t step = 0;
    for (size_t i = 2; i < cron.n && cron.p[i] >= '0' && cron.p[i] <= '9'; i++)
        step = step * 10 + (cron.p[i] - '0');
    return step * 1000;
}

static void take_doc(struct plan_shadow *plan, struct str doc, int64_t created_at)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = read_doc(doc, &arena);
    bool every = task.recurs->every_ms > 0;
    int64_t step = every ? task.recurs->every_ms : step_of_cron(task.recurs->cron), anchor = every ? created_at % step : 0;
    plan->rescheduled |= plan->step_ms && (plan->step_ms != step || plan->anchor_ms != anchor);
    plan->step_ms = step;
    plan->anchor_ms = anchor;
    plan->jitter_ms = task.recurs->jitter_ms;
    plan->max_runs = task.recurs->rules.max_runs;
    plan->overlap = task.recurs->rules.overlap;
    plan->max_active = task.recurs->rules.max_active;
    arena_done(&arena);
}

static int64_t next_instant(const struct plan_shadow *plan, int64_t after)
{
    return plan->anchor_ms + ((after - plan->anchor_ms) / plan->step_ms + 1) * plan->step_ms;
}

// ---- what the store has

struct stored_plan {
    struct store_plans read;
    const struct plan *plan; // NULL: it is gone
    struct plan_skip skips[PLAN_SKIPS_MAX];
    size_t skip_count;
};

static void stored_read(struct world *world, int64_t task_id, struct stored_plan *stored)
{
    stored->read = (struct store_plans){.ids = &task_id, .id_count = 1};
    store_op_init(&stored->read.op, STORE_PLANS, NULL);
    store_call(world->memory, &stored->read.op);
    stored->plan = stored->read.count ? stored->read.tasks[0].plan : NULL;
    stored->skip_count = stored->plan ? plan_skips_read(stored->plan->skips, stored->skips) : 0;
}

static void stored_done(struct stored_plan *stored)
{
    store_op_done(&stored->read.op);
}

static int skips_with(const struct stored_plan *stored, int64_t at)
{
    int count = 0;
    for (size_t i = 0; i < stored->skip_count; i++)
        count += stored->skips[i].from <= at && at <= stored->skips[i].to;
    return count;
}

bool plan_has_skip(struct world *world, int64_t task_id, int64_t nominal_at)
{
    struct stored_plan stored;
    stored_read(world, task_id, &stored);
    bool has = skips_with(&stored, nominal_at) > 0;
    stored_done(&stored);
    return has;
}

// ---- I23: an instant has one job, or lies in one skip

static int jobs_at(const struct plan_shadow *plan, int64_t at)
{
    int count = 0;
    for (size_t i = 0; i < plan->job_count; i++)
        count += plan->jobs[i]->job.nominal_at == at && !plan->jobs[i]->released;
    return count;
}

// Of the instants after `from`, up to `through`.
static void check_covered(struct world *world, const struct plan_shadow *plan, int64_t from, int64_t through)
{
    struct stored_plan stored;
    stored_read(world, plan->task_id, &stored);
    for (int64_t at = next_instant(plan, from); at <= through; at = next_instant(plan, at)) {
        int jobs = jobs_at(plan, at), skips = skips_with(&stored, at);
        if (jobs > 1)
            violate(world, 23, "task %lld has %d jobs for the instant %lld", (long long)plan->task_id, jobs,
                    (long long)(at - EPOCH));
        if (jobs + skips == 0 || skips > 1)
            violate(world, 23, "task %lld has no job for the instant %lld, which lies in %d skips", (long long)plan->task_id,
                    (long long)(at - EPOCH), skips);
    }
    stored_done(&stored);
}

static int64_t through_of(const struct plan *plan)
{
    return plan->planned_through == TIME_NEVER ? plan->ended_with : plan->planned_through;
}

static void take_jobs(struct sim_node *node, struct plan_shadow *plan, const struct job *jobs, size_t count)
{
    plan->jobs = mem_grow(plan->jobs, (plan->job_count + count + 1) * sizeof plan->jobs[0]);
    for (size_t i = 0; i < count; i++) {
        const struct job *job = &jobs[i];
        plan->jobs[plan->job_count++] = shadow_of(node->world, job->id);
        if (job->nominal_at != next_instant(plan, job->nominal_at - 1) || job->due_at < job->nominal_at)
            violate(node->world, 23, "job %lld stands for the instant %lld, which its schedule does not have", (long long)job->id,
                    (long long)(job->nominal_at - EPOCH));
    }
}

void check_new_plan(struct sim_node *node, const struct store_new *item)
{
    struct world *world = node->world;
    const struct store_task *task = item->task;
    struct plan_shadow *plan = mem_zero(sizeof *plan);
    plan->task_id = task->id;
    plan->tenant = task->tenant;
    plan->policy = shadow_of(world, item->jobs[0].id)->policy;
    plan->planned_through = task->plan->planned_through;
    map_put(&world->plans, task->id, plan);
    take_doc(plan, task->doc, task->created_at);
    take_jobs(node, plan, item->jobs, item->job_count);
    check_covered(world, plan, task->created_at, through_of(task->plan));
}

static void check_item(struct sim_node *node, const struct store_planned *item)
{
    struct world *world = node->world;
    struct plan_shadow *plan = map_get(&world->plans, item->plan->task_id);
    if (!plan || task_is_gone(world, item->plan->task_id)) {
        violate(world, 21, "task %lld was planned after it was deleted", (long long)item->plan->task_id);
        return;
    }
    if (item->from != plan->planned_through)
        violate(world, 23, "task %lld was planned on from %lld, its plan had reached %lld", (long long)plan->task_id,
                (long long)item->from, (long long)plan->planned_through);
    for (size_t i = 0; i < item->job_count; i++)
        check_added_job(node, &item->jobs[i], &plan->policy);
    take_jobs(node, plan, item->jobs, item->job_count);
    plan->planned_through = item->plan->planned_through;
    if (item->from != TIME_NEVER)
        check_covered(world, plan, item->from, through_of(item->plan));
    if (item->from != TIME_NEVER && item->plan->planned_through == TIME_NEVER && item->plan->instants != plan->max_runs)
        violate(world, 23, "the schedule of task %lld has ended after %lld instants of %lld", (long long)plan->task_id,
                (long long)item->plan->instants, (long long)plan->max_runs);
}

void check_plan(struct sim_node *node, const struct store_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        if (!plan->items[i].err)
            check_item(node, &plan->items[i]);
}

// The last instant that was begun, or wants to begin, or was skipped because its time had come. A clock that was ahead may have
// done so long before: a change does not plan it again.
static int64_t last_passed(const struct plan_shadow *plan, const struct stored_plan *stored)
{
    int64_t last = 0;
    for (size_t i = 0; i < plan->job_count; i++) {
        const struct job *job = &plan->jobs[i]->job;
        bool cancelled = plan->jobs[i]->released || job->state == JOB_CANCELLED;
        if (job->attempts || (!cancelled && !job_state_waiting(job->state)))
            last = time_max(last, job->nominal_at);
    }
    for (size_t i = 0; i < stored->skip_count; i++)
        last = time_max(last, stored->skips[i].to);
    return last;
}

// From where on a change has planned anew.
static int64_t changed_from(struct world *world, const struct plan_shadow *plan, int64_t now_ms)
{
    struct stored_plan stored;
    stored_read(world, plan->task_id, &stored);
    int64_t from = time_min(plan->planned_through, time_max(now_ms, last_passed(plan, &stored)));
    stored_done(&stored);
    return from;
}

// What a resume has cancelled was skipped.
static void check_resumed(struct world *world, const struct plan_shadow *plan, const struct store_amend *amend)
{
    for (size_t i = 0; i < amend->count; i++) {
        const struct job *job = amend->steps[i].job;
        if (job->state == JOB_CANCELLED && job->trigger == TRIGGER_SCHEDULE &&
            !plan_has_skip(world, plan->task_id, job->nominal_at))
            violate(world, 23, "job %lld was cancelled when its task was resumed, and its instant is in no skip",
                    (long long)job->id);
    }
}

void check_amended_plan(struct sim_node *node, const struct store_amend *amend, bool patches, bool resumes)
{
    struct world *world = node->world;
    struct plan_shadow *plan = map_get(&world->plans, amend->task.id);
    const struct plan *as = amend->task.plan;
    int64_t from = patches ? changed_from(world, plan, amend->task.updated_at) : plan->planned_through;
    take_doc(plan, amend->task.doc, amend->task.created_at);
    for (size_t i = 0; i < amend->job_count; i++)
        check_added_job(node, &amend->jobs[i], &plan->policy);
    take_jobs(node, plan, amend->jobs, amend->job_count);
    plan->planned_through = as->planned_through;
    if (as->planned_through == TIME_NEVER && !as->ended_with)
        return; // by hand
    if (from != TIME_NEVER)
        check_covered(world, plan, from, through_of(as));
    if (resumes)
        check_resumed(world, plan, amend);
}

// ---- I24: no more than max_active at once

// What the record says is over, or was lost, does not count, though its call may go on for a while.
static bool is_under_way(const struct world *world, const struct shadow *shadow)
{
    bool called = shadow->last_call_end > world->now || shadow->job.lease_until;
    return shadow->calls && called && job_state_held(shadow->job.state) && !shadow->removed;
}

void check_overlap(struct world *world, const struct job *job)
{
    const struct plan_shadow *plan = map_get(&world->plans, job->task_id);
    int count = 1;
    if (!plan || job->trigger != TRIGGER_SCHEDULE || (plan->overlap != PLAN_OVERLAP_SKIP && plan->overlap != PLAN_OVERLAP_QUEUE))
        return;
    for (size_t i = 0; i < plan->job_count; i++)
        count += plan->jobs[i]->job.id != job->id && is_under_way(world, plan->jobs[i]);
    if (count > plan->max_active)
        violate(world, 24, "%d jobs of task %lld run at once, %d may", count, (long long)plan->task_id, plan->max_active);
}

// ---- I25: a plan goes on, and what it counts is so

static bool lasts(struct world *world, bool is_so, int64_t *since)
{
    if (!is_so)
        *since = 0;
    else if (!*since)
        *since = world->now;
    return is_so && world->now - *since > SHORT_MAX_MS;
}

static void check_waiting_plan(struct world *world, struct plan_shadow *plan)
{
    struct stored_plan stored;
    stored_read(world, plan->task_id, &stored);
    const struct plan *is = stored.plan;
    if (!is) {
        stored_done(&stored);
        return;
    }
    bool paused = is->paused_at != 0, ends = plan->max_runs && is->instants >= plan->max_runs;
    int64_t reach = EPOCH + world->now + AHEAD_LEAST * plan->step_ms - plan->jitter_ms;
    bool few = plan_owes(is) && !paused && !ends && is->planned_through < reach;
    bool stranded = !paused && is->queued_count && is->active_count < (size_t)plan->max_active &&
                    shadow_of(world, is->queued[0])->job.state == JOB_BLOCKED;
    plan->put_far = stranded && (plan->put_far || is->check_at > EPOCH + world->now + SHORT_MAX_MS);
    if (lasts(world, few, &plan->short_since))
        violate(world, 25, "task %lld is planned up to %lld ms from now only", (long long)plan->task_id,
                (long long)(is->planned_through - EPOCH - world->now));
    if (lasts(world, stranded && !plan->put_far, &plan->stranded_since))
        violate(world, 24, "job %lld of task %lld is queued, and %zu of %d are active", (long long)is->queued[0],
                (long long)plan->task_id, is->active_count, plan->max_active);
    stored_done(&stored);
}

void check_plans_waiting(struct world *world)
{
    int64_t id;
    size_t at = 0;
    for (struct plan_shadow *plan; (plan = map_next(&world->plans, &at, &id));)
        check_waiting_plan(world, plan);
}

// ---- at the end

static void check_counts(struct world *world, const struct plan *plan)
{
    int64_t id, success = 0, failed = 0, cancelled = 0;
    size_t at = 0;
    for (const struct shadow *shadow; (shadow = map_next(&world->shadows, &at, &id));) {
        if (shadow->job.task_id != plan->task_id)
            continue;
        success += shadow->job.state == JOB_SUCCESS;
        failed += shadow->job.state == JOB_ABORTED || shadow->job.state == JOB_BURIED;
        cancelled += shadow->job.state == JOB_CANCELLED;
    }
    if (plan->success != success || plan->failed != failed || plan->cancelled != cancelled)
        violate(world, 25,
                "the plan of task %lld counts %lld successes, %lld failures and %lld cancels; there are %lld, %lld, %lld",
                (long long)plan->task_id, (long long)plan->success, (long long)plan->failed, (long long)plan->cancelled,
                (long long)success, (long long)failed, (long long)cancelled);
    if (plan->active_count || plan->queued_count)
        violate(world, 24, "all jobs of task %lld have ended, and its plan has %zu active and %zu queued",
                (long long)plan->task_id, plan->active_count, plan->queued_count);
}

// Skips lie apart, and say how many instants they have. What ran to its success was not skipped, whoever died meanwhile.
static void check_skips(struct world *world, const struct plan_shadow *plan, const struct stored_plan *stored)
{
    for (size_t i = 0; i < stored->skip_count && !plan->rescheduled; i++) {
        const struct plan_skip *skip = &stored->skips[i];
        if ((i && skip[-1].to >= skip->from) || skip->count != (skip->to - skip->from) / plan->step_ms + 1)
            violate(world, 23, "task %lld has a skip from %lld to %lld of %lld", (long long)plan->task_id,
                    (long long)(skip->from - EPOCH), (long long)(skip->to - EPOCH), (long long)skip->count);
    }
    for (size_t i = 0; i < plan->job_count && !plan->rescheduled; i++)
        if (plan->jobs[i]->job.state == JOB_SUCCESS && skips_with(stored, plan->jobs[i]->job.nominal_at))
            violate(world, 23, "job %lld is a success, and its instant was skipped", (long long)plan->jobs[i]->job.id);
}

void check_plans_end(struct world *world)
{
    int64_t id;
    size_t at = 0;
    struct stored_plan stored;
    for (struct plan_shadow *plan; (plan = map_next(&world->plans, &at, &id));) {
        stored_read(world, id, &stored);
        if (stored.plan) {
            check_counts(world, stored.plan);
            check_skips(world, plan, &stored);
        } else if (!task_is_gone(world, id)) {
            violate(world, 1, "the plan of task %lld is gone", (long long)id);
        }
        stored_done(&stored);
    }
}
