// The tender that carries out bulks: each thing that matches is acted on, counted once, and the row says how far it has come,
// whatever fails, stops or takes over.
#include "bulk_rows.h"

#include "base/mem.h"
#include "store/jobs.h"

enum { OTHER = 55, BULK = 900000, PAGE = 100 };

static int64_t far_job(struct play *play, const char *queue)
{
    return play_add(play, (struct play_job){.queue = queue, .state = JOB_DELAYED, .due_at = play->now.wall_ms + 3600000});
}

static void begin(struct play *play, int64_t id, const char *doc)
{
    put_row(play, (struct store_bulk_row){.id = id,
                                          .tenant = PLAY_TENANT,
                                          .created_at = play->now.wall_ms,
                                          .next = {INT64_MAX, INT64_MAX},
                                          .doc = str_of(doc)});
    bulk_poke(play->flow->bulk);
}

static void stop(struct play *play, int64_t id)
{
    struct store_bulk_row row = row_of(play, id);
    row.state = STORE_BULK_STOPPED;
    row.ended_at = play->now.wall_ms;
    put_row(play, row);
}

static void assert_row(struct play *play, enum store_bulk_state bulk_state, int64_t changed, int64_t unchanged, int64_t failed)
{
    struct store_bulk_row row = row_of(play, BULK);
    assert_int_equal(row.state, bulk_state);
    assert_int_equal(row.changed, changed);
    assert_int_equal(row.unchanged, unchanged);
    assert_int_equal(row.failed, failed);
    assert_int_equal(row.matched, changed + unchanged + failed);
}

static int cancelled(struct play *play, const int64_t ids[], int count)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += play_job_of(play, ids[i]).state == JOB_CANCELLED;
    return found;
}

static void what_matches_is_acted_on_and_counted_and_nothing_else(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t ids[4] = {far_job(play, "a"), far_job(play, "b"), far_job(play, "a"),
                      play_add(play, (struct play_job){.queue = "a", .state = JOB_SUCCESS})};
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{\"queue\":\"a\"}}");
    play_turn(play);
    assert_row(play, STORE_BULK_DONE, 2, 1, 0);
    assert_int_equal(cancelled(play, ids, 4), 2);
    assert_int_equal(play_job_of(play, ids[1]).state, JOB_DELAYED);
    struct store_bulk_row row = row_of(play, BULK);
    assert_true(row.ended_at == play->now.wall_ms && row.holder == 0);
    play_free(play);
}

static void each_action_does_what_it_does_by_hand(void **state)
{
    static const struct {
        const char *doc;
        bool gone, started;
        int64_t changed;
    } cases[] = {
        {"{\"action\":\"run\",\"filter\":{}}", false, true, 1},
        {"{\"action\":\"pause\",\"filter\":{}}", false, false, 1},
        {"{\"action\":\"resume\",\"filter\":{}}", false, false, 1},
        {"{\"action\":\"delete\",\"filter\":{}}", true, false, 1},
        {"{\"action\":\"retry\",\"filter\":{\"state\":\"success\"}}", false, false, 0},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct play *play = play_new((struct play_config){0});
        int64_t id = far_job(play, "a");
        begin(play, BULK, cases[i].doc);
        pass(play, 1000);
        assert_row(play, STORE_BULK_DONE, cases[i].changed, 0, 0);
        assert_int_equal(play_gone(play, id), cases[i].gone);
        assert_int_equal(play_running(play, id) != NULL, cases[i].started);
        play_free(play);
    }
}

static void a_bulk_of_jobs_retries_each_once(void **state)
{
    struct play *play = play_new((struct play_config){.slots = 40});
    play_add(play, (struct play_job){.state = JOB_ABORTED});
    play_add(play, (struct play_job){.state = JOB_ABORTED});
    play_add(play, (struct play_job){.state = JOB_SUCCESS});
    begin(play, BULK, "{\"action\":\"retry\",\"filter\":{\"state\":\"aborted\"}}");
    pass(play, 1000);
    assert_row(play, STORE_BULK_DONE, 2, 0, 0);
    assert_int_equal(play->exec.started, 2);
    play_free(play);
}

static void many_are_done_page_by_page(void **state)
{
    enum { TASKS = 2 * PAGE + 50 };
    struct play *play = play_new((struct play_config){0});
    int64_t ids[TASKS];
    for (int i = 0; i < TASKS; i++)
        ids[i] = far_job(play, "a");
    play->store.hold[STORE_BULK] = true;
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    for (int page = 0; page <= 3; page++) {
        play_turn(play);
        assert_int_equal(cancelled(play, ids, TASKS), page == 3 ? TASKS : page * PAGE);
        struct store_op *save = play_waiting(play, STORE_BULK);
        assert_non_null(save);
        play_answer(play, save);
    }
    assert_null(play_waiting(play, STORE_BULK));
    assert_row(play, STORE_BULK_DONE, TASKS, 0, 0);
    play_free(play);
}

static void bulks_are_done_one_after_the_other(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = far_job(play, "a");
    begin(play, BULK, "{\"action\":\"pause\",\"filter\":{}}");
    begin(play, BULK + 1, "{\"action\":\"cancel\",\"filter\":{}}");
    play_turn(play);
    assert_int_equal(row_of(play, BULK).state, STORE_BULK_DONE);
    assert_int_equal(row_of(play, BULK + 1).state, STORE_BULK_DONE);
    assert_int_equal(play_job_of(play, id).state, JOB_CANCELLED);
    play_free(play);
}

static void one_that_was_begun_during_a_look_is_found_at_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    play->store.hold[STORE_BULKS] = true;
    pass(play, 6000);
    struct store_op *look = play_waiting(play, STORE_BULKS);
    assert_non_null(look);
    play_do(play, look); // it has seen nothing
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    play_turn(play);
    play->store.hold[STORE_BULKS] = false;
    play_deliver(play, look);
    play_turn(play);
    assert_row(play, STORE_BULK_DONE, 1, 0, 0);
    play_free(play);
}

static void a_page_that_fails_is_read_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    play->store.fails[STORE_LIST] = ERR_STORE_UNAVAILABLE;
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    pass(play, 5000);
    assert_row(play, STORE_BULK_RUNNING, 0, 0, 0);
    assert_true(play->store.count[STORE_LIST] >= 3 && play->store.count[STORE_LIST] <= 8); // and not all the time
    play->store.fails[STORE_LIST] = ERR_OK;
    pass(play, 2000);
    assert_row(play, STORE_BULK_DONE, 1, 0, 0);
    play_free(play);
}

static void a_write_that_fails_is_made_again(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    play->store.hold[STORE_BULK] = true;
    play_turn(play);
    play_answer(play, play_waiting(play, STORE_BULK)); // it is taken
    play_turn(play);
    play_refuse(play, play_waiting(play, STORE_BULK), ERR_STORE_UNAVAILABLE);
    play->store.hold[STORE_BULK] = false;
    pass(play, 2000);
    assert_row(play, STORE_BULK_DONE, 1, 0, 0);
    play_free(play);
}

// The row was written, which this node does not hear of: then its next write meets its own.
static void a_page_whose_write_was_not_heard_of_is_counted_once(void **state)
{
    for (int lost = 0; lost < 4; lost++) { // when it is taken, after either page, at its end
        struct play *play = play_new((struct play_config){0});
        enum { TASKS = 2 * PAGE + 20 };
        for (int i = 0; i < TASKS; i++)
            far_job(play, "a");
        begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
        play->store.hold[STORE_BULK] = true;
        for (int i = 0; i < lost; i++) {
            play_turn(play);
            play_answer(play, play_waiting(play, STORE_BULK));
        }
        play_turn(play);
        play_lose(play, play_waiting(play, STORE_BULK));
        play->store.hold[STORE_BULK] = false;
        pass(play, 10000);
        assert_row(play, STORE_BULK_DONE, TASKS, 0, 0);
        play_free(play);
    }
}

static void what_the_store_could_not_do_is_done_later(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    play->store.fails[STORE_CHANGE] = ERR_STORE_UNAVAILABLE;
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    pass(play, 20000);
    assert_row(play, STORE_BULK_RUNNING, 0, 0, 0);
    play->store.fails[STORE_CHANGE] = ERR_OK;
    pass(play, 3000);
    assert_row(play, STORE_BULK_DONE, 1, 0, 0);
    play_free(play);
}

static void what_stays_busy_is_counted_as_failed_after_a_while(void **state)
{
    struct play *play = play_new((struct play_config){0});
    play_peer(play, OTHER);
    play_add(play, (struct play_job){.state = JOB_WATCHING, .holder = OTHER, .due_at = play->now.wall_ms + 3600000});
    far_job(play, "a");
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    for (int i = 0; i < 150; i++) { // it lives, and does not listen
        play_peer_beats(play, OTHER);
        pass(play, 1000);
    }
    assert_row(play, STORE_BULK_DONE, 1, 0, 1);
    play_free(play);
}

static void who_stops_a_bulk_is_heard_after_the_page(void **state)
{
    struct play *play = play_new((struct play_config){0});
    enum { TASKS = PAGE + 50 };
    int64_t ids[TASKS];
    for (int i = 0; i < TASKS; i++)
        ids[i] = far_job(play, "a");
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    play->store.hold[STORE_LIST] = true;
    play_turn(play);
    stop(play, BULK);
    play->store.hold[STORE_LIST] = false;
    play_answer(play, play_waiting(play, STORE_LIST));
    pass(play, 10000);
    assert_row(play, STORE_BULK_STOPPED, PAGE, 0, 0); // what was done counts
    assert_int_equal(cancelled(play, ids, TASKS), PAGE);
    play_free(play);
}

static void one_that_was_stopped_before_it_began_does_nothing(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = far_job(play, "a");
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    stop(play, BULK);
    pass(play, 10000);
    assert_row(play, STORE_BULK_STOPPED, 0, 0, 0);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void one_that_another_has_taken_is_let_go(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    play_peer(play, OTHER);
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    play->store.hold[STORE_LIST] = true;
    play_turn(play);
    struct store_bulk_row row = row_of(play, BULK);
    assert_int_equal(row.holder, PLAY_LIFE);
    row.holder = OTHER; // it took this node for dead
    put_row(play, row);
    play->store.hold[STORE_LIST] = false;
    play_answer(play, play_waiting(play, STORE_LIST));
    for (int i = 0; i < 30; i++) {
        play_peer_beats(play, OTHER);
        pass(play, 1000);
    }
    assert_row(play, STORE_BULK_RUNNING, 0, 0, 0); // that is the other's to say
    assert_int_equal(row_of(play, BULK).holder, OTHER);
    play_free(play);
}

static void what_a_dead_node_was_at_is_gone_on_with_where_it_stopped(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t first = far_job(play, "a"), second = far_job(play, "a"), third = far_job(play, "a");
    play_peer(play, OTHER);
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    struct store_bulk_row row = row_of(play, BULK);
    row.holder = OTHER;
    row.next = (struct store_cursor){0, third};
    row.matched = row.changed = 1;
    put_row(play, row);
    for (int i = 0; i < 30; i++) {
        play_peer_beats(play, OTHER);
        pass(play, 1000);
    }
    assert_row(play, STORE_BULK_RUNNING, 1, 0, 0);
    pass(play, 60000); // it fell silent
    assert_row(play, STORE_BULK_DONE, 3, 0, 0);
    assert_int_equal(cancelled(play, (int64_t[]){first, second, third}, 3), 2);
    play_free(play);
}

static void who_has_just_joined_is_not_taken_for_dead(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    pass(play, 100);
    play_peer(play, OTHER); // which this node has not heard of
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    struct store_bulk_row row = row_of(play, BULK);
    row.holder = OTHER;
    put_row(play, row);
    for (int i = 0; i < 60; i++) {
        play_peer_beats(play, OTHER);
        pass(play, 1000);
        assert_int_equal(row_of(play, BULK).holder, OTHER);
    }
    play_free(play);
}

static void who_stops_begins_nothing_and_leaves_it_to_others(void **state)
{
    struct play *play = play_new((struct play_config){0});
    int64_t id = far_job(play, "a");
    pass(play, 100);
    atomic_store(&play->node->stopping, true);
    begin(play, BULK, "{\"action\":\"cancel\",\"filter\":{}}");
    pass(play, 10000);
    assert_row(play, STORE_BULK_RUNNING, 0, 0, 0);
    assert_int_equal(play_job_of(play, id).state, JOB_DELAYED);
    play_free(play);
}

static void what_cannot_be_understood_is_stopped(void **state)
{
    struct play *play = play_new((struct play_config){0});
    far_job(play, "a");
    begin(play, BULK, "{\"action\":\"of a newer rota\",\"filter\":{}}");
    begin(play, BULK + 1, "{\"action\":\"cancel\",\"filter\":{}}");
    pass(play, 1000);
    assert_row(play, STORE_BULK_STOPPED, 0, 0, 0);
    assert_int_equal(row_of(play, BULK + 1).state, STORE_BULK_DONE);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_matches_is_acted_on_and_counted_and_nothing_else),
        cmocka_unit_test(each_action_does_what_it_does_by_hand),
        cmocka_unit_test(a_bulk_of_jobs_retries_each_once),
        cmocka_unit_test(many_are_done_page_by_page),
        cmocka_unit_test(bulks_are_done_one_after_the_other),
        cmocka_unit_test(one_that_was_begun_during_a_look_is_found_at_once),
        cmocka_unit_test(a_page_that_fails_is_read_again),
        cmocka_unit_test(a_write_that_fails_is_made_again),
        cmocka_unit_test(a_page_whose_write_was_not_heard_of_is_counted_once),
        cmocka_unit_test(what_the_store_could_not_do_is_done_later),
        cmocka_unit_test(what_stays_busy_is_counted_as_failed_after_a_while),
        cmocka_unit_test(who_stops_a_bulk_is_heard_after_the_page),
        cmocka_unit_test(one_that_was_stopped_before_it_began_does_nothing),
        cmocka_unit_test(one_that_another_has_taken_is_let_go),
        cmocka_unit_test(what_a_dead_node_was_at_is_gone_on_with_where_it_stopped),
        cmocka_unit_test(who_has_just_joined_is_not_taken_for_dead),
        cmocka_unit_test(who_stops_begins_nothing_and_leaves_it_to_others),
        cmocka_unit_test(what_cannot_be_understood_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
