// What store/jobs.h promises, tried on every backend: jobs that are claimed, promoted, leased, and found by those who look after
// them.
#include "store_contract.h"

static size_t ahead_of(struct world *world, int64_t lane, int priority, int64_t due_at, int64_t id, size_t max)
{
    struct store_ahead *ahead = OP(world, store_ahead, STORE_AHEAD);
    ahead->lane = lane;
    ahead->priority = priority;
    ahead->due_at = due_at;
    ahead->id = id;
    ahead->max = max;
    assert_int_equal(call(world, &ahead->op), ERR_OK);
    return ahead->count;
}

static void what_is_ahead_of_a_job_is_what_a_claim_takes_before_it(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){.due_at = NOW - 2}), second = add(world, (struct sample){.due_at = NOW - 1});
    int64_t third = add(world, (struct sample){.due_at = NOW - 1});
    add(world, (struct sample){.due_at = NOW + 1000});
    add(world, (struct sample){.priority = 9, .due_at = NOW - 1});
    add(world, (struct sample){.priority = 9, .due_at = NOW + 1000});
    add(world, (struct sample){.priority = 1, .due_at = NOW - 9});
    add(world, (struct sample){.queue = "other", .due_at = NOW - 9});
    add(world, (struct sample){.state = JOB_WATCHING, .holder = A, .due_at = NOW - 9});
    int64_t lane = lane_of(world, TENANT, "q");
    assert_int_equal(ahead_of(world, lane, 5, NOW - 2, first, 100), 0);
    assert_int_equal(ahead_of(world, lane, 5, NOW - 1, second, 100), 2); // the first, and the urgent one that is due
    assert_int_equal(ahead_of(world, lane, 5, NOW - 1, third, 100), 3);
    assert_int_equal(ahead_of(world, lane, 5, NOW - 1, third, 2), 2);
    assert_int_equal(ahead_of(world, lane, 0, NOW, third, 100), 5);
    assert_int_equal(ahead_of(world, lane + 99, 5, NOW, third, 100), 0);
    assert_int_equal(claim(world, A, NOW, lane, 3)->job_count, 3);
    assert_int_equal(ahead_of(world, lane, 5, NOW - 1, third, 100), 0); // what is in hand has been taken
}

// ---- claiming

static void a_claim_takes_highest_priority_then_earliest_then_lowest_id(void **state)
{
    struct world *world = *state;
    int64_t late = add(world, (struct sample){.due_at = NOW - 1});
    int64_t lowest = add(world, (struct sample){.due_at = NOW - 50, .priority = -1});
    int64_t early = add(world, (struct sample){.due_at = NOW - 20});
    int64_t same = add(world, (struct sample){.due_at = NOW - 20});
    int64_t highest = add(world, (struct sample){.due_at = NOW, .priority = 9});
    struct store_claim *op = claim(world, A, NOW, lane_of(world, TENANT, "q"), 100);
    ASSERT_IDS(op, highest, early, same, late, lowest);
    assert_int_equal(op->wants[0].next_due, TIME_NEVER);
}

static void a_claim_takes_at_most_what_was_asked_and_says_what_is_next(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){.due_at = NOW - 9});
    int64_t second = add(world, (struct sample){.due_at = NOW - 8});
    add(world, (struct sample){.due_at = NOW - 99, .priority = 1});
    struct store_claim *op = claim(world, A, NOW, lane_of(world, TENANT, "q"), 2);
    ASSERT_IDS(op, first, second);
    assert_int_equal(op->wants[0].next_due, NOW - 99);
}

static void a_claim_takes_no_more_bytes_than_were_asked_for(void **state)
{
    struct world *world = *state;
    struct str large = doc_of(world, 100000), small = doc_of(world, STORE_SMALL_DOC / 2);
    int64_t made[5];
    for (int i = 0; i < 5; i++)
        made[i] = add(world, (struct sample){.due_at = NOW - 10 + i, .doc = large});
    struct store_claim *op = claim_bytes(world, "q", 10, 250000);
    ASSERT_IDS(op, made[0], made[1]);
    assert_int_equal(op->jobs[1].doc.n, large.n);
    assert_int_equal(op->wants[0].next_due, NOW - 8);
    op = claim_bytes(world, "q", 10, 200000); // to the byte
    ASSERT_IDS(op, made[2], made[3]);
    op = claim_bytes(world, "q", 10, 1); // one at least: it may never become less
    ASSERT_IDS(op, made[4]);
    int64_t first = add(world, (struct sample){.queue = "r", .due_at = NOW - 3, .doc = small});
    int64_t second = add(world, (struct sample){.queue = "r", .due_at = NOW - 2, .doc = small});
    add(world, (struct sample){.queue = "r", .due_at = NOW - 1, .doc = large});
    int64_t least = add(world, (struct sample){.queue = "r", .due_at = NOW - 5, .priority = 1, .doc = small});
    op = claim_bytes(world, "r", 10, 50000);
    ASSERT_IDS(op, first, second); // what is behind a large one waits with it
    assert_int_equal(op->wants[0].next_due, NOW - 5);
    op = claim_bytes(world, "r", 10, 0); // without a bound
    assert_int_equal(op->job_count, 2);
    assert_int_equal(op->jobs[1].job.id, least);
    assert_int_equal(op->wants[0].next_due, TIME_NEVER);
}

static void a_claim_of_nothing_only_asks_when(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.due_at = NOW + 70, .state = JOB_DELAYED});
    add(world, (struct sample){.due_at = NOW + 60, .state = JOB_DELAYED, .priority = 2});
    struct store_claim *op = claim(world, A, NOW + 100, lane_of(world, TENANT, "q"), 0);
    assert_int_equal(op->job_count, 0);
    assert_int_equal(op->wants[0].next_due, NOW + 60);
    assert_int_equal(claim(world, A, NOW, 404, 1)->wants[0].next_due, TIME_NEVER);
}

static void what_is_due_later_is_not_claimed(void **state)
{
    struct world *world = *state;
    int64_t near = add(world, (struct sample){.due_at = NOW + 5000, .state = JOB_DELAYED});
    add(world, (struct sample){.due_at = NOW + 5001, .state = JOB_DELAYED});
    struct store_claim *op = claim(world, A, NOW + 5000, lane_of(world, TENANT, "q"), 10);
    ASSERT_IDS(op, near);
    assert_int_equal(op->wants[0].next_due, NOW + 5001);
}

static struct store_claim *claim_wanted(struct world *world, struct store_want *want)
{
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    op->holder = A;
    op->now_ms = op->until_ms = NOW;
    op->wants = want;
    op->want_count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void what_is_due_before_is_left_alone(void **state)
{
    struct world *world = *state;
    int64_t before = add(world, (struct sample){.due_at = NOW - 100});
    int64_t urgent = add(world, (struct sample){.due_at = NOW - 60, .priority = 9});
    int64_t later = add(world, (struct sample){.due_at = NOW - 40});
    int64_t next = add(world, (struct sample){.due_at = NOW + 40});
    struct store_want want = {.lane = lane_of(world, TENANT, "q"), .max = 5, .from_ms = NOW - 60};
    struct store_claim *op = claim_wanted(world, &want);
    ASSERT_IDS(op, urgent, later);
    assert_int_equal(want.next_due, NOW + 40);
    assert_int_equal(job_now(world, before).state, JOB_READY);
    assert_int_equal(job_now(world, next).state, JOB_READY);
    ASSERT_IDS(claim(world, A, NOW, want.lane, 5), before);
}

// Whoever goes on from where a claim ended finds all that is left, also of one millisecond and of several priorities.
static void who_goes_on_from_next_id_finds_the_rest(void **state)
{
    struct world *world = *state;
    enum { JOBS = 9, EACH = 2 };
    for (int i = 0; i < JOBS; i++)
        add(world, (struct sample){.due_at = NOW - 10 + i / 6, .priority = i % 3});
    struct store_want want = {.lane = lane_of(world, TENANT, "q"), .max = EACH};
    size_t found = 0;
    while (want.next_due != TIME_NEVER) {
        const struct store_claim *op = claim_wanted(world, &want);
        assert_int_equal(op->job_count, found + EACH > JOBS ? JOBS - found : EACH);
        found += op->job_count;
        want.from_ms = want.next_due;
        want.from_id = want.next_id;
    }
    assert_int_equal(found, JOBS);
}

static void blocked_held_and_final_jobs_are_not_claimed(void **state)
{
    struct world *world = *state;
    for (int state_of = 0; state_of < JOB_STATE_COUNT; state_of++) {
        struct job job = job_now(world, add(world, (struct sample){.holder = A}));
        job.state = (uint8_t)state_of;
        assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    }
    struct store_claim *op = claim(world, A, NOW, lane_of(world, TENANT, "q"), 100);
    assert_int_equal(op->job_count, 2); // the delayed and the ready one
}

static void claimed_records_are_as_core_leaves_them(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.response = STR("of an earlier attempt")});
    struct job expected = job_now(world, id);
    assert_int_equal(job_claim(&expected, A, NOW), ERR_OK);
    struct store_claim *op = claim(world, A, NOW, expected.lane, 1);
    struct job stored = job_now(world, id);
    struct job *both[] = {&op->jobs[0].job, &stored};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(both[i]->state, JOB_WATCHING);
        assert_int_equal(both[i]->holder, A);
        assert_int_equal(both[i]->token, expected.token);
        assert_int_equal(both[i]->picked_at, NOW);
        assert_int_equal(both[i]->response.n, 0);
        assert_int_equal(both[i]->outcome, OUTCOME_NONE);
    }
    assert_true(str_is(op->jobs[0].doc, "{\"url\":\"http://localhost/\"}"));
}

static void a_paused_lane_gives_nothing_until_it_is_let_go(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct store_pause *pause = OP(world, store_pause, STORE_PAUSE);
    pause->tenant = TENANT;
    pause->queue = STR("q");
    pause->paused = true;
    call(world, &pause->op);
    struct store_claim *op = claim(world, A, NOW, pause->lane, 10);
    assert_int_equal(op->job_count, 0);
    assert_int_equal(op->wants[0].next_due, NOW);
    pause->paused = false;
    call(world, &pause->op);
    ASSERT_IDS(claim(world, A, NOW, pause->lane, 10), id);
}

static void lanes_are_claimed_in_the_order_they_are_wanted(void **state)
{
    struct world *world = *state;
    int64_t a = add(world, (struct sample){.queue = "a"}), b = add(world, (struct sample){.queue = "b"});
    struct store_want wants[] = {{.lane = lane_of(world, TENANT, "b"), .max = 5},
                                 {.lane = lane_of(world, TENANT, "a"), .max = 5}};
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    op->wants = wants;
    op->want_count = 2;
    op->holder = A;
    op->until_ms = NOW;
    assert_int_equal(call(world, &op->op), ERR_OK);
    ASSERT_IDS(op, b, a);
}

static void the_dead_and_the_unknown_claim_nothing(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    int64_t lane = job_now(world, id).lane;
    claim(world, A, NOW - 1, lane, 1);
    bury(world, A);
    assert_int_equal(claim(world, A, NOW, lane, 1)->op.err, ERR_FENCED);
    assert_int_equal(claim(world, 404, NOW, lane, 1)->op.err, ERR_FENCED);
    assert_int_equal(job_now(world, id).state, JOB_READY);
}

// ---- time passing

static void delayed_jobs_become_ready_when_their_time_has_come(void **state)
{
    struct world *world = *state;
    int64_t past = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW});
    int64_t now = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 1, .priority = 1});
    int64_t last = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 9});
    int64_t later = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 10});
    int64_t elsewhere = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 1, .queue = "other"});
    struct store_due *op = due(world, NOW, 0, NOW + 9, 10);
    assert_int_equal(op->changed, 2);
    assert_int_equal(op->upto_ms, NOW + 9);
    assert_int_equal(job_now(world, past).state, JOB_DELAYED);
    assert_int_equal(job_now(world, now).state, JOB_READY);
    assert_int_equal(job_now(world, now).token, 1);
    assert_int_equal(job_now(world, last).state, JOB_READY);
    assert_int_equal(job_now(world, later).state, JOB_DELAYED);
    assert_int_equal(job_now(world, elsewhere).state, JOB_DELAYED);
}

static void promotion_goes_on_where_it_stopped(void **state)
{
    struct world *world = *state;
    enum { MANY = 25 };
    for (int i = 0; i < MANY; i++)
        add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 3 + i / 10, .priority = 1 + i % 9});
    struct store_due *op = due(world, NOW, 0, NOW + 100, 4);
    assert_int_equal(op->upto_ms, NOW + 2); // nothing of NOW + 3 is certain to be done
    size_t changed = op->changed;
    while (op->upto_ms < NOW + 100) {
        op = due(world, op->upto_ms, op->upto_id, NOW + 100, 4);
        changed += op->changed;
    }
    assert_int_equal(changed, MANY);
}

static void promotion_without_the_id_finds_the_rest_too(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 9; i++)
        add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 3});
    size_t changed = 0;
    for (struct store_due *op = due(world, NOW, 0, NOW + 3, 4);; op = due(world, op->upto_ms, 0, NOW + 3, 4)) {
        changed += op->changed;
        if (op->upto_ms == NOW + 3)
            break;
    }
    assert_int_equal(changed, 9);
}

static void what_an_incarnation_holds_is_listed_page_by_page(void **state)
{
    struct world *world = *state;
    int64_t mine[5];
    join(world, B);
    for (int i = 0; i < 5; i++)
        mine[i] = add(world, (struct sample){.state = i % 2 ? JOB_WATCHING : JOB_RESERVED, .holder = A, .due_at = NOW + 10 - i});
    add(world, (struct sample){.state = JOB_WATCHING, .holder = B});
    add(world, (struct sample){0});
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_HELD;
    op->holder = A;
    op->max = 3;
    assert_int_equal(call(world, &op->op), ERR_OK);
    ASSERT_IDS(op, mine[0], mine[1], mine[2]);
    assert_true(op->jobs[0].doc.n > 0);
    op->after_id = mine[2];
    assert_int_equal(call(world, &op->op), ERR_OK);
    ASSERT_IDS(op, mine[3], mine[4]);
}

static void what_did_not_start_in_time_is_listed_earliest_first(void **state)
{
    struct world *world = *state;
    int64_t second = add(world, (struct sample){.expires_at = NOW - 5});
    int64_t first = add(world, (struct sample){.expires_at = NOW - 6, .state = JOB_DELAYED});
    int64_t third = add(world, (struct sample){.expires_at = NOW});
    struct job job = job_now(world, third);
    job.state = JOB_BLOCKED;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    add(world, (struct sample){.expires_at = NOW + 1});
    add(world, (struct sample){0});
    add(world, (struct sample){.expires_at = NOW - 9, .state = JOB_RESERVED, .holder = A});
    add(world, (struct sample){.expires_at = NOW - 9, .state = JOB_SUCCESS});
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_EXPIRED;
    op->now_ms = NOW;
    op->max = 10;
    assert_int_equal(call(world, &op->op), ERR_OK);
    ASSERT_IDS(op, first, second, third);
    assert_true(op->jobs[0].doc.n > 0);
    op->max = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    ASSERT_IDS(op, first);
}

// ---- leases

enum { DETACHED = 1000 };

static enum err change_leased(struct world *world, const struct job *was, struct job job)
{
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    struct store_step step = {.token = was->token, .lease = was->lease_until, .job = &job};
    op->steps = &step;
    op->count = 1;
    op->bytes = job.result.n;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return step.err;
}

// A job whose attempt goes on elsewhere, until then.
static struct job lease(struct world *world, struct sample sample, int64_t until)
{
    sample.state = JOB_RESERVED;
    sample.holder = A;
    struct job was = job_now(world, add(world, sample)), job = was;
    const struct job_policy policy = {.timeout_ms = until};
    const struct job_result answer = {.status = 202, .response = STR("later"), .later = true};
    assert_int_equal(job_detach(&job, &policy, &answer), ERR_OK);
    assert_int_equal(change_leased(world, &was, job), ERR_OK);
    return job_now(world, was.id);
}

static void a_leased_job_is_in_nobodys_hand(void **state)
{
    struct world *world = *state;
    struct job job = lease(world, (struct sample){0}, NOW + 50);
    assert_int_equal(job.state, JOB_RESERVED);
    assert_int_equal(job.lease_until, NOW + 50);
    assert_int_equal(job.holder, A);
    assert_true(str_is(job.response, "later"));
    struct store_find *held = OP(world, store_find, STORE_FIND);
    held->what = STORE_FIND_HELD;
    held->holder = A;
    held->max = 10;
    assert_int_equal(call(world, &held->op), ERR_OK);
    assert_int_equal(held->job_count, 0);
    assert_int_equal(claim(world, A, NOW + DETACHED, job.lane, 10)->job_count, 0);
    bury(world, A);
    assert_int_equal(forget(world, A), ERR_OK);
    assert_int_equal(job_now(world, job.id).lease_until, NOW + 50);
}

static void a_job_is_not_added_with_a_lease(void **state)
{
    struct world *world = *state;
    struct job job = {.id = 900, .task_id = 900, .tenant = TENANT, .state = JOB_READY, .token = 1, .due_at = NOW};
    job.lease_until = NOW;
    job.result = STR("1");
    struct store_task task = {.id = 900, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = STR("q"), .doc = STR("{}")};
    struct store_new item = {.task = &task, .jobs = &job, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(job_now(world, 900).lease_until, 0);
    assert_int_equal(job_now(world, 900).result.n, 0);
}

static struct store_find *lapsed(struct world *world, int64_t now_ms, size_t max)
{
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_LEASES;
    op->now_ms = now_ms;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void leases_that_ran_out_are_listed_earliest_first(void **state)
{
    struct world *world = *state;
    int64_t third = lease(world, (struct sample){0}, NOW + 3).id, first = lease(world, (struct sample){0}, NOW + 1).id;
    int64_t second = lease(world, (struct sample){0}, NOW + 1).id;
    struct job longer = lease(world, (struct sample){0}, NOW + 2), was = longer,
               ended = lease(world, (struct sample){0}, NOW + 1);
    longer.lease_until = NOW + 9;
    longer.result = STR("\"half way\"");
    assert_int_equal(change_leased(world, &was, longer), ERR_OK);
    was = ended;
    ended.state = JOB_SUCCESS;
    ended.lease_until = 0;
    ended.token++;
    assert_int_equal(change_leased(world, &was, ended), ERR_OK);
    add(world, (struct sample){.state = JOB_RESERVED, .holder = A});
    assert_int_equal(lapsed(world, NOW, 10)->job_count, 0);
    ASSERT_IDS(lapsed(world, NOW + 1, 10), first, second);
    ASSERT_IDS(lapsed(world, NOW + 8, 10), first, second, third);
    ASSERT_IDS(lapsed(world, NOW + 8, 1), first);
    struct store_find *all = lapsed(world, NOW + 9, 10);
    ASSERT_IDS(all, first, second, third, longer.id);
    assert_true(str_is(all->jobs[3].job.result, "\"half way\""));
    assert_int_equal(all->jobs[3].job.lease_until, NOW + 9);
    assert_true(str_is(all->jobs[0].job.response, "later") && all->jobs[0].doc.n > 0);
}

// I3: of two who decided on one lease, the first wins.
static void a_change_names_the_lease_it_was_decided_on(void **state)
{
    struct world *world = *state;
    struct job was = lease(world, (struct sample){0}, NOW + 1), longer = was, over = was, unaware = was;
    longer.lease_until = NOW + 2;
    assert_int_equal(change_leased(world, &was, longer), ERR_OK); // the token stays
    over.state = JOB_READY;
    over.lease_until = 0;
    over.token++;
    assert_int_equal(change_leased(world, &was, over), ERR_MOVED_ON);
    unaware.lease_until = 0;
    assert_int_equal(change(world, was.token, unaware, NULL), ERR_MOVED_ON);
    assert_int_equal(job_now(world, was.id).state, JOB_RESERVED);
    assert_int_equal(job_now(world, was.id).lease_until, NOW + 2);
    assert_int_equal(change_leased(world, &longer, over), ERR_OK);
    struct job now = job_now(world, was.id);
    assert_int_equal(now.state, JOB_READY);
    assert_int_equal(now.lease_until, 0);
    struct store_claim *op = claim(world, A, NOW, now.lane, 10);
    ASSERT_IDS(op, was.id); // it waits in its lane again
    assert_int_equal(op->jobs[0].job.lease_until, 0);
}

static void a_result_is_kept_byte_for_byte_and_large_ones_are_left_out_of_lists(void **state)
{
    struct world *world = *state;
    static const size_t sizes[] = {1, STORE_LISTED_RESULT, STORE_LISTED_RESULT + 1, JOB_RESULT_MAX};
    for (size_t i = 0; i < array_count(sizes); i++) {
        struct job was = lease(world, (struct sample){0}, NOW + 1), job = was;
        char *bytes = world_mem(world, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            bytes[k] = (char)(k * 7 + i + 1);
        job.state = JOB_SUCCESS;
        job.lease_until = 0;
        job.token++;
        job.result = (struct str){bytes, sizes[i]};
        assert_int_equal(change_leased(world, &was, job), ERR_OK);
        struct job now = job_now(world, job.id);
        assert_true(str_eq(now.result, job.result) && !now.result_left_out);
        assert_int_equal(now.lease_until, 0);
        struct store_get *get = OP(world, store_get, STORE_GET);
        get->tenant = TENANT;
        get->task_id = job.id;
        get->max_jobs = 10;
        assert_int_equal(call(world, &get->op), ERR_OK);
        bool fits = sizes[i] <= STORE_LISTED_RESULT;
        assert_int_equal(get->jobs[0].result_left_out, !fits);
        assert_int_equal(get->jobs[0].result.n, fits ? sizes[i] : 0);
    }
}

static void who_names_no_tenant_reads_of_any(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.tenant = TENANT + 1});
    struct store_get *get = OP(world, store_get, STORE_GET);
    get->job_id = id;
    assert_int_equal(call(world, &get->op), ERR_OK);
    assert_int_equal(get->task.tenant, TENANT + 1);
    get->job_id = id + 1;
    assert_int_equal(call(world, &get->op), ERR_NOT_FOUND);
}

static void the_document_of_a_paused_task_has_no_bytes(void **state)
{
    struct world *world = *state;
    struct str large = doc_of(world, 100000);
    for (int i = 0; i < 3; i++) {
        struct store_amend *amend = make_amend(world, add(world, (struct sample){.due_at = NOW - 10 + i, .doc = large}));
        amend->count = 0; // the job waits as it did
        amend->task.paused = i == 1;
        assert_int_equal(call(world, &amend->op), ERR_OK);
    }
    struct store_claim *op = claim_bytes(world, "q", 10, 200000);
    assert_int_equal(op->job_count, 3);
    assert_int_equal(op->jobs[1].doc.n, 0);
}

// Pages of jobs with their documents, whoever asks for them.
struct page {
    const struct store_job *jobs;
    size_t count;
    bool more;
};

static struct page held_page(struct world *world, int64_t after_id, bool to_run)
{
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_HELD;
    op->holder = A;
    op->after_id = after_id;
    op->max = 100;
    op->to_run = to_run;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return (struct page){op->jobs, op->job_count, op->more};
}

static struct page expired_page(struct world *world)
{
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_EXPIRED;
    op->now_ms = NOW;
    op->max = 100;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return (struct page){op->jobs, op->job_count, op->more};
}

static struct page leases_page(struct world *world)
{
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_LEASES;
    op->now_ms = NOW + 100;
    op->max = 100;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return (struct page){op->jobs, op->job_count, op->more};
}

static void a_page_of_jobs_ends_when_their_documents_fill_it(void **state)
{
    struct world *world = *state;
    enum { SIZE = 1000000, FILL = 9, MORE = 3 };
    struct str large = doc_of(world, SIZE);
    int64_t held[FILL + MORE];
    for (int i = 0; i < FILL + MORE; i++) {
        held[i] = add(world, (struct sample){.state = JOB_WATCHING, .holder = A, .doc = large});
        add(world, (struct sample){.expires_at = NOW - 100 + i, .doc = large});
        lease(world, (struct sample){.doc = large}, i);
    }
    struct page pages[] = {held_page(world, 0, false), expired_page(world), leases_page(world)};
    for (size_t i = 0; i < array_count(pages); i++) {
        assert_int_equal(pages[i].count, FILL); // the one that reaches it is in it
        assert_int_equal(pages[i].jobs[FILL - 1].doc.n, SIZE);
        assert_true(pages[i].more);
    }
    struct page rest = held_page(world, held[FILL - 1], true);
    assert_int_equal(rest.count, MORE);
    assert_int_equal(rest.jobs[0].job.id, held[FILL]);
    assert_false(rest.more);
}

static void who_wants_to_run_gets_no_document_of_a_paused_task(void **state)
{
    struct world *world = *state;
    int64_t watched = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    int64_t runs = add(world, (struct sample){.state = JOB_RESERVED, .holder = A});
    for (int paused = 0; paused < 2; paused++) {
        for (int i = 0; i < 2; i++) {
            struct store_amend *amend = make_amend(world, i ? runs : watched);
            amend->task.paused = paused;
            assert_int_equal(call(world, &amend->op), ERR_OK);
        }
        for (int to_run = 0; to_run < 2; to_run++) {
            struct store_find *held = OP(world, store_find, STORE_FIND);
            held->what = STORE_FIND_HELD;
            held->holder = A;
            held->max = 10;
            held->to_run = to_run;
            assert_int_equal(call(world, &held->op), ERR_OK);
            ASSERT_IDS(held, watched, runs);
            assert_int_equal(held->jobs[0].doc.n == 0, paused && to_run);
            assert_true(held->jobs[1].doc.n > 0);
        }
    }
}

int contract_claims(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(what_is_ahead_of_a_job_is_what_a_claim_takes_before_it),
        PROMISE(a_claim_takes_highest_priority_then_earliest_then_lowest_id),
        PROMISE(a_claim_takes_at_most_what_was_asked_and_says_what_is_next),
        PROMISE(a_claim_takes_no_more_bytes_than_were_asked_for),
        PROMISE(the_document_of_a_paused_task_has_no_bytes),
        PROMISE(a_page_of_jobs_ends_when_their_documents_fill_it),
        PROMISE(a_claim_of_nothing_only_asks_when),
        PROMISE(what_is_due_later_is_not_claimed),
        PROMISE(what_is_due_before_is_left_alone),
        PROMISE(who_goes_on_from_next_id_finds_the_rest),
        PROMISE(blocked_held_and_final_jobs_are_not_claimed),
        PROMISE(claimed_records_are_as_core_leaves_them),
        PROMISE(a_paused_lane_gives_nothing_until_it_is_let_go),
        PROMISE(lanes_are_claimed_in_the_order_they_are_wanted),
        PROMISE(the_dead_and_the_unknown_claim_nothing),
        PROMISE(delayed_jobs_become_ready_when_their_time_has_come),
        PROMISE(promotion_goes_on_where_it_stopped),
        PROMISE(promotion_without_the_id_finds_the_rest_too),
        PROMISE(what_an_incarnation_holds_is_listed_page_by_page),
        PROMISE(what_did_not_start_in_time_is_listed_earliest_first),
        PROMISE(a_leased_job_is_in_nobodys_hand),
        PROMISE(a_job_is_not_added_with_a_lease),
        PROMISE(leases_that_ran_out_are_listed_earliest_first),
        PROMISE(a_change_names_the_lease_it_was_decided_on),
        PROMISE(a_result_is_kept_byte_for_byte_and_large_ones_are_left_out_of_lists),
        PROMISE(who_names_no_tenant_reads_of_any),
        PROMISE(who_wants_to_run_gets_no_document_of_a_paused_task),
    };
    return cmocka_run_group_tests_name("store claims", tests, NULL, NULL);
}
