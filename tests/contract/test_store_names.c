// What store/plans.h promises of names that plans reserve: a name leads to one task of a tenant, whoever adds it when.
#include "plans_support.h"

static struct plan plan_named(const char *name)
{
    struct plan plan = plan_new();
    plan.reserved = str_of(name);
    return plan;
}

static struct store_new *try_named(struct world *world, int32_t tenant, const char *name)
{
    struct store_new *item = try_add_recurring(world, (struct sample){.tenant = tenant}, plan_named(name), AHEAD);
    assert_int_equal(item->err, ERR_OK);
    return item;
}

static int64_t add_named(struct world *world, const char *name)
{
    struct store_new *item = try_named(world, 0, name);
    assert_int_equal(item->existing_id, 0);
    return item->task->id;
}

// The task that a name leads to; 0: none.
static int64_t by_name(struct world *world, int32_t tenant, const char *name)
{
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = tenant;
    get->reserved = str_of(name);
    get->max_jobs = 10;
    call(world, &get->op);
    assert_true(get->op.err == ERR_OK || get->op.err == ERR_NOT_FOUND);
    if (get->op.err)
        return 0;
    assert_true(str_is(get->task.plan->reserved, name));
    assert_int_equal(get->job_count, AHEAD);
    return get->task.id;
}

// Its schedule has ended: no instant follows.
static void end_plan(struct world *world, int64_t id)
{
    struct plan plan = plan_now(world, id);
    plan.planned_through = plan.check_at = TIME_NEVER;
    assert_int_equal(call(world, &amend_with(world, plan)->op), ERR_OK);
}

static void end_jobs(struct world *world, int64_t id)
{
    for (int i = 0; i < AHEAD; i++)
        assert_int_equal(end_job(world, job_of(world, id, NOW + i * MINUTE), JOB_SUCCESS, NOW), ERR_OK);
}

static void a_name_leads_to_its_task(void **state)
{
    struct world *world = *state;
    add_usual(world);
    int64_t nightly = add_named(world, "night/ly"), hourly = add_named(world, "hourly");
    assert_int_equal(by_name(world, TENANT, "night/ly"), nightly);
    assert_int_equal(by_name(world, TENANT, "hourly"), hourly);
    assert_int_equal(by_name(world, TENANT, "hour"), 0);
    assert_int_equal(by_name(world, 8, "hourly"), 0);
}

static void a_name_that_is_taken_adds_nothing_and_tells_whose_it_is(void **state)
{
    struct world *world = *state;
    int64_t first = add_named(world, "nightly");
    struct store_new *second = try_named(world, 0, "nightly");
    assert_int_equal(second->existing_id, first);
    assert_int_equal(get_task(world, second->task->id)->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_job(world, second->jobs[0].id)->op.err, ERR_NOT_FOUND);
    assert_int_equal(list(world, (struct store_list){0})->task_count, 1);
    assert_int_equal(by_name(world, TENANT, "nightly"), first);
}

static void each_tenant_has_names_of_its_own(void **state)
{
    struct world *world = *state;
    int64_t own = add_named(world, "nightly");
    struct store_new *other = try_named(world, 8, "nightly");
    assert_int_equal(other->existing_id, 0);
    assert_int_equal(by_name(world, TENANT, "nightly"), own);
    assert_int_equal(by_name(world, 8, "nightly"), other->task->id);
}

static void of_two_items_with_one_name_the_second_finds_the_first(void **state)
{
    struct world *world = *state;
    struct store_add *op = OP(world, store_add, STORE_ADD);
    struct store_task tasks[2];
    struct job firsts[2];
    struct store_new items[2];
    struct sample sample = {0};
    struct plan plan = plan_named("twin");
    for (int i = 0; i < 2; i++) {
        sample_fill(world, &sample, &tasks[i], &firsts[i], &items[i]);
        tasks[i].plan = &plan;
        items[i].job_count = 0;
    }
    op->now_ms = NOW;
    op->items = items;
    op->count = 2;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_true(!items[0].err && !items[1].err);
    assert_int_equal(items[0].existing_id, 0);
    assert_int_equal(items[1].existing_id, tasks[0].id);
}

static void a_change_leaves_the_name_where_it_is(void **state)
{
    struct world *world = *state;
    int64_t id = add_named(world, "nightly"), other = add_usual(world);
    struct plan plan = plan_now(world, id), foreign = plan_now(world, other);
    plan.reserved = STR("");
    assert_int_equal(call(world, &amend_with(world, plan)->op), ERR_OK);
    assert_int_equal(submit_plan(world, (struct store_planned){.from = plan.planned_through,
                                                               .plan = &(struct plan){.task_id = id,
                                                                                      .version = 2,
                                                                                      .revision = plan.revision + 1,
                                                                                      .planned_through = plan.planned_through,
                                                                                      .check_at = plan.check_at}}),
                     ERR_OK);
    assert_int_equal(by_name(world, TENANT, "nightly"), id);
    foreign.reserved = STR("nightly"); // only an ADD reserves
    assert_int_equal(call(world, &amend_with(world, foreign)->op), ERR_OK);
    assert_int_equal(by_name(world, TENANT, "nightly"), id);
    assert_int_equal(plan_now(world, other).reserved.n, 0);
}

static void a_name_is_free_when_its_task_is_gone(void **state)
{
    struct world *world = *state;
    int64_t removed = add_named(world, "nightly");
    end_jobs(world, removed);
    assert_int_equal(remove_task(world, removed, true), ERR_OK);
    assert_int_equal(by_name(world, TENANT, "nightly"), 0);
    int64_t swept = add_named(world, "nightly");
    for (int i = 0; i < AHEAD; i++) {
        struct job job = job_now(world, job_of(world, swept, NOW + i * MINUTE));
        job.state = JOB_SUCCESS;
        job.completed_at = NOW;
        job.purge_at = NOW + 1;
        job.token++;
        assert_int_equal(change(world, job.token - 1, job, NULL), ERR_OK);
    }
    end_plan(world, swept);
    assert_int_equal(sweep(world, NOW + 1, 10), AHEAD);
    assert_int_equal(by_name(world, TENANT, "nightly"), 0);
    assert_int_equal(get_task(world, swept)->op.err, ERR_NOT_FOUND);
    add_named(world, "nightly");
}

static void the_name_of_a_task_whose_schedule_has_ended_is_taken_over(void **state)
{
    struct world *world = *state;
    int64_t old = add_named(world, "nightly"), other = add_named(world, "hourly");
    end_plan(world, old);
    assert_int_equal(by_name(world, TENANT, "nightly"), old); // until somebody wants it
    int64_t new = add_named(world, "nightly");
    assert_int_equal(by_name(world, TENANT, "nightly"), new);
    assert_int_equal(by_name(world, TENANT, "hourly"), other);
    assert_int_equal(plan_now(world, old).reserved.n, 0);
    struct plan stale = plan_now(world, old);
    stale.reserved = STR("nightly"); // as whoever read it before would give it
    assert_int_equal(call(world, &amend_with(world, stale)->op), ERR_OK);
    assert_int_equal(by_name(world, TENANT, "nightly"), new);
    assert_int_equal(try_named(world, 0, "nightly")->existing_id, new);
}

// What is refused for another reason than its name leaves the name to the task that has it.
static void an_item_that_is_refused_takes_no_name_over(void **state)
{
    struct world *world = *state;
    int64_t old = add_named(world, "nightly"), other = add_usual(world);
    struct sample sample = {0};
    struct plan plan = plan_named("nightly");
    struct job jobs[2];
    struct store_task task;
    struct store_new item;
    struct store_add *op = OP(world, store_add, STORE_ADD);
    end_plan(world, old);
    sample_fill(world, &sample, &task, &jobs[0], &item);
    task.plan = &plan;
    item.jobs = jobs;
    item.job_count = 2;
    jobs[0] = job_at(world, task.id, NOW);
    jobs[1] = jobs[0];
    jobs[1].id = job_of(world, other, NOW);
    op->now_ms = NOW;
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_INTERNAL);
    assert_int_equal(by_name(world, TENANT, "nightly"), old);
    jobs[1].id = jobs[0].id;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_INTERNAL);
    assert_int_equal(by_name(world, TENANT, "nightly"), old);
    item.job_count = 1;
    task.id = jobs[0].task_id = other;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_INTERNAL);
    assert_int_equal(by_name(world, TENANT, "nightly"), old);
}

static void an_addition_that_is_fenced_takes_no_name_over(void **state)
{
    struct world *world = *state;
    int64_t old = add_named(world, "nightly");
    struct sample sample = {0};
    struct plan plan = plan_named("nightly");
    struct job job;
    struct store_task task;
    struct store_new item;
    struct store_add *op = OP(world, store_add, STORE_ADD);
    end_plan(world, old);
    sample_fill(world, &sample, &task, &job, &item);
    task.plan = &plan;
    item.job_count = 0;
    op->holder = 99; // nobody knows it
    op->now_ms = NOW;
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_FENCED);
    assert_int_equal(by_name(world, TENANT, "nightly"), old);
}

int contract_names(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_name_leads_to_its_task),
        PROMISE(a_name_that_is_taken_adds_nothing_and_tells_whose_it_is),
        PROMISE(each_tenant_has_names_of_its_own),
        PROMISE(of_two_items_with_one_name_the_second_finds_the_first),
        PROMISE(a_change_leaves_the_name_where_it_is),
        PROMISE(a_name_is_free_when_its_task_is_gone),
        PROMISE(the_name_of_a_task_whose_schedule_has_ended_is_taken_over),
        PROMISE(an_item_that_is_refused_takes_no_name_over),
        PROMISE(an_addition_that_is_fenced_takes_no_name_over),
    };
    return cmocka_run_group_tests_name("store names", tests, NULL, NULL);
}
