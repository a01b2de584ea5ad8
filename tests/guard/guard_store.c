// What SQLite is asked for the tasks of a whole life: added while they wait, claimed, ended; and added in hand and ended, as the
// push path does. And for jobs of recurring tasks: planned without reading the plan, and ended, which counts in the plan.
#include "base/mem.h"
#include "guard.h"
#include "store/jobs.h"
#include "store/lives.h"
#include "store/plans.h"

#include <stdio.h>

enum { TASKS = 2000, BATCH = 500, LIFE = 77 };

static const int64_t NOW_MS = 1800000000000;

struct bench {
    struct store *store;
    int64_t last_id, lane;
    struct job jobs[TASKS];
};

static void call(struct bench *bench, struct store_op *op)
{
    store_call(bench->store, op);
    if (op->err)
        guard_die("store", op->why);
}

static void join(struct bench *bench)
{
    struct store_join join = {.incarnation = LIFE, .now_ms = NOW_MS};
    store_op_init(&join.op, STORE_JOIN, NULL);
    call(bench, &join.op);
    store_op_done(&join.op);
}

static void add(struct bench *bench, struct job *jobs, bool held)
{
    static char doc[] = "{\"url\":\"http://127.0.0.1:8080/hook\",\"headers\":{\"content-type\":\"application/json\"},"
                        "\"body\":{\"order\":123456,\"who\":\"somebody\",\"note\":\"a usual body of a usual task\"}}";
    struct store_add add = {.now_ms = NOW_MS, .holder = held ? LIFE : 0, .count = BATCH};
    store_op_init(&add.op, STORE_ADD, NULL);
    struct store_task *tasks = arena_array(&add.op.arena, struct store_task, BATCH);
    add.items = arena_array(&add.op.arena, struct store_new, BATCH);
    for (size_t i = 0; i < BATCH; i++) {
        int64_t id = bench->last_id += 512;
        jobs[i] = (struct job){.id = id,
                               .task_id = id,
                               .tenant = 1,
                               .token = 1,
                               .priority = 5,
                               .scheduled_at = NOW_MS,
                               .ready_at = NOW_MS,
                               .due_at = NOW_MS,
                               .state = held ? JOB_WATCHING : JOB_READY,
                               .holder = held ? LIFE : 0,
                               .picked_at = held ? NOW_MS : 0};
        tasks[i] = (struct store_task){
            .id = id, .tenant = 1, .created_at = NOW_MS, .dispatch = TARGET_CALLED, .queue = STR("default"), .doc = str_of(doc)};
        add.items[i] = (struct store_new){.task = &tasks[i], .jobs = &jobs[i], .job_count = 1};
    }
    call(bench, &add.op);
    bench->lane = jobs[0].lane;
    store_op_done(&add.op);
}

static void claim(struct bench *bench, struct job *ret_jobs)
{
    struct store_want want = {.lane = bench->lane, .max = BATCH};
    struct store_claim claim = {.holder = LIFE, .now_ms = NOW_MS, .until_ms = NOW_MS, .wants = &want, .want_count = 1};
    store_op_init(&claim.op, STORE_CLAIM, NULL);
    call(bench, &claim.op);
    if (claim.job_count != BATCH)
        guard_die("store", "a claim found less than is there");
    for (size_t i = 0; i < BATCH; i++)
        ret_jobs[i] = claim.jobs[i].job;
    store_op_done(&claim.op);
}

static void end(struct bench *bench, struct job *jobs)
{
    struct job_policy policy = {.ttl_ms = 7 * 86400000ll, .sla_ms = 30000};
    struct job_result result = {
        .outcome = OUTCOME_SUCCESS, .status = 200, .response = STR("{\"ok\":true}"), .completed_at = NOW_MS + 20};
    struct store_change change = {.count = BATCH};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    change.steps = arena_array(&change.op.arena, struct store_step, BATCH);
    for (size_t i = 0; i < BATCH; i++) {
        struct job_step step;
        change.steps[i] = (struct store_step){.token = jobs[i].token, .job = &jobs[i]};
        if (job_start(&jobs[i], &policy, NOW_MS + 10) || job_finish(&jobs[i], &policy, &result, 0, &step))
            guard_die("store", "a job does not end");
    }
    call(bench, &change.op);
    for (size_t i = 0; i < BATCH; i++)
        if (change.steps[i].err)
            guard_die("store", err_info(change.steps[i].err)->code);
    store_op_done(&change.op);
}

// ---- recurring tasks

static const int64_t STEP_MS = 60000;

static struct job planned_job(struct bench *bench, int64_t task_id, int64_t nominal_at)
{
    return (struct job){.id = bench->last_id += 512,
                        .task_id = task_id,
                        .tenant = 1,
                        .token = 1,
                        .priority = 5,
                        .trigger = TRIGGER_SCHEDULE,
                        .nominal_at = nominal_at,
                        .scheduled_at = NOW_MS,
                        .ready_at = NOW_MS,
                        .due_at = NOW_MS,
                        .state = JOB_READY};
}

// A batch of tasks that are planned up to NOW_MS and have no job yet. Returns the id of the first; the others follow.
static int64_t add_recurring(struct bench *bench)
{
    int64_t first = bench->last_id + 512;
    struct plan plan = {.planned_through = NOW_MS, .check_at = NOW_MS + 4 * STEP_MS};
    struct store_add add = {.now_ms = NOW_MS, .count = BATCH};
    store_op_init(&add.op, STORE_ADD, NULL);
    struct store_task *tasks = arena_array(&add.op.arena, struct store_task, BATCH);
    add.items = arena_array(&add.op.arena, struct store_new, BATCH);
    for (size_t i = 0; i < BATCH; i++) {
        tasks[i] = (struct store_task){.id = bench->last_id += 512,
                                       .tenant = 1,
                                       .created_at = NOW_MS,
                                       .dispatch = TARGET_CALLED,
                                       .queue = STR("default"),
                                       .doc = STR("{\"url\":\"http://127.0.0.1:8080/hook\",\"every\":\"1m\"}"),
                                       .plan = &plan};
        add.items[i] = (struct store_new){.task = &tasks[i]};
    }
    call(bench, &add.op);
    store_op_done(&add.op);
    return first;
}

// Each of them gets its next job.
static void plan_next(struct bench *bench, int64_t first_task, int64_t from)
{
    struct store_plan plan = {.holder = LIFE, .now_ms = NOW_MS, .count = BATCH};
    store_op_init(&plan.op, STORE_PLAN, NULL);
    struct plan *plans = arena_array(&plan.op.arena, struct plan, BATCH);
    struct job *jobs = arena_array(&plan.op.arena, struct job, BATCH);
    plan.items = arena_array(&plan.op.arena, struct store_planned, BATCH);
    for (int64_t i = 0; i < BATCH; i++) {
        int64_t task_id = first_task + i * 512, at = from + STEP_MS;
        jobs[i] = planned_job(bench, task_id, at);
        plans[i] = (struct plan){
            .task_id = task_id, .tenant = 1, .version = 1, .planned_through = at, .instants = 1, .check_at = at + 4 * STEP_MS};
        plan.items[i] = (struct store_planned){
            .from = from, .unread = true, .check_before = at, .plan = &plans[i], .jobs = &jobs[i], .job_count = 1};
    }
    call(bench, &plan.op);
    for (size_t i = 0; i < BATCH; i++)
        if (plan.items[i].err)
            guard_die("store", err_info(plan.items[i].err)->code);
    store_op_done(&plan.op);
}

static void guard_recurring(struct bench *bench)
{
    int64_t first = add_recurring(bench);
    plan_next(bench, first, NOW_MS);
    claim(bench, bench->jobs);
    end(bench, bench->jobs);

    part_begin();
    for (int64_t i = 1; i <= TASKS / BATCH; i++)
        plan_next(bench, first, NOW_MS + i * STEP_MS);
    part_end("plan", TASKS);
    for (size_t i = 0; i < TASKS; i += BATCH)
        claim(bench, &bench->jobs[i]);

    part_begin();
    for (size_t i = 0; i < TASKS; i += BATCH)
        end(bench, &bench->jobs[i]);
    part_end("count", TASKS);
}

void guard_store(const char *folder)
{
    static struct bench bench = {.last_id = 1LL << 60};
    char url[300], why[ERR_WHY_MAX] = "";
    snprintf(url, sizeof url, "sqlite:%s", folder);
    if (store_open(&bench.store, url, why))
        guard_die(url, why);
    join(&bench);
    add(&bench, bench.jobs, true); // what happens only once, as preparing statements, is not counted
    end(&bench, bench.jobs);

    part_begin();
    for (size_t i = 0; i < TASKS; i += BATCH)
        add(&bench, &bench.jobs[i], false);
    part_end("add", TASKS);

    part_begin();
    for (size_t i = 0; i < TASKS; i += BATCH)
        claim(&bench, &bench.jobs[i]);
    part_end("claim", TASKS);

    part_begin();
    for (size_t i = 0; i < TASKS; i += BATCH)
        end(&bench, &bench.jobs[i]);
    part_end("end", TASKS);

    part_begin();
    for (size_t i = 0; i < TASKS; i += BATCH) {
        add(&bench, &bench.jobs[i], true);
        end(&bench, &bench.jobs[i]);
    }
    part_end("push", TASKS);
    guard_recurring(&bench);
    store_close(bench.store);
}
