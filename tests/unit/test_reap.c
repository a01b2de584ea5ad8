// Reap takes back what the dead held, and only what the dead held.
#include "support/play.h"

#include "base/mem.h"
#include "store/lives.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PEER = 55 };

// Time passes, beat by beat, with the reaper alive and looking.
static void watch(struct play *play, int64_t ms, bool peer_beats)
{
    for (int64_t passed = 0; passed < ms; passed += 500) {
        play_pass(play, 500);
        if (peer_beats)
            play_peer_beats(play, PEER);
        play_turn(play);
    }
}

static int64_t held_by_peer(struct play *play, enum job_state state)
{
    return play_add(play, (struct play_job){.state = state, .holder = PEER, .due_at = play->now.wall_ms + 3600000});
}

static struct play *play_with_peer(void)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, PEER);
    return play;
}

static void a_counter_that_moves_is_alive(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_WATCHING);
    watch(play, 60000, true);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    assert_int_equal(play->store.count[STORE_BURY], 0);
    play_free(play);
}

static void one_that_stands_still_for_long_enough_is_dead_and_not_before(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_WATCHING);
    play_turn(play); // it is seen for the first time
    watch(play, BEAT_DEAD_MS - 1000, false);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    watch(play, 5000, false); // within 20 s of its last sign of life
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    assert_int_equal(play_job_of(play, id).attempts, 0);
    play_free(play);
}

static void what_had_begun_counts_as_lost(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_RESERVED);
    watch(play, 20000, false);
    assert_int_equal(play_job_of(play, id).losses, 1);
    assert_int_equal(play_attempts_of(play, id), 1);
    play_free(play);
}

static void one_that_beats_just_before_it_is_buried_lives(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_WATCHING);
    play->store.hold[STORE_BURY] = true;
    watch(play, 20000, false);
    struct store_op *bury = play_waiting(play, STORE_BURY);
    assert_non_null(bury);
    play_peer_beats(play, PEER);
    play->store.hold[STORE_BURY] = false;
    play_answer(play, bury);
    watch(play, 5000, true);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    play_free(play);
}

static void who_was_blind_for_a_while_does_not_count_that_time_against_the_others(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_WATCHING);
    watch(play, 5000, true);
    watch(play, 3000, false);                              // its latest beat was seen
    play->store.fails[STORE_BEAT] = ERR_STORE_UNAVAILABLE; // the store is away from everybody
    watch(play, 60000, false);
    play->store.fails[STORE_BEAT] = ERR_OK;
    watch(play, 2000, false); // this node is the first to be back
    assert_int_equal(play->store.count[STORE_BURY], 0);
    watch(play, 10000, true);
    assert_int_equal(play_job_of(play, id).state, JOB_WATCHING);
    watch(play, 20000, false); // and one that is really dead is found all the same
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void one_that_is_not_sure_to_be_alive_itself_declares_nobody_dead(void **state)
{
    struct play *play = play_with_peer();
    play_turn(play);
    play_pass(play, 60000); // it was frozen
    reap_turn(play->flow->reap, play->now);
    assert_int_equal(play->store.count[STORE_BURY], 0);
    play_free(play);
}

static void who_is_alone_takes_back_at_once(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_WATCHING);
    peers_alone(play->flow->peers, true);
    play_turn(play);
    watch(play, 1000, false);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void it_takes_back_in_batches_until_nothing_is_left(void **state)
{
    enum { JOBS = 1201 };
    struct play *play = play_with_peer();
    int64_t first = 0, last = 0;
    for (int i = 0; i < JOBS; i++) {
        last = held_by_peer(play, i % 2 ? JOB_RESERVED : JOB_WATCHING);
        first = first ? first : last;
    }
    peers_alone(play->flow->peers, true);
    atomic_store(&play->node->stopping, true); // only reap is to act
    int before = play->store.count[STORE_CHANGE];
    watch(play, 2000, false);
    assert_int_equal(play->store.count[STORE_CHANGE] - before, 3);
    for (int64_t id = first; id <= last; id++)
        assert_true(job_state_waiting((enum job_state)play_job_of(play, id).state));
    struct store_beat beat = {.incarnation = PLAY_LIFE};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    store_call(play->store.memory, &beat.op);
    assert_int_equal(beat.peer_count, 0); // it is forgotten
    store_op_done(&beat.op);
    play_free(play);
}

static void a_store_failure_at_any_step_begins_anew(void **state)
{
    static const int verbs[] = {STORE_BURY, PLAY_FIND_HELD, STORE_CHANGE, STORE_FORGET};
    for (size_t i = 0; i < array_count(verbs); i++) {
        struct play *play = play_with_peer();
        int64_t id = held_by_peer(play, JOB_RESERVED);
        peers_alone(play->flow->peers, true);
        play->store.fails[verbs[i]] = ERR_STORE_UNAVAILABLE;
        watch(play, 5000, false);
        int asked = play->store.count[verbs[i]];
        assert_true(asked > 1 && asked < 25); // again and again, not in a loop
        play->store.fails[verbs[i]] = ERR_OK;
        watch(play, 5000, false);
        assert_int_equal(play_job_of(play, id).losses, 1);
        assert_int_equal(play_attempts_of(play, id), 1);
        play_free(play);
    }
}

static void an_answer_that_was_lost_takes_nothing_back_twice(void **state)
{
    struct play *play = play_with_peer();
    int64_t id = held_by_peer(play, JOB_RESERVED);
    peers_alone(play->flow->peers, true);
    play->store.hold[STORE_CHANGE] = true;
    watch(play, 1000, false);
    play->store.hold[STORE_CHANGE] = false;
    play_lose(play, play_waiting(play, STORE_CHANGE));
    watch(play, 5000, false);
    assert_int_equal(play_job_of(play, id).losses, 1);
    assert_int_equal(play_attempts_of(play, id), 1);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_counter_that_moves_is_alive),
        cmocka_unit_test(one_that_stands_still_for_long_enough_is_dead_and_not_before),
        cmocka_unit_test(what_had_begun_counts_as_lost),
        cmocka_unit_test(one_that_beats_just_before_it_is_buried_lives),
        cmocka_unit_test(who_was_blind_for_a_while_does_not_count_that_time_against_the_others),
        cmocka_unit_test(one_that_is_not_sure_to_be_alive_itself_declares_nobody_dead),
        cmocka_unit_test(who_is_alone_takes_back_at_once),
        cmocka_unit_test(it_takes_back_in_batches_until_nothing_is_left),
        cmocka_unit_test(a_store_failure_at_any_step_begins_anew),
        cmocka_unit_test(an_answer_that_was_lost_takes_nothing_back_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
