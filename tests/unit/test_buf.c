// Buffers that grow, and the random numbers of rand.h, which have no suite of their own.
#include "base/buf.h"
#include "base/rand.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void what_is_put_stands_in_order(void **state)
{
    buf_auto struct buf buf = {0};
    buf_puts(&buf, "a");
    buf_putc(&buf, 0);
    buf_put(&buf, STR("bc"));
    buf_put(&buf, (struct str){0});
    buf_puts(&buf, NULL);
    buf_printf(&buf, "%s=%d", "x", 5);
    assert_true(str_eq(buf_str(&buf), (struct str){"a\0bcx=5", 7}));
}

static void it_grows_without_losing_a_byte(void **state)
{
    buf_auto struct buf buf = {0};
    for (int i = 0; i < 100000; i++)
        buf_putc(&buf, (char)(i % 251));
    buf_printf(&buf, "%70000d", 1);
    assert_int_equal(buf.n, 170000);
    for (int i = 0; i < 100000; i++)
        assert_int_equal((unsigned char)buf.p[i], i % 251);
    assert_int_equal(buf.p[169999], '1');
}

static void reserved_room_is_there(void **state)
{
    buf_auto struct buf buf = {0};
    buf_reserve(&buf, 1000);
    assert_true(buf.cap >= 1000);
    char *before = buf.p;
    for (int i = 0; i < 1000; i++)
        buf_putc(&buf, 'x');
    assert_ptr_equal(buf.p, before);
    buf_reserve(&buf, 0);
    assert_ptr_equal(buf.p, before);
}

static void a_buffer_that_is_done_is_empty_and_usable(void **state)
{
    buf_auto struct buf buf = {0};
    buf_puts(&buf, "x");
    buf_done(&buf);
    assert_int_equal(buf.n, 0);
    assert_null(buf_str(&buf).p);
    buf_puts(&buf, "y");
    assert_true(str_is(buf_str(&buf), "y"));
}

static void numbers_read_as_printf_writes_them(void **state)
{
    const int64_t values[] = {0, 1, -1, 9, 10, -10, 1234567890123, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        buf_auto struct buf buf = {0};
        char text[32];
        buf_put_int(&buf, values[i]);
        snprintf(text, sizeof text, "%" PRId64, values[i]);
        assert_true(str_is(buf_str(&buf), text));
    }
}

static void the_same_seed_gives_the_same_numbers(void **state)
{
    struct rand a, b, c;
    rand_init(&a, 7);
    rand_init(&b, 7);
    rand_init(&c, 8);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t x = rand_next(&a);
        assert_true(x == rand_next(&b));
        same += x == rand_next(&c);
    }
    assert_int_equal(same, 0);
}

static void numbers_below_a_limit_reach_all_of_it(void **state)
{
    struct rand rand;
    rand_init(&rand, 1);
    int seen[10] = {0};
    for (int i = 0; i < 10000; i++)
        seen[rand_below(&rand, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 800, 1200); // the seed is fixed: this cannot fail by chance
    assert_int_equal(rand_below(&rand, 1), 0);
}

static void secrets_fill_any_length(void **state)
{
    static unsigned char a[100000], b[100000];
    rand_secret(a, 0);
    rand_secret(a, sizeof a);
    rand_secret(b, sizeof b);
    int same = 0;
    for (size_t i = 0; i < sizeof a; i++)
        same += a[i] == b[i];
    assert_in_range(same, 1, 2000); // about 390
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_stands_in_order),
        cmocka_unit_test(it_grows_without_losing_a_byte),
        cmocka_unit_test(reserved_room_is_there),
        cmocka_unit_test(a_buffer_that_is_done_is_empty_and_usable),
        cmocka_unit_test(numbers_read_as_printf_writes_them),
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(numbers_below_a_limit_reach_all_of_it),
        cmocka_unit_test(secrets_fill_any_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
