// The names of time zones, as tzdata lists them.
#include "arena_fixture.h"
#include "core/schedule/zone_list.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void zones_and_links_are_found_by_their_exact_names(void **state)
{
    struct zone_list list = zone_list_read(STR("# version 2025b\n"
                                               "R c 1977 1980 - Ap Su>=1 1s 1 S\n"
                                               "Z Europe/Berlin 0:53:28 - LMT 1893 Ap\n"
                                               "1 c CE%sT 1945 May 24 2\n"
                                               "Z Etc/GMT+5 -5 - %z\n"
                                               "L Europe/Berlin Arctic/Longyearbyen"),
                                           &arena);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.version, "2025b");
    assert_non_null(zone_list_find(&list, STR("Etc/GMT+5")));
    assert_int_equal(zone_list_find(&list, STR("Europe/Berlin"))->link.n, 0);
    assert_true(str_is(zone_list_find(&list, STR("Arctic/Longyearbyen"))->link, "Europe/Berlin"));
    static const char *const unknown[] = {
        "",  "europe/berlin",    "Europe/Berli", "Europe/Berlin ", "Europe/Berlin/", "LMT", "Europe", "R",
        "c", "../Europe/Berlin", "2025b"};
    for (size_t i = 0; i < array_count(unknown); i++)
        if (zone_list_find(&list, str_of(unknown[i])))
            fail_msg("found %s", unknown[i]);
    assert_null(zone_list_find(&list, (struct str){"Europe/Berlin\0", 14}));
}

static void what_is_no_name_is_left_out(void **state)
{
    static const char *const lines[] = {"Z",
                                        "Z ",
                                        "L Europe/Berlin",
                                        "L ../passwd A/B",
                                        "Z ../passwd 0",
                                        "Z /etc/passwd 0",
                                        "Z A/../../passwd 0",
                                        "Z a.b 0",
                                        "Z \xc3\xa4 0",
                                        "Z Abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm 0",
                                        "Zone Europe/Paris 0",
                                        "# Z Europe/Paris 0"};
    for (size_t i = 0; i < array_count(lines); i++)
        if (zone_list_read(str_of(lines[i]), &arena).count)
            fail_msg("taken: %s", lines[i]);
}

static void a_list_has_an_end(void **state)
{
    buf_auto struct buf text = {0};
    for (int i = 0; i < ZONE_NAMES_MAX + 10; i++)
        buf_printf(&text, "Z A%d 0\n", i);
    assert_int_equal(zone_list_read(buf_str(&text), &arena).count, ZONE_NAMES_MAX);
}

static void a_table_of_zones_gives_names_too(void **state)
{
    struct zone_list list = zone_list_read_tab(STR("# comment\tx\tEurope/Paris\n"
                                                   "DE,DK\t+5230+01322\tEurope/Berlin\tmost of Germany\n"
                                                   "JP\t+353916+1394441\tAsia/Tokyo\n"
                                                   "\n"),
                                               &arena);
    assert_int_equal(list.count, 2);
    assert_non_null(zone_list_find(&list, STR("Europe/Berlin")));
    assert_non_null(zone_list_find(&list, STR("Asia/Tokyo")));
    assert_string_equal(list.version, "");
}

static struct zone_list of_version(const char *version)
{
    return zone_list_read(arena_printf(&arena, "# version %s\nZ A/B 0\n", version), &arena);
}

static void releases_are_in_their_order(void **state)
{
    static const char *const versions[] = {"unknown", "2023d", "2024a", "2024b", "2024z", "2024za", "2025a"};
    for (size_t i = 0; i < array_count(versions); i++)
        for (size_t j = 0; j < array_count(versions); j++) {
            struct zone_list a = of_version(versions[i]), b = of_version(versions[j]);
            assert_int_equal(zone_list_is_newer(&a, &b), i > j);
        }
    static const char *const none[] = {"", "unknown", "202", "2025b!", "2025b-0123456789abcdef"};
    for (size_t i = 0; i < array_count(none); i++)
        assert_string_equal(of_version(none[i]).version, "");
    assert_string_equal(zone_list_read(STR("version 2025b\n"), &arena).version, "");
}

static void a_slip_of_the_hand_is_understood(void **state)
{
    struct zone_list list = zone_list_read(STR("Z Europe/Berlin 0\nZ Europe/Dublin 0\nZ Asia/Tokyo 0\n"), &arena);
    assert_true(str_is(zone_list_guess(&list, STR("europe/berlin")), "Europe/Berlin"));
    assert_true(str_is(zone_list_guess(&list, STR("Europe/Dubln")), "Europe/Dublin"));
    assert_int_equal(zone_list_guess(&list, STR("Mars/Olympus")).n, 0);
}

static void an_abbreviation_is_not_taken_for_another(void **state)
{
    struct zone_list list = zone_list_read(STR("Z EST 0\nZ CET 0\nZ GMT+0 0\nZ Europe/Berlin 0\n"), &arena);
    assert_int_equal(zone_list_guess(&list, STR("PST")).n, 0);
    assert_int_equal(zone_list_guess(&list, STR("CEST")).n, 0);
    assert_int_equal(zone_list_guess(&list, STR("GMT+5")).n, 0);
    assert_int_equal(zone_list_guess(&list, STR("")).n, 0);
    assert_true(str_is(zone_list_guess(&list, STR("cet")), "CET"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_and_links_are_found_by_their_exact_names),
        cmocka_unit_test(what_is_no_name_is_left_out),
        cmocka_unit_test(a_list_has_an_end),
        cmocka_unit_test(a_table_of_zones_gives_names_too),
        cmocka_unit_test(releases_are_in_their_order),
        cmocka_unit_test(a_slip_of_the_hand_is_understood),
        cmocka_unit_test(an_abbreviation_is_not_taken_for_another),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
