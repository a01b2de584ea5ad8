// Attempts that go on long after their timeout are told of once, and stay among the warnings.
#include "base/mem.h"
#include "flow/record.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NOW = 10000000, TIMEOUT_MS = 5000 };

static int overdue(struct node *node, enum job_state state, int64_t started_at, const char *doc)
{
    struct store_job found = {.job = {.id = 2, .task_id = 1, .state = state, .started_at = started_at}, .doc = str_of(doc)};
    record_overdue(node, &found, NOW);
    return warnings_count(node->warnings, WARNING_JOB_OVERDUE, NOW);
}

static void an_attempt_is_overdue_half_a_minute_after_its_timeout(void **state)
{
    (void)state;
    static const char doc[] = "{\"url\":\"http://a.example/\",\"timeout\":\"5s\"}";
    const int64_t last = NOW - TIMEOUT_MS - RECORD_OVERDUE_MS;
    struct node node;
    struct stats_values values;
    node_init(&node, NULL, NULL, NULL, NULL);
    assert_int_equal(overdue(&node, JOB_RESERVED, last, doc), 0);
    assert_int_equal(overdue(&node, JOB_WATCHING, 0, doc), 0);
    assert_int_equal(overdue(&node, JOB_RESERVED, last - 1, "{\"url\":\"http://a.example/\",\"timeout\":\"6s\"}"), 0);
    assert_int_equal(overdue(&node, JOB_RESERVED, last - 1, doc), 1);
    assert_int_equal(overdue(&node, JOB_RESERVED, last - 1, doc), 1);
    stats_take(&node.stats, &values);
    assert_int_equal(values.counters[STATS_OVERDUE], 1);
    node_done(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_is_overdue_half_a_minute_after_its_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
