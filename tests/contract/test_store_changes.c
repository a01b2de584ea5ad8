// What store/jobs.h promises, tried on every backend: jobs that change, and tasks that are amended or removed.
#include "store_contract.h"

#include "core/id.h"

// ---- changing

static void a_change_on_an_old_token_is_refused(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct store_claim *op = claim(world, A, NOW, job_now(world, id).lane, 1);
    struct job job = op->jobs[0].job;
    assert_int_equal(job_release(&job, NOW, NOW), ERR_OK);
    assert_int_equal(change(world, op->jobs[0].job.token, job, NULL), ERR_OK);
    struct job late = op->jobs[0].job;
    late.state = JOB_SUCCESS;
    struct attempt attempt = {.job_id = id, .number = 1};
    assert_int_equal(change(world, op->jobs[0].job.token, late, &attempt), ERR_MOVED_ON);
    assert_int_equal(job_now(world, id).state, JOB_READY);
    assert_int_equal(get_job(world, id)->attempt_count, 0);
}

static void a_change_decided_while_it_was_watched_is_refused_once_it_has_begun(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct job watched = claim(world, A, NOW, job_now(world, id).lane, 1)->jobs[0].job, begun = watched;
    struct job_policy policy = {.sla_ms = 1000};
    assert_int_equal(job_start(&begun, &policy, NOW), ERR_OK);
    assert_int_equal(change(world, watched.token, begun, NULL), ERR_OK); // the token stays
    struct job lost = watched;
    lost.state = JOB_READY;
    struct store_step step = {.token = watched.token, .watched = true, .job = &lost};
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = &step;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(step.err, ERR_MOVED_ON);
    assert_int_equal(job_now(world, id).state, JOB_RESERVED);
}

static void a_change_of_what_is_gone_says_so(void **state)
{
    struct world *world = *state;
    assert_int_equal(change(world, 1, (struct job){.id = 404}, NULL), ERR_NOT_FOUND);
}

static void steps_of_a_batch_succeed_or_fail_one_by_one(void **state)
{
    struct world *world = *state;
    struct job jobs[] = {
        job_now(world, add(world, (struct sample){0})), {.id = 404}, job_now(world, add(world, (struct sample){0}))};
    struct store_step steps[3];
    for (int i = 0; i < 3; i++) {
        steps[i] = (struct store_step){.token = jobs[i].token, .job = &jobs[i]};
        jobs[i].state = JOB_CANCELLED;
    }
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = steps;
    op->count = 3;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(steps[0].err, ERR_OK);
    assert_int_equal(steps[1].err, ERR_NOT_FOUND);
    assert_int_equal(steps[2].err, ERR_OK);
    assert_int_equal(job_now(world, jobs[2].id).state, JOB_CANCELLED);
}

static void two_steps_of_one_job_follow_each_other(void **state)
{
    struct world *world = *state;
    struct job first = job_now(world, add(world, (struct sample){0})), second;
    struct store_step steps[] = {{.token = first.token, .job = &first}, {.token = first.token + 1, .job = &second}};
    assert_int_equal(job_claim(&first, A, NOW), ERR_OK);
    second = first;
    assert_int_equal(job_release(&second, NOW, NOW), ERR_OK);
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = steps;
    op->count = 2;
    call(world, &op->op);
    assert_int_equal(steps[0].err, ERR_OK);
    assert_int_equal(steps[1].err, ERR_OK);
    assert_int_equal(job_now(world, first.id).token, second.token);
}

// What a step of many is about: the record as it shall be, and on what it was decided.
enum { MANY_STEPS = 210, STEP_KINDS = 7 };

static enum err decide_one_of_many(int kind, struct job *job, struct store_step *step)
{
    struct job_policy policy = {.retry = {.max = 3, .delay_ms = 100}, .timeout_ms = 1000, .sla_ms = 1000, .ttl_ms = 5000};
    struct job_result result = {.outcome = OUTCOME_SUCCESS, .status = 200, .completed_at = NOW + 5, .response = STR("fine")};
    struct job_step left = {0};
    *step = (struct store_step){.token = job->token, .watched = true, .job = job};
    assert_int_equal(job_start(job, &policy, NOW), ERR_OK);
    if (kind == 1)
        step->token--; // decided on an old record
    if (kind == 2)
        result.outcome = OUTCOME_FAILED;
    if (kind == 3)
        return job_detach(job, &policy, &result);
    if (kind == 4)
        return ERR_OK; // it has only begun
    if (kind == 5)
        result.response = result.reason = (struct str){0};
    return job_finish(job, &policy, &result, 0, &left);
}

static void of_many_steps_each_is_judged_by_itself(void **state)
{
    struct world *world = *state;
    struct sample *samples = world_mem(world, MANY_STEPS * sizeof *samples);
    struct store_step *steps = world_mem(world, MANY_STEPS * sizeof *steps);
    struct job *jobs = world_mem(world, MANY_STEPS * sizeof *jobs);
    add_many(world, samples, MANY_STEPS);
    struct store_claim *taken = claim(world, A, NOW, lane_of(world, TENANT, "q"), MANY_STEPS);
    assert_int_equal(taken->job_count, MANY_STEPS);
    int64_t expected[JOB_STATE_COUNT] = {0};
    for (int i = 0; i < MANY_STEPS; i++) {
        struct job *job = &jobs[i];
        *job = taken->jobs[(i * 11) % MANY_STEPS].job; // in no order
        assert_int_equal(decide_one_of_many(i % STEP_KINDS, job, &steps[i]), ERR_OK);
        expected[i % STEP_KINDS == 1 || i % STEP_KINDS == 6 ? JOB_WATCHING : job->state]++;
        if (i % STEP_KINDS == 6)
            job->id += 1000000; // there is no such job
    }
    struct store_change *op = OP(world, store_change, STORE_CHANGE);
    op->steps = steps;
    op->count = MANY_STEPS;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (int i = 0; i < MANY_STEPS; i++) {
        int kind = i % STEP_KINDS;
        assert_int_equal(steps[i].err, kind == 1 ? ERR_MOVED_ON : kind == 6 ? ERR_NOT_FOUND : ERR_OK);
        struct job is = job_now(world, taken->jobs[(i * 11) % MANY_STEPS].job.id);
        assert_int_equal(is.state, kind == 1 || kind == 6 ? JOB_WATCHING : jobs[i].state);
        if (steps[i].err)
            continue;
        assert_int_equal(is.token, jobs[i].token);
        assert_int_equal(is.due_at, jobs[i].due_at);
        assert_int_equal(is.completed_at, jobs[i].completed_at);
        assert_int_equal(is.lease_until, jobs[i].lease_until);
        assert_true(str_eq(is.response, jobs[i].response));
    }
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    call(world, &stats->op);
    assert_memory_equal(stats->counts, expected, sizeof expected);
}

static void what_never_changes_does_not_change(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.priority = 9});
    struct job was = job_now(world, id), as = was;
    as.task_id = as.parent_id = as.lane = as.nominal_at = 99;
    as.tenant = 99;
    as.priority = 0;
    as.trigger = TRIGGER_RUN;
    as.due_at = NOW + 1;
    assert_int_equal(change(world, was.token, as, NULL), ERR_OK);
    struct job is = job_now(world, id);
    assert_int_equal(is.task_id, was.task_id);
    assert_int_equal(is.parent_id, was.parent_id);
    assert_int_equal(is.lane, was.lane);
    assert_int_equal(is.tenant, was.tenant);
    assert_int_equal(is.nominal_at, was.nominal_at);
    assert_int_equal(is.trigger, was.trigger);
    assert_int_equal(is.priority, 9);
    assert_int_equal(is.due_at, NOW + 1);
    ASSERT_IDS(claim(world, A, NOW + 1, was.lane, 1), id);
}

static void kept_attempts_are_read_by_number(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct job job = job_now(world, id);
    for (int number = 3; number >= 1; number--) {
        struct attempt attempt = {.job_id = id, .number = number, .status = 500 + number, .outcome = OUTCOME_FAILED};
        attempt.picked_at = 1;
        attempt.started_at = 2;
        attempt.completed_at = 3;
        attempt.holder = A;
        assert_int_equal(change(world, job.token, job, &attempt), ERR_OK);
    }
    struct store_get *get = get_job(world, id);
    assert_int_equal(get->attempt_count, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(get->attempts[i].number, i + 1);
        assert_int_equal(get->attempts[i].status, 501 + i);
        assert_int_equal(get->attempts[i].outcome, OUTCOME_FAILED);
        assert_int_equal(get->attempts[i].picked_at, 1);
        assert_int_equal(get->attempts[i].started_at, 2);
        assert_int_equal(get->attempts[i].completed_at, 3);
        assert_int_equal(get->attempts[i].holder, A);
    }
}

static void attempts_of_several_jobs_are_read_by_job(void **state)
{
    enum { JOBS = 5 };
    struct world *world = *state;
    for (int i = 0; i < JOBS; i++) {
        int64_t id = add(world, (struct sample){0});
        for (int number = 1; number <= 2; number++) {
            struct attempt attempt = {.job_id = id, .number = number, .outcome = OUTCOME_FAILED};
            struct job job = job_now(world, id);
            assert_int_equal(change(world, job.token, job, &attempt), ERR_OK);
        }
    }
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list *page = list(world, (struct store_list){.jobs = jobs});
        assert_int_equal(page->attempt_count, 2 * JOBS);
        for (size_t i = 1; i < page->attempt_count; i++) {
            const struct attempt *before = &page->attempts[i - 1], *attempt = &page->attempts[i];
            assert_true(before->job_id < attempt->job_id ||
                        (before->job_id == attempt->job_id && before->number < attempt->number));
        }
    }
}

static void what_an_attempt_was_answered_comes_with_its_job(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct job job = job_now(world, id);
    struct attempt attempts[] = {{.job_id = id,
                                  .number = 1,
                                  .status = 500,
                                  .outcome = OUTCOME_FAILED,
                                  .response = STR("no\0\xff"),
                                  .response_truncated = true},
                                 {.job_id = id, .number = 2, .outcome = OUTCOME_DNS_ERROR}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(change(world, job.token, job, &attempts[i]), ERR_OK);
    struct store_get *get = get_job(world, id);
    assert_true(get->attempt_count == 2 && str_eq(get->attempts[0].response, STR("no\0\xff")));
    assert_true(get->attempts[0].response_truncated && !get->attempts[1].response.n && !get->attempts[1].response_truncated);
    get = get_task(world, id);
    assert_true(get->attempt_count == 2 && !get->attempts[0].response.n && !get->attempts[0].response_truncated);
    struct store_list *page = list(world, (struct store_list){.jobs = true});
    assert_true(page->attempt_count == 2 && !page->attempts[0].response.n);
}

// A step that leaves another time behind says nothing of it, and leaves it as it is.
static void when_a_job_was_touched_is_kept_until_it_ends(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_DELAYED, .due_at = NOW + 50});
    assert_int_equal(job_now(world, id).touched_at, 0);
    struct job job = job_now(world, id);
    job.touched_at = NOW + 1;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(job_now(world, id).touched_at, NOW + 1);
    job.touched_at = 0;
    job.due_at++;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(job_now(world, id).touched_at, NOW + 1);
    assert_int_equal(list(world, (struct store_list){.jobs = true})->found[0].touched_at, NOW + 1);
    claim(world, A, NOW + 60, job.lane, 1);
    assert_int_equal(job_now(world, id).touched_at, NOW + 1);
    job = job_now(world, id);
    int64_t token = job.token;
    struct job_step left;
    assert_int_equal(job_cancel(&job, &(struct job_policy){.ttl_ms = -1}, NOW + 70, STR("x"), &left), ERR_OK);
    assert_int_equal(change(world, token, job, NULL), ERR_OK);
    assert_int_equal(job_now(world, id).touched_at, 0);
}

// ---- amendments

static void an_amendment_changes_a_task_and_its_jobs(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "a"});
    assert_int_equal(get_task(world, id)->task.version, 1);
    struct store_amend *amend = make_amend(world, id);
    assert_int_equal(amend->count, 1);
    struct job job = *amend->steps[0].job;
    job.priority = 9;
    amend->steps[0].job = &job;
    amend->task.queue = STR("new");
    amend->task.name = STR("another name");
    amend->task.doc = STR("{\"url\":\"http://new/\"}");
    amend->task.paused = true;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    struct store_get *get = get_task(world, id);
    assert_true(get->task.version == 2 && get->task.paused && get->task.created_at == NOW);
    assert_true(str_is(get->task.queue, "new") && str_is(get->task.name, "another name"));
    assert_true(str_is(get->task.doc, "{\"url\":\"http://new/\"}"));
    assert_true(get->jobs[0].priority == 9 && get->jobs[0].token == 2 && get->jobs[0].due_at == NOW + 1000);
    assert_int_equal(get->jobs[0].lane, lane_of(world, TENANT, "new"));
    assert_int_equal(claim(world, A, NOW + 2000, lane_of(world, TENANT, "a"), 10)->job_count, 0);
    struct store_claim *taken = claim(world, A, NOW + 2000, lane_of(world, TENANT, "new"), 10);
    ASSERT_IDS(taken, id);
    assert_int_equal(taken->jobs[0].doc.n, 0); // its task is paused
}

static void an_amendment_of_what_has_moved_on_writes_nothing(void **state)
{
    struct world *world = *state;
    enum { OLD_VERSION, OLD_TOKEN, IN_HAND, ENDED, CASES };
    for (int i = 0; i < CASES; i++) {
        int64_t id = add(world, (struct sample){.queue = i == IN_HAND ? "hand" : "a"});
        struct store_amend *amend = make_amend(world, id);
        amend->task.doc = STR("{}");
        amend->task.queue = STR("b");
        amend->task.version -= i == OLD_VERSION;
        amend->steps[0].token -= i == OLD_TOKEN;
        if (i == IN_HAND)
            assert_int_equal(claim(world, A, NOW, lane_of(world, TENANT, "hand"), 1)->job_count, 1);
        struct job job = job_now(world, id);
        if (i == IN_HAND) // its token is known, but somebody has it
            amend->steps[0].token = job.token;
        if (i == ENDED) {
            job.state = JOB_CANCELLED;
            assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
        }
        assert_int_equal(call(world, &amend->op), ERR_MOVED_ON);
        struct store_get *get = get_task(world, id);
        assert_true(get->task.version == 1 && !str_is(get->task.doc, "{}") && !str_is(get->task.queue, "b"));
        assert_int_equal(get->jobs[0].state, job.state);
        assert_int_equal(get->jobs[0].due_at, NOW);
    }
}

static void an_amendment_of_what_is_absent_or_foreign_says_so(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){0});
    struct store_amend *amend = make_amend(world, id);
    amend->task.tenant = 8;
    assert_int_equal(call(world, &amend->op), ERR_NOT_FOUND);
    amend = make_amend(world, id);
    amend->task.id = 404;
    assert_int_equal(call(world, &amend->op), ERR_NOT_FOUND);
    assert_int_equal(get_task(world, id)->task.version, 1);
}

// ---- removing a task

static struct store_new *add_to(struct world *world, int64_t task_id, struct job job)
{
    struct store_add *op = OP(world, store_add, STORE_ADD);
    struct job *added = world_mem(world, sizeof *added);
    *added = job;
    added->id = ++world->last_id;
    added->task_id = task_id;
    added->tenant = TENANT;
    added->token = 1;
    op->items = world_mem(world, sizeof *op->items);
    op->items[0] = (struct store_new){.jobs = added, .job_count = 1};
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op->items;
}

static void nothing_is_left(struct world *world)
{
    struct store_stats *stats = OP(world, store_stats, STORE_STATS);
    assert_int_equal(call(world, &stats->op), ERR_OK);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        assert_int_equal(stats->counts[i], 0);
    for (int of = 0; of < 3; of++) {
        struct store_list *left = list(world, (struct store_list){.jobs = of > 0, .states = of > 1 ? 1u << JOB_CANCELLED : 0});
        assert_true(left->task_count == 0 && left->found_count == 0 && !left->more);
    }
    assert_int_equal(sweep(world, NOW + 1000000, 100), 0);
}

// Whoever runs a job of it finds nothing to write to, whatever became of it.
static void a_task_is_removed_with_all_its_jobs_also_those_that_run(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.queue = "hand"});
    struct job begun = claim(world, A, NOW, lane_of(world, TENANT, "hand"), 1)->jobs[0].job;
    begun.state = JOB_RESERVED;
    assert_int_equal(change(world, begun.token, begun, NULL), ERR_OK);
    struct job leased = add_to(world, id, (struct job){.state = JOB_RESERVED, .holder = A})->jobs[0];
    leased.lease_until = NOW + 5;
    leased.token++;
    struct attempt attempt = {.job_id = leased.id, .number = 1, .reason = STR("tried")};
    assert_int_equal(change(world, 1, leased, &attempt), ERR_OK);
    add_to(world, id, (struct job){.state = JOB_CANCELLED, .purge_at = NOW + 1});
    assert_int_equal(remove_task(world, id, false), ERR_OK);
    assert_int_equal(get_task(world, id)->op.err, ERR_NOT_FOUND);
    const struct job held[] = {begun, leased};
    for (size_t i = 0; i < array_count(held); i++) {
        assert_int_equal(get_job(world, held[i].id)->op.err, ERR_NOT_FOUND);
        for (int next = 0; next < JOB_STATE_COUNT; next++) {
            struct job job = held[i];
            job.state = (uint8_t)next;
            assert_int_equal(change(world, held[i].token, job, NULL), ERR_NOT_FOUND);
        }
    }
    nothing_is_left(world);
    assert_int_equal(add_to(world, id, (struct job){.state = JOB_READY})->err, ERR_NOT_FOUND);
    assert_int_equal(remove_task(world, id, false), ERR_NOT_FOUND);
    assert_int_equal(claim(world, A, NOW + 1000, lane_of(world, TENANT, "hand"), 10)->job_count, 0);
    struct store_find *lapsed = OP(world, store_find, STORE_FIND);
    lapsed->what = STORE_FIND_LEASES;
    lapsed->now_ms = NOW + 1000;
    lapsed->max = 10;
    assert_int_equal(call(world, &lapsed->op), ERR_OK);
    assert_int_equal(lapsed->job_count, 0);
    struct store_forget *forget = OP(world, store_forget, STORE_FORGET); // and its holder has nothing in hand any more
    forget->incarnation = A;
    assert_int_equal(call(world, &forget->op), ERR_OK);
    assert_true(try_join(world, 102)->id_floor >= leased.id);
}

static void a_task_is_not_removed_while_a_job_of_it_has_not_begun(void **state)
{
    static const enum job_state planned[] = {JOB_BLOCKED, JOB_DELAYED, JOB_READY, JOB_WATCHING};
    struct world *world = *state;
    for (size_t i = 0; i < array_count(planned); i++) {
        int64_t id = add(world, (struct sample){.state = JOB_SUCCESS});
        struct job open = {.state = (uint8_t)planned[i], .holder = planned[i] == JOB_WATCHING ? A : 0};
        struct job more = add_to(world, id, open)->jobs[0];
        assert_int_equal(remove_task(world, id, false), ERR_MOVED_ON);
        assert_int_equal(get_task(world, id)->job_count, 2);
        more.state = JOB_CANCELLED;
        assert_int_equal(change(world, 1, more, NULL), ERR_OK);
        assert_int_equal(remove_task(world, id, false), ERR_OK);
    }
    int64_t claimed = add(world, (struct sample){.queue = "hand"});
    claim(world, A, NOW, lane_of(world, TENANT, "hand"), 1);
    assert_int_equal(remove_task(world, claimed, false), ERR_MOVED_ON);
    assert_int_equal(job_now(world, claimed).state, JOB_WATCHING);
}

static void a_task_whose_jobs_must_have_ended_is_not_removed_while_one_runs(void **state)
{
    struct world *world = *state;
    int64_t own = add(world, (struct sample){.state = JOB_RESERVED, .holder = A});
    int64_t more = add(world, (struct sample){.state = JOB_SUCCESS});
    struct job added = add_to(world, more, (struct job){.state = JOB_RESERVED, .holder = A})->jobs[0];
    const int64_t tasks[] = {own, more}, running[] = {own, added.id};
    for (size_t i = 0; i < array_count(tasks); i++) {
        assert_int_equal(remove_task(world, tasks[i], true), ERR_MOVED_ON);
        assert_int_equal(get_task(world, tasks[i])->op.err, ERR_OK);
        struct job job = job_now(world, running[i]);
        job.state = JOB_CANCELLED;
        assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
        assert_int_equal(remove_task(world, tasks[i], true), ERR_OK);
    }
    nothing_is_left(world);
}

static void a_task_that_was_changed_or_is_foreign_is_not_removed(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS}), other = add(world, (struct sample){.tenant = 8});
    assert_int_equal(remove_task(world, other, false), ERR_NOT_FOUND);
    assert_int_equal(call(world, &make_amend(world, id)->op), ERR_OK);
    assert_int_equal(remove_task(world, id, false), ERR_MOVED_ON);
    assert_int_equal(get_task(world, id)->task.version, 2);
}

static void of_a_task_with_very_many_jobs_some_are_removed_at_a_time(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS, .key = STR("k")});
    for (int i = 0; i < 4; i++)
        add_to(world, id, (struct job){.state = JOB_ABORTED});
    enum err err;
    for (size_t left = 5; left; left = left > 2 ? left - 2 : 0) {
        assert_int_equal(get_task(world, id)->job_count, left);
        assert_int_equal(try_add(world, (struct sample){.key = STR("k")}, &err)->existing_id, id);
        struct store_remove *op = remove_of(world, id);
        op->max = 2;
        assert_int_equal(call(world, &op->op), ERR_OK);
        assert_int_equal(op->more, left > 2);
    }
    assert_int_equal(get_task(world, id)->op.err, ERR_NOT_FOUND);
    assert_int_equal(try_add(world, (struct sample){.key = STR("k")}, &err)->err, ERR_KEY_SPENT);
    nothing_is_left(world);
}

// All steps together judge each job once: what has not begun keeps a step from going on only when it would go with it.
static void a_removal_that_goes_on_judges_only_the_jobs_that_go(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS});
    for (int i = 0; i < 3; i++)
        add_to(world, id, (struct job){.state = JOB_ABORTED});
    struct job open = add_to(world, id, (struct job){.state = JOB_READY})->jobs[0];
    for (size_t left = 5; left > 1; left -= 2) {
        for (int goes_on = 0; goes_on < 2; goes_on++) {
            struct store_remove *op = remove_of(world, id);
            op->max = 2;
            op->goes_on = goes_on;
            assert_int_equal(call(world, &op->op), goes_on ? ERR_OK : ERR_MOVED_ON);
            assert_int_equal(op->more, goes_on);
        }
        assert_int_equal(get_task(world, id)->job_count, left - 2);
    }
    struct store_remove *last = remove_of(world, id);
    last->goes_on = true;
    assert_int_equal(call(world, &last->op), ERR_MOVED_ON);
    open.state = JOB_CANCELLED;
    assert_int_equal(change(world, 1, open, NULL), ERR_OK);
    last->version = 2;
    assert_int_equal(call(world, &last->op), ERR_MOVED_ON);
    last->version = 1;
    assert_int_equal(call(world, &last->op), ERR_OK);
    nothing_is_left(world);
}

// Also for another body: the key will not lead to a task again, whatever is sent with it.
static void the_key_of_a_removed_task_is_spent_until_its_time_is_over(void **state)
{
    struct world *world = *state;
    enum err err;
    struct sample keyed = {.state = JOB_SUCCESS, .key = STR("k"), .digest = 1}, other = {.key = STR("k"), .digest = 2};
    int64_t id = add(world, keyed);
    assert_int_equal(try_add(world, other, &err)->err, ERR_KEY_REUSED);
    assert_int_equal(remove_task(world, id, false), ERR_OK);
    const struct sample again[] = {keyed, other};
    for (size_t i = 0; i < array_count(again); i++) {
        struct store_new *item = try_add(world, again[i], &err);
        assert_int_equal(item->err, ERR_KEY_SPENT);
        assert_int_equal(item->existing_id, id);
        assert_int_equal(item->spent_at, NOW);
    }
    sweep(world, NOW + KEYS_KEPT - 1, 10);
    assert_int_equal(try_add(world, keyed, &err)->err, ERR_KEY_SPENT);
    sweep(world, NOW + KEYS_KEPT, 10);
    assert_int_not_equal(add(world, keyed), id);
}

// A document may become large after it was stored.
static void an_amendment_may_make_a_document_large(void **state)
{
    struct world *world = *state;
    struct str large = doc_of(world, 100000);
    for (int i = 0; i < 3; i++) {
        struct store_amend *amend = make_amend(world, add(world, (struct sample){.due_at = NOW - 10 + i}));
        amend->count = 0;
        amend->task.doc = large;
        assert_int_equal(call(world, &amend->op), ERR_OK);
    }
    assert_int_equal(claim_bytes(world, "q", 10, 250000)->job_count, 2);
}

static void when_an_ended_job_is_removed_can_be_changed(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS});
    struct job job = job_now(world, id);
    assert_int_equal(sweep(world, NOW + 1000000, 10), 0);
    job.purge_at = NOW + 7;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(job_now(world, id).purge_at, NOW + 7);
    assert_int_equal(sweep(world, NOW + 6, 10), 0);
    assert_int_equal(sweep(world, NOW + 7, 10), 1);
}

int contract_changes(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(an_amendment_may_make_a_document_large),
        PROMISE(a_change_on_an_old_token_is_refused),
        PROMISE(a_change_decided_while_it_was_watched_is_refused_once_it_has_begun),
        PROMISE(a_change_of_what_is_gone_says_so),
        PROMISE(steps_of_a_batch_succeed_or_fail_one_by_one),
        PROMISE(two_steps_of_one_job_follow_each_other),
        PROMISE(of_many_steps_each_is_judged_by_itself),
        PROMISE(what_never_changes_does_not_change),
        PROMISE(kept_attempts_are_read_by_number),
        PROMISE(attempts_of_several_jobs_are_read_by_job),
        PROMISE(what_an_attempt_was_answered_comes_with_its_job),
        PROMISE(when_a_job_was_touched_is_kept_until_it_ends),
        PROMISE(an_amendment_changes_a_task_and_its_jobs),
        PROMISE(an_amendment_of_what_has_moved_on_writes_nothing),
        PROMISE(an_amendment_of_what_is_absent_or_foreign_says_so),
        PROMISE(a_task_is_removed_with_all_its_jobs_also_those_that_run),
        PROMISE(a_task_is_not_removed_while_a_job_of_it_has_not_begun),
        PROMISE(a_task_whose_jobs_must_have_ended_is_not_removed_while_one_runs),
        PROMISE(a_task_that_was_changed_or_is_foreign_is_not_removed),
        PROMISE(of_a_task_with_very_many_jobs_some_are_removed_at_a_time),
        PROMISE(a_removal_that_goes_on_judges_only_the_jobs_that_go),
        PROMISE(the_key_of_a_removed_task_is_spent_until_its_time_is_over),
        PROMISE(when_an_ended_job_is_removed_can_be_changed),
    };
    return cmocka_run_group_tests_name("store changes", tests, NULL, NULL);
}
