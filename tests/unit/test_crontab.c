// The lines of a crontab: what is a setting, what is an entry, and what its command gets on stdin.
#include "arena_fixture.h"
#include "cli/crontab/crontab.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct crontab_line read_one(const char *text)
{
    struct str rest = str_of(text);
    size_t number = 0;
    struct crontab_line line;
    assert_true(crontab_next(&rest, &number, &arena, &line));
    assert_int_equal(line.number, 1);
    assert_false(crontab_next(&rest, &number, &arena, &line));
    return line;
}

static void assert_text(struct str text, const char *wanted)
{
    if (!str_is(text, wanted))
        fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(text), wanted);
}

static void lines_are_counted_as_an_editor_does(void **state)
{
    static const enum crontab_kind kinds[] = {CRONTAB_NOTHING, CRONTAB_NOTHING, CRONTAB_SETTING, CRONTAB_ENTRY, CRONTAB_WRONG};
    struct str rest = STR("# one\n\t\nA=b\r\n@daily x\n* *");
    struct crontab_line line;
    size_t number = 0;
    for (size_t i = 0; i < array_count(kinds); i++) {
        assert_true(crontab_next(&rest, &number, &arena, &line));
        assert_int_equal(line.number, i + 1);
        assert_int_equal(line.kind, kinds[i]);
    }
    assert_false(crontab_next(&rest, &number, &arena, &line));
}

static void a_setting_has_a_name_and_a_value_without_quotes(void **state)
{
    static const struct {
        const char *text, *name, *value;
    } rows[] = {
        {"MAILTO=me", "MAILTO", "me"}, {"  A = b c  ", "A", "b c"}, {"\"A_1\"='x '", "A_1", "x "}, {"A=", "A", ""},
        {"A=\"x'", "A", "\"x'"},       {"A=b=c", "A", "b=c"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct crontab_line line = read_one(rows[i].text);
        assert_int_equal(line.kind, CRONTAB_SETTING);
        assert_text(line.name, rows[i].name);
        assert_text(line.value, rows[i].value);
    }
}

static void a_command_with_a_sign_of_equality_is_no_setting(void **state)
{
    struct crontab_line line = read_one("* * * * * A=b x");
    assert_int_equal(line.kind, CRONTAB_ENTRY);
    assert_text(line.command, "A=b x");
}

static void an_entry_is_a_pattern_and_a_command(void **state)
{
    struct crontab_line line = read_one("\t*/5 1-2\t *  JAN MON   curl  'a  b' ");
    assert_int_equal(line.kind, CRONTAB_ENTRY);
    assert_text(line.pattern, "*/5 1-2 * JAN MON");
    assert_text(line.command, "curl  'a  b'");
    assert_text(line.text, "*/5 1-2\t *  JAN MON   curl  'a  b'");
    assert_false(line.has_input);
    line = read_one("@hourly\tcurl x");
    assert_text(line.pattern, "@hourly");
    assert_text(line.command, "curl x");
}

static void the_first_percent_sign_begins_the_input(void **state)
{
    static const struct {
        const char *command, *wanted, *input;
    } rows[] = {
        {"cat%a", "cat", "a\n"},      {"cat%a%b%", "cat", "a\nb\n"}, {"cat%", "cat", "\n"}, {"cat \\%%a\\%b", "cat %", "a%b\n"},
        {"a\\%b\\%c", "a%b%c", NULL}, {"a\\\\%b", "a\\%b", NULL},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct crontab_line line = read_one(arena_printf(&arena, "@daily %s", rows[i].command).p);
        assert_text(line.command, rows[i].wanted);
        assert_int_equal(line.has_input, rows[i].input != NULL);
        if (rows[i].input)
            assert_text(line.input, rows[i].input);
    }
}

static void an_entry_without_a_command_is_wrong(void **state)
{
    static const char *const rows[] = {"* * * * *", "*", "@daily", "x", "=1", "1=2"};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct crontab_line line = read_one(rows[i]);
        assert_int_equal(line.kind, CRONTAB_WRONG);
        assert_non_null(line.why);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_set_up, arena_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(lines_are_counted_as_an_editor_does),
        TEST(a_setting_has_a_name_and_a_value_without_quotes),
        TEST(a_command_with_a_sign_of_equality_is_no_setting),
        TEST(an_entry_is_a_pattern_and_a_command),
        TEST(the_first_percent_sign_begins_the_input),
        TEST(an_entry_without_a_command_is_wrong),
    };
    return cmocka_run_group_tests_name("crontab", tests, NULL, NULL);
}
