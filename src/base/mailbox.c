// One short lock around a list splice. The waker is called only when the box was empty: a busy owner that
// takes everything at once costs its senders no system call.
#include "base/mailbox.h"

void mailbox_init(struct mailbox *box, struct waker *waker)
{
    pthread_mutex_init(&box->lock, NULL);
    list_init(&box->items);
    box->filled = false;
    box->waker = waker;
}

void mailbox_done(struct mailbox *box)
{
    pthread_mutex_destroy(&box->lock);
}

void mailbox_post(struct mailbox *box, struct list *node)
{
    pthread_mutex_lock(&box->lock);
    bool was_empty = list_empty(&box->items);
    list_append(&box->items, node);
    atomic_store_explicit(&box->filled, true, memory_order_release);
    struct waker *waker = was_empty ? box->waker : NULL;
    pthread_mutex_unlock(&box->lock);
    // From here on the owner may have taken the message and freed the box: only the waker is touched, which outlives it.
    if (waker)
        waker->wake(waker);
}

void mailbox_take(struct mailbox *box, struct list *ret_items)
{
    if (!atomic_load_explicit(&box->filled, memory_order_acquire))
        return; // whoever fills it from now on wakes the owner
    pthread_mutex_lock(&box->lock);
    list_splice(ret_items, &box->items);
    atomic_store_explicit(&box->filled, false, memory_order_relaxed);
    pthread_mutex_unlock(&box->lock);
}
