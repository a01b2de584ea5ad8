// The wheel against the simplest thing that is right: an array of what waits and when it is due.
#include "base/data/wheel.h"

#include "base/clock.h"
#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const int64_t NOW = 1794775440000;
static const int64_t HOUR = 3600000;

enum { NODES = 400 };

struct model {
    struct wheel *wheel;
    struct rand rand;
    int64_t now;
    struct wheel_node nodes[NODES];
    bool in[NODES];
    int64_t since[NODES]; // what was overdue when it was added counts as due then
    size_t count;
};

static int64_t random_time(struct model *m)
{
    switch (rand_below(&m->rand, 8)) {
    case 0:
        return m->now;
    case 1:
        return m->now - (int64_t)rand_below(&m->rand, 10000);
    case 2:
        return m->now + (int64_t)rand_below(&m->rand, 5 * (uint64_t)HOUR);
    case 3:
        return m->now + WHEEL_SLOTS - 2 + (int64_t)rand_below(&m->rand, 4);
    default:
        return m->now + (int64_t)rand_below(&m->rand, 5000);
    }
}

static void add_or_remove(struct model *m)
{
    size_t i = rand_below(&m->rand, NODES);
    if (m->in[i]) {
        wheel_remove(m->wheel, &m->nodes[i]);
        m->count--;
    } else {
        int64_t at = random_time(m);
        wheel_add(m->wheel, &m->nodes[i], at);
        m->since[i] = time_max(at, m->now);
        m->count++;
    }
    m->in[i] = !m->in[i];
    assert_int_equal(m->wheel->count, m->count);
}

static int64_t next_due(const struct model *m)
{
    int64_t next = TIME_NEVER;
    for (int i = 0; i < NODES; i++)
        if (m->in[i])
            next = time_min(next, time_max(m->nodes[i].at_ms, m->now));
    return next;
}

// What comes out is due, in order, and nothing that is due stays in.
static void turn(struct model *m)
{
    struct list due;
    list_init(&due);
    wheel_turn(m->wheel, m->now, &due);
    int64_t last = INT64_MIN;
    for (struct list *link; (link = list_take(&due));) {
        struct wheel_node *node = list_entry(link, struct wheel_node, link);
        size_t i = (size_t)(node - m->nodes);
        assert_true(m->in[i]);
        assert_true(node->at_ms <= m->now);
        int64_t since = m->since[i];
        assert_true(since >= last);
        last = since;
        m->in[i] = false;
        m->count--;
    }
    for (int i = 0; i < NODES; i++)
        assert_true(!m->in[i] || m->nodes[i].at_ms > m->now);
    assert_int_equal(m->wheel->count, m->count);
    assert_true(wheel_next(m->wheel) <= next_due(m));
    assert_true(wheel_next(m->wheel) > m->now || m->count == 0);
}

// When the wheel is sorted anew, overdue nodes come by the time they were planned for.
static void move_clock(struct model *m)
{
    int64_t before = m->now;
    uint64_t how = rand_below(&m->rand, 100);
    if (how < 2)
        m->now -= 2 + (int64_t)rand_below(&m->rand, 2 * (uint64_t)HOUR);
    else if (how < 4)
        m->now += (int64_t)rand_below(&m->rand, 3 * (uint64_t)HOUR);
    else if (how < 30)
        m->now = time_max(m->now, time_min(wheel_next(m->wheel), m->now + 10000));
    else if (how < 40)
        m->now += (int64_t)rand_below(&m->rand, 9000);
    else
        m->now += (int64_t)rand_below(&m->rand, 20);
    bool jumped = m->now < before || m->now - before >= WHEEL_SLOTS;
    for (int i = 0; jumped && i < NODES; i++)
        m->since[i] = m->nodes[i].at_ms;
}

static void it_releases_what_a_simple_model_releases(void **state)
{
    static struct wheel wheel;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static struct model m;
        m = (struct model){.wheel = &wheel, .now = NOW};
        rand_init(&m.rand, seed);
        wheel_init(&wheel, m.now);
        for (int i = 0; i < 400; i++) {
            for (uint64_t k = rand_below(&m.rand, 20); k > 0; k--)
                add_or_remove(&m);
            assert_true(wheel_next(&wheel) <= next_due(&m));
            move_clock(&m);
            turn(&m);
        }
    }
}

static struct wheel the_wheel;
static struct list due;

static void start(void)
{
    wheel_init(&the_wheel, NOW);
    list_init(&due);
}

static int64_t take_at(void)
{
    struct list *link = list_take(&due);
    return link ? list_entry(link, struct wheel_node, link)->at_ms - NOW : -1;
}

static void one_millisecond_comes_in_the_order_of_adding(void **state)
{
    start();
    struct wheel_node nodes[50] = {0};
    for (int i = 0; i < 50; i++)
        wheel_add(&the_wheel, &nodes[i], NOW + 100);
    wheel_turn(&the_wheel, NOW + 99, &due);
    assert_true(list_empty(&due));
    wheel_turn(&the_wheel, NOW + 100, &due);
    for (int i = 0; i < 50; i++)
        assert_ptr_equal(list_take(&due), &nodes[i].link);
}

static void order_within_a_millisecond_outlives_a_jump(void **state)
{
    start();
    struct wheel_node nodes[50] = {0};
    for (int i = 0; i < 50; i++)
        wheel_add(&the_wheel, &nodes[i], NOW + 100);
    wheel_turn(&the_wheel, NOW - HOUR, &due);
    assert_true(list_empty(&due));
    assert_int_equal(the_wheel.count, 50);
    wheel_turn(&the_wheel, NOW + HOUR, &due);
    for (int i = 0; i < 50; i++)
        assert_ptr_equal(list_take(&due), &nodes[i].link);
}

static void an_empty_wheel_waits_for_ever(void **state)
{
    start();
    assert_true(wheel_next(&the_wheel) == TIME_NEVER);
    wheel_turn(&the_wheel, NOW + HOUR, &due);
    assert_true(wheel_next(&the_wheel) == TIME_NEVER);
    assert_true(list_empty(&due));
    struct wheel_node node = {0};
    wheel_add(&the_wheel, &node, NOW + HOUR + 5);
    assert_true(wheel_next(&the_wheel) == NOW + HOUR + 5);
}

static void what_is_overdue_when_added_comes_at_the_next_turn(void **state)
{
    start();
    struct wheel_node node = {0};
    wheel_add(&the_wheel, &node, NOW - HOUR);
    assert_true(wheel_next(&the_wheel) == NOW);
    wheel_turn(&the_wheel, NOW, &due);
    assert_int_equal(take_at(), -HOUR);
}

static void what_was_removed_is_not_released_and_may_be_removed_again(void **state)
{
    start();
    struct wheel_node a = {0}, b = {0}, never = {0};
    wheel_add(&the_wheel, &a, NOW + 5);
    wheel_add(&the_wheel, &b, NOW + 5);
    wheel_remove(&the_wheel, &a);
    wheel_remove(&the_wheel, &a);
    wheel_remove(&the_wheel, &never);
    assert_int_equal(the_wheel.count, 1);
    wheel_turn(&the_wheel, NOW + 5, &due);
    assert_ptr_equal(list_take(&due), &b.link);
    assert_true(list_empty(&due));
    assert_true(wheel_next(&the_wheel) == TIME_NEVER);
}

static void nothing_is_released_early_when_the_clock_is_set_back(void **state)
{
    start();
    struct wheel_node node = {0};
    wheel_add(&the_wheel, &node, NOW + 1000);
    wheel_turn(&the_wheel, NOW + 500, &due);
    wheel_turn(&the_wheel, NOW - HOUR, &due);
    wheel_turn(&the_wheel, NOW - HOUR + WHEEL_SLOTS + 999, &due);
    assert_true(list_empty(&due));
    wheel_turn(&the_wheel, NOW + 999, &due);
    assert_true(list_empty(&due));
    wheel_turn(&the_wheel, NOW + 1000, &due);
    assert_int_equal(take_at(), 1000);
}

static void a_step_back_of_one_millisecond_is_waited_out(void **state)
{
    start();
    struct wheel_node node = {0};
    wheel_turn(&the_wheel, NOW + 10, &due);
    wheel_add(&the_wheel, &node, NOW + 10);
    wheel_turn(&the_wheel, NOW + 9, &due);
    assert_true(list_empty(&due));
    wheel_turn(&the_wheel, NOW + 10, &due);
    assert_int_equal(take_at(), 10);
}

static void a_jump_forward_releases_in_order_of_time(void **state)
{
    start();
    static const int64_t at[] = {30000, 100, 20000, 8191, 8192, 9 * 3600000, 5, 8190};
    static const int64_t sorted[] = {5, 100, 8190, 8191, 8192, 20000, 30000};
    struct wheel_node nodes[8] = {0};
    for (int i = 0; i < 8; i++)
        wheel_add(&the_wheel, &nodes[i], NOW + at[i]);
    wheel_turn(&the_wheel, NOW + 8 * HOUR, &due);
    for (int i = 0; i < 7; i++)
        assert_int_equal(take_at(), sorted[i]);
    assert_true(list_empty(&due));
    assert_int_equal(the_wheel.count, 1);
}

// Ten years back and forth, with a full wheel: done in a moment, not slot by slot.
static void ten_years_are_no_further_than_an_hour(void **state)
{
    enum { COUNT = 10000 };
    static struct wheel_node nodes[COUNT];
    const int64_t years = 10 * 365 * 24 * HOUR;
    start();
    for (int i = 0; i < COUNT; i++)
        wheel_add(&the_wheel, &nodes[i], NOW + i % 5000 + 1);
    wheel_turn(&the_wheel, NOW - years, &due);
    assert_true(list_empty(&due));
    wheel_turn(&the_wheel, NOW, &due);
    assert_true(list_empty(&due));
    assert_true(wheel_next(&the_wheel) == NOW + 1);
    wheel_turn(&the_wheel, NOW + years, &due);
    int64_t last = 0;
    for (int i = 0; i < COUNT; i++) {
        int64_t at = take_at();
        assert_true(at >= last);
        last = at;
    }
    assert_int_equal(the_wheel.count, 0);
}

static void what_never_comes_stays(void **state)
{
    start();
    struct wheel_node node = {0};
    wheel_add(&the_wheel, &node, TIME_NEVER);
    for (int64_t now = NOW; now < NOW + 10 * HOUR; now = wheel_next(&the_wheel)) {
        wheel_turn(&the_wheel, now, &due);
        assert_true(wheel_next(&the_wheel) > now);
    }
    assert_true(list_empty(&due));
    assert_int_equal(the_wheel.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_releases_what_a_simple_model_releases),
        cmocka_unit_test(one_millisecond_comes_in_the_order_of_adding),
        cmocka_unit_test(order_within_a_millisecond_outlives_a_jump),
        cmocka_unit_test(an_empty_wheel_waits_for_ever),
        cmocka_unit_test(what_is_overdue_when_added_comes_at_the_next_turn),
        cmocka_unit_test(what_was_removed_is_not_released_and_may_be_removed_again),
        cmocka_unit_test(nothing_is_released_early_when_the_clock_is_set_back),
        cmocka_unit_test(a_step_back_of_one_millisecond_is_waited_out),
        cmocka_unit_test(a_jump_forward_releases_in_order_of_time),
        cmocka_unit_test(ten_years_are_no_further_than_an_hour),
        cmocka_unit_test(what_never_comes_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
