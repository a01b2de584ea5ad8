// How requests begin and end, and what a handler may ask of one. Answers are in reply.c, the reading of bodies in body.c.
#include "http/server/request.h"

#include "base/mem.h"
#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/stream.h"

#include <assert.h>

struct http_request *request_new(struct peer *peer)
{
    struct http_request *request = mem_zero(sizeof *request);
    request->server = peer->server;
    request->peer = peer;
    peer->request = request;
    peer->server->request_count++;
    places_ask(peer);
    return request;
}

void request_free(struct http_request *request)
{
    request->server->request_count--;
    if (request->stream)
        stream_close(request);
    body_drop(request);
    arena_done(&request->arena);
    mem_free(request);
}

// Asks the handler what it says to a head that could be read. It may answer.
static void ask_handler(struct http_request *request, uint64_t length)
{
    const struct http_server_config *config = &request->server->config;
    const char *wrong = query_read(request->head.path, request->head.query, &request->arena, &request->query);
    if (wrong)
        reply_refuse(request, ERR_BAD_REQUEST, wrong);
    if (!request->answered)
        request->body_max = config->begin(config->ctx, request);
    if (!request->answered && length > request->body_max)
        body_refuse_too_large(request);
}

// An answer that comes before the body is held back until the body was read past, as long as that is bounded and the client is
// sending it anyway.
void request_begin(struct http_request *request, struct str head)
{
    const char *wrong = head_read(arena_copy(&request->arena, head), &request->arena, &request->head);
    if (wrong) {
        reply_refuse_and_close(request, ERR_BAD_REQUEST, wrong);
        return;
    }
    uint64_t length = request->head.length > 0 ? (uint64_t)request->head.length : 0;
    request->complete = !length && !request->head.chunked;
    request->unread = !request->complete && (request->head.asks_first || length > BODY_DISCARD_MAX || request->peer->reserved);
    ask_handler(request, length);
    request->complete |= request->answered && request->unread;
    request->unread = false;
    body_expect(request, length);
}

void request_handle(struct http_request *request)
{
    const struct http_server_config *config = &request->server->config;
    if (atomic_load(&request->server->stopping))
        reply_refuse(request, ERR_STOPPING, "Try another server, or this one again in a while.");
    else
        config->handle(config->ctx, request);
    assert(request->answered || request->next);
}

void request_go_on(struct http_request *request)
{
    void (*next)(struct http_request *, void *) = request->next;
    request->next = NULL;
    next(request, request->state);
    assert(request->answered || request->next);
}

void http_wait(struct http_request *request, void (*next)(struct http_request *request, void *state), void *state)
{
    assert(!request->next && !request->answered);
    request->next = next;
    request->state = state;
}

void http_resume(struct http_request *request)
{
    struct http_server *server = request->server; // the request may be gone once it was posted
    atomic_fetch_add(&server->resuming, 1);
    mailbox_post(&server->resumed, &request->link);
    atomic_fetch_sub(&server->resuming, 1);
}

// ---- what is asked of a request

bool http_crowded(struct http_request *request)
{
    return request->peer && request->peer->reserved;
}

struct str http_method(struct http_request *request)
{
    return request->head.method;
}

struct str http_path(struct http_request *request)
{
    return request->head.path;
}

struct str http_host(struct http_request *request)
{
    return request->head.host;
}

struct str http_query(struct http_request *request, const char *name)
{
    for (struct pair *pair = request->query; pair; pair = pair->next)
        if (str_is(pair->name, name))
            return pair->value;
    return (struct str){0};
}

bool http_query_each(struct http_request *request, bool (*each)(void *ctx, struct str name, struct str value), void *ctx)
{
    for (struct pair *pair = request->query; pair; pair = pair->next)
        if (!each(ctx, pair->name, pair->value))
            return false;
    return true;
}

struct str http_header(struct http_request *request, const char *name)
{
    return head_value(&request->head, name);
}

size_t http_header_count(struct http_request *request, const char *name)
{
    return head_count(&request->head, name);
}

struct str http_header_list(struct http_request *request, const char *name)
{
    return head_list(&request->head, name, &request->arena);
}

struct str http_body(struct http_request *request)
{
    return buf_str(&request->body);
}

struct arena *http_arena(struct http_request *request)
{
    return &request->arena;
}
