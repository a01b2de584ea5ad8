// Where the messages of other threads wait for their one reader. Threads share by message, and what they share otherwise
// says so in its header. It holds no bound of its own: what is posted is bounded by the sender's right to send
// (connections, lane room, operations in flight).
// Layer: base. mailbox_post: any thread. The rest: the owner.
#pragma once
#include "base/data/list.h"

#include <pthread.h>
#include <stdatomic.h>

// How a sleeping owner is woken. A waker outlives every mailbox that names it. In a thread it writes to an eventfd; the simulator
// marks the node as due.
struct waker {
    void (*wake)(struct waker *waker);
};

struct mailbox {
    pthread_mutex_t lock;
    struct list items;
    _Atomic bool filled; // is there anything in it? An owner that turns often looks at this instead of taking the lock
    struct waker *waker;
};

void mailbox_init(struct mailbox *box, struct waker *waker);
void mailbox_done(struct mailbox *box);
void mailbox_post(struct mailbox *box, struct list *node);
void mailbox_take(struct mailbox *box, struct list *ret_items); // all that is there, appended to ret_items
