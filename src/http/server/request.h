// A request: what came of it, whether it is answered, and what goes on when it is resumed.
//
// Layer: port (http/server), private to this folder; what handlers may ask of it is in server.h. The HTTP thread owns it. While
// it waits another thread may post it to the server's mailbox (http_resume), once. It may outlive its connection, when the client
// left while it waited: it goes on without one, so that whatever waits for its end is not forgotten.
#pragma once
#include "base/data/list.h"
#include "http/chunks.h"
#include "http/server/head.h"
#include "http/server/query.h"
#include "http/server/server.h"

struct peer;

struct http_request {
    struct http_server *server;
    struct peer *peer; // NULL: the client has left
    struct arena arena;
    struct head head;
    struct pair *query;
    struct pair *headers; // of the answer, newest first
    struct buf body;
    size_t body_max;
    uint64_t body_left; // of one whose length was said
    struct chunks chunks;
    int64_t body_until_ns;
    void (*next)(struct http_request *request, void *state); // NULL: it does not wait
    void *state;
    bool complete; // nothing of it is still to be read
    bool answered;
    bool unread;      // what stands behind the head will not be read if this is the answer
    struct list link; // in the mailbox
    struct http_stream *stream;
};

struct http_request *request_new(struct peer *peer); // the one the peer is at from now on
void request_free(struct http_request *request);

// Reads the head and asks the handler about it: see `begin` in struct http_server_config.
void request_begin(struct http_request *request, struct str head);
void request_handle(struct http_request *request); // its body is complete
void request_go_on(struct http_request *request);  // it was resumed. It is answered afterwards, or waits again
