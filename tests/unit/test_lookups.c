// Names are looked up lane by lane, and those that nobody answers for keep no place.
#include "http/client/lookups.h"

#include "base/clock.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 4000 };
static const int64_t MS = 1000000;

static struct lookups lookups;
static struct lookup names[MANY];

static int setup(void **state)
{
    lookups_init(&lookups);
    memset(names, 0, sizeof names);
    return 0;
}

static int teardown(void **state)
{
    for (int i = 0; i < MANY; i++)
        lookups_end(&lookups, &names[i]);
    assert_int_equal(lookups.lanes.count, 0);
    assert_int_equal(lookups.left_count + lookups.asked_count + lookups.slow_count, 0);
    lookups_done(&lookups);
    return 0;
}

static int ask_all(int64_t now_ns)
{
    int count = 0;
    while (lookups_next(&lookups, now_ns))
        count++;
    return count;
}

static void add(int from, int count, int64_t lane)
{
    for (int i = from; i < from + count; i++)
        lookups_add(&lookups, &names[i], lane, false);
}

static void one_lane_leaves_room_for_another(void **state)
{
    add(0, 1000, 1);
    assert_int_equal(ask_all(0), 128);
    add(1000, 1, 2);
    assert_ptr_equal(lookups_next(&lookups, 0), &names[1000]);
    add(1001, 1000, 2);
    assert_true(ask_all(0) > 50);
    add(3000, 1, 3); // however many there are, a lane that has nothing yet gets a place
    assert_ptr_equal(lookups_next(&lookups, 0), &names[3000]);
}

static void in_a_lane_who_came_first_is_first_but_behind_what_was_known(void **state)
{
    add(0, 3, 1);
    lookups_add(&lookups, &names[3], 1, true);
    static const int order[] = {3, 0, 1, 2};
    for (size_t i = 0; i < array_count(order); i++)
        assert_ptr_equal(lookups_next(&lookups, 0), &names[order[i]]);
    assert_null(lookups_next(&lookups, 0));
}

static void an_answer_makes_room_for_the_next(void **state)
{
    add(0, 200, 1);
    assert_int_equal(ask_all(0), 128);
    lookups_end(&lookups, &names[0]);
    assert_ptr_equal(lookups_next(&lookups, 0), &names[128]);
    assert_null(lookups_next(&lookups, 0));
}

static void who_is_not_answered_quickly_gives_its_place_up(void **state)
{
    add(0, 1000, 1);
    ask_all(0);
    assert_int_equal(lookups_turn(&lookups, 100 * MS), 250 * MS);
    assert_int_equal(ask_all(100 * MS), 0);
    assert_int_equal(lookups_turn(&lookups, 250 * MS), TIME_NEVER);
    assert_int_equal(lookups.slow_count, 128);
    assert_int_equal(ask_all(250 * MS), 128);
    assert_int_equal(lookups_turn(&lookups, 250 * MS), 500 * MS);
    lookups_end(&lookups, &names[0]);
    assert_int_equal(lookups.slow_count, 127);
}

static void those_that_go_on_beside_are_bounded_and_others_have_their_places_still(void **state)
{
    int64_t now_ns = 0;
    add(0, 3900, 1);
    for (int i = 0; i < 100; i++) {
        ask_all(now_ns);
        now_ns += 250 * MS;
        lookups_turn(&lookups, now_ns);
    }
    assert_int_equal(lookups.slow_count, 2048);
    assert_int_equal(lookups.asked_count, 128);
    add(3900, 1, 2);
    assert_ptr_equal(lookups_next(&lookups, now_ns), &names[3900]);
}

static void a_name_that_waits_in_a_crowd_goes_with_who_has_room(void **state)
{
    add(0, 1000, 1);
    ask_all(0);
    lookups_join(&lookups, &names[999], 1);
    assert_null(lookups_next(&lookups, 0));
    lookups_join(&lookups, &names[999], 2);
    assert_ptr_equal(lookups_next(&lookups, 0), &names[999]);
    lookups_join(&lookups, &names[999], 3); // it is asked for already
    assert_null(lookups_next(&lookups, 0));
}

static void a_name_that_somebody_waits_for_goes_before_those_that_nobody_wants_any_more(void **state)
{
    add(0, 1000, 1);
    ask_all(0);
    for (int i = 0; i < 1000; i++) // also of those that are asked for already, which goes on
        assert_true(lookups_leave(&lookups, &names[i]));
    assert_int_equal(lookups.left_count, 1000 - 128);
    add(1000, 1, 1);
    lookups_end(&lookups, &names[0]);
    assert_ptr_equal(lookups_next(&lookups, 0), &names[1000]);
    lookups_end(&lookups, &names[1]);
    assert_ptr_equal(lookups_next(&lookups, 0), &names[128]); // nobody wants another one
}

static void who_comes_back_stands_in_line_again(void **state)
{
    add(0, 129, 1);
    ask_all(0);
    lookups_leave(&lookups, &names[128]);
    add(129, 2, 1);
    lookups_join(&lookups, &names[128], 1);
    assert_int_equal(lookups.left_count, 0);
    static const int order[] = {129, 130, 128};
    for (int i = 0; i < (int)array_count(order); i++) {
        lookups_end(&lookups, &names[i]);
        assert_ptr_equal(lookups_next(&lookups, 0), &names[order[i]]);
    }
}

static void of_those_that_nobody_wants_any_more_only_so_many_are_remembered(void **state)
{
    int kept = 0;
    add(0, MANY, 1);
    ask_all(0);
    for (int i = 0; i < MANY; i++) {
        bool remembered = lookups_leave(&lookups, &names[i]);
        kept += remembered;
        if (!remembered)
            lookups_end(&lookups, &names[i]);
    }
    assert_int_equal(kept, 128 + 2048);
    assert_int_equal(lookups.left_count, 2048);
}

static void lanes_take_turns(void **state)
{
    add(0, 100, 1);
    add(100, 100, 2);
    for (int i = 0; i < 50; i++) {
        assert_ptr_equal(lookups_next(&lookups, 0), &names[i]);
        assert_ptr_equal(lookups_next(&lookups, 0), &names[100 + i]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_lane_leaves_room_for_another),
        TEST(in_a_lane_who_came_first_is_first_but_behind_what_was_known),
        TEST(an_answer_makes_room_for_the_next),
        TEST(who_is_not_answered_quickly_gives_its_place_up),
        TEST(those_that_go_on_beside_are_bounded_and_others_have_their_places_still),
        TEST(a_name_that_waits_in_a_crowd_goes_with_who_has_room),
        TEST(a_name_that_somebody_waits_for_goes_before_those_that_nobody_wants_any_more),
        TEST(who_comes_back_stands_in_line_again),
        TEST(of_those_that_nobody_wants_any_more_only_so_many_are_remembered),
        TEST(lanes_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
