// Lanes share one node's room: whoever comes finds a place, whoever was served stands behind whoever was not, and what is given
// back can be taken again, to the last place.
#include "flow/lanes.h"

#include "base/clock.h"
#include "store/jobs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { NOW = 1000000, HORIZON = LANES_BEGIN_MS, TENANT = 1, BYTES = 64 << 20, SMALL = 300, LARGE = 1 << 20 };

static int64_t note(struct lanes *lanes, int64_t lane, int64_t due_ms)
{
    char queue[32];
    snprintf(queue, sizeof queue, "q%lld", (long long)lane);
    struct store_lane told = {
        .id = lane, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = str_of(queue), .next_due = due_ms};
    lanes_learn(lanes, &told, (struct lanes_version){-1, -1}); // asked before anything was heard
    return lane;
}

static struct str name_of(int64_t lane)
{
    static char queue[32];
    snprintf(queue, sizeof queue, "q%lld", (long long)lane);
    return str_of(queue);
}

static size_t plan(struct lanes *lanes, int64_t now_ms, struct store_want *wants, size_t max_wants)
{
    return lanes_plan(lanes, now_ms, wants, max_wants, 1000);
}

// The store's answer: so many were there, and what is left is due then.
static void answer(struct lanes *lanes, struct store_want *want, size_t got, int64_t next_due)
{
    want->next_due = next_due;
    lanes_planned(lanes, want, got, got * SMALL, true);
}

static void a_newcomer_finds_room_beside_a_flood(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, NOW);
    for (int i = 0; i < 50 && plan(lanes, NOW + i, &want, 1); i++)
        answer(lanes, &want, want.max, NOW); // it always has more
    int flood = lanes_held(lanes);
    assert_true(flood < 100);
    note(lanes, 2, NOW + 60);
    assert_int_equal(plan(lanes, NOW + 60, &want, 1), 1);
    assert_int_equal(want.lane, 2);
    assert_true(want.max >= (size_t)(100 - flood) / 2);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_lane_that_was_served_is_behind_one_that_was_not(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, NOW - 3600000); // an old backlog
    note(lanes, 2, NOW - 10);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(want.lane, 1);
    answer(lanes, &want, 1, NOW - 3600000);
    assert_int_equal(plan(lanes, NOW + 1, &want, 1), 1);
    assert_int_equal(want.lane, 2);
    answer(lanes, &want, 1, NOW - 10);
    assert_int_equal(plan(lanes, NOW + 2, &want, 1), 1);
    assert_int_equal(want.lane, 1);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_lane_whose_claim_is_under_way_is_not_planned_twice(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want, other;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &other, 1), 0);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0);
    answer(lanes, &want, 0, TIME_NEVER);
    // What was noted meanwhile may not have been seen by the claim, so it is asked for.
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 0, TIME_NEVER);
    assert_int_equal(plan(lanes, NOW, &want, 1), 0);
    lanes_free(lanes);
}

static void a_claim_that_failed_is_tried_again_and_its_places_are_free(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(lanes_held(lanes), want.max);
    lanes_planned(lanes, &want, 0, 0, false);
    assert_int_equal(lanes_held(lanes), 0);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    lanes_planned(lanes, &want, 0, 0, false);
    lanes_free(lanes);
}

static void a_paused_lane_gives_nothing_and_a_push_to_it_is_refused(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, TIME_NEVER);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 1);
    lanes_give(lanes, 1, SMALL);
    lanes_pause(lanes, 1, TENANT, name_of(1), true);
    assert_true(lanes_is_paused(lanes, 1));
    assert_true(lanes_is_queue_paused(lanes, TENANT, name_of(1)));
    assert_false(lanes_is_queue_paused(lanes, TENANT, name_of(2)));
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0);
    lanes_due(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 0);
    assert_int_equal(lanes_next_plan(lanes), TIME_NEVER);
    lanes_pause(lanes, 1, TENANT, name_of(1), false);
    assert_false(lanes_is_paused(lanes, 1));
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_list_that_was_read_before_a_pause_does_not_undo_it(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    note(lanes, 1, TIME_NEVER);
    struct lanes_version when = lanes_version(lanes); // the list is asked for …
    struct store_lane read = {.id = 1, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = name_of(1), .next_due = TIME_NEVER};
    lanes_pause(lanes, 1, TENANT, name_of(1), true);
    lanes_learn(lanes, &read, when); // … and comes
    assert_true(lanes_is_paused(lanes, 1));
    lanes_learn(lanes, &read, lanes_version(lanes)); // asked for afterwards, it is news
    assert_false(lanes_is_paused(lanes, 1));
    lanes_free(lanes);
}

// A claim goes on behind those of the same millisecond that are taken; unless another has come there, whose id may be smaller.
static void a_claim_begins_at_the_first_that_is_left(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    struct store_lane seen = {.id = 1, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = name_of(1), .next_due = NOW};
    enum { NOTHING, LATER, SAME, SAME_MEANWHILE, WALKED, LONG_AGO, HOW };
    note(lanes, 1, NOW);
    for (int how = NOTHING; how < HOW; how++) {
        assert_int_equal(plan(lanes, NOW, &want, 1), 1);
        if (how == SAME_MEANWHILE)
            note(lanes, 1, NOW);
        want.next_id = 77;
        answer(lanes, &want, 1, NOW);
        if (how == LATER)
            note(lanes, 1, NOW + 1);
        if (how == SAME)
            note(lanes, 1, NOW);
        if (how == WALKED)
            lanes_learn(lanes, &seen, lanes_version(lanes));
        assert_int_equal(plan(lanes, NOW + (how == LONG_AGO ? 2000 : 0), &want, 1), 1);
        assert_int_equal(want.from_ms, NOW);
        assert_int_equal(want.from_id, how == NOTHING || how == LATER ? 77 : 0);
        answer(lanes, &want, 0, NOW);
        lanes_clock_back(lanes); // it need not rest
    }
    lanes_free(lanes);
}

static void of_a_lane_that_was_only_named_a_claim_finds_out_what_is_due(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    struct store_lane named = {.id = 1, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = name_of(1)};
    lanes_learn(lanes, &named, lanes_version(lanes));
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(want.from_ms, 0);
    answer(lanes, &want, 0, NOW + HORIZON + 1050);
    named.paused = true;
    lanes_learn(lanes, &named, lanes_version(lanes)); // known by now: only the pause is news
    assert_true(lanes_is_paused(lanes, 1));
    named.paused = false;
    lanes_learn(lanes, &named, lanes_version(lanes));
    assert_int_equal(lanes_next_plan(lanes), NOW + 1050);
    lanes_free(lanes);
}

static void lanes_whose_turn_comes_soon_go_along_with_one_whose_turn_it_is(void **state)
{
    struct lanes *lanes = lanes_new(10000, BYTES);
    struct store_want wants[8];
    bool mine[BUCKETS] = {0};
    for (int64_t lane = 1; lane <= 3; lane++)
        note(lanes, lane, NOW + HORIZON + 300 * lane);
    note(lanes, 4, NOW + LANES_AHEAD_MS + 400);
    assert_int_equal(plan(lanes, NOW, wants, 8), 0); // not because of those that would go along
    assert_int_equal(plan(lanes, NOW + 300, wants, 8), 3);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(wants[i].lane, i + 1);
        answer(lanes, &wants[i], 0, NOW + HORIZON + 300 * wants[i].lane);
    }
    assert_int_equal(plan(lanes, NOW + 300, wants, 8), 0); // they gave nothing, and rest
    lanes_assign(lanes, mine);                             // with others' lanes one waits until their jobs are due
    assert_int_equal(plan(lanes, NOW + HORIZON + 900, wants, 8), 3);
    for (int i = 0; i < 3; i++)
        answer(lanes, &wants[i], 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_lane_that_is_due_but_gives_nothing_rests_a_moment(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 0, NOW); // paused by another node, or others have its jobs under way
    assert_int_equal(plan(lanes, NOW + 1, &want, 1), 0);
    assert_true(lanes_next_plan(lanes) > NOW + 1);
    assert_int_equal(plan(lanes, NOW + 1000, &want, 1), 1);
    answer(lanes, &want, 1, TIME_NEVER);
    lanes_free(lanes);
}

static void own_no_bucket(struct lanes *lanes)
{
    bool mine[BUCKETS] = {false};
    lanes_assign(lanes, mine);
}

static void in_a_lane_of_another_only_what_is_due_is_taken(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    note(lanes, 1, NOW + HORIZON);
    assert_int_equal(lanes_next_plan(lanes), NOW);
    own_no_bucket(lanes);
    assert_int_equal(lanes_next_plan(lanes), NOW + HORIZON);
    assert_int_equal(plan(lanes, NOW + HORIZON - 1, &want, 1), 0);
    assert_int_equal(plan(lanes, NOW + HORIZON, &want, 1), 1);
    answer(lanes, &want, 0, NOW + HORIZON + 7000); // its owner had taken it
    assert_int_equal(lanes_next_plan(lanes), NOW + HORIZON + 7000);
    bool used[BUCKETS] = {false};
    lanes_buckets(lanes, used);
    assert_true(used[bucket_of(TENANT)]);
    bool mine[BUCKETS] = {false};
    mine[bucket_of(TENANT)] = true;
    lanes_assign(lanes, mine);
    assert_int_equal(lanes_next_plan(lanes), NOW + 7000);
    lanes_free(lanes);
}

static void only_the_owner_marks_what_is_overdue(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    int64_t from, from_id;
    note(lanes, 1, NOW - 1000);
    assert_int_equal(lanes_overdue(lanes, NOW, &from, &from_id), 1);
    own_no_bucket(lanes);
    assert_int_equal(lanes_overdue(lanes, NOW, &from, &from_id), 0);
    lanes_free(lanes);
}

// Who does not claim from a lane learns from the list that others did; but what it has heard itself since is newer.
static void the_list_says_what_is_left_unless_something_was_heard_since(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_lane read = {.id = 1, .tenant = TENANT, .dispatch = TARGET_CALLED, .queue = name_of(1), .next_due = NOW + 20000};
    lanes_note(lanes, 1, TENANT, name_of(1), NOW);
    lanes_learn(lanes, &read, lanes_version(lanes));
    assert_int_equal(lanes_next_plan(lanes), NOW + 20000 - HORIZON);
    struct lanes_version when = lanes_version(lanes);
    lanes_due(lanes, 1, NOW);
    lanes_learn(lanes, &read, when);
    assert_int_equal(lanes_next_plan(lanes), NOW - HORIZON);
    lanes_free(lanes);
}

static void room_comes_back_exactly(void **state)
{
    struct lanes *lanes = lanes_new(10, BYTES);
    struct store_want want;
    note(lanes, 1, TIME_NEVER);
    for (int round = 0; round < 3; round++) {
        int taken = 0;
        while (lanes_take(lanes, TENANT, name_of(1), SMALL, NOW))
            taken++;
        assert_int_equal(taken, 5); // half of what there is, and the other half for whoever comes
        assert_int_equal(lanes_held(lanes), 5);
        for (; taken > 0; taken--)
            lanes_give(lanes, 1, SMALL);
        assert_int_equal(lanes_held(lanes), 0);
    }
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(want.max, 5);
    answer(lanes, &want, 2, TIME_NEVER);
    assert_int_equal(lanes_held(lanes), 2);
    lanes_give(lanes, 1, SMALL);
    lanes_give(lanes, 1, SMALL);
    assert_int_equal(lanes_held(lanes), 0);
    lanes_free(lanes);
}

static void a_lane_without_room_is_looked_at_again_when_a_place_is_free(void **state)
{
    struct lanes *lanes = lanes_new(2, BYTES);
    struct store_want want;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(want.max, 1);
    answer(lanes, &want, 1, NOW);
    assert_int_equal(plan(lanes, NOW + 1, &want, 1), 0);
    assert_int_equal(lanes_next_plan(lanes), TIME_NEVER);
    lanes_give(lanes, 1, SMALL);
    assert_int_equal(plan(lanes, NOW + 2, &want, 1), 1);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_lane_with_a_backlog_takes_no_push_past_it(void **state)
{
    struct lanes *lanes = lanes_new(10, BYTES);
    struct store_want want;
    note(lanes, 1, NOW - 1000);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0); // nor while it is being claimed
    answer(lanes, &want, want.max, NOW - 999);                              // what is left has waited for less than a moment
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0); // but there is no room
    lanes_give(lanes, 1, SMALL);
    lanes_give(lanes, 1, SMALL);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 1);
    note(lanes, 2, NOW + 1);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(2), SMALL, NOW), 2);
    assert_int_equal(lanes_take(lanes, TENANT + 1, name_of(2), SMALL, NOW),
                     0); // another tenant's queue of that name is another lane
    lanes_give(lanes, 2, SMALL);
    lanes_free(lanes);
}

static void a_lane_that_is_served_and_has_more_is_overdue_all_the_same(void **state)
{
    struct lanes *lanes = lanes_new(1000, BYTES);
    struct store_want want;
    int64_t from, from_id;
    note(lanes, 1, NOW - 2000);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, want.max, NOW - 1900);
    assert_int_equal(lanes_overdue(lanes, NOW - 300, &from, &from_id), 1);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 1, NOW + 60000);
    assert_int_equal(lanes_overdue(lanes, NOW - 300, &from, &from_id), 0);
    lanes_free(lanes);
}

static void what_is_found_in_hand_takes_a_place_if_there_is_one(void **state)
{
    struct lanes *lanes = lanes_new(2, BYTES);
    struct store_want want;
    assert_false(lanes_hold(lanes, 1, SMALL)); // not known
    note(lanes, 1, NOW);
    assert_true(lanes_hold(lanes, 1, SMALL));
    assert_true(lanes_hold(lanes, 1, SMALL));
    assert_false(lanes_hold(lanes, 1, SMALL)); // no room
    assert_int_equal(lanes_held(lanes), 2);
    assert_int_equal(plan(lanes, NOW, &want, 1), 0);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), SMALL, NOW), 0);
    for (int i = 0; i < 2; i++)
        lanes_give(lanes, 1, SMALL);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void a_clock_set_back_does_not_stop_a_lane(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    struct store_want want;
    int64_t hour = 3600000;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW + hour, &want, 1), 1);
    answer(lanes, &want, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 0); // it was served in an hour from now
    lanes_clock_back(lanes);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    answer(lanes, &want, 0, TIME_NEVER);
    lanes_free(lanes);
}

static void overdue_lanes_are_walked_round(void **state)
{
    struct lanes *lanes = lanes_new(100, BYTES);
    int64_t from, from_id, seen[4];
    assert_int_equal(lanes_overdue(lanes, NOW, &from, &from_id), 0);
    for (int64_t lane = 1; lane <= 3; lane++)
        note(lanes, lane, NOW - 1000);
    note(lanes, 4, NOW + 1000);
    for (int i = 0; i < 4; i++)
        seen[i] = lanes_overdue(lanes, NOW, &from, &from_id);
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 2);
    assert_int_equal(seen[2], 3);
    assert_int_equal(seen[3], 1);
    lanes_promoted(lanes, 2, NOW - 500, 42);
    assert_int_equal(lanes_overdue(lanes, NOW, &from, &from_id), 2);
    assert_int_equal(from, NOW - 500);
    assert_int_equal(from_id, 42);
    lanes_promoted(lanes, 3, NOW, 0); // all of it is marked: nothing to do
    assert_int_equal(lanes_overdue(lanes, NOW, &from, &from_id), 1);
    lanes_free(lanes);
}

static void a_hundred_thousand_lanes_are_each_served_in_turn_a_few_at_a_time(void **state)
{
    enum { LANES = 100000, WANTS = 64 };
    struct lanes *lanes = lanes_new(1000, BYTES);
    struct store_want wants[WANTS];
    static uint8_t served[LANES + 1];
    for (int64_t lane = 1; lane <= LANES; lane++)
        note(lanes, lane, NOW - lane % 1000);
    size_t plans = 0, all = 0;
    for (size_t count; all < LANES && (count = plan(lanes, NOW + (int64_t)plans, wants, WANTS)); plans++)
        for (size_t i = 0; i < count; i++) {
            all += !served[wants[i].lane]++;
            answer(lanes, &wants[i], 0, NOW + 3600000);
        }
    assert_int_equal(all, LANES);
    assert_true(plans <= LANES / WANTS * 8); // a plan that ran out of room for jobs serves fewer lanes than it may
    for (size_t i = 1; i <= LANES; i++)
        assert_int_equal(served[i], 1);
    lanes_free(lanes);
}

// ---- bytes

// Claims from a lane of large documents until it gets no more; how many bytes it has then.
static int64_t fill_with_large(struct lanes *lanes, int64_t lane)
{
    struct store_want wants[4];
    int64_t bytes = 0;
    for (;;) {
        size_t count = plan(lanes, NOW, wants, 4), mine = count;
        for (size_t i = 0; i < count; i++) {
            bool asked = wants[i].lane == lane;
            size_t got = asked ? wants[i].bytes / LARGE : 0;
            got = asked && !got ? 1 : got > wants[i].max ? wants[i].max : got; // one at least, as the store gives
            wants[i].next_due = asked ? NOW : TIME_NEVER;
            lanes_planned(lanes, &wants[i], got, got * LARGE, true);
            bytes += (int64_t)got * LARGE;
            mine = asked ? got : mine;
        }
        if (!mine)
            return bytes;
    }
}

static void a_lane_of_large_documents_leaves_bytes_for_others(void **state)
{
    struct lanes *lanes = lanes_new(1000, BYTES);
    struct store_want wants[4];
    note(lanes, 1, NOW);
    int64_t bytes = fill_with_large(lanes, 1);
    assert_true(bytes >= BYTES / 2 - LARGE && bytes <= BYTES / 2 + LARGE); // far fewer than half of the places
    assert_int_equal(lanes_look(lanes, 1).limit, LANES_BYTES_SHARE);

    note(lanes, 2, NOW);
    assert_int_equal(plan(lanes, NOW, wants, 4), 1);
    assert_int_equal(wants[0].lane, 2);
    assert_int_equal(wants[0].max, 128);
    answer(lanes, &wants[0], 128, TIME_NEVER);
    for (int i = 0; i < 128; i++)
        lanes_give(lanes, 2, SMALL);
    for (; bytes; bytes -= LARGE)
        lanes_give(lanes, 1, LARGE);
    assert_int_equal(lanes_held(lanes), 0);
    assert_true(lanes_take(lanes, TENANT, name_of(2), BYTES / 2, NOW)); // to the last byte
    lanes_give(lanes, 2, BYTES / 2);
    lanes_free(lanes);
}

static void lanes_of_large_documents_stay_within_the_bytes_together(void **state)
{
    struct lanes *lanes = lanes_new(1000, BYTES);
    int64_t bytes = 0;
    for (int64_t lane = 1; lane <= 200; lane++) {
        note(lanes, lane, NOW);
        bytes += fill_with_large(lanes, lane);
    }
    assert_true(bytes >= BYTES - LARGE && bytes <= BYTES + LARGE);
    assert_int_equal(lanes_next_plan(lanes), TIME_NEVER);
    lanes_free(lanes);
}

static void a_claim_asks_for_as_many_bytes_as_its_documents_are_likely_to_have(void **state)
{
    struct lanes *lanes = lanes_new(1000, BYTES);
    struct store_want want;
    note(lanes, 1, NOW);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_true(want.bytes >= 128 * SMALL && want.bytes < LARGE); // nothing is known yet
    want.next_due = NOW;
    lanes_planned(lanes, &want, 1, LARGE, true); // the first is given whatever it has
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_int_equal(want.bytes, 8 << 20);
    want.next_due = NOW;
    lanes_planned(lanes, &want, 30, 30 * SMALL, true);
    assert_int_equal(plan(lanes, NOW, &want, 1), 1);
    assert_true(want.bytes >= want.max * SMALL && want.bytes < LARGE);
    lanes_planned(lanes, &want, 0, 0, false);
    lanes_free(lanes);
}

static void a_push_takes_no_more_bytes_than_its_lane_may_have(void **state)
{
    struct lanes *lanes = lanes_new(1000, 8 * LARGE);
    note(lanes, 1, TIME_NEVER);
    note(lanes, 2, TIME_NEVER);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), 5 * LARGE, NOW), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(lanes_take(lanes, TENANT, name_of(1), LARGE, NOW), 1);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(1), LARGE, NOW), 0);
    assert_int_equal(lanes_take(lanes, TENANT, name_of(2), LARGE, NOW), 2);
    lanes_give(lanes, 2, LARGE);
    for (int i = 0; i < 4; i++)
        lanes_give(lanes, 1, LARGE);
    assert_int_equal(lanes_held(lanes), 0);
    lanes_free(lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newcomer_finds_room_beside_a_flood),
        cmocka_unit_test(a_lane_that_was_served_is_behind_one_that_was_not),
        cmocka_unit_test(a_lane_whose_claim_is_under_way_is_not_planned_twice),
        cmocka_unit_test(a_claim_that_failed_is_tried_again_and_its_places_are_free),
        cmocka_unit_test(a_paused_lane_gives_nothing_and_a_push_to_it_is_refused),
        cmocka_unit_test(a_list_that_was_read_before_a_pause_does_not_undo_it),
        cmocka_unit_test(a_claim_begins_at_the_first_that_is_left),
        cmocka_unit_test(of_a_lane_that_was_only_named_a_claim_finds_out_what_is_due),
        cmocka_unit_test(lanes_whose_turn_comes_soon_go_along_with_one_whose_turn_it_is),
        cmocka_unit_test(a_lane_that_is_due_but_gives_nothing_rests_a_moment),
        cmocka_unit_test(in_a_lane_of_another_only_what_is_due_is_taken),
        cmocka_unit_test(only_the_owner_marks_what_is_overdue),
        cmocka_unit_test(the_list_says_what_is_left_unless_something_was_heard_since),
        cmocka_unit_test(room_comes_back_exactly),
        cmocka_unit_test(a_lane_without_room_is_looked_at_again_when_a_place_is_free),
        cmocka_unit_test(a_lane_with_a_backlog_takes_no_push_past_it),
        cmocka_unit_test(a_lane_that_is_served_and_has_more_is_overdue_all_the_same),
        cmocka_unit_test(a_lane_of_large_documents_leaves_bytes_for_others),
        cmocka_unit_test(lanes_of_large_documents_stay_within_the_bytes_together),
        cmocka_unit_test(a_claim_asks_for_as_many_bytes_as_its_documents_are_likely_to_have),
        cmocka_unit_test(a_push_takes_no_more_bytes_than_its_lane_may_have),
        cmocka_unit_test(what_is_found_in_hand_takes_a_place_if_there_is_one),
        cmocka_unit_test(a_clock_set_back_does_not_stop_a_lane),
        cmocka_unit_test(overdue_lanes_are_walked_round),
        cmocka_unit_test(a_hundred_thousand_lanes_are_each_served_in_turn_a_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
