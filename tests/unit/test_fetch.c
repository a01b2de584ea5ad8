// fetch: what reaches the wire, and what comes back when nothing, or something odd, answers.
#include "base/mem.h"
#include "http/fetch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

// A server for one connection: reads until `until` came, writes `answer`, closes.
struct target {
    int listener, port;
    const char *until, *answer;
    char got[4096];
    pthread_t thread;
};

static void *answer_one(void *ctx)
{
    struct target *target = ctx;
    int fd = accept(target->listener, NULL, NULL);
    size_t n = 0;
    while (n < sizeof target->got - 1 && !strstr(target->got, target->until)) {
        ssize_t more = read(fd, target->got + n, sizeof target->got - 1 - n);
        if (more <= 0)
            break;
        n += (size_t)more;
    }
    for (size_t at = 0; at < strlen(target->answer);) {
        ssize_t written = send(fd, target->answer + at, strlen(target->answer) - at, MSG_NOSIGNAL);
        if (written < 0)
            break;
        at += (size_t)written;
    }
    close(fd);
    return NULL;
}

static void target_open(struct target *target)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    target->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(target->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(target->listener, 8), 0);
    assert_int_equal(getsockname(target->listener, (struct sockaddr *)&address, &size), 0);
    target->port = ntohs(address.sin_port);
}

static bool fetch_from(struct target *target, struct fetch_request request, struct fetch_answer *ret_answer,
                       char why[ERR_WHY_MAX])
{
    char url[64];
    target_open(target);
    assert_int_equal(pthread_create(&target->thread, NULL, answer_one, target), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/x?y", target->port);
    request.url = url;
    struct fetcher *fetcher = fetcher_new();
    bool came = fetch(fetcher, &request, ret_answer, why);
    fetcher_free(fetcher);
    pthread_join(target->thread, NULL);
    close(target->listener);
    return came;
}

static void a_post_carries_its_headers_and_body_and_nothing_else(void **state)
{
    struct target target = {.until = "{1}", .answer = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"};
    struct fetch_answer answer;
    char why[ERR_WHY_MAX];
    // A proxy in the environment would be asked first, and is not there.
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    assert_true(fetch_from(
        &target, (struct fetch_request){.method = "POST", .headers = {{"X-A", "b"}}, .body = STR("{1}"), .timeout_ms = 10000},
        &answer, why));
    unsetenv("http_proxy");
    assert_int_equal(answer.status, 201);
    assert_true(str_is(buf_str(&answer.body), "ok"));
    assert_true(str_starts(str_of(target.got), STR("POST /x?y HTTP/1.1\r\n")));
    assert_non_null(strstr(target.got, "\r\nX-A: b\r\n"));
    assert_non_null(strstr(target.got, "\r\nContent-Length: 3\r\n"));
    assert_null(strstr(target.got, "Expect"));
    assert_null(strstr(target.got, "Content-Type"));
    buf_done(&answer.body);
}

static void a_redirect_is_an_answer(void **state)
{
    struct target target = {.until = "\r\n\r\n",
                            .answer = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"};
    struct fetch_answer answer;
    char why[ERR_WHY_MAX];
    assert_true(fetch_from(&target, (struct fetch_request){.method = "GET", .timeout_ms = 10000}, &answer, why));
    assert_int_equal(answer.status, 302);
    assert_true(str_starts(str_of(target.got), STR("GET ")));
    buf_done(&answer.body);
}

static void what_does_not_answer_properly_is_named(void **state)
{
    static const char *const answers[] = {"", "SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut"};
    for (size_t i = 0; i < array_count(answers); i++) {
        struct target target = {.until = "\r\n\r\n", .answer = answers[i]};
        struct fetch_answer answer;
        char why[ERR_WHY_MAX] = "";
        assert_false(fetch_from(&target, (struct fetch_request){.method = "GET", .timeout_ms = 10000}, &answer, why));
        assert_string_not_equal(why, "");
        assert_null(answer.body.p);
    }
}

struct pieces {
    struct buf got;
    char type[FETCH_TYPE_SIZE];
    size_t enough; // ends the transfer when so much has come
};

static bool take(void *ctx, const struct fetch_answer *answer, struct str bytes)
{
    struct pieces *pieces = ctx;
    memcpy(pieces->type, answer->type, sizeof pieces->type);
    buf_put(&pieces->got, bytes);
    return !pieces->enough || pieces->got.n < pieces->enough;
}

static void a_success_is_taken_as_it_comes_and_a_refusal_is_kept(void **state)
{
    struct pieces pieces = {0};
    struct fetch_request request = {.method = "GET", .idle_s = 60, .take = take, .ctx = &pieces};
    struct fetch_answer answer;
    char why[ERR_WHY_MAX];
    struct target good = {.until = "\r\n\r\n",
                          .answer = "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n\r\nuntil it closes"};
    assert_true(fetch_from(&good, request, &answer, why));
    assert_true(str_is(buf_str(&pieces.got), "until it closes"));
    assert_string_equal(pieces.type, "text/event-stream");
    assert_int_equal(answer.body.n, 0);
    pieces.got.n = 0;

    struct target refusal = {.until = "\r\n\r\n", .answer = "HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\n{}"};
    assert_true(fetch_from(&refusal, request, &answer, why));
    assert_int_equal(answer.status, 422);
    assert_true(str_is(buf_str(&answer.body), "{}"));
    assert_int_equal(pieces.got.n, 0);
    buf_done(&answer.body);
    buf_done(&pieces.got);
}

static void what_breaks_off_or_is_ended_is_not_whole(void **state)
{
    static const char *const answers[] = {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut",
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ncut\r\n",
                                          "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nenough."};
    for (size_t i = 0; i < array_count(answers); i++) {
        struct pieces pieces = {.enough = 4};
        struct target target = {.until = "\r\n\r\n", .answer = answers[i]};
        struct fetch_answer answer;
        char why[ERR_WHY_MAX] = "";
        struct fetch_request request = {.method = "GET", .take = take, .ctx = &pieces};
        assert_false(fetch_from(&target, request, &answer, why));
        assert_int_equal(answer.status, 200);
        assert_string_not_equal(why, "");
        buf_done(&pieces.got);
    }
}

static void a_closed_port_is_a_reason(void **state)
{
    struct fetcher *fetcher = fetcher_new();
    struct fetch_answer answer;
    char why[ERR_WHY_MAX] = "";
    struct fetch_request request = {.method = "GET", .url = "http://127.0.0.1:1/", .timeout_ms = 10000};
    assert_false(fetch(fetcher, &request, &answer, why));
    assert_string_not_equal(why, "");
    request.url = "file:///etc/hostname";
    assert_false(fetch(fetcher, &request, &answer, why));
    assert_int_equal(answer.body.n, 0);
    fetcher_free(fetcher);
}

static void a_line_break_cannot_smuggle_a_header_in(void **state)
{
    struct fetcher *fetcher = fetcher_new();
    struct fetch_answer answer;
    char why[ERR_WHY_MAX] = "";
    struct fetch_request request = {
        .method = "GET", .url = "http://127.0.0.1:1/", .headers = {{"A", "b\r\nX: y"}}, .timeout_ms = 10000};
    assert_false(fetch(fetcher, &request, &answer, why));
    assert_non_null(strstr(why, "line break"));
    fetcher_free(fetcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_post_carries_its_headers_and_body_and_nothing_else),
        cmocka_unit_test(a_redirect_is_an_answer),
        cmocka_unit_test(what_does_not_answer_properly_is_named),
        cmocka_unit_test(a_success_is_taken_as_it_comes_and_a_refusal_is_kept),
        cmocka_unit_test(what_breaks_off_or_is_ended_is_not_whole),
        cmocka_unit_test(a_closed_port_is_a_reason),
        cmocka_unit_test(a_line_break_cannot_smuggle_a_header_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
