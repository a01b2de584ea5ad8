// Attempts over HTTP: whatever the target does, the attempt ends, in time, with an outcome that names what happened.
#include "base/mem.h"
#include "exec/exec.h"
#include "store/store.h"
#include "support/target.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <cmocka.h>

enum { RESPONSE_MAX = 100, JOB_ID = 12345 };

#define FIFTY "01234567890123456789012345678901234567890123456789"
#define KILO \
    FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY
#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static const struct target_script scripts[] = {
    {"/ok", OK_HEAD "Content-Length: 2\r\n\r\nok"},
    {"/500", "HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nouch"},
    {"/404", "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"},
    {"/302", "HTTP/1.1 302 Found\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n"},
    {"/100", "HTTP/1.1 103 Early\r\nRetry-After: 7\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"},
    {"/gzip", OK_HEAD "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b??"},
    {"/hundred", OK_HEAD "Content-Length: 100\r\n\r\n" FIFTY FIFTY},
    {"/more", OK_HEAD "Content-Length: 101\r\n\r\n" FIFTY FIFTY "!"},
    {"/close", OK_HEAD "\r\nuntil it closes", TARGET_CLOSE},
    {"/hang", "", TARGET_HANG},
    {"/hang_body", OK_HEAD "Content-Length: 10\r\n\r\nhalf", TARGET_HANG},
    {"/drip", OK_HEAD "Content-Length: 100000\r\n\r\n", TARGET_DRIP, "x"},
    {"/drip_head", OK_HEAD, TARGET_DRIP, "X-More: of the same\r\n"},
    {"/endless", OK_HEAD "\r\n", TARGET_ENDLESS, KILO},
    {"/endless_head", OK_HEAD, TARGET_ENDLESS, "X-More: " KILO "\r\n"},
    {"/endless_line", OK_HEAD "X-More: ", TARGET_ENDLESS, KILO},
    {"/reset", "", TARGET_RESET},
    {"/nothing", "", TARGET_CLOSE},
    {"/junk", "SMTP ready when you are\r\n", TARGET_CLOSE},
    {"/short", OK_HEAD "Content-Length: 10\r\n\r\nhalf", TARGET_CLOSE},
    {"/bad_chunk", OK_HEAD "Transfer-Encoding: chunked\r\n\r\nzz\r\nhello", TARGET_CLOSE},
    {"/429", "HTTP/1.1 429 Slow\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"},
    {"/later_huge", "HTTP/1.1 503 No\r\nRetry-After: 99999999999999999999999\r\nContent-Length: 0\r\n\r\n"},
    {"/later_negative", "HTTP/1.1 503 No\r\nRetry-After: -5\r\nContent-Length: 0\r\n\r\n"},
    {"/later_junk", "HTTP/1.1 503 No\r\nRetry-After: tomorrow\r\nContent-Length: 0\r\n\r\n"},
    {"/later_past", "HTTP/1.1 503 No\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 0\r\n\r\n"},
    {"/later_date", "HTTP/1.1 503 No\r\nretry-after:   Fri, 01 Jan 2100 00:00:00 GMT  \r\nContent-Length: 0\r\n\r\n"},
    {"/async", "HTTP/1.1 202 Later\r\nrota-async:  1 \r\nContent-Length: 4\r\n\r\nsoon"},
    {"/async_two", "HTTP/1.1 202 Later\r\nRota-Async: 2\r\nContent-Length: 0\r\n\r\n"},
    {"/async_not", "HTTP/1.1 202 Taken\r\nContent-Length: 0\r\n\r\n"},
    {"/async_200", OK_HEAD "Rota-Async: 1\r\nContent-Length: 0\r\n\r\n"},
    {"/async_500", "HTTP/1.1 500 Oh\r\nRota-Async: 1\r\nContent-Length: 0\r\n\r\n"},
    {"/async_short", "HTTP/1.1 202 Later\r\nRota-Async: 1\r\nContent-Length: 10\r\n\r\nhalf", TARGET_CLOSE},
    {"/later_ok", OK_HEAD "Retry-After: 120\r\nContent-Length: 0\r\n\r\n"},
    {NULL},
};

static struct target *target;
static struct exec *executor;
static struct list ended; // outcomes of attempts
static int ended_count;

static void on_ended(void *ctx, struct exec_attempt *attempt)
{
    list_append(&ended, &attempt->outcome->link);
    ended_count++;
}

static void open_exec(bool private_allowed)
{
    struct exec_http_config config = {
        .connections_max = 100, .response_max = RESPONSE_MAX, .private_allowed = private_allowed, .user_agent = "rota/test"};
    char why[ERR_WHY_MAX];
    assert_int_equal(exec_http_new(&executor, &config, why), ERR_OK);
    executor->ended = on_ended;
    list_init(&ended);
    ended_count = 0;
}

static int setup(void **state)
{
    setenv("http_proxy", "http://127.0.0.1:1", 1); // must not be asked
    target = target_start(scripts);
    open_exec(true);
    return 0;
}

static int teardown(void **state)
{
    executor->ops->close(executor);
    target_stop(target);
    return 0;
}

// An attempt to call a URL, %d in which is the target's port, with more members of the task's document. It lives in its order.
static struct exec_attempt *make(const char *url, const char *members)
{
    char where[300], doc[2000];
    snprintf(where, sizeof where, url, target_port(target));
    snprintf(doc, sizeof doc, "{\"url\":\"%s\"%s%s}", where, *members ? "," : "", members);
    struct job job = {.id = JOB_ID, .task_id = JOB_ID, .attempts = 2, .scheduled_at = 1700000000123};
    struct order *order = order_new(&job, str_of(doc));
    if (!order->readable)
        fail_msg("%s: %.*s", doc, STR_ARG(order->why));
    strcpy(order->ticket, "2-0123456789abcdef");
    struct exec_attempt *call = arena_alloc(&order->arena, sizeof *call);
    *call = (struct exec_attempt){.order = order, .outcome = outcome_new(order)};
    return call;
}

static struct exec_attempt *begin(const char *url, const char *members)
{
    struct exec_attempt *call = make(url, members);
    int before = ended_count;
    executor->ops->start(executor, call, clock_now());
    assert_int_equal(ended_count, before); // never from within start
    return call;
}

static void poll_until_ended(int count)
{
    while (ended_count < count)
        executor->ops->poll(executor, 1000000000);
}

static void free_ended(void)
{
    struct list *node;
    while ((node = list_take(&ended)))
        outcome_free(list_entry(node, struct outcome, link));
}

// The outcome of one.
static struct outcome *attempt(const char *url, const char *members)
{
    struct outcome *outcome = begin(url, members)->outcome;
    poll_until_ended(ended_count + 1);
    assert_true(outcome->result.completed_at > 0);
    list_remove(&outcome->link);
    return outcome;
}

static void expect(const char *url, const char *members, enum job_outcome outcome, int status)
{
    struct outcome *ended_as = attempt(url, members);
    if (ended_as->result.outcome != outcome || ended_as->result.status != status)
        fail_msg("%s: %s %d (" STR_FMT ")", url, job_outcome_text(ended_as->result.outcome), ended_as->result.status,
                 STR_ARG(ended_as->result.reason));
    assert_int_equal(ended_as->result.reason.n == 0, outcome == OUTCOME_SUCCESS);
    outcome_free(ended_as);
}

#define HERE "http://127.0.0.1:%d"
#define SOON "\"timeout\":\"150ms\""

static void an_answer_is_kept(void **state)
{
    struct outcome *ended_as = attempt(HERE "/ok", "");
    assert_int_equal(ended_as->result.outcome, OUTCOME_SUCCESS);
    assert_int_equal(ended_as->result.status, 200);
    assert_true(str_is(ended_as->result.response, "ok"));
    assert_false(ended_as->result.truncated);
    outcome_free(ended_as);
}

static void assert_sent(const char *line)
{
    if (!strstr(target_request(target), line))
        fail_msg("\"%s\" is not in:\n%s", line, target_request(target));
}

static void assert_not_sent(const char *line)
{
    if (strcasestr(target_request(target), line))
        fail_msg("\"%s\" is in:\n%s", line, target_request(target));
}

static void a_call_carries_what_api_md_says(void **state)
{
    outcome_free(attempt(HERE "/ok?a=b",
                         "\"body\":{ \"n\": 1.50 },\"traceparent\":\"00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\""));
    assert_sent("POST /ok?a=b HTTP/1.1\r\n");
    assert_sent("\r\nRota-Job-Id: j0000000000c1s\r\n");
    assert_sent("\r\nRota-Task-Id: t0000000000c1s\r\n");
    assert_sent("\r\nRota-Attempt: 2\r\n");
    assert_sent("\r\nRota-Scheduled-At: 2023-11-14T22:13:20.123Z\r\n");
    assert_sent("\r\nIdempotency-Key: j0000000000c1s\r\n");
    assert_sent("\r\nRota-Token: 2-0123456789abcdef\r\n");
    assert_sent("\r\ntraceparent: 00-0123456789abcdef0123456789abcdef-0123456789abcdef-01\r\n");
    assert_sent("\r\nUser-Agent: rota/test\r\n");
    assert_sent("\r\nContent-Type: application/json\r\n");
    assert_sent("\r\nContent-Length: 13\r\n");
    assert_sent("\r\n\r\n{ \"n\": 1.50 }");
    assert_not_sent("Accept-Encoding");
    assert_not_sent("Expect");
}

static void text_is_sent_as_it_is(void **state)
{
    outcome_free(attempt(HERE "/ok", "\"body\":\"a\\nb \\u00e4\",\"method\":\"PUT\""));
    assert_sent("PUT /ok HTTP/1.1\r\n");
    assert_sent("\r\n\r\na\nb \xc3\xa4");
    assert_not_sent("Content-Type");
}

static void the_tasks_own_headers_win(void **state)
{
    outcome_free(
        attempt(HERE "/ok",
                "\"body\":[],\"headers\":{\"content-type\":\"text/x\",\"X-Empty\":\"\",\"User-Agent\":\"me\",\"X-A\":\"a: b\"}"));
    assert_sent("\r\ncontent-type: text/x\r\n");
    assert_sent("\r\nX-Empty:\r\n");
    assert_sent("\r\nUser-Agent: me\r\n");
    assert_sent("\r\nX-A: a: b\r\n");
    assert_not_sent("application/json");
    assert_not_sent("rota/test");
}

static void every_method_is_sent_with_and_without_a_body(void **state)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "GET"};
    for (size_t i = 0; i < array_count(methods); i++)
        for (int with_body = 0; with_body < 2; with_body++) {
            char members[100], line[32];
            snprintf(members, sizeof members, "\"method\":\"%s\"%s", methods[i], with_body ? ",\"body\":\"hey\"" : "");
            snprintf(line, sizeof line, "%s /ok HTTP/1.1\r\n", methods[i]);
            outcome_free(attempt(HERE "/ok", members));
            assert_int_equal(strncmp(target_request(target), line, strlen(line)), 0);
            assert_not_sent("Content-Type");
            if (with_body)
                assert_sent("\r\n\r\nhey");
        }
    assert_int_equal(target_connections(target), 1);
}

static void a_url_without_a_path_asks_for_the_root(void **state)
{
    outcome_free(attempt(HERE "?q=../x", SOON));
    assert_sent("POST /?q=../x HTTP/1.1\r\n");
    outcome_free(attempt(HERE "/a/../b//c", SOON));
    assert_sent("POST /a/../b//c HTTP/1.1\r\n");
}

static void an_answer_decides_by_its_status(void **state)
{
    struct outcome *ended_as = attempt(HERE "/500", "");
    assert_int_equal(ended_as->result.outcome, OUTCOME_FAILED);
    assert_true(str_is(ended_as->result.reason, "HTTP 500"));
    assert_true(str_is(ended_as->result.response, "ouch"));
    outcome_free(ended_as);
    expect(HERE "/404", "", OUTCOME_FAILED, 404);
    expect(HERE "/404", "\"success_codes\":[\"2xx\",404]", OUTCOME_SUCCESS, 404);
    expect(HERE "/302", "", OUTCOME_FAILED, 302); // an answer, never followed
}

static void only_202_with_its_header_means_later(void **state)
{
    static const struct {
        const char *url;
        enum job_outcome outcome;
        bool later;
    } cases[] = {
        {HERE "/async", OUTCOME_SUCCESS, true},      {HERE "/async_two", OUTCOME_SUCCESS, false},
        {HERE "/async_not", OUTCOME_SUCCESS, false}, {HERE "/async_200", OUTCOME_SUCCESS, false},
        {HERE "/async_500", OUTCOME_FAILED, false},  {HERE "/async_short", OUTCOME_BAD_RESPONSE, false},
    };
    for (size_t i = 0; i < array_count(cases); i++) {
        struct outcome *ended_as = attempt(cases[i].url, "");
        assert_int_equal(ended_as->result.outcome, cases[i].outcome);
        assert_int_equal(ended_as->result.later, cases[i].later);
        outcome_free(ended_as);
    }
    struct outcome *ended_as = attempt(HERE "/async", "\"success_codes\":[200]"); // it says nothing of success yet
    assert_true(ended_as->result.later && ended_as->result.status == 202 && str_is(ended_as->result.response, "soon"));
    outcome_free(ended_as);
}

static void a_long_answer_is_cut_and_says_so(void **state)
{
    struct outcome *ended_as = attempt(HERE "/hundred", "");
    assert_int_equal(ended_as->result.response.n, RESPONSE_MAX);
    assert_false(ended_as->result.truncated);
    outcome_free(ended_as);
    ended_as = attempt(HERE "/more", "");
    assert_int_equal(ended_as->result.response.n, RESPONSE_MAX);
    assert_true(ended_as->result.truncated);
    outcome_free(ended_as);
    ended_as = attempt(HERE "/gzip", "");
    assert_true(str_is(ended_as->result.response, "\x1f\x8b??")); // as it came
    outcome_free(ended_as);
    ended_as = attempt(HERE "/endless", "");
    assert_int_equal(ended_as->result.outcome, OUTCOME_SUCCESS);
    assert_true(ended_as->result.truncated);
    outcome_free(ended_as);
    expect(HERE "/close", "", OUTCOME_SUCCESS, 200);
}

static void the_timeout_holds_whatever_the_target_does(void **state)
{
    expect(HERE "/hang", SOON, OUTCOME_TIMEOUT, 0);
    expect(HERE "/hang_body", SOON, OUTCOME_TIMEOUT, 200);
    expect(HERE "/drip", SOON, OUTCOME_TIMEOUT, 200);
    expect(HERE "/drip_head", SOON, OUTCOME_TIMEOUT, 200);
    expect(HERE "/ok", SOON, OUTCOME_SUCCESS, 200);
}

static void what_is_not_http_is_a_bad_response(void **state)
{
    expect(HERE "/junk", "", OUTCOME_BAD_RESPONSE, 0);
    expect(HERE "/nothing", "", OUTCOME_BAD_RESPONSE, 0);
    expect(HERE "/short", "", OUTCOME_BAD_RESPONSE, 200);
    expect(HERE "/bad_chunk", "", OUTCOME_BAD_RESPONSE, 200);
    expect(HERE "/endless_head", "", OUTCOME_BAD_RESPONSE, 200);
}

static void connections_that_fail_are_told_apart(void **state)
{
    expect(HERE "/reset", "", OUTCOME_CONNECT_ERROR, 0);
    expect("http://127.0.0.1:1/", "", OUTCOME_CONNECT_ERROR, 0);
}

static void a_peer_that_does_not_speak_tls_is_a_tls_error(void **state)
{
    expect("https://127.0.0.1:%d/ok", "", OUTCOME_TLS_ERROR, 0);
}

static void a_name_is_looked_up_and_all_its_addresses_tried(void **state)
{
    expect("http://localhost:%d/ok", "", OUTCOME_SUCCESS, 200); // ::1 may come first, and nobody listens there
    expect("http://LOCALHOST:%d/ok", "", OUTCOME_SUCCESS, 200);
    expect("http://localhost:1/ok", "", OUTCOME_CONNECT_ERROR, 0);
}

static void a_name_that_does_not_exist_is_a_dns_error(void **state)
{
    struct outcome *ended_as = attempt("http://nowhere.invalid/", "\"timeout\":\"2s\"");
    // Without a name server that answers it is the timeout that ends it.
    assert_true(ended_as->result.outcome == OUTCOME_DNS_ERROR || ended_as->result.outcome == OUTCOME_TIMEOUT);
    outcome_free(ended_as);
}

static void calls_to_one_unknown_name_share_the_question(void **state)
{
    for (int i = 0; i < 5; i++)
        begin("http://nowhere.invalid/", "\"timeout\":\"2s\"");
    poll_until_ended(5);
    free_ended();
}

static struct exec_attempt *told;

static void on_prepared(void *ctx, struct exec_attempt *call)
{
    told = call;
}

// /etc/hosts answers from within the question. A poll that slept before it told would sleep for an hour here.
static void a_name_that_is_answered_at_once_is_told_before_anybody_sleeps(void **state)
{
    struct exec_attempt *call = make("http://localhost:%d/ok", "");
    executor->prepared = on_prepared;
    told = NULL;
    assert_false(executor->ops->prepare(executor, call));
    executor->ops->poll(executor, 3600 * INT64_C(1000000000));
    assert_ptr_equal(told, call);
    assert_true(executor->ops->prepare(executor, call));
    executor->ops->start(executor, call, clock_now());
    poll_until_ended(1);
    assert_int_equal(call->outcome->result.outcome, OUTCOME_SUCCESS);
    free_ended();
}

static void only_addresses_need_no_look_up(void **state)
{
    static const struct {
        const char *url;
        bool known;
    } rows[] = {{"http://127.0.0.1/", true}, {"http://[::1]/", true}, {"http://dead1/", false}, {"http://dead.invalid2/", false}};
    for (size_t i = 0; i < array_count(rows); i++) {
        struct exec_attempt *call = make(rows[i].url, "");
        if (executor->ops->prepare(executor, call) != rows[i].known)
            fail_msg("%s", rows[i].url);
        executor->ops->forget(executor, call);
        outcome_free(call->outcome);
    }
}

static void retry_after_is_read_in_all_its_forms(void **state)
{
    static const struct {
        const char *url;
        int64_t at_least, at_most;
    } rows[] = {
        {HERE "/429", 120000, 120000},
        {HERE "/later_huge", RETRY_AFTER_MAX_MS, RETRY_AFTER_MAX_MS},
        {HERE "/later_negative", 0, 0},
        {HERE "/later_junk", 0, 0},
        {HERE "/later_past", 0, 0},
        {HERE "/later_date", RETRY_AFTER_MAX_MS, RETRY_AFTER_MAX_MS},
        {HERE "/later_ok", 0, 0},
        {HERE "/100", 0, 0},
        {HERE "/500", 0, 0},
    };
    for (size_t i = 0; i < array_count(rows); i++) {
        struct outcome *ended_as = attempt(rows[i].url, "");
        if (ended_as->result.retry_after_ms < rows[i].at_least || ended_as->result.retry_after_ms > rows[i].at_most)
            fail_msg("%s: %lld", rows[i].url, (long long)ended_as->result.retry_after_ms);
        outcome_free(ended_as);
    }
}

static void inside_addresses_are_denied_unless_allowed(void **state)
{
    executor->ops->close(executor);
    open_exec(false);
    static const char *const urls[] = {HERE "/ok",
                                       "http://127.1.2.3:%d/ok",
                                       "http://[::1]:%d/ok",
                                       "http://[::ffff:127.0.0.1]:%d/ok",
                                       "http://localhost:%d/ok",
                                       "http://169.254.169.254/latest/meta-data",
                                       "http://10.0.0.1/",
                                       "http://0.0.0.0:%d/"};
    for (size_t i = 0; i < array_count(urls); i++)
        expect(urls[i], "", OUTCOME_EGRESS_DENIED, 0);
    assert_int_equal(target_connections(target), 0);
}

static void some_addresses_are_never_allowed(void **state)
{
    expect("http://0.0.0.0:%d/ok", "", OUTCOME_EGRESS_DENIED, 0);
    expect("http://[::]:%d/ok", "", OUTCOME_EGRESS_DENIED, 0);
    expect("http://255.255.255.255/ok", "", OUTCOME_EGRESS_DENIED, 0);
    expect("http://224.0.0.1/ok", "", OUTCOME_EGRESS_DENIED, 0);
}

static void a_call_can_be_cancelled_at_any_time(void **state)
{
    struct exec_attempt *fresh = begin(HERE "/hang", ""), *running = begin(HERE "/hang", ""),
                        *looking = begin("http://nowhere.invalid/", "");
    struct exec_attempt *denied = begin("http://0.0.0.0/", "");
    executor->ops->cancel(executor, fresh);
    executor->ops->cancel(executor, looking);
    executor->ops->cancel(executor, denied); // had ended by itself
    poll_until_ended(3);
    while (!strstr(target_request(target), "/hang"))
        executor->ops->poll(executor, 1000000);
    executor->ops->cancel(executor, running);
    executor->ops->poll(executor, 0);
    assert_int_equal(ended_count, 4);
    assert_int_equal(fresh->outcome->result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(running->outcome->result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(looking->outcome->result.outcome, OUTCOME_CANCELLED);
    assert_int_equal(denied->outcome->result.outcome, OUTCOME_EGRESS_DENIED);
    free_ended();
    expect(HERE "/ok", "", OUTCOME_SUCCESS, 200);
}

static void connections_are_reused(void **state)
{
    for (int i = 0; i < 10; i++)
        expect(HERE "/ok", "", OUTCOME_SUCCESS, 200);
    assert_int_equal(target_connections(target), 1);
}

// Sent again on the next open connection, and again, the target would act many times for one attempt.
static void an_attempt_is_sent_once_even_if_a_reused_connection_ends(void **state)
{
    const char *const ends[] = {HERE "/reset", HERE "/nothing"};
    for (size_t i = 0; i < array_count(ends); i++) {
        for (int k = 0; k < 8; k++)
            begin(HERE "/ok", "");
        poll_until_ended(ended_count + 8); // now there are connections to reuse
        free_ended();
        int before = target_requests(target);
        expect(ends[i], "", OUTCOME_CONNECT_ERROR, 0);
        expect(ends[i], "\"method\":\"GET\"", OUTCOME_CONNECT_ERROR, 0);
        assert_int_equal(target_requests(target), before + 2);
    }
}

static void a_header_without_end_is_a_bad_response(void **state)
{
    struct outcome *ended_as = attempt(HERE "/endless_line", "");
    assert_int_equal(ended_as->result.outcome, OUTCOME_BAD_RESPONSE);
    assert_true(str_is(ended_as->result.reason, "a header of the answer is too long"));
    outcome_free(ended_as);
}

static void a_bad_neighbour_does_not_disturb(void **state)
{
    struct exec_attempt *bad[] = {begin(HERE "/hang", SOON), begin(HERE "/drip", SOON), begin(HERE "/endless", ""),
                                  begin(HERE "/reset", "")};
    for (int i = 0; i < 50; i++)
        begin(HERE "/ok", "");
    poll_until_ended(54);
    struct list *node;
    int good = 0;
    while ((node = list_take(&ended))) {
        struct outcome *ended_as = list_entry(node, struct outcome, link);
        good += ended_as->result.outcome == OUTCOME_SUCCESS && ended_as->result.response.n == 2;
        outcome_free(ended_as);
    }
    assert_int_equal(good, 50);
    assert_non_null(bad[0]);
}

static void *wake(void *arg)
{
    struct waker *waker = arg;
    waker->wake(waker);
    return NULL;
}

static void another_thread_can_end_the_wait(void **state)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wake, exec_http_waker(executor));
    executor->ops->poll(executor, INT64_C(3600) * 1000000000);
    pthread_join(thread, NULL);
}

#define promise(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        promise(an_answer_is_kept),
        promise(a_call_carries_what_api_md_says),
        promise(text_is_sent_as_it_is),
        promise(the_tasks_own_headers_win),
        promise(every_method_is_sent_with_and_without_a_body),
        promise(a_url_without_a_path_asks_for_the_root),
        promise(an_answer_decides_by_its_status),
        promise(only_202_with_its_header_means_later),
        promise(a_long_answer_is_cut_and_says_so),
        promise(the_timeout_holds_whatever_the_target_does),
        promise(what_is_not_http_is_a_bad_response),
        promise(connections_that_fail_are_told_apart),
        promise(a_peer_that_does_not_speak_tls_is_a_tls_error),
        promise(a_name_is_looked_up_and_all_its_addresses_tried),
        promise(a_name_that_does_not_exist_is_a_dns_error),
        promise(calls_to_one_unknown_name_share_the_question),
        promise(a_name_that_is_answered_at_once_is_told_before_anybody_sleeps),
        promise(only_addresses_need_no_look_up),
        promise(retry_after_is_read_in_all_its_forms),
        promise(inside_addresses_are_denied_unless_allowed),
        promise(some_addresses_are_never_allowed),
        promise(a_call_can_be_cancelled_at_any_time),
        promise(connections_are_reused),
        promise(an_attempt_is_sent_once_even_if_a_reused_connection_ends),
        promise(a_header_without_end_is_a_bad_response),
        promise(a_bad_neighbour_does_not_disturb),
        promise(another_thread_can_end_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
