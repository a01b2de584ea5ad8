// Server-sent events: what they are does not depend on the pieces in which they come.
#include "base/mem.h"
#include "cli/server/sse.h"
#include "cli/show/event.h"
#include "cli/show/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static bool note(void *ctx, const struct sse_event *event)
{
    struct buf *seen = ctx;
    buf_printf(seen, "(" STR_FMT "|" STR_FMT "|" STR_FMT ")", STR_ARG(event->type), STR_ARG(event->id), STR_ARG(event->data));
    return !str_is(event->data, "stop");
}

static void assert_seen(const struct buf *seen, const char *expected)
{
    char *text = mem_copy(seen->n ? seen->p : "", seen->n);
    assert_string_equal(text, expected);
    mem_free(text);
}

static void events_are_the_same_in_pieces_of_any_size(void **state)
{
    struct str stream = STR(": hello\r\n\r\nid: 1\nevent: a\ndata: x\n\n\n"
                            "data:y\r\ndata\r\ndata:  z\r\n\r\n"
                            "id: 2\rdata: cr\r\r"
                            "event: lonely\nretry: 250\nretry: no\nunknown: 1\n\n"
                            "id\ndata: last\n\n"
                            "data: not ended\n");
    for (size_t step = 1; step <= stream.n; step++) {
        buf_auto struct buf seen = {0};
        struct sse sse;
        sse_init(&sse, note, &seen);
        for (size_t at = 0; at < stream.n; at += step)
            assert_true(sse_take(&sse, (struct str){stream.p + at, step < stream.n - at ? step : stream.n - at}));
        assert_seen(&seen, "(a|1|x)(message|1|y\n\n z)(message|2|cr)(message||last)");
        assert_int_equal(sse.retry_ms, 250);
        sse_done(&sse);
    }
}

static void what_was_cut_off_is_forgotten_with_its_id(void **state)
{
    buf_auto struct buf seen = {0};
    struct sse sse;
    sse_init(&sse, note, &seen);
    assert_true(sse_take(&sse, STR("id: 1\ndata: a\n\nid: 2\ndata: b\nev")));
    sse_restart(&sse);
    assert_true(str_is(buf_str(&sse.id), "1"));
    assert_true(sse_take(&sse, STR("data: c\n\n")));
    assert_seen(&seen, "(message|1|a)(message|1|c)");
    sse_done(&sse);
}

static void it_stops_when_it_is_told_and_takes_no_endless_line(void **state)
{
    buf_auto struct buf seen = {0};
    struct sse sse;
    sse_init(&sse, note, &seen);
    assert_false(sse_take(&sse, STR("data: stop\n\ndata: more\n\n")));
    assert_seen(&seen, "(message||stop)");
    char block[4096];
    memset(block, 'x', sizeof block);
    bool goes_on = true;
    for (size_t i = 0; i < SSE_EVENT_MAX / sizeof block + 1 && goes_on; i++)
        goes_on = sse_take(&sse, (struct str){block, sizeof block});
    assert_false(goes_on);
    assert_true(sse.too_long);
    sse_done(&sse);
}

static void an_event_is_one_harmless_line(void **state)
{
    const struct {
        struct sse_event event;
        const char *line;
    } rows[] = {
        {{STR("retried"),
          STR("{\"time\":\"2026-01-01T00:00:05.000Z\",\"task_id\":\"t1\",\"job_id\":\"j1\",\"state\":\"delayed\",\"status\":503,"
              "\"late\":true,\"x\":null,\"y\":false,\"next_at\":\"2026-01-01T00:00:09.000Z\"}"),
          {0}},
         "00:00:05  retried    j1  t1  delayed  status=503  late=yes  next_at=00:00:09\n"},
        {{STR("aborted"), STR("{\"type\":\"aborted\",\"job_id\":\"j1\",\"state\":\"aborted\"}"), {0}},
         "00:00:00  aborted    j1\n"},
        {{STR("queue_paused"), STR("{\"queue\":\"\\u001b\"}"), {0}}, "00:00:00  queue_paused  queue=\\x1b\n"},
        {{STR("ready"), STR("{}"), {0}}, "00:00:00  ready\n"},
        {{STR("\x1b"), STR("no json\n\x1b"), {0}}, "00:00:00  \\x1b       no json\\n\\x1b\n"},
    };
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < array_count(rows); i++) {
        buf_auto struct buf out = {0};
        event_put(&out, &(struct show){.now_ms = 1767225600000}, &rows[i].event);
        assert_seen(&out, rows[i].line);
        out.n = 0;
        event_put(&out, &(struct show){.now_ms = 1767225600000, .width = 24}, &rows[i].event);
        assert_true(text_columns(buf_str(&out)) <= 24 + 1); // and the line feed
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_the_same_in_pieces_of_any_size),
        cmocka_unit_test(what_was_cut_off_is_forgotten_with_its_id),
        cmocka_unit_test(it_stops_when_it_is_told_and_takes_no_endless_line),
        cmocka_unit_test(an_event_is_one_harmless_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
