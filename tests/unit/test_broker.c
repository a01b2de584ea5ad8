// The local broker carries runs one way and words about them back, and says when it is full.
#include "base/mem.h"
#include "broker/broker.h"
#include "store/store.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct counter {
    struct waker waker;
    int woken;
};

static void count_wake(struct waker *waker)
{
    container_of(waker, struct counter, waker)->woken++;
}

static struct run *make_run(int64_t id)
{
    struct store_job from = {.job = {.id = id, .token = 7}, .doc = STR("{\"url\":\"http://x/\\u0061\",\"body\":{\"n\":1}}")};
    struct run *run = run_new(&from.job, from.doc);
    assert_non_null(run);
    return run;
}

static int64_t take_one(struct broker *broker)
{
    struct list runs;
    list_init(&runs);
    broker_take(broker, &runs);
    struct run *run = list_entry(list_take(&runs), struct run, link);
    int64_t id = run->job.id;
    assert_true(list_empty(&runs));
    run_free(run);
    return id;
}

static void a_run_holds_its_own_copy_of_everything(void **state)
{
    char doc[] = "{\"url\":\"http://x/\\u0061\",\"body\":{\"n\":1}}", reason[] = "HTTP 500";
    struct store_job from = {.job = {.id = 1, .token = 7, .reason = str_of(reason)}, .doc = str_of(doc)};
    struct run *run = run_new(&from.job, from.doc);
    memset(doc, 'x', sizeof doc);
    memset(reason, 'x', sizeof reason);
    struct run *copy = run_copy(run);
    run_free(run);
    assert_true(str_is(copy->task.target.http.url, "http://x/a"));
    assert_true(str_is(copy->task.target.http.body.raw, "{\"n\":1}"));
    assert_true(str_is(copy->job.reason, "HTTP 500"));
    assert_int_equal(copy->token, 7);
    run_free(copy);
}

static void a_document_that_cannot_be_read_makes_a_run_that_says_so(void **state)
{
    const struct str docs[] = {STR(""), STR("{\"url\":"), STR("{}"), STR("{\"url\":\"http://x\",\"nonsense\":1}"), STR("\0")};
    for (size_t i = 0; i < array_count(docs); i++) {
        struct run *run = run_new(&(struct job){0}, docs[i]);
        assert_false(run->readable);
        assert_true(run->result.reason.n > 0);
        run_free(run);
    }
}

static void runs_come_out_in_order_and_wake_the_taker_once(void **state)
{
    struct counter runs = {{count_wake}}, notes = {{count_wake}};
    struct broker *broker = broker_local_new(10, &runs.waker, &notes.waker);
    struct list taken;
    list_init(&taken);
    for (int64_t id = 1; id <= 3; id++)
        assert_int_equal(broker_publish(broker, make_run(id)), ERR_OK);
    assert_int_equal(runs.woken, 1);
    broker_take(broker, &taken);
    for (int64_t id = 1; id <= 3; id++) {
        struct run *run = list_entry(list_take(&taken), struct run, link);
        assert_int_equal(run->job.id, id);
        run_free(run);
    }
    assert_int_equal(notes.woken, 0);
    broker_close(broker);
}

static void a_full_broker_leaves_the_run_with_its_owner(void **state)
{
    struct broker *broker = broker_local_new(1, NULL, NULL);
    struct run *second = make_run(2);
    assert_int_equal(broker_publish(broker, make_run(1)), ERR_OK);
    assert_int_equal(broker_publish(broker, second), ERR_BUSY);
    assert_int_equal(take_one(broker), 1);
    assert_int_equal(broker_publish(broker, second), ERR_OK);
    assert_int_equal(take_one(broker), 2);
    broker_close(broker);
}

static void notes_come_back_the_other_way(void **state)
{
    struct counter runs = {{count_wake}}, notes = {{count_wake}};
    struct broker *broker = broker_local_new(1, &runs.waker, &notes.waker);
    struct run_began *began = mem_zero(sizeof *began);
    began->job.id = 5;
    broker_note(broker, &began->note);
    assert_int_equal(notes.woken, 1);
    struct list taken;
    list_init(&taken);
    broker_take(broker, &taken);
    assert_true(list_empty(&taken));
    broker_take_notes(broker, &taken);
    assert_ptr_equal(list_take(&taken), &began->note.link);
    mem_free(began);
    broker_close(broker);
}

static void closing_frees_what_was_not_taken(void **state)
{
    struct broker *broker = broker_local_new(10, NULL, NULL);
    assert_int_equal(broker_publish(broker, make_run(1)), ERR_OK);
    struct run *run = make_run(2);
    run->note.run = run;
    broker_note(broker, &run->note);
    struct run_began *began = mem_zero(sizeof *began);
    broker_note(broker, &began->note);
    broker_close(broker);
    broker_close(NULL);
}

enum { CARRIED = 2000 };

static void *publish_many(void *arg)
{
    for (int64_t id = 1; id <= CARRIED; id++) {
        struct run *run = make_run(id);
        while (broker_publish(arg, run))
            sched_yield();
    }
    return NULL;
}

static void nothing_is_lost_between_two_threads(void **state)
{
    struct broker *broker = broker_local_new(8, NULL, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, publish_many, broker);
    struct list taken, *node;
    list_init(&taken);
    for (int64_t next = 1; next <= CARRIED; broker_take(broker, &taken))
        while ((node = list_take(&taken))) {
            struct run *run = list_entry(node, struct run, link);
            assert_int_equal(run->job.id, next++);
            run_free(run);
        }
    pthread_join(thread, NULL);
    broker_close(broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_holds_its_own_copy_of_everything),
        cmocka_unit_test(a_document_that_cannot_be_read_makes_a_run_that_says_so),
        cmocka_unit_test(runs_come_out_in_order_and_wake_the_taker_once),
        cmocka_unit_test(a_full_broker_leaves_the_run_with_its_owner),
        cmocka_unit_test(notes_come_back_the_other_way),
        cmocka_unit_test(closing_frees_what_was_not_taken),
        cmocka_unit_test(nothing_is_lost_between_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
