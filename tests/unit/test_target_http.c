// The fields of an HTTP target, which answers are a success, and whom it calls.
#include "read_task.h"

static void a_body_of_null_is_a_body(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = must_parse("{" U ",\"body\":null}", &arena);
    assert_int_equal(task.target.http.body.type, JSON_NULL);
    assert_true(str_is(task.target.http.body.raw, "null"));
    arena_done(&arena);
}

static void refusals_name_the_field_and_what_is_allowed(void **state)
{
    static const struct refusal rows[] = {
        // Target.
        {"", ERR_MISSING_FIELD, "/url", "needs a target"},
        {"\"url\":null", ERR_MISSING_FIELD, "/url", "needs a target"},
        {"\"url\":1", ERR_INVALID_FIELD, "/url", "must be a string of 1 to 8192 bytes"},
        {"\"url\":\"\"", ERR_INVALID_FIELD, "/url", "must be a string of 1 to 8192 bytes"},
        {"\"url\":\"ftp://a/\"", ERR_INVALID_FIELD, "/url", "http:// or https://"},
        {"\"url\":\"http://u:p@a/\"", ERR_INVALID_FIELD, "/url", "user or password"},
        {"\"url\":\"http://a/\\n\"", ERR_INVALID_FIELD, "/url", "control character"},
        {U ",\"method\":\"post\"", ERR_INVALID_FIELD, "/method", "\"GET\", \"POST\", \"PUT\", \"PATCH\" or \"DELETE\""},
        {U ",\"method\":\"CONNECT\"", ERR_INVALID_FIELD, "/method", "\"GET\""},
        {U ",\"method\":7", ERR_INVALID_FIELD, "/method", "\"GET\""},
        // Headers.
        {U ",\"headers\":[]", ERR_INVALID_FIELD, "/headers", "object of strings"},
        {U ",\"headers\":{\"X\":1}", ERR_INVALID_FIELD, "/headers/X", "must be a string"},
        {U ",\"headers\":{\"X\":null}", ERR_INVALID_FIELD, "/headers/X", "must be a string"},
        {U ",\"headers\":{\"\":\"1\"}", ERR_INVALID_FIELD, "/headers/", "token"},
        {U ",\"headers\":{\"X Y\":\"1\"}", ERR_INVALID_FIELD, "/headers/X Y", "token"},
        {U ",\"headers\":{\"X:\":\"1\"}", ERR_INVALID_FIELD, "/headers/X:", "token"},
        {U ",\"headers\":{\"X\\r\\nY\":\"1\"}", ERR_INVALID_FIELD, "/headers/X\r\nY", "token"},
        {U ",\"headers\":{\"X\xc3\xa9\":\"1\"}", ERR_INVALID_FIELD, "/headers/X\xc3\xa9", "token"},
        {U ",\"headers\":{\"X\":\"a\\r\\nEvil: 1\"}", ERR_INVALID_FIELD, "/headers/X", "CR, LF"},
        {U ",\"headers\":{\"X\":\"a\\n\"}", ERR_INVALID_FIELD, "/headers/X", "CR, LF"},
        {U ",\"headers\":{\"X\":\"\\u0001\"}", ERR_INVALID_FIELD, "/headers/X", "control"},
        {U ",\"headers\":{\"X\":\"\x7f\"}", ERR_INVALID_FIELD, "/headers/X", "control"},
        {U ",\"headers\":{\"Host\":\"x\"}", ERR_INVALID_FIELD, "/headers/Host", "set by rota"},
        {U ",\"headers\":{\"hOST\":\"x\"}", ERR_INVALID_FIELD, "/headers/hOST", "set by rota"},
        {U ",\"headers\":{\"H\\u006fst\":\"x\"}", ERR_INVALID_FIELD, "/headers/Host", "set by rota"},
        {U ",\"headers\":{\"content-length\":\"1\"}", ERR_INVALID_FIELD, "/headers/content-length", "set by rota"},
        {U ",\"headers\":{\"Transfer-Encoding\":\"x\"}", ERR_INVALID_FIELD, "/headers/Transfer-Encoding", "set by rota"},
        {U ",\"headers\":{\"Connection\":\"x\"}", ERR_INVALID_FIELD, "/headers/Connection", "set by rota"},
        {U ",\"headers\":{\"Keep-Alive\":\"x\"}", ERR_INVALID_FIELD, "/headers/Keep-Alive", "set by rota"},
        {U ",\"headers\":{\"Upgrade\":\"x\"}", ERR_INVALID_FIELD, "/headers/Upgrade", "set by rota"},
        {U ",\"headers\":{\"te\":\"x\"}", ERR_INVALID_FIELD, "/headers/te", "set by rota"},
        {U ",\"headers\":{\"Trailer\":\"x\"}", ERR_INVALID_FIELD, "/headers/Trailer", "set by rota"},
        {U ",\"headers\":{\"Expect\":\"x\"}", ERR_INVALID_FIELD, "/headers/Expect", "set by rota"},
        {U ",\"headers\":{\"Proxy-Authorization\":\"x\"}", ERR_INVALID_FIELD, "/headers/Proxy-Authorization", "set by rota"},
        {U ",\"headers\":{\"rota-job-id\":\"x\"}", ERR_INVALID_FIELD, "/headers/rota-job-id", "set by rota"},
        {U ",\"headers\":{\"Webhook-Id\":\"x\"}", ERR_INVALID_FIELD, "/headers/Webhook-Id", "set by rota"},
        {U ",\"headers\":{\"idempotency-key\":\"x\"}", ERR_INVALID_FIELD, "/headers/idempotency-key", "set by rota"},
        {U ",\"headers\":{\"Traceparent\":\"x\"}", ERR_INVALID_FIELD, "/headers/Traceparent", "set by rota"},
        {U ",\"headers\":{\"X-A\":\"1\",\"b\":\"\",\"x-a\":\"2\"}", ERR_INVALID_FIELD, "/headers/x-a", "given twice"},
        // Success codes.
        {U ",\"success_codes\":[]", ERR_INVALID_FIELD, "/success_codes", "array of 1 to 64"},
        {U ",\"success_codes\":\"2xx\"", ERR_INVALID_FIELD, "/success_codes", "array of 1 to 64"},
        {U ",\"success_codes\":[99]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[600]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[\"6xx\"]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[\"0xx\"]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[\"2x\"]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[\"x00\"]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[\"2000\"]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[200.5]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        {U ",\"success_codes\":[200,null]", ERR_INVALID_FIELD, "/success_codes", "from 100 to 599"},
        // A target without its url is none, whatever else is given of it.
        {"\"method\":\"PUT\",\"body\":1,\"success_codes\":[204]", ERR_MISSING_FIELD, "/url", "needs a target"},
    };
    assert_refused(rows, array_count(rows));
}

static void the_answers_of_the_200s_are_a_success_unless_the_task_says_otherwise(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task usual = must_parse("{" U "}", &arena), other = must_parse("{" U ",\"success_codes\":[\"3xx\",404]}", &arena);
    for (int status = 0; status < 1000; status++) {
        assert_int_equal(target_http_success(&usual.target.http, status), status >= 200 && status < 300);
        assert_int_equal(target_http_success(&other.target.http, status), (status >= 300 && status < 400) || status == 404);
    }
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_null_is_a_body),
        cmocka_unit_test(refusals_name_the_field_and_what_is_allowed),
        cmocka_unit_test(the_answers_of_the_200s_are_a_success_unless_the_task_says_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
