// What is said of a task by its jobs: its state, its outcome, and which of them is shown.
#include "core/task/task_state.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

// What stands for a task: what runs; else the newest that waits because of somebody; else what ended last; else the next planned.
// The numbers of the rows are the jobs' ids; the order in which they come must not matter.
static void the_job_that_is_shown_is_the_one_that_matters(void **state)
{
    enum { HAND = 1, SOON = 100, LATER = 200 };
    static const struct {
        const char *words;
        struct job jobs[4];
        int64_t shown;
        enum task_state state;
    } cases[] = {
        {"none", {{0}}, 0, TASK_DONE},
        {"planned", {{.id = 1, .state = JOB_DELAYED, .scheduled_at = SOON}}, 1, TASK_ACTIVE},
        {"cancelled before its time, then retried: the retry waits",
         {{.id = 1, .state = JOB_CANCELLED, .scheduled_at = LATER, .completed_at = 10},
          {.id = 2, .state = JOB_READY, .scheduled_at = SOON, .parent_id = HAND}},
         2,
         TASK_ACTIVE},
        {"… is in somebody's hand",
         {{.id = 1, .state = JOB_CANCELLED, .scheduled_at = LATER, .completed_at = 10},
          {.id = 2, .state = JOB_WATCHING, .scheduled_at = SOON, .parent_id = HAND}},
         2,
         TASK_ACTIVE},
        {"… runs",
         {{.id = 1, .state = JOB_CANCELLED, .scheduled_at = LATER, .completed_at = 10},
          {.id = 2, .state = JOB_RESERVED, .scheduled_at = SOON, .started_at = 20, .parent_id = HAND}},
         2,
         TASK_ACTIVE},
        {"… has succeeded",
         {{.id = 1, .state = JOB_CANCELLED, .scheduled_at = LATER, .completed_at = 10},
          {.id = 2, .state = JOB_SUCCESS, .scheduled_at = SOON, .completed_at = 30, .parent_id = HAND}},
         2,
         TASK_DONE},
        {"… was cancelled, too",
         {{.id = 1, .state = JOB_SUCCESS, .scheduled_at = SOON, .completed_at = 10},
          {.id = 2, .state = JOB_CANCELLED, .scheduled_at = SOON, .completed_at = 30, .parent_id = HAND}},
         2,
         TASK_CANCELLED},
        {"ended in one millisecond: the newer one",
         {{.id = 1, .state = JOB_CANCELLED, .completed_at = 10}, {.id = 2, .state = JOB_SUCCESS, .completed_at = 10}},
         2,
         TASK_DONE},
        {"two retries wait: the newer one, whichever is due first",
         {{.id = 1, .state = JOB_ABORTED, .completed_at = 10},
          {.id = 2, .state = JOB_DELAYED, .scheduled_at = LATER, .parent_id = HAND},
          {.id = 3, .state = JOB_READY, .scheduled_at = SOON, .parent_id = HAND}},
         3,
         TASK_ACTIVE},
        {"two run: what began last",
         {{.id = 1, .state = JOB_RESERVED, .started_at = 40}, {.id = 2, .state = JOB_RESERVED, .started_at = 30}},
         1,
         TASK_ACTIVE},
        {"one runs and one waits by hand: what runs",
         {{.id = 1, .state = JOB_RESERVED, .started_at = 40}, {.id = 2, .state = JOB_READY, .parent_id = HAND}},
         1,
         TASK_ACTIVE},
        // A recurring task has several planned beside what was.
        {"nothing has run yet: the next",
         {{.id = 3, .state = JOB_DELAYED, .scheduled_at = LATER}, {.id = 4, .state = JOB_DELAYED, .scheduled_at = SOON}},
         4,
         TASK_ACTIVE},
        {"some have run: what ended last, and not what is planned",
         {{.id = 1, .state = JOB_SUCCESS, .scheduled_at = 1, .completed_at = 9},
          {.id = 2, .state = JOB_ABORTED, .scheduled_at = 2, .completed_at = 5},
          {.id = 3, .state = JOB_DELAYED, .scheduled_at = SOON},
          {.id = 4, .state = JOB_DELAYED, .scheduled_at = LATER}},
         1,
         TASK_ACTIVE},
        {"one waits for another try, and one before it has ended: what ended",
         {{.id = 1, .state = JOB_SUCCESS, .completed_at = 5},
          {.id = 2, .state = JOB_DELAYED, .attempts = 1, .scheduled_at = SOON}},
         1,
         TASK_ACTIVE},
        {"one runs, and others are planned: what runs",
         {{.id = 1, .state = JOB_SUCCESS, .completed_at = 9},
          {.id = 2, .state = JOB_RESERVED, .started_at = 10},
          {.id = 3, .state = JOB_DELAYED, .scheduled_at = SOON}},
         2,
         TASK_ACTIVE},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct job turned[4];
        size_t count = 0;
        while (count < 4 && cases[i].jobs[count].id)
            count++;
        for (size_t k = 0; k < count; k++)
            turned[k] = cases[i].jobs[count - 1 - k];
        const struct job *shown = task_job_to_show(cases[i].jobs, count), *again = task_job_to_show(turned, count);
        if ((shown ? shown->id : 0) != cases[i].shown || (again ? again->id : 0) != cases[i].shown)
            fail_msg("%s: %lld is shown", cases[i].words, (long long)(shown ? shown->id : 0));
        if (task_state_of(false, false, cases[i].jobs, count) != cases[i].state ||
            task_state_of(false, false, turned, count) != cases[i].state)
            fail_msg("%s: the task is %s", cases[i].words, task_state_text(task_state_of(false, false, cases[i].jobs, count)));
        assert_int_equal(task_state_of(true, false, turned, count), cases[i].state == TASK_ACTIVE ? TASK_PAUSED : cases[i].state);
    }
}

static void the_outcome_of_a_task_says_how_it_went(void **state)
{
    static const struct {
        struct job jobs[3];
        bool paused;
        const char *outcome;
        unsigned words;
    } cases[] = {
        {{{0}}, false, NULL, 1u << TASK_DONE},
        {{{.id = 1, .state = JOB_DELAYED}}, false, "pending", 1u << TASK_ACTIVE | 1u << TASK_WAITING},
        {{{.id = 1, .state = JOB_WATCHING}}, true, "pending", 1u << TASK_PAUSED | 1u << TASK_WAITING},
        {{{.id = 1, .state = JOB_RESERVED, .attempts = 1}}, false, "in_progress", 1u << TASK_ACTIVE | 1u << TASK_RUNNING},
        {{{.id = 1, .state = JOB_RESERVED, .attempts = 1}}, true, "in_progress", 1u << TASK_PAUSED | 1u << TASK_RUNNING},
        {{{.id = 1, .state = JOB_DELAYED, .attempts = 1}}, false, "in_progress", 1u << TASK_ACTIVE | 1u << TASK_WAITING},
        {{{.id = 1, .state = JOB_SUCCESS}}, false, "success", 1u << TASK_DONE | 1u << TASK_SUCCEEDED},
        {{{.id = 1, .state = JOB_ABORTED}}, false, "failed", 1u << TASK_DONE | 1u << TASK_FAILED},
        {{{.id = 1, .state = JOB_BURIED}}, true, "failed", 1u << TASK_DONE | 1u << TASK_FAILED},
        {{{.id = 1, .state = JOB_CANCELLED}}, false, "cancelled", 1u << TASK_CANCELLED},
        // A job made by hand takes the place of what it repeats, and when it has ended its end counts.
        {{{.id = 1, .state = JOB_ABORTED, .completed_at = 5}, {.id = 2, .state = JOB_READY, .parent_id = 1}},
         false,
         "pending",
         1u << TASK_ACTIVE | 1u << TASK_WAITING},
        {{{.id = 1, .state = JOB_ABORTED, .completed_at = 5}, {.id = 2, .state = JOB_SUCCESS, .parent_id = 1, .completed_at = 9}},
         false,
         "success",
         1u << TASK_DONE | 1u << TASK_SUCCEEDED},
        {{{.id = 1, .state = JOB_SUCCESS, .completed_at = 5},
          {.id = 2, .state = JOB_CANCELLED, .parent_id = 1, .completed_at = 9}},
         false,
         "cancelled",
         1u << TASK_CANCELLED},
        {{{.id = 1, .state = JOB_RESERVED, .attempts = 1}, {.id = 2, .state = JOB_READY, .parent_id = 1}},
         false,
         "in_progress",
         1u << TASK_ACTIVE | 1u << TASK_RUNNING},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        size_t count = 0;
        while (count < 3 && cases[i].jobs[count].id)
            count++;
        const char *outcome = task_outcome_text(task_outcome_of(cases[i].jobs, count));
        assert_string_equal(outcome ? outcome : "-", cases[i].outcome ? cases[i].outcome : "-");
        assert_int_equal(task_words(cases[i].paused, false, cases[i].jobs, count), cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_job_that_is_shown_is_the_one_that_matters),
        cmocka_unit_test(the_outcome_of_a_task_says_how_it_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
