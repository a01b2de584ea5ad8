// The bodies of all requests together have a bound. A small body is taken even beyond it, so that a client that fills the room
// with large bodies does not shut out the small ones. A body that was answered before it came is read past and not kept.
#include "http/server/body.h"

#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"

#include <stdio.h>

enum {
    TIMEOUT_MS = 30 * 1000,
    BYTES_MAX = 48 * 1024 * 1024,
    SMALL = 64 * 1024,
};

void body_set_limits(struct body_limits *limits, int timeout_ms, size_t bytes_max)
{
    atomic_store(&limits->timeout_ms, timeout_ms ? timeout_ms : TIMEOUT_MS);
    atomic_store(&limits->bytes_max, bytes_max ? bytes_max : BYTES_MAX);
}

void body_expect(struct http_request *request, uint64_t length)
{
    struct http_server *server = request->server;
    request->body_left = length;
    request->body_until_ns = server->now_ns + atomic_load(&server->limits.timeout_ms) * INT64_C(1000000);
    if (request->answered || request->complete)
        return;
    buf_reserve(&request->body, length < SMALL ? length : SMALL); // the rest when it comes
    if (request->head.asks_first && !request->head.old)
        buf_puts(&request->peer->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

void body_drop(struct http_request *request)
{
    request->server->body_bytes -= request->body.n;
    buf_done(&request->body);
}

void body_refuse_too_large(struct http_request *request)
{
    char detail[ERR_WHY_MAX];
    snprintf(detail, sizeof detail, "The body may have %zu bytes.", request->body_max);
    reply_refuse(request, ERR_TOO_LARGE, detail);
}

static bool has_room(const struct http_request *request, size_t n)
{
    const struct http_server *server = request->server;
    return request->body.n + n <= SMALL || server->body_bytes + n <= atomic_load(&server->limits.bytes_max);
}

static void keep(struct http_request *request, struct str bytes)
{
    if (bytes.n > request->body_max - request->body.n) {
        body_drop(request);
        body_refuse_too_large(request);
    } else if (!has_room(request, bytes.n)) {
        body_drop(request);
        reply_refuse(request, ERR_BUSY, "Too many large requests are on their way.");
    } else {
        buf_put(&request->body, bytes);
        request->server->body_bytes += bytes.n;
    }
}

static void take_bytes(struct http_request *request, struct str bytes)
{
    if (!request->answered)
        keep(request, bytes);
    else if ((request->peer->discarded += bytes.n) > BODY_DISCARD_MAX)
        reply_refuse_instead(request, ERR_TOO_LARGE, "The body has no end.");
}

static void take_length(struct http_request *request, struct str *rest)
{
    size_t n = request->body_left < rest->n ? (size_t)request->body_left : rest->n;
    struct str bytes = {rest->p, n};
    *rest = str_skip(*rest, n);
    request->body_left -= n;
    request->complete = !request->body_left;
    take_bytes(request, bytes);
}

static void take_chunk(struct http_request *request, struct str *rest)
{
    struct str bytes;
    switch (chunks_read(&request->chunks, rest, &bytes)) {
    case CHUNKS_DATA:
        take_bytes(request, bytes);
        break;
    case CHUNKS_END:
        request->complete = true;
        break;
    case CHUNKS_BAD:
        reply_refuse_instead(request, ERR_BAD_REQUEST, "The chunks of the body cannot be read.");
        break;
    default:
        break;
    }
}

bool body_take(struct http_request *request, struct str *rest)
{
    while (rest->n && !request->complete)
        if (request->head.chunked)
            take_chunk(request, rest);
        else
            take_length(request, rest);
    return request->complete;
}
