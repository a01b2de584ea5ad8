// A gate: so many requests at once read what may be large, the others wait in the order they came.
//
// The store answers faster than answers are written and sent. Without it, what a thousand clients asked for at once would lie in
// memory at once.
// Layer: api. HTTP thread.
#pragma once
#include "http/server/server.h"

struct gate_wait {
    struct http_request *request;
    struct gate_wait *next;
    enum err failed; // the store did while this one waited: it need not be asked
};

// Zeroed: open, and nobody is inside.
struct gate {
    int inside;
    struct gate_wait *first, *last; // of those who wait
};

// Calls next(request, state) as soon as fewer than `max` are inside: at once, or as the continuation of the request. `wait` is
// the gate's until then.
void gate_enter(struct gate *gate, int max, struct gate_wait *wait, struct http_request *request,
                void (*next)(struct http_request *request, void *state), void *state);
// The answer was given, and what was read is freed. `failed`: that the store could not be asked; ERR_OK: it could.
void gate_leave(struct gate *gate, enum err failed);
