// Which connection may have a place, and which one has to go when all are taken.
//
// Layer: port (http/server), private to this folder. The HTTP thread owns it. `connections_max` peers have a place. A newcomer
// beyond that is let into a small reserve. A peer that brings a request from there takes the place of one that has been silent
// for a while; if there is none, the handler answers only what tells how the server is (http_crowded) and refuses everything
// else, and the connection ends. So none is closed without a word, and a crowd does not keep out a client that asks whether the
// server lives.
#pragma once
#include "base/data/list.h"
#include "http/server/server.h"

struct peer;

struct places {
    struct list idle;    // peers between two requests, the one that has been there for the longest first
    struct list reserve; // peers in the reserve, first come first
    int peer_count, reserve_count;
    int spare_fd; // given up for a newcomer when there is no other descriptor; -1: it was
};

void places_init(struct places *places, int fd); // `fd`: one that can be duplicated, for the spare descriptor
void places_done(struct places *places);
void places_take_spare(struct places *places, int fd); // there is a spare descriptor again, if there can be

void places_enter(struct peer *peer, bool reserved); // a new peer
void places_leave(struct peer *peer);                // it is closed
void places_ask(struct peer *peer);                  // it has a request
void places_wait(struct peer *peer);                 // it has none, and was heard of just now

bool places_are_full(const struct http_server *server);
// Closes the peer that has been without a request for the longest. False: there is none that has been silent for long enough.
bool places_make_room(struct http_server *server);
// A peer of the reserve brings a request, and has a place from now on if there is one or room can be made.
void places_leave_reserve(struct peer *peer);
// Closes a peer to make room. If it has begun to ask, or has only just come, it is told why, as far as the kernel takes that at
// once.
void places_turn_away(struct peer *peer);

extern const char places_crowded[]; // what a peer is told that has to go
