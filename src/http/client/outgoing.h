// A request to a target, as it is sent.
//
// Layer: port (http/client), private to this folder. Pure; the call owns it.
#pragma once
#include "base/buf.h"
#include "http/client/client.h"

struct outgoing {
    struct buf text; // its head, and a body that is not large
    struct str rest; // of a large one: it is sent from where it lies, which is memory once and not twice
    size_t sent;     // of both
};

// Writes it anew; what `text` has allocated is used again. The body of the order must live until all is sent.
void outgoing_write(struct outgoing *outgoing, const struct http_call_order *order);

static inline bool outgoing_is_sent(const struct outgoing *outgoing)
{
    return outgoing->sent == outgoing->text.n + outgoing->rest.n;
}

// What is to be sent next.
static inline struct str outgoing_next(const struct outgoing *outgoing)
{
    size_t n = outgoing->text.n;
    return outgoing->sent < n ? str_skip(buf_str(&outgoing->text), outgoing->sent) : str_skip(outgoing->rest, outgoing->sent - n);
}
