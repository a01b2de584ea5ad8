// What store/jobs.h promises, tried on every backend: tasks and jobs that are added, read and swept.
#include "store_contract.h"

// ---- adding

static void what_was_added_is_read_back_as_it_was(void **state)
{
    struct world *world = *state;
    int64_t id = add(
        world, (struct sample){.queue = "mail", .doc = STR("{\"a\":1}"), .priority = 9, .due_at = NOW + 5, .state = JOB_DELAYED});
    struct store_get *get = get_job(world, id);
    assert_int_equal(get->op.err, ERR_OK);
    assert_int_equal(get->task.id, id);
    assert_int_equal(get->task.tenant, TENANT);
    assert_int_equal(get->task.created_at, NOW);
    assert_true(str_is(get->task.queue, "mail"));
    assert_true(str_is(get->task.name, "a name"));
    assert_true(str_is(get->task.doc, "{\"a\":1}"));
    assert_int_equal(get->jobs[0].priority, 9);
    assert_int_equal(get->jobs[0].due_at, NOW + 5);
    assert_int_equal(get->jobs[0].state, JOB_DELAYED);
    assert_int_equal(get->jobs[0].lane, lane_of(world, TENANT, "mail"));
}

static void bytes_of_any_value_are_kept(void **state)
{
    struct world *world = *state;
    char bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    struct str all = {bytes, sizeof bytes};
    int64_t id = add(world, (struct sample){.doc = all, .response = all});
    struct store_get *get = get_job(world, id);
    assert_true(str_eq(get->task.doc, all));
    assert_true(str_eq(get->jobs[0].response, all));
    struct store_claim *op = claim(world, A, NOW, get->jobs[0].lane, 1);
    assert_true(str_eq(op->jobs[0].doc, all));
    struct attempt attempt = {.job_id = id, .number = 1, .reason = {bytes, 256}};
    op->jobs[0].job.reason = (struct str){bytes, 256};
    assert_int_equal(change(world, op->jobs[0].job.token, op->jobs[0].job, &attempt), ERR_OK);
    get = get_job(world, id);
    assert_true(str_eq(get->jobs[0].reason, attempt.reason));
    assert_true(str_eq(get->attempts[0].reason, attempt.reason));
}

static void a_key_adds_its_task_once(void **state)
{
    struct world *world = *state;
    enum err err;
    int64_t id = add(world, (struct sample){.key = STR("k"), .digest = 1});
    struct store_new *again = try_add(world, (struct sample){.key = STR("k"), .digest = 1}, &err);
    assert_int_equal(again->err, ERR_OK);
    assert_int_equal(again->existing_id, id);
    assert_int_equal(get_job(world, again->task->id)->op.err, ERR_NOT_FOUND);
}

static void a_key_with_another_digest_is_refused(void **state)
{
    struct world *world = *state;
    enum err err;
    int64_t id = add(world, (struct sample){.key = STR("k"), .digest = 1});
    struct store_new *other = try_add(world, (struct sample){.key = STR("k"), .digest = 2}, &err);
    assert_int_equal(err, ERR_OK);
    assert_int_equal(other->err, ERR_KEY_REUSED);
    assert_int_equal(other->existing_id, id);
}

static void keys_of_two_tenants_do_not_meet(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.key = STR("k")});
    assert_int_not_equal(add(world, (struct sample){.key = STR("k"), .tenant = 8, .digest = 9}), id);
}

static void of_two_items_with_one_key_the_second_finds_the_first(void **state)
{
    struct world *world = *state;
    struct sample samples[] = {
        {.key = STR("k"), .digest = 1}, {.key = STR("k"), .digest = 1}, {.key = STR("k"), .digest = 2}, {0}};
    struct store_add *op = add_many(world, samples, array_count(samples));
    assert_int_equal(op->items[0].existing_id, 0);
    assert_int_equal(op->items[1].existing_id, op->items[0].task->id);
    assert_int_equal(op->items[1].err, ERR_OK);
    assert_int_equal(op->items[2].err, ERR_KEY_REUSED);
    assert_int_equal(op->items[3].err, ERR_OK);
    assert_int_equal(get_job(world, op->items[3].task->id)->op.err, ERR_OK);
}

static void a_key_outlives_its_task_for_the_time_it_was_given(void **state)
{
    struct world *world = *state;
    enum err err;
    struct sample final = {.state = JOB_SUCCESS, .purge_at = NOW + 10, .key = STR("k")};
    int64_t id = add(world, final);
    sweep(world, NOW + 9, 10);
    assert_int_equal(try_add(world, final, &err)->existing_id, id); // its task is there
    assert_int_equal(sweep(world, NOW + 10, 10), 1);
    assert_int_equal(get_job(world, id)->op.err, ERR_NOT_FOUND);
    sweep(world, NOW + 10 + KEYS_KEPT - 1, 10);
    assert_int_equal(try_add(world, final, &err)->existing_id, id); // its task is gone, its time is not over
    sweep(world, NOW + 10 + KEYS_KEPT, 10);
    assert_int_not_equal(add(world, final), id);
}

static void jobs_can_be_added_to_a_task_that_exists(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "mail"});
    struct job job = {.id = ++world->last_id, .task_id = id, .tenant = TENANT, .parent_id = id, .state = JOB_READY, .token = 1};
    struct store_new item = {.jobs = &job, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    assert_int_equal(job.lane, lane_of(world, TENANT, "mail"));
    assert_int_equal(job_now(world, job.id).parent_id, id);
}

static void jobs_for_a_task_that_is_gone_or_foreign_are_refused(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.tenant = 8});
    struct job jobs[] = {{.id = 1, .task_id = 404, .tenant = TENANT, .state = JOB_READY},
                         {.id = 2, .task_id = id, .tenant = TENANT, .state = JOB_READY}};
    struct store_new items[] = {{.jobs = &jobs[0], .job_count = 1}, {.jobs = &jobs[1], .job_count = 1}};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = items;
    op->count = 2;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(items[0].err, ERR_NOT_FOUND);
    assert_int_equal(items[1].err, ERR_NOT_FOUND);
    assert_int_equal(get_job(world, 2)->op.err, ERR_NOT_FOUND);
}

static void an_id_that_is_taken_fails_its_item_only(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.doc = STR("first")});
    world->last_id--;
    struct sample samples[] = {{.doc = STR("second")}, {0}};
    struct store_add *op = add_many(world, samples, 2);
    assert_int_equal(op->items[0].err, ERR_INTERNAL);
    assert_int_equal(op->items[1].err, ERR_OK);
    assert_true(str_is(get_job(world, id)->task.doc, "first"));
    assert_int_equal(get_job(world, op->items[1].task->id)->op.err, ERR_OK);
    // Also when only its second job collides: then neither its task nor its first job stays.
    struct store_task task = {.id = 5, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = STR("q")};
    struct job jobs[] = {{.id = 5, .task_id = 5, .tenant = TENANT, .state = JOB_READY},
                         {.id = id, .task_id = 5, .tenant = TENANT, .state = JOB_READY}};
    struct store_new item = {.task = &task, .jobs = jobs, .job_count = 2, .key = STR("k")};
    op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_INTERNAL);
    assert_int_equal(get_job(world, 5)->op.err, ERR_NOT_FOUND);
    assert_int_equal(job_now(world, id).task_id, id);
    assert_int_equal(claim(world, A, NOW, job_now(world, id).lane, 100)->job_count, 2);
}

// Some are taken by a task, others only by a job.
static void ids_that_are_taken_fail_their_items_only_among_many(void **state)
{
    struct world *world = *state;
    enum { MANY = 200 };
    int64_t before = world->last_id, first = before + 1000;
    struct job job = {.task_id = add(world, (struct sample){0}), .id = first + 130, .tenant = TENANT, .state = JOB_READY};
    struct store_new other = {.jobs = &job, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &other;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    const int taken[] = {0, 77, 199};
    for (size_t i = 0; i < array_count(taken); i++) {
        world->last_id = first + taken[i] - 1;
        add(world, (struct sample){.doc = STR("old")});
    }
    world->last_id = first - 1;
    struct sample *samples = world_mem(world, MANY * sizeof *samples);
    op = add_many(world, samples, MANY);
    for (int i = 0; i < MANY; i++) {
        bool is_taken = i == 0 || i == 77 || i == 130 || i == 199;
        assert_int_equal(op->items[i].task->id, first + i);
        assert_int_equal(op->items[i].err, is_taken ? ERR_INTERNAL : ERR_OK);
    }
    assert_true(str_is(get_job(world, first + 77)->task.doc, "old"));
    assert_int_equal(job_now(world, first + 130).task_id, job.task_id);
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = TENANT;
    get->task_id = first + 130;
    assert_int_equal(call(world, &get->op), ERR_NOT_FOUND);
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    call(world, &stats->op);
    assert_int_equal(stats->counts[JOB_READY], 2 + 3 + MANY - 4);
    assert_int_equal(claim(world, A, NOW, lane_of(world, TENANT, "q"), 1000)->job_count, 2 + 3 + MANY - 4);
}

static void jobs_can_be_added_in_hand(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    assert_int_equal(claim(world, A, NOW, job_now(world, id).lane, 10)->job_count, 0);
    struct store_find *held = OP(world, store_find, STORE_FIND);
    held->what = STORE_FIND_HELD;
    held->holder = A;
    held->max = 10;
    call(world, &held->op);
    ASSERT_IDS(held, id);
}

static void nothing_is_added_in_the_hand_of_the_dead_or_unknown(void **state)
{
    struct world *world = *state;
    struct sample samples[] = {{0}, {.state = JOB_WATCHING, .holder = A}};
    bury(world, A);
    for (int round = 0; round < 2; round++) {
        struct store_add *op = add_many(world, samples, 2);
        assert_int_equal(op->op.err, ERR_FENCED);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(op->items[i].err, ERR_FENCED);
            assert_int_equal(get_job(world, op->items[i].task->id)->op.err, ERR_NOT_FOUND);
        }
        samples[1].holder = 404;
    }
}

// Its node number may be another's by now, and so may be its ids.
static void nothing_is_added_by_the_dead_or_unknown_even_if_it_is_in_nobodys_hand(void **state)
{
    struct world *world = *state;
    int64_t holders[] = {A, 404};
    bury(world, A);
    for (int i = 0; i < 2; i++) {
        struct sample sample = {0};
        struct store_task task;
        struct job job;
        struct store_new item;
        sample_fill(world, &sample, &task, &job, &item);
        struct store_add *op = OP(world, store_add, STORE_ADD);
        op->now_ms = NOW;
        op->holder = holders[i];
        op->items = &item;
        op->count = 1;
        assert_int_equal(call(world, &op->op), ERR_FENCED);
        assert_int_equal(get_job(world, task.id)->op.err, ERR_NOT_FOUND);
    }
}

static void ten_thousand_are_added_at_once(void **state)
{
    struct world *world = *state;
    enum { MANY = 10000 };
    struct sample *samples = world_mem(world, MANY * sizeof *samples);
    struct store_add *op = add_many(world, samples, MANY);
    assert_int_equal(op->op.err, ERR_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(op->items[i].err, ERR_OK);
    struct store_claim *taken = claim(world, A, NOW, op->items[0].jobs[0].lane, MANY + 1);
    assert_int_equal(taken->job_count, MANY);
    for (size_t i = 0; i < MANY; i++)
        assert_int_equal(taken->jobs[i].job.id, op->items[i].task->id);
}

// ---- removing

static void sweeping_removes_what_retention_lets_go_earliest_first(void **state)
{
    struct world *world = *state;
    int64_t later = add(world, (struct sample){.state = JOB_SUCCESS, .purge_at = NOW});
    int64_t sooner = add(world, (struct sample){.state = JOB_ABORTED, .purge_at = NOW - 1});
    int64_t future = add(world, (struct sample){.state = JOB_CANCELLED, .purge_at = NOW + 1});
    int64_t forever = add(world, (struct sample){.state = JOB_SUCCESS});
    int64_t waiting = add(world, (struct sample){.purge_at = NOW - 1});
    assert_int_equal(sweep(world, NOW, 1), 1);
    assert_int_equal(get_job(world, sooner)->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_job(world, later)->op.err, ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_int_equal(get_job(world, later)->op.err, ERR_NOT_FOUND);
    assert_int_equal(get_job(world, future)->op.err, ERR_OK);
    assert_int_equal(get_job(world, forever)->op.err, ERR_OK);
    assert_int_equal(get_job(world, waiting)->op.err, ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 0);
}

static void a_task_goes_with_its_last_job_and_attempts_with_theirs(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_ABORTED, .purge_at = NOW});
    struct job first = job_now(world, id);
    struct attempt attempt = {.job_id = id, .number = 1};
    assert_int_equal(change(world, first.token, first, &attempt), ERR_OK);
    struct job again = {.id = ++world->last_id, .task_id = id, .tenant = TENANT, .state = JOB_SUCCESS, .purge_at = NOW + 1};
    struct store_new item = {.jobs = &again, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(sweep(world, NOW, 10), 1);
    struct store_get *get = get_job(world, again.id);
    assert_int_equal(get->op.err, ERR_OK);
    assert_int_equal(get->task.id, id);
    assert_int_equal(sweep(world, NOW + 1, 10), 1);
    get = OP(world, store_get, STORE_GET);
    get->tenant = TENANT;
    get->task_id = id;
    assert_int_equal(call(world, &get->op), ERR_NOT_FOUND);
    // Were its attempts left behind, a job with the same number would show them.
    world->last_id = id - 1;
    assert_int_equal(add(world, (struct sample){0}), id);
    assert_int_equal(get_job(world, id)->attempt_count, 0);
}

// ---- reading

static void a_task_is_read_with_its_newest_jobs(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.scheduled_at = NOW + 2});
    int64_t planned[] = {NOW + 1, NOW + 3, NOW + 2};
    struct job jobs[3];
    struct store_new item = {.jobs = jobs, .job_count = 3};
    for (int i = 0; i < 3; i++)
        jobs[i] = (struct job){.id = id + 1 + i, .task_id = id, .tenant = TENANT, .state = JOB_READY, .scheduled_at = planned[i]};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (int i = 0; i < 3; i++) {
        struct attempt attempt = {.job_id = id + 1 + i, .number = 1};
        assert_int_equal(change(world, 0, jobs[i], &attempt), ERR_OK);
    }
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = TENANT;
    get->task_id = id;
    get->max_jobs = 3;
    assert_int_equal(call(world, &get->op), ERR_OK);
    assert_int_equal(get->job_count, 3);
    assert_int_equal(get->jobs[0].id, id + 2);
    assert_int_equal(get->jobs[1].id, id + 3); // planned for the same time as the first job, and a larger id
    assert_int_equal(get->jobs[2].id, id);
    assert_int_equal(get->attempt_count, 2);
    assert_int_equal(get->attempts[0].job_id, id + 2);
    assert_int_equal(get->attempts[1].job_id, id + 3);
}

// Whoever cancels a task must find what is left of it behind any number of jobs that have ended since.
static void open_jobs_can_be_asked_for_first(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.scheduled_at = NOW});
    struct job jobs[2];
    struct store_new item = {.jobs = jobs, .job_count = 2};
    for (int i = 0; i < 2; i++)
        jobs[i] = (struct job){
            .id = id + 1 + i, .task_id = id, .tenant = TENANT, .state = i ? JOB_SUCCESS : JOB_READY, .scheduled_at = NOW + i};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->tenant = TENANT;
    get->task_id = id;
    get->max_jobs = 3;
    get->open_first = true;
    assert_int_equal(call(world, &get->op), ERR_OK);
    assert_int_equal(get->job_count, 3);
    assert_int_equal(get->jobs[0].id, id + 1);
    assert_int_equal(get->jobs[1].id, id);
    assert_int_equal(get->jobs[2].id, id + 2);
}

static void another_tenants_task_is_not_found(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.tenant = 8});
    struct store_get *get = get_job(world, id);
    assert_int_equal(get->op.err, ERR_NOT_FOUND);
    assert_int_equal(get->job_count, 0);
    assert_int_equal(get->task.id, 0);
    get->job_id = 0;
    get->task_id = id;
    assert_int_equal(call(world, &get->op), ERR_NOT_FOUND);
    get->task_id = 404;
    assert_int_equal(call(world, &get->op), ERR_NOT_FOUND);
}

int contract_jobs(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(what_was_added_is_read_back_as_it_was),
        PROMISE(bytes_of_any_value_are_kept),
        PROMISE(a_key_adds_its_task_once),
        PROMISE(a_key_with_another_digest_is_refused),
        PROMISE(keys_of_two_tenants_do_not_meet),
        PROMISE(of_two_items_with_one_key_the_second_finds_the_first),
        PROMISE(a_key_outlives_its_task_for_the_time_it_was_given),
        PROMISE(jobs_can_be_added_to_a_task_that_exists),
        PROMISE(jobs_for_a_task_that_is_gone_or_foreign_are_refused),
        PROMISE(an_id_that_is_taken_fails_its_item_only),
        PROMISE(ids_that_are_taken_fail_their_items_only_among_many),
        PROMISE(jobs_can_be_added_in_hand),
        PROMISE(nothing_is_added_in_the_hand_of_the_dead_or_unknown),
        PROMISE(nothing_is_added_by_the_dead_or_unknown_even_if_it_is_in_nobodys_hand),
        PROMISE(ten_thousand_are_added_at_once),
        PROMISE(sweeping_removes_what_retention_lets_go_earliest_first),
        PROMISE(a_task_goes_with_its_last_job_and_attempts_with_theirs),
        PROMISE(a_task_is_read_with_its_newest_jobs),
        PROMISE(open_jobs_can_be_asked_for_first),
        PROMISE(another_tenants_task_is_not_found),
    };
    return cmocka_run_group_tests_name("store jobs", tests, NULL, NULL);
}
