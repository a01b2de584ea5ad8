// The fields of recurring tasks: what is taken, shown and refused, what no field can say alone, and the schedule that is made of
// them.
#include "base/data/hash.h"
#include "read_task.h"

#define CRON "\"cron\":\"30 2 * * *\""
#define EVERY "\"every\":\"15m\""

static const int64_t NOW = 1794774120000; // 2026-11-15T20:22:00Z

// The text of a task without what every task has.
static struct str shown(const char *members, struct arena *arena)
{
    static const char before[] = "{\"url\":\"http://a/\",\"method\":\"POST\",", after[] = ",\"retry\":";
    buf_auto struct buf buf = {0};
    struct task task = must_parse(arena_printf(arena, "{" U ",%s}", members).p, arena);
    render(&buf, &task);
    buf_putc(&buf, 0);
    assert_memory_equal(buf.p, before, sizeof before - 1);
    const char *from = buf.p + sizeof before - 1, *end = strstr(from, after);
    assert_non_null(end);
    return arena_copy(arena, (struct str){from, (size_t)(end - from)});
}

static void assert_shown(const char *members, const char *expected)
{
    struct arena arena;
    arena_init(&arena);
    struct str text = shown(members, &arena), again = shown(text.p, &arena);
    if (!str_is(text, expected))
        fail_msg("%s is shown as %s", members, text.p);
    assert_true(str_eq(text, again));
    arena_done(&arena);
}

static void a_recurring_task_shows_its_defaults(void **state)
{
    assert_shown(CRON, CRON ",\"timezone\":\"UTC\",\"misfire\":\"one\",\"misfire_window\":null,\"overlap\":\"allow\","
                            "\"dst_gap\":\"run_after\",\"dst_overlap\":\"first\",\"jitter\":\"0s\"");
    assert_shown(EVERY, "\"timezone\":\"UTC\"," EVERY ",\"misfire\":\"one\",\"misfire_window\":null,\"overlap\":\"allow\","
                        "\"jitter\":\"0s\"");
    assert_shown(EVERY ",\"overlap\":\"skip\"",
                 "\"timezone\":\"UTC\"," EVERY ",\"misfire\":\"one\",\"misfire_window\":null,\"overlap\":\"skip\","
                 "\"max_active\":1,\"jitter\":\"0s\"");
}

static void every_field_is_read_and_shown(void **state)
{
    assert_shown("\"not_after\":\"PT10M\",\"jitter\":\"90s\",\"max_runs\":2147483647,\"ends_at\":\"2030-01-01T00:00:00Z\","
                 "\"starts_at\":\"2029-01-01T01:00:00+01:00\",\"pause_after_failures\":3,"
                 "\"exclude\":[ \"2026-12-25\" , \"12-25\",\"2026-07-01/2026-07-14\" ],\"dst_overlap\":\"both\","
                 "\"dst_gap\":\"skip\",\"max_active\":7,\"overlap\":\"queue\",\"misfire_window\":\"1h\",\"misfire\":\"all\","
                 "\"timezone\":\"Europe/Berlin\"," CRON,
                 CRON ",\"timezone\":\"Europe/Berlin\",\"misfire\":\"all\",\"misfire_window\":\"1h\",\"overlap\":\"queue\","
                      "\"max_active\":7,\"dst_gap\":\"skip\",\"dst_overlap\":\"both\","
                      "\"exclude\":[\"2026-12-25\",\"12-25\",\"2026-07-01/2026-07-14\"],\"pause_after_failures\":3,"
                      "\"starts_at\":\"2029-01-01T00:00:00.000Z\",\"ends_at\":\"2030-01-01T00:00:00.000Z\","
                      "\"max_runs\":2147483647,\"jitter\":\"90s\",\"not_after\":\"10m\"");
    assert_shown(EVERY ",\"anchor\":\"1970-01-01T00:00:00Z\",\"overlap\":\"cancel\",\"misfire\":\"skip\",\"exclude\":[]",
                 "\"timezone\":\"UTC\"," EVERY ",\"anchor\":\"1970-01-01T00:00:00.000Z\",\"misfire\":\"skip\","
                 "\"misfire_window\":null,\"overlap\":\"cancel\",\"max_active\":1,\"exclude\":[],\"jitter\":\"0s\"");
    assert_shown(CRON ",\"dst_overlap\":\"last\",\"misfire_window\":-1",
                 CRON ",\"timezone\":\"UTC\",\"misfire\":\"one\",\"misfire_window\":null,\"overlap\":\"allow\","
                      "\"dst_gap\":\"run_after\",\"dst_overlap\":\"last\",\"jitter\":\"0s\"");
}

static void the_struct_has_what_the_document_says(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct task task = must_parse("{" U "," EVERY ",\"anchor\":\"2026-01-01T00:00:00.250Z\",\"misfire\":\"all\","
                                  "\"misfire_window\":\"1h\",\"overlap\":\"cancel\",\"max_active\":100,\"max_runs\":9,"
                                  "\"pause_after_failures\":1000000,\"jitter\":\"1s\"}",
                                  &arena);
    const struct recurrence *recurs = task.recurs;
    assert_true(task_recurs(&task));
    assert_int_equal(recurs->every_ms, 900000);
    assert_int_equal(recurs->anchor_ms, 1767225600250);
    assert_int_equal(recurs->rules.misfire, PLAN_MISFIRE_ALL);
    assert_int_equal(recurs->rules.misfire_window_ms, 3600000);
    assert_int_equal(recurs->rules.overlap, PLAN_OVERLAP_CANCEL);
    assert_int_equal(recurs->rules.max_active, 100);
    assert_int_equal(recurs->rules.max_runs, 9);
    assert_int_equal(recurs->pause_after_failures, 1000000);
    assert_int_equal(recurs->jitter_ms, 1000);
    arena_done(&arena);
}

static void null_is_the_default_also_of_a_task_that_runs_once(void **state)
{
    static const char *const names[] = {"cron",      "timezone",   "every",    "anchor",      "misfire", "misfire_window",
                                        "overlap",   "max_active", "dst_gap",  "dst_overlap", "exclude", "pause_after_failures",
                                        "starts_at", "ends_at",    "max_runs", "jitter"};
    for (size_t i = 0; i < array_count(names); i++) {
        struct arena arena;
        arena_init(&arena);
        buf_auto struct buf plain = {0}, with_null = {0};
        struct task task = must_parse("{" U "}", &arena);
        render(&plain, &task);
        task = must_parse(arena_printf(&arena, "{" U ",\"%s\":null}", names[i]).p, &arena);
        assert_false(task_recurs(&task));
        assert_null(task.recurs);
        render(&with_null, &task);
        assert_true(str_eq(buf_str(&plain), buf_str(&with_null)));
        arena_done(&arena);
    }
}

static void values_at_the_edge_are_taken(void **state)
{
    static const char *const rows[] = {
        "\"every\":\"1s\"",
        "\"every\":\"3653d\"",
        "\"every\":\"1500ms\"",
        EVERY ",\"jitter\":\"24h\"", // what is stored is read, also if it would be refused today
        EVERY ",\"misfire_window\":\"0s\"",
        EVERY ",\"misfire_window\":\"36525d\"",
        EVERY ",\"overlap\":\"skip\",\"max_active\":1",
        EVERY ",\"pause_after_failures\":1",
        EVERY ",\"max_runs\":1",
        EVERY ",\"timezone\":\"America/Argentina/Buenos_Aires\",\"exclude\":[\"02-29\"]",
        EVERY ",\"timezone\":\"Etc/GMT+5\"",
        EVERY ",\"starts_at\":\"2026-01-01T00:00:00Z\",\"ends_at\":\"2026-01-01T00:00:00.001Z\"",
        "\"cron\":\"@daily\"",
        "\"cron\":\"H H(0-5) * * *\"",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct arena arena;
        arena_init(&arena);
        struct task task = must_parse(arena_printf(&arena, "{" U ",%s}", rows[i]).p, &arena);
        assert_true(task_recurs(&task));
        arena_done(&arena);
    }
}

static void refusals_name_the_field_and_what_is_allowed(void **state)
{
    static const struct refusal rows[] = {
        {U ",\"cron\":5", ERR_INVALID_FIELD, "/cron", "must be a string"},
        {U ",\"cron\":\"\"", ERR_INVALID_FIELD, "/cron", "fields"},
        {U ",\"cron\":\"61 * * * *\"", ERR_INVALID_FIELD, "/cron", "61"},
        {U ",\"cron\":\"@reboot\"", ERR_INVALID_FIELD, "/cron", "@reboot is not supported"},
        {U ",\"cron\":\"0 0 30 2 *\"", ERR_CRON_NEVER, "/cron", "never fires"},
        {U "," CRON ",\"timezone\":\"\"", ERR_INVALID_FIELD, "/timezone", "name of a time zone"},
        {U "," CRON ",\"timezone\":\"../etc/passwd\"", ERR_INVALID_FIELD, "/timezone", "name of a time zone"},
        {U "," CRON ",\"timezone\":\"+02:00\"", ERR_INVALID_FIELD, "/timezone", "name of a time zone"},
        {U "," CRON ",\"timezone\":1", ERR_INVALID_FIELD, "/timezone", "name of a time zone"},
        {U ",\"every\":\"999ms\"", ERR_INVALID_FIELD, "/every", "from 1s to 3653d, such as \"30s\""},
        {U ",\"every\":\"3654d\"", ERR_INVALID_FIELD, "/every", "from 1s to 3653d"},
        {U ",\"every\":60", ERR_INVALID_FIELD, "/every", "a duration"},
        {U "," EVERY ",\"anchor\":\"noon\"", ERR_INVALID_FIELD, "/anchor", "with a zone"},
        {U "," EVERY ",\"anchor\":\"1969-12-31T23:59:59Z\"", ERR_INVALID_FIELD, "/anchor", "with a zone"},
        {U "," EVERY ",\"misfire\":\"none\"", ERR_INVALID_FIELD, "/misfire", "\"one\", \"skip\" or \"all\""},
        {U "," EVERY ",\"misfire_window\":\"-1s\"", ERR_INVALID_FIELD, "/misfire_window", "a duration from 0s"},
        {U "," EVERY ",\"overlap\":true", ERR_INVALID_FIELD, "/overlap", "\"allow\", \"skip\", \"queue\" or \"cancel\""},
        {U "," EVERY ",\"overlap\":\"skip\",\"max_active\":0", ERR_INVALID_FIELD, "/max_active", "from 1 to 100"},
        {U "," EVERY ",\"overlap\":\"skip\",\"max_active\":101", ERR_INVALID_FIELD, "/max_active", "from 1 to 100"},
        {U "," CRON ",\"dst_gap\":\"run\"", ERR_INVALID_FIELD, "/dst_gap", "\"run_after\" or \"skip\""},
        {U "," CRON ",\"dst_overlap\":\"once\"", ERR_INVALID_FIELD, "/dst_overlap", "\"first\", \"last\" or \"both\""},
        {U "," CRON ",\"exclude\":\"12-25\"", ERR_INVALID_FIELD, "/exclude", "must be an array"},
        {U "," CRON ",\"exclude\":[\"12-25\",\"12-26\",\"01-01\",\"02-30\"]", ERR_INVALID_FIELD, "/exclude/3", "a date like"},
        {U "," CRON ",\"exclude\":[1]", ERR_INVALID_FIELD, "/exclude/0", "a yearly date like"},
        {U "," EVERY ",\"pause_after_failures\":0", ERR_INVALID_FIELD, "/pause_after_failures", "from 1 to 1000000"},
        {U "," EVERY ",\"pause_after_failures\":1000001", ERR_INVALID_FIELD, "/pause_after_failures", "from 1 to 1000000"},
        {U "," EVERY ",\"starts_at\":\"soon\"", ERR_INVALID_FIELD, "/starts_at", "with a zone"},
        {U "," EVERY ",\"ends_at\":\"later\"", ERR_INVALID_FIELD, "/ends_at", "with a zone"},
        {U "," EVERY ",\"max_runs\":0", ERR_INVALID_FIELD, "/max_runs", "from 1 to 2147483647"},
        {U "," EVERY ",\"max_runs\":2147483648", ERR_INVALID_FIELD, "/max_runs", "from 1 to 2147483647"},
        {U "," EVERY ",\"jitter\":\"25h\"", ERR_INVALID_FIELD, "/jitter", "from 0s to 1d"},
        {U "," EVERY ",\"jitter\":true", ERR_INVALID_FIELD, "/jitter", "a duration"},
    };
    assert_refused(rows, array_count(rows));
}

static void fields_that_contradict_each_other_are_refused(void **state)
{
    static const struct refusal rows[] = {
        {U ",\"in\":\"5s\"," CRON, ERR_INVALID_FIELD, "/cron", "At most one of at, in, cron and every"},
        {U "," CRON ",\"at\":\"2030-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/cron", "At most one of at, in, cron and every"},
        {U "," EVERY "," CRON, ERR_INVALID_FIELD, "/every", "At most one of at, in, cron and every"},
        {U ",\"in\":\"5s\"," EVERY, ERR_INVALID_FIELD, "/every", "At most one of at, in, cron and every"},
        {U "," EVERY ",\"max_active\":2", ERR_INVALID_FIELD, "/max_active", "an overlap of skip, queue or cancel"},
        {U ",\"max_active\":2,\"overlap\":\"allow\"," CRON, ERR_INVALID_FIELD, "/max_active", "an overlap of skip"},
        {U "," CRON ",\"anchor\":\"2026-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/anchor", "only be given with every."},
        {U "," EVERY ",\"dst_gap\":\"skip\"", ERR_INVALID_FIELD, "/dst_gap", "only be given with cron."},
        {U "," EVERY ",\"dst_overlap\":\"first\"", ERR_INVALID_FIELD, "/dst_overlap", "only be given with cron."},
        {U "," EVERY ",\"starts_at\":\"2030-01-01T00:00:00Z\",\"ends_at\":\"2030-01-01T00:00:00Z\"", ERR_INVALID_FIELD,
         "/ends_at", "after starts_at"},
        {U "," CRON ",\"not_after\":\"2030-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/not_after", "ends_at says when"},
    };
    assert_refused(rows, array_count(rows));
}

// The values are the defaults: what counts is that they were given.
static void a_task_that_runs_once_has_no_field_of_a_recurring_one(void **state)
{
    static const struct refusal rows[] = {
        {U ",\"timezone\":\"UTC\"", ERR_INVALID_FIELD, "/timezone", "only be given with cron or every."},
        {U ",\"misfire\":\"one\"", ERR_INVALID_FIELD, "/misfire", "only be given with cron or every."},
        {U ",\"misfire_window\":\"1h\"", ERR_INVALID_FIELD, "/misfire_window", "only be given with cron or every."},
        {U ",\"overlap\":\"allow\"", ERR_INVALID_FIELD, "/overlap", "only be given with cron or every."},
        {U ",\"max_active\":1", ERR_INVALID_FIELD, "/max_active", "only be given with cron or every."},
        {U ",\"dst_gap\":\"run_after\"", ERR_INVALID_FIELD, "/dst_gap", "only be given with cron."},
        {U ",\"dst_overlap\":\"first\"", ERR_INVALID_FIELD, "/dst_overlap", "only be given with cron."},
        {U ",\"anchor\":\"2026-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/anchor", "only be given with every."},
        {U ",\"exclude\":[]", ERR_INVALID_FIELD, "/exclude", "only be given with cron or every."},
        {U ",\"pause_after_failures\":1", ERR_INVALID_FIELD, "/pause_after_failures", "only be given with cron or every."},
        {U ",\"starts_at\":\"2030-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/starts_at", "only be given with cron or every."},
        {U ",\"ends_at\":\"2030-01-01T00:00:00Z\"", ERR_INVALID_FIELD, "/ends_at", "only be given with cron or every."},
        {U ",\"max_runs\":1", ERR_INVALID_FIELD, "/max_runs", "only be given with cron or every."},
        {U ",\"jitter\":\"0s\"", ERR_INVALID_FIELD, "/jitter", "only be given with cron or every."},
    };
    assert_refused(rows, array_count(rows));
}

static enum err parse_excludes(int count, struct problem *why)
{
    struct arena arena;
    struct task task;
    buf_auto struct buf buf = {0};
    arena_init(&arena);
    buf_puts(&buf, "{" U "," CRON ",\"exclude\":[");
    for (int i = 0; i < count; i++)
        buf_printf(&buf, "%s\"2026-01-%02d\"", i ? "," : "", 1 + i % 31);
    buf_puts(&buf, "]}");
    enum err err = parse(&task, buf_str(&buf), &arena, why);
    arena_done(&arena);
    return err;
}

static void a_year_of_days_can_be_excluded_and_no_more(void **state)
{
    struct problem why;
    assert_int_equal(parse_excludes(366, &why), ERR_OK);
    assert_int_equal(parse_excludes(367, &why), ERR_INVALID_FIELD);
    assert_string_equal(why.field, "/exclude");
    assert_non_null(strstr(why.detail, "at most 366"));
}

// Keys of one-time tasks were used before these fields were there.
static void the_digest_of_a_key_has_only_what_was_given(void **state)
{
    struct arena arena;
    arena_init(&arena);
    static const struct {
        const char *members, *expected;
    } rows[] = {
        {"\"key\":\"k\"", "\"method\":\"POST\",\"retry\""},
        {CRON ",\"timezone\":\"UTC\",\"misfire\":\"one\"", "\"method\":\"POST\"," CRON ",\"retry\""},
        {EVERY ",\"overlap\":\"skip\",\"jitter\":\"1s\"",
         "\"method\":\"POST\"," EVERY ",\"overlap\":\"skip\",\"jitter\":\"1s\",\"retry\""},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf buf = {0};
        struct task task = must_parse(arena_printf(&arena, "{" U ",%s}", rows[i].members).p, &arena);
        task_render_for_key(&task, &buf);
        buf_putc(&buf, 0);
        if (!strstr(buf.p, rows[i].expected))
            fail_msg("%s: %s", rows[i].members, buf.p);
    }
    arena_done(&arena);
}

// ---- the schedule

static struct schedule schedule_of(const char *members, int64_t task_id, struct arena *arena)
{
    struct schedule schedule;
    struct problem why = {0};
    struct task task = must_parse(arena_printf(arena, "{" U ",%s}", members).p, arena);
    if (task_schedule(&task, task_id, NOW, &zone_utc, arena, &schedule, &why))
        fail_msg("%s: %s %s", members, why.field, why.detail);
    return schedule;
}

static void a_schedule_is_made_of_the_fields(void **state)
{
    struct arena arena;
    arena_init(&arena);
    struct schedule schedule = schedule_of(
        CRON ",\"dst_gap\":\"skip\",\"dst_overlap\":\"last\",\"exclude\":[\"12-25\",\"2026-07-01/2026-07-14\"]", 1, &arena);
    assert_ptr_equal(schedule.zone, &zone_utc);
    assert_int_equal(schedule.gap, CRON_GAP_SKIP);
    assert_int_equal(schedule.overlap, CRON_OVERLAP_LAST);
    assert_int_equal(schedule.exclude_count, 2);
    assert_true(schedule.excludes[0].yearly);
    assert_int_equal(schedule.cron.minutes, UINT64_C(1) << 30);
    assert_int_equal(schedule.cron.hours, 1u << 2);
    arena_done(&arena);
}

static void assert_ahead(const char *members, const char *field, const char *words)
{
    struct arena arena;
    struct problem why = {0};
    arena_init(&arena);
    struct schedule schedule = schedule_of(members, 1, &arena);
    struct task task = must_parse(arena_printf(&arena, "{" U ",%s}", members).p, &arena);
    enum err err = recurrence_check_ahead(&task, &schedule, NOW, &why);
    if (field ? !err || strcmp(why.field, field) != 0 || !strstr(why.detail, words) : err)
        fail_msg("%s: %s %s", members, why.field, why.detail);
    arena_done(&arena);
}

static void a_schedule_that_never_runs_is_refused_with_the_reason(void **state)
{
    assert_ahead(EVERY ",\"ends_at\":\"2001-01-01T00:00:00Z\"", "/ends_at", "have passed");
    assert_ahead("\"cron\":\"@yearly\",\"starts_at\":\"2031-02-01T00:00:00Z\",\"ends_at\":\"2031-03-01T00:00:00Z\"", "/ends_at",
                 "before the first time");
    assert_ahead(EVERY ",\"anchor\":\"2200-01-01T00:00:00Z\"", "/anchor", "2199");
    assert_ahead(CRON ",\"starts_at\":\"2200-01-01T00:00:00Z\"", "/starts_at", "2199");
    assert_ahead(CRON ",\"exclude\":[\"1970-01-01/2199-12-31\"]", "/exclude", "excluded");
}

static void a_jitter_is_at_most_the_time_between_two_runs(void **state)
{
    assert_ahead(EVERY ",\"jitter\":\"15m\"", NULL, "");
    assert_ahead(EVERY ",\"jitter\":\"900001ms\"", "/jitter", "which is 15m here");
    assert_ahead("\"cron\":\"0,10 9 * * MON\",\"jitter\":\"10m\"", NULL, "");
    assert_ahead("\"cron\":\"0,10 9 * * MON\",\"jitter\":\"11m\"", "/jitter", "which is 10m here");
    assert_ahead("\"cron\":\"0 0 1,31 1,12 *\",\"jitter\":\"24h\"", NULL, "");
    assert_ahead("\"cron\":\"0 0 0 1 1 * 2031\",\"jitter\":\"24h\"", NULL, ""); // it runs once
}

static void an_h_is_spread_by_the_name_and_else_by_the_id(void **state)
{
    struct arena arena;
    struct cron cron;
    char why[ERR_WHY_MAX];
    arena_init(&arena);
    struct schedule named = schedule_of("\"cron\":\"H H * * *\",\"name\":\"nightly\"", 1, &arena);
    struct schedule again = schedule_of("\"cron\":\"H H * * *\",\"name\":\"nightly\"", 2, &arena);
    assert_memory_equal(&named.cron, &again.cron, sizeof named.cron);
    assert_int_equal(cron_parse(STR("H H * * *"), hash_bytes("nightly", 7), &cron, why), ERR_OK);
    assert_int_equal(cron.minutes, named.cron.minutes);
    struct schedule first = schedule_of("\"cron\":\"H H * * *\"", 1, &arena);
    struct schedule second = schedule_of("\"cron\":\"H H * * *\",\"name\":\"\"", 2, &arena);
    assert_true(first.cron.minutes != second.cron.minutes || first.cron.hours != second.cron.hours);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recurring_task_shows_its_defaults),
        cmocka_unit_test(every_field_is_read_and_shown),
        cmocka_unit_test(the_struct_has_what_the_document_says),
        cmocka_unit_test(null_is_the_default_also_of_a_task_that_runs_once),
        cmocka_unit_test(values_at_the_edge_are_taken),
        cmocka_unit_test(refusals_name_the_field_and_what_is_allowed),
        cmocka_unit_test(fields_that_contradict_each_other_are_refused),
        cmocka_unit_test(a_task_that_runs_once_has_no_field_of_a_recurring_one),
        cmocka_unit_test(a_year_of_days_can_be_excluded_and_no_more),
        cmocka_unit_test(the_digest_of_a_key_has_only_what_was_given),
        cmocka_unit_test(a_schedule_is_made_of_the_fields),
        cmocka_unit_test(a_schedule_that_never_runs_is_refused_with_the_reason),
        cmocka_unit_test(a_jitter_is_at_most_the_time_between_two_runs),
        cmocka_unit_test(an_h_is_spread_by_the_name_and_else_by_the_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
