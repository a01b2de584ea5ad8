// Which URLs may be called, and how they are taken apart.
#include "core/url.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void good_urls_are_taken_apart(void **state)
{
    static const struct {
        const char *text, *host, *rest;
        bool tls, ipv6;
        int port;
    } rows[] = {
        {"http://example.com", "example.com", "", false, false, 80},
        {"https://example.com/", "example.com", "/", true, false, 443},
        {"HTTPS://Example.COM/A?b=c#d", "Example.COM", "/A?b=c", true, false, 443},
        {"http://example.com?q=/@:", "example.com", "?q=/@:", false, false, 80},
        {"http://example.com#x", "example.com", "", false, false, 80},
        {"http://example.com./x", "example.com.", "/x", false, false, 80},
        {"http://127.0.0.1:8080/hook", "127.0.0.1", "/hook", false, false, 8080},
        {"http://localhost:1", "localhost", "", false, false, 1},
        {"http://a_b-c.d1:65535/%20//..", "a_b-c.d1", "/%20//..", false, false, 65535},
        {"http://[::1]:7070/x", "::1", "/x", false, true, 7070},
        {"https://[2001:db8::192.0.2.1]", "2001:db8::192.0.2.1", "", true, true, 443},
        {"http://1and1.com/", "1and1.com", "/", false, false, 80},
        {"http://0xyz/", "0xyz", "/", false, false, 80},
        {"http://a/{x}|\"'<>\\", "a", "/{x}|\"'<>\\", false, false, 80},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct url url;
        char why[ERR_WHY_MAX] = "";
        if (url_parse(str_of(rows[i].text), &url, why))
            fail_msg("refused %s: %s", rows[i].text, why);
        assert_true(str_is(url.host, rows[i].host));
        assert_true(str_is(url.rest, rows[i].rest));
        assert_int_equal(url.tls, rows[i].tls);
        assert_int_equal(url.ipv6, rows[i].ipv6);
        assert_int_equal(url.port, rows[i].port);
    }
}

static void bad_urls_are_refused_with_words(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "must begin with http"},
        {"example.com/x", "must begin with http"},
        {"/x", "must begin with http"},
        {"//example.com/x", "must begin with http"},
        {"http:/example.com", "must begin with http"},
        {"http:example.com", "must begin with http"},
        {"http:\\\\example.com", "must begin with http"},
        {"ftp://example.com", "must begin with http"},
        {"file:///etc/passwd", "must begin with http"},
        {"gopher://127.0.0.1:6379/_x", "must begin with http"},
        {"javascript:alert(1)", "must begin with http"},
        {"httpx://example.com", "must begin with http"},
        {" http://example.com", "space"},
        {"http://example.com/a b", "space"},
        {"http://example.com/a\r\nHost: x", "control"},
        {"http://example.com/\t", "control"},
        {"http://example.com/\x7f", "control"},
        {"http://ex\xc3\xa4mple.com/", "ASCII"},
        {"http://example.com/\xc3\xa4", "ASCII"},
        {"http://user@example.com/", "user or password"},
        {"http://user:pass@example.com/", "user or password"},
        {"http://example.com:80@127.0.0.1/", "user or password"},
        {"http://", "no host"},
        {"http:///x", "no host"},
        {"http://:80/x", "no host"},
        {"http://./x", "no host"},
        {"http://?x", "no host"},
        {"http://a..b/", "1 to 63"},
        {"http://.a/", "1 to 63"},
        {"http://a../", "1 to 63"},
        {"http://exa%6dple.com/", "letters, digits"},
        {"http://127.0.0.1%2f/", "letters, digits"},
        {"http://example.com\\@127.0.0.1/", "user or password"},
        {"http://example.com\\x/", "letters, digits"},
        {"http://a,b/", "letters, digits"},
        {"http://a*b/", "letters, digits"},
        {"http://2130706433/", "IPv4"},
        {"http://0x7f000001/", "IPv4"},
        {"http://0x/", "IPv4"},
        {"http://017700000001/", "IPv4"},
        {"http://127.1/", "IPv4"},
        {"http://127.0.0.01/", "IPv4"},
        {"http://0177.0.0.1/", "IPv4"},
        {"http://127.0.0.0x1/", "IPv4"},
        {"http://127.0.0.256/", "IPv4"},
        {"http://127.0.0.1./", "IPv4"},
        {"http://1.2.3.4.5/", "IPv4"},
        {"http://a.1/", "IPv4"},
        {"http://example.com:/", "1 to 65535"},
        {"http://example.com:0/", "1 to 65535"},
        {"http://example.com:65536/", "1 to 65535"},
        {"http://example.com:000080/", "1 to 65535"},
        {"http://example.com:8o/", "1 to 65535"},
        {"http://example.com:-1/", "1 to 65535"},
        {"http://example.com:80:80/", "1 to 65535"},
        {"http://[::1/", "bracket"},
        {"http://[]/", "IPv6"},
        {"http://[::g]/", "IPv6"},
        {"http://[1.2.3.4]/", "IPv6"},
        {"http://[fe80::1%25eth0]/", "IPv6"},
        {"http://[1:2:3:4:5:6:7:8:9]/", "IPv6"},
        {"http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/", "too long"},
        {"http://[::1]x/", "1 to 65535"},
        {"http://[::1]8080/", "1 to 65535"},
        {"http://::1/", "no host"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct url url = {.port = 42};
        char why[ERR_WHY_MAX] = "";
        if (url_parse(str_of(rows[i].text), &url, why) != ERR_INVALID_FIELD)
            fail_msg("took %s", rows[i].text);
        if (!strstr(why, rows[i].why))
            fail_msg("%s: said \"%s\"", rows[i].text, why);
        assert_int_equal(url.port, 42);
    }
}

static void long_hosts_are_refused(void **state)
{
    char text[400] = "http://", why[ERR_WHY_MAX];
    struct url url;
    for (int i = 0; i < 254; i++)
        text[7 + i] = i % 60 == 59 ? '.' : 'a';
    assert_int_equal(url_parse((struct str){text, 7 + 253}, &url, why), ERR_OK);
    assert_int_equal(url.host.n, 253);
    assert_int_equal(url_parse((struct str){text, 7 + 254}, &url, why), ERR_INVALID_FIELD);
    for (int i = 0; i < 64; i++)
        text[7 + i] = 'a';
    assert_int_equal(url_parse((struct str){text, 7 + 63}, &url, why), ERR_OK);
    assert_int_equal(url_parse((struct str){text, 7 + 64}, &url, why), ERR_INVALID_FIELD);
}

static void nul_is_refused(void **state)
{
    struct url url;
    char why[ERR_WHY_MAX];
    assert_int_equal(url_parse(STR("http://a/\0b"), &url, why), ERR_INVALID_FIELD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_urls_are_taken_apart),
        cmocka_unit_test(bad_urls_are_refused_with_words),
        cmocka_unit_test(long_hosts_are_refused),
        cmocka_unit_test(nul_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
