// Orders and outcomes are values: they keep all they need, and nothing of whoever they were made from.
#include "base/mem.h"
#include "core/outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_order_holds_its_own_copy_of_everything(void **state)
{
    char doc[] = "{\"url\":\"http://x/\\u0061\",\"body\":{\"n\":1}}", reason[] = "HTTP 500";
    struct job job = {.id = 1, .token = 7, .reason = str_of(reason)};
    struct order *order = order_new(&job, str_of(doc));
    memset(doc, 'x', sizeof doc);
    memset(reason, 'x', sizeof reason);
    assert_true(str_is(order->task.target.http.url, "http://x/a"));
    assert_true(str_is(order->task.target.http.body.raw, "{\"n\":1}"));
    assert_true(str_is(order->job.reason, "HTTP 500"));
    assert_int_equal(order->job.token, 7);
    order_free(order);
    order_free(NULL);
}

static void a_document_that_cannot_be_read_makes_an_order_that_says_so(void **state)
{
    const struct str docs[] = {STR(""), STR("{\"url\":"), STR("{}"), STR("{\"url\":\"http://x\",\"nonsense\":1}"), STR("\0")};
    for (size_t i = 0; i < array_count(docs); i++) {
        struct order *order = order_new(&(struct job){0}, docs[i]);
        assert_false(order->readable);
        assert_true(order->why.n > 0);
        order_free(order);
    }
}

static uint64_t host_of(const char *url)
{
    return order_host(&(struct target){.kind = TARGET_HTTP, .http = {.url = str_of(url)}});
}

static void urls_of_one_host_and_port_call_the_same(void **state)
{
    uint64_t host = host_of("http://h:80/a");
    assert_true(host != 0);
    assert_true(host_of("http://h/b?c") == host);
    assert_true(host_of("http://h:81/a") != host);
    assert_true(host_of("http://i/a") != host);
    assert_true(host_of("no URL") == 0);
}

static void an_outcome_has_what_decides_and_takes_its_order_along(void **state)
{
    struct job job = {.id = 1, .token = 7};
    struct order *order = order_new(&job, STR("{\"url\":\"http://x/\",\"queue\":\"q\",\"name\":\"n\",\"retry\":{\"max\":9}}"));
    struct outcome *outcome = outcome_new(order);
    assert_ptr_equal(outcome->order, order);
    assert_int_equal(outcome->job.id, 1);
    assert_int_equal(outcome->token, 7);
    assert_int_equal(outcome->policy.retry.max, 9);
    assert_true(str_is(outcome->queue, "q"));
    assert_true(str_is(outcome->name, "n"));
    outcome_free(outcome); // and the order with it
    outcome_free(NULL);
}

static void the_word_that_an_attempt_began_outlives_it(void **state)
{
    struct job job = {.id = 1, .token = 7, .reason = STR("HTTP 500"), .response = STR("no")};
    struct outcome *running = outcome_new(order_new(&job, STR("{\"url\":\"http://x/\"}")));
    running->job.attempts = 2;
    struct outcome *began = outcome_began(running);
    outcome_free(running);
    assert_int_equal(began->end, ORDER_BEGAN);
    assert_int_equal(began->job.attempts, 2);
    assert_int_equal(began->token, 7);
    assert_true(str_is(began->job.reason, "HTTP 500"));
    assert_true(str_is(began->job.response, "no"));
    outcome_free(began);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_holds_its_own_copy_of_everything),
        cmocka_unit_test(a_document_that_cannot_be_read_makes_an_order_that_says_so),
        cmocka_unit_test(urls_of_one_host_and_port_call_the_same),
        cmocka_unit_test(an_outcome_has_what_decides_and_takes_its_order_along),
        cmocka_unit_test(the_word_that_an_attempt_began_outlives_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
