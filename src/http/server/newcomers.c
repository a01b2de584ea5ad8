// When no descriptor is left for a newcomer a peer makes room, or the descriptor goes that was kept for this; else newcomers are
// not heeded for DEAF_MS, because epoll would tell of them without end.
#include "http/server/newcomers.h"

#include "base/clock.h"
#include "http/server/drive.h"
#include "http/server/peer.h"
#include "http/server/private.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    ACCEPTS = 64, // newcomers before others have their turn
    DEAF_MS = 100,
};

static bool set_heeded(struct http_server *server, bool heeded)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &server->listen_fd};
    server->deaf = !heeded;
    return !epoll_ctl(server->epoll_fd, heeded ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, server->listen_fd, &event);
}

bool newcomers_heed(struct http_server *server)
{
    return set_heeded(server, true);
}

void newcomers_turn(struct http_server *server)
{
    if (server->deaf && server->deaf_until_ns <= server->now_ns)
        set_heeded(server, true);
}

void newcomers_end(struct http_server *server)
{
    if (!server->deaf)
        set_heeded(server, false);
    server->deaf_until_ns = TIME_NEVER;
}

bool newcomers_have_ended(const struct http_server *server)
{
    return server->deaf_until_ns == TIME_NEVER;
}

static struct peer *welcome(struct http_server *server, int fd, bool reserved)
{
    struct peer *peer = peer_new(server, fd);
    places_enter(peer, reserved);
    peer_set_timer(peer);
    return peer;
}

static bool is_being_answered(const struct peer *peer)
{
    return peer->state == PEER_WORK || peer->state == PEER_SEND || peer->state == PEER_STREAM;
}

// Of the peers in the reserve the oldest goes that has its answer, or else the oldest that has not asked yet. It is heard first,
// because it may have asked since it was let in. A peer that waits for an answer, or is taking one, stays.
static bool turn_away_oldest(struct http_server *server)
{
    static const bool may_go[][PEER_DEAD + 1] = {{[PEER_LINGER] = true}, {[PEER_HEAD] = true, [PEER_BODY] = true}};
    for (size_t i = 0; i < array_count(may_go); i++)
        list_each (&server->places.reserve, link) {
            struct peer *peer = list_entry(link, struct peer, idle);
            if (!may_go[i][peer->state])
                continue;
            drive_readable(peer);
            if (is_being_answered(peer))
                continue;
            if (peer->state != PEER_DEAD && peer->reserved)
                places_turn_away(peer);
            return true;
        }
    return false;
}

// No peer could go for this newcomer. What it has said is taken in, or the kernel would tear the refusal away.
static void refuse(struct http_server *server, int fd)
{
    struct peer *peer = welcome(server, fd, true);
    if (recv(fd, server->read, SERVER_READ_SIZE, 0) != 0)
        places_turn_away(peer);
    else
        peer_close(peer);
}

// The reserve is small, so a peer that is let into it is heard at once: others come behind.
static void let_in(struct http_server *server, int fd)
{
    bool reserved = places_are_full(server) && !places_make_room(server);
    if (reserved && server->places.reserve_count >= server->config.reserve_max && !turn_away_oldest(server)) {
        refuse(server, fd);
        return;
    }
    struct peer *peer = welcome(server, fd, reserved);
    if (reserved)
        drive_readable(peer);
}

// No descriptor is left for a newcomer: a peer makes room, or the descriptor goes that was kept for this.
static bool free_descriptor(struct http_server *server)
{
    int *spare_fd = &server->places.spare_fd;
    if (places_make_room(server) || turn_away_oldest(server))
        return true;
    if (*spare_fd < 0)
        return false;
    close(*spare_fd);
    *spare_fd = -1;
    return true;
}

// accept4() wants a descriptor before it looks whether anybody is there: without one, it says that it lacks one when nobody is.
static bool somebody_waits(const struct http_server *server)
{
    struct pollfd newcomers = {.fd = server->listen_fd, .events = POLLIN};
    return poll(&newcomers, 1, 0) == 1;
}

void newcomers_accept(struct http_server *server)
{
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = accept4(server->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        bool lacking = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        if (fd >= 0) {
            let_in(server, fd);
        } else if (errno == EAGAIN || errno == EINVAL || (lacking && !somebody_waits(server))) {
            return;
        } else if (lacking && !free_descriptor(server)) {
            server->deaf_until_ns = server->now_ns + DEAF_MS * INT64_C(1000000);
            set_heeded(server, false);
            return;
        }
    }
}
