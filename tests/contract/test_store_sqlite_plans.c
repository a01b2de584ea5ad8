// What only the SQLite store promises of plans: what is in its tables when a recurring task has gone, and in a copy of them.
#include "sqlite_contract.h"
#include "store/journal.h"
#include "store/plans.h"

#include <stdio.h>
#include <unistd.h>

// A recurring task with tags and no job. Its plan has something in every column.
static struct plan add_recurring(struct world *world)
{
    static const int64_t jobs[] = {1, 2};
    struct sample sample = {.tags = {2, 4, 6}};
    struct store_task task;
    struct job job;
    struct store_new item;
    sample_fill(world, &sample, &task, &job, &item);
    struct plan plan = {.task_id = task.id, .tenant = TENANT, .version = 1, .planned_through = NOW, .check_at = NOW};
    plan.active = plan.queued = jobs;
    plan.active_count = plan.queued_count = array_count(jobs);
    plan.skips = plan.paused_note = plan.paused_by = plan.missing = STR("x");
    task.plan = &plan;
    item.job_count = 0;
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    return plan;
}

// Carries the plan on by so many jobs, which are ready at once.
static void carry_on(struct world *world, struct plan *plan, int64_t through, size_t job_count)
{
    struct job *jobs = world_mem(world, (job_count + 1) * sizeof *jobs);
    struct store_planned item = {.from = plan->planned_through, .plan = plan, .jobs = jobs, .job_count = job_count};
    for (size_t i = 0; i < job_count; i++) {
        jobs[i] =
            (struct job){.id = ++world->last_id, .task_id = plan->task_id, .tenant = TENANT, .token = 1, .state = JOB_READY};
        jobs[i].scheduled_at = jobs[i].due_at = jobs[i].nominal_at = NOW + (int64_t)i;
        jobs[i].trigger = TRIGGER_SCHEDULE;
    }
    plan->planned_through = through;
    struct store_plan *op = OP(world, store_plan, STORE_PLAN);
    op->holder = A;
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    plan->revision++;
}

static void end_job(struct world *world, int64_t id)
{
    struct job job = job_now(world, id);
    job.state = JOB_SUCCESS;
    job.purge_at = NOW;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
}

static void a_recurring_task_leaves_nothing_behind(void **state)
{
    static const char *const tables[] = {"plans", "tasks", "jobs", "tags", "waiting"};
    struct world *world = *state;
    for (int removed = 0; removed < 2; removed++) {
        struct plan plan = add_recurring(world);
        carry_on(world, &plan, removed ? NOW + 1 : TIME_NEVER, 2);
        assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 9);
        end_job(world, world->last_id);
        end_job(world, world->last_id - 1);
        assert_int_equal(sweep(world, NOW, 10), 2);
        if (removed) { // its plan is not over, so it is still there
            assert_int_equal(ask_number(world, "SELECT count(*) FROM tags"), 3);
            struct store_remove *op = OP(world, store_remove, STORE_REMOVE);
            *op = (struct store_remove){.op = op->op, .task_id = plan.task_id, .version = 1, .tenant = TENANT, .max = 10};
            assert_int_equal(call(world, &op->op), ERR_OK);
        }
        for (size_t i = 0; i < array_count(tables); i++) {
            char sql[64];
            snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
            assert_int_equal(ask_number(world, sql), 0);
        }
    }
}

static void a_copy_has_the_plans(void **state)
{
    struct world *world = *state;
    struct plan plan = add_recurring(world);
    carry_on(world, &plan, NOW + 5, 1);
    struct store_backup *op = OP(world, store_backup, STORE_BACKUP);
    assert_int_equal(call(world, &op->op), ERR_OK);
    carry_on(world, &plan, NOW + 9, 1);
    store_close(world->store);
    char command[128];
    snprintf(command, sizeof command, "rm -r data && mkdir -m 700 data && cp /proc/%d/fd/%d data/rota.db", (int)getpid(), op->fd);
    shell(world, command);
    close(op->fd);
    world_open(world);
    struct store_plans *read = OP(world, store_plans, STORE_PLANS);
    read->ids = &plan.task_id;
    read->id_count = 1;
    assert_int_equal(call(world, &read->op), ERR_OK);
    assert_int_equal(read->count, 1);
    assert_int_equal(read->tasks[0].plan->planned_through, NOW + 5);
    assert_true(read->tasks[0].plan->active_count == 2 && str_is(read->tasks[0].plan->skips, "x"));
}

static void a_planned_job_that_is_removed_behind_its_back_is_noted(void **state)
{
    struct world *world = *state;
    struct plan plan = add_recurring(world);
    plan.missing = (struct str){0};
    carry_on(world, &plan, NOW + 5, 3);
    int64_t last = world->last_id;
    char sql[200];
    end_job(world, last);
    snprintf(sql, sizeof sql, "DELETE FROM jobs WHERE id IN (%lld, %lld)", (long long)last, (long long)last - 1);
    execute(world, sql);
    struct store_plans *read = OP(world, store_plans, STORE_PLANS);
    *read = (struct store_plans){.op = read->op, .now_ms = 0, .max = 5};
    assert_int_equal(call(world, &read->op), ERR_OK);
    assert_int_equal(read->count, 1);
    snprintf(sql, sizeof sql, "%lld %lld;", (long long)last - 1, (long long)NOW + 1);
    assert_true(str_is(read->tasks[0].plan->missing, sql));
    assert_int_equal(read->tasks[0].plan->revision, plan.revision + 2); // the end of a job, and the removal
}

int contract_sqlite_plans(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_recurring_task_leaves_nothing_behind),
        PROMISE(a_copy_has_the_plans),
        PROMISE(a_planned_job_that_is_removed_behind_its_back_is_noted),
    };
    return cmocka_run_group_tests_name("store sqlite: plans", tests, NULL, NULL);
}
