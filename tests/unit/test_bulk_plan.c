// The document of a bulk: what is taken, and what is refused where.
#include "core/bulk_plan.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static enum err parse(struct bulk_plan *ret_plan, const char *text, struct arena *arena, struct problem *why)
{
    struct json doc;
    char words[ERR_WHY_MAX];
    if (json_check(str_of(text), &doc, words))
        fail_msg("%s: %s", text, words);
    *why = (struct problem){0};
    return bulk_plan_parse(ret_plan, doc, arena, why);
}

static void each_action_is_read_and_says_what_it_is_done_to(void **state)
{
    static const struct {
        const char *doc;
        enum bulk_action action;
        enum filter_of of;
    } cases[] = {
        {"{\"action\":\"cancel\",\"filter\":{}}", BULK_CANCEL, FILTER_TASKS},
        {"{\"filter\":{},\"action\":\"retry\"}", BULK_RETRY, FILTER_JOBS},
        {"{\"action\":\"run\",\"filter\":{}}", BULK_RUN, FILTER_TASKS},
        {"{\"action\":\"pa\\u0075se\",\"filter\":{}}", BULK_PAUSE, FILTER_TASKS},
        {"{\"action\":\"resume\",\"filter\":{}}", BULK_RESUME, FILTER_TASKS},
        {"{\"\\u0061ction\":\"delete\",\"filter\":{}}", BULK_DELETE, FILTER_TASKS},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct bulk_plan plan;
        struct problem why;
        arena_init(&arena);
        assert_int_equal(parse(&plan, cases[i].doc, &arena, &why), ERR_OK);
        assert_int_equal(plan.action, cases[i].action);
        assert_int_equal(plan.filter.of, cases[i].of);
        assert_true(filter_takes_all(&plan.filter));
        assert_true(!plan.filter.queue.p && !plan.filter.name.p && !plan.filter.label_count);
        arena_done(&arena);
    }
}

static void the_filter_means_what_a_list_means_by_it(void **state)
{
    struct arena arena;
    struct bulk_plan plan;
    struct problem why;
    arena_init(&arena);
    assert_int_equal(parse(&plan,
                           "{\"action\":\"retry\",\"filter\":{\"state\":\"buried\",\"queue\":\"ma\\u0069l\",\"name\":\"n\","
                           "\"label.k\":\"v\",\"due_before\":\"2026-11-15T20:22:00Z\"}}",
                           &arena, &why),
                     ERR_OK);
    assert_int_equal(plan.filter.states, 1u << JOB_BURIED);
    assert_true(str_is(plan.filter.queue, "mail") && str_is(plan.filter.name, "n"));
    assert_true(plan.filter.label_count == 1 && str_is(plan.filter.labels[0].key, "k"));
    assert_int_equal(plan.filter.due_before, 1794774120000);
    arena_done(&arena);
}

static void what_is_wrong_is_refused_where_it_is(void **state)
{
    static const struct {
        const char *doc, *field;
        enum err err;
    } cases[] = {
        {"[]", "", ERR_INVALID_FIELD},
        {"\"cancel\"", "", ERR_INVALID_FIELD},
        {"{}", "/action", ERR_MISSING_FIELD},
        {"{\"filter\":{}}", "/action", ERR_MISSING_FIELD},
        {"{\"action\":\"explode\",\"filter\":{}}", "/action", ERR_INVALID_FIELD},
        {"{\"action\":\"Cancel\",\"filter\":{}}", "/action", ERR_INVALID_FIELD},
        {"{\"action\":1,\"filter\":{}}", "/action", ERR_INVALID_FIELD},
        {"{\"action\":null,\"filter\":{}}", "/action", ERR_INVALID_FIELD},
        {"{\"action\":\"cancel\"}", "/filter", ERR_MISSING_FIELD},
        {"{\"action\":\"cancel\",\"filter\":null}", "/filter", ERR_INVALID_FIELD},
        {"{\"action\":\"cancel\",\"filter\":[]}", "/filter", ERR_INVALID_FIELD},
        {"{\"action\":\"cancel\",\"filter\":{\"state\":1}}", "/filter/state", ERR_INVALID_FIELD},
        {"{\"action\":\"cancel\",\"filter\":{\"state\":null}}", "/filter/state", ERR_INVALID_FIELD},
        {"{\"action\":\"cancel\",\"filter\":{\"state\":\"ready\"}}", "/filter/state", ERR_INVALID_FIELD},       // of a job
        {"{\"action\":\"retry\",\"filter\":{\"state\":\"active\"}}", "/filter/state", ERR_INVALID_FIELD},       // of a task
        {"{\"action\":\"cancel\",\"filter\":{\"created_by\":false}}", "/filter/created_by", ERR_INVALID_FIELD}, // no text
        {"{\"action\":\"cancel\",\"filter\":{\"stat\":\"done\"}}", "/filter/stat", ERR_UNKNOWN_FIELD},
        {"{\"action\":\"cancel\",\"filter\":{\"limit\":\"1\"}}", "/filter/limit", ERR_UNKNOWN_FIELD},
        {"{\"action\":\"cancel\",\"filter\":{},\"running\":true}", "/running", ERR_UNKNOWN_FIELD},
        {"{\"action\":\"cancel\",\"filters\":{}}", "/filters", ERR_UNKNOWN_FIELD},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct bulk_plan plan;
        struct problem why;
        arena_init(&arena);
        enum err err = parse(&plan, cases[i].doc, &arena, &why);
        if (err != cases[i].err || why.err != err || strcmp(why.field, cases[i].field) != 0)
            fail_msg("%s: %s at '%s'", cases[i].doc, err_info(err)->code, why.field);
        assert_true(why.detail[0] != 0);
        arena_done(&arena);
    }
}

static void a_backfill_is_told_from_other_bulks_and_is_no_action_of_a_filter(void **state)
{
    struct arena arena;
    struct bulk_plan plan;
    struct problem why;
    arena_init(&arena);
    assert_true(bulk_plan_is_backfill(STR("{\"action\":\"backfill\",\"task_id\":\"t\",\"backfill\":{}}")));
    assert_false(bulk_plan_is_backfill(STR("{\"action\":\"run\",\"filter\":{\"action\":\"backfill\"}}")));
    assert_int_equal(parse(&plan, "{\"action\":\"backfill\",\"filter\":{}}", &arena, &why), ERR_INVALID_FIELD);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backfill_is_told_from_other_bulks_and_is_no_action_of_a_filter),
        cmocka_unit_test(each_action_is_read_and_says_what_it_is_done_to),
        cmocka_unit_test(the_filter_means_what_a_list_means_by_it),
        cmocka_unit_test(what_is_wrong_is_refused_where_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
