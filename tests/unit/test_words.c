// The words of a shell command, and what is left to a shell.
#include "arena_fixture.h"
#include "cli/crontab/words.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

// From memory that ends with the text, so that a sanitizer sees who looks beyond it.
static bool split(const char *text, struct words *ret_words, char why[ERR_WHY_MAX])
{
    size_t n = strlen(text);
    char *bytes = mem_alloc(n ? n : 1);
    memcpy(bytes, text, n);
    bool good = words_split((struct str){bytes, n}, &arena, ret_words, why);
    mem_free(bytes);
    return good;
}

// The words with a | behind each.
static void assert_words(const char *text, const char *wanted)
{
    struct words words;
    char why[ERR_WHY_MAX];
    buf_auto struct buf found = {0};
    if (!split(text, &words, why))
        fail_msg("%s: %s", text, why);
    for (size_t i = 0; i < words.count; i++)
        buf_printf(&found, STR_FMT "|", STR_ARG(words.items[i]));
    buf_putc(&found, 0);
    assert_string_equal(found.p, wanted);
}

static void quotes_and_backslashes_are_taken_away(void **state)
{
    assert_words("", "");
    assert_words("  a\tb  ", "a|b|");
    assert_words("a'b c'd \"e f\"", "ab cd|e f|");
    assert_words("'' \"\"", "||");
    assert_words("a\\ b \\'c\\\"", "a b|'c\"|");
    assert_words("\"a\\\"b\\\\c\\$d\\`e\\n\"", "a\"b\\c$d`e\\n|");
    assert_words("'$a `b` \\'", "$a `b` \\|");
    assert_words("a=~b c~", "a=~b|c~|");
}

static void a_lone_dollar_is_a_dollar(void **state)
{
    assert_words("a$ $/ $", "a$|$/|$|");
    assert_words("\"a$\" \"$'\"", "a$|$'|");
}

static void signs_of_the_shell_in_quotes_are_plain(void **state)
{
    assert_words("'|&;()<>*?[]{}~#' \"|&;()<>*?[]{}~#\"", "|&;()<>*?[]{}~#||&;()<>*?[]{}~#|");
}

static void a_comment_ends_the_command(void **state)
{
    assert_words("a b#c # d | e", "a|b#c|");
}

static void output_may_be_thrown_away(void **state)
{
    assert_words("a >/dev/null 2>&1 b", "a|b|");
    assert_words("a > /dev/null 2> /dev/null", "a|");
    assert_words("a>>/dev/null", "a|");
    assert_words("a 2 &>/dev/null", "a|2|");
    assert_words("a >&/dev/null </dev/null", "a|");
    assert_words("a2>/dev/null", "a2|");
    assert_words("a '2'>/dev/null", "a|2|");
    assert_words("a 2>&-", "a|");
}

static void a_query_in_a_url_needs_no_quotes(void **state)
{
    assert_words("a http://h/p?q=1?", "a|http://h/p?q=1?|");
}

static void what_needs_a_shell_is_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"a | b", "pipe"},       {"a && b", "(&)"},
        {"a&", "(&)"},           {"a; b", "(;)"},
        {"(a)", "parentheses"},  {"a `b`", "(`)"},
        {"\"`b`\"", "(`)"},      {"$a", "($)"},
        {"a\"${b}\"", "($)"},    {"\"$(b)\"", "($)"},
        {"a$1", "($)"},          {"$'a'", "($)"},
        {"a *", "(*)"},          {"a?", "(?)"},
        {"[a]", "([)"},          {"{a,b}", "braces"},
        {"~/a", "home"},         {"a >b", "into a file"},
        {"a >", "into a file"},  {"a 2>/var/log/x", "into a file"},
        {"a <b", "from a file"}, {"a <<b", "from a file"},
        {"a 'b", "(') is not"},  {"a \"b", "(\") is not"},
        {"a \\", "backslash"},   {"a http://h/*", "(*)"},
        {"a http:?", "(?)"},     {"a >&b", "into a file"},
        {"a >2", "into a file"}, {"a\nb", "a second command"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct words words;
        char why[ERR_WHY_MAX] = "";
        if (split(rows[i].text, &words, why))
            fail_msg("is taken: %s", rows[i].text);
        if (!strstr(why, rows[i].says))
            fail_msg("%s: %s", rows[i].text, why);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_set_up, arena_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(quotes_and_backslashes_are_taken_away),
        TEST(a_lone_dollar_is_a_dollar),
        TEST(signs_of_the_shell_in_quotes_are_plain),
        TEST(a_comment_ends_the_command),
        TEST(output_may_be_thrown_away),
        TEST(a_query_in_a_url_needs_no_quotes),
        TEST(what_needs_a_shell_is_refused),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
