// Tasks and jobs as they are shown.
#include "fake_api.h"

#include "api/render.h"
#include "base/clock.h"
#include "store/jobs.h"

static const int64_t T = 1800000000000; // 2027-01-15T08:00:00Z

static struct json rendered(struct buf *buf)
{
    struct json value;
    char why[ERR_WHY_MAX] = "";
    if (json_check(buf_str(buf), &value, why))
        fail_msg("not JSON: %s: " STR_FMT, why, STR_ARG(buf_str(buf)));
    return value;
}

static struct json show_job(struct buf *buf, const struct job *job, const struct attempt *attempts, size_t count)
{
    buf->n = 0;
    render_job(buf, job, attempts, count, T);
    return rendered(buf);
}

static void a_planned_job_has_every_member(void **state)
{
    buf_auto struct buf buf = {0};
    struct job job = {.id = 1, .task_id = 1, .state = JOB_DELAYED, .scheduled_at = T + 5, .ready_at = T + 5, .due_at = T + 5};
    show_job(&buf, &job, NULL, 0);
    assert_true(str_is(
        buf_str(&buf),
        "{\"id\":\"j0000000000001\",\"task_id\":\"t0000000000001\",\"parent_job_id\":null,\"trigger\":\"submit\",\"state\":"
        "\"delayed\","
        "\"scheduled_at\":\"2027-01-15T08:00:00.005Z\",\"due_at\":\"2027-01-15T08:00:00.005Z\",\"nominal_at\":null,\"picked_at\":"
        "null,\"started_at\":null,\"completed_"
        "at\":null,\"updated_at\":\"2020-01-01T00:00:00.000Z\","
        "\"status\":null,\"response\":null,\"response_truncated\":false,\"result\":null,\"result_left_out\":false,\"progress\":"
        "null,\"reason\":null,\"sla_met\":null,\"late_by\":null,"
        "\"late_stage\":null,\"delays\":{\"puller\":null,\"queue\":null,\"target\":null},\"retry_count\":0,\"executor\":null,"
        "\"lease_until\":null,\"attempts\":[]}"));
}

static void a_job_whose_time_has_come_shows_as_ready(void **state)
{
    buf_auto struct buf buf = {0};
    struct job job = {.id = 1, .task_id = 1, .state = JOB_DELAYED, .scheduled_at = T - 1, .due_at = T - 1};
    assert_json(show_job(&buf, &job, NULL, 0), "state", "\"ready\"");
}

static void a_successful_job_shows_its_last_attempt_behind_the_kept_ones(void **state)
{
    buf_auto struct buf buf = {0};
    struct attempt attempts[] = {
        {.job_id = 6, .number = 1, .outcome = OUTCOME_LOST},
        {.job_id = 7,
         .number = 1,
         .status = 500,
         .outcome = OUTCOME_FAILED,
         .picked_at = T,
         .started_at = T + 1,
         .completed_at = T + 2,
         .holder = 9,
         .reason = STR("500")},
        {.job_id = 8, .number = 1, .outcome = OUTCOME_LOST},
    };
    struct job job = {.id = 7,
                      .task_id = 5,
                      .parent_id = 5,
                      .state = JOB_SUCCESS,
                      .scheduled_at = T,
                      .ready_at = T + 10,
                      .due_at = T + 10,
                      .picked_at = T + 12,
                      .started_at = T + 13,
                      .completed_at = T + 44,
                      .attempts = 2,
                      .retries = 1,
                      .status = 200,
                      .outcome = OUTCOME_SUCCESS,
                      .holder = 9,
                      .response = STR("ok \xff\"")};
    struct json json = show_job(&buf, &job, attempts, array_count(attempts));
    assert_json(json, "parent_job_id", "\"j0000000000005\"");
    assert_json(json, "attempts.0.outcome", "\"failed\"");
    assert_json(json, "attempts.0.number", "1");
    assert_json(json, "attempts.0.reason", "\"500\"");
    assert_json(json, "attempts.0.executor", "\"i0000000000009\"");
    assert_json(json, "attempts.1.outcome", "\"success\"");
    assert_json(json, "attempts.1.number", "2");
    assert_json(json, "attempts.1.reason", "null");
    assert_int_equal(json_at(json, "attempts.2").type, JSON_ABSENT);
    assert_json(json, "response", "\"ok \xef\xbf\xbd\\\"\"");
    assert_json(json, "sla_met", "true");
    assert_json(json, "delays", "{\"puller\":2,\"queue\":1,\"target\":31}");
    assert_json(json, "retry_count", "1");
    assert_json(json, "executor", "\"i0000000000009\"");
}

static void a_running_attempt_has_no_outcome_yet(void **state)
{
    buf_auto struct buf buf = {0};
    struct job job = {.id = 1,
                      .task_id = 1,
                      .state = JOB_RESERVED,
                      .scheduled_at = T,
                      .ready_at = T,
                      .due_at = T,
                      .picked_at = T,
                      .started_at = T + 1,
                      .attempts = 1,
                      .holder = 3};
    struct json json = show_job(&buf, &job, NULL, 0);
    assert_json(json, "attempts.0.outcome", "null");
    assert_json(json, "attempts.0.completed_at", "null");
    assert_json(json, "delays.target", "null");
}

static void a_result_is_shown_as_it_came_and_progress_until_then(void **state)
{
    buf_auto struct buf buf = {0};
    struct job job = {.id = 1, .task_id = 1, .state = JOB_RESERVED, .lease_until = T, .result = STR("{\"at\":  1.0}")};
    struct json json = show_job(&buf, &job, NULL, 0);
    assert_json(json, "lease_until", "\"2027-01-15T08:00:00.000Z\"");
    assert_json(json, "progress", "{\"at\":  1.0}");
    assert_json(json, "result", "null");
    job.state = JOB_SUCCESS;
    job.lease_until = 0;
    json = show_job(&buf, &job, NULL, 0);
    assert_json(json, "lease_until", "null");
    assert_json(json, "progress", "null");
    assert_json(json, "result", "{\"at\":  1.0}");
    assert_json(json, "result_left_out", "false");
    job.result = (struct str){0};
    job.result_left_out = true;
    json = show_job(&buf, &job, NULL, 0);
    assert_json(json, "result", "null");
    assert_json(json, "result_left_out", "true");
}

static void an_empty_answer_is_not_a_missing_one(void **state)
{
    buf_auto struct buf buf = {0};
    struct job job = {.id = 1, .task_id = 1, .state = JOB_SUCCESS, .status = 204, .outcome = OUTCOME_SUCCESS};
    assert_json(show_job(&buf, &job, NULL, 0), "response", "\"\"");
}

static void sla_met_says_what_happened_so_far(void **state)
{
    static const struct {
        struct job job;
        struct attempt kept;
        const char *met;
    } cases[] = {
        {{.id = 1, .state = JOB_READY}, {0}, "null"},
        {{.id = 1, .state = JOB_CANCELLED}, {0}, "null"},
        {{.id = 1, .state = JOB_RESERVED, .started_at = 5}, {0}, "true"},
        {{.id = 1, .state = JOB_RESERVED, .started_at = 5, .late_stage = STAGE_QUEUE}, {0}, "false"},
        {{.id = 1, .state = JOB_DELAYED, .attempts = 1}, {.job_id = 1, .started_at = 5}, "true"},
        {{.id = 1, .state = JOB_DELAYED, .attempts = 1, .late_stage = STAGE_PULLER}, {.job_id = 1, .started_at = 5}, "false"},
        {{.id = 1, .state = JOB_READY, .attempts = 1}, {.job_id = 1, .outcome = OUTCOME_LOST}, "null"},
        {{.id = 1, .state = JOB_DELAYED, .attempts = 1}, {.job_id = 2, .started_at = 5}, "null"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        buf_auto struct buf buf = {0};
        assert_json(show_job(&buf, &cases[i].job, &cases[i].kept, 1), "sla_met", cases[i].met);
    }
}

// Whatever made it late: an attempt before it, too.
static void late_by_is_the_latest_beginning_less_the_plan(void **state)
{
    static const struct {
        struct job job;
        struct attempt kept[2];
        const char *late_by;
    } cases[] = {
        {{.id = 1, .state = JOB_READY, .scheduled_at = T}, {{0}}, "null"},
        {{.id = 1, .state = JOB_CANCELLED, .scheduled_at = T, .completed_at = T + 9}, {{0}}, "null"},
        {{.id = 1, .state = JOB_RESERVED, .scheduled_at = T, .started_at = T}, {{0}}, "0"},
        {{.id = 1, .state = JOB_SUCCESS, .scheduled_at = T, .started_at = T + 1002},
         {{.job_id = 1, .started_at = T + 1}},
         "1002"},
        {{.id = 1, .state = JOB_DELAYED, .scheduled_at = T},
         {{.job_id = 1, .number = 1, .started_at = T + 1}, {.job_id = 1, .number = 2, .started_at = T + 7}},
         "7"},
        {{.id = 1, .state = JOB_READY, .scheduled_at = T},
         {{.job_id = 1, .number = 1, .started_at = T + 1}, {.job_id = 1, .number = 2, .outcome = OUTCOME_LOST}},
         "1"},
        {{.id = 1, .state = JOB_SUCCESS, .scheduled_at = T, .started_at = T - 5}, {{0}}, "0"}, // the clock was set back
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        buf_auto struct buf buf = {0};
        assert_json(show_job(&buf, &cases[i].job, cases[i].kept, 2), "late_by", cases[i].late_by);
    }
}

static struct task parse(const char *text, struct arena *arena)
{
    struct task task;
    char why[ERR_WHY_MAX];
    assert_true(task_read(&task, str_of(text), arena, why));
    return task;
}

// Jobs are newest first.
static void a_task_is_what_its_jobs_are(void **state)
{
    static const struct {
        struct job jobs[3];
        size_t count;
        const char *state, *runs, *job;
    } cases[] = {
        {{{.id = 1, .state = JOB_READY}}, 1, "\"active\"", "{\"success\":0,\"failed\":0,\"planned\":1}", "\"j0000000000001\""},
        {{{.id = 1, .state = JOB_RESERVED}}, 1, "\"active\"", "{\"success\":0,\"failed\":0,\"planned\":0}", "\"j0000000000001\""},
        {{{.id = 1, .state = JOB_SUCCESS}}, 1, "\"done\"", "{\"success\":1,\"failed\":0,\"planned\":0}", "\"j0000000000001\""},
        {{{.id = 1, .state = JOB_CANCELLED}},
         1,
         "\"cancelled\"",
         "{\"success\":0,\"failed\":0,\"planned\":0}",
         "\"j0000000000001\""},
        {{{.id = 3, .state = JOB_WATCHING}, {.id = 2, .state = JOB_BURIED}, {.id = 1, .state = JOB_ABORTED}},
         3,
         "\"active\"",
         "{\"success\":0,\"failed\":2,\"planned\":1}",
         "\"j0000000000002\""},
        {{{.id = 2, .state = JOB_SUCCESS}, {.id = 1, .state = JOB_CANCELLED}},
         2,
         "\"done\"",
         "{\"success\":1,\"failed\":0,\"planned\":0}",
         "\"j0000000000002\""},
        {{{.id = 3, .state = JOB_DELAYED, .scheduled_at = T + 1}, {.id = 2, .state = JOB_BLOCKED, .scheduled_at = T}},
         2,
         "\"active\"",
         "{\"success\":0,\"failed\":0,\"planned\":2}",
         "\"j0000000000002\""},
    };
    struct arena arena = {0};
    struct task task = parse("{\"url\":\"http://x/\"}", &arena);
    for (size_t i = 0; i < array_count(cases); i++) {
        buf_auto struct buf buf = {0};
        render_task(&buf,
                    &(struct task_view){.stored = &(struct store_task){.id = 1, .version = 1},
                                        .task = &task,
                                        .jobs = cases[i].jobs,
                                        .job_count = cases[i].count},
                    T);
        struct json json = rendered(&buf);
        assert_json(json, "state", cases[i].state);
        assert_json(json, "runs", cases[i].runs);
        assert_json(json, "job.id", cases[i].job);
    }
    arena_done(&arena);
}

static void a_task_shows_its_fields_and_times(void **state)
{
    struct arena arena = {0};
    buf_auto struct buf buf = {0};
    struct task task = parse("{\"name\":\"n\",\"url\":\"http://x/\",\"body\":{\"a\": 1.0}}", &arena);
    struct job job = {.id = 1, .task_id = 1, .state = JOB_DELAYED, .scheduled_at = T, .due_at = T + 1};
    render_task(&buf,
                &(struct task_view){.stored = &(struct store_task){.id = 1, .version = 1, .created_at = T - 1},
                                    .task = &task,
                                    .jobs = &job,
                                    .job_count = 1},
                T);
    struct json json = rendered(&buf);
    assert_json(json, "id", "\"t0000000000001\"");
    assert_json(json, "scheduled_at", "\"2027-01-15T08:00:00.000Z\"");
    assert_json(json, "created_at", "\"2027-01-15T07:59:59.999Z\"");
    assert_json(json, "updated_at", "\"2027-01-15T07:59:59.999Z\"");
    assert_json(json, "url", "\"http://x/\"");
    assert_json(json, "name", "\"n\"");
    assert_json(json, "body", "{\"a\": 1.0}");
    assert_json(json, "method", "\"POST\"");
    assert_json(json, "version", "1");
    arena_done(&arena);
}

static void a_queue_shows_what_waits(void **state)
{
    buf_auto struct buf buf = {0};
    struct store_lane lane = {
        .queue = STR("mail"), .paused = true, .next_due = TIME_NEVER, .counts = {[JOB_READY] = 2, [JOB_SUCCESS] = 9}};
    render_queue(&buf, &lane);
    struct json json = rendered(&buf);
    assert_json(json, "queue", "\"mail\"");
    assert_json(json, "paused", "true");
    assert_json(json, "states.success", "9");
    assert_json(json, "pending", "2");
    assert_json(json, "next_due", "null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planned_job_has_every_member),
        cmocka_unit_test(a_job_whose_time_has_come_shows_as_ready),
        cmocka_unit_test(a_successful_job_shows_its_last_attempt_behind_the_kept_ones),
        cmocka_unit_test(a_running_attempt_has_no_outcome_yet),
        cmocka_unit_test(a_result_is_shown_as_it_came_and_progress_until_then),
        cmocka_unit_test(an_empty_answer_is_not_a_missing_one),
        cmocka_unit_test(sla_met_says_what_happened_so_far),
        cmocka_unit_test(late_by_is_the_latest_beginning_less_the_plan),
        cmocka_unit_test(a_task_is_what_its_jobs_are),
        cmocka_unit_test(a_task_shows_its_fields_and_times),
        cmocka_unit_test(a_queue_shows_what_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
