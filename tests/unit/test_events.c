// What happens is told once and read by many, from where each of them was; what is not kept any more is never passed over
// silently.
#include "flow/events.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { TENANT = 1, TASK = 77 };

static const struct events_filter all = {.tenant = TENANT, .types = ~0u};

static int set_up(void **state)
{
    *state = events_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    events_free(*state);
    return 0;
}

static void tell(struct events *events, enum event_type type, int64_t task_id)
{
    events_emit(events, &(struct event_item){.type = type,
                                             .tenant = TENANT,
                                             .at_ms = 1700000000000,
                                             .task_id = task_id,
                                             .job_id = task_id,
                                             .state = JOB_READY,
                                             .queue = STR("q")});
}

// Everything there is to read, in pieces of `max`; as text with a NUL.
static enum events_reading read_all(struct events *events, const struct events_filter *filter, struct events_at *at, size_t max,
                                    struct buf *ret_text)
{
    char piece[4096];
    size_t n;
    enum events_reading found;
    while ((found = events_read(events, filter, at, piece, max, &n)) == EVENT_SOME)
        buf_put(ret_text, (struct str){piece, n});
    buf_putc(ret_text, 0);
    return found;
}

static int count_of(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static void nothing_is_kept_while_nobody_listens(void **state)
{
    struct events *events = *state;
    assert_false(events_wanted(events));
    tell(events, EVENT_STARTED, TASK);
    events_listen(events);
    assert_true(events_wanted(events));
    struct events_at at = events_end(events);
    assert_int_equal(events_seek(events, &all, &at), EVENT_NOTHING);
    tell(events, EVENT_STARTED, TASK);
    assert_int_equal(events_seek(events, &all, &at), EVENT_SOME);
}

static void a_text_is_the_same_in_pieces_of_any_size(void **state)
{
    struct events *events = *state;
    events_listen(events);
    struct events_at at = events_end(events), again = at;
    tell(events, EVENT_SUBMITTED, TASK);
    tell(events, EVENT_SUCCESS, TASK);
    buf_auto struct buf whole = {0}, pieces = {0};
    assert_int_equal(read_all(events, &all, &at, 4096, &whole), EVENT_NOTHING);
    read_all(events, &all, &again, 7, &pieces);
    assert_string_equal(whole.p, pieces.p);
    assert_int_equal(count_of(whole.p, "\n\n"), 2);
    assert_non_null(strstr(whole.p, "\nevent: submitted\ndata: {\"type\":\"submitted\",\"time\":\"2023-11-14T22:13:20.000Z\""));
    assert_non_null(strstr(whole.p, "\"state\":\"ready\",\"queue\":\"q\"}\n\n"));
    assert_int_equal(strncmp(whole.p, "id: ", 4), 0);
}

static void a_filter_leaves_out_and_a_gap_is_for_all(void **state)
{
    struct events *events = *state;
    events_listen(events);
    struct events_filter filter = {.tenant = TENANT, .task_id = TASK, .types = 1u << EVENT_SUCCESS};
    struct events_at at = events_end(events);
    tell(events, EVENT_SUCCESS, TASK + 1);
    tell(events, EVENT_STARTED, TASK);
    events_emit(events, &(struct event_item){.type = EVENT_SUCCESS, .tenant = TENANT + 1, .task_id = TASK});
    assert_int_equal(events_seek(events, &filter, &at), EVENT_NOTHING);
    assert_int_equal(at.seq, events_end(events).seq); // passed over, not left behind
    tell(events, EVENT_SUCCESS, TASK);
    events_emit(events, &(struct event_item){.type = EVENT_GAP});
    buf_auto struct buf text = {0};
    read_all(events, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 2);
    assert_int_equal(count_of(text.p, "event: gap"), 1);
}

static void one_queue_can_be_listened_to(void **state)
{
    struct events *events = *state;
    events_listen(events);
    struct events_filter filter = {.tenant = TENANT, .types = ~0u, .queue = "mail"};
    struct events_at at = events_end(events);
    static const struct event_item others[] = {
        {.tenant = TENANT, .task_id = TASK},
        {.tenant = TENANT, .queue = {"mailing", 7}},
        {.tenant = TENANT, .queue = {"mai", 3}},
        {.tenant = TENANT, .queue = {"news", 4}, .name = {",\"queue\":\"mail\"", 15}, .reason = {"queue mail", 10}},
        {.tenant = TENANT, .name = {",\"queue\":\"mail\"", 15}},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        events_emit(events, &others[i]);
    assert_int_equal(events_seek(events, &filter, &at), EVENT_NOTHING);
    events_emit(events, &(struct event_item){.type = EVENT_SUCCESS, .tenant = TENANT, .task_id = TASK, .queue = STR("mail")});
    events_emit(events, &(struct event_item){.type = EVENT_QUEUE_PAUSED, .tenant = TENANT, .queue = STR("mail")});
    events_emit(events, &(struct event_item){.type = EVENT_GAP});
    buf_auto struct buf text = {0};
    read_all(events, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 3);
}

static struct events_at find(struct events *events, struct events_at at, bool *ret_there)
{
    buf_auto struct buf id = {0};
    struct events_at found;
    events_put_id(events, &id, at);
    *ret_there = events_find(events, buf_str(&id), &found);
    return found;
}

static void who_comes_back_goes_on_where_it_was(void **state)
{
    struct events *events = *state;
    bool there;
    events_listen(events);
    struct events_at at = events_end(events);
    assert_int_equal(find(events, at, &there).seq, at.seq);
    assert_true(there);
    tell(events, EVENT_STARTED, TASK);
    tell(events, EVENT_SUCCESS, TASK);
    at.seq++;
    assert_int_equal(find(events, at, &there).seq, at.seq);
    assert_true(there);
}

static void an_id_that_is_not_ours_or_not_kept_is_not_there(void **state)
{
    struct events *events = *state, *other = events_new(NULL);
    struct events_at at;
    bool there;
    events_listen(events);
    events_listen(other);
    tell(events, EVENT_STARTED, TASK);
    find(other, events_end(other), &there);
    buf_auto struct buf id = {0};
    events_put_id(other, &id, events_end(other));
    assert_false(events_find(events, buf_str(&id), &at));
    assert_int_equal(at.seq, events_end(events).seq);
    assert_false(events_find(events, STR(""), &at));
    assert_false(events_find(events, STR("1"), &at));
    assert_false(events_find(events, STR("what is this? something very long that is no id of ours, or of anybody else's"), &at));
    find(events, (struct events_at){.seq = events_end(events).seq + 5}, &there); // of the future
    assert_false(there);
    events_free(other);
}

static void what_was_told_while_nothing_was_kept_is_a_gap(void **state)
{
    struct events *events = *state;
    bool there;
    events_listen(events);
    tell(events, EVENT_STARTED, TASK);
    struct events_at at = events_end(events);
    events_leave(events);
    events_stop_keeping(events);
    tell(events, EVENT_SUCCESS, TASK);
    events_listen(events);
    find(events, at, &there);
    assert_false(there);
    events_stop_keeping(events); // somebody listens: it goes on
    assert_true(events_wanted(events));
}

static void who_is_too_slow_finds_that_it_is_gone(void **state)
{
    struct events *events = *state;
    bool there;
    events_listen(events);
    struct events_at slow = events_end(events);
    for (int i = 0; i < EVENT_KEPT; i++)
        tell(events, EVENT_STARTED, TASK);
    assert_int_equal(events_seek(events, &all, &slow), EVENT_SOME);
    tell(events, EVENT_STARTED, TASK);
    assert_int_equal(events_seek(events, &all, &slow), EVENT_GONE);
    assert_int_equal(find(events, slow, &there).seq, slow.seq + 1); // and goes on with the oldest that is left
    assert_false(there);
}

static void what_is_kept_is_bounded_in_bytes_too(void **state)
{
    struct events *events = *state;
    struct events_at at;
    char *name = mem_zero(200001);
    memset(name, 'n', 200000);
    events_listen(events);
    at = events_end(events);
    for (int i = 0; i < EVENT_BYTES / 200000 + 1; i++)
        events_emit(events, &(struct event_item){.type = EVENT_SUBMITTED, .tenant = TENANT, .name = str_of(name)});
    assert_int_equal(events_seek(events, &all, &at), EVENT_GONE);
    mem_free(name);
}

static void what_is_put_out_is_told_elsewhere_as_it_was(void **state)
{
    struct events *events = *state, *other = events_new(NULL);
    events_put_out(events, true);
    tell(events, EVENT_SUBMITTED, TASK);
    events_emit(events,
                &(struct event_item){.type = EVENT_ABORTED, .tenant = TENANT, .task_id = TASK, .reason = STR("two\nlines \xff")});
    buf_auto struct buf lines = {0}, none = {0}, text = {0};
    assert_true(events_take_out(events, &lines));
    assert_false(events_take_out(events, &none));
    assert_int_equal(count_of((buf_putc(&lines, 0), lines.p), "\n"), 2);
    events_listen(other);
    struct events_filter filter = {.tenant = TENANT, .task_id = TASK, .types = 1u << EVENT_ABORTED};
    struct events_at at = events_end(other);
    events_take_in(other, (struct str){lines.p, lines.n - 1});
    events_take_in(other, STR("newer 1 1 {}\nnonsense\n\n"));
    read_all(other, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 1);
    assert_non_null(strstr(text.p, "\"reason\":\"two\\nlines \xef\xbf\xbd\""));
    assert_int_equal(events_end(other).seq, at.seq);
    events_free(other);
}

static void what_does_not_fit_leaves_a_gap_elsewhere(void **state)
{
    struct events *events = *state;
    char *name = mem_zero(EVENT_OUT_BYTES / 3 + 1);
    memset(name, 'n', EVENT_OUT_BYTES / 3);
    events_put_out(events, true);
    for (int i = 0; i < 4; i++)
        events_emit(events, &(struct event_item){.type = EVENT_SUBMITTED, .tenant = TENANT, .name = str_of(name)});
    buf_auto struct buf lines = {0}, more = {0};
    assert_true(events_take_out(events, &lines));
    buf_putc(&lines, 0);
    assert_int_equal(count_of(lines.p, "\nsubmitted ") + 1, 2);
    assert_int_equal(count_of(lines.p, "\ngap 0 0 {"), 1);
    tell(events, EVENT_STARTED, TASK);
    assert_true(events_take_out(events, &more));
    buf_putc(&more, 0);
    assert_int_equal(count_of(more.p, "gap"), 0);
    mem_free(name);
}

#define TELL(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TELL(nothing_is_kept_while_nobody_listens),          TELL(a_text_is_the_same_in_pieces_of_any_size),
        TELL(a_filter_leaves_out_and_a_gap_is_for_all),      TELL(one_queue_can_be_listened_to),
        TELL(who_comes_back_goes_on_where_it_was),           TELL(an_id_that_is_not_ours_or_not_kept_is_not_there),
        TELL(what_was_told_while_nothing_was_kept_is_a_gap), TELL(who_is_too_slow_finds_that_it_is_gone),
        TELL(what_is_kept_is_bounded_in_bytes_too),          TELL(what_is_put_out_is_told_elsewhere_as_it_was),
        TELL(what_does_not_fit_leaves_a_gap_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
