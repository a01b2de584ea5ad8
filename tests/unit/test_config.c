// The table of settings and what is read by it: names, types, who counts more, what is said about what is wrong.
#include "base/log.h"
#include "base/mem.h"
#include "base/text/json.h"
#include "node/config.h"
#include "node/config_show.h"
#include "node/roles.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

// A world with flags, variables and a file, given as lists of names and values.
struct fixture {
    const char *flags[9], *variables[9];
    char path[40];
    struct config_input input;
    struct config config;
    struct buf problems;
    bool read;
};

static const char *look_up(const char *const *pairs, const char *name)
{
    for (; pairs[0]; pairs += 2)
        if (strcmp(pairs[0], name) == 0)
            return pairs[1];
    return NULL;
}

static const char *flag(void *ctx, const char *name)
{
    return look_up(((struct fixture *)ctx)->flags, name);
}

static const char *variable(void *ctx, const char *name)
{
    return look_up(((struct fixture *)ctx)->variables, name);
}

static int set_up(void **state)
{
    struct fixture *f = mem_zero(sizeof *f);
    f->input = (struct config_input){.flag = flag, .variable = variable, .ctx = f};
    *state = f;
    return 0;
}

static void begin_anew(struct fixture *f)
{
    if (f->read)
        config_done(&f->config);
    f->read = false;
    f->problems.n = 0;
    memset(f->flags, 0, sizeof f->flags);
    memset(f->variables, 0, sizeof f->variables);
    if (f->path[0])
        unlink(f->path);
    f->path[0] = 0;
    f->input.file = NULL;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    begin_anew(f);
    buf_done(&f->problems);
    mem_free(f);
    return 0;
}

static void write_file(struct fixture *f, const char *text)
{
    strcpy(f->path, "/tmp/rota-test-config-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    f->input.file = f->path;
}

static bool read_config(struct fixture *f)
{
    bool good = config_read(&f->config, &f->input, &f->problems);
    f->read = true;
    buf_putc(&f->problems, 0);
    return good;
}

static void assert_good(struct fixture *f)
{
    if (!read_config(f))
        fail_msg("%s", f->problems.p);
}

static void assert_says(struct fixture *f, const char *words)
{
    assert_false(read_config(f));
    if (!strstr(f->problems.p, words))
        fail_msg("\"%s\" is not in: %s", words, f->problems.p);
}

static void assert_shown(struct fixture *f, enum setting_id id, const char *value, const char *source)
{
    buf_auto struct buf text = {0}, from = {0};
    config_put_value(&text, &f->config, id);
    config_put_source(&from, &f->config, id);
    buf_putc(&text, 0);
    buf_putc(&from, 0);
    assert_string_equal(text.p, value);
    assert_string_equal(from.p, source);
}

static void every_row_of_the_table_is_whole(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = &settings[i];
        char name[SETTING_NAME_MAX];
        assert_non_null(setting->key);
        assert_non_null(setting->value);
        assert_non_null(setting->help);
        assert_true(strlen(setting->key) + 6 < SETTING_NAME_MAX);
        assert_true(setting->help[strlen(setting->help) - 1] != '.');
        assert_true(setting_find(str_of(setting->key)) == setting);
        assert_true(setting->type != SETTING_CHOICE || setting->choices);
        assert_true(!setting->otherwise == !!setting->example);
        setting_flag(setting, name);
        assert_null(strpbrk(name, "._"));
        for (size_t other = 0; other < i; other++) {
            char others[SETTING_NAME_MAX];
            setting_flag(&settings[other], others);
            assert_string_not_equal(name, others);
        }
    }
}

static void names_follow_from_the_key(void **state)
{
    char name[SETTING_NAME_MAX];
    setting_flag(&settings[SET_CALLS_PER_HOST], name);
    assert_string_equal(name, "calls-per-host");
    setting_variable(&settings[SET_CALLS_PER_HOST], name);
    assert_string_equal(name, "ROTA_CALLS_PER_HOST");
}

static void without_anything_the_defaults_hold(void **state)
{
    struct fixture *f = *state;
    assert_good(f);
    assert_string_equal(config_text(&f->config, SET_LISTEN), "127.0.0.1:7070");
    assert_string_equal(f->config.store, "sqlite:./rota-data");
    assert_int_equal(config_number(&f->config, SET_ROLE), ROLES_ALL);
    assert_int_equal(config_number(&f->config, SET_LOG_LEVEL), LOG_INFO);
    assert_int_equal(config_number(&f->config, SET_STOP_TIMEOUT), 10000);
    assert_int_equal(config_number(&f->config, SET_CALLS_KEEP_RESPONSE), 4096);
    assert_int_equal(config_number(&f->config, SET_HTTP_BODY_MEMORY), 48 << 20);
    assert_shown(f, SET_LISTEN, "127.0.0.1:7070", "default");
    assert_shown(f, SET_STORE, "sqlite:./rota-data", "from data");
    assert_null(config_text(&f->config, SET_SECRET_FILE));
    assert_shown(f, SET_SECRET_FILE, "", "not given");
}

// It may be readable by the server alone, and whoever looks at the settings is somebody else.
static void the_secret_is_named_and_not_opened(void **state)
{
    struct fixture *f = *state;
    f->variables[0] = "ROTA_SECRET_FILE", f->variables[1] = "/no/such/secret";
    assert_good(f);
    assert_string_equal(config_text(&f->config, SET_SECRET_FILE), "/no/such/secret");
    assert_shown(f, SET_SECRET_FILE, "/no/such/secret", "ROTA_SECRET_FILE");
    begin_anew(f);
    write_file(f, "secret_file = '/a/secret'");
    f->flags[0] = "secret-file", f->flags[1] = "/another";
    assert_good(f);
    assert_shown(f, SET_SECRET_FILE, "/another", "--secret-file");
    begin_anew(f);
    f->flags[0] = "secret-file", f->flags[1] = "";
    assert_says(f, "--secret-file takes the path of a file, not \"\"");
    begin_anew(f);
    write_file(f, "secret_file = 17");
    assert_says(f, "secret_file takes the path of a file, in quotes");
}

static void a_flag_counts_more_than_a_variable_more_than_the_file(void **state)
{
    struct fixture *f = *state;
    char source[64];
    write_file(f, "# one\nlog.level = \"debug\"\n[calls]\nmax = 1\nper_host = 2\n");
    f->variables[0] = "ROTA_LOG_LEVEL", f->variables[1] = "warn";
    f->variables[2] = "ROTA_CALLS_MAX", f->variables[3] = "20";
    f->flags[0] = "log-level", f->flags[1] = "error";
    assert_good(f);
    assert_int_equal(config_number(&f->config, SET_LOG_LEVEL), LOG_ERROR);
    assert_int_equal(config_number(&f->config, SET_CALLS_MAX), 20);
    assert_int_equal(config_number(&f->config, SET_CALLS_PER_HOST), 2);
    assert_shown(f, SET_LOG_LEVEL, "error", "--log-level");
    assert_shown(f, SET_CALLS_MAX, "20", "ROTA_CALLS_MAX");
    snprintf(source, sizeof source, "%s:5", f->path);
    assert_shown(f, SET_CALLS_PER_HOST, "2", source);
}

static void an_empty_variable_counts_as_none_an_empty_flag_does_not(void **state)
{
    struct fixture *f = *state;
    f->variables[0] = "ROTA_ROLE", f->variables[1] = "";
    assert_good(f);
    begin_anew(f);
    f->flags[0] = "role", f->flags[1] = "";
    assert_says(f, "--role takes all, or a list of api, puller, executor, completer, not \"\"");
}

static void data_and_store_say_the_same_thing(void **state)
{
    struct fixture *f = *state;
    f->flags[0] = "data", f->flags[1] = "/d";
    f->variables[0] = "ROTA_STORE", f->variables[1] = "memory:";
    assert_good(f);
    assert_string_equal(f->config.store, "sqlite:/d");
    begin_anew(f);
    write_file(f, "data = '/d'");
    f->variables[0] = "ROTA_STORE", f->variables[1] = "memory:";
    assert_good(f);
    assert_string_equal(f->config.store, "memory:");
    assert_shown(f, SET_DATA, "", "not used: store is given");
    begin_anew(f);
    f->flags[0] = "data", f->flags[1] = "/d", f->flags[2] = "store", f->flags[3] = "memory:";
    assert_says(f, "--store and --data exclude each other");
    begin_anew(f);
    write_file(f, "data = '/d'\nstore = 'memory:'");
    assert_says(f, ":2:9: store and ");
}

static void roles_may_be_a_list_in_the_file(void **state)
{
    struct fixture *f = *state;
    write_file(f, "store = 'postgres://h/d'\nrole = ['puller', 'executor', 'completer']");
    assert_good(f);
    assert_int_equal(config_number(&f->config, SET_ROLE), ROLES_RUN);
}

static void values_of_every_type_are_checked(void **state)
{
    static const struct {
        const char *flag, *value, *says; // says NULL: it is taken
    } rows[] = {
        {"listen", "7079",
         "--listen takes an address and a port, like 127.0.0.1:7070 or [::1]:7070, not \"7079\"; did you mean "
         "127.0.0.1:7079?"},
        {"listen", ":7079", "did you mean 127.0.0.1:7079?"},
        {"listen", "localhost", "did you mean localhost:7070?"},
        {"listen", "[::1]", "did you mean [::1]:7070?"},
        {"listen", "", "--listen takes an address and a port, like 127.0.0.1:7070 or [::1]:7070, not \"\"\n"},
        {"listen", "127.0.0.1:70700", "not \"127.0.0.1:70700\"\n"},
        {"listen", "127.0.0.1:", "not \"127.0.0.1:\"\n"},
        {"listen", "0.0.0.0:7070", "--listen: 0.0.0.0:7070 is not a loopback address"},
        {"listen", "[::1]:0", NULL},
        {"data", "", "--data takes the path of a directory, not \"\""},
        {"store", "postgre://u:s3cret@h/d", "--store takes sqlite:DIR, postgres://… or memory:, not \"postgre…\"\n"},
        {"store", "mydb", "memory:, not \"mydb\"\n"},
        {"role", "apis", "--role: no role is known by \"apis\""},
        {"role", "puller", "all three or none"},
        {"role", "api", "--role: api leaves the rest to other nodes"},
        {"stop-timeout", "5", "--stop-timeout takes a duration from 0s to 1h, like 10s, not \"5\""},
        {"stop-timeout", "2h", "from 0s to 1h"},
        {"stop-timeout", "0s", NULL},
        {"stop-timeout", "PT1M", NULL},
        {"log-level", "verbose", "--log-level takes debug, info, warn or error, not \"verbose\""},
        {"log-level", "INFO", "not \"INFO\""},
        {"log-format", "xml", "takes text or json"},
        {"calls-max", "0", "--calls-max takes a whole number from 1 to 10000, not \"0\""},
        {"calls-max", "10001", "from 1 to 10000"},
        {"calls-max", "1e3", "a whole number"},
        {"calls-max", "", "a whole number"},
        {"calls-max", " 5", "a whole number"},
        {"calls-max", "99999999999999999999", "a whole number"},
        {"calls-max", "-1", "a whole number"},
        {"calls-max", "10000", NULL},
        {"calls-keep-response", "1MiB", "--calls-keep-response takes a size from 0 to 64KiB, like 4KiB, not \"1MiB\""},
        {"calls-keep-response", "4k", "takes a size"},
        {"calls-keep-response", "-1", "takes a size"},
        {"calls-keep-response", "KiB", "takes a size"},
        {"calls-keep-response", "9999999999999GiB", "takes a size"},
        {"calls-keep-response", "0", NULL},
        {"calls-keep-response", "512B", NULL},
        {"calls-keep-response", "65536", NULL},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        begin_anew(f);
        f->flags[0] = rows[i].flag, f->flags[1] = rows[i].value;
        if (rows[i].says)
            assert_says(f, rows[i].says);
        else
            assert_good(f);
        assert_null(strstr(f->problems.p, "cret"));
    }
}

static void the_file_is_refused_with_place_and_advice(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"listn = 'x'", ":1:1: there is no setting listn; did you mean listen?"},
        {"[log]\nlevels = 'info'", ":2:1: there is no setting log.levels; did you mean log.level?"},
        {"level = 'info'", ":1:1: there is no setting level; did you mean log.level?"},
        {"log-level = 'info'", "did you mean log.level?"},
        {"[http]\nper_host = 1", "did you mean calls.per_host?"},
        {"quite_another = 1", "there is no setting quite_another\n"},
        {"listen = 7070", ":1:10: listen takes an address and a port, like 127.0.0.1:7070 or [::1]:7070, in quotes"},
        {"listen = '7070'", "did you mean 127.0.0.1:7070?"},
        {"calls.max = '12'", ":1:13: calls.max takes a whole number from 1 to 10000, without quotes"},
        {"calls.max = 0", ":1:13: calls.max takes a whole number from 1 to 10000, not \"0\""},
        {"log.level = true", "log.level takes debug, info, warn or error, in quotes"},
        {"stop_timeout = 10", "stop_timeout takes a duration from 0s to 1h, like 10s, in quotes"},
        {"listen = \"0.0.0.0:1\"", ":1:10: listen: 0.0.0.0:1 is not a loopback address"},
        {"role = []", ":1:8: role takes all, or a list"},
        {"a = \n", ":1:5: a value is missing here"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        begin_anew(f);
        write_file(f, rows[i].text);
        assert_says(f, rows[i].says);
    }
}

static void all_mistakes_are_said_at_once(void **state)
{
    struct fixture *f = *state;
    write_file(f, "listen = '0.0.0.0:1'\nrole = api\na = 1\nlog.level = 'x'\n");
    f->flags[0] = "calls-max", f->flags[1] = "x";
    assert_false(read_config(f));
    assert_non_null(strstr(f->problems.p, ":2:8: text is written in quotes"));
    assert_non_null(strstr(f->problems.p, ":1:10: listen: 0.0.0.0:1 is not a loopback address"));
    assert_non_null(strstr(f->problems.p, "no setting a"));
    assert_non_null(strstr(f->problems.p, "log.level takes"));
    assert_non_null(strstr(f->problems.p, "--calls-max takes"));
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct fixture *f = *state;
    f->input.file = "/nonexistent/rota.toml";
    assert_says(f, "/nonexistent/rota.toml: cannot be read: No such file");
    begin_anew(f);
    f->input.file = "/tmp";
    assert_says(f, "/tmp: cannot be read");
    begin_anew(f);
    f->input.file = "/dev/zero";
    assert_says(f, "/dev/zero: has more than 64 KiB");
}

static void a_size_in_the_file_may_be_a_number(void **state)
{
    struct fixture *f = *state;
    write_file(f, "calls.keep_response = 100\nhttp.body_memory = '1GiB'");
    assert_good(f);
    assert_int_equal(config_number(&f->config, SET_CALLS_KEEP_RESPONSE), 100);
    assert_int_equal(config_number(&f->config, SET_HTTP_BODY_MEMORY), 1 << 30);
}

static void passwords_are_not_shown(void **state)
{
    struct fixture *f = *state;
    f->variables[0] = "ROTA_STORE", f->variables[1] = "postgres://rota:s3cret@db/rota?sslpassword=s3cret";
    assert_good(f);
    assert_shown(f, SET_STORE, "postgres://rota:***@db/rota?sslpassword=***", "ROTA_STORE");
    buf_auto struct buf text = {0};
    config_put_text(&text, &f->config);
    config_put_json(&text, &f->config);
    assert_null(memmem(text.p, text.n, "s3cret", 6));
}

static void what_is_shown_as_json_is_json(void **state)
{
    struct fixture *f = *state;
    struct json value;
    char why[ERR_WHY_MAX];
    buf_auto struct buf text = {0};
    f->flags[0] = "data", f->flags[1] = "a\"\n\xff";
    assert_good(f);
    config_put_json(&text, &f->config);
    assert_int_equal(json_check(buf_str(&text), &value, why), ERR_OK);
}

static void the_sample_is_a_good_file_also_with_its_marks_taken_away(void **state)
{
    struct fixture *f = *state;
    buf_auto struct buf sample = {0};
    config_put_sample(&sample);
    buf_putc(&sample, 0);
    write_file(f, sample.p);
    assert_good(f);
    begin_anew(f);
    // "#key = value" is a setting, "# words" a comment.
    for (char *at = sample.p; (at = strstr(at, "\n#")); at++)
        if (at[2] >= 'a' && at[2] <= 'z' && strncmp(at + 2, "data", 4) != 0)
            at[1] = ' ';
    write_file(f, sample.p);
    assert_good(f);
    for (size_t i = 0; i < SETTING_COUNT; i++)
        assert_true(i == SET_DATA || f->config.values[i].source == FROM_FILE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_row_of_the_table_is_whole),
        TEST(names_follow_from_the_key),
        TEST(without_anything_the_defaults_hold),
        TEST(the_secret_is_named_and_not_opened),
        TEST(a_flag_counts_more_than_a_variable_more_than_the_file),
        TEST(an_empty_variable_counts_as_none_an_empty_flag_does_not),
        TEST(data_and_store_say_the_same_thing),
        TEST(roles_may_be_a_list_in_the_file),
        TEST(values_of_every_type_are_checked),
        TEST(the_file_is_refused_with_place_and_advice),
        TEST(all_mistakes_are_said_at_once),
        TEST(a_file_that_cannot_be_read_is_an_error),
        TEST(a_size_in_the_file_may_be_a_number),
        TEST(passwords_are_not_shown),
        TEST(what_is_shown_as_json_is_json),
        TEST(the_sample_is_a_good_file_also_with_its_marks_taken_away),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
