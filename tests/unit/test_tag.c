// What a task is found by: a filter has the tags of those it takes, and of no others.
#include "core/tag.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static size_t tags_of(const char *doc, int64_t ret_tags[TAGS_MAX])
{
    struct arena arena;
    struct task task;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    assert_true(task_read(&task, str_of(doc), &arena, why));
    size_t count = tags_of_task(&task, &arena, ret_tags);
    arena_done(&arena);
    return count;
}

static size_t tags_of_query(const char *name, const char *value, int64_t ret_tags[TAGS_MAX])
{
    struct filter filter = filter_any(FILTER_JOBS);
    struct problem why;
    assert_int_equal(filter_set(&filter, str_of(name), str_of(value), &why), ERR_OK);
    return tags_of_filter(&filter, ret_tags);
}

static bool has(const int64_t *tags, size_t count, int64_t tag)
{
    for (size_t i = 0; i < count; i++)
        if (tags[i] == tag)
            return true;
    return false;
}

static void a_plain_task_has_none(void **state)
{
    int64_t tags[TAGS_MAX];
    assert_int_equal(tags_of("{\"url\":\"http://x/\",\"queue\":\"q\",\"key\":\"k\"}", tags), 0);
    assert_int_equal(tags_of("{\"url\":\"http://x/\",\"name\":\"n\",\"labels\":{}}", tags), 1);
}

static void a_filter_has_the_tags_of_what_it_takes(void **state)
{
    static const struct {
        const char *name, *value;
        bool has;
    } cases[] = {
        {"name", "nightly", true},       {"name", "team", false},      {"label.team", "caf\xc3\xa9", true},
        {"label.team", "cafe", false},   {"label.tea", "mcaf", false}, {"label.empty", "", true},
        {"label.nightly", "", false},    {"name", "empty", false},     {"tracing_id", "nightly", true},
        {"created_by", "nightly", true}, {"tracing_id", "n", false},   {"created_by", "team", false},
    };
    int64_t task[TAGS_MAX], query[TAGS_MAX];
    size_t count =
        tags_of("{\"url\":\"http://x/\",\"name\":\"nightly\",\"labels\":{\"t\\u0065am\":\"caf\\u00e9\",\"empty\":\"\"},"
                "\"tracing_id\":\"nightly\",\"created_by\":\"nightly\"}",
                task);
    assert_int_equal(count, 5);
    for (size_t i = 0; i < array_count(cases); i++) {
        assert_int_equal(tags_of_query(cases[i].name, cases[i].value, query), 1);
        assert_int_equal(has(task, count, query[0]), cases[i].has);
    }
    assert_int_equal(tags_of_query("queue", "nightly", query), 0);
}

// They lie in databases: another release must make the same.
static void tags_are_what_they_always_were(void **state)
{
    int64_t tags[TAGS_MAX];
    assert_int_equal(tags_of("{\"url\":\"http://x/\",\"name\":\"n\",\"labels\":{\"k\":\"v\"}}", tags), 2);
    assert_int_equal(tags[0], 4567962096143218914);
    assert_int_equal(tags[1], 6569978555688649430);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(tags[i] & 1, 0);
}

static void as_many_as_a_task_may_have_fit(void **state)
{
    char doc[1024] = "{\"url\":\"http://x/\",\"name\":\"n\",\"tracing_id\":\"t\",\"created_by\":\"c\",\"labels\":{";
    for (int i = 0; i < TASK_LABELS_MAX; i++)
        snprintf(doc + strlen(doc), sizeof doc - strlen(doc), "%s\"l%d\":\"\"", i ? "," : "", i);
    snprintf(doc + strlen(doc), sizeof doc - strlen(doc), "}}");
    int64_t tags[TAGS_MAX];
    size_t count = tags_of(doc, tags);
    assert_int_equal(count, TAGS_MAX);
    for (size_t i = 0; i < count; i++)
        assert_false(has(tags, i, tags[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_task_has_none),
        cmocka_unit_test(a_filter_has_the_tags_of_what_it_takes),
        cmocka_unit_test(tags_are_what_they_always_were),
        cmocka_unit_test(as_many_as_a_task_may_have_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
