// Addresses to listen on, and sockets that have them.
//
// Layer: port (http/server). No state; any thread.
#pragma once
#include "base/err.h"

#include <stdbool.h>

bool http_listen_is_valid(const char *address);    // an address and a port
bool http_listen_is_loopback(const char *address); // can only this machine reach it

// A socket that has the address but does not listen yet: for a caller that wants to know whether the address is free before
// anything else is begun. Less than 0: it is not, see `why`. The caller owns the socket.
int http_bind(const char *address, char why[ERR_WHY_MAX]);

// The same, but it listens. `bound` is a socket that http_bind() gave for the address, and is closed if it fails; 0: none.
int http_listen(const char *address, int bound, char why[ERR_WHY_MAX]);
