// A connection stays in epoll for reading, also while its request is worked on: only if it has something to say then is it taken
// out (drive.c). So a request costs a recv and a send.
//
// The timer is set once and looks again by itself, so a connection that moves costs the wheel nothing.
#include "http/server/peer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/server/private.h"
#include "http/server/request.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
    LINGER_MS = 2000,
    RESERVE_MS = 2000, // in the reserve, for each part of what is done there
    SEND_PATIENCE = 5, // times the idle timeout, for an answer
    FILE_RATE = 262,   // bytes a millisecond that must be taken of a file
    FILE_BLOCKS = 4,   // pieces of a file before others have their turn
};

struct peer *peer_new(struct http_server *server, int fd)
{
    struct peer *peer = mem_zero(sizeof *peer);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    peer->server = server;
    peer->fd = fd;
    peer->file.fd = -1;
    peer->watched = EPOLLIN;
    peer_set_state(peer, PEER_HEAD);
    list_append(&server->peers, &peer->link);
    epoll_ctl(server->epoll_fd, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = peer});
    return peer;
}

void peer_close(struct peer *peer)
{
    struct http_server *server = peer->server;
    struct http_request *request = peer->request;
    peer_set_state(peer, PEER_DEAD);
    peer->request = NULL;
    if (request && request->next)
        request->peer = NULL; // the thread that works for it will resume it
    else if (request)
        request_free(request);
    wheel_remove(&server->timers, &peer->timer);
    list_remove(&peer->again);
    unsent_remove(peer);
    places_leave(peer);
    list_remove(&peer->link);
    list_append(&server->dead, &peer->link);
    reply_close_file(&peer->file);
    close(peer->fd);
    buf_done(&peer->in);
    buf_done(&peer->out);
}

void peer_free_dead(struct http_server *server)
{
    struct list *node;
    while ((node = list_take(&server->dead)))
        mem_free(list_entry(node, struct peer, link));
}

void peer_set_state(struct peer *peer, enum peer_state state)
{
    peer->state = state;
    peer->began_ns = peer->active_ns = peer->server->now_ns;
}

void peer_watch(struct peer *peer, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = peer};
    if (peer->watched == events)
        return;
    peer->watched = events;
    epoll_ctl(peer->server->epoll_fd, EPOLL_CTL_MOD, peer->fd, &event);
}

// ---- time

// How long what was sent of a file may have taken.
static int64_t file_ns(const struct peer *peer)
{
    return (int64_t)((peer->file.size - peer->file_left) / FILE_RATE) * 1000000;
}

// When it is to be looked at whether the connection has had its time.
static int64_t deadline_ns(const struct peer *peer)
{
    int64_t idle_ns = peer->server->config.idle_timeout_s * INT64_C(1000000000), idle_until = peer->active_ns + idle_ns;
    if (peer->reserved && peer->state != PEER_WORK)
        return peer->began_ns + RESERVE_MS * INT64_C(1000000);
    switch (peer->state) {
    case PEER_HEAD: // a head that drips has no more time than one that does not come
        return peer->in.n ? time_min(idle_until, peer->began_ns + idle_ns) : idle_until;
    case PEER_BODY:
        return time_min(idle_until, peer->request->body_until_ns);
    case PEER_LINGER:
        return peer->began_ns + LINGER_MS * INT64_C(1000000);
    case PEER_WORK:
        return TIME_NEVER;
    case PEER_STREAM:
        return peer->out_at < peer->out.n ? idle_until : TIME_NEVER;
    case PEER_SEND: // a client that takes a little now and then does not keep its place for ever
        return time_min(idle_until, peer->began_ns + (peer->file.fd >= 0 ? idle_ns + file_ns(peer) : SEND_PATIENCE * idle_ns));
    default:
        return idle_until;
    }
}

bool peer_is_late(const struct peer *peer)
{
    return deadline_ns(peer) <= peer->server->now_ns;
}

// Only a deadline that is sooner than the timer has to be told to the wheel.
void peer_set_timer(struct peer *peer)
{
    int64_t at_ns = time_min(deadline_ns(peer), peer->server->now_ns + SERVER_SLEEP_MS * INT64_C(1000000));
    int64_t at_ms = (at_ns + 999999) / 1000000;
    if (peer->timer.link.next && peer->timer.at_ms <= at_ms)
        return;
    wheel_remove(&peer->server->timers, &peer->timer);
    wheel_add(&peer->server->timers, &peer->timer, at_ms);
}

// ---- sending

static enum peer_sent send_out(struct peer *peer)
{
    while (peer->out_at < peer->out.n) {
        int more = peer->file.fd >= 0 ? MSG_MORE : 0;
        ssize_t n = send(peer->fd, peer->out.p + peer->out_at, peer->out.n - peer->out_at, MSG_NOSIGNAL | more);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? PEER_SENT_PART : PEER_SENT_FAILED;
        peer->out_at += (size_t)n;
        peer->active_ns = peer->server->now_ns;
    }
    return PEER_SENT_ALL;
}

static enum peer_sent send_file(struct peer *peer)
{
    for (int i = 0; peer->file_left; i++) {
        if (i == FILE_BLOCKS)
            return PEER_SENT_PART; // others have their turn
        size_t most = peer->file_left < SERVER_READ_SIZE ? (size_t)peer->file_left : SERVER_READ_SIZE;
        ssize_t n = sendfile(peer->fd, peer->file.fd, NULL, most);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return PEER_SENT_PART;
        if (n <= 0)
            return PEER_SENT_FAILED; // 0: the file has become shorter
        peer->file_left -= (uint64_t)n;
        peer->active_ns = peer->server->now_ns;
    }
    return PEER_SENT_ALL;
}

enum peer_sent peer_send(struct peer *peer)
{
    enum peer_sent sent = send_out(peer);
    if (sent == PEER_SENT_ALL && peer->file.fd >= 0)
        sent = send_file(peer);
    if (sent != PEER_SENT_ALL)
        return sent;
    peer->out.n = peer->out_at = 0;
    if (peer->out.cap > SERVER_BUFFER_KEPT)
        buf_done(&peer->out);
    return PEER_SENT_ALL;
}
