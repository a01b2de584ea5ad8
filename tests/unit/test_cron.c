// Cron patterns: each sentence of the Open Cron Pattern Specification 1.4 as rows of a table, and what rota decides besides. What
// a pattern means in every zone and year is compared with other code in tests/schedule.
#include "core/schedule/cron.h"

#include "base/mem.h"
#include "core/schedule/zone.h"
#include "cron_rows.h"

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct cron cron = parsed(rows[i].pattern, 0);
        check_row(&rows[i], &cron, &zone_utc, CRON_GAP_RUN_AFTER, CRON_OVERLAP_FIRST);
    }
}

static void five_fields_are_minute_hour_day_month_and_weekday(void **state)
{
    static const struct row rows[] = {
        {"15 10 * * *", "2026-03-10T10:14", {"2026-03-10T10:15", "2026-03-11T10:15"}},
        {"15 10 * * *", "2026-03-10T10:15", {"2026-03-11T10:15"}},
        {"* * * * *", "2026-12-31T23:58", {"2026-12-31T23:59", "2027-01-01T00:00"}},
        {"0 0 1 1 *", "2026-01-01T00:00", {"2027-01-01T00:00"}},
        {"30 8 * 2 *", "2026-02-28T08:30", {"2027-02-01T08:30"}},
        {"0 6 * * 3", "2026-11-18T06:00", {"2026-11-25T06:00"}},
    };
    check(rows, array_count(rows));
}

static void blanks_around_a_pattern_are_ignored_and_several_are_one(void **state)
{
    static const struct row rows[] = {
        {"  15 10 * * *\t", "2026-03-10T10:14", {"2026-03-10T10:15"}},
        {"15\t10 \t *  *   *", "2026-03-10T10:14", {"2026-03-10T10:15"}},
        {" \t@daily ", "2026-03-10T10:14", {"2026-03-11T00:00"}},
    };
    check(rows, array_count(rows));
}

static void months_and_weekdays_have_names_without_case(void **state)
{
    static const struct row rows[] = {
        {"30 8 * jan Mon", "2025-01-01T00:00", {"2025-01-06T08:30", "2025-01-13T08:30"}},
        {"0 0 1 JUN-aug *", "2026-01-01T00:00", {"2026-06-01T00:00", "2026-07-01T00:00", "2026-08-01T00:00", "2027-06-01T00:00"}},
        {"0 0 1 Feb,dEC *", "2026-01-01T00:00", {"2026-02-01T00:00", "2026-12-01T00:00"}},
        {"0 0 * * mon-3", "2026-11-15T00:00", {"2026-11-16T00:00", "2026-11-17T00:00", "2026-11-18T00:00", "2026-11-23T00:00"}},
    };
    check(rows, array_count(rows));
}

static void zero_and_seven_are_sunday(void **state)
{
    static const struct row rows[] = {
        {"0 0 * * 0", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"0 0 * * 7", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"0 0 * * SUN", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"0 0 * * 6-7", "2026-11-16T00:00", {"2026-11-21T00:00", "2026-11-22T00:00", "2026-11-28T00:00"}},
        {"0 0 * * SAT-SUN", "2026-11-16T00:00", {"2026-11-21T00:00", "2026-11-22T00:00", "2026-11-28T00:00"}},
        {"0 0 * * SUN-MON", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-23T00:00", "2026-11-29T00:00"}},
        {"0 0 * * SUN-SUN", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"0 0 * * 0-7/7", "2026-11-16T00:00", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"0 0 * * */2", "2026-11-16T00:00", {"2026-11-17T00:00", "2026-11-19T00:00", "2026-11-21T00:00", "2026-11-22T00:00"}},
        {"0 0 * * 7#1", "2026-11-16T00:00", {"2026-12-06T00:00"}},
    };
    check(rows, array_count(rows));
}

static void lists_ranges_and_steps_are_joined(void **state)
{
    static const struct row rows[] = {
        {"0,15,30 9 * * *", "2026-03-10T00:00", {"2026-03-10T09:00", "2026-03-10T09:15", "2026-03-10T09:30", "2026-03-11T09:00"}},
        {"5-59/15 9 * * *", "2026-03-10T00:00", {"2026-03-10T09:05", "2026-03-10T09:20", "2026-03-10T09:35", "2026-03-10T09:50"}},
        {"*/20 23 * * *", "2026-03-10T23:00", {"2026-03-10T23:20", "2026-03-10T23:40", "2026-03-11T23:00"}},
        {"58,0-10/5,7 0 * * *",
         "2026-03-10T00:00",
         {"2026-03-10T00:05", "2026-03-10T00:07", "2026-03-10T00:10", "2026-03-10T00:58"}},
        {"0 0 */10 * *", "2026-03-01T00:00", {"2026-03-11T00:00", "2026-03-21T00:00", "2026-03-31T00:00", "2026-04-01T00:00"}},
        {"0 0 1 */5 *", "2026-01-01T00:00", {"2026-06-01T00:00", "2026-11-01T00:00", "2027-01-01T00:00"}},
        {"*/90 0-1 * * *",
         "2026-03-10T00:00",
         {"2026-03-10T01:00", "2026-03-11T00:00"}}, // a step beyond the end leaves the first
        {"10-20/5,10-20/5 0 * * *", "2026-03-10T00:00", {"2026-03-10T00:10", "2026-03-10T00:15"}},
        {"007 010 * * *", "2026-03-10T00:00", {"2026-03-10T10:07"}},
        {"5-5 0 * * *", "2026-03-10T00:00", {"2026-03-10T00:05", "2026-03-11T00:05"}},
        {"*,1-30 0 * * *", "2026-03-10T00:00", {"2026-03-10T00:01", "2026-03-10T00:02"}},
        {"0 0-23/8 * * *", "2026-03-10T00:00", {"2026-03-10T08:00", "2026-03-10T16:00", "2026-03-11T00:00"}},
    };
    check(rows, array_count(rows));
}

static void a_day_fits_by_date_or_by_weekday_when_both_are_restricted(void **state)
{
    static const struct row rows[] = {
        {"0 12 1 * MON", "2025-09-30T00:00", {"2025-10-01T12:00", "2025-10-06T12:00", "2025-10-13T12:00"}},
        {"0 12 * * MON", "2025-10-06T12:00", {"2025-10-13T12:00"}},
        {"0 12 ? * MON", "2025-10-06T12:00", {"2025-10-13T12:00"}},
        {"0 12 1 * ?", "2025-10-06T12:00", {"2025-11-01T12:00"}},
        {"0 12 *,1 * MON", "2025-10-06T12:00", {"2025-10-13T12:00"}}, // a first entry * restricts nothing
        {"0 12 1,* * MON", "2025-10-06T12:00", {"2025-10-07T12:00"}}, // any other does, whatever it comes to
        {"0 12 1-31 * MON", "2025-10-06T12:00", {"2025-10-07T12:00"}},
        {"0 12 */2 * MON", "2025-10-06T00:00", {"2025-10-06T12:00", "2025-10-07T12:00", "2025-10-09T12:00"}},
        {"0 12 10 * 0-6", "2025-10-06T12:00", {"2025-10-07T12:00"}},
        {"0 12 10 * *", "2025-10-06T12:00", {"2025-10-10T12:00"}},
    };
    check(rows, array_count(rows));
}

static void a_plus_joins_date_and_weekday_by_and(void **state)
{
    static const struct row rows[] = {
        {"0 12 1 * +MON", "2025-01-01T00:00", {"2025-09-01T12:00", "2025-12-01T12:00", "2026-06-01T12:00"}},
        {"0 0 13 * +FRI", "2026-01-01T00:00", {"2026-02-13T00:00", "2026-03-13T00:00", "2026-11-13T00:00", "2027-08-13T00:00"}},
        {"0 0 * * +MON", "2026-11-16T00:00", {"2026-11-23T00:00"}},
        {"0 0 1 * +*", "2026-11-16T00:00", {"2026-12-01T00:00"}},
        {"0 0 8-14 * +TUE,THU", "2026-11-01T00:00", {"2026-11-10T00:00", "2026-11-12T00:00", "2026-12-08T00:00"}},
        {"0 0 L * +FRI#L", "2026-01-01T00:00", {"2026-07-31T00:00", "2027-04-30T00:00"}},
        {"0 0 29 2 +MON", "2026-01-01T00:00", {"2044-02-29T00:00", "2072-02-29T00:00", "2112-02-29T00:00"}},
    };
    check(rows, array_count(rows));
}

static void nicknames_are_their_patterns(void **state)
{
    static const struct row rows[] = {
        {"@yearly", "2026-11-18T07:30", {"2027-01-01T00:00", "2028-01-01T00:00"}},
        {"@annually", "2026-11-18T07:30", {"2027-01-01T00:00", "2028-01-01T00:00"}},
        {"@monthly", "2026-11-18T07:30", {"2026-12-01T00:00", "2027-01-01T00:00"}},
        {"@weekly", "2026-11-18T07:30", {"2026-11-22T00:00", "2026-11-29T00:00"}},
        {"@daily", "2026-11-18T07:30", {"2026-11-19T00:00", "2026-11-20T00:00"}},
        {"@midnight", "2026-11-18T07:30", {"2026-11-19T00:00", "2026-11-20T00:00"}},
        {"@hourly", "2026-11-18T07:30", {"2026-11-18T08:00", "2026-11-18T09:00"}},
    };
    check(rows, array_count(rows));
}

static void six_fields_begin_with_the_second_and_seven_end_with_the_year(void **state)
{
    static const struct row rows[] = {
        {"15 10 * * *", "2026-03-10T10:15:30", {"2026-03-11T10:15:00"}},
        {"30 15 10 * * *", "2026-03-10T10:15:29", {"2026-03-10T10:15:30", "2026-03-11T10:15:30"}},
        {"*/20 * * * * *", "2026-03-10T23:59:30", {"2026-03-10T23:59:40", "2026-03-11T00:00:00", "2026-03-11T00:00:20"}},
        {"* * * * * *", "2026-12-31T23:59:58", {"2026-12-31T23:59:59", "2027-01-01T00:00:00"}},
        {"0 15 10 * * * 2025", "2025-12-30T11:00", {"2025-12-31T10:15", "never"}},
        {"0 0 12 1 1 * 2027-2030/2", "2026-01-01T00:00", {"2027-01-01T12:00", "2029-01-01T12:00", "never"}},
        {"0 0 0 1 1 * */2", "2026-01-01T00:00", {"2028-01-01T00:00", "2030-01-01T00:00"}}, // the years count from 1970
        {"0 0 0 1 1 * 1971-2199/2", "2026-01-01T00:00", {"2027-01-01T00:00", "2029-01-01T00:00"}},
        {"0 0 0 1 1 * 2026,2100,2199", "2026-01-01T00:00", {"2100-01-01T00:00", "2199-01-01T00:00", "never"}},
        {"59 59 23 31 12 * 1970-2199", "2199-01-01T00:00", {"2199-12-31T23:59:59", "never"}},
        {"0 0 1 1 *", "2199-01-01T00:00", {"never"}},
    };
    check(rows, array_count(rows));
}

static void l_is_the_last_day_or_the_last_of_a_weekday(void **state)
{
    static const struct row rows[] = {
        {"0 0 L * *", "2026-01-01T00:00", {"2026-01-31T00:00", "2026-02-28T00:00", "2026-03-31T00:00", "2026-04-30T00:00"}},
        {"0 0 L 2 *", "2026-03-01T00:00", {"2027-02-28T00:00", "2028-02-29T00:00"}},
        {"0 0 L,15 * *", "2026-01-01T00:00", {"2026-01-15T00:00", "2026-01-31T00:00", "2026-02-15T00:00", "2026-02-28T00:00"}},
        {"0 0 * * 5L", "2026-01-01T00:00", {"2026-01-30T00:00", "2026-02-27T00:00", "2026-03-27T00:00"}},
        {"0 0 * * FRI#L", "2026-01-01T00:00", {"2026-01-30T00:00", "2026-02-27T00:00", "2026-03-27T00:00"}},
        {"0 0 * * FriL", "2026-01-01T00:00", {"2026-01-30T00:00", "2026-02-27T00:00", "2026-03-27T00:00"}},
        {"0 0 * * 7L", "2026-02-01T00:00", {"2026-02-22T00:00", "2026-03-29T00:00"}},
        {"0 0 L * MON#L", "2026-01-01T00:00", {"2026-01-26T00:00", "2026-01-31T00:00", "2026-02-23T00:00", "2026-02-28T00:00"}},
    };
    check(rows, array_count(rows));
}

static void a_hash_sign_counts_the_weekdays_of_a_month(void **state)
{
    static const struct row rows[] = {
        {"0 0 * * 2#3", "2025-06-01T00:00", {"2025-06-17T00:00", "2025-07-15T00:00"}},
        {"0 0 * * MON#1", "2026-11-01T00:00", {"2026-11-02T00:00", "2026-12-07T00:00"}},
        {"0 0 * * MON#1,MON#3,fri#2", "2026-11-01T00:00", {"2026-11-02T00:00", "2026-11-13T00:00", "2026-11-16T00:00"}},
        {"0 0 * * SUN#5", "2026-01-01T00:00", {"2026-03-29T00:00", "2026-05-31T00:00", "2026-08-30T00:00"}},
        {"0 0 * 2 SUN#5", "2026-01-01T00:00", {"2032-02-29T00:00", "2060-02-29T00:00"}},
        {"0 0 * * MON#2,WED", "2026-11-01T00:00", {"2026-11-04T00:00", "2026-11-09T00:00", "2026-11-11T00:00"}},
    };
    check(rows, array_count(rows));
}

static void w_is_the_nearest_monday_to_friday_within_the_month(void **state)
{
    static const struct row rows[] = {
        {"0 12 15W * *", "2025-06-01T00:00", {"2025-06-16T12:00", "2025-07-15T12:00", "2025-08-15T12:00"}},
        {"0 12 15W * *", "2025-11-01T00:00", {"2025-11-14T12:00"}},
        {"0 12 1W * *", "2025-01-15T00:00", {"2025-02-03T12:00", "2025-03-03T12:00"}}, // both begin with a Saturday
        {"0 12 1W 6 *", "2025-01-15T00:00", {"2025-06-02T12:00"}},
        {"0 12 31W 8 *", "2025-01-15T00:00", {"2025-08-29T12:00"}},                     // ends with a Sunday
        {"0 12 31W * *", "2026-03-31T13:00", {"2026-05-29T12:00", "2026-07-31T12:00"}}, // a month of 30 days has no such day
        {"0 12 29W 2 *", "2026-01-01T00:00", {"2028-02-29T12:00"}},
        {"0 12 15W * +MON", "2025-06-01T00:00", {"2025-06-16T12:00", "2025-09-15T12:00"}},
        {"0 12 15W * MON", "2025-07-08T00:00", {"2025-07-14T12:00", "2025-07-15T12:00"}},
    };
    check(rows, array_count(rows));
}

static void a_refusal_names_the_field_and_says_what_would_be_right(void **state)
{
    static const struct {
        const char *pattern, *words;
    } rows[] = {
        {"", "A cron pattern has 5 fields"},
        {" \t", "this one has 0."},
        {"* * * *", "this one has 4."},
        {"* * * * * * * *", "this one has 8."},
        {"60 0 * * *", "The minute field has \"60\": a minute is *, a number from 0 to 59, or a range such as 0-29."},
        {"60 0 0 * * *", "The second field has \"60\""},
        {"0 24 * * *", "The hour field has \"24\""},
        {"0 0 0 * *", "The day-of-month field has \"0\""},
        {"0 0 32 * *", "The day-of-month field has \"32\""},
        {"0 0 * 0 *", "The month field has \"0\""},
        {"0 0 * 13 *", "The month field has \"13\""},
        {"0 0 * * 8", "The day-of-week field has \"8\""},
        {"0 0 0 1 1 * 1969", "The year field has \"1969\""},
        {"0 0 0 1 1 * 2200", "The year field has \"2200\""},
        {"99999999999999999999 0 * * *", "The minute field has"},
        {"0 0 10-5 * *", "a range goes upwards; write 10-31,1-5."},
        {"0 0 * * 5-0", "a range goes upwards; write 5-7,0-0."},
        {"0 0 * * FRI-MON", "a range goes upwards; write 5-7,0-1."},
        {"0 0 * * *\n", "one line; this one has a line break"},
        {"@daily\r", "one line; this one has a line break"},
        {"*/0 0 * * *", "a step is 1 or more."},
        {"0-30/0 0 * * *", "a step is 1 or more."},
        {"/30 0 * * *", "a step follows * or a range, such as */5."},
        {"0/15 0 * * *", "a step follows * or a range; write 0-59/15."},
        {"0 10/10 * * *", "a step follows * or a range; write 10-23/10."},
        {"*/ 0 * * *", "behind / stands a number, such as */5."},
        {"*/5/2 0 * * *", "behind / stands a number"},
        {"*/-5 0 * * *", "behind / stands a number"},
        {"*5 0 * * *", "The minute field has \"*5\""},
        {"*,*,61 0 * * *", "The minute field has \"61\""},
        {"1, 0 * * *", "an entry is missing; one comma stands between two entries"},
        {",1 0 * * *", "an entry is missing"},
        {"1,,2 0 * * *", "an entry is missing"},
        {"1- 0 * * *", "The minute field has \"1-\""},
        {"-1 0 * * *", "The minute field has \"-1\""},
        {"1-2-3 0 * * *", "The minute field has \"1-2-3\""},
        {"1.5 0 * * *", "The minute field has \"1.5\""},
        {"0 0 * * MONDAY", "The day-of-week field has \"MONDAY\": a weekday is *, 0 to 7, SUN to SAT"},
        {"0 0 * MON *", "The month field has \"MON\": a month is *, 1 to 12, JAN to DEC"},
        {"0 0 * * JAN", "The day-of-week field has \"JAN\""},
        {"JAN 0 * * *", "The minute field has \"JAN\""},
        {"0\v0 * * * *", "one line; this one has a line break or another control character."},
        {"0 0 * * \xe2\x80\x94", "The day-of-week field has \"???\""},
        {"0 0 * * 0123456789012345678901234567890123456789", "\"01234567890123456789012345678901...\""},
        {"? 12 * * *", "? stands in the day fields only; write *."},
        {"0 12 * ? *", "? stands in the day fields only"},
        {"0 0 0 1 1 * ?", "? stands in the day fields only"},
        {"0 12 +1 * MON", "+ stands only at the front of the day-of-week field, such as +MON."},
        {"0 12 1 * MON,+TUE", "+ stands only at the front"},
        {"0 12 1 * ++TUE", "+ stands only at the front"},
        {"0 12 1 * +", "an entry is missing"},
        {"0 L * * *", "L stands in the day fields only."},
        {"0 0 * * L", "L needs a weekday in front, such as FRIL or FRI#L"},
        {"0 0 L-3 * *", "L, the last day of the month, stands alone."},
        {"0 0 LW * *", "L, the last day of the month, stands alone."},
        {"0 0 1-L * *", "The day-of-month field has \"1-L\""},
        {"0 0 l * *", "L is written as a capital."},
        {"0 0 * * 5l", "The day-of-week field has \"5l\""},
        {"0 0 15w * *", "The day-of-month field has \"15w\""},
        {"0 0 W * *", "W stands behind a day of the month, such as 15W."},
        {"0 0 1-15W * *", "W belongs to a single day, such as 15W."},
        {"0 0 1W,15 * *", "W belongs to a single day that is the whole field"},
        {"0 0 1,15W * *", "W belongs to a single day that is the whole field"},
        {"0 0 15W/2 * *", "W belongs to a single day that is the whole field"},
        {"0 0 32W * *", "The day-of-month field has \"32W\""},
        {"0 0 * * 1W", "The day-of-week field has \"1W\""},
        {"0 0 * * MON#0", "behind # stands a number from 1 to 5, or L"},
        {"0 0 * * MON#6", "behind # stands a number from 1 to 5, or L"},
        {"0 0 * * MON#", "behind # stands a number from 1 to 5, or L"},
        {"0 0 * * MON#-1", "behind # stands a number from 1 to 5, or L"},
        {"0 0 * * MON#1-3", "an occurrence such as MON#1 stands alone"},
        {"0 0 * * MON#LL", "an occurrence such as MON#1 stands alone"},
        {"0 0 * * #1", "# stands behind a weekday, such as MON#1."},
        {"0 0 * * 1-5#1", "The day-of-week field has \"1-5#1\""},
        {"0 0 * * *#1", "The day-of-week field has \"*#1\""},
        {"0 0 1#1 * *", "The day-of-month field has \"1#1\""},
        {"0 0 0 * * * H", "H does not spread over years; name them, such as 2026-2030."},
        {"h 0 * * *", "H is written as a capital."},
        {"H(0) 0 * * *", "H takes a range in brackets, such as H(0-29)."},
        {"H(30-10) 0 * * *", "a range goes upwards, such as H(0-29)."},
        {"H(0-60) 0 * * *", "The minute field has \"H(0-60)\""},
        {"H(0-29 0 * * *", "the bracket behind H is not closed; write it as H(0-29)."},
        {"H(0-29)5 0 * * *", "The minute field has \"H(0-29)5\""},
        {"H/0 0 * * *", "a step is 1 or more."},
        {"H5 0 * * *", "The minute field has \"H5\""},
        {"@reboot", "@reboot is not supported"},
        {"@Daily", "There is no nickname \"@Daily\". A nickname is @yearly"},
        {"@every 5m", "There is no nickname \"@every 5m\""},
        {"@daily 0 0 * * *", "There is no nickname \"@daily 0 0 * * *\""},
        {"0 0 * * @daily", "a nickname such as @daily stands alone."},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct cron cron;
        char why[ERR_WHY_MAX] = "";
        enum err err = cron_parse(str_of(rows[i].pattern), 0, &cron, why);
        if (err != ERR_INVALID_FIELD || !strstr(why, rows[i].words))
            fail_msg("\"%s\": %s: \"%s\" has no \"%s\"", rows[i].pattern, err_info(err)->code, why, rows[i].words);
        assert_true(strlen(why) < ERR_WHY_MAX - 1 && why[strlen(why) - 1] == '.');
    }
}

static void a_pattern_that_never_fires_is_told_from_one_that_seldom_does(void **state)
{
    static const struct {
        const char *pattern;
        bool fires;
    } rows[] = {
        {"* * 31 2 *", false},
        {"0 0 30 2 *", false},
        {"0 0 30-31 2 *", false},
        {"0 0 31 2,4,6,9,11 *", false},
        {"0 0 31 2,4,6,9,11 +MON", false},
        {"0 0 31 2,4,6,9,11 MON", true},
        {"0 0 31 2,3 *", true},
        {"0 0 29 2 *", true},
        {"0 0 0 29 2 * 2100", false},
        {"0 0 0 29 2 * 2097-2103", false},
        {"0 0 0 29 2 * 2097-2104", true},
        {"0 0 29 2 +MON", true},
        {"0 0 0 29 2 +MON 2026-2043", false},
        {"0 0 0 29 2 +MON 2026-2044", true},
        {"0 0 * 2 SUN#5", true},
        {"0 0 0 * 2 SUN#5 2026", false},
        {"0 0 15 * +MON#1", false},
        {"0 0 1-7 * +MON#2", false},
        {"0 0 7 * +MON#1", true},
        {"0 0 22 3 +MON#L", false},
        {"0 0 22 2 +MON#L", true},
        {"0 0 15W * +SUN", false},
        {"0 0 30W 2 *", false},
        {"0 0 31W 4 *", false},
        {"0 0 29W 2 *", true},
        {"0 0 1W * +MON#2", false},
        {"0 0 L * +MON#4", true},
        {"0 0 L 1 +MON#4", false},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct cron cron;
        char why[ERR_WHY_MAX] = "";
        enum err err = cron_parse(str_of(rows[i].pattern), 0, &cron, why);
        if (err != (rows[i].fires ? ERR_OK : ERR_CRON_NEVER))
            fail_msg("%s: %s", rows[i].pattern, err_info(err)->code);
        assert_int_equal(cron_next(&cron, &zone_utc, CRON_GAP_SKIP, CRON_OVERLAP_BOTH, -1) == INT64_MAX, !rows[i].fires);
    }
}

// ---- H

static void h_is_one_value_of_its_field_that_the_hash_chooses(void **state)
{
    static const struct {
        const char *pattern;
        int minutes, hours, days, months, weekdays; // how many there are of each
    } rows[] = {
        {"H H * * *", 1, 1, 31, 12, 7},        {"H/15 * * * *", 4, 24, 31, 12, 7},      {"H(0-29)/10 * * * *", 3, 24, 31, 12, 7},
        {"H(10-19) 3 * * *", 1, 1, 31, 12, 7}, {"0 0 H * *", 1, 1, 1, 12, 7},           {"0 0 1 H *", 1, 1, 1, 1, 7},
        {"0 0 * * H", 1, 1, 31, 12, 1},        {"0 0 * * H(MON-FRI)", 1, 1, 31, 12, 1}, {"H,H H(8-17)/2 * * *", 1, 5, 31, 12, 7},
    };
    for (uint64_t hash = 0; hash < 1000; hash++)
        for (size_t i = 0; i < array_count(rows); i++) {
            struct cron cron = parsed(rows[i].pattern, hash * 0x9e3779b97f4a7c15u);
            assert_int_equal(__builtin_popcountll(cron.minutes), rows[i].minutes);
            assert_int_equal(__builtin_popcount(cron.hours), rows[i].hours);
            assert_int_equal(__builtin_popcount(cron.days), rows[i].days);
            assert_int_equal(__builtin_popcount(cron.months), rows[i].months);
            assert_int_equal(__builtin_popcount(cron.weekdays[0]), rows[i].weekdays);
            assert_true(cron.hashed);
        }
    assert_false(parsed("0 0 * * THU", 1).hashed);
}

static void h_keeps_to_its_range_and_to_the_days_that_every_month_has(void **state)
{
    for (uint64_t hash = 0; hash < 10000; hash++) {
        assert_int_equal(parsed("H(10-19) 3 * * *", hash).minutes & ~(UINT64_C(0x3ff) << 10), 0);
        assert_int_equal(parsed("H(0-29)/10 * * * *", hash).minutes & ~(UINT64_C(0x3fffffff)), 0);
        assert_int_equal(parsed("0 0 H * *", hash).days & UINT32_C(0xe0000001), 0);
        assert_int_equal(parsed("0 0 * * H(MON-FRI)", hash).weekdays[0] & 0x41, 0);
    }
}

// With 60,000 hashes each minute is expected 1000 times, and 200 away from that is more than six standard deviations.
static void h_spreads_evenly_and_each_field_by_itself(void **state)
{
    int by_minute[60] = {0}, by_hour_at_minute_0[24] = {0};
    for (uint64_t hash = 0; hash < 60000; hash++) {
        struct cron cron = parsed("H H * * *", hash);
        by_minute[__builtin_ctzll(cron.minutes)]++;
        if (cron.minutes == 1)
            by_hour_at_minute_0[__builtin_ctz(cron.hours)]++;
    }
    for (int i = 0; i < 60; i++)
        assert_in_range(by_minute[i], 800, 1200);
    for (int i = 0; i < 24; i++)
        assert_in_range(by_hour_at_minute_0[i], 10, 80);
}

// A task would move with an upgrade if these changed.
static void h_stays_where_it_was_with_every_release(void **state)
{
    static const struct row rows[] = {
        {"H H * * *", "2026-11-21T00:00", {"2026-11-21T04:48"}},
        {"H H H * * *", "2026-11-21T00:00", {"2026-11-21T04:48:48"}},
        {"0 0 H H *", "2026-11-21T00:00", {"2027-07-23T00:00"}},
        {"H/15 H(8-17) * * H", "2026-11-21T00:00", {"2026-11-26T12:03"}},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct cron cron = parsed(rows[i].pattern, 0x0123456789abcdef);
        check_row(&rows[i], &cron, &zone_utc, CRON_GAP_RUN_AFTER, CRON_OVERLAP_FIRST);
    }
}

// ---- words

static void a_pattern_is_described_in_plain_english(void **state)
{
    static const struct {
        const char *pattern, *words;
    } rows[] = {
        {"* * * * *", "every minute"},
        {"*/15 * * * *", "every 15 minutes"},
        {"*/15 9-17 * * MON-FRI", "every 15 minutes from 09:00 to 17:59, Monday to Friday"},
        {"30 2 * * FRI#L", "at 02:30 on the last Friday of the month"},
        {"0 * * * *", "every hour"},
        {"5 * * * *", "every hour at minute 5"},
        {"0 */2 * * *", "every 2 hours"},
        {"5 */2 * * *", "every 2 hours at minute 5"},
        {"0 9-17 * * 1-5", "every hour from 09:00 to 17:00, Monday to Friday"},
        {"5 1-23/2 * * *", "every 2 hours from 01:05 to 23:05"},
        {"0 0 * * *", "at 00:00 every day"},
        {"0 8,12,16 * * *", "at 08:00, 12:00 and 16:00 every day"},
        {"0 0 1 * *", "at 00:00 on the 1st of the month"},
        {"@yearly", "at 00:00 on the 1st of January"},
        {"@weekly", "at 00:00 on Sunday"},
        {"5-59/15 9 * * *", "at 09:05, 09:20, 09:35 and 09:50 every day"},
        {"5-59/15 * * * *", "at minutes 5, 20, 35 and 50 of every hour"},
        {"0,20 9-17 * * *", "at minutes 0 and 20 of every hour from 09:00 to 17:59"},
        {"* 2 * * *", "every minute from 02:00 to 02:59"},
        {"* 2,5 * * *", "every minute in the hours 2 and 5"},
        {"*/7 * * * *", "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour"},
        {"0 12 1 * MON", "at 12:00 on the 1st of the month, and on Monday"},
        {"0 0 13 * +FRI", "at 00:00 on the 13th of the month, if that is Friday"},
        {"0 0 L * *", "at 00:00 on the last day of the month"},
        {"0 0 L,15 * *", "at 00:00 on the 15th and the last day of the month"},
        {"0 12 15W * *", "at 12:00 on the working day (Monday to Friday) nearest to the 15th of the month"},
        {"0 0 */2 * *", "at 00:00 on every 2nd day from the 1st to the 31st of the month"},
        {"0 0 1-7 * +MON", "at 00:00 on the 1st to the 7th of the month, if that is Monday"},
        {"0 0 * 6-8 *", "at 00:00 every day from June to August"},
        {"0 0 * 6-8 SAT,SUN", "at 00:00 on Saturday and Sunday from June to August"},
        {"0 0 29 2 *", "at 00:00 on the 29th of February"},
        {"0 0 * * MON#1,MON#3,WED", "at 00:00 on Wednesday and the first Monday and the third Monday of the month"},
        {"* * * * * *", "every second"},
        {"*/20 * * * * *", "every 20 seconds"},
        {"30 * * * * *", "at second 30 of every minute"},
        {"30 15 10 * * *", "at 10:15:30 every day"},
        {"30,45 */5 9-17 * * *", "at seconds 30 and 45 of every 5th minute from 09:00 to 17:59"},
        {"* 0 2 * * *", "every second of minute 0 from 02:00 to 02:59"},
        {"0 15 10 * * * 2025", "at 10:15 every day in 2025"},
        {"0 0 12 1 1 * 2025-2030", "at 12:00 on the 1st of January from 2025 to 2030"},
        {"0 0 0 1 1 * */2", "at 00:00 on the 1st of January in every 2nd year from 1970 to 2198"},
        {"0 12 1-31 * MON", "at 12:00 every day"},
        {"0 0 1 * +*", "at 00:00 on the 1st of the month"},
        {"0 12 1 3,6 MON-FRI", "at 12:00 on the 1st of March and June, and Monday to Friday in March and June"},
        {"0 12 */10 * MON,THU", "at 12:00 on every 10th day from the 1st to the 31st of the month, and on Monday and Thursday"},
        {"*/15 8-18/2 * * *", "every 15 minutes in the hours 8, 10, 12, 14, 16 and 18"},
        {"17 3,9,10,11,12,13,14,15 * * *", "at minute 17 in the hours 3 and 9 to 15"},
        {"0 0 * * 0-7/2", "at 00:00 on Tuesday, Thursday, Saturday and Sunday"},
        {"* * 1 1 *", "every minute on the 1st of January"},
        {"*/90 * * * *", "every hour"},
        {"0 */5 * * *", "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct cron cron = parsed(rows[i].pattern, 0);
        buf_auto struct buf buf = {0};
        cron_describe(&cron, &buf);
        buf_putc(&buf, 0);
        if (strcmp(buf.p, rows[i].words) != 0)
            fail_msg("%s: \"%s\", not \"%s\"", rows[i].pattern, buf.p, rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_fields_are_minute_hour_day_month_and_weekday),
        cmocka_unit_test(blanks_around_a_pattern_are_ignored_and_several_are_one),
        cmocka_unit_test(months_and_weekdays_have_names_without_case),
        cmocka_unit_test(zero_and_seven_are_sunday),
        cmocka_unit_test(lists_ranges_and_steps_are_joined),
        cmocka_unit_test(a_day_fits_by_date_or_by_weekday_when_both_are_restricted),
        cmocka_unit_test(a_plus_joins_date_and_weekday_by_and),
        cmocka_unit_test(nicknames_are_their_patterns),
        cmocka_unit_test(six_fields_begin_with_the_second_and_seven_end_with_the_year),
        cmocka_unit_test(l_is_the_last_day_or_the_last_of_a_weekday),
        cmocka_unit_test(a_hash_sign_counts_the_weekdays_of_a_month),
        cmocka_unit_test(w_is_the_nearest_monday_to_friday_within_the_month),
        cmocka_unit_test(a_refusal_names_the_field_and_says_what_would_be_right),
        cmocka_unit_test(a_pattern_that_never_fires_is_told_from_one_that_seldom_does),
        cmocka_unit_test(h_is_one_value_of_its_field_that_the_hash_chooses),
        cmocka_unit_test(h_keeps_to_its_range_and_to_the_days_that_every_month_has),
        cmocka_unit_test(h_spreads_evenly_and_each_field_by_itself),
        cmocka_unit_test(h_stays_where_it_was_with_every_release),
        cmocka_unit_test(a_pattern_is_described_in_plain_english),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
