// The tasks of a file: one, an array, or one a line.
#include "cli/documents.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

// A file with this in it, opened. False when it cannot be used at all.
static bool open_text(struct documents *documents, struct str text, char why[ERR_WHY_MAX])
{
    char path[] = "/tmp/test_documents.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);
        assert_true(n > 0);
        text = (struct str){text.p + n, text.n - (size_t)n};
    }
    close(fd);
    bool good = documents_open(documents, path, why);
    unlink(path);
    return good;
}

static void assert_next(struct documents *documents, size_t number, const char *text)
{
    struct document document;
    assert_true(documents_next(documents, &document));
    assert_int_equal(document.number, number);
    if (document.err)
        fail_msg("%s", document.why);
    assert_true(str_is(document.json.raw, text));
}

static void assert_refused(struct documents *documents, size_t number, enum err err, const char *why)
{
    struct document document;
    assert_true(documents_next(documents, &document));
    assert_int_equal(document.number, number);
    assert_int_equal(document.err, err);
    assert_string_equal(document.why, why);
}

static void assert_end(struct documents *documents)
{
    struct document document;
    assert_false(documents_next(documents, &document));
    assert_int_equal(documents->error, 0);
    documents_close(documents);
}

#define OPENED(documents, text)            \
    char why[ERR_WHY_MAX];                 \
    if (!open_text(&documents, text, why)) \
    fail_msg("%s", why)

static void lines_are_counted_as_an_editor_does(void **state)
{
    struct documents documents;
    OPENED(documents, STR("\n{\"a\":1}\r\n \t\n{\"b\": 2}\n{\"c\":3}"));
    assert_next(&documents, 2, "{\"a\":1}");
    assert_next(&documents, 4, "{\"b\": 2}");
    assert_next(&documents, 5, "{\"c\":3}");
    assert_end(&documents);
}

static void a_wrong_line_does_not_harm_the_others(void **state)
{
    struct documents documents;
    OPENED(documents, STR("{\"a\":1}\n{\"a\":1,}\n[]\n{\"b\":2}\n"));
    assert_next(&documents, 1, "{\"a\":1}");
    assert_refused(&documents, 2, ERR_INVALID_JSON, "column 8: a key in quotes was expected here.");
    assert_refused(&documents, 3, ERR_INVALID_FIELD, "A task is a JSON object.");
    assert_next(&documents, 4, "{\"b\":2}");
    assert_end(&documents);
}

static void an_array_is_its_items(void **state)
{
    struct documents documents;
    OPENED(documents, STR(" [ {\"a\":\n1} , 5,{}\n]\n"));
    assert_next(&documents, 0, "{\"a\":\n1}");
    assert_refused(&documents, 1, ERR_INVALID_FIELD, "A task is a JSON object.");
    assert_next(&documents, 2, "{}");
    assert_end(&documents);
}

static void an_object_may_go_over_lines(void **state)
{
    struct documents documents;
    OPENED(documents, STR("{\n  \"a\": {\n  }\n}\n"));
    assert_next(&documents, 0, "{\n  \"a\": {\n  }\n}");
    assert_end(&documents);
}

static void nothing_is_no_task(void **state)
{
    static const struct str rows[] = {{"", 0}, {"\n \n", 3}, {"[]", 2}};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct documents documents;
        OPENED(documents, rows[i]);
        assert_end(&documents);
    }
}

static void of_one_text_nothing_is_used_when_its_end_is_wrong(void **state)
{
    static const struct {
        struct str text;
        const char *why;
    } rows[] = {{{"[{\"a\":1},\n{\"b\":]", 17}, "Line 2, column 6: a value was expected here."},
                {{"{\n\"a\":1\n", 9}, "Line 3, column 1: a comma or } was expected here."},
                {{"nonsense", 8}, "Line 1, column 1: a value was expected here."}};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct documents documents;
        char why[ERR_WHY_MAX];
        assert_false(open_text(&documents, rows[i].text, why));
        assert_string_equal(why, rows[i].why);
        documents_close(&documents);
    }
}

static void a_line_that_is_too_long_is_passed_over(void **state)
{
    enum { LONG = 3 << 20 };
    struct documents documents;
    buf_auto struct buf text = {0};
    buf_puts(&text, "{\"a\":1}\n");
    for (int i = 0; i < LONG; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, "\n{\"b\":2}\n");
    OPENED(documents, buf_str(&text));
    assert_next(&documents, 1, "{\"a\":1}");
    assert_refused(&documents, 2, ERR_TOO_LARGE, "The line has more than 1 MiB, which is the most a task may have.");
    assert_next(&documents, 3, "{\"b\":2}");
    assert_int_equal(documents.given, text.n);
    assert_true(documents.text.cap < LONG);
    assert_end(&documents);
}

static void memory_does_not_grow_with_the_number_of_lines(void **state)
{
    enum { LINES = 100000 };
    struct documents documents;
    buf_auto struct buf text = {0};
    for (int i = 0; i < LINES; i++)
        buf_printf(&text, "{\"number\":%d,\"padding\":\"................................\"}\n", i);
    OPENED(documents, buf_str(&text));
    struct document document;
    for (size_t i = 1; i <= LINES; i++) {
        assert_true(documents_next(&documents, &document));
        assert_int_equal(document.number, i);
        assert_int_equal(document.err, ERR_OK);
    }
    assert_true(documents.text.cap < 1 << 20);
    assert_end(&documents);
}

static void a_huge_text_that_is_neither_is_not_read_to_its_end(void **state)
{
    struct documents documents;
    buf_auto struct buf text = {0};
    char why[ERR_WHY_MAX];
    buf_puts(&text, "{\"a\":1,}\n");
    while (text.n < 5 << 20)
        buf_puts(&text, "{\"a\":1}\n");
    assert_false(open_text(&documents, buf_str(&text), why));
    assert_string_equal(why,
                        "its first line is not a task (Line 1, column 8: a key in quotes was expected here.), and a task may "
                        "have at most 1 MiB");
    assert_true(documents.text.n < 2 << 20);
    documents_close(&documents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_counted_as_an_editor_does),
        cmocka_unit_test(a_wrong_line_does_not_harm_the_others),
        cmocka_unit_test(an_array_is_its_items),
        cmocka_unit_test(an_object_may_go_over_lines),
        cmocka_unit_test(nothing_is_no_task),
        cmocka_unit_test(of_one_text_nothing_is_used_when_its_end_is_wrong),
        cmocka_unit_test(a_line_that_is_too_long_is_passed_over),
        cmocka_unit_test(memory_does_not_grow_with_the_number_of_lines),
        cmocka_unit_test(a_huge_text_that_is_neither_is_not_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
