// Operations at random: a function for each verb, which makes the operation twice from the same dice.
#include "same_support.h"
#include "store/journal.h"
#include "store/lives.h"
#include "store/peers.h"
#include "store/plans.h"

int64_t below(struct pair *pair, int64_t limit)
{
    return (int64_t)rand_below(&pair->rand, (uint64_t)limit);
}

static struct str some_bytes(struct pair *pair, struct world *world, struct rand dice)
{
    size_t n = rand_below(&dice, 20);
    char *bytes = world_mem(world, n + 1);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)rand_next(&dice);
    return (struct str){bytes, n};
}

static int64_t some_time(struct pair *pair)
{
    return NOW + below(pair, HORIZON);
}

static int64_t some_holder(struct pair *pair)
{
    return 1 + below(pair, HOLDERS);
}

// Often none, as most have; two of them never are the same.
static size_t some_tags(struct pair *pair, int64_t *tags)
{
    static const int64_t known[] = {INT64_MIN, -2, 0, 6, 8, INT64_MAX - 1};
    size_t first = (size_t)below(pair, 6), count = (size_t)below(pair, 4);
    for (size_t i = 0; i < count; i++)
        tags[i] = known[(first + i) % array_count(known)];
    return count;
}

static enum target_dispatch some_dispatch(struct pair *pair)
{
    return below(pair, 2) ? TARGET_CALLED : TARGET_HANDED_OUT;
}

static const struct plan *some_plan(struct pair *pair)
{
    struct plan *plan = world_mem(pair->worlds[0], sizeof *plan);
    int64_t *ids = world_mem(pair->worlds[0], 2 * sizeof *ids);
    for (int i = 0; i < 2; i++)
        ids[i] = 1 + below(pair, IDS);
    *plan = (struct plan){.instants = below(pair, 5), .active = ids, .active_count = (size_t)below(pair, 3)};
    plan->planned_through = below(pair, 3) ? some_time(pair) : TIME_NEVER;
    plan->check_at = below(pair, 3) ? some_time(pair) : TIME_NEVER;
    plan->queued = &ids[1];
    plan->queued_count = (size_t)below(pair, 2);
    plan->skips = below(pair, 2) ? STR("1 2") : (struct str){0};
    if (below(pair, 3))
        return plan;
    plan->paused_at = some_time(pair);
    plan->paused_note = STR("a note");
    plan->paused_by = STR("failures");
    return plan;
}

static struct job *some_planned_jobs(struct pair *pair, struct world *world, const struct plan *plan, size_t count)
{
    struct job *jobs = world_mem(world, (count + 1) * sizeof *jobs);
    for (size_t i = 0; i < count; i++) {
        jobs[i] = (struct job){.id = 1 + below(pair, IDS), .task_id = plan->task_id, .tenant = plan->tenant, .token = 1};
        jobs[i].state = (uint8_t)below(pair, 3);
        jobs[i].priority = (uint8_t)below(pair, JOB_PRIORITIES);
        jobs[i].trigger = TRIGGER_SCHEDULE;
        jobs[i].nominal_at = jobs[i].scheduled_at = jobs[i].ready_at = jobs[i].due_at = some_time(pair);
    }
    return jobs;
}

static struct job some_new_job(struct pair *pair, bool extra, int64_t holder)
{
    struct job job = {.id = 1 + below(pair, IDS), .tenant = (int32_t)(1 + below(pair, 2)), .token = 1};
    job.task_id = extra ? 1 + below(pair, IDS) : job.id;
    job.state = (uint8_t)(holder ? JOB_WATCHING : below(pair, 3));
    job.holder = holder;
    job.priority = (uint8_t)below(pair, JOB_PRIORITIES);
    job.due_at = job.ready_at = some_time(pair);
    job.scheduled_at = some_time(pair);
    job.nominal_at = below(pair, 3);
    job.expires_at = below(pair, 2) ? some_time(pair) : 0;
    job.trigger = (uint8_t)below(pair, TRIGGER_COUNT);
    return job;
}

static void new_item(struct pair *pair, struct world *worlds[2], struct store_new *items[2], int64_t *holder)
{
    static const char *const queues[] = {"a", "b", "a longer name"};
    static const char *const keys[] = {"", "", "k1", "k2", "k3"};
    bool extra = below(pair, 6) == 0;
    struct job job = some_new_job(pair, extra, *holder);
    struct store_task task = {.id = job.id, .tenant = job.tenant, .created_at = NOW, .queue = str_of(queues[below(pair, 3)])};
    task.dispatch = some_dispatch(pair);
    struct store_new item = {.job_count = 1};
    if (!extra)
        item.key = str_of(keys[below(pair, 5)]);
    item.digest[0] = (uint8_t)below(pair, 2);
    if (!extra && below(pair, 3) == 0) { // its jobs have other ids, and it need not have any
        task.plan = some_plan(pair);
        item.job_count = (size_t)below(pair, 2);
        job.id = 1 + below(pair, IDS);
    }
    int64_t tags[TAGS_MAX] = {0};
    task.tag_count = some_tags(pair, tags);
    struct rand dice = pair->rand;
    for (int i = 0; i < 2; i++) {
        struct {
            struct store_task task;
            struct job job;
            int64_t tags[TAGS_MAX];
        } *made = world_mem(worlds[i], sizeof *made);
        made->task = task;
        memcpy(made->tags, tags, sizeof tags);
        made->task.tags = made->tags;
        made->job = job;
        made->task.doc = some_bytes(pair, worlds[i], dice);
        made->task.name = made->task.doc.n % 2 ? STR("name") : (struct str){0};
        item.task = extra ? NULL : &made->task;
        item.jobs = &made->job;
        *items[i] = item;
    }
    rand_next(&pair->rand);
}

static void step_add(struct pair *pair, struct store_op *ops[2])
{
    size_t count = (size_t)below(pair, 5);
    int64_t holder = below(pair, 2) ? some_holder(pair) : 0;
    struct store_add *adds[2];
    for (int i = 0; i < 2; i++) {
        adds[i] = OP(pair->worlds[i], store_add, STORE_ADD);
        adds[i]->holder = holder;
        adds[i]->items = world_mem(pair->worlds[i], (count + 1) * sizeof *adds[i]->items);
        adds[i]->count = count;
        ops[i] = &adds[i]->op;
    }
    for (size_t k = 0; k < count; k++)
        new_item(pair, pair->worlds, (struct store_new *[2]){&adds[0]->items[k], &adds[1]->items[k]}, &holder);
}

static void step_claim(struct pair *pair, struct store_op *ops[2])
{
    struct store_want wants[3] = {{0}};
    size_t count = 1 + (size_t)below(pair, 3);
    for (size_t k = 0; k < count; k++)
        wants[k] = (struct store_want){
            .lane = below(pair, LANES), .max = (size_t)below(pair, 6), .from_ms = below(pair, 2) ? 0 : some_time(pair)};
    int64_t holder = some_holder(pair), until = some_time(pair);
    for (int i = 0; i < 2; i++) {
        struct store_claim *op = OP(pair->worlds[i], store_claim, STORE_CLAIM);
        op->wants = world_mem(pair->worlds[i], sizeof wants);
        memcpy(op->wants, wants, sizeof wants);
        op->want_count = count;
        op->holder = holder;
        op->now_ms = NOW;
        op->until_ms = until;
        ops[i] = &op->op;
    }
}

// What core would decide, mostly; the record is the reference's.
static bool some_change(struct pair *pair, struct job *job, struct job_step *ret_step)
{
    static char large[STORE_LISTED_RESULT + 1]; // left out of lists
    struct job_policy policy = {.retry = {.max = 2, .delay_ms = 5}, .sla_ms = 10, .ttl_ms = below(pair, HORIZON), .lost_max = 2};
    policy.timeout_ms = below(pair, HORIZON);
    struct job_result result = {
        .outcome = (enum job_outcome)(1 + below(pair, 2)), .status = 200, .completed_at = some_time(pair)};
    result.reason = STR("a reason\0with a zero");
    result.response = STR("\xff\xfe response");
    memset(large, '7', sizeof large);
    result.result = below(pair, 3) ? STR("{\"a\": 1}") : (struct str){large, below(pair, 2) ? sizeof large : 0};
    *ret_step = (struct job_step){0};
    switch (below(pair, 10)) {
    case 9:
        return job->state != JOB_READY && !job_run_now(job, NOW + below(pair, HORIZON));
    case 0:
        return !job_start(job, &policy, some_time(pair));
    case 1:
        return !job_start(job, &policy, NOW) && !job_finish(job, &policy, &result, 1, ret_step);
    case 2:
        return !job_release(job, some_time(pair), NOW + 20);
    case 3:
        return !job_lose(job, &policy, some_time(pair), ret_step);
    case 6:
        return (job->state == JOB_RESERVED || !job_start(job, &policy, NOW)) && !job_detach(job, &policy, &result);
    case 7:
        return !job_extend(job, &policy, some_time(pair), below(pair, 2) ? STR("[\"half\"]") : (struct str){0});
    case 8:
        return !job_expire_lease(job, &policy, some_time(pair), 1, ret_step);
    case 4:
        return !job_cancel(job, &policy, some_time(pair), STR("by hand"), ret_step);
    default:
        return !job_finish(job, &policy, &result, 1, ret_step);
    }
}

static void step_change(struct pair *pair, struct store_op *ops[2])
{
    size_t count = 1 + (size_t)below(pair, 4);
    struct store_step *steps = world_mem(pair->worlds[0], count * sizeof *steps);
    for (size_t k = 0; k < count; k++) {
        struct store_get *get = OP(pair->worlds[0], store_get, STORE_GET);
        struct job *job = world_mem(pair->worlds[0], sizeof *job);
        struct job_step *step = world_mem(pair->worlds[0], sizeof *step);
        get->job_id = 1 + below(pair, IDS);
        get->tenant = 1;
        if (call(pair->worlds[0], &get->op)) {
            get->tenant = 2;
            call(pair->worlds[0], &get->op);
        }
        *job = get->job_count ? get->jobs[0] : (struct job){.id = get->job_id};
        steps[k] = (struct store_step){.token = job->token - (below(pair, 5) == 0), .watched = below(pair, 3) == 0, .job = job};
        steps[k].lease = job->lease_until + (below(pair, 8) == 0);
        struct job as = *job;
        if (get->job_count && some_change(pair, &as, step)) {
            *job = as;
            steps[k].attempt = step->kept ? &step->attempt : NULL;
        }
        // These never change, whatever the step says.
        job->lane = job->parent_id = job->nominal_at = 99;
        job->priority = 3;
    }
    for (int i = 0; i < 2; i++) {
        struct store_change *op = OP(pair->worlds[i], store_change, STORE_CHANGE);
        op->steps = world_mem(pair->worlds[i], count * sizeof *steps);
        memcpy(op->steps, steps, count * sizeof *steps);
        op->count = count;
        ops[i] = &op->op;
    }
}

static void step_join(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair);
    bool pulls = below(pair, 2);
    BOTH(store_join, STORE_JOIN, .incarnation = holder, .pulls = pulls, .secret = {(uint8_t)holder, 2, 3})
}

static void step_owners(struct pair *pair, struct store_op *ops[2])
{
    BOTH(store_owners, STORE_OWNERS, .term = 0)
}

static void step_divide(struct pair *pair, struct store_op *ops[2])
{
    struct store_owner *rows = world_mem(pair->worlds[0], 4 * sizeof *rows);
    int64_t term = below(pair, 4);
    size_t count = (size_t)below(pair, 5);
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct store_owner){.bucket = (int32_t)(i / 2), .puller = i % 2 ? INT64_MAX : some_holder(pair)};
    BOTH(store_divide, STORE_DIVIDE, .term = term, .owners = rows, .owner_count = count)
}

static void step_request(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair), id = below(pair, 4);
    int32_t tenant = (int32_t)below(pair, 3);
    enum store_request_kind kind = (enum store_request_kind)below(pair, STORE_REQUEST_COUNT);
    BOTH(store_request, STORE_REQUEST, .holder = holder, .job = {.job_id = id, .tenant = tenant, .kind = kind})
}

static void step_requests(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair);
    size_t max = (size_t)below(pair, 4);
    BOTH(store_requests, STORE_REQUESTS, .holder = holder, .max = max)
}

static void step_beat(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair);
    bool listens = below(pair, 2), relays = below(pair, 2), in_turn = below(pair, 2);
    BOTH(store_beat, STORE_BEAT, .incarnation = holder, .listens = listens, .relays = relays, .in_turn = in_turn)
}

static void step_bury(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair), beat = below(pair, 3);
    BOTH(store_bury, STORE_BURY, .incarnation = holder, .beat = beat)
}

static void step_forget(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair);
    BOTH(store_forget, STORE_FORGET, .incarnation = holder)
}

static void step_due(struct pair *pair, struct store_op *ops[2])
{
    int64_t lane = below(pair, LANES), from = some_time(pair) - 1, to = from + below(pair, HORIZON),
            id = below(pair, 3) ? 0 : below(pair, IDS);
    size_t max = (size_t)below(pair, 5);
    BOTH(store_due, STORE_DUE, .lane = lane, .from_ms = from, .to_ms = to, .from_id = id, .max = max)
}

static void step_held(struct pair *pair, struct store_op *ops[2])
{
    int64_t holder = some_holder(pair), after = below(pair, IDS);
    size_t max = (size_t)below(pair, 6);
    bool to_run = below(pair, 2);
    BOTH(store_find, STORE_FIND, .what = STORE_FIND_HELD, .holder = holder, .after_id = after, .max = max, .to_run = to_run)
}

static void step_expired(struct pair *pair, struct store_op *ops[2])
{
    int64_t now = some_time(pair);
    size_t max = (size_t)below(pair, 6);
    BOTH(store_find, STORE_FIND, .what = STORE_FIND_EXPIRED, .now_ms = now, .max = max)
}

static void step_leases(struct pair *pair, struct store_op *ops[2])
{
    int64_t now = some_time(pair);
    size_t max = (size_t)below(pair, 6);
    BOTH(store_find, STORE_FIND, .what = STORE_FIND_LEASES, .now_ms = now, .max = max)
}

static void step_lanes(struct pair *pair, struct store_op *ops[2])
{
    int32_t tenant = (int32_t)below(pair, 3);
    int64_t after = below(pair, 6);
    size_t max = (size_t)below(pair, 6);
    bool names_only = below(pair, 3) == 0, counts = below(pair, 3) > 0;
    enum target_dispatch dispatch = (enum target_dispatch)below(pair, TARGET_DISPATCH_COUNT);
    BOTH(store_lanes, STORE_LANES, .tenant = tenant, .dispatch = dispatch, .after_id = after, .max = max, .counts = counts,
         .names_only = names_only)
}

static void step_pause(struct pair *pair, struct store_op *ops[2])
{
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    bool paused = below(pair, 2);
    BOTH(store_pause, STORE_PAUSE, .tenant = tenant, .queue = STR("a"), .paused = paused)
}

static void step_drop(struct pair *pair, struct store_op *ops[2])
{
    static const char *const queues[] = {"a", "b", "a longer name"};
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    struct str queue = str_of(queues[below(pair, 3)]);
    BOTH(store_drop, STORE_DROP, .tenant = tenant, .queue = queue)
}

static void step_sweep(struct pair *pair, struct store_op *ops[2])
{
    int64_t now = some_time(pair);
    size_t max = (size_t)below(pair, 5);
    int64_t minutes = below(pair, 8), events = below(pair, 40);
    BOTH(store_sweep, STORE_SWEEP, .now_ms = now, .keys_until = now + (int64_t)max, .max = max, .series_before = minutes,
         .events_before = events)
}

static void step_get(struct pair *pair, struct store_op *ops[2])
{
    int64_t id = 1 + below(pair, IDS);
    bool of_job = below(pair, 2);
    int32_t tenant = (int32_t)below(pair, 3);
    size_t max = (size_t)below(pair, 4);
    bool open_first = below(pair, 2);
    BOTH(store_get, STORE_GET, .tenant = tenant, .task_id = of_job ? 0 : id, .job_id = of_job ? id : 0, .max_jobs = max,
         .open_first = open_first)
}

static void step_list(struct pair *pair, struct store_op *ops[2])
{
    static const char *const queues[] = {NULL, NULL, "a", "b", "none"};
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    bool jobs = below(pair, 2), newest = below(pair, 2);
    int64_t task_id = jobs && below(pair, 4) == 0 ? 1 + below(pair, IDS) : 0;
    static const unsigned masks[] = {0,
                                     0,
                                     1u << JOB_CANCELLED,
                                     1u << JOB_DELAYED | 1u << JOB_READY,
                                     1u << JOB_SUCCESS | 1u,
                                     1u << JOB_ABORTED | 1u << JOB_BURIED};
    unsigned states = jobs ? masks[below(pair, 6)] : 0;
    struct str queue = str_of(task_id ? NULL : queues[below(pair, 5)]);
    struct str name = {0};
    if (below(pair, 4) == 0 && !task_id)
        name = STR("name");
    struct store_cursor before = {newest ? INT64_MAX : some_time(pair), newest ? INT64_MAX : 1 + below(pair, IDS)};
    size_t max = 1 + (size_t)below(pair, 6), look = max + (size_t)below(pair, 20), max_jobs = (size_t)below(pair, 3);
    size_t bytes_max = below(pair, 2) ? (size_t)below(pair, 3000) : 0;
    bool docs = jobs && below(pair, 2);
    static const char *const keys[] = {NULL, NULL, NULL, NULL, "k1", "k2", "unknown"};
    struct str key = str_of(task_id ? NULL : keys[below(pair, 7)]);
    struct store_list found_by = {0};
    if (!task_id && below(pair, 2))
        found_by.tag_count = some_tags(pair, found_by.tags);
    bool recurring = !jobs && below(pair, 3) == 0;
    BOTH(store_list, STORE_LIST, .tenant = tenant, .jobs = jobs, .recurring = recurring, .key = key,
         .tag_count = found_by.tag_count, .tags = {found_by.tags[0], found_by.tags[1], found_by.tags[2]}, .task_id = task_id,
         .states = states, .queue = queue, .name = name, .before = before, .max = max, .look = look, .bytes_max = bytes_max,
         .max_jobs = max_jobs, .docs = docs)
}

// As a task is changed: mostly it recurs if it did before.
static const struct plan *some_other_plan(struct pair *pair, const struct store_task *task)
{
    if (task->plan ? below(pair, 5) == 0 : below(pair, 8) > 0)
        return NULL;
    struct plan *plan = world_mem(pair->worlds[0], sizeof *plan);
    *plan = *some_plan(pair);
    plan->task_id = task->id;
    plan->tenant = task->tenant;
    plan->revision = (task->plan ? task->plan->revision : 0) - (below(pair, 8) == 0);
    return plan;
}

static void step_amend(struct pair *pair, struct store_op *ops[2])
{
    struct world *world = pair->worlds[0];
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->task_id = 1 + below(pair, IDS);
    get->tenant = (int32_t)(1 + below(pair, 2));
    get->max_jobs = 100;
    call(world, &get->op);
    struct store_task task = get->task;
    task.id = get->task_id;
    task.tenant = get->tenant;
    task.version -= below(pair, 6) == 0;
    task.paused = below(pair, 3) == 0;
    task.dispatch = some_dispatch(pair);
    task.queue = below(pair, 2) ? STR("b") : STR("quite new");
    task.name = below(pair, 2) ? STR("name") : (struct str){0};
    task.doc = STR("{\"amended\":1}");
    bool retag = below(pair, 2);
    int64_t *tags = world_mem(world, TAGS_MAX * sizeof *tags);
    task.tags = tags;
    task.tag_count = some_tags(pair, tags);
    task.updated_at = some_time(pair);
    struct store_step *steps = world_mem(world, (get->job_count + 1) * sizeof *steps);
    size_t count = 0;
    for (size_t i = 0; i < get->job_count; i++) {
        struct job *job = world_mem(world, sizeof *job);
        *job = get->jobs[i];
        if (job_replan(job, some_time(pair), NOW + 20) && below(pair, 8)) // now and then one that somebody has in hand
            continue;
        job->priority = (uint8_t)below(pair, JOB_PRIORITIES);
        steps[count++] = (struct store_step){.token = get->jobs[i].token - (below(pair, 10) == 0), .job = job};
    }
    task.plan = some_other_plan(pair, &task);
    size_t added = task.plan ? (size_t)below(pair, 3) : 0;
    struct job *jobs = added ? some_planned_jobs(pair, world, task.plan, added) : NULL;
    BOTH(store_amend, STORE_AMEND, .task = task, .retag = retag, .steps = steps, .count = count, .jobs = jobs, .job_count = added)
}

// Carried on as it was read, mostly; several items may be of one plan.
static struct store_planned some_planned(struct pair *pair, const struct store_plans *read)
{
    struct plan *plan = world_mem(pair->worlds[0], sizeof *plan);
    const struct plan *was = read->count ? read->tasks[below(pair, (int64_t)read->count)].plan : some_plan(pair);
    *plan = *some_plan(pair);
    plan->task_id = was->task_id;
    plan->tenant = was->tenant;
    plan->version = was->version - (below(pair, 8) == 0);
    plan->revision = was->revision - (below(pair, 8) == 0);
    struct store_planned item = {.from = was->planned_through - (below(pair, 8) == 0), .plan = plan};
    item.unread = below(pair, 2);
    item.check_before = below(pair, 2) ? some_time(pair) : TIME_NEVER;
    item.job_count = below(pair, 3) ? 1 : (size_t)below(pair, 3);
    return item;
}

static void step_plan(struct pair *pair, struct store_op *ops[2])
{
    struct store_plans *read = OP(pair->worlds[0], store_plans, STORE_PLANS);
    int64_t *ids = world_mem(pair->worlds[0], IDS * sizeof *ids), holder = below(pair, 3) ? 0 : some_holder(pair);
    for (int64_t i = 0; i < IDS; i++)
        ids[i] = IDS - i;
    read->ids = ids;
    read->id_count = IDS;
    call(pair->worlds[0], &read->op);
    size_t count = (size_t)below(pair, 12);
    struct store_plan *plans[2];
    for (int i = 0; i < 2; i++) {
        plans[i] = OP(pair->worlds[i], store_plan, STORE_PLAN);
        plans[i]->holder = holder;
        plans[i]->items = world_mem(pair->worlds[i], (count + 1) * sizeof *plans[i]->items);
        plans[i]->count = count;
        ops[i] = &plans[i]->op;
    }
    for (size_t k = 0; k < count; k++) {
        struct store_planned item = some_planned(pair, read);
        struct job *jobs = some_planned_jobs(pair, pair->worlds[0], item.plan, item.job_count);
        for (int i = 0; i < 2; i++) {
            plans[i]->items[k] = item;
            plans[i]->items[k].jobs = world_mem(pair->worlds[i], (item.job_count + 1) * sizeof *jobs);
            memcpy(plans[i]->items[k].jobs, jobs, item.job_count * sizeof *jobs);
        }
    }
}

static void step_plans(struct pair *pair, struct store_op *ops[2])
{
    int64_t *ids = world_mem(pair->worlds[0], 4 * sizeof *ids), now = some_time(pair);
    for (int i = 0; i < 4; i++)
        ids[i] = 1 + below(pair, IDS);
    bool by_id = below(pair, 2), owing = !by_id && below(pair, 2);
    size_t max = (size_t)below(pair, 5);
    BOTH(store_plans, STORE_PLANS, .ids = by_id ? ids : NULL, .id_count = 4, .now_ms = now, .owing = owing, .after_id = ids[0],
         .max = max)
}

static void step_tzdata(struct pair *pair, struct store_op *ops[2])
{
    static const struct str texts[] = {{"", 0}, {"2025b", 5}, {"2026a 0", 7}};
    bool writes = below(pair, 2);
    struct str was = texts[below(pair, 3)], next = texts[below(pair, 3)];
    BOTH(store_tzdata, STORE_TZDATA, .writes = writes, .was = was, .next = next)
}

static void step_remove(struct pair *pair, struct store_op *ops[2])
{
    struct world *world = pair->worlds[0];
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->task_id = 1 + below(pair, IDS);
    get->tenant = (int32_t)(1 + below(pair, 2));
    call(world, &get->op);
    int64_t now = some_time(pair), version = get->task.version - (below(pair, 6) == 0);
    size_t max = 1 + (size_t)below(pair, 2);
    bool ended = below(pair, 2), goes_on = below(pair, 2);
    BOTH(store_remove, STORE_REMOVE, .task_id = get->task_id, .tenant = get->tenant, .version = version, .ended = ended,
         .now_ms = now, .keys_until = now + 3, .max = max, .goes_on = goes_on)
}

// Written by who has read it, mostly; a bulk's tenant, document and beginning do not change.
static void step_bulk(struct pair *pair, struct store_op *ops[2])
{
    struct store_bulks *read = OP(pair->worlds[0], store_bulks, STORE_BULKS);
    read->id = 1 + below(pair, BULKS);
    read->tenant = (int32_t)(1 + read->id % 2);
    call(pair->worlds[0], &read->op);
    struct store_bulk_row row = {.id = read->id, .tenant = read->tenant, .created_at = NOW, .doc = STR("{\"a\":\"\xc3\xa9\"}")};
    row.version = (read->row_count ? read->rows[0].version : 0) - (below(pair, 6) == 0);
    row.state = (uint8_t)(below(pair, 2) ? STORE_BULK_RUNNING : below(pair, 3));
    row.holder = below(pair, HOLDERS);
    row.ended_at = row.state == STORE_BULK_RUNNING ? 0 : some_time(pair);
    row.matched = below(pair, 100);
    row.changed = below(pair, 100);
    row.unchanged = below(pair, 100);
    row.failed = below(pair, 100);
    row.next = (struct store_cursor){below(pair, 2) ? INT64_MAX : some_time(pair), below(pair, IDS)};
    int64_t forget_before = below(pair, 3) ? 0 : some_time(pair);
    BOTH(store_bulk, STORE_BULK, .row = row, .forget_before = forget_before)
}

static void step_bulks(struct pair *pair, struct store_op *ops[2])
{
    int64_t id = below(pair, BULKS + 2);
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    size_t max = (size_t)below(pair, 5);
    BOTH(store_bulks, STORE_BULKS, .id = id, .tenant = tenant, .max = max)
}

static void step_stats(struct pair *pair, struct store_op *ops[2])
{
    int32_t tenant = (int32_t)below(pair, 3);
    BOTH(store_stats, STORE_STATS, .tenant = tenant)
}

static void step_ahead(struct pair *pair, struct store_op *ops[2])
{
    int64_t lane = 1 + below(pair, LANES), due_at = some_time(pair), id = below(pair, IDS);
    int priority = (int)below(pair, JOB_PRIORITIES);
    size_t max = below(pair, 3) ? 1000 : (size_t)below(pair, 4);
    BOTH(store_ahead, STORE_AHEAD, .lane = lane, .priority = priority, .due_at = due_at, .id = id, .max = max)
}

// Not all backends have rows of jobs that ended among those they look at, so a page of fewer rows may differ.
static void step_upcoming(struct pair *pair, struct store_op *ops[2])
{
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    struct store_cursor after = {some_time(pair), below(pair, IDS)};
    int64_t until = after.at + below(pair, 100);
    BOTH(store_upcoming, STORE_UPCOMING, .tenant = tenant, .after = after, .until_ms = until, .look = 1000000)
}

static void step_minute(struct pair *pair, struct store_op *ops[2])
{
    struct store_minute_row minute = {
        .tenant = (int32_t)(1 + below(pair, 2)), .at = below(pair, 8), .source = 1 + below(pair, 3)};
    minute.doc = below(pair, 2) ? STR("{}") : STR("{\"submitted\":1}");
    BOTH(store_minute, STORE_MINUTE, .minute = minute)
}

static void step_series(struct pair *pair, struct store_op *ops[2])
{
    int32_t tenant = (int32_t)(1 + below(pair, 2));
    int64_t from = below(pair, 5), to = from + below(pair, 6), source = below(pair, 3);
    size_t max = (size_t)below(pair, 6);
    BOTH(store_series, STORE_SERIES, .tenant = tenant, .from_ms = from, .to_ms = to, .from_source = source, .max = max)
}

static void step_relay(struct pair *pair, struct store_op *ops[2])
{
    int64_t now = below(pair, 50), source = 1 + below(pair, 3), number = 1 + below(pair, 9);
    BOTH(store_relay, STORE_RELAY, .now_ms = now, .events = {source, number, STR("events")})
}

static void step_events(struct pair *pair, struct store_op *ops[2])
{
    static const struct store_event_place known[] = {{1, 2}, {3, 4}, {9, 1}};
    int64_t skip = below(pair, 4);
    size_t count = (size_t)below(pair, 4), max = (size_t)below(pair, 4);
    bool from_now = below(pair, 3) == 0;
    BOTH(store_events, STORE_EVENTS, .skip = skip, .known = known, .known_count = count, .max = max, .from_now = from_now)
}

// What is common comes more than once.
static void (*const steps_of[])(struct pair *pair, struct store_op *ops[2]) = {
    step_add,    step_add,    step_add,    step_add,    step_add,     step_claim,  step_claim,   step_claim,    step_claim,
    step_change, step_change, step_change, step_change, step_change,  step_join,   step_join,    step_beat,     step_bury,
    step_forget, step_due,    step_due,    step_held,   step_expired, step_lanes,  step_pause,   step_sweep,    step_sweep,
    step_get,    step_get,    step_stats,  step_owners, step_divide,  step_divide, step_request, step_request,  step_requests,
    step_remove, step_remove, step_list,   step_list,   step_list,    step_amend,  step_amend,   step_leases,   step_change,
    step_minute, step_minute, step_series, step_relay,  step_relay,   step_events, step_bulk,    step_bulk,     step_bulks,
    step_ahead,  step_drop,   step_drop,   step_plan,   step_plan,    step_plan,   step_plans,   step_upcoming, step_tzdata,
};

void some_step(struct pair *pair, struct store_op *ret_ops[2])
{
    steps_of[rand_below(&pair->rand, array_count(steps_of))](pair, ret_ops);
}
