// What comes over the wire is taken strictly: framing that is broken or doubtful never reaches a handler.
#include "support/http_world.h"

#include "base/mem.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(broken_framing_never_reaches_a_handler),
        promise(after_doubtful_framing_the_connection_is_closed),
        promise(a_head_in_pieces_is_taken),
        promise(a_large_head_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
