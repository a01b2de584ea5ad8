// Changing a task: the merge of RFC 7386, what a patch may not do, and what follows for a job that waits.
#include "core/task/patch.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const int64_t NOW = 1794774120000; // 2026-11-15T20:22:00Z
#define U "\"url\":\"http://a/\""

static struct json checked(const char *text)
{
    struct json value;
    char why[ERR_WHY_MAX];
    if (json_check(str_of(text), &value, why))
        fail_msg("%s: %s", text, why);
    return value;
}

static enum err try_patch(struct patched *ret_patched, const char *doc, const char *patch, struct arena *arena,
                          struct problem *why)
{
    *why = (struct problem){0};
    return patch_task(ret_patched, checked(doc).raw, checked(patch), arena, why);
}

static struct patched must_patch(const char *doc, const char *patch, struct arena *arena)
{
    struct patched patched;
    struct problem why;
    if (try_patch(&patched, doc, patch, arena, &why))
        fail_msg("%s onto %s: %s %s", patch, doc, why.field, why.detail);
    checked(arena_printf(arena, "%.*s", STR_ARG(patched.doc)).p);
    return patched;
}

static void assert_patched(const char *doc, const char *patch, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    struct str made = must_patch(doc, patch, &arena).doc;
    if (!str_is(made, expected))
        fail_msg("%s onto %s makes %.*s", patch, doc, STR_ARG(made));
    arena_done(&arena);
}

// The examples of RFC 7386, appendix A, in the one field that holds any JSON. What is null there is absent here.
static void a_patch_is_merged_as_rfc_7386_says(void **state)
{
    static const struct {
        const char *original, *patch, *result;
    } cases[] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        {"\"text\"", "{\"a\":{\"b\":[null]}}", "{\"a\":{\"b\":[null]}}"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        char doc[200], patch[200], result[200];
        snprintf(doc, sizeof doc, "{" U ",\"body\":%s}", cases[i].original);
        snprintf(patch, sizeof patch, "{\"body\":%s}", cases[i].patch);
        snprintf(result, sizeof result, "{" U ",\"body\":%s}", cases[i].result);
        assert_patched(doc, patch, result);
    }
    assert_patched("{" U ",\"body\":{\"a\":\"foo\"}}", "{\"body\":null}", "{" U "}");
}

static void put_members(struct buf *buf, int from, int to, int step, const char *value)
{
    for (int i = from; i < to; i += step)
        buf_printf(buf, "%s\"k%d\":%s", i == from ? "" : ",", i, value);
}

// Of 3000 members each third is changed, the next one of them removed, and as many are new.
static void objects_of_many_members_are_merged_in_their_order(void **state)
{
    buf_auto struct buf doc = {0}, patch = {0}, made = {0};
    buf_puts(&doc, "{" U ",\"body\":{");
    put_members(&doc, 0, 3000, 1, "0");
    buf_puts(&doc, "}}");
    buf_puts(&patch, "{\"body\":{");
    put_members(&patch, 0, 3000, 3, "1");
    buf_puts(&patch, ",");
    put_members(&patch, 1, 3000, 3, "null");
    buf_puts(&patch, ",");
    put_members(&patch, 3000, 4000, 1, "2");
    buf_puts(&patch, "}}");
    buf_puts(&made, "{" U ",\"body\":{");
    for (int i = 0; i < 3000; i++)
        if (i % 3 != 1)
            buf_printf(&made, "%s\"k%d\":%d", i ? "," : "", i, i % 3 == 0);
    buf_puts(&made, ",");
    put_members(&made, 3000, 4000, 1, "2");
    buf_puts(&made, "}}");
    struct buf *const texts[] = {&doc, &patch, &made};
    for (size_t i = 0; i < array_count(texts); i++)
        buf_putc(texts[i], 0);
    assert_patched(doc.p, patch.p, made.p);
}

static void members_that_are_left_alone_keep_their_bytes(void **state)
{
    assert_patched("{ \"url\" : \"http:\\/\\/a\\/\" , \"body\" : { \"n\": 1.00 } }", "{\"name\":\"x\"}",
                   "{\"url\":\"http:\\/\\/a\\/\",\"body\":{ \"n\": 1.00 },\"name\":\"x\"}");
    assert_patched("{" U "}", "{}", "{" U "}");
    assert_patched("{" U "}", "{ \"name\" : null , \"priority\" : 7 }", "{" U ",\"priority\":7}");
    assert_patched("{" U ",\"headers\":{\"A\":\"1\",\"B\":\"2\"},\"labels\":{\"k\":\"v\"}}",
                   "{\"headers\":{\"B\":null,\"C\":\"3\"},\"labels\":{}}",
                   "{" U ",\"headers\":{\"A\":\"1\",\"C\":\"3\"},\"labels\":{\"k\":\"v\"}}");
}

static void keys_are_compared_as_they_read_not_as_they_are_written(void **state)
{
    assert_patched("{" U ",\"n\\u0061me\":\"old\"}", "{\"name\":\"new\"}", "{" U ",\"n\\u0061me\":\"new\"}");
    assert_patched("{" U ",\"name\":\"old\"}", "{\"n\\u0061me\":null}", "{" U "}");
    assert_patched("{" U ",\"in\":\"5s\"}", "{\"\\u0061t\":\"2026-11-16T00:00:00Z\"}",
                   "{" U ",\"\\u0061t\":\"2026-11-16T00:00:00Z\"}");
    assert_patched("{" U ",\"\\u0061t\":\"2026-11-16T00:00:00Z\"}", "{\"in\":\"5s\"}", "{" U ",\"in\":\"5s\"}");
}

static void a_new_time_takes_the_place_of_the_old_one(void **state)
{
    static const struct {
        const char *doc, *patch, *result;
        bool replanned;
    } cases[] = {
        {",\"in\":\"5s\"", "{\"at\":\"2026-11-16T00:00:00Z\"}", ",\"at\":\"2026-11-16T00:00:00Z\"", true},
        {",\"at\":\"2026-11-16T00:00:00Z\"", "{\"in\":\"5s\"}", ",\"in\":\"5s\"", true},
        {",\"in\":\"5s\"", "{\"in\":\"6s\"}", ",\"in\":\"6s\"", true},
        {",\"in\":\"5s\"", "{\"in\":null}", "", true},
        {",\"in\":\"5s\"", "{\"at\":null}", ",\"in\":\"5s\"", true},
        {",\"in\":\"5s\"", "{\"at\":null,\"in\":\"7s\"}", ",\"in\":\"7s\"", true},
        {",\"in\":\"5s\"", "{\"priority\":1}", ",\"in\":\"5s\",\"priority\":1", false},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        char doc[200], result[200];
        arena_init(&arena);
        snprintf(doc, sizeof doc, "{" U "%s}", cases[i].doc);
        snprintf(result, sizeof result, "{" U "%s}", cases[i].result);
        struct patched patched = must_patch(doc, cases[i].patch, &arena);
        assert_true(str_is(patched.doc, result));
        assert_int_equal(patched.replanned, cases[i].replanned);
        arena_done(&arena);
    }
}

static void a_recurring_task_stays_one_and_a_one_time_task_too(void **state)
{
    static const struct {
        const char *doc, *patch, *result; // result NULL: the field that is refused is `field`
        bool replanned;
        const char *field, *words;
    } cases[] = {
        {"\"cron\":\"@daily\"", "{\"every\":\"1h\"}", "\"every\":\"1h\"", true},
        {"\"cron\":\"@daily\",\"dst_gap\":\"skip\",\"timezone\":\"Asia/Tokyo\"", "{\"every\":\"1h\"}",
         "\"timezone\":\"Asia/Tokyo\",\"every\":\"1h\"", true},
        {"\"every\":\"1h\",\"anchor\":\"2026-01-01T00:00:00Z\"", "{\"cron\":\"@daily\"}", "\"cron\":\"@daily\"", true},
        {"\"every\":\"1h\"", "{\"cron\":\"@daily\",\"every\":null}", "\"cron\":\"@daily\"", true},
        {"\"every\":\"1h\"", "{\"cron\":null}", "\"every\":\"1h\"", true},
        {"\"every\":\"1h\"", "{\"jitter\":\"1m\"}", "\"every\":\"1h\",\"jitter\":\"1m\"", true},
        {"\"every\":\"1h\"", "{\"name\":\"n\"}", "\"every\":\"1h\",\"name\":\"n\"", true},
        {"\"every\":\"1h\"", "{\"misfire\":\"all\"}", "\"every\":\"1h\",\"misfire\":\"all\"", false},
        {"\"every\":\"1h\"", "{\"priority\":1}", "\"every\":\"1h\",\"priority\":1", false},
        {"\"in\":\"1h\"", "{\"name\":\"n\"}", "\"in\":\"1h\",\"name\":\"n\"", false},
        {"\"in\":\"1h\"", "{\"cron\":null,\"every\":null}", "\"in\":\"1h\"", false},
        {"\"in\":\"1h\"", "{\"cron\":\"@daily\"}", .field = "/cron", .words = "runs once"},
        {"\"name\":\"n\"", "{\"every\":\"1h\",\"in\":null}", .field = "/every", .words = "runs once"},
        {"\"every\":\"1h\"", "{\"at\":\"2026-11-16T00:00:00Z\",\"every\":null}", .field = "/at", .words = "recurs"},
        {"\"cron\":\"@daily\"", "{\"in\":\"5s\"}", .field = "/in", .words = "recurs"},
        {"\"cron\":\"@daily\"", "{\"cron\":null}", .field = "/cron", .words = "must have cron or every"},
        {"\"every\":\"1h\"", "{\"every\":null}", .field = "/every", .words = "must have cron or every"},
        {"\"every\":\"1h\"", "{\"cron\":\"@daily\",\"every\":\"2h\"}", .field = "/every", .words = "At most one of"},
        {"\"every\":\"1h\"", "{\"max_active\":2}", .field = "/max_active", .words = "overlap"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct patched patched;
        struct problem why;
        arena_init(&arena);
        const char *doc = arena_printf(&arena, "{" U ",%s}", cases[i].doc).p;
        if (cases[i].result) {
            patched = must_patch(doc, cases[i].patch, &arena);
            assert_string_equal(arena_copy(&arena, patched.doc).p, arena_printf(&arena, "{" U ",%s}", cases[i].result).p);
            assert_int_equal(patched.replanned, cases[i].replanned);
        } else {
            assert_int_equal(try_patch(&patched, doc, cases[i].patch, &arena, &why), ERR_INVALID_FIELD);
            assert_string_equal(why.field, cases[i].field);
            assert_non_null(strstr(why.detail, cases[i].words));
        }
        arena_done(&arena);
    }
}

static void what_would_not_be_a_task_is_refused_as_if_it_were_submitted(void **state)
{
    static const struct {
        const char *patch, *field;
        enum err err;
    } cases[] = {
        {"{\"key\":\"k\"}", "/key", ERR_INVALID_FIELD},
        {"{\"key\":null}", "/key", ERR_INVALID_FIELD},
        {"{\"k\\u0065y\":\"k\"}", "/key", ERR_INVALID_FIELD},
        {"{\"url\":null}", "/url", ERR_MISSING_FIELD},
        {"{\"url\":\"ftp://a/\"}", "/url", ERR_INVALID_FIELD},
        {"{\"prority\":1}", "/prority", ERR_UNKNOWN_FIELD},
        {"{\"priority\":10}", "/priority", ERR_INVALID_FIELD},
        {"{\"at\":\"2026-11-16T00:00:00Z\",\"in\":\"5s\"}", NULL, ERR_INVALID_FIELD},
        {"{\"retry\":{\"max\":-1}}", "/retry/max", ERR_INVALID_FIELD},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct patched patched;
        struct problem why;
        arena_init(&arena);
        enum err err = try_patch(&patched, "{" U ",\"in\":\"1s\",\"key\":\"kept\"}", cases[i].patch, &arena, &why);
        if (err != cases[i].err || why.err != err)
            fail_msg("%s: %s at %s, %s", cases[i].patch, err_info(err)->code, why.field, why.detail);
        if (cases[i].field)
            assert_string_equal(why.field, cases[i].field);
        assert_true(why.detail[0] != 0);
        arena_done(&arena);
    }
}

static void a_task_does_not_grow_beyond_its_bound(void **state)
{
    enum { BODY = TASK_DOC_MAX - 100 };
    struct arena arena;
    struct patched patched;
    struct problem why;
    char *doc = mem_alloc(TASK_DOC_MAX);
    int n = snprintf(doc, TASK_DOC_MAX, "{" U ",\"body\":\"");
    memset(doc + n, 'x', BODY - (size_t)n);
    memcpy(doc + BODY, "\"}", 3);
    arena_init(&arena);
    assert_int_equal(try_patch(&patched, doc, "{\"name\":\"short\"}", &arena, &why), ERR_OK);
    char patch[200] = "{\"name\":\"";
    memset(patch + 9, 'n', 150);
    memcpy(patch + 159, "\"}", 3);
    assert_int_equal(try_patch(&patched, doc, patch, &arena, &why), ERR_TOO_LARGE);
    assert_int_equal(why.err, ERR_TOO_LARGE);
    arena_done(&arena);
    mem_free(doc);
}

static struct job waiting(enum job_state job_state, int64_t due_at)
{
    return (struct job){.id = 1,
                        .state = (uint8_t)job_state,
                        .priority = 5,
                        .scheduled_at = due_at,
                        .ready_at = due_at,
                        .due_at = due_at,
                        .token = 3};
}

static struct job follow(struct job job, const char *doc, const char *patch)
{
    struct arena arena;
    struct problem why = {0};
    arena_init(&arena);
    struct patched patched = must_patch(doc, patch, &arena);
    if (patch_job(&patched, &job, NOW, &why))
        fail_msg("%s: %s", patch, why.detail);
    arena_done(&arena);
    return job;
}

static void a_waiting_job_follows_to_its_new_time(void **state)
{
    struct job job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\"}", "{\"in\":\"5s\"}");
    assert_true(job.scheduled_at == NOW + 5000 && job.ready_at == NOW + 5000 && job.due_at == NOW + 5000);
    assert_int_equal(job.state, JOB_DELAYED);
    job = follow(waiting(JOB_READY, NOW - 50), "{" U "}", "{\"at\":\"2026-11-15T20:23:00Z\"}"); // due, and put off
    assert_true(job.due_at == NOW + 60000 && job.state == JOB_DELAYED);
    job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\"}", "{\"in\":null}");
    assert_true(job.due_at == NOW && job.scheduled_at == NOW && job.state == JOB_READY);
    assert_int_equal(job.token, 4); // who decided on the old plan is refused
}

static void a_job_whose_time_is_not_changed_keeps_it(void **state)
{
    struct job planned =
        follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"every\":\"1m\"}", "{\"every\":\"1h\",\"not_after\":\"5s\"}");
    assert_true(planned.scheduled_at == NOW + 60000 && planned.expires_at == NOW + 65000); // its schedule says when it moves
    struct job job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\"}", "{\"priority\":9}");
    assert_true(job.scheduled_at == NOW + 60000 && job.due_at == NOW + 60000 && job.priority == 9);
    struct job recalled = waiting(JOB_DELAYED, NOW + 3000);
    recalled.due_at = NOW + 10000; // for the moment of the change
    job = follow(recalled, "{" U ",\"in\":\"3s\"}", "{\"priority\":9}");
    assert_true(job.due_at == NOW + 3000 && job.state == JOB_DELAYED);
}

static void a_job_that_waits_for_its_retry_is_not_replanned(void **state)
{
    struct job retrying = waiting(JOB_DELAYED, NOW + 4000);
    retrying.scheduled_at = NOW - 9000;
    retrying.attempts = 1;
    struct job job = follow(retrying, "{" U ",\"not_after\":\"1h\"}", "{\"in\":\"1d\",\"priority\":0}");
    assert_true(job.scheduled_at == NOW - 9000 && job.due_at == NOW + 4000 && job.priority == 0);
    assert_int_equal(job.expires_at, NOW - 9000 + 3600000);
}

static void the_expiry_follows_the_time_it_counts_from(void **state)
{
    struct job job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\"}", "{\"not_after\":\"10s\"}");
    assert_int_equal(job.expires_at, NOW + 70000);
    job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\",\"not_after\":\"10s\"}", "{\"in\":\"5s\"}");
    assert_int_equal(job.expires_at, NOW + 15000);
    job = follow(waiting(JOB_DELAYED, NOW + 60000), "{" U ",\"in\":\"1m\"}", "{\"not_after\":\"2026-11-16T00:00:00Z\"}");
    assert_int_equal(job.expires_at, 1794787200000);
    job = waiting(JOB_DELAYED, NOW + 60000);
    job.expires_at = NOW + 70000;
    job = follow(job, "{" U ",\"in\":\"1m\",\"not_after\":\"10s\"}", "{\"not_after\":null}");
    assert_int_equal(job.expires_at, 0);
}

static void a_job_that_does_not_wait_is_not_changed(void **state)
{
    static const enum job_state states[] = {JOB_WATCHING, JOB_RESERVED, JOB_SUCCESS, JOB_CANCELLED};
    struct arena arena;
    arena_init(&arena);
    struct patched patched = must_patch("{" U "}", "{\"in\":\"5s\"}", &arena);
    for (size_t i = 0; i < array_count(states); i++) {
        struct job job = waiting(states[i], NOW);
        struct problem why = {0};
        assert_int_equal(patch_job(&patched, &job, NOW, &why), ERR_ILLEGAL_TRANSITION);
        assert_true(job.due_at == NOW && job.state == states[i]);
    }
    arena_done(&arena);
}

static void a_whole_document_takes_the_place_of_the_old_one(void **state)
{
    static const struct {
        const char *whole;
        bool replanned, same;
    } cases[] = {
        {"{" U ",\"cron\":\"0 3 * * *\",\"priority\":2}", false, true},
        {"{\"priority\": 2, \"cron\":\"0 3 * * *\", " U ",\"method\":\"POST\"}", false, true},
        {"{" U ",\"cron\":\"0 3 * * *\"}", false, false},
        {"{" U ",\"cron\":\"0 4 * * *\",\"priority\":2}", true, false},
        {"{" U ",\"every\":\"1h\",\"priority\":2}", true, false},
        {"{" U ",\"cron\":\"0 3 * * *\",\"priority\":2,\"timezone\":\"Europe/Berlin\"}", true, false},
    };
    static const char doc[] = "{" U ",\"cron\":\"0 3 * * *\",\"priority\":2}";
    struct arena arena;
    struct patched patched;
    struct problem why = {0};
    arena_init(&arena);
    for (size_t i = 0; i < array_count(cases); i++) {
        assert_int_equal(patch_replace(&patched, str_of(doc), checked(cases[i].whole), &arena, &why), ERR_OK);
        assert_true(str_is(patched.doc, cases[i].whole));
        assert_int_equal(patched.replanned, cases[i].replanned);
        assert_int_equal(patch_changes_nothing(&patched.task, str_of(doc), &arena), cases[i].same);
    }
    assert_int_equal(patch_replace(&patched, str_of(doc), checked("{\"cron\":\"0 3 * * *\"}"), &arena, &why), ERR_MISSING_FIELD);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_patch_is_merged_as_rfc_7386_says),
        cmocka_unit_test(objects_of_many_members_are_merged_in_their_order),
        cmocka_unit_test(members_that_are_left_alone_keep_their_bytes),
        cmocka_unit_test(keys_are_compared_as_they_read_not_as_they_are_written),
        cmocka_unit_test(a_new_time_takes_the_place_of_the_old_one),
        cmocka_unit_test(a_recurring_task_stays_one_and_a_one_time_task_too),
        cmocka_unit_test(what_would_not_be_a_task_is_refused_as_if_it_were_submitted),
        cmocka_unit_test(a_task_does_not_grow_beyond_its_bound),
        cmocka_unit_test(a_whole_document_takes_the_place_of_the_old_one),
        cmocka_unit_test(a_waiting_job_follows_to_its_new_time),
        cmocka_unit_test(a_job_whose_time_is_not_changed_keeps_it),
        cmocka_unit_test(a_job_that_waits_for_its_retry_is_not_replanned),
        cmocka_unit_test(the_expiry_follows_the_time_it_counts_from),
        cmocka_unit_test(a_job_that_does_not_wait_is_not_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
