// The mailbox: nothing is lost, each sender's messages stay in order, and the owner is woken when, and only when, the box was
// empty. Also the list it is made of.
#include "base/mailbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

struct letter {
    struct list link;
    int from, number;
};

struct counter {
    struct waker waker;
    int count;
};

static void count_wake(struct waker *waker)
{
    container_of(waker, struct counter, waker)->count++;
}

static void the_owner_is_woken_only_when_the_box_was_empty(void **state)
{
    struct counter counter = {.waker = {count_wake}};
    struct mailbox box;
    mailbox_init(&box, &counter.waker);
    struct letter letters[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct list got;
    list_init(&got);

    mailbox_post(&box, &letters[0].link);
    assert_int_equal(counter.count, 1);
    mailbox_post(&box, &letters[1].link);
    mailbox_post(&box, &letters[2].link);
    assert_int_equal(counter.count, 1);
    mailbox_take(&box, &got);
    mailbox_take(&box, &got);
    assert_int_equal(counter.count, 1);
    mailbox_post(&box, &letters[3].link);
    assert_int_equal(counter.count, 2);
    mailbox_take(&box, &got); // behind what is there already

    for (int i = 0; i < 4; i++)
        assert_int_equal(list_entry(list_take(&got), struct letter, link)->number, i);
    assert_null(list_take(&got));
    mailbox_done(&box);
}

static void a_box_without_a_waker_is_only_looked_into(void **state)
{
    struct mailbox box;
    mailbox_init(&box, NULL);
    struct letter letter = {.number = 5};
    mailbox_post(&box, &letter.link);
    struct list got;
    list_init(&got);
    mailbox_take(&box, &got);
    assert_ptr_equal(list_take(&got), &letter.link);
    mailbox_done(&box);
}

// A thread that sleeps until it is woken, as the real owners do.
struct sleeper {
    struct waker waker;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool awake;
    int wakes;
};

static void wake_sleeper(struct waker *waker)
{
    struct sleeper *sleeper = container_of(waker, struct sleeper, waker);
    pthread_mutex_lock(&sleeper->lock);
    sleeper->awake = true;
    sleeper->wakes++;
    pthread_cond_signal(&sleeper->woken);
    pthread_mutex_unlock(&sleeper->lock);
}

static void sleep_until_woken(struct sleeper *sleeper)
{
    pthread_mutex_lock(&sleeper->lock);
    while (!sleeper->awake)
        pthread_cond_wait(&sleeper->woken, &sleeper->lock);
    sleeper->awake = false;
    pthread_mutex_unlock(&sleeper->lock);
}

enum { SENDERS = 4, EACH = 20000 };

struct sender {
    struct mailbox *box;
    struct letter *letters;
};

static void *send_all(void *arg)
{
    struct sender *sender = arg;
    for (int i = 0; i < EACH; i++)
        mailbox_post(sender->box, &sender->letters[i].link);
    return NULL;
}

// Were a wake ever lost, the owner would sleep for ever and the suite run into its time limit.
static void several_senders_lose_nothing_and_keep_their_order(void **state)
{
    static struct letter letters[SENDERS][EACH];
    struct sleeper sleeper = {.waker = {wake_sleeper}, .lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};
    struct mailbox box;
    mailbox_init(&box, &sleeper.waker);
    pthread_t threads[SENDERS];
    struct sender senders[SENDERS];
    for (int s = 0; s < SENDERS; s++) {
        for (int i = 0; i < EACH; i++)
            letters[s][i] = (struct letter){.from = s, .number = i};
        senders[s] = (struct sender){&box, letters[s]};
        assert_int_equal(pthread_create(&threads[s], NULL, send_all, &senders[s]), 0);
    }
    int expected[SENDERS] = {0}, full_takes = 0;
    for (int total = 0; total < SENDERS * EACH;) {
        sleep_until_woken(&sleeper);
        struct list got;
        list_init(&got);
        mailbox_take(&box, &got);
        full_takes += !list_empty(&got);
        for (struct list *link; (link = list_take(&got)); total++) {
            struct letter *letter = list_entry(link, struct letter, link);
            assert_int_equal(letter->number, expected[letter->from]++);
        }
    }
    for (int s = 0; s < SENDERS; s++)
        pthread_join(threads[s], NULL);
    assert_int_equal(sleeper.wakes, full_takes); // one each time the box went from empty to not
    mailbox_done(&box);
}

// The owner frees the box as soon as it has the message; the sender must not look at it again. For the sanitizers to see.
struct once {
    struct mailbox box;
    struct letter letter;
};

static void *send_once(void *arg)
{
    struct once *once = arg;
    mailbox_post(&once->box, &once->letter.link);
    return NULL;
}

static void a_box_may_be_freed_by_the_taker_of_its_last_message(void **state)
{
    struct sleeper sleeper = {.waker = {wake_sleeper}, .lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER};
    for (int i = 0; i < 200; i++) {
        struct once *once = mem_zero(sizeof *once);
        mailbox_init(&once->box, &sleeper.waker);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, send_once, once), 0);
        struct list got;
        list_init(&got);
        while (list_empty(&got))
            mailbox_take(&once->box, &got);
        mailbox_done(&once->box);
        mem_free(once);
        pthread_join(thread, NULL);
    }
}

static void a_list_keeps_order_through_every_change(void **state)
{
    struct list a, b;
    list_init(&a);
    list_init(&b);
    list_splice(&a, &b);
    assert_true(list_empty(&a));
    struct letter letters[6];
    for (int i = 0; i < 6; i++) {
        letters[i] = (struct letter){.number = i};
        list_append(i < 3 ? &a : &b, &letters[i].link);
    }
    list_remove(&letters[1].link);
    list_remove(&letters[1].link); // in no list any more: nothing
    list_splice(&a, &b);
    assert_true(list_empty(&b));
    int sum = 0, seen = 0;
    list_each (&a, link) { // the one at hand may go to another list
        sum = sum * 10 + list_entry(link, struct letter, link)->number;
        list_remove(link);
        list_append(&b, link);
        seen++;
    }
    assert_int_equal(seen, 5);
    assert_int_equal(sum, 2345);
    assert_true(list_empty(&a));
    assert_ptr_equal(list_take(&b), &letters[0].link);
    assert_ptr_equal(list_take(&b), &letters[2].link);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_is_woken_only_when_the_box_was_empty),
        cmocka_unit_test(a_box_without_a_waker_is_only_looked_into),
        cmocka_unit_test(several_senders_lose_nothing_and_keep_their_order),
        cmocka_unit_test(a_box_may_be_freed_by_the_taker_of_its_last_message),
        cmocka_unit_test(a_list_keeps_order_through_every_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
