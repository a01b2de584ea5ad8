// Which instants a backfill runs, and what is refused in its document.
#include "core/schedule/backfill.h"

#include "plan_world.h"

static enum err parse(struct backfill *ret_backfill, const char *text, struct problem *why)
{
    struct json doc;
    struct arena arena;
    char words[ERR_WHY_MAX];
    arena_init(&arena);
    if (json_check(str_of(text), &doc, words))
        fail_msg("%s: %s", text, words);
    *why = (struct problem){0};
    enum err err = backfill_parse(ret_backfill, doc, &arena, why);
    arena_done(&arena);
    return err;
}

static void a_document_says_which_window_and_what_runs_again(void **state)
{
    struct backfill backfill;
    struct problem why;
    assert_int_equal(parse(&backfill, "{\"from\":\"1970-01-01T00:00:01Z\",\"to\":\"1970-01-01T00:00:09Z\"}", &why), ERR_OK);
    assert_true(backfill.from_ms == 1000 && backfill.to_ms == 9000 && backfill.max_active == 1 && !backfill.dry_run);
    assert_int_equal(backfill.reprocess, BACKFILL_NONE);
    assert_int_equal(parse(&backfill,
                           "{\"from\":\"1970-01-01T00:00:01Z\",\"to\":\"1970-01-01T00:00:01Z\",\"dry_run\":true,"
                           "\"max_active\":100,\"reprocess\":\"failed\"}",
                           &why),
                     ERR_OK);
    assert_true(backfill.max_active == 100 && backfill.dry_run);
    assert_int_equal(backfill.reprocess, BACKFILL_FAILED);
}

#define WINDOW "\"from\":\"1970-01-01T00:00:01Z\",\"to\":\"1970-01-01T00:00:09Z\""

static void what_is_wrong_in_a_document_is_named(void **state)
{
    static const struct {
        const char *doc;
        enum err err;
        const char *field;
    } cases[] = {
        {"[]", ERR_INVALID_FIELD, ""},
        {"{\"to\":\"1970-01-01T00:00:09Z\"}", ERR_MISSING_FIELD, "/from"},
        {"{\"from\":\"1970-01-01T00:00:09Z\"}", ERR_MISSING_FIELD, "/to"},
        {"{\"from\":5,\"to\":\"1970-01-01T00:00:09Z\"}", ERR_INVALID_FIELD, "/from"},
        {"{\"from\":\"1970-01-01T00:00:09Z\",\"to\":\"1970-01-01T00:00:08Z\"}", ERR_INVALID_FIELD, "/to"},
        {"{" WINDOW ",\"dry_run\":1}", ERR_INVALID_FIELD, "/dry_run"},
        {"{" WINDOW ",\"max_active\":0}", ERR_INVALID_FIELD, "/max_active"},
        {"{" WINDOW ",\"max_active\":101}", ERR_INVALID_FIELD, "/max_active"},
        {"{" WINDOW ",\"max_active\":\"1\"}", ERR_INVALID_FIELD, "/max_active"},
        {"{" WINDOW ",\"reprocess\":\"some\"}", ERR_INVALID_FIELD, "/reprocess"},
        {"{" WINDOW ",\"filter\":{}}", ERR_UNKNOWN_FIELD, "/filter"},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct backfill backfill;
        struct problem why;
        assert_int_equal(parse(&backfill, cases[i].doc, &why), cases[i].err);
        assert_string_equal(why.field, cases[i].field);
        assert_true(why.detail[0]);
    }
}

// A task of one run a minute that was created at 300 s, is planned through 1200 s, and skipped 600 s and 660 s.
struct past {
    struct plan_world world;
    struct backfill backfill;
    struct backfill_instant instants[100];
    size_t count;
};

static void past_begin(struct past *past, int64_t from_s, int64_t to_s, enum backfill_reprocess reprocess)
{
    plan_world_begin(&past->world, 60);
    past->world.plan.planned_through = at(1200);
    past->world.plan.skips = arena_printf(&past->world.arena, "overlap %lld %lld 2;", (long long)at(600), (long long)at(660));
    past->backfill = (struct backfill){.from_ms = at(from_s), .to_ms = at(to_s), .max_active = 1, .reprocess = reprocess};
    past->count = backfill_list(&past->world.schedule, &past->backfill, past->instants, array_count(past->instants));
}

static void past_note(struct past *past, int64_t nominal_s, enum job_state state, int attempts, enum job_trigger trigger)
{
    struct job job = {.nominal_at = at(nominal_s),
                      .scheduled_at = trigger == TRIGGER_BACKFILL ? at(2000) : at(nominal_s),
                      .state = state,
                      .attempts = attempts,
                      .trigger = trigger};
    backfill_note(past->instants, past->count, &job, at(2000));
}

static void past_expect(struct past *past, const int64_t *seconds, size_t count)
{
    size_t kept = backfill_choose(&past->backfill, &past->world.plan, at(300), past->instants, past->count);
    assert_int_equal(kept, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(past->instants[i].at_ms, at(seconds[i]));
    plan_world_end(&past->world);
}

#define EXPECT(past, ...) past_expect(past, (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void both_ends_of_the_window_are_in_it_and_excluded_instants_are_not(void **state)
{
    struct past past;
    struct exclude exclude;
    past_begin(&past, 60, 180, BACKFILL_NONE);
    EXPECT(&past, 60, 120, 180);
    past_begin(&past, 61, 179, BACKFILL_NONE);
    EXPECT(&past, 120);
    past_begin(&past, 60, 180, BACKFILL_NONE);
    assert_true(exclude_read(STR("2026-01-01"), &exclude));
    past.world.schedule.excludes = &exclude;
    past.world.schedule.exclude_count = 1;
    assert_int_equal(backfill_list(&past.world.schedule, &past.backfill, NULL, 100), 0);
    plan_world_end(&past.world);
}

static void a_list_is_no_longer_than_it_may_be(void **state)
{
    struct past past;
    past_begin(&past, 60, 600, BACKFILL_NONE);
    assert_int_equal(past.count, 10);
    assert_int_equal(backfill_list(&past.world.schedule, &past.backfill, NULL, 4), 4);
    assert_int_equal(backfill_list(&past.world.schedule, &past.backfill, NULL, 11), 10);
    plan_world_end(&past.world);
}

static void what_did_not_run_runs(void **state)
{
    struct past past;
    past_begin(&past, 180, 780, BACKFILL_NONE);
    past_note(&past, 360, JOB_SUCCESS, 1, TRIGGER_SCHEDULE);
    past_note(&past, 420, JOB_CANCELLED, 0, TRIGGER_SCHEDULE);
    past_note(&past, 480, JOB_CANCELLED, 1, TRIGGER_SCHEDULE);
    past_note(&past, 540, JOB_BURIED, 1, TRIGGER_SCHEDULE);
    // 180 to 300 are before the creation, 600 and 660 were skipped; what 720 and 780 had was removed by retention.
    EXPECT(&past, 180, 240, 300, 420, 600, 660);
}

static void failed_instants_run_again_if_asked_for_and_none_succeeded(void **state)
{
    struct past past;
    past_begin(&past, 360, 660, BACKFILL_FAILED);
    past_note(&past, 360, JOB_ABORTED, 3, TRIGGER_SCHEDULE);
    past_note(&past, 420, JOB_BURIED, 1, TRIGGER_SCHEDULE);
    past_note(&past, 480, JOB_ABORTED, 1, TRIGGER_SCHEDULE);
    past_note(&past, 480, JOB_SUCCESS, 1, TRIGGER_RETRY);
    past_note(&past, 540, JOB_SUCCESS, 1, TRIGGER_SCHEDULE);
    past_note(&past, 600, JOB_CANCELLED, 0, TRIGGER_SCHEDULE);
    past_note(&past, 660, JOB_SUCCESS, 1, TRIGGER_RETRY); // it was skipped, and has been made good
    EXPECT(&past, 360, 420, 600);
}

static void all_instants_run_again_but_those_with_an_open_job(void **state)
{
    struct past past;
    past_begin(&past, 360, 600, BACKFILL_ALL);
    past_note(&past, 360, JOB_SUCCESS, 1, TRIGGER_SCHEDULE);
    past_note(&past, 420, JOB_SUCCESS, 1, TRIGGER_SCHEDULE);
    past_note(&past, 420, JOB_READY, 0, TRIGGER_RETRY);
    past_note(&past, 480, JOB_RESERVED, 1, TRIGGER_SCHEDULE);
    EXPECT(&past, 360, 540, 600);
}

static void what_the_backfill_has_added_is_not_added_again(void **state)
{
    struct past past;
    past_begin(&past, 360, 540, BACKFILL_ALL);
    past_note(&past, 360, JOB_SUCCESS, 1, TRIGGER_BACKFILL);
    past_note(&past, 420, JOB_BURIED, 1, TRIGGER_BACKFILL);
    past_note(&past, 480, JOB_READY, 0, TRIGGER_BACKFILL);
    EXPECT(&past, 540);
}

static void what_an_earlier_backfill_added_counts_as_any_run(void **state)
{
    struct past past;
    struct job job = {
        .nominal_at = at(360), .scheduled_at = at(1999), .state = JOB_SUCCESS, .attempts = 1, .trigger = TRIGGER_BACKFILL};
    past_begin(&past, 360, 420, BACKFILL_ALL);
    backfill_note(past.instants, past.count, &job, at(2000));
    EXPECT(&past, 360, 420);
}

static void what_the_plan_has_not_decided_on_is_left_to_it(void **state)
{
    struct past past;
    past_begin(&past, 1140, 1320, BACKFILL_ALL);
    EXPECT(&past, 1140, 1200);
}

static void there_is_room_for_as_many_as_are_not_open(void **state)
{
    struct backfill backfill = {.from_ms = at(0), .to_ms = at(600), .max_active = 3};
    struct job jobs[] = {
        {.nominal_at = at(60), .scheduled_at = at(2000), .state = JOB_READY, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(120), .scheduled_at = at(2000), .state = JOB_SUCCESS, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(180), .scheduled_at = at(1999), .state = JOB_READY, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(660), .scheduled_at = at(2000), .state = JOB_READY, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(240), .scheduled_at = at(2000), .state = JOB_READY, .trigger = TRIGGER_SCHEDULE},
        {.nominal_at = at(300), .scheduled_at = at(2001), .state = JOB_RESERVED, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(360), .scheduled_at = at(2001), .state = JOB_DELAYED, .trigger = TRIGGER_BACKFILL},
        {.nominal_at = at(420), .scheduled_at = at(2001), .state = JOB_DELAYED, .trigger = TRIGGER_BACKFILL},
    };
    assert_int_equal(backfill_room(&backfill, jobs, 0, at(2000)), 3);
    assert_int_equal(backfill_room(&backfill, jobs, 5, at(2000)), 2);
    assert_int_equal(backfill_room(&backfill, jobs, 7, at(2000)), 0);
    assert_int_equal(backfill_room(&backfill, jobs, 8, at(2000)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_document_says_which_window_and_what_runs_again),
        cmocka_unit_test(what_is_wrong_in_a_document_is_named),
        cmocka_unit_test(both_ends_of_the_window_are_in_it_and_excluded_instants_are_not),
        cmocka_unit_test(a_list_is_no_longer_than_it_may_be),
        cmocka_unit_test(what_did_not_run_runs),
        cmocka_unit_test(failed_instants_run_again_if_asked_for_and_none_succeeded),
        cmocka_unit_test(all_instants_run_again_but_those_with_an_open_job),
        cmocka_unit_test(what_the_backfill_has_added_is_not_added_again),
        cmocka_unit_test(what_an_earlier_backfill_added_counts_as_any_run),
        cmocka_unit_test(what_the_plan_has_not_decided_on_is_left_to_it),
        cmocka_unit_test(there_is_room_for_as_many_as_are_not_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
