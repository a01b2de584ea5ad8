// Time zones: real ones of the machine, asked for days in the past, which no release of tzdata changes; and zones made by hand,
// with everything that a file may say.
#include "arena_fixture.h"
#include "core/schedule/zone.h"

#include "base/mem.h"
#include "base/text/when.h"
#include "support/tzif.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOUR = 3600 };
static const char *why;

static int64_t seconds(const char *text)
{
    int64_t ms;
    assert_true(when_parse(str_of(text), &ms));
    return ms / 1000;
}

static const struct zone *machine_zone(const char *name)
{
    char path[128], bytes[ZONE_FILE_MAX];
    const struct zone *zone;
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is not there: install the package tzdata", path);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (zone_read((struct str){bytes, n}, &arena, &zone, &why))
        fail_msg("%s: %s", name, why);
    return zone;
}

// ---- real ones

static void zones_of_the_world_have_their_offsets(void **state)
{
    static const struct {
        const char *zone, *from; // the span before it ends here, and this one begins
        int32_t before_s, after_s;
        bool dst_before, dst_after;
        const char *before, *after;
    } rows[] = {
        {"America/New_York", "2024-03-10T07:00:00Z", -18000, -14400, false, true, "EST", "EDT"},
        {"America/New_York", "2024-11-03T06:00:00Z", -14400, -18000, true, false, "EDT", "EST"},
        {"America/New_York", "1974-01-06T07:00:00Z", -18000, -14400, false, true, "EST", "EDT"},
        {"Europe/Berlin", "1980-04-06T01:00:00Z", 3600, 7200, false, true, "CET", "CEST"},
        {"Europe/Berlin", "2024-10-27T01:00:00Z", 7200, 3600, true, false, "CEST", "CET"},
        {"Europe/Dublin", "2024-03-31T01:00:00Z", 0, 3600, true, false, "GMT", "IST"},
        {"Europe/Dublin", "2024-10-27T01:00:00Z", 3600, 0, false, true, "IST", "GMT"},
        {"Australia/Lord_Howe", "2024-04-06T15:00:00Z", 39600, 37800, true, false, "+11", "+1030"},
        {"Australia/Lord_Howe", "2024-10-05T15:30:00Z", 37800, 39600, false, true, "+1030", "+11"},
        {"Pacific/Apia", "2011-12-30T10:00:00Z", -36000, 50400, true, true, "-10", "+14"},
        {"Pacific/Kiritimati", "1994-12-31T10:00:00Z", -36000, 50400, false, false, "-10", "+14"},
        {"Africa/Casablanca", "2024-03-10T02:00:00Z", 3600, 0, false, true, "+01", "+00"},
        {"Africa/Casablanca", "2024-04-14T02:00:00Z", 0, 3600, true, false, "+00", "+01"},
        {"Africa/El_Aaiun", "2023-03-19T02:00:00Z", 3600, 0, false, true, "+01", "+00"},
        {"America/Sao_Paulo", "2018-11-04T03:00:00Z", -10800, -7200, false, true, "-03", "-02"},
        {"America/Sao_Paulo", "2019-02-17T02:00:00Z", -7200, -10800, true, false, "-02", "-03"},
        {"Asia/Kathmandu", "1985-12-31T18:30:00Z", 19800, 20700, false, false, "+0530", "+0545"},
        {"Antarctica/Troll", "2024-03-31T01:00:00Z", 0, 7200, false, true, "+00", "+02"},
        {"America/Nuuk", "2024-03-31T01:00:00Z", -7200, -3600, false, true, "-02", "-01"},
        {"America/Godthab", "2023-03-26T01:00:00Z", -10800, -7200, false, false, "-03", "-02"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        const struct zone *zone = machine_zone(rows[i].zone);
        int64_t from_s = seconds(rows[i].from);
        struct zone_span before = zone_span_at(zone, from_s - 1), after = zone_span_at(zone, from_s);
        assert_int_equal(before.until_s, from_s);
        assert_int_equal(after.from_s, from_s);
        assert_int_equal(before.offset_s, rows[i].before_s);
        assert_int_equal(after.offset_s, rows[i].after_s);
        assert_int_equal(before.is_dst, rows[i].dst_before);
        assert_int_equal(after.is_dst, rows[i].dst_after);
        assert_string_equal(before.abbreviation, rows[i].before);
        assert_string_equal(after.abbreviation, rows[i].after);
    }
}

static void a_wall_clock_of_the_world_shows_a_time_once_twice_or_never(void **state)
{
    static const struct {
        const char *zone, *wall; // as if it were UTC
        enum zone_wall kind;
        const char *first, *last;
    } rows[] = {
        {"America/New_York", "2024-03-10T01:59:59Z", ZONE_ONCE, "2024-03-10T06:59:59Z", "2024-03-10T06:59:59Z"},
        {"America/New_York", "2024-03-10T02:00:00Z", ZONE_SKIPPED, "2024-03-10T07:00:00Z", "2024-03-10T07:00:00Z"},
        {"America/New_York", "2024-03-10T02:59:59Z", ZONE_SKIPPED, "2024-03-10T07:00:00Z", "2024-03-10T07:00:00Z"},
        {"America/New_York", "2024-03-10T03:00:00Z", ZONE_ONCE, "2024-03-10T07:00:00Z", "2024-03-10T07:00:00Z"},
        {"America/New_York", "2024-11-03T00:59:59Z", ZONE_ONCE, "2024-11-03T04:59:59Z", "2024-11-03T04:59:59Z"},
        {"America/New_York", "2024-11-03T01:00:00Z", ZONE_TWICE, "2024-11-03T05:00:00Z", "2024-11-03T06:00:00Z"},
        {"America/New_York", "2024-11-03T01:59:59Z", ZONE_TWICE, "2024-11-03T05:59:59Z", "2024-11-03T06:59:59Z"},
        {"America/New_York", "2024-11-03T02:00:00Z", ZONE_ONCE, "2024-11-03T07:00:00Z", "2024-11-03T07:00:00Z"},
        {"Europe/Dublin", "2024-10-27T01:30:00Z", ZONE_TWICE, "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"},
        {"Australia/Lord_Howe", "2024-10-06T02:15:00Z", ZONE_SKIPPED, "2024-10-05T15:30:00Z", "2024-10-05T15:30:00Z"},
        {"Australia/Lord_Howe", "2024-10-06T02:30:00Z", ZONE_ONCE, "2024-10-05T15:30:00Z", "2024-10-05T15:30:00Z"},
        {"Australia/Lord_Howe", "2024-04-07T01:45:00Z", ZONE_TWICE, "2024-04-06T14:45:00Z", "2024-04-06T15:15:00Z"},
        {"Pacific/Apia", "2011-12-30T00:00:00Z", ZONE_SKIPPED, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
        {"Pacific/Apia", "2011-12-30T23:59:59Z", ZONE_SKIPPED, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
        {"Pacific/Apia", "2011-12-31T00:00:00Z", ZONE_ONCE, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
        {"Pacific/Kiritimati", "1994-12-31T12:00:00Z", ZONE_SKIPPED, "1994-12-31T10:00:00Z", "1994-12-31T10:00:00Z"},
        {"America/Sao_Paulo", "2018-11-04T00:00:00Z", ZONE_SKIPPED, "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z"},
        {"America/Sao_Paulo", "2019-02-16T23:30:00Z", ZONE_TWICE, "2019-02-17T01:30:00Z", "2019-02-17T02:30:00Z"},
        {"Antarctica/Troll", "2024-10-27T02:30:00Z", ZONE_TWICE, "2024-10-27T00:30:00Z", "2024-10-27T02:30:00Z"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct zone_instants instants = zone_instants(machine_zone(rows[i].zone), seconds(rows[i].wall));
        assert_int_equal(instants.wall, rows[i].kind);
        assert_int_equal(instants.first_s, seconds(rows[i].first));
        assert_int_equal(instants.last_s, seconds(rows[i].last));
    }
}

static void utc_is_known_without_a_file(void **state)
{
    static const int64_t instants[] = {INT64_MIN, -1, 0, 1794774120, INT64_MAX};
    for (size_t i = 0; i < array_count(instants); i++) {
        struct zone_span span = zone_span_at(&zone_utc, instants[i]);
        assert_int_equal(span.from_s, INT64_MIN);
        assert_int_equal(span.until_s, INT64_MAX);
        assert_int_equal(span.offset_s, 0);
        assert_false(span.is_dst);
        assert_string_equal(span.abbreviation, "UTC");
    }
    assert_int_equal(zone_instants(&zone_utc, 12345).wall, ZONE_ONCE);
    assert_int_equal(zone_instants(&zone_utc, 12345).first_s, 12345);
}

// ---- zones made by hand

static const struct tzif_kind kinds[] = {{-12 * HOUR, 0, 0}, {0, 0, 4}, {3 * HOUR, 1, 8}, {14 * HOUR, 0, 8}};
static const struct str names = {"LMT\0AAA\0+0330\0", 14};

static struct tzif tzif_of(const int64_t *times, const uint8_t *kind_at, size_t count, const char *footer)
{
    return (struct tzif){.version = '2',
                         .time_count = count,
                         .times = times,
                         .kind_at = kind_at,
                         .kind_count = array_count(kinds),
                         .kinds = kinds,
                         .names = names,
                         .footer = footer};
}

static const struct zone *made(const struct tzif *tzif)
{
    buf_auto struct buf bytes = {0};
    const struct zone *zone;
    tzif_put(&bytes, tzif);
    if (zone_read(buf_str(&bytes), &arena, &zone, &why))
        fail_msg("refused: %s", why);
    return zone;
}

static const struct zone *with_footer(const char *footer)
{
    return made(&(struct tzif){.version = '3', .kind_count = 2, .kinds = kinds, .names = names, .footer = footer});
}

static void what_follows_the_table_is_the_footer(void **state)
{
    static const int64_t times[] = {1000, 2000};
    static const uint8_t kind_at[] = {1, 2};
    struct tzif tzif = tzif_of(times, kind_at, 2, "BBB-5");
    const struct zone *zone = made(&tzif);
    struct zone_span first = zone_span_at(zone, 999), table = zone_span_at(zone, 1000), last = zone_span_at(zone, 2000);
    assert_int_equal(first.from_s, INT64_MIN);
    assert_int_equal(first.until_s, 1000);
    assert_string_equal(first.abbreviation, "LMT");
    assert_int_equal(table.from_s, 1000);
    assert_int_equal(table.until_s, 2000);
    assert_string_equal(table.abbreviation, "AAA");
    assert_int_equal(last.from_s, 2000);
    assert_int_equal(last.until_s, INT64_MAX);
    assert_int_equal(last.offset_s, 5 * HOUR);
    assert_string_equal(last.abbreviation, "BBB");
}

static void without_a_footer_the_last_offset_goes_on(void **state)
{
    static const int64_t times[] = {-1000, 2000};
    static const uint8_t kind_at[] = {1, 2};
    struct tzif tzif = tzif_of(times, kind_at, 2, "");
    for (int i = 0; i < 2; i++, tzif.version = 0) { // the second has times of 32 bits
        const struct zone *zone = made(&tzif);
        struct zone_span last = zone_span_at(zone, INT64_C(1) << 40);
        assert_int_equal(last.from_s, 2000);
        assert_int_equal(last.until_s, INT64_MAX);
        assert_int_equal(last.offset_s, 3 * HOUR);
        assert_true(last.is_dst);
        assert_string_equal(last.abbreviation, "+0330");
        assert_int_equal(zone_span_at(zone, -1001).offset_s, -12 * HOUR);
        assert_int_equal(zone_span_at(zone, -1000).offset_s, 0);
    }
}

static void every_form_of_a_rule_is_understood(void **state)
{
    static const struct {
        const char *footer, *at;
        int32_t offset_s;
        const char *abbreviation;
    } rows[] = {
        {"EST5EDT,M3.2.0,M11.1.0", "2050-03-13T06:59:59Z", -5 * HOUR, "EST"},
        {"EST5EDT,M3.2.0,M11.1.0", "2050-03-13T07:00:00Z", -4 * HOUR, "EDT"},
        {"EST5EDT,M3.2.0,M11.1.0", "2050-11-06T05:59:59Z", -4 * HOUR, "EDT"},
        {"EST5EDT,M3.2.0,M11.1.0", "2050-11-06T06:00:00Z", -5 * HOUR, "EST"},
        {"AAA-10BBB,M10.1.0,M4.1.0/3", "2050-01-01T00:00:00Z", 11 * HOUR, "BBB"}, // a summer over the turn of the year
        {"AAA-10BBB,M10.1.0,M4.1.0/3", "2050-07-01T00:00:00Z", 10 * HOUR, "AAA"},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", "2050-01-01T00:00:00Z", 0, "GMT"},
        {"<+0330>-3:30<+0430>-4:30:15,J79/24,J263/24", "2048-03-20T20:29:59Z", 12600,
         "+0330"}, // J79 is 20 March, also in leap years
        {"<+0330>-3:30<+0430>-4:30:15,J79/24,J263/24", "2048-03-20T20:30:00Z", 16215, "+0430"},
        {"AAA0BBB,59/0,60/0", "2049-03-01T00:00:00Z", HOUR, "BBB"}, // the 60th day: 1 March
        {"AAA0BBB,59/0,60/0", "2048-02-29T00:00:00Z", HOUR, "BBB"}, // and 29 February
        {"AAA0BBB,J60/0,J61/0", "2048-02-29T12:00:00Z", 0, "AAA"},  // which J does not count
        {"AAA0BBB,J60/0,J61/0", "2048-03-01T00:00:00Z", HOUR, "BBB"},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T00:59:59Z", -2 * HOUR, "-02"}, // a time before the day
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2050-03-27T01:00:00Z", -HOUR, "-01"},
        {"AAA-2BBB,M3.4.4/50,M10.4.4/50", "2050-03-25T23:59:59Z", 2 * HOUR, "AAA"}, // and one two days after it
        {"AAA-2BBB,M3.4.4/50,M10.4.4/50", "2050-03-26T00:00:00Z", 3 * HOUR, "BBB"},
        {"EST5EDT,0/0,J365/25", "2050-01-01T04:59:59Z", -4 * HOUR, "EDT"}, // daylight saving time all year
        {"EST5EDT,0/0,J365/25", "2050-01-01T05:00:00Z", -4 * HOUR, "EDT"},
        {"AAA0BBB,J365/167,M1.2.0", "2050-01-06T22:59:59Z", 0, "AAA"}, // the start of 2049 lies in 2050
        {"AAA0BBB,J365/167,M1.2.0", "2050-01-06T23:00:00Z", HOUR, "BBB"},
        {"AAA0BBB,M2.5.6/0,M6.1.0", "2048-02-28T23:59:59Z", 0, "AAA"}, // the last of a weekday: the fifth
        {"AAA0BBB,M2.5.6/0,M6.1.0", "2048-02-29T00:00:00Z", HOUR, "BBB"},
        {"AAA0BBB,M2.5.0/0,M6.1.0", "2026-02-21T23:59:59Z", 0, "AAA"}, // or the fourth
        {"AAA0BBB,M2.5.0/0,M6.1.0", "2026-02-22T00:00:00Z", HOUR, "BBB"},
        {"UTC+0", "2050-01-01T00:00:00Z", 0, "UTC"},
        {"AAA-24:59:59", "2050-01-01T00:00:00Z", 24 * HOUR + 3599, "AAA"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct zone_span span = zone_span_at(with_footer(rows[i].footer), seconds(rows[i].at));
        if (span.offset_s != rows[i].offset_s || strcmp(span.abbreviation, rows[i].abbreviation) != 0)
            fail_msg("%s at %s: %d %s", rows[i].footer, rows[i].at, span.offset_s, span.abbreviation);
    }
}

// Each instant lies in its span, and spans lie side by side, also near the ends of the range of numbers.
static void spans_cover_all_time(void **state)
{
    static const char *const footers[] = {"EST5EDT,M3.2.0,M11.1.0",  "AAA-10BBB,M10.1.0,M4.1.0/3", "EST5EDT,0/0,J365/25",
                                          "AAA0BBB,J365/167,0/-167", "AAA0BBB,J1/-167,J1/167",     "AAA0BBB,365/100,365/120",
                                          "AAA0BBB,J1/-120,J1/-100", "AAA0BBB,J1/0,J1/1",          "UTC0"};
    static const int64_t instants[] = {INT64_MIN, INT64_MIN + 1, -62135596801, -62135596800, -62135596799,
                                       0,         253402300799,  253402300800, 253402300801, INT64_MAX - 1};
    for (size_t i = 0; i < array_count(footers); i++) {
        const struct zone *zone = with_footer(footers[i]);
        for (size_t j = 0; j < array_count(instants); j++) {
            struct zone_span span = zone_span_at(zone, instants[j]);
            assert_true(span.from_s <= instants[j] && instants[j] < span.until_s);
            if (span.from_s != INT64_MIN)
                assert_int_equal(zone_span_at(zone, span.from_s - 1).until_s, span.from_s);
            if (span.until_s != INT64_MAX)
                assert_int_equal(zone_span_at(zone, span.until_s).from_s, span.until_s);
        }
        struct zone_span span = zone_span_at(zone, 0);
        while (span.until_s < INT64_C(20000) * 24 * HOUR) {
            struct zone_span last = zone_span_at(zone, span.until_s - 1), next = zone_span_at(zone, span.until_s);
            assert_int_equal(last.from_s, span.from_s);
            assert_int_equal(last.until_s, span.until_s);
            assert_int_equal(next.from_s, span.until_s);
            span = next;
        }
        assert_int_equal(span.until_s == INT64_MAX, strchr(footers[i], ',') == NULL); // a rule with dates has no last span
    }
}

// Finds the instants that show a wall time by trying all of them around it.
static struct zone_instants tried(const struct zone *zone, int64_t wall_s, int64_t step_s)
{
    struct zone_instants found = {.wall = ZONE_SKIPPED};
    int64_t before_s = INT64_MAX;
    for (int64_t utc_s = wall_s - 30 * HOUR; utc_s <= wall_s + 30 * HOUR; utc_s += step_s) {
        int64_t shown_s = utc_s + zone_span_at(zone, utc_s).offset_s;
        if (shown_s == wall_s) {
            found.first_s = found.wall == ZONE_SKIPPED ? utc_s : found.first_s;
            found.last_s = utc_s;
            found.wall = found.wall == ZONE_SKIPPED ? ZONE_ONCE : ZONE_TWICE;
        } else if (found.wall == ZONE_SKIPPED && found.first_s == 0 && before_s < wall_s && shown_s > wall_s) {
            found.first_s = found.last_s = utc_s;
        }
        before_s = shown_s;
    }
    return found;
}

static void transitions_close_to_each_other_are_kept_apart(void **state)
{
    static const struct {
        int64_t times[4];
        uint8_t kind_at[4];
    } rows[] = {
        {{100 * HOUR, 101 * HOUR, 102 * HOUR, 103 * HOUR}, {2, 1, 2, 1}}, // forward and back, twice
        {{100 * HOUR, 101 * HOUR, 110 * HOUR, 111 * HOUR}, {3, 1, 3, 0}}, // gaps of many hours that lie over each other
        {{100 * HOUR, 102 * HOUR, 104 * HOUR, 106 * HOUR}, {3, 0, 3, 0}}, // 26 hours forward and back
        {{100 * HOUR, 101 * HOUR, 102 * HOUR, 200 * HOUR}, {1, 2, 3, 0}}, // a gap after a gap
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct tzif tzif = tzif_of(rows[i].times, rows[i].kind_at, 4, "");
        const struct zone *zone = made(&tzif);
        for (int64_t wall_s = 60 * HOUR; wall_s < 240 * HOUR; wall_s += HOUR / 2) {
            struct zone_instants instants = zone_instants(zone, wall_s), expected = tried(zone, wall_s, HOUR / 2);
            if (instants.wall != expected.wall || instants.last_s != expected.last_s || instants.first_s != expected.first_s)
                fail_msg("row %zu, wall %ld: %d %ld %ld, but %d %ld %ld", i, (long)(wall_s / HOUR), instants.wall,
                         (long)instants.first_s, (long)instants.last_s, expected.wall, (long)expected.first_s,
                         (long)expected.last_s);
        }
    }
}

static void a_wall_time_at_the_end_of_numbers_is_answered(void **state)
{
    const struct zone *zone = with_footer("EST5EDT,M3.2.0,M11.1.0");
    assert_int_equal(zone_instants(zone, INT64_MAX).wall, ZONE_ONCE);
    assert_int_equal(zone_instants(zone, INT64_MIN).wall, ZONE_ONCE);
}

// ---- what is refused

static void bytes_that_end_too_soon_or_too_late_are_refused(void **state)
{
    static const int64_t times[] = {1000, 2000};
    static const uint8_t kind_at[] = {1, 2};
    static const char versions[] = {0, '2', '3', '4'};
    for (size_t i = 0; i < sizeof versions; i++) {
        buf_auto struct buf bytes = {0};
        const struct zone *zone = NULL;
        struct tzif tzif = tzif_of(times, kind_at, 2, "EST5EDT,M3.2.0,M11.1.0");
        tzif.version = versions[i];
        tzif_put(&bytes, &tzif);
        for (size_t n = 0; n < bytes.n; n++) {
            char *exact = mem_copy(bytes.p, n); // a block of its own, so that AddressSanitizer sees a read beyond it
            why = NULL;
            assert_int_equal(zone_read((struct str){exact, n}, &arena, &zone, &why), ERR_INVALID_FIELD);
            assert_non_null(why);
            mem_free(exact);
        }
        assert_int_equal(zone_read(buf_str(&bytes), &arena, &zone, &why), ERR_OK);
        buf_putc(&bytes, 'x');
        assert_int_equal(zone_read(buf_str(&bytes), &arena, &zone, &why), ERR_INVALID_FIELD);
    }
}

static void damaged_bytes_are_refused(void **state)
{
    // Where, in a file of version 1 with two transitions and four types, and which byte is put there.
    static const struct {
        size_t at;
        uint8_t byte;
        const char *word; // of why
    } rows[] = {
        {0, 't', "header"},      {4, '1', "version"},     {4, '5', "version"},       {23, 1, "indicators"},
        {27, 1, "indicators"},   {31, 1, "leap"},         {32, 255, "2000"},         {35, 255, "cut off"},
        {36, 255, "type"},       {39, 0, "type"},         {39, 255, "cut off"},      {40, 255, "cut off"},
        {43, 0, "type"},         {44, 127, "order"},      {52, 4, "not there"},      {53, 255, "not there"},
        {54, 128, "offset"},     {54, 1, "offset"},       {58, 2, "standard"},       {59, 14, "abbreviation"},
        {59, 3, "abbreviation"}, {59, 2, "abbreviation"}, {78, '.', "abbreviation"}, {91, '0', "abbreviation"},
    };
    static const int64_t times[] = {1000, 2000};
    static const uint8_t kind_at[] = {1, 2};
    struct tzif tzif = tzif_of(times, kind_at, 2, "");
    tzif.version = 0;
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf bytes = {0};
        const struct zone *zone = NULL;
        tzif_put(&bytes, &tzif);
        bytes.p[rows[i].at] = (char)rows[i].byte;
        if (!zone_read(buf_str(&bytes), &arena, &zone, &why))
            fail_msg("byte %zu may be %d", rows[i].at, rows[i].byte);
        if (!strstr(why, rows[i].word))
            fail_msg("byte %zu as %d: %s", rows[i].at, rows[i].byte, why);
    }
}

static void two_headers_must_have_one_version(void **state)
{
    buf_auto struct buf bytes = {0};
    const struct zone *zone;
    struct tzif tzif = tzif_of(NULL, NULL, 0, "UTC0");
    tzif_put(&bytes, &tzif);
    bytes.p[44 + 4] = '3';
    assert_int_equal(zone_read(buf_str(&bytes), &arena, &zone, &why), ERR_INVALID_FIELD);
    assert_string_equal(why, "its two headers have different versions");
}

static void files_that_are_too_large_are_refused(void **state)
{
    static int64_t times[ZONE_TRANSITIONS_MAX + 1];
    static uint8_t kind_at[ZONE_TRANSITIONS_MAX + 1];
    static char large[ZONE_FILE_MAX + 1];
    const struct zone *zone;
    for (int i = 0; i <= ZONE_TRANSITIONS_MAX; i++)
        times[i] = i;
    for (size_t more = 0; more <= 1; more++) {
        buf_auto struct buf bytes = {0};
        struct tzif tzif = tzif_of(times, kind_at, ZONE_TRANSITIONS_MAX + more, "UTC0");
        tzif_put(&bytes, &tzif);
        assert_int_equal(zone_read(buf_str(&bytes), &arena, &zone, &why), more ? ERR_TOO_LARGE : ERR_OK);
    }
    assert_int_equal(zone_read((struct str){large, sizeof large}, &arena, &zone, &why), ERR_TOO_LARGE);
    assert_int_equal(zone_read((struct str){large, sizeof large - 1}, &arena, &zone, &why), ERR_INVALID_FIELD);
}

static void footers_that_are_no_rule_are_refused(void **state)
{
    static const char *const rows[] = {
        "EST",
        "ES5",
        "5",
        "EST5 ",
        "EST5EDT",
        "EST5EDT4",
        "EST5EDT,",
        "EST5EDT,M3.2.0",
        "EST5EDT,M3.2.0,",
        "EST5EDT,M3.2.0,M11.1.0,",
        "EST5EDT,M3.2.0,M11.1.0\n",
        "EST5EDT,M0.2.0,M11.1.0",
        "EST5EDT,M13.2.0,M11.1.0",
        "EST5EDT,M3.0.0,M11.1.0",
        "EST5EDT,M3.6.0,M11.1.0",
        "EST5EDT,M3.2.7,M11.1.0",
        "EST5EDT,M3.2,M11.1.0",
        "EST5EDT,M3.2.0/,M11.1.0",
        "EST5EDT,M3.2.0/168,M11.1.0",
        "EST5EDT,M3.2.0/-168,M11.1.0",
        "EST5EDT,M3.2.0/2:60,M11.1.0",
        "EST5EDT,M3.2.0/2:00:60,M11.1.0",
        "EST5EDT,J0,J10",
        "EST5EDT,J366,J10",
        "EST5EDT,366,10",
        "EST5EDT,99999999999999999999,10",
        "EST25",
        "EST-25",
        "EST+-5",
        "EST5:60",
        "<EST5",
        "<E>5",
        "<E T>5",
        "<ABCDEFGH>5",
        "ABCDEFGH5",
        ":EST5",
        "Europe/Berlin",
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf bytes = {0};
        const struct zone *zone;
        struct tzif tzif = tzif_of(NULL, NULL, 0, rows[i]);
        tzif_put(&bytes, &tzif);
        if (!zone_read(buf_str(&bytes), &arena, &zone, &why))
            fail_msg("taken: %s", rows[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_of_the_world_have_their_offsets),
        cmocka_unit_test(a_wall_clock_of_the_world_shows_a_time_once_twice_or_never),
        cmocka_unit_test(utc_is_known_without_a_file),
        cmocka_unit_test(what_follows_the_table_is_the_footer),
        cmocka_unit_test(without_a_footer_the_last_offset_goes_on),
        cmocka_unit_test(every_form_of_a_rule_is_understood),
        cmocka_unit_test(spans_cover_all_time),
        cmocka_unit_test(transitions_close_to_each_other_are_kept_apart),
        cmocka_unit_test(a_wall_time_at_the_end_of_numbers_is_answered),
        cmocka_unit_test(bytes_that_end_too_soon_or_too_late_are_refused),
        cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(two_headers_must_have_one_version),
        cmocka_unit_test(files_that_are_too_large_are_refused),
        cmocka_unit_test(footers_that_are_no_rule_are_refused),
    };
    return cmocka_run_group_tests(tests, arena_set_up, arena_tear_down);
}
