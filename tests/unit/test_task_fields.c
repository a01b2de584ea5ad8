// The fields of a task: what is taken, what is refused and in which words, and that what is shown can be given again.
#include "read_task.h"

static void the_smallest_task_has_all_defaults(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = must_parse("{\"url\": \"https://example.com/hook\"}", &arena);
    assert_true(str_is(task.target.http.url, "https://example.com/hook"));
    assert_true(str_is(task.target.http.method, "POST"));
    assert_int_equal(task.target.http.headers.type, JSON_ABSENT);
    assert_int_equal(task.target.http.body.type, JSON_ABSENT);
    assert_int_equal(task.at_ms, 0);
    assert_int_equal(task.in_ms, -1);
    assert_int_equal(task.not_after_ms, 0);
    assert_int_equal(task.not_after_in_ms, -1);
    assert_int_equal(task.policy.timeout_ms, 30000);
    assert_int_equal(task.policy.retry.max, 3);
    assert_int_equal(task.policy.retry.delay_ms, 5000);
    assert_int_equal(task.policy.retry.max_delay_ms, 600000);
    assert_true(task.policy.retry.exponential && task.policy.retry.jitter);
    assert_int_equal(task.policy.sla_ms, 30000);
    assert_int_equal(task.policy.ttl_ms, 7 * 86400000);
    assert_int_equal(task.policy.lost_max, 3);
    assert_false(task.policy.bury_lost);
    assert_int_equal(task.priority, 5);
    assert_true(str_is(task.queue, "default"));
    assert_null(task.key.p);
    assert_null(task.name.p);
    for (int status = 0; status < 1000; status++)
        assert_int_equal(target_http_success(&task.target.http, status), status >= 200 && status < 300);
    assert_null(arena.chunk); // nothing had to be copied
    buf_auto struct buf buf = {0};
    render(&buf, &task);
    assert_true(str_is(buf_str(&buf),
                       "{\"url\":\"https://example.com/"
                       "hook\",\"method\":\"POST\",\"retry\":{\"max\":3,\"delay\":\"5s\",\"backoff\":\"exponential\","
                       "\"max_delay\":\"10m\",\"jitter\":true},\"timeout\":\"30s\",\"success_codes\":[\"2xx\"],\"priority\":5,"
                       "\"queue\":\"default\","
                       "\"sla\":\"30s\",\"ttl\":\"7d\",\"on_lost\":\"retry\",\"lost_max\":3}"));
}

#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static const char full_doc[] =
    "{ \"traceparent\":\"" TRACE "\", \"created_by\":\"me\",\"tracing_id\":\"t-1\", \"labels\" : { \"b\" : \"2\" , \"a\":\"\" },"
    "\"name\":\"nightly "
    "\\u00e9\",\"lost_max\":1e1,\"on_lost\":\"bury\",\"ttl\":null,\"key\":\"k\",\"sla\":\"1m\",\"queue\":\"Q.1_-\",\"priority\":"
    "9.0,"
    "\"success_codes\":[\"204\",302,\"4xx\",400,200], \"timeout\":\"PT1M\","
    "\"retry\":{\"jitter\":false,\"max_delay\":\"1h\",\"backoff\":\"fixed\",\"delay\":\"90s\",\"max\":0},"
    "\"not_after\":\"PT10M\",\"at\":\"2026-11-15T22:22:01+02:00\",\"body\":{ \"n\": 1.00, \"s\":[ ]},"
    "\"headers\":{ \"X-A\" : \"1\",\"Content-Type\":\"text/plain\" },\"method\":\"PUT\",\"url\":\"http://127.0.0.1:80/x\" }";

static void every_field_is_read_and_shown_in_a_fixed_order(void **state)
{
    struct arena arena;
    arena_init(&arena);
    buf_auto struct buf buf = {0};
    struct task task = must_parse(full_doc, &arena);
    assert_true(str_is(task.name, "nightly \xc3\xa9"));
    assert_true(str_is(task.target.http.body.raw, "{ \"n\": 1.00, \"s\":[ ]}"));
    assert_int_equal(task.policy.ttl_ms, -1);
    assert_true(task.policy.bury_lost);
    assert_int_equal(task.policy.lost_max, 10);
    assert_true(target_http_success(&task.target.http, 200) && target_http_success(&task.target.http, 204) &&
                target_http_success(&task.target.http, 302) && target_http_success(&task.target.http, 499));
    assert_false(target_http_success(&task.target.http, 201) || target_http_success(&task.target.http, 500) ||
                 target_http_success(&task.target.http, 99) || target_http_success(&task.target.http, 600));
    render(&buf, &task);
    assert_true(str_is(
        buf_str(&buf),
        "{\"url\":\"http://127.0.0.1:80/x\",\"method\":\"PUT\",\"headers\":{\"X-A\":\"1\",\"Content-Type\":\"text/plain\"},"
        "\"body\":{ \"n\": 1.00, \"s\":[ "
        "]},\"at\":\"2026-11-15T20:22:01.000Z\",\"not_after\":\"10m\",\"retry\":{\"max\":0,\"delay\":\"90s\","
        "\"backoff\":\"fixed\",\"max_delay\":\"1h\",\"jitter\":false},\"timeout\":\"1m\",\"success_codes\":[200,204,302,\"4xx\"],"
        "\"priority\":9,"
        "\"queue\":\"Q.1_-\",\"sla\":\"1m\",\"key\":\"k\",\"ttl\":null,\"on_lost\":\"bury\",\"lost_max\":10,\"name\":\"nightly "
        "\xc3\xa9\","
        "\"labels\":{\"b\":\"2\",\"a\":\"\"},\"tracing_id\":\"t-1\",\"created_by\":\"me\",\"traceparent\":\"" TRACE "\"}"));
    arena_done(&arena);
}

static void what_is_shown_can_be_given_again(void **state)
{
    static const char *const rows[] = {
        full_doc,
        "{" U "}",
        "{" U ",\"in\":\"PT1.5S\",\"not_after\":\"2030-01-01T00:00:00.1+01:00\",\"ttl\":\"0s\"}",
        "{" U ",\"body\":\"text with \\\"quotes\\\" \\u20ac\",\"headers\":{},\"labels\":{}}",
        "{" U ",\"retry\":{\"delay\":\"1h\"}}",
        "{" U ",\"retry\":{\"max_delay\":\"1s\"}}",
        "{" U ",\"retry\":{}}",
        "{" U ",\"success_codes\":[100,599,\"1xx\",\"5xx\"]}",
        "{" U ",\"headers\":{\"X-\\u0041\":\"\\u00e9\\t\"},\"labels\":{\"\\n\":\"\\u0001\"},\"name\":\"\",\"key\":\"\\\"\\\\\"}",
        "{" U ",\"body\":-1.50E+2,\"timeout\":null,\"retry\":null,\"headers\":null,\"at\":null,\"in\":null,\"key\":null}",
        "{" U ",\"at\":\"1970-01-01T00:00:00Z\"}",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        buf_auto struct buf once = {0}, twice = {0};
        struct task task = must_parse(rows[i], &arena);
        render(&once, &task);
        buf_putc(&once, 0);
        struct task again = must_parse(once.p, &arena);
        once.n--;
        render(&twice, &again);
        assert_true(str_eq(buf_str(&once), buf_str(&twice)));
        arena_done(&arena);
    }
}

static void null_means_the_default(void **state)
{
    static const char *const names[] = {
        "method", "headers", "at",      "in",       "not_after", "retry",  "timeout",    "success_codes", "priority",   "queue",
        "sla",    "key",     "on_lost", "lost_max", "name",      "labels", "tracing_id", "created_by",    "traceparent"};
    struct arena arena;
    arena_init(&arena);
    buf_auto struct buf plain = {0};
    struct task task = must_parse("{" U "}", &arena);
    render(&plain, &task);
    for (size_t i = 0; i < array_count(names); i++) {
        buf_auto struct buf buf = {0};
        char text[128];
        snprintf(text, sizeof text, "{" U ",\"%s\":null}", names[i]);
        task = must_parse(text, &arena);
        render(&buf, &task);
        assert_true(str_eq(buf_str(&buf), buf_str(&plain)));
    }
    arena_done(&arena);
}

static void limits_of_the_delay_follow_each_other(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = must_parse("{" U ",\"retry\":{\"delay\":\"1h\"}}", &arena);
    assert_int_equal(task.policy.retry.delay_ms, 3600000);
    assert_int_equal(task.policy.retry.max_delay_ms, 3600000);
    task = must_parse("{" U ",\"retry\":{\"max_delay\":\"1s\"}}", &arena);
    assert_int_equal(task.policy.retry.delay_ms, 1000);
    assert_int_equal(task.policy.retry.max_delay_ms, 1000);
    arena_done(&arena);
}

// What is taken at the edges of the ranges.
static void values_at_the_edge_are_taken(void **state)
{
    static const char *const rows[] = {
        "\"timeout\":\"10ms\"",
        "\"timeout\":\"24h\"",
        "\"sla\":\"1ms\"",
        "\"sla\":\"24h\"",
        "\"ttl\":\"0s\"",
        "\"ttl\":\"36525d\"",
        "\"lost_max\":1",
        "\"lost_max\":100",
        "\"priority\":0",
        "\"priority\":9",
        "\"retry\":{\"max\":100,\"delay\":\"24h\",\"max_delay\":\"24h\"}",
        "\"retry\":{\"delay\":\"0s\",\"max_delay\":\"0s\"}",
        "\"method\":\"GET\",\"body\":\"x\"",
        "\"headers\":{\"!#$%&'*+-.^_`|~09azAZ\":\"\"}",
        "\"headers\":{\"X\":\"tab\\tand \xc3\xa9\"}",
        "\"headers\":{\"Proxy\":\"1\",\"Rota\":\"1\",\"TEx\":\"1\",\"Hosts\":\"1\",\"tracestate\":\"a=b\"}",
        "\"body\":0",
        "\"body\":false",
        "\"in\":\"0s\"",
        "\"\\u006eame\":\"escaped field name\"",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        char text[256];
        snprintf(text, sizeof text, "{" U ",%s}", rows[i]);
        must_parse(text, &arena);
        arena_done(&arena);
    }
}

static void refusals_name_the_field_and_what_is_allowed(void **state)
{
    static const struct refusal rows[] = {
        // Unknown names, and what is not built yet.
        {U ",\"timout\":\"1s\"", ERR_UNKNOWN_FIELD, "/timout", "did you mean \"timeout\"?"},
        {U ",\"TimeOut\":\"1s\"", ERR_UNKNOWN_FIELD, "/TimeOut", "did you mean \"timeout\"?"},
        {U ",\"URL\":\"http://a/\"", ERR_UNKNOWN_FIELD, "/URL", "did you mean \"url\"?"},
        {U ",\"lables\":{}", ERR_UNKNOWN_FIELD, "/lables", "did you mean \"labels\"?"},
        {U ",\"retries\":1", ERR_UNKNOWN_FIELD, "/retries", "did you mean \"retry.max\""},
        {U ",\"kind\":\"k\"", ERR_UNKNOWN_FIELD, "/kind", "does not have this field yet"},
        {U ",\"args\":{}", ERR_UNKNOWN_FIELD, "/args", "does not have this field yet"},
        {U ",\"after\":[]", ERR_UNKNOWN_FIELD, "/after", "does not have this field yet"},
        {U ",\"ref\":\"a\"", ERR_UNKNOWN_FIELD, "/ref", "does not have this field yet"},
        {U ",\"artifact\":\"x\"", ERR_UNKNOWN_FIELD, "/artifact", "does not have this field yet"},
        {U ",\"kind\":null", ERR_UNKNOWN_FIELD, "/kind", "does not have this field yet"},
        {U ",\"\":1", ERR_UNKNOWN_FIELD, "", "must not be empty"},
        {U ",\"a/b~c\":1", ERR_UNKNOWN_FIELD, "/a~1b~0c", "no such field"},
        {U ",\"retry\":{\"maxx\":1}", ERR_UNKNOWN_FIELD, "/retry/maxx", "There is no such field in retry; did you mean \"max\"?"},
        {U ",\"retry\":{\"url\":1}", ERR_UNKNOWN_FIELD, "/retry/url", "There is no such field in retry."},
        // When.
        {U ",\"at\":\"tomorrow\"", ERR_INVALID_FIELD, "/at", "with a zone"},
        {U ",\"at\":\"2026-11-15T20:22:00\"", ERR_INVALID_FIELD, "/at", "zone"},
        {U ",\"at\":\"2026-02-30T20:22:00Z\"", ERR_INVALID_FIELD, "/at", "date and time"},
        {U ",\"at\":1794774120", ERR_INVALID_FIELD, "/at", "with a zone"},
        {U ",\"in\":\"-5s\"", ERR_INVALID_FIELD, "/in", "a duration from 0s to 3653d"},
        {U ",\"in\":5", ERR_INVALID_FIELD, "/in", "a duration"},
        {U ",\"in\":\"3654d\"", ERR_INVALID_FIELD, "/in", "a duration from 0s to 3653d"},
        {U ",\"in\":\"99999999999999999999s\"", ERR_INVALID_FIELD, "/in", "a duration"},
        {U ",\"at\":\"2026-11-15T20:22:00Z\",\"in\":\"5s\"", ERR_INVALID_FIELD, "/in", "At most one of at, in, cron and every"},
        {U ",\"not_after\":\"soon\"", ERR_INVALID_FIELD, "/not_after", "or a duration"},
        {U ",\"not_after\":\"P\"", ERR_INVALID_FIELD, "/not_after", "or a duration"},
        {U ",\"not_after\":5", ERR_INVALID_FIELD, "/not_after", "or a duration"},
        // Retry and times of an attempt.
        {U ",\"retry\":3", ERR_INVALID_FIELD, "/retry", "must be an object"},
        {U ",\"retry\":{\"max\":101}", ERR_INVALID_FIELD, "/retry/max", "max must be a whole number from 0 to 100."},
        {U ",\"retry\":{\"max\":-1}", ERR_INVALID_FIELD, "/retry/max", "from 0 to 100"},
        {U ",\"retry\":{\"max\":1.5}", ERR_INVALID_FIELD, "/retry/max", "whole number"},
        {U ",\"retry\":{\"max\":\"1\"}", ERR_INVALID_FIELD, "/retry/max", "whole number"},
        {U ",\"retry\":{\"max\":99999999999999999999}", ERR_INVALID_FIELD, "/retry/max", "whole number"},
        {U ",\"retry\":{\"max\":4294967297}", ERR_INVALID_FIELD, "/retry/max", "whole number"},
        {U ",\"retry\":{\"delay\":\"25h\"}", ERR_INVALID_FIELD, "/retry/delay", "from 0s to 1d"},
        {U ",\"retry\":{\"max_delay\":\"25h\"}", ERR_INVALID_FIELD, "/retry/max_delay", "from 0s to 1d"},
        {U ",\"retry\":{\"delay\":\"2s\",\"max_delay\":\"1s\"}", ERR_INVALID_FIELD, "/retry/max_delay",
         "not be shorter than delay"},
        {U ",\"retry\":{\"backoff\":\"linear\"}", ERR_INVALID_FIELD, "/retry/backoff", "\"fixed\" or \"exponential\""},
        {U ",\"retry\":{\"jitter\":1}", ERR_INVALID_FIELD, "/retry/jitter", "true or false"},
        {U ",\"timeout\":\"9ms\"", ERR_INVALID_FIELD, "/timeout", "from 10ms to 1d"},
        {U ",\"timeout\":\"25h\"", ERR_INVALID_FIELD, "/timeout", "from 10ms to 1d"},
        {U ",\"timeout\":30", ERR_INVALID_FIELD, "/timeout", "a duration"},
        {U ",\"sla\":\"0s\"", ERR_INVALID_FIELD, "/sla", "from 1ms to 1d"},
        {U ",\"ttl\":\"36526d\"", ERR_INVALID_FIELD, "/ttl", "a duration"},
        {U ",\"ttl\":false", ERR_INVALID_FIELD, "/ttl", "a duration"},
        // Order, losses, words for people.
        {U ",\"priority\":10", ERR_INVALID_FIELD, "/priority", "from 0 to 9"},
        {U ",\"priority\":-1", ERR_INVALID_FIELD, "/priority", "from 0 to 9"},
        {U ",\"queue\":\"\"", ERR_INVALID_FIELD, "/queue", "1 to 64 letters"},
        {U ",\"queue\":\"a b\"", ERR_INVALID_FIELD, "/queue", "1 to 64 letters"},
        {U ",\"queue\":\"a/b\"", ERR_INVALID_FIELD, "/queue", "1 to 64 letters"},
        {U ",\"queue\":{}", ERR_INVALID_FIELD, "/queue", "1 to 64 letters"},
        {U ",\"key\":\"\"", ERR_INVALID_FIELD, "/key", "1 to 255 bytes"},
        {U ",\"on_lost\":\"ignore\"", ERR_INVALID_FIELD, "/on_lost", "\"retry\" or \"bury\""},
        {U ",\"lost_max\":0", ERR_INVALID_FIELD, "/lost_max", "from 1 to 100"},
        {U ",\"lost_max\":101", ERR_INVALID_FIELD, "/lost_max", "from 1 to 100"},
        {U ",\"name\":[]", ERR_INVALID_FIELD, "/name", "0 to 256 bytes"},
        {U ",\"labels\":{\"a\":1}", ERR_INVALID_FIELD, "/labels/a", "must be a string"},
        {U ",\"labels\":{\"\":\"x\"}", ERR_INVALID_FIELD, "/labels/", "1 to 64 bytes"},
        {U ",\"labels\":\"a=b\"", ERR_INVALID_FIELD, "/labels", "object of strings"},
        {U ",\"traceparent\":\"\"", ERR_INVALID_FIELD, "/traceparent", "W3C"},
        {U ",\"traceparent\":\"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"", ERR_INVALID_FIELD, "/traceparent",
         "W3C"},
        {U ",\"traceparent\":\"00-00000000000000000000000000000000-b7ad6b7169203331-01\"", ERR_INVALID_FIELD, "/traceparent",
         "W3C"},
        {U ",\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\"", ERR_INVALID_FIELD, "/traceparent",
         "W3C"},
        {U ",\"traceparent\":\"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"", ERR_INVALID_FIELD, "/traceparent",
         "W3C"},
        {U ",\"traceparent\":\"" TRACE "-x\"", ERR_INVALID_FIELD, "/traceparent", "W3C"},
        {U ",\"traceparent\":1", ERR_INVALID_FIELD, "/traceparent", "W3C"},
    };
    assert_refused(rows, array_count(rows));
}

// {"url":…,"FIELD":"xxx…"} with a text of n bytes.
static enum err parse_long(const char *field, const char *before, size_t n, const char *after, struct problem *why)
{
    struct arena arena;
    struct task task;
    buf_auto struct buf buf = {0};
    arena_init(&arena);
    buf_printf(&buf, "{%s\"%s\":%s", strcmp(field, "url") == 0 ? "" : U ",", field, before);
    for (size_t i = 0; i < n; i++)
        buf_putc(&buf, 'x');
    buf_printf(&buf, "%s}", after);
    enum err err = parse(&task, buf_str(&buf), &arena, why);
    arena_done(&arena);
    return err;
}

static void texts_have_their_limits(void **state)
{
    static const struct {
        const char *field, *before, *after;
        size_t most;
        const char *pointer;
    } rows[] = {
        {"name", "\"", "\"", 256, "/name"},
        {"key", "\"", "\"", 255, "/key"},
        {"queue", "\"", "\"", 64, "/queue"},
        {"tracing_id", "\"", "\"", 256, "/tracing_id"},
        {"created_by", "\"", "\"", 256, "/created_by"},
        {"url", "\"http://a/", "\"", 8192 - 9, "/url"},
        {"headers", "{\"A\":\"", "\"}", 8191, "/headers"},
        {"labels", "{\"a\":\"", "\"}", 256, "/labels/a"},
        {"labels", "{\"", "\":\"\"}", 64, NULL},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct problem why;
        assert_int_equal(parse_long(rows[i].field, rows[i].before, rows[i].most, rows[i].after, &why), ERR_OK);
        assert_int_equal(parse_long(rows[i].field, rows[i].before, rows[i].most + 1, rows[i].after, &why), ERR_INVALID_FIELD);
        if (rows[i].pointer)
            assert_string_equal(why.field, rows[i].pointer);
    }
}

// A list of so many entries: strings with names in an object, codes in an array.
static enum err parse_many(const char *field, int count, char open, char close, struct problem *why)
{
    struct arena arena;
    struct task task;
    buf_auto struct buf buf = {0};
    arena_init(&arena);
    buf_printf(&buf, "{" U ",\"%s\":%c", field, open);
    for (int i = 0; i < count; i++) {
        if (i)
            buf_putc(&buf, ',');
        if (open == '{')
            buf_printf(&buf, "\"k%d\":\"v\"", i);
        else
            buf_put_int(&buf, 200 + i);
    }
    buf_printf(&buf, "%c}", close);
    enum err err = parse(&task, buf_str(&buf), &arena, why);
    arena_done(&arena);
    return err;
}

static void lists_have_their_limits(void **state)
{
    struct problem why;
    assert_int_equal(parse_many("headers", 64, '{', '}', &why), ERR_OK);
    assert_int_equal(parse_many("headers", 65, '{', '}', &why), ERR_INVALID_FIELD);
    assert_string_equal(why.field, "/headers");
    assert_int_equal(parse_many("labels", 16, '{', '}', &why), ERR_OK);
    assert_int_equal(parse_many("labels", 17, '{', '}', &why), ERR_INVALID_FIELD);
    assert_string_equal(why.field, "/labels");
    assert_int_equal(parse_many("success_codes", 64, '[', ']', &why), ERR_OK);
    assert_int_equal(parse_many("success_codes", 65, '[', ']', &why), ERR_INVALID_FIELD);
    assert_string_equal(why.field, "/success_codes");
}

// A pointer to a name that is too long for it is cut between two characters.
static void long_names_are_cut_cleanly(void **state)
{
    for (int pad = 0; pad < 8; pad++) {
        struct arena arena;
        struct task task;
        struct problem why;
        buf_auto struct buf buf = {0}, quoted = {0};
        arena_init(&arena);
        buf_puts(&buf, "{" U ",\"");
        for (int i = 0; i < pad; i++)
            buf_putc(&buf, 'x');
        for (int i = 0; i < 100; i++)
            buf_puts(&buf, i % 3 == 0 ? "\xf0\x9f\x98\x80" : i % 3 == 1 ? "~" : "\xc3\xa9");
        buf_puts(&buf, "\":1}");
        assert_int_equal(parse(&task, buf_str(&buf), &arena, &why), ERR_UNKNOWN_FIELD);
        assert_in_range(strlen(why.field), 90, sizeof why.field - 1);
        json_put_string(&quoted, str_of(why.field));
        buf_putc(&quoted, 0);
        assert_null(strstr(quoted.p, "\xef\xbf\xbd"));
        arena_done(&arena);
    }
}

// The same task in another order and spacing has the same text.
static void order_and_spacing_make_no_difference(void **state)
{
    static const char *const rows[] = {
        "{\"url\":\"http://a/"
        "\",\"headers\":{\"A\":\"1\",\"B\":\"2\"},\"retry\":{\"max\":1,\"delay\":\"60s\"},\"timeout\":\"60s\"}",
        "\n{ \"timeout\" : \"1m\", \"retry\":{\"delay\":\"PT1M\" , \"max\":1.0},\"headers\":{ \"A\": \"1\" "
        ",\t\"B\":\"2\"},\"u\\u0072l\":\"http:\\/\\/a/\" } ",
    };
    struct arena arena;
    arena_init(&arena);
    buf_auto struct buf one = {0}, other = {0};
    struct task task = must_parse(rows[0], &arena);
    render(&one, &task);
    task = must_parse(rows[1], &arena);
    render(&other, &task);
    assert_true(str_eq(buf_str(&one), buf_str(&other)));
    arena_done(&arena);
}

// A merge patch cannot give null, which takes a field away; -1 can be given.
static void a_ttl_of_minus_one_is_null(void **state)
{
    struct arena arena;
    struct task task;
    struct problem why = {0};
    char words[ERR_WHY_MAX];
    arena_init(&arena);
    assert_true(task_read(&task, STR("{\"url\":\"http://x/\",\"ttl\":-1}"), &arena, words));
    assert_int_equal(task.policy.ttl_ms, -1);
    buf_auto struct buf buf = {0};
    task_render(&task, &buf);
    buf_putc(&buf, 0);
    assert_non_null(strstr(buf.p, "\"ttl\":null"));
    static const char *const wrong[] = {"-2", "0", "1", "\"-1\"", "-1.5"};
    for (size_t i = 0; i < array_count(wrong); i++) {
        struct str doc = arena_printf(&arena, "{\"url\":\"http://x/\",\"ttl\":%s}", wrong[i]);
        struct json json;
        assert_int_equal(json_check(doc, &json, words), ERR_OK);
        assert_int_equal(task_parse(&task, json, &arena, &why), ERR_INVALID_FIELD);
        assert_string_equal(why.field, "/ttl");
    }
    assert_false(task_read(&task, STR("{\"url\":\"http://x/\",\"timeout\":-1}"), &arena, words));
    arena_done(&arena);
}

// The names of other schedulers lead to ours, in any spelling, and to what is not there yet.
static void names_of_others_lead_to_ours(void **state)
{
    static const struct {
        const char *given, *words;
    } cases[] = {
        {"\"retries\":1", "did you mean \"retry.max\", which is written {\"retry\": {\"max\": …}}?"},
        {"\"total_retry\":1", "did you mean \"retry.max\""},
        {"\"maxRetries\":1", "did you mean \"retry.max\""},
        {"\"delay\":\"1s\"", "did you mean \"in\"?"},
        {"\"run_at\":\"x\"", "did you mean \"at\"?"},
        {"\"runAt\":\"x\"", "did you mean \"at\"?"},
        {"\"schedule_at\":\"x\"", "did you mean \"at\"?"},
        {"\"scheduled_at\":\"x\"", "This is what rota says of a task, it cannot be given; did you mean \"at\"?"},
        {"\"tags\":[]", "did you mean \"labels\"?"},
        {"\"maxExecutionTime\":1", "did you mean \"timeout\"?"},
        {"\"cron_schedule\":\"\"", "did you mean \"cron\"?"},
        {"\"recurrence_interval\":\"\"", "did you mean \"every\"?"},
        {"\"startsAt\":\"\"", "did you mean \"starts_at\"?"},
        {"\"concurrencyPolicy\":\"\"", "did you mean \"overlap\"?"},
        {"\"catchup\":true", "did you mean \"misfire\"?"},
        {"\"depends_on\":[]", "it is called \"after\", which this version of rota does not have yet"},
        {"\"tenant_id\":1", "the tenant whose request it is"},
        {"\"on_success\":{}", "This version of rota does not have this field yet"},
        {"\"idempotency-key\":\"k\"", "did you mean \"key\"?"},
        {"\"payload\":1", "did you mean \"body\"?"},
        {"\"retry\":{\"attempts\":1}", "There is no such field in retry; did you mean \"max\"?"},
        {"\"outcome\":\"x\"", "what rota says of a task"},
        {"\"updated_at\":\"x\"", "what rota says of a task"},
        {"\"a_name_that_nobody_ever_gave_to_a_field_of_anything\":1", "There is no such field in a task."},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct problem why = {0};
        struct task task;
        struct json json;
        char words[ERR_WHY_MAX];
        arena_init(&arena);
        assert_int_equal(json_check(arena_printf(&arena, "{\"url\":\"http://a/\",%s}", cases[i].given), &json, words), ERR_OK);
        assert_int_equal(task_parse(&task, json, &arena, &why), ERR_UNKNOWN_FIELD);
        if (!strstr(why.detail, cases[i].words))
            fail_msg("%s: %s", cases[i].given, why.detail);
        arena_done(&arena);
    }
}

// What has once been submitted under a key must be known again by every later release. So these texts are never changed: a field
// that is added is not in them unless it is given.
static void a_task_is_known_again_by_what_was_in_the_digest_of_its_key_when_keys_began(void **state)
{
    static const struct {
        const char *doc, *text;
    } cases[] = {
        {"{\"url\":\"http://x/\",\"key\":\"k\"}",
         "\"url\":\"http://x/"
         "\",\"method\":\"POST\",\"retry\":{\"max\":3,\"delay\":\"5s\",\"backoff\":\"exponential\",\"max_delay\":\"10m\","
         "\"jitter\":true},\"timeout\":\"30s\",\"success_codes\":[\"2xx\"],\"priority\":5,\"queue\":\"default\",\"sla\":\"30s\","
         "\"key\":\"k\",\"ttl\":\"7d\",\"on_lost\":\"retry\",\"lost_max\":3"},
        {"{\"url\":\"http://x/"
         "\",\"key\":\"k\",\"method\":\"PUT\",\"headers\":{\"A\":\"b\"},\"body\":[1.50],\"in\":\"1h\",\"not_after\":\"1d\","
         "\"retry\":{\"max\":0},\"ttl\":null,\"on_lost\":\"bury\",\"name\":\"n\",\"labels\":{\"a\":\"b\"},\"tracing_id\":\"t\","
         "\"created_by\":\"c\",\"success_codes\":[404],\"priority\":9,\"queue\":\"q\"}",
         "\"url\":\"http://x/\",\"method\":\"PUT\",\"headers\":{\"A\":\"b\"},\"body\":[1.50],\"in\":\"1h\",\"not_after\":\"1d\","
         "\"retry\":{\"max\":0,\"delay\":\"5s\",\"backoff\":\"exponential\",\"max_delay\":\"10m\",\"jitter\":true},"
         "\"timeout\":\"30s\",\"success_codes\":[404],\"priority\":9,\"queue\":\"q\",\"sla\":\"30s\",\"key\":\"k\",\"ttl\":null,"
         "\"on_lost\":\"bury\",\"lost_max\":3,\"name\":\"n\",\"labels\":{\"a\":\"b\"},\"tracing_id\":\"t\",\"created_by\":\"c\""},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < array_count(cases); i++) {
        struct task task;
        char why[ERR_WHY_MAX];
        buf_auto struct buf text = {0};
        assert_true(task_read(&task, str_of(cases[i].doc), &arena, why));
        task_render_for_key(&task, &text);
        buf_putc(&text, 0);
        assert_string_equal(text.p, cases[i].text);
    }
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_smallest_task_has_all_defaults),
        cmocka_unit_test(every_field_is_read_and_shown_in_a_fixed_order),
        cmocka_unit_test(what_is_shown_can_be_given_again),
        cmocka_unit_test(null_means_the_default),
        cmocka_unit_test(limits_of_the_delay_follow_each_other),
        cmocka_unit_test(values_at_the_edge_are_taken),
        cmocka_unit_test(refusals_name_the_field_and_what_is_allowed),
        cmocka_unit_test(texts_have_their_limits),
        cmocka_unit_test(lists_have_their_limits),
        cmocka_unit_test(long_names_are_cut_cleanly),
        cmocka_unit_test(order_and_spacing_make_no_difference),
        cmocka_unit_test(a_ttl_of_minus_one_is_null),
        cmocka_unit_test(names_of_others_lead_to_ours),
        cmocka_unit_test(a_task_is_known_again_by_what_was_in_the_digest_of_its_key_when_keys_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
