// The server under test, the requests its handler holds, and a client.
#include "support/http_world.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

struct world world = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void hold(struct http_request *request)
{
    pthread_mutex_lock(&world.lock);
    world.held[world.held_count++] = request;
    pthread_cond_broadcast(&world.changed);
    pthread_mutex_unlock(&world.lock);
}

struct http_request *take_held(void)
{
    pthread_mutex_lock(&world.lock);
    while (!world.held_count)
        pthread_cond_wait(&world.changed, &world.lock);
    struct http_request *request = world.held[--world.held_count];
    pthread_mutex_unlock(&world.lock);
    return request;
}

void wait_until_held(int count)
{
    pthread_mutex_lock(&world.lock);
    while (world.held_count < count)
        pthread_cond_wait(&world.changed, &world.lock);
    pthread_mutex_unlock(&world.lock);
}

void wait_until_ended(int count)
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

void start_with(int connections_max, int idle_timeout_s, int body_timeout_ms)
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

void start(int idle_timeout_s, int body_timeout_ms)
{
    start_with(100, idle_timeout_s, body_timeout_ms);
}

int setup(void **state)
{
    signal(SIGPIPE, SIG_IGN); // as the server does: a file is sent without MSG_NOSIGNAL
    start(60, 0);
    return 0;
}

int teardown(void **state)
{
    while (world.held_count) // a promise that was broken has left them, and the server waits for them
        http_resume(take_held());
    http_server_stop(world.server);
    world.server = NULL;
    return 0;
}

// --- a client

bool reach(int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)http_server_port(world.server))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = 60};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return !connect(fd, (struct sockaddr *)&to, sizeof to);
}

int dial(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (reach(fd))
        return fd;
    close(fd);
    return -1;
}

void say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

void ask(int fd, const char *path)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    say(fd, text);
}

int get(const char *path)
{
    int fd = dial();
    ask(fd, path);
    return fd;
}

bool read_exactly(int fd, char *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t more = recv(fd, to + got, n - got, 0);
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

struct answer hear(int fd)
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

void expect_answer(int fd, int status, const char *body)
{
    struct answer answer = hear(fd);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.body, body);
}

void expect_closed(int fd)
{
    char c;
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
}

void *resume_held(void *arg)
{
    http_resume(take_held());
    return NULL;
}
