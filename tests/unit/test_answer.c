// Answers as targets give them, whole and in every two pieces and byte by byte: where one ends, what it says, and whether its
// connection may be used again.
#include "base/mem.h"
#include "http/client/answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { TAKE_MAX = 40 };

struct row {
    const char *bytes;
    enum answer_step step; // at the end of the bytes
    int status;
    const char *body, *why;
    bool keep, closes; // closes: then the connection ends
};

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"

static const struct row rows[] = {
    {OK "Content-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {OK "Content-Length: 0\r\n\r\n", ANSWER_DONE, 200, "", .keep = true},
    {OK "content-length:2\n\nok", ANSWER_DONE, 200, "ok", .keep = true}, // without CR
    {OK "Content-Length: \t 2 \t\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {OK "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {OK "Content-Length: 2\r\n\r\nok!", ANSWER_DONE, 200, "ok"}, // who said that?
    {OK "Content-Length: 2\r\n\r\no", ANSWER_MORE, 200, "o", .keep = true},
    {OK "Content-Length: 2\r\n\r\no", ANSWER_BAD, 200, "o", "the connection was closed within the answer", .closes = true},
    {OK "Content-Length: 2\r\nConnection: close\r\n\r\nok", ANSWER_DONE, 200, "ok"},
    {OK "Content-Length: 2\r\nConnection: x , CLOSE\r\n\r\nok", ANSWER_DONE, 200, "ok"},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok"},
    {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {"HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n", ANSWER_DONE, 404, "", .keep = true}, // a reason is not needed
    {"HTTP/1.1 204 No\r\n\r\n", ANSWER_DONE, 204, "", .keep = true},
    {"HTTP/1.1 304 Same\r\nContent-Length: 7\r\n\r\n", ANSWER_DONE, 304, ""}, // some send it all the same
    {"HTTP/1.1 304 Same\r\n\r\n", ANSWER_DONE, 304, "", .keep = true},
    {OK "Content-Length: 0\r\nConnection: close, keep-alive\r\n\r\n", ANSWER_DONE, 200, ""},
    {"HTTP/1.1 103 Hm\r\n\r\n", ANSWER_BAD, 0, "", "the connection was closed within the answer", .closes = true},
    {OK "\r\nuntil it closes", ANSWER_DONE, 200, "until it closes", .closes = true},
    {OK "\r\nuntil it closes", ANSWER_MORE, 200, "until it closes"},
    {OK "Content-Length: 100\r\n\r\n0123456789012345678901234567890123456789!", ANSWER_CUT, 200,
     "0123456789012345678901234567890123456789"},
    {"HTTP/1.1 100 Go\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {"HTTP/1.1 103 Hm\r\nContent-Length: 9\r\nConnection: close\r\n\r\n" OK "Content-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok",
     .keep = true},
    {CHUNKED "2\r\nok\r\n0\r\n\r\n", ANSWER_DONE, 200, "ok", .keep = true},
    {CHUNKED "1\r\no\r\n1 ;x=\"y\"\r\nk\r\n00\r\nTrailer: t\r\n\r\n", ANSWER_DONE, 200, "ok", .keep = true},
    {CHUNKED "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", ANSWER_DONE, 200, "01234567890123456789a", .keep = true},
    {OK "Content-Length: 5\r\nTransfer-Encoding: Chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ANSWER_DONE, 200, "ok"},
    {CHUNKED "2\r\nok\r\n0\r\n\r\nmore", ANSWER_DONE, 200, "ok"},
    {CHUNKED "2\r\nok\r\n", ANSWER_BAD, 200, "ok", "the connection was closed within the answer", .closes = true},
    {CHUNKED "2\r\nok!\r\n", ANSWER_BAD, 200, "ok", "a chunk is longer than it says"},
    {CHUNKED "\r\n", ANSWER_BAD, 200, "", "the size of a chunk is no number"},
    {CHUNKED "zz\r\n", ANSWER_BAD, 200, "", "the size of a chunk is no number"},
    {CHUNKED "-1\r\n", ANSWER_BAD, 200, "", "the size of a chunk is no number"},
    {CHUNKED "0x1\r\n", ANSWER_BAD, 200, "", "the size of a chunk is no number"},
    {CHUNKED "2\nok\r\n", ANSWER_BAD, 200, "", "the size of a chunk is no number"},
    {CHUNKED "2;\nok\r\n", ANSWER_BAD, 200, "", "the line of a chunk's size does not end with CRLF"},
    {CHUNKED "2\rok\r\n", ANSWER_BAD, 200, "", "a line between chunks does not end with CRLF"},
    {CHUNKED "2\r\nok\n", ANSWER_BAD, 200, "ok", "a chunk is longer than it says"},
    {CHUNKED "0\r\n\n", ANSWER_BAD, 200, "", "a line behind the chunks does not end with CRLF"},
    {CHUNKED "0\r\nX: y\n\r\n", ANSWER_BAD, 200, "", "a line behind the chunks does not end with CRLF"},
    {CHUNKED "10000000000000000\r\n", ANSWER_BAD, 200, "", "a chunk is too large"},
    {OK "Transfer-Encoding: gzip, chunked\r\n\r\n", ANSWER_BAD, 200, "", "the answer is encoded in a way that was not asked for"},
    {OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", ANSWER_BAD, 200, "",
     "the answer is encoded in a way that was not asked for"},
    {OK "Content-Length: 2\r\nContent-Length: 3\r\n\r\n", ANSWER_BAD, 200, "",
     "the length of the answer is no number, or there are two"},
    {OK "Content-Length: 2, 2\r\n\r\n", ANSWER_BAD, 200, "", "the length of the answer is no number, or there are two"},
    {OK "Content-Length: -2\r\n\r\n", ANSWER_BAD, 200, "", "the length of the answer is no number, or there are two"},
    {OK "Content-Length: +2\r\n\r\n", ANSWER_BAD, 200, "", "the length of the answer is no number, or there are two"},
    {OK "Content-Length:\r\n 2\r\n\r\n", ANSWER_BAD, 200, "", "the length of the answer is no number, or there are two"},
    {OK "Content-Length: 99999999999999999999\r\n\r\n", ANSWER_BAD, 200, "",
     "the length of the answer is no number, or there are two"},
    {OK "Content-Length : 2\r\n\r\n", ANSWER_BAD, 200, "", "there is a space before the colon of a header"},
    {OK "X: folded\r\n Content-Length: 9\r\nContent-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {OK "no colon\r\n: no name\r\nContent-Length: 2\r\n\r\nok", ANSWER_DONE, 200, "ok", .keep = true},
    {"HTTP/1.1 101 Up\r\n\r\n", ANSWER_BAD, 101, "", "the target wants to speak another protocol"},
    {"SMTP ready when you are\r\n", ANSWER_BAD, 0, "", "what came is not HTTP/1.x"},
    {"HTTP/2 200\r\n", ANSWER_BAD, 0, "", "what came is not HTTP/1.x"},
    {"HTTP/1.1 2000 OK\r\n", ANSWER_BAD, 0, "", "what came is not HTTP/1.x"},
    {"HTTP/1.1 099 No\r\n", ANSWER_BAD, 0, "", "the status is no number of three digits"},
    {"HTTP/1.1 2x0 No\r\n", ANSWER_BAD, 0, "", "the status is no number of three digits"},
    {"\r\n" OK, ANSWER_BAD, 0, "", "what came is not HTTP/1.x"},
    {"", ANSWER_BAD, 0, "", "the connection was closed before an answer came", .closes = true},
    {"HTT", ANSWER_BAD, 0, "", "the connection was closed within the answer", .closes = true},
    {OK, ANSWER_MORE, 200, "", .keep = true},
};

struct taken {
    char bytes[TAKE_MAX + 1];
    size_t n;
};

static bool take(void *ctx, struct str body)
{
    struct taken *taken = ctx;
    size_t room = TAKE_MAX - taken->n, n = body.n < room ? body.n : room;
    memcpy(taken->bytes + taken->n, body.p, n);
    taken->n += n;
    return n == body.n;
}

// In pieces of `size`, but for the first, which has `first` bytes.
static void read_row(const struct row *row, size_t first, size_t size)
{
    struct answer answer = {0};
    struct taken taken = {0};
    enum answer_step step = ANSWER_MORE;
    struct str rest = str_of(row->bytes);
    answer_begin(&answer, take, &taken);
    for (size_t n = first; rest.n && step == ANSWER_MORE; n = size) {
        n = n < rest.n ? n : rest.n;
        char *piece = mem_alloc(n); // of its own, so that a sanitizer sees who reads beyond it
        memcpy(piece, rest.p, n);
        step = answer_read(&answer, (struct str){piece, n});
        mem_free(piece);
        rest = (struct str){rest.p + n, rest.n - n};
    }
    if (row->closes && step == ANSWER_MORE)
        step = answer_closed(&answer);
    bool said_more = step == ANSWER_DONE && rest.n; // the caller sees that by itself when it comes later
    bool same = step == row->step && answer.status == row->status && strcmp(taken.bytes, row->body) == 0 &&
                (answer.keep == row->keep || said_more) && strcmp(answer.why ? answer.why : "", row->why ? row->why : "") == 0;
    if (!same)
        fail_msg("%s (%zu, then %zu): step %d, status %d, body \"%s\", keep %d, %s", row->bytes, first, size, step, answer.status,
                 taken.bytes, answer.keep, answer.why ? answer.why : "");
    answer_done(&answer);
}

static void answers_are_read_in_whatever_pieces_they_come(void **state)
{
    for (size_t i = 0; i < array_count(rows); i++) {
        size_t n = strlen(rows[i].bytes);
        for (size_t first = 1; first <= n; first++)
            read_row(&rows[i], first, n);
        read_row(&rows[i], 1, 1);
    }
}

static void what_rota_knows_is_read(void **state)
{
    struct answer answer = {0};
    struct taken taken = {0};
    answer_begin(&answer, take, &taken);
    struct str first = STR("HTTP/1.1 103 Wait\r\nRetry-After: 1\r\nRota-Async: 1\r\n\r\n");
    struct str second = STR("HTTP/1.1 503 No\r\nretry-after: \t120 \r\nrota-async: 2\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(answer_read(&answer, first), ANSWER_MORE);
    assert_int_equal(answer_read(&answer, second), ANSWER_DONE);
    assert_true(str_is((struct str){answer.retry_after, answer.retry_after_n}, "120"));
    assert_false(answer.async);
    answer_begin(&answer, take, &taken);
    assert_int_equal(answer.status + (int)answer.retry_after_n, 0);
    assert_int_equal(answer_read(&answer, STR("HTTP/1.1 202 Later\r\nRota-Async: 1\r\nContent-Length: 0\r\n\r\n")), ANSWER_DONE);
    assert_true(answer.async && answer.keep);
    answer_done(&answer);
}

static bool count_bytes(void *ctx, struct str body)
{
    *(size_t *)ctx += body.n;
    return true;
}

// Reads `piece` behind `head` until it is too much; says what is wrong then.
static const char *too_much(const char *head, const char *piece)
{
    struct answer answer = {0};
    struct taken taken = {0};
    size_t read = 0;
    answer_begin(&answer, take, &taken);
    enum answer_step step = answer_read(&answer, str_of(head));
    for (; step == ANSWER_MORE && read < 2 * ANSWER_HEAD_MAX; read += strlen(piece))
        step = answer_read(&answer, str_of(piece));
    assert_int_equal(step, ANSWER_BAD);
    const char *why = answer.why;
    answer_done(&answer);
    return why;
}

static void a_body_may_have_any_number_of_chunks(void **state)
{
    struct answer answer = {0};
    size_t n = 0;
    answer_begin(&answer, count_bytes, &n);
    assert_int_equal(answer_read(&answer, STR(CHUNKED)), ANSWER_MORE);
    for (int i = 0; i < 50000; i++)
        assert_int_equal(answer_read(&answer, STR("1\r\nx\r\n")), ANSWER_MORE);
    assert_int_equal(answer_read(&answer, STR("0\r\n\r\n")), ANSWER_DONE);
    assert_int_equal(n, 50000);
    answer_done(&answer);
}

static void what_has_no_end_is_ended(void **state)
{
    assert_string_equal(too_much(CHUNKED, "0"), "a chunk is too large");
    assert_string_equal(too_much(OK, "X-More: of the same\r\n"), "the answer has too many headers");
    assert_string_equal(too_much(OK "X-More: ", "and more"), "a header of the answer is too long");
    assert_string_equal(too_much("", "HTTP/1.1 100 Go\r\n\r\n"), "the answer has too many headers");
    assert_string_equal(too_much(CHUNKED "0\r\n", "X-More: of the same\r\n"), "there is too much between the chunks");
    assert_string_equal(too_much(CHUNKED "1;", "and more"), "there is too much between the chunks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_read_in_whatever_pieces_they_come),
        cmocka_unit_test(what_rota_knows_is_read),
        cmocka_unit_test(a_body_may_have_any_number_of_chunks),
        cmocka_unit_test(what_has_no_end_is_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
