// The plain types of fields: what each takes, how it shows that again, and what it refuses.
#include "core/task/field_type.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

// One value of every plain type.
struct sample {
    struct str text, word;
    bool either, flag;
    int number;
    enum { SMALL, LARGE, HUGE } choice;
    int64_t limit, duration, endless, time;
    struct json json;
};

static const char *const sizes[] = {"small", "large", "huge", NULL};
static const char *const sides[] = {"left", "right", NULL};

#define ROW(kind, member) FIELD_NAME(#member), .type = &field_type_##kind, .offset = offsetof(struct sample, member)

static const struct field rows[] = {
    {ROW(text, text), .min = 1, .max = 3},
    {ROW(word, word), .any = sizes},
    {ROW(either, either), .any = sides},
    {ROW(choice, choice), .any = sizes},
    {ROW(flag, flag)},
    {ROW(number, number), .min = -2, .max = 7},
    {ROW(limit, limit), .min = 1, .max = INT32_MAX},
    {ROW(duration, duration), .min = 10, .max = 60000},
    {ROW(duration, endless), .max = 60000, .null_counts = true},
    {ROW(time, time)},
    {ROW(json, json), .null_counts = true},
};
static const struct sample defaults = {.duration = -1};
static const struct fields fields = {.rows = rows, .count = array_count(rows), .what = "a sample", .defaults = &defaults};

static enum err read(struct sample *ret_sample, const char *doc, struct arena *arena, struct problem *why)
{
    struct json value;
    struct field_reader reader = {.object = ret_sample, .arena = arena, .why = why, .within = ""};
    *ret_sample = defaults;
    assert_int_equal(json_check(str_of(doc), &value, why->detail), ERR_OK);
    return field_read_all(&reader, &fields, value);
}

static void a_value_that_is_taken_is_shown_in_its_usual_form(void **state)
{
    static const struct {
        const char *doc, *shown;
    } cases[] = {
        {"{\"text\":\"\\u0061\\\"\"}", "\"text\":\"a\\\"\""},
        {"{\"word\":\"huge\"}", "\"word\":\"huge\""},
        {"{\"either\":\"right\"}", "\"either\":\"right\""},
        {"{\"either\":\"left\"}", "\"either\":\"left\""},
        {"{\"choice\":\"huge\"}", "\"choice\":\"huge\""},
        {"{}", "\"choice\":\"small\""},
        {"{\"flag\":true}", "\"flag\":true"},
        {"{\"limit\":2147483647}", "\"limit\":2147483647"},
        {"{}", "\"number\":0,\"endless\""}, // a limit of 0 is none
        {"{\"number\":-2}", "\"number\":-2"},
        {"{\"number\":70e-1}", "\"number\":7"},
        {"{\"duration\":\"PT60S\"}", "\"duration\":\"1m\""},
        {"{\"duration\":\"10ms\"}", "\"duration\":\"10ms\""},
        {"{\"endless\":null}", "\"endless\":null"},
        {"{\"endless\":-1}", "\"endless\":null"},
        {"{\"endless\":\"0s\"}", "\"endless\":\"0s\""},
        {"{\"time\":\"2026-11-15T22:22:01+02:00\"}", "\"time\":\"2026-11-15T20:22:01.000Z\""},
        {"{\"json\":null}", "\"json\":null"},
        {"{\"json\":{ \"n\": 1.00 }}", "\"json\":{ \"n\": 1.00 }"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct sample sample;
        struct problem why;
        buf_auto struct buf buf = {0};
        arena_init(&arena);
        assert_int_equal(read(&sample, cases[i].doc, &arena, &why), ERR_OK);
        field_write_all(&fields, NULL, &sample, FIELD_FOR_PEOPLE, &buf);
        buf_putc(&buf, 0);
        if (!strstr(buf.p, cases[i].shown))
            fail_msg("%s: %s", cases[i].doc, buf.p);
        arena_done(&arena);
    }
}

static void a_value_that_is_not_allowed_is_refused_with_what_is(void **state)
{
    static const struct {
        const char *doc, *words;
    } cases[] = {
        {"{\"text\":\"\"}", "text must be a string of 1 to 3 bytes."},
        {"{\"text\":\"abcd\"}", "text must be a string of 1 to 3 bytes."},
        {"{\"text\":1}", "text must be a string of 1 to 3 bytes."},
        {"{\"word\":\"Small\"}", "word must be \"small\", \"large\" or \"huge\"."},
        {"{\"word\":[]}", "word must be \"small\", \"large\" or \"huge\"."},
        {"{\"either\":\"up\"}", "either must be \"left\" or \"right\"."},
        {"{\"choice\":\"tiny\"}", "choice must be \"small\", \"large\" or \"huge\"."},
        {"{\"choice\":1}", "choice must be \"small\", \"large\" or \"huge\"."},
        {"{\"limit\":0}", "limit must be a whole number from 1 to 2147483647."},
        {"{\"limit\":2147483648}", "limit must be a whole number from 1 to 2147483647."},
        {"{\"flag\":1}", "flag must be true or false."},
        {"{\"number\":8}", "number must be a whole number from -2 to 7."},
        {"{\"number\":4294967297}", "number must be a whole number from -2 to 7."},
        {"{\"number\":1.5}", "number must be a whole number from -2 to 7."},
        {"{\"duration\":\"9ms\"}", "duration must be a duration from 10ms to 1m, such as"},
        {"{\"duration\":-1}", "duration must be a duration from 10ms to 1m, such as"},
        {"{\"endless\":-2}", "endless must be a duration from 0s to 1m, such as"},
        {"{\"time\":\"2026-11-15T22:22:01\"}", "time must be a date and time that exist, with a zone"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct arena arena;
        struct sample sample;
        struct problem why;
        arena_init(&arena);
        assert_int_equal(read(&sample, cases[i].doc, &arena, &why), ERR_INVALID_FIELD);
        if (!strstr(why.detail, cases[i].words))
            fail_msg("%s: %s", cases[i].doc, why.detail);
        arena_done(&arena);
    }
}

static void a_time_before_all_times_is_still_a_time(void **state)
{
    struct arena arena;
    struct sample sample;
    struct problem why;
    arena_init(&arena);
    assert_int_equal(read(&sample, "{\"time\":\"1970-01-01T00:00:00Z\"}", &arena, &why), ERR_OK);
    assert_int_equal(sample.time, 1);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_that_is_taken_is_shown_in_its_usual_form),
        cmocka_unit_test(a_value_that_is_not_allowed_is_refused_with_what_is),
        cmocka_unit_test(a_time_before_all_times_is_still_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
