// The HTTP server as its clients see it: requests, bodies, waiting, limits and timeouts.
#include "support/http_world.h"

#include "base/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static void a_connection_is_kept_for_the_next_request(void **state)
{
    int fd = get("/a");
    expect_answer(fd, 200, "GET /a ");
    say(fd, "POST /b?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
    struct answer answer = hear(fd);
    assert_string_equal(answer.body, "POST /b [x=1]hello");
    assert_non_null(strstr(answer.head, "X-Seen: yes"));
    assert_null(strcasestr(answer.head, "\nserver:"));
    close(fd);
}

static void requests_sent_ahead_are_answered_in_order(void **state)
{
    int fd = dial();
    say(fd, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"
            "POST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
            "GET /inline HTTP/1.1\r\nHost: x\r\n\r\n"
            "GET /4 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_answer(fd, 200, "GET /1 ");
    expect_answer(fd, 200, "POST /2 hi");
    expect_answer(fd, 200, "inline");
    expect_answer(fd, 200, "GET /4 ");
    close(fd);
}

// More than are taken at a time, and nothing more will come.
static void all_that_was_sent_ahead_is_answered_when_the_client_ends_its_side(void **state)
{
    enum { MANY = 200 };
    int fd = dial();
    buf_auto struct buf text = {0};
    for (int i = 0; i < MANY; i++)
        buf_printf(&text, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i);
    assert_int_equal(send(fd, text.p, text.n, MSG_NOSIGNAL), text.n);
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < MANY; i++) {
        char body[32];
        snprintf(body, sizeof body, "GET /%d ", i);
        expect_answer(fd, 200, body);
    }
    expect_closed(fd);
}

static void empty_lines_before_a_request_are_passed_over(void **state)
{
    static const char *const pieces[] = {"\r\n", "\r", "\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n"};
    int fd = dial();
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    for (size_t i = 0; i < array_count(pieces); i++) {
        say(fd, pieces[i]);
        int other = get("/by"); // by then the piece has been looked at
        expect_answer(other, 200, "GET /by ");
        close(other);
    }
    expect_answer(fd, 200, "GET /a ");
    close(fd);
}

// Its bytes behind the end must not tear away what it has not read yet.
static void who_asks_to_close_and_sends_on_gets_the_whole_answer(void **state)
{
    int fd = dial();
    say(fd, "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    say(fd, "and more");
    shutdown(fd, SHUT_WR);
    expect_answer(fd, 200, "GET /a ");
    expect_closed(fd);
}

static void a_body_in_chunks_and_pieces_is_put_together(void **state)
{
    int fd = dial();
    say(fd, "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    say(fd, "2\r\nde\r\n0\r\n\r\n");
    expect_answer(fd, 200, "POST /c abcde");
    close(fd);
}

static void head_is_answered_without_a_body(void **state)
{
    int fd = dial();
    say(fd, "HEAD /h HTTP/1.1\r\nHost: x\r\n\r\nGET /g HTTP/1.1\r\nHost: x\r\n\r\n");
    char text[16];
    assert_true(read_exactly(fd, text, 12));
    assert_memory_equal(text, "HTTP/1.1 200", 12);
    char c = 0;
    for (int newlines = 0; newlines < 2; newlines = c == '\n' ? newlines + 1 : c == '\r' ? newlines : 0)
        assert_true(read_exactly(fd, &c, 1));
    expect_answer(fd, 200, "GET /g ");
    close(fd);
}

static void a_waiting_request_is_continued_by_another_thread(void **state)
{
    int fd = get("/wait");
    pthread_t thread;
    pthread_create(&thread, NULL, resume_held, NULL);
    expect_answer(fd, 200, "waited");
    pthread_join(thread, NULL);
    close(fd);
}

static void it_may_be_continued_before_its_handler_returned(void **state)
{
    int fd = get("/inline");
    expect_answer(fd, 200, "inline");
    close(fd);
}

static void it_may_wait_again(void **state)
{
    int fd = get("/twice");
    resume_held(NULL);
    resume_held(NULL);
    expect_answer(fd, 200, "waited twice");
    close(fd);
}

static void many_threads_and_connections_do_not_mix_up(void **state)
{
    int fds[8];
    for (int round = 0; round < 20; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++)
            fds[i] = get(i % 2 ? "/wait" : "/twice");
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, resume_held, NULL);
        for (int i = 0; i < 4; i++)
            resume_held(NULL);
        for (int i = 0; i < 8; i++)
            expect_answer(fds[i], 200, i % 2 ? "waited" : "waited twice");
        for (int i = 0; i < 8; i++) {
            pthread_join(threads[i], NULL);
            close(fds[i]);
        }
    }
}

static void a_body_too_large_is_refused_and_the_connection_lives(void **state)
{
    int fd = dial();
    say(fd, "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    char body[1002];
    memset(body, 'x', sizeof body);
    body[1001] = 0;
    say(fd, body);
    expect_answer(fd, 413, "too_large");
    say(fd, "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    say(fd, body + 1);
    assert_int_equal(hear(fd).status, 200);
    close(fd);
}

static void a_body_too_large_in_chunks_is_refused(void **state)
{
    int fd = dial();
    say(fd, "POST /big HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 11; i++)
        say(fd, "64\r\n----------------------------------------------------------------------------------------------------\r\n");
    say(fd, "0\r\n\r\n");
    expect_answer(fd, 413, "too_large");
    close(fd);
}

static int post_bytes(const char *path, size_t n)
{
    int fd = dial();
    char head[200], *body = mem_alloc(n + 1);
    snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", path, n);
    memset(body, 'x', n);
    body[n] = 0;
    say(fd, head);
    say(fd, body);
    mem_free(body);
    return fd;
}

static void expect_reply(int fd, int status, const char *body)
{
    expect_answer(fd, status, body);
    close(fd);
}

// Else a thousand clients with 16 MiB each would take all memory there is.
static void bodies_share_a_bounded_room(void **state)
{
    int held = post_bytes("/large/wait", LARGE);
    struct http_request *request = take_held();
    expect_reply(post_bytes("/large", LARGE), 503, "busy");
    expect_reply(post_bytes("/large", SMALL), 200, "taken");
    http_resume(request);
    expect_reply(held, 200, "waited");
    expect_reply(post_bytes("/large", LARGE), 200, "taken");
}

static void a_query_of_too_many_parameters_is_refused(void **state)
{
    char path[256] = "/many?a";
    for (int i = 1; i < 64; i++)
        strcat(path, "&a");
    int fd = get(path);
    assert_int_equal(hear(fd).status, 200);
    close(fd);
    fd = dial();
    say(fd, "GET /many?");
    for (int i = 0; i < 1000; i++)
        say(fd, "a&");
    say(fd, " HTTP/1.1\r\nHost: x\r\n\r\nGET /next?b=c HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_answer(fd, 400, "bad_request");
    expect_answer(fd, 200, "GET /next [b=c]");
    close(fd);
}

static void a_client_that_asks_first_is_refused_before_it_sends(void **state)
{
    int fd = dial();
    say(fd, "POST /big HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1001\r\n\r\n");
    expect_answer(fd, 413, "too_large");
    close(fd);
    fd = dial();
    say(fd, "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
    expect_answer(fd, 413, "too_large");
    close(fd);
}

static void an_early_answer_waits_for_the_body(void **state)
{
    int fd = dial();
    say(fd, "POST /never HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
    say(fd, "hello");
    expect_answer(fd, 404, "never");
    say(fd, "GET /next HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_answer(fd, 200, "GET /next ");
    close(fd);
}

static void queries_are_decoded_and_paths_left_as_they_came(void **state)
{
    int fd = get("/a%2Fb%20c?k%3D=v%26+w&empty&last=%C3%A4");
    expect_answer(fd, 200, "GET /a%2Fb%20c [k==v& w][empty=][last=\xc3\xa4]");
    close(fd);
}

static void a_target_may_name_the_host(void **state)
{
    static const struct {
        const char *target, *answer;
    } cases[] = {
        {"http://other:80/path?a=b", "GET /path [a=b](other:80)"},
        {"HTTPS://other", "GET / (other)"},
        {"http://other?a", "GET / [a=](other)"},
        {"/path", "GET /path (x)"},
        {"httpx://other/", "GET httpx://other/ (x)"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        int fd = dial();
        say(fd, "GET ");
        say(fd, cases[i].target);
        say(fd, " HTTP/1.1\r\nHost: x\r\nX-Show: host\r\n\r\n");
        expect_answer(fd, 200, cases[i].answer);
        close(fd);
    }
    static const char *const wrong[] = {"http://", "http:///path", "https://?a", "http://user@other/"};
    for (size_t i = 0; i < array_count(wrong); i++) {
        int fd = get(wrong[i]);
        expect_answer(fd, 400, "bad_request");
        close(fd);
    }
}

static void a_nul_or_broken_escape_is_refused(void **state)
{
    static const char *const paths[] = {"/a%00b", "/a?b=%00", "/a?%00=b", "/a%zz", "/a%2", "/a?b=%"};
    for (size_t i = 0; i < array_count(paths); i++) {
        int fd = get(paths[i]);
        expect_answer(fd, 400, "bad_request");
        close(fd);
    }
}

static void headers_beyond_their_limit_are_refused(void **state)
{
    int fd = dial();
    char filler[17000];
    memset(filler, 'x', sizeof filler);
    filler[sizeof filler - 1] = 0;
    say(fd, "GET / HTTP/1.1\r\nHost: x\r\nX-Filler: ");
    say(fd, filler);
    say(fd, "\r\n\r\n");
    expect_answer(fd, 431, "headers_too_large");
    close(fd);
}

static void hang_up(int fd, bool reset)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    if (reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void a_client_may_leave_while_it_waits(void **state)
{
    for (int i = 0; i < 20; i++) {
        int fd = get("/wait");
        struct http_request *request = take_held();
        hang_up(fd, i % 2);
        http_resume(request);
        wait_until_ended(i + 1);
    }
    int fd = get("/after");
    expect_answer(fd, 200, "GET /after ");
    close(fd);
}

static void one_who_left_is_continued_to_its_end(void **state)
{
    for (int i = 0; i < 20; i++) {
        int fd = get("/twice");
        struct http_request *request = take_held();
        hang_up(fd, i % 2);
        http_resume(request);
        http_resume(take_held());
        fd = get("/by"); // brings the HTTP thread round
        expect_answer(fd, 200, "GET /by ");
        close(fd);
        wait_until_ended(i + 1);
    }
}

static void *stop(void *arg)
{
    http_server_stop(world.server);
    return NULL;
}

static void stopping_waits_for_those_who_wait(void **state)
{
    int fd = get("/wait"), left = get("/twice");
    struct http_request *requests[2] = {take_held(), take_held()};
    http_server_quiesce(world.server);
    assert_int_equal(dial(), -1);
    hang_up(left, true);
    pthread_t thread;
    pthread_create(&thread, NULL, stop, NULL);
    http_resume(requests[0]);
    http_resume(requests[1]);
    struct answer answer = hear(fd);
    assert_int_equal(answer.status, 200);
    assert_true(answer.closes);
    expect_closed(fd);
    resume_held(NULL);
    pthread_join(thread, NULL);
    assert_int_equal(world.ended, 2);
    world.server = NULL;
}

static void a_body_that_stays_away_is_timed_out(void **state)
{
    http_server_stop(world.server);
    start(1, 0);
    int fd = dial();
    say(fd, "POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe");
    expect_answer(fd, 408, "request_timeout");
    expect_closed(fd);
}

static void a_body_that_drips_is_timed_out(void **state)
{
    http_server_stop(world.server);
    start(60, 50);
    int fd = dial();
    say(fd, "POST /late HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
    struct pollfd answered = {.fd = fd, .events = POLLIN};
    while (!poll(&answered, 1, 10)) // one byte for every 10 ms without an answer
        send(fd, "x", 1, MSG_NOSIGNAL);
    expect_answer(fd, 408, "request_timeout");
    close(fd);
}

static void a_head_that_stays_away_is_timed_out(void **state)
{
    http_server_stop(world.server);
    start(1, 0);
    int fd = dial();
    say(fd, "GET /late HTTP/1.1\r\nHost: x");
    expect_answer(fd, 408, "request_timeout");
    expect_closed(fd);
}

static void an_address_that_is_none_is_named(void **state)
{
    static const char *const addresses[] = {"7070", "::1:7070", "[]:1", "127.0.0.1:", "127.0.0.1:99999x", "300.1.1.1:80"};
    for (size_t i = 0; i < array_count(addresses); i++) {
        struct http_server *server;
        struct http_server_config config = {.listen = addresses[i]};
        char why[ERR_WHY_MAX] = "";
        assert_int_not_equal(http_server_start(&server, &config, why), ERR_OK);
        assert_non_null(strstr(why, addresses[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_connection_is_kept_for_the_next_request),
        promise(requests_sent_ahead_are_answered_in_order),
        promise(all_that_was_sent_ahead_is_answered_when_the_client_ends_its_side),
        promise(empty_lines_before_a_request_are_passed_over),
        promise(who_asks_to_close_and_sends_on_gets_the_whole_answer),
        promise(a_body_in_chunks_and_pieces_is_put_together),
        promise(head_is_answered_without_a_body),
        promise(a_waiting_request_is_continued_by_another_thread),
        promise(it_may_be_continued_before_its_handler_returned),
        promise(it_may_wait_again),
        promise(many_threads_and_connections_do_not_mix_up),
        promise(a_body_too_large_is_refused_and_the_connection_lives),
        promise(a_body_too_large_in_chunks_is_refused),
        promise(bodies_share_a_bounded_room),
        promise(a_query_of_too_many_parameters_is_refused),
        promise(a_client_that_asks_first_is_refused_before_it_sends),
        promise(an_early_answer_waits_for_the_body),
        promise(queries_are_decoded_and_paths_left_as_they_came),
        promise(a_target_may_name_the_host),
        promise(a_nul_or_broken_escape_is_refused),
        promise(headers_beyond_their_limit_are_refused),
        promise(a_client_may_leave_while_it_waits),
        promise(one_who_left_is_continued_to_its_end),
        promise(stopping_waits_for_those_who_wait),
        promise(a_body_that_stays_away_is_timed_out),
        promise(a_body_that_drips_is_timed_out),
        promise(a_head_that_stays_away_is_timed_out),
        cmocka_unit_test(an_address_that_is_none_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
