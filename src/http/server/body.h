// Bodies of requests: read as they come, within bounds of memory and time.
//
// Layer: port (http/server), private to this folder. On the HTTP thread; the limits may be set by any thread.
#pragma once
#include "http/server/server.h"

#include <stdatomic.h>

enum { BODY_DISCARD_MAX = 64 * 1024 * 1024 }; // of a refused body; a client that sends more is cut off

struct body_limits {
    atomic_int timeout_ms;   // from the head to the end of the body
    atomic_size_t bytes_max; // of the bodies of all requests together; and of all answers that were not taken (unsent.h)
};

void body_set_limits(struct body_limits *limits, int timeout_ms, size_t bytes_max); // 0: what is usual

// The head was read and says so many bytes, or chunks. Makes room for the body, and tells a client to go on that asks first.
void body_expect(struct http_request *request, uint64_t length);
// Reads on. True: the body is complete, or what is wrong with it has been answered.
bool body_take(struct http_request *request, struct str *rest);
void body_drop(struct http_request *request); // what was kept of it
void body_refuse_too_large(struct http_request *request);
