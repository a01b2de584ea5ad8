// What store/plans.h promises of plans when their jobs end, and when their tasks are changed, swept or removed.
#include "plans_support.h"

// ---- what became of jobs

// By which step a job ends: one of many alike, one that also moves it in time, one about a lease, an amendment.
enum { BY_CHANGE, BY_WIDE_CHANGE, BY_LEASED_CHANGE, BY_AMEND, WAYS };

static void end_by(struct world *world, int way, struct job job)
{
    int64_t token = job.token++;
    job.due_at += way == BY_WIDE_CHANGE;
    job.touched_at = way == BY_WIDE_CHANGE ? NOW : 0;
    if (way == BY_LEASED_CHANGE)
        job.result = STR("{}");
    if (way != BY_AMEND) {
        assert_int_equal(change(world, token, job, NULL), ERR_OK);
        return;
    }
    struct store_amend *amend = make_amend(world, job.task_id);
    struct store_step step = {.token = token, .job = &job};
    amend->steps = &step;
    amend->count = 1;
    assert_int_equal(call(world, &amend->op), ERR_OK);
}

static void the_end_of_a_job_is_counted_in_the_plan_of_its_task(void **state)
{
    static const struct {
        enum job_state state;
        int64_t success, failed, cancelled, failures_in_row;
    } ends[] = {{JOB_SUCCESS, 1, 0, 0, 0}, {JOB_ABORTED, 0, 1, 0, 8}, {JOB_BURIED, 0, 1, 0, 8}, {JOB_CANCELLED, 0, 0, 1, 7}};
    struct world *world = *state;
    for (int way = 0; way < WAYS; way++)
        for (size_t i = 0; i < array_count(ends); i++) {
            struct plan was = plan_now(world, add_recurring(world, plan_full(), AHEAD)), expected = was;
            struct job job = job_now(world, job_of(world, was.task_id, NOW));
            job.state = (uint8_t)ends[i].state;
            job.completed_at = NOW + 3;
            end_by(world, way, job);
            expected.success += ends[i].success;
            expected.failed += ends[i].failed;
            expected.cancelled += ends[i].cancelled;
            expected.failures_in_row = ends[i].failures_in_row;
            expected.last_at = ends[i].cancelled ? was.last_at : NOW + 3;
            expected.revision += way == BY_AMEND ? 2 : 1;
            expected.version += way == BY_AMEND;
            struct plan is = plan_now(world, was.task_id);
            assert_same_plan(&is, &expected);
        }
}

static void every_job_that_a_user_did_not_submit_is_counted(void **state)
{
    struct world *world = *state;
    int64_t id = add_recurring(world, plan_new(), 0), plain = add(world, (struct sample){0});
    for (int trigger = 0; trigger < TRIGGER_COUNT; trigger++) {
        struct job jobs[] = {job_at(world, id, NOW), job_at(world, plain, NOW)};
        for (size_t i = 0; i < array_count(jobs); i++) {
            jobs[i].trigger = (uint8_t)trigger;
            struct store_add *op = OP(world, store_add, STORE_ADD);
            struct store_new item = {.jobs = &jobs[i], .job_count = 1};
            op->items = &item;
            op->count = 1;
            assert_int_equal(call(world, &op->op), ERR_OK);
            assert_int_equal(item.err, ERR_OK);
            assert_int_equal(end_job(world, jobs[i].id, JOB_SUCCESS, NOW + trigger), ERR_OK); // also where there is no plan
        }
        assert_int_equal(plan_now(world, id).success, trigger);
    }
    assert_null(get_task(world, plain)->task.plan);
}

// Adds a job that was made by `trigger`, and ends it.
static void end_extra(struct world *world, int64_t task_id, enum job_trigger trigger, int way, enum job_state end)
{
    struct job job = job_at(world, task_id, NOW);
    struct store_new item = {.jobs = &job, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    job.trigger = (uint8_t)trigger;
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    job = job_now(world, job.id);
    job.state = (uint8_t)end;
    job.completed_at = NOW;
    end_by(world, way, job);
}

static void only_jobs_of_the_schedule_count_for_failures_in_a_row(void **state)
{
    static const enum job_trigger others[] = {TRIGGER_RUN, TRIGGER_RETRY, TRIGGER_BACKFILL};
    struct world *world = *state;
    for (int way = 0; way < WAYS; way++) {
        int64_t id = add_recurring(world, plan_new(), 0);
        end_extra(world, id, TRIGGER_SCHEDULE, way, JOB_ABORTED);
        for (size_t i = 0; i < array_count(others); i++) {
            end_extra(world, id, others[i], way, JOB_BURIED);
            assert_int_equal(plan_now(world, id).failures_in_row, 1);
            end_extra(world, id, others[i], way, JOB_SUCCESS);
            assert_int_equal(plan_now(world, id).failures_in_row, 1);
        }
        assert_true(plan_now(world, id).failed == 4 && plan_now(world, id).success == 3);
        end_extra(world, id, TRIGGER_SCHEDULE, way, JOB_SUCCESS);
        assert_int_equal(plan_now(world, id).failures_in_row, 0);
    }
}

static void two_jobs_of_one_task_that_end_at_once_are_both_counted(void **state)
{
    struct world *world = *state;
    static const enum job_state ends[][2] = {
        {JOB_ABORTED, JOB_ABORTED}, {JOB_SUCCESS, JOB_ABORTED}, {JOB_ABORTED, JOB_SUCCESS}, {JOB_ABORTED, JOB_CANCELLED}};
    static const int64_t in_row[] = {2, 1, 0, 1}, last_at[] = {NOW + 1, NOW + 1, NOW + 1, NOW};
    for (size_t i = 0; i < array_count(ends); i++) {
        int64_t id = add_usual(world);
        struct plan was = plan_now(world, id);
        struct job jobs[2];
        struct store_step steps[2];
        for (int k = 0; k < 2; k++) {
            jobs[k] = job_now(world, job_of(world, id, NOW + k * MINUTE));
            jobs[k].state = (uint8_t)ends[i][k];
            jobs[k].completed_at = NOW + k;
            steps[1 - k] = (struct store_step){.token = jobs[k].token, .job = &jobs[k]}; // the order of their ids counts
        }
        struct store_change *op = OP(world, store_change, STORE_CHANGE);
        op->steps = steps;
        op->count = 2;
        assert_int_equal(call(world, &op->op), ERR_OK);
        struct plan is = plan_now(world, id);
        assert_int_equal(is.success + is.failed + is.cancelled, 2);
        assert_int_equal(is.failures_in_row, in_row[i]);
        assert_int_equal(is.last_at, last_at[i]);
        assert_int_equal(is.revision, was.revision + 2);
    }
}

static void the_latest_end_stays_when_an_earlier_one_is_written_after_it(void **state)
{
    struct world *world = *state;
    int64_t id = add_usual(world);
    assert_int_equal(end_job(world, job_of(world, id, NOW), JOB_SUCCESS, NOW + 7), ERR_OK);
    assert_int_equal(end_job(world, job_of(world, id, NOW + MINUTE), JOB_SUCCESS, NOW + 5), ERR_OK);
    assert_int_equal(plan_now(world, id).last_at, NOW + 7);
}

static void what_does_not_end_a_job_counts_nothing(void **state)
{
    struct world *world = *state;
    int64_t id = add_usual(world), first = job_of(world, id, NOW);
    struct plan was = plan_now(world, id), is;
    struct job job = job_now(world, first);
    job.state = JOB_SUCCESS;
    assert_int_equal(change(world, job.token - 1, job, NULL), ERR_MOVED_ON); // refused
    struct store_claim *taken = claim(world, A, NOW, job.lane, 1);
    struct job_policy policy = {.retry = {.max = 3, .delay_ms = 100}, .timeout_ms = 1000, .sla_ms = 1000, .ttl_ms = 5000};
    struct job_result result = {.outcome = OUTCOME_FAILED, .status = 500, .completed_at = NOW + 5};
    struct job_step left = {0};
    job = taken->jobs[0].job;
    assert_int_equal(job_start(&job, &policy, NOW), ERR_OK);
    assert_int_equal(change(world, taken->jobs[0].job.token, job, NULL), ERR_OK);
    int64_t token = job.token;
    assert_int_equal(job_finish(&job, &policy, &result, 0, &left), ERR_OK);
    assert_false(job_state_final(job.state));
    assert_int_equal(change(world, token, job, &left.attempt), ERR_OK); // it is tried again
    is = plan_now(world, id);
    assert_same_plan(&is, &was);
    assert_int_equal(end_job(world, first, JOB_ABORTED, NOW + 9), ERR_OK);
    was = plan_now(world, id);
    assert_int_equal(was.failed, 1);
    job = job_now(world, first);
    job.purge_at = NOW + 99;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK); // it had ended before
    is = plan_now(world, id);
    assert_same_plan(&is, &was);
}

static void a_job_that_ends_is_neither_active_nor_queued(void **state)
{
    struct world *world = *state;
    int64_t id = add_usual(world), first = job_of(world, id, NOW), second = job_of(world, id, NOW + MINUTE);
    struct plan plan = plan_now(world, id);
    plan.active = (const int64_t[]){5, first, 6};
    plan.active_count = 3;
    plan.queued = (const int64_t[]){second};
    plan.queued_count = 1;
    assert_int_equal(submit_plan(world, (struct store_planned){.from = plan.planned_through, .plan = &plan}), ERR_OK);
    assert_int_equal(end_job(world, first, JOB_SUCCESS, NOW), ERR_OK);
    struct plan is = plan_now(world, id);
    assert_true(is.active_count == 2 && is.active[0] == 5 && is.active[1] == 6 && is.queued_count == 1);
    assert_int_equal(end_job(world, second, JOB_CANCELLED, NOW), ERR_OK);
    is = plan_now(world, id);
    assert_true(is.active_count == 2 && is.queued_count == 0);
}

// ---- changes of a task

static void an_amendment_writes_the_plan_moves_jobs_and_adds_some(void **state)
{
    struct world *world = *state;
    struct store_new *item = try_add_recurring(world, (struct sample){.tags = {6}}, plan_full(), AHEAD);
    int64_t id = item->task->id, first = job_of(world, id, NOW), second = job_of(world, id, NOW + MINUTE);
    for (int retag = 0; retag < 2; retag++) {
        struct plan plan = plan_now(world, id), expected;
        plan.planned_through += MINUTE;
        plan.success = 99; // which the store counts
        plan.active = &second;
        plan.active_count = 1;
        plan.paused_at = 0;
        plan.paused_note = plan.paused_by = plan.missing = (struct str){0};
        struct store_amend *amend = amend_with(world, plan);
        struct job moved = job_now(world, retag ? second : first), added = job_at(world, id, plan.planned_through);
        moved.nominal_at += 7;
        moved.state = retag ? JOB_CANCELLED : JOB_DELAYED; // the end of a job is counted in the plan as it is written
        struct store_step step = {.token = moved.token, .job = &moved};
        amend->steps = &step;
        amend->count = 1;
        amend->jobs = &added;
        amend->job_count = 1;
        amend->task.queue = STR("new");
        amend->retag = retag;
        amend->task.tags = (const int64_t[]){8};
        amend->task.tag_count = 1;
        assert_int_equal(call(world, &amend->op), ERR_OK);
        expected = plan;
        expected.version = 2 + retag;
        expected.revision += 1 + retag;
        expected.success = 4;
        expected.cancelled += retag;
        expected.active_count = !retag;
        struct plan is = plan_now(world, id);
        assert_same_plan(&is, &expected);
        assert_int_equal(job_now(world, moved.id).nominal_at, moved.nominal_at);
        assert_int_equal(job_now(world, added.id).lane, lane_of(world, TENANT, "new"));
        struct store_list *page = list(world, (struct store_list){.jobs = true, .tags = {retag ? 8 : 6}, .tag_count = 1});
        assert_true(page->found_count == AHEAD + 1 + (size_t)retag && page->found[0].id == added.id);
    }
    assert_int_equal(submit_plan(world, next_of(world, plan_now(world, id), true)), ERR_OK); // which knows the lane
    assert_int_equal(job_now(world, world->last_id).lane, lane_of(world, TENANT, "new"));
    assert_stats(world, TENANT, (int64_t[JOB_STATE_COUNT]){[JOB_DELAYED] = 4, [JOB_CANCELLED] = 1});
}

static void an_amendment_with_an_id_that_is_taken_writes_nothing(void **state)
{
    struct world *world = *state;
    int64_t taken = add(world, (struct sample){0}), id = add_usual(world);
    struct plan was = plan_now(world, id);
    struct store_amend *amend = make_amend(world, id);
    assert_int_equal(amend->count, AHEAD);
    struct job jobs[] = {job_at(world, id, NOW + 5 * MINUTE), job_at(world, id, NOW + 6 * MINUTE)};
    jobs[1].id = taken;
    amend->jobs = jobs;
    amend->job_count = 2;
    amend->task.doc = STR("{}");
    assert_int_equal(call(world, &amend->op), ERR_INTERNAL);
    struct store_get *get = get_task(world, id);
    assert_true(get->task.version == 1 && !str_is(get->task.doc, "{}") && get->job_count == AHEAD);
    assert_same_plan(get->task.plan, &was);
    assert_int_equal(job_now(world, job_of(world, id, NOW)).due_at, NOW);
    assert_stats(world, TENANT, (int64_t[JOB_STATE_COUNT]){[JOB_READY] = 2, [JOB_DELAYED] = 1});
}

static void a_task_begins_and_ceases_to_recur_by_an_amendment(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct plan plan = plan_new();
    plan.task_id = id;
    struct store_amend *amend = amend_with(world, plan);
    assert_int_equal(call(world, &amend->op), ERR_OK);
    struct plan is = plan_now(world, id);
    assert_true(is.version == 2 && is.tenant == TENANT && is.planned_through == plan.planned_through);
    assert_int_equal(submit_plan(world, next_of(world, is, true)), ERR_OK);
    amend = make_amend(world, id);
    amend->task.plan = NULL;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_null(get_task(world, id)->task.plan);
    assert_int_equal(submit_plan(world, next_of(world, is, true)), ERR_NOT_FOUND);
    assert_int_equal(read_plans(world, NULL, 0, TIME_NEVER, 10)->count, 0);
}

// ---- the end of a task

static void end_and_let_go(struct world *world, int64_t id, int64_t purge_at)
{
    struct job job = job_now(world, id);
    job.state = JOB_SUCCESS;
    job.purge_at = purge_at;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
}

static void a_task_that_owes_instants_is_not_swept(void **state)
{
    struct world *world = *state;
    struct plan plan = plan_new(), over = plan_new();
    over.planned_through = over.check_at = TIME_NEVER;
    int64_t owes = add_recurring(world, plan, 1), ended = add_recurring(world, over, 1), open = add_recurring(world, over, AHEAD);
    end_and_let_go(world, job_of(world, owes, NOW), NOW + 1);
    end_and_let_go(world, job_of(world, ended, NOW), NOW + 1);
    end_and_let_go(world, job_of(world, open, NOW), NOW + 1);
    assert_int_equal(sweep(world, NOW + 1, 10), 3);
    assert_int_equal(get_task(world, ended)->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_task(world, open)->job_count, 1);
    struct store_get *get = get_task(world, owes);
    assert_true(get->op.err == ERR_OK && get->job_count == 0 && get->task.plan->success == 1);
    const int64_t ids[] = {owes, ended};
    assert_plans(read_plans(world, ids, 2, 0, 0), ids, 1);
    struct store_planned next = next_of(world, plan_now(world, owes), true);
    assert_int_equal(submit_plan(world, next), ERR_OK); // it goes on as before
    end_and_let_go(world, next.jobs[0].id, NOW + 2);
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    assert_int_equal(get_task(world, owes)->op.err, ERR_OK);
}

static void let_plan_end(struct world *world, int64_t id)
{
    struct plan over = plan_now(world, id);
    struct store_planned item = {.from = over.planned_through, .plan = &over};
    over.planned_through = over.check_at = TIME_NEVER;
    assert_int_equal(submit_plan(world, item), ERR_OK);
}

static void a_task_without_jobs_is_swept_when_its_plan_is_over(void **state)
{
    struct world *world = *state;
    int64_t ids[] = {add_recurring(world, plan_new(), 1), add_recurring(world, plan_new(), 0),
                     add_recurring(world, plan_new(), 0)};
    end_and_let_go(world, job_of(world, ids[0], NOW), NOW + 1);
    assert_int_equal(sweep(world, NOW + 1, 10), 1);
    assert_plans(read_plans(world, ids, 3, 0, 0), ids, 3);
    for (int i = 0; i < 3; i++)
        let_plan_end(world, ids[i]);
    assert_int_equal(sweep(world, NOW + 2, 2), 0); // which counts jobs
    assert_plans(read_plans(world, ids, 3, 0, 0), &ids[2], 1);
    assert_int_equal(get_task(world, ids[0])->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_task(world, ids[1])->op.err, ERR_NOT_FOUND);
    assert_int_equal(sweep(world, NOW + 2, 2), 0);
    assert_int_equal(get_task(world, ids[2])->op.err, ERR_NOT_FOUND);
}

// By a plan that was read, by one that was not, without and with another check_at, by a user, and by a change of the task.
enum { GIVEN_BY_READ, GIVEN_UNREAD, GIVEN_WITH_CHECK, GIVEN_BY_USER, GIVEN_BY_AMEND, GIVEN_WAYS };

static void give_job(struct world *world, int64_t id, int way)
{
    struct store_planned next = next_of(world, plan_now(world, id), way != GIVEN_BY_READ);
    if (way == GIVEN_UNREAD)
        next.check_before = 0;
    if (way < GIVEN_BY_USER) {
        assert_int_equal(submit_plan(world, next), ERR_OK);
    } else if (way == GIVEN_BY_USER) {
        struct store_new item = {.jobs = next.jobs, .job_count = 1};
        struct store_add *op = OP(world, store_add, STORE_ADD);
        op->items = &item;
        op->count = 1;
        assert_int_equal(call(world, &op->op), ERR_OK);
        assert_int_equal(item.err, ERR_OK);
    } else {
        struct store_amend *amend = amend_with(world, plan_now(world, id));
        amend->jobs = next.jobs;
        amend->job_count = 1;
        assert_int_equal(call(world, &amend->op), ERR_OK);
    }
}

static void a_task_that_was_given_a_job_again_is_swept_with_that(void **state)
{
    struct world *world = *state;
    for (int way = 0; way < GIVEN_WAYS; way++) {
        int64_t id = add_recurring(world, plan_new(), 0);
        give_job(world, id, way);
        let_plan_end(world, id);
        assert_int_equal(sweep(world, NOW + 1, 10), 0);
        assert_int_equal(get_task(world, id)->job_count, 1);
        end_and_let_go(world, get_task(world, id)->jobs[0].id, NOW + 3);
        assert_int_equal(sweep(world, NOW + 3, 10), 1);
        assert_int_equal(get_task(world, id)->op.err, ERR_NOT_FOUND);
    }
}

static void a_removal_leaves_no_plan_behind(void **state)
{
    struct world *world = *state;
    enum err err;
    for (size_t jobs = 0; jobs <= AHEAD; jobs++) {
        struct sample keyed = {.key = jobs ? STR("k") : STR("none"), .tags = {6}};
        struct store_new *item = try_add_recurring(world, keyed, plan_new(), jobs);
        int64_t id = item->task->id;
        for (size_t i = 0; i < jobs; i++)
            assert_int_equal(end_job(world, job_of(world, id, NOW + (int64_t)i * MINUTE), JOB_SUCCESS, NOW), ERR_OK);
        struct store_remove *op = remove_of(world, id);
        op->max = 1;
        assert_int_equal(call(world, &op->op), ERR_OK);
        assert_int_equal(op->more, jobs == AHEAD);
        if (op->more) { // the plan is there as long as the task is
            assert_int_equal(plan_now(world, id).success, AHEAD);
            op->goes_on = true;
            assert_int_equal(call(world, &op->op), ERR_OK);
        }
        assert_int_equal(get_task(world, id)->op.err, ERR_NOT_FOUND);
        assert_int_equal(read_plans(world, &id, 1, 0, 0)->count, 0);
        assert_int_equal(read_plans(world, NULL, 0, TIME_NEVER, 10)->count, 0);
        assert_int_equal(list(world, (struct store_list){.tags = {6}, .tag_count = 1})->task_count, 0);
        assert_int_equal(try_add(world, keyed, &err)->err, ERR_KEY_SPENT);
        assert_true(try_join(world, 100 + (int64_t)jobs)->id_floor >= id);
        sweep(world, NOW + KEYS_KEPT, 10); // the key is free again
    }
}

static void a_removal_of_what_has_no_jobs_is_judged_as_others(void **state)
{
    struct world *world = *state;
    int64_t id = add_recurring(world, plan_new(), 0);
    struct store_remove *op = remove_of(world, id);
    op->tenant = 8;
    assert_int_equal(call(world, &op->op), ERR_NOT_FOUND);
    assert_int_equal(call(world, &amend_with(world, plan_now(world, id))->op), ERR_OK);
    assert_int_equal(remove_task(world, id, true), ERR_MOVED_ON); // its version is 2
    assert_int_equal(plan_now(world, id).version, 2);
}

int contract_plan_counts(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(the_end_of_a_job_is_counted_in_the_plan_of_its_task),
        PROMISE(every_job_that_a_user_did_not_submit_is_counted),
        PROMISE(only_jobs_of_the_schedule_count_for_failures_in_a_row),
        PROMISE(two_jobs_of_one_task_that_end_at_once_are_both_counted),
        PROMISE(the_latest_end_stays_when_an_earlier_one_is_written_after_it),
        PROMISE(what_does_not_end_a_job_counts_nothing),
        PROMISE(a_job_that_ends_is_neither_active_nor_queued),
        PROMISE(an_amendment_writes_the_plan_moves_jobs_and_adds_some),
        PROMISE(an_amendment_with_an_id_that_is_taken_writes_nothing),
        PROMISE(a_task_begins_and_ceases_to_recur_by_an_amendment),
        PROMISE(a_task_that_owes_instants_is_not_swept),
        PROMISE(a_task_without_jobs_is_swept_when_its_plan_is_over),
        PROMISE(a_task_that_was_given_a_job_again_is_swept_with_that),
        PROMISE(a_removal_leaves_no_plan_behind),
        PROMISE(a_removal_of_what_has_no_jobs_is_judged_as_others),
    };
    return cmocka_run_group_tests_name("store plans: counts", tests, NULL, NULL);
}
