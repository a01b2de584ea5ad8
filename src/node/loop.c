// However many messages come during a turn, they cost one write to the eventfd. No sleep is longer than SLEEP_MAX_MS, so that a
// wall clock that was set forward is noticed soon.
#include "node/loop.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { SLEEP_MAX_MS = 500 };

static void wake(struct waker *waker)
{
    struct loop *loop = (struct loop *)waker;
    if (atomic_exchange(&loop->signalled, true))
        return;
    uint64_t one = 1;
    if (write(loop->fd, &one, sizeof one) != sizeof one)
        abort(); // an eventfd takes 2^64 of these
}

void loop_init(struct loop *loop, const char *name)
{
    *loop = (struct loop){.waker = {wake}, .name = name, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    if (loop->fd < 0)
        abort();
}

static void sleep_until(struct loop *loop, int64_t wall_ms)
{
    int64_t now_ns = clock_wall_ns();
    int64_t latest = now_ns / 1000000 + SLEEP_MAX_MS;
    int64_t wait_ns = time_min(wall_ms, latest) * 1000000 - now_ns;
    if (wait_ns > 0) {
        struct pollfd poll = {.fd = loop->fd, .events = POLLIN};
        struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
        ppoll(&poll, 1, &wait, NULL);
    }
    if (!atomic_load(&loop->signalled))
        return;
    uint64_t count;
    if (read(loop->fd, &count, sizeof count) == sizeof count)
        atomic_store(&loop->signalled, false);
}

static void *run(void *arg)
{
    struct loop *loop = arg;
    while (!atomic_load(&loop->stop)) {
        atomic_fetch_add_explicit(&loop->turns, 1, memory_order_relaxed);
        sleep_until(loop, loop->turn(loop->ctx, clock_now()));
    }
    return NULL;
}

void loop_start(struct loop *loop, int64_t (*turn)(void *ctx, struct now now), void *ctx)
{
    loop->turn = turn;
    loop->ctx = ctx;
    if (pthread_create(&loop->thread, NULL, run, loop))
        abort();
    pthread_setname_np(loop->thread, loop->name);
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stop, true);
    wake(&loop->waker);
    pthread_join(loop->thread, NULL);
}

void loop_done(struct loop *loop)
{
    close(loop->fd);
}
