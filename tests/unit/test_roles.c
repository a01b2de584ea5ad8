// --role: what is understood, and what is said about the rest.
#include "node/roles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void lists_of_roles_are_understood(void **state)
{
    static const struct {
        const char *text;
        unsigned roles;
    } cases[] = {
        {"api", ROLE_API},
        {"puller,executor,completer", ROLES_RUN},
        {"completer,api,puller,executor", ROLES_ALL},
        {"api,api", ROLE_API},
        {"all", ROLES_ALL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned roles = 0;
        char why[ERR_WHY_MAX] = "";
        assert_true(roles_parse(cases[i].text, &roles, why));
        assert_int_equal(roles, cases[i].roles);
    }
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no role is known by \"\""},
        {"api,", "no role is known by \"\""},
        {",api", "no role is known by \"\""},
        {"apis", "no role is known by \"apis\"; api, puller"},
        {"api, puller", "known by \" puller\""},
        {"puller", "all three or none"},
        {"api,puller,executor", "all three or none"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned roles = 77;
        char why[ERR_WHY_MAX] = "";
        assert_false(roles_parse(cases[i].text, &roles, why));
        assert_non_null(strstr(why, cases[i].words));
        assert_int_equal(roles, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_roles_are_understood),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
