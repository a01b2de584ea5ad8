// What a query says, and which targets nobody can read.
#include "base/mem.h"
#include "http/server/query.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct pair *pairs;
static struct arena arena;

static const char *read_query(const char *path, const char *query)
{
    return query_read(str_of(path), str_of(query), &arena, &pairs);
}

static void expect_next(const char *name, const char *value)
{
    assert_non_null(pairs);
    assert_string_equal(pairs->name.p, name);
    assert_string_equal(pairs->value.p, value);
    pairs = pairs->next;
}

static void parameters_come_in_order_and_unescaped(void **state)
{
    assert_null(read_query("/", "b=1&a=x+y%26z&b=2"));
    expect_next("b", "1");
    expect_next("a", "x y&z");
    expect_next("b", "2");
    assert_null(pairs);
}

static void a_parameter_may_lack_its_value_or_its_name(void **state)
{
    assert_null(read_query("/", "a&=b&&c=d=e"));
    expect_next("a", "");
    expect_next("", "b");
    expect_next("", "");
    expect_next("c", "d=e");
    assert_null(pairs);
}

static void an_empty_query_has_none(void **state)
{
    assert_null(read_query("/a%2fb", ""));
    assert_null(pairs);
}

static void an_escape_that_cannot_be_read_is_refused(void **state)
{
    static const char *const broken[] = {"%", "%2", "%zz", "%00", "%41%"};
    for (size_t i = 0; i < array_count(broken); i++) {
        assert_non_null(read_query(broken[i], ""));
        assert_non_null(read_query("/", broken[i]));
    }
}

static void more_parameters_than_there_may_be_are_refused(void **state)
{
    char query[2 * QUERY_MAX + 2];
    for (size_t i = 0; i < sizeof query - 1; i++)
        query[i] = i % 2 ? '&' : 'a';
    query[sizeof query - 1] = 0;
    assert_non_null(read_query("/", query));
    query[sizeof query - 3] = 0;
    assert_null(read_query("/", query));
}

static int teardown(void **state)
{
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(parameters_come_in_order_and_unescaped, teardown),
        cmocka_unit_test_teardown(a_parameter_may_lack_its_value_or_its_name, teardown),
        cmocka_unit_test_teardown(an_empty_query_has_none, teardown),
        cmocka_unit_test_teardown(an_escape_that_cannot_be_read_is_refused, teardown),
        cmocka_unit_test_teardown(more_parameters_than_there_may_be_are_refused, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
