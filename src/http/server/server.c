// The loop of the HTTP thread: one epoll, HTTP/1.1 and 1.0.
//
// What other threads want comes through two mailboxes: requests that are resumed, streams that are woken. So everything else
// belongs to the HTTP thread alone, and a batch of resumes costs one wake-up.
//
// Does not route, and does not know what a task is.
#include "http/server/server.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/server/drive.h"
#include "http/server/listen.h"
#include "http/server/newcomers.h"
#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"
#include "http/server/stream.h"

#include <errno.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    STOP_WAIT_MS = 5000, // for clients that are slow to take their last answer
    RESERVE = 16,        // connections
    EVENTS = 256,
    LOOK_MS = 100, // how long it sleeps at most while newcomers are not heeded, or it is stopping
};

// ---- what other threads want

static void resume(struct http_request *request)
{
    struct peer *peer = request->peer;
    request_go_on(request);
    if (peer)
        drive(peer);
    else if (!request->next)
        request_free(request);
}

static void take_messages(struct http_server *server)
{
    struct list resumed, woken, *node;
    list_init(&resumed);
    list_init(&woken);
    mailbox_take(&server->resumed, &resumed);
    while ((node = list_take(&resumed)))
        resume(list_entry(node, struct http_request, link));
    mailbox_take(&server->woken, &woken);
    while ((node = list_take(&woken))) {
        struct peer *peer = stream_take_woken(node);
        if (peer)
            drive(peer);
    }
}

// ---- time

static void turn_timers(struct http_server *server)
{
    struct list due, *node;
    list_init(&due);
    wheel_turn(&server->timers, server->now_ns / 1000000, &due);
    while ((node = list_take(&due))) {
        struct peer *peer = container_of(list_entry(node, struct wheel_node, link), struct peer, timer);
        if (peer_is_late(peer))
            drive_late(peer);
        else
            peer_set_timer(peer);
    }
}

static int time_to_wait_ms(struct http_server *server)
{
    int64_t wait = SERVER_SLEEP_MS, next_ms = server->timers.count ? wheel_next(&server->timers) : TIME_NEVER;
    if (!list_empty(&server->again))
        return 0;
    if (next_ms != TIME_NEVER)
        wait = time_min(wait, next_ms - server->now_ns / 1000000);
    if (server->deaf || atomic_load(&server->stopping))
        wait = time_min(wait, LOOK_MS);
    return (int)time_max(wait, 0);
}

// ---- the thread

static void on_quiesce(struct http_server *server)
{
    newcomers_end(server);
    list_each (&server->streams, link)
        drive(list_entry(link, struct http_stream, link)->peer);
}

static void read_ahead(struct http_server *server)
{
    struct list again, *node;
    list_init(&again);
    list_splice(&again, &server->again);
    while ((node = list_take(&again)))
        drive(list_entry(node, struct peer, again));
}

static bool has_ended(struct http_server *server)
{
    if (!atomic_load(&server->stopping))
        return false;
    if (!server->stop_at_ns) {
        server->stop_at_ns = server->now_ns + STOP_WAIT_MS * INT64_C(1000000);
        list_each (&server->streams, link) // what their clients have not taken by now
            peer_close(list_entry(link, struct http_stream, link)->peer);
    }
    int waiting = server->request_count, lingering = 0;
    list_each (&server->peers, link) { // those whose answer is not taken are not waited for without end
        const struct peer *peer = list_entry(link, struct peer, link);
        waiting -= peer->request && !peer->request->next;
        lingering += peer->state == PEER_LINGER && !peer->half_closed;
    }
    return (!server->request_count && !lingering) || (!waiting && server->now_ns >= server->stop_at_ns);
}

// The data of an event is the peer it tells of, or else one of these two.
static void on_event(struct http_server *server, const struct epoll_event *event)
{
    if (event->data.ptr == &server->listen_fd)
        newcomers_accept(server);
    else if (event->data.ptr == &server->wake)
        wake_fd_clear(&server->wake);
    else
        drive_event(event->data.ptr, event->events);
}

static void turn(struct http_server *server)
{
    struct epoll_event events[EVENTS];
    int n = epoll_wait(server->epoll_fd, events, EVENTS, time_to_wait_ms(server));
    server->now_ns = clock_mono_ns();
    for (int i = 0; i < n; i++)
        on_event(server, &events[i]);
    take_messages(server);
    read_ahead(server);
    turn_timers(server);
    if (server->unsent.bytes)
        unsent_bound(server);
    newcomers_turn(server);
    if (server_is_quiesced(server) && !newcomers_have_ended(server))
        on_quiesce(server);
    peer_free_dead(server);
    places_take_spare(&server->places, server->wake.fd);
}

static void *run(void *arg)
{
    struct http_server *server = arg;
    server->now_ns = clock_mono_ns();
    while (!has_ended(server))
        turn(server);
    while (!list_empty(&server->peers))
        peer_close(list_entry(server->peers.next, struct peer, link));
    take_messages(server); // frees the streams in there
    peer_free_dead(server);
    return NULL;
}

// ---- start and stop, on the thread that owns the server

static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char port[8] = "0";
    if (!getsockname(fd, (struct sockaddr *)&at, &n))
        getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV);
    return atoi(port);
}

static struct http_server *server_new(const struct http_server_config *config, int fd)
{
    struct http_server *server = mem_zero(sizeof *server);
    server->config = *config;
    server->config.reserve_max = config->reserve_max ? config->reserve_max : RESERVE;
    body_set_limits(&server->limits, config->body_timeout_ms, config->bodies_max);
    server->listen_fd = fd;
    server->port = port_of(fd);
    server->now_ns = clock_mono_ns();
    wheel_init(&server->timers, server->now_ns / 1000000);
    wake_fd_init(&server->wake);
    mailbox_init(&server->resumed, &server->wake.waker);
    mailbox_init(&server->woken, &server->wake.waker);
    struct list *lists[] = {&server->peers, &server->again, &server->dead, &server->streams};
    for (size_t i = 0; i < array_count(lists); i++)
        list_init(lists[i]);
    unsent_init(&server->unsent);
    places_init(&server->places, server->wake.fd);
    server->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return server;
}

static void server_free(struct http_server *server)
{
    close(server->listen_fd);
    if (server->epoll_fd >= 0)
        close(server->epoll_fd);
    wake_fd_done(&server->wake);
    places_done(&server->places);
    mailbox_done(&server->resumed);
    mailbox_done(&server->woken);
    mem_free(server);
}

enum err http_server_start(struct http_server **ret_server, const struct http_server_config *config, char why[ERR_WHY_MAX])
{
    int fd = config->socket ? config->socket : http_listen(config->listen, config->bound, why);
    if (fd < 0)
        return ERR_BAD_REQUEST;
    struct http_server *server = server_new(config, fd);
    struct epoll_event wakes = {.events = EPOLLIN, .data.ptr = &server->wake};
    bool ready = newcomers_heed(server) && !epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, server->wake.fd, &wakes);
    if (!ready || (errno = pthread_create(&server->thread, NULL, run, server))) {
        snprintf(why, ERR_WHY_MAX, "the HTTP server cannot be started on %s: %s", config->listen, strerror(errno));
        server_free(server);
        return ERR_INTERNAL;
    }
    pthread_setname_np(server->thread, "http");
    *ret_server = server;
    return ERR_OK;
}

int http_server_port(const struct http_server *server)
{
    return server->port;
}

bool http_server_address(const struct http_server *server, struct sockaddr_storage *ret_address, socklen_t *ret_size)
{
    *ret_size = sizeof *ret_address;
    return getsockname(server->listen_fd, (struct sockaddr *)ret_address, ret_size) == 0;
}

void http_server_limit_bodies(struct http_server *server, int body_timeout_ms, size_t bodies_max)
{
    body_set_limits(&server->limits, body_timeout_ms, bodies_max);
}

void http_server_quiesce(struct http_server *server)
{
    if (atomic_exchange(&server->quiesced, true))
        return;
    // A socket that is shut down refuses newcomers at once. One that was passed to us is not ours to shut down: the process that
    // passed it goes on listening.
    if (!server->config.socket)
        shutdown(server->listen_fd, SHUT_RDWR);
    server->wake.waker.wake(&server->wake.waker);
}

void http_server_stop(struct http_server *server)
{
    if (!server)
        return;
    http_server_quiesce(server);
    atomic_store(&server->stopping, true);
    server->wake.waker.wake(&server->wake.waker);
    pthread_join(server->thread, NULL);
    while (atomic_load(&server->resuming))
        sched_yield(); // somebody has a few instructions left to do with it
    server_free(server);
}
