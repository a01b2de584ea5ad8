// The strict checker, and the slices it leaves behind.
#include "base/text/json.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct json must_check(struct str text)
{
    struct json value;
    char why[ERR_WHY_MAX] = "";
    if (json_check(text, &value, why))
        fail_msg("refused %.*s: %s", (int)text.n, text.p, why);
    return value;
}

// A copy of exactly its size on the heap, so that the sanitizer sees a read past the end.
static enum err check_copy(struct str text, char why[ERR_WHY_MAX])
{
    struct json value;
    char *copy = mem_alloc(text.n);
    memcpy(copy, text.p, text.n);
    enum err err = json_check((struct str){copy, text.n}, &value, why);
    mem_free(copy);
    return err;
}

static void good_texts_pass(void **state)
{
    static const struct {
        const char *text;
        enum json_type type;
        const char *raw;
    } rows[] = {
        {"{}", JSON_OBJECT, "{}"},
        {" [ ] ", JSON_ARRAY, "[ ]"},
        {"\t\r\n null\n", JSON_NULL, "null"},
        {"true", JSON_TRUE, "true"},
        {"false", JSON_FALSE, "false"},
        {"0", JSON_NUMBER, "0"},
        {"-0", JSON_NUMBER, "-0"},
        {"-0.0e-0", JSON_NUMBER, "-0.0e-0"},
        {"123.25E+10", JSON_NUMBER, "123.25E+10"},
        {"1.7976931348623157e308", JSON_NUMBER, "1.7976931348623157e308"},
        {"17976931348623157e292", JSON_NUMBER, "17976931348623157e292"},
        {"0.0000017976931348623157e314", JSON_NUMBER, "0.0000017976931348623157e314"},
        {"5e-324", JSON_NUMBER, "5e-324"},
        {"0e999999999999999999999999", JSON_NUMBER, "0e999999999999999999999999"},
        {"123456789012345678901234567890", JSON_NUMBER, "123456789012345678901234567890"},
        {"\"\"", JSON_STRING, "\"\""},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", JSON_STRING, "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""},
        {"\"\\ud83d\\ude00\"", JSON_STRING, "\"\\ud83d\\ude00\""},
        {"\"\x7f\xc2\x80\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"", JSON_STRING, NULL},
        {"{\"a\":1,\"A\":2,\"\":3,\"ab\":4}", JSON_OBJECT, NULL},
        {"{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}", JSON_OBJECT, NULL},
        {"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", JSON_ARRAY, NULL}, // 32 deep
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        char why[ERR_WHY_MAX];
        struct json value = must_check(str_of(rows[i].text));
        assert_int_equal(value.type, rows[i].type);
        assert_true(str_is(value.raw, rows[i].raw ? rows[i].raw : rows[i].text));
        assert_int_equal(check_copy(str_of(rows[i].text), why), ERR_OK);
    }
}

static void bad_texts_are_refused_with_their_place(void **state)
{
#define TEXT(literal)                \
    {                                \
        literal, sizeof(literal) - 1 \
    }
    static const struct {
        struct str text;
        const char *why;
    } rows[] = {
        {TEXT(""), "Line 1, column 1: the text ends where a value was expected."},
        {TEXT("  "), "Line 1, column 3: the text ends"},
        {TEXT("{"), "Line 1, column 2: a key in quotes"},
        {TEXT("{\"a\""), "Line 1, column 5: a colon"},
        {TEXT("{\"a\":"), "Line 1, column 6: the text ends"},
        {TEXT("{\"a\":1"), "Line 1, column 7: a comma or }"},
        {TEXT("{\"a\":1,"), "Line 1, column 8: a key in quotes"},
        {TEXT("{\"a\":1,}"), "Line 1, column 8: a key in quotes"},
        {TEXT("{a:1}"), "Line 1, column 2: a key in quotes"},
        {TEXT("{'a':1}"), "Line 1, column 2: a key in quotes"},
        {TEXT("{1:1}"), "Line 1, column 2: a key in quotes"},
        {TEXT("{\"a\" 1}"), "Line 1, column 6: a colon"},
        {TEXT("[1,]"), "Line 1, column 4: a value"},
        {TEXT("[,1]"), "Line 1, column 2: a value"},
        {TEXT("[1 2]"), "Line 1, column 4: a comma or ]"},
        {TEXT("[1}"), "Line 1, column 3: a comma or ]"},
        {TEXT("[1"), "Line 1, column 3: a comma or ]"},
        {TEXT("["), "Line 1, column 2: the text ends"},
        {TEXT("]"), "Line 1, column 1: a value"},
        {TEXT("{} {}"), "Line 1, column 4: there is more text"},
        {TEXT("{}\n\nx"), "Line 3, column 1: there is more text"},
        {TEXT("{}\0"), "Line 1, column 3: there is more text"},
        {TEXT("nul"), "Line 1, column 1: a value"},
        {TEXT("True"), "Line 1, column 1: a value"},
        {TEXT("nullx"), "Line 1, column 5: there is more text"},
        {TEXT("NaN"), "Line 1, column 1: a value"},
        {TEXT("-Infinity"), "Line 1, column 1: a number needs a digit"},
        {TEXT("// x\n1"), "Line 1, column 1: a value"},
        {TEXT("\xef\xbb\xbf{}"), "Line 1, column 1: a value"},
        {TEXT("\v1"), "Line 1, column 1: a value"},
        {TEXT("+1"), "Line 1, column 1: a value"},
        {TEXT("-"), "Line 1, column 1: a number needs a digit"},
        {TEXT("01"), "Line 1, column 1: a number must not begin with 0"},
        {TEXT("-01"), "Line 1, column 1: a number must not begin with 0"},
        {TEXT("1."), "Line 1, column 2: a number needs a digit behind"},
        {TEXT(".5"), "Line 1, column 1: a value"},
        {TEXT("1.e5"), "Line 1, column 2: a number needs a digit behind"},
        {TEXT("1e"), "Line 1, column 2: a number needs a digit in its exponent"},
        {TEXT("1e+"), "Line 1, column 2: a number needs a digit in its exponent"},
        {TEXT("0x10"), "Line 1, column 2: there is more text"},
        {TEXT("1e309"), "Line 1, column 1: a number is too large"},
        {TEXT("-1e999999999999999999999"), "Line 1, column 1: a number is too large"},
        {TEXT("1.8e308"), "Line 1, column 1: a number is too large"},
        {TEXT("1e-400"), "Line 1, column 1: a number is too large or too small"},
        {TEXT("\""), "Line 1, column 1: a string is not closed"},
        {TEXT("\"abcdefghijklmnop"), "Line 1, column 1: a string is not closed"},
        {TEXT("\"\\"), "Line 1, column 2: a string is not closed"},
        {TEXT("\"\\\""), "Line 1, column 1: a string is not closed"},
        {TEXT("\"\\x41\""), "Line 1, column 2: there is no such escape"},
        {TEXT("\"\\\0\""), "Line 1, column 2: there is no such escape"},
        {TEXT("\"\\u12\""), "Line 1, column 2: \\u needs four"},
        {TEXT("\"\\u12g4\""), "Line 1, column 2: \\u needs four"},
        {TEXT("\"\\u"), "Line 1, column 2: \\u needs four"},
        {TEXT("\"\\u0000\""), "Line 1, column 2: a string must not hold NUL"},
        {TEXT("\"a\0b\""), "Line 1, column 3: a string must not hold NUL"},
        {TEXT("\"a\nb\""), "Line 1, column 3: a control character"},
        {TEXT("\"12345678\x1f\""), "Line 1, column 10: a control character"},
        {TEXT("\"\\ud800\""), "Line 1, column 2: a high surrogate"},
        {TEXT("\"\\ud800\\u0041\""), "Line 1, column 2: a high surrogate"},
        {TEXT("\"\\ud800\\ud800\""), "Line 1, column 2: a high surrogate"},
        {TEXT("\"\\ud83d"), "Line 1, column 2: a high surrogate"},
        {TEXT("\"\\udc00\""), "Line 1, column 2: a low surrogate"},
        {TEXT("\"\xc3\xa9\xff\""), "Line 1, column 3: this is not UTF-8"},
        {TEXT("\"\x80\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xc0\x80\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xc3\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xe2\x82"), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xe0\x9f\xbf\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xed\xa0\x80\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xf0\x8f\xbf\xbf\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xf4\x90\x80\x80\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("\"\xf8\x88\x80\x80\x80\""), "Line 1, column 2: this is not UTF-8"},
        {TEXT("{\"a\":1,\"a\":2}"), "Line 1, column 8: a key is given twice"},
        {TEXT("{\"a\":1,\n \"\\u0061\":2}"), "Line 2, column 2: a key is given twice"},
        {TEXT("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), "Line 1, column 19: a key is given twice"},
        {TEXT("{\"\":1,\"\":2}"), "Line 1, column 7: a key is given twice"},
        {TEXT("[{\"x\":{\"b\":1,\"c\":[],\"b\":2}}]"), "Line 1, column 21: a key is given twice"},
        {TEXT("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
         "Line 1, column 33: this is nested too deeply"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        char why[ERR_WHY_MAX] = "";
        assert_int_equal(check_copy(rows[i].text, why), ERR_INVALID_JSON);
        if (!str_starts(str_of(why), str_of(rows[i].why)))
            fail_msg("row %zu %s: said \"%s\"", i, rows[i].text.p, why);
    }
}

// Cutting a good text anywhere makes a bad one: nothing reads past the end and nothing passes.
static void every_prefix_is_refused(void **state)
{
    struct str text = STR("{\"a\\u00e9\\ud83d\\ude00\":[1.5e3,true,false,null,\"\xe2\x82\xac\"],\"b\":{\"c\":-0.25}}");
    char why[ERR_WHY_MAX];
    for (size_t n = 0; n < text.n; n++)
        assert_int_equal(check_copy((struct str){text.p, n}, why), ERR_INVALID_JSON);
    assert_int_equal(check_copy(text, why), ERR_OK);
}

static void put_keys(struct buf *buf, int count, const char *last)
{
    buf_putc(buf, '{');
    for (int i = 0; i < count; i++)
        buf_printf(buf, "\"key%d\":{\"a\":[1,\"}\"]},", i);
    buf_printf(buf, "\"%s\":0}", last);
}

static void many_keys_are_compared_too(void **state)
{
    static const int counts[] = {1, 15, 16, 17, 200, 10000};
    for (size_t i = 0; i < array_count(counts); i++) {
        buf_auto struct buf good = {0}, bad = {0}, hidden = {0};
        char why[ERR_WHY_MAX] = "";
        put_keys(&good, counts[i], "other");
        put_keys(&bad, counts[i], "key0");
        put_keys(&hidden, counts[i], "k\\u0065y0");
        assert_int_equal(check_copy(buf_str(&good), why), ERR_OK);
        assert_int_equal(check_copy(buf_str(&bad), why), ERR_INVALID_JSON);
        assert_non_null(strstr(why, "twice"));
        assert_int_equal(check_copy(buf_str(&hidden), why), ERR_INVALID_JSON);
        assert_non_null(strstr(why, "twice"));
    }
}

// Each level has more keys than are compared as they come, before and behind the level below.
static void put_levels(struct buf *buf, int depth, const char *last)
{
    buf_puts(buf, "{");
    for (int i = 0; i < 20; i++)
        buf_printf(buf, "\"a%d\":0,", i);
    buf_puts(buf, "\"below\":");
    if (depth)
        put_levels(buf, depth - 1, last);
    else
        buf_puts(buf, "[]");
    for (int i = 0; i < 20; i++)
        buf_printf(buf, ",\"b%d\":0", i);
    buf_printf(buf, ",\"%s\":0}", last);
}

static void keys_are_compared_within_their_own_object(void **state)
{
    buf_auto struct buf good = {0}, bad = {0}, hidden = {0};
    char why[ERR_WHY_MAX] = "";
    put_levels(&good, 10, "c");
    put_levels(&bad, 10, "a7");
    put_levels(&hidden, 10, "b\\u0037");
    assert_int_equal(check_copy(buf_str(&good), why), ERR_OK);
    assert_int_equal(check_copy(buf_str(&bad), why), ERR_INVALID_JSON);
    assert_non_null(strstr(why, "twice"));
    assert_int_equal(check_copy(buf_str(&hidden), why), ERR_INVALID_JSON);
    assert_non_null(strstr(why, "twice"));
}

static void a_text_that_passed_is_only_read_when_it_is_checked_again(void **state)
{
    struct json value;
    char why[ERR_WHY_MAX] = "";
    buf_auto struct buf twice = {0};
    put_keys(&twice, 200, "key0");
    assert_int_equal(json_check_again(buf_str(&twice), &value, why), ERR_OK);
    assert_int_equal(json_check_again(STR(" {\"a\":[1,{}]} "), &value, why), ERR_OK);
    assert_true(str_is(value.raw, "{\"a\":[1,{}]}"));
    assert_int_equal(json_check_again(STR("{\"a\":[1,{}}"), &value, why), ERR_INVALID_JSON);
    assert_int_equal(json_check_again(STR("{\"a\":\"\xff\"}"), &value, why), ERR_INVALID_JSON);
}

static void walks_give_members_and_items(void **state)
{
    struct json doc =
        must_check(STR(" { \"a\" : 1 , \"b\":[ ] ,\"c\\n\":{\"x\":\"}\\\"]\"}, \"d\":[1, \"two\",[3] ,{},null,true,false] } "));
    static const struct {
        const char *key, *value;
        enum json_type type;
    } rows[] = {{"\"a\"", "1", JSON_NUMBER},
                {"\"b\"", "[ ]", JSON_ARRAY},
                {"\"c\\n\"", "{\"x\":\"}\\\"]\"}", JSON_OBJECT},
                {"\"d\"", "[1, \"two\",[3] ,{},null,true,false]", JSON_ARRAY}};
    static const char *const items[] = {"1", "\"two\"", "[3]", "{}", "null", "true", "false"};
    struct json key, value;
    struct json_iter iter = json_iter(doc);
    for (size_t i = 0; i < array_count(rows); i++) {
        assert_true(json_next(&iter, &key, &value));
        assert_true(str_is(key.raw, rows[i].key));
        assert_true(str_is(value.raw, rows[i].value));
        assert_int_equal(value.type, rows[i].type);
    }
    assert_false(json_next(&iter, &key, &value));
    iter = json_iter(value);
    for (size_t i = 0; i < array_count(items); i++) {
        assert_true(json_next_item(&iter, &key));
        assert_true(str_is(key.raw, items[i]));
    }
    assert_false(json_next_item(&iter, &key));
    iter = json_iter(json_member(doc, STR("b")));
    assert_false(json_next_item(&iter, &key));
    iter = json_iter(json_member(doc, STR("a")));
    assert_false(json_next_item(&iter, &key));
}

static void members_are_found_by_their_decoded_name(void **state)
{
    struct json doc = must_check(STR("{\"abc\":1,\"a\\u0062\":2,\"\\ud83d\\ude00\":3,\"\":4}"));
    assert_true(str_is(json_member(doc, STR("abc")).raw, "1"));
    assert_true(str_is(json_member(doc, STR("ab")).raw, "2"));
    assert_true(str_is(json_member(doc, STR("\xf0\x9f\x98\x80")).raw, "3"));
    assert_true(str_is(json_member(doc, STR("")).raw, "4"));
    assert_int_equal(json_member(doc, STR("a")).type, JSON_ABSENT);
    assert_int_equal(json_member(doc, STR("abcd")).type, JSON_ABSENT);
    assert_int_equal(json_member(must_check(STR("[1]")), STR("a")).type, JSON_ABSENT);
}

static void text_is_decoded_only_where_it_must_be(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct str plain = STR("\"h\xc3\xa9llo\"");
    struct str text = json_text(must_check(plain), &arena);
    assert_ptr_equal(text.p, plain.p + 1);
    assert_int_equal(text.n, 6);
    assert_null(arena.chunk);
    text = json_text(must_check(STR("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00E9\\u20ac\\uD83D\\uDE00.\"")), &arena);
    assert_true(str_is(text, "\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80."));
    arena_done(&arena);
}

static void whole_numbers_are_read_however_they_are_written(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"0.000", true, 0},
        {"7", true, 7},
        {"-7", true, -7},
        {"1000000", true, 1000000},
        {"1e3", true, 1000},
        {"1.0", true, 1},
        {"1.50e1", true, 15},
        {"100e-2", true, 1},
        {"0.0012e4", true, 12},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"922337203685477580700e-2", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999999", false, 0},
        {"1e19", false, 0},
        {"1e300", false, 0},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"100.5", false, 0},
        {"1.0000000000000000000001", false, 0},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        int64_t value = 42;
        assert_int_equal(json_int(must_check(str_of(rows[i].text)), &value), rows[i].good);
        assert_true(value == (rows[i].good ? rows[i].value : 42));
    }
}

static void strings_are_written_so_that_they_read_back(void **state)
{
    static const struct {
        struct str text;
        const char *json;
    } rows[] = {
        {TEXT(""), "\"\""},
        {TEXT("plain text, longer than eight"), "\"plain text, longer than eight\""},
        {TEXT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\""},
        {TEXT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
        {TEXT("\x01\x1f\0\x7f"), "\"\\u0001\\u001f\\u0000\x7f\""},
        {TEXT("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\""},
        {TEXT("a\xff\xc3z\xe2\x82"), "\"a\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf buf = {0};
        json_put_string(&buf, rows[i].text);
        assert_true(str_is(buf_str(&buf), rows[i].json));
    }
    buf_auto struct buf buf = {0};
    struct arena arena;
    arena_init(&arena);
    struct str text = STR("x\"\\\n\x02\xe2\x82\xac/");
    json_put_string(&buf, text);
    assert_true(str_eq(json_text(must_check(buf_str(&buf)), &arena), text));
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_pass),
        cmocka_unit_test(bad_texts_are_refused_with_their_place),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(many_keys_are_compared_too),
        cmocka_unit_test(keys_are_compared_within_their_own_object),
        cmocka_unit_test(a_text_that_passed_is_only_read_when_it_is_checked_again),
        cmocka_unit_test(walks_give_members_and_items),
        cmocka_unit_test(members_are_found_by_their_decoded_name),
        cmocka_unit_test(text_is_decoded_only_where_it_must_be),
        cmocka_unit_test(whole_numbers_are_read_however_they_are_written),
        cmocka_unit_test(strings_are_written_so_that_they_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
