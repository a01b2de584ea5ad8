// The driver of connections: takes one from state to state (peer.h), as far as it gets without waiting.
//
// Layer: port (http/server), private to this folder. On the HTTP thread.
#pragma once
#include "http/server/server.h"

struct peer;

void drive(struct peer *peer);                        // something it waited for has happened; it may be dead afterwards
void drive_event(struct peer *peer, uint32_t events); // epoll tells of it
void drive_readable(struct peer *peer);               // there may be something to read
void drive_late(struct peer *peer);                   // it has had its time
