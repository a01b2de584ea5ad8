// A crontab as a file of tasks: what a line becomes, and what is said about those that become nothing.
#include "cli/crontab/import.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct import import;

static int tear_down(void **state)
{
    import_done(&import);
    return 0;
}

static void read_in(const char *text, const char *timezone)
{
    import_done(&import);
    import_crontab(str_of(text), "tab", timezone, &import);
    buf_putc(&import.file, 0);
    buf_putc(&import.talk, 0);
}

static void assert_counts(size_t taken, size_t left_out)
{
    if (import.taken != taken || import.left_out != left_out)
        fail_msg("%zu taken and %zu left out:\n%s", import.taken, import.left_out, import.talk.p);
}

static void assert_file_has(const char *part)
{
    if (!strstr(import.file.p, part))
        fail_msg("there is no\n%s\nin\n%s", part, import.file.p);
}

static void assert_talk_has(const char *part)
{
    if (!strstr(import.talk.p, part))
        fail_msg("there is no\n%s\nin\n%s", part, import.talk.p);
}

static void a_line_becomes_a_task_with_all_that_its_call_has(void **state)
{
    read_in("CRON_TZ=Europe/Berlin\n"
            "30 2 * * MON-FRI curl -X PUT -H 'X-A.b: \"q\"' -d 'a\\%b' -m 5 --retry 2 --retry-delay 1 https://h.example/a/b?c\n",
            NULL);
    assert_counts(1, 0);
    assert_file_has("\n\n"
                    "# line 2: 30 2 * * MON-FRI curl -X PUT -H 'X-A.b: \"q\"' -d 'a\\%b' -m 5 --retry 2 --retry-delay 1 "
                    "https://h.example/a/b?c\n"
                    "[[task]]\n"
                    "name = \"h.example-a-b\"\n"
                    "cron = \"30 2 * * MON-FRI\"\n"
                    "timezone = \"Europe/Berlin\"\n"
                    "url = \"https://h.example/a/b?c\"\n"
                    "method = \"PUT\"\n"
                    "headers.\"X-A.b\" = \"\\\"q\\\"\"\n"
                    "headers.Content-Type = \"application/x-www-form-urlencoded\"\n"
                    "body = \"a%b\"\n"
                    "timeout = \"5s\"\n"
                    "retry.max = 2\n"
                    "retry.delay = \"1s\"\n"
                    "retry.backoff = \"fixed\"\n");
    assert_string_equal(import.talk.p, "");
}

static void names_are_made_of_host_and_path_and_come_once(void **state)
{
    read_in("@daily curl http://h/a\n@daily curl http://h/a?secret\n@daily curl http://h/a-2\n@daily curl http://h/a/\n"
            "@daily curl 'http://[::1]/'\n@daily curl 'http://h//\\%7Ex!/'\n",
            "UTC");
    static const char *const names[] = {"h-a", "h-a-2", "h-a-2-2", "h-a-3", "1", "h-7Ex"};
    assert_counts(array_count(names), 0);
    for (size_t i = 0; i < array_count(names); i++) {
        char line[64];
        snprintf(line, sizeof line, "\nname = \"%s\"\n", names[i]);
        assert_file_has(line);
    }
}

static void a_zone_holds_for_the_lines_below_it(void **state)
{
    read_in("@daily curl http://a\nTZ=:Asia/Tokyo\n@daily curl http://b\nCRON_TZ=UTC\nTZ=x\n@daily curl http://c\n",
            "Europe/Paris");
    assert_counts(3, 0);
    assert_file_has("name = \"a\"\ncron = \"@daily\"\ntimezone = \"Europe/Paris\"\n");
    assert_file_has("name = \"b\"\ncron = \"@daily\"\ntimezone = \"Asia/Tokyo\"\n");
    assert_file_has("name = \"c\"\ncron = \"@daily\"\ntimezone = \"UTC\"\n");
    assert_talk_has("tab:2: TZ is taken");
    assert_talk_has("tab:5: TZ is left out");
    assert_null(strstr(import.talk.p, "no time zone is named"));
}

static void a_line_without_a_zone_is_warned_of(void **state)
{
    read_in("@daily curl http://a\n", NULL);
    assert_counts(1, 0);
    assert_talk_has("tab: no time zone is named");
    assert_file_has("# Note: no time zone is named");
    read_in("@daily /bin/true\n", NULL);
    assert_null(strstr(import.talk.p, "no time zone is named"));
}

static void a_zone_that_is_none_takes_no_line(void **state)
{
    static const char *const zones[] = {"../x", "/etc/localtime", "CET-1CEST,M3.5.0", "a b"};
    for (size_t i = 0; i < array_count(zones); i++) {
        char text[128];
        snprintf(text, sizeof text, "CRON_TZ=%s\n@daily curl http://a\n", zones[i]);
        read_in(text, NULL);
        assert_counts(0, 1);
        assert_talk_has("tab:2: left out: its time zone is no name");
    }
}

static void settings_that_mean_nothing_here_are_named(void **state)
{
    read_in("MAILTO=a@b\nSHELL=/bin/bash\nhttp_proxy=x\n", NULL);
    assert_counts(0, 0);
    assert_talk_has("tab:1: MAILTO is left out: rota sends no mail");
    assert_talk_has("tab:2: SHELL is left out");
    assert_file_has("# line 3: http_proxy is left out");
}

static void two_day_fields_mean_what_cron_means_by_them(void **state)
{
    static const struct {
        const char *pattern, *wanted;
    } rows[] = {
        {"0 0 */2 * MON", "0 0 */2 * +MON"}, {"0 0 1 * */2", "0 0 1 * +*/2"}, {"0 0 1 * MON", "0 0 1 * MON"},
        {"0 0 */2 * *", "0 0 */2 * *"},      {"0 0 * * */2", "0 0 * * */2"},  {"*/2 */2 1 */2 1", "*/2 */2 1 */2 1"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        char text[128];
        snprintf(text, sizeof text, "%s curl http://a\n", rows[i].pattern);
        read_in(text, "UTC");
        assert_counts(1, 0);
        snprintf(text, sizeof text, "\ncron = \"%s\"\n", rows[i].wanted);
        assert_file_has(text);
        assert_int_equal(strstr(import.talk.p, "both day fields") != NULL, strcmp(rows[i].pattern, rows[i].wanted) != 0);
    }
}

// None of these lines may stand in the file, because it may hold a password.
static void what_is_left_out_is_named_and_not_repeated(void **state)
{
    static const struct {
        const char *line, *says;
    } rows[] = {
        {"@reboot curl http://h/SECRET", "@reboot is not supported"},
        {"61 * * * * curl http://h/SECRET", "The minute field has \"61\""},
        {"0 0 30 2 * curl http://h/SECRET", "never fires"},
        {"* * * * * curl -u a:SECRET http://h", "--user: a password"},
        {"* * * * * curl http://a:SECRET@h", "user or password"},
        {"* * * * * echo SECRET | curl http://h", "a pipe"},
        {"* * * * * curl -d '5%SECRET' http://h", "written \\%"},
        {"* * * * * /opt/x SECRET", "no call of curl"},
        {"* * SECRET", "less than five fields"},
        {"* * * * * curl http://h/SECRET\xff", "not UTF-8"},
        {"* * * * * curl 'http://h/SECRET\x01'", "not UTF-8"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        read_in(rows[i].line, NULL);
        assert_counts(0, 1);
        assert_talk_has("tab:1: left out: ");
        assert_talk_has(rows[i].says);
        assert_file_has("# line 1: left out: ");
        assert_file_has(rows[i].says);
        assert_null(strstr(import.file.p, "SECRET"));
        assert_null(strstr(import.talk.p, "SECRET"));
    }
}

static void an_empty_crontab_has_no_task(void **state)
{
    read_in("\n# nothing\n", NULL);
    assert_counts(0, 0);
    assert_null(strstr(import.file.p, "[[task]]"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_line_becomes_a_task_with_all_that_its_call_has),
        TEST(names_are_made_of_host_and_path_and_come_once),
        TEST(a_zone_holds_for_the_lines_below_it),
        TEST(a_line_without_a_zone_is_warned_of),
        TEST(a_zone_that_is_none_takes_no_line),
        TEST(settings_that_mean_nothing_here_are_named),
        TEST(two_day_fields_mean_what_cron_means_by_them),
        TEST(what_is_left_out_is_named_and_not_repeated),
        TEST(an_empty_crontab_has_no_task),
    };
    return cmocka_run_group_tests_name("import", tests, NULL, NULL);
}
