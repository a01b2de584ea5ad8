// The HTTP server as its clients see it, over real sockets on loopback.
#include "base/mem.h"
#include "http/server/server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { BODY_MAX = 1000, LARGE = 200 * 1024, SMALL = 50 * 1024, HELD_MAX = 16, FEW = 4, RESERVE = 2, VAST = 32 << 20 };

// The server under test and the requests its handler holds.
struct world {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct http_request *held[HELD_MAX];
    int held_count, ended;
    struct http_stream *stream; // the one that was opened last, until it is closed
    struct buf told;            // what it is to send; "!" ends it
    bool endless;               // it never runs dry
    int closed;
};

static struct world world = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void hold(struct http_request *request)
{
    pthread_mutex_lock(&world.lock);
    world.held[world.held_count++] = request;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}

static struct http_request *take_held(void)
{
    pthread_mutex_lock(&world.lock);
    while (!world.held_count)
        pthread_cond_wait(&world.changed, &world.lock);
    struct http_request *request = world.held[--world.held_count];
    pthread_mutex_unlock(&world.lock);
    return request;
}

static void wait_until_held(int count)
{
    pthread_mutex_lock(&world.lock);
    while (world.held_count < count)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
}

static void wait_until_ended(int count)
{
    pthread_mutex_lock(&world.lock);
    while (world.ended < count)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
}

static void reply_text(struct http_request *request, int status, const char *text)
{
    struct buf body = {0};
    buf_puts(&body, text);
    http_reply(request, status, "text/plain", &body);
}

static void end(struct http_request *request, void *state)
{
    reply_text(request, 200, state);
    pthread_mutex_lock(&world.lock);
    world.ended++;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}

static void hold_again(struct http_request *request, void *state)
{
    http_wait(request, end, state);
    hold(request);
}

static bool put_pair(void *ctx, struct str name, struct str value)
{
    buf_printf(ctx, "[" STR_FMT "=" STR_FMT "]", STR_ARG(name), STR_ARG(value));
    return true;
}

static void echo(struct http_request *request)
{
    struct buf body = {0};
    buf_printf(&body, STR_FMT " " STR_FMT " ", STR_ARG(http_method(request)), STR_ARG(http_path(request)));
    http_query_each(request, put_pair, &body);
    buf_put(&body, http_body(request));
    if (http_header(request, "X-Show").p)
        buf_printf(&body, "(" STR_FMT ")", STR_ARG(http_host(request)));
    http_header_set(request, "X-Seen", "yes");
    http_reply(request, 200, "text/plain", &body);
}

static long read_stream(void *ctx, char *to, size_t max)
{
    pthread_mutex_lock(&world.lock);
    size_t n = world.endless ? max : world.told.n < max ? world.told.n : max;
    bool over = n && !world.endless && world.told.p[0] == '!';
    if (world.endless) {
        memset(to, 'x', max);
    } else if (n) {
        memcpy(to, world.told.p, n);
        memmove(world.told.p, world.told.p + n, world.told.n -= n);
    }
    pthread_mutex_unlock(&world.lock);
    return over ? -1 : (long)n;
}

static void close_stream(void *ctx)
{
    pthread_mutex_lock(&world.lock);
    world.stream = NULL;
    world.closed++;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}

static void open_stream(struct http_request *request)
{
    static const struct http_stream_ops ops = {read_stream, close_stream};
    struct http_stream *stream = http_reply_stream(request, "text/event-stream", &ops, NULL);
    pthread_mutex_lock(&world.lock);
    world.stream = stream;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}

static void send_file(struct http_request *request)
{
    enum { SIZE = 64 << 20 };
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, SIZE), 0);
    http_reply_file(request, "application/octet-stream", &(struct http_file){.fd = fd, .size = SIZE, .closed = close_stream});
}

// More than the kernel takes on both sides.
static void reply_vast(struct http_request *request)
{
    struct buf body = {0};
    buf_reserve(&body, VAST);
    memset(body.p, 'x', VAST);
    body.n = VAST;
    http_reply(request, 200, "text/plain", &body);
}

static size_t on_begin(void *ctx, struct http_request *request)
{
    if (str_is(http_path(request), "/never"))
        reply_text(request, 404, "never");
    else if (http_crowded(request) && !str_starts(http_path(request), STR("/health")))
        reply_text(request, 503, "crowded");
    return str_starts(http_path(request), STR("/large")) ? LARGE : BODY_MAX;
}

static void on_handle(void *ctx, struct http_request *request)
{
    struct str path = http_path(request);
    if (str_is(path, "/large")) {
        reply_text(request, 200, "taken");
    } else if (str_is(path, "/wait") || str_is(path, "/large/wait") || str_is(path, "/health/wait")) {
        http_wait(request, end, "waited");
        hold(request);
    } else if (str_is(path, "/twice")) {
        http_wait(request, hold_again, "waited twice");
        hold(request);
    } else if (str_is(path, "/inline")) {
        http_wait(request, end, "inline");
        http_resume(request);
    } else if (str_is(path, "/stream")) {
        open_stream(request);
    } else if (str_is(path, "/file")) {
        send_file(request);
    } else if (str_is(path, "/vast")) {
        reply_vast(request);
    } else {
        echo(request);
    }
}

static void on_refuse(void *ctx, struct http_request *request, enum err err, const char *detail)
{
    reply_text(request, err_info(err)->status, err_info(err)->code);
}

static void start_with(int connections_max, int idle_timeout_s, int body_timeout_ms)
{
    struct http_server_config config = {.listen = "127.0.0.1:0",
                                        .connections_max = connections_max,
                                        .reserve_max = RESERVE,
                                        .idle_timeout_s = idle_timeout_s,
                                        .body_timeout_ms = body_timeout_ms,
                                        .bodies_max = LARGE + LARGE / 2,
                                        .begin = on_begin,
                                        .handle = on_handle,
                                        .refuse = on_refuse};
    char why[ERR_WHY_MAX];
    assert_int_equal(http_server_start(&world.server, &config, why), ERR_OK);
    world.held_count = world.ended = world.closed = 0;
    world.endless = false;
    buf_done(&world.told);
}

static void start(int idle_timeout_s, int body_timeout_ms)
{
    start_with(100, idle_timeout_s, body_timeout_ms);
}

static int setup(void **state)
{
    start(60, 0);
    return 0;
}

static int teardown(void **state)
{
    while (world.held_count) // a promise that was broken has left them, and the server waits for them
        http_resume(take_held());
    http_server_stop(world.server);
    world.server = NULL;
    return 0;
}

// --- a client

static bool reach(int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(world.server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = 60};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return !connect(fd, (struct sockaddr *)&to, sizeof to);
}

static int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (reach(fd))
        return fd;
    close(fd);
    return -1;
}

static void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static void ask(int fd, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    say(fd, text);
}

static int get(const char *path)
{
    int fd = dial();
    ask(fd, path);
    return fd;
}

struct answer {
    int status; // 0: the connection was closed
    bool closes;
    char head[4096], body[4096];
};

static bool read_exactly(int fd, char *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t more = recv(fd, to + got, n - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

static struct answer hear(int fd)
{
    struct answer answer = {0};
    for (size_t n = 0; !strstr(answer.head, "\r\n\r\n"); n++)
        if (n + 1 >= sizeof answer.head || !read_exactly(fd, answer.head + n, 1))
            return answer;
    sscanf(answer.head, "HTTP/1.1 %d", &answer.status);
    answer.closes = strcasestr(answer.head, "connection: close");
    const char *length = strcasestr(answer.head, "content-length: ");
    size_t n = length ? strtoul(length + 16, NULL, 10) : 0;
    assert_true(n < sizeof answer.body && read_exactly(fd, answer.body, n));
    return answer;
}

static void expect_answer(int fd, int status, const char *body)
{
    struct answer answer = hear(fd);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.body, body);
}

static void expect_closed(int fd)
{
    char c;
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
}

static void *resume_held(void *arg)
{
    http_resume(take_held());
    return NULL;
}

// --- the promises

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

// Tells the stream something and wakes it, as whoever owns it does: under the lock that closing takes.
static void tell(const char *text)
{
    pthread_mutex_lock(&world.lock);
    while (!world.stream && !world.closed)
        pthread_cond_wait(&world.changed, &world.lock);
    buf_puts(&world.told, text);
    if (world.stream)
        http_stream_wake(world.stream);
    pthread_mutex_unlock(&world.lock);
}

static void wait_until_closed(int count)
{
    pthread_mutex_lock(&world.lock);
    while (world.closed < count)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
}

// One chunk. False: the last one, or none at all, as *ret_clean says.
static bool hear_chunk(int fd, struct buf *to, bool *ret_clean)
{
    char line[16] = "", *text;
    for (size_t n = 0; !strstr(line, "\r\n"); n++)
        if (n + 1 >= sizeof line || !read_exactly(fd, line + n, 1)) {
            *ret_clean = false;
            return false;
        }
    size_t size = strtoul(line, NULL, 16);
    text = mem_alloc(size + 2);
    *ret_clean = read_exactly(fd, text, size + 2);
    buf_put(to, (struct str){text, size});
    mem_free(text);
    return *ret_clean && size;
}

static void a_stream_sends_what_comes_when_it_comes(void **state)
{
    int fd = get("/stream");
    bool clean;
    assert_int_equal(hear(fd).status, 200); // before there is anything to send
    for (int i = 0; i < 3; i++) {
        buf_auto struct buf text = {0};
        tell(i == 1 ? "two" : "one");
        assert_true(hear_chunk(fd, &text, &clean));
        assert_true(str_is(buf_str(&text), i == 1 ? "two" : "one"));
    }
    buf_auto struct buf rest = {0};
    tell("!");
    assert_false(hear_chunk(fd, &rest, &clean));
    assert_true(clean && rest.n == 0);
    wait_until_closed(1);
    close(fd);
}

static void *tell_much(void *arg)
{
    for (int i = 0; i < 5000; i++)
        tell("0123456789");
    return NULL;
}

static void no_waking_is_lost(void **state)
{
    int fd = get("/stream");
    pthread_t thread;
    bool clean = true;
    buf_auto struct buf text = {0};
    assert_int_equal(hear(fd).status, 200);
    pthread_create(&thread, NULL, tell_much, NULL);
    while (text.n < 50000 && hear_chunk(fd, &text, &clean))
        ;
    pthread_join(thread, NULL);
    assert_int_equal(text.n, 50000);
    close(fd);
}

static void a_client_that_left_is_noticed_when_its_stream_is_woken(void **state)
{
    int fd = get("/stream");
    assert_int_equal(hear(fd).status, 200);
    close(fd);
    tell("");
    wait_until_closed(1);
}

static void a_stream_can_be_cut_while_its_client_does_not_read(void **state)
{
    world.endless = true;
    int fd = get("/stream");
    pthread_mutex_lock(&world.lock);
    while (!world.stream)
        pthread_cond_wait(&world.changed, &world.lock);
    http_stream_cut(world.stream);
    pthread_mutex_unlock(&world.lock);
    wait_until_closed(1);
    close(fd);
}

static void streams_end_when_the_server_stops(void **state)
{
    int asleep = get("/stream");
    bool clean;
    buf_auto struct buf rest = {0};
    assert_int_equal(hear(asleep).status, 200);
    tell("");
    http_server_quiesce(world.server);
    assert_false(hear_chunk(asleep, &rest, &clean));
    assert_true(clean);
    wait_until_closed(1);
    close(asleep);
}

static void a_stream_that_is_not_read_does_not_keep_the_server_from_stopping(void **state)
{
    world.endless = true;
    int fd = get("/stream");
    pthread_mutex_lock(&world.lock);
    while (!world.stream)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
    http_server_stop(world.server);
    assert_int_equal(world.closed, 1);
    close(fd);
    start(60, 0);
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

static int ask_for_file(const char *method)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int)); // so that little of it is under way
    assert_true(reach(fd));
    say(fd, method);
    say(fd, " /file HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    return fd;
}

static void a_file_is_closed_when_it_was_sent_or_is_not_wanted(void **state)
{
    static char bytes[1 << 20];
    int fd = ask_for_file("HEAD");
    wait_until_closed(1);
    close(fd);
    fd = ask_for_file("GET");
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    close(fd);
    wait_until_closed(2);
    fd = ask_for_file("GET");
    assert_true(recv(fd, bytes, 1, 0) == 1);
    close(fd); // it leaves
    wait_until_closed(3);
}

static bool is_closed(void)
{
    pthread_mutex_lock(&world.lock);
    bool closed = world.closed;
    pthread_mutex_unlock(&world.lock);
    return closed;
}

// A sip now and then is progress, but not enough of it.
static void who_takes_a_file_too_slowly_loses_it(void **state)
{
    http_server_stop(world.server);
    start(1, 0);
    char sip[4096];
    int fd = ask_for_file("GET");
    while (!is_closed()) {
        assert_true(recv(fd, sip, sizeof sip, 0) > 0);
        poll(NULL, 0, 50);
    }
    close(fd);
}

// Asks for more than is taken at once, and reads no more than that it comes.
static int ask_and_sleep(void)
{
    char c;
    int fd = get("/vast");
    assert_int_equal(recv(fd, &c, 1, 0), 1);
    return fd;
}

// How many bytes come until the connection ends, or until there were as many as were answered.
static size_t read_rest(int fd)
{
    static char block[1 << 20];
    size_t total = 1;
    for (ssize_t n; total < VAST && (n = recv(fd, block, sizeof block, 0)) > 0;)
        total += (size_t)n;
    close(fd);
    return total;
}

static void who_does_not_take_an_answer_loses_it_to_who_does(void **state)
{
    int lazy = ask_and_sleep(), other = ask_and_sleep();
    // Beyond what is kept of answers together, only the one that moved last is. As long as the kernel fills its buffers for the
    // other two, that may be one of them.
    while (read_rest(ask_and_sleep()) < VAST)
        ;
    assert_true((read_rest(lazy) < VAST) + (read_rest(other) < VAST) >= 1); // a single one is kept, however large
    int fd = get("/small");                                                 // and nothing is counted that is gone
    expect_answer(fd, 200, "GET /small ");
    close(fd);
    assert_true(read_rest(ask_and_sleep()) >= VAST);
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

// --- a full house

static void fill(int fds[], int count)
{
    http_server_stop(world.server);
    start_with(FEW, 60, 0);
    for (int i = 0; i < count; i++)
        fds[i] = get("/wait");
    wait_until_held(count);
}

static void empty(int fds[], int count)
{
    for (int i = 0; i < count; i++) {
        http_resume(take_held());
        close(fds[i]);
    }
    wait_until_ended(count);
}

static void expect_last(int fd, int status, const char *body)
{
    struct answer answer = hear(fd);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.body, body);
    assert_true(answer.closes);
    expect_closed(fd);
}

static void who_comes_when_all_are_busy_is_told_so_and_health_is_answered(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    for (int i = 0; i < 3 * RESERVE; i++) {
        expect_last(get("/health"), 200, "GET /health ");
        expect_last(get("/other"), 503, "crowded");
        int fd = dial(); // its body is not waited for
        say(fd, "POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhe");
        expect_last(fd, 503, "crowded");
    }
    empty(busy, FEW);
}

static void who_says_nothing_in_a_full_house_makes_room_for_who_does(void **state)
{
    int busy[FEW], silent[2 * RESERVE];
    fill(busy, FEW);
    for (int i = 0; i < 2 * RESERVE; i++)
        silent[i] = dial();
    for (int i = 0; i < RESERVE; i++)
        expect_last(silent[i], 503, "busy");
    expect_last(get("/health"), 200, "GET /health ");
    say(silent[2 * RESERVE - 1], "GET /he"); // the rest does not come
    for (int i = RESERVE; i < 2 * RESERVE; i++)
        expect_last(silent[i], 503, "busy");
    empty(busy, FEW);
}

static void who_waits_for_its_answer_in_a_full_house_gets_it(void **state)
{
    int busy[FEW], waiting[RESERVE];
    fill(busy, FEW);
    for (int i = 0; i < RESERVE; i++)
        waiting[i] = get("/health/wait");
    wait_until_held(FEW + RESERVE);
    for (int i = 0; i < 2 * RESERVE; i++)
        expect_last(get("/health"), 503, "busy"); // nobody can make room
    for (int i = 0; i < RESERVE; i++)
        http_resume(take_held());
    for (int i = 0; i < RESERVE; i++)
        expect_last(waiting[i], 200, "waited");
    expect_last(get("/health"), 200, "GET /health ");
    empty(busy, FEW);
}

static void who_has_its_answer_makes_room_before_who_waits_for_one(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    int waiting = get("/health/wait"), half = dial();
    wait_until_held(FEW + 1);
    say(half, "GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"); // the body does not come
    int answered = get("/other");
    expect_last(half, 503, "busy");
    assert_int_equal(hear(answered).status, 503); // and does not close its side
    expect_last(get("/health"), 200, "GET /health ");
    http_resume(take_held());
    expect_last(waiting, 200, "waited");
    close(answered);
    empty(busy, FEW);
}

// Asks until there is room.
static void ask_until_served(void)
{
    for (;;) {
        int fd = get("/other");
        struct answer answer = hear(fd);
        close(fd);
        if (answer.status == 200)
            return;
        assert_string_equal(answer.body, "crowded");
        poll(NULL, 0, 10);
    }
}

static void who_has_been_silent_for_a_while_makes_room(void **state)
{
    int busy[FEW - 2], kept = -1, half = -1;
    fill(busy, FEW - 2);
    kept = get("/kept");
    expect_answer(kept, 200, "GET /kept ");
    half = dial();
    say(half, "GET /half HTTP/1.1\r\nHo");
    expect_last(get("/other"), 503, "crowded"); // they may be about to ask
    ask(kept, "/again");
    expect_answer(kept, 200, "GET /again ");
    ask_until_served();
    expect_last(half, 503, "busy");
    int more = get("/wait"); // takes the place that was given up
    ask_until_served();
    expect_closed(kept);
    empty(busy, FEW - 2);
    http_resume(take_held());
    close(more);
}

static void when_one_leaves_the_next_is_served(void **state)
{
    int busy[FEW];
    fill(busy, FEW);
    expect_last(get("/other"), 503, "crowded");
    struct pollfd waiting[FEW];
    for (int i = 0; i < FEW; i++)
        waiting[i] = (struct pollfd){.fd = busy[i], .events = POLLIN};
    http_resume(take_held());
    assert_int_equal(poll(waiting, FEW, -1), 1);
    for (int i = 0; i < FEW; i++)
        if (waiting[i].revents)
            close(busy[i]);
    ask_until_served();
    for (int i = 1; i < FEW; i++)
        http_resume(take_held());
    for (int i = 0; i < FEW; i++)
        if (!waiting[i].revents)
            close(busy[i]);
}

static void without_a_descriptor_who_comes_is_answered_one_after_another(void **state)
{
    enum { CLIENTS = 6, LIMIT = 256 };
    int clients[CLIENTS], fillers[LIMIT], filler_count = 0;
    struct rlimit before, tight;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    while ((fillers[filler_count] = dup(clients[0])) >= 0)
        filler_count++;
    for (int i = 0; i < CLIENTS; i++) {
        assert_true(reach(clients[i]));
        ask(clients[i], i % 2 ? "/health" : "/other");
    }
    for (int i = 0; i < CLIENTS; i++) {
        struct answer answer = hear(clients[i]);
        assert_int_equal(answer.status, i % 2 ? 200 : 503);
        assert_true(answer.closes);
    }
    while (filler_count)
        close(fillers[--filler_count]);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    setrlimit(RLIMIT_NOFILE, &before);
    ask_until_served();
}

static void broken_framing_never_reaches_a_handler(void **state)
{
#define ROW(text)             \
    {                         \
        text, sizeof text - 1 \
    }
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {
        ROW("GARBAGE\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        ROW("GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"),
        ROW("GET /a?b=\0c HTTP/1.1\r\nHost: x\r\n\r\n"),
        ROW("GET /a\x01 HTTP/1.1\r\nHost: x\r\n\r\n"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nabc"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ROW("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        ROW("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 2\r\n\r\n{}"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nA B: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\n: c\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\0y\r\nA: b\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nA: b\0\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"),
        ROW("GET / HTTP/1.1\nHost: x\r\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\n\r\n"),
        ROW("GET / HTTP/1.1\r\nHost: x\r\n\n"),
        ROW("G@T / HTTP/1.1\r\nHost: x\r\n\r\n"),
        ROW("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int fd = dial();
        assert_int_equal(send(fd, rows[i].text, rows[i].n, MSG_NOSIGNAL), rows[i].n);
        struct answer answer = hear(fd);
        if (answer.status != 0 && answer.status != 400)
            fail_msg("%s: %d", rows[i].text, answer.status);
        close(fd);
    }
}

static void after_doubtful_framing_the_connection_is_closed(void **state)
{
    static const char *const heads[] = {
        "DELETE / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: x\r\nContent-Length : 42\r\n\r\n", // whatever else is wrong
    };
    for (size_t i = 0; i < array_count(heads); i++) {
        int fd = dial();
        say(fd, heads[i]);
        say(fd, "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
        struct answer answer = hear(fd);
        assert_int_equal(answer.status, 400);
        assert_true(answer.closes);
        expect_closed(fd);
    }
}

static void a_head_in_pieces_is_taken(void **state)
{
    static const char head[] =
        "GET /a?b=c&d HTTP/1.1\r\nHost: x\r\nEmpty:\r\nSpaces: \t a \t \r\nCookie: a=b; c=d\r\nX: y\r\n\r\n";
    int fd = dial(), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int round = 0; round < 3; round++) {
        for (const char *at = head; *at; at++)
            assert_int_equal(send(fd, at, 1, MSG_NOSIGNAL), 1);
        expect_answer(fd, 200, "GET /a [b=c][d=]");
    }
    close(fd);
}

static void a_large_head_is_taken(void **state)
{
    int fd = dial();
    say(fd, "GET / HTTP/1.1\r\nHost: x\r\n");
    for (int i = 0; i < 200; i++)
        say(fd, "X-Filler: 12345678901234567890123456789012345678901234567890\r\n");
    say(fd, "\r\n");
    expect_answer(fd, 200, "GET / ");
    close(fd);
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

#define promise(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    signal(SIGPIPE, SIG_IGN); // as the server does: a file is sent without MSG_NOSIGNAL
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
        promise(a_stream_sends_what_comes_when_it_comes),
        promise(no_waking_is_lost),
        promise(a_client_that_left_is_noticed_when_its_stream_is_woken),
        promise(a_stream_can_be_cut_while_its_client_does_not_read),
        promise(streams_end_when_the_server_stops),
        promise(a_stream_that_is_not_read_does_not_keep_the_server_from_stopping),
        promise(a_body_that_stays_away_is_timed_out),
        promise(a_body_that_drips_is_timed_out),
        promise(a_file_is_closed_when_it_was_sent_or_is_not_wanted),
        promise(who_takes_a_file_too_slowly_loses_it),
        promise(who_does_not_take_an_answer_loses_it_to_who_does),
        promise(a_head_that_stays_away_is_timed_out),
        promise(who_comes_when_all_are_busy_is_told_so_and_health_is_answered),
        promise(who_says_nothing_in_a_full_house_makes_room_for_who_does),
        promise(who_waits_for_its_answer_in_a_full_house_gets_it),
        promise(who_has_its_answer_makes_room_before_who_waits_for_one),
        promise(who_has_been_silent_for_a_while_makes_room),
        promise(when_one_leaves_the_next_is_served),
        promise(without_a_descriptor_who_comes_is_answered_one_after_another),
        promise(broken_framing_never_reaches_a_handler),
        promise(after_doubtful_framing_the_connection_is_closed),
        promise(a_head_in_pieces_is_taken),
        promise(a_large_head_is_taken),
        cmocka_unit_test(an_address_that_is_none_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
