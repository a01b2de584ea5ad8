// An answer without an end: asked for more as long as the client takes it.
//
// Layer: port (http/server), private to this folder; what handlers do with it is in server.h. The HTTP thread owns it. Any thread
// may wake or cut it until closed() was called: whoever does holds the lock that closed() takes.
#pragma once
#include "base/data/list.h"
#include "http/server/server.h"

#include <stdatomic.h>

struct peer;

struct http_stream {
    struct peer *peer; // NULL: closed
    const struct http_stream_ops *ops;
    void *ctx;
    struct list link, woken; // among all; in the mailbox
    atomic_bool queued;      // it is in there
    bool over;               // there is no more to be read of it
};

void stream_close(struct http_request *request); // the stream of the request, which has none afterwards
bool stream_pump(struct peer *peer);             // sends what there is. True: the answer has ended
// The peer of a stream that comes out of the mailbox, by its `woken`. NULL: it was closed meanwhile, and is freed now.
struct peer *stream_take_woken(struct list *node);
