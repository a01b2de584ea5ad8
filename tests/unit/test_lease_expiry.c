// Leases that ran out: a timeout, unless nobody could have been heard.
#include "support/play.h"

#include "base/mem.h"
#include "store/jobs.h"
#include "store/lives.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char DOC[] = "{\"url\":\"http://h/\",\"timeout\":\"20s\",\"retry\":{\"max\":1,\"delay\":\"1h\",\"jitter\":false}}";

static void pass_turning(struct play *play, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 500) {
        play_pass(play, 500);
        play_live(play);
        play_turn(play);
    }
}

static int64_t detached(struct play *play)
{
    int64_t id = play_add(play, (struct play_job){.doc = DOC});
    for (int i = 0; i < 10 && !play_running(play, id); i++) // until its lane was looked at
        pass_turning(play, 500);
    play_detach(play, id);
    play_turn(play);
    assert_true(play_job_of(play, id).lease_until > 0);
    return id;
}

// A node that has been there for a while.
static struct play *settled(void)
{
    struct play *play = play_new((struct play_config){0});
    play_turn(play);
    pass_turning(play, 21000);
    return play;
}

static void silence_is_a_timeout_and_the_job_is_tried_again(void **state)
{
    struct play *play = settled();
    int64_t id = detached(play);
    pass_turning(play, 19000);
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    pass_turning(play, 2500);
    struct job job = play_job_of(play, id);
    assert_int_equal(job.state, JOB_DELAYED);
    assert_int_equal(job.lease_until, 0);
    assert_int_equal(job.retries, 1);
    assert_int_equal(play_attempts_of(play, id), 1);
    pass_turning(play, 3600000);
    assert_non_null(play_running(play, id));
    play_end(play, id, OUTCOME_SUCCESS);
    play_turn(play);
    play_free(play);
}

// Straight into the store, as another node left it.
static int64_t leased(struct play *play, int64_t until_ms)
{
    int64_t id = play_add(play, (struct play_job){.state = JOB_RESERVED, .doc = DOC});
    struct job job = play_job_of(play, id);
    job.lease_until = until_ms;
    struct store_step step = {.token = job.token, .job = &job};
    struct store_change change = {.steps = &step, .count = 1};
    store_op_init(&change.op, STORE_CHANGE, NULL);
    store_call(play->store.memory, &change.op);
    assert_int_equal(step.err, ERR_OK);
    store_op_done(&change.op);
    return id;
}

static void many_run_out_in_bounded_rounds(void **state)
{
    enum { JOBS = 1200 };
    struct play *play = settled();
    for (int i = 0; i < JOBS; i++)
        leased(play, play->now.wall_ms - 1 - i % 7);
    int rounds = play->store.count[PLAY_FIND_LEASES];
    pass_turning(play, 2000);
    assert_true(play->store.count[PLAY_FIND_LEASES] >= rounds + 3);
    for (int64_t id = play->last_id - JOBS + 1; id <= play->last_id; id++)
        assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void spared_after(struct play *play, int64_t id, int64_t deaf_mono)
{
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    int64_t until = play_job_of(play, id).lease_until;
    assert_true(until > play->now.wall_ms && until <= play->now.wall_ms + 20000);
    pass_turning(play, 22000); // but only once
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    assert_true(play->now.mono_ms - deaf_mono <= 2 * 22000);
}

// This node is the only one.
static void what_ran_out_while_nobody_was_there_has_its_time_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = leased(play, play->now.wall_ms - 3600000);
    pass_turning(play, 1500);
    spared_after(play, id, play->now.mono_ms - 1500);
    play_free(play);
}

static void who_comes_into_company_spares_nothing(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, 55);
    const struct store_peer peer = {.incarnation = 55, .beat = 1, .pulls = true};
    peers_saw(play->flow->peers, &peer, 1, play->now);
    int64_t id = leased(play, play->now.wall_ms - 1);
    play_peer_beats(play, 55);
    pass_turning(play, 1500);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void a_clock_set_forward_ends_no_lease(void **state)
{
    struct play *play = settled();
    int64_t id = detached(play);
    play->now.wall_ms += 3600000;
    int64_t set_at = play->now.mono_ms;
    pass_turning(play, 1500);
    spared_after(play, id, set_at);
    play_free(play);
}

static void a_store_that_was_away_ends_no_lease(void **state)
{
    struct play *play = settled();
    int64_t id = detached(play);
    play->store.fails[PLAY_FIND_LEASES] = ERR_STORE_UNAVAILABLE;
    pass_turning(play, 60000);
    play->store.fails[PLAY_FIND_LEASES] = ERR_OK;
    pass_turning(play, 2500);
    spared_after(play, id, play->now.mono_ms - 2500);
    play_free(play);
}

static void a_node_that_may_not_act_ends_nothing(void **state)
{
    struct play *play = settled();
    int64_t id = detached(play);
    play->store.fails[STORE_BEAT] = ERR_STORE_UNAVAILABLE;
    for (int i = 0; i < 100; i++) { // it beats in vain
        play_pass(play, 500);
        play_turn(play);
    }
    assert_int_equal(play_job_of(play, id).state, JOB_RESERVED);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_a_timeout_and_the_job_is_tried_again),
        cmocka_unit_test(many_run_out_in_bounded_rounds),
        cmocka_unit_test(what_ran_out_while_nobody_was_there_has_its_time_again),
        cmocka_unit_test(who_comes_into_company_spares_nothing),
        cmocka_unit_test(a_clock_set_forward_ends_no_lease),
        cmocka_unit_test(a_store_that_was_away_ends_no_lease),
        cmocka_unit_test(a_node_that_may_not_act_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
