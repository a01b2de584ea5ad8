// Tables: every line fits, what is least important gives way first, and nothing of it depends on how wide characters are.
#include "base/mem.h"
#include "cli/show/rows.h"
#include "cli/show/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void assert_buf(const struct buf *buf, const char *expected)
{
    char *text = mem_copy(buf->n ? buf->p : "", buf->n);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void put_member(struct buf *buf, const struct show *show, const struct value *row, const char *path)
{
    text_put_safe(buf, value_text(value_at(row, path)), false);
}

static const struct table_column columns[] = {{"id", put_member, "a"},
                                              {"what", put_member, "b", .rank = 1, .least = 4},
                                              {"state", put_member, "c", .rank = 2, .least = 5, .state = true}};

static void put(struct buf *buf, const char *json, struct show show)
{
    struct value *value = value_parse(str_of(json));
    assert_non_null(value);
    table_put(buf, &(struct table){.columns = columns, .count = array_count(columns), .show = &show}, value_at(value, "rows"), 0);
    value_free(value);
}

static const char ROWS[] =
    "{\"rows\":[{\"a\":\"t1\",\"b\":\"something\",\"c\":\"success\"},{\"a\":\"t2\",\"c\":\"x\"},{\"a\":\"t3\",\"b\":\"z\"}]}";

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
    buf_auto struct buf out = {0};
    put(&out, ROWS, (struct show){0});
    assert_buf(&out, "id  what       state\n"
                     "t1  something  success\n"
                     "t2             x\n"
                     "t3  z\n");
}

static void the_least_important_is_shortened_and_then_left_out(void **state)
{
    static const struct {
        size_t width;
        const char *text;
    } rows[] = {
        {22, "id  what       state\nt1  something  success\nt2             x\nt3  z\n"},
        {21, "id  what      state\nt1  somethi…  success\nt2            x\nt3  z\n"},
        {17, "id  what  state\nt1  som…  success\nt2        x\nt3  z\n"},
        {15, "id  what  state\nt1  som…  succ…\nt2        x\nt3  z\n"},
        {14, "id  state\nt1  success\nt2  x\nt3\n"},
        {9, "id  state\nt1  succ…\nt2  x\nt3\n"},
        {8, "id\nt1\nt2\nt3\n"},
        {1, "…\n…\n…\n…\n"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        put(&out, ROWS, (struct show){.width = rows[i].width});
        assert_buf(&out, rows[i].text);
    }
}

static void wide_characters_and_marks_are_measured_as_a_terminal_shows_them(void **state)
{
    assert_int_equal(text_columns(STR("abc")), 3);
    assert_int_equal(text_columns(STR("\xe6\x97\xa5\xe6\x9c\xac")), 4);
    assert_int_equal(text_columns(STR("e\xcc\x81")), 1);
    assert_int_equal(text_columns(STR("\xf0\x9f\x99\x82")), 2);
    assert_int_equal(text_columns(STR("\xff")), 1);
    buf_auto struct buf out = {0};
    text_put_fitted(&out, STR("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"), 4); // the second would leave no room for the mark
    assert_buf(&out, "\xe6\x97\xa5…");
}

static void what_ends_differently_is_cut_in_the_middle(void **state)
{
    static const struct {
        size_t columns;
        const char *text;
    } rows[] = {{14, "POST host/path"}, {12, "POS…ost/path"}, {9, "PO…t/path"}, {3, "…th"}, {2, "P…"}, {0, ""}};
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        text_put_middle(&out, STR("POST host/path"), rows[i].columns);
        assert_buf(&out, rows[i].text);
    }
    buf_auto struct buf wide = {0};
    text_put_middle(&wide,
                    STR("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"
                        "abcd"),
                    9);
    assert_true(text_columns(buf_str(&wide)) <= 9);
}

static void put_tasks(struct buf *buf, const char *json, size_t width)
{
    struct value *value = value_parse(str_of(json));
    struct show show = {.width = width};
    struct table table = rows_table(ROWS_TASKS, &show);
    table_put(buf, &table, value_at(value, "rows"), 0);
    value_free(value);
}

static void a_call_loses_its_scheme_before_its_end(void **state)
{
    static const char tasks[] = "{\"rows\":[{\"id\":\"t0cm4hqrnj0000\",\"state\":\"cancelled\",\"queue\":\"default\",\"name\":"
                                "\"orders\",\"method\":\"POST\",\"url\":\"https://hooks.example.com/v1/orders/created/1\"}]}";
    static const struct {
        size_t width;
        const char *text;
    } rows[] = {
        {120, "task            state      job  planned  queue    name    calls\n"
              "t0cm4hqrnj0000  cancelled                default  orders  POST https://hooks.example.com/v1/orders/created/1\n"},
        {91, "task            state      job  planned  name    calls\n"
             "t0cm4hqrnj0000  cancelled                orders  POST hooks.example.com/v1/orders/created/1\n"},
        {80, "task            state      job  planned  name    calls\n"
             "t0cm4hqrnj0000  cancelled                orders  POST hook…m/v1/orders/created/1\n"},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        put_tasks(&out, tasks, rows[i].width);
        assert_buf(&out, rows[i].text);
    }
}

static void a_state_is_coloured_whole_or_shortened(void **state)
{
    buf_auto struct buf out = {0};
    put(&out, ROWS, (struct show){.width = 9, .colours = true});
    assert_buf(&out, "id  state\nt1  \033[32msucc…\033[0m\nt2  x\nt3\n");
}

static void pages_have_one_title(void **state)
{
    struct value *value = value_parse(str_of(ROWS));
    struct show show = {0};
    struct table table = {.columns = columns, .count = array_count(columns), .show = &show};
    buf_auto struct buf out = {0};
    table_put(&out, &table, value_at(value, "rows"), 0);
    out.n = 0;
    table_put(&out, &table, value_at(value, "rows"), 2);
    assert_buf(&out, "t3  z\n");
    value_free(value);
}

static void tasks_jobs_and_queues_are_rows(void **state)
{
    static const struct {
        enum rows_kind kind;
        bool absolute;
        const char *json, *text;
    } rows[] = {
        {ROWS_TASKS, false,
         "{\"rows\":[{\"id\":\"t1\",\"state\":\"active\",\"scheduled_at\":\"2026-01-01T00:10:00.000Z\",\"queue\":\"q\",\"name\":"
         "\"n\\u001b\","
         "\"method\":\"GET\",\"url\":\"http://a/\",\"job\":{\"state\":\"delayed\"}}]}",
         "task  state   job      planned  queue  name   calls\n"
         "t1    active  delayed  in 10m   q      n\\x1b  GET http://a/\n"},
        {ROWS_JOBS, true,
         "{\"rows\":[{\"id\":\"j1\",\"task_id\":\"t1\",\"state\":\"aborted\",\"scheduled_at\":\"2026-01-01T00:00:00.000Z\","
         "\"started_at\":\"2026-01-01T00:00:01.000Z\",\"completed_at\":\"2026-01-01T00:00:03.500Z\",\"retry_count\":3,\"status\":"
         "500,"
         "\"reason\":\"HTTP 500\"}]}",
         "job  state    planned              started              took  retries  status  task  why\n"
         "j1   aborted  2026-01-01 00:00:00  2026-01-01 00:00:01  2.5s  3        500     t1    HTTP 500\n"},
        {ROWS_QUEUES, false,
         "{\"rows\":[{\"queue\":\"mail\",\"paused\":true,\"states\":{\"blocked\":1,\"ready\":3,\"delayed\":4,\"watching\":2,"
         "\"reserved\":5,\"success\":9},\"pending\":15,"
         "\"next_due\":\"2025-12-31T23:59:00.000Z\"},{}]}",
         "queue  state   pending  delayed  ready  in hand  running  next due\n"
         "mail   paused  15       5        3      2        5        1m ago\n"
         "       open\n"},
    };
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < array_count(rows); i++) {
        struct show show = {.now_ms = 1767225600000, .absolute = rows[i].absolute};
        struct table table = rows_table(rows[i].kind, &show);
        struct value *value = value_parse(str_of(rows[i].json));
        buf_auto struct buf out = {0};
        table_put(&out, &table, value_at(value, "rows"), 0);
        assert_buf(&out, rows[i].text);
        value_free(value);
    }
}

static void items_of_a_list_keep_their_bytes(void **state)
{
    struct str json =
        STR(" { \"next\" : null, \"x\":{\"items\":[9]}, \"items\" : [ 1.50 ,\"a]\\\"\\\\\",[2,{}] , {\"b\":[]}], \"z\":1}");
    static const char *const items[] = {"1.50", "\"a]\\\"\\\\\"", "[2,{}]", "{\"b\":[]}"};
    struct str rest = text_json_member(json, "items"), item;
    for (size_t i = 0; i < array_count(items); i++) {
        assert_true(text_json_next(&rest, &item));
        assert_true(str_is(item, items[i]));
    }
    assert_false(text_json_next(&rest, &item));
    assert_true(str_is(text_json_member(json, "z"), "1"));
    assert_int_equal(text_json_member(json, "absent").n, 0);
    struct str none[] = {STR("[]"), STR(" [ ] "), STR("{}"), STR("")};
    for (size_t i = 0; i < array_count(none); i++)
        assert_false(text_json_next(&none[i], &item));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
        cmocka_unit_test(the_least_important_is_shortened_and_then_left_out),
        cmocka_unit_test(wide_characters_and_marks_are_measured_as_a_terminal_shows_them),
        cmocka_unit_test(what_ends_differently_is_cut_in_the_middle),
        cmocka_unit_test(a_call_loses_its_scheme_before_its_end),
        cmocka_unit_test(a_state_is_coloured_whole_or_shortened),
        cmocka_unit_test(pages_have_one_title),
        cmocka_unit_test(tasks_jobs_and_queues_are_rows),
        cmocka_unit_test(items_of_a_list_keep_their_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
