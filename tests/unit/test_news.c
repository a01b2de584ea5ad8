// What happens is told once and read by many, from where each of them was; what is not kept any more is never passed over
// silently.
#include "flow/news.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { TENANT = 1, TASK = 77 };

static const struct news_filter all = {.tenant = TENANT, .types = ~0u};

static int set_up(void **state)
{
    *state = news_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    news_free(*state);
    return 0;
}

static void tell(struct news *news, enum news_type type, int64_t task_id)
{
    news_tell(news, &(struct news_item){.type = type,
                                        .tenant = TENANT,
                                        .at_ms = 1700000000000,
                                        .task_id = task_id,
                                        .job_id = task_id,
                                        .state = JOB_READY,
                                        .queue = STR("q")});
}

// Everything there is to read, in pieces of `max`; as text with a NUL.
static enum news_reading read_all(struct news *news, const struct news_filter *filter, struct news_at *at, size_t max,
                                  struct buf *ret_text)
{
    char piece[4096];
    size_t n;
    enum news_reading found;
    while ((found = news_read(news, filter, at, piece, max, &n)) == NEWS_SOME)
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
    struct news *news = *state;
    assert_false(news_wanted(news));
    tell(news, NEWS_STARTED, TASK);
    news_listen(news);
    assert_true(news_wanted(news));
    struct news_at at = news_end(news);
    assert_int_equal(news_seek(news, &all, &at), NEWS_NOTHING);
    tell(news, NEWS_STARTED, TASK);
    assert_int_equal(news_seek(news, &all, &at), NEWS_SOME);
}

static void a_text_is_the_same_in_pieces_of_any_size(void **state)
{
    struct news *news = *state;
    news_listen(news);
    struct news_at at = news_end(news), again = at;
    tell(news, NEWS_SUBMITTED, TASK);
    tell(news, NEWS_SUCCESS, TASK);
    buf_auto struct buf whole = {0}, pieces = {0};
    assert_int_equal(read_all(news, &all, &at, 4096, &whole), NEWS_NOTHING);
    read_all(news, &all, &again, 7, &pieces);
    assert_string_equal(whole.p, pieces.p);
    assert_int_equal(count_of(whole.p, "\n\n"), 2);
    assert_non_null(strstr(whole.p, "\nevent: submitted\ndata: {\"type\":\"submitted\",\"time\":\"2023-11-14T22:13:20.000Z\""));
    assert_non_null(strstr(whole.p, "\"state\":\"ready\",\"queue\":\"q\"}\n\n"));
    assert_int_equal(strncmp(whole.p, "id: ", 4), 0);
}

static void a_filter_leaves_out_and_a_gap_is_for_all(void **state)
{
    struct news *news = *state;
    news_listen(news);
    struct news_filter filter = {.tenant = TENANT, .task_id = TASK, .types = 1u << NEWS_SUCCESS};
    struct news_at at = news_end(news);
    tell(news, NEWS_SUCCESS, TASK + 1);
    tell(news, NEWS_STARTED, TASK);
    news_tell(news, &(struct news_item){.type = NEWS_SUCCESS, .tenant = TENANT + 1, .task_id = TASK});
    assert_int_equal(news_seek(news, &filter, &at), NEWS_NOTHING);
    assert_int_equal(at.seq, news_end(news).seq); // passed over, not left behind
    tell(news, NEWS_SUCCESS, TASK);
    news_tell(news, &(struct news_item){.type = NEWS_GAP});
    buf_auto struct buf text = {0};
    read_all(news, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 2);
    assert_int_equal(count_of(text.p, "event: gap"), 1);
}

static void one_queue_can_be_listened_to(void **state)
{
    struct news *news = *state;
    news_listen(news);
    struct news_filter filter = {.tenant = TENANT, .types = ~0u, .queue = "mail"};
    struct news_at at = news_end(news);
    static const struct news_item others[] = {
        {.tenant = TENANT, .task_id = TASK},
        {.tenant = TENANT, .queue = {"mailing", 7}},
        {.tenant = TENANT, .queue = {"mai", 3}},
        {.tenant = TENANT, .queue = {"news", 4}, .name = {",\"queue\":\"mail\"", 15}, .reason = {"queue mail", 10}},
        {.tenant = TENANT, .name = {",\"queue\":\"mail\"", 15}},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        news_tell(news, &others[i]);
    assert_int_equal(news_seek(news, &filter, &at), NEWS_NOTHING);
    news_tell(news, &(struct news_item){.type = NEWS_SUCCESS, .tenant = TENANT, .task_id = TASK, .queue = STR("mail")});
    news_tell(news, &(struct news_item){.type = NEWS_QUEUE_PAUSED, .tenant = TENANT, .queue = STR("mail")});
    news_tell(news, &(struct news_item){.type = NEWS_GAP});
    buf_auto struct buf text = {0};
    read_all(news, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 3);
}

static struct news_at find(struct news *news, struct news_at at, bool *ret_there)
{
    buf_auto struct buf id = {0};
    struct news_at found;
    news_put_id(news, &id, at);
    *ret_there = news_find(news, buf_str(&id), &found);
    return found;
}

static void who_comes_back_goes_on_where_it_was(void **state)
{
    struct news *news = *state;
    bool there;
    news_listen(news);
    struct news_at at = news_end(news);
    assert_int_equal(find(news, at, &there).seq, at.seq);
    assert_true(there);
    tell(news, NEWS_STARTED, TASK);
    tell(news, NEWS_SUCCESS, TASK);
    at.seq++;
    assert_int_equal(find(news, at, &there).seq, at.seq);
    assert_true(there);
}

static void an_id_that_is_not_ours_or_not_kept_is_not_there(void **state)
{
    struct news *news = *state, *other = news_new(NULL);
    struct news_at at;
    bool there;
    news_listen(news);
    news_listen(other);
    tell(news, NEWS_STARTED, TASK);
    find(other, news_end(other), &there);
    buf_auto struct buf id = {0};
    news_put_id(other, &id, news_end(other));
    assert_false(news_find(news, buf_str(&id), &at));
    assert_int_equal(at.seq, news_end(news).seq);
    assert_false(news_find(news, STR(""), &at));
    assert_false(news_find(news, STR("1"), &at));
    assert_false(news_find(news, STR("what is this? something very long that is no id of ours, or of anybody else's"), &at));
    find(news, (struct news_at){.seq = news_end(news).seq + 5}, &there); // of the future
    assert_false(there);
    news_free(other);
}

static void what_was_told_while_nothing_was_kept_is_a_gap(void **state)
{
    struct news *news = *state;
    bool there;
    news_listen(news);
    tell(news, NEWS_STARTED, TASK);
    struct news_at at = news_end(news);
    news_leave(news);
    news_stop_keeping(news);
    tell(news, NEWS_SUCCESS, TASK);
    news_listen(news);
    find(news, at, &there);
    assert_false(there);
    news_stop_keeping(news); // somebody listens: it goes on
    assert_true(news_wanted(news));
}

static void who_is_too_slow_finds_that_it_is_gone(void **state)
{
    struct news *news = *state;
    bool there;
    news_listen(news);
    struct news_at slow = news_end(news);
    for (int i = 0; i < NEWS_KEPT; i++)
        tell(news, NEWS_STARTED, TASK);
    assert_int_equal(news_seek(news, &all, &slow), NEWS_SOME);
    tell(news, NEWS_STARTED, TASK);
    assert_int_equal(news_seek(news, &all, &slow), NEWS_GONE);
    assert_int_equal(find(news, slow, &there).seq, slow.seq + 1); // and goes on with the oldest that is left
    assert_false(there);
}

static void what_is_kept_is_bounded_in_bytes_too(void **state)
{
    struct news *news = *state;
    struct news_at at;
    char *name = mem_zero(200001);
    memset(name, 'n', 200000);
    news_listen(news);
    at = news_end(news);
    for (int i = 0; i < NEWS_BYTES / 200000 + 1; i++)
        news_tell(news, &(struct news_item){.type = NEWS_SUBMITTED, .tenant = TENANT, .name = str_of(name)});
    assert_int_equal(news_seek(news, &all, &at), NEWS_GONE);
    mem_free(name);
}

static void what_is_put_out_is_told_elsewhere_as_it_was(void **state)
{
    struct news *news = *state, *other = news_new(NULL);
    news_put_out(news, true);
    tell(news, NEWS_SUBMITTED, TASK);
    news_tell(news,
              &(struct news_item){.type = NEWS_ABORTED, .tenant = TENANT, .task_id = TASK, .reason = STR("two\nlines \xff")});
    buf_auto struct buf lines = {0}, none = {0}, text = {0};
    assert_true(news_take_out(news, &lines));
    assert_false(news_take_out(news, &none));
    assert_int_equal(count_of((buf_putc(&lines, 0), lines.p), "\n"), 2);
    news_listen(other);
    struct news_filter filter = {.tenant = TENANT, .task_id = TASK, .types = 1u << NEWS_ABORTED};
    struct news_at at = news_end(other);
    news_take_in(other, (struct str){lines.p, lines.n - 1});
    news_take_in(other, STR("newer 1 1 {}\nnonsense\n\n"));
    read_all(other, &filter, &at, 4096, &text);
    assert_int_equal(count_of(text.p, "event: "), 1);
    assert_non_null(strstr(text.p, "\"reason\":\"two\\nlines \xef\xbf\xbd\""));
    assert_int_equal(news_end(other).seq, at.seq);
    news_free(other);
}

static void what_does_not_fit_leaves_a_gap_elsewhere(void **state)
{
    struct news *news = *state;
    char *name = mem_zero(NEWS_OUT_BYTES / 3 + 1);
    memset(name, 'n', NEWS_OUT_BYTES / 3);
    news_put_out(news, true);
    for (int i = 0; i < 4; i++)
        news_tell(news, &(struct news_item){.type = NEWS_SUBMITTED, .tenant = TENANT, .name = str_of(name)});
    buf_auto struct buf lines = {0}, more = {0};
    assert_true(news_take_out(news, &lines));
    buf_putc(&lines, 0);
    assert_int_equal(count_of(lines.p, "\nsubmitted ") + 1, 2);
    assert_int_equal(count_of(lines.p, "\ngap 0 0 {"), 1);
    tell(news, NEWS_STARTED, TASK);
    assert_true(news_take_out(news, &more));
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
