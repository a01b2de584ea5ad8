// The time zones of a machine, in a folder that is made here: its tzdata grows, loses files, and goes.
#include "flow/zones.h"

#include "base/mem.h"
#include "support/tzif.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];
static char why[ERR_WHY_MAX];
static struct zones *zones;
static const struct zone *zone;

static const char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

// Each file has another time than those before it, however coarse the clock of the file system is.
static void put_file(const char *name, struct str text)
{
    static int made;
    struct timespec time = {.tv_sec = ++made}, times[] = {time, time};
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text.p, 1, text.n, file), text.n);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(utimensat(AT_FDCWD, path_of(name), times, 0), 0);
}

static void put_zone(const char *name, const char *footer)
{
    static const struct tzif_kind kind = {0, 0, 0};
    buf_auto struct buf bytes = {0};
    tzif_put(&bytes, &(struct tzif){.version = '2', .kind_count = 1, .kinds = &kind, .names = {"LMT", 4}, .footer = footer});
    put_file(name, buf_str(&bytes));
}

static void put_list(const char *version)
{
    buf_auto struct buf text = {0};
    buf_printf(&text, "# version %s\nZ A/One 0\nZ A/Two 0\nZ A/Broken 0\nZ A/Missing 0\nL A/One B/One\n", version);
    put_file("tzdata.zi", buf_str(&text));
}

static int setup(void **state)
{
    const char *scratch = getenv("ROTA_TEST_DIR");
    snprintf(dir, sizeof dir, "%s/zones-XXXXXX", scratch && strlen(scratch) < 40 ? scratch : "/tmp");
    if (!mkdtemp(dir) || mkdir(path_of("A"), 0700))
        return 1;
    put_list("2025a");
    put_zone("A/One", "ONE-1");
    put_zone("A/Two", "TWO-2");
    put_file("A/Broken", STR("TZif"));
    zones = zones_new(dir);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"A/One", "A/Two", "A/Broken", "tzdata.zi", "zone1970.tab"};
    zones_free(zones);
    for (size_t i = 0; i < array_count(names); i++)
        unlink(path_of(names[i]));
    rmdir(path_of("A"));
    return rmdir(dir);
}

static const char *abbreviation(const char *name)
{
    static struct zone_span span;
    if (zones_find(zones, str_of(name), &zone, why))
        fail_msg("%s: %s", name, why);
    span = zone_span_at(zone, 0);
    return span.abbreviation;
}

static void refuses(const char *name, const char *word)
{
    assert_int_equal(zones_find(zones, str_of(name), &zone, why), ERR_INVALID_FIELD);
    if (!strstr(why, word))
        fail_msg("%s: %s", name, why);
}

// A release is taken at the second look at it.
static bool refreshed(void)
{
    assert_false(zones_refresh(zones));
    return zones_refresh(zones);
}

static void a_zone_is_found_by_its_name_and_read_once(void **state)
{
    assert_string_equal(abbreviation("A/One"), "ONE");
    const struct zone *first = zone;
    put_zone("A/One", "NEW-1");
    assert_string_equal(abbreviation("A/One"), "ONE");
    assert_ptr_equal(zone, first);
    assert_string_equal(abbreviation("A/Two"), "TWO");
}

static void utc_is_always_known(void **state)
{
    assert_string_equal(abbreviation("UTC"), "UTC");
    assert_ptr_equal(zone, &zone_utc);
}

static void a_document_that_does_not_say_when_has_no_schedule(void **state)
{
    struct arena arena;
    struct schedule schedule;
    struct problem problem = {0};
    arena_init(&arena);
    assert_false(zones_schedule(zones, &(struct task){.at_ms = 1}, 1, 0, &arena, &schedule, &problem));
    assert_int_equal(problem.err, ERR_INVALID_FIELD);
    assert_string_equal(problem.field, "/cron");
    arena_done(&arena);
}

static void another_name_needs_no_file_of_its_own(void **state)
{
    assert_string_equal(abbreviation("B/One"), "ONE");
}

static void names_that_are_not_listed_open_nothing(void **state)
{
    put_zone("A/Unlisted", "UNL-1");
    refuses("A/Unlisted", "no such time zone");
    refuses("a/one", "did you mean A/One?");
    refuses("Europe/Nowhere", "such as Europe/Berlin");
    refuses("../A/One", "no such time zone");
    refuses("A/One/../Two", "no such time zone");
    refuses(path_of("A/One"), "no such time zone");
    refuses("", "no such time zone");
    unlink(path_of("A/Unlisted"));
}

static void a_file_that_is_broken_or_missing_is_said(void **state)
{
    refuses("A/Broken", "A/Broken on the server cannot be used: a header of TZif is missing");
    refuses("A/Missing", "No such file");
    put_zone("A/Broken", "FIX-1");
    assert_string_equal(abbreviation("A/Broken"), "FIX");
}

static void without_tzdata_only_utc_is_known(void **state)
{
    zones_free(zones);
    zones = zones_new("/nowhere/at/all");
    assert_string_equal(abbreviation("UTC"), "UTC");
    refuses("A/One", "the package tzdata is not installed");
    char version[ZONE_VERSION_SIZE];
    zones_version(zones, version);
    assert_string_equal(version, "");
    assert_false(refreshed());
}

static void a_table_of_zones_serves_where_there_is_no_list(void **state)
{
    unlink(path_of("tzdata.zi"));
    put_file("zone1970.tab", STR("XX\t+0000+00000\tA/One\n"));
    zones_free(zones);
    zones = zones_new(dir);
    assert_string_equal(abbreviation("A/One"), "ONE");
    refuses("A/Two", "no such time zone");
}

static void the_environment_names_the_folder(void **state)
{
    zones_free(zones);
    setenv("TZDIR", dir, 1);
    zones = zones_new(NULL);
    unsetenv("TZDIR");
    assert_string_equal(abbreviation("A/Two"), "TWO");
}

static void a_newer_release_is_noticed_at_the_second_look(void **state)
{
    char version[ZONE_VERSION_SIZE];
    assert_string_equal(abbreviation("A/One"), "ONE");
    const struct zone *before = zone;
    assert_false(refreshed());
    put_zone("A/One", "NEW-1");
    put_list("2025b");
    assert_false(zones_refresh(zones));
    assert_string_equal(abbreviation("A/One"), "ONE");
    assert_true(zones_refresh(zones));
    assert_false(zones_refresh(zones));
    assert_string_equal(abbreviation("A/One"), "NEW");
    assert_string_equal(zone_span_at(before, 0).abbreviation, "ONE"); // who has the zone of before may keep it
    zones_version(zones, version);
    assert_string_equal(version, "2025b");
}

static void an_older_or_the_same_release_changes_nothing(void **state)
{
    static const char *const versions[] = {"2025a", "2024b", "unknown"};
    assert_string_equal(abbreviation("A/One"), "ONE");
    put_zone("A/One", "OLD-1");
    for (size_t i = 0; i < array_count(versions); i++) {
        put_list(versions[i]);
        assert_false(refreshed());
        assert_string_equal(abbreviation("A/One"), "ONE");
    }
}

static void what_a_newer_release_lacks_stays_as_it_was(void **state)
{
    assert_string_equal(abbreviation("A/One"), "ONE");
    assert_string_equal(abbreviation("A/Two"), "TWO");
    put_file("tzdata.zi", STR("# version 2026a\nZ A/Two 0\n")); // one name is gone, and the file of the other is broken
    put_file("A/Two", STR("TZif"));
    assert_true(refreshed());
    assert_string_equal(abbreviation("A/One"), "ONE");
    assert_string_equal(abbreviation("A/Two"), "TWO");
    refuses("A/Broken", "no such time zone");
}

static void a_zone_that_vanished_is_known_to_be_gone(void **state)
{
    assert_string_equal(abbreviation("A/One"), "ONE");
    assert_true(zones_is_installed(zones, STR("A/One"), why));
    assert_true(zones_is_installed(zones, STR("UTC"), why));
    put_file("tzdata.zi", STR("# version 2026a\nZ A/Two 0\n"));
    assert_true(refreshed());
    assert_false(zones_is_installed(zones, STR("A/One"), why));
    assert_string_equal(why, "tzdata 2026a does not have the time zone A/One");
    assert_true(zones_is_installed(zones, STR("A/Two"), why));
    put_list("2026b");
    assert_true(refreshed());
    assert_true(zones_is_installed(zones, STR("A/One"), why));
}

static void tzdata_that_is_installed_later_is_found(void **state)
{
    unlink(path_of("tzdata.zi"));
    zones_free(zones);
    zones = zones_new(dir);
    refuses("A/One", "tzdata");
    put_list("2025a");
    assert_true(refreshed());
    assert_string_equal(abbreviation("A/One"), "ONE");
}

enum { THREADS = 4, ROUNDS = 200 };

static void *ask(void *ctx)
{
    const struct zone **ret_last = ctx;
    for (int i = 0; i < ROUNDS; i++) {
        char words[ERR_WHY_MAX];
        struct str name = i % 2 ? STR("A/One") : STR("A/Two");
        *ret_last = NULL;
        if (zones_find(zones, name, ret_last, words) || zone_span_at(*ret_last, 0).offset_s != (i % 2 ? 3600 : 7200))
            return ctx;
    }
    return NULL;
}

static void many_threads_ask_while_releases_come(void **state)
{
    pthread_t threads[THREADS];
    const struct zone *last[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &last[i]), 0);
    for (int i = 0; i < 5; i++) {
        char version[ZONE_VERSION_SIZE];
        snprintf(version, sizeof version, "2026%c", 'a' + i);
        put_list(version);
        assert_true(refreshed());
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_string_equal(abbreviation("A/One"), "ONE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_zone_is_found_by_its_name_and_read_once, setup, teardown),
        cmocka_unit_test_setup_teardown(utc_is_always_known, setup, teardown),
        cmocka_unit_test_setup_teardown(a_document_that_does_not_say_when_has_no_schedule, setup, teardown),
        cmocka_unit_test_setup_teardown(another_name_needs_no_file_of_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_are_not_listed_open_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_broken_or_missing_is_said, setup, teardown),
        cmocka_unit_test_setup_teardown(without_tzdata_only_utc_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_of_zones_serves_where_there_is_no_list, setup, teardown),
        cmocka_unit_test_setup_teardown(the_environment_names_the_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(a_newer_release_is_noticed_at_the_second_look, setup, teardown),
        cmocka_unit_test_setup_teardown(an_older_or_the_same_release_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_newer_release_lacks_stays_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(a_zone_that_vanished_is_known_to_be_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(tzdata_that_is_installed_later_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(many_threads_ask_while_releases_come, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
