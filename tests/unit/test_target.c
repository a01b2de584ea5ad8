// What each kind of target says of itself, and what is said of a task without one.
#include "read_task.h"

static void a_task_with_a_url_has_an_http_target_that_an_executor_calls(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = must_parse("{" U "}", &arena);
    assert_int_equal(task.target.kind, TARGET_HTTP);
    assert_int_equal(target_rule(TARGET_HTTP)->dispatch, TARGET_CALLED);
    arena_done(&arena);
}

static void the_timeout_is_that_of_the_target_unless_it_is_given(void **state)
{
    struct arena arena;
    arena_init(&arena);
    assert_int_equal(must_parse("{" U "}", &arena).policy.timeout_ms, target_rule(TARGET_HTTP)->timeout_ms);
    assert_int_equal(must_parse("{\"timeout\":null," U "}", &arena).policy.timeout_ms, target_rule(TARGET_HTTP)->timeout_ms);
    assert_int_equal(must_parse("{\"timeout\":\"5s\"," U "}", &arena).policy.timeout_ms, 5000);
    arena_done(&arena);
}

static void an_http_target_calls_the_host_and_port_of_its_url(void **state)
{
    static const struct {
        const char *url, *name;
        int port;
    } cases[] = {
        {"http://a.example/x?y", "a.example", 80},
        {"https://a.example", "a.example", 443},
        {"http://[::1]:8080/", "::1", 8080},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct target target = {.kind = TARGET_HTTP, .http.url = str_of(cases[i].url)};
        struct target_host host;
        assert_true(target_host(&target, &host));
        assert_true(str_is(host.name, cases[i].name));
        assert_int_equal(host.port, cases[i].port);
    }
}

static void a_document_that_cannot_be_read_has_no_target_and_is_not_dispatched(void **state)
{
    struct arena arena;
    struct task task;
    struct target_host host;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    assert_false(task_read(&task, STR("{" U ",\"newer\":1}"), &arena, why));
    assert_int_equal(task.target.kind, TARGET_NONE);
    assert_int_equal(target_rule(TARGET_NONE)->dispatch, TARGET_NOT_DISPATCHED);
    assert_false(target_host(&task.target, &host));
    assert_int_equal(task.policy.timeout_ms, target_rule(TARGET_NONE)->timeout_ms);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_with_a_url_has_an_http_target_that_an_executor_calls),
        cmocka_unit_test(the_timeout_is_that_of_the_target_unless_it_is_given),
        cmocka_unit_test(an_http_target_calls_the_host_and_port_of_its_url),
        cmocka_unit_test(a_document_that_cannot_be_read_has_no_target_and_is_not_dispatched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
