// What a node counted is written down minute by minute, and nothing is counted twice or forgotten on the way.
#include "support/play.h"

#include "base/mem.h"
#include "store/journal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MINUTE = STATS_MINUTE_MS };

static struct play *begin(void)
{
    struct play *play = play_new((struct play_config){0});
    play->now.wall_ms -= play->now.wall_ms % MINUTE;
    stats_writer_turn(play->flow->stats_writer, play->now);
    return play;
}

static void count(struct play *play, int n)
{
    stats_count(&play->node->stats, STATS_SUBMITTED, n);
}

static void turn(struct play *play, int64_t ms)
{
    play_pass(play, ms);
    for (int i = 0; i < 3; i++) // asks, takes the answer, begins the next minute
        stats_writer_turn(play->flow->stats_writer, play->now);
}

struct rows {
    size_t count;
    struct {
        int64_t at, source, submitted;
    } rows[8];
};

static struct rows rows_of(struct play *play)
{
    struct rows rows = {0};
    struct store_series series = {.tenant = STATS_TENANT, .to_ms = INT64_MAX, .max = 8};
    store_op_init(&series.op, STORE_SERIES, NULL);
    store_call(play->store.memory, &series.op);
    for (rows.count = 0; rows.count < series.minute_count; rows.count++) {
        struct stats_values values = {0};
        stats_parse(&values, series.minutes[rows.count].doc);
        rows.rows[rows.count].at = series.minutes[rows.count].at;
        rows.rows[rows.count].source = series.minutes[rows.count].source;
        rows.rows[rows.count].submitted = values.counters[STATS_SUBMITTED];
    }
    store_op_done(&series.op);
    return rows;
}

static int64_t not_written(struct play *play)
{
    struct store_minute_row key;
    struct stats_values values;
    assert_true(stats_writer_now(play->flow->stats_writer, &key, &values));
    return values.counters[STATS_SUBMITTED];
}

static void who_counts_nothing_writes_nothing(void **state)
{
    struct play *play = begin();
    for (int i = 0; i < 10; i++)
        turn(play, MINUTE / 3);
    assert_int_equal(play->store.count[STORE_MINUTE], 0);
    play_free(play);
}

static void a_minute_is_one_row_written_anew(void **state)
{
    struct play *play = begin();
    int64_t minute = play->now.wall_ms;
    count(play, 2);
    turn(play, 5000);
    count(play, 3);
    assert_int_equal(not_written(play), 5);
    turn(play, 5000);
    struct rows rows = rows_of(play);
    assert_int_equal(rows.count, 1);
    assert_int_equal(rows.rows[0].at, minute);
    assert_int_equal(rows.rows[0].submitted, 5);
    turn(play, 5000);
    assert_int_equal(play->store.count[STORE_MINUTE], 2);
    play_free(play);
}

static void the_next_minute_begins_with_nothing(void **state)
{
    struct play *play = begin();
    count(play, 2);
    turn(play, MINUTE + 100);
    assert_int_equal(not_written(play), 0);
    count(play, 7);
    turn(play, 5000);
    struct rows rows = rows_of(play);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rows[0].submitted, 2);
    assert_int_equal(rows.rows[1].at, rows.rows[0].at + MINUTE);
    assert_int_equal(rows.rows[1].submitted, 7);
    play_free(play);
}

static void what_could_not_be_written_is_written_later(void **state)
{
    struct play *play = begin();
    count(play, 2);
    play->store.fails[STORE_MINUTE] = ERR_STORE_UNAVAILABLE;
    turn(play, 5000);
    turn(play, MINUTE);
    int tries = play->store.count[STORE_MINUTE];
    turn(play, 10);
    assert_int_equal(play->store.count[STORE_MINUTE], tries); // not without a pause
    count(play, 3);
    play->store.fails[STORE_MINUTE] = ERR_OK;
    turn(play, 5000);
    count(play, 4);
    turn(play, 5000);
    struct rows rows = rows_of(play);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.rows[0].submitted, 5);
    assert_int_equal(rows.rows[1].submitted, 4);
    play_free(play);
}

static void a_clock_set_back_overwrites_nothing(void **state)
{
    struct play *play = begin();
    count(play, 2);
    turn(play, 5000);
    count(play, 1);
    turn(play, MINUTE);
    count(play, 3);
    play->now.wall_ms -= MINUTE;
    turn(play, 5000); // back in the first minute
    count(play, 4);
    turn(play, 5000);
    int64_t sum = 0;
    struct rows rows = rows_of(play);
    for (size_t i = 0; i < rows.count; i++)
        sum += rows.rows[i].submitted;
    assert_int_equal(sum, 10);
    assert_int_equal(rows.count, 3);
    assert_int_equal(rows.rows[0].at, rows.rows[1].at);
    assert_int_not_equal(rows.rows[0].source, rows.rows[1].source);
    play_free(play);
}

static void what_is_left_is_written_in_the_end(void **state)
{
    struct play *play = begin();
    count(play, 2);
    turn(play, 5000);
    count(play, 1);
    stats_writer_leave(play->flow->stats_writer);
    assert_int_equal(rows_of(play).rows[0].submitted, 3);
    play_free(play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_counts_nothing_writes_nothing),   cmocka_unit_test(a_minute_is_one_row_written_anew),
        cmocka_unit_test(the_next_minute_begins_with_nothing), cmocka_unit_test(what_could_not_be_written_is_written_later),
        cmocka_unit_test(a_clock_set_back_overwrites_nothing), cmocka_unit_test(what_is_left_is_written_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
