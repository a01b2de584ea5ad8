// What store/plans.h promises of recurring tasks: one instant is never planned twice, and what became of jobs is counted once.
// A plan is given here as it is to be stored; what would be decided about it is the business of core/schedule/plan.
#include "plans_support.h"

// ---- as it was given

static void a_plan_is_read_with_its_task_as_it_was_given(void **state)
{
    struct world *world = *state;
    int64_t plain = add(world, (struct sample){0});
    struct plan full = plan_full(), bare = {.planned_through = TIME_NEVER, .check_at = TIME_NEVER};
    full.task_id = add_recurring(world, full, AHEAD);
    bare.task_id = add_recurring(world, bare, 1);
    full.tenant = bare.tenant = TENANT;
    full.version = bare.version = 1; // the task's
    for (int again = 0; again < 2; again++) {
        assert_null(get_task(world, plain)->task.plan);
        assert_same_plan(get_task(world, full.task_id)->task.plan, &full);
        assert_same_plan(get_task(world, bare.task_id)->task.plan, &bare);
        assert_same_plan(get_job(world, job_of(world, full.task_id, NOW))->task.plan, &full);
        struct store_list *page = list(world, (struct store_list){0});
        assert_int_equal(page->task_count, 3);
        assert_same_plan(page->tasks[0].plan, &bare);
        assert_same_plan(page->tasks[1].plan, &full);
        assert_null(page->tasks[2].plan);
        int64_t ids[] = {full.task_id};
        assert_same_plan(read_plans(world, ids, 1, 0, 0)->tasks[0].plan, &full);
        if (strcmp(scheme, "memory") != 0) // which forgets
            world_reopen(world);
    }
}

static void a_task_with_a_plan_may_have_no_job(void **state)
{
    struct world *world = *state;
    int64_t none = add_recurring(world, plan_new(), 0), two = add_usual(world);
    assert_int_equal(get_task(world, none)->job_count, 0);
    assert_int_equal(get_task(world, two)->job_count, 2);
    assert_int_equal(get_job(world, none)->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_job(world, two)->op.err, ERR_NOT_FOUND); // none of them has the id of the task
    assert_int_equal(submit_plan(world, next_of(world, plan_now(world, none), false)), ERR_OK);
    assert_int_equal(get_task(world, none)->job_count, 1);
}

static void a_task_whose_ids_are_taken_leaves_no_plan(void **state)
{
    struct world *world = *state;
    int64_t taken = add(world, (struct sample){0});
    world->last_id = taken - 2; // the job gets the id that is taken
    struct store_new *item = try_add_recurring(world, (struct sample){0}, plan_new(), 1);
    assert_int_equal(item->err, ERR_INTERNAL);
    assert_int_equal(get_task(world, item->task->id)->op.err, ERR_NOT_FOUND);
    assert_int_equal(read_plans(world, NULL, 0, TIME_NEVER, 10)->count, 0);
}

static void another_tenants_plan_is_not_read(void **state)
{
    struct world *world = *state;
    struct store_new *item = try_add_recurring(world, (struct sample){.tenant = 8}, plan_new(), 1);
    assert_int_equal(item->err, ERR_OK);
    assert_int_equal(get_task(world, item->task->id)->op.err, ERR_NOT_FOUND);
    assert_null(get_task(world, item->task->id)->task.plan);
    assert_int_equal(list(world, (struct store_list){0})->task_count, 0);
    struct store_list *own = list(world, (struct store_list){.tenant = 8});
    assert_int_equal(own->tasks[0].plan->tenant, 8);
}

static void a_job_keeps_what_made_it(void **state)
{
    struct world *world = *state;
    for (int trigger = 0; trigger < TRIGGER_COUNT; trigger++) {
        int64_t id = add(world, (struct sample){.queue = "made", .due_at = NOW - 10 + trigger});
        struct store_add *op = OP(world, store_add, STORE_ADD);
        struct job job = job_at(world, id, NOW - 10 + trigger);
        job.trigger = (uint8_t)trigger;
        struct store_new item = {.jobs = &job, .job_count = 1};
        op->items = &item;
        op->count = 1;
        assert_int_equal(call(world, &op->op), ERR_OK);
        assert_int_equal(item.err, ERR_OK);
        assert_int_equal(job_now(world, id).trigger, TRIGGER_SUBMIT);
        assert_int_equal(job_now(world, job.id).trigger, trigger);
        struct store_claim *taken = claim(world, A, NOW, job_now(world, id).lane, 2);
        assert_int_equal(taken->job_count, 2);
        assert_int_equal(taken->jobs[1].job.trigger, trigger);
        job = taken->jobs[1].job;
        assert_int_equal(job_release(&job, NOW + MINUTE, NOW), ERR_OK);
        assert_int_equal(change(world, taken->jobs[1].job.token, job, NULL), ERR_OK);
        assert_int_equal(job_now(world, job.id).trigger, trigger);
        struct store_list *page = list(world, (struct store_list){.jobs = true, .task_id = id});
        assert_int_equal(page->found[0].trigger, trigger);
    }
}

// ---- jobs that a plan adds

static void jobs_that_a_plan_adds_are_like_others(void **state)
{
    struct world *world = *state;
    struct store_new *item = try_add_recurring(world, (struct sample){.queue = "r", .tags = {6, 8}}, plan_new(), 1);
    for (int unread = 0; unread < 2; unread++) {
        struct store_planned next = next_of(world, plan_now(world, item->task->id), unread);
        next.jobs[0].due_at = next.jobs[0].ready_at = NOW;
        next.jobs[0].state = JOB_READY;
        assert_int_equal(submit_plan(world, next), ERR_OK);
        int64_t id = next.jobs[0].id, lane = lane_of(world, TENANT, "r");
        assert_int_equal(job_now(world, id).lane, lane);
        struct store_list wants[] = {{.jobs = true, .task_id = item->task->id},
                                     {.jobs = true, .tags = {8}, .tag_count = 1},
                                     {.jobs = true, .states = 1u << JOB_READY},
                                     {.jobs = true, .queue = STR("r")}};
        for (size_t i = 0; i < array_count(wants); i++) {
            struct store_list *page = list(world, wants[i]);
            assert_int_equal(page->found_count, 2 + unread);
            assert_int_equal(page->found[0].id, id);
        }
        assert_stats(world, TENANT, (int64_t[JOB_STATE_COUNT]){[JOB_READY] = 2 + unread});
        struct store_lanes *lanes = OP(world, store_lanes, STORE_LANES);
        *lanes = (struct store_lanes){.op = lanes->op, .tenant = TENANT, .max = 10, .counts = true};
        assert_int_equal(call(world, &lanes->op), ERR_OK);
        assert_int_equal(lanes->lanes[0].counts[JOB_READY], 2 + unread);
    }
    assert_int_equal(claim(world, A, NOW, lane_of(world, TENANT, "r"), 10)->job_count, 3);
}

static void a_job_comes_with_the_version_of_its_document(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.expires_at = NOW + 5000});
    struct store_amend *amend = make_amend(world, id);
    assert_int_equal(call(world, &amend->op), ERR_OK);
    struct store_find *expired = OP(world, store_find, STORE_FIND);
    *expired = (struct store_find){.op = expired->op, .what = STORE_FIND_EXPIRED, .now_ms = NOW + 5000, .max = 10};
    assert_int_equal(call(world, &expired->op), ERR_OK);
    assert_true(expired->job_count == 1 && expired->jobs[0].version == 2);
    struct store_claim *taken = claim(world, A, NOW + MINUTE, job_now(world, id).lane, 10);
    assert_true(taken->job_count == 1 && taken->jobs[0].version == 2);
    assert_int_equal(held_by(world, A)->jobs[0].version, 2);
    struct job leased = taken->jobs[0].job;
    leased.state = JOB_RESERVED;
    leased.lease_until = NOW + 1;
    assert_int_equal(change(world, leased.token, leased, NULL), ERR_OK);
    struct store_find *leases = OP(world, store_find, STORE_FIND);
    *leases = (struct store_find){.op = leases->op, .what = STORE_FIND_LEASES, .now_ms = NOW + 1, .max = 10};
    assert_int_equal(call(world, &leases->op), ERR_OK);
    assert_true(leases->job_count == 1 && leases->jobs[0].version == 2);
}

// ---- one instant is never planned twice

static void of_two_that_plan_from_one_read_one_does(void **state)
{
    struct world *world = *state;
    for (int kind = 0; kind < 4; kind++) {
        struct plan was = plan_now(world, add_usual(world));
        struct store_planned first = next_of(world, was, kind & 1), second = next_of(world, was, kind & 2);
        assert_int_equal(submit_plan(world, first), ERR_OK);
        assert_int_equal(submit_plan(world, second), ERR_MOVED_ON);
        assert_int_equal(job_of(world, was.task_id, was.planned_through + MINUTE), first.jobs[0].id);
        assert_int_equal(get_job(world, second.jobs[0].id)->op.err, ERR_NOT_FOUND);
        struct plan is = plan_now(world, was.task_id);
        assert_int_equal(is.planned_through, was.planned_through + MINUTE);
        assert_int_equal(is.revision, was.revision + 1);
    }
}

static void a_plan_is_refused_behind_a_change_of_its_task(void **state)
{
    struct world *world = *state;
    for (int unread = 0; unread < 2; unread++) {
        struct plan was = plan_now(world, add_usual(world));
        assert_int_equal(call(world, &amend_with(world, was)->op), ERR_OK);
        struct plan is = plan_now(world, was.task_id);
        assert_true(is.version == 2 && is.revision == was.revision + 1);
        assert_int_equal(submit_plan(world, next_of(world, was, unread)), ERR_MOVED_ON);
        was.revision = is.revision; // the version alone tells, too
        assert_int_equal(submit_plan(world, next_of(world, was, unread)), ERR_MOVED_ON);
        assert_int_equal(get_task(world, was.task_id)->job_count, AHEAD);
        assert_int_equal(submit_plan(world, next_of(world, is, unread)), ERR_OK);
    }
}

static void a_change_of_a_task_is_refused_behind_its_plan(void **state)
{
    struct world *world = *state;
    for (int unread = 0; unread < 2; unread++) {
        struct plan was = plan_now(world, add_usual(world));
        struct store_amend *amend = amend_with(world, was);
        struct job job = job_at(world, was.task_id, was.planned_through + MINUTE);
        amend->jobs = &job;
        amend->job_count = 1;
        amend->task.doc = STR("{}");
        assert_int_equal(submit_plan(world, next_of(world, was, unread)), ERR_OK);
        assert_int_equal(call(world, &amend->op), ERR_MOVED_ON);
        struct store_get *get = get_task(world, was.task_id);
        assert_true(get->task.version == 1 && !str_is(get->task.doc, "{}") && get->job_count == AHEAD + 1);
        assert_int_equal(get->task.plan->planned_through, was.planned_through + MINUTE);
        assert_int_equal(get_job(world, job.id)->op.err, ERR_NOT_FOUND);
    }
}

static void a_plan_with_a_missing_job_must_be_read(void **state)
{
    struct world *world = *state;
    struct plan plan = plan_new();
    plan.missing = STR("1 2;");
    struct plan was = plan_now(world, add_recurring(world, plan, AHEAD));
    assert_int_equal(submit_plan(world, next_of(world, was, true)), ERR_MOVED_ON);
    was.missing = (struct str){0};
    assert_int_equal(submit_plan(world, next_of(world, was, false)), ERR_OK);
    assert_int_equal(submit_plan(world, next_of(world, plan_now(world, was.task_id), true)), ERR_OK);
}

// A caller that has not read the plan does not depend on what was counted.
static void a_plan_that_was_read_is_refused_behind_the_end_of_a_job(void **state)
{
    struct world *world = *state;
    struct plan was = plan_now(world, add_usual(world));
    assert_int_equal(end_job(world, job_of(world, was.task_id, NOW), JOB_SUCCESS, NOW), ERR_OK);
    assert_int_equal(submit_plan(world, next_of(world, was, false)), ERR_MOVED_ON);
    assert_int_equal(call(world, &amend_with(world, was)->op), ERR_MOVED_ON);
    assert_int_equal(submit_plan(world, next_of(world, was, true)), ERR_OK);
    struct plan is = plan_now(world, was.task_id);
    assert_true(is.success == 1 && is.revision == was.revision + 2 && is.planned_through == was.planned_through + MINUTE);
}

static void a_plan_of_what_was_removed_is_not_found(void **state)
{
    struct world *world = *state;
    for (int unread = 0; unread < 2; unread++) {
        struct plan was = plan_now(world, add_recurring(world, plan_new(), 1));
        struct store_planned late = next_of(world, was, unread);
        assert_int_equal(remove_task(world, was.task_id, false), ERR_MOVED_ON); // its job has not begun
        assert_int_equal(end_job(world, job_of(world, was.task_id, NOW), JOB_SUCCESS, NOW), ERR_OK);
        assert_int_equal(remove_task(world, was.task_id, false), ERR_OK);
        assert_int_equal(submit_plan(world, late), ERR_NOT_FOUND);
        assert_int_equal(get_job(world, late.jobs[0].id)->op.err, ERR_NOT_FOUND);
        assert_int_equal(submit_plan(world, next_of(world, (struct plan){.task_id = 404, .version = 1}, unread)), ERR_NOT_FOUND);
    }
    int64_t plain = add(world, (struct sample){0});
    assert_int_equal(submit_plan(world, next_of(world, (struct plan){.task_id = plain, .version = 1}, false)), ERR_NOT_FOUND);
}

static void a_task_is_not_removed_behind_its_plan(void **state)
{
    struct world *world = *state;
    struct plan was = plan_now(world, add_recurring(world, plan_new(), 0));
    assert_int_equal(submit_plan(world, next_of(world, was, true)), ERR_OK);
    assert_int_equal(remove_task(world, was.task_id, false), ERR_MOVED_ON);
    assert_int_equal(get_task(world, was.task_id)->job_count, 1);
}

// ---- what is written

static void a_plan_that_was_read_is_written_but_for_what_is_counted(void **state)
{
    struct world *world = *state;
    struct plan was = plan_now(world, add_recurring(world, plan_full(), AHEAD)), empty = plan_new(), as = plan_full();
    struct plan turns[] = {empty, as};
    for (size_t i = 0; i < array_count(turns); i++) {
        struct plan plan = turns[i], expected = turns[i];
        plan.task_id = was.task_id;
        plan.version = was.version;
        plan.revision = was.revision + (int64_t)i;
        plan.check_at = NOW + (int64_t)i;
        plan.success = plan.failed = plan.cancelled = plan.failures_in_row = plan.last_at = 99;
        struct store_planned item = {.from = was.planned_through, .plan = &plan}; // it may add no job
        assert_int_equal(submit_plan(world, item), ERR_OK);
        expected.task_id = was.task_id;
        expected.tenant = TENANT;
        expected.version = 1;
        expected.revision = plan.revision + 1;
        expected.check_at = plan.check_at;
        expected.success = was.success;
        expected.failed = was.failed;
        expected.cancelled = was.cancelled;
        expected.failures_in_row = was.failures_in_row;
        expected.last_at = was.last_at;
        struct plan is = plan_now(world, was.task_id);
        assert_same_plan(&is, &expected);
    }
}

static void of_a_plan_that_was_not_read_only_its_times_are_written(void **state)
{
    struct world *world = *state;
    struct plan full = plan_full();
    full.missing = (struct str){0};
    struct plan was = plan_now(world, add_recurring(world, full, AHEAD)), expected = was;
    const struct plan given = {.task_id = was.task_id, .version = 1, .check_at = was.check_at + 5};
    for (int i = 0; i < 3; i++) {
        struct plan plan = given;
        plan.planned_through = expected.planned_through + MINUTE;
        plan.revision = 99;
        plan.check_at += i;
        struct store_planned item = {.from = expected.planned_through, .unread = true, .plan = &plan};
        item.check_before = expected.check_at + (i != 1); // the second time the stored one is not smaller
        assert_int_equal(submit_plan(world, item), ERR_OK);
        expected.planned_through = plan.planned_through;
        expected.revision++;
        expected.check_at = i == 1 ? expected.check_at : plan.check_at;
        struct plan is = plan_now(world, was.task_id);
        assert_same_plan(&is, &expected);
    }
}

static void nothing_is_written_with_an_id_that_is_taken(void **state)
{
    struct world *world = *state;
    int64_t taken = add(world, (struct sample){0});
    for (int unread = 0; unread < 2; unread++) {
        struct plan was = plan_now(world, add_usual(world));
        struct store_planned next = next_of(world, was, unread);
        struct job jobs[] = {next.jobs[0], job_at(world, was.task_id, NOW + 9 * MINUTE), next.jobs[0]};
        jobs[2].id = taken;
        next.jobs = &jobs[2];
        assert_int_equal(submit_plan(world, next), ERR_INTERNAL);
        next.jobs = jobs;
        next.job_count = 3;
        assert_int_equal(submit_plan(world, next), ERR_INTERNAL);
        jobs[2].id = jobs[0].id; // among themselves, too
        assert_int_equal(submit_plan(world, next), ERR_INTERNAL);
        struct plan is = plan_now(world, was.task_id);
        assert_same_plan(&is, &was);
        assert_int_equal(get_task(world, was.task_id)->job_count, AHEAD);
        assert_int_equal(job_now(world, taken).task_id, taken);
        next.job_count = 2;
        assert_int_equal(submit_plan(world, next), ERR_OK);
        assert_int_equal(get_task(world, was.task_id)->job_count, AHEAD + 2);
    }
    assert_stats(world, TENANT, (int64_t[JOB_STATE_COUNT]){[JOB_READY] = 3, [JOB_DELAYED] = 6});
}

// More than go into one statement, with some of each kind of failure in between.
static void of_many_items_each_succeeds_or_fails_by_itself(void **state)
{
    enum { MANY = 150, KINDS = 10 };
    static const enum err errs[KINDS] = {[3] = ERR_MOVED_ON, [5] = ERR_INTERNAL, [7] = ERR_NOT_FOUND};
    struct world *world = *state;
    struct store_planned *items = world_mem(world, MANY * sizeof *items);
    struct plan *plans = world_mem(world, MANY * sizeof *plans);
    for (int i = 0; i < MANY; i++) {
        struct plan was = plan_now(world, add_recurring(world, plan_new(), 0));
        items[i] = next_of(world, was, i % 4 > 0);
        items[i].from -= i % KINDS == 3;
        if (i % KINDS == 5)
            items[i].jobs[0].id = items[i - 1].jobs[0].id;
        plans[i] = *items[i].plan;
        plans[i].task_id += i % KINDS == 7 ? 1000000 : 0;
        items[i].plan = &plans[i];
    }
    struct store_plan *op = submit_plans(world, items, MANY);
    assert_int_equal(op->op.err, ERR_OK);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(op->items[i].err, errs[i % KINDS]);
        struct store_get *get = get_task(world, items[i].jobs[0].task_id);
        assert_int_equal(get->job_count, !errs[i % KINDS]);
        assert_int_equal(get->task.plan->planned_through, NOW + MINUTE + (errs[i % KINDS] ? 0 : MINUTE));
    }
    assert_stats(world, 0, (int64_t[JOB_STATE_COUNT]){[JOB_DELAYED] = MANY * 7 / KINDS});
}

static void items_of_one_plan_follow_each_other(void **state)
{
    struct world *world = *state;
    struct plan was = plan_now(world, add_usual(world)), step = was;
    struct store_planned items[6];
    for (int i = 0; i < 5; i++) {
        items[i] = next_of(world, step, i != 2);
        step = *items[i].plan;
        step.revision++;
    }
    items[5] = next_of(world, was, true); // decided on what was before all of them
    struct store_plan *op = submit_plans(world, items, array_count(items));
    for (int i = 0; i < 6; i++)
        assert_int_equal(op->items[i].err, i < 5 ? ERR_OK : ERR_MOVED_ON);
    assert_int_equal(get_task(world, was.task_id)->job_count, AHEAD + 5);
    struct plan is = plan_now(world, was.task_id);
    assert_true(is.planned_through == was.planned_through + 5 * MINUTE && is.revision == was.revision + 5);
}

static void whoever_was_declared_dead_plans_nothing(void **state)
{
    struct world *world = *state;
    struct plan was = plan_now(world, add_usual(world));
    struct store_planned items[] = {next_of(world, was, true), next_of(world, was, false)};
    bury(world, A);
    struct store_plan *op = submit_plans(world, items, array_count(items));
    assert_int_equal(op->op.err, ERR_FENCED);
    assert_true(op->items[0].err == ERR_FENCED && op->items[1].err == ERR_FENCED);
    op->holder = B; // which never joined
    assert_int_equal(call(world, &op->op), ERR_FENCED);
    struct plan is = plan_now(world, was.task_id);
    assert_same_plan(&is, &was);
    assert_int_equal(get_task(world, was.task_id)->job_count, AHEAD);
}

// ---- reading

static void plans_to_be_carried_on_come_by_time(void **state)
{
    struct world *world = *state;
    static const int64_t times[] = {NOW + 5, NOW, TIME_NEVER, NOW + 5, NOW + 1};
    int64_t ids[array_count(times)];
    add(world, (struct sample){0});
    for (size_t i = 0; i < array_count(times); i++) {
        struct plan plan = plan_new();
        plan.check_at = times[i];
        ids[i] = add_recurring(world, plan, 0);
    }
    const int64_t in_order[] = {ids[1], ids[4], ids[0], ids[3]};
    assert_plans(read_plans(world, NULL, 0, NOW - 1, 10), NULL, 0);
    assert_plans(read_plans(world, NULL, 0, NOW + 4, 10), in_order, 2);
    assert_plans(read_plans(world, NULL, 0, NOW + 5, 10), in_order, 4);
    assert_plans(read_plans(world, NULL, 0, NOW + 5, 3), in_order, 3);
    struct plan moved = plan_now(world, ids[1]);
    moved.check_at = NOW + 6;
    struct store_planned item = {.from = moved.planned_through, .plan = &moved};
    assert_int_equal(submit_plan(world, item), ERR_OK);
    assert_plans(read_plans(world, NULL, 0, NOW + 5, 10), &in_order[1], 3);
    moved.check_at = TIME_NEVER;
    moved.revision++;
    assert_int_equal(submit_plan(world, item), ERR_OK);
    assert_plans(read_plans(world, NULL, 0, NOW + MINUTE, 10), &in_order[1], 3);
}

static void plans_that_are_asked_for_come_by_id(void **state)
{
    struct world *world = *state;
    int64_t first = add_usual(world), plain = add(world, (struct sample){0}), second = add_usual(world);
    const int64_t ids[] = {second, 404, plain, first}, found[] = {first, second};
    struct store_plans *op = read_plans(world, ids, array_count(ids), 0, 0);
    assert_plans(op, found, array_count(found));
    assert_true(str_is(op->tasks[0].queue, "q") && op->tasks[0].doc.n && op->tasks[0].version == 1);
    assert_plans(read_plans(world, ids, 0, NOW + MINUTE, 10), NULL, 0); // none is asked for
}

// ---- lists

static void plans_that_owe_an_instant_come_page_by_page(void **state)
{
    struct world *world = *state;
    struct plan over = {.planned_through = TIME_NEVER, .check_at = TIME_NEVER};
    int64_t first = add_usual(world);
    add(world, (struct sample){0});
    add_recurring(world, over, 1);
    int64_t second = add_usual(world), third = add_usual(world);
    const int64_t page[] = {first, second}, rest[] = {third};
    for (int i = 0; i < 2; i++) {
        struct store_plans *op = OP(world, store_plans, STORE_PLANS);
        op->owing = true;
        op->after_id = i ? second : 0;
        op->max = 2;
        assert_int_equal(call(world, &op->op), ERR_OK);
        assert_plans(op, i ? rest : page, i ? 1 : 2);
    }
}

static void recurring_tasks_are_found_without_looking_at_others(void **state)
{
    struct world *world = *state;
    int64_t oldest = add_usual(world);
    assert_int_equal(try_add_recurring(world, (struct sample){.tenant = 8}, plan_new(), 1)->err, ERR_OK);
    for (int i = 0; i < 20; i++)
        add(world, (struct sample){0});
    int64_t newest = add_recurring(world, plan_new(), 0);
    struct store_list *page = list(world, (struct store_list){.recurring = true, .look = 2});
    assert_int_equal(page->task_count, 2);
    assert_int_equal(page->tasks[0].id, newest);
    assert_int_equal(page->tasks[1].id, oldest);
    assert_non_null(page->tasks[1].plan);
    assert_int_equal(page->found_count, AHEAD);
    assert_false(page->more);
    page = list(world, (struct store_list){.recurring = true, .look = 1});
    assert_true(page->more && page->next.id == newest);
    page = list(world, (struct store_list){.recurring = true, .look = 1, .before = page->next});
    assert_true(!page->more && page->task_count == 1 && page->tasks[0].id == oldest);
}

static void a_plan_counts_for_the_bytes_of_a_page(void **state)
{
    struct world *world = *state;
    int64_t ids[] = {add_recurring(world, plan_full(), 0), add_recurring(world, plan_full(), 0)};
    struct store_list *page = list(world, (struct store_list){.recurring = true});
    assert_int_equal(page->task_count, 2);
    size_t bytes = store_task_bytes(&page->tasks[0]);
    assert_true(bytes > STORE_TASK_BYTES + page->tasks[0].doc.n + STORE_PLAN_BYTES);
    page = list(world, (struct store_list){.recurring = true, .bytes_max = bytes});
    assert_true(page->more && page->task_count == 1 && page->tasks[0].id == ids[1]);
    page = list(world, (struct store_list){.recurring = true, .bytes_max = bytes + 1});
    assert_true(!page->more && page->task_count == 2 && page->tasks[1].id == ids[0]);
}

static void what_is_found_in_another_way_must_recur_too(void **state)
{
    enum { TAG = 20 };
    struct world *world = *state;
    add(world, (struct sample){.tags = {TAG}, .queue = "mail"});
    int64_t both = try_add_recurring(world, (struct sample){.tags = {TAG}, .queue = "mail"}, plan_new(), 1)->task->id;
    add_usual(world);
    struct store_list *page = list(world, (struct store_list){.recurring = true, .tags = {TAG}, .tag_count = 1, .look = 2});
    assert_true(page->task_count == 1 && page->tasks[0].id == both && !page->more);
    page = list(world, (struct store_list){.recurring = true, .queue = STR("mail")});
    assert_true(page->task_count == 1 && page->tasks[0].id == both);
    assert_int_equal(list(world, (struct store_list){.recurring = true, .queue = STR("none")})->task_count, 0);
}

int contract_plans(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_plan_is_read_with_its_task_as_it_was_given),
        PROMISE(a_task_with_a_plan_may_have_no_job),
        PROMISE(a_task_whose_ids_are_taken_leaves_no_plan),
        PROMISE(another_tenants_plan_is_not_read),
        PROMISE(a_job_keeps_what_made_it),
        PROMISE(jobs_that_a_plan_adds_are_like_others),
        PROMISE(a_job_comes_with_the_version_of_its_document),
        PROMISE(of_two_that_plan_from_one_read_one_does),
        PROMISE(a_plan_is_refused_behind_a_change_of_its_task),
        PROMISE(a_change_of_a_task_is_refused_behind_its_plan),
        PROMISE(a_plan_with_a_missing_job_must_be_read),
        PROMISE(a_plan_that_was_read_is_refused_behind_the_end_of_a_job),
        PROMISE(a_plan_of_what_was_removed_is_not_found),
        PROMISE(a_task_is_not_removed_behind_its_plan),
        PROMISE(a_plan_that_was_read_is_written_but_for_what_is_counted),
        PROMISE(of_a_plan_that_was_not_read_only_its_times_are_written),
        PROMISE(nothing_is_written_with_an_id_that_is_taken),
        PROMISE(of_many_items_each_succeeds_or_fails_by_itself),
        PROMISE(items_of_one_plan_follow_each_other),
        PROMISE(whoever_was_declared_dead_plans_nothing),
        PROMISE(plans_to_be_carried_on_come_by_time),
        PROMISE(plans_that_are_asked_for_come_by_id),
        PROMISE(plans_that_owe_an_instant_come_page_by_page),
        PROMISE(recurring_tasks_are_found_without_looking_at_others),
        PROMISE(a_plan_counts_for_the_bytes_of_a_page),
        PROMISE(what_is_found_in_another_way_must_recur_too),
    };
    return cmocka_run_group_tests_name("store plans", tests, NULL, NULL);
}
