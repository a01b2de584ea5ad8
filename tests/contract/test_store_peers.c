// What store/peers.h promises, tried on every backend: who goes first in a bucket, what the holder of a job is asked,
// and which tzdata plans follow.
#include "store_contract.h"

#include "store/peers.h"

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
    assert_int_equal(divide(world, 5, late, 1), ERR_MOVED_ON);
    assert_int_equal(divide(world, 0, mine, 1), ERR_OK);
    assert_int_equal(divide(world, 0, late, 1), ERR_MOVED_ON);
    assert_int_equal(owners(world)->owners[0].puller, A);
    assert_int_equal(owners(world)->term, 1);
}

static enum err ask(struct world *world, int64_t holder, int64_t job_id, enum store_request_kind kind)
{
    struct store_request *op = OP(world, store_request, STORE_REQUEST);
    op->holder = holder;
    op->job = (struct store_job_request){.job_id = job_id, .tenant = TENANT, .kind = kind};
    return call(world, &op->op);
}

static struct store_requests *asked(struct world *world, int64_t holder, size_t max)
{
    struct store_requests *op = OP(world, store_requests, STORE_REQUESTS);
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
    assert_int_equal(ask(world, A, 30, STORE_REQUEST_RUN), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_REQUEST_RUN), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_REQUEST_CANCEL), ERR_OK);
    assert_int_equal(ask(world, A, 20, STORE_REQUEST_RUN), ERR_OK); // a cancel is not taken back
    assert_int_equal(ask(world, B, 20, STORE_REQUEST_RUN), ERR_OK);
    struct store_requests *first = asked(world, A, 1);
    assert_int_equal(first->job_count, 1);
    assert_int_equal(first->jobs[0].job_id, 20);
    assert_int_equal(first->jobs[0].tenant, TENANT);
    assert_int_equal(first->jobs[0].kind, STORE_REQUEST_CANCEL);
    assert_int_equal(asked(world, A, 10)->jobs[0].job_id, 30);
    assert_int_equal(asked(world, A, 10)->job_count, 0);
    assert_int_equal(asked(world, B, 10)->job_count, 1);
}

static void wishes_go_with_the_incarnation_they_were_sent_to(void **state)
{
    struct world *world = *state;
    join(world, B);
    assert_int_equal(ask(world, 404, 1, STORE_REQUEST_CANCEL), ERR_MOVED_ON);
    assert_int_equal(ask(world, B, 1, STORE_REQUEST_CANCEL), ERR_OK);
    assert_int_equal(forget(world, B), ERR_OK);
    assert_int_equal(ask(world, B, 2, STORE_REQUEST_CANCEL), ERR_MOVED_ON);
    join(world, B);
    assert_int_equal(asked(world, B, 10)->job_count, 0);
}

static struct str tzdata(struct world *world)
{
    struct store_tzdata *op = OP(world, store_tzdata, STORE_TZDATA);
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op->text;
}

static enum err set_tzdata(struct world *world, const char *was, const char *next)
{
    struct store_tzdata *op = OP(world, store_tzdata, STORE_TZDATA);
    op->writes = true;
    op->was = str_of(was);
    op->next = str_of(next);
    return call(world, &op->op);
}

static void the_tzdata_that_plans_follow_is_written_by_who_knows_it(void **state)
{
    struct world *world = *state;
    assert_int_equal(tzdata(world).n, 0);
    assert_int_equal(set_tzdata(world, "2025a", "2025b"), ERR_MOVED_ON);
    assert_int_equal(tzdata(world).n, 0);
    assert_int_equal(set_tzdata(world, "", "2025a"), ERR_OK);
    assert_int_equal(set_tzdata(world, "", "2025b"), ERR_MOVED_ON);
    assert_true(str_is(tzdata(world), "2025a"));
    assert_int_equal(set_tzdata(world, "2025a", "2025b 2026a 17 0"), ERR_OK);
    if (strcmp(scheme, "memory") != 0) // which forgets
        world_reopen(world);
    assert_true(str_is(tzdata(world), "2025b 2026a 17 0"));
}

int contract_peers(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(buckets_are_divided_anew_in_a_new_term),
        PROMISE(who_divides_in_an_old_term_is_refused),
        PROMISE(a_holder_is_told_once_what_it_was_asked),
        PROMISE(wishes_go_with_the_incarnation_they_were_sent_to),
        PROMISE(the_tzdata_that_plans_follow_is_written_by_who_knows_it),
    };
    return cmocka_run_group_tests_name("store peers", tests, NULL, NULL);
}
