// Calls of curl and wget, as the HTTP call that they make.
#include "arena_fixture.h"
#include "cli/crontab/web_call.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static bool read_call(const char *command, const char *input, struct web_call *ret_call, char why[ERR_WHY_MAX])
{
    struct words words;
    struct str text = str_of(input);
    if (!words_split(str_of(command), &arena, &words, why))
        fail_msg("%s: %s", command, why);
    return web_call_read(&words, input ? &text : NULL, &arena, ret_call, why);
}

static struct web_call taken_with(const char *command, const char *input)
{
    struct web_call call;
    char why[ERR_WHY_MAX];
    if (!read_call(command, input, &call, why))
        fail_msg("%s: %s", command, why);
    return call;
}

static struct web_call taken(const char *command)
{
    return taken_with(command, NULL);
}

// "METHOD url [Name: value]… | body"
static void assert_call(const char *command, const char *wanted)
{
    struct web_call call = taken(command);
    buf_auto struct buf text = {0};
    buf_printf(&text, STR_FMT " " STR_FMT, STR_ARG(call.method), STR_ARG(call.url));
    for (size_t i = 0; i < call.header_count; i++)
        buf_printf(&text, " [" STR_FMT ": " STR_FMT "]", STR_ARG(call.headers[i].name), STR_ARG(call.headers[i].value));
    if (call.has_body)
        buf_printf(&text, " | " STR_FMT, STR_ARG(call.body));
    buf_putc(&text, 0);
    assert_string_equal(text.p, wanted);
}

#define FORM "[Content-Type: application/x-www-form-urlencoded]"

static void the_calls_of_curl_are_understood(void **state)
{
    assert_call("curl http://h/p", "GET http://h/p");
    assert_call("/usr/bin/curl -fsS --silent -o /dev/null -w '%{http_code}' https://h/?a=b", "GET https://h/?a=b");
    assert_call("curl 'h.example/p?u=http://x'", "GET http://h.example/p?u=http://x");
    assert_call("curl -XPUT -d a --data b http://h", "PUT http://h " FORM " | a&b");
    assert_call("curl --request DELETE --url http://h", "DELETE http://h");
    assert_call("curl http://h --data-raw @x", "POST http://h " FORM " | @x");
    assert_call("curl -sd '' -H 'content-type: text/plain' http://h", "POST http://h [content-type: text/plain] | ");
    assert_call("curl --json '{' --json '}' http://h",
                "POST http://h [Content-Type: application/json] [Accept: application/json] | {}");
    assert_call("curl -H'A:b: c ' -H 'B;' -A me -e you -b k=v http://h",
                "GET http://h [A: b: c] [B: ] [User-Agent: me] [Referer: you] [Cookie: k=v]");
    assert_call("curl -g 'http://h/{a}' ", "GET http://h/{a}");
    assert_call("curl 'http://[::1]:80/'", "GET http://[::1]:80/");
    assert_call("curl -- http://h", "GET http://h");
}

static void the_calls_of_wget_are_understood(void **state)
{
    assert_call("wget -qO- http://h/p", "GET http://h/p");
    assert_call("wget -nv --output-document=/dev/null -o /dev/null http://h", "GET http://h");
    assert_call("wget --post-data='a=b' --header 'A: b' --header='C: d=e' h", "POST http://h [A: b] [C: d=e] " FORM " | a=b");
    assert_call("wget --method=PATCH --body-data=x -U me http://h", "PATCH http://h [User-Agent: me] " FORM " | x");
}

static void times_and_retries_are_taken(void **state)
{
    static const struct {
        const char *command;
        int64_t timeout_ms, retry_max, retry_delay_ms;
    } rows[] = {
        {"curl http://h", 0, -1, -1},
        {"curl -m 10 --retry 0 http://h", 10000, 0, -1},
        {"curl -m2.05 --retry 100 --retry-delay 7 http://h", 2050, 100, 7000},
        {"curl --max-time 86400 http://h", 86400000, -1, -1},
        {"curl -m 0 http://h", 0, -1, -1},
        {"wget -T5 -t 1 http://h", 5000, 0, -1},
        {"wget --timeout=0.5 --tries=101 http://h", 500, 100, -1},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct web_call call = taken(rows[i].command);
        assert_int_equal(call.timeout_ms, rows[i].timeout_ms);
        assert_int_equal(call.retry_max, rows[i].retry_max);
        assert_int_equal(call.retry_delay_ms, rows[i].retry_delay_ms);
    }
}

static void a_body_may_come_from_stdin(void **state)
{
    assert_true(str_is(taken_with("curl -d @- http://h", "a\r\nb\n").body, "ab"));
    assert_true(str_is(taken_with("curl --data-binary @- http://h", "a\nb\n").body, "a\nb\n"));
    assert_int_equal(taken_with("curl --json @- http://h", "{}\n").note_count, 0);
}

static void what_will_be_otherwise_is_noted(void **state)
{
    static const struct {
        const char *command, *input, *says;
    } rows[] = {
        {"curl -L -sL http://h", NULL, "redirects"},
        {"wget http://h", NULL, "redirects"},
        {"curl --connect-timeout 3 http://h", NULL, "whole"},
        {"curl -H 'authorization: x' http://h", NULL, "secret"},
        {"curl http://h", "20b\n", "never sent"},
        {"curl -m 0 http://h", NULL, "limit"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct web_call call = taken_with(rows[i].command, rows[i].input);
        assert_int_equal(call.note_count, 1);
        assert_non_null(strstr(call.notes[0], rows[i].says));
    }
}

static void what_rota_cannot_do_is_refused(void **state)
{
    static const struct {
        const char *command, *says;
    } rows[] = {
        {"", "no call of curl"},
        {"curly http://h", "no call of curl"},
        {"A=b curl http://h", "no call of curl"},
        {"curl", "no URL"},
        {"curl http://h http://i", "more than one"},
        {"curl 'http://h/[1-3]'", "more than one"},
        {"curl 'http://h/{a,b}'", "more than one"},
        {"curl ftp://h", "http:// or https://"},
        {"curl http://a:b@h", "user or password"},
        {"curl -u a:b http://h", "--user: a password"},
        {"wget --password=b http://h", "--password: a password"},
        {"curl -d @file http://h", "--data: a body in a file"},
        {"curl -d @- http://h", "--data: a body in a file"},
        {"curl --json '{}' -d a http://h", "form and JSON"},
        {"curl -H @file http://h", "--header: headers in a file"},
        {"curl -H 'A:' http://h", "--header: a header is written"},
        {"curl -H 'A' http://h", "--header: a header is written"},
        {"curl -H 'Host: x' http://h", "--header: This header is set by rota"},
        {"curl -H 'A: b' -H 'a: c' http://h", "--header: a header is given twice"},
        {"curl -b jar http://h", "--cookie: cookies in a file"},
        {"curl -I http://h", "GET, POST"},
        {"wget --spider http://h", "GET, POST"},
        {"curl -X get http://h", "GET, POST"},
        {"curl -k http://h", "--insecure: rota always"},
        {"curl -o x http://h", "--output: the answer"},
        {"curl -O http://h", "--remote-name: the answer"},
        {"wget -O x http://h", "--output-document: the answer"},
        {"curl -sF a=b http://h", "the option -F is not"},
        {"curl --form a=b http://h", "the option --form is not"},
        {"curl --max-time=1 http://h", "the option --max-time=1 is not"},
        {"curl -\xc3\xa4 http://h", "an option of it is not"},
        {"curl --0123456789012345678901234567890123456\xc3\xa4 http://h", "an option of it is not"},
        {"wget --quiet=1 http://h", "the option --quiet is not"},
        {"wget -nc http://h", "-n: this option is not"},
        {"wget --n=v http://h", "the option --n is not"},
        {"curl http://h -H", "--header: its value is missing"},
        {"curl -m x http://h", "--max-time: a time"},
        {"curl -m .5 http://h", "--max-time: a time"},
        {"curl -m 86401 http://h", "--max-time: a time"},
        {"curl -m 99999999999999999999 http://h", "--max-time: a time"},
        {"curl -m 0.001 http://h", "--max-time: a call must"},
        {"curl --retry 101 http://h", "--retry: a call"},
        {"curl --retry '' http://h", "--retry: a call"},
        {"wget -t 0 http://h", "--tries: a call"},
        {"wget -t inf http://h", "--tries: a call"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct web_call call;
        char why[ERR_WHY_MAX] = "";
        if (read_call(rows[i].command, NULL, &call, why))
            fail_msg("is taken: %s", rows[i].command);
        if (!strstr(why, rows[i].says))
            fail_msg("%s: %s", rows[i].command, why);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_set_up, arena_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_calls_of_curl_are_understood), TEST(the_calls_of_wget_are_understood), TEST(times_and_retries_are_taken),
        TEST(a_body_may_come_from_stdin),       TEST(what_will_be_otherwise_is_noted),  TEST(what_rota_cannot_do_is_refused),
    };
    return cmocka_run_group_tests_name("web_call", tests, NULL, NULL);
}
