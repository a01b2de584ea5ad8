// Submitting, from request to answer, with everything behind the API played by fake_api.h.
#include "stored_api.h"

#include "core/task/patch.h"

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static struct http_request *submit(const char *target, const char *headers, const char *body)
{
    return fake_ask("POST", target, headers, body);
}

static void one_task_is_answered_with_what_was_stored(void **state)
{
    struct http_request *request = submit("/v1/tasks", NULL, "{\"url\":\"http://x/\",\"in\":\"1h\"}");
    struct json json = fake_json(request);
    assert_int_equal(request->status, 201);
    assert_string_equal(request->type, "application/json");
    assert_string_equal(fake_reply_header(request, "Location"), "/v1/tasks/t00000000000z8");
    assert_json(json, "id", "\"t00000000000z8\"");
    assert_json(json, "job.id", "\"j00000000000z8\"");
    assert_json(json, "job.state", "\"delayed\"");
    assert_json(json, "state", "\"active\"");
    assert_false(fake.last_had_digest);
    fake_free(request);
}

static void a_brief_answer_has_only_the_id(void **state)
{
    struct http_request *request = submit("/tasks?brief=1", NULL, "{\"url\":\"http://x/\"}");
    assert_int_equal(request->status, 201);
    assert_true(str_is(buf_str(&request->reply), "{\"id\":\"t00000000000z8\"}\n"));
    fake_free(request);
}

static void what_is_wrong_with_a_submit_is_said(void **state)
{
    static const struct {
        const char *target, *headers, *body;
        int status;
        const char *code, *field;
    } cases[] = {
        {"/v1/tasks", NULL, NULL, 400, "\"invalid_json\"", ""},
        {"/v1/tasks", NULL, "{", 400, "\"invalid_json\"", ""},
        {"/v1/tasks", NULL, "[{\"url\":\"http://x/\"},", 400, "\"invalid_json\"", ""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\"}{}", 400, "\"invalid_json\"", ""},
        {"/v1/tasks", NULL, "17", 422, "\"invalid_field\"", ""},
        {"/v1/tasks", NULL, "{}", 422, "\"missing_field\"", "\"/url\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"prio\":1}", 422, "\"unknown_field\"", "\"/prio\""},
        {"/v1/tasks", NULL, "{\"url\":\"ftp://x/\"}", 422, "\"invalid_field\"", "\"/url\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"in\":\"99999d\"}", 422, "\"invalid_field\"", "\"/in\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"every\":\"1h\",\"timezone\":\"Europe/Berln\"}", 422, "\"invalid_field\"",
         "\"/timezone\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"cron\":\"0 0 30 2 *\"}", 422, "\"cron_never\"", "\"/cron\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"cron\":\"0 0 0 1 1 * 1999\"}", 422, "\"cron_never\"", "\"/cron\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"cron\":\"@daily\",\"ends_at\":\"2020-01-01T00:00:00Z\"}", 422,
         "\"cron_never\"", "\"/ends_at\""},
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"cron\":\"0 0 25 12 *\",\"exclude\":[\"12-25\"]}", 422, "\"cron_never\"",
         "\"/exclude\""},
        {"/v1/tasks?brief=yes", NULL, "{\"url\":\"http://x/\"}", 422, "\"invalid_field\"", "\"brief\""},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = submit(cases[i].target, cases[i].headers, cases[i].body);
        if (request->status != cases[i].status)
            fail_msg("%s: %d", cases[i].body, request->status);
        assert_json(fake_json(request), "code", cases[i].code);
        assert_json(fake_json(request), "field", cases[i].field);
        fake_free(request);
    }
    assert_int_equal(fake.submits, 0);
}

static struct str large_body(struct buf *buf, size_t size, const char *start, const char *end)
{
    buf_puts(buf, start);
    while (buf->n < size)
        buf_putc(buf, 'x');
    buf_puts(buf, end);
    return buf_str(buf);
}

static void one_task_may_have_one_mebibyte(void **state)
{
    static const struct {
        const char *start, *end;
        int status;
    } cases[] = {
        {"{\"url\":\"http://x/\",\"body\":\"", "\"}", 413},
        {"[{\"url\":\"http://x/\",\"body\":\"", "\"}]", 207},
        {"[{\"url\":\"http://x/\"},{\"url\":\"http://x/\",\"body\":\"", "\"}]", 207},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        buf_auto struct buf buf = {0};
        struct http_request *request =
            fake_ask_str("POST", "/v1/tasks", NULL, large_body(&buf, 1024 * 1024 + 64, cases[i].start, cases[i].end));
        assert_int_equal(request->status, cases[i].status);
        fake_free(request);
    }
    buf_auto struct buf buf = {0};
    struct http_request *request =
        fake_ask_str("POST", "/v1/tasks", NULL, large_body(&buf, 1024 * 1024 - 2, "{\"url\":\"http://x/\",\"body\":\"", "\"}"));
    assert_int_equal(request->status, 201);
    fake_free(request);
}

static void a_bulk_answers_in_order(void **state)
{
    struct http_request *request = submit("/v1/tasks", "Content-Type: application/json",
                                          "[{\"url\":\"http://x/\"}, 5, {\"url\":\"gopher://x\"}, {\"url\":\"http://y/\"}]");
    struct json json = fake_json(request);
    assert_int_equal(request->status, 207);
    assert_json(json, "results.0", "{\"id\":\"t00000000000z8\"}");
    assert_json(json, "results.1.error.code", "\"invalid_field\"");
    assert_json(json, "results.1.error.status", "422");
    assert_json(json, "results.1.error.index", "1");
    assert_json(json, "results.2.error.field", "\"/url\"");
    assert_json(json, "results.2.error.index", "2");
    assert_json(json, "results.3", "{\"id\":\"t00000000000z9\"}");
    assert_int_equal(json_at(json, "results.4").type, JSON_ABSENT);
    assert_int_equal(fake.submits, 1);
    fake_free(request);
}

static void lines_are_tasks_and_empty_ones_nothing(void **state)
{
    struct http_request *request = submit("/v1/tasks?brief=1", "Content-Type: application/x-ndjson",
                                          "\n{\"url\":\"http://x/\"}\r\n\r\n{broken\n[]\n{\"url\":\"http://y/\"}");
    assert_int_equal(request->status, 207);
    assert_true(str_is(buf_str(&request->reply),
                       "{\"ids\":[\"t00000000000z8\",null,null,\"t00000000000z9\"],\"taken\":2,\"refused\":2}\n"));
    fake_free(request);
    request = submit("/v1/tasks", "Content-Type: application/x-ndjson", "{broken\n");
    assert_int_equal(request->status, 207);
    assert_json(fake_json(request), "results.0.error.code", "\"invalid_json\"");
    fake_free(request);
}

// Counted as an editor counts them: empty lines are lines.
static void what_is_wrong_in_lines_names_the_line(void **state)
{
    struct http_request *request =
        submit("/v1/tasks", "Content-Type: application/x-ndjson",
               "\n{\"url\":\"http://x/\"}\r\n\r\n{\"url\" 5}\n[]\n\n{\"url\":\"http://y/\",\"tags\":1}");
    struct json json = fake_json(request);
    assert_int_equal(request->status, 207);
    assert_int_equal(json_at(json, "results.0.error").type, JSON_ABSENT);
    assert_json(json, "results.1.error.line", "4");
    assert_json(json, "results.1.error.detail", "\"Line 4, column 8: a colon was expected here.\"");
    assert_json(json, "results.2.error.line", "5");
    assert_json(json, "results.2.error.detail", "\"Line 5: A task is a JSON object.\"");
    assert_json(json, "results.3.error.line", "7");
    assert_json(json, "results.3.error.detail", "\"Line 7: There is no such field in a task; did you mean \\\"labels\\\"?\"");
    fake_free(request);
}

static void a_bulk_of_nothing_stores_nothing(void **state)
{
    static const char *const bodies[] = {"[]", "[{}]"};
    for (size_t i = 0; i < array_count(bodies); i++) {
        struct http_request *request = submit("/v1/tasks", NULL, bodies[i]);
        assert_int_equal(request->status, i ? 207 : 201);
        fake_free(request);
    }
    struct http_request *request = submit("/v1/tasks", "Content-Type: application/x-ndjson", NULL);
    assert_int_equal(request->status, 201);
    fake_free(request);
    assert_int_equal(fake.submits, 0);
}

static void a_bulk_has_ten_thousand_at_most(void **state)
{
    for (int lines = 0; lines <= 1; lines++)
        for (int extra = 0; extra <= 1; extra++) {
            buf_auto struct buf buf = {0};
            for (int i = 0; i < 10000 + extra; i++)
                buf_puts(&buf, lines ? "{\"url\":\"http://x/\"}\n" : i ? ",{\"url\":\"http://x/\"}" : "[{\"url\":\"http://x/\"}");
            buf_puts(&buf, lines ? "\n\n" : "]");
            struct http_request *request =
                fake_ask_str("POST", "/v1/tasks", lines ? "Content-Type: application/x-ndjson" : NULL, buf_str(&buf));
            assert_int_equal(request->status, extra ? 413 : 201);
            fake_free(request);
        }
}

// What was stored can be read, and changed.
static void assert_stored(void)
{
    char why[ERR_WHY_MAX] = "";
    struct problem problem = {0};
    struct patched patched;
    struct task task;
    struct arena arena;
    arena_init(&arena);
    if (!task_read(&task, fake.last_doc, &arena, why) ||
        patch_task(&patched, fake.last_doc, (struct json){JSON_OBJECT, STR("{}")}, &arena, &problem))
        fail_msg(STR_FMT ": %s %s", STR_ARG(fake.last_doc), why, problem.detail);
    arena_done(&arena);
}

static void a_trace_is_kept_with_tasks_that_have_none(void **state)
{
    static const struct {
        const char *header, *body, *doc;
    } cases[] = {
        {"traceparent: " TRACE, "{\"url\":\"http://x/\"}", "{\"traceparent\":\"" TRACE "\",\"url\":\"http://x/\"}"},
        {"traceparent: " TRACE, "{\"url\":\"http://x/\",\"trace\\u0070arent\":null, \"key\":null}",
         "{\"traceparent\":\"" TRACE "\",\"url\":\"http://x/\",\"key\":null}"},
        {"traceparent: junk", "{\"url\":\"http://x/\"}", "{\"url\":\"http://x/\"}"},
        {NULL, " { \"url\" : \"http://x/\" } ", "{ \"url\" : \"http://x/\" }"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = submit("/v1/tasks", cases[i].header, cases[i].body);
        assert_int_equal(request->status, 201);
        assert_true(str_is(fake.last_doc, cases[i].doc));
        assert_json(fake_json(request), "traceparent", i > 1 ? "" : "\"" TRACE "\"");
        assert_stored();
        fake_free(request);
    }
}

static void a_task_must_fit_with_what_its_headers_add(void **state)
{
    static const char *const headers[] = {"traceparent: " TRACE, "Idempotency-Key: k", NULL};
    for (size_t i = 0; i < array_count(headers); i++) {
        buf_auto struct buf buf = {0};
        struct str body = large_body(&buf, TASK_DOC_MAX - 2, "{\"url\":\"http://x/\",\"body\":\"", "\"}");
        assert_int_equal(body.n, TASK_DOC_MAX);
        struct http_request *request = fake_ask_str("POST", "/v1/tasks", headers[i], body);
        assert_int_equal(request->status, headers[i] ? 413 : 201);
        fake_free(request);
    }
}

static void the_key_may_come_in_a_header(void **state)
{
    static const struct {
        const char *header, *body, *doc, *key;
    } cases[] = {
        {"Idempotency-Key: a b\"\\", "{\"url\":\"http://x/\"}", "{\"key\":\"a b\\\"\\\\\",\"url\":\"http://x/\"}",
         "\"a b\\\"\\\\\""},
        {"idempotency-key: k", "{\"key\":null,\"url\":\"http://x/\"}", "{\"key\":\"k\",\"url\":\"http://x/\"}", "\"k\""},
        {"Idempotency-Key: k", "{\"url\":\"http://x/\",\"key\":\"\\u006b\"}", "{\"url\":\"http://x/\",\"key\":\"\\u006b\"}",
         "\"k\""},
        {"Idempotency-Key: k\ntraceparent: " TRACE, "{\"url\":\"http://x/\"}",
         "{\"key\":\"k\",\"traceparent\":\"" TRACE "\",\"url\":\"http://x/\"}", "\"k\""},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = submit("/v1/tasks", cases[i].header, cases[i].body);
        assert_int_equal(request->status, 201);
        assert_true(fake.last_had_digest);
        assert_true(str_is(fake.last_doc, cases[i].doc));
        assert_json(fake_json(request), "key", cases[i].key);
        assert_stored();
        fake_free(request);
    }
}

static void a_key_is_the_same_in_header_and_field(void **state)
{
    static const struct {
        const char *path, *header, *body;
    } cases[] = {
        {"/v1/tasks", NULL, "{\"url\":\"http://x/\",\"key\":\"k\"}"},
        {"/v1/tasks", "Idempotency-Key: k", "{\"url\":\"http://x/\"}"},
        {"/v1/tasks", "Idempotency-Key: k", "{\"url\":\"http://x/\",\"key\":\"k\"}"},
        {"/v1/tasks", "Idempotency-Key: k\ntraceparent: " TRACE, "{\"key\":null,\"url\":\"http://x/\"}"},
        {"/tasks", "Idempotency-Key: k", "{\"url\":\"http://x/\"}"},
        {"/task/create", "Idempotency-Key: k", "{\"url\":\"http://x/\"}"},
    };
    uint8_t digest[32];
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = submit(cases[i].path, cases[i].header, cases[i].body);
        assert_int_equal(request->status, 201);
        if (!i)
            memcpy(digest, fake.last_digest, sizeof digest);
        assert_memory_equal(digest, fake.last_digest, sizeof digest);
        fake_free(request);
    }
}

static void a_key_that_cannot_be_meant_is_refused(void **state)
{
    static char long_key[300] = "Idempotency-Key: ";
    memset(long_key + strlen(long_key), 'k', 256);
    const struct {
        const char *path, *headers, *body, *field;
    } cases[] = {
        {"/v1/tasks", "Idempotency-Key: k", "{\"url\":\"http://x/\",\"key\":\"other\"}", "\"/key\""},
        {"/v1/tasks", "Idempotency-Key: k", "[{\"url\":\"http://x/\"}]", "\"Idempotency-Key\""},
        {"/v1/tasks", "Content-Type: application/x-ndjson\nIdempotency-Key: k", "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/v1/tasks", "Idempotency-Key: ", "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/v1/tasks", "Idempotency-Key: \xc3\xa4", "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/v1/tasks", "Idempotency-Key: a\tb", "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/v1/tasks", long_key, "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/v1/tasks", "Idempotency-Key: k\nIdempotency-Key: k", "{\"url\":\"http://x/\"}", "\"Idempotency-Key\""},
        {"/tasks", "Idempotency-Key: k", "[{\"url\":\"http://x/\"}]", "\"Idempotency-Key\""},
        {"/task/create", "Idempotency-Key: k", "{\"url\":\"http://x/\",\"key\":\"other\"}", "\"/key\""},
        {"/v1/jobs/j000000000002d/retry", "Idempotency-Key: k", NULL, "\"Idempotency-Key\""},
        {"/v1/bulk", "Idempotency-Key: k", "{\"action\":\"cancel\",\"filter\":{\"queue\":\"q\"}}", "\"Idempotency-Key\""},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = submit(cases[i].path, cases[i].headers, cases[i].body);
        assert_int_equal(request->status, 422);
        assert_json(fake_json(request), "code", "\"invalid_field\"");
        assert_json(fake_json(request), "field", cases[i].field);
        fake_free(request);
    }
    assert_int_equal(fake.submits, 0);
}

static void the_digest_is_of_the_task_not_of_its_spelling_or_trace(void **state)
{
    uint8_t digest[32];
    struct http_request *request = submit("/v1/tasks", NULL, "{\"url\":\"http://x/\",\"key\":\"k\"}");
    assert_true(fake.last_had_digest);
    memcpy(digest, fake.last_digest, sizeof digest);
    fake_free(request);
    request = submit("/v1/tasks", "traceparent: " TRACE, "{ \"key\":\"k\", \"url\":\"http:\\/\\/x/\", \"priority\": 5}");
    assert_memory_equal(digest, fake.last_digest, sizeof digest);
    fake_free(request);
    request = submit("/v1/tasks", NULL, "{\"url\":\"http://x/\",\"key\":\"k\",\"priority\":4}");
    assert_memory_not_equal(digest, fake.last_digest, sizeof digest);
    fake_free(request);
}

static void key_exists(struct admission *admission)
{
    admission->addition.add.items[0].existing_id = 77;
}

static void key_reused(struct admission *admission)
{
    admission->addition.add.items[0].existing_id = 77;
    admission->addition.add.items[0].err = ERR_KEY_REUSED;
}

static void the_same_key_gives_the_same_task(void **state)
{
    fake.on_add = key_exists;
    fake.on_store = store_has;
    stored_job = (struct job){.id = 77, .task_id = 77, .state = JOB_SUCCESS};
    stored_doc = "{\"url\":\"http://x/\",\"key\":\"k\"}";
    struct http_request *request = submit("/v1/tasks", NULL, stored_doc);
    assert_int_equal(request->status, 200);
    assert_json(fake_json(request), "id", "\"t000000000002d\"");
    assert_json(fake_json(request), "state", "\"done\"");
    fake_free(request);
    request = submit("/v1/tasks?brief=1", NULL, stored_doc);
    assert_int_equal(request->status, 200);
    fake_free(request);
}

static void a_key_whose_task_is_gone_still_names_it(void **state)
{
    fake.on_add = key_exists;
    fake.on_store = store_has;
    stored_doc = NULL;
    struct http_request *request = submit("/v1/tasks", NULL, "{\"url\":\"http://x/\",\"key\":\"k\"}");
    assert_int_equal(request->status, 200);
    assert_json(fake_json(request), "id", "\"t000000000002d\"");
    assert_json(fake_json(request), "job", "null");
    fake_free(request);
}

static void another_body_with_the_key_is_a_conflict(void **state)
{
    fake.on_add = key_reused;
    struct http_request *request = submit("/v1/tasks", NULL, "{\"url\":\"http://x/\",\"key\":\"k\"}");
    assert_int_equal(request->status, 409);
    assert_json(fake_json(request), "code", "\"key_reused\"");
    assert_json(fake_json(request), "field", "\"/key\"");
    fake_free(request);
    request = submit("/v1/tasks", NULL, "[{\"url\":\"http://x/\",\"key\":\"k\"},{\"url\":\"http://y/\"}]");
    assert_int_equal(request->status, 207);
    assert_json(fake_json(request), "results.0.error.code", "\"key_reused\"");
    assert_json(fake_json(request), "results.1", "{\"id\":\"t00000000000z9\"}");
    fake_free(request);
}

static void store_is_full(struct admission *admission)
{
    admission->addition.add.op.err = ERR_STORAGE_FULL;
}

static void a_store_that_fails_is_a_503_and_never_a_2xx(void **state)
{
    static const struct {
        enum err refused;
        void (*on_add)(struct admission *admission);
        const char *code;
    } cases[] = {
        {ERR_STOPPING, NULL, "\"stopping\""},
        {ERR_STORE_UNAVAILABLE, NULL, "\"store_unavailable\""},
        {ERR_BUSY, NULL, "\"busy\""},
        {ERR_OK, store_is_full, "\"storage_full\""},
    };
    static const char *const bodies[] = {"{\"url\":\"http://x/\"}", "[{\"url\":\"http://x/\"}]"};
    for (size_t i = 0; i < array_count(cases); i++)
        for (size_t k = 0; k < array_count(bodies); k++) {
            fake.submit_err = cases[i].refused;
            fake.on_add = cases[i].on_add;
            struct http_request *request = submit("/v1/tasks", NULL, bodies[k]);
            assert_int_equal(request->status, 503);
            assert_string_equal(fake_reply_header(request, "Retry-After"), "1");
            assert_json(fake_json(request), "code", cases[i].code);
            fake_free(request);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_task_is_answered_with_what_was_stored),
        TEST(a_brief_answer_has_only_the_id),
        TEST(what_is_wrong_with_a_submit_is_said),
        TEST(one_task_may_have_one_mebibyte),
        TEST(a_bulk_answers_in_order),
        TEST(lines_are_tasks_and_empty_ones_nothing),
        TEST(what_is_wrong_in_lines_names_the_line),
        TEST(a_bulk_of_nothing_stores_nothing),
        TEST(a_bulk_has_ten_thousand_at_most),
        TEST(a_trace_is_kept_with_tasks_that_have_none),
        TEST(a_task_must_fit_with_what_its_headers_add),
        TEST(the_key_may_come_in_a_header),
        TEST(a_key_is_the_same_in_header_and_field),
        TEST(a_key_that_cannot_be_meant_is_refused),
        TEST(the_digest_is_of_the_task_not_of_its_spelling_or_trace),
        TEST(the_same_key_gives_the_same_task),
        TEST(a_key_whose_task_is_gone_still_names_it),
        TEST(another_body_with_the_key_is_a_conflict),
        TEST(a_store_that_fails_is_a_503_and_never_a_2xx),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
