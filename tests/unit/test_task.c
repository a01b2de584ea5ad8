// Tasks as a whole: what is one, when it is planned, and what becomes of a stored document that cannot be read.
#include "read_task.h"

static const int64_t NOW = 1794774120000; // 2026-11-15T20:22:00Z

static void a_task_is_an_object(void **state)
{
    static const char *const rows[] = {"null", "[]", "\"x\"", "1", "true"};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct arena arena;
        struct task task;
        struct problem why;
        arena_init(&arena);
        assert_int_equal(parse(&task, str_of(rows[i]), &arena, &why), ERR_INVALID_FIELD);
        assert_string_equal(why.field, "");
        assert_non_null(strstr(why.detail, "must be a JSON object"));
    }
}

static void plans_follow_at_in_and_not_after(void **state)
{
    enum { NEVER = -1 };
    static const struct {
        const char *members;
        enum err err;
        int64_t scheduled, expires; // after NOW
        const char *field;
    } rows[] = {
        {"", ERR_OK, 0, NEVER, NULL},
        {",\"at\":\"2026-11-15T20:23:00Z\"", ERR_OK, 60000, NEVER, NULL},
        {",\"at\":\"2020-01-01T00:00:00Z\"", ERR_OK, 0, NEVER, NULL},
        {",\"at\":\"1970-01-01T00:00:00Z\"", ERR_OK, 0, NEVER, NULL},
        {",\"in\":\"10m\"", ERR_OK, 600000, NEVER, NULL},
        {",\"in\":\"0s\"", ERR_OK, 0, NEVER, NULL},
        {",\"in\":\"3653d\"", ERR_OK, 3653LL * 86400000, NEVER, NULL},
        {",\"at\":\"2036-11-15T20:22:00Z\"", ERR_OK, 3653LL * 86400000, NEVER, NULL},
        {",\"at\":\"2036-11-15T20:22:00.001Z\"", ERR_INVALID_FIELD, 0, 0, "/at"},
        {",\"at\":\"9999-12-31T23:59:59Z\"", ERR_INVALID_FIELD, 0, 0, "/at"},
        {",\"in\":\"10m\",\"not_after\":\"5m\"", ERR_OK, 600000, 900000, NULL},
        {",\"not_after\":\"0s\"", ERR_OK, 0, 0, NULL},
        {",\"not_after\":\"2026-11-15T20:22:01Z\"", ERR_OK, 0, 1000, NULL},
        {",\"in\":\"10m\",\"not_after\":\"2026-11-15T20:22:01Z\"", ERR_INVALID_FIELD, 0, 0, "/not_after"},
        {",\"not_after\":\"2026-11-15T20:21:59Z\"", ERR_INVALID_FIELD, 0, 0, "/not_after"},
        {",\"at\":\"2020-01-01T00:00:00Z\",\"not_after\":\"2020-01-02T00:00:00Z\"", ERR_INVALID_FIELD, 0, 0, "/not_after"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct arena arena;
        struct problem why = {0};
        int64_t scheduled = 42, expires = 42;
        char text[256];
        arena_init(&arena);
        snprintf(text, sizeof text, "{" U "%s}", rows[i].members);
        struct task task = must_parse(text, &arena);
        assert_int_equal(task_plan(&task, NOW, &scheduled, &expires, &why), rows[i].err);
        if (rows[i].err) {
            assert_string_equal(why.field, rows[i].field);
            assert_int_equal(scheduled, 42);
        } else {
            assert_int_equal(scheduled, NOW + rows[i].scheduled);
            assert_int_equal(expires, rows[i].expires == NEVER ? 0 : NOW + rows[i].expires);
        }
        arena_done(&arena);
    }
}

static void a_stored_document_that_cannot_be_read_has_the_default_policy_and_no_target(void **state)
{
    struct task task;
    struct arena arena;
    char why[ERR_WHY_MAX];
    static const struct {
        const char *doc, *why;
    } cases[] = {
        {"", "Line 1"},
        {"{" U, "Line 1"},
        {"[]", "A task must be a JSON object"},
        {"{\"timeout\":\"5s\"}", "/url: A task needs a target"},
        {"{" U ",\"newer\":{\"timeout\":\"5s\"}}", "/newer: There is no such field"},
    };
    arena_init(&arena);
    for (size_t i = 0; i < array_count(cases); i++) {
        assert_false(task_read(&task, str_of(cases[i].doc), &arena, why));
        if (!strstr(why, cases[i].why))
            fail_msg("%s: %s", cases[i].doc, why);
        assert_null(task.target.http.url.p);
        assert_null(task.queue.p);
        assert_int_equal(task.policy.timeout_ms, 30000);
        assert_int_equal(task_policy(str_of(cases[i].doc), &arena).ttl_ms, 7 * 86400000);
    }
    assert_true(task_read(&task, STR("{" U ",\"timeout\":\"5s\"}"), &arena, why));
    assert_true(str_is(task.target.http.url, "http://a/"));
    assert_int_equal(task.policy.timeout_ms, 5000);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_is_an_object),
        cmocka_unit_test(plans_follow_at_in_and_not_after),
        cmocka_unit_test(a_stored_document_that_cannot_be_read_has_the_default_policy_and_no_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
