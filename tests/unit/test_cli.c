// The command line's parts that need no server: options, what submit sends, what is shown, and that nothing shown can harm a
// terminal.
#include "base/mem.h"
#include "base/text/json.h"
#include "cli/compose.h"
#include "cli/manual/completion.h"
#include "cli/manual/help.h"
#include "cli/manual/man.h"
#include "cli/options.h"
#include "cli/server/value.h"
#include "cli/show/show.h"
#include "cli/show/stats.h"
#include "cli/show/text.h"
#include "cli/verb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 32 };

struct fixture {
    struct arena arena;
    struct options options;
    char why[ERR_WHY_MAX];
};

// Parses words, ended by NULL, as a verb would get them.
static bool parse(struct fixture *fixture, const struct verb *verb, const char *const *words)
{
    const struct option *tables[OPTION_TABLES_MAX];
    char *argv[WORDS_MAX] = {(char *)verb->name};
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)words[argc - 1];
    verb_tables(verb, tables);
    fixture->why[0] = 0;
    return options_parse(&fixture->options, tables, argc, argv, &fixture->arena, fixture->why);
}
#define PARSE(fixture, verb, ...) parse(fixture, verb, (const char *const[]){__VA_ARGS__, NULL})

static int set_up(void **state)
{
    struct fixture *fixture = mem_zero(sizeof *fixture);
    arena_init(&fixture->arena);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    arena_done(&fixture->arena);
    mem_free(fixture);
    return 0;
}

static void assert_buf(const struct buf *buf, const char *expected)
{
    char *text = mem_copy(buf->n ? buf->p : "", buf->n);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in: %s", part, text);
}

static void options_come_in_every_form_and_order(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "--method=PUT", "http://a", "--retry", "2", "-o", "json", "--wait"));
    assert_string_equal(options_get(&f->options, "method"), "PUT");
    assert_string_equal(options_get(&f->options, "retry"), "2");
    assert_string_equal(options_get(&f->options, "output"), "json");
    assert_string_equal(options_get(&f->options, "wait"), "");
    assert_null(options_get(&f->options, "body"));
    assert_int_equal(f->options.arg_count, 1);
    assert_string_equal(f->options.args[0], "http://a");
    assert_true(PARSE(f, &verb_get, "-ojsonl", "t1"));
    assert_string_equal(options_get(&f->options, "output"), "jsonl");
    assert_true(PARSE(f, &verb_submit, "--body=", "http://a"));
    assert_string_equal(options_get(&f->options, "body"), "");
}

static void two_dashes_end_the_options(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_cancel, "t1", "--", "--wait", "-"));
    assert_int_equal(f->options.arg_count, 3);
    assert_string_equal(f->options.args[1], "--wait");
}

static void wrong_options_are_refused_with_what_is_right(void **state)
{
    static const struct {
        const char *words[4];
        const char *says;
    } rows[] = {
        {{"--retires", "3"}, "no option --retires; did you mean --retry?"},
        {{"--prio", "3"}, "did you mean --priority?"},
        {{"--zzz"}, "no option --zzz"},
        {{"--run-at", "x"}, "did you mean --at?"},
        {{"--delay", "x"}, "did you mean --in?"},
        {{"--max-retries", "x"}, "did you mean --retry?"},
        {{"--tags", "x"}, "did you mean --label?"},
        {{"--idempotency-key", "x"}, "did you mean --key?"},
        {{"--interval", "x"}, "did you mean --every?"},
        {{"--tz", "x"}, "did you mean --timezone?"},
        {{"--after", "x"}, "no option --after: dependencies between tasks are not there yet"},
        {{"-wait"}, "no option -wait; did you mean --wait?"},
        {{"-x"}, "no option -x"},
        {{"--retry"}, "--retry needs a value: --retry N"},
        {{"--method", "--wait"}, "--method needs a value"},
        {{"--wait=yes"}, "--wait takes no value"},
        {{"--name", "a", "--name=b"}, "--name is given twice"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        assert_false(parse(f, &verb_submit, rows[i].words));
        assert_holds(f->why, rows[i].says);
    }
    // A name longer than any room for words is cut, not overrun.
    char name[600] = "--";
    memset(name + 2, 'x', sizeof name - 3);
    assert_false(PARSE(f, &verb_submit, name));
    assert_holds(f->why, "no option --xxx");
}

static void a_value_may_look_like_an_option_when_it_is_joined(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "--name=--wait", "--body", "-5", "http://a"));
    assert_string_equal(options_get(&f->options, "name"), "--wait");
    assert_string_equal(options_get(&f->options, "body"), "-5");
}

static void a_verb_that_was_meant_is_found(void **state)
{
    assert_string_equal(verb_nearest("sumbit"), "submit");
    assert_string_equal(verb_nearest("cancle"), "cancel");
    assert_string_equal(verb_nearest("vers"), "version");
    assert_string_equal(verb_nearest("ls"), "list");
    assert_string_equal(verb_nearest("status"), "get");
    assert_string_equal(verb_nearest("queues"), "list --queues");
    assert_string_equal(verb_nearest("reschedule"), "update");
    assert_null(verb_nearest("frobnicate"));
    assert_ptr_equal(verb_find("get"), &verb_get);
    assert_null(verb_find("ge"));
}

// 2026-07-15T12:30:00Z
static const int64_t NOW = 1784118600000;

static bool composes(struct fixture *f, struct compose *compose, bool patch)
{
    const struct options *options = &f->options;
    *compose = (struct compose){.options = options, .url = patch ? NULL : options->args[0], .patch = patch, .now_ms = NOW};
    return compose_task(compose, f->why);
}

static void assert_makes(struct fixture *f, bool patch, const char *expected)
{
    struct compose compose;
    struct json json;
    if (!composes(f, &compose, patch))
        fail_msg("%s", f->why);
    assert_buf(&compose.json, expected);
    assert_int_equal(json_check(buf_str(&compose.json), &json, f->why), ERR_OK);
    compose_done(&compose);
}
#define assert_builds(f, expected) assert_makes(f, false, expected)
#define assert_patches(f, expected) assert_makes(f, true, expected)

static void assert_not_built(struct fixture *f, const char *says)
{
    struct compose compose;
    assert_false(composes(f, &compose, false));
    assert_holds(f->why, says);
    compose_done(&compose);
}

static void submit_sends_only_what_was_given(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "http://a/b"));
    assert_builds(f, "{\"url\":\"http://a/b\"}");
    assert_true(PARSE(f, &verb_submit, "http://a", "--header", "X-A: 1", "--retry", "0", "--header", "B:2 ", "--priority", "9",
                      "--in", "10m"));
    assert_builds(
        f, "{\"url\":\"http://a\",\"headers\":{\"X-A\":\"1\",\"B\":\"2\"},\"in\":\"10m\",\"retry\":{\"max\":0},\"priority\":9}");
    assert_true(PARSE(f, &verb_submit, "http://a", "--in", "1h30m", "--label", "a=b", "--timeout", "1m30s", "--label", "c==\""));
    assert_builds(f, "{\"url\":\"http://a\",\"in\":\"1h30m\",\"timeout\":\"1m30s\",\"labels\":{\"a\":\"b\",\"c\":\"=\\\"\"}}");
    assert_true(PARSE(f, &verb_submit, "http://a", "--method", "GET", "--at", "2030-01-31T09:00:00+01:00", "--timeout", "1s",
                      "--queue", "q", "--key", "k", "--name", "n\"\n"));
    assert_builds(f, "{\"url\":\"http://a\",\"method\":\"GET\",\"at\":\"2030-01-31T08:00:00.000Z\",\"timeout\":\"1s\","
                     "\"queue\":\"q\",\"key\":\"k\",\"name\":\"n\\\"\\n\"}");
}

static void every_field_of_a_task_has_an_option(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "u", "--not-after", "1h30m", "--retry-delay", "1s", "--backoff", "fixed", "--retry-jitter",
                      "false", "--ttl", "never", "--success-codes", "2xx,304"));
    assert_builds(f, "{\"url\":\"u\",\"not_after\":\"1h30m\",\"retry\":{\"delay\":\"1s\",\"backoff\":\"fixed\",\"jitter\":false},"
                     "\"success_codes\":[\"2xx\",304],\"ttl\":null}");
    assert_true(PARSE(f, &verb_submit, "u", "--not-after", "16:00", "--sla", "1s", "--on-lost", "bury", "--lost-max", "2",
                      "--tracing-id", "x"));
    assert_builds(f,
                  "{\"url\":\"u\",\"not_after\":\"2026-07-15T16:00:00.000Z\",\"sla\":\"1s\",\"on_lost\":\"bury\",\"lost_max\":2,"
                  "\"tracing_id\":\"x\"}");
    assert_string_equal(compose_option(STR("/retry/max_delay")), "retry-max-delay");
    assert_string_equal(compose_option(STR("/headers/Host")), "header");
    assert_string_equal(compose_option(STR("/not_after")), "not-after");
    assert_null(compose_option(STR("/retry/nonsense")));
    assert_null(compose_option(STR("")));
}

static void every_field_of_a_recurring_task_has_an_option(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "u", "--jitter", "30s", "--max-runs", "10", "--ends-at", "2030-01-31T09:00:00Z",
                      "--starts-at", "16:00", "--pause-after-failures", "3", "--exclude", "12-25, 12-26", "--exclude",
                      "2026-07-01/2026-07-14", "--dst-overlap", "both", "--dst-gap", "skip", "--timezone", "Europe/Berlin",
                      "--cron", "30 2 * * *"));
    assert_builds(f, "{\"url\":\"u\",\"cron\":\"30 2 * * *\",\"timezone\":\"Europe/Berlin\",\"dst_gap\":\"skip\","
                     "\"dst_overlap\":\"both\",\"exclude\":[\"12-25\",\"12-26\",\"2026-07-01/2026-07-14\"],"
                     "\"pause_after_failures\":3,\"starts_at\":\"2026-07-15T16:00:00.000Z\","
                     "\"ends_at\":\"2030-01-31T09:00:00.000Z\",\"max_runs\":10,\"jitter\":\"30s\"}");
    assert_true(PARSE(f, &verb_submit, "u", "--every", "15m", "--anchor", "2026-01-01T00:00:00Z", "--misfire", "all",
                      "--misfire-window", "1h", "--overlap", "queue", "--max-active", "2"));
    assert_builds(f, "{\"url\":\"u\",\"every\":\"15m\",\"anchor\":\"2026-01-01T00:00:00.000Z\",\"misfire\":\"all\","
                     "\"misfire_window\":\"1h\",\"overlap\":\"queue\",\"max_active\":2}");
    assert_true(PARSE(f, &verb_update, "t1", "--every", "1h", "--exclude", "", "--clear", "jitter", "--clear", "misfire-window"));
    assert_patches(f, "{\"every\":\"1h\",\"misfire_window\":null,\"exclude\":[],\"jitter\":null}");
    assert_true(PARSE(f, &verb_update, "t1", "--clear", "cron"));
    assert_not_built(f, "--clear takes the name of an option");
    assert_string_equal(compose_option(STR("/exclude/3")), "exclude");
    assert_string_equal(compose_option(STR("/misfire_window")), "misfire-window");
    assert_string_equal(compose_option(STR("/retry/jitter")), "retry-jitter");
    assert_string_equal(compose_option(STR("/jitter")), "jitter");
}

static void a_json_body_is_sent_as_it_came(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_submit, "u", "--json", "{\"a\": 1.50}"));
    assert_builds(f, "{\"url\":\"u\",\"body\":{\"a\": 1.50}}");
    // As JSON of the document these two would mean another body, without a type.
    assert_true(PARSE(f, &verb_submit, "u", "--json", "\"hi\""));
    assert_builds(f, "{\"url\":\"u\",\"headers\":{\"Content-Type\":\"application/json\"},\"body\":\"\\\"hi\\\"\"}");
    assert_true(PARSE(f, &verb_submit, "u", "--json", "null", "--header", "content-type: a/b"));
    assert_builds(f, "{\"url\":\"u\",\"headers\":{\"content-type\":\"a/b\"},\"body\":\"null\"}");
    assert_true(PARSE(f, &verb_submit, "u", "--json", "{\"a\": 1,}"));
    assert_not_built(f, "--json is not JSON: Line 1, column 9");
    assert_true(PARSE(f, &verb_submit, "u", "--json", "1", "--body", "2"));
    assert_not_built(f, "give one of them");
}

static void an_update_is_a_patch(void **state)
{
    struct fixture *f = *state;
    assert_true(PARSE(f, &verb_update, "t1", "--at", "16:00", "--priority", "9", "--retry", "5", "--url", "http://b"));
    assert_patches(f, "{\"url\":\"http://b\",\"at\":\"2026-07-15T16:00:00.000Z\",\"retry\":{\"max\":5},\"priority\":9}");
    // An object would be merged into the body that is there.
    assert_true(PARSE(f, &verb_update, "t1", "--json", "{}", "--clear", "label", "--clear", "retry-delay"));
    assert_patches(f, "{\"headers\":{\"Content-Type\":\"application/json\"},\"body\":\"{}\",\"retry\":{\"delay\":null},"
                      "\"labels\":null}");
    assert_true(PARSE(f, &verb_update, "t1", "--clear", "at"));
    assert_not_built(f, "--clear takes the name of an option");
    assert_true(PARSE(f, &verb_update, "t1", "--clear", "name", "--name", "x"));
    assert_not_built(f, "given and cleared");
    assert_true(PARSE(f, &verb_update, "t1"));
    assert_patches(f, "{}");
}

static void a_body_is_text_or_a_file(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/test_cli.XXXXXX", option[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "{\"a\": \xc3\xa9}\n", 9), 9);
    snprintf(option, sizeof option, "--body=@%s", path);
    assert_true(PARSE(f, &verb_submit, "u", option));
    assert_builds(f, "{\"url\":\"u\",\"body\":\"{\\\"a\\\": \xc3\xa9}\"}");

    assert_int_equal(pwrite(fd, "\xff", 1, 3), 1);
    assert_not_built(f, "not UTF-8 text: byte 4");
    assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
    assert_not_built(f, "more than 1 MiB");
    close(fd);
    unlink(path);
    assert_not_built(f, "cannot be read");
}

static void what_cannot_be_sent_is_refused_before_it_is_sent(void **state)
{
    static const struct {
        const char *words[6];
        const char *says;
    } rows[] = {
        {{"u", "--at", "x", "--in", "1s"}, "give one of them"},
        {{"u", "--at", "x"}, "--at takes a time: 16:00 (the next one), 'tomorrow 9:00', '2030-01-31 9:00'"},
        {{"u", "--at", "x"}, "2030-01-31T09:00:00Z or +02:00 (with a zone); x is none"},
        {{"u", "--at", "10m"}, "(from now on: --in)"},
        {{"u", "--not-after", "soon"}, "--not-after takes a time"},
        {{"u", "--retry", "2x"}, "--retry takes a whole number"},
        {{"u", "--priority", ""}, "--priority takes a whole number"},
        {{"u", "--priority", "99999999999999999999"}, "--priority takes a whole number"},
        {{"u", "--ttl", "forever"}, "or never, not forever"},
        {{"u", "--retry-jitter", "yes"}, "--retry-jitter takes true or false"},
        {{"u", "--jitter", "false"}, "between retries is --retry-jitter false"},
        {{"u", "--cron", "@daily", "--every", "1h"}, "--cron and --every both say when"},
        {{"u", "--in", "1h", "--every", "1h"}, "--in and --every both say when"},
        {{"u", "--anchor", "10m"}, "10m is none"},
        {{"u", "--max-runs", "many"}, "--max-runs takes a whole number"},
        {{"u", "--exclude", "\xff"}, "--exclude is not UTF-8"},
        {{"u", "--header", "novalue"}, "'Name: value'"},
        {{"u", "--header", ": v"}, "'Name: value'"},
        {{"u", "--label", "x"}, "NAME=VALUE"},
        {{"u", "--label", "=x"}, "NAME=VALUE"},
        {{"u", "--header", "A: 1", "--header", "a: 2"}, "given twice"},
        {{"u", "--label", "a=1", "--label", "a=2"}, "the label a is given twice"},
        {{"u", "--body", "\xc3"}, "--body is not UTF-8"},
        {{"\xff"}, "URL is not UTF-8"},
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < array_count(rows); i++) {
        assert_true(parse(f, &verb_submit, rows[i].words));
        assert_not_built(f, rows[i].says);
    }
}

static void control_characters_are_made_visible(void **state)
{
    buf_auto struct buf out = {0};
    text_put_safe(&out, STR("a\x1b[31m\x07\r\n\t\xc2\x9b\xe2\x80\xae\x7f\xff\xc3\xa9\0z"), false);
    assert_buf(&out, "a\\x1b[31m\\x07\\r\\n\\t\\x9b\\u202e\\x7f\xef\xbf\xbd\xc3\xa9\\x00z");
    out.n = 0;
    assert_false(text_put_short(&out, STR("\xc3\xa9\xc3\xa9\xc3\xa9"), 2));
    assert_buf(&out, "\xc3\xa9\xc3\xa9\xe2\x80\xa6");
}

static void only_utf8_is_valid(void **state)
{
    static const char *const wrong[] = {
        "\x80", "\xc0\x80", "\xc3", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80"};
    size_t at;
    for (size_t i = 0; i < array_count(wrong); i++)
        assert_false(text_valid(str_of(wrong[i]), &at));
    assert_true(text_valid(STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82"), &at));
    assert_false(text_valid(STR("ab\0c"), &at));
    assert_int_equal(at, 2);
}

static void json_is_laid_out_without_changing_a_value(void **state)
{
    struct str json =
        STR(" {\"a\":[ ],\r\n\"b\" :{} ,\"c\": [1.50, \"x{,\\\"]\",{\"d\":12345678901234567890}],\"e\":\"\xc2\x9b\"} ");
    buf_auto struct buf out = {0};
    text_put_json(&out, json, false);
    assert_buf(&out, "{\"a\":[],\"b\":{},\"c\":[1.50,\"x{,\\\"]\",{\"d\":12345678901234567890}],\"e\":\"\\u009b\"}");
    out.n = 0;
    text_put_json(&out, json, true);
    assert_buf(&out, "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1.50,\n    \"x{,\\\"]\",\n    {\n      \"d\": "
                     "12345678901234567890\n    }\n  ],\n"
                     "  \"e\": \"\\u009b\"\n}");
}

static void a_task_is_shown_with_its_job_and_attempts(void **state)
{
    struct value *task = value_parse(
        STR("{\"id\":\"t1\",\"state\":\"done\",\"url\":\"http://a/"
            "\",\"method\":\"POST\",\"name\":null,\"queue\":\"default\",\"priority\":5,"
            "\"timeout\":\"30s\",\"retry\":{\"max\":1},\"labels\":{\"k\":\"v "
            "\",\"l\":\"\\u001b\"},\"runs\":{\"success\":0,\"failed\":1,\"planned\":0},"
            "\"job\":{\"id\":\"j1\",\"task_id\":\"t1\",\"state\":\"aborted\",\"scheduled_at\":\"2026-01-01T00:00:00.000Z\","
            "\"started_at\":null,\"status\":500,\"response\":\"no\\u0000\\u001b[2J\",\"sla_met\":false,\"late_stage\":\"queue\","
            "\"delays\":{\"puller\":2,\"queue\":31000,\"target\":null},\"executor\":\"i1\","
            "\"attempts\":[{\"number\":1,\"outcome\":\"timeout\",\"status\":null,\"reason\":\"too slow\"},"
            "{\"number\":2,\"outcome\":\"failed\",\"status\":500,\"started_at\":\"2026-01-01T00:00:05.000Z\","
            "\"completed_at\":\"2026-01-01T00:00:05.031Z\"}]}}"));
    assert_non_null(task);
    setenv("TZ", "UTC", 1);
    buf_auto struct buf out = {0};
    struct show show = {.now_ms = 1767225610000, .colours = false};
    show_put_task(&out, &show, task);
    assert_buf(&out, "task      t1  done\n"
                     "calls     POST http://a/\n"
                     "queue     default, priority 5\n"
                     "tries     2 at most, each up to 30s\n"
                     "labels    k=v , l=\\x1b\n"
                     "\n"
                     "job       j1  aborted\n"
                     "planned   2026-01-01 00:00:00  (10s ago)\n"
                     "late      yes: queue  (puller 2ms, queue 31s)\n"
                     "status    500\n"
                     "response  no\\x00\\x1b[2J\n"
                     "\n"
                     "#  outcome  status  started   took  why\n"
                     "1  timeout                          too slow\n"
                     "2  failed   500     00:00:05  31ms\n");
    out.n = 0;
    show.colours = true;
    show_put_job(&out, &show, value_at(task, "job"));
    buf_putc(&out, 0);
    assert_holds(out.p, "j1  \033[31maborted\033[0m\ntask      t1\n");
    value_free(task);
}

static void assert_shows(void (*put)(struct buf *buf, const struct show *show, const struct value *value), const char *json,
                         const char *expected)
{
    struct value *value = value_parse(str_of(json));
    assert_non_null(value);
    buf_auto struct buf out = {0};
    put(&out, &(struct show){.now_ms = 1767225610000}, value);
    assert_buf(&out, expected);
    value_free(value);
}

static void a_recurring_task_is_shown_with_its_schedule(void **state)
{
    setenv("TZ", "UTC", 1);
    assert_shows(show_put_task,
                 "{\"id\":\"t1\",\"state\":\"active\",\"method\":\"GET\",\"url\":\"http://a/\",\"cron\":\"30 2 * * "
                 "*\",\"timezone\":\"Europe/Berlin\",\"misfire\":"
                 "\"all\",\"misfire_window\":\"1h\",\"overlap\":\"queue\",\"max_active\":3,\"dst_gap\":\"skip\","
                 "\"dst_overlap\":\"both\",\"exclude\":[\"12-25\",\"12-26\"],\"pause_after_failures\":3,"
                 "\"starts_at\":\"2026-01-01T00:00:00.000Z\",\"ends_at\":\"2026-01-01T00:00:20.000Z\",\"max_runs\":7,"
                 "\"jitter\":\"30s\"}",
                 "task      t1  active\n"
                 "calls     GET http://a/\n"
                 "schedule  30 2 * * * in Europe/Berlin, put off by up to 30s\n"
                 "missed    all, up to 1h late\n"
                 "overlap   queue, 3 at once\n"
                 "clocks    skipped times: skip, times that come twice: both\n"
                 "excluded  12-25, 12-26\n"
                 "bounds    from 2026-01-01 00:00:00  (10s ago), until 2026-01-01 00:00:20  (in 10s), 7 runs at most\n"
                 "pauses    after 3 failed jobs in a row\n");
    assert_shows(
        show_put_task,
        "{\"id\":\"t1\",\"state\":\"active\",\"method\":\"GET\",\"url\":\"http://a/"
        "\",\"every\":\"15m\",\"anchor\":\"2026-01-01T00:00:00.000Z\",\"timezone\":"
        "\"UTC\",\"misfire\":\"one\",\"misfire_window\":null,\"overlap\":\"allow\",\"jitter\":\"0s\","
        "\"exclude\":[\"01-01\",\"01-02\",\"01-03\",\"01-04\",\"01-05\",\"01-06\",\"01-07\",\"01-08\",\"01-09\","
        "\"01-10\",\"01-11\"]}",
        "task      t1  active\n"
        "calls     GET http://a/\n"
        "schedule  every 15m from 2026-01-01T00:00:00.000Z\n"
        "missed    one\n"
        "overlap   allow\n"
        "excluded  01-01, 01-02, 01-03, 01-04, 01-05, 01-06, 01-07, 01-08, 01-09, 01-10 and 1 more in UTC (see -o json)\n");
}

static void a_job_in_hand_names_who_has_it(void **state)
{
    assert_shows(show_put_job,
                 "{\"id\":\"j1\",\"task_id\":\"t1\",\"state\":\"reserved\",\"executor\":\"i1\",\"lease_until\":\"2026-01-01T00:"
                 "00:30.000Z\"}",
                 "job       j1  reserved\n"
                 "task      t1\n"
                 "executor  i1\n"
                 "lease     2026-01-01 00:00:30  (in 20s)\n");
}

static void a_job_says_which_instant_it_stands_for_when_that_is_not_its_time(void **state)
{
    assert_shows(show_put_job,
                 "{\"id\":\"j1\",\"task_id\":\"t1\",\"state\":\"ready\",\"trigger\":\"backfill\","
                 "\"nominal_at\":\"2026-01-01T00:00:00.000Z\",\"scheduled_at\":\"2026-01-01T00:00:05.000Z\"}",
                 "job       j1  ready\ntask      t1\ntrigger   backfill\n"
                 "instant   2026-01-01 00:00:00  (10s ago)\nplanned   2026-01-01 00:00:05  (5s ago)\n");
}

static void what_a_job_waits_for_is_said(void **state)
{
    assert_shows(show_put_explanation,
                 "{\"state\":\"delayed\",\"waiting_for\":[{\"what\":\"time\",\"detail\":\"it is not due\"}],"
                 "\"expected_start\":\"2026-01-01T00:00:20.000Z\",\"text\":\"Not due yet.\"}",
                 "it is not due\n"
                 "\n"
                 "state     delayed\n"
                 "expected  2026-01-01 00:00:20  (in 10s)\n");
    assert_shows(show_put_explanation,
                 "{\"state\":\"ready\",\"waiting_for\":[{\"what\":\"queue_paused\",\"id\":\"q\",\"detail\":\"Paused.\"}],"
                 "\"text\":\"Paused. POST it.\"}",
                 "Paused. Let it go with: rota resume --queue q\n"
                 "\n"
                 "state     ready\n");
    assert_shows(show_put_explanation, "{\"state\":\"success\",\"waiting_for\":[],\"expected_start\":null,\"text\":null}",
                 "state     success\n");
}

static void put_progress(struct buf *buf, const struct show *show, const struct value *task)
{
    show_put_progress(buf, show, task, 4200);
}

static void waiting_shows_the_try_and_why_the_last_one_failed(void **state)
{
    assert_shows(put_progress, "{\"id\":\"t1\",\"retry\":{\"max\":3},\"job\":{\"state\":\"reserved\",\"retry_count\":0}}",
                 "t1  reserved  waited 4.2s");
    assert_shows(put_progress,
                 "{\"id\":\"t1\",\"retry\":{\"max\":3},\"job\":{\"state\":\"delayed\",\"retry_count\":0,\"due_at\":\"2026-01-"
                 "01T00:01:10.000Z\"}}",
                 "t1  delayed  in 1m  waited 4.2s");
    assert_shows(put_progress,
                 "{\"id\":\"t1\",\"retry\":{\"max\":3},\"job\":{\"state\":\"delayed\",\"retry_count\":1,\"due_at\":\"2026-01-"
                 "01T00:00:15.000Z\","
                 "\"attempts\":[{\"number\":1,\"reason\":\"HTTP 503\"},{\"number\":2,\"reason\":null}]}}",
                 "t1  delayed  try 2 of 4 in 5s  waited 4.2s  last: HTTP 503");
    assert_shows(put_progress, "{}", "    waited 4.2s");
}

static void figures_of_any_kind_are_shown(void **state)
{
    assert_shows(
        stats_put,
        "{\"states\":{\"ready\":2,\"delayed\":0,\"buried\":1,\"success\":12345678},\"pending\":2,\"wait_ms\":31,"
        "\"rates\":{\"deep\":{\"a\":1,\"b\":2,\"c\":3,\"d\":1234.56},\"e\":0.125},\"lateness\":{\"p50\":0.4,\"p99\":31.5},"
        "\"since_at\":\"2026-01-01T00:00:00.000Z\",\"ok\":true,\"\\u001b\":null}",
        "pending       2\n"
        "wait          31ms\n"
        "lateness      p50 0.4ms  p99 31ms\n"
        "since_at      2026-01-01 00:00:00  (10s ago)\n"
        "ok            yes\n"
        "\\x1b          -\n"
        "\n"
        "states\n"
        "  ready         2\n"
        "  delayed       0\n"
        "  buried        1\n"
        "  success       12345678\n"
        "\n"
        "rates\n"
        "  e             0.12\n"
        "  deep\n"
        "    a             1\n"
        "    b             2\n"
        "    c             3\n"
        "    d             1235\n");
}

static void a_bulk_says_how_far_it_has_come(void **state)
{
    static const char bulk[] =
        "{\"id\":\"b1\",\"action\":\"cancel\",\"filter\":{\"queue\":\"mail\",\"label.k\":\"v\"},\"state\":\"running\","
        "\"matched\":200,"
        "\"changed\":198,\"unchanged\":2,\"failed\":0,\"created_at\":\"2026-01-01T00:00:00.000Z\",\"ended_at\":null}";
    assert_shows(show_put_bulk_line, bulk, "b1  running  198 changed, 2 unchanged, 0 failed");
    assert_shows(show_put_bulk, bulk,
                 "bulk      b1  running\n"
                 "does      cancel where queue=mail, label.k=v\n"
                 "done      198 changed, 2 unchanged, 0 failed\n"
                 "begun     2026-01-01 00:00:00  (10s ago)\n");
    assert_shows(show_put_bulk, "{\"action\":\"run\",\"filter\":{}}",
                 "bulk        \n"
                 "does      run where (everything)\n"
                 "done      0 changed, 0 unchanged, 0 failed\n");
}

static void an_answer_of_any_shape_is_shown_without_harm(void **state)
{
    static const char *const shapes[] = {"{}", "{\"job\":7}", "{\"id\":[],\"state\":{},\"job\":{\"attempts\":{}}}",
                                         "{\"job\":{\"attempts\":[1,null,{}]},\"labels\":[],\"retry\":3}",
                                         "{\"scheduled_at\":\"soon\",\"job\":{\"scheduled_at\":\"\\u001b\",\"status\":1e300}}"};
    for (size_t i = 0; i < array_count(shapes); i++) {
        struct value *value = value_parse(str_of(shapes[i]));
        assert_non_null(value);
        buf_auto struct buf out = {0};
        show_put_task(&out, &(struct show){0}, value);
        show_put_explanation(&out, &(struct show){0}, value);
        show_put_progress(&out, &(struct show){0}, value, 0);
        stats_put(&out, &(struct show){0}, value);
        show_put_bulk(&out, &(struct show){0}, value);
        assert_null(memchr(out.p, 0x1b, out.n));
        value_free(value);
    }
    assert_null(value_parse(STR("[]")));
    assert_null(value_parse(STR("")));
    assert_null(value_parse(STR("{} x")));
}

static void help_names_every_verb_and_option(void **state)
{
    buf_auto struct buf all = {0};
    help_put_markdown(&all);
    buf_putc(&all, 0);
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        const struct option *tables[OPTION_TABLES_MAX];
        buf_auto struct buf help = {0};
        help_put_verb(&help, *verb);
        buf_putc(&help, 0);
        assert_holds(all.p, (*verb)->name);
        verb_tables(*verb, tables);
        for (const struct option **table = tables; *table; table++)
            for (const struct option *option = *table; option->name; option++) {
                assert_holds(help.p, option->name);
                assert_holds(all.p, option->name);
            }
    }
}

static void exit_codes_are_those_that_help_names(void **state)
{
    static const enum cli_exit codes[] = {CLI_OK, CLI_JOB_FAILED, CLI_USAGE, CLI_REFUSED, CLI_UNREACHED, CLI_UNWRITTEN};
    for (size_t i = 0; i < array_count(codes); i++)
        assert_int_equal(atoi(help_exits[i].name), codes[i]);
    assert_null(help_exits[array_count(codes)].name);
}

static void every_verb_has_a_manual_page(void **state)
{
    buf_auto struct buf all = {0};
    man_put_overview(&all);
    buf_putc(&all, 0);
    for (const struct verb *const *verb = verbs; *verb; verb++) {
        const struct option *tables[OPTION_TABLES_MAX];
        buf_auto struct buf page = {0};
        char name[64];
        man_put_verb(&page, *verb);
        buf_putc(&page, 0);
        snprintf(name, sizeof name, "*rota-%s*(1)", (*verb)->name);
        assert_holds(all.p, name);
        verb_tables(*verb, tables);
        for (const struct option **table = tables; *table; table++)
            for (const struct option *option = *table; option->name; option++) {
                snprintf(name, sizeof name, "*--%s*", option->name);
                assert_holds(page.p, name);
            }
    }
}

static void there_is_completion_for_three_shells(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < array_count(shells); i++) {
        buf_auto struct buf script = {0};
        assert_true(completion_put(&script, shells[i]));
        buf_putc(&script, 0);
        for (const struct verb *const *verb = verbs; *verb; verb++)
            assert_holds(script.p, (*verb)->name);
    }
    buf_auto struct buf none = {0};
    assert_false(completion_put(&none, "tcsh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(options_come_in_every_form_and_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_dashes_end_the_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_options_are_refused_with_what_is_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_may_look_like_an_option_when_it_is_joined, set_up, tear_down),
        cmocka_unit_test(a_verb_that_was_meant_is_found),
        cmocka_unit_test_setup_teardown(every_field_of_a_task_has_an_option, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_field_of_a_recurring_task_has_an_option, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_json_body_is_sent_as_it_came, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_update_is_a_patch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(submit_sends_only_what_was_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_body_is_text_or_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_sent_is_refused_before_it_is_sent, set_up, tear_down),
        cmocka_unit_test(control_characters_are_made_visible),
        cmocka_unit_test(only_utf8_is_valid),
        cmocka_unit_test(json_is_laid_out_without_changing_a_value),
        cmocka_unit_test(a_task_is_shown_with_its_job_and_attempts),
        cmocka_unit_test(a_recurring_task_is_shown_with_its_schedule),
        cmocka_unit_test(a_job_in_hand_names_who_has_it),
        cmocka_unit_test(a_job_says_which_instant_it_stands_for_when_that_is_not_its_time),
        cmocka_unit_test(what_a_job_waits_for_is_said),
        cmocka_unit_test(waiting_shows_the_try_and_why_the_last_one_failed),
        cmocka_unit_test(figures_of_any_kind_are_shown),
        cmocka_unit_test(a_bulk_says_how_far_it_has_come),
        cmocka_unit_test(an_answer_of_any_shape_is_shown_without_harm),
        cmocka_unit_test(help_names_every_verb_and_option),
        cmocka_unit_test(exit_codes_are_those_that_help_names),
        cmocka_unit_test(every_verb_has_a_manual_page),
        cmocka_unit_test(there_is_completion_for_three_shells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
