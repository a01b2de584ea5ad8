// Two nodes on one store: who listens at one of them hears what happens at the other, from `ready` on all of it; and nothing is
// written while nobody listens. The other node is played with operations of the store.
#include "support/play.h"

#include "base/mem.h"
#include "store/journal.h"
#include "store/lives.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { OTHER = 99, TENANT = PLAY_TENANT };

static const struct events_filter all = {.tenant = TENANT, .types = ~0u};

static struct play *begin(void)
{
    struct play *play = play_new((struct play_config){0});
    event_relay_joined(play->flow->relay, false);
    return play;
}

static void turn(struct play *play, int64_t ms)
{
    play_pass(play, ms);
    play_live(play);
    play_turn(play);
    play_turn(play); // a beat's answer is looked at in the turn after the one that took it
}

// One beat of the other, and what it sees of this node.
static struct store_peer other_beats(struct play *play, bool listens, bool relays)
{
    struct store_beat beat = {.incarnation = OTHER, .listens = listens, .relays = relays, .in_turn = true};
    store_op_init(&beat.op, STORE_BEAT, NULL);
    store_call(play->store.memory, &beat.op);
    assert_int_equal(beat.op.err, ERR_OK);
    assert_int_equal(beat.peer_count, 1);
    struct store_peer self = beat.peers[0];
    store_op_done(&beat.op);
    return self;
}

static void other_relays(struct play *play, int64_t number, const char *lines)
{
    struct store_relay tell = {.now_ms = play->now.wall_ms, .events = {OTHER, number, str_of(lines)}};
    store_op_init(&tell.op, STORE_RELAY, NULL);
    store_call(play->store.memory, &tell.op);
    store_op_done(&tell.op);
}

static size_t told(struct play *play)
{
    struct store_events events = {.skip = OTHER, .max = 100};
    store_op_init(&events.op, STORE_EVENTS, NULL);
    store_call(play->store.memory, &events.op);
    size_t count = events.row_count;
    store_op_done(&events.op);
    return count;
}

static void happens(struct play *play)
{
    events_emit(play->node->events, &(struct event_item){.type = EVENT_STARTED, .tenant = TENANT, .task_id = 5});
}

// How many events there are behind `at`; a gap counts as a hundred.
static int heard(struct play *play, struct events_at *at)
{
    char text[4096];
    size_t n;
    int count = 0;
    while (events_read(play->node->events, &all, at, text, sizeof text - 1, &n) == EVENT_SOME) {
        text[n] = 0;
        for (const char *event = text; (event = strstr(event, "event: ")); event++)
            count += strncmp(event, "event: gap", 10) == 0 ? 100 : 1;
    }
    return count;
}

static void a_lone_node_is_ready_at_once(void **state)
{
    struct play *play = play_new((struct play_config){0});
    peers_alone(play->flow->peers, true);
    event_relay_joined(play->flow->relay, true);
    assert_false(events_wanted(play->node->events));
    turn(play, 1);
    events_listen(play->node->events);
    turn(play, 0);
    assert_true(events_ready(play->node->events));
    assert_int_equal(play->store.count[STORE_EVENTS], 0);
    play_free(play);
}

static void who_has_just_come_tells_until_it_knows_that_nobody_listens(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    assert_true(events_wanted(play->node->events));
    other_beats(play, false, false);
    happens(play);
    turn(play, 2500);
    turn(play, 100);
    assert_int_equal(told(play), 1);
    assert_false(other_beats(play, false, false).relays);
    assert_false(events_wanted(play->node->events));
    happens(play);
    turn(play, 2500);
    assert_int_equal(told(play), 1);
    play_free(play);
}

static void who_sees_a_listener_tells_and_says_so_at_once(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    turn(play, 2500);
    turn(play, 100);
    assert_false(other_beats(play, true, false).relays);
    turn(play, 2500);
    assert_true(other_beats(play, true, false).relays);
    happens(play);
    turn(play, 100);
    assert_int_equal(told(play), 1);
    happens(play);
    happens(play);
    turn(play, 100);
    assert_int_equal(told(play), 2); // lots, not events
    other_beats(play, false, false);
    turn(play, 2500);
    turn(play, 100);
    assert_false(other_beats(play, false, false).relays);
    assert_false(events_wanted(play->node->events));
    play_free(play);
}

static void a_client_is_ready_when_the_others_tell(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, false, false);
    turn(play, 2500);
    events_listen(play->node->events);
    struct events_at at = events_end(play->node->events);
    turn(play, 10);
    assert_true(other_beats(play, false, false).listens); // told at once, not with the next regular beat
    turn(play, 300);
    assert_false(events_ready(play->node->events));
    other_beats(play, false, true);
    turn(play, 300);
    assert_true(events_ready(play->node->events));
    other_relays(play, 1, "started 1 5 {\"type\":\"started\"}\nsuccess 1 5 {\"type\":\"success\"}\n");
    turn(play, 300);
    assert_int_equal(heard(play, &at), 2);
    turn(play, 300);
    assert_int_equal(heard(play, &at), 0);
    play_free(play);
}

static void the_dead_are_not_waited_for(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, false, false);
    turn(play, 2500);
    events_listen(play->node->events);
    for (int i = 0; i < 20; i++)
        turn(play, 1000);
    assert_true(events_ready(play->node->events));
    play_free(play);
}

static void what_was_told_before_is_not_heard_and_what_is_missing_is_a_gap(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, false, true);
    other_relays(play, 7, "started 1 5 {\"type\":\"started\"}\n");
    events_listen(play->node->events);
    struct events_at at = events_end(play->node->events);
    turn(play, 2500);
    turn(play, 300);
    assert_true(events_ready(play->node->events));
    other_relays(play, 8, "started 1 5 {\"type\":\"started\"}\n");
    turn(play, 300);
    assert_int_equal(heard(play, &at), 1);
    other_relays(play, 10, "started 1 5 {\"type\":\"started\"}\n");
    turn(play, 300);
    assert_int_equal(heard(play, &at), 101);
    play_free(play);
}

static void a_lot_that_could_not_be_told_is_told_again(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, true, false);
    turn(play, 2500);
    play->store.fails[STORE_RELAY] = ERR_STORE_UNAVAILABLE;
    happens(play);
    turn(play, 200);
    happens(play);
    turn(play, 200);
    play->store.fails[STORE_RELAY] = ERR_OK;
    turn(play, 1000);
    turn(play, 200);
    assert_int_equal(told(play), 2);
    play_free(play);
}

static void what_is_left_is_told_in_the_end(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, true, false);
    turn(play, 2500);
    turn(play, 200);
    size_t before = told(play);
    happens(play);
    event_relay_leave(play->flow->relay);
    assert_int_equal(told(play), before + 1);
    play_free(play);
}

static void a_new_life_is_a_gap_and_begins_to_call_again(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    other_beats(play, false, true);
    events_listen(play->node->events);
    struct events_at at = events_end(play->node->events);
    turn(play, 2500);
    turn(play, 300);
    assert_true(events_ready(play->node->events));
    struct store_bury bury = {.incarnation = PLAY_LIFE, .beat = other_beats(play, false, true).beat};
    store_op_init(&bury.op, STORE_BURY, NULL);
    store_call(play->store.memory, &bury.op);
    assert_int_equal(bury.op.err, ERR_OK);
    turn(play, 2500);
    turn(play, 300);
    assert_int_equal(heard(play, &at), 100);
    play_free(play);
}

static void events_go_when_nobody_came_back_for_a_while(void **state)
{
    struct play *play = begin();
    play_peer(play, OTHER);
    turn(play, 2500);
    events_listen(play->node->events);
    turn(play, 10);
    events_leave(play->node->events);
    other_beats(play, false, false);
    turn(play, 2500);
    assert_true(events_wanted(play->node->events)); // it may come back
    for (int i = 0; i < 30; i++) {
        turn(play, 2500);
        other_beats(play, false, false);
    }
    assert_false(events_wanted(play->node->events));
    assert_false(other_beats(play, false, false).listens);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_node_is_ready_at_once),
        cmocka_unit_test(who_has_just_come_tells_until_it_knows_that_nobody_listens),
        cmocka_unit_test(who_sees_a_listener_tells_and_says_so_at_once),
        cmocka_unit_test(a_client_is_ready_when_the_others_tell),
        cmocka_unit_test(the_dead_are_not_waited_for),
        cmocka_unit_test(what_was_told_before_is_not_heard_and_what_is_missing_is_a_gap),
        cmocka_unit_test(a_lot_that_could_not_be_told_is_told_again),
        cmocka_unit_test(what_is_left_is_told_in_the_end),
        cmocka_unit_test(a_new_life_is_a_gap_and_begins_to_call_again),
        cmocka_unit_test(events_go_when_nobody_came_back_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
