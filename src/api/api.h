// The API: HTTP requests become tasks, steering and reads; what comes back becomes JSON.
//
// Layer: api. Everything runs on the HTTP thread, but for what wakes streams (event_streams.h); the done() callbacks of admit,
// commands, lease_reports and the store only resume the request. api_begin, api_handle and api_refuse are what http_server_config
// asks for, with a struct api as their ctx.
#pragma once
#include "api/gate.h"
#include "flow/commands/commands.h"
#include "flow/commands/lease_reports.h"
#include "flow/lanes.h"
#include "flow/node.h"
#include "flow/stages/admit.h"
#include "flow/stages/dispatch.h"
#include "flow/tend/beat.h"
#include "flow/tend/stats_writer.h"
#include "http/server/server.h"
#include "store/store.h"

struct event_streams;
struct zones;

struct api {
    struct node *node; // its flow_waker is woken when a queue is let go; may be NULL
    struct admit *admit;
    struct commands *commands;
    struct bulk *bulk;
    struct backfills *backfills;
    struct lease_reports *lease_reports;
    struct dispatch *dispatch; // NULL: nobody can say what slots wait for
    struct store *store;
    struct lanes *lanes;
    struct stats_writer *stats_writer; // NULL: nothing is counted
    struct beat *beat;                 // NULL: the store is taken to be there
    struct event_streams *events;
    struct zones *zones;
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
