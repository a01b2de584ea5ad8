// A stream that is closed while it is in the mailbox of the woken is freed when it comes out of there.
#include "http/server/stream.h"

#include "base/mem.h"
#include "http/server/peer.h"
#include "http/server/private.h"
#include "http/server/request.h"

#include <assert.h>

struct http_stream *http_reply_stream(struct http_request *request, const char *type, const struct http_stream_ops *ops,
                                      void *ctx)
{
    assert(!request->answered && request->peer);
    struct http_server *server = request->server;
    struct http_stream *stream = mem_zero(sizeof *stream);
    stream->peer = request->peer;
    stream->ops = ops;
    stream->ctx = ctx;
    list_append(&server->streams, &stream->link);
    request->stream = stream;
    request->answered = true;
    struct buf *out = reply_put_head(request, 200, type);
    buf_puts(out, request->head.old ? "\r\n" : "Transfer-Encoding: chunked\r\n\r\n");
    return stream;
}

void http_stream_wake(struct http_stream *stream)
{
    if (!atomic_exchange(&stream->queued, true))
        mailbox_post(&stream->peer->server->woken, &stream->woken);
}

void http_stream_cut(struct http_stream *stream)
{
    shutdown(stream->peer->fd, SHUT_RDWR);
    http_stream_wake(stream);
}

void stream_close(struct http_request *request)
{
    struct http_stream *stream = request->stream;
    request->stream = NULL;
    list_remove(&stream->link);
    stream->ops->closed(stream->ctx); // nobody wakes it any more
    stream->peer = NULL;
    if (!atomic_load(&stream->queued)) // else it is freed when it comes out of the mailbox
        mem_free(stream);
}

struct peer *stream_take_woken(struct list *node)
{
    struct http_stream *stream = list_entry(node, struct http_stream, woken);
    struct peer *peer = stream->peer;
    atomic_store(&stream->queued, false);
    if (!peer)
        mem_free(stream);
    return peer;
}

static void put_block(struct buf *out, struct str block, bool chunked)
{
    if (chunked)
        buf_printf(out, "%zx\r\n", block.n);
    buf_put(out, block);
    if (chunked)
        buf_puts(out, "\r\n");
}

bool stream_pump(struct peer *peer)
{
    struct http_stream *stream = peer->request->stream;
    char *block = peer->server->block;
    bool chunked = !peer->request->head.old;
    for (;;) {
        enum peer_sent sent = peer_send(peer);
        if (sent == PEER_SENT_FAILED)
            peer->closing = stream->over = true;
        if (sent != PEER_SENT_ALL || stream->over)
            return stream->over && sent != PEER_SENT_PART;
        bool quiesced = server_is_quiesced(peer->server);
        long n = quiesced ? -1 : stream->ops->read(stream->ctx, block, SERVER_STREAM_BLOCK);
        if (!n)
            return false;
        stream->over = n < 0;
        peer->closing |= stream->over && (!chunked || quiesced);
        put_block(&peer->out, (struct str){block, n > 0 ? (size_t)n : 0}, chunked);
    }
}
