// Beat: who lives says so, and who cannot say so stops acting before the others may believe it dead.
#include "support/play.h"

#include "base/mem.h"
#include "store/lives.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static int64_t turn(struct play *play)
{
    beat_turn(play->flow->beat, play->now);
    return beat_turn(play->flow->beat, play->now);
}

static void pass(struct play *play, int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        play_pass(play, 100);
        turn(play);
    }
}

// How many incarnations the store knows.
static size_t known(struct play *play)
{
    struct store_beat beat = {.incarnation = PLAY_LIFE};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    store_call(play->store.memory, &beat.op);
    assert_int_equal(beat.op.err, ERR_OK);
    size_t count = beat.peer_count + 1;
    store_op_done(&beat.op);
    return count;
}

static void who_beats_stays_alive(void **state)
{
    struct play *play = play_new((struct play_config){0});
    for (int i = 0; i < 60; i++) {
        pass(play, 1000);
        assert_true(node_alive(play->node, play->now.mono_ms));
        assert_true(beat_ok(play->flow->beat));
    }
    play_free(play);
}

static void the_right_to_act_counts_from_when_the_beat_was_sent(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play->store.hold[STORE_BEAT] = true;
    turn(play);
    int64_t sent = play->now.mono_ms;
    pass(play, 4000);
    play->store.hold[STORE_BEAT] = false;
    play_answer(play, play_waiting(play, STORE_BEAT));
    beat_turn(play->flow->beat, play->now);
    assert_true(node_alive(play->node, sent + BEAT_ALIVE_MS - 1) && !node_alive(play->node, sent + 4000 + BEAT_ALIVE_MS));
    play_free(play);
}

static void while_the_store_is_away_the_right_runs_out_and_comes_back(void **state)
{
    struct play *play = play_new((struct play_config){0});
    pass(play, 5000);
    play->store.fails[STORE_BEAT] = ERR_STORE_UNAVAILABLE;
    pass(play, 300000);
    assert_false(node_alive(play->node, play->now.mono_ms));
    assert_false(beat_ok(play->flow->beat));
    assert_true(play->store.count[STORE_BEAT] < 700); // twice a second
    play->store.fails[STORE_BEAT] = ERR_OK;
    pass(play, 1000);
    assert_true(node_alive(play->node, play->now.mono_ms));
    assert_true(beat_ok(play->flow->beat));
    play_free(play);
}

// There is nothing to wait for: it does not come back.
static void a_store_whose_files_were_taken_away_is_lost(void **state)
{
    struct play *play = play_new((struct play_config){0});
    pass(play, 5000);
    assert_false(atomic_load(&play->node->store_lost));
    play->store.fails[STORE_BEAT] = ERR_STORE_LOST;
    pass(play, 3000);
    assert_true(atomic_load(&play->node->store_lost));
    assert_false(beat_ok(play->flow->beat));
    play_free(play);
}

static void a_store_that_does_not_answer_is_noticed(void **state)
{
    struct play *play = play_new((struct play_config){0});
    pass(play, 5000);
    assert_true(beat_ok(play->flow->beat));
    play->store.hold[STORE_BEAT] = true;
    pass(play, 8000);
    assert_false(beat_ok(play->flow->beat));
    pass(play, 3000);
    assert_false(node_alive(play->node, play->now.mono_ms));
    play_answer(play, play_waiting(play, STORE_BEAT));
    play->store.hold[STORE_BEAT] = false;
    pass(play, 3000);
    assert_true(beat_ok(play->flow->beat) && node_alive(play->node, play->now.mono_ms));
    play_free(play);
}

static void who_was_declared_dead_begins_a_new_life(void **state)
{
    struct play *play = play_new((struct play_config){0});
    pass(play, 3000);
    play->store.fails[STORE_BEAT] = ERR_FENCED;
    play->store.hold[STORE_JOIN] = true;
    pass(play, 3000);
    assert_int_equal(atomic_load(&play->node->incarnation), 0);
    assert_false(node_alive(play->node, play->now.mono_ms));
    play->store.fails[STORE_BEAT] = ERR_OK;
    play->store.hold[STORE_JOIN] = false;
    play_answer(play, play_waiting(play, STORE_JOIN));
    turn(play);
    int64_t life = atomic_load(&play->node->incarnation);
    assert_true(life != 0 && life != PLAY_LIFE);
    assert_true(node_alive(play->node, play->now.mono_ms));
    play_free(play);
}

static void a_join_whose_answer_was_lost_leaves_no_stranger_behind(void **state)
{
    struct play *play = play_new((struct play_config){0});
    atomic_store(&play->node->incarnation, 0);
    play->store.hold[STORE_JOIN] = true;
    for (int i = 0; i < 10; i++) {
        pass(play, 1000);
        play_lose(play, play_waiting(play, STORE_JOIN));
    }
    play->store.hold[STORE_JOIN] = false;
    pass(play, 1000);
    assert_true(atomic_load(&play->node->incarnation) != 0);
    assert_int_equal(known(play), 2); // the played life, and this one
    play_free(play);
}

static void a_join_that_was_buried_meanwhile_is_tried_with_another_life(void **state)
{
    struct play *play = play_new((struct play_config){0});
    atomic_store(&play->node->incarnation, 0);
    play->store.fails[STORE_JOIN] = ERR_FENCED;
    pass(play, 2000);
    assert_int_equal(atomic_load(&play->node->incarnation), 0);
    play->store.hold[STORE_JOIN] = true;
    play->store.fails[STORE_JOIN] = ERR_OK;
    pass(play, 1000);
    struct store_op *op = play_waiting(play, STORE_JOIN);
    int64_t first = container_of(op, struct store_join, op)->incarnation;
    play_refuse(play, op, ERR_FENCED);
    pass(play, 1000);
    op = play_waiting(play, STORE_JOIN);
    assert_non_null(op);
    assert_true(container_of(op, struct store_join, op)->incarnation != first);
    play_free(play);
}

static void a_clock_that_was_far_ahead_makes_no_id_twice_in_the_next_life(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t before = node_make_id(play->node, play->now.wall_ms + 3600000);
    atomic_store(&play->node->incarnation, 0);
    pass(play, 1000);
    assert_true(atomic_load(&play->node->incarnation) != 0);
    assert_true(node_make_id(play->node, play->now.wall_ms) > before);
    play_free(play);
}

static void correct(void *ctx, int64_t by_ms)
{
    struct play *play = ctx;
    play->now.wall_ms += by_ms;
}

// Sends a beat, lets it take so long, and answers it with what the store's clock said when it was sent.
static void beat_with_clock(struct play *play, int64_t ahead_ms, int64_t takes_ms)
{
    play->store.hold[STORE_BEAT] = true;
    pass(play, BEAT_MS);
    struct store_op *op = play_waiting(play, STORE_BEAT);
    assert_non_null(op);
    play_do(play, op);
    container_of(op, struct store_beat, op)->clock_ms = play->now.wall_ms + ahead_ms;
    play_pass(play, takes_ms);
    play_deliver(play, op);
    play->store.hold[STORE_BEAT] = false;
    turn(play);
}

static void the_clock_is_fitted_to_the_stores(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play->node->correct_clock = correct;
    play->node->clock_ctx = play;
    turn(play); // the first beat, which says nothing of a clock
    int64_t right = play->now.wall_ms - play->now.mono_ms;
    beat_with_clock(play, 0, 3);
    beat_with_clock(play, 3, 3); // fits: it may have been read at the very end
    beat_with_clock(play, -1, 3);
    assert_int_equal(play->now.wall_ms - play->now.mono_ms, right);
    beat_with_clock(play, 30000, 10);
    int64_t by = play->now.wall_ms - play->now.mono_ms - right;
    assert_in_range(by, 30000 - 11, 30001);
    beat_with_clock(play, -5000, 10);
    assert_in_range(play->now.wall_ms - play->now.mono_ms - right - by + 10000, 5000 - 11, 5001);
    play_free(play);
}

static void who_leaves_is_forgotten_and_who_stops_does_not_join_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, 55);
    atomic_store(&play->node->stopping, true);
    beat_leave(play->flow->beat);
    struct store_beat beat = {.incarnation = 55};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    store_call(play->store.memory, &beat.op);
    assert_int_equal(beat.peer_count, 0);
    store_op_done(&beat.op);
    pass(play, 5000);
    assert_int_equal(play->store.count[STORE_JOIN], 0);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_beats_stays_alive),
        cmocka_unit_test(the_right_to_act_counts_from_when_the_beat_was_sent),
        cmocka_unit_test(while_the_store_is_away_the_right_runs_out_and_comes_back),
        cmocka_unit_test(a_store_whose_files_were_taken_away_is_lost),
        cmocka_unit_test(a_store_that_does_not_answer_is_noticed),
        cmocka_unit_test(who_was_declared_dead_begins_a_new_life),
        cmocka_unit_test(a_join_whose_answer_was_lost_leaves_no_stranger_behind),
        cmocka_unit_test(a_join_that_was_buried_meanwhile_is_tried_with_another_life),
        cmocka_unit_test(a_clock_that_was_far_ahead_makes_no_id_twice_in_the_next_life),
        cmocka_unit_test(the_clock_is_fitted_to_the_stores),
        cmocka_unit_test(who_leaves_is_forgotten_and_who_stops_does_not_join_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
