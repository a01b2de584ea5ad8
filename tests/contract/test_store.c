// What the store port promises, tried on every backend. Each test is one sentence of store/store.h.
#include "core/id.h"
#include "store/journal.h"
#include "store/lives.h"
#include "store/peers.h"
#include "store_support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { A = 11, B = 22 }; // incarnations

static const char *scheme; // of the backend that is tried

static int set_up(void **state)
{
    struct world *world = world_new(scheme);
    join(world, A);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    world_free(*state);
    return 0;
}

static void assert_ids(const struct store_job *jobs, size_t count, const int64_t *ids, size_t expected)
{
    assert_int_equal(count, expected);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(jobs[i].job.id, ids[i]);
}
#define ASSERT_IDS(op, ...)                                                 \
    do {                                                                    \
        __typeof__(op) listed = (op);                                       \
        int64_t ids[] = {__VA_ARGS__};                                      \
        assert_ids(listed->jobs, listed->job_count, ids, array_count(ids)); \
    } while (0)

// ---- incarnations

static struct store_join *try_join(struct world *world, int64_t incarnation)
{
    struct store_join *op = OP(world, store_join, STORE_JOIN);
    op->incarnation = incarnation;
    call(world, &op->op);
    return op;
}

static struct store_beat *beat(struct world *world, int64_t incarnation)
{
    struct store_beat *op = OP(world, store_beat, STORE_BEAT);
    op->incarnation = incarnation;
    call(world, &op->op);
    return op;
}

static enum err try_bury(struct world *world, int64_t incarnation, int64_t beat_seen)
{
    struct store_bury *op = OP(world, store_bury, STORE_BURY);
    op->incarnation = incarnation;
    op->beat = beat_seen;
    return call(world, &op->op);
}

static enum err forget(struct world *world, int64_t incarnation)
{
    struct store_forget *op = OP(world, store_forget, STORE_FORGET);
    op->incarnation = incarnation;
    return call(world, &op->op);
}

static void no_two_incarnations_have_one_node_number(void **state)
{
    struct world *world = *state;
    assert_int_equal(try_join(world, 101)->node, 1); // A has 0
    assert_int_equal(try_join(world, 102)->node, 2);
    assert_int_equal(forget(world, 101), ERR_OK);
    assert_int_equal(try_join(world, 103)->node, 1);
    bury(world, 102);
    assert_int_equal(try_join(world, 104)->node, 3); // 102 is dead, but its numbers may still be on their way
}

static void joining_again_changes_nothing(void **state)
{
    struct world *world = *state;
    int node = try_join(world, 101)->node;
    beat(world, 101);
    assert_int_equal(try_join(world, 101)->node, node);
    assert_int_equal(beat(world, A)->peers[0].beat, 1);
}

static void a_dead_incarnation_cannot_join_again(void **state)
{
    struct world *world = *state;
    bury(world, A);
    assert_int_equal(try_join(world, A)->op.err, ERR_FENCED);
}

static void join_is_refused_when_the_numbers_are_used_up(void **state)
{
    struct world *world = *state;
    for (int i = 1; i < ID_NODES; i++)
        assert_int_equal(try_join(world, 1000 + i)->op.err, ERR_OK);
    assert_int_equal(try_join(world, 9999)->op.err, ERR_FENCED);
}

static void no_id_given_out_so_far_is_above_the_floor(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_SUCCESS, .purge_at = NOW});
    assert_true(try_join(world, 101)->id_floor >= id);
    assert_int_equal(sweep(world, NOW, 10), 1);
    assert_true(try_join(world, 102)->id_floor >= id); // also when it is gone already
}

static void a_beat_counts_up_and_shows_the_others(void **state)
{
    struct world *world = *state;
    join(world, 33);
    join(world, B);
    beat(world, B);
    beat(world, B);
    bury(world, 33);
    struct store_beat *seen = beat(world, A);
    assert_int_equal(seen->op.err, ERR_OK);
    assert_int_equal(seen->peer_count, 2);
    assert_int_equal(seen->peers[0].incarnation, B);
    assert_int_equal(seen->peers[0].beat, 2);
    assert_false(seen->peers[0].dead);
    assert_int_equal(seen->peers[1].incarnation, 33);
    assert_true(seen->peers[1].dead);
}

static void a_beat_of_the_dead_or_unknown_is_fenced(void **state)
{
    struct world *world = *state;
    bury(world, A);
    assert_int_equal(beat(world, A)->op.err, ERR_FENCED);
    assert_int_equal(beat(world, 404)->op.err, ERR_FENCED);
}

static void only_who_stands_still_is_buried(void **state)
{
    struct world *world = *state;
    beat(world, A);
    assert_int_equal(try_bury(world, A, 0), ERR_LEASE_LOST);
    assert_int_equal(beat(world, A)->op.err, ERR_OK);
    assert_int_equal(try_bury(world, A, 2), ERR_OK);
    assert_int_equal(try_bury(world, A, 77), ERR_OK); // dead already
    assert_int_equal(try_bury(world, 404, 0), ERR_OK);
    assert_int_equal(beat(world, A)->op.err, ERR_FENCED);
}

static void an_incarnation_that_holds_jobs_is_not_forgotten(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.state = JOB_WATCHING, .holder = A});
    assert_int_equal(forget(world, A), ERR_LEASE_LOST);
    struct job job = job_now(world, id);
    assert_int_equal(job_release(&job, NOW, NOW), ERR_OK);
    assert_int_equal(change(world, 1, job, NULL), ERR_OK);
    assert_int_equal(forget(world, A), ERR_OK);
    assert_int_equal(forget(world, A), ERR_OK);
    assert_int_equal(beat(world, A)->op.err, ERR_FENCED);
}

// ---- owners and wishes

static struct store_owners *owners(struct world *world)
{
    struct store_owners *op = OP(world, store_owners, STORE_OWNERS);
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static enum err divide(struct world *world, int64_t term, const struct store_owner *rows, size_t count)
{
    struct store_divide *op = OP(world, store_divide, STORE_DIVIDE);
    op->term = term;
    op->owners = rows;
    op->owner_count = count;
    return call(world, &op->op);
}

static void a_beat_shows_who_pulls(void **state)
{
    struct world *world = *state;
    struct store_join *pulls = OP(world, store_join, STORE_JOIN);
    pulls->incarnation = 101;
    pulls->pulls = true;
    assert_int_equal(call(world, &pulls->op), ERR_OK);
    try_join(world, 102);
    struct store_beat *seen = beat(world, A);
    assert_int_equal(seen->peer_count, 2);
    assert_true(seen->peers[0].pulls);
    assert_false(seen->peers[1].pulls);
}

static void buckets_are_divided_anew_in_a_new_term(void **state)
{
    struct world *world = *state;
    assert_int_equal(owners(world)->term, 0);
    assert_int_equal(owners(world)->owner_count, 0);
    const struct store_owner first[] = {{7, B}, {1023, A}, {7, A}};
    assert_int_equal(divide(world, 0, first, 3), ERR_OK);
    struct store_owners *now = owners(world);
    assert_int_equal(now->term, 1);
    assert_int_equal(now->owner_count, 3);
    assert_int_equal(now->owners[0].bucket, 7);
    assert_int_equal(now->owners[0].puller, A < B ? A : B);
    assert_int_equal(now->owners[1].puller, A < B ? B : A);
    assert_int_equal(now->owners[2].bucket, 1023);
    const struct store_owner second[] = {{7, B}, {8, B}}; // one stays, one comes, two go
    assert_int_equal(divide(world, 1, second, 2), ERR_OK);
    now = owners(world);
    assert_int_equal(now->term, 2);
    assert_int_equal(now->owner_count, 2);
    assert_int_equal(now->owners[0].puller, B);
    assert_int_equal(now->owners[1].bucket, 8);
    assert_int_equal(divide(world, 2, NULL, 0), ERR_OK);
    assert_int_equal(owners(world)->owner_count, 0);
    assert_int_equal(owners(world)->term, 3);
}

static void who_divides_in_an_old_term_is_refused(void **state)
{
    struct world *world = *state;
    const struct store_owner mine[] = {{1, A}}, late[] = {{1, B}};
    assert_int_equal(divide(world, 5, late, 1), ERR_LEASE_LOST);
    assert_int_equal(divide(world, 0, mine, 1), ERR_OK);
    assert_int_equal(divide(world, 0, late, 1), ERR_LEASE_LOST);
    assert_int_equal(owners(world)->owners[0].puller, A);
    assert_int_equal(owners(world)->term, 1);
}

static enum err ask(struct world *world, int64_t holder, int64_t job_id, enum store_wish wish)
{
    struct store_ask *op = OP(world, store_ask, STORE_ASK);
    op->holder = holder;
    op->job = (struct store_asked_job){.job_id = job_id, .tenant = TENANT, .wish = wish};
    return call(world, &op->op);
}

static struct store_asked *asked(struct world *world, int64_t holder, size_t max)
{
    struct store_asked *op = OP(world, store_asked, STORE_ASKED);
    op->holder = holder;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void a_holder_is_told_once_what_it_was_asked(void **state)
{
    struct world *world = *state;
    join(world, B);
    assert_int_equal(asked(world, A, 10)->job_count, 0);
    assert_int_equal(ask(world, A, 30, STORE_WISH_RUN), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_WISH_RUN), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_WISH_CANCEL), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_WISH_RUN), ERR_OK); // a cancel is not taken back
    assert_int_equal(ask(world, B, 20, STORE_WISH_RUN), ERR_OK);
    struct store_asked *first = asked(world, A, 1);
    assert_int_equal(first->job_count, 1);
    assert_int_equal(first->jobs[0].job_id, 20);
    assert_int_equal(first->jobs[0].tenant, TENANT);
    assert_int_equal(first->jobs[0].wish, STORE_WISH_CANCEL);
    assert_int_equal(asked(world, A, 10)->jobs[0].job_id, 30);
    assert_int_equal(asked(world, A, 10)->job_count, 0);
    assert_int_equal(asked(world, B, 10)->job_count, 1);
}

static void wishes_go_with_the_incarnation_they_were_sent_to(void **state)
{
    struct world *world = *state;
    join(world, B);
    assert_int_equal(ask(world, 404, 1, STORE_WISH_CANCEL), ERR_LEASE_LOST);
    assert_int_equal(ask(world, B, 1, STORE_WISH_CANCEL), ERR_OK);
    assert_int_equal(forget(world, B), ERR_OK);
    assert_int_equal(ask(world, B, 2, STORE_WISH_CANCEL), ERR_LEASE_LOST);
    join(world, B);
    assert_int_equal(asked(world, B, 10)->job_count, 0);
}

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

// Adds `count` samples in one operation.
static struct store_add *add_many(struct world *world, const struct sample *samples, size_t count)
{
    struct store_add *op = OP(world, store_add, STORE_ADD);
    struct store_task *tasks = world_mem(world, count * sizeof *tasks);
    struct job *jobs = world_mem(world, count * sizeof *jobs);
    op->items = world_mem(world, count * sizeof *op->items);
    op->count = count;
    for (size_t i = 0; i < count; i++) {
        sample_fill(world, &samples[i], &tasks[i], &jobs[i], &op->items[i]);
        op->holder = samples[i].holder ? samples[i].holder : op->holder;
    }
    call(world, &op->op);
    return op;
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
    struct store_task task = {.id = 5, .tenant = TENANT, .queue = STR("q")};
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

static struct store_claim *claim_bytes(struct world *world, const char *queue, size_t max, size_t bytes)
{
    struct store_claim *op = OP(world, store_claim, STORE_CLAIM);
    struct store_want *want = world_mem(world, sizeof *want);
    *want = (struct store_want){.lane = lane_of(world, TENANT, queue), .max = max, .bytes = bytes};
    op->holder = A;
    op->now_ms = op->until_ms = NOW;
    op->wants = want;
    op->want_count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

// A document of so many bytes; what is in it is nobody's business here.
static struct str doc_of(struct world *world, size_t size)
{
    char *text = world_mem(world, size);
    memset(text, 'x', size);
    return (struct str){text, size};
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
    assert_int_equal(change(world, op->jobs[0].job.token, late, &attempt), ERR_LEASE_LOST);
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
    assert_int_equal(step.err, ERR_LEASE_LOST);
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
        assert_int_equal(steps[i].err, kind == 1 ? ERR_LEASE_LOST : kind == 6 ? ERR_NOT_FOUND : ERR_OK);
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
    as.due_at = NOW + 1;
    assert_int_equal(change(world, was.token, as, NULL), ERR_OK);
    struct job is = job_now(world, id);
    assert_int_equal(is.task_id, was.task_id);
    assert_int_equal(is.parent_id, was.parent_id);
    assert_int_equal(is.lane, was.lane);
    assert_int_equal(is.tenant, was.tenant);
    assert_int_equal(is.nominal_at, was.nominal_at);
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

static struct store_list *list(struct world *world, struct store_list want)
{
    struct store_list *op = OP(world, store_list, STORE_LIST);
    memcpy((char *)op + sizeof op->op, (char *)&want + sizeof want.op, sizeof want - sizeof want.op);
    op->tenant = want.tenant ? want.tenant : TENANT;
    op->max = want.max ? want.max : 100;
    op->look = want.look ? want.look : 1000;
    op->max_jobs = want.max_jobs ? want.max_jobs : 100;
    if (!want.before.id)
        op->before = (struct store_key){INT64_MAX, INT64_MAX};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static struct store_amend *make_amend(struct world *world, int64_t id);

static struct store_get *get_task(struct world *world, int64_t id)
{
    struct store_get *op = OP(world, store_get, STORE_GET);
    op->tenant = TENANT;
    op->task_id = id;
    op->max_jobs = 100;
    call(world, &op->op);
    return op;
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

// ---- time passing

static struct store_due *due(struct world *world, int64_t from_ms, int64_t from_id, int64_t to_ms, size_t max)
{
    struct store_due *op = OP(world, store_due, STORE_DUE);
    op->lane = lane_of(world, TENANT, "q");
    op->from_ms = from_ms;
    op->from_id = from_id;
    op->to_ms = to_ms;
    op->max = max;
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

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

static void the_first_who_joins_brings_the_secret(void **state)
{
    struct world *world = *state; // A has joined with zeroes
    struct store_join *op = OP(world, store_join, STORE_JOIN);
    op->incarnation = B;
    memset(op->secret, 7, sizeof op->secret);
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (size_t i = 0; i < sizeof op->secret; i++)
        assert_int_equal(op->secret[i], 0);
    struct world *other = world_new(scheme);
    for (int i = 0; i < 3; i++) {
        op = OP(other, store_join, STORE_JOIN);
        op->incarnation = A + i;
        for (size_t k = 0; k < sizeof op->secret; k++)
            op->secret[k] = (uint8_t)(250 + i + (int)k);
        assert_int_equal(call(other, &op->op), ERR_OK);
        for (size_t k = 0; k < sizeof op->secret; k++)
            assert_int_equal(op->secret[k], (uint8_t)(250 + k));
        if (i == 1 && strcmp(scheme, "memory") != 0)
            world_reopen(other);
    }
    world_free(other);
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
    struct store_task task = {.id = 900, .tenant = TENANT, .queue = STR("q"), .doc = STR("{}")};
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
    op->what = STORE_FIND_LAPSED;
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
    assert_int_equal(change_leased(world, &was, over), ERR_LEASE_LOST);
    unaware.lease_until = 0;
    assert_int_equal(change(world, was.token, unaware, NULL), ERR_LEASE_LOST);
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

static void assert_stats(struct world *world, int32_t tenant, const int64_t expected[JOB_STATE_COUNT])
{
    struct store_stats *op = OP(world, store_stats, STORE_STATS);
    op->tenant = tenant;
    assert_int_equal(call(world, &op->op), ERR_OK);
    for (int i = 0; i < JOB_STATE_COUNT; i++)
        assert_int_equal(op->counts[i], expected[i]);
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

// ---- what is counted and told

static void tally(struct world *world, int32_t tenant, int64_t at, int64_t source, const char *doc)
{
    struct store_tally *op = OP(world, store_tally, STORE_TALLY);
    op->minute = (struct store_minute){.tenant = tenant, .at = at, .source = source, .doc = str_of(doc)};
    assert_int_equal(call(world, &op->op), ERR_OK);
}

static struct store_series *series(struct world *world, int64_t from, int64_t to, int64_t from_source, size_t max)
{
    struct store_series *op = OP(world, store_series, STORE_SERIES);
    *op = (struct store_series){
        .op = op->op, .tenant = TENANT, .from_ms = from, .to_ms = to, .from_source = from_source, .max = max};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void assert_minute(const struct store_series *op, size_t i, int64_t at, int64_t source, const char *doc)
{
    assert_true(i < op->minute_count);
    assert_int_equal(op->minutes[i].tenant, TENANT);
    assert_int_equal(op->minutes[i].at, at);
    assert_int_equal(op->minutes[i].source, source);
    assert_true(str_is(op->minutes[i].doc, doc));
}

static void minutes_are_given_by_time_then_by_source(void **state)
{
    struct world *world = *state;
    tally(world, TENANT, 180, 5, "{\"c\":1}");
    tally(world, TENANT, 60, 9, "{\"b\":1}");
    tally(world, TENANT, 60, 5, "{\"a\":1}");
    tally(world, TENANT, 240, 5, "{}");
    tally(world, TENANT + 1, 60, 5, "{\"x\":1}");
    struct store_series *all = series(world, 60, 240, 0, 10);
    assert_int_equal(all->minute_count, 3);
    assert_minute(all, 0, 60, 5, "{\"a\":1}");
    assert_minute(all, 1, 60, 9, "{\"b\":1}");
    assert_minute(all, 2, 180, 5, "{\"c\":1}");
    struct store_series *page = series(world, 60, 240, 0, 1);
    assert_int_equal(page->minute_count, 1);
    page = series(world, page->minutes[0].at, 240, page->minutes[0].source, 10);
    assert_int_equal(page->minute_count, 2);
    assert_minute(page, 0, 60, 9, "{\"b\":1}");
}

static void a_minute_written_again_replaces_what_was_there(void **state)
{
    struct world *world = *state;
    tally(world, TENANT, 60, 5, "{\"a\":1}");
    tally(world, TENANT, 60, 5, "{\"a\":2}");
    struct store_series *op = series(world, 0, 100, 0, 10);
    assert_int_equal(op->minute_count, 1);
    assert_minute(op, 0, 60, 5, "{\"a\":2}");
}

static void tell(struct world *world, int64_t at, int64_t source, int64_t number, const char *doc)
{
    struct store_tell *op = OP(world, store_tell, STORE_TELL);
    op->now_ms = at;
    op->news = (struct store_news){source, number, str_of(doc)};
    assert_int_equal(call(world, &op->op), ERR_OK);
}

static struct store_hear *hear(struct world *world, const struct store_heard *heard, size_t count, size_t max)
{
    struct store_hear *op = OP(world, store_hear, STORE_HEAR);
    *op = (struct store_hear){.op = op->op, .skip = A, .heard = heard, .heard_count = count, .max = max};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void assert_news(const struct store_hear *op, size_t i, int64_t source, int64_t number, const char *doc)
{
    assert_true(i < op->news_count);
    assert_int_equal(op->news[i].source, source);
    assert_int_equal(op->news[i].number, number);
    assert_true(str_is(op->news[i].doc, doc));
}

static void news_are_heard_from_where_one_was(void **state)
{
    struct world *world = *state;
    for (int i = 1; i <= 3; i++)
        tell(world, NOW, B, i, i == 1 ? "one" : i == 2 ? "two" : "three");
    tell(world, NOW, 33, 1, "other");
    tell(world, NOW, A, 1, "its own");
    tell(world, NOW, B, 2, "told again");
    struct store_hear *op = hear(world, (struct store_heard[]){{B, 1}, {404, 7}}, 2, 10);
    assert_int_equal(op->news_count, 3);
    assert_news(op, 0, B, 2, "two");
    assert_news(op, 1, B, 3, "three");
    assert_news(op, 2, 33, 1, "other");
    op = hear(world, NULL, 0, 1);
    assert_int_equal(op->news_count, 2);
    assert_news(op, 0, B, 1, "one");
    assert_news(op, 1, 33, 1, "other");
}

static void who_begins_to_listen_learns_where_to_begin(void **state)
{
    struct world *world = *state;
    tell(world, NOW, B, 4, "four");
    tell(world, NOW, B, 5, "five");
    tell(world, NOW, A, 1, "one");
    struct store_hear *op = OP(world, store_hear, STORE_HEAR);
    op->from_now = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->news_count, 0);
    assert_int_equal(op->last_count, 2);
    assert_int_equal(op->last[0].source, A);
    assert_int_equal(op->last[0].number, 1);
    assert_int_equal(op->last[1].source, B);
    assert_int_equal(op->last[1].number, 5);
}

static void sweeping_removes_old_minutes_and_news(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 4; i++) {
        tally(world, TENANT, 60 * i, 5, "{}");
        tell(world, 100 + i, B, i + 1, "news");
    }
    struct store_sweep *op = OP(world, store_sweep, STORE_SWEEP);
    *op = (struct store_sweep){.op = op->op, .now_ms = NOW, .max = 2, .series_before = 180, .news_before = 103};
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(series(world, 0, 1000, 0, 10)->minute_count, 2); // at most two, and the earliest first
    assert_int_equal(series(world, 120, 1000, 0, 10)->minute_count, 2);
    assert_int_equal(hear(world, NULL, 0, 10)->news_count, 2);
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(series(world, 0, 1000, 0, 10)->minute_count, 1);
    assert_int_equal(series(world, 180, 1000, 0, 10)->minute_count, 1);
    assert_news(hear(world, NULL, 0, 10), 0, B, 4, "news");
}

static void a_beat_shows_who_listens_and_who_tells(void **state)
{
    struct world *world = *state;
    join(world, B);
    struct store_beat *seen = beat(world, A);
    assert_false(seen->peers[0].listens);
    assert_true(seen->peers[0].tells); // who has just come cannot know that nobody listens
    struct store_beat *op = OP(world, store_beat, STORE_BEAT);
    op->incarnation = B;
    op->listens = op->in_turn = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    seen = beat(world, A);
    assert_true(seen->peers[0].listens);
    assert_false(seen->peers[0].tells);
}

// ---- many callers

enum { THREADS = 4, EACH = 200 };

struct caller {
    struct store *store;
    int number;
    pthread_t thread;
    size_t claimed;
    size_t seen; // added, and seen in a lane that is listed
    atomic_bool ended;
};

// Adds its own jobs and claims whatever there is, until all have been claimed by somebody.
static void *caller_main(void *ctx)
{
    struct caller *caller = ctx;
    for (int i = 0; i < EACH; i++) {
        int64_t id = 100000 + caller->number * EACH + i;
        struct store_task task = {.id = id, .tenant = TENANT, .queue = STR("q"), .doc = STR("{}")};
        struct job job = {.id = id, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW};
        struct store_new item = {.task = &task, .jobs = &job, .job_count = 1};
        struct store_add add_op = {.items = &item, .count = 1};
        store_op_init(&add_op.op, STORE_ADD, NULL);
        store_call(caller->store, &add_op.op);
        struct store_want want = {.lane = job.lane, .max = 1};
        struct store_claim claim_op = {.holder = A, .until_ms = NOW, .wants = &want, .want_count = 1};
        store_op_init(&claim_op.op, STORE_CLAIM, NULL);
        store_call(caller->store, &claim_op.op);
        caller->claimed += claim_op.job_count;
        struct store_stats stats = {0};
        store_op_init(&stats.op, STORE_STATS, NULL);
        store_call(caller->store, &stats.op);
        store_op_done(&add_op.op);
        store_op_done(&claim_op.op);
        store_op_done(&stats.op);
    }
    return NULL;
}

static void several_threads_at_once_get_each_job_once(void **state)
{
    struct world *world = *state;
    struct caller callers[THREADS];
    size_t claimed = 0;
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.store = world->store, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        claimed += callers[i].claimed;
    }
    // Each claim follows an add of its own, so there always was one to take, and each was taken once.
    assert_int_equal(claimed, THREADS * EACH);
    assert_stats(world, 0, (int64_t[JOB_STATE_COUNT]){[JOB_WATCHING] = THREADS * EACH});
}

// Adds a job, sees that its lane is listed, and ends it, again and again.
static void *adder_main(void *ctx)
{
    struct caller *caller = ctx;
    for (int i = 0; i < EACH; i++) {
        int64_t id = 100000 + caller->number * EACH + i;
        struct store_task task = {.id = id, .tenant = TENANT, .queue = STR("q"), .doc = STR("{}")};
        struct job job = {.id = id, .task_id = id, .tenant = TENANT, .state = JOB_READY, .due_at = NOW};
        struct store_new item = {.task = &task, .jobs = &job, .job_count = 1};
        struct store_add add_op = {.items = &item, .count = 1};
        store_op_init(&add_op.op, STORE_ADD, NULL);
        store_call(caller->store, &add_op.op);
        struct store_lanes lanes = {.tenant = TENANT, .max = 10};
        store_op_init(&lanes.op, STORE_LANES, NULL);
        store_call(caller->store, &lanes.op);
        caller->seen += !add_op.op.err && !item.err && lanes.lane_count == 1;
        job.state = JOB_SUCCESS;
        job.token = 1;
        struct store_step step = {.job = &job};
        struct store_change change_op = {.steps = &step, .count = 1};
        store_op_init(&change_op.op, STORE_CHANGE, NULL);
        store_call(caller->store, &change_op.op);
        store_op_done(&add_op.op);
        store_op_done(&lanes.op);
        store_op_done(&change_op.op);
    }
    caller->ended = true;
    return NULL;
}

static void whoever_drops_a_lane_at_the_same_time_what_was_added_is_in_a_listed_one(void **state)
{
    struct world *world = *state;
    struct caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (struct caller){.store = world->store, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, adder_main, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        while (!callers[i].ended) {
            struct store_drop op = {.tenant = TENANT, .queue = STR("q")};
            store_op_init(&op.op, STORE_DROP, NULL);
            store_call(world->store, &op.op);
            assert_true(op.op.err == ERR_OK || op.op.err == ERR_QUEUE_NOT_EMPTY || op.op.err == ERR_NOT_FOUND);
            store_op_done(&op.op);
        }
        pthread_join(callers[i].thread, NULL);
        assert_int_equal(callers[i].seen, EACH);
    }
    assert_stats(world, 0, (int64_t[JOB_STATE_COUNT]){[JOB_SUCCESS] = THREADS * EACH});
    drop(world, TENANT, "q");
    assert_false(is_listed(world, TENANT, "q"));
}

static void note_done(struct store_op *op)
{
    op->done = NULL;
}

static void closing_completes_what_is_in_flight(void **state)
{
    struct world *world = world_new(scheme);
    enum { MANY = 300 };
    struct store_pause *ops = world_mem(world, MANY * sizeof *ops);
    for (int i = 0; i < MANY; i++) {
        store_op_init(&ops[i].op, STORE_PAUSE, note_done);
        ops[i].tenant = 1 + i;
        ops[i].queue = STR("q");
        store_submit(world->store, &ops[i].op);
    }
    store_close(world->store);
    world->store = NULL;
    for (int i = 0; i < MANY; i++) {
        assert_null(ops[i].op.done);
        assert_int_equal(ops[i].op.err, ERR_OK);
        assert_int_not_equal(ops[i].lane, 0);
    }
    world_free(world);
}

// ---- lists

static void tasks_are_listed_newest_first_with_their_jobs(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){0}), second = add(world, (struct sample){.queue = "r"});
    add(world, (struct sample){.tenant = 8});
    struct store_list *all = list(world, (struct store_list){0});
    assert_int_equal(all->task_count, 2);
    assert_int_equal(all->tasks[0].id, second);
    assert_int_equal(all->tasks[1].id, first);
    assert_true(str_is(all->tasks[0].queue, "r") && str_is(all->tasks[1].name, "a name") && all->tasks[0].doc.n);
    assert_int_equal(all->found_count, 2);
    assert_int_equal(all->found[0].task_id, second);
    assert_false(all->more);
}

// However many have ended since, what a task is follows from those that have not.
static void of_each_listed_task_those_jobs_come_first_that_have_not_ended(void **state)
{
    struct world *world = *state;
    int64_t id = add(world, (struct sample){.scheduled_at = NOW});
    struct job jobs[2];
    struct store_new item = {.jobs = jobs, .job_count = 2};
    for (int i = 0; i < 2; i++)
        jobs[i] =
            (struct job){.id = id + 1 + i, .task_id = id, .tenant = TENANT, .state = JOB_CANCELLED, .scheduled_at = NOW + 1 + i};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    struct store_list *all = list(world, (struct store_list){.max_jobs = 2});
    assert_int_equal(all->found_count, 2);
    assert_int_equal(all->found[0].id, id);
    assert_int_equal(all->found[1].id, id + 2);
}

static void jobs_are_listed_by_their_planned_time_newest_first(void **state)
{
    struct world *world = *state;
    int64_t early = add(world, (struct sample){.scheduled_at = NOW - 5}),
            late = add(world, (struct sample){.scheduled_at = NOW + 5});
    int64_t tie = add(world, (struct sample){.scheduled_at = NOW + 5, .state = JOB_CANCELLED});
    struct store_list *all = list(world, (struct store_list){.jobs = true, .docs = true}), *jobs = all;
    assert_int_equal(jobs->found_count, 3);
    assert_int_equal(jobs->found[0].id, tie);
    assert_int_equal(jobs->found[1].id, late);
    assert_int_equal(jobs->found[2].id, early);
    assert_int_equal(jobs->task_count, 3);
    assert_int_equal(jobs->tasks[2].id, early);
    jobs = list(world, (struct store_list){.jobs = true, .task_id = late});
    assert_int_equal(jobs->found_count, 1);
    assert_int_equal(list(world, (struct store_list){.jobs = true, .task_id = 404})->found_count, 0);
    assert_int_equal(list(world, (struct store_list){.jobs = true, .task_id = late, .tenant = 8})->found_count, 0);
}

static void a_list_shows_what_matches_all_that_is_asked(void **state)
{
    struct world *world = *state;
    int64_t ready = add(world, (struct sample){.queue = "a"});
    add(world, (struct sample){.queue = "b"});
    int64_t success = add(world, (struct sample){.queue = "a", .state = JOB_SUCCESS});
    add(world, (struct sample){.queue = "c", .state = JOB_ABORTED, .scheduled_at = NOW + 1});
    add(world, (struct sample){.queue = "c", .state = JOB_BURIED, .scheduled_at = NOW + 2});
    add(world, (struct sample){.queue = "c", .state = JOB_CANCELLED, .scheduled_at = NOW + 3});
    static const struct {
        unsigned states;
        const char *queue, *name;
        size_t count;
    } cases[] = {
        {0, "a", NULL, 2},
        {0, "none", NULL, 0},
        {1u << JOB_SUCCESS, NULL, NULL, 1},
        {1u << JOB_READY, "a", NULL, 1},
        {0, NULL, "a name", 6},
        {0, NULL, "a nam", 0},
        {1u << JOB_ABORTED, NULL, NULL, 1},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, NULL, NULL, 2},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, "c", NULL, 2},
        {1u << JOB_ABORTED | 1u << JOB_BURIED, "a", NULL, 0},
        {1u << JOB_ABORTED | 1u << JOB_BURIED | 1u << JOB_CANCELLED, NULL, NULL, 3},
        {1u << JOB_READY | 1u << JOB_SUCCESS, "a", "a name", 2},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct store_list want = {
            .jobs = true, .states = cases[i].states, .queue = str_of(cases[i].queue), .name = str_of(cases[i].name)};
        assert_int_equal(list(world, want)->found_count, cases[i].count);
    }
    struct store_list *failed =
        list(world, (struct store_list){.jobs = true, .states = 1u << JOB_ABORTED | 1u << JOB_BURIED, .max = 1, .look = 1});
    assert_true(failed->found_count == 1 && failed->found[0].state == JOB_BURIED && failed->more); // and looked at no other
    struct store_list *tasks = list(world, (struct store_list){.queue = STR("a")});
    assert_int_equal(tasks->task_count, 2);
    assert_true(tasks->tasks[0].id == success && tasks->tasks[1].id == ready);
}

// Every page by its own, until there is no more: each row once, in order, whatever the sizes.
static void pages_go_on_where_the_one_before_ended(void **state)
{
    enum { ROWS = 30 };
    struct world *world = *state;
    for (int i = 0; i < ROWS; i++)
        add(world, (struct sample){.queue = i % 3 ? "a" : "b", .scheduled_at = NOW + i % 4});
    for (int jobs = 0; jobs < 2; jobs++)
        for (size_t size = 1; size <= 11; size += 5) {
            struct store_key before = {INT64_MAX, INT64_MAX};
            size_t found = 0, pages = 0;
            for (bool more = true; more; pages++) {
                struct store_list *page = list(
                    world, (struct store_list){.jobs = jobs, .queue = STR("a"), .before = before, .max = size, .look = size + 1});
                size_t count = jobs ? page->found_count : page->task_count;
                for (size_t i = 0; i < count; i++) {
                    struct store_key key = {jobs ? page->found[i].scheduled_at : 0, jobs ? page->found[i].id : page->tasks[i].id};
                    assert_true(jobs && key.at != before.at ? key.at < before.at : key.id < before.id);
                    before = key;
                }
                found += count;
                assert_true(count <= size && pages <= ROWS);
                more = page->more;
                before = page->next;
            }
            assert_int_equal(found, 20);
        }
}

// The rows of a page, from `first` on, are in order, and without the last of them the page would be too small.
static size_t check_bytes(const struct store_list *page, size_t bytes_max, int64_t newest)
{
    size_t bytes = 0, last = 0;
    assert_int_equal(page->task_count, page->found_count);
    for (size_t i = 0; i < page->task_count; i++) {
        last = store_task_bytes(&page->tasks[i]) + store_job_bytes(&page->found[i]);
        bytes += last;
        assert_int_equal(page->found[i].scheduled_at, newest - (int64_t)i);
    }
    assert_true(page->task_count >= 1 && bytes - last < bytes_max);
    assert_true(!page->more || bytes >= bytes_max);
    return page->task_count;
}

// What a page may hold is counted in bytes, too: whatever they are, the pages together are the list.
static void a_page_ends_with_the_row_that_fills_its_bytes(void **state)
{
    enum { ROWS = 12, DOC = 5000 };
    struct world *world = *state;
    static char doc[DOC];
    memset(doc, 'x', DOC);
    for (int i = 0; i < ROWS; i++)
        add(world, (struct sample){.scheduled_at = NOW + i, .doc = {doc, i % 3 ? DOC : 2}});
    static const size_t bounds[] = {1, DOC, DOC + 2 * 256, DOC + 2 * 256 + 1, 1000000};
    for (int jobs = 0; jobs < 2; jobs++)
        for (size_t b = 0; b < array_count(bounds); b++) {
            struct store_list want = {.jobs = jobs, .docs = jobs, .bytes_max = bounds[b]};
            size_t found = 0;
            do {
                const struct store_list *page = list(world, want);
                found += check_bytes(page, want.bytes_max, NOW + ROWS - 1 - (int64_t)found);
                want.before = page->next;
                if (!page->more)
                    break;
            } while (found < ROWS);
            assert_int_equal(found, ROWS);
        }
}

// Its attempts count, and what was looked at and does not match does not.
static void only_what_is_given_counts_and_all_of_it(void **state)
{
    struct world *world = *state;
    join(world, 5);
    static char large[4000];
    memset(large, 'x', sizeof large);
    int64_t first = add(world, (struct sample){.queue = "a"}), tried = add(world, (struct sample){.queue = "a", .holder = 5});
    for (int i = 0; i < 4; i++)
        add(world, (struct sample){.queue = "b", .doc = {large, sizeof large}, .response = {large, sizeof large}});
    struct store_list *page = list(world, (struct store_list){.queue = STR("a"), .bytes_max = 4000});
    assert_int_equal(page->task_count, 2);
    page = list(world, (struct store_list){.jobs = true, .queue = STR("a"), .bytes_max = 4000});
    assert_int_equal(page->found_count, 2);
    for (int i = 1; i <= 20; i++) {
        struct job job = job_now(world, tried);
        int64_t token = job.token;
        struct attempt attempt = {.number = i, .reason = {large, 100}};
        job.token++;
        assert_int_equal(change(world, token, job, &attempt), ERR_OK);
    }
    for (int jobs = 0; jobs < 2; jobs++) {
        page = list(world, (struct store_list){.jobs = jobs, .queue = STR("a"), .bytes_max = 4000});
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, tried);
        assert_int_equal(page->attempt_count, 20);
        assert_true(page->more);
        page = list(world, (struct store_list){.jobs = jobs, .queue = STR("a"), .before = page->next, .bytes_max = 4000});
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, first);
    }
}

// ---- what is found by tags and keys

enum { TAG_X = 20, TAG_Y = 40, TAG_Z = 60 };

// The rows that have these tags, as tasks and as jobs, newest first; each found without looking at others. 0 ends both.
static void assert_tagged(struct world *world, const int64_t *tags, const int64_t *ids)
{
    struct store_list want = {0};
    size_t count = 0;
    while (tags[want.tag_count])
        want.tag_count++;
    memcpy(want.tags, tags, want.tag_count * sizeof *tags);
    while (ids[count])
        count++;
    for (int jobs = 0; jobs < 2; jobs++) {
        want.jobs = jobs;
        want.look = count + 1;
        const struct store_list *page = list(world, want);
        assert_int_equal(page->found_count, count);
        assert_false(page->more);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(page->found[i].id, ids[i]);
    }
}
#define TAGS(...) ((int64_t[]){__VA_ARGS__, 0})
#define ROWS(...) ((int64_t[]){__VA_ARGS__, 0})
#define NO_ROWS ((int64_t[]){0})

static void rows_are_found_by_all_their_tags(void **state)
{
    struct world *world = *state;
    int64_t both = add(world, (struct sample){.tags = {TAG_X, TAG_Y}});
    int64_t one = add(world, (struct sample){.tags = {TAG_Y}});
    for (int i = 0; i < 20; i++)
        add(world, (struct sample){.tags = {i % 2 ? TAG_Z : 0}});
    int64_t other = add(world, (struct sample){.tags = {TAG_X}, .tenant = 8});
    assert_tagged(world, TAGS(TAG_X), ROWS(both));
    assert_tagged(world, TAGS(TAG_Y), ROWS(one, both));
    assert_tagged(world, TAGS(TAG_Y, TAG_X), ROWS(both));
    assert_tagged(world, TAGS(TAG_X, TAG_Z), NO_ROWS);
    assert_tagged(world, TAGS(80), NO_ROWS);
    assert_int_equal(list(world, (struct store_list){.tenant = 8, .tags = {TAG_X}, .tag_count = 1})->tasks[0].id, other);
}

// A name that everybody has and a label that few have, in whatever order: it is enough to look at the few.
static void the_rarest_of_tags_and_states_leads(void **state)
{
    struct world *world = *state;
    int64_t rare = add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_ABORTED});
    for (int i = 0; i < 30; i++)
        add(world, (struct sample){.tags = {TAG_X, i % 2 ? TAG_Z : 0}, .state = i % 3 ? JOB_ABORTED : JOB_READY});
    assert_tagged(world, TAGS(TAG_X, TAG_Y), ROWS(rare));
    assert_tagged(world, TAGS(TAG_Y, TAG_X), ROWS(rare));
    struct store_list want = {.jobs = true, .states = 1u << JOB_ABORTED, .tags = {TAG_X, TAG_Y}, .tag_count = 2, .look = 2};
    assert_int_equal(list(world, want)->found_count, 1);
    int64_t ended = add(world, (struct sample){.tags = {TAG_X, TAG_Z}, .state = JOB_BURIED});
    want = (struct store_list){.jobs = true, .states = 1u << JOB_BURIED, .tags = {TAG_X, TAG_Z}, .tag_count = 2, .look = 2};
    struct store_list *page = list(world, want);
    assert_int_equal(page->found_count, 1);
    assert_int_equal(page->found[0].id, ended);
    assert_false(page->more);
}

// The index has the order of the list, so a set of any size is gone through page by page.
static void pages_by_a_tag_are_the_list(void **state)
{
    enum { COUNT = 25 };
    struct world *world = *state;
    for (int i = 0; i < COUNT; i++)
        add(world, (struct sample){.tags = {TAG_X, i % 5 ? TAG_Y : 0}, .scheduled_at = NOW + i * 7 % 4});
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list want = {.jobs = jobs, .tags = {TAG_X}, .tag_count = 1};
        const struct store_list *all = list(world, want);
        assert_int_equal(all->found_count, COUNT);
        want.max = 4;
        for (size_t found = 0; found < COUNT;) {
            const struct store_list *page = list(world, want);
            assert_true(page->found_count >= 1);
            for (size_t i = 0; i < page->found_count; i++)
                assert_int_equal(page->found[i].id, all->found[found++].id);
            assert_int_equal(page->more, found < COUNT);
            want.before = page->next;
        }
    }
}

static void tags_follow_an_amendment(void **state)
{
    struct world *world = *state;
    int64_t other = add(world, (struct sample){.tags = {TAG_X, TAG_Z}}), id = add(world, (struct sample){.tags = {TAG_X, TAG_Y}});
    struct store_amend *amend = make_amend(world, id); // and its job is planned for a second later
    amend->task.tags = TAGS(TAG_X, TAG_Z);
    amend->task.tag_count = 2;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
    assert_tagged(world, TAGS(TAG_Z), ROWS(id, other));
    struct store_list behind = {.jobs = true, .tags = {TAG_Z}, .tag_count = 1, .before = {NOW + 1000, id}};
    assert_int_equal(list(world, behind)->found_count, 1);
    amend = make_amend(world, id);
    amend->retag = false; // a pause leaves them alone
    amend->task.paused = true;
    amend->count = 0;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Z, TAG_X), ROWS(id, other));
    amend = make_amend(world, id);
    amend->task.version--; // what is refused changes none
    assert_int_equal(call(world, &amend->op), ERR_LEASE_LOST);
    assert_tagged(world, TAGS(TAG_Z), ROWS(id, other));
    amend = make_amend(world, id);
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Z), ROWS(other));
    amend = make_amend(world, other);
    amend->task.tags = TAGS(TAG_Y);
    amend->task.tag_count = 1;
    assert_int_equal(call(world, &amend->op), ERR_OK);
    assert_tagged(world, TAGS(TAG_Y), ROWS(other));
}

static enum err remove_task(struct world *world, int64_t id, bool ended);

static void a_removed_task_is_found_by_no_tag(void **state)
{
    struct world *world = *state;
    int64_t stays = add(world, (struct sample){.tags = {TAG_X}});
    int64_t ended = add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_SUCCESS, .key = STR("k")});
    assert_tagged(world, TAGS(TAG_X), ROWS(ended, stays));
    assert_int_equal(remove_task(world, ended, true), ERR_OK);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
    assert_int_equal(list(world, (struct store_list){.key = STR("k")})->task_count, 0); // which is spent
    assert_int_equal(remove_task(world, stays, false), ERR_LEASE_LOST);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
}

static void a_job_is_found_by_the_tags_of_its_task_wherever_it_goes(void **state)
{
    struct world *world = *state;
    int64_t first = add(world, (struct sample){.tags = {TAG_X}, .scheduled_at = NOW + 50}), id = world->last_id + 1;
    struct job more = {.id = ++world->last_id, .task_id = first, .tenant = TENANT, .token = 1, .state = JOB_READY};
    more.scheduled_at = more.due_at = NOW + 10;
    struct store_new item = {.jobs = &more, .job_count = 1};
    struct store_add *op = OP(world, store_add, STORE_ADD);
    op->items = &item;
    op->count = 1;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(item.err, ERR_OK);
    struct store_list want = {.jobs = true, .tags = {TAG_X}, .tag_count = 1};
    struct store_list *page = list(world, want);
    assert_int_equal(page->found_count, 2);
    assert_int_equal(page->found[1].id, id);
    struct job job = job_now(world, id); // it is to run at another time
    job.scheduled_at = NOW + 90;
    job.token++;
    assert_int_equal(change(world, job.token - 1, job, NULL), ERR_OK);
    page = list(world, want);
    assert_int_equal(page->found_count, 2);
    assert_int_equal(page->found[0].id, id);
    job.state = JOB_SUCCESS; // and ends
    job.purge_at = NOW + 1;
    assert_int_equal(change(world, job.token, job, NULL), ERR_OK);
    assert_int_equal(list(world, want)->found[0].id, id);
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    page = list(world, want);
    assert_int_equal(page->found_count, 1);
    assert_int_equal(page->found[0].id, first);
}

static void a_swept_task_is_found_by_no_tag(void **state)
{
    struct world *world = *state;
    int64_t stays = add(world, (struct sample){.tags = {TAG_X}, .state = JOB_SUCCESS});
    add(world, (struct sample){.tags = {TAG_X, TAG_Y}, .state = JOB_SUCCESS, .purge_at = NOW});
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    assert_tagged(world, TAGS(TAG_X), ROWS(stays));
    assert_tagged(world, TAGS(TAG_Y), NO_ROWS);
}

// With tags there is more than one way to add tasks: alone, a few, many; some with and some without.
static void many_tasks_have_their_tags_however_they_are_added(void **state)
{
    enum { MOST = 70 };
    struct world *world = *state;
    struct sample samples[MOST];
    struct store_task tasks[MOST];
    struct job jobs[MOST];
    struct store_new items[MOST];
    int64_t added = 0;
    for (size_t count = 1; count <= MOST; count = count * 2 + 1) {
        for (size_t i = 0; i < count; i++) {
            samples[i] = (struct sample){.tags = {i % 3 ? TAG_X : 0, i % 3 == 2 ? TAG_Y : 0}};
            sample_fill(world, &samples[i], &tasks[i], &jobs[i], &items[i]);
            added += i % 3 != 0;
        }
        struct store_add *op = OP(world, store_add, STORE_ADD);
        op->items = items;
        op->count = count;
        assert_int_equal(call(world, &op->op), ERR_OK);
        for (int of_jobs = 0; of_jobs < 2; of_jobs++) {
            struct store_list want = {.jobs = of_jobs, .tags = {TAG_X}, .tag_count = 1, .max = 1000};
            assert_int_equal(list(world, want)->found_count, added);
        }
    }
}

static void a_task_is_found_by_its_key(void **state)
{
    struct world *world = *state;
    add(world, (struct sample){.key = STR("other")});
    int64_t id = add(world, (struct sample){.key = STR("k"), .tags = {TAG_X}, .state = JOB_SUCCESS, .purge_at = NOW});
    for (int i = 0; i < 20; i++)
        add(world, (struct sample){.tags = {TAG_X}});
    for (int jobs = 0; jobs < 2; jobs++) {
        struct store_list want = {.jobs = jobs, .key = STR("k"), .look = 1};
        struct store_list *page = list(world, want);
        assert_int_equal(page->found_count, 1);
        assert_int_equal(page->found[0].id, id);
        assert_false(page->more);
        want.tags[0] = TAG_X;
        want.tag_count = 1;
        want.queue = STR("q");
        want.name = STR("a name");
        assert_int_equal(list(world, want)->found_count, 1);
        want.tags[0] = TAG_Y;
        assert_int_equal(list(world, want)->found_count, 0);
        want = (struct store_list){.jobs = jobs, .key = STR("k"), .queue = STR("none")};
        assert_int_equal(list(world, want)->found_count, 0);
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .key = STR("kk")})->found_count, 0);
        assert_int_equal(list(world, (struct store_list){.jobs = jobs, .key = STR("k"), .tenant = 8})->found_count, 0);
    }
    assert_int_equal(sweep(world, NOW + 2, 10), 1);
    assert_int_equal(list(world, (struct store_list){.key = STR("k")})->task_count, 0);
}

// ---- amendments

// An amendment of the task as it is, with all its jobs that wait, moved by a second.
static struct store_amend *make_amend(struct world *world, int64_t id)
{
    struct store_get *get = get_task(world, id);
    struct store_amend *op = OP(world, store_amend, STORE_AMEND);
    op->task = get->task;
    op->retag = true;
    op->steps = world_mem(world, (get->job_count + 1) * sizeof *op->steps);
    for (size_t i = 0; i < get->job_count; i++) {
        struct job *job = &get->jobs[i];
        op->steps[op->count] = (struct store_step){.token = job->token, .job = job};
        op->count += !job_replan(job, job->scheduled_at + 1000, NOW);
    }
    return op;
}

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
        assert_int_equal(call(world, &amend->op), ERR_LEASE_LOST);
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

static struct store_remove *remove_of(struct world *world, int64_t id)
{
    struct store_remove *op = OP(world, store_remove, STORE_REMOVE);
    op->task_id = id;
    op->version = 1;
    op->tenant = TENANT;
    op->now_ms = NOW;
    op->keys_until = NOW + KEYS_KEPT;
    op->max = 100;
    return op;
}

static enum err remove_task(struct world *world, int64_t id, bool ended)
{
    struct store_remove *op = remove_of(world, id);
    op->ended = ended;
    return call(world, &op->op);
}

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
    lapsed->what = STORE_FIND_LAPSED;
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
        assert_int_equal(remove_task(world, id, false), ERR_LEASE_LOST);
        assert_int_equal(get_task(world, id)->job_count, 2);
        more.state = JOB_CANCELLED;
        assert_int_equal(change(world, 1, more, NULL), ERR_OK);
        assert_int_equal(remove_task(world, id, false), ERR_OK);
    }
    int64_t claimed = add(world, (struct sample){.queue = "hand"});
    claim(world, A, NOW, lane_of(world, TENANT, "hand"), 1);
    assert_int_equal(remove_task(world, claimed, false), ERR_LEASE_LOST);
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
        assert_int_equal(remove_task(world, tasks[i], true), ERR_LEASE_LOST);
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
    assert_int_equal(remove_task(world, id, false), ERR_LEASE_LOST);
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
            assert_int_equal(call(world, &op->op), goes_on ? ERR_OK : ERR_LEASE_LOST);
            assert_int_equal(op->more, goes_on);
        }
        assert_int_equal(get_task(world, id)->job_count, left - 2);
    }
    struct store_remove *last = remove_of(world, id);
    last->goes_on = true;
    assert_int_equal(call(world, &last->op), ERR_LEASE_LOST);
    open.state = JOB_CANCELLED;
    assert_int_equal(change(world, 1, open, NULL), ERR_OK);
    last->version = 2;
    assert_int_equal(call(world, &last->op), ERR_LEASE_LOST);
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

static struct page lapsed_page(struct world *world)
{
    struct store_find *op = OP(world, store_find, STORE_FIND);
    op->what = STORE_FIND_LAPSED;
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
    struct page pages[] = {held_page(world, 0, false), expired_page(world), lapsed_page(world)};
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

// ---- bulks

static enum err write_bulk(struct world *world, struct store_bulk_row row, int64_t forget_before)
{
    struct store_bulk *op = OP(world, store_bulk, STORE_BULK);
    op->row = row;
    op->forget_before = forget_before;
    return call(world, &op->op);
}

static struct store_bulks *read_bulks(struct world *world, int64_t id, int32_t tenant, size_t max)
{
    struct store_bulks *op = OP(world, store_bulks, STORE_BULKS);
    op->id = id;
    op->tenant = tenant;
    op->max = max;
    call(world, &op->op);
    return op;
}

static void a_bulk_is_read_as_it_was_written(void **state)
{
    struct world *world = *state;
    struct store_bulk_row row = {.id = 5, .tenant = TENANT, .created_at = NOW, .next = {INT64_MAX, 7}, .doc = STR("{\"a\":1}")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    row = (struct store_bulk_row){.id = 5,
                                  .tenant = TENANT,
                                  .version = 1,
                                  .holder = A,
                                  .created_at = NOW,
                                  .ended_at = NOW + 9,
                                  .state = STORE_BULK_STOPPED,
                                  .matched = 10,
                                  .changed = 5,
                                  .unchanged = 3,
                                  .failed = 2,
                                  .next = {3, 4},
                                  .doc = STR("ignored: it does not change")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    struct store_bulks *read = read_bulks(world, 5, TENANT, 0);
    assert_int_equal(read->op.err, ERR_OK);
    assert_int_equal(read->row_count, 1);
    const struct store_bulk_row *got = &read->rows[0];
    assert_true(got->id == 5 && got->tenant == TENANT && got->version == 2 && got->state == STORE_BULK_STOPPED &&
                got->holder == A);
    assert_true(got->created_at == NOW && got->ended_at == NOW + 9 && got->next.at == 3 && got->next.id == 4);
    assert_true(got->matched == 10 && got->changed == 5 && got->unchanged == 3 && got->failed == 2);
    assert_true(str_is(got->doc, "{\"a\":1}"));
    assert_int_equal(read_bulks(world, 5, 8, 0)->op.err, ERR_NOT_FOUND);
    assert_int_equal(read_bulks(world, 6, TENANT, 0)->op.err, ERR_NOT_FOUND);
}

static void a_bulk_that_somebody_else_wrote_is_not_overwritten(void **state)
{
    struct world *world = *state;
    struct store_bulk_row row = {.id = 5, .tenant = TENANT, .doc = STR("{}")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    assert_int_equal(write_bulk(world, row, 0), ERR_LEASE_LOST); // it is not new
    row.version = 1;
    row.matched = 1;
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    row.matched = 2;
    assert_int_equal(write_bulk(world, row, 0), ERR_LEASE_LOST);
    assert_int_equal(read_bulks(world, 5, TENANT, 0)->rows[0].matched, 1);
    row.id = 6;
    assert_int_equal(write_bulk(world, row, 0), ERR_LEASE_LOST); // it is gone
    assert_int_equal(read_bulks(world, 6, TENANT, 0)->op.err, ERR_NOT_FOUND);
}

static void bulks_that_run_are_listed_and_those_that_ended_are_forgotten(void **state)
{
    struct world *world = *state;
    static const int64_t ids[] = {7, 3, 5, 4};
    for (size_t i = 0; i < array_count(ids); i++)
        assert_int_equal(
            write_bulk(world, (struct store_bulk_row){.id = ids[i], .tenant = (int32_t)(TENANT + i), .doc = STR("{}")}, 0),
            ERR_OK);
    struct store_bulks *running = read_bulks(world, 0, 0, 3);
    assert_int_equal(running->row_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(running->rows[i].id, 3 + (int64_t)i);
    struct store_bulk_row row = {.id = 5, .tenant = TENANT + 2, .version = 1, .state = STORE_BULK_DONE, .ended_at = NOW};
    assert_int_equal(write_bulk(world, row, NOW), ERR_OK);
    assert_int_equal(read_bulks(world, 0, 0, 10)->row_count, 3);
    assert_int_equal(read_bulks(world, 5, TENANT + 2, 0)->op.err, ERR_OK);
    row = (struct store_bulk_row){.id = 3, .tenant = TENANT + 1, .version = 1, .doc = STR("{}")};
    assert_int_equal(write_bulk(world, row, NOW + 1), ERR_OK);
    assert_int_equal(read_bulks(world, 5, TENANT + 2, 0)->op.err, ERR_NOT_FOUND);
    assert_int_equal(read_bulks(world, 0, 0, 10)->row_count, 3); // none that runs
}

static void an_unknown_scheme_is_refused_with_words(void **state)
{
    struct store *store;
    char why[ERR_WHY_MAX] = "";
    assert_int_equal(store_open(&store, "paper:", why), ERR_BAD_REQUEST);
    assert_null(store);
    assert_non_null(strstr(why, "sqlite:DIR"));
}

#define PROMISE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

// With an argument, only that scheme.
int main(int argc, char *argv[])
{
    const struct CMUnitTest tests[] = {
        PROMISE(no_two_incarnations_have_one_node_number),
        PROMISE(joining_again_changes_nothing),
        PROMISE(a_dead_incarnation_cannot_join_again),
        PROMISE(join_is_refused_when_the_numbers_are_used_up),
        PROMISE(no_id_given_out_so_far_is_above_the_floor),
        PROMISE(a_beat_counts_up_and_shows_the_others),
        PROMISE(a_beat_of_the_dead_or_unknown_is_fenced),
        PROMISE(only_who_stands_still_is_buried),
        PROMISE(an_incarnation_that_holds_jobs_is_not_forgotten),
        PROMISE(a_beat_shows_who_pulls),
        PROMISE(buckets_are_divided_anew_in_a_new_term),
        PROMISE(who_divides_in_an_old_term_is_refused),
        PROMISE(a_holder_is_told_once_what_it_was_asked),
        PROMISE(wishes_go_with_the_incarnation_they_were_sent_to),
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
        PROMISE(what_is_ahead_of_a_job_is_what_a_claim_takes_before_it),
        PROMISE(jobs_can_be_added_in_hand),
        PROMISE(nothing_is_added_in_the_hand_of_the_dead_or_unknown),
        PROMISE(nothing_is_added_by_the_dead_or_unknown_even_if_it_is_in_nobodys_hand),
        PROMISE(ten_thousand_are_added_at_once),
        PROMISE(a_claim_takes_highest_priority_then_earliest_then_lowest_id),
        PROMISE(a_claim_takes_at_most_what_was_asked_and_says_what_is_next),
        PROMISE(a_claim_takes_no_more_bytes_than_were_asked_for),
        PROMISE(the_document_of_a_paused_task_has_no_bytes),
        PROMISE(an_amendment_may_make_a_document_large),
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
        PROMISE(delayed_jobs_become_ready_when_their_time_has_come),
        PROMISE(promotion_goes_on_where_it_stopped),
        PROMISE(promotion_without_the_id_finds_the_rest_too),
        PROMISE(what_an_incarnation_holds_is_listed_page_by_page),
        PROMISE(what_did_not_start_in_time_is_listed_earliest_first),
        PROMISE(the_first_who_joins_brings_the_secret),
        PROMISE(a_leased_job_is_in_nobodys_hand),
        PROMISE(a_job_is_not_added_with_a_lease),
        PROMISE(leases_that_ran_out_are_listed_earliest_first),
        PROMISE(a_change_names_the_lease_it_was_decided_on),
        PROMISE(a_result_is_kept_byte_for_byte_and_large_ones_are_left_out_of_lists),
        PROMISE(who_names_no_tenant_reads_of_any),
        PROMISE(sweeping_removes_what_retention_lets_go_earliest_first),
        PROMISE(a_task_goes_with_its_last_job_and_attempts_with_theirs),
        PROMISE(a_task_is_read_with_its_newest_jobs),
        PROMISE(open_jobs_can_be_asked_for_first),
        PROMISE(another_tenants_task_is_not_found),
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
        PROMISE(tasks_are_listed_newest_first_with_their_jobs),
        PROMISE(of_each_listed_task_those_jobs_come_first_that_have_not_ended),
        PROMISE(jobs_are_listed_by_their_planned_time_newest_first),
        PROMISE(a_list_shows_what_matches_all_that_is_asked),
        PROMISE(pages_go_on_where_the_one_before_ended),
        PROMISE(a_page_ends_with_the_row_that_fills_its_bytes),
        PROMISE(only_what_is_given_counts_and_all_of_it),
        PROMISE(rows_are_found_by_all_their_tags),
        PROMISE(the_rarest_of_tags_and_states_leads),
        PROMISE(pages_by_a_tag_are_the_list),
        PROMISE(tags_follow_an_amendment),
        PROMISE(a_removed_task_is_found_by_no_tag),
        PROMISE(a_job_is_found_by_the_tags_of_its_task_wherever_it_goes),
        PROMISE(a_swept_task_is_found_by_no_tag),
        PROMISE(many_tasks_have_their_tags_however_they_are_added),
        PROMISE(a_task_is_found_by_its_key),
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
        PROMISE(who_wants_to_run_gets_no_document_of_a_paused_task),
        PROMISE(when_an_ended_job_is_removed_can_be_changed),
        PROMISE(a_bulk_is_read_as_it_was_written),
        PROMISE(a_bulk_that_somebody_else_wrote_is_not_overwritten),
        PROMISE(bulks_that_run_are_listed_and_those_that_ended_are_forgotten),
        PROMISE(the_counters_equal_a_recount),
        PROMISE(minutes_are_given_by_time_then_by_source),
        PROMISE(a_minute_written_again_replaces_what_was_there),
        PROMISE(news_are_heard_from_where_one_was),
        PROMISE(who_begins_to_listen_learns_where_to_begin),
        PROMISE(sweeping_removes_old_minutes_and_news),
        PROMISE(a_beat_shows_who_listens_and_who_tells),
        PROMISE(several_threads_at_once_get_each_job_once),
        PROMISE(whoever_drops_a_lane_at_the_same_time_what_was_added_is_in_a_listed_one),
        PROMISE(closing_completes_what_is_in_flight),
        PROMISE(an_unknown_scheme_is_refused_with_words),
    };
    static const char *const schemes[] = {"memory", "sqlite", "postgres"};
    int failed = 0;
    for (size_t i = 0; i < array_count(schemes); i++) {
        char name[32];
        scheme = schemes[i];
        snprintf(name, sizeof name, "store %s:", scheme);
        if (argc < 2 || strcmp(argv[1], scheme) == 0)
            failed += cmocka_run_group_tests_name(name, tests, NULL, NULL);
    }
    return failed;
}
