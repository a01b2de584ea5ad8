// The sentences of broker.h, for every broker: the shipped ones, and one that does all that the port allows (it loses deliveries
// and brings them again, doubles, delays and reorders them, and is full now and then), on which the simulator runs the stages.
#include "base/data/map.h"
#include "base/mem.h"
#include "base/rand.h"
#include "broker/broker.h"
#include "support/faulty_broker.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { ORDERS = 400, EVENTS_MAX = 20000 };

struct counter {
    struct waker waker;
    int woken;
};

// What will happen, in no order: a test that waits lets all of it happen.
struct event {
    void (*then)(void *arg);
    void *arg;
};

static struct {
    struct broker *broker;
    struct counter orders, outcomes;
    struct rand rand;
    struct event events[EVENTS_MAX];
    size_t event_count;
    struct control told[ORDERS];
    size_t told_count;
} world;

static void count_wake(struct waker *waker)
{
    container_of(waker, struct counter, waker)->woken++;
}

static bool often(void *ctx, int in_thousand)
{
    return rand_next(&world.rand) % 1000 < (uint64_t)in_thousand * 8;
}

static int64_t between(void *ctx, int64_t least, int64_t most)
{
    return least + (int64_t)(rand_next(&world.rand) % (uint64_t)(most - least + 1));
}

static void later(void *ctx, int64_t delay_ms, void (*then)(void *arg), void *arg)
{
    assert_true(world.event_count < EVENTS_MAX);
    world.events[world.event_count++] = (struct event){then, arg};
}

// One of the things that are on their way happens. False: nothing is.
static bool pass(void)
{
    if (!world.event_count)
        return false;
    size_t at = rand_next(&world.rand) % world.event_count;
    struct event event = world.events[at];
    world.events[at] = world.events[--world.event_count];
    event.then(event.arg);
    return true;
}

static void told(void *ctx, const struct control *control)
{
    assert_true(world.told_count < ORDERS);
    world.told[world.told_count++] = *control;
}

static struct broker *open_local(int max)
{
    struct broker *broker;
    char why[ERR_WHY_MAX];
    struct broker_config config = {.max = max, .orders_waker = &world.orders.waker, .outcomes_waker = &world.outcomes.waker};
    assert_int_equal(broker_open(&broker, "local:", &config, why), ERR_OK);
    return broker;
}

static struct broker *open_faulty(int max)
{
    struct fault_world faults = {.chance = often, .between = between, .later = later};
    return faulty_broker_new(open_local(max), &faults);
}

static struct broker *(*open_broker)(int max);

static void begin(int max)
{
    memset(&world, 0, sizeof world);
    world.orders.waker.wake = world.outcomes.waker.wake = count_wake;
    rand_init(&world.rand, 42);
    world.broker = open_broker(max);
}

static void end(void)
{
    broker_close(world.broker);
    while (pass())
        ; // what was on its way finds the broker gone
}

static struct order *make_order(int64_t id)
{
    struct job job = {.id = id, .task_id = id + 1, .lane = 3, .holder = 9, .token = 7, .reason = STR("HTTP 500")};
    struct order *order =
        order_new(&job, STR("{\"url\":\"http://x/\\u0061\",\"queue\":\"q\",\"name\":\"n\",\"body\":{\"n\":1}}"));
    snprintf(order->ticket, sizeof order->ticket, "ticket %d", (int)id);
    return order;
}

static void assert_order(const struct order *order)
{
    char ticket[ORDER_TICKET_SIZE];
    snprintf(ticket, sizeof ticket, "ticket %d", (int)order->job.id);
    assert_int_equal(order->job.token, 7);
    assert_int_equal(order->job.holder, 9);
    assert_int_equal(order->job.lane, 3);
    assert_true(str_is(order->job.reason, "HTTP 500"));
    assert_true(order->readable);
    assert_true(str_is(order->task.target.http.url, "http://x/a"));
    assert_true(str_is(order->task.target.http.body.raw, "{\"n\":1}"));
    assert_string_equal(order->ticket, ticket);
}

// Takes what is there, counts it by its id, and frees it.
static void take_orders(int *counts)
{
    struct list taken, *link;
    list_init(&taken);
    broker_take(world.broker, &taken);
    while ((link = list_take(&taken))) {
        struct order *order = list_entry(link, struct order, link);
        assert_order(order);
        assert_in_range(order->job.id, 1, ORDERS);
        counts[order->job.id]++;
        order_free(order);
    }
}

// A full broker is emptied, and tried again.
static void publish(struct order *order, int *counts)
{
    while (broker_publish(world.broker, order)) {
        pass();
        take_orders(counts);
    }
}

static void every_order_comes_at_least_once_as_it_was(void **state)
{
    int counts[ORDERS + 1] = {0}, doubles = 0;
    begin(50);
    for (int64_t id = 1; id <= ORDERS; id++) {
        publish(make_order(id), counts);
    }
    do
        take_orders(counts);
    while (pass());
    take_orders(counts);
    for (int id = 1; id <= ORDERS; id++) {
        assert_true(counts[id] >= 1);
        doubles += counts[id] > 1;
    }
    assert_int_equal(doubles > 0, open_broker == open_faulty); // or that one would try nothing
    assert_true(world.orders.woken > 0);
    assert_int_equal(world.outcomes.woken, 0);
    end();
}

static struct outcome *make_outcome(int64_t id)
{
    struct outcome *outcome = outcome_new(make_order(id));
    outcome->end = id % 2 ? ORDER_ENDED : ORDER_POSTPONED;
    outcome->job.attempts = 2;
    outcome->postpone_to = 1000 + id;
    outcome->result =
        (struct job_result){.outcome = OUTCOME_FAILED, .status = 503, .reason = STR("HTTP 503"), .response = STR("no")};
    return outcome;
}

static void assert_outcome(const struct outcome *outcome)
{
    assert_int_equal(outcome->token, 7);
    assert_int_equal(outcome->job.attempts, 2);
    assert_true(str_is(outcome->queue, "q"));
    assert_true(str_is(outcome->name, "n"));
    assert_int_equal(outcome->policy.retry.max, 3);
    assert_int_equal(outcome->postpone_to, 1000 + outcome->job.id);
    assert_int_equal(outcome->end, outcome->job.id % 2 ? ORDER_ENDED : ORDER_POSTPONED);
    assert_int_equal(outcome->result.status, 503);
    assert_true(str_is(outcome->result.reason, "HTTP 503"));
    assert_true(str_is(outcome->result.response, "no"));
}

static void take_outcomes(int *counts)
{
    struct list taken, *link;
    list_init(&taken);
    broker_take_outcomes(world.broker, &taken);
    while ((link = list_take(&taken))) {
        struct outcome *outcome = list_entry(link, struct outcome, link);
        assert_outcome(outcome);
        assert_in_range(outcome->job.id, 1, ORDERS);
        counts[outcome->job.id]++;
        broker_acknowledge(world.broker, outcome);
    }
}

static void every_outcome_comes_at_least_once_with_all_that_decides(void **state)
{
    int counts[ORDERS + 1] = {0};
    begin(1);
    for (int64_t id = 1; id <= ORDERS; id++)
        broker_report(world.broker, make_outcome(id));
    do
        take_outcomes(counts);
    while (pass());
    take_outcomes(counts);
    for (int id = 1; id <= ORDERS; id++)
        assert_true(counts[id] >= 1);
    assert_int_equal(world.orders.woken, 0);
    assert_true(world.outcomes.woken > 0);
    end();
}

static void that_an_attempt_began_is_told_while_its_order_is_kept(void **state)
{
    begin(1);
    struct outcome *running = make_outcome(1);
    running->job.state = JOB_RESERVED;
    broker_report(world.broker, outcome_began(running));
    outcome_free(running); // what was told does not need it
    struct list taken, *link;
    list_init(&taken);
    do
        broker_take_outcomes(world.broker, &taken);
    while (pass());
    broker_take_outcomes(world.broker, &taken);
    assert_false(list_empty(&taken));
    while ((link = list_take(&taken))) {
        struct outcome *began = list_entry(link, struct outcome, link);
        assert_int_equal(began->end, ORDER_BEGAN);
        assert_int_equal(began->job.state, JOB_RESERVED);
        assert_int_equal(began->token, 7);
        assert_true(str_is(began->job.reason, "HTTP 500"));
        broker_acknowledge(world.broker, began);
    }
    end();
}

static void a_full_broker_leaves_the_order_with_its_owner(void **state)
{
    int counts[ORDERS + 1] = {0};
    begin(1);
    struct order *order = make_order(1);
    int accepted = 0;
    while (broker_publish(world.broker, order) == ERR_OK) { // one that delays may have several on their way
        order = make_order(++accepted + 1);
        assert_true(accepted < ORDERS);
    }
    assert_order(order);
    do
        take_orders(counts);
    while (pass());
    publish(order, counts);
    do
        take_orders(counts);
    while (pass());
    take_orders(counts);
    assert_true(counts[accepted + 1] >= 1);
    end();
}

static void an_executor_is_told_what_it_may_do(void **state)
{
    begin(1);
    broker_control(world.broker, &(struct control){.kind = CONTROL_RENEW, .id = 1, .until_ms = 1}); // to nobody
    while (pass())
        ;
    broker_attach(world.broker, &(struct broker_executor){.control = told});
    static const struct control words[] = {{.kind = CONTROL_RENEW, .id = 9, .until_ms = 5000},
                                           {.kind = CONTROL_PAUSE, .id = 3, .paused = true},
                                           {.kind = CONTROL_REVOKE, .id = 1, .token = 7},
                                           {.kind = CONTROL_PAUSE, .id = 3}};
    for (size_t i = 0; i < array_count(words); i++)
        broker_control(world.broker, &words[i]);
    if (open_broker == open_local)
        assert_int_equal(world.told_count, array_count(words)); // before it returned
    while (pass())
        ;
    assert_true(world.told_count >= array_count(words));
    for (size_t i = 0; i < array_count(words); i++) {
        bool heard = false;
        for (size_t k = 0; k < world.told_count; k++)
            heard |= world.told[k].kind == words[i].kind && world.told[k].id == words[i].id &&
                     world.told[k].token == words[i].token && world.told[k].paused == words[i].paused &&
                     world.told[k].until_ms == words[i].until_ms;
        assert_true(heard);
    }
    end();
}

static void closing_frees_what_was_not_taken(void **state)
{
    int counts[ORDERS + 1] = {0};
    begin(ORDERS);
    for (int64_t id = 1; id <= 50; id++) {
        publish(make_order(id), counts);
        broker_report(world.broker, make_outcome(id));
    }
    end(); // AddressSanitizer tells
    broker_close(NULL);
}

// ---- what only "local:" promises

static void *publish_many(void *arg)
{
    for (int64_t id = 1; id <= ORDERS; id++) {
        struct order *order = make_order(id);
        while (broker_publish(arg, order))
            sched_yield();
    }
    return NULL;
}

static void between_two_threads_local_keeps_the_order_and_brings_each_once(void **state)
{
    open_broker = open_local;
    begin(8);
    pthread_t thread;
    pthread_create(&thread, NULL, publish_many, world.broker);
    struct list taken, *link;
    list_init(&taken);
    for (int64_t next = 1; next <= ORDERS; broker_take(world.broker, &taken))
        while ((link = list_take(&taken))) {
            struct order *order = list_entry(link, struct order, link);
            assert_int_equal(order->job.id, next++);
            order_free(order);
        }
    pthread_join(thread, NULL);
    end();
}

static void local_wakes_the_taker_once_for_many(void **state)
{
    open_broker = open_local;
    int counts[ORDERS + 1] = {0};
    begin(10);
    for (int64_t id = 1; id <= 3; id++)
        publish(make_order(id), counts);
    assert_int_equal(world.orders.woken, 1);
    end();
}

static void a_broker_that_nobody_knows_is_refused_with_those_that_are_known(void **state)
{
    static const char *const urls[] = {"", "local", "kafka://h:9092", "locals:", "loca:"};
    struct broker *broker;
    char why[ERR_WHY_MAX];
    for (size_t i = 0; i < array_count(urls); i++) {
        assert_int_equal(broker_open(&broker, urls[i], &(struct broker_config){0}, why), ERR_BAD_REQUEST);
        assert_null(broker);
        assert_non_null(strstr(why, "\"local:\""));
    }
}

static int with_local(void **state)
{
    open_broker = open_local;
    return 0;
}

static int with_faulty(void **state)
{
    open_broker = open_faulty;
    return 0;
}

#define FOR_EACH_BROKER(test)                            \
    {#test " (local)", test, with_local, NULL, NULL},    \
    {                                                    \
#test " (faulty)", test, with_faulty, NULL, NULL \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOR_EACH_BROKER(every_order_comes_at_least_once_as_it_was),
        FOR_EACH_BROKER(every_outcome_comes_at_least_once_with_all_that_decides),
        FOR_EACH_BROKER(that_an_attempt_began_is_told_while_its_order_is_kept),
        FOR_EACH_BROKER(a_full_broker_leaves_the_order_with_its_owner),
        FOR_EACH_BROKER(an_executor_is_told_what_it_may_do),
        FOR_EACH_BROKER(closing_frees_what_was_not_taken),
        cmocka_unit_test(between_two_threads_local_keeps_the_order_and_brings_each_once),
        cmocka_unit_test(local_wakes_the_taker_once_for_many),
        cmocka_unit_test(a_broker_that_nobody_knows_is_refused_with_those_that_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
