// A peer that was heard of within GRACE_MS does not have to make room, because it may be about to ask. A peer that brings a
// request goes before one that brings none.
#include "http/server/places.h"

#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"

#include <fcntl.h>
#include <unistd.h>

enum { GRACE_MS = 2000 };

const char places_crowded[] = "All connections of this server are taken.";

void places_init(struct places *places, int fd)
{
    *places = (struct places){.spare_fd = -1};
    list_init(&places->idle);
    list_init(&places->reserve);
    places_take_spare(places, fd);
}

void places_done(struct places *places)
{
    if (places->spare_fd >= 0)
        close(places->spare_fd);
}

void places_take_spare(struct places *places, int fd)
{
    if (places->spare_fd < 0)
        places->spare_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void places_enter(struct peer *peer, bool reserved)
{
    struct places *places = &peer->server->places;
    peer->reserved = reserved;
    list_append(reserved ? &places->reserve : &places->idle, &peer->idle);
    places->peer_count++;
    places->reserve_count += reserved;
}

void places_leave(struct peer *peer)
{
    struct places *places = &peer->server->places;
    list_remove(&peer->idle);
    places->peer_count--;
    places->reserve_count -= peer->reserved;
}

void places_ask(struct peer *peer)
{
    if (!peer->reserved)
        list_remove(&peer->idle);
}

void places_wait(struct peer *peer)
{
    if (peer->reserved)
        return;
    list_remove(&peer->idle);
    list_append(&peer->server->places.idle, &peer->idle);
}

bool places_are_full(const struct http_server *server)
{
    const struct places *places = &server->places;
    return places->peer_count - places->reserve_count >= server->config.connections_max || places->spare_fd < 0;
}

void places_turn_away(struct peer *peer)
{
    if (peer->state == PEER_HEAD && (peer->in.n || peer->reserved))
        reply_refuse_and_close(request_new(peer), ERR_BUSY, places_crowded);
    else if (peer->state == PEER_BODY && !peer->request->answered)
        reply_refuse_instead(peer->request, ERR_BUSY, places_crowded);
    if (peer->request && peer_send(peer) == PEER_SENT_ALL)
        shutdown(peer->fd, SHUT_WR);
    peer_close(peer);
}

bool places_make_room(struct http_server *server)
{
    struct list *idle = &server->places.idle;
    if (list_empty(idle))
        return false;
    struct peer *peer = list_entry(idle->next, struct peer, idle);
    if (peer->began_ns + GRACE_MS * INT64_C(1000000) > server->now_ns)
        return false;
    places_turn_away(peer);
    return true;
}

void places_leave_reserve(struct peer *peer)
{
    struct http_server *server = peer->server;
    if (!peer->reserved || (places_are_full(server) && !places_make_room(server)))
        return;
    peer->reserved = false;
    server->places.reserve_count--;
    list_remove(&peer->idle);
}
