// Answers of the HTTP server that take long: streams and files, and clients that do not read them.
#include "support/http_world.h"

#include "base/mem.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(a_stream_sends_what_comes_when_it_comes),
        promise(no_waking_is_lost),
        promise(a_client_that_left_is_noticed_when_its_stream_is_woken),
        promise(a_stream_can_be_cut_while_its_client_does_not_read),
        promise(streams_end_when_the_server_stops),
        promise(a_stream_that_is_not_read_does_not_keep_the_server_from_stopping),
        promise(a_file_is_closed_when_it_was_sent_or_is_not_wanted),
        promise(who_takes_a_file_too_slowly_loses_it),
        promise(who_does_not_take_an_answer_loses_it_to_who_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
