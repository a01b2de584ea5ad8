// An eventfd counts the wakes, so any number of them before the sleeper looks costs it one read.
#include "http/wake_fd.h"

#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void on_wake(struct waker *waker)
{
    const struct wake_fd *wake = container_of(waker, struct wake_fd, waker);
    if (write(wake->fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return; // the count is full: the sleeper will wake anyway
}

void wake_fd_init(struct wake_fd *wake)
{
    *wake = (struct wake_fd){.waker.wake = on_wake, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
}

void wake_fd_done(struct wake_fd *wake)
{
    if (wake->fd >= 0)
        close(wake->fd);
}

void wake_fd_clear(struct wake_fd *wake)
{
    uint64_t count;
    if (read(wake->fd, &count, sizeof count) < 0)
        return; // another wake was taken with the last one
}
