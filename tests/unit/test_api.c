// Steering and reading, from request to answer, with everything behind the API played by fake_api.h.
#include "stored_api.h"

static void tasks_and_jobs_can_be_read(void **state)
{
    static const struct {
        const char *target, *path, *value;
    } cases[] = {
        {"/v1/tasks/t000000000002d", "job.id", "\"j000000000002d\""},
        {"/tasks/t000000000002d", "url", "\"http://x/\""},
        {"/v1/jobs/j000000000002d", "state", "\"aborted\""},
        {"/v1/tasks/t000000000002d/jobs", "items.0.id", "\"j000000000002d\""},
        {"/v1/tasks/t000000000002d/jobs?limit=1000", "next", "null"},
        {"/v1/tasks", "items.0.job.id", "\"j000000000002d\""},
        {"/v1/tasks?state=done&queue=default&limit=2", "items.0.url", "\"http://x/\""},
        {"/v1/tasks?state=active", "items", "[]"},
        {"/v1/jobs?state=aborted", "items.0.id", "\"j000000000002d\""},
        {"/v1/jobs?state=ready", "items", "[]"},
        {"/v1/jobs/j000000000002d/explain", "waiting_for", "[]"},
    };
    fake.on_store = store_has;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_ABORTED};
    stored_doc = "{\"url\":\"http://x/\"}";
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = fake_ask("GET", cases[i].target, NULL, NULL);
        assert_int_equal(request->status, 200);
        assert_json(fake_json(request), cases[i].path, cases[i].value);
        fake_free(request);
    }
}

static void what_is_absent_is_not_found(void **state)
{
    static const char *const targets[] = {"/v1/tasks/t000000000002d",
                                          "/v1/tasks/j000000000002d",
                                          "/v1/jobs/t000000000002d",
                                          "/v1/tasks/t0000000000000",
                                          "/v1/tasks/x",
                                          "/v1/tasks/t000000000002d/jobs",
                                          "/v1/jobs/j000000000002d",
                                          "/v1/tasks/tzzzzzzzzzzzzz"};
    fake.on_store = store_has;
    stored_doc = NULL;
    for (size_t i = 0; i < array_count(targets); i++) {
        struct http_request *request = fake_ask("GET", targets[i], NULL, NULL);
        assert_int_equal(request->status, 404);
        fake_free(request);
    }
}

static void a_limit_is_a_number_in_its_range(void **state)
{
    static const char *const limits[] = {"0", "1001", "-1", "1.0", "x", "", "99999999999999999999", "+1", " 1"};
    for (size_t i = 0; i < array_count(limits); i++) {
        char target[80];
        snprintf(target, sizeof target, "/v1/tasks/t000000000002d/jobs?limit=%s", limits[i]);
        struct http_request *request = fake_ask("GET", target, NULL, NULL);
        assert_int_equal(request->status, 422);
        assert_json(fake_json(request), "field", "\"limit\"");
        fake_free(request);
    }
}

static struct command steered;

static void command_works(struct command *op)
{
    steered = *op;
    op->new_job_id = 77;
}

static void command_refuses(struct command *op)
{
    op->err = ERR_ILLEGAL_TRANSITION;
    snprintf(op->why, sizeof op->why, "The job is final.");
}

static void steering_answers_with_what_it_changed(void **state)
{
    static const struct {
        const char *target, *body;
        enum command_act act;
        int64_t task_id, job_id;
        int status;
        const char *id;
    } cases[] = {
        {"/v1/tasks/t000000000002d/cancel", NULL, COMMAND_CANCEL, 77, 0, 200, "\"t000000000002d\""},
        {"/v1/tasks/t000000000002d/run", "{}", COMMAND_RUN, 77, 0, 200, "\"t000000000002d\""},
        {"/v1/jobs/j000000000002d/cancel", " { } ", COMMAND_CANCEL, 0, 77, 200, "\"j000000000002d\""},
        {"/v1/jobs/j000000000002c/retry", NULL, COMMAND_RETRY, 0, 76, 201, "\"j000000000002d\""},
    };
    fake.on_command = command_works;
    fake.on_store = store_has;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_CANCELLED};
    stored_doc = "{\"url\":\"http://x/\"}";
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = fake_ask("POST", cases[i].target, NULL, cases[i].body);
        assert_int_equal(request->status, cases[i].status);
        assert_json(fake_json(request), "id", cases[i].id);
        assert_int_equal(steered.act, cases[i].act);
        assert_int_equal(steered.task_id, cases[i].task_id);
        assert_int_equal(steered.job_id, cases[i].job_id);
        assert_int_equal(steered.tenant, 1);
        if (cases[i].status == 201)
            assert_string_equal(fake_reply_header(request, "Location"), "/v1/jobs/j000000000002d");
        fake_free(request);
    }
}

static void a_change_is_merged_before_it_is_answered(void **state)
{
    fake.on_command = command_works;
    fake.on_store = store_has;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_DELAYED};
    stored_doc = "{\"url\":\"http://x/\"}";
    struct http_request *request = fake_ask("PATCH", "/v1/tasks/t000000000002d", "If-Match: \"3\"", "{\"name\":\"n\"}");
    assert_int_equal(request->status, 200);
    assert_int_equal(steered.act, COMMAND_PATCH);
    assert_true(steered.version_count == 1 && steered.versions[0] == 3);
    assert_true(str_is(steered.patch.raw, "{\"name\":\"n\"}"));
    fake_free(request);
}

static void steering_what_is_swept_at_once_is_still_done(void **state)
{
    fake.on_command = command_works;
    fake.on_store = store_has;
    stored_doc = NULL;
    struct http_request *request = fake_ask("POST", "/v1/tasks/t000000000002d/cancel", NULL, NULL);
    assert_int_equal(request->status, 204);
    fake_free(request);
}

static void steering_is_refused_in_words(void **state)
{
    static const struct {
        const char *target, *body;
        int status;
        const char *code;
    } cases[] = {
        {"/v1/tasks/t000000000002d/cancel", NULL, 409, "\"illegal_transition\""},
        {"/v1/tasks/t000000000002d/cancel", "{\"why\":1}", 422, "\"unknown_field\""},
        {"/v1/tasks/t000000000002d/run", "[]", 422, "\"invalid_field\""},
        {"/v1/tasks/t000000000002d/run", "{", 400, "\"invalid_json\""},
        {"/v1/jobs/nothing/retry", NULL, 404, "\"not_found\""},
        {"/v1/queues/a%20b/pause", NULL, 422, "\"invalid_field\""},
    };
    fake.on_command = command_refuses;
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = fake_ask("POST", cases[i].target, NULL, cases[i].body);
        assert_int_equal(request->status, cases[i].status);
        assert_json(fake_json(request), "code", cases[i].code);
        fake_free(request);
    }
}

static struct lease_report settled;

static void settle_works(struct lease_report *op)
{
    settled = *op;
    op->job_tenant = OWNER;
}

static void settle_refuses(struct lease_report *op)
{
    op->err = ERR_LEASE_LOST;
    snprintf(op->why, sizeof op->why, "the token is of an earlier attempt");
}

static void reports_on_attempts_are_passed_on_as_they_came(void **state)
{
    static const struct {
        const char *word, *body;
        enum lease_report_kind as;
        const char *ticket, *result, *reason;
        bool no_retry;
    } cases[] = {
        {"complete", "{\"token\":\"1-a\",\"result\": {\"a\":  1.0} }", LEASE_COMPLETE, "1-a", "{\"a\":  1.0}", "", false},
        {"complete", "{\"result\":null,\"token\":\"1-a\"}", LEASE_COMPLETE, "1-a", "", "", false},
        {"complete", "{\"tok\\u0065n\":\"1-a\"}", LEASE_COMPLETE, "1-a", "", "", false},
        {"fail", "{\"token\":\"1-a\",\"reason\":\"no \\\"luck\\\"\"}", LEASE_FAIL, "1-a", "", "no \"luck\"", false},
        {"fail", "{\"token\":\"1-a\",\"reason\":\"no\",\"retry\":false}", LEASE_FAIL, "1-a", "", "no", true},
        {"fail", "{\"token\":\"1-a\",\"reason\":\"no\",\"retry\":true}", LEASE_FAIL, "1-a", "", "no", false},
        {"heartbeat", "{\"token\":\"1-a\"}", LEASE_HEARTBEAT, "1-a", "", "", false},
        {"heartbeat", "{\"token\":\"1-a\",\"progress\":[0.5]}", LEASE_HEARTBEAT, "1-a", "[0.5]", "", false},
    };
    by_token = true;
    fake.on_lease_report = settle_works;
    fake.on_store = store_has;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_RESERVED};
    stored_doc = "{\"url\":\"http://x/\"}";
    for (size_t i = 0; i < array_count(cases); i++) {
        char target[64];
        snprintf(target, sizeof target, "/v1/jobs/j000000000002d/%s", cases[i].word);
        struct http_request *request = fake_ask("POST", target, NULL, cases[i].body);
        assert_int_equal(request->status, 200);
        assert_json(fake_json(request), "id", "\"j000000000002d\"");
        assert_int_equal(settled.kind, cases[i].as);
        assert_int_equal(settled.job_id, 77);
        assert_int_equal(settled.tenant, 1);
        assert_true(str_is(settled.ticket, cases[i].ticket) && str_is(settled.result, cases[i].result));
        assert_true(str_is(settled.reason, cases[i].reason));
        assert_int_equal(settled.no_retry, cases[i].no_retry);
        fake_free(request);
    }
    struct http_request *request =
        fake_ask("POST", "/v1/jobs/j000000000002d/heartbeat", NULL, "{\"token\":\"1\",\"progress\":null}");
    assert_true(settled.result.p && settled.result.n == 0); // takes back what was said
    fake_free(request);
    stored_doc = NULL; // it ended, and was swept at once
    request = fake_ask("POST", "/v1/jobs/j000000000002d/complete", NULL, "{\"token\":\"1\"}");
    assert_int_equal(request->status, 204);
    fake_free(request);
}

static void a_report_that_is_refused_says_why(void **state)
{
    fake.on_lease_report = settle_refuses;
    struct http_request *request = fake_ask("POST", "/v1/jobs/j000000000002d/complete", NULL, "{\"token\":\"1-a\"}");
    assert_int_equal(request->status, 409);
    assert_json(fake_json(request), "code", "\"lease_lost\"");
    fake_free(request);
}

static void store_pauses(struct store_op *op)
{
    struct store_pause *pause = container_of(op, struct store_pause, op);
    assert_int_equal(op->verb, STORE_PAUSE);
    assert_true(str_is(pause->queue, "mail"));
    pause->lane = 3;
}

static void a_queue_is_held_and_let_go(void **state)
{
    fake.on_store = store_pauses;
    struct http_request *request = fake_ask("POST", "/v1/queues/mail/pause", NULL, NULL);
    assert_true(str_is(buf_str(&request->reply), "{\"queue\":\"mail\",\"paused\":true}\n"));
    fake_free(request);
    request = fake_ask("POST", "/v1/queues/mail/resume", NULL, NULL);
    assert_true(str_is(buf_str(&request->reply), "{\"queue\":\"mail\",\"paused\":false}\n"));
    fake_free(request);
    assert_int_equal(fake.pauses, 2);
}

static enum err drop_err;

static void store_drops(struct store_op *op)
{
    assert_int_equal(op->verb, STORE_DROP);
    struct store_drop *drop = container_of(op, struct store_drop, op);
    assert_true(str_is(drop->queue, "mail") && drop->tenant == 1);
    op->err = drop_err;
    drop->open = drop_err == ERR_QUEUE_NOT_EMPTY ? 12 : 0;
}

static void a_queue_is_deleted_or_says_what_keeps_it(void **state)
{
    static const struct {
        enum err err;
        int status;
        const char *code, *detail;
    } rows[] = {
        {ERR_NOT_FOUND, 404, "\"not_found\"", "\"There is no queue mail.\""},
        {ERR_QUEUE_NOT_EMPTY, 409, "\"queue_not_empty\"",
         "\"Queue mail has 12 jobs that have not ended. Cancel or delete them first, with POST /v1/bulk by the filter "
         "{\\\"queue\\\": "
         "\\\"mail\\\"}.\""},
        {ERR_QUEUE_PAUSED, 409, "\"queue_paused\"",
         "\"Queue mail is paused. Resume it first, with POST /v1/queues/mail/resume: what is submitted to a queue that was "
         "deleted "
         "runs.\""},
        {ERR_STORAGE_FULL, 503, "\"storage_full\"", NULL},
    };
    fake.on_store = store_drops;
    drop_err = ERR_OK;
    struct http_request *request = fake_ask("DELETE", "/v1/queues/mail", NULL, NULL);
    assert_int_equal(request->status, 204);
    fake_free(request);
    for (size_t i = 0; i < array_count(rows); i++) {
        drop_err = rows[i].err;
        request = fake_ask("DELETE", "/v1/queues/mail", NULL, NULL);
        assert_int_equal(request->status, rows[i].status);
        assert_json(fake_json(request), "code", rows[i].code);
        if (rows[i].detail)
            assert_json(fake_json(request), "detail", rows[i].detail);
        fake_free(request);
    }
}

static struct store_lane lanes_there[2] = {{.id = 4, .queue = {"a", 1}, .next_due = TIME_NEVER},
                                           {.id = 9, .queue = {"b", 1}, .next_due = TIME_NEVER}};

static void store_lists(struct store_op *op)
{
    struct store_lanes *lanes = container_of(op, struct store_lanes, op);
    assert_int_equal(lanes->tenant, 1);
    size_t from = 0;
    while (from < 2 && lanes_there[from].id <= lanes->after_id)
        from++;
    lanes->lanes = lanes_there + from;
    lanes->lane_count = 2 - from < lanes->max ? 2 - from : lanes->max;
}

static void queues_are_listed_page_by_page(void **state)
{
    fake.on_store = store_lists;
    struct http_request *request = fake_ask("GET", "/v1/queues?limit=1", NULL, NULL);
    assert_json(fake_json(request), "items.0.queue", "\"a\"");
    assert_json(fake_json(request), "next", "\"4\"");
    fake_free(request);
    request = fake_ask("GET", "/v1/queues?limit=5&cursor=4", NULL, NULL);
    assert_json(fake_json(request), "items.0.queue", "\"b\"");
    assert_json(fake_json(request), "next", "null");
    fake_free(request);
    request = fake_ask("GET", "/v1/queues?cursor=forged", NULL, NULL);
    assert_int_equal(request->status, 422);
    fake_free(request);
}

static int looks_in_vain;

// A store that has to look at much: nothing matches in its first pages, and then the one job does.
static void store_looks_long(struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    list->more = looks_in_vain > 0;
    if (!looks_in_vain--) {
        list_has(op);
        return;
    }
    assert_true(list->before.id > looks_in_vain);
    list->next = (struct store_cursor){list->before.at, looks_in_vain + 1};
}

// How much it may look at is a matter of time, so on a busy machine the first answer may be short all the same.
static void a_list_looks_on_while_little_matches(void **state)
{
    fake.on_store = store_looks_long;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_SUCCESS};
    stored_doc = "{\"url\":\"http://x/\"}";
    bool found = false;
    for (int tries = 0; tries < 100 && !found; tries++) {
        looks_in_vain = 20;
        struct http_request *request = fake_ask("GET", "/v1/jobs?queue=rare", NULL, NULL);
        assert_int_equal(request->status, 200);
        found = looks_in_vain < 0;
        if (found) {
            assert_json(fake_json(request), "items.0.id", "\"j000000000002d\"");
            assert_json(fake_json(request), "next", "null");
        }
        fake_free(request);
    }
    assert_true(found);
}

static char *large_doc;
static int large_tasks;

// As many large tasks as are asked for, but no more than the bytes that are.
static void store_has_large_tasks(struct store_op *op)
{
    struct store_list *list = container_of(op, struct store_list, op);
    assert_true(list->bytes_max > 0);
    list->tasks = arena_array(&op->arena, struct store_task, list->max);
    for (size_t bytes = 0; large_tasks && list->task_count < list->max && bytes < list->bytes_max; large_tasks--) {
        struct store_task *task = &list->tasks[list->task_count++];
        *task = (struct store_task){.id = large_tasks, .tenant = 1, .version = 1, .doc = str_of(large_doc)};
        bytes += store_task_bytes(task);
    }
    list->next.id = large_tasks + 1;
    list->more = large_tasks > 0;
}

static void a_page_of_large_tasks_ends_early(void **state)
{
    enum { LARGE = 900000, TASKS = 12, PAGE_MAX = 6 << 20 };
    large_doc = mem_zero(LARGE + 1);
    snprintf(large_doc, LARGE, "{\"url\":\"http://x/\",\"body\":\"");
    memset(large_doc + strlen(large_doc), 'x', LARGE - strlen(large_doc) - 2);
    memcpy(large_doc + LARGE - 2, "\"}", 2);
    fake.on_store = store_has_large_tasks;
    large_tasks = TASKS;
    int pages = 0;
    while (large_tasks) {
        int before = large_tasks;
        struct http_request *request = fake_ask("GET", "/v1/tasks?limit=1000", NULL, NULL);
        assert_int_equal(request->status, 200);
        assert_true(request->reply.n < PAGE_MAX && large_tasks < before);
        assert_true(large_tasks == 0 || before - large_tasks >= 4);
        fake_free(request);
        pages++;
    }
    assert_true(pages > 1);
    mem_free(large_doc);
}

// Two processes counted in the minute that is not over.
static void give_minutes(struct store_series *series)
{
    static struct store_minute_row minutes[2];
    minutes[0] =
        (struct store_minute_row){.source = 5, .doc = STR("{\"submitted\":3,\"success\":2,\"start\":{\"us\":9000,\"5\":3}}")};
    minutes[1] =
        (struct store_minute_row){.source = 6, .doc = STR("{\"submitted\":4,\"aborted\":1,\"sla_met\":2,\"late_queue\":1}")};
    for (size_t i = 0; i < array_count(minutes); i++)
        minutes[i].at = series->to_ms - STATS_MINUTE_MS;
    series->minutes = minutes;
    series->minute_count = array_count(minutes);
}

static void store_counts(struct store_op *op)
{
    if (op->verb == STORE_SERIES) {
        give_minutes(container_of(op, struct store_series, op));
        return;
    }
    struct store_stats *stats = container_of(op, struct store_stats, op);
    stats->counts[JOB_READY] = 3;
    stats->counts[JOB_RESERVED] = 1;
    stats->counts[JOB_SUCCESS] = 40;
}

static void stats_count_what_is_pending(void **state)
{
    fake.on_store = store_counts;
    struct http_request *request = fake_ask("GET", "/v1/stats", NULL, NULL);
    assert_json(fake_json(request), "states.success", "40");
    assert_json(fake_json(request), "states.blocked", "0");
    assert_json(fake_json(request), "pending", "4");
    fake_free(request);
}

static void stats_add_up_what_all_processes_counted(void **state)
{
    fake.on_store = store_counts;
    struct http_request *request = fake_ask("GET", "/v1/stats", NULL, NULL);
    assert_json(fake_json(request), "rates.submitted", "7");
    assert_json(fake_json(request), "rates.failed", "1");
    assert_json(fake_json(request), "lateness.p50", "3.8");
    assert_json(fake_json(request), "sla.missed", "1");
    assert_json(fake_json(request), "sla.by_stage.queue", "1");
    assert_json(fake_json(request), "stages.target", "null");
    fake_free(request);
}

static void a_series_has_a_point_for_each_step(void **state)
{
    fake.on_store = store_counts;
    struct http_request *request =
        fake_ask("GET", "/v1/stats/series?from=2026-01-01T00:00:00Z&to=2026-01-01T00:04:00Z&step=2m", NULL, NULL);
    assert_int_equal(request->status, 200);
    assert_json(fake_json(request), "step", "\"2m\"");
    assert_json(fake_json(request), "points.0.at", "\"2026-01-01T00:00:00.000Z\"");
    assert_json(fake_json(request), "points.0.counts.submitted", "0");
    assert_json(fake_json(request), "points.1.at", "\"2026-01-01T00:02:00.000Z\"");
    assert_json(fake_json(request), "points.1.counts.submitted", "7");
    assert_int_equal(json_at(fake_json(request), "points.2").type, JSON_ABSENT);
    fake_free(request);
}

static bool not_ready(void *ctx, struct buf *ret_problems_json)
{
    buf_puts(ret_problems_json, "[\"the store is away\"]");
    return false;
}

static void readiness_says_what_is_missing(void **state)
{
    struct http_request *request = fake_ask("GET", "/readyz", NULL, NULL);
    assert_int_equal(request->status, 200);
    fake_free(request);
    fake.api.ready = not_ready;
    request = fake_ask("GET", "/readyz", NULL, NULL);
    assert_int_equal(request->status, 503);
    assert_json(fake_json(request), "problems.0", "\"the store is away\"");
    fake_free(request);
}

static void the_first_page_names_the_routes(void **state)
{
    struct http_request *request = fake_ask("GET", "/", NULL, NULL);
    assert_int_equal(request->status, 200);
    buf_putc(&request->reply, 0);
    assert_non_null(strstr(request->reply.p, "/v1/tasks/{id}/cancel"));
    fake_free(request);
}

// ---- what is coming

static int reads, failing; // how many there were, and which of them fails; 0: none

// There are many rows, and none of them is of a job that has not begun.
static void store_has_begun_all(struct store_op *op)
{
    op->err = ++reads == failing ? ERR_STORE_UNAVAILABLE : ERR_OK;
    if (op->err || op->verb != STORE_UPCOMING)
        return;
    struct store_upcoming *upcoming = container_of(op, struct store_upcoming, op);
    upcoming->next = (struct store_cursor){upcoming->after.at + 1, 1};
    upcoming->more = upcoming->next.at < upcoming->until_ms;
}

static void a_look_at_what_is_coming_ends_although_nothing_is_found(void **state)
{
    fake.on_store = store_has_begun_all;
    reads = failing = 0;
    struct http_request *request = fake_ask("GET", "/v1/upcoming?limit=99", NULL, NULL);
    assert_int_equal(request->status, 200);
    assert_json(fake_json(request), "items", "[]");
    assert_non_null(memmem(request->reply.p, request->reply.n, "\"next\":\"", 8)); // it can be gone on with
    assert_in_range(reads, 3, 100);
    fake_free(request);
}

static void what_is_coming_fails_with_the_store_whichever_read_it_is(void **state)
{
    fake.on_store = store_has_begun_all;
    for (failing = 1; failing <= 50; failing++) {
        reads = 0;
        struct http_request *request = fake_ask("GET", "/v1/upcoming?limit=99", NULL, NULL);
        assert_int_equal(request->status, reads == failing ? 503 : 200);
        assert_int_equal(fake.api.lists.inside, 0);
        fake_free(request);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tasks_and_jobs_can_be_read),
        TEST(what_is_absent_is_not_found),
        TEST(a_limit_is_a_number_in_its_range),
        TEST(steering_answers_with_what_it_changed),
        TEST(a_change_is_merged_before_it_is_answered),
        TEST(steering_what_is_swept_at_once_is_still_done),
        TEST(steering_is_refused_in_words),
        TEST(reports_on_attempts_are_passed_on_as_they_came),
        TEST(a_report_that_is_refused_says_why),
        TEST(a_queue_is_held_and_let_go),
        TEST(a_queue_is_deleted_or_says_what_keeps_it),
        TEST(queues_are_listed_page_by_page),
        TEST(a_list_looks_on_while_little_matches),
        TEST(a_page_of_large_tasks_ends_early),
        TEST(stats_count_what_is_pending),
        TEST(stats_add_up_what_all_processes_counted),
        TEST(a_series_has_a_point_for_each_step),
        TEST(readiness_says_what_is_missing),
        TEST(the_first_page_names_the_routes),
        TEST(a_look_at_what_is_coming_ends_although_nothing_is_found),
        TEST(what_is_coming_fails_with_the_store_whichever_read_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
