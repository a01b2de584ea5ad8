// Slots: who is next, and that no lane, host or priority stands in everybody's way.
#include "flow/stages/slots.h"

#include "base/data/hash.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct now NOW = {.wall_ms = 1800000000000, .mono_ms = 1000000};

static struct now later(int64_t ms)
{
    return (struct now){NOW.wall_ms + ms, NOW.mono_ms + ms};
}

// A user, with an id for the test.
struct user {
    struct slots_user slots;
    int64_t id;
};

static struct slots_user *make_user(int64_t id, int64_t lane, const char *host, int priority)
{
    struct user *user = mem_alloc(sizeof *user);
    *user = (struct user){{.lane = lane, .host = hash_bytes(host, strlen(host)), .priority = priority}, id};
    return &user->slots;
}

static int64_t id_of(const struct slots_user *user)
{
    return container_of(user, struct user, slots)->id;
}

static struct slots_user *wait(struct slots *slots, int64_t id, int64_t lane, const char *host, int priority, struct now now)
{
    struct slots_user *user = make_user(id, lane, host, priority);
    slots_wait(slots, user, now);
    return user;
}

static int start_all(struct slots *slots, struct slots_user **ret_users)
{
    int count = 0;
    for (struct slots_user *user; (user = slots_next(slots));)
        ret_users[count++] = user;
    return count;
}

static void release_all(struct slots *slots, struct slots_user **users, int count)
{
    for (int i = 0; i < count; i++) {
        slots_release(slots, users[i], -1);
        mem_free(users[i]);
    }
}

static void close_slots(struct slots *slots)
{
    for (struct slots_user *user; (user = slots_take(slots));)
        mem_free(user);
    slots_free(slots);
}

static void what_is_taken_is_given_back_to_the_last_slot(void **state)
{
    struct slots *slots = slots_new(8);
    struct slots_user *users[8];
    for (int round = 0; round < 3; round++) {
        for (int64_t id = 1; id <= 8; id++)
            wait(slots, id, id, "h", 5, NOW);
        int count = start_all(slots, users);
        assert_int_equal(count, 8); // eight lanes with one order each
        assert_int_equal(slots_used(slots), 8);
        assert_int_equal(slots_waiting(slots), 0);
        release_all(slots, users, count);
        assert_int_equal(slots_used(slots), 0);
    }
    close_slots(slots);
}

static void a_hanging_host_leaves_slots_for_the_other_hosts_of_its_lane(void **state)
{
    struct slots *slots = slots_new(16);
    struct slots_user *users[16], *other;
    for (int64_t id = 1; id <= 40; id++)
        wait(slots, id, 1, "hangs", 9, NOW);
    int count = start_all(slots, users);
    assert_true(count > 0 && count < 16);
    wait(slots, 100, 1, "fine", 0, NOW);
    assert_non_null(other = slots_next(slots));
    assert_int_equal(id_of(other), 100);
    release_all(slots, users, count);
    release_all(slots, &other, 1);
    close_slots(slots);
}

static void a_full_host_has_room_again_when_one_of_its_orders_ends(void **state)
{
    struct slots *slots = slots_new(4);
    struct slots_user *users[8];
    for (int64_t id = 1; id <= 8; id++)
        wait(slots, id, 1, "h", 5, NOW);
    int left = 8;
    for (int count; (count = start_all(slots, users)) > 0; left -= count)
        release_all(slots, users, count);
    assert_int_equal(left, 0);
    close_slots(slots);
}

static void what_waits_long_for_a_full_host_is_set_aside_one_after_the_other(void **state)
{
    struct slots *slots = slots_new(4);
    struct slots_user *running[4];
    for (int64_t id = 1; id <= 6; id++)
        wait(slots, id, 1, "h", 5, NOW);
    int count = start_all(slots, running);
    assert_null(slots_stuck(slots, later(999), &(int64_t){0}));
    int64_t last = 0, aside_ms;
    int stuck = 0;
    for (struct slots_user *user; (user = slots_stuck(slots, later(1000), &aside_ms)); stuck++) {
        assert_true(aside_ms > 0 && aside_ms > last);
        last = aside_ms;
        mem_free(user);
    }
    assert_int_equal(stuck, 6 - count);
    assert_int_equal(slots_waiting(slots), 0);
    release_all(slots, running, count);
    close_slots(slots);
}

static void fresh_urgent_orders_do_not_hide_what_is_stuck_behind_them(void **state)
{
    struct slots *slots = slots_new(4);
    struct slots_user *running[4];
    for (int64_t id = 1; id <= 6; id++)
        wait(slots, id, 1, "h", 1, NOW);
    int count = start_all(slots, running);
    for (int64_t id = 11; id <= 13; id++)
        wait(slots, id, 1, "h", 9, later(1000));
    assert_true(slots_next_stuck(slots) <= later(1000).mono_ms);
    int stuck = 0;
    for (struct slots_user *user; (user = slots_stuck(slots, later(1000), &(int64_t){0})); stuck++) {
        assert_int_equal(user->priority, 1);
        mem_free(user);
    }
    assert_int_equal(stuck, 6 - count);
    release_all(slots, running, count);
    close_slots(slots);
}

static void what_is_withdrawn_is_nobody_s_turn(void **state)
{
    struct slots *slots = slots_new(4);
    struct slots_user *first = make_user(1, 1, "h", 5), *second = make_user(2, 1, "h", 5), *next;
    slots_wait(slots, first, NOW);
    slots_wait(slots, second, NOW);
    slots_withdraw(slots, first);
    mem_free(first);
    assert_non_null(next = slots_next(slots));
    assert_int_equal(id_of(next), 2);
    assert_null(slots_next(slots));
    release_all(slots, &next, 1);
    assert_null(slots_take(slots));
    close_slots(slots);
}

static void all_that_waits_can_be_taken_out_of_full_hosts_too(void **state)
{
    struct slots *slots = slots_new(2);
    struct slots_user *running[2];
    for (int64_t id = 1; id <= 20; id++)
        wait(slots, id, id % 3, id % 2 ? "a" : "b", (int)(id % 10), NOW);
    int count = start_all(slots, running), taken = 0;
    for (struct slots_user *user; (user = slots_take(slots)); taken++)
        mem_free(user);
    assert_int_equal(taken, 20 - count);
    release_all(slots, running, count);
    close_slots(slots);
}

static void a_limit_per_host_counts_over_all_lanes_and_leaves_other_hosts_alone(void **state)
{
    struct slots *slots = slots_new(64);
    struct slots_user *users[64], *rest[64];
    slots_limit_hosts(slots, 2);
    for (int64_t id = 1; id <= 9; id++)
        wait(slots, id, id % 3, "h", 5, NOW);
    wait(slots, 10, 1, "other", 5, NOW);
    int count = start_all(slots, users), to_h = 0;
    for (int i = 0; i < count; i++)
        to_h += id_of(users[i]) < 10;
    assert_int_equal(to_h, 2);
    assert_int_equal(count, 3);
    release_all(slots, users, count);
    int left = 7;
    for (; (count = start_all(slots, rest)) > 0; left -= count) {
        assert_true(count <= 2);
        release_all(slots, rest, count);
    }
    assert_int_equal(left, 0);
    close_slots(slots);
}

static void a_limit_per_host_can_be_raised_lowered_and_lifted(void **state)
{
    struct slots *slots = slots_new(64);
    struct slots_user *users[64];
    for (int64_t id = 1; id <= 12; id++)
        wait(slots, id, 1, "h", 5, NOW);
    slots_limit_hosts(slots, 3);
    int count = start_all(slots, users);
    assert_int_equal(count, 3);
    slots_limit_hosts(slots, 5);
    count += start_all(slots, users + count);
    assert_int_equal(count, 5);
    slots_limit_hosts(slots, 1);
    assert_int_equal(start_all(slots, users + count), 0);
    release_all(slots, users + 1, 4);
    assert_int_equal(start_all(slots, users + 1), 0); // one is still running
    slots_limit_hosts(slots, 0);
    count = 1 + start_all(slots, users + 1);
    assert_int_equal(count, 8);
    release_all(slots, users, count);
    close_slots(slots);
}

static struct slots_view look_at(struct slots *slots, const struct slots_user *user)
{
    struct slots_view view;
    slots_look(slots, user, false, NOW, &view);
    return view;
}

// What an order that comes now meets.
static struct slots_view look(struct slots *slots, int64_t id, int64_t lane, const char *host, struct now now)
{
    struct slots_view view;
    struct slots_user *user = make_user(id, lane, host, 5);
    slots_look(slots, user, false, now, &view);
    mem_free(user);
    return view;
}

static void end_one(struct slots *slots, struct slots_user *user, int64_t took_ms)
{
    slots_release(slots, user, took_ms);
    mem_free(user);
}

static void the_limit_that_holds_an_order_is_named(void **state)
{
    struct slots *slots = slots_new(16);
    struct slots_user *users[16], *last = NULL;
    assert_int_equal(look(slots, 1, 1, "h", NOW).limit, SLOTS_FREE);
    for (int64_t id = 1; id <= 20; id++)
        last = wait(slots, id, 1, "h", 5, NOW);
    int count = start_all(slots, users);
    struct slots_view view = look_at(slots, last);
    assert_int_equal(view.limit, SLOTS_HOST);
    assert_int_equal(view.running, count);
    assert_int_equal(view.before, 20 - count - 1);
    assert_int_equal(look(slots, 99, 1, "h", NOW).before, 20 - count); // one that comes now
    assert_int_equal(look(slots, 99, 1, "elsewhere", NOW).limit, SLOTS_FREE);
    slots_limit_hosts(slots, 2);
    view = look_at(slots, last);
    assert_int_equal(view.limit, SLOTS_PER_HOST);
    assert_int_equal(view.most, 2);
    release_all(slots, users, count);
    close_slots(slots);
}

static void a_lane_that_has_its_share_and_slots_that_are_all_taken_are_named(void **state)
{
    struct slots *slots = slots_new(4);
    struct slots_user *users[8], *last = NULL;
    char host[8];
    for (int64_t id = 1; id <= 8; id++) {
        snprintf(host, sizeof host, "h%d", (int)id);
        last = wait(slots, id, 1, host, 5, NOW);
    }
    int count = start_all(slots, users);
    struct slots_view view = look_at(slots, last);
    assert_int_equal(view.limit, SLOTS_LANE);
    assert_int_equal(view.running, count);
    assert_int_equal(view.before, 8 - count - 1); // one of each other host goes before it
    for (int64_t lane = 2; slots_used(slots) < 4; lane++) {
        wait(slots, 100 + lane, lane, "x", 5, NOW);
        count += start_all(slots, users + count);
    }
    view = look_at(slots, last);
    assert_int_equal(view.limit, SLOTS_ALL);
    assert_int_equal(view.most, 4);
    release_all(slots, users, count);
    close_slots(slots);
}

static void the_place_in_line_is_counted_and_no_more_than_the_line_is_long(void **state)
{
    struct slots *slots = slots_new(64);
    struct slots_user *users[64], *waiting[11];
    slots_limit_hosts(slots, 1);
    for (int64_t id = 1; id <= 10; id++)
        waiting[id] = wait(slots, id, 1, "h", 5, NOW);
    assert_int_equal(start_all(slots, users), 1);
    assert_int_equal(look_at(slots, waiting[10]).before, 8);
    for (int id = 3; id <= 8; id++) {
        slots_withdraw(slots, waiting[id]);
        mem_free(waiting[id]);
    }
    assert_int_equal(look_at(slots, waiting[10]).before, 2);
    assert_int_equal(look_at(slots, waiting[2]).before, 0);
    assert_int_equal(look(slots, 99, 1, "h", NOW).before, 3); // one that comes now
    release_all(slots, users, 1);
    close_slots(slots);
}

static void of_very_many_hosts_only_some_are_looked_at_and_that_is_said(void **state)
{
    enum { HOSTS = 3000 };
    struct slots *slots = slots_new(2);
    struct slots_user *users[2], *last = NULL;
    char host[16];
    for (int64_t id = 1; id <= HOSTS; id++) {
        snprintf(host, sizeof host, "h%d", (int)id);
        last = wait(slots, id, 1, host, 5, NOW);
        if (id == 900)
            assert_false(look_at(slots, last).at_least);
    }
    assert_int_equal(start_all(slots, users), 1);
    end_one(slots, users[0], 200);
    assert_int_equal(start_all(slots, users), 1);
    struct slots_view view = look_at(slots, last);
    assert_true(view.at_least);
    assert_true(view.before > 900 && view.before < HOSTS);
    assert_int_equal(slots_wait_ms(&view, 0), -1);
    release_all(slots, users, 1);
    close_slots(slots);
}

static void how_long_it_takes_is_known_once_a_call_has_ended(void **state)
{
    struct slots *slots = slots_new(64);
    struct slots_user *users[64], *waiting[13];
    slots_limit_hosts(slots, 2);
    for (int64_t id = 1; id <= 12; id++)
        waiting[id] = wait(slots, id, 1, "h", 5, NOW);
    assert_int_equal(start_all(slots, users), 2);
    struct slots_view view = look_at(slots, waiting[4]);
    assert_int_equal(slots_wait_ms(&view, 0), -1);
    end_one(slots, users[0], 200);
    assert_int_equal(start_all(slots, users), 1);
    view = look_at(slots, waiting[5]);
    assert_int_equal(view.before, 1);
    assert_int_equal(slots_wait_ms(&view, 0), 200); // two at once, each 200 ms: one every 100 ms
    assert_int_equal(slots_wait_ms(&view, 3), 500);
    end_one(slots, users[1], 200);
    end_one(slots, users[0], 200);
    close_slots(slots);
}

static void what_will_be_set_aside_is_expected_behind_those_that_were(void **state)
{
    struct slots *slots = slots_new(64);
    struct slots_user *users[64];
    slots_limit_hosts(slots, 1);
    for (int64_t id = 1; id <= 12; id++)
        wait(slots, id, 1, "h", 5, NOW);
    assert_int_equal(start_all(slots, users), 1);
    end_one(slots, users[0], 1000);
    assert_int_equal(start_all(slots, users), 1);
    int64_t aside_ms = 0;
    for (struct slots_user *aside; (aside = slots_stuck(slots, later(1000), &aside_ms));)
        mem_free(aside);
    struct slots_view view = look(slots, 99, 1, "h", later(1000));
    assert_int_equal(view.before, 0);
    assert_int_equal(slots_wait_ms(&view, 0), 1000); // it may be in time, before it is set aside
    assert_true(slots_wait_ms(&view, 1) > aside_ms);
    end_one(slots, users[0], 1000);
    close_slots(slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_given_back_to_the_last_slot),
        cmocka_unit_test(a_hanging_host_leaves_slots_for_the_other_hosts_of_its_lane),
        cmocka_unit_test(a_full_host_has_room_again_when_one_of_its_orders_ends),
        cmocka_unit_test(what_waits_long_for_a_full_host_is_set_aside_one_after_the_other),
        cmocka_unit_test(fresh_urgent_orders_do_not_hide_what_is_stuck_behind_them),
        cmocka_unit_test(what_is_withdrawn_is_nobody_s_turn),
        cmocka_unit_test(all_that_waits_can_be_taken_out_of_full_hosts_too),
        cmocka_unit_test(a_limit_per_host_counts_over_all_lanes_and_leaves_other_hosts_alone),
        cmocka_unit_test(a_limit_per_host_can_be_raised_lowered_and_lifted),
        cmocka_unit_test(the_limit_that_holds_an_order_is_named),
        cmocka_unit_test(a_lane_that_has_its_share_and_slots_that_are_all_taken_are_named),
        cmocka_unit_test(the_place_in_line_is_counted_and_no_more_than_the_line_is_long),
        cmocka_unit_test(of_very_many_hosts_only_some_are_looked_at_and_that_is_said),
        cmocka_unit_test(how_long_it_takes_is_known_once_a_call_has_ended),
        cmocka_unit_test(what_will_be_set_aside_is_expected_behind_those_that_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
