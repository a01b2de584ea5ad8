// The reader of files of settings and of documents: what of TOML is understood, and where and how the rest is refused.
#include "base/buf.h"
#include "base/mem.h"
#include "base/text/toml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct arena arena;
    struct toml toml;
    struct toml_error error;
};

static int set_up(void **state)
{
    struct fixture *f = mem_zero(sizeof *f);
    arena_init(&f->arena);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    arena_done(&f->arena);
    mem_free(f);
    return 0;
}

// From memory that ends with the text, so that a sanitizer sees who looks beyond it.
static bool read_exactly(struct fixture *f, struct str text)
{
    char *bytes = mem_alloc(text.n ? text.n : 1);
    if (text.n)
        memcpy(bytes, text.p, text.n);
    bool good = toml_read((struct str){bytes, text.n}, &f->arena, &f->toml);
    // What is returned may point into the text: it is looked at through a copy that stays.
    if (good)
        good = toml_read(arena_copy(&f->arena, text), &f->arena, &f->toml);
    f->error = (struct toml_error){0};
    if (!good)
        f->error = f->toml.errors[0];
    mem_free(bytes);
    return good;
}

static void assert_reads(struct fixture *f, const char *text)
{
    if (!read_exactly(f, str_of(text)))
        fail_msg("%d:%d: %s\nin: %s", f->error.line, f->error.column, f->error.why, text);
}

static const struct toml_entry *entry(struct fixture *f, size_t i, const char *key)
{
    assert_true(i < f->toml.count);
    const struct toml_entry *entry = &f->toml.entries[i];
    if (!str_is(entry->key, key))
        fail_msg("entry %zu is %.*s, not %s", i, STR_ARG(entry->key), key);
    return entry;
}

static void a_settings_file_is_understood(void **state)
{
    struct fixture *f = *state;
    assert_reads(f, "# first\n"
                    "listen = \"127.0.0.1:7070\" # behind\n"
                    "\n"
                    "role = [ 'api', # one\n"
                    "  \"puller\",\n"
                    "]\r\n"
                    "[ log ]\n"
                    "level= 'C:\\raw'\n"
                    "[calls]\n"
                    "\tmax =1_024\n"
                    "\"per_host\" = -5\n"
                    "x.'y'.\"a.b\" = true\n"
                    "[a.b]\n[a]\nempty = []\nlast=\"\"");
    assert_int_equal(f->toml.count, 8);
    assert_true(str_is(entry(f, 0, "listen")->text, "127.0.0.1:7070"));
    assert_int_equal(entry(f, 0, "listen")->line, 2);
    assert_int_equal(entry(f, 0, "listen")->value_column, 10);
    const struct toml_entry *role = entry(f, 1, "role");
    assert_int_equal(role->type, TOML_STRINGS);
    assert_int_equal(role->item_count, 2);
    assert_true(str_is(role->items[1], "puller"));
    assert_true(str_is(entry(f, 2, "log.level")->text, "C:\\raw"));
    assert_int_equal(entry(f, 3, "calls.max")->number, 1024);
    assert_int_equal(entry(f, 3, "calls.max")->line, 10);
    assert_int_equal(entry(f, 3, "calls.max")->column, 2);
    assert_int_equal(entry(f, 4, "calls.per_host")->number, -5);
    assert_int_equal(entry(f, 5, "calls.x.y.\"a.b\"")->number, 1);
    assert_int_equal(entry(f, 6, "a.empty")->item_count, 0);
    assert_int_equal(entry(f, 7, "a.last")->text.n, 0);
}

static void escapes_are_decoded(void **state)
{
    struct fixture *f = *state;
    assert_reads(f, "a = \"\\b\\t\\n\\f\\r\\\"\\\\ \\u00e4 \\U0001F600 ü\"");
    assert_true(str_is(entry(f, 0, "a")->text, "\b\t\n\f\r\"\\ \xc3\xa4 \xf0\x9f\x98\x80 ü"));
}

static void an_empty_file_and_a_byte_order_mark_are_fine(void **state)
{
    struct fixture *f = *state;
    assert_reads(f, "");
    assert_reads(f, "\n\n# nothing");
    assert_reads(f, "\xef\xbb\xbf"
                    "a = 1\n");
    assert_int_equal(entry(f, 0, "a")->column, 1);
}

static void a_column_is_a_character(void **state)
{
    struct fixture *f = *state;
    assert_false(read_exactly(f, STR("a = 'äöü' x")));
    assert_int_equal(f->error.column, 11);
}

// What is refused: the text, where, and a part of the words.
static const struct {
    const char *text;
    int line, column;
    const char *says;
} wrong[] = {
    {"a", 1, 2, "= is expected"},
    {"a =", 1, 4, "a value is missing"},
    {"a = # x", 1, 5, "a value is missing"},
    {"a = b", 1, 5, "written in quotes"},
    {"= 1", 1, 1, "a name is expected"},
    {"a. = 1", 1, 4, "a name is expected"},
    {"a b = 1", 1, 3, "= is expected"},
    {"a = 1 2", 1, 7, "nothing but a comment"},
    {"a = truely", 1, 9, "nothing but a comment"},
    {"a = \"x", 1, 5, "no end on its line"},
    {"a = 'x\n'", 1, 5, "no end on its line"},
    {"a = \"\"\"x\"\"\"", 1, 5, "several lines"},
    {"a = '''x'''", 1, 5, "several lines"},
    {"a = \"\\x41\"", 1, 6, "escape is not known"},
    {"a = \"\\u12g4\"", 1, 8, "four hexadecimal digits"},
    {"a = \"\\ud800\"", 1, 8, "no character"},
    {"a = \"\\u0000\"", 1, 8, "no character"},
    {"a = \"\\U00110000\"", 1, 8, "no character"},
    {"a = \"\\", 1, 6, "escape is not known"},
    {"a = 1.5", 1, 5, "whole numbers"},
    {"a = 0x10", 1, 5, "whole numbers"},
    {"a = 007", 1, 5, "whole numbers"},
    {"a = 1__0", 1, 5, "whole numbers"},
    {"a = 1_", 1, 5, "whole numbers"},
    {"a = -", 1, 5, "whole numbers"},
    {"a = 30s", 1, 5, "\"30s\""},
    {"a = 99999999999999999999", 1, 5, "whole numbers"},
    {"a = 2026-11-16", 1, 5, "whole numbers"},
    {"a = inf", 1, 5, "written in quotes"},
    {"a = {b = 1}", 1, 5, "braces"},
    {"[[a]]", 1, 1, "lists of tables"},
    {"[a", 1, 3, "] is expected"},
    {"[]", 1, 2, "a name is expected"},
    {"[a] x", 1, 5, "nothing but a comment"},
    {"a = [1]", 1, 6, "lists hold strings"},
    {"a = [\"x\"", 1, 9, ", or ] is expected"},
    {"a = [\n'x'\n'y']", 3, 1, ", or ] is expected"},
    {"a = [,]", 1, 6, "lists hold strings"},
    {"a = ['x',,]", 1, 10, "lists hold strings"},
    {"a = [[]]", 1, 6, "lists hold strings"},
    {"a = 1\na = 2", 2, 1, "a is given a second time"},
    {"a = 1\n\"a\" = 2", 2, 1, "a is given a second time"},
    {"[a]\n[a]", 2, 2, "a is given a second time"},
    {"[a]\nb = 1\n[a.b]", 3, 2, "a.b is given a second time"},
    {"a = 1\n[a]", 2, 2, "a is given a second time"},
    {"a.b = 1\n[a]", 2, 2, "a is given a second time"},
    {"a.b = 1\na = 2", 2, 1, "a is given a second time"},
    {"a = 1\na.b = 2", 2, 1, "a is given a second time"},
    {"[a.b.c]\n[a]\nb.c = 1", 3, 1, "a.b is given a second time"},
    {"a.b.c.d.e.f.g.h.i = 1", 1, 17, "too many parts"},
    {"a = \"x\x01\"", 1, 7, "control character"},
    {"# \x7f", 1, 3, "control character"},
    {"a = '\xff'", 1, 6, "not UTF-8"},
    {"# \xc3", 1, 3, "not UTF-8"},
    {"a = 1\rb = 2", 1, 6, "nothing but a comment"},
};

static void what_is_wrong_is_said_with_its_place(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(wrong); i++) {
        if (read_exactly(f, str_of(wrong[i].text)))
            fail_msg("is taken: %s", wrong[i].text);
        if (f->error.line != wrong[i].line || f->error.column != wrong[i].column || !strstr(f->error.why, wrong[i].says))
            fail_msg("%s: %d:%d: %s", wrong[i].text, f->error.line, f->error.column, f->error.why);
    }
}

static void a_nul_is_refused_everywhere(void **state)
{
    struct fixture *f = *state;
    assert_false(read_exactly(f, (struct str){"a = '\0'", 8}));
    assert_false(read_exactly(f, (struct str){"a\0 = 1", 7}));
    assert_false(read_exactly(f, (struct str){"# \0", 3}));
    assert_false(read_exactly(f, (struct str){"a = \0", 5}));
    assert_false(read_exactly(f, (struct str){"a = 1\0", 6}));
}

// Every part of a good file, cut anywhere, and with any byte changed, is read or refused, and never looked beyond.
static void no_text_leads_astray(void **state)
{
    struct fixture *f = *state;
    static const char good[] = "# c\n[a.'b']\nx = [\"1\\u00e4\", '2' ]\ny.z = -1_0\r\nt = true # \xc3\xa4\n";
    static const char bytes[] = "\"'\\[]{}=.,#\n\r\t 0_-x\x80\xc3\xf4\xff\x01";
    char text[sizeof good];
    for (size_t n = 0; n < sizeof good; n++)
        (void)!read_exactly(f, (struct str){good, n});
    for (size_t at = 0; at + 1 < sizeof good; at++)
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(text, good, sizeof good);
            text[at] = bytes[i];
            if (!read_exactly(f, (struct str){text, sizeof good - 1}))
                assert_true(f->error.line >= 1 && f->error.column >= 1 && f->error.why[0]);
        }
}

// The lines of the errors, and the keys that were read all the same.
static void a_line_that_is_wrong_does_not_hide_the_others(void **state)
{
    static const struct {
        const char *text, *lines, *keys;
    } rows[] = {
        {"a = b\nc = 1\nd = \ne = 2", "1 3 ", "c e "},
        {"a = [b, c]\nd = 1\nd = 2\r\nx = \"\\q\"\n", "1 3 4 ", "d "},
        {"[t]\na = 'x\nb = 1", "2 ", "t.b "},
        {"a = 1\n[t\nb = c\nd = 1", "2 ", "a "},        // d would be of a table that nobody knows
        {"a = x\nb = ['y',\n z\n]\nc = 1", "1 3 ", ""}, // where the list ends is not known
        {"a = \"\"\"\nb = c\n\"\"\"\nd = 1", "1 ", ""},
        {"a = {b =\nc = d", "1 ", ""},
        {"=\n=\n=\n=\n=\n=\n=\n=\n=\n=\n=\na = 1", "1 2 3 4 5 6 7 8 9 10 ", ""},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf lines = {0}, keys = {0};
        assert_false(toml_read(str_of(rows[i].text), &f->arena, &f->toml));
        for (size_t k = 0; k < f->toml.error_count; k++)
            buf_printf(&lines, "%d ", f->toml.errors[k].line);
        for (size_t k = 0; k < f->toml.count; k++)
            buf_printf(&keys, STR_FMT " ", STR_ARG(f->toml.entries[k].key));
        buf_putc(&lines, 0);
        buf_putc(&keys, 0);
        assert_string_equal(lines.p, rows[i].lines);
        assert_string_equal(keys.p, rows[i].keys);
    }
}

static void too_many_names_are_refused(void **state)
{
    struct fixture *f = *state;
    buf_auto struct buf text = {0};
    for (int i = 0; i < TOML_NAMES_MAX; i++)
        buf_printf(&text, "k%d = 1\n", i);
    assert_true(read_exactly(f, buf_str(&text)));
    assert_int_equal(f->toml.count, TOML_NAMES_MAX);
    buf_puts(&text, "one_more = 1\n");
    assert_false(read_exactly(f, buf_str(&text)));
    assert_int_equal(f->error.line, TOML_NAMES_MAX + 1);
}

// ---- documents

// "item key=value " for each entry, the values as JSON.
static void assert_documents(struct fixture *f, const char *text, const char *wanted)
{
    buf_auto struct buf found = {0};
    if (!toml_read_documents(arena_copy(&f->arena, str_of(text)), &f->arena, &f->toml))
        fail_msg("%d:%d: %s\nin: %s", f->toml.errors[0].line, f->toml.errors[0].column, f->toml.errors[0].why, text);
    for (size_t i = 0; i < f->toml.count; i++) {
        buf_printf(&found, "%zu " STR_FMT "=", f->toml.entries[i].item, STR_ARG(f->toml.entries[i].key));
        toml_put_json(&found, &f->toml.entries[i]);
        buf_putc(&found, ' ');
    }
    buf_putc(&found, 0);
    assert_string_equal(found.p, wanted);
}

static void a_list_of_tables_has_items(void **state)
{
    struct fixture *f = *state;
    assert_documents(
        f, "a = 1\n[[t]]\nb = 2\nc.d = 3\n[[ t ]] # none\n[[u]]\nb = 4\n[[t]]\nb = 5\n[t.x]\ny = 6\n[o]\np = 7\n[t.z]\nq = 8",
        "0 a=1 1 b=2 1 c.d=3 3 b=4 4 b=5 4 x.y=6 0 o.p=7 4 z.q=8 ");
    assert_int_equal(f->toml.item_count, 4);
    assert_true(str_is(f->toml.items[2].list, "u"));
    assert_int_equal(f->toml.items[3].line, 8);
    assert_int_equal(f->toml.items[1].column, 3);
}

static void values_of_documents_are_those_of_json(void **state)
{
    struct fixture *f = *state;
    assert_documents(f, "a = [1, 'x', [true, []], {b = {c = \"\\t\"}, 'd e' = 2}, {} ]",
                     "0 a=[1,\"x\",[true,[]],{\"b\":{\"c\":\"\\t\"},\"d e\":2},{}] ");
    assert_documents(f, "a = [\n 1, # one\n 2,\n]\nb = {}", "0 a=[1,2] 0 b={} ");
    assert_documents(f, "a = 1.5\nb = -1_0.2_5e+1_0\nc = +2E-3\nd = 0.0\ne = -0\nf = +7",
                     "0 a=1.5 0 b=-10.25e10 0 c=2E-3 0 d=0.0 0 e=0 0 f=7 ");
}

static void strings_may_go_over_lines_in_documents(void **state)
{
    struct fixture *f = *state;
    assert_documents(f, "a = \"\"\"\nx\r\n y\\tz\\\n \n  w\"\" \"\"\"\nb = 1", "0 a=\"x\\n y\\tzw\\\"\\\" \" 0 b=1 ");
    assert_documents(f, "a = '''x\\\ny'''\nb = \"\"\"\"\"\"", "0 a=\"x\\\\\\ny\" 0 b=\"\" ");
    assert_documents(f, "a = \"\"\"x\"\"\"\"\"", "0 a=\"x\\\"\\\"\" ");
    assert_int_equal(f->toml.entries[0].value_line, 1);
}

static void what_documents_cannot_have_is_said_with_its_place(void **state)
{
    static const struct {
        const char *text;
        int line, column;
        const char *says;
    } rows[] = {
        {"[[a.b]]", 1, 3, "lists in tables"},
        {"[[a]", 1, 4, "]] is expected"},
        {"[[a] ]", 1, 4, "]] is expected"},
        {"[[a]] x", 1, 7, "nothing but a comment"},
        {"[a]\n[[a]]", 2, 3, "a is given a second time"},
        {"[[a]]\n[a]", 2, 2, "a is given a second time"},
        {"[a.b]\n[[a]]", 2, 3, "a is given a second time"},
        {"a = 1\n[[a]]", 2, 3, "a is given a second time"},
        {"a = []\n[[a]]", 2, 3, "a is given a second time"},
        {"[[a]]\nb = 1\nb = 2", 3, 1, "a[1].b is given a second time"},
        {"[[a]]\nb = {}\nb.c = 2", 3, 1, "a[1].b is given a second time"},
        {"[[a]]\n[a.b]\n[a.b]", 3, 2, "a[1].b is given a second time"},
        {"a = {b = 1, b = 2}", 1, 13, "given a second time"},
        {"a = {b.c = 1}", 1, 7, "no dots"},
        {"a = {b = 1,}", 1, 12, "a name is expected"},
        {"a = {b = 1\n}", 1, 11, ", or } is expected"},
        {"a = {b}", 1, 7, "= is expected"},
        {"a = {", 1, 6, "a name is expected"},
        {"a = [1 2]", 1, 8, ", or ] is expected"},
        {"a = [1,,2]", 1, 8, "written in quotes"},
        {"a = [", 1, 6, "a value is missing"},
        {"a = [[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]", 1, 21, "too deep"},
        {"a = \"\"\"x\n\"\"", 1, 5, "no end"},
        {"a = \"\"\"\n\\q\"\"\"", 2, 1, "escape is not known"},
        {"a = '''\n\x01'''", 2, 1, "control character"},
        {"\"\"\"a\"\"\" = 1", 1, 1, "several lines"},
        {"a = 1.", 1, 5, "numbers in decimal"},
        {"a = 1.e5", 1, 5, "numbers in decimal"},
        {"a = 1e", 1, 5, "numbers in decimal"},
        {"a = 01.5", 1, 5, "numbers in decimal"},
        {"a = 1._5", 1, 5, "numbers in decimal"},
        {"a = 0x1f", 1, 5, "numbers in decimal"},
        {"a = 2026-11-16", 1, 5, "numbers in decimal"},
        {"a = 99999999999999999999", 1, 5, "numbers in decimal"},
        {"a = nan", 1, 5, "written in quotes"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        if (toml_read_documents(str_of(rows[i].text), &f->arena, &f->toml))
            fail_msg("is taken: %s", rows[i].text);
        const struct toml_error *error = &f->toml.errors[0];
        if (error->line != rows[i].line || error->column != rows[i].column || !strstr(error->why, rows[i].says))
            fail_msg("%s: %d:%d: %s", rows[i].text, error->line, error->column, error->why);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_settings_file_is_understood),
        TEST(escapes_are_decoded),
        TEST(an_empty_file_and_a_byte_order_mark_are_fine),
        TEST(a_column_is_a_character),
        TEST(what_is_wrong_is_said_with_its_place),
        TEST(a_nul_is_refused_everywhere),
        TEST(no_text_leads_astray),
        TEST(a_line_that_is_wrong_does_not_hide_the_others),
        TEST(too_many_names_are_refused),
        TEST(a_list_of_tables_has_items),
        TEST(values_of_documents_are_those_of_json),
        TEST(strings_may_go_over_lines_in_documents),
        TEST(what_documents_cannot_have_is_said_with_its_place),
    };
    return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
