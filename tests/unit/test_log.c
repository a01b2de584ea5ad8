// Lines of the log: always one line, always valid, never a secret.
#include "base/log.h"
#include "base/mask.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "base/text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { NOON = 1000 }; // 1970-01-01T00:00:01Z

static void assert_buf(const struct buf *buf, const char *expected)
{
    mem_auto char *text = mem_copy(buf->n ? buf->p : "", buf->n);
    assert_string_equal(text, expected);
}

static void assert_line(enum log_format format, struct str words, const char *expected)
{
    buf_auto struct buf line = {0};
    log_put(&line, format, LOG_WARN, NOON, false, words);
    assert_buf(&line, expected);
}

static void a_line_has_time_level_and_words(void **state)
{
    assert_line(LOG_TEXT, STR("it is so"), "1970-01-01T00:00:01.000Z warn  it is so\n");
    assert_line(LOG_JSON, STR("it is \"so\""),
                "{\"time\":\"1970-01-01T00:00:01.000Z\",\"level\":\"warn\",\"msg\":\"it is \\\"so\\\"\"}\n");
}

static void a_word_to_who_started_it_has_neither_as_text(void **state)
{
    buf_auto struct buf line = {0};
    log_put(&line, LOG_TEXT, LOG_INFO, NOON, true, STR("hello"));
    assert_buf(&line, "hello\n");
}

static void nothing_can_make_two_lines_of_one_or_speak_to_a_terminal(void **state)
{
    static const struct {
        const char *words, *shown;
    } rows[] = {
        {"a\nb\r\tc\x1b[31m\x7f", "a?b??c?[31m?"},
        {"ü \xf0\x9f\x98\x80", "ü \xf0\x9f\x98\x80"},
        {"\xc2\x9b", "?"},                                   // the terminal's CSI in one character
        {"\xe2\x80\xae \xe2\x80\xa8 \xe2\x81\xa6", "? ? ?"}, // written backwards, a line separator, an isolate
        {"\xff\xc3", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, // a surrogate
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf line = {0}, expected = {0};
        log_put(&line, LOG_TEXT, LOG_INFO, NOON, true, str_of(rows[i].words));
        buf_printf(&expected, "%s\n", rows[i].shown);
        buf_putc(&expected, 0);
        assert_buf(&line, expected.p);
    }
}

// Any two bytes, and what is too long, cut at any place.
static void a_line_of_json_is_always_json(void **state)
{
    char words[3000], why[ERR_WHY_MAX];
    struct json value;
    for (unsigned pair = 0; pair < 65536; pair++) {
        buf_auto struct buf line = {0};
        char two[] = {(char)(pair >> 8), (char)pair};
        log_put(&line, LOG_JSON, LOG_INFO, NOON, false, (struct str){two, 2});
        assert_int_equal(json_check(buf_str(&line), &value, why), ERR_OK);
        assert_ptr_equal(memchr(line.p, '\n', line.n), line.p + line.n - 1);
    }
    for (size_t offset = 0; offset < 4; offset++) {
        buf_auto struct buf line = {0};
        for (size_t i = 0; i < sizeof words; i++)
            words[i] = "\xf0\x9f\x98\x80"[(i + offset) % 4];
        log_put(&line, LOG_JSON, LOG_INFO, NOON, false, (struct str){words, sizeof words});
        assert_int_equal(json_check(buf_str(&line), &value, why), ERR_OK);
        assert_true(line.n < 1200);
    }
}

static const struct {
    const char *text, *masked;
} masks[] = {
    {"nothing to hide", "nothing to hide"},
    {"postgres://rota:s3cret@db/rota", "postgres://rota:***@db/rota"},
    {"at postgres://rota:s3cret@db/rota now", "at postgres://rota:***@db/rota now"},
    {"\"https://a:b@h/\" and 'ftp://c:d@h'", "\"https://a:***@h/\" and 'ftp://c:***@h'"},
    {"postgres://rota:p@ss/w:rd@db/rota", "postgres://rota:***@db/rota"}, // not as it should be written, and so in messages
    {"postgres://rota:s3cr", "postgres://rota:***"},                      // cut off
    {"http://127.0.0.1:7070", "http://127.0.0.1:7070"},
    {"http://127.0.0.1:7070/v1/tasks (store x)", "http://127.0.0.1:7070/v1/tasks (store x)"},
    {"http://[::1]:7070/x", "http://[::1]:7070/x"},
    {"http://[::1]:7070", "http://[::1]:7070"},
    {"postgres://rota@db/rota", "postgres://rota@db/rota"},
    {"host=db password=s3cret user=x", "host=db password=*** user=x"},
    {"host=db password='a b' user=x", "host=db password=*** user=x"},
    {"x?sslpassword=abc&user=y", "x?sslpassword=***&user=y"},
    {"PASSWORD=abc", "PASSWORD=***"},
    {"password=", "password="},
    {"token=abc def", "token=*** def"},
    {"Authorization: Bearer abc def", "Authorization:***"},
    {"sent Bearer rota_sk_abcdefgh12 to it", "sent Bearer *** to it"},
    {"a basic thing", "a basic thing"},
    {"Basic dXNlcjpwYXNz", "Basic ***"},
    {"key rota_sk_abcDEF123: no", "key rota_sk_***: no"},
    {"://", "://"},
    {"a://:", "a://:"},
    {"a://:@", "a://:@"},
};

static void secrets_are_hidden(void **state)
{
    for (size_t i = 0; i < array_count(masks); i++) {
        buf_auto struct buf out = {0};
        mask_put(&out, str_of(masks[i].text));
        assert_buf(&out, masks[i].masked);
    }
}

static void a_log_line_hides_them_too_and_no_line_feed_helps(void **state)
{
    assert_line(LOG_TEXT, STR("postgres://u:pa\nss@h/d"), "1970-01-01T00:00:01.000Z warn  postgres://u:***@h/d\n");
}

static void characters_come_back_as_they_were_written(void **state)
{
    for (uint32_t rune = 0; rune < 0x110100; rune++) {
        char bytes[4];
        int n = utf8_write(bytes, rune);
        bool is_character = rune < 0x110000 && (rune < 0xd800 || rune > 0xdfff);
        assert_int_equal(n > 0, is_character);
        if (n) {
            assert_int_equal(utf8_length(bytes, bytes + n), n);
            assert_int_equal(utf8_rune(bytes, n), rune);
            assert_int_equal(n > 1 ? utf8_length(bytes, bytes + n - 1) : 0, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_has_time_level_and_words),
        cmocka_unit_test(a_word_to_who_started_it_has_neither_as_text),
        cmocka_unit_test(nothing_can_make_two_lines_of_one_or_speak_to_a_terminal),
        cmocka_unit_test(a_line_of_json_is_always_json),
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(a_log_line_hides_them_too_and_no_line_feed_helps),
        cmocka_unit_test(characters_come_back_as_they_were_written),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
