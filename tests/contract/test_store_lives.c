// What store/lives.h promises, tried on every backend: incarnations.
#include "store_contract.h"

#include "core/id.h"

// ---- incarnations

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

static void node_numbers_are_of_the_range_of_the_store(void **state)
{
    struct world *world = *state;
    set_range(world, 3);
    assert_int_equal(try_join(world, A)->node, 3 * ID_RANGE_NODES);
    assert_int_equal(try_join(world, 101)->node, 3 * ID_RANGE_NODES + 1);
    add(world, (struct sample){0}); // and it can be written with such a number
    set_range(world, ID_RANGES);
    assert_int_equal(try_join(world, 102)->op.err, ERR_FENCED);
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
    for (int i = 1; i < ID_RANGE_NODES; i++)
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
    assert_int_equal(try_bury(world, A, 0), ERR_MOVED_ON);
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
    assert_int_equal(forget(world, A), ERR_MOVED_ON);
    struct job job = job_now(world, id);
    assert_int_equal(job_release(&job, NOW, NOW), ERR_OK);
    assert_int_equal(change(world, 1, job, NULL), ERR_OK);
    assert_int_equal(forget(world, A), ERR_OK);
    assert_int_equal(forget(world, A), ERR_OK);
    assert_int_equal(beat(world, A)->op.err, ERR_FENCED);
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

static void a_beat_shows_who_listens_and_who_tells(void **state)
{
    struct world *world = *state;
    join(world, B);
    struct store_beat *seen = beat(world, A);
    assert_false(seen->peers[0].listens);
    assert_true(seen->peers[0].relays); // who has just come cannot know that nobody listens
    struct store_beat *op = OP(world, store_beat, STORE_BEAT);
    op->incarnation = B;
    op->listens = op->in_turn = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    seen = beat(world, A);
    assert_true(seen->peers[0].listens);
    assert_false(seen->peers[0].relays);
}

int contract_lives(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(no_two_incarnations_have_one_node_number),
        PROMISE(node_numbers_are_of_the_range_of_the_store),
        PROMISE(joining_again_changes_nothing),
        PROMISE(a_dead_incarnation_cannot_join_again),
        PROMISE(join_is_refused_when_the_numbers_are_used_up),
        PROMISE(no_id_given_out_so_far_is_above_the_floor),
        PROMISE(a_beat_counts_up_and_shows_the_others),
        PROMISE(a_beat_of_the_dead_or_unknown_is_fenced),
        PROMISE(only_who_stands_still_is_buried),
        PROMISE(an_incarnation_that_holds_jobs_is_not_forgotten),
        PROMISE(a_beat_shows_who_pulls),
        PROMISE(the_first_who_joins_brings_the_secret),
        PROMISE(a_beat_shows_who_listens_and_who_tells),
    };
    return cmocka_run_group_tests_name("store lives", tests, NULL, NULL);
}
