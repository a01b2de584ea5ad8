// A request has the one form a target expects, and is sent in pieces without a copy of a large body.
#include "base/mem.h"
#include "http/client/outgoing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct outgoing outgoing;

static void write_call(const char *method, const char *text, struct str body)
{
    static struct url url;
    char why[ERR_WHY_MAX];
    assert_int_equal(url_parse(str_of(text), &url, why), ERR_OK);
    outgoing_write(&outgoing, &(struct http_call_order){.url = &url, .method = method, .headers = STR("A: b\r\n"), .body = body});
}

static void expect_text(const char *text)
{
    assert_int_equal(outgoing.text.n, strlen(text));
    assert_memory_equal(outgoing.text.p, text, strlen(text));
}

static void a_get_without_a_body_says_no_length(void **state)
{
    write_call("GET", "http://example.com/a?b", (struct str){0});
    expect_text("GET /a?b HTTP/1.1\r\nHost: example.com\r\nA: b\r\n\r\n");
}

static void a_post_without_a_body_says_that_it_has_none(void **state)
{
    write_call("POST", "http://example.com", (struct str){0});
    expect_text("POST / HTTP/1.1\r\nHost: example.com\r\nA: b\r\nContent-Length: 0\r\n\r\n");
}

static void a_port_is_named_unless_it_is_the_usual_one(void **state)
{
    write_call("GET", "https://example.com:443/", (struct str){0});
    expect_text("GET / HTTP/1.1\r\nHost: example.com\r\nA: b\r\n\r\n");
    write_call("GET", "https://example.com:80/", (struct str){0});
    expect_text("GET / HTTP/1.1\r\nHost: example.com:80\r\nA: b\r\n\r\n");
}

static void an_ipv6_address_has_its_brackets(void **state)
{
    write_call("DELETE", "http://[::1]:8080?a", (struct str){0});
    expect_text("DELETE /?a HTTP/1.1\r\nHost: [::1]:8080\r\nA: b\r\n\r\n");
}

static void a_small_body_goes_out_with_the_head(void **state)
{
    write_call("PUT", "http://example.com/", STR("hello"));
    expect_text("PUT / HTTP/1.1\r\nHost: example.com\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
    assert_int_equal(outgoing.rest.n, 0);
}

static void all_of_a_large_body_is_sent_in_pieces(void **state)
{
    static char body[100000];
    buf_auto struct buf sent = {0};
    for (size_t i = 0; i < sizeof body; i++)
        body[i] = (char)('a' + i % 26);
    write_call("POST", "http://example.com/", (struct str){body, sizeof body});
    assert_true(outgoing.text.n < sizeof body / 2);
    while (!outgoing_is_sent(&outgoing)) {
        struct str next = outgoing_next(&outgoing);
        assert_true(next.n > 0);
        next.n = next.n < 777 ? next.n : 777;
        buf_put(&sent, next);
        outgoing.sent += next.n;
    }
    assert_true(sent.n > sizeof body);
    assert_memory_equal(sent.p + sent.n - sizeof body, body, sizeof body);
}

static void it_is_written_anew_for_the_next_call(void **state)
{
    write_call("POST", "http://example.com/first", STR("hello"));
    outgoing.sent = 10;
    write_call("GET", "http://example.com/", (struct str){0});
    assert_int_equal(outgoing.sent, 0);
    expect_text("GET / HTTP/1.1\r\nHost: example.com\r\nA: b\r\n\r\n");
}

static int group_teardown(void **state)
{
    buf_done(&outgoing.text);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_get_without_a_body_says_no_length),
        cmocka_unit_test(a_post_without_a_body_says_that_it_has_none),
        cmocka_unit_test(a_port_is_named_unless_it_is_the_usual_one),
        cmocka_unit_test(an_ipv6_address_has_its_brackets),
        cmocka_unit_test(a_small_body_goes_out_with_the_head),
        cmocka_unit_test(all_of_a_large_body_is_sent_in_pieces),
        cmocka_unit_test(it_is_written_anew_for_the_next_call),
    };
    return cmocka_run_group_tests(tests, NULL, group_teardown);
}
