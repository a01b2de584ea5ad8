// What store/jobs.h promises, tried on every backend: lanes, and the counters of jobs in them.
#include "store_contract.h"

static void lanes_are_listed_with_what_waits_in_them(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.queue = "a", .due_at = NOW + 5});
    add(world, (struct sample){.queue = "a", .due_at = NOW + 3, .priority = 1, .state = JOB_DELAYED});
    add(world, (struct sample){.queue = "b", .state = JOB_SUCCESS});
    add(world, (struct sample){.queue = "a", .tenant = 8});
    struct store_lanes *op = OP(world, store_lanes, STORE_LANES);
    op->max = 2;
    op->counts = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->lane_count, 2);
    assert_int_equal(op->lanes[0].id, lane_of(world, TENANT, "a"));
    assert_int_equal(op->lanes[0].tenant, TENANT);
    assert_true(str_is(op->lanes[0].queue, "a"));
    assert_int_equal(op->lanes[0].next_due, NOW + 3);
    assert_int_equal(op->lanes[0].counts[JOB_READY], 1);
    assert_int_equal(op->lanes[0].counts[JOB_DELAYED], 1);
    assert_int_equal(op->lanes[1].next_due, TIME_NEVER);
    op->after_id = op->lanes[1].id;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->lane_count, 1);
    assert_int_equal(op->lanes[0].tenant, 8);
    op->after_id = 0;
    op->tenant = 8;
    op->names_only = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->lane_count, 1);
    assert_int_equal(op->lanes[0].tenant, 8);
    assert_int_equal(op->lanes[0].next_due, 0);
}

static void pausing_makes_a_lane_that_is_not_there(void **state)
{
    struct world *world = *state;
    struct store_pause *pause = OP(world, store_pause, STORE_PAUSE);
    pause->tenant = TENANT;
    pause->queue = STR("new");
    pause->paused = true;
    assert_int_equal(call(world, &pause->op), ERR_OK);
    struct store_lanes *op = OP(world, store_lanes, STORE_LANES);
    op->max = 10;
    call(world, &op->op);
    assert_int_equal(op->lane_count, 1);
    assert_int_equal(op->lanes[0].id, pause->lane);
    assert_true(op->lanes[0].paused);
    int64_t id = add(world, (struct sample){.queue = "new"});
    assert_int_equal(job_now(world, id).lane, pause->lane);
}

// ---- lanes that go

static void end_job(struct world *world, int64_t id)
{
    struct job job = job_now(world, id);
    int64_t token = job.token++;
    job.state = JOB_SUCCESS;
    job.holder = 0;
    job.completed_at = NOW;
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
}

static void a_dropped_lane_is_left_out_and_its_final_jobs_are_not(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS, .purge_at = NOW + 1});
    add(world, (struct sample){.queue = "b"});
    add(world, (struct sample){.queue = "a", .tenant = 8, .state = JOB_SUCCESS});
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    assert_false(is_listed(world, TENANT, "a"));
    assert_true(is_listed(world, TENANT, "b"));
    assert_true(is_listed(world, 8, "a"));
    struct store_lanes *page = OP(world, store_lanes, STORE_LANES);
    page->max = 1;
    assert_int_equal(call(world, &page->op), ERR_OK);
    assert_int_equal(page->lane_count, 1); // a page is as full as without it
    assert_true(str_is(page->lanes[0].queue, "b"));
    assert_int_equal(job_now(world, id).state, JOB_SUCCESS);
    for (int jobs = 0; jobs < 2; jobs++)
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .queue = STR("a")})->found_count, 1);
    assert_int_equal(sweep(world, NOW + 1, 10), 1);
    assert_false(is_listed(world, TENANT, "a"));
}

static void a_lane_is_not_dropped_while_it_has_jobs_that_are_not_final(void **state)
{
    struct world *world = *state;
    join(world, A);
    int64_t ids[] = {add(world, (struct sample){.queue = "a"}),
                     add(world, (struct sample){.queue = "a", .state = JOB_DELAYED, .due_at = NOW + 1000}),
                     add(world, (struct sample){.queue = "a", .state = JOB_WATCHING, .holder = A}),
                     add(world, (struct sample){.queue = "a", .state = JOB_RESERVED, .holder = A})};
    for (size_t i = 0; i < array_count(ids); i++) {
        struct store_drop *op = drop(world, TENANT, "a");
        assert_int_equal(op->op.err, ERR_QUEUE_NOT_EMPTY);
        assert_int_equal(op->open, array_count(ids) - i);
        assert_true(is_listed(world, TENANT, "a"));
        end_job(world, ids[i]);
    }
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    assert_false(is_listed(world, TENANT, "a"));
}

static void set_paused(struct world *world, const char *queue, bool paused)
{
    struct store_pause *pause = OP(world, store_pause, STORE_PAUSE);
    pause->tenant = TENANT;
    pause->queue = str_of(queue);
    pause->paused = paused;
    assert_int_equal(call(world, &pause->op), ERR_OK);
}

static void a_paused_lane_is_not_dropped(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a"});
    set_paused(world, "a", true);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_QUEUE_NOT_EMPTY); // first its jobs: to let it go would start them
    end_job(world, id);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_QUEUE_PAUSED);
    assert_true(is_listed(world, TENANT, "a"));
    set_paused(world, "a", false);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
}

static void a_lane_that_is_absent_foreign_or_dropped_is_not_found(void **state)
{
    struct world *world = *state;
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_NOT_FOUND);
    assert_false(is_listed(world, TENANT, "a")); // nor was it made
    lane_of(world, 8, "a");
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_NOT_FOUND);
    assert_int_equal(drop(world, 8, "a")->op.err, ERR_OK);
    assert_int_equal(drop(world, 8, "a")->op.err, ERR_NOT_FOUND);
}

static void a_dropped_lane_comes_back_with_the_next_job_and_stays(void **state)
{
    struct world *world = *state;
    int64_t lane = lane_of(world, TENANT, "a"), task = 0;
    for (int i = 0; i < 3; i++) { // also when it was there before
        assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
        assert_false(is_listed(world, TENANT, "a"));
        task = add(world, (struct sample){.queue = "a"});
        assert_true(is_listed(world, TENANT, "a"));
        assert_int_equal(job_now(world, task).lane, lane);
        end_job(world, task);
        assert_true(is_listed(world, TENANT, "a"));
    }
    sweep(world, NOW, 10); // which may add counters up
    assert_true(is_listed(world, TENANT, "a"));
}

static void a_dropped_lane_comes_back_with_another_job_of_a_task(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS});
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    struct job job = {.id = id + 1000, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW, .token = 1};
    struct store_new item = {.jobs = &job, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    assert_true(is_listed(world, TENANT, "a"));
}

static void a_dropped_lane_does_not_come_back_with_a_final_job(void **state)
{
    struct world *world = *state;
    lane_of(world, TENANT, "a");
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS});
    assert_false(is_listed(world, TENANT, "a"));
}

static void a_dropped_lane_does_not_come_back_with_what_could_not_be_added(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS}), other = add(world, (struct sample){0});
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    struct job jobs[] = {{.id = id + 1000, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW, .token = 1},
                         {.id = other, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW, .token = 1}};
    struct store_new item = {.jobs = jobs, .job_count = array_count(jobs)};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_INTERNAL);
    assert_false(is_listed(world, TENANT, "a"));
}

static void a_dropped_lane_comes_back_with_a_job_that_is_moved_there_or_a_pause(void **state)
{
    struct world *world = *state;
    lane_of(world, TENANT, "a");
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    struct store_amend *amend = make_amend(world, add(world, (struct sample){.queue = "b"}));
    amend->task.queue = STR("a");
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_true(is_listed(world, TENANT, "a"));
    assert_int_equal(drop(world, TENANT, "b")->op.err, ERR_OK);
    set_paused(world, "b", true);
    assert_true(is_listed(world, TENANT, "b"));
}

// ---- lanes of one queue

static struct store_lanes *list_lanes(struct world *world, enum target_dispatch dispatch, int64_t after_id, size_t max)
{
    struct store_lanes *op = OP(world, store_lanes, STORE_LANES);
    *op = (struct store_lanes){.op = op->op, .dispatch = dispatch, .after_id = after_id, .max = max, .counts = true};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void what_is_called_and_what_is_handed_out_wait_in_lanes_of_their_own(void **state)
{
    struct world *world = *state;
    join(world, A);
    int64_t called = add(world, (struct sample){.queue = "a"});
    int64_t handed_out = add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT});
    int64_t lanes[] = {job_now(world, called).lane, job_now(world, handed_out).lane};
    assert_int_not_equal(lanes[0], lanes[1]);
    assert_int_equal(lanes[0], lane_of(world, TENANT, "a"));
    assert_int_equal(job_now(world, add(world, (struct sample){.queue = "a"})).lane, lanes[0]);
    assert_int_equal(job_now(world, add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT})).lane, lanes[1]);
    assert_int_equal(get_job(world, called)->task.dispatch, TARGET_CALLED);
    assert_int_equal(get_job(world, handed_out)->task.dispatch, TARGET_HANDED_OUT);
    for (int i = 0; i < 2; i++) {
        struct store_claim *claimed = claim(world, A, NOW, lanes[i], 10);
        assert_int_equal(claimed->job_count, 2);
        assert_int_equal(claimed->jobs[0].job.id, i ? handed_out : called);
        assert_int_equal(claimed->jobs[1].job.lane, lanes[i]);
    }
}

static void lanes_are_listed_by_how_their_jobs_are_dispatched(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.queue = "a"});
    add(world, (struct sample){.queue = "b", .dispatch = TARGET_HANDED_OUT});
    add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT, .tenant = 8});
    const struct store_lanes *called = list_lanes(world, TARGET_CALLED, 0, 10);
    assert_int_equal(called->lane_count, 1);
    assert_int_equal(called->lanes[0].dispatch, TARGET_CALLED);
    assert_true(str_is(called->lanes[0].queue, "a"));
    struct store_lanes *handed_out = list_lanes(world, TARGET_HANDED_OUT, 0, 10);
    assert_int_equal(handed_out->lane_count, 2);
    assert_int_equal(handed_out->lanes[0].dispatch, TARGET_HANDED_OUT);
    assert_true(str_is(handed_out->lanes[0].queue, "b"));
    handed_out->tenant = 8;
    handed_out->names_only = true;
    handed_out->counts = false;
    assert_int_equal(call(world, &handed_out->op), ERR_OK);
    assert_int_equal(handed_out->lane_count, 1);
    assert_int_equal(handed_out->lanes[0].tenant, 8);
}

static void a_queue_is_listed_once_with_all_that_its_lanes_have(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT, .due_at = NOW + 9});
    add(world, (struct sample){.queue = "b"});
    add(world, (struct sample){.queue = "a", .due_at = NOW + 5});
    const struct store_lanes *op = list_lanes(world, TARGET_NOT_DISPATCHED, 0, 1);
    assert_int_equal(op->lane_count, 1);
    assert_int_equal(op->lanes[0].id, job_now(world, first).lane);
    assert_int_equal(op->lanes[0].dispatch, TARGET_NOT_DISPATCHED);
    assert_true(str_is(op->lanes[0].queue, "a"));
    assert_int_equal(op->lanes[0].next_due, NOW + 5);
    assert_int_equal(op->lanes[0].counts[JOB_READY], 2);
    op = list_lanes(world, TARGET_NOT_DISPATCHED, op->lanes[0].id, 10);
    assert_int_equal(op->lane_count, 1);
    assert_true(str_is(op->lanes[0].queue, "b"));
    for (int jobs = 0; jobs < 2; jobs++)
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .queue = STR("a")})->found_count, 2);
}

static size_t claimable(struct world *world, int64_t job_id)
{
    return claim(world, A, NOW + 2000, job_now(world, job_id).lane, 10)->job_count;
}

static void a_pause_holds_all_lanes_of_a_queue_and_those_made_later(void **state)
{
    struct world *world = *state;
    join(world, A);
    int64_t called = add(world, (struct sample){.queue = "a"});
    int64_t handed_out = add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT});
    int64_t alone = add(world, (struct sample){.queue = "b", .dispatch = TARGET_HANDED_OUT});
    int64_t foreign = add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT, .tenant = 8});
    set_paused(world, "a", true);
    set_paused(world, "b", true);
    set_paused(world, "c", true);
    int64_t later = add(world, (struct sample){.queue = "c", .dispatch = TARGET_HANDED_OUT});
    struct store_amend *amend = make_amend(world, add(world, (struct sample){.queue = "other"}));
    amend->task.queue = STR("d");
    set_paused(world, "d", true);
    amend->task.dispatch = TARGET_HANDED_OUT;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    const int64_t held[] = {called, handed_out, alone, later, amend->steps[0].job->id};
    for (size_t i = 0; i < array_count(held); i++)
        assert_int_equal(claimable(world, held[i]), 0);
    struct store_lanes *all = list_lanes(world, TARGET_HANDED_OUT, 0, 10);
    for (size_t i = 0; i < all->lane_count; i++)
        assert_int_equal(all->lanes[i].paused, all->lanes[i].tenant == TENANT);
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = 8;
    get->job_id = foreign;
    assert_int_equal(call(world, &get->op), ERR_OK);
    assert_int_equal(claim(world, A, NOW, get->jobs[0].lane, 10)->job_count, 1);
    for (int i = 0; i < 4; i++)
        set_paused(world, (const char *[]){"a", "b", "c", "d"}[i], false);
    for (size_t i = 0; i < array_count(held); i++)
        assert_int_equal(claimable(world, held[i]), 1);
}

static void a_queue_is_not_dropped_while_one_of_its_lanes_has_jobs_that_are_not_final(void **state)
{
    struct world *world = *state;
    int64_t ids[] = {add(world, (struct sample){.queue = "a"}),
                     add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT})};
    for (int i = 0; i < 2; i++) {
        struct store_drop *op = drop(world, TENANT, "a");
        assert_int_equal(op->op.err, ERR_QUEUE_NOT_EMPTY);
        assert_int_equal(op->open, 2 - i);
        end_job(world, ids[i]);
    }
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_OK);
    assert_false(is_listed(world, TENANT, "a"));
    for (int dispatch = TARGET_CALLED; dispatch < TARGET_DISPATCH_COUNT; dispatch++)
        assert_int_equal(list_lanes(world, (enum target_dispatch)dispatch, 0, 10)->lane_count, 0);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_NOT_FOUND);
    int64_t again = add(world, (struct sample){.queue = "a", .dispatch = TARGET_HANDED_OUT});
    assert_true(is_listed(world, TENANT, "a")); // under the id of the lane that is still dropped
    assert_int_equal(list_lanes(world, TARGET_NOT_DISPATCHED, 0, 10)->lanes[0].id, job_now(world, ids[0]).lane);
    assert_int_equal(list_lanes(world, TARGET_CALLED, 0, 10)->lane_count, 0);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_QUEUE_NOT_EMPTY);
    end_job(world, again);
    set_paused(world, "a", true);
    assert_int_equal(drop(world, TENANT, "a")->op.err, ERR_QUEUE_PAUSED);
}

static void a_task_whose_dispatch_changes_moves_its_jobs_to_another_lane(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a"}), was = job_now(world, id).lane;
    struct store_amend *amend = make_amend(world, id);
    amend->task.dispatch = TARGET_HANDED_OUT;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_int_not_equal(job_now(world, id).lane, was);
    assert_int_equal(get_job(world, id)->task.dispatch, TARGET_HANDED_OUT);
    assert_int_equal(list_lanes(world, TARGET_CALLED, 0, 10)->lanes[0].counts[JOB_READY], 0);
    assert_int_equal(list_lanes(world, TARGET_HANDED_OUT, 0, 10)->lanes[0].counts[JOB_DELAYED], 1);
}

// ---- counting

struct recount {
    int64_t by_tenant[3][JOB_STATE_COUNT]; // all, TENANT, TENANT + 1
    struct {
        int64_t id;
        int32_t tenant;
    } jobs[400];
    size_t count;
};

static void recount_now(struct world *world, struct recount *recount)
{
    memset(recount->by_tenant, 0, sizeof recount->by_tenant);
    for (size_t i = 0; i < recount->count; i++) {
        struct store_get *get = OP(world, store_get, STORE_GET);
        get->tenant = recount->jobs[i].tenant;
        get->job_id = recount->jobs[i].id;
        if (call(world, &get->op))
            continue;
        recount->by_tenant[0][get->jobs[0].state]++;
        recount->by_tenant[get->tenant - TENANT + 1][get->jobs[0].state]++;
    }
}

static void random_life(struct world *world, struct rand *rand, struct recount *recount)
{
    size_t at = recount->count ? rand_below(rand, recount->count) : 0;
    switch (rand_below(rand, 5)) {
    case 0:
        claim(world, A, NOW + 100, 1 + (int64_t)rand_below(rand, 4), rand_below(rand, 9));
        return;
    case 1:
        due(world, NOW, 0, NOW + (int64_t)rand_below(rand, 50), 3);
        return;
    case 2:
        sweep(world, NOW + (int64_t)rand_below(rand, 60), rand_below(rand, 4));
        return;
    case 3: {
        struct store_get *get = OP(world, store_get, STORE_GET);
        get->tenant = recount->jobs[at].tenant;
        get->job_id = recount->jobs[at].id;
        if (!recount->count || call(world, &get->op))
            return;
        struct job job = get->jobs[0];
        job.state = (uint8_t)rand_below(rand, JOB_STATE_COUNT);
        job.holder = A;
        job.purge_at = job_state_final(job.state) ? NOW + (int64_t)rand_below(rand, 60) : 0;
        assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
        return;
    }
    default: {
        struct sample sample = {.tenant = TENANT + (int32_t)rand_below(rand, 2), .due_at = NOW + (int64_t)rand_below(rand, 50)};
        sample.queue = rand_below(rand, 2) ? "q" : "r";
        sample.state = 1 + rand_below(rand, 2);
        recount->jobs[recount->count].tenant = sample.tenant;
        recount->jobs[recount->count++].id = add(world, sample);
    }
    }
}

static void the_counters_equal_a_recount(void **state)
{
    struct world *world = *state;
    struct recount *recount = world_mem(world, sizeof *recount);
    struct rand rand;
    rand_init(&rand, 42);
    for (int step = 0; step < 400; step++) {
        random_life(world, &rand, recount);
        if (step % 50 != 49)
            continue;
        recount_now(world, recount);
        for (int i = 0; i < 3; i++)
            assert_stats(world, i ? TENANT + i - 1 : 0, recount->by_tenant[i]);
    }
}

int contract_lanes(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(lanes_are_listed_with_what_waits_in_them),
        PROMISE(pausing_makes_a_lane_that_is_not_there),
        PROMISE(a_dropped_lane_is_left_out_and_its_final_jobs_are_not),
        PROMISE(a_lane_is_not_dropped_while_it_has_jobs_that_are_not_final),
        PROMISE(a_paused_lane_is_not_dropped),
        PROMISE(a_lane_that_is_absent_foreign_or_dropped_is_not_found),
        PROMISE(a_dropped_lane_comes_back_with_the_next_job_and_stays),
        PROMISE(a_dropped_lane_comes_back_with_another_job_of_a_task),
        PROMISE(a_dropped_lane_does_not_come_back_with_a_final_job),
        PROMISE(a_dropped_lane_does_not_come_back_with_what_could_not_be_added),
        PROMISE(a_dropped_lane_comes_back_with_a_job_that_is_moved_there_or_a_pause),
        PROMISE(what_is_called_and_what_is_handed_out_wait_in_lanes_of_their_own),
        PROMISE(lanes_are_listed_by_how_their_jobs_are_dispatched),
        PROMISE(a_queue_is_listed_once_with_all_that_its_lanes_have),
        PROMISE(a_pause_holds_all_lanes_of_a_queue_and_those_made_later),
        PROMISE(a_queue_is_not_dropped_while_one_of_its_lanes_has_jobs_that_are_not_final),
        PROMISE(a_task_whose_dispatch_changes_moves_its_jobs_to_another_lane),
        PROMISE(the_counters_equal_a_recount),
    };
    return cmocka_run_group_tests_name("store lanes", tests, NULL, NULL);
}
