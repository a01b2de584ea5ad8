// A peer is counted with the capacity of its buffers, which is the memory it has.
#include "http/server/unsent.h"

#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"

void unsent_init(struct unsent *unsent)
{
    unsent->bytes = 0;
    list_init(&unsent->peers);
}

void unsent_put(struct peer *peer)
{
    struct unsent *unsent = &peer->server->unsent;
    body_drop(peer->request); // of the request nothing is needed any more
    arena_done(&peer->request->arena);
    unsent_remove(peer);
    peer->unsent = peer->out.cap + peer->in.cap;
    unsent->bytes += peer->unsent;
    list_append(&unsent->peers, &peer->slow);
}

void unsent_remove(struct peer *peer)
{
    if (!peer->unsent)
        return;
    list_remove(&peer->slow);
    peer->server->unsent.bytes -= peer->unsent;
    peer->unsent = 0;
}

// A single answer is always kept, however large it is.
void unsent_bound(struct http_server *server)
{
    struct unsent *unsent = &server->unsent;
    size_t most = atomic_load(&server->limits.bytes_max);
    while (unsent->bytes > most && unsent->peers.next != unsent->peers.prev)
        peer_close(list_entry(unsent->peers.next, struct peer, slow));
}
