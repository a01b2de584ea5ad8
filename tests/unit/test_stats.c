// What a node counts, and how it is written down and read again.
#include "flow/stats.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct stats stats;

static int set_up(void **state)
{
    stats = (struct stats){0};
    return 0;
}

static int64_t counter(enum stats_counter which)
{
    struct stats_values values;
    stats_take(&stats, &values);
    return values.counters[which];
}

static struct histogram histogram(enum stats_histogram which)
{
    struct stats_values values;
    stats_take(&stats, &values);
    return values.histograms[which];
}

static void every_row_has_its_words(void **state)
{
    for (int i = 0; i < STATS_COUNTER_COUNT; i++) {
        const struct stats_row *row = stats_counter_row((enum stats_counter)i);
        if (!row) {
            assert_int_equal(i, STATS_OUTCOME + OUTCOME_NONE);
            continue;
        }
        const struct stats_row *before = i ? stats_counter_row((enum stats_counter)(i - 1)) : NULL;
        bool first = !before || strcmp(before->metric, row->metric) != 0;
        assert_true(row->name[0] && (!first || row->help[0]));
        assert_non_null(strstr(row->metric, "_total"));
        for (int j = 0; j < i; j++) { // a name leads to one row; rows of a metric lie together
            const struct stats_row *other = stats_counter_row((enum stats_counter)j);
            assert_true(!other || strcmp(other->name, row->name) != 0);
            assert_true(!other || !first || strcmp(other->metric, row->metric) != 0);
        }
    }
}

static void a_start_is_counted_with_its_delays_and_its_sla(void **state)
{
    struct job_policy policy = {.sla_ms = 100};
    struct job job = {.ready_at = 1000, .due_at = 1000, .picked_at = 1010, .started_at = 1040};
    stats_started(&stats, &job, &policy);
    assert_int_equal(counter(STATS_STARTED), 1);
    assert_int_equal(counter(STATS_SLA_MET), 1);
    assert_int_equal(histogram(STATS_START_DELAY).sum_us, 40000);
    assert_int_equal(histogram(STATS_PULLER_DELAY).sum_us, 10000);
    assert_int_equal(histogram(STATS_QUEUE_DELAY).sum_us, 30000);
    job.started_at = 1500;
    stats_started(&stats, &job, &policy);
    job.picked_at = 1495;
    stats_started(&stats, &job, &policy);
    job.due_at = job.picked_at;
    stats_started(&stats, &job, &policy);
    assert_int_equal(counter(STATS_STARTED), 4);
    assert_int_equal(counter(STATS_SLA_MET), 1);
    assert_int_equal(counter(STATS_LATE_QUEUE), 1);
    assert_int_equal(counter(STATS_LATE_PULLER), 1);
    assert_int_equal(counter(STATS_LATE_TARGET), 1);
}

static void a_clock_that_was_set_back_counts_as_no_delay(void **state)
{
    struct job job = {.ready_at = 5000, .due_at = 5000, .picked_at = 4000, .started_at = 4500};
    stats_started(&stats, &job, &(struct job_policy){.sla_ms = 100});
    assert_int_equal(histogram(STATS_START_DELAY).sum_us, 0);
    assert_int_equal(histogram_count(&(struct histogram){0}), 0);
    assert_int_equal(counter(STATS_SLA_MET), 1);
}

static void a_change_is_counted_by_what_became_of_the_job(void **state)
{
    struct job job = {.state = JOB_SUCCESS, .outcome = OUTCOME_SUCCESS, .started_at = 10, .completed_at = 25};
    stats_changed(&stats, &job, NULL);
    assert_int_equal(counter(STATS_SUCCESS), 1);
    assert_int_equal(counter(STATS_OUTCOME + OUTCOME_SUCCESS), 1);
    assert_int_equal(histogram(STATS_TARGET_DELAY).sum_us, 15000);
    struct attempt failed = {.outcome = OUTCOME_TIMEOUT, .started_at = 10, .completed_at = 20};
    stats_changed(&stats, &(struct job){.state = JOB_DELAYED}, &failed);
    stats_changed(&stats, &(struct job){.state = JOB_ABORTED}, &failed);
    assert_int_equal(counter(STATS_OUTCOME + OUTCOME_TIMEOUT), 2);
    assert_int_equal(counter(STATS_RETRIED), 1);
    assert_int_equal(counter(STATS_ABORTED), 1);
    stats_changed(&stats, &(struct job){.state = JOB_CANCELLED, .reason = STR("expired")}, NULL);
    stats_changed(&stats, &(struct job){.state = JOB_CANCELLED, .reason = STR("cancelled by hand")}, NULL);
    assert_int_equal(counter(STATS_CANCELLED), 2);
    assert_int_equal(counter(STATS_EXPIRED), 1);
    stats_changed(&stats, &(struct job){.state = JOB_READY}, NULL); // given back before it began
    stats_changed(&stats, &(struct job){.state = JOB_READY}, &(struct attempt){.outcome = OUTCOME_LOST});
    assert_int_equal(counter(STATS_OUTCOME + OUTCOME_LOST), 1);
    assert_int_equal(counter(STATS_RETRIED), 1);
}

static void what_is_written_is_read_again_and_added(void **state)
{
    struct stats_values values = {0}, read = {0};
    for (int i = 0; i < STATS_COUNTER_COUNT; i++)
        values.counters[i] = i * 3 % 5;
    for (int i = 0; i < STATS_HISTOGRAM_COUNT; i++)
        for (int j = 0; j < HISTOGRAM_BUCKETS; j++) {
            values.histograms[i].counts[j] = (i + j) % 3;
            values.histograms[i].sum_us += 1000 * j;
        }
    buf_auto struct buf doc = {0};
    stats_put_json(&doc, &values);
    stats_parse(&read, buf_str(&doc));
    assert_memory_equal(&read, &values, sizeof values);
    stats_parse(&read, buf_str(&doc));
    stats_subtract(&read, &values);
    assert_memory_equal(&read, &values, sizeof values);
}

static void what_is_not_understood_is_passed_over(void **state)
{
    static const char *const docs[] = {"",
                                       "[1]",
                                       "{\"submitted\":",
                                       "{\"submitted\":\"x\",\"start\":4}",
                                       "{\"newer\":{\"a\":1}}",
                                       "{\"start\":{\"99\":1,\"-1\":4,\"x\":2,\"us\":null,\"000000000000000000000\":0}}"};
    struct stats_values read = {0}, none = {0};
    for (size_t i = 0; i < array_count(docs); i++)
        stats_parse(&read, str_of(docs[i]));
    assert_memory_equal(&read, &none, sizeof none);
    stats_parse(&read, STR("{\"newer\":7,\"submitted\":2}"));
    assert_int_equal(read.counters[STATS_SUBMITTED], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_row_has_its_words, set_up),
        cmocka_unit_test_setup(a_start_is_counted_with_its_delays_and_its_sla, set_up),
        cmocka_unit_test_setup(a_clock_that_was_set_back_counts_as_no_delay, set_up),
        cmocka_unit_test_setup(a_change_is_counted_by_what_became_of_the_job, set_up),
        cmocka_unit_test_setup(what_is_written_is_read_again_and_added, set_up),
        cmocka_unit_test_setup(what_is_not_understood_is_passed_over, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
