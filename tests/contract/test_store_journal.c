// What store/journal.h promises, tried on every backend: bulks, what is counted over time, and what processes tell each other.
#include "store_contract.h"

#include "store/journal.h"

// ---- what is counted and told

static void minute(struct world *world, int32_t tenant, int64_t at, int64_t source, const char *doc)
{
    struct store_minute *op = OP(world, store_minute, STORE_MINUTE);
    op->minute = (struct store_minute_row){.tenant = tenant, .at = at, .source = source, .doc = str_of(doc)};
    assert_int_equal(call(world, &op->op), ERR_OK);
}

static struct store_series *series(struct world *world, int64_t from, int64_t to, int64_t from_source, size_t max)
{
    struct store_series *op = OP(world, store_series, STORE_SERIES);
    *op = (struct store_series){
        .op = op->op, .tenant = TENANT, .from_ms = from, .to_ms = to, .from_source = from_source, .max = max};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void assert_minute(const struct store_series *op, size_t i, int64_t at, int64_t source, const char *doc)
{
    assert_true(i < op->minute_count);
    assert_int_equal(op->minutes[i].tenant, TENANT);
    assert_int_equal(op->minutes[i].at, at);
    assert_int_equal(op->minutes[i].source, source);
    assert_true(str_is(op->minutes[i].doc, doc));
}

static void minutes_are_given_by_time_then_by_source(void **state)
{
    struct world *world = *state;
    minute(world, TENANT, 180, 5, "{\"c\":1}");
    minute(world, TENANT, 60, 9, "{\"b\":1}");
    minute(world, TENANT, 60, 5, "{\"a\":1}");
    minute(world, TENANT, 240, 5, "{}");
    minute(world, TENANT + 1, 60, 5, "{\"x\":1}");
    struct store_series *all = series(world, 60, 240, 0, 10);
    assert_int_equal(all->minute_count, 3);
    assert_minute(all, 0, 60, 5, "{\"a\":1}");
    assert_minute(all, 1, 60, 9, "{\"b\":1}");
    assert_minute(all, 2, 180, 5, "{\"c\":1}");
    struct store_series *page = series(world, 60, 240, 0, 1);
    assert_int_equal(page->minute_count, 1);
    page = series(world, page->minutes[0].at, 240, page->minutes[0].source, 10);
    assert_int_equal(page->minute_count, 2);
    assert_minute(page, 0, 60, 9, "{\"b\":1}");
}

static void a_minute_written_again_replaces_what_was_there(void **state)
{
    struct world *world = *state;
    minute(world, TENANT, 60, 5, "{\"a\":1}");
    minute(world, TENANT, 60, 5, "{\"a\":2}");
    struct store_series *op = series(world, 0, 100, 0, 10);
    assert_int_equal(op->minute_count, 1);
    assert_minute(op, 0, 60, 5, "{\"a\":2}");
}

static void relay(struct world *world, int64_t at, int64_t source, int64_t number, const char *doc)
{
    struct store_relay *op = OP(world, store_relay, STORE_RELAY);
    op->now_ms = at;
    op->events = (struct store_event_row){source, number, str_of(doc)};
    assert_int_equal(call(world, &op->op), ERR_OK);
}

static struct store_events *events(struct world *world, const struct store_event_place *known, size_t count, size_t max)
{
    struct store_events *op = OP(world, store_events, STORE_EVENTS);
    *op = (struct store_events){.op = op->op, .skip = A, .known = known, .known_count = count, .max = max};
    assert_int_equal(call(world, &op->op), ERR_OK);
    return op;
}

static void assert_events(const struct store_events *op, size_t i, int64_t source, int64_t number, const char *doc)
{
    assert_true(i < op->row_count);
    assert_int_equal(op->rows[i].source, source);
    assert_int_equal(op->rows[i].number, number);
    assert_true(str_is(op->rows[i].doc, doc));
}

static void events_are_heard_from_where_one_was(void **state)
{
    struct world *world = *state;
    for (int i = 1; i <= 3; i++)
        relay(world, NOW, B, i, i == 1 ? "one" : i == 2 ? "two" : "three");
    relay(world, NOW, 33, 1, "other");
    relay(world, NOW, A, 1, "its own");
    relay(world, NOW, B, 2, "told again");
    struct store_events *op = events(world, (struct store_event_place[]){{B, 1}, {404, 7}}, 2, 10);
    assert_int_equal(op->row_count, 3);
    assert_events(op, 0, B, 2, "two");
    assert_events(op, 1, B, 3, "three");
    assert_events(op, 2, 33, 1, "other");
    op = events(world, NULL, 0, 1);
    assert_int_equal(op->row_count, 2);
    assert_events(op, 0, B, 1, "one");
    assert_events(op, 1, 33, 1, "other");
}

static void who_begins_to_listen_learns_where_to_begin(void **state)
{
    struct world *world = *state;
    relay(world, NOW, B, 4, "four");
    relay(world, NOW, B, 5, "five");
    relay(world, NOW, A, 1, "one");
    struct store_events *op = OP(world, store_events, STORE_EVENTS);
    op->from_now = true;
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(op->row_count, 0);
    assert_int_equal(op->last_count, 2);
    assert_int_equal(op->last[0].source, A);
    assert_int_equal(op->last[0].number, 1);
    assert_int_equal(op->last[1].source, B);
    assert_int_equal(op->last[1].number, 5);
}

static void sweeping_removes_old_minutes_and_news(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 4; i++) {
        minute(world, TENANT, 60 * i, 5, "{}");
        relay(world, 100 + i, B, i + 1, "news");
    }
    struct store_sweep *op = OP(world, store_sweep, STORE_SWEEP);
    *op = (struct store_sweep){.op = op->op, .now_ms = NOW, .max = 2, .series_before = 180, .events_before = 103};
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(series(world, 0, 1000, 0, 10)->minute_count, 2); // at most two, and the earliest first
    assert_int_equal(series(world, 120, 1000, 0, 10)->minute_count, 2);
    assert_int_equal(events(world, NULL, 0, 10)->row_count, 2);
    assert_int_equal(call(world, &op->op), ERR_OK);
    assert_int_equal(series(world, 0, 1000, 0, 10)->minute_count, 1);
    assert_int_equal(series(world, 180, 1000, 0, 10)->minute_count, 1);
    assert_events(events(world, NULL, 0, 10), 0, B, 4, "news");
}

// ---- bulks

static enum err write_bulk(struct world *world, struct store_bulk_row row, int64_t forget_before)
{
    struct store_bulk *op = OP(world, store_bulk, STORE_BULK);
    op->row = row;
    op->forget_before = forget_before;
    return call(world, &op->op);
}

static struct store_bulks *read_bulks(struct world *world, int64_t id, int32_t tenant, size_t max)
{
    struct store_bulks *op = OP(world, store_bulks, STORE_BULKS);
    op->id = id;
    op->tenant = tenant;
    op->max = max;
    call(world, &op->op);
    return op;
}

static void a_bulk_is_read_as_it_was_written(void **state)
{
    struct world *world = *state;
    struct store_bulk_row row = {.id = 5, .tenant = TENANT, .created_at = NOW, .next = {INT64_MAX, 7}, .doc = STR("{\"a\":1}")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    row = (struct store_bulk_row){.id = 5,
                                  .tenant = TENANT,
                                  .version = 1,
                                  .holder = A,
                                  .created_at = NOW,
                                  .ended_at = NOW + 9,
                                  .state = STORE_BULK_STOPPED,
                                  .matched = 10,
                                  .changed = 5,
                                  .unchanged = 3,
                                  .failed = 2,
                                  .next = {3, 4},
                                  .doc = STR("ignored: it does not change")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    struct store_bulks *read = read_bulks(world, 5, TENANT, 0);
    assert_int_equal(read->op.err, ERR_OK);
    assert_int_equal(read->row_count, 1);
    const struct store_bulk_row *got = &read->rows[0];
    assert_true(got->id == 5 && got->tenant == TENANT && got->version == 2 && got->state == STORE_BULK_STOPPED &&
                got->holder == A);
    assert_true(got->created_at == NOW && got->ended_at == NOW + 9 && got->next.at == 3 && got->next.id == 4);
    assert_true(got->matched == 10 && got->changed == 5 && got->unchanged == 3 && got->failed == 2);
    assert_true(str_is(got->doc, "{\"a\":1}"));
    assert_int_equal(read_bulks(world, 5, 8, 0)->op.err, ERR_NOT_FOUND);
    assert_int_equal(read_bulks(world, 6, TENANT, 0)->op.err, ERR_NOT_FOUND);
}

static void a_bulk_that_somebody_else_wrote_is_not_overwritten(void **state)
{
    struct world *world = *state;
    struct store_bulk_row row = {.id = 5, .tenant = TENANT, .doc = STR("{}")};
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    assert_int_equal(write_bulk(world, row, 0), ERR_MOVED_ON); // it is not new
    row.version = 1;
    row.matched = 1;
    assert_int_equal(write_bulk(world, row, 0), ERR_OK);
    row.matched = 2;
    assert_int_equal(write_bulk(world, row, 0), ERR_MOVED_ON);
    assert_int_equal(read_bulks(world, 5, TENANT, 0)->rows[0].matched, 1);
    row.id = 6;
    assert_int_equal(write_bulk(world, row, 0), ERR_MOVED_ON); // it is gone
    assert_int_equal(read_bulks(world, 6, TENANT, 0)->op.err, ERR_NOT_FOUND);
}

static void bulks_that_run_are_listed_and_those_that_ended_are_forgotten(void **state)
{
    struct world *world = *state;
    static const int64_t ids[] = {7, 3, 5, 4};
    for (size_t i = 0; i < array_count(ids); i++)
        assert_int_equal(
            write_bulk(world, (struct store_bulk_row){.id = ids[i], .tenant = (int32_t)(TENANT + i), .doc = STR("{}")}, 0),
            ERR_OK);
    struct store_bulks *running = read_bulks(world, 0, 0, 3);
    assert_int_equal(running->row_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(running->rows[i].id, 3 + (int64_t)i);
    struct store_bulk_row row = {.id = 5, .tenant = TENANT + 2, .version = 1, .state = STORE_BULK_DONE, .ended_at = NOW};
    assert_int_equal(write_bulk(world, row, NOW), ERR_OK);
    assert_int_equal(read_bulks(world, 0, 0, 10)->row_count, 3);
    assert_int_equal(read_bulks(world, 5, TENANT + 2, 0)->op.err, ERR_OK);
    row = (struct store_bulk_row){.id = 3, .tenant = TENANT + 1, .version = 1, .doc = STR("{}")};
    assert_int_equal(write_bulk(world, row, NOW + 1), ERR_OK);
    assert_int_equal(read_bulks(world, 5, TENANT + 2, 0)->op.err, ERR_NOT_FOUND);
    assert_int_equal(read_bulks(world, 0, 0, 10)->row_count, 3); // none that runs
}

int contract_journal(void)
{
    const struct CMUnitTest tests[] = {
        PROMISE(a_bulk_is_read_as_it_was_written),
        PROMISE(a_bulk_that_somebody_else_wrote_is_not_overwritten),
        PROMISE(bulks_that_run_are_listed_and_those_that_ended_are_forgotten),
        PROMISE(minutes_are_given_by_time_then_by_source),
        PROMISE(a_minute_written_again_replaces_what_was_there),
        PROMISE(events_are_heard_from_where_one_was),
        PROMISE(who_begins_to_listen_learns_where_to_begin),
        PROMISE(sweeping_removes_old_minutes_and_news),
    };
    return cmocka_run_group_tests_name("store journal", tests, NULL, NULL);
}
