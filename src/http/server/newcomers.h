// Connections that come: accepting them, and letting them into the house or its reserve (places.h).
//
// Layer: port (http/server), private to this folder. On the HTTP thread.
#pragma once
#include "http/server/server.h"

bool newcomers_heed(struct http_server *server);   // epoll tells of them from now on. False: it cannot
void newcomers_accept(struct http_server *server); // those that wait
void newcomers_turn(struct http_server *server);   // heeds them again when the time for it has come
void newcomers_end(struct http_server *server);    // none is heeded any more
bool newcomers_have_ended(const struct http_server *server);
