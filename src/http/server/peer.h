// A connection of the server: its socket, what came and what is to be sent, and how long it may take.
//
// Layer: port (http/server), private to this folder. The HTTP thread owns it. It goes round: HEAD (a request's head is read),
// BODY, WORK (the handler has the request, or another thread that will resume it), SEND, and HEAD again; STREAM instead of SEND
// for an answer without an end; LINGER when it is to be closed, so that what the client still sends does not tear away the answer
// it has not read. drive.c takes it from one state to the next.
#pragma once
#include "base/buf.h"
#include "base/data/list.h"
#include "base/data/wheel.h"
#include "http/server/server.h"

enum peer_state { PEER_HEAD, PEER_BODY, PEER_WORK, PEER_SEND, PEER_STREAM, PEER_LINGER, PEER_DEAD };

struct peer {
    struct list link;  // of all; of the dead, until the end of the turn
    struct list idle;  // of those between two requests, longest first; or of the reserve, first come first (places.h)
    struct list again; // of those that have more to be read already
    struct list slow;  // of those that have not taken their answer (unsent.h)
    struct http_server *server;
    int fd;
    enum peer_state state;
    uint32_t watched; // the events epoll looks for
    struct buf in;    // came and was not read yet
    size_t scanned;   // of `in`: looked through for the end of a head
    struct http_request *request;
    struct buf out;
    size_t out_at;         // so much of it was sent
    size_t unsent;         // what it is counted with among the slow
    struct http_file file; // sent behind `out`; fd -1: none
    uint64_t file_left;
    bool half_closed;            // the client sends no more
    bool closing;                // behind this answer
    bool reserved;               // it came when all places were taken, and is in the reserve
    int64_t active_ns, began_ns; // when it last moved; since when it is in this state
    size_t discarded;            // bytes of a body that nobody wanted
    struct wheel_node timer;
};

// For a socket that was accepted, which is the peer's from now on. It begins in HEAD, and has yet to be given a place.
struct peer *peer_new(struct http_server *server, int fd);
// Closes everything it has. A request that waits goes on without it, any other is freed. The peer itself is freed at the end of
// the turn, because events that were fetched before may name it.
void peer_close(struct peer *peer);
void peer_free_dead(struct http_server *server);

void peer_set_state(struct peer *peer, enum peer_state state);
void peer_watch(struct peer *peer, uint32_t events); // what epoll is to tell of it
bool peer_is_late(const struct peer *peer);          // has it had its time?
// To be called whenever it has moved: sees to it that the peer is looked at when it has had its time.
void peer_set_timer(struct peer *peer);

enum peer_sent { PEER_SENT_ALL, PEER_SENT_PART, PEER_SENT_FAILED };

enum peer_sent peer_send(struct peer *peer); // as much of `out` and of the file as the kernel takes
