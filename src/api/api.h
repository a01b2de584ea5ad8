// The API: HTTP requests become tasks, steering and reads; what comes back becomes JSON.
//
// Layer: api. Everything runs on the HTTP thread, but for what wakes streams (events.h); the done() callbacks of admit, steer,
// settle and the store only resume the request. api_begin, api_handle and api_refuse are what http_server_config asks for, with a
// struct api as their ctx.
#pragma once
#include "api/gate.h"
#include "flow/admit.h"
#include "flow/beat.h"
#include "flow/dispatch.h"
#include "flow/lanes.h"
#include "flow/node.h"
#include "flow/report.h"
#include "flow/settle.h"
#include "flow/steer.h"
#include "http/server/server.h"
#include "store/store.h"

struct events;

struct api {
    struct node *node; // its flow_waker is woken when a queue is let go; may be NULL
    struct admit *admit;
    struct steer *steer;
    struct bulk *bulk;
    struct settle *settle;
    struct dispatch *dispatch; // NULL: nobody can say what slots wait for
    struct store *store;
    struct lanes *lanes;
    struct report *report; // NULL: nothing is counted
    struct beat *beat;     // NULL: the store is taken to be there
    struct events *events;
    struct gate reads, lists; // of those who read from the store
    bool copying;             // a backup is being made, or lies there until its client has it: another waits until it is gone
    const char *listen;       // as given to the server: on a loopback address only loopback names may call
    bool no_api;              // only the operational routes are served: other nodes have the rest
    // Can this process do its work? If not, writes a JSON array of sentences that say what is missing. NULL: always.
    bool (*ready)(void *ctx, struct buf *ret_problems_json);
    void *ready_ctx;
};

size_t api_begin(void *ctx, struct http_request *request);
void api_handle(void *ctx, struct http_request *request);
void api_refuse(void *ctx, struct http_request *request, enum err err, const char *detail);
