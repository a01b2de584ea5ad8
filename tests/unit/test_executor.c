// An executor alone: dispatch and the HTTP executor, linked without store, node and lanes (see meson.build), told through a
// broker what they may do. That is what lets an executor be a process without a database.
#include "base/mem.h"
#include "flow/stages/dispatch.h"
#include "support/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { HOLDER = 9, LANE = 3 };

static const struct target_script pages[] = {{"/ok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}, {NULL}};

struct executor {
    struct target *target;
    struct broker *broker;
    struct exec *exec;
    struct dispatch *dispatch;
};

static struct executor executor_new(void)
{
    struct executor own = {.target = target_start(pages)};
    struct exec_http_config http = {
        .connections_max = 4, .response_max = 100, .private_allowed = true, .user_agent = "rota/test"};
    char why[ERR_WHY_MAX];
    assert_int_equal(exec_http_new(&own.exec, &http, why), ERR_OK);
    struct waker *waker = exec_http_waker(own.exec);
    struct broker_config config = {.max = 10, .orders_waker = waker, .outcomes_waker = waker};
    assert_int_equal(broker_open(&own.broker, "local:", &config, why), ERR_OK);
    own.dispatch = dispatch_new(&(struct dispatch_config){.broker = own.broker, .exec = own.exec, .slots = 4, .waker = waker});
    return own;
}

static void executor_free(struct executor *own)
{
    dispatch_free(own->dispatch);
    own->exec->ops->close(own->exec);
    broker_close(own->broker);
    target_stop(own->target);
}

static void publish(struct executor *own, int64_t id)
{
    char doc[100];
    int64_t now = clock_now().wall_ms;
    snprintf(doc, sizeof doc, "{\"url\":\"http://127.0.0.1:%d/ok\"}", target_port(own->target));
    struct job job = {.id = id,
                      .task_id = id,
                      .lane = LANE,
                      .state = JOB_WATCHING,
                      .scheduled_at = now,
                      .ready_at = now,
                      .due_at = now,
                      .picked_at = now,
                      .holder = HOLDER,
                      .token = 2};
    assert_int_equal(broker_publish(own->broker, order_new(&job, str_of(doc))), ERR_OK);
}

static void tell(struct executor *own, struct control control)
{
    broker_control(own->broker, &control);
}

// Turns until an order has come to its end; the outcome is the caller's.
static struct outcome *next_outcome(struct executor *own)
{
    for (;;) {
        struct list outcomes, *link;
        list_init(&outcomes);
        dispatch_turn(own->dispatch, clock_now());
        own->exec->ops->poll(own->exec, 1000000);
        broker_take_outcomes(own->broker, &outcomes);
        while ((link = list_take(&outcomes))) {
            struct outcome *outcome = list_entry(link, struct outcome, link);
            if (outcome->end != ORDER_BEGAN)
                return outcome; // one order is under way at a time
            broker_acknowledge(own->broker, outcome);
        }
    }
}

static void assert_next(struct executor *own, int64_t id, enum order_end end)
{
    struct outcome *outcome = next_outcome(own);
    assert_int_equal(outcome->job.id, id);
    assert_int_equal(outcome->end, end);
    broker_acknowledge(own->broker, outcome);
}

static void it_runs_what_it_may_and_reports_what_became_of_it(void **state)
{
    struct executor own = executor_new();
    tell(&own, (struct control){.kind = CONTROL_RENEW, .id = HOLDER, .until_ms = clock_now().mono_ms + 60000});
    publish(&own, 1);
    struct outcome *outcome = next_outcome(&own);
    assert_int_equal(outcome->end, ORDER_ENDED);
    assert_int_equal(outcome->job.attempts, 1);
    assert_int_equal(outcome->result.status, 200);
    assert_true(str_is(outcome->result.response, "ok"));
    broker_acknowledge(own.broker, outcome);
    executor_free(&own);
}

static void it_starts_nothing_of_a_holder_it_has_not_heard_of(void **state)
{
    struct executor own = executor_new();
    publish(&own, 1);
    for (int i = 0; i < 3; i++) {
        dispatch_turn(own.dispatch, clock_now());
        own.exec->ops->poll(own.exec, 0);
    }
    assert_int_equal(dispatch_count(own.dispatch), 1); // it waits: its holder may be heard of yet
    tell(&own, (struct control){.kind = CONTROL_RENEW, .id = HOLDER + 1, .until_ms = clock_now().mono_ms + 60000});
    assert_next(&own, 1, ORDER_RELEASED);
    assert_int_equal(target_requests(own.target), 0);
    executor_free(&own);
}

static void it_does_as_it_is_told_also_before_the_order_comes(void **state)
{
    struct executor own = executor_new();
    tell(&own, (struct control){.kind = CONTROL_RENEW, .id = HOLDER, .until_ms = clock_now().mono_ms + 60000});
    tell(&own, (struct control){.kind = CONTROL_PAUSE, .id = LANE, .paused = true});
    publish(&own, 1);
    assert_next(&own, 1, ORDER_RELEASED);
    tell(&own, (struct control){.kind = CONTROL_PAUSE, .id = LANE});
    tell(&own, (struct control){.kind = CONTROL_REVOKE, .id = 2, .token = 2});
    dispatch_turn(own.dispatch, clock_now());
    publish(&own, 2);
    assert_next(&own, 2, ORDER_CANCELLED);
    publish(&own, 3);
    assert_next(&own, 3, ORDER_ENDED);
    assert_int_equal(target_requests(own.target), 1);
    executor_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_runs_what_it_may_and_reports_what_became_of_it),
        cmocka_unit_test(it_starts_nothing_of_a_holder_it_has_not_heard_of),
        cmocka_unit_test(it_does_as_it_is_told_also_before_the_order_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
