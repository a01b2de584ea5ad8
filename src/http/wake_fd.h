// What ends the sleep of a thread that sleeps in epoll: a descriptor that becomes readable.
//
// Layer: port (http), for the client and the server. Any thread may use the waker; all else belongs to the thread that sleeps.
#pragma once
#include "base/mailbox.h"

struct wake_fd {
    struct waker waker;
    int fd;
};

void wake_fd_init(struct wake_fd *wake); // `fd` is less than 0, and errno says why, when there can be none
void wake_fd_done(struct wake_fd *wake);
void wake_fd_clear(struct wake_fd *wake); // all wakes until now have been heard
