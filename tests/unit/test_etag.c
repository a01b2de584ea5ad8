// If-Match as RFC 9110 has it: a list, compared strongly.
#include "core/etag.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = 4 };

static void a_list_names_versions(void **state)
{
    static const struct {
        const char *list;
        size_t count;
        int64_t versions[MOST];
    } cases[] = {
        {"\"3\"", 1, {3}},
        {" \"1\",\"3\" , \"123456789012345678\"\t", 3, {1, 3, 123456789012345678}},
        {", ,\"1\",,", 1, {1}},
        {"W/\"3\"", 1, {0}},
        {"W/\"3\", \"4\"", 2, {0, 4}},
        {"\"\"", 1, {0}},
        {"\"0\", \"03\", \"3x\", \"a,b\"", 4, {0, 0, 0, 0}},
        {"\"1234567890123456789\"", 1, {0}},
        {"\"-1\"", 1, {0}},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        int64_t versions[64];
        assert_true(etag_most(str_of(cases[i].list)) <= array_count(versions));
        assert_int_equal(etag_versions(str_of(cases[i].list), versions), cases[i].count);
        for (size_t k = 0; k < cases[i].count; k++)
            assert_int_equal(versions[k], cases[i].versions[k]);
    }
}

static void what_is_no_list_names_nothing(void **state)
{
    static const char *const lists[] = {"",    ",",        " ",        "3",       "\"3",        "3\"",         "w/\"3\"",
                                        "W/3", "W/",       "W",        "\"",      "\"1\"\"2\"", "\"1\" \"2\"", "\"1\"x",
                                        "*",   "\"1\", *", "*, \"1\"", "W /\"1\""};
    int64_t versions[64];
    for (size_t i = 0; i < array_count(lists); i++)
        assert_int_equal(etag_versions(str_of(lists[i]), versions), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_names_versions),
        cmocka_unit_test(what_is_no_list_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
