// What a list shows: every name and every refusal, what is taken, and that a cursor leads on in its own list only.
#include "core/filter.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const int64_t NOW = 1794774120000; // 2026-11-15T20:22:00Z

static struct filter filter_with(enum filter_of of, const char *name, const char *value)
{
    struct filter filter = filter_any(of);
    struct problem why;
    if (filter_set(&filter, str_of(name), str_of(value), &why))
        fail_msg("%s=%s was refused: %s", name, value, why.detail);
    return filter;
}

static void each_name_sets_its_condition(void **state)
{
    for (int task_state = 0; task_state < TASK_STATE_COUNT; task_state++)
        assert_int_equal(filter_with(FILTER_TASKS, "state", task_state_text(task_state)).states, 1u << task_state);
    for (int job_state = 0; job_state < JOB_STATE_COUNT; job_state++)
        assert_int_equal(filter_with(FILTER_JOBS, "state", job_state_text(job_state)).states, 1u << job_state);
    assert_true(str_is(filter_with(FILTER_JOBS, "queue", "mail").queue, "mail"));
    assert_true(str_is(filter_with(FILTER_TASKS, "name", "a name").name, "a name"));
    assert_int_equal(filter_with(FILTER_TASKS, "due_before", "2026-11-15T20:22:00Z").due_before, NOW);
    assert_true(str_is(filter_with(FILTER_TASKS, "tracing_id", "t-1").tracing_id, "t-1"));
    assert_true(str_is(filter_with(FILTER_JOBS, "created_by", "me").created_by, "me"));
    assert_true(str_is(filter_with(FILTER_TASKS, "key", "order-7").key, "order-7"));
    assert_int_equal(filter_with(FILTER_JOBS, "sla_met", "true").sla, JOB_SLA_MET);
    assert_int_equal(filter_with(FILTER_TASKS, "sla_met", "false").sla, JOB_SLA_MISSED);
    assert_int_equal(filter_with(FILTER_JOBS, "late_stage", "queue").late_stage, STAGE_QUEUE);
    assert_int_equal(filter_with(FILTER_TASKS, "recurring", "true").recurring, FILTER_RECURRING);
    assert_int_equal(filter_with(FILTER_TASKS, "recurring", "false").recurring, FILTER_ONE_TIME);
    struct filter filter = filter_with(FILTER_TASKS, "label.team.x", "");
    assert_int_equal(filter.label_count, 1);
    assert_true(str_is(filter.labels[0].key, "team.x") && filter.labels[0].value.n == 0);
}

static void what_is_wrong_is_refused_by_its_name(void **state)
{
    char long_queue[66], long_name[TASK_NAME_MAX + 2];
    memset(long_queue, 'q', sizeof long_queue - 1);
    long_queue[sizeof long_queue - 1] = 0;
    memset(long_name, 'n', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = 0;
    const struct {
        enum filter_of of;
        const char *name, *value;
        enum err err;
    } cases[] = {
        {FILTER_TASKS, "state", "ready", ERR_INVALID_FIELD},
        {FILTER_TASKS, "state", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "state", "active", ERR_INVALID_FIELD},
        {FILTER_JOBS, "state", "Ready", ERR_INVALID_FIELD},
        {FILTER_JOBS, "queue", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "queue", "a b", ERR_INVALID_FIELD},
        {FILTER_JOBS, "queue", long_queue, ERR_INVALID_FIELD},
        {FILTER_JOBS, "name", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "name", long_name, ERR_INVALID_FIELD},
        {FILTER_JOBS, "due_before", "soon", ERR_INVALID_FIELD},
        {FILTER_JOBS, "due_before", "10m", ERR_INVALID_FIELD},
        {FILTER_JOBS, "due_before", "", ERR_INVALID_FIELD},
        {FILTER_TASKS, "due_before", "1969-01-01T00:00:00Z", ERR_INVALID_FIELD},
        {FILTER_TASKS, "state", "aborted", ERR_INVALID_FIELD},
        {FILTER_JOBS, "state", "paused", ERR_INVALID_FIELD},
        {FILTER_JOBS, "sla_met", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "sla_met", "1", ERR_INVALID_FIELD},
        {FILTER_JOBS, "sla_met", "null", ERR_INVALID_FIELD},
        {FILTER_TASKS, "recurring", "1", ERR_INVALID_FIELD},
        {FILTER_JOBS, "recurring", "true", ERR_INVALID_FIELD},
        {FILTER_JOBS, "late_stage", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "late_stage", "store", ERR_INVALID_FIELD},
        {FILTER_JOBS, "tracing_id", "", ERR_INVALID_FIELD},
        {FILTER_JOBS, "tracing_id", long_name, ERR_INVALID_FIELD},
        {FILTER_JOBS, "created_by", "", ERR_INVALID_FIELD},
        {FILTER_TASKS, "key", "", ERR_INVALID_FIELD},
        {FILTER_TASKS, "key", long_name, ERR_INVALID_FIELD},
        {FILTER_JOBS, "created_by", long_name, ERR_INVALID_FIELD},
        {FILTER_TASKS, "label.", "x", ERR_UNKNOWN_FIELD},
        {FILTER_TASKS, "label", "x", ERR_UNKNOWN_FIELD},
        {FILTER_TASKS, "States", "active", ERR_UNKNOWN_FIELD},
        {FILTER_TASKS, "", "", ERR_UNKNOWN_FIELD},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct filter filter = filter_any(cases[i].of);
        struct problem why = {0};
        assert_int_equal(filter_set(&filter, str_of(cases[i].name), str_of(cases[i].value), &why), cases[i].err);
        assert_int_equal(why.err, cases[i].err);
        assert_string_equal(why.field, cases[i].name);
        assert_true(why.detail[0] != 0);
    }
}

static void a_label_is_given_once_and_no_more_than_a_task_has(void **state)
{
    struct filter filter = filter_any(FILTER_TASKS);
    struct problem why;
    char names[FILTER_LABELS_MAX + 1][16];
    for (int i = 0; i <= FILTER_LABELS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "label.k%d", i);
        enum err err = filter_set(&filter, str_of(names[i]), STR("v"), &why);
        assert_int_equal(err, i < FILTER_LABELS_MAX ? ERR_OK : ERR_INVALID_FIELD);
    }
    assert_int_equal(filter_set(&filter, STR("label.k3"), STR("w"), &why), ERR_INVALID_FIELD);
    assert_string_equal(why.field, "label.k3");
}

static bool takes_job(const struct filter *filter, const struct job *job, int64_t now_ms)
{
    return filter_takes(filter, &(struct filter_row){.job = job}, now_ms, NULL);
}

static bool takes_task(const struct filter *filter, unsigned words, const struct job *job)
{
    return filter_takes(filter, &(struct filter_row){.job = job, .words = words}, NOW, NULL);
}

static bool takes_document(const struct filter *filter, const struct task *task, struct arena *arena)
{
    return filter_takes(filter, &(struct filter_row){.job = &(struct job){0}, .task = task}, NOW, arena);
}

static void a_delayed_job_counts_as_ready_when_its_time_has_come(void **state)
{
    struct filter ready = filter_with(FILTER_JOBS, "state", "ready"), delayed = filter_with(FILTER_JOBS, "state", "delayed");
    struct job job = {.state = JOB_DELAYED, .due_at = NOW, .scheduled_at = NOW};
    assert_int_equal(filter_stored_states(&ready), 1u << JOB_READY | 1u << JOB_DELAYED);
    assert_int_equal(filter_stored_states(&delayed), 1u << JOB_DELAYED);
    assert_false(takes_job(&ready, &job, NOW - 1));
    assert_true(takes_job(&delayed, &job, NOW - 1));
    assert_true(takes_job(&ready, &job, NOW));
    assert_false(takes_job(&delayed, &job, NOW));
    struct filter any = filter_any(FILTER_JOBS), tasks = filter_with(FILTER_TASKS, "state", "done");
    assert_true(filter_stored_states(&any) == 0 && filter_stored_states(&tasks) == 0);
}

static void due_before_leaves_out_what_is_planned_for_then_or_later(void **state)
{
    struct filter jobs = filter_with(FILTER_JOBS, "due_before", "2026-11-15T20:22:00Z"), tasks = jobs;
    struct job job = {.state = JOB_DELAYED, .scheduled_at = NOW - 1};
    tasks.of = FILTER_TASKS;
    assert_true(takes_job(&jobs, &job, NOW));
    assert_true(takes_task(&tasks, 1u << TASK_ACTIVE, &job));
    job.scheduled_at = NOW;
    assert_false(takes_job(&jobs, &job, NOW));
    assert_false(takes_task(&tasks, 1u << TASK_ACTIVE, &job));
    assert_false(takes_task(&tasks, 1u << TASK_ACTIVE, NULL)); // of which nothing is left
}

static void labels_match_exactly_and_all_of_them(void **state)
{
    struct arena arena;
    struct task task, bare;
    struct problem why;
    arena_init(&arena);
    struct str doc = STR("{\"url\":\"http://a/\",\"labels\":{\"\\u0061\":\"\\u00e9\",\"b\":\"2\"}}");
    assert_true(task_read(&task, doc, &arena, why.detail));
    assert_true(task_read(&bare, STR("{\"url\":\"http://a/\"}"), &arena, why.detail));
    static const struct {
        const char *a, *b;
        bool taken;
    } cases[] = {
        {"\xc3\xa9", NULL, true}, {"\xc3\xa9", "2", true}, {"\xc3\xa9", "3", false}, {"e", NULL, false}, {"", NULL, false}};
    for (size_t i = 0; i < array_count(cases); i++) {
        struct filter filter = filter_with(FILTER_TASKS, "label.a", cases[i].a);
        if (cases[i].b)
            assert_int_equal(filter_set(&filter, STR("label.b"), str_of(cases[i].b), &why), ERR_OK);
        assert_true(filter_needs_task(&filter));
        assert_int_equal(takes_document(&filter, &task, &arena), cases[i].taken);
        assert_false(takes_document(&filter, &bare, &arena));
        filter.of = FILTER_JOBS;
        assert_int_equal(takes_document(&filter, &task, &arena), cases[i].taken);
    }
    arena_done(&arena);
}

static void the_state_of_a_task_is_what_it_is_asked_for(void **state)
{
    struct filter paused = filter_with(FILTER_TASKS, "state", "paused");
    assert_true(takes_task(&paused, 1u << TASK_PAUSED, NULL));
    assert_false(takes_task(&paused, 1u << TASK_ACTIVE, NULL));
}

static void states_may_be_called_as_people_call_them(void **state)
{
    static const struct {
        const char *word;
        unsigned jobs, tasks;
    } cases[] = {
        {"running", 1u << JOB_RESERVED, 1u << TASK_RUNNING},
        {"failed", 1u << JOB_ABORTED | 1u << JOB_BURIED, 1u << TASK_FAILED},
        {"waiting", 1u << JOB_BLOCKED | 1u << JOB_DELAYED | 1u << JOB_READY | 1u << JOB_WATCHING, 1u << TASK_WAITING},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct filter jobs = filter_with(FILTER_JOBS, "state", cases[i].word);
        assert_int_equal(jobs.states, cases[i].jobs);
        assert_int_equal(filter_stored_states(&jobs), cases[i].jobs);
        assert_int_equal(filter_with(FILTER_TASKS, "state", cases[i].word).states, cases[i].tasks);
        for (int job_state = 0; job_state < JOB_STATE_COUNT; job_state++) {
            struct job job = {.state = (uint8_t)job_state, .due_at = NOW + 1};
            assert_int_equal(takes_job(&jobs, &job, NOW), cases[i].jobs >> job_state & 1);
        }
    }
    struct filter success = filter_with(FILTER_TASKS, "state", "success");
    assert_true(takes_task(&success, 1u << TASK_DONE | 1u << TASK_SUCCEEDED, NULL));
    assert_false(takes_task(&success, 1u << TASK_DONE | 1u << TASK_FAILED, NULL));
}

static void lateness_and_who_asked_are_matched(void **state)
{
    struct arena arena;
    struct task task;
    struct problem why;
    arena_init(&arena);
    assert_true(
        task_read(&task, STR("{\"url\":\"http://a/\",\"tracing_id\":\"t\",\"created_by\":\"\\u0063\"}"), &arena, why.detail));
    static const struct {
        const char *name, *value;
        bool taken;
    } cases[] = {
        {"sla_met", "false", true}, {"sla_met", "true", false},  {"late_stage", "target", true}, {"late_stage", "queue", false},
        {"tracing_id", "t", true},  {"tracing_id", "tt", false}, {"created_by", "c", true},      {"created_by", "t", false},
    };
    struct filter_row row = {.job = &(struct job){.late_stage = STAGE_TARGET}, .sla = JOB_SLA_MISSED, .task = &task};
    for (size_t i = 0; i < array_count(cases); i++)
        for (int of = FILTER_TASKS; of <= FILTER_JOBS; of++) {
            struct filter filter = filter_with(of, cases[i].name, cases[i].value);
            assert_false(filter_takes_all(&filter));
            assert_int_equal(filter_takes(&filter, &row, NOW, &arena), cases[i].taken);
            assert_int_equal(filter_needs_task(&filter), i >= 4);
        }
    struct filter met = filter_with(FILTER_TASKS, "sla_met", "true");
    assert_false(filter_takes(&met, &(struct filter_row){.task = &task}, NOW, &arena)); // of which nothing is left
    assert_false(filter_takes(&met, &(struct filter_row){.task = &task, .job = row.job}, NOW, &arena)); // which has not begun
    struct filter any = filter_any(FILTER_TASKS);
    assert_true(filter_takes_all(&any) && filter_takes(&any, &row, NOW, &arena));
    arena_done(&arena);
}

static void tasks_are_told_apart_by_whether_they_recur(void **state)
{
    struct arena arena = {0};
    for (int recurring = 0; recurring < 2; recurring++)
        for (int wanted = 0; wanted < 2; wanted++) {
            struct filter filter = filter_with(FILTER_TASKS, "recurring", wanted ? "true" : "false");
            assert_false(filter_takes_all(&filter) || filter_needs_task(&filter));
            assert_int_equal(filter_takes(&filter, &(struct filter_row){.recurring = recurring}, NOW, &arena),
                             recurring == wanted);
        }
    arena_done(&arena);
}

// Filters that differ in anything, as a user may give them one after the other.
static size_t some_filters(struct filter ret_filters[24])
{
    static const struct {
        enum filter_of of;
        const char *name, *value;
    } given[] = {
        {FILTER_TASKS, NULL, NULL},
        {FILTER_JOBS, NULL, NULL},
        {FILTER_JOBS, "state", "ready"},
        {FILTER_JOBS, "state", "delayed"},
        {FILTER_TASKS, "state", "active"},
        {FILTER_TASKS, "state", "paused"},
        {FILTER_TASKS, "queue", "ab"},
        {FILTER_TASKS, "name", "ab"},
        {FILTER_TASKS, "queue", "ac"},
        {FILTER_TASKS, "label.a", "b"},
        {FILTER_TASKS, "label.ab", ""},
        {FILTER_TASKS, "label.b", "a"},
        {FILTER_TASKS, "due_before", "2026-11-15T20:22:00Z"},
        {FILTER_TASKS, "due_before", "2026-11-15T20:22:00.001Z"},
        {FILTER_TASKS, "sla_met", "true"},
        {FILTER_TASKS, "sla_met", "false"},
        {FILTER_TASKS, "recurring", "true"},
        {FILTER_TASKS, "recurring", "false"},
        {FILTER_TASKS, "late_stage", "queue"},
        {FILTER_TASKS, "late_stage", "target"},
        {FILTER_TASKS, "tracing_id", "ab"},
        {FILTER_TASKS, "created_by", "ab"},
        {FILTER_TASKS, "key", "ab"},
    };
    for (size_t i = 0; i < array_count(given); i++)
        ret_filters[i] = given[i].name ? filter_with(given[i].of, given[i].name, given[i].value) : filter_any(given[i].of);
    return array_count(given);
}

static void filters_that_differ_have_other_digests(void **state)
{
    struct filter filters[24];
    size_t count = some_filters(filters);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            assert_int_equal(filter_digest(&filters[i]) == filter_digest(&filters[j]), i == j);
}

static void a_cursor_comes_back_as_it_was_but_for_its_own_list_only(void **state)
{
    static const struct cursor cursors[] = {{0, 0}, {NOW, 1}, {INT64_MAX, INT64_MAX}, {-1, INT64_MIN}, {NOW, 465910004010975233}};
    struct filter filters[24];
    size_t count = some_filters(filters);
    for (size_t i = 0; i < array_count(cursors); i++)
        for (size_t j = 0; j < count; j++) {
            char text[CURSOR_TEXT_SIZE];
            struct cursor back = {0};
            cursor_format(text, cursors[i], filter_digest(&filters[j]));
            assert_true(cursor_parse(str_of(text), filter_digest(&filters[j]), &back));
            assert_true(back.at == cursors[i].at && back.id == cursors[i].id);
            for (size_t k = 0; k < count; k++)
                assert_int_equal(cursor_parse(str_of(text), filter_digest(&filters[k]), &back), j == k);
        }
}

static void a_cursor_that_somebody_wrote_is_refused(void **state)
{
    char text[CURSOR_TEXT_SIZE], other[CURSOR_TEXT_SIZE + 1];
    struct cursor back;
    cursor_format(text, (struct cursor){NOW, 17}, 5);
    for (size_t i = 0; i < strlen(text); i++) { // any one character
        memcpy(other, text, sizeof text);
        other[i] = text[i] == '0' ? '1' : '0';
        assert_false(cursor_parse(str_of(other), 5, &back));
        other[i] = 'g';
        assert_false(cursor_parse(str_of(other), 5, &back));
    }
    assert_false(cursor_parse((struct str){text, strlen(text) - 1}, 5, &back));
    snprintf(other, sizeof other, "%s0", text);
    assert_false(cursor_parse(str_of(other), 5, &back));
    assert_false(cursor_parse(STR(""), 5, &back));
    for (char *c = text; *c; c++)
        *c = (char)(*c >= 'a' && *c <= 'f' ? *c - 'a' + 'A' : *c);
    assert_false(cursor_parse(str_of(text), 5, &back)); // there is one way to write it
}

static void a_list_begins_where_the_newest_that_can_match_is(void **state)
{
    static const struct {
        const char *state;
        bool near;
    } cases[] = {{"blocked", false}, {"delayed", false}, {"cancelled", false}, {"ready", true},
                 {"watching", true}, {"reserved", true}, {"success", true},    {"aborted", true},
                 {"buried", true},   {"waiting", false}, {"running", true},    {"failed", true}};
    struct filter any = filter_any(FILTER_JOBS), tasks = filter_with(FILTER_TASKS, "state", "active");
    assert_true(filter_newest(&any, NOW).at == INT64_MAX && filter_newest(&any, NOW).id == INT64_MAX);
    assert_true(filter_newest(&tasks, NOW).at == INT64_MAX && filter_newest(&tasks, NOW).id == INT64_MAX);
    for (size_t i = 0; i < array_count(cases); i++) {
        struct filter filter = filter_with(FILTER_JOBS, "state", cases[i].state);
        struct cursor newest = filter_newest(&filter, NOW);
        assert_int_equal(newest.at < INT64_MAX, cases[i].near);
        assert_true(newest.at > NOW && newest.id == INT64_MAX);
        filter.due_before = NOW - 5;
        newest = filter_newest(&filter, NOW);
        assert_true(newest.at == NOW - 5 && newest.id == 0); // and of that millisecond nothing
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_name_sets_its_condition),
        cmocka_unit_test(what_is_wrong_is_refused_by_its_name),
        cmocka_unit_test(a_label_is_given_once_and_no_more_than_a_task_has),
        cmocka_unit_test(a_delayed_job_counts_as_ready_when_its_time_has_come),
        cmocka_unit_test(due_before_leaves_out_what_is_planned_for_then_or_later),
        cmocka_unit_test(labels_match_exactly_and_all_of_them),
        cmocka_unit_test(the_state_of_a_task_is_what_it_is_asked_for),
        cmocka_unit_test(states_may_be_called_as_people_call_them),
        cmocka_unit_test(lateness_and_who_asked_are_matched),
        cmocka_unit_test(tasks_are_told_apart_by_whether_they_recur),
        cmocka_unit_test(filters_that_differ_have_other_digests),
        cmocka_unit_test(a_cursor_comes_back_as_it_was_but_for_its_own_list_only),
        cmocka_unit_test(a_cursor_that_somebody_wrote_is_refused),
        cmocka_unit_test(a_list_begins_where_the_newest_that_can_match_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
