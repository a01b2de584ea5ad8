// What is refused before a body is read: places, keys, paths, methods, query parameters, types, sizes.
#include "fake_api.h"

#include "api/auth.h"
#include "api/routes.h"

static void each_path_finds_its_route(void **state)
{
    static const struct {
        const char *method, *path, *pattern, *param;
    } cases[] = {
        {"POST", "/v1/tasks", "/v1/tasks", NULL},
        {"POST", "/tasks", "/tasks", NULL},
        {"GET", "/v1/tasks/t1", "/v1/tasks/{id}", "t1"},
        {"HEAD", "/v1/tasks/t1", "/v1/tasks/{id}", "t1"},
        {"GET", "/tasks/t1", "/tasks/{id}", "t1"},
        {"GET", "/v1/tasks/t1/jobs", "/v1/tasks/{id}/jobs", "t1"},
        {"POST", "/v1/tasks/t1/cancel", "/v1/tasks/{id}/cancel", "t1"},
        {"POST", "/v1/queues/a.b/pause", "/v1/queues/{queue}/pause", "a.b"},
        {"POST", "/v1/%74asks", "/v1/tasks", NULL},
        {"GET", "/v1/tasks/%741", "/v1/tasks/{id}", "t1"},
        {"GET", "/v1/tasks/a%2Fb", "/v1/tasks/{id}", "a/b"},
        {"GET", "/v1/tasks/a%2fb%25/jobs", "/v1/tasks/{id}/jobs", "a/b%"},
        {"GET", "/", "/", NULL},
    };
    struct arena arena = {0};
    for (size_t i = 0; i < array_count(cases); i++) {
        const struct route *route;
        struct str param;
        assert_int_equal(route_find(str_of(cases[i].method), str_of(cases[i].path), &route, &param), ERR_OK);
        assert_string_equal(route->path, cases[i].pattern);
        assert_true(str_eq(route_unescape(param, &arena), str_of(cases[i].param)));
    }
    arena_done(&arena);
}

static void other_paths_are_not_found(void **state)
{
    static const char *const paths[] = {"",
                                        "/v1",
                                        "/v1/",
                                        "/v1/tasks/",
                                        "/v1/tasks//jobs",
                                        "/v1/tasks/t1/",
                                        "/V1/tasks",
                                        "/v1/tasks/a/b",
                                        "/v1/job",
                                        "/v1/queues/",
                                        "//",
                                        "v1/tasks",
                                        "/v1/task",
                                        "/v1/taskss",
                                        "/v1/jobs/j/",
                                        "/favicon.ico",
                                        "/v1%2ftasks",
                                        "/v1%2Ftasks/t1",
                                        "%2fv1/tasks",
                                        "/v1/tasks/t1%2fjobs%2f/",
                                        "/v1/tasks%3f",
                                        "/v1/tasks%"};
    for (size_t i = 0; i < array_count(paths); i++) {
        struct http_request *request = fake_ask("GET", paths[i], NULL, NULL);
        struct json json = fake_json(request);
        assert_int_equal(request->status, 404);
        assert_string_equal(request->type, "application/problem+json");
        assert_json(json, "code", "\"not_found\"");
        assert_json(json, "type", "\"/docs/errors#not_found\"");
        assert_json(json, "status", "404");
        fake_free(request);
    }
}

static void a_wrong_method_is_told_the_right_ones(void **state)
{
    static const struct {
        const char *method, *path, *allow;
    } cases[] = {
        {"PUT", "/v1/tasks", "POST, GET, HEAD"}, {"POST", "/v1/tasks/t1", "GET, HEAD, PATCH, DELETE"},
        {"OPTIONS", "/", "GET, HEAD"},           {"GET", "/v1/tasks/t1/cancel", "POST"},
        {"PUT", "/v1/queues/q/resume", "POST"},  {"post", "/v1/tasks", "POST, GET, HEAD"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = fake_ask(cases[i].method, cases[i].path, NULL, NULL);
        assert_int_equal(request->status, 405);
        assert_string_equal(fake_reply_header(request, "Allow"), cases[i].allow);
        fake_free(request);
    }
}

static void no_two_rows_are_the_same(void **state)
{
    size_t count;
    const struct route *routes = route_table(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++)
            assert_false(!strcmp(routes[i].path, routes[k].path) && !strcmp(routes[i].method, routes[k].method));
}

static void only_loopback_names_may_call(void **state)
{
    static const struct {
        const char *host;
        bool loopback;
    } cases[] = {
        {"localhost", true},
        {"LOCALHOST:80", true},
        {"127.0.0.1:7070", true},
        {"[::1]", true},
        {"[::1]:7070", true},
        {"127.1.2.3", true},
        {"localhost.", true},
        {"localhost.:7070", true},
        {"localhost:", true},
        {"[0:0:0:0:0:0:0:1]:7070", true},
        {"[::0001]", true},
        {"localhost..", false},
        {"[]", false},
        {"[localhost]", false},
        {"[::ffff:8.8.8.8]", false},
        {"[1::1]", false},
        {"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001]", false},
        {"", false},
        {"evil.example", false},
        {"localhost.evil", false},
        {"127.0.0.1.evil.com", false},
        {"[::2]", false},
        {"[::1", false},
        {"localhost:port", false},
        {"localhost:7070:1", false},
        {"[::1]x", false},
        {"192.168.0.1", false},
        {"localhost:700000", false},
        {"localhost@evil.com", false},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        char origin[64];
        assert_int_equal(auth_loopback_host(str_of(cases[i].host)), cases[i].loopback);
        snprintf(origin, sizeof origin, "https://%s", cases[i].host);
        assert_int_equal(auth_loopback_origin(str_of(origin)), cases[i].loopback);
    }
    assert_false(auth_loopback_origin(STR("null")));
    assert_false(auth_loopback_origin(STR("file://localhost")));
}

static void refusals_before_the_body(void **state)
{
    static const struct {
        const char *method, *target, *headers, *body;
        int status;
        const char *code;
    } cases[] = {
        {"GET", "/healthz", "Host: evil.example", NULL, 403, "\"forbidden\""},
        {"GET", "/healthz", "Host: localhost:1\nOrigin: http://evil.example", NULL, 403, "\"forbidden\""},
        {"GET", "/healthz", "Origin: null", NULL, 403, "\"forbidden\""},
        {"GET", "/nowhere", "Host: evil.example", NULL, 403, "\"forbidden\""},
        {"GET", "/v1/backup", "Sec-Fetch-Site: cross-site\nSec-Fetch-Dest: image", NULL, 403, "\"forbidden\""},
        {"GET", "/healthz", "Host: localhost:1\nSec-Fetch-Site: same-site", NULL, 403, "\"forbidden\""},
        {"GET", "/healthz", "Sec-Fetch-Site: same-site\nOrigin: null", NULL, 403, "\"forbidden\""},
        {"GET", "/healthz", "Authorization: Bearer rota_sk_x", NULL, 401, "\"unauthorized\""},
        {"GET", "/healthz?x=1", NULL, NULL, 422, "\"unknown_field\""},
        {"GET", "/v1/queues?limit=1&limit=2", NULL, NULL, 422, "\"invalid_field\""},
        {"POST", "/v1/tasks?breif=1", NULL, "{}", 422, "\"unknown_field\""},
        {"POST", "/v1/tasks", "Content-Type: application/x-www-form-urlencoded", "{}", 415, "\"unsupported_type\""},
        {"POST", "/v1/tasks", "Content-Type: application/json; charset=latin1", "{}", 415, "\"unsupported_type\""},
        {"POST", "/v1/tasks/t1/cancel", "Content-Type: application/x-ndjson", "{}", 415, "\"unsupported_type\""},
        {"GET", "/v1/stats", "X-Crowded: 1", NULL, 503, "\"busy\""},
        {"POST", "/v1/tasks", "X-Crowded: 1", "{}", 503, "\"busy\""},
        {"GET", "/healthz", NULL, "{}", 413, "\"too_large\""},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct http_request *request = fake_ask(cases[i].method, cases[i].target, cases[i].headers, cases[i].body);
        if (request->status != cases[i].status)
            fail_msg("%s %s: %d", cases[i].method, cases[i].target, request->status);
        assert_json(fake_json(request), "code", cases[i].code);
        fake_free(request);
    }
}

static void loopback_names_are_let_in(void **state)
{
    static const char *const headers[] = {
        "Host: localhost:7070\nOrigin: http://[::1]:3000",
        "Origin: http://localhost:3000\nSec-Fetch-Site: same-site",
        "Origin: http://127.0.0.1:3000\nSec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-origin",
        "Sec-Fetch-Site: none",
        "X-Crowded: 1",
    };
    for (size_t i = 0; i < array_count(headers); i++) {
        struct http_request *request = fake_ask("GET", "/healthz", headers[i], NULL);
        assert_int_equal(request->status, 200);
        fake_free(request);
    }
}

static void elsewhere_a_key_is_needed(void **state)
{
    fake.api.listen = "0.0.0.0:7070";
    struct http_request *request = fake_ask("GET", "/v1/stats", "Host: rota.example", NULL);
    assert_int_equal(request->status, 401);
    assert_string_equal(fake_reply_header(request, "WWW-Authenticate"), "Bearer");
    fake_free(request);
    fake.api.listen = "127.0.0.1:7070";
}

static void types_are_read_as_http_writes_them(void **state)
{
    static const struct {
        const char *text;
        enum route_type type;
    } cases[] = {
        {NULL, TYPE_NONE},
        {"", TYPE_NONE},
        {"application/json", TYPE_JSON},
        {"Application/JSON ; Charset=\"UTF-8\"", TYPE_JSON},
        {"application/json;v=1;charset=utf-8", TYPE_JSON},
        {"application/x-ndjson", TYPE_NDJSON},
        {"application/jsonx", TYPE_OTHER},
        {"text/plain", TYPE_OTHER},
        {"application/json; charset=utf-16", TYPE_OTHER},
        {";", TYPE_NONE},
    };
    for (size_t i = 0; i < array_count(cases); i++)
        assert_int_equal(route_type(str_of(cases[i].text)), cases[i].type);
}

static void a_sane_request_id_is_kept_and_another_replaced(void **state)
{
    struct http_request *request = fake_ask("GET", "/nowhere", "X-Request-Id: my-id_1.2", NULL);
    assert_json(fake_json(request), "request_id", "\"my-id_1.2\"");
    assert_string_equal(fake_reply_header(request, "Rota-Request-Id"), "my-id_1.2");
    fake_free(request);
    request = fake_ask("GET", "/nowhere", "X-Request-Id: \"<script>", NULL);
    assert_int_equal(strlen(fake_reply_header(request, "Rota-Request-Id")), 16);
    fake_free(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_path_finds_its_route),
        cmocka_unit_test(other_paths_are_not_found),
        cmocka_unit_test(a_wrong_method_is_told_the_right_ones),
        cmocka_unit_test(no_two_rows_are_the_same),
        cmocka_unit_test(only_loopback_names_may_call),
        cmocka_unit_test(refusals_before_the_body),
        cmocka_unit_test(loopback_names_are_let_in),
        cmocka_unit_test(elsewhere_a_key_is_needed),
        cmocka_unit_test(types_are_read_as_http_writes_them),
        cmocka_unit_test(a_sane_request_id_is_kept_and_another_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
