// The loop: connections (conn.c) and look-ups of names (resolve.c) on one epoll, and a timing wheel for calls (call.c) that take
// too long.
#include "http/client/client.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/client/call.h"
#include "http/client/private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 32 }; // at once: a call that is to begin waits until they are done, 10 to 20 µs each

// --- making and freeing

// What epoll tells of a descriptor that is no connection: the number itself, marked so that it is no pointer.
static uint64_t mark_fd(int fd)
{
    return (uint64_t)fd << 1 | 1;
}

static void watch_name_socket(void *ctx, int fd, bool readable, bool writable)
{
    const struct http_client *client = ctx;
    struct epoll_event event = {.events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u), .data.u64 = mark_fd(fd)};
    if (!event.events)
        epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, &event);
    else if (epoll_ctl(client->epoll_fd, EPOLL_CTL_MOD, fd, &event) && errno == ENOENT)
        epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

enum err http_client_new(struct http_client **ret_client, const struct http_client_config *config, char why[ERR_WHY_MAX])
{
    struct http_client *client = mem_zero(sizeof *client);
    client->resolve_due_ns = TIME_NEVER;
    client->now_ns = clock_mono_ns();
    list_init(&client->free);
    list_init(&client->ended);
    wheel_init(&client->timers, client->now_ns / 1000000);
    client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    wake_fd_init(&client->wake);
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = mark_fd(client->wake.fd)};
    enum err err = ERR_OK;
    if (epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake.fd, &event) ||
        epoll_pwait2(client->epoll_fd, &event, 1, &(struct timespec){0}, NULL) < 0) { // Linux 5.11
        snprintf(why, ERR_WHY_MAX, "the HTTP client cannot be started: %s", strerror(errno));
        err = ERR_INTERNAL;
    }
    if (!err)
        err = conn_pool_init(&client->pool, client->epoll_fd, config->connections_max, why);
    if (!err)
        err = resolver_new(&client->resolver, watch_name_socket, client, why);
    if (err)
        http_client_free(client);
    else
        *ret_client = client;
    return err;
}

void http_client_free(struct http_client *client)
{
    if (!client)
        return;
    assert(!client->call_count);
    http_call_free_kept(client);
    resolver_free(client->resolver);
    conn_pool_done(&client->pool);
    wake_fd_done(&client->wake);
    if (client->epoll_fd >= 0)
        close(client->epoll_fd);
    mem_free(client);
}

struct waker *http_client_waker(struct http_client *client)
{
    return &client->wake.waker;
}

// --- names

// url_parse() takes a host whose last part is a number for nothing but an address.
static bool is_address(const struct url *url)
{
    size_t n = url->host.n;
    while (n && str_is_digit(url->host.p[n - 1]))
        n--;
    return url->ipv6 || (n < url->host.n && (!n || url->host.p[n - 1] == '.'));
}

bool http_client_knows(struct http_client *client, const struct url *url, int64_t lane, struct resolve_waiter *waiter)
{
    if (is_address(url))
        return true;
    client->now_ns = clock_mono_ns();
    if (resolve_ask(client->resolver, url->host, lane, client->now_ns, waiter))
        return true;
    client->resolve_due_ns = 0; // the question may have been answered already
    return false;
}

// --- the loop

// Everything that time brings.
static void do_due(struct http_client *client)
{
    client->now_ns = clock_mono_ns();
    if (client->resolve_due_ns <= client->now_ns)
        client->resolve_due_ns = resolve_turn(client->resolver, client->now_ns);
    if (client->timers.count)
        http_call_end_late(client);
    conn_pool_turn(&client->pool, client->now_ns);
}

static void on_conn_event(struct http_client *client, struct conn *conn, uint32_t events)
{
    if (conn->state == CONN_DEAD)
        return;
    if (conn->state == CONN_IDLE) {
        if (!conn_is_quiet(conn))
            conn_drop(&client->pool, conn);
        return;
    }
    http_call_go_on(conn->user, events & ~(uint32_t)EPOLLOUT || conn->wants_out);
}

static void on_event(struct http_client *client, const struct epoll_event *event)
{
    if (!(event->data.u64 & 1)) {
        on_conn_event(client, event->data.ptr, event->events);
        return;
    }
    int fd = (int)(event->data.u64 >> 1);
    if (fd == client->wake.fd) {
        wake_fd_clear(&client->wake);
        return;
    }
    bool broken = event->events & (EPOLLERR | EPOLLHUP);
    resolve_ready(client->resolver, fd, event->events & EPOLLIN || broken, event->events & EPOLLOUT || broken, client->now_ns);
    client->resolve_due_ns = 0;
}

static int64_t time_to_wait(struct http_client *client, int64_t wait_ns)
{
    if (!list_empty(&client->ended))
        return 0;
    int64_t until = client->resolve_due_ns, timer_ms = client->timers.count ? wheel_next(&client->timers) : TIME_NEVER;
    if (timer_ms != TIME_NEVER)
        until = time_min(until, timer_ms * 1000000);
    if (until == TIME_NEVER)
        return wait_ns;
    return time_min(wait_ns, time_max(until - client->now_ns, 0));
}

void http_client_poll(struct http_client *client, int64_t wait_ns)
{
    do_due(client);
    wait_ns = time_to_wait(client, wait_ns);
    struct epoll_event events[EVENTS];
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    int n = epoll_pwait2(client->epoll_fd, events, EVENTS, &wait, NULL);
    client->now_ns = clock_mono_ns();
    for (int i = 0; i < n; i++)
        on_event(client, &events[i]);
    do_due(client);
    struct list ended, *node;
    list_init(&ended);
    list_splice(&ended, &client->ended); // what ends from here on is told by the next poll
    while ((node = list_take(&ended)))
        http_call_tell(node);
}
