// Files of tasks: what TOML and JSON become, and where what is wrong is said to be.
#include "cli/apply_file.h"

#include "base/mem.h"
#include "base/text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct apply_file files;
static struct buf problems;

static int set_up(void **state)
{
    apply_file_init(&files);
    problems = (struct buf){0};
    return 0;
}

static int tear_down(void **state)
{
    apply_file_done(&files);
    buf_done(&problems);
    return 0;
}

static void assert_adds(const char *file, const char *text)
{
    if (!apply_file_add(&files, file, str_of(text), &problems))
        fail_msg("%.*s", STR_ARG(buf_str(&problems)));
}

static void assert_refuses(const char *file, const char *text, const char *words)
{
    problems.n = 0;
    assert_false(apply_file_add(&files, file, str_of(text), &problems));
    if (!str_is(buf_str(&problems), words))
        fail_msg("of %s:\n%.*s", text, STR_ARG(buf_str(&problems)));
}

static void assert_task(size_t at, const char *name, const char *json)
{
    assert_true(at < files.count);
    if (!str_is(files.tasks[at].name, name) || !str_is(files.tasks[at].json, json))
        fail_msg("task %zu is %.*s: %.*s", at, STR_ARG(files.tasks[at].name), STR_ARG(files.tasks[at].json));
}

static void a_table_becomes_the_object_that_it_stands_for(void **state)
{
    assert_adds("t.toml", "# two\n"
                          "[[task]]\n"
                          "name = \"a\"\n"
                          "retry.max = 3\n"
                          "headers = { A = \"b\", \"C.d\" = 'e' }\n"
                          "retry.delay = \"5s\"\n"
                          "success_codes = [ \"2xx\", 304 ]\n"
                          "\n"
                          "[task.body]\n"
                          "x.\"y.\\\"z\" = true\n"
                          "n = [1, [2.5, -1e3], {}]\n"
                          "\n"
                          "[[task]]\n"
                          "name = '\"b\"'\n"
                          "body = \"\"\"\n"
                          "one\n"
                          "two\"\"\"\n");
    assert_int_equal(files.count, 2);
    assert_task(0, "a",
                "{\"name\":\"a\",\"retry\":{\"max\":3,\"delay\":\"5s\"},\"headers\":{\"A\":\"b\",\"C.d\":\"e\"},"
                "\"success_codes\":[\"2xx\",304],\"body\":{\"x\":{\"y.\\\"z\":true},\"n\":[1,[2.5,-1e3],{}]}}");
    assert_task(1, "\"b\"", "{\"name\":\"\\\"b\\\"\",\"body\":\"one\\ntwo\"}");
    assert_int_equal(files.tasks[1].number, 13);
}

static void json_is_an_array_or_an_object_that_has_one(void **state)
{
    assert_adds("a.json", " [ {\"name\": \"a\", \"n\": 1.0} , {\"x\": [ ], \"name\": \"\\u0062\"} ]");
    assert_adds("b.json", "{\"tasks\": [{\"name\":\"c\"}]}");
    assert_int_equal(files.count, 3);
    assert_task(0, "a", "{\"name\": \"a\", \"n\": 1.0}");
    assert_task(1, "b", "{\"x\": [ ], \"name\": \"\\u0062\"}");
    assert_task(2, "c", "{\"name\":\"c\"}");
    assert_int_equal(files.tasks[1].number, 1);
    assert_false(files.tasks[1].from_toml);
}

static void a_file_without_tasks_is_fine(void **state)
{
    static const struct {
        const char *file, *text;
    } rows[] = {{"a.toml", ""}, {"-", ""}, {"-", "# nothing\n"}, {"a.json", "[]"}, {"-", "{\"tasks\": []}"}};
    for (size_t i = 0; i < array_count(rows); i++)
        assert_adds(rows[i].file, rows[i].text);
    assert_int_equal(files.count, 0);
}

static void a_file_without_a_known_ending_is_known_by_how_it_begins(void **state)
{
    static const struct {
        const char *text;
        bool toml;
    } rows[] = {
        {"[[task]]\nname = 'a'", true},      {" \n[ [ task ]]", true},
        {"# {\n[[task]]\nname = 'b'", true}, {"[{\"name\": \"c\"}]", false},
        {"\n[\n {\"name\": \"d\"}]", false}, {"{\"tasks\": [{\"name\": \"e\"}]}", false},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        size_t before = files.count;
        if (apply_file_add(&files, "-", str_of(rows[i].text), &problems))
            assert_int_equal(files.tasks[before].from_toml, rows[i].toml);
        else
            assert_int_equal(i, 1); // [ [ is neither
    }
    assert_int_equal(files.count, 5);
}

static void a_name_comes_once_in_all_files(void **state)
{
    assert_adds("a.toml", "[[task]]\nname = 'x'\n[[task]]\nname = 'y'\n");
    assert_refuses("b.json", "[{\"name\": \"z\"}, {\"name\": \"y\"}]",
                   "b.json[1]: the name y is given a second time; the first is at a.toml:3\n");
    assert_refuses("c.toml", "\n[[task]]\nname = 'z'",
                   "c.toml:2: the name z is given a second time; the first is at b.json[0]\n");
}

static void many_names_are_told_apart(void **state)
{
    buf_auto struct buf text = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "[[task]]\nname = '%d'\nurl = 'http://h'\n", i);
    buf_putc(&text, 0);
    assert_adds("a.toml", text.p);
    assert_int_equal(files.count, 5000);
    for (size_t i = 0; i < files.count; i++)
        assert_int_equal(files.tasks[i].number, 1 + 3 * i);
    assert_refuses("b.toml", "[[task]]\nname = '4999'",
                   "b.toml:1: the name 4999 is given a second time; the first is at a.toml:14998\n");
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    static const struct {
        const char *file, *text, *words;
    } rows[] = {
        {"t.toml", "[[task]]\nurl = 'x'\n", "t.toml:1: a task needs a name, which is a text\n"},
        {"t.toml", "\n[[task]]\n", "t.toml:2: a task needs a name, which is a text\n"},
        {"t.toml", "[[task]]\nname = 3\n", "t.toml:1: a task needs a name, which is a text\n"},
        {"t.toml", "[[task]]\nname = ''\n", "t.toml:1: a task needs a name, which is a text\n"},
        {"t.toml", "[[tasks]]\nname = 'x'\n", "t.toml:1:3: a task is written [[task]]\n"},
        {"t.toml", "a = 1\n[b]\nc = 2\n",
         "t.toml:1:1: a stands in no task: each begins with [[task]]\nt.toml:3:1: b.c stands in no task: each begins with "
         "[[task]]\n"},
        {"t.toml", "[task]\nname = 'x'\n", "t.toml:2:1: task.name stands in no task: each begins with [[task]]\n"},
        {"t.toml", "[[task]]\na = \nb =\n", "t.toml:2:5: a value is missing here\nt.toml:3:4: a value is missing here\n"},
        {"t.toml", "[[task]]\nname = 'x'\na = 1e999\n", "t.toml:1: a number is too large or too small to be represented.\n"},
        {"t.json", "[{\"name\": \"x\"},]", "t.json: Line 1, column 16: a value was expected here.\n"},
        {"t.json", "[{\"url\": \"x\"}, 5]", "t.json[0]: a task needs a name, which is a text\nt.json[1]: a task is an object\n"},
        {"t.json", "{\"name\": \"x\"}",
         "t.json: name is not known here; an object has only tasks, an array of them\n"
         "t.json: a file of tasks is an array of objects, or {\"tasks\": […]}\n"},
        {"t.json", "{\"tasks\": [], \"x\": 1}", "t.json: x is not known here; an object has only tasks, an array of them\n"},
        {"t.json", "3", "t.json: a file of tasks is an array of objects, or {\"tasks\": […]}\n"},
        {"t.json", "", "t.json: Line 1, column 1: the text ends where a value was expected.\n"},
    };
    for (size_t i = 0; i < array_count(rows); i++)
        assert_refuses(rows[i].file, rows[i].text, rows[i].words);
    assert_int_equal(files.count, 0);
}

static void a_document_gets_the_label_of_its_set(void **state)
{
    static const struct {
        const char *json, *wanted; // without its name; NULL: refused
    } rows[] = {
        {"", "{\"labels\":{\"rota.set\":\"s\\\"\"},\"name\":\"x\"}"},
        {", \"a\": [ 1 ]", "{\"labels\":{\"rota.set\":\"s\\\"\"},\"name\":\"x\",\"a\":[ 1 ]}"},
        {", \"labels\": {\"b\": \"c\"}, \"d\": {}", "{\"labels\":{\"rota.set\":\"s\\\"\",\"b\":\"c\"},\"name\":\"x\",\"d\":{}}"},
        {", \"labels\": {}", "{\"labels\":{\"rota.set\":\"s\\\"\"},\"name\":\"x\"}"},
        {", \"labels\": null", NULL},
        {", \"labels\": {\"rota.set\": \"t\"}", NULL},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf text = {0}, document = {0};
        char why[ERR_WHY_MAX] = "";
        buf_printf(&text, "[{\"name\": \"x\"%s}]", rows[i].json);
        buf_putc(&text, 0);
        apply_file_done(&files);
        apply_file_init(&files);
        assert_adds("t.json", text.p);
        bool good = apply_file_put_document(&document, &files.tasks[0], STR("s\""), why);
        assert_int_equal(good, rows[i].wanted != NULL);
        assert_int_equal(good, !why[0]);
        if (good && !str_is(buf_str(&document), rows[i].wanted))
            fail_msg("%.*s", STR_ARG(buf_str(&document)));
    }
}

static void a_task_is_found_by_its_name(void **state)
{
    assert_adds("a.toml", "[[task]]\nname = 'x'\n[[task]]\nname = 'y'\n");
    assert_ptr_equal(apply_file_find(&files, STR("y")), &files.tasks[1]);
    assert_null(apply_file_find(&files, STR("z")));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_table_becomes_the_object_that_it_stands_for),
        TEST(json_is_an_array_or_an_object_that_has_one),
        TEST(a_file_without_tasks_is_fine),
        TEST(a_file_without_a_known_ending_is_known_by_how_it_begins),
        TEST(a_name_comes_once_in_all_files),
        TEST(many_names_are_told_apart),
        TEST(what_is_wrong_is_said_with_its_place),
        TEST(a_document_gets_the_label_of_its_set),
        TEST(a_task_is_found_by_its_name),
    };
    return cmocka_run_group_tests_name("apply_file", tests, NULL, NULL);
}
