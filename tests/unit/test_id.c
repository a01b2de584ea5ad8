// Ids grow, never repeat, whatever the clock and the other nodes do, and come back from their text.
#include "core/id.h"

#include "base/rand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t NOW = 1794775440000; // 2026-11-15

static void ids_of_one_maker_grow_whatever_the_clock_does(void **state)
{
    struct rand rand;
    rand_init(&rand, 3);
    struct id_maker maker;
    id_maker_init(&maker, 5, 0);
    int64_t last = 0, wall = NOW;
    for (int i = 0; i < 200000; i++) {
        if (rand_below(&rand, 100) == 0)
            wall += (int64_t)rand_below(&rand, 2000) - 1000;
        int64_t id = id_make(&maker, wall);
        assert_true(id > last);
        last = id;
    }
}

static void ids_follow_time_when_the_clock_does(void **state)
{
    struct id_maker a, b;
    id_maker_init(&a, 0, 0);
    id_maker_init(&b, ID_NODES - 1, 0);
    int64_t last = 0;
    for (int i = 0; i < 1000; i++) { // made in different places, a millisecond apart: in order all the same
        int64_t id = id_make(i % 2 ? &a : &b, NOW + i);
        assert_true(id > last);
        last = id;
    }
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void nodes_never_make_the_same_id(void **state)
{
    enum { NODES = 16, EACH = 6000 }; // more than a millisecond has numbers for
    static int64_t ids[NODES * EACH];
    struct id_maker makers[NODES];
    for (int n = 0; n < NODES; n++)
        id_maker_init(&makers[n], n * 34 * 8, 0);
    size_t count = 0;
    for (int i = 0; i < EACH; i++)
        for (int n = 0; n < NODES; n++)
            ids[count++] = id_make(&makers[n], NOW);
    qsort(ids, count, sizeof *ids, compare);
    for (size_t i = 1; i < count; i++)
        assert_true(ids[i] > ids[i - 1]);
}

static void a_clock_set_back_before_a_restart_repeats_nothing(void **state)
{
    struct id_maker maker;
    id_maker_init(&maker, 9, 0);
    int64_t largest = id_make(&maker, NOW);
    for (int node = 0; node < ID_NODES; node += 73) {
        id_maker_init(&maker, node, largest);
        assert_true(id_make(&maker, NOW - 3600000) > largest);
    }
}

// As ids were made before: 12 bits of counter, 9 bits of node.
static int64_t id_of_before(int64_t id_made_now, int counter, int node)
{
    return id_made_now >> 21 << 21 | (int64_t)counter << 9 | node;
}

static void ids_of_before_are_not_made_by_others_at_the_same_time(void **state)
{
    for (int node = 0; node < ID_RANGE_NODES; node += 37)
        for (int other = 0; other < ID_RANGE_NODES; other += 41)
            for (int counter = 0; counter < 4096 && node != other; counter++) {
                struct id_maker maker;
                id_maker_init(&maker, node, 0);
                int64_t id = id_make(&maker, NOW) + (int64_t)(counter >> 3) * ID_NODES;
                assert_true(id != id_of_before(id, counter, other));
            }
}

static void ids_of_before_are_not_made_again(void **state)
{
    struct id_maker maker;
    for (int counter = 0; counter < 4096; counter += 5) {
        id_maker_init(&maker, 9, 0);
        int64_t before = id_of_before(id_make(&maker, NOW), counter, 9);
        id_maker_init(&maker, 9, before);
        assert_true(id_make(&maker, NOW) > before);
        assert_true(id_time(before) == NOW);
    }
}

static void clocks_that_are_wrong_by_a_century_still_give_ids(void **state)
{
    static const int64_t walls[] = {INT64_MIN, -1, 0, 1577836800000, 253402300799999, INT64_MAX};
    for (size_t i = 0; i < sizeof walls / sizeof *walls; i++) {
        struct id_maker maker;
        id_maker_init(&maker, ID_NODES - 1, 0);
        int64_t last = 0;
        for (int k = 0; k < 10000; k++) {
            int64_t id = id_make(&maker, walls[i]);
            assert_true(id > last);
            last = id;
        }
    }
}

static void check_round_trip(int64_t id, enum id_kind kind)
{
    char text[ID_TEXT_SIZE];
    id_format(text, kind, id);
    assert_int_equal(strlen(text), 14);
    assert_int_equal(strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"), 14);
    int64_t back = -1;
    assert_true(id_parse(str_of(text), kind, &back));
    assert_true(back == id);
}

static void text_comes_back_as_the_number(void **state)
{
    struct rand rand;
    rand_init(&rand, 4);
    check_round_trip(1, ID_TASK);
    check_round_trip(INT64_MAX, ID_TASK);
    for (int i = 0; i < 10000; i++)
        check_round_trip((int64_t)(rand_next(&rand) >> (1 + rand_below(&rand, 60))) | 1, i % 2 ? ID_JOB : ID_INCARNATION);
}

static void text_sorts_as_the_numbers_do(void **state)
{
    struct rand rand;
    rand_init(&rand, 5);
    for (int i = 0; i < 10000; i++) {
        int64_t a = (int64_t)(rand_next(&rand) >> 1), b = (int64_t)(rand_next(&rand) >> (1 + rand_below(&rand, 50)));
        char text_a[ID_TEXT_SIZE], text_b[ID_TEXT_SIZE];
        id_format(text_a, ID_JOB, a);
        id_format(text_b, ID_JOB, b);
        assert_int_equal(strcmp(text_a, text_b) < 0, a < b);
    }
}

static void garbage_is_refused(void **state)
{
    static const char *const garbage[] = {
        "",
        "t",
        "j0000000000001", // another kind
        "T0000000000001",
        "t000000000001",   // too short
        "t00000000000001", // too long
        "t0000000000000",  // 0 is no id
        "t8000000000000",  // 64 bits
        "tzzzzzzzzzzzzz",
        "t000000000000i", // not digits here
        "t000000000000l",
        "t000000000000o",
        "t000000000000u",
        "t000000000000A",
        "t000000000000-",
        "t000000000000\xff",
        " t000000000001",
        "t000000 000001",
        "../../../etc/p",
    };
    for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        int64_t id = 77;
        assert_false(id_parse(str_of(garbage[i]), ID_TASK, &id));
        assert_int_equal(id, 77);
    }
    int64_t id = 77;
    assert_false(id_parse((struct str){"t00000000000\0001", 14}, ID_TASK, &id));
    assert_false(id_parse((struct str){0}, ID_TASK, &id));
    assert_int_equal(id, 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_one_maker_grow_whatever_the_clock_does),
        cmocka_unit_test(ids_follow_time_when_the_clock_does),
        cmocka_unit_test(nodes_never_make_the_same_id),
        cmocka_unit_test(a_clock_set_back_before_a_restart_repeats_nothing),
        cmocka_unit_test(ids_of_before_are_not_made_by_others_at_the_same_time),
        cmocka_unit_test(ids_of_before_are_not_made_again),
        cmocka_unit_test(clocks_that_are_wrong_by_a_century_still_give_ids),
        cmocka_unit_test(text_comes_back_as_the_number),
        cmocka_unit_test(text_sorts_as_the_numbers_do),
        cmocka_unit_test(garbage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
